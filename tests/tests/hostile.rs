//! Slow and hostile clients of the whole program: no connection thread is held, and others are served.

use std::time::Duration;

use testkit::{Connection, Server, wait};

/// More than the system takes for a client that reads nothing.
const MEGABYTES: usize = 24;

const HANDLERS: &str = r#"
ns_register_proc GET /stream {
    ns_conn clientdata "the slow one"
    ns_headers 200 text/plain
    set block [string repeat "0123456789abcdef" 4096]
    for {set i 0} {$i < 16 * MEGABYTES} {incr i} {ns_write $block}
}
ns_register_proc GET /quick {ns_return 200 text/plain quick}
ns_register_proc GET /large {ns_return 200 text/plain [string repeat "0123456789abcdef" 500000]}
ns_register_proc GET /limited {
    ns_conn ratelimit 20000
    ns_return 200 text/plain [string repeat "0123456789abcdef" 500000]
}
ns_register_proc POST /upload {ns_return 200 text/plain [ns_conn contentlength]}
"#;

/// One connection thread: whoever holds it is seen at once.
fn server(parameters: &[(&str, &str, &str)]) -> Server {
    let mut builder = Server::builder()
        .library(
            "hostile.tcl",
            &HANDLERS.replace("MEGABYTES", &MEGABYTES.to_string()),
        )
        .param("ns/server/default", "minthreads", "1")
        .param("ns/server/default", "maxthreads", "1")
        .param("ns/module/nssock", "backlog", "1024");
    for (section, name, value) in parameters {
        builder = builder.param(section, name, value);
    }
    builder.start()
}

fn ask(server: &Server, path: &str) -> Connection {
    let mut connection = server.connect();
    connection.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    connection
}

fn list(server: &Server) -> Vec<String> {
    let rows = server.eval("ns_writer list").unwrap_or_default();
    server.eval(&format!("join [lmap r {{{rows}}} {{join [list [lindex $r 2] [lindex $r 4] [expr {{[lindex $r 6] > 0}}] [lindex $r 9] [lindex $r 10]] |}}] \\n"))
        .map(|text| text.lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

#[test]
fn streams_do_not_hold_the_connection_thread() {
    let server = server(&[("ns/module/nssock", "writerstreaming", "true")]);
    let mut slow: Vec<Connection> = (0..3).map(|_| ask(&server, "/stream")).collect();
    // Behind three streams that nobody reads there is one thread for this.
    assert_eq!(server.get("/quick").text(), "quick");
    let all = || Some(list(&server)).filter(|rows| rows.len() == 3);
    let rows =
        wait::until(Duration::from_secs(20), all).expect("all three streams are on their way");
    assert!(
        rows.iter()
            .all(|row| row == "nssock|127.0.0.1|1|0|the slow one"),
        "{rows:?}"
    );
    // Memory holds a part of each.
    assert!(server.memory() < 200 * 1024 * 1024, "{}", server.memory());
    for connection in &mut slow {
        let body = connection.response().body;
        assert_eq!(body.len(), MEGABYTES * 1024 * 1024);
    }
    assert!(list(&server).is_empty());
    assert_eq!(
        server.eval("ns_writer streaming -driver nssock").as_deref(),
        Ok("1")
    );
    assert_eq!(
        server.eval("ns_writer size -driver nssock 4096").as_deref(),
        Ok("4096")
    );
    assert_eq!(
        server.eval("ns_writer size -driver nssock").as_deref(),
        Ok("4096")
    );
}

#[test]
fn rates_of_connection_and_pool_are_kept() {
    let server = server(&[]);
    let begun = std::time::Instant::now();
    // 8 MB at 20 MB/s, less what goes at once.
    assert_eq!(server.get("/limited").body.len(), 8_000_000);
    assert!(
        begun.elapsed() > Duration::from_millis(100),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        server.eval("ns_server poolratelimit 20000").as_deref(),
        Ok("20000")
    );
    let begun = std::time::Instant::now();
    let mut two = [ask(&server, "/large"), ask(&server, "/large")];
    for connection in &mut two {
        assert_eq!(connection.response().body.len(), 8_000_000);
    }
    assert!(
        begun.elapsed() > Duration::from_millis(300),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn hundreds_of_slow_clients_hold_nobody_up() {
    let server = server(&[
        ("ns/module/nssock", "recvwait", "60s"),
        ("ns/module/nssock", "keepwait", "60s"),
    ]);
    let mut crowd = Vec::new();
    for n in 0..300 {
        let mut connection = server.connect();
        connection.send(match n % 4 {
            0 => "GET /quick HTTP/1.1\r\nHost: loc",
            1 => "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc",
            2 => "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n",
            _ => "",
        });
        crowd.push(connection);
    }
    let begun = std::time::Instant::now();
    let mut connection = server.connect();
    for _ in 0..200 {
        let response = connection.request("GET", "/quick", &[], b"");
        assert_eq!(response.text(), "quick");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(server.eval("ns_server waiting").as_deref(), Ok("0"));
    // They finish what they began, and are answered.
    crowd[0].send("alhost\r\n\r\n");
    assert_eq!(crowd[0].response().text(), "quick");
    crowd[1].send(vec![b'x'; 99_997]);
    assert_eq!(crowd[1].response().text(), "100000");
    assert_eq!(crowd[2].response().body.len(), 8_000_000);
}
