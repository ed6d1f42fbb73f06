//! What the task of a connection and the threads that answer its requests share.

use std::cell::RefCell;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use tokio::io::unix::AsyncFd;

use super::turn::{OnTheWay, Turn};
use crate::driver::Hub;
use crate::stats::{ConnectionInfo, ConnectionState, Writing};

/// Bytes of one read.
const READ: usize = 64 * 1024;

thread_local! {
    /// Where the driver thread reads to; what arrived is copied, so idle connections own no buffer.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ].into());
}

/// What the connection's task and the answering threads share.
pub(crate) struct Link {
    pub id: u64,
    pub hub: Arc<Hub>,
    pub peer: SocketAddr,
    pub local: SocketAddr,
    pub turn: Turn,
    pub(super) socket: AsyncFd<TcpStream>,
    pub(super) gone: AtomicBool,
    pub(super) aborted: AtomicBool,
    pub(super) storage: crate::exchange::Storage,
    since: SystemTime,
    state: AtomicU8,
    pub(super) requests: AtomicU64,
    bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
}

impl Link {
    /// Registers `socket`, which is non-blocking, with the event loop of the current thread.
    pub fn new(
        hub: Arc<Hub>,
        id: u64,
        socket: TcpStream,
        peer: SocketAddr,
        local: SocketAddr,
    ) -> io::Result<Link> {
        Ok(Link {
            storage: crate::exchange::Storage::default(),
            id,
            hub,
            peer,
            local,
            turn: Turn::default(),
            socket: crate::sys::watch_stream(socket)?,
            gone: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            since: SystemTime::now(),
            state: AtomicU8::new(ConnectionState::Idle as u8),
            requests: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        self.socket.get_ref()
    }

    pub(super) fn is_connected(&self) -> bool {
        !self.gone.load(Relaxed) && !self.aborted.load(Relaxed)
    }

    /// Has the task end the connection, whatever is going on.
    pub fn abort(&self) {
        self.aborted.store(true, SeqCst);
        self.turn.poke();
    }

    /// Nobody asks anything on it.
    pub fn is_idle(&self) -> bool {
        self.state.load(Relaxed) == ConnectionState::Idle as u8
    }

    /// For the list of connections.
    pub fn info(&self) -> ConnectionInfo {
        ConnectionInfo {
            id: self.id,
            peer: self.peer,
            local: self.local,
            since: self.since,
            state: ConnectionState::from_u8(self.state.load(Relaxed)),
            requests: self.requests.load(Relaxed),
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
        }
    }

    /// For the list of responses on their way.
    pub fn writing(&self) -> Option<Writing> {
        let OnTheWay {
            sent,
            left,
            since,
            limit,
            label,
        } = self.turn.writing()?;
        Some(Writing {
            connection: self.info(),
            descriptor: self.stream().as_raw_fd(),
            since: SystemTime::now() - since.elapsed(),
            sent,
            left,
            limit,
            label,
        })
    }

    /// Also called by the one who answers: the task may sleep on when a response is complete.
    pub(super) fn set_state(&self, state: ConnectionState) {
        self.state.store(state as u8, Relaxed);
    }
}

/// Reads once; the bytes go to `sink`. 0 is the end of the stream.
pub(super) fn poll_read(
    cx: &mut Context<'_>,
    link: &Link,
    sink: impl FnOnce(&[u8]),
) -> Poll<io::Result<usize>> {
    SCRATCH.with_borrow_mut(|scratch| {
        loop {
            let mut guard = ready!(link.socket.poll_read_ready(cx))?;
            let mut stream = link.stream();
            match stream.read(scratch) {
                Ok(n) => {
                    if n > 0 && n < scratch.len() {
                        // The socket is drained: epoll reports edges, so the next bytes will be reported, and one
                        // read that finds nothing is saved (tokio does the same for its own streams).
                        guard.clear_ready();
                    }
                    link.bytes_in.fetch_add(n as u64, Relaxed);
                    link.hub
                        .listener
                        .tally
                        .bytes_in
                        .fetch_add(n as u64, Relaxed);
                    sink(&scratch[..n]);
                    return Poll::Ready(Ok(n));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    })
}
