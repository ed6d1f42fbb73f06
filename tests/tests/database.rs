//! nsdb with SQLite: scripts in a running server, and what happens to handles that scripts forget.

use testkit::{Builder, Server};

/// A server with the pools `main` (two handles) and `other` (one handle, a database of its own).
fn builder() -> Builder {
    Server::builder().folder("db").append(
        r#"
        ns_section ns/server/default/modules { ns_param nsdb nsdb.so }
        ns_section ns/db/drivers { ns_param sqlite /usr/local/ns/bin/nsdbsqlite.so }
        ns_section ns/db/pools {
            ns_param main   "The main pool"
            ns_param other  "The other pool"
            ns_param hidden "Not for this server"
        }
        foreach {pool connections} {main 2 other 1 hidden 1} {
            ns_section ns/db/pool/$pool {
                ns_param driver sqlite
                ns_param datasource @HOME@/db/$pool.db
                ns_param user me
                ns_param password secret
                ns_param connections $connections
                ns_param logsqlerrors true
            }
        }
        ns_section ns/server/default/db { ns_param pools main,other; ns_param defaultpool main }
        "#,
    )
}

#[track_caller]
fn ok(server: &Server, script: &str) -> String {
    server
        .eval(script)
        .unwrap_or_else(|e| panic!("{script}: {e:?}\n{}", server.log()))
}

#[track_caller]
fn fails(server: &Server, script: &str) -> String {
    match server.eval(script) {
        Ok(result) => panic!("{script}: no error, but {result}"),
        Err(e) => e.message,
    }
}

const PEOPLE: &str = "set db [ns_db gethandle]
    ns_db dml $db {create table people(id integer primary key, name text not null unique, note text)}
    ns_db dml $db {insert into people(name, note) values ('Ada', null), ('Bob', ''), ('Çelik', 'it''s')}";

#[test]
fn queries_give_sets() {
    let server = builder().start();
    ok(&server, PEOPLE);
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            set row [ns_db select $db {select name, note, length(name) as n from people order by id}]
            set all {}
            while {[ns_db getrow $db $row]} { lappend all [ns_set array $row] }
            list $all [ns_db rowcount $db] [catch {ns_db getrow $db $row}]"),
        "{{name Ada note {} n 3} {name Bob note {} n 3} {name Çelik note it's n 5}} 3 1"
    );
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            set row [ns_db 1row $db {select null as a, '' as b, 1.0 as c, x'c3a9' as d}]
            list [ns_set isnull $row 0] [ns_set isnull $row 1] [ns_set get $row c] [string length [ns_set get $row d]]"),
        "1 0 1.0 2"
    );
    assert_eq!(
        ok(
            &server,
            "ns_db 0or1row [ns_db gethandle] {select * from people where id = 99}"
        ),
        ""
    );
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            list [ns_db exec $db {select name from people where id = 2}] [ns_set keys [set r [ns_db bindrow $db]]] \
                [ns_db getrow $db $r] [ns_set get $r name] [ns_db getrow $db $r] \
                [ns_db exec $db {update people set note = 'x'}] [ns_db rowcount $db]"),
        "NS_ROWS name 1 Bob 0 NS_DML 3"
    );
    // Pragmas, and rows that a change returns.
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            set mode [ns_set value [ns_db 0or1row $db {pragma journal_mode = wal}] 0]
            ns_db select $db {pragma busy_timeout = 5000}
            ns_db flush $db
            list $mode [ns_set array [ns_db 1row $db {delete from people where id = 1 returning id, name}]]"),
        "wal {id 1 name Ada}"
    );
}

