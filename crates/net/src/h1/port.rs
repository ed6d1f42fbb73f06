//! The answer to an HTTP/1 request, from any thread: framed, written to the socket as far as it takes it, the rest
//! given to the connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http::{Refusal, RequestHead, ResponseHead};
use tokio::time::Instant;

use super::frame::{Asked, Delimiter, frame};
use super::link::Link;
use super::turn::{End, Notice};
use crate::output::{self, Segment, Stop};
use crate::pace::{self, Throttle};
use crate::reply::OnSent;
use crate::spool::Overflow;
use crate::stats::{ConnectionState, count};
use crate::{
    Content, Detached, Part, PeerInfo, ReplyPort, Response, Sent, StreamPort, Streaming, Terms,
};

/// Most bytes a caller writes itself before the connection takes over, so that a fast client with a large file does
/// not keep a connection thread.
const OWN_SHARE: u64 = 2 * 1024 * 1024;

/// Largest piece of a stream that is framed and written at once; bounds what has to be kept for a slow client.
const PIECE: usize = 64 * 1024;

/// The way back for one request.
pub(crate) struct Port {
    link: Arc<Link>,
    asked: Asked,
    terms: Terms,
}

impl Port {
    /// For a request; without a head for one that could not be read. `keep_alive`: what its framing allows.
    pub fn new(link: Arc<Link>, head: Option<&RequestHead>, keep_alive: bool) -> Port {
        let config = &link.hub.listener.config;
        let asked = Asked {
            version: head.map_or((1, 1), |head| head.version),
            head_only: head.is_some_and(|head| head.method == "HEAD"),
            keep_alive: keep_alive
                && !config.keepwait.is_zero()
                && head.is_some_and(RequestHead::wants_keep_alive),
            max_download: config.keepalivemaxdownloadsize,
        };
        Port {
            link,
            asked,
            terms: Terms::default(),
        }
    }

    /// Encodes the head; nothing for a request without version.
    fn encode(&self, head: &ResponseHead) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.asked.version >= (1, 0) {
            http::encode_head(self.asked.version, head, &mut bytes);
        }
        bytes
    }

    /// What the answering thread may write itself of a response of `body` bytes. Responses that are the writers' business
    /// get their own limit.
    fn own_share(&mut self, body: u64) -> u64 {
        let listener = &self.link.hub.listener;
        let large = body >= listener.writersize();
        if large && listener.config.writerratelimit > 0 {
            self.terms
                .limits
                .push(Arc::new(Throttle::new(listener.config.writerratelimit)));
        }
        if large {
            count(&listener.tally.writer_jobs);
        }
        let share = pace::allowance(&self.terms.limits, std::time::Instant::now()).unwrap_or(0);
        share.min(OWN_SHARE)
    }

    fn closing(&self, close: Option<bool>) -> Option<bool> {
        if self.link.hub.is_draining() {
            Some(true)
        } else {
            close
        }
    }

    fn announce(&self, on_sent: Option<OnSent>, head: usize, body: u64) {
        if let Some(on_sent) = on_sent {
            let head = head as u64;
            let notice = Notice {
                on_sent,
                head,
                body,
            };
            self.link.turn.announce(Some(notice));
        }
    }
}

impl ReplyPort for Port {
    fn terms(&mut self, terms: Terms) {
        self.terms = terms;
    }

    fn send(mut self: Box<Self>, response: Response) -> Sent {
        let Response {
            mut head,
            content,
            close,
            on_sent,
        } = response;
        let frame = frame(
            &self.asked,
            &mut head,
            Some(content.len()),
            self.closing(close),
        );
        let bytes = self.encode(&head);
        let head_length = bytes.len();
        let mut output = VecDeque::from([Segment::Bytes(bytes.into())]);
        let mut body = 0;
        if let Delimiter::Length(length) = frame.delimiter {
            body = length;
            add_content(&mut output, content);
        }
        let share = self.own_share(body);
        self.announce(on_sent, head_length, body);
        let turn = &self.link.turn;
        let done = || End::Done {
            close: frame.close,
            at: Instant::now(),
        };
        let written = match turn.may_write() {
            Ok(_) if share == 0 => Ok((0, Stop::Budget)),
            Ok(_) => output::write(self.link.stream(), &mut output, share),
            Err(error) => Err(error),
        };
        match written {
            Ok((n, Stop::Empty)) => {
                self.link.count_out(n);
                pace::charge(&self.terms.limits, n);
                turn.wrote(n);
                self.link.set_state(ConnectionState::Idle);
                turn.end(done());
                Sent::Complete
            }
            Ok((n, _)) => {
                self.link.count_out(n);
                turn.wrote(n);
                pace::charge(&self.terms.limits, n);
                turn.terms(self.terms);
                count(&self.link.hub.listener.tally.handed_over);
                let pushed = turn.push(&mut output, None);
                turn.end(done());
                match pushed {
                    Ok(()) => Sent::HandedOver,
                    Err(_) => Sent::Failed,
                }
            }
            Err(error) => {
                self.link.broke(error.kind());
                turn.end(End::Aborted { reset: false });
                Sent::Failed
            }
        }
    }

