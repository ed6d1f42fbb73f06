//! Requests over real sockets: framing, keep-alive, pipelining, limits, refusals, spooling.
mod support;

use std::net::Shutdown;
use std::time::Duration;

use support::Server;

#[test]
fn a_connection_carries_many_requests() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    for path in ["/a", "/thread/b"] {
        let answer = client.get(path);
        assert_eq!(answer.line, "HTTP/1.1 200 OK");
        assert_eq!(answer.text(), format!("GET {path}\n"));
        assert_eq!(answer.field("connection"), "keep-alive");
    }
    client.send("HEAD /bytes?10 HTTP/1.1\r\nHost: h\r\n\r\n");
    let answer = client.answer_to_head();
    assert_eq!(answer.field("content-length"), "10");
    client.send(
        "GET /c HTTP/1.1\r\nHost: h\r\nConnection: foo, Close\r\n\r\nGET /never HTTP/1.1\r\n\r\n",
    );
    let answer = client.answer();
    assert_eq!(answer.field("connection"), "close");
    assert!(client.rest().is_empty());
    let stats = server.driver.stats();
    assert_eq!((stats.accepted, stats.requests, stats.errors), (1, 4, 0));
}

#[test]
fn the_old_versions() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.send("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n");
    let answer = client.answer();
    assert_eq!(
        (answer.line.as_str(), answer.field("connection")),
        ("HTTP/1.0 200 OK", "keep-alive")
    );
    assert_eq!(client.answer().field("connection"), "close");
    assert!(client.rest().is_empty());
    let mut client = server.client();
    client.send("GET /stream?3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!(answer.field("connection"), "close");
    assert_eq!(answer.text(), "line 0\nline 1\nline 2\n");
    let mut client = server.client();
    client.send("GET /plain\r\n");
    assert_eq!(client.rest(), b"GET /plain\n");
}

