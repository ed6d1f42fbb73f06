//! Responses that leave slowly: streams that never hold their thread, rates, and the list of what is on its way.
mod support;

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::ResponseHead;
use navis_net::{Content, Label, Reply, Response, Sent, Streaming, Terms, Throttle};
use support::{Client, FILE, PATIENCE, Server, file_byte};

/// More than the system takes for a client that reads nothing.
const MUCH: usize = 40_000_000;

fn held(server: &Server, client: &mut Client) -> Reply {
    client.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    server.hold().reply
}

fn file(server: &Server) -> Response {
    let (offset, len) = (0, FILE as u64);
    let file = server.app.file.clone();
    Response::new(ResponseHead::new(200), Content::File { file, offset, len })
}

#[test]
fn a_stream_that_must_not_block_goes_to_a_file() {
    let server = Server::start(|config| {
        config.writerstreaming = true;
        config.writermemory = 100_000;
        config.keepwait = PATIENCE;
    });
    let mut client = server.client();
    let mut stream = held(&server, &mut client)
        .start(ResponseHead::new(200), Streaming::default())
        .unwrap();
    let block: Vec<u8> = (0..10_000).map(file_byte).collect();
    // On this very thread, which reads only afterwards: a write that waited would wait for ever.
    for _ in 0..MUCH / block.len() {
        stream.write(&block).unwrap();
    }
    stream.finish().unwrap();
    assert_eq!(server.driver.stats().stream_files, 1);
    let listed = server.driver.writing();
    assert_eq!(listed.len(), 1);
    assert!(
        listed[0].left > 1_000_000 && listed[0].sent > 0,
        "{listed:?}"
    );
    // The file has no name.
    assert_eq!(std::fs::read_dir(server.uploads.path()).unwrap().count(), 0);
    let body = client.answer().body;
    assert_eq!(body.len(), MUCH);
    assert!(body.chunks(block.len()).all(|piece| piece == block));
    assert_eq!(client.get("/x").status, 200);
    assert!(server.driver.writing().is_empty());
}

#[test]
fn the_file_of_a_stream_is_bounded() {
    let server = Server::start(|config| {
        config.writerstreaming = true;
        config.writermemory = 100_000;
        config.writerspool = 1_000_000;
        config.sendwait = Duration::from_millis(100);
    });
    let mut client = server.client();
    let mut stream = held(&server, &mut client)
        .start(ResponseHead::new(200), Streaming::default())
        .unwrap();
    let error = loop {
        if let Err(error) = stream.write(&[b'x'; 100_000]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(server.driver.stats().stream_files, 1);
}

#[test]
fn streaming_can_be_switched_while_the_driver_runs() {
    let server = Server::start(|config| config.sendwait = Duration::from_millis(100));
    let listener = server.driver.listener();
    assert!(!listener.writerstreaming());
    listener.set_writerstreaming(true);
    listener.set_writersize(5000);
    assert_eq!(listener.writersize(), 5000);
    let mut client = server.client();
    assert_eq!(client.get("/bytes?5000").status, 200);
    assert_eq!(client.get("/bytes?4999").status, 200);
    assert_eq!(server.driver.stats().writer_jobs, 1);
}

#[test]
fn a_rate_is_kept_and_holds_nobody_up() {
    // 16 MB at 40 MB/s, of which a quarter second's worth goes at once.
    let server = Server::start(|config| {
        config.writerratelimit = 40_000_000;
        config.sendwait = Duration::from_millis(50);
    });
    let mut client = server.client();
    let begun = Instant::now();
    assert_eq!(
        held(&server, &mut client).send(file(&server)),
        Sent::HandedOver
    );
    let reader = std::thread::spawn(move || {
        let answer = client.answer();
        (answer.body.len(), client)
    });
    let listed = server.driver.writing();
    assert_eq!(listed[0].limit, 40_000_000);
    // Small responses do not wait.
    let mut other = server.client();
    for _ in 0..100 {
        other.get("/x");
    }
    let (length, mut client) = reader.join().unwrap();
    assert_eq!(length, FILE);
    let time = begun.elapsed();
    assert!(time >= Duration::from_millis(120), "{time:?}");
    // Our own slowness was not taken for the client's.
    assert_eq!(server.driver.stats().timeouts, 0);
    assert_eq!(client.get("/x").status, 200);
}

#[test]
fn responses_share_a_limit_and_are_labelled() {
    let server = Server::start(|_| {});
    let throttle = Arc::new(Throttle::new(80_000_000));
    let label = Arc::new(Label {
        server: "s".into(),
        pool: "p".into(),
        data: "d".into(),
    });
    let begun = Instant::now();
    let mut readers = Vec::new();
    for _ in 0..2 {
        let mut client = server.client();
        let mut reply = held(&server, &mut client);
        reply.terms(Terms {
            limits: vec![throttle.clone()],
            label: Some(label.clone()),
        });
        reply.send(file(&server));
        readers.push(std::thread::spawn(move || client.answer().body.len()));
    }
    let listed = server.driver.writing();
    assert!(
        listed
            .iter()
            .all(|one| one.label.as_ref() == Some(&label) && one.limit == 80_000_000)
    );
    for reader in readers {
        assert_eq!(reader.join().unwrap(), FILE);
    }
    // 32 MB at 80 MB/s, less what goes at once.
    assert!(
        begun.elapsed() >= Duration::from_millis(120),
        "{:?}",
        begun.elapsed()
    );
}