    fn start(
        mut self: Box<Self>,
        mut head: ResponseHead,
        streaming: Streaming,
    ) -> io::Result<Box<dyn StreamPort>> {
        let Streaming {
            length,
            close,
            on_sent,
        } = streaming;
        let frame = frame(&self.asked, &mut head, length, self.closing(close));
        if let Err(error) = self.link.turn.may_write() {
            self.link.turn.end(End::Aborted { reset: false });
            return Err(error);
        }
        let rate = self.link.hub.listener.config.writerratelimit;
        if rate > 0 && self.link.hub.listener.writerstreaming() {
            self.terms.limits.push(Arc::new(Throttle::new(rate)));
        }
        self.link.turn.terms(self.terms.clone());
        let head = self.encode(&head);
        // How long the body becomes is known at its end; if that never comes, what was written counts.
        self.announce(on_sent, head.len(), u64::MAX);
        Ok(Box::new(Flow {
            head,
            data: Vec::new(),
            delimiter: frame.delimiter,
            close: frame.close,
            promised: length.filter(|_| frame.delimiter != Delimiter::None),
            accepted: 0,
            begun: false,
            overflow: None,
            port: *self,
        }))
    }

    fn detach(self: Box<Self>) -> io::Result<Detached> {
        let socket = match self.link.stream().try_clone() {
            Ok(socket) => socket,
            Err(error) => {
                self.abandon();
                return Err(error);
            }
        };
        let unread = self.link.turn.detach()?;
        Ok(Detached {
            socket,
            unread,
            peer: self.link.peer,
            local: self.link.local,
        })
    }

    fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    fn peer(&self) -> PeerInfo {
        PeerInfo {
            peer: self.link.peer,
            local: self.link.local,
            connection: self.link.id,
            keep_alive: self.asked.keep_alive,
        }
    }

    fn abandon(self: Box<Self>) {
        count(&self.link.hub.listener.tally.abandoned);
        let refusal = Refusal::new(500, "the request was dropped without an answer");
        let response = self.link.hub.refusal(&refusal, None);
        self.send(response);
    }
}

fn add_content(output: &mut VecDeque<Segment>, content: Content) {
    match content {
        Content::Empty => {}
        Content::Bytes(bytes) => output.push_back(Segment::Bytes(bytes)),
        Content::File { file, offset, len } => {
            output.push_back(Segment::File { file, offset, len });
        }
        Content::Parts(parts) => output.extend(parts.into_iter().map(|part| match part {
            Part::Bytes(bytes) => Segment::Bytes(bytes),
            Part::File { file, offset, len } => Segment::File { file, offset, len },
        })),
    }
}

/// A response whose body is written piece by piece.
struct Flow {
    port: Port,
    /// The head until it is sent.
    head: Vec<u8>,
    /// Body bytes collected from small writes.
    data: Vec<u8>,
    delimiter: Delimiter,
    close: bool,
    /// Announced length of the body.
    promised: Option<u64>,
    /// Body bytes taken from the application so far.
    accepted: u64,
    /// Something was sent.
    begun: bool,
    /// What the client of a stream that must not block does not take.
    overflow: Option<Overflow>,
}

