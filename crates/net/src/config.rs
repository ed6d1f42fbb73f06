//! The settings of one listener, as plain typed fields; the names are those of the `nssock` parameters.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of one driver. Sizes are bytes. Zero means "no limit" only where that is said.
/// The defaults are those of the reference server (manual page `nssock`).
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Name of the driver, e.g. `nssock`; appears in thread names and in `ns_driver`.
    pub name: String,
    /// Module the driver was configured by.
    pub module: String,
    /// `http` or `https`; what absolute URLs of this listener begin with.
    pub scheme: String,
    /// Certificate and key of a driver that speaks TLS (see [`crate::tls::server_config`]).
    pub tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    /// Addresses or host names; none means every IPv4 and every IPv6 address.
    pub addresses: Vec<String>,
    /// Ports; every address is bound to each of them. 0 lets the system choose.
    pub ports: Vec<u16>,
    /// Threads that accept and read, each with its own event loop.
    pub driverthreads: usize,
    /// Threads per driver thread that write request bodies to files; at least one is used.
    pub spoolerthreads: usize,
    /// Length of the kernel's queue of connections that wait to be accepted.
    pub backlog: i32,
    /// Connections accepted per wake-up before others get their turn.
    pub acceptsize: usize,
    /// Open connections per driver beyond which no more are accepted; 0 is unlimited.
    pub maxconnections: usize,
    /// TCP_NODELAY on accepted sockets.
    pub nodelay: bool,
    /// Let the kernel wait for the first bytes before a connection is reported (TCP_DEFER_ACCEPT).
    pub deferaccept: bool,
    /// SO_REUSEPORT also with one thread; with several it is always set.
    pub reuseport: bool,
    /// TCP_FASTOPEN on the listening sockets.
    pub fastopen: bool,
    /// Size of one read from the socket.
    pub bufsize: usize,
    /// Longest request line and longest header line.
    pub maxline: usize,
    /// Most header lines of a request.
    pub maxheaders: usize,
    /// Answer request lines without a version (HTTP/0.9) with a bare body, as the reference server does.
    pub simplerequests: bool,
    /// Accept lines that end with LF alone; the reference server does, strict framing does not.
    pub barelf: bool,
    /// Largest request body; a larger one is refused with 413.
    pub maxinput: u64,
    /// Bodies above this go to a file in `uploadpath`. With 0 they stay in memory up to `readahead` or 1 MB,
    /// whichever is larger.
    pub maxupload: u64,
    /// See `maxupload`.
    pub readahead: u64,
    /// Directory of spooled request bodies.
    pub uploadpath: PathBuf,
    /// Bodies from this size on are listed in [`crate::Driver::uploads`]; 0 lists none.
    pub progressminsize: u64,
    /// Longest wait for a complete request head, and for the next bytes of a body.
    pub recvwait: Duration,
    /// Longest time without progress when a client does not take its response.
    pub sendwait: Duration,
    /// Longest time a connection that is being closed waits for the client's remaining bytes.
    pub closewait: Duration,
    /// Longest idle time between two requests; zero turns keep-alive off.
    pub keepwait: Duration,
    /// A larger request body ends keep-alive; 0 is unlimited.
    pub keepalivemaxuploadsize: u64,
    /// A larger response ends keep-alive; 0 is unlimited.
    pub keepalivemaxdownloadsize: u64,
    /// Bytes of a stream that may wait in memory for a slow client before its writer is blocked.
    pub streambuffer: usize,
    /// Responses from this size on are the writers' business: the answering thread hands them over at once, and
    /// `writerratelimit` holds for them. Changeable: [`crate::Listener::set_writersize`].
    pub writersize: u64,
    /// A stream never blocks its thread: what its client does not take waits in memory up to `writermemory`, then in
    /// a file without a name in `uploadpath`. Changeable: [`crate::Listener::set_writerstreaming`].
    pub writerstreaming: bool,
    /// See `writerstreaming`.
    pub writermemory: usize,
    /// Largest file of a stream; beyond it the thread is blocked after all.
    pub writerspool: u64,
    /// Bytes per second of each response that goes through a writer; 0 is unlimited.
    pub writerratelimit: u64,
    /// Small writes of a stream are collected up to this size.
    pub writerbufsize: usize,
    /// Bytes per second a request body must bring on average after its first `recvwait`; 0 is no limit.
    pub minrecvrate: u64,
    /// Bytes per second a client must take of a response on average after the first `sendwait`; 0 is no limit.
    pub minsendrate: u64,
    /// Connections one address may have open; 0 is unlimited.
    pub maxperaddress: usize,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        ListenerConfig {
            name: "nssock".into(),
            module: "nssock".into(),
            scheme: "http".into(),
            tls: None,
            addresses: Vec::new(),
            ports: Vec::new(),
            driverthreads: 1,
            spoolerthreads: 0,
            backlog: 32,
            acceptsize: 32,
            maxconnections: 0,
            nodelay: true,
            deferaccept: false,
            reuseport: false,
            fastopen: false,
            bufsize: 16 * 1024,
            maxline: 8 * 1024,
            maxheaders: 128,
            simplerequests: true,
            barelf: false,
            maxinput: 1024 * 1024,
            maxupload: 0,
            readahead: 16 * 1024,
            uploadpath: std::env::temp_dir(),
            progressminsize: 0,
            recvwait: Duration::from_secs(30),
            sendwait: Duration::from_secs(30),
            closewait: Duration::from_secs(2),
            keepwait: Duration::from_secs(5),
            keepalivemaxuploadsize: 0,
            keepalivemaxdownloadsize: 0,
            streambuffer: 256 * 1024,
            writersize: 1024 * 1024,
            writerstreaming: false,
            writermemory: 256 * 1024,
            writerspool: 1024 * 1024 * 1024,
            writerratelimit: 0,
            writerbufsize: 8 * 1024,
            minrecvrate: 0,
            minsendrate: 0,
            maxperaddress: 0,
        }
    }
}

/// Sockets that somebody else bound already (`nsd -b`, `nsd -B`, a supervisor). [`crate::bind`] takes the one with
/// the wanted address instead of binding, and removes it from the list.
pub type Prebound = Vec<(SocketAddr, TcpListener)>;

/// Bodies whose length is not announced (chunked) or not limited by `maxupload` stay in memory up to this size:
/// ordinary forms never touch the disk, and a connection's memory stays bounded.
const MEMORY_BODY: u64 = 1024 * 1024;

impl ListenerConfig {
    /// Largest body of announced length that is kept in memory.
    pub fn memory_limit(&self) -> u64 {
        match self.maxupload {
            0 => self.readahead.max(MEMORY_BODY),
            limit => limit,
        }
    }

    /// Largest chunked body that is kept in memory.
    pub fn chunked_memory_limit(&self) -> u64 {
        self.memory_limit().max(MEMORY_BODY)
    }
}
