//! How a connection answers: whole responses, promised heads, streams. The last stop before `net`.

use std::io;

use bytes::Bytes;
use http::ResponseHead;
use net::{Content, Response, Streaming};

use super::conn::{Conn, Progress};
use crate::compress::{self, CompressConfig, Decision, PackStream};
use crate::vserver::Stats;

/// Most bytes of a head that a script writes itself before they are taken for a body.
const MAX_OWN_HEAD: usize = 64 * 1024;

/// Why a response could not be given.
#[derive(Debug)]
pub enum AnswerError {
    /// A response was sent already.
    AlreadyAnswered,
    /// A response is being written piece by piece.
    AlreadyStarted,
    Io(io::Error),
}

impl std::fmt::Display for AnswerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AnswerError::AlreadyAnswered => f.write_str("connection socket is detached"),
            AnswerError::AlreadyStarted => f.write_str("the response has been started already"),
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
        self.must_be_open()?;
        let Some(mut reply) = self.reply.borrow_mut().take() else {
            return Err(AnswerError::AlreadyAnswered);
        };
        let status = self.effective_status(status);
        self.status.set(status);
        self.set_content_type(content_type);
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
        reply.terms(self.terms());
        match reply.send(response) {
            net::Sent::Failed => Ok(()), // The client left; scripts cannot do anything about it.
            _ => Ok(()),
        }
    }

    /// Fixes status and headers; they are sent with the first bytes of the body. `content_type`: `None` leaves what
    /// scripts put among the output headers.
    ///
    /// # Errors
    /// The connection has answered already.
    pub fn promise(
        &self,
        status: u16,
        content_type: Option<&str>,
        length: Option<u64>,
    ) -> Result<(), AnswerError> {
        self.must_be_open()?;
        self.status.set(self.effective_status(status));
        self.set_content_type(content_type);
        self.promised_length.set(length);
        self.progress.set(Progress::Promised);
        Ok(())
    }

    /// Writes a piece of the body and sends it; the head goes first. Blocks this thread while the client is slow. The
    /// first piece decides about compression: `compressible` allows it.
    ///
    /// Without a promised head the script writes its own: `HTTP/1.0 200 OK`, fields, an empty line. Head and body are
    /// taken apart again, so that framing is right and the connection can be kept whatever the protocol is.
    ///
    /// # Errors
    /// The response is complete, the client left, or it took nothing for `sendwait`.
    pub fn write(&self, data: &[u8], compressible: bool) -> Result<(), AnswerError> {
        match self.progress.get() {
            Progress::Done => return Err(AnswerError::AlreadyAnswered),
            Progress::Open => {
                let Some(body) = self.own_head(data) else {
                    return Ok(());
                };
                self.start_stream(false)?;
                return self.write_body(&body);
            }
            Progress::Promised => self.start_stream(compressible)?,
            Progress::Streaming => {}
        }
        self.write_body(data)
    }

    fn write_body(&self, data: &[u8]) -> Result<(), AnswerError> {
        if self.skip_body.get()
            || data.is_empty()
            || !http::response::allows_body(self.status.get())
        {
            return Ok(());
        }
        let mut data = data;
        if let Some(length) = self.promised_length.get() {
            let left =
                usize::try_from(length.saturating_sub(self.sent.get())).unwrap_or(usize::MAX);
            if data.len() > left {
                shared::warning!(
                    "{}: more bytes than the {length} announced; they are dropped",
                    self.url()
                );
                data = &data[..left];
            }
        }
        let zipped = self.packing.borrow_mut().as_mut().map(|z| z.write(data));
        let data = zipped.as_deref().unwrap_or(data);
        let mut stream = self.stream.borrow_mut();
        let Some(stream) = stream.as_mut() else {
            return Err(AnswerError::AlreadyAnswered);
        };
        stream.write(data).map_err(AnswerError::Io)?;
        stream.flush().map_err(AnswerError::Io)?;
        self.sent.set(self.sent.get() + data.len() as u64);
        Ok(())
    }

    /// Ends the response: the rest of a stream, or the empty body of a promised head. Does nothing when it is done.
    pub fn finish(&self) -> Result<(), AnswerError> {
        match self.progress.get() {
            Progress::Open if self.has_answered() => {
                let body = std::mem::take(&mut *self.own_head.borrow_mut());
                self.start_stream(false)?;
                self.write_body(&body)?;
            }
            Progress::Promised => self.start_stream(false)?,
            _ => {}
        }
        if self.progress.get() != Progress::Streaming {
            return Ok(());
        }
        self.progress.set(Progress::Done);
        let tail = self.packing.borrow_mut().take().map(PackStream::finish);
        let Some(mut stream) = self.stream.borrow_mut().take() else {
            return Ok(());
        };
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

    fn terms(&self) -> net::Terms {
        self.pool
            .terms(self.rate_limit.get(), self.client_data.borrow().as_deref())
    }

    /// An error page answers with the status of the error, not with its own 200.
    fn effective_status(&self, status: u16) -> u16 {
        self.error_status
            .get()
            .filter(|_| status == 200)
            .unwrap_or(status)
    }

    fn must_be_open(&self) -> Result<(), AnswerError> {
        match self.progress.get() {
            Progress::Open if self.own_head.borrow().is_empty() => Ok(()),
            Progress::Done => Err(AnswerError::AlreadyAnswered),
            _ => Err(AnswerError::AlreadyStarted),
        }
    }

    fn set_content_type(&self, content_type: Option<&str>) {
        if let Some(t) = content_type {
            let mut output = self.output.borrow_mut();
            output.idelkey_all("content-type");
            if !t.is_empty() {
                output.put("content-type", t);
            }
        }
    }

    /// Collects a head that a script writes itself. `None`: it is not complete yet; else what belongs to the body.
    fn own_head(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut have = self.own_head.borrow_mut();
        have.extend_from_slice(data);
        let begins = &b"HTTP/"[..have.len().min(5)];
        if !have.starts_with(begins) || have.len() > MAX_OWN_HEAD {
            return Some(std::mem::take(&mut *have));
        }
        let (end, gap) = match (find(&have, b"\r\n\r\n"), find(&have, b"\n\n")) {
            (Some(crlf), Some(lf)) if lf < crlf => (lf, 2),
            (Some(crlf), _) => (crlf, 4),
            (None, Some(lf)) => (lf, 2),
            (None, None) => return None,
        };
        let body = have.split_off(end + gap);
        let head = String::from_utf8_lossy(&std::mem::take(&mut *have)).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap_or_default().splitn(3, ' ').skip(1);
        let status = first
            .next()
            .and_then(|s| s.parse().ok())
            .filter(|s| (100..600).contains(s));
        self.status
            .set(self.effective_status(status.unwrap_or(200)));
        *self.reason.borrow_mut() = first.next().filter(|r| !r.is_empty()).map(str::to_owned);
        for (key, value) in lines.filter_map(|l| l.split_once(':')) {
            let (key, value) = (key.trim(), value.trim());
            if key.eq_ignore_ascii_case("content-length") {
                self.promised_length.set(value.parse().ok());
            } else if !key.eq_ignore_ascii_case("transfer-encoding") {
                self.output
                    .borrow_mut()
                    .put(key.to_ascii_lowercase(), value);
            }
        }
        Some(body)
    }

    fn start_stream(&self, compressible: bool) -> Result<(), AnswerError> {
        let Some(mut reply) = self.reply.borrow_mut().take() else {
            return Err(AnswerError::AlreadyAnswered);
        };
        reply.terms(self.terms());
        let length = self.promised_length.get();
        if compressible
            && length.is_none()
            && let Decision::Packed(coding) = self.compression(None)
        {
            *self.packing.borrow_mut() = Some(PackStream::new(coding, self.compress_level()));
        }
        let streaming = Streaming {
            length,
            close: self.keep_alive.get().map(|k| !k),
            on_sent: None,
        };
        let stream = reply
            .start(self.head(), streaming)
            .map_err(AnswerError::Io)?;
        *self.stream.borrow_mut() = Some(stream);
        self.progress.set(Progress::Streaming);
        Ok(())
    }

    /// The level that applies to this response; 0: none.
    pub fn compress_level(&self) -> u32 {
        let settings = &self.server.settings;
        match self.compress.get() {
            -1 if settings.compressenable => {
                u32::try_from(settings.compresslevel.get()).unwrap_or(0)
            }
            n => u32::try_from(n).unwrap_or(0),
        }
    }

    pub fn accepts_gzip(&self) -> bool {
        compress::accepts_gzip(http::head::values(
            &self.headers.borrow(),
            "accept-encoding",
        ))
    }

    fn compressed(&self, bytes: Bytes) -> Bytes {
        match self.compression(Some(bytes.len() as u64)) {
            Decision::Packed(coding) => {
                Bytes::from(compress::pack(coding, &bytes, self.compress_level()))
            }
            _ => bytes,
        }
    }

    /// Whether a body of this size is to be compressed; adds the header fields that tell.
    fn compression(&self, size: Option<u64>) -> Decision {
        let status = self.status.get();
        if self.skip_body.get() || !http::response::allows_body(status) {
            return Decision::Never;
        }
        let level = self.compress_level();
        let min_size = self.server.settings.compressminsize.get();
        let config = CompressConfig {
            enabled: level > 0,
            level,
            min_size,
            brotli: self.server.settings.compressbrotli,
            zstd: self.server.settings.compresszstd,
        };
        let headers = self.headers.borrow();
        let mut output = self.output.borrow_mut();
        let accept: Vec<&str> = http::head::values(&headers, "accept-encoding").collect();
        let decision = compress::decide(
            &config,
            accept.iter().copied(),
            output.iget("content-type").unwrap_or_default(),
            size,
            output.iget("content-encoding").is_some(),
        );
        if decision.varies()
            && !http::head::values(&output, "vary")
                .any(|v| v.to_ascii_lowercase().contains("accept-encoding"))
        {
            output.put("vary", "accept-encoding");
        }
        if let Decision::Packed(coding) = decision {
            output.put("content-encoding", coding.name());
        }
        decision
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

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
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
