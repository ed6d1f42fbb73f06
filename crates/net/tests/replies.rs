//! Answers over real sockets: files, streams, slow clients, dropped replies, detached sockets, shutdown.
mod support;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;

use http::ResponseHead;
use navis_net::{Content, Exchange, Response, Sent, Streaming};
use support::{FILE, PATIENCE, Server, file_byte, text};

#[test]
fn a_slow_reader_of_a_large_file_holds_nobody_up() {
    // The last reader begins late.
    let server = Server::start(|config| config.keepwait = PATIENCE);
    let expected: Vec<u8> = (0..FILE).map(file_byte).collect();
    let mut slow: Vec<_> = (0..8).map(|_| server.client()).collect();
    for (n, client) in slow.iter_mut().enumerate() {
        let from = if n % 2 == 0 { "" } else { "/thread" };
        client.send(format!("GET {from}/file HTTP/1.1\r\nHost: h\r\n\r\n"));
    }
    let mut client = server.client();
    for _ in 0..200 {
        assert_eq!(client.get("/x").status, 200);
    }
    for client in &mut slow {
        let answer = client.answer();
        assert!(answer.body == expected);
        assert_eq!(client.get("/y").text(), "GET /y\n");
    }
    assert_eq!(server.driver.stats().errors, 0);
}

#[test]
fn large_bytes_and_parts() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    for from in ["", "/thread"] {
        let answer = client.get(&format!("{from}/bytes?20000000"));
        assert_eq!(answer.body.len(), 20_000_000);
        let answer = client.get(&format!("{from}/parts"));
        assert_eq!(
            (answer.status, answer.field("content-length")),
            (206, "150006")
        );
        assert_eq!(answer.body.len(), 150_006);
        assert_eq!((answer.body[0], answer.body[50_001]), (b'[', b']'));
        assert_eq!(answer.body[50_003], file_byte(1000));
    }
}

#[test]
fn streams_of_all_sizes() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    for lines in [0, 1, 10, 1000, 300_000] {
        let answer = client.get(&format!("/thread/stream?{lines}"));
        assert_eq!(answer.field("transfer-encoding"), "chunked");
        let expected: String = (0..lines).map(|n| format!("line {n}\n")).collect();
        assert!(answer.text() == expected);
    }
    client.send("HEAD /thread/stream?100 HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 200);
    assert_eq!(client.get("/x").text(), "GET /x\n");
}

#[test]
fn a_stream_waits_for_its_reader() {
    let server = Server::start(|config| config.streambuffer = 100_000);
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let reply = server.hold().reply;
    let written = Arc::new(AtomicUsize::new(0));
    let writer = std::thread::spawn({
        let written = written.clone();
        move || {
            let streaming = Streaming {
                length: Some(50_000_000),
                ..Streaming::default()
            };
            let mut stream = reply.start(ResponseHead::new(200), streaming).unwrap();
            let block = [b'z'; 10_000];
            for _ in 0..5000 {
                stream.write(&block).unwrap();
                written.fetch_add(block.len(), SeqCst);
            }
            stream.finish().unwrap();
        }
    });
    // Other connections are served while this one is stuck.
    let mut other = server.client();
    for _ in 0..300 {
        other.get("/x");
    }
    // What is buffered: the kernel's buffers and ours.
    assert!(written.load(SeqCst) < 30_000_000);
    assert_eq!(client.answer().body.len(), 50_000_000);
    writer.join().unwrap();
    assert_eq!(client.get("/x").status, 200);
}