#[test]
fn a_hundred_pipelined_requests_are_answered_in_order() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    let mut all = String::new();
    for n in 0..100 {
        match n % 3 {
            0 => all += &format!("GET /{n} HTTP/1.1\r\nHost: h\r\n\r\n"),
            1 => all += &format!("GET /thread/{n} HTTP/1.1\r\nHost: h\r\n\r\n"),
            _ => {
                let body = format!("body {n}");
                let length = body.len();
                all += &format!(
                    "POST /thread/echo HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        }
    }
    client.send(&all);
    for n in 0..100 {
        let expected = match n % 3 {
            0 => format!("GET /{n}\n"),
            1 => format!("GET /thread/{n}\n"),
            _ => format!("body {n}"),
        };
        assert_eq!(client.answer().text(), expected);
    }
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.socket.set_nodelay(true).unwrap();
    let request = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 11\r\n\r\n";
    for byte in request.bytes() {
        client.send([byte]);
    }
    let answer = client.answer();
    assert_eq!(
        (answer.text().as_str(), answer.field("x-trailer-x-sum")),
        ("hello world", "11")
    );
    client.send(format!("{request}{request}"));
    assert_eq!(client.answer().text(), "hello world");
    assert_eq!(client.answer().text(), "hello world");
    assert!(server.driver.stats().partial >= 1);
}

#[test]
fn continue_is_sent_to_those_who_wait_for_it() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    let head =
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n";
    client.send(head);
    assert_eq!(client.answer().line, "HTTP/1.1 100 Continue");
    client.send("hello");
    assert_eq!(client.answer().text(), "hello");
    client.send("POST /echo HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello");
    assert_eq!(client.answer().text(), "hello");
    // What is refused is not invited.
    let mut client = server.client();
    client.send(
        "POST /unwanted HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(client.answer().status, 421);
    assert!(client.rest().is_empty());
}

#[test]
fn bad_requests_are_refused_and_the_connection_closed() {
    let server = Server::start(|config| {
        config.maxline = 1000;
        config.maxheaders = 5;
        config.maxinput = 20_000;
    });
    let post = "POST /echo HTTP/1.1\r\nHost: h\r\n";
    let long = "x".repeat(2000);
    let chunk = "8000\r\n".to_owned() + &"x".repeat(0x8000) + "\r\n0\r\n\r\n";
    for (request, status) in [
        ("GET\r\n\r\n".to_owned(), 400),
        (" GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        ("\u{16}\u{3}\u{1}".to_owned(), 400),
        ("GET / HTTP/1.1\nHost: h\n\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nHost : h\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n".to_owned(), 505),
        (format!("GET /{long}"), 414),
        (
            format!("GET / HTTP/1.1\r\nHost: h\r\nA: {long}\r\n\r\n"),
            431,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(5)),
            431,
        ),
        (
            format!("{post}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
            400,
        ),
        (
            format!("{post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
            400,
        ),
        (
            format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\nabc"),
            400,
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            400,
        ),
        (format!("{post}Content-Length: 20001\r\n\r\n"), 413),
        (
            format!("{post}Content-Length: 20001\r\n\r\n{}", "x".repeat(20_001)),
            413,
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\n7fffffff\r\nx"),
            413,
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\n\r\n{chunk}"),
            413,
        ),
    ] {
        let mut client = server.client();
        client.send(&request);
        let answer = client.answer();
        let start = &request[..request.len().min(80)];
        assert_eq!(answer.status, status, "{start:?}");
        assert_eq!(answer.field("connection"), "close", "{start:?}");
        assert!(answer.text().starts_with("refused: "), "{start:?}");
        assert!(client.rest().is_empty(), "{start:?}");
    }
    let stats = server.driver.stats();
    assert_eq!(stats.requests, 0);
    assert!(stats.refused.contains(&(413, 4)), "{:?}", stats.refused);
    // Exactly as much as allowed.
    let mut client = server.client();
    client.send(format!(
        "{post}Content-Length: 20000\r\n\r\n{}",
        "x".repeat(20_000)
    ));
    assert_eq!(client.answer().body.len(), 20_000);
    client.send("GET /unwanted-but-stay HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(client.answer().field("connection"), "keep-alive");
    assert_eq!(client.get("/x").status, 200);
}

#[test]
fn a_client_that_sends_too_much_still_sees_why() {
    let server = Server::start(|config| config.maxinput = 1000);
    let mut client = server.client();
    let body = vec![b'x'; 4_000_000];
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n");
    client.send(&body);
    assert_eq!(client.answer().status, 413);
}

#[test]
fn large_bodies_go_to_a_file_that_does_not_stay() {
    let server = Server::start(|config| {
        config.maxupload = 16_384;
        config.spoolerthreads = 2;
    });
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n % 253) as u8).collect();
    let mut client = server.client();
    for (length, kind) in [
        (0, "empty"),
        (16_384, "memory"),
        (16_385, "file"),
        (3_000_000, "file"),
    ] {
        client.send(format!(
            "POST /thread/echo HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n"
        ));
        client.send(&body[..length]);
        let answer = client.answer();
        assert_eq!(answer.field("x-body"), kind, "{length}");
        assert!(answer.body == body[..length]);
    }
    for (length, kind) in [(40_000, "memory"), (3_000_000, "file")] {
        client.send("POST /thread/echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in body[..length].chunks(100_000) {
            client.send(format!("{:x}\r\n", piece.len()));
            client.send(piece);
            client.send("\r\n");
        }
        client.send("0\r\n\r\n");
        let answer = client.answer();
        assert_eq!(answer.field("x-body"), kind, "{length}");
        assert!(answer.body == body[..length]);
    }
    assert_eq!(client.get("/x").status, 200);
    assert_eq!(server.driver.stats().spooled, 3);
    // An upload that is given up leaves nothing either.
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n");
    client.send(&body);
    drop(client);
    server.driver.shutdown(support::PATIENCE);
    assert_eq!(std::fs::read_dir(server.uploads.path()).unwrap().count(), 0);
}

#[test]
fn a_body_that_cannot_be_stored_is_refused() {
    let server = Server::start(|config| {
        config.maxupload = 10;
        config.uploadpath = "/nonexistent/uploads".into();
    });
    let mut client = server.client();
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world");
    assert_eq!(client.answer().status, 500);
}

#[test]
fn keep_alive_has_limits() {
    let server = Server::start(|config| {
        config.keepalivemaxuploadsize = 100;
        config.keepalivemaxdownloadsize = 100;
    });
    let mut client = server.client();
    assert_eq!(client.get("/bytes?100").field("connection"), "keep-alive");
    assert_eq!(client.get("/bytes?101").field("connection"), "close");
    assert!(client.rest().is_empty());
    for (length, expected) in [(100, "keep-alive"), (101, "close")] {
        let mut client = server.client();
        let body = "x".repeat(length);
        client.send(format!(
            "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(client.answer().field("connection"), expected);
    }
    let server = Server::start(|config| config.keepwait = Duration::ZERO);
    let mut client = server.client();
    assert_eq!(client.get("/").field("connection"), "close");
    assert!(client.rest().is_empty());
}

#[test]
fn silent_clients_are_let_go() {
    let server = Server::start(|config| {
        config.recvwait = Duration::from_millis(400);
        config.keepwait = Duration::from_millis(100);
    });
    // Nothing at all, and an idle connection after a request: closed without a word.
    let mut client = server.client();
    assert!(client.rest().is_empty());
    for path in ["/x", "/thread/x"] {
        let mut client = server.client();
        client.get(path);
        assert!(client.rest().is_empty());
    }
    // Half a head gets no answer, as with the reference (basic-timeout-head).
    let mut client = server.client();
    client.send("GET / HT");
    assert!(client.rest().is_empty());
    // Nor does half a body, as with the reference (chunked-no-final).
    let mut client = server.client();
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nx");
    assert!(client.rest().is_empty());
    assert_eq!(server.driver.stats().timeouts, 5);
    // A request that takes longer than any of these is not affected.
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let held = server.hold();
    let mut other = server.client();
    assert!(other.rest().is_empty());
    assert!(held.reply.is_connected());
    held.reply.send(support::text("late"));
    assert_eq!(client.answer().text(), "late");
}

#[test]
fn a_half_closed_client_is_answered() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /thread/b HTTP/1.1\r\nHost: h\r\n\r\nGET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().text(), "GET /a\n");
    assert_eq!(client.answer().text(), "GET /thread/b\n");
    let held = server.hold();
    held.reply.send(support::text("c"));
    assert_eq!(client.answer().text(), "c");
    assert!(client.rest().is_empty());
    // With half a request nothing can be done.
    let mut client = server.client();
    client.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert!(client.rest().is_empty());
}

#[test]
fn uploads_can_be_watched() {
    let server = Server::start(|config| config.progressminsize = 10);
    let mut client = server.client();
    client.send("POST /echo?a HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n0123456789");
    let listed = loop {
        match server.driver.uploads().pop() {
            Some(upload) if upload.received == 10 => break upload,
            _ => std::thread::yield_now(),
        }
    };
    assert_eq!(
        (listed.target.as_str(), listed.length),
        ("/echo?a", Some(20))
    );
    client.send("0123456789");
    assert_eq!(client.answer().body.len(), 20);
    assert!(server.driver.uploads().is_empty());
}
