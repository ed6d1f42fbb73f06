//! One HTTP/1 connection: a task on a driver thread that reads requests, one after the other, and writes what the
//! answering threads could not write themselves.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use bytes::{Buf, BytesMut};
use http::{Refusal, RequestHead, Scan};
use tokio::time::{Instant, Sleep, sleep_until};

use super::body::Received;
use super::link::{Link, poll_read};
use super::port::Port;
use super::turn::{End, Step};
use crate::driver::Hub;
use crate::output::{self, Segment, Stop, in_memory};
use crate::pace::{self, Limits};
use crate::stats::{ConnectionState, count};
use crate::{Admission, Exchange, Reply, ReplyPort, Request, Times};

/// Most bytes of one turn at writing before other connections of the thread get theirs.
const WRITE_SHARE: u64 = 2 * 1024 * 1024;

/// Largest request head beyond one line of the maximal length; many long lines together must not fill the memory.
const HEAD: usize = 256 * 1024;

/// What a client that is to be told of a refusal may still send before the connection is cut.
const LINGER_BYTES: usize = 8 * 1024 * 1024;

/// Shortest wait for the client's remaining bytes if it is known that there are some: closing at once would reset
/// the connection, and the client might never see the answer (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_millis(250);

/// Serves a connection until it ends. `socket` is non-blocking.
pub(crate) async fn serve(
    hub: Arc<Hub>,
    id: u64,
    socket: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
) {
    let link = match Link::new(hub.clone(), id, socket, peer, local) {
        Ok(link) => Arc::new(link),
        Err(error) => {
            shared::error!("connection from {peer}: cannot watch it: {error}");
            return hub.closed(id, peer.ip());
        }
    };
    let accepted = Instant::now();
    let first = accepted + hub.listener.config.recvwait;
    let connection = Connection {
        timer: Box::pin(sleep_until(first)),
        link: link.clone(),
        buffer: BytesMut::new(),
        output: VecDeque::new(),
        accepted,
        saw_end: false,
        detached: false,
        reset: false,
        reads: 0,
        body_since: None,
    };
    drop(link);
    hub.opened(&connection.link);
    connection.run(first).await;
}

/// The task's own side.
pub(super) struct Connection {
    pub link: Arc<Link>,
    /// Received and not yet used.
    pub buffer: BytesMut,
    /// What a caller handed over and is not yet written.
    output: VecDeque<Segment>,
    /// Never later than the next deadline, often earlier: looked at when it fires, moved only then or when a deadline
    /// comes before it. That saves moving it with every request.
    timer: Pin<Box<Sleep>>,
    accepted: Instant,
    /// The client will send nothing more.
    saw_end: bool,
    detached: bool,
    /// To be closed with a reset; shutting it down would end it in order.
    reset: bool,
    /// Reads the current request needed.
    pub reads: u32,
    /// When the first bytes of the current body were waited for; kept where bodies have a minimal rate.
    pub body_since: Option<Instant>,
}

/// What a wait for bytes brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Data,
    End,
    Timeout,
    /// The server stops and the connection was idle.
    Drain,
}

/// How long to wait.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    deadline: Instant,
    /// Between two requests: end at once when the server stops.
    idle: bool,
}

impl Wait {
    pub fn within(time: Duration) -> Wait {
        Wait {
            deadline: Instant::now() + time,
            idle: false,
        }
    }
}

enum Next {
    Request(RequestHead, Instant, SystemTime),
    Refused(Refusal),
    /// Close without a word.
    Close,
}

/// What follows a request.
enum After {
    /// The next one; idle since then.
    Next(Instant),
    /// Close; `linger`: bytes of the client are or may be on their way.
    Close { linger: bool },
    /// Nothing more can be done for the client.
    Cut,
}

impl Connection {
    async fn run(mut self, first: Instant) {
        let mut deadline = first;
        loop {
            let after = match self.head(deadline).await {
                Next::Request(head, start, wall) => self.request(head, start, wall).await,
                Next::Refused(refusal) => self.refuse(refusal, None, true).await,
                Next::Close => After::Cut,
            };
            match after {
                After::Next(since) => deadline = since + self.link.hub.listener.config.keepwait,
                After::Close { linger } => return self.close(linger).await,
                After::Cut => return,
            }
        }
    }