#[test]
fn failures_name_the_operation_and_keep_the_code() {
    let server = builder().start();
    ok(&server, PEOPLE);
    assert_eq!(
        fails(
            &server,
            "ns_db 1row [ns_db gethandle] {select * from people where id = 99}"
        ),
        "Database operation \"1row\" failed (exception NSDB, \"Query did not return a row.\")"
    );
    assert_eq!(
        fails(
            &server,
            "ns_db 0or1row [ns_db gethandle] {select * from people}"
        ),
        "Database operation \"0or1row\" failed (exception NSDB, \"Query returned more than one row.\")"
    );
    assert_eq!(
        fails(&server, "ns_db dml [ns_db gethandle] {select 1}"),
        "Database operation \"dml\" failed (exception NSDB, \"Query was not a DML or DDL command.\")"
    );
    assert_eq!(
        fails(
            &server,
            "ns_db select [ns_db gethandle] {delete from people}"
        ),
        "Database operation \"select\" failed (exception NSDB, \"Query was not a statement returning rows.\")"
    );
    assert_eq!(
        ok(
            &server,
            "set db [ns_db gethandle]
            set failed [catch {ns_db dml $db {insert into people(name) values ('Ada')}}]
            list $failed [ns_db exception $db] [ns_dberrorcode $db] [ns_dberrormsg $db]"
        ),
        "1 {23505 {UNIQUE constraint failed: people.name}} 23505 {UNIQUE constraint failed: people.name}"
    );
    assert!(
        server
            .log()
            .contains("UNIQUE constraint failed: people.name; SQL: insert"),
        "{}",
        server.log()
    );
    // What was not quoted cannot bring a statement of its own.
    let message = fails(
        &server,
        "ns_db dml [ns_db gethandle] {delete from people where id = 0; drop table people}",
    );
    assert!(message.contains("several statements"), "{message}");
    assert_eq!(
        ok(
            &server,
            "ns_set value [ns_db 1row [ns_db gethandle] {select count(*) from people}] 0"
        ),
        "3"
    );
    assert_eq!(
        fails(&server, "ns_db select nsdb7 {select 1}"),
        "invalid database id:  \"nsdb7\""
    );
    assert_eq!(
        fails(&server, "ns_db gethandle hidden"),
        "no access to pool: \"hidden\""
    );
}

#[test]
fn handles_are_given_back_when_a_script_ends() {
    let server = builder().start();
    ok(&server, PEOPLE);
    for _ in 0..10 {
        assert_eq!(ok(&server, "ns_db gethandle main 2"), "nsdb0 nsdb1");
        // A script that fails gives its handles back, too.
        assert_eq!(fails(&server, "ns_db gethandle main 2; error gone"), "gone");
    }
    assert_eq!(
        ok(
            &server,
            "set a [ns_db gethandle]; set b [ns_db gethandle -timeout 1s other]
            ns_db select $a {select 1}
            list [ns_db currenthandles] [ns_db poolname $b] [dict get [ns_db stats] main used]"
        ),
        "{main {nsdb0 1} other {nsdb1 0}} other 1"
    );
    // The answer is on its way before its thread tidies up.
    assert_eq!(
        ok(
            &server,
            "while {[dict get [ns_db stats] main used] > 0} { after 1 }; ns_db currenthandles"
        ),
        ""
    );
    // A second request of one holder could wait for itself.
    let message = fails(&server, "ns_db gethandle; ns_db gethandle");
    assert!(
        message.starts_with("could not allocate 1 handle from pool \"main\""),
        "{message}"
    );
    let message = fails(&server, "ns_db gethandle main 3");
    assert_eq!(
        message,
        "could not allocate 3 handles from pool \"main\": it has 2"
    );
    // A transaction that was left open is rolled back.
    ok(
        &server,
        "set db [ns_db gethandle]; ns_db dml $db {begin immediate}; ns_db dml $db {delete from people}",
    );
    assert_eq!(
        ok(
            &server,
            "ns_set value [ns_db 1row [ns_db gethandle] {select count(*) from people}] 0"
        ),
        "3"
    );
    server.wait_for_log("open transaction; it was rolled back");
}

#[test]
fn whoever_waits_for_a_handle_has_it_when_it_comes() {
    let server = builder()
        .library(
            "wait.tcl",
            "proc hold {} {
                ns_db gethandle other
                nsv_set hold got 1
                while {![nsv_exists hold go]} { after 10 }
            }",
        )
        .start();
    ok(
        &server,
        "nsv_unset -nocomplain hold; nsv_set hold tid [ns_thread create hold]
        while {![nsv_exists hold got]} { after 10 }",
    );
    assert_eq!(ok(&server, "ns_db gethandle -timeout 20ms other"), "");
    assert_eq!(
        fails(&server, "ns_db gethandle -timeout -1 other"),
        "could not allocate 1 handle from pool \"other\""
    );
    assert_eq!(
        ok(
            &server,
            "ns_after 0.05 {nsv_set hold go 1}; ns_db gethandle -timeout 10 other"
        ),
        "nsdb0"
    );
    ok(&server, "ns_thread wait [nsv_get hold tid]");
}

#[test]
fn writers_queue_and_lose_nothing() {
    let server = builder().start();
    ok(
        &server,
        "set db [ns_db gethandle]
        ns_db 1row $db {pragma journal_mode = wal}
        ns_db dml $db {create table counter(n)}; ns_db dml $db {insert into counter values (0)}",
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    ok(
                        &server,
                        "set db [ns_db gethandle -timeout 20]
                        ns_db dml $db {begin immediate}
                        set n [ns_set value [ns_db 1row $db {select n from counter}] 0]
                        ns_db dml $db \"update counter set n = [expr {$n + 1}]\"
                        ns_db dml $db commit",
                    );
                }
            });
        }
    });
    let count = "ns_set value [ns_db 1row [ns_db gethandle] {select n from counter}] 0";
    assert_eq!(ok(&server, count), "40");
}

