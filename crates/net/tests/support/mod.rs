//! An application in the test's process, and a client that speaks raw bytes.
#![allow(dead_code)] // each test program uses a part

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Refusal, RequestHead, ResponseHead};
use navis_net::{
    Admission, Application, Body, Content, Driver, Exchange, Listener, ListenerConfig, Part,
    Response, SentInfo, Streaming, bind,
};

/// How long a test waits for what must come; only a failing test waits that long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Answers by path; see [`answer`].
pub struct App {
    /// Exchanges of `/hold` go here.
    held: Mutex<Sender<Exchange>>,
    pub sent: Mutex<Vec<SentInfo>>,
    pub file: Arc<File>,
}

pub struct Server {
    pub driver: Driver,
    pub app: Arc<App>,
    pub held: Mutex<Receiver<Exchange>>,
    pub uploads: tempfile::TempDir,
}

/// Content of `/file`.
pub const FILE: usize = 16 * 1024 * 1024;

pub fn file_byte(at: usize) -> u8 {
    (at % 251) as u8
}

impl Server {
    pub fn start(change: impl FnOnce(&mut ListenerConfig)) -> Server {
        let uploads = tempfile::tempdir().unwrap();
        let mut config = ListenerConfig {
            addresses: vec!["127.0.0.1".into()],
            ports: vec![0],
            uploadpath: uploads.path().to_owned(),
            maxinput: 4 * 1024 * 1024,
            ..ListenerConfig::default()
        };
        change(&mut config);
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..FILE).map(file_byte).collect();
        file.write_all(&content).unwrap();
        let (held, receiver) = channel();
        let app = Arc::new(App {
            held: Mutex::new(held),
            sent: Mutex::default(),
            file: Arc::new(file),
        });
        let driver = bind(&config, &mut Vec::new())
            .unwrap()
            .start(app.clone())
            .unwrap();
        Server {
            driver,
            app,
            held: Mutex::new(receiver),
            uploads,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.driver.listener().addresses()[0]
    }

    pub fn client(&self) -> Client {
        let socket = TcpStream::connect(self.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        Client {
            socket,
            unread: Vec::new(),
        }
    }

    /// The next exchange of `/hold`.
    pub fn hold(&self) -> Exchange {
        self.held.lock().unwrap().recv_timeout(PATIENCE).unwrap()
    }
}

impl Application for App {
    fn handle(&self, exchange: Exchange) {
        let target = exchange.request.head.target.clone();
        if target == "/hold" {
            self.held.lock().unwrap().send(exchange).unwrap();
        } else if target.starts_with("/thread") {
            let file = self.file.clone();
            std::thread::spawn(move || answer(exchange, &target["/thread".len()..], file));
        } else {
            answer(exchange, &target, self.file.clone());
        }
    }

    fn refuse(&self, refusal: &Refusal, _: Option<&RequestHead>, _: &Listener) -> Response {
        let text = format!("refused: {}\n", refusal.reason);
        Response::new(
            ResponseHead::new(refusal.status),
            Content::Bytes(text.into()),
        )
    }

