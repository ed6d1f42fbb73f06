//! What scripts share and keep: caches, nsv, data of a socket, log filters; and the configuration under `nsd -T`.

use std::time::Duration;

use testkit::Server;

#[test]
fn one_of_many_threads_makes_a_cached_value() {
    let server = Server::builder()
        .library(
            "cache.tcl",
            "ns_cache_create slow 1MB
             nsv_set made count 0
             proc slow {} {
                 ns_cache_eval slow key {
                     nsv_incr made count
                     while {![nsv_exists gate open]} {ns_sleep 10ms}
                     return value
                 }
             }
             ns_register_proc GET /slow {nsv_incr made asked; ns_return 200 text/plain [slow]}",
        )
        .start();
    let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    let asked = testkit::wait::until(Duration::from_secs(20), || {
        (server.eval("nsv_set -default made asked 0").as_deref() == Ok("3")).then_some(())
    });
    assert!(asked.is_some(), "{}", server.log());
    server.eval("nsv_set gate open 1").expect("it opens");
    for client in &mut clients {
        assert_eq!(client.response().text(), "value");
    }
    assert_eq!(server.eval("nsv_get made count").as_deref(), Ok("1"));
}

#[test]
fn an_open_transaction_ends_with_its_request() {
    let server = Server::builder()
        .library(
            "cache.tcl",
            "ns_cache_create c 1MB
             ns_register_proc GET /open {ns_cache_transaction_begin; ns_cache_incr c n; ns_return 200 text/plain x}",
        )
        .start();
    assert_eq!(server.get("/open").status, 200);
    server.wait_for_log("cache transaction was left open");
    assert_eq!(server.eval("ns_cache_keys c").as_deref(), Ok(""));
}

#[test]
fn data_of_a_socket_stays_with_it() {
    let server = Server::builder()
        .library(
            "sls.tcl",
            "ns_register_proc GET /count {
                 set n [ns_sls get n 0]
                 ns_sls set n [incr n]
                 ns_return 200 text/plain $n
             }",
        )
        .start();
    let mut client = server.connect();
    for n in ["1", "2", "3"] {
        client.send("GET /count HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(client.response().text(), n);
    }
    assert_eq!(server.get("/count").text(), "1");
}

#[test]
fn a_log_filter_hears_of_messages_until_it_is_removed() {
    let server = Server::builder()
        .library(
            "filter.tcl",
            "proc heard {severity time message args} {nsv_lappend heard $severity $message $args}",
        )
        .start();
    let handle = server
        .eval("ns_logctl register heard extra")
        .expect("it is registered");
    server
        .eval("ns_log warning {one two}")
        .expect("it is logged");
    let heard = testkit::wait::until(Duration::from_secs(20), || {
        server
            .eval("nsv_array get heard Warning")
            .ok()
            .filter(|h| h.contains("one two"))
    });
    assert!(
        heard.as_deref().is_some_and(|h| h.contains("extra")),
        "{heard:?}"
    );
    server
        .eval(&format!("ns_logctl unregister {handle}"))
        .expect("it is removed");
    assert!(
        server
            .eval(&format!("ns_logctl unregister {handle}"))
            .is_err()
    );
}

#[test]
fn the_test_of_a_configuration_names_what_is_wrong_and_where() {
    let folder = std::env::temp_dir().join(format!("navis-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("conf.tcl");
    std::fs::write(
        &file,
        "ns_section ns/servers {\n    ns_param main x\n}\nns_section ns/server/mian/tcl {\n    ns_param library /tmp\n}\n\
         ns_section ns/parameters {\n    if 1 {\n        ns_param logusce true\n        ns_param logsec maybe\n    }\n}\n",
    )
    .expect("a file");
    let name = file.display().to_string();
    let mut words = vec!["-T", "-t", &name];
    if let Some(user) = testkit::unprivileged() {
        words.extend(["-u", user]);
    }
    let finished = testkit::nsd(&words, "");
    let _ = std::fs::remove_dir_all(&folder);
    let out = &finished.stdout;
    assert!(out.contains("problem"), "{finished:?}");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    for line in [
        format!(
            "{name}:5: section ns/server/mian/tcl: there is no server \"mian\"; did you mean main?\n"
        ),
        format!(
            "{name}:9: section ns/parameters, parameter logusce: unknown parameter; did you mean logusec?\n"
        ),
        format!("{name}:10: section ns/parameters, parameter logsec: "),
        format!("{name}: 3 problems\n"),
    ] {
        assert!(out.contains(&line), "{line}\n{out}");
    }
}