#[test]
fn handles_and_pools_tell_about_themselves() {
    let server = builder().start();
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            list [ns_db user $db] [ns_db password $db] [ns_db driver $db] [ns_db dbtype $db] [ns_db connected $db] \
                [file tail [ns_db datasource $db]] [ns_db pools] [ns_dbpooldescription main] [ns_dbconfigpath]"),
        "me secret sqlite SQLite 1 main.db {main other} {The main pool} ns/server/default/db"
    );
    assert_eq!(
        ok(&server, "set db [ns_db gethandle]
            set before [ns_db session_id $db]; ns_db releasehandle $db
            ns_db bouncepool main
            set db [ns_db gethandle]
            list [expr {$before eq [ns_db session_id $db]}] [ns_db disconnect $db] [ns_db connected $db] \
                [ns_set value [ns_db 1row $db {select 1}] 0] [ns_db connected $db]"),
        "0 {} 0 1 1"
    );
    assert_eq!(
        ok(
            &server,
            "list [ns_db logminduration] [ns_db logminduration main 10ms] [ns_db logminduration main]"
        ),
        "{main 0 other 0} 0.01 0.01"
    );
    assert_eq!(
        fails(&server, "ns_db nosuch"),
        "bad subcommand \"nosuch\": must be 0or1row, 1row, bindrow, bouncepool, \
        cancel, connected, currenthandles, datasource, dbtype, disconnect, dml, driver, exception, exec, flush, gethandle, \
        getrow, info, interpretsqlfile, logminduration, password, poolname, pools, releasehandle, resethandle, rowcount, \
        select, session_id, setexception, sp_exec, sp_getparams, sp_returncode, sp_setparam, sp_start, stats, user, or verbose"
    );
    ok(
        &server,
        "ns_logctl severity Debug(sql) on; ns_db 1row [ns_db gethandle other] {select 'seen'}",
    );
    server.wait_for_log("select 'seen'");
}

#[test]
fn the_library_may_use_databases_and_scripts_may_be_files() {
    let server = builder()
        .file("schema.sql", "create table a(b); -- one; two\ninsert into a values ('x;y');\ninsert into a values ('z');")
        .library(
            "init.tcl",
            "set db [ns_db gethandle -timeout 10 main]
            ns_db interpretsqlfile $db [file join [ns_info home] schema.sql]
            ns_db releasehandle $db
            proc count {} { ns_set value [ns_db 1row [ns_db gethandle] {select count(*) from a}] 0 }",
        )
        .start();
    assert_eq!(ok(&server, "count"), "2");
    assert_eq!(
        ok(
            &server,
            "set f [file tempfile path]; set n [ns_writecsv $f [ns_db gethandle] a]; seek $f 0
            set text [read $f]; close $f; file delete $path; list $n $text"
        ),
        "2 {\"b\"\n\"x;y\"\n\"z\"\n}"
    );
}

#[test]
fn a_configuration_that_cannot_work_is_told_at_the_start() {
    let wrong = |from: &str, to: &str, message: &str| {
        let text = "ns_section ns/server/default/modules { ns_param nsdb nsdb }
            ns_section ns/db/drivers { ns_param sqlite nsdbsqlite }
            ns_section ns/db/pools { ns_param main Main }
            ns_section ns/db/pool/main { ns_param driver sqlite; ns_param datasource x.db }
            ns_section ns/server/default/db { ns_param pools main }";
        let log = match Server::builder()
            .append(&text.replace(from, to))
            .try_start()
        {
            // The ports are bound before the error is found: somebody may have connected.
            Ok(mut server) => {
                assert_ne!(server.wait(), Some(0), "{to}: started");
                server.log()
            }
            Err(log) => log,
        };
        assert!(log.contains(message), "{to}: {log}");
    };
    wrong(
        "nsdbsqlite",
        "nsdbfoo",
        "unknown database driver \"nsdbfoo\"",
    );
    wrong(
        "driver sqlite;",
        "driver mysql;",
        "driver \"mysql\" is not in ns/db/drivers",
    );
    wrong("pools main", "pools maine", "no pool \"maine\"");
    wrong(
        "datasource x.db",
        "datasource x.db; ns_param connections none",
        "connections",
    );
}