#[test]
fn a_reader_that_stops_is_given_up() {
    let server = Server::start(|config| config.sendwait = Duration::from_millis(100));
    let (sender, receiver) = channel();
    // A stream: its writer gets an error.
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let reply = server.hold().reply;
    let mut stream = reply
        .start(ResponseHead::new(200), Streaming::default())
        .unwrap();
    let block = [b'z'; 100_000];
    let error = loop {
        if let Err(error) = stream.write(&block) {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert!(!stream.is_connected());
    assert!(stream.finish().is_err());
    // A response: the application is told.
    client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let reply = server.hold().reply;
    let mut response = Response::new(
        ResponseHead::new(200),
        Content::File {
            file: server.app.file.clone(),
            offset: 0,
            len: FILE as u64,
        },
    );
    response.on_sent = Some(Box::new(move |info| sender.send(info).unwrap()));
    assert_eq!(reply.send(response), Sent::HandedOver);
    let info = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(info.error, Some(std::io::ErrorKind::TimedOut));
    assert!(info.body > 0 && info.body < FILE as u64);
    assert_eq!(server.driver.stats().timeouts, 2);
    drop(client);
}

#[test]
fn what_was_sent_is_told() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    for (length, expected) in [(10usize, Sent::Complete), (30_000_000, Sent::HandedOver)] {
        client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
        let (sender, receiver) = channel();
        let mut response = text("x".repeat(length));
        response.on_sent = Some(Box::new(move |info| sender.send(info).unwrap()));
        assert_eq!(server.hold().reply.send(response), expected);
        client.answer();
        let info = receiver.recv_timeout(PATIENCE).unwrap();
        assert_eq!((info.body, info.error), (length as u64, None));
        assert!(info.head > 50);
    }
}

#[test]
fn an_unfinished_stream_does_not_look_complete() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.send("GET /thread/abort HTTP/1.1\r\nHost: h\r\n\r\n");
    let raw = String::from_utf8(client.rest()).unwrap();
    assert!(raw.ends_with("a\r\nhalf of it\r\n"), "{raw}");
    // Until-close framing: the abort is a reset.
    let mut client = server.client();
    client.send("GET /thread/abort HTTP/1.0\r\n\r\n");
    let mut all = Vec::new();
    let error = client.socket.read_to_end(&mut all).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    // Nothing was sent yet: there is room for an error page.
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut stream = server
        .hold()
        .reply
        .start(ResponseHead::new(200), Streaming::default())
        .unwrap();
    stream.write(b"never seen").unwrap();
    drop(stream);
    assert_eq!(client.answer().status, 500);
    assert_eq!(client.get("/x").status, 200);
}

#[test]
fn the_announced_length_is_kept() {
    let server = Server::start(|_| {});
    let start = |length| {
        let mut client = server.client();
        client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
        let streaming = Streaming {
            length: Some(length),
            ..Streaming::default()
        };
        let stream = server
            .hold()
            .reply
            .start(ResponseHead::new(200), streaming)
            .unwrap();
        (client, stream)
    };
    let (mut client, mut stream) = start(4);
    stream.write(b"more than four").unwrap();
    stream.finish().unwrap();
    assert_eq!(client.answer().text(), "more");
    assert_eq!(client.get("/x").text(), "GET /x\n");
    let (mut client, mut stream) = start(100);
    stream.write(b"less").unwrap();
    assert!(stream.finish().is_err());
    assert!(client.try_answer(false).is_none());
}

#[test]
fn unanswered_requests_get_an_error() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    for path in ["/drop", "/thread/drop", "/panic", "/thread/panic"] {
        assert_eq!(client.get(path).status, 500, "{path}");
    }
    assert_eq!(client.get("/x").status, 200);
    assert_eq!(server.driver.stats().abandoned, 4);
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let reply = server.hold().reply;
    assert!(reply.is_connected());
    drop(client);
    while reply.is_connected() {
        std::thread::yield_now();
    }
    let mut stream = reply
        .start(ResponseHead::new(200), Streaming::default())
        .unwrap();
    let block = [b'x'; 20_000];
    while stream.write(&block).is_ok() {}
    drop(stream);
    while server.driver.open() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_socket_can_be_taken_out() {
    let server = Server::start(|_| {});
    let mut client = server.client();
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\nfirst bytes");
    let detached = server.hold().reply.detach().unwrap();
    let mut socket = detached.socket;
    while server.driver.open() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.driver.stats().detached, 1);
    socket.set_nonblocking(false).unwrap();
    client.send("|later");
    let mut have = detached.unread.to_vec();
    let mut block = [0; 100];
    while !have.ends_with(b"|later") {
        let n = socket.read(&mut block).unwrap();
        assert!(n > 0);
        have.extend_from_slice(&block[..n]);
    }
    assert_eq!(have, b"first bytes|later");
    socket.write_all(b"bye").unwrap();
    drop(socket);
    assert_eq!(client.rest(), b"bye");
}

