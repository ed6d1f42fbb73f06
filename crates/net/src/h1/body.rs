//! The body of a request: kept in memory while it is small, spooled to a file when it is not.

use std::io;

use bytes::{Buf, BytesMut};
use http::{Chunks, Framing, Refusal, RequestHead};
use shared::Set;
use tokio::time::Instant;

use super::connection::{Connection, Fill, Wait};
use crate::Body;
use crate::spool::Spool;
use crate::stats::{Progress, count};

/// What became of a body.
pub(super) enum Received {
    Complete(Body, Option<Set>),
    Refused(Refusal),
    /// The client left, or was silent for too long.
    Lost,
}

enum Fault {
    Refused(Refusal),
    Lost,
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault::Refused(refusal)
    }
}

impl Connection {
    /// Receives the body that `framing` announces.
    pub(super) async fn body(&mut self, head: &RequestHead, framing: Framing) -> Received {
        self.body_since = None;
        let received = match framing {
            Framing::None | Framing::Length(0) => self.no_body(head).await,
            Framing::Length(length) => self.sized_body(head, length).await,
            Framing::Chunked => self.chunked_body(head).await,
        };
        match received {
            Ok((body, trailers)) => Received::Complete(body, trailers),
            Err(Fault::Refused(refusal)) => Received::Refused(refusal),
            Err(Fault::Lost) => Received::Lost,
        }
    }

    async fn no_body(&mut self, head: &RequestHead) -> Result<(Body, Option<Set>), Fault> {
        self.invite(head).await?;
        Ok((Body::Empty, None))
    }

    async fn sized_body(
        &mut self,
        head: &RequestHead,
        length: u64,
    ) -> Result<(Body, Option<Set>), Fault> {
        let hub = self.link.hub.clone();
        let config = &hub.listener.config;
        if length > config.maxinput {
            return Err(too_large(config.maxinput).into());
        }
        self.invite(head).await?;
        let progress = (config.progressminsize > 0 && length >= config.progressminsize)
            .then(|| hub.listener.uploads.begin(&head.target, Some(length)));
        if length <= config.memory_limit() {
            // It fits in memory, so it fits usize.
            let length = length as usize;
            while self.buffer.len() < length {
                self.more(&progress, self.buffer.len() as u64).await?;
            }
            return Ok((Body::Memory(self.buffer.split_to(length).freeze()), None));
        }
        count(&hub.listener.tally.spooled);
        let mut spool = self.spool().await?;
        loop {
            let left = length - spool.len();
            let n = left.min(self.buffer.len() as u64) as usize;
            spool.push(&self.buffer[..n]);
            self.buffer.advance(n);
            if left == n as u64 {
                break;
            }
            self.buffer = BytesMut::new();
            spool.advance().await.map_err(disk)?;
            self.more(&progress, spool.len()).await?;
        }
        Ok((Body::File(spool.finish().await.map_err(disk)?), None))
    }

    async fn chunked_body(&mut self, head: &RequestHead) -> Result<(Body, Option<Set>), Fault> {
        let hub = self.link.hub.clone();
        let config = &hub.listener.config;
        self.invite(head).await?;
        let progress =
            (config.progressminsize > 0).then(|| hub.listener.uploads.begin(&head.target, None));
        let mut chunks = Chunks::new(&hub.listener.limits);
        let mut memory = BytesMut::new();
        let mut spool: Option<Spool> = None;
        loop {
            let step = chunks.decode(&self.buffer, |data| {
                match &mut spool {
                    Some(spool) => spool.push(data),
                    None => memory.extend_from_slice(data),
                }
                Ok(())
            })?;
            self.buffer.advance(step.used);
            if chunks.decoded().saturating_add(chunks.announced()) > config.maxinput {
                return Err(too_large(config.maxinput).into());
            }
            if step.done {
                break;
            }
            self.buffer = BytesMut::new();
            match &mut spool {
                Some(spool) => spool.advance().await.map_err(disk)?,
                None if memory.len() as u64 > config.chunked_memory_limit() => {
                    count(&hub.listener.tally.spooled);
                    let mut begun = self.spool().await?;
                    begun.push(&std::mem::take(&mut memory));
                    begun.advance().await.map_err(disk)?;
                    spool = Some(begun);
                }
                None => {}
            }
            self.more(&progress, chunks.decoded()).await?;
        }
        let body = match spool {
            Some(spool) => Body::File(spool.finish().await.map_err(disk)?),
            None if memory.is_empty() => Body::Empty,
            None => Body::Memory(memory.freeze()),
        };
        let trailers = chunks.trailers();
        Ok((body, (!trailers.is_empty()).then(|| trailers.clone())))
    }

    /// Sends `100 Continue` to a client that waits for it (RFC 9110 section 10.1.1); also when the body is there
    /// already, as the reference does: the section allows to omit it then, but does not demand it.
    async fn invite(&mut self, head: &RequestHead) -> Result<(), Fault> {
        if head.expects_continue() {
            let line = b"HTTP/1.1 100 Continue\r\n\r\n";
            self.write_all(line).await.map_err(|_| Fault::Lost)?;
        }
        Ok(())
    }

    async fn spool(&self) -> Result<Spool, Fault> {
        let directory = &self.link.hub.listener.config.uploadpath;
        Spool::create(directory).await.map_err(disk)
    }

    /// Waits for more bytes of the body.
    async fn more(&mut self, progress: &Option<Progress<'_>>, received: u64) -> Result<(), Fault> {
        if let Some(progress) = progress {
            progress.set(received);
        }
        self.reads += 1;
        let config = &self.link.hub.listener.config;
        if config.minrecvrate > 0 {
            let begun = *self.body_since.get_or_insert_with(Instant::now);
            let time = begun.elapsed();
            if time > config.recvwait
                && (received as f64) < time.as_secs_f64() * config.minrecvrate as f64
            {
                count(&self.link.hub.listener.tally.too_slow);
                return Err(Fault::Lost);
            }
        }
        let wait = Wait::within(config.recvwait);
        match self.fill(wait).await {
            Ok(Fill::Data) => Ok(()),
            Ok(Fill::Timeout) => {
                count(&self.link.hub.listener.tally.timeouts);
                Err(Fault::Lost)
            }
            _ => {
                count(&self.link.hub.listener.tally.errors);
                Err(Fault::Lost)
            }
        }
    }
}

fn too_large(limit: u64) -> Refusal {
    Refusal::new(413, format!("the body is larger than {limit} bytes"))
}

fn disk(error: io::Error) -> Fault {
    shared::error!("a request body cannot be spooled: {error}");
    let status = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => 507,
        _ => 500,
    };
    Fault::Refused(Refusal::new(status, "the body cannot be stored"))
}
