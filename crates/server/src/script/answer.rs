//! How a connection answers: whole responses, promised heads, streams. The last stop before `net`.

use std::io;

use bytes::Bytes;
use http::ResponseHead;
use net::{Content, Response, Streaming};
use shared::Set;

use super::conn::{Conn, Progress};
use crate::compress::{self, GzipStream};
use crate::vserver::Stats;

/// Why a response could not be given.
#[derive(Debug)]
pub enum AnswerError {
    /// A response was sent already.
    AlreadyAnswered,
    Io(io::Error),
}

impl std::fmt::Display for AnswerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AnswerError::AlreadyAnswered => f.write_str("connection already closed"),
            AnswerError::Io(e) => write!(f, "{e}"),
        }
    }
}

impl Conn {
    /// Sends a complete response with text that `encode_text` made bytes of, or with bytes. `compressible` allows
    /// compression where settings, client and size do.
    ///
    /// # Errors
    /// The connection has answered already.
    pub fn respond(
        &self,
        status: u16,
        content_type: Option<&str>,
        content: Content,
        compressible: bool,
    ) -> Result<(), AnswerError> {
        if self.progress.get() != Progress::Open {
            return Err(AnswerError::AlreadyAnswered);
        }
        let Some(reply) = self.reply.borrow_mut().take() else { return Err(AnswerError::AlreadyAnswered) };
        let status = self.effective_status(status);
        self.status.set(status);
        if let Some(t) = content_type {
            self.output.borrow_mut().iupdate("content-type", t);
        }
        let content = match content {
            Content::Bytes(b) if compressible => Content::Bytes(self.compressed(b)),
            other => other,
        };
        let length = content_length(&content);
        let response = Response {
            head: self.head(),
            content,
            close: self.keep_alive.get().map(|k| !k),
            on_sent: None,
        };
        self.progress.set(Progress::Done);
        if !self.skip_body.get() && http::response::allows_body(status) {
            self.sent.set(length);
        }
        Stats::add(&self.server.stats.sent, self.sent.get());
        match reply.send(response) {
            net::Sent::Failed => Ok(()), // The client left; scripts cannot do anything about it.
            _ => Ok(()),
        }
    }

    /// Fixes status and headers; they are sent with the first bytes of the body.
    pub fn promise(&self, status: u16, content_type: Option<&str>, length: Option<u64>) -> Result<(), AnswerError> {
        if self.progress.get() != Progress::Open {
            return Err(AnswerError::AlreadyAnswered);
        }
        self.status.set(self.effective_status(status));
        if let Some(t) = content_type {
            self.output.borrow_mut().iupdate("content-type", t);
        }
        self.promised_length.set(length);
        self.progress.set(Progress::Promised);
        Ok(())
    }

    /// Writes a piece of the body; the head goes first. Blocks this thread while the client is slow.
    ///
    /// # Errors
    /// The response is complete, the client left, or it took nothing for `sendwait`.
    pub fn write(&self, data: &[u8]) -> Result<(), AnswerError> {
        match self.progress.get() {
            Progress::Done => return Err(AnswerError::AlreadyAnswered),
            Progress::Open | Progress::Promised => self.start_stream()?,
            Progress::Streaming => {}
        }
        let zipped = self.gzip.borrow_mut().as_mut().map(|z| z.write(data));
        let data = zipped.as_deref().unwrap_or(data);
        if self.skip_body.get() || data.is_empty() {
            return Ok(());
        }
        let mut stream = self.stream.borrow_mut();
        let Some(stream) = stream.as_mut() else { return Err(AnswerError::AlreadyAnswered) };
        stream.write(data).map_err(AnswerError::Io)?;
        self.sent.set(self.sent.get() + data.len() as u64);
        Ok(())
    }

    /// Ends the response: the rest of a stream, or the empty body of a promised head. Does nothing when it is done.
    pub fn finish(&self) -> Result<(), AnswerError> {
        if self.progress.get() == Progress::Promised {
            self.start_stream()?;
        }
        if self.progress.get() != Progress::Streaming {
            return Ok(());
        }
        self.progress.set(Progress::Done);
        let tail = self.gzip.borrow_mut().take().map(GzipStream::finish);
        let Some(mut stream) = self.stream.borrow_mut().take() else { return Ok(()) };
        if let Some(tail) = tail.filter(|t| !t.is_empty() && !self.skip_body.get()) {
            stream.write(&tail).map_err(AnswerError::Io)?;
            self.sent.set(self.sent.get() + tail.len() as u64);
        }
        Stats::add(&self.server.stats.sent, self.sent.get());
        stream.finish().map(|_| ()).map_err(AnswerError::Io)
    }

