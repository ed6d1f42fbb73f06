//! Bytes and pieces of files on their way to a socket that does not block.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use rustix::net::{SendAncillaryBuffer, SendFlags};

/// A piece of output.
pub(crate) enum Segment {
    Bytes(Bytes),
    File {
        file: Arc<File>,
        offset: u64,
        len: u64,
    },
}

impl Segment {
    /// Bytes to send.
    pub fn len(&self) -> u64 {
        match self {
            Segment::Bytes(bytes) => bytes.len() as u64,
            Segment::File { len, .. } => *len,
        }
    }

    /// Bytes it holds in memory.
    pub fn in_memory(&self) -> usize {
        match self {
            Segment::Bytes(bytes) => bytes.len(),
            Segment::File { .. } => 0,
        }
    }
}

/// Why [`write`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Everything was written.
    Empty,
    /// The socket takes no more for now.
    Blocked,
    /// The budget is used up.
    Budget,
}

/// Files up to this size are read and sent together with what precedes them: one system call for both. Larger ones go
/// by sendfile, which copies nothing; from a few kilobytes on that is cheaper.
const SMALL_FILE: u64 = 4 * 1024;

/// Block that is copied where a file system cannot be sent from.
const COPY: u64 = 64 * 1024;

/// Most slices of one call.
const SLICES: usize = 16;

/// Most bytes of one sendfile call; bounds the time a disk may hold the calling thread.
const SENDFILE: u64 = 2 * 1024 * 1024;

/// Writes from the front of `output` until it is empty, the socket is full, or `budget` bytes are written.
/// Returns the number of bytes.
///
/// # Errors
/// Those of the socket; `UnexpectedEof` if a file is shorter than promised.
pub(crate) fn write(
    socket: &TcpStream,
    output: &mut VecDeque<Segment>,
    budget: u64,
) -> io::Result<(u64, Stop)> {
    let mut total = 0;
    loop {
        load_small_files(output)?;
        let step = match output.front_mut() {
            None => return Ok((total, Stop::Empty)),
            Some(Segment::File { file, offset, len }) => {
                send_file(socket, file, offset, *len, budget - total)
            }
            Some(Segment::Bytes(_)) => send_bytes(socket, output, budget - total),
        };
        match step {
            Ok(n) => {
                advance(output, n);
                total += n;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok((total, Stop::Blocked));
            }
            Err(error) => return Err(error),
        }
        if total >= budget && !output.is_empty() {
            return Ok((total, Stop::Budget));
        }
    }
}

/// Writes slices once, without blocking. `more` tells the system that the rest of its packet follows at once.
pub(crate) fn write_slices(
    socket: &TcpStream,
    slices: &[IoSlice<'_>],
    more: bool,
) -> io::Result<usize> {
    let mut flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if more {
        flags |= SendFlags::MORE;
    }
    let sent = rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags)?;
    Ok(sent)
}

/// Bytes in memory of some output; what files add is not counted.
pub(crate) fn in_memory(output: &VecDeque<Segment>) -> usize {
    output.iter().map(Segment::in_memory).sum()
}

fn send_bytes(socket: &TcpStream, output: &VecDeque<Segment>, budget: u64) -> io::Result<u64> {
    let mut slices = [IoSlice::new(&[]); SLICES];
    let mut count = 0;
    let mut left = usize::try_from(budget).unwrap_or(usize::MAX);
    for (slice, segment) in slices.iter_mut().zip(output) {
        let Segment::Bytes(bytes) = segment else {
            break;
        };
        let step = left.min(bytes.len());
        *slice = IoSlice::new(&bytes[..step]);
        count += 1;
        left -= step;
        if left == 0 {
            break;
        }
    }
    let more = count < output.len();
    Ok(write_slices(socket, &slices[..count], more)? as u64)
}

fn send_file(
    socket: &TcpStream,
    file: &Arc<File>,
    offset: &mut u64,
    len: u64,
    budget: u64,
) -> io::Result<u64> {
    let mut from = *offset;
    let len = len.min(budget);
    let count = len.min(SENDFILE) as usize;
    match rustix::fs::sendfile(socket, file, Some(&mut from), count) {
        Ok(0) if len > 0 => Err(shorter()),
        Ok(n) => Ok(n as u64),
        // Some file systems cannot be sent from.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            let block = read_at(file, *offset, len.min(COPY))?;
            Ok(write_slices(socket, &[IoSlice::new(&block)], len > block.len() as u64)? as u64)
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes `n` written bytes away, and empty segments.
fn advance(output: &mut VecDeque<Segment>, mut n: u64) {
    while let Some(front) = output.front_mut() {
        let left = match front {
            Segment::Bytes(bytes) => {
                let step = n.min(bytes.len() as u64);
                bytes.advance(step as usize);
                n -= step;
                bytes.len() as u64
            }
            Segment::File { offset, len, .. } => {
                let step = n.min(*len);
                *offset += step;
                *len -= step;
                n -= step;
                *len
            }
        };
        if left > 0 {
            break;
        }
        output.pop_front();
    }
}

/// Replaces small files among the first segments by their bytes, and drops empty segments at the front.
fn load_small_files(output: &mut VecDeque<Segment>) -> io::Result<()> {
    advance(output, 0);
    for segment in output.iter_mut().take(2) {
        if let Segment::File { file, offset, len } = segment
            && *len <= SMALL_FILE
        {
            *segment = Segment::Bytes(read_at(file, *offset, *len)?);
        }
    }
    Ok(())
}

fn read_at(file: &File, offset: u64, len: u64) -> io::Result<Bytes> {
    let mut block = vec![0; len as usize];
    file.read_exact_at(&mut block, offset).map_err(|error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            shorter()
        } else {
            error
        }
    })?;
    Ok(block.into())
}

fn shorter() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the file became shorter while it was sent",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn segments_arrive_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..200_000u32).map(|n| (n % 249) as u8).collect();
        file.write_all(&content).unwrap();
        let file = Arc::new(file);
        let mut output: VecDeque<Segment> = VecDeque::new();
        let mut expected = Vec::new();
        for (offset, len) in [(5u64, 100_000u64), (0, 10), (7, 0), (199_990, 10)] {
            output.push_back(Segment::Bytes(Bytes::from_static(b"<head>")));
            output.push_back(Segment::Bytes(Bytes::new()));
            let file = file.clone();
            output.push_back(Segment::File { file, offset, len });
            expected.extend_from_slice(b"<head>");
            expected.extend_from_slice(&content[offset as usize..(offset + len) as usize]);
        }
        let reader = std::thread::spawn(move || {
            let mut have = Vec::new();
            peer.read_to_end(&mut have).unwrap();
            have
        });
        let mut total = 0;
        loop {
            let (n, stop) = write(&client, &mut output, 4096).unwrap();
            total += n;
            match stop {
                Stop::Empty => break,
                Stop::Blocked => std::thread::yield_now(),
                Stop::Budget => assert_eq!(n, 4096),
            }
        }
        drop(client);
        assert!(reader.join().unwrap() == expected);
        assert_eq!(total, expected.len() as u64);
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        for len in [10, 100_000] {
            let file = Arc::new(tempfile::tempfile().unwrap());
            let mut output = VecDeque::from([Segment::File {
                file,
                offset: 0,
                len,
            }]);
            let error = write(&client, &mut output, u64::MAX).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