    /// Waits for a request and reads its head.
    async fn head(&mut self, deadline: Instant) -> Next {
        let hub = self.link.hub.clone();
        let listener = &hub.listener;
        let mut wait = Wait {
            deadline,
            idle: true,
        };
        let mut scan = Scan::default();
        let mut begun = None;
        self.reads = 0;
        self.link.set_state(ConnectionState::Idle);
        loop {
            if !self.buffer.is_empty() {
                let (start, wall) = *begun.get_or_insert_with(|| {
                    self.link.set_state(ConnectionState::Reading);
                    (Instant::now(), SystemTime::now())
                });
                wait = Wait {
                    deadline: start + listener.config.recvwait,
                    idle: false,
                };
                match http::resume_head(&self.buffer, &mut scan, &listener.limits) {
                    Ok(Some((head, used))) => {
                        self.buffer.advance(used);
                        return Next::Request(head, start, wall);
                    }
                    Ok(None) if self.buffer.len() > HEAD + listener.config.maxline => {
                        return Next::Refused(Refusal::new(431, "the request head is too large"));
                    }
                    Ok(None) => {}
                    Err(refusal) => return Next::Refused(refusal),
                }
            } else {
                self.buffer = BytesMut::new();
            }
            self.reads += 1;
            let only_line_ends = self
                .buffer
                .iter()
                .all(|&byte| matches!(byte, b'\r' | b'\n'));
            match self.fill(wait).await {
                Ok(Fill::Data) => {}
                Ok(Fill::Timeout) => {
                    count(&listener.tally.timeouts);
                    return Next::Close;
                }
                Ok(Fill::End | Fill::Drain) if only_line_ends => return Next::Close,
                Ok(Fill::End | Fill::Drain) | Err(_) => {
                    count(&listener.tally.errors);
                    return Next::Close;
                }
            }
        }
    }

    /// One request, from its head to the end of its response.
    async fn request(&mut self, head: RequestHead, start: Instant, wall: SystemTime) -> After {
        let hub = self.link.hub.clone();
        let listener = &hub.listener;
        let framing = match http::body_framing(&head) {
            Ok(framing) => framing,
            Err(refusal) => return self.refuse(refusal, Some(&head), true).await,
        };
        if let Admission::Refuse(refusal) = hub.application.admit(&head, self.link.peer, listener) {
            let body_follows = framing != http::Framing::None;
            return self.refuse(refusal, Some(&head), body_follows).await;
        }
        let (body, trailers) = match self.body(&head, framing).await {
            Received::Complete(body, trailers) => (body, trailers),
            Received::Refused(refusal) => return self.refuse(refusal, Some(&head), true).await,
            Received::Lost => return After::Cut,
        };
        if self.reads > 1 {
            count(&listener.tally.partial);
        }
        count(&listener.tally.requests);
        let nth = self.link.requests.fetch_add(1, Relaxed);
        let limit = listener.config.keepalivemaxuploadsize;
        let keep_alive = !http::framing::forces_close(&head) && (limit == 0 || body.len() <= limit);
        let port = Port::new(self.link.clone(), Some(&head), keep_alive);
        let exchange = Exchange {
            request: Request {
                protocol: match head.version {
                    (0, 9) => "HTTP/0.9",
                    (1, 0) => "HTTP/1.0",
                    _ => "HTTP/1.1",
                },
                head,
                body,
                trailers,
                peer: self.link.peer,
                local: self.link.local,
                listener: listener.clone(),
                id: crate::driver::next_id(),
                connection: self.link.id,
                nth,
                storage: self.link.storage.clone(),
                times: Times {
                    accept: self.accepted.into_std(),
                    wall,
                    start: start.into_std(),
                    received: Instant::now().into_std(),
                },
                secure: self.link.hub.listener.config.tls.is_some(),
                tls: None,
            },
            reply: Reply::new(Box::new(port)),
        };
        self.begin_turn();
        // A panic of the application drops the reply, which answers 500; the connection goes on.
        if catch_unwind(AssertUnwindSafe(|| hub.application.handle(exchange))).is_err() {
            shared::error!("panic while a request was handed to the application");
        }
        crate::driver::rest_soon();
        self.finish_turn().await
    }

    /// Answers a request that is not served. `unread`: its body, or what may be one, was not read.
    async fn refuse(
        &mut self,
        refusal: Refusal,
        head: Option<&RequestHead>,
        unread: bool,
    ) -> After {
        let hub = self.link.hub.clone();
        hub.listener.tally.refuse(refusal.status);
        let keep_alive = !refusal.close && !unread;
        let port = Port::new(self.link.clone(), head, keep_alive);
        let response = hub.refusal(&refusal, head);
        self.begin_turn();
        Box::new(port).send(response);
        match self.finish_turn().await {
            After::Close { .. } => After::Close { linger: true },
            after => after,
        }
    }