    /// Ends the connection without completing the response: the client sees that it is broken.
    pub fn abort(&self) {
        self.progress.set(Progress::Done);
        self.stream.borrow_mut().take();
        self.reply.borrow_mut().take();
    }

    /// An error page answers with the status of the error, not with its own 200.
    fn effective_status(&self, status: u16) -> u16 {
        self.error_status.get().filter(|_| status == 200).unwrap_or(status)
    }

    fn start_stream(&self) -> Result<(), AnswerError> {
        let Some(reply) = self.reply.borrow_mut().take() else { return Err(AnswerError::AlreadyAnswered) };
        let length = self.promised_length.get();
        if length.is_none() && !self.skip_body.get() {
            self.consider_streamed_compression();
        }
        let streaming = Streaming { length, close: self.keep_alive.get().map(|k| !k), on_sent: None };
        let stream = reply.start(self.head(), streaming).map_err(AnswerError::Io)?;
        *self.stream.borrow_mut() = Some(stream);
        self.progress.set(Progress::Streaming);
        Ok(())
    }

    fn consider_streamed_compression(&self) {
        let level = self.compress_level();
        if level == 0 || self.output.borrow().iget("content-encoding").is_some() {
            return;
        }
        add_vary(&mut self.output.borrow_mut());
        if self.accepts_gzip() {
            self.output.borrow_mut().iupdate("content-encoding", "gzip");
            *self.gzip.borrow_mut() = Some(GzipStream::new(level));
        }
    }

    /// The level that applies to this response; 0: none.
    pub fn compress_level(&self) -> u32 {
        let settings = &self.server.settings;
        match self.compress.get() {
            -1 if settings.compressenable => u32::try_from(settings.compresslevel.get()).unwrap_or(0),
            n => u32::try_from(n).unwrap_or(0),
        }
    }

    pub fn accepts_gzip(&self) -> bool {
        compress::accepts_gzip(self.headers.borrow().iget("accept-encoding"))
    }

    fn compressed(&self, bytes: Bytes) -> Bytes {
        let level = self.compress_level();
        let min = usize::try_from(self.server.settings.compressminsize.get()).unwrap_or(usize::MAX);
        if level == 0 || bytes.len() < min || self.output.borrow().iget("content-encoding").is_some() {
            return bytes;
        }
        let mut output = self.output.borrow_mut();
        add_vary(&mut output);
        if !compress::accepts_gzip(self.headers.borrow().iget("accept-encoding")) {
            return bytes;
        }
        output.iupdate("content-encoding", "gzip");
        Bytes::from(compress::gzip(&bytes, level))
    }

    fn head(&self) -> ResponseHead {
        let mut head = ResponseHead::new(self.status.get());
        head.reason = self.reason.borrow().clone();
        for (key, value) in self.output.borrow().iter() {
            head.headers.put(key.to_ascii_lowercase(), value);
        }
        crate::reply::dress(&mut head.headers, &self.server, &self.driver);
        head
    }
}

fn add_vary(headers: &mut Set) {
    let listed = headers.iget("vary").map(|v| v.to_ascii_lowercase().contains("accept-encoding"));
    match listed {
        None => {
            headers.put("vary", "Accept-Encoding");
        }
        Some(false) => {
            let both = format!("{}, Accept-Encoding", headers.iget("vary").unwrap_or_default());
            headers.iupdate("vary", both);
        }
        Some(true) => {}
    }
}

fn content_length(content: &Content) -> u64 {
    match content {
        Content::Empty => 0,
        Content::Bytes(b) => b.len() as u64,
        Content::File { len, .. } => *len,
        Content::Parts(parts) => parts
            .iter()
            .map(|p| match p {
                net::Part::Bytes(b) => b.len() as u64,
                net::Part::File { len, .. } => *len,
            })
            .sum(),
    }
}
