//! Ten thousand requests of mixed kind from 64 connections against the demo: no error, no growth of memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use testkit::Server;

const CONNECTIONS: usize = 64;
const WARM: usize = 2_000;
const ALL: usize = 10_000;

#[test]
fn ten_thousand_mixed_requests() {
    let mut server = Server::demo().start();
    run(&server, 0, WARM);
    let before = server.memory();
    run(&server, WARM, ALL);
    let after = server.memory();
    // The allocator may keep a little; a leak of 1 kB a request would be 8 MB.
    assert!(
        after < before + (6 << 20),
        "memory grew from {before} to {after} bytes"
    );
    assert!(!server.log().contains("] Error:"), "{}", server.log());
    assert_eq!(server.stop(), Some(0));
}

fn run(server: &Server, from: usize, to: usize) {
    let next = Arc::new(AtomicUsize::new(from));
    let start = Arc::new(Barrier::new(CONNECTIONS));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            let (next, start) = (Arc::clone(&next), Arc::clone(&start));
            scope.spawn(move || {
                start.wait();
                let mut connection = server.connect();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= to {
                        return;
                    }
                    one(&mut connection, n);
                }
            });
        }
    });
}

/// One of twelve kinds: pages, static files, ranges, conditions, JSON, forms with mistakes, missing pages.
fn one(connection: &mut testkit::Connection, n: usize) {
    let ship = n % 160 + 1;
    let (method, path, headers, body, want): (&str, String, Vec<(&str, &str)>, &str, u16) =
        match n % 12 {
            0 => ("GET", "/".into(), vec![], "", 200),
            1 => (
                "GET",
                "/harbour.css".into(),
                vec![("Accept-Encoding", "gzip")],
                "",
                200,
            ),
            2 => ("GET", format!("/ships/{ship}"), vec![], "", 200),
            3 => (
                "GET",
                "/ships?q=an&sort=length".into(),
                vec![("Accept-Encoding", "gzip")],
                "",
                200,
            ),
            4 => ("GET", format!("/api/ships/{ship}"), vec![], "", 200),
            5 => (
                "GET",
                "/harbour.css".into(),
                vec![("Range", "bytes=10-19")],
                "",
                206,
            ),
            6 => ("HEAD", "/harbour.js".into(), vec![], "", 200),
            7 => ("GET", "/nowhere".into(), vec![], "", 404),
            8 => (
                "POST",
                "/api/visits".into(),
                vec![("Content-Type", "application/json")],
                "{",
                400,
            ),
            9 => ("GET", "/tides?days=1".into(), vec![], "", 200),
            10 => ("GET", "/visits.csv".into(), vec![], "", 200),
            _ => (
                "POST",
                "/visits".into(),
                vec![("Content-Type", "application/x-www-form-urlencoded")],
                "ship=1",
                403,
            ),
        };
    let response = connection.request(method, &path, &headers, body.as_bytes());
    assert_eq!(response.status, want, "{method} {path}: {response:?}");
}
