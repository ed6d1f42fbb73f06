//! Scripts on other threads: threads, schedules, jobs, locks, and how pools grow.

use testkit::Server;

#[track_caller]
fn value(server: &Server, script: &str) -> String {
    match server.eval(script) {
        Ok(value) => value,
        Err(e) => panic!("{script}: {}\n{}", e.message, server.log()),
    }
}

#[test]
fn locks_keep_threads_apart() {
    let server = Server::builder().start();
    let script = "
        set m [ns_mutex create counter]; nsv_set c n 0
        set body [list apply {m {for {set i 0} {$i < 50} {incr i} {
            ns_mutex eval $m {set n [nsv_get c n]; ns_thread yield; nsv_set c n [expr {$n + 1}]}
        }}} $m]
        foreach i {1 2 3 4} {lappend threads [ns_thread create $body]}
        foreach t $threads {ns_thread wait $t}
        nsv_get c n";
    assert_eq!(value(&server, script), "200");
    assert_eq!(
        value(
            &server,
            "expr {[lsearch -index 0 [ns_info locks] counter] >= 0}"
        ),
        "1"
    );
    let error = server
        .eval("ns_mutex unlock notmine")
        .expect_err("nobody holds it");
    assert!(
        error.message.starts_with("ns_mutex unlock notmine: "),
        "{}",
        error.message
    );
    let error = server
        .eval("ns_mutex lock twice; ns_mutex lock twice")
        .expect_err("it would wait for itself");
    assert!(
        error.message.contains("would wait for itself"),
        "{}",
        error.message
    );
}

#[test]
fn a_thread_waits_for_another_by_condition_and_semaphore() {
    let server = Server::builder().start();
    let script = "
        set m [ns_mutex create]; set c [ns_cond create]; set s [ns_sema create 0]; nsv_set q items {}
        set consumer [ns_thread create [list apply {{m c s} {
            ns_sema release $s
            set got {}
            while {[llength $got] < 3} {
                ns_mutex lock $m
                while {![llength [nsv_get q items]]} {ns_cond wait $c $m 10}
                lappend got {*}[nsv_get q items]; nsv_set q items {}
                ns_mutex unlock $m
            }
            return $got
        }} $m $c $s]]
        ns_sema wait $s
        foreach i {a b c} {ns_mutex eval $m {nsv_lappend q items $i}; ns_cond signal $c}
        ns_thread wait $consumer";
    assert_eq!(value(&server, script), "a b c");
}