    fn admit(&self, head: &RequestHead, _: SocketAddr, _: &Listener) -> Admission {
        match head.target.as_str() {
            "/unwanted" => Admission::Refuse(Refusal::new(421, "not here")),
            "/unwanted-but-stay" => Admission::Refuse(Refusal::new(421, "not here").keep_open()),
            _ => Admission::Accept,
        }
    }
}

pub fn text(text: impl Into<String>) -> Response {
    let head = ResponseHead::new(200).with("content-type", "text/plain");
    Response::new(head, Content::Bytes(text.into().into()))
}

fn answer(exchange: Exchange, path: &str, file: Arc<File>) {
    let Exchange { request, reply } = exchange;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let number = || query.parse::<usize>().unwrap_or(0);
    match path {
        "/echo" => {
            let mut content = Vec::new();
            match &request.body {
                Body::Empty => {}
                Body::Memory(bytes) => content.extend_from_slice(bytes),
                Body::File(file) => {
                    file.open().unwrap().read_to_end(&mut content).unwrap();
                }
            }
            let kind = match &request.body {
                Body::Empty => "empty",
                Body::Memory(_) => "memory",
                Body::File(_) => "file",
            };
            let mut head = ResponseHead::new(200).with("x-body", kind);
            if let Some(trailers) = &request.trailers {
                for (name, value) in trailers.iter() {
                    head.headers.put(format!("x-trailer-{name}"), value);
                }
            }
            reply.send(Response::new(head, Content::Bytes(content.into())));
        }
        "/bytes" => {
            let content = Content::Bytes(vec![b'x'; number()].into());
            reply.send(Response::new(ResponseHead::new(200), content));
        }
        "/file" => {
            let (offset, len) = (0, FILE as u64);
            let content = Content::File { file, offset, len };
            reply.send(Response::new(ResponseHead::new(200), content));
        }
        "/parts" => {
            let mut parts = Vec::new();
            for offset in [0, 1000, 100_000] {
                parts.push(Part::Bytes(Bytes::from_static(b"[")));
                let file = file.clone();
                let len = 50_000;
                parts.push(Part::File { file, offset, len });
                parts.push(Part::Bytes(Bytes::from_static(b"]")));
            }
            reply.send(Response::new(ResponseHead::new(206), Content::Parts(parts)));
        }
        "/stream" => {
            let mut stream = reply
                .start(ResponseHead::new(200), Streaming::default())
                .unwrap();
            for n in 0..number() {
                stream.write(format!("line {n}\n").as_bytes()).unwrap();
                if n % 7 == 0 {
                    stream.flush().unwrap();
                }
            }
            stream.finish().unwrap();
        }
        "/abort" => {
            let mut stream = reply
                .start(ResponseHead::new(200), Streaming::default())
                .unwrap();
            stream.write(b"half of it").unwrap();
            stream.flush().unwrap();
        }
        "/drop" => drop(reply),
        "/panic" => panic!("a test wants this"),
        _ => {
            reply.send(text(format!(
                "{} {}\n",
                request.head.method, request.head.target
            )));
        }
    }
}

pub struct Client {
    pub socket: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug)]
pub struct Answer {
    pub line: String,
    pub status: u16,
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |value| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    pub fn get(&mut self, target: &str) -> Answer {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n"));
        self.answer()
    }

    /// The next response to anything but HEAD.
    pub fn answer(&mut self) -> Answer {
        self.try_answer(false).expect("a response")
    }

    pub fn answer_to_head(&mut self) -> Answer {
        self.try_answer(true).expect("a response")
    }

    /// `None`: the connection ended before or within the response.
    pub fn try_answer(&mut self, head_only: bool) -> Option<Answer> {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more() {
                return None;
            }
        };
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap().to_owned();
        let status: u16 = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut fields = HashMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let doubled = fields.insert(name.to_owned(), value.to_owned());
            assert!(doubled.is_none(), "{name} twice in {head}");
        }
        let body = if head_only || status < 200 || status == 204 || status == 304 {
            Vec::new()
        } else if let Some(length) = fields.get("content-length") {
            self.take(length.parse().unwrap())?
        } else if fields.contains_key("transfer-encoding") {
            self.chunks()?
        } else {
            self.rest()
        };
        Some(Answer {
            line,
            status,
            fields,
            body,
        })
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let at = loop {
                if let Some(at) = self.unread.windows(2).position(|two| two == b"\r\n") {
                    break at;
                }
                if !self.more() {
                    return None;
                }
            };
            let line: Vec<u8> = self.unread.drain(..at + 2).collect();
            let size = std::str::from_utf8(&line[..at]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            let data = self.take(size + 2)?;
            assert_eq!(&data[size..], b"\r\n");
            body.extend_from_slice(&data[..size]);
            if size == 0 {
                return Some(body);
            }
        }
    }

    pub fn take(&mut self, n: usize) -> Option<Vec<u8>> {
        while self.unread.len() < n {
            if !self.more() {
                return None;
            }
        }
        Some(self.unread.drain(..n).collect())
    }

    /// Everything until the server closes.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.unread)
    }

    fn more(&mut self) -> bool {
        let mut block = [0; 64 * 1024];
        match self.socket.read(&mut block) {
            Ok(n) => {
                self.unread.extend_from_slice(&block[..n]);
                n > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }
}