    fn begin_turn(&mut self) {
        self.link.set_state(ConnectionState::Running);
        self.link.turn.begin(std::mem::take(&mut self.buffer));
    }

    async fn finish_turn(&mut self) -> After {
        let mut taking = Taking {
            full: false,
            progress: Instant::now(),
            limits: Limits::new(),
            blocked: None,
            waited: Duration::ZERO,
            taken: 0,
        };
        let end = poll_fn(|cx| self.poll_turn(cx, &mut taking)).await;
        match end {
            Ok(End::Done { close: false, at }) => After::Next(at),
            Ok(End::Done { close: true, .. }) => After::Close {
                linger: !self.buffer.is_empty(),
            },
            Ok(End::Aborted { reset }) => {
                if reset {
                    // Best effort: without it the client cannot tell an aborted body from a complete one.
                    let _ =
                        socket2::SockRef::from(self.link.stream()).set_linger(Some(Duration::ZERO));
                    self.reset = true;
                }
                After::Cut
            }
            Ok(End::Detached) => {
                count(&self.link.hub.listener.tally.detached);
                self.detached = true;
                After::Cut
            }
            Err(error) => {
                self.link.broke(error.kind());
                After::Cut
            }
        }
    }

    /// Waits for the end of the current response, writing what is handed over. See `turn.rs`.
    fn poll_turn(&mut self, cx: &mut Context<'_>, taking: &mut Taking) -> Poll<io::Result<End>> {
        let link = self.link.clone();
        self.poll_client(cx, &link, taking)?;
        let config = &link.hub.listener.config;
        let mut paced = false;
        loop {
            let idle = self.output.is_empty();
            match link.turn.next(cx.waker(), &mut self.output, self.saw_end) {
                Step::Over(end, unread) => {
                    self.buffer = unread;
                    self.output.clear();
                    return Poll::Ready(Ok(end));
                }
                Step::Wait => break,
                Step::Write => {
                    if idle {
                        taking.progress = Instant::now();
                        taking.limits = link.turn.limits();
                    }
                    let share = match pace::allowance(&taking.limits, std::time::Instant::now()) {
                        Ok(share) => share.min(WRITE_SHARE),
                        Err(wait) => {
                            // Our own slowness is not the client's.
                            taking.progress = Instant::now();
                            if self
                                .poll_timer(cx, taking.progress + wait, false)
                                .is_ready()
                            {
                                continue;
                            }
                            paced = true;
                            break;
                        }
                    };
                    let Poll::Ready(guard) = link.socket.poll_write_ready(cx) else {
                        break;
                    };
                    let mut guard = guard?;
                    let (n, stop) = output::write(link.stream(), &mut self.output, share)?;
                    link.count_out(n);
                    pace::charge(&taking.limits, n);
                    link.turn.progress(n, in_memory(&self.output));
                    if n > 0 {
                        taking.progress = Instant::now();
                        taking.took(n);
                    }
                    match stop {
                        Stop::Empty => {}
                        Stop::Blocked => {
                            guard.clear_ready();
                            if taking.is_too_slow(config.sendwait, config.minsendrate) {
                                count(&link.hub.listener.tally.too_slow);
                                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                            }
                            taking.blocked.get_or_insert_with(Instant::now);
                        }
                        Stop::Budget => {
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                    }
                }
            }
        }
        if link.aborted.load(SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if paced {
            return Poll::Pending;
        }
        if self.output.is_empty() {
            // No deadline; but if the response ended without waking us, idle time has begun, and this is where
            // it is noticed.
            let look = match config.keepwait {
                Duration::ZERO => config.recvwait,
                time => time,
            };
            while self.poll_timer(cx, Instant::now() + look, true).is_ready() {}
        } else if self
            .poll_timer(cx, taking.progress + config.sendwait, false)
            .is_ready()
        {
            count(&link.hub.listener.tally.timeouts);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }

    /// Takes pipelined bytes up to a limit, and notices that the client has left.
    fn poll_client(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        taking: &mut Taking,
    ) -> io::Result<()> {
        while !self.saw_end && !taking.full {
            let read = link.turn.read(|unread| {
                let polled = poll_read(cx, link, |bytes| unread.extend_from_slice(bytes));
                taking.full = unread.len() >= link.hub.listener.config.bufsize;
                polled
            });
            match read {
                None | Some(Poll::Pending) => break,
                Some(Poll::Ready(Ok(0))) => {
                    self.saw_end = true;
                    link.gone.store(true, Relaxed);
                }
                Some(Poll::Ready(Ok(_))) => {}
                Some(Poll::Ready(Err(error))) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for bytes and appends them to the buffer.
    pub(super) async fn fill(&mut self, wait: Wait) -> io::Result<Fill> {
        if self.saw_end {
            return Ok(Fill::End);
        }
        poll_fn(|cx| {
            let link = self.link.clone();
            link.turn.park(cx.waker());
            if link.aborted.load(SeqCst) {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            let buffer = &mut self.buffer;
            match poll_read(cx, &link, |bytes| buffer.extend_from_slice(bytes)) {
                Poll::Ready(Ok(0)) => {
                    self.saw_end = true;
                    return Poll::Ready(Ok(Fill::End));
                }
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Fill::Data)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
            if wait.idle && link.hub.is_draining() {
                return Poll::Ready(Ok(Fill::Drain));
            }
            self.poll_timer(cx, wait.deadline, false)
                .map(|()| Ok(Fill::Timeout))
        })
        .await
    }

    /// Writes a few bytes of our own between two turns.
    pub(super) async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let link = self.link.clone();
        let deadline = Instant::now() + link.hub.listener.config.sendwait;
        poll_fn(|cx| {
            link.turn.park(cx.waker());
            while !bytes.is_empty() {
                if link.aborted.load(SeqCst) {
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
                let Poll::Ready(guard) = link.socket.poll_write_ready(cx) else {
                    let late = self.poll_timer(cx, deadline, false);
                    return late.map(|()| Err(io::ErrorKind::TimedOut.into()));
                };
                let mut guard = guard?;
                match output::write_slices(link.stream(), &[IoSlice::new(bytes)], false) {
                    Ok(n) => {
                        link.count_out(n as u64);
                        bytes = &bytes[n..];
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Closes after a complete response. If the client may still be sending, its bytes are read and thrown away for
    /// a while.
    async fn close(&mut self, linger: bool) {
        if !linger || self.saw_end {
            return;
        }
        self.link.set_state(ConnectionState::Closing);
        // It may be closed already; then the reading below ends at once.
        let _ = self.link.stream().shutdown(Shutdown::Write);
        let time = self.link.hub.listener.config.closewait.max(LINGER);
        let wait = Wait {
            deadline: Instant::now() + time,
            idle: true,
        };
        let mut total = self.buffer.len();
        while total < LINGER_BYTES {
            self.buffer = BytesMut::new();
            match self.fill(wait).await {
                Ok(Fill::Data) => total += self.buffer.len(),
                _ => break,
            }
        }
    }

    /// Ready when `deadline` has passed. `look`: the timer need not be moved away from an earlier time.
    fn poll_timer(&mut self, cx: &mut Context<'_>, deadline: Instant, look: bool) -> Poll<()> {
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if look || Instant::now() >= deadline {
                // Moved on, so that it is not found expired the next time.
                let later = Instant::now() + self.link.hub.listener.config.recvwait;
                self.timer.as_mut().reset(later);
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.link.gone.store(true, Relaxed);
        self.link.turn.fail(io::ErrorKind::ConnectionAborted);
        // Somebody still holds a reply: the client need not wait for that to be dropped.
        if !self.detached && !self.reset && Arc::strong_count(&self.link) > 1 {
            let _ = self.link.stream().shutdown(Shutdown::Both);
        }
        self.link.hub.closed(self.link.id, self.link.peer.ip());
    }
}

/// The state of a turn as the connection sees it.
struct Taking {
    /// Enough pipelined bytes are in memory.
    full: bool,
    /// When the client last took something.
    progress: Instant,
    /// How fast it may get what it is given.
    limits: Limits,
    /// The socket was full then.
    blocked: Option<Instant>,
    /// How long the socket has been full in all.
    waited: Duration,
    /// Bytes the client took.
    taken: u64,
}

impl Taking {
    fn took(&mut self, n: u64) {
        self.taken += n;
        if let Some(since) = self.blocked.take() {
            self.waited += since.elapsed();
        }
    }

    /// Whether the client has made us wait for longer than `patience`, and takes less than `rate` bytes per second.
    fn is_too_slow(&self, patience: Duration, rate: u64) -> bool {
        rate > 0
            && self.waited > patience
            && (self.taken as f64) < self.waited.as_secs_f64() * rate as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an idle connection costs, beside the kernel's share: its task and what it shares with its answers.
    #[test]
    fn an_idle_connection_is_small() {
        fn size<A, F>(_: impl FnOnce(A) -> F) -> usize {
            size_of::<F>()
        }
        let task = size(|(hub, id, socket, peer, local)| serve(hub, id, socket, peer, local));
        let link = size_of::<Link>();
        assert!(task + link < 3000, "task {task}, link {link}");
    }
}
