//! What the application gives back: a response, a stream, or the wish to have the socket itself.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bytes::Bytes;
use http::ResponseHead;

/// The way back to the client of one request; the same for every protocol. Dropping it without an answer
/// answers 500.
pub struct Reply {
    /// Empty once the answer was given.
    port: Option<Box<dyn ReplyPort>>,
}

/// A complete response. The protocol adds what frames it (`content-length`, `connection`, ...) and removes such
/// fields from `head`, with two exceptions: `connection: close` is obeyed, and the content-length of a response
/// to HEAD or with status 304 is kept if the content is empty.
pub struct Response {
    pub head: ResponseHead,
    pub content: Content,
    /// Close the connection afterwards: `None` lets the protocol decide, `Some(false)` cannot keep alive what the
    /// protocol would close.
    pub close: Option<bool>,
    /// Called once when the last byte was given to the system or when that failed; on any thread, must not block.
    pub on_sent: Option<OnSent>,
}

/// See [`Response::on_sent`].
pub type OnSent = Box<dyn FnOnce(SentInfo) + Send>;

/// The body of a response.
pub enum Content {
    Empty,
    Bytes(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        len: u64,
    },
    /// Sent one after the other; multi-range answers are built so.
    Parts(Vec<Part>),
}

/// One piece of [`Content::Parts`].
pub enum Part {
    Bytes(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        len: u64,
    },
}

/// What holds for the sending of a response.
#[derive(Clone, Default)]
pub struct Terms {
    /// It is sent no faster than these allow.
    pub limits: crate::Limits,
    /// Whose it is, for the list of what is on its way.
    pub label: Option<Arc<Label>>,
}

/// See [`Terms::label`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    pub server: String,
    pub pool: String,
    /// What the application keeps with the request.
    pub data: String,
}

/// How the body of a stream is framed.
#[derive(Default)]
pub struct Streaming {
    /// Length of the body if it is known. Otherwise it is chunked, or ended by the close where the client
    /// does not know chunks.
    pub length: Option<u64>,
    /// As in [`Response::close`].
    pub close: Option<bool>,
    /// As in [`Response::on_sent`].
    pub on_sent: Option<OnSent>,
}

/// What became of a response given to [`Reply::send`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// All of it was given to the system.
    Complete,
    /// The rest is being sent at the client's speed.
    HandedOver,
    /// The client is gone.
    Failed,
}

/// How the sending of a response ended.
#[derive(Debug, Clone, Copy)]
pub struct SentInfo {
    /// Bytes of status line and headers.
    pub head: u64,
    /// Bytes of the body that were given to the system, without chunk framing.
    pub body: u64,
    /// Why it is incomplete; `None`: it is complete.
    pub error: Option<io::ErrorKind>,
}

/// What is known about the client of a reply.
#[derive(Debug, Clone, Copy)]
pub struct PeerInfo {
    pub peer: SocketAddr,
    pub local: SocketAddr,
    pub connection: u64,
    /// The protocol and the client allow another request on this connection.
    pub keep_alive: bool,
}

/// A socket that left HTTP.
pub struct Detached {
    /// In non-blocking mode.
    pub socket: TcpStream,
    /// What the client sent behind the request, already read.
    pub unread: Bytes,
    pub peer: SocketAddr,
    pub local: SocketAddr,
}

/// A response whose body is written piece by piece. Dropping it before [`Stream::finish`] aborts the connection, so
/// that the client does not take what it got for the whole.
pub struct Stream {
    port: Option<Box<dyn StreamPort>>,
}

/// What a protocol does for a [`Reply`].
pub trait ReplyPort: Send {
    fn terms(&mut self, terms: Terms);
    fn send(self: Box<Self>, response: Response) -> Sent;
    fn start(
        self: Box<Self>,
        head: ResponseHead,
        streaming: Streaming,
    ) -> io::Result<Box<dyn StreamPort>>;
    fn detach(self: Box<Self>) -> io::Result<Detached>;
    fn is_connected(&self) -> bool;
    fn peer(&self) -> PeerInfo;
    /// The reply was dropped without an answer.
    fn abandon(self: Box<Self>);
}

/// What a protocol does for a [`Stream`].
pub trait StreamPort: Send {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
    /// The stream was dropped unfinished.
    fn abort(self: Box<Self>);
    fn is_connected(&self) -> bool;
}

impl Reply {
    pub fn new(port: Box<dyn ReplyPort>) -> Reply {
        Reply { port: Some(port) }
    }

    /// On what terms the response is sent, besides those of the driver.
    pub fn terms(&mut self, terms: Terms) {
        if let Some(port) = &mut self.port {
            port.terms(terms);
        }
    }

    /// Sends a response. Never waits for the client: what the socket does not take at once is sent by the driver.
    pub fn send(mut self, response: Response) -> Sent {
        self.take().send(response)
    }

    /// Begins a response whose body follows piece by piece. The head is sent together with the first bytes.
    ///
    /// # Errors
    /// The client is gone, or the head cannot be sent as it is (a line break in a field).
    pub fn start(mut self, head: ResponseHead, streaming: Streaming) -> io::Result<Stream> {
        let port = self.take().start(head, streaming)?;
        Ok(Stream { port: Some(port) })
    }

    /// Takes the socket out of HTTP. Nothing was sent on it for this request.
    ///
    /// # Errors
    /// The client is gone, or the protocol has no socket of its own to give away (HTTP/2, HTTP/3).
    pub fn detach(mut self) -> io::Result<Detached> {
        self.take().detach()
    }

    /// False once the client has closed the connection, or its sending side: the server noticed, and the answer
    /// is most likely not wanted any more.
    pub fn is_connected(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.is_connected())
    }

    pub fn peer(&self) -> PeerInfo {
        self.port
            .as_ref()
            .expect("the port is there until self is consumed")
            .peer()
    }

    fn take(&mut self) -> Box<dyn ReplyPort> {
        self.port
            .take()
            .expect("every user of the port consumes self")
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(port) = self.port.take() {
            port.abandon();
        }
    }
}

impl Stream {
    /// Writes a piece of the body; blocks its thread while the client is too far behind, so it must not be used on
    /// a driver's thread. Small pieces are collected; [`Stream::flush`] sends them.
    ///
    /// # Errors
    /// `TimedOut`: the client took nothing for `sendwait`; otherwise: the client is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.port().write(bytes)
    }

    /// Sends what was collected so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.port().flush()
    }

    /// Ends the body.
    ///
    /// # Errors
    /// As for [`Stream::write`], and `InvalidData` if less than the announced length was written; the
    /// connection is then closed.
    pub fn finish(mut self) -> io::Result<()> {
        self.port
            .take()
            .expect("finish consumes the stream")
            .finish()
    }

    /// See [`Reply::is_connected`].
    pub fn is_connected(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.is_connected())
    }

    fn port(&mut self) -> &mut dyn StreamPort {
        self.port
            .as_deref_mut()
            .expect("only finish takes the port")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(port) = self.port.take() {
            port.abort();
        }
    }
}

impl Response {
    /// A response the protocol may keep the connection open after.
    pub fn new(head: ResponseHead, content: Content) -> Response {
        Response {
            head,
            content,
            close: None,
            on_sent: None,
        }
    }
}

impl Content {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Content::Empty => 0,
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File { len, .. } => *len,
            Content::Parts(parts) => parts.iter().map(Part::len).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Part {
    pub fn len(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