impl Flow {
    /// Sends head, collected data and `extra` in one go, and the end of the body if this is the `last` of it.
    fn emit(&mut self, extra: &[u8], last: bool) -> io::Result<()> {
        let content = self.data.len() + extra.len();
        let mut prefix = std::mem::take(&mut self.head);
        let mut suffix: &[u8] = b"";
        if self.delimiter == Delimiter::Chunked {
            http::chunks::encode_size(content, &mut prefix);
            suffix = match (content > 0, last) {
                (true, true) => b"\r\n0\r\n\r\n",
                (true, false) => b"\r\n",
                (false, true) => http::chunks::LAST,
                (false, false) => b"",
            };
        }
        prefix.append(&mut self.data);
        if prefix.is_empty() && extra.is_empty() && suffix.is_empty() {
            return Ok(());
        }
        self.begun = true;
        let mut pieces = [&prefix[..], extra, suffix];
        let link = &self.port.link;
        if link.turn.may_write()? {
            // Everything was sent: the file has done its duty.
            self.overflow = None;
        }
        while link.turn.may_write()?
            && pace::allowance(&self.port.terms.limits, std::time::Instant::now()).is_ok()
        {
            let slices = pieces.map(IoSlice::new);
            match output::write_slices(link.stream(), &slices, false) {
                Ok(n) => {
                    link.count_out(n as u64);
                    link.turn.wrote(n as u64);
                    pace::charge(&self.port.terms.limits, n as u64);
                    if skip(&mut pieces, n) {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    link.broke(error.kind());
                    return Err(error);
                }
            }
        }
        count(&link.hub.listener.tally.handed_over);
        let rest = Bytes::from(pieces.concat());
        let config = &link.hub.listener.config;
        if link.hub.listener.writerstreaming() {
            if link.turn.has_room(rest.len(), config.writermemory)? {
                return link.turn.push_segment(Segment::Bytes(rest));
            }
            let overflow = match &mut self.overflow {
                Some(overflow) => overflow,
                slot => {
                    count(&link.hub.listener.tally.stream_files);
                    slot.insert(Overflow::create(&config.uploadpath)?)
                }
            };
            if overflow.len() + rest.len() as u64 <= config.writerspool {
                return link.turn.push_segment(overflow.append(&rest)?);
            }
        }
        let limit = config.streambuffer.max(1);
        let mut output = VecDeque::from([Segment::Bytes(rest)]);
        link.turn.push(&mut output, Some(limit))
    }

    /// The part of `bytes` that belongs to the body.
    fn admit<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut admitted = bytes;
        if let Some(promised) = self.promised {
            let room = promised.saturating_sub(self.accepted);
            if (bytes.len() as u64) > room {
                admitted = &bytes[..room as usize];
                shared::warning!(
                    "{} more bytes written than the content-length of {promised} announced; they are dropped",
                    bytes.len() as u64 - room
                );
            }
        }
        self.accepted += admitted.len() as u64;
        admitted
    }
}

impl StreamPort for Flow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bytes = self.admit(bytes);
        if self.delimiter == Delimiter::None {
            return Ok(());
        }
        let enough = self.port.link.hub.listener.config.writerbufsize;
        if self.data.len() + bytes.len() < enough {
            self.port.link.turn.may_write()?;
            self.data.extend_from_slice(bytes);
            return Ok(());
        }
        for piece in bytes.chunks(PIECE) {
            self.emit(piece, false)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.emit(b"", false)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let result = self.emit(b"", true);
        let turn = &self.port.link.turn;
        turn.set_body(match self.delimiter {
            Delimiter::None => 0,
            _ => self.accepted,
        });
        let missing = self.promised.map_or(0, |promised| promised - self.accepted);
        if result.is_err() {
            turn.end(End::Aborted { reset: false });
            return result;
        }
        let at = Instant::now();
        let close = self.close || missing > 0;
        turn.end(End::Done { close, at });
        if missing > 0 {
            let text = format!("{missing} bytes less written than the content-length announced");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(())
    }

    fn abort(self: Box<Self>) {
        if self.begun {
            let reset = self.delimiter == Delimiter::Close;
            self.port.link.turn.end(End::Aborted { reset });
        } else {
            Box::new(self.port).abandon();
        }
    }

    fn is_connected(&self) -> bool {
        self.port.link.is_connected()
    }
}

/// Takes `n` bytes from the front; true if nothing is left.
fn skip(pieces: &mut [&[u8]], mut n: usize) -> bool {
    for piece in pieces.iter_mut() {
        let step = n.min(piece.len());
        *piece = &piece[step..];
        n -= step;
    }
    pieces.iter().all(|piece| piece.is_empty())
}

impl Link {
    /// Bytes given to the system.
    pub(super) fn count_out(&self, n: u64) {
        self.bytes_out.fetch_add(n, Relaxed);
        self.hub.listener.tally.bytes_out.fetch_add(n, Relaxed);
    }

    /// A caller found the connection broken.
    pub(super) fn broke(&self, kind: io::ErrorKind) {
        count(&self.hub.listener.tally.errors);
        self.gone.store(true, Relaxed);
        self.turn.fail(kind);
    }
}
