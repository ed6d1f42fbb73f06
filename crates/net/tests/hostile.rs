//! Hundreds of clients that send slowly, read slowly, stay idle or come in floods, while others want to be served.
mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use navis_net::{Counters, ListenerConfig};
use support::{Client, PATIENCE, Server};

/// Clients of each crowd.
const CROWD: usize = 200;

/// A server whose queue of the kernel holds a crowd; else its members would wait for seconds to be let in.
fn start(change: impl FnOnce(&mut ListenerConfig)) -> Server {
    Server::start(|config| {
        config.backlog = 1024;
        change(config);
    })
}

/// Asks until `done`; the longest answer took so long.
fn ask_until(server: &Server, done: impl Fn(&Counters) -> bool) -> Duration {
    let mut client = server.client();
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    while !done(&server.driver.stats()) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", server.driver.stats());
        let asked = Instant::now();
        assert_eq!(client.get("/x").status, 200);
        longest = longest.max(asked.elapsed());
    }
    longest
}

fn crowd(server: &Server, hello: &str) -> Vec<Client> {
    let mut crowd: Vec<Client> = (0..CROWD).map(|_| server.client()).collect();
    for client in &mut crowd {
        client.send(hello);
    }
    crowd
}

/// Sends a little to each of a crowd, as often as the answers of a client in between allow; who is gone is left alone.
fn trickle(
    server: &Server,
    crowd: &mut [Client],
    bytes: &[u8],
    done: impl Fn(&Counters) -> bool,
) -> Duration {
    let mut client = server.client();
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    while !done(&server.driver.stats()) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", server.driver.stats());
        for (n, one) in crowd.iter_mut().enumerate() {
            // An error: it was cut off, as it should be.
            let _ = one.socket.write(bytes);
            if n % 20 == 0 {
                let asked = Instant::now();
                assert_eq!(client.get("/x").status, 200);
                longest = longest.max(asked.elapsed());
            }
        }
    }
    longest
}

/// What a normal request may take beside a crowd; a machine that does other things as well is slow, a server that is
/// held up does not answer for `recvwait` or longer.
const PROMPT: Duration = Duration::from_millis(400);

#[test]
fn slow_heads() {
    let server = start(|config| config.recvwait = Duration::from_millis(500));
    // Every byte comes in time, the head never ends.
    let mut crowd = crowd(&server, "GET /x HTTP/1.1\r\nHost: h\r\nX: ");
    let longest = trickle(&server, &mut crowd, b"a", |counters| {
        counters.timeouts >= CROWD as u64
    });
    assert!(longest < PROMPT, "{longest:?}");
    assert!(
        crowd
            .iter_mut()
            .all(|client| client.try_answer(false).is_none())
    );
}

#[test]
fn slow_bodies() {
    let server = start(|config| {
        config.recvwait = Duration::from_secs(1);
        config.minrecvrate = 1_000_000;
    });
    let mut crowd = crowd(
        &server,
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n",
    );
    let longest = trickle(&server, &mut crowd, b"abc", |counters| {
        counters.too_slow + counters.timeouts >= CROWD as u64
    });
    assert!(longest < PROMPT, "{longest:?}");
    assert!(server.driver.stats().too_slow > 0);
    // Who sends at a sensible speed is served.
    let mut client = server.client();
    let body = vec![b'x'; 1_000_000];
    client.send(format!(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    client.send(&body);
    assert!(client.answer().body == body);
}

#[test]
fn slow_readers() {
    let server = start(|config| {
        config.sendwait = Duration::from_millis(500);
        config.keepwait = PATIENCE;
    });
    let crowd = crowd(&server, "GET /file HTTP/1.1\r\nHost: h\r\n\r\n");
    // They take nothing at all.
    let longest = ask_until(&server, |counters| counters.timeouts >= CROWD as u64);
    assert!(longest < PROMPT, "{longest:?}");
    assert_eq!(server.driver.writing().len(), 0);
    drop(crowd);
}

#[test]
fn readers_that_take_too_little() {
    let server = start(|config| {
        config.sendwait = Duration::from_millis(300);
        config.minsendrate = 1_000_000_000;
    });
    let mut client = server.client();
    client.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n");
    // Some progress each time, but far below the rate.
    let mut taken = 0;
    let begun = Instant::now();
    while server.driver.stats().too_slow == 0 {
        assert!(begun.elapsed() < PATIENCE);
        if client.take(64 * 1024).is_some() {
            taken += 64 * 1024;
        }
        assert!(taken < support::FILE, "the whole file came");
        ask_until(&server, |_| true);
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn idle_connections() {
    let server = start(|config| config.keepwait = Duration::from_millis(300));
    let mut crowd = crowd(&server, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    for client in &mut crowd {
        assert_eq!(client.answer().status, 200);
    }
    let longest = ask_until(&server, |counters| counters.timeouts >= CROWD as u64);
    assert!(longest < PROMPT, "{longest:?}");
    assert!(
        crowd
            .iter_mut()
            .all(|client| client.try_answer(false).is_none())
    );
}

#[test]
fn a_flood_of_connections() {
    let server = start(|config| config.maxconnections = 50);
    // Nobody of the crowd says anything, and all of them stay.
    let crowd: Vec<Client> = (0..CROWD).map(|_| server.client()).collect();
    let begun = Instant::now();
    let mut client = server.client();
    assert_eq!(client.get("/x").status, 200);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert!(server.driver.open() <= 50);
    assert!(server.driver.stats().evicted as usize >= CROWD - 50);
    drop(crowd);
}

#[test]
fn one_address_with_too_many() {
    let server = start(|config| {
        config.maxperaddress = 10;
        config.keepwait = PATIENCE;
    });
    let mut friends: Vec<Client> = (0..10).map(|_| server.client()).collect();
    for client in &mut friends {
        assert_eq!(client.get("/x").status, 200);
    }
    let mut more: Vec<Client> = (0..CROWD).map(|_| server.client()).collect();
    assert!(
        more.iter_mut()
            .all(|client| client.try_answer(false).is_none())
    );
    assert_eq!(server.driver.stats().too_many, CROWD as u64);
    // One leaves, one may come.
    assert_eq!(friends[0].get("/y").status, 200);
    drop(friends.pop());
    let begun = Instant::now();
    loop {
        let mut client = server.client();
        if client
            .socket
            .write_all(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
            .is_ok()
            && client.try_answer(false).is_some()
        {
            break;
        }
        assert!(begun.elapsed() < PATIENCE);
    }
}
