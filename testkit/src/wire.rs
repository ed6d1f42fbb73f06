//! HTTP/1.1 as bytes: a connection that sends what it is told and reads complete responses.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};

use crate::wait::PATIENCE;

/// A kept connection. Reading gives up after `wait::PATIENCE`.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    closed: bool,
}

/// A complete response. Chunked bodies are joined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    pub status: u16,
    pub reason: String,
    pub version: String,
    /// In the order of arrival, names as sent.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Sizes of the chunks; empty when the body was not chunked.
    pub chunks: Vec<usize>,
}

impl Response {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// All headers of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.headers
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as text, broken bytes replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    pub fn open(address: impl ToSocketAddrs) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Connection {
            stream,
            buffer: Vec::new(),
            closed: false,
        })
    }

    /// Sends bytes as they are. A server that has closed is no error: what it answered is of interest.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Closes the sending side.
    pub fn finish_sending(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Sends a request and reads its response; `Host` and `Content-Length` are added where they are missing.
    #[track_caller]
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let has = |name: &str| {
            headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !has("host") {
            head.push_str("Host: localhost\r\n");
        }
        if !has("content-length")
            && !has("transfer-encoding")
            && (!body.is_empty() || method == "POST" || method == "PUT")
        {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.send([head.as_bytes(), body].concat());
        self.response_to(method)
    }

    /// The next response, as one to `GET`.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        self.response_to("GET")
    }

    /// The next final response to a method: one to `HEAD` has no body. Interim responses (1xx) are skipped.
    #[track_caller]
    pub fn response_to(&mut self, method: &str) -> Response {
        loop {
            let response = match self.read_response(method) {
                Ok(response) => response,
                Err(e) => panic!(
                    "no complete response to {method}: {e}; received: {:?}",
                    String::from_utf8_lossy(&self.buffer)
                ),
            };
            if response.status == 101 || response.status >= 200 {
                return response;
            }
        }
    }

    /// The next response of any status, interim ones too.
    pub fn read_response(&mut self, method: &str) -> io::Result<Response> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at;
            }
            self.more()?;
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let mut response = parse_head(&String::from_utf8_lossy(&head))?;
        let chunked = response
            .header("transfer-encoding")
            .is_some_and(|value| value.to_lowercase().contains("chunked"));
        let length = response
            .header("content-length")
            .map(|value| value.trim().parse::<usize>());
        if method == "HEAD"
            || response.status < 200
            || response.status == 204
            || response.status == 304
        {
            return Ok(response);
        }
        if chunked {
            self.read_chunks(&mut response)?;
        } else if let Some(length) = length {
            let length = length.map_err(|_| broken("Content-Length"))?;
            response.body = self.take(length)?;
        } else {
            response.body = self.rest();
        }
        Ok(response)
    }

    /// Everything until the server closes (or, to be looked at, until it stays silent too long).
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more().is_ok() {}
        std::mem::take(&mut self.buffer)
    }

    /// Whether the server has closed, without anything left to read.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && self.more().is_err() && self.closed
    }

    /// The socket itself, for timeouts and options.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    fn read_chunks(&mut self, response: &mut Response) -> io::Result<()> {
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| broken("size of a chunk"))?;
            if size == 0 {
                while !self.line()?.is_empty() {}
                return Ok(());
            }
            response.chunks.push(size);
            response.body.extend(self.take(size)?);
            if !self.line()?.is_empty() {
                return Err(broken("end of a chunk"));
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            self.more()?;
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.more()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn more(&mut self) -> io::Result<()> {
        let mut piece = [0; 65536];
        match self.stream.read(&mut piece) {
            Ok(0) => {
                self.closed = true;
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(())
            }
            Err(e) => {
                self.closed |= e.kind() == io::ErrorKind::ConnectionReset;
                Err(e)
            }
        }
    }
}

fn parse_head(head: &str) -> io::Result<Response> {
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let mut first = lines.next().unwrap_or_default().splitn(3, ' ');
    let version = first.next().unwrap_or_default().to_owned();
    let status = first
        .next()
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| broken("status line"))?;
    let reason = first.next().unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| broken("header line"))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Ok(Response {
        status,
        reason,
        version,
        headers,
        ..Response::default()
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("broken {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// A connection whose other end sends these bytes and closes.
    fn served(bytes: &'static [u8]) -> Connection {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            listener
                .accept()
                .and_then(|(mut stream, _)| stream.write_all(bytes))
        });
        Connection::open(address).expect("a connection")
    }

    #[test]
    fn responses_in_a_row() {
        let mut connection = served(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a: 2\r\n\r\nhi\
              HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nT: 1\r\n\r\n\
              HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nto the end",
        );
        let first = connection.response();
        assert_eq!(
            (first.status, first.text().as_str(), first.header("X-a")),
            (200, "hi", Some("1"))
        );
        assert_eq!(first.all("x-A").collect::<Vec<_>>(), ["1", "2"]);
        let second = connection.response();
        assert_eq!(
            (second.text().as_str(), second.chunks.as_slice()),
            ("abcd", [3, 1].as_slice())
        );
        assert_eq!(connection.response().status, 304);
        let last = connection.response();
        assert_eq!(
            (
                last.version.as_str(),
                last.reason.as_str(),
                last.text().as_str()
            ),
            ("HTTP/1.0", "Not Found", "to the end")
        );
        assert!(connection.is_closed());
    }
}
