# The database's shape. Each step runs once, in order; the database remembers how far it is.

namespace eval ::harbour::schema {
    variable steps {
        {
            create table setting (name text primary key, value text not null);
            create table ship (
                id       integer primary key,
                name     text not null,
                callsign text not null unique,
                flag     text not null,
                kind     text not null,
                length   integer not null,
                draught  real not null,
                tonnage  integer not null,
                built    integer not null,
                home     text not null
            );
            create table berth (
                id     integer primary key,
                code   text not null unique,
                quay   text not null,
                length integer not null,
                depth  real not null
            );
            create table visit (
                id       integer primary key,
                ship     integer not null references ship(id),
                berth    integer not null references berth(id),
                arrived  integer not null,
                departed integer,
                origin   text not null,
                cargo    text,
                tonnes   integer not null default 0,
                remark   text,
                check (departed is null or departed >= arrived)
            );
            create index visit_ship on visit(ship, arrived);
            create index visit_arrived on visit(arrived);
            create unique index visit_open on visit(berth) where departed is null
        }
        {
            create table document (
                id     integer primary key,
                ship   integer references ship(id),
                title  text not null,
                name   text not null,
                type   text not null,
                bytes  integer not null,
                stored integer not null
            );
            create table round (
                at       integer not null,
                taken    integer not null,
                in_port  integer not null,
                arrivals integer not null
            );
            create index round_at on round(at)
        }
    }
}

proc ::harbour::schema::prepare {} {
    variable steps
    ::harbour::db::with db {
        # Readers and one writer at the same time.
        ns_db 0or1row $db "pragma journal_mode = wal"
    }
    set version [::harbour::db::value "pragma user_version"]
    set number 0
    foreach step $steps {
        incr number
        if {$number <= $version} { continue }
        ::harbour::db::transaction {
            foreach statement [split $step ";"] {
                if {[string trim $statement] ne ""} { ::harbour::db::run $statement }
            }
            ::harbour::db::run "pragma user_version = $number"
        }
        ns_log notice "harbour: database brought to version $number"
    }
    if {[::harbour::db::value {select count(*) from ship}] == 0} {
        ::harbour::db::transaction { ::harbour::seed::fill }
    }
}
