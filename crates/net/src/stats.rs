//! Counters of a driver, its open connections and its uploads in progress.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use parking_lot::Mutex;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a driver has counted since it was bound.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Requests refused by the protocol, by status code.
            pub refused: Vec<(u16, u64)>,
        }

        /// The live counters behind [`Counters`].
        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub $name: AtomicU64,)*
            refused: Mutex<Vec<(u16, u64)>>,
        }

        impl Tally {
            pub fn snapshot(&self) -> Counters {
                Counters {
                    $($name: self.$name.load(Relaxed),)*
                    refused: self.refused.lock().clone(),
                }
            }
        }
    };
}

counters! {
    /// Connections accepted.
    accepted,
    /// Failed attempts to accept a connection.
    accept_errors,
    /// Complete requests handed to the application.
    requests,
    /// Bytes read from clients.
    bytes_in,
    /// Bytes given to the system for clients.
    bytes_out,
    /// Connections that broke while a request or a response was on its way.
    errors,
    /// Requests that needed more than one read to arrive.
    partial,
    /// Bodies that were written to a file.
    spooled,
    /// Responses or streams of which a driver had to send a part.
    handed_over,
    /// Connections closed because the client was silent for too long.
    timeouts,
    /// Connections closed because the client sent or took bytes too slowly (`minrecvrate`, `minsendrate`).
    too_slow,
    /// Connections not served because their address had too many (`maxperaddress`).
    too_many,
    /// Idle connections closed because `maxconnections` were open.
    evicted,
    /// Responses that were the writers' business (`writersize`).
    writer_jobs,
    /// Streams that needed a file for what their clients did not take.
    stream_files,
    /// Sockets given to the application.
    detached,
    /// Replies dropped without an answer.
    abandoned,
}

impl Tally {
    pub fn refuse(&self, status: u16) {
        let mut refused = self.refused.lock();
        match refused.iter_mut().find(|(have, _)| *have == status) {
            Some((_, count)) => *count += 1,
            None => refused.push((status, 1)),
        }
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// What an open connection is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ConnectionState {
    /// Waiting for a request.
    Idle,
    /// Receiving a request.
    Reading,
    /// The application has the request; parts of the response may be on their way.
    Running,
    /// Waiting for the client to close.
    Closing,
}

impl ConnectionState {
    pub(crate) fn from_u8(value: u8) -> ConnectionState {
        match value {
            0 => ConnectionState::Idle,
            1 => ConnectionState::Reading,
            2 => ConnectionState::Running,
            _ => ConnectionState::Closing,
        }
    }
}

/// An open connection.
#[derive(Debug, Clone)]
pub struct ConnectionInfo {
    pub id: u64,
    pub peer: SocketAddr,
    pub local: SocketAddr,
    pub since: SystemTime,
    pub state: ConnectionState,
    /// Requests so far.
    pub requests: u64,
    /// Bytes read from it and written to it.
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A response that is being sent at its client's speed, or at the speed of a limit.
#[derive(Debug, Clone)]
pub struct Writing {
    pub connection: ConnectionInfo,
    /// Of the connection's socket; -1 where it has none of its own.
    pub descriptor: i32,
    /// Since when the driver is sending.
    pub since: SystemTime,
    /// Bytes sent, head and framing included.
    pub sent: u64,
    /// Bytes left, as far as they are known.
    pub left: u64,
    /// Limit in bytes per second; 0: none.
    pub limit: u64,
    /// Whose it is.
    pub label: Option<Arc<crate::Label>>,
}

/// A request body on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Target of the request, as sent.
    pub target: String,
    /// Bytes received so far.
    pub received: u64,
    /// Announced length; `None` for a chunked body.
    pub length: Option<u64>,
}

/// The uploads in progress of one driver.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<Vec<Arc<UploadEntry>>>);

struct UploadEntry {
    target: String,
    length: Option<u64>,
    received: AtomicU64,
}

/// Keeps an upload in the list while it lives.
pub(crate) struct Progress<'a> {
    list: &'a Uploads,
    entry: Arc<UploadEntry>,
}

impl Uploads {
    pub fn begin(&self, target: &str, length: Option<u64>) -> Progress<'_> {
        let entry = Arc::new(UploadEntry {
            target: target.to_owned(),
            length,
            received: AtomicU64::new(0),
        });
        self.0.lock().push(entry.clone());
        Progress { list: self, entry }
    }

    pub fn snapshot(&self) -> Vec<Upload> {
        let entries = self.0.lock();
        entries
            .iter()
            .map(|entry| Upload {
                target: entry.target.clone(),
                received: entry.received.load(Relaxed),
                length: entry.length,
            })
            .collect()
    }
}

impl Progress<'_> {
    pub fn set(&self, received: u64) {
        self.entry.received.store(received, Relaxed);
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        let mut entries = self.list.0.lock();
        entries.retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_status() {
        let tally = Tally::default();
        for status in [400, 413, 400] {
            tally.refuse(status);
        }
        count(&tally.requests);
        let counters = tally.snapshot();
        assert_eq!(counters.refused, [(400, 2), (413, 1)]);
        assert_eq!(counters.requests, 1);
    }

    #[test]
    fn an_upload_is_listed_while_it_lasts() {
        let uploads = Uploads::default();
        let progress = uploads.begin("/a", Some(10));
        progress.set(4);
        let listed = uploads.snapshot();
        assert_eq!((listed.len(), listed[0].received), (1, 4));
        drop(progress);
        assert!(uploads.snapshot().is_empty());
    }
}
