//! What the application is given: a complete request and the way back to its client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http::{Refusal, RequestHead};
use shared::Set;

use crate::{Listener, Reply, Response, SpooledFile};

/// The program behind the drivers. Called on driver threads: none of its functions may block.
pub trait Application: Send + Sync + 'static {
    /// A complete request. Answer it now or later, from here or from any other thread.
    fn handle(&self, exchange: Exchange);

    /// The response to a request that the protocol refuses; the connection is closed after it.
    /// `head` is there if the request's head could be read. Also asked (status 500) for a reply that was
    /// dropped without an answer.
    fn refuse(
        &self,
        refusal: &Refusal,
        head: Option<&RequestHead>,
        listener: &Listener,
    ) -> Response;

    /// Called on the driver thread some time after one or several calls of [`Application::handle`]: when the connections
    /// that were ready had their turn. What was put off for the sake of doing it together has to be done now.
    fn rest(&self) {}

    /// Asked when a head is complete, before the body is read (and before `100 Continue` is sent).
    fn admit(&self, _head: &RequestHead, _peer: SocketAddr, _listener: &Listener) -> Admission {
        Admission::Accept
    }
}

/// Whether the body of a request is wanted.
#[derive(Debug)]
pub enum Admission {
    Accept,
    /// Answered by [`Application::refuse`]; the connection is closed.
    Refuse(Refusal),
}

/// One request and the way to answer it.
pub struct Exchange {
    pub request: Request,
    pub reply: Reply,
}

/// A request, its body completely received.
pub struct Request {
    pub head: RequestHead,
    pub body: Body,
    /// Trailer fields of a chunked body.
    pub trailers: Option<Set>,
    /// `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`.
    pub protocol: &'static str,
    pub peer: SocketAddr,
    pub local: SocketAddr,
    pub listener: Arc<Listener>,
    /// Unique in this process.
    pub id: u64,
    /// Unique in this process; the same for all requests of one connection.
    pub connection: u64,
    /// How many requests this connection carried before this one.
    pub nth: u64,
    /// What scripts keep with the connection; gone with it.
    pub storage: Storage,
    pub times: Times,
    /// The client spoke TLS to us.
    pub secure: bool,
    pub tls: Option<Arc<TlsInfo>>,
}

/// Texts by key that stay with a connection from request to request (`ns_sls`).
pub type Storage = Arc<parking_lot::Mutex<std::collections::BTreeMap<String, String>>>;

/// When things happened to a request.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The connection was accepted.
    pub accept: Instant,
    /// The first bytes of this request were seen (wall clock and monotonic clock).
    pub wall: SystemTime,
    pub start: Instant,
    /// The body was complete.
    pub received: Instant,
}

/// The body of a request.
pub enum Body {
    Empty,
    Memory(Bytes),
    /// The file is removed when the value is dropped.
    File(SpooledFile),
}

impl Body {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Body::Empty => 0,
            Body::Memory(bytes) => bytes.len() as u64,
            Body::File(file) => file.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is known about the TLS session of a connection.
#[derive(Debug, Clone, Default)]
pub struct TlsInfo {
    pub protocol: String,
    pub cipher: String,
    pub server_name: Option<String>,
    /// The client's certificate chain, DER.
    pub client_certificates: Vec<Vec<u8>>,
}
