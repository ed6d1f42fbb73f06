# The register of ships: searching, one ship's page, the berths.

namespace eval ::harbour::ships {
    # What the list can be sorted by, and the column that does it. Only these words reach the SQL.
    variable orders {
        name "s.name collate nocase" kind s.kind flag s.flag length s.length built s.built visits visits last last
    }
    variable page_size 20
}

# One page of ships that match. Returns a dictionary: rows, total, page, pages.
proc ::harbour::ships::search {text kind sort order page {size 0}} {
    variable orders
    variable page_size
    if {$size <= 0} { set size $page_size }
    set where "1 = 1"
    if {$text ne ""} {
        # The visitor's % and _ mean themselves.
        set pattern "%[string map {\\ \\\\ % \\% _ \\_} $text]%"
        append where { and (s.name like :pattern escape '\' or s.callsign like :pattern escape '\' or s.home like :pattern escape '\')}
    }
    if {$kind ne ""} { append where { and s.kind = :kind} }
    set column [dict get $orders [expr {[dict exists $orders $sort] ? $sort : "name"}]]
    set direction [expr {$order eq "desc" ? "desc" : "asc"}]
    set total [::harbour::db::value "select count(*) from ship s where $where"]
    set pages [expr {max(1, ($total + $size - 1) / $size)}]
    set page [expr {min($page, $pages)}]
    set offset [expr {($page - 1) * $size}]
    set rows [::harbour::db::rows "
        select s.id, s.name, s.callsign, s.flag, s.kind, s.length, s.built, s.home,
               (select count(*) from visit v where v.ship = s.id) as visits,
               (select max(v.arrived) from visit v where v.ship = s.id) as last,
               (select b.code from visit v join berth b on b.id = v.berth
                 where v.ship = s.id and v.departed is null) as berth
          from ship s where $where
         order by $column $direction, s.id
         limit #size offset #offset"]
    return [dict create rows $rows total $total page $page pages $pages]
}

proc ::harbour::ships::kinds {} {
    set pairs {"" "All kinds"}
    foreach row [::harbour::db::rows {select distinct kind from ship order by kind}] {
        lappend pairs [dict get $row kind] [dict get $row kind]
    }
    return $pairs
}

# A ship as a dictionary, empty when there is none.
proc ::harbour::ships::get {id} {
    if {![::harbour::is_id $id]} { return {} }
    return [::harbour::db::row {select * from ship where id = #id}]
}

# Every berth with the ship that lies there, if any.
proc ::harbour::ships::berths {} {
    return [::harbour::db::rows {
        select b.id, b.code, b.quay, b.length, b.depth,
               v.id as visit, v.arrived, v.cargo, s.id as ship, s.name, s.kind, s.length as ship_length
          from berth b
          left join visit v on v.berth = b.id and v.departed is null
          left join ship s on s.id = v.ship
         order by b.id
    }]
}

# GET /ships/17
proc ::harbour::ships::page {} {
    set ship {}
    if {[ns_conn urlc] == 2} { set ship [get [ns_conn urlv 1]] }
    if {$ship eq ""} {
        ::harbour::not_found
        return
    }
    set id [dict get $ship id]
    set visits [::harbour::db::rows {
        select v.*, b.code from visit v join berth b on b.id = v.berth
         where v.ship = #id order by v.arrived desc, v.id desc limit 50
    }]
    set documents [::harbour::db::rows {
        select * from document where ship = #id order by stored desc, id desc
    }]
    ::harbour::render 200 ship [dict create ship $ship visits $visits documents $documents]
}
