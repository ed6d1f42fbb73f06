//! What the safe faces of the system lack: two socket options, and watching a socket from several threads. The only
//! unsafe code of this crate.
#![allow(unsafe_code)]

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use tokio::io::unix::AsyncFd;

/// TCP_DEFER_ACCEPT: connections are reported when their first bytes are there, or after `time` (whole seconds).
pub(crate) fn set_defer_accept(listener: &TcpListener, time: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(time.as_secs()).unwrap_or(libc::c_int::MAX);
    set_tcp_option(listener, libc::TCP_DEFER_ACCEPT, seconds)
}

/// TCP_FASTOPEN with a queue of that length.
pub(crate) fn set_fast_open(listener: &TcpListener, queue: u16) -> io::Result<()> {
    set_tcp_option(listener, libc::TCP_FASTOPEN, queue.into())
}

/// Registers a connection with the event loop of the current thread.
pub(crate) fn watch_stream(socket: TcpStream) -> io::Result<AsyncFd<TcpStream>> {
    // SAFETY: a TcpStream owns its descriptor and answers with the same one until it is dropped; nobody in this
    // crate takes or replaces it behind the AsyncFd's back (no use of `get_mut`).
    Ok(unsafe { AsyncFd::register(socket) }?)
}

/// Registers a listening socket with the event loop of the current thread.
pub(crate) fn watch_listener(listener: TcpListener) -> io::Result<AsyncFd<TcpListener>> {
    // SAFETY: as for `watch_stream`.
    Ok(unsafe { AsyncFd::register(listener) }?)
}

fn set_tcp_option(listener: &TcpListener, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    let value: *const libc::c_int = &value;
    // SAFETY: the descriptor is open while `listener` is borrowed; the pointer is to a live c_int of that size, which
    // the call only reads (setsockopt(2)).
    let result = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            value.cast(),
            size,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_takes_the_options() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_defer_accept(&listener, Duration::from_secs(3)).unwrap();
        set_fast_open(&listener, 16).unwrap();
    }
}
