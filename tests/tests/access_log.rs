//! nslog: what a line contains, that nobody can forge one, rolling.

use std::time::Duration;

use testkit::wait::until;
use testkit::{Builder, Server};

fn builder(parameters: &str) -> Builder {
    Server::builder()
        .folder("log")
        .page("index.html", "hello")
        .append(&format!(
            "ns_section ns/server/default/modules {{ ns_param nslog nslog.so }}
        ns_section ns/server/default/module/nslog {{ {parameters} }}"
        ))
}

/// Waits until a file has the text: lines are written when the answer is on its way.
#[track_caller]
fn wait_for(server: &Server, file: &str, text: &str) {
    let path = server.home().join(file);
    let found = until(Duration::from_secs(10), || {
        std::fs::read_to_string(&path)
            .is_ok_and(|t| t.contains(text))
            .then_some(())
    });
    assert!(
        found.is_some(),
        "no {text} in {file}: {:?}",
        std::fs::read_to_string(&path)
    );
}

/// The log after an orderly end, so that all lines are there.
fn lines(mut server: Server) -> Vec<String> {
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    let text = String::from_utf8(server.read("log/access.log")).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_have_the_combined_format() {
    let server = builder("").start();
    server.raw("GET /?a=b HTTP/1.1\r\nHost: localhost\r\nReferer: http://x/\r\nUser-Agent: test\r\nConnection: close\r\n\r\n");
    wait_for(&server, "log/access.log", "/?a=b");
    server.get("/nowhere");
    let lines = lines(server);
    let (head, tail) = lines[0].split_once(']').expect("a date");
    assert!(head.starts_with("127.0.0.1 - - ["), "{head}");
    assert_eq!(tail, " \"GET /?a=b HTTP/1.1\" 200 5 \"http://x/\" \"test\"");
    let date = head.rsplit('[').next().expect("a date");
    assert_eq!(
        (date.len(), &date[2..3], &date[11..12], &date[20..21]),
        (26, "/", ":", " "),
        "{date}"
    );
    assert!(
        lines[1].contains("\"GET /nowhere HTTP/1.1\" 404 "),
        "{}",
        lines[1]
    );
}

#[test]
fn everything_that_can_be_logged() {
    let server = builder(
        "ns_param formattedtime false; ns_param logreqtime true; ns_param logpartialtimes true; ns_param logthreadname true
        ns_param extendedheaders {X-Own response:content-type res:x-reply}; ns_param suppressquery true
        ns_param masklogaddr true; ns_param checkforproxy true; ns_param maxbuffer 100",
    )
    .library("x.tcl", "ns_register_proc GET /x { ns_set put [ns_conn outputheaders] X-Reply r; ns_return 200 text/plain ok }")
    .start();
    let ask = |path: &str, from: &str| {
        server.raw(format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Own: a\"b\r\nX-Forwarded-For: {from}\r\nConnection: close\r\n\r\n"
        ))
    };
    ask("/x?secret=1", "192.0.2.77, 10.0.0.1");
    ask("/", "2001:db8:1:2:3:4:5:6");
    ask("/x", "<nobody>");
    let mut lines = lines(server);
    lines.sort();
    let words: Vec<&str> = lines[0].split(' ').collect();
    assert_eq!(words[0], "192.0.2.0");
    assert!(words[1].starts_with("-conn:default:"), "{}", words[1]);
    assert!(
        words[3].trim_matches(['[', ']']).parse::<u64>().is_ok(),
        "{}",
        words[3]
    );
    assert_eq!(
        words[4..11].join(" "),
        "\"GET /x HTTP/1.1\" 200 2 \"\" \"\""
    );
    assert!(words[11].parse::<f64>().is_ok(), "{}", words[11]);
    assert_eq!(words[12..17].len(), 5);
    assert!(words[16].ends_with('"'), "{}", lines[0]);
    assert!(
        lines[0].ends_with(" \"a\\\"b\" \"text/plain; charset=utf-8\" \"r\""),
        "{}",
        lines[0]
    );
    assert!(lines[1].starts_with("2001:db8:1:2:: "), "{}", lines[1]);
    assert!(
        lines[1].ends_with(" \"a\\\"b\" \"text/html\" \"\""),
        "{}",
        lines[1]
    );
    assert!(lines[2].starts_with("<nobody> "), "{}", lines[2]);
}

#[test]
fn nobody_forges_a_line() {
    let server = builder("").start();
    server.raw("GET /a\"b%0a1.2.3.4 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\" 1 \\ \t\u{9b}\r\nConnection: close\r\n\r\n");
    server.raw("GET /\u{1}\u{1b}[2J HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    server.raw("\"nonsense\" \u{7f}\r\n\r\n");
    server.get("/");
    let lines = lines(server);
    for line in &lines {
        assert!(line.starts_with("127.0.0.1 "), "{line}");
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }
    assert!(
        lines.iter().any(|l| l.contains(r#""x\" 1 \\"#)),
        "{lines:?}"
    );
}

#[test]
fn the_file_rolls_and_moves_at_run_time() {
    let server = builder("ns_param maxbackup 2; ns_param rollonsignal true").start();
    let ok = |script: &str| {
        server
            .eval(script)
            .unwrap_or_else(|e| panic!("{script}: {e:?}"))
    };
    server.get("/one");
    assert_eq!(
        ok(
            "list [file tail [ns_accesslog file]] [ns_accesslog maxbackup] [ns_accesslog maxbuffer]"
        ),
        "access.log 2 0"
    );
    for _ in 0..4 {
        ok("ns_accesslog roll");
    }
    let files = "lsort [lmap f [glob -directory [file dirname [ns_accesslog file]] access*] {file tail $f}]";
    assert_eq!(ok(files), "access.log access.log.000 access.log.001");
    assert_eq!(ok("ns_accesslog flags"), "logcombined formattedtime");
    assert_eq!(
        ok("ns_accesslog flags {logcombined suppressquery}"),
        "logcombined suppressquery"
    );
    assert_eq!(
        ok("ns_accesslog extendedheaders {Host res:Date}; ns_accesslog extendedheaders"),
        "Host res:Date"
    );
    assert_eq!(ok("ns_accesslog rollfmt %Y; ns_accesslog rollfmt"), "%Y");
    ok("ns_accesslog file other.log");
    server.get("/two?x");
    wait_for(&server, "log/other.log", "\"GET /two HTTP/1.1\"");
    // A file that cannot be opened changes nothing.
    let failed = server
        .eval("ns_accesslog file nowhere/x.log")
        .expect_err("no such folder");
    assert!(
        failed.message.contains("cannot open access log"),
        "{failed:?}"
    );
    server.get("/three");
    wait_for(&server, "log/other.log", "/three");
    server.signal("HUP");
    let year = ok("clock format [clock seconds] -format %Y");
    let rolled = format!("log/other.log.{year}");
    assert!(
        until(Duration::from_secs(10), || {
            server.home().join(&rolled).exists().then_some(())
        })
        .is_some(),
        "no {rolled}"
    );
}

#[test]
fn a_driver_may_have_a_log_of_its_own() {
    let server = builder("ns_param driver nssock")
        .append(
            "ns_section ns/server/default/modules { ns_param nslog2 nslog }
            ns_section ns/server/default/module/nslog2 { ns_param file second.log; ns_param driver other* }",
        )
        .start();
    server.get("/");
    let home = server.home().join("log/second.log");
    assert_eq!(std::fs::metadata(home).expect("opened").len(), 0);
    assert_eq!(lines(server).len(), 1);
}