#[test]
fn shutdown_lets_requests_finish() {
    let server = Server::start(|_| {});
    let mut idle = server.client();
    idle.get("/x");
    let mut lazy = server.client();
    lazy.get("/thread/x");
    let mut busy = server.client();
    busy.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut reading = server.client();
    reading.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n");
    let held = server.hold();
    while server.driver.stats().requests < 4 {
        std::thread::yield_now();
    }
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| server.driver.shutdown(PATIENCE));
        // Idle ones are closed at once.
        assert!(idle.rest().is_empty());
        assert!(lazy.rest().is_empty());
        while std::net::TcpStream::connect(server.address()).is_ok() {
            std::thread::yield_now();
        }
        held.reply.send(text("finished"));
        let answer = busy.answer();
        assert_eq!(
            (answer.text().as_str(), answer.field("connection")),
            ("finished", "close")
        );
        assert!(busy.rest().is_empty());
        assert_eq!(reading.answer().body.len(), FILE);
        assert!(stopped.join().unwrap());
    });
}

#[test]
fn shutdown_has_a_deadline() {
    let server = Server::start(|_| {});
    let mut stuck = server.client();
    stuck.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let held = server.hold();
    let mut unread = server.client();
    unread.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut streaming = server.client();
    streaming.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let reply = server.hold().reply;
    let writer = std::thread::spawn(move || {
        let mut stream = reply
            .start(ResponseHead::new(200), Streaming::default())
            .unwrap();
        let block = [b'x'; 100_000];
        while stream.write(&block).is_ok() {}
    });
    assert!(!server.driver.shutdown(Duration::from_millis(50)));
    assert!(stuck.rest().is_empty());
    assert!(!held.reply.is_connected());
    assert_eq!(held.reply.send(text("too late")), Sent::Failed);
    writer.join().unwrap();
}

#[test]
fn the_number_of_connections_is_limited() {
    let server = Server::start(|config| config.maxconnections = 2);
    let mut first = server.client();
    let mut second = server.client();
    first.get("/x");
    second.get("/x");
    second.get("/y");
    let connections = server.driver.connections();
    assert_eq!(connections.len(), 2);
    let asked_twice = |one: &navis_net::ConnectionInfo| {
        one.requests == 2 && one.bytes_in > 0 && one.bytes_out > 0
    };
    assert!(connections.iter().any(asked_twice));
    // Those that are busy stay; who comes third waits for one of them.
    first.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    second.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let held = [server.hold(), server.hold()];
    let mut third = server.client();
    third.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    let counters = server.driver.stats();
    assert_eq!(
        (server.driver.open(), counters.accepted, counters.evicted),
        (2, 2, 0)
    );
    for Exchange { reply, .. } in held {
        reply.send(text("done"));
    }
    first.socket.shutdown(Shutdown::Both).unwrap();
    assert_eq!(third.answer().status, 200);
    assert_eq!(second.answer().text(), "done");
}

#[test]
fn sixty_four_connections_many_requests() {
    for threads in [1, 2] {
        let server = Server::start(|config| config.driverthreads = threads);
        std::thread::scope(|scope| {
            for worker in 0..64 {
                let server = &server;
                scope.spawn(move || {
                    let mut client = server.client();
                    for n in 0..60 {
                        match (worker + n) % 5 {
                            0 => assert_eq!(client.get("/a").text(), "GET /a\n"),
                            1 => assert_eq!(client.get("/thread/b").text(), "GET /thread/b\n"),
                            2 => assert_eq!(client.get("/bytes?30000").body.len(), 30_000),
                            3 => assert_eq!(client.get("/thread/parts").body.len(), 150_006),
                            _ => assert_eq!(client.get("/thread/stream?500").status, 200),
                        }
                    }
                });
            }
        });
        let stats = server.driver.stats();
        assert_eq!(
            (stats.requests, stats.errors, stats.abandoned),
            (64 * 60, 0, 0)
        );
        assert!(server.driver.shutdown(PATIENCE));
    }
}