#[test]
fn schedules_run_pause_and_end() {
    let server = Server::builder().start();
    // The semaphore is released by the scheduled script: nobody sleeps.
    let script = "
        set s [ns_sema create 0]; nsv_set runs n 0
        set id [ns_schedule_proc 1ms \"nsv_incr runs n; ns_sema release $s\"]
        ns_sema wait $s; ns_sema wait $s; ns_sema wait $s
        set row [lsearch -inline -index 0 [ns_info scheduled] $id]
        list [expr {[nsv_get runs n] >= 3}] [llength $row] [lindex $row 7] [string match *nsv_incr* [lindex $row 8]] \
            [ns_pause $id] [ns_pause $id] [ns_resume $id] [ns_unschedule_proc $id] [ns_unschedule_proc $id] \
            [lsearch -index 0 [ns_info scheduled] $id]";
    assert_eq!(value(&server, script), "1 9 ns:tclschedproc 1 1 0 1 1 0 -1");
    let script = "set s [ns_sema create 0]; ns_schedule_proc -once -thread 0 {nsv_set runs thread [ns_thread name];} ; \
                  ns_schedule_proc -once -thread 0 ns_sema release $s; ns_after 0 ns_sema release $s; ns_sema wait $s; ns_sema wait $s";
    value(&server, script);
    let script = "set s [ns_sema create 0]; ns_after 0 \"catch {error logged}; ns_sema release $s; error boom\"; ns_sema wait $s";
    value(&server, script);
    testkit::wait::until(testkit::wait::PATIENCE, || {
        server.log().contains("boom").then_some(())
    })
    .expect("the error is logged");
}

#[test]
fn jobs_run_in_order_on_few_threads() {
    let server = Server::builder().start();
    let script = "
        ns_job create q 1; nsv_set order l {}
        foreach i {1 2 3 4 5} {lappend ids [ns_job queue q \"nsv_lappend order l $i; expr $i*$i\"]}
        foreach id $ids {lappend r [ns_job wait q $id]}
        list $r [nsv_get order l] [ns_job jobs q] [dict get [ns_job threadlist] numthreads]";
    assert_eq!(value(&server, script), "{1 4 9 16 25} {1 2 3 4 5} {} 1");
    let script = "
        ns_job create many 3; set s [ns_sema create 0]; set go [ns_sema create 0]
        foreach i {1 2 3 4} {lappend ids [ns_job queue many \"ns_sema release $s; ns_sema wait $go; ns_thread name\"]}
        foreach i {1 2 3} {ns_sema wait $s}
        set running [dict get [lsearch -inline [ns_job queuelist] {name many*}] numrunning]
        ns_sema release $go 4
        foreach id $ids {lappend names [ns_job wait many $id]}
        list $running [llength [lsort -unique $names]] [ns_job delete many] [expr {{many} in [ns_job queues]}]";
    assert_eq!(value(&server, script), "3 3 {} 0");
    let error = server
        .eval("ns_job create e; ns_job queue -jobid x e {error bad {} {MY CODE}}; ns_job wait e x")
        .expect_err("the job's error");
    assert_eq!(
        (error.message.as_str(), error.errorcode.as_str()),
        ("bad", "{MY CODE}")
    );
}

#[test]
fn the_pool_grows_under_load_up_to_its_maximum() {
    let library = "
        nsv_set pool n 0
        ns_register_proc GET /hold {
            nsv_incr pool n
            while {[nsv_get pool n] < 4} {after 1}
            ns_return 200 text/plain [ns_thread id]
        }";
    let server = Server::builder().library("hold.tcl", library).start();
    // Four requests that end only when all four run: one thread would never do.
    let mut connections: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for c in &mut connections {
        c.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    let mut threads: Vec<String> = connections
        .iter_mut()
        .map(|c| c.response().text())
        .collect();
    threads.sort();
    threads.dedup();
    assert_eq!(threads.len(), 4);
    assert_eq!(value(&server, "dict get [ns_server threads] max"), "4");
    assert_eq!(
        value(&server, "ns_server minthreads 2; ns_server minthreads"),
        "2"
    );
}

#[test]
fn threads_are_replaced_after_connsperthread() {
    let server = Server::builder().append("ns_section -update ns/server/default {ns_param connsperthread 3; ns_param maxthreads 1}").start();
    let ids: Vec<String> = (0..20).map(|_| value(&server, "ns_thread id")).collect();
    let mut different = ids.clone();
    different.sort();
    different.dedup();
    assert!(different.len() >= 5, "{ids:?}");
}

#[test]
fn limits_and_kinds_of_endings() {
    let server = Server::builder().start();
    assert!(
        value(
            &server,
            "ns_thread wait [ns_thread create {return -code error x}]"
        )
        .starts_with("x\n")
    );
    let error = server.eval("ns_thread wait nosuch").expect_err("unknown");
    assert_eq!(error.message, "invalid address \"nosuch\"");
    assert_eq!(
        value(
            &server,
            "set t [ns_thread create {}]; ns_thread wait $t; catch {ns_thread wait $t}"
        ),
        "1"
    );
    // Threads end and give back what they had: no growth of their number.
    value(
        &server,
        "for {set i 0} {$i < 20} {incr i} {ns_thread wait [ns_thread create {set x 1}]}",
    );
    assert!(server.threads() < 20, "{}", server.threads());
}

#[test]
fn scripts_of_ns_atclose_run_after_the_answer() {
    let server = Server::builder()
        .append("ns_section -update ns/server/default {ns_param maxthreads 1}")
        .start();
    value(
        &server,
        "nsv_set c l {}; ns_atclose nsv_lappend c l first; ns_atclose {nsv_lappend c l [ns_conn url]}",
    );
    assert_eq!(value(&server, "nsv_get c l"), "/-testkit-/eval first");
}
