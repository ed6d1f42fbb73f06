//! The hand-over of one connection between the task that reads it and the thread that answers its current request.
//!
//! A request's turn begins when its exchange is given to the application ([`Turn::begin`]). From then on there are
//! two parties: the *caller*, whichever thread holds the reply or the stream, and the *connection*, a task on a driver
//! thread. Everything they share is behind one lock that is held for a few instructions (and one non-blocking read).
//!
//! ```text
//!  writer = Caller      the caller may write to the socket itself; the connection only looks for pipelined
//!     |  ^              bytes and for the client's departure
//!     |  |  take: queue empty, all of it written
//!     v  |
//!  writer = Connection  the caller put what the socket did not take into `queue` and woke the connection, which
//!                       writes at the client's speed; the caller may add more, up to a limit
//!
//!  end = Some(..)       set once by the caller: nothing follows what is in the queue. The connection takes it when
//!                       the queue is written; that ends the turn and the next request may begin
//!  failed = Some(..)    set once by the connection: it is over; the caller gets this as its error
//! ```
//!
//! *Whom to wake.* `waker` is stored under the lock each time before the connection sleeps. A caller that queues
//! something wakes it always. A caller that ends the turn of a connection which is to be kept open does not wake it
//! unless it said `eager`: it has pipelined bytes or saw the client's end of stream, so no readiness event is to
//! come. Otherwise the next bytes of the client, or the idle timer, will wake it, and it finds the end here. The
//! decision to sleep and the decision not to wake are taken under the same lock, so neither can miss the other.
//!
//! *Unread bytes* live here during a turn, so that a caller can take them together with the socket without waiting
//! for the connection, even on its own thread.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::Waker;

use bytes::{Bytes, BytesMut};
use parking_lot::{Condvar, Mutex};
use tokio::time::Instant;

use crate::output::{Segment, in_memory};
use crate::pace::Limits;
use crate::reply::OnSent;
use crate::{Label, SentInfo, Terms, pace};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The response is complete since `at`.
    Done { close: bool, at: Instant },
    /// The response will never be complete. `reset`: a plain close would look complete to the client.
    Aborted { reset: bool },
    /// The socket belongs to somebody else.
    Detached,
}

/// What the connection has to do.
#[derive(Debug)]
pub(crate) enum Step {
    /// Write what was put into its output.
    Write,
    /// The turn is over; the bytes are what the client sent beyond the request.
    Over(End, BytesMut),
    /// Sleep.
    Wait,
}

/// A response that the connection is writing.
pub(crate) struct OnTheWay {
    pub sent: u64,
    pub left: u64,
    pub since: Instant,
    pub limit: u64,
    pub label: Option<Arc<Label>>,
}

#[derive(Default)]
pub(crate) struct Turn {
    state: Mutex<State>,
    /// Told when the queue becomes shorter and when the turn fails.
    space: Condvar,
}

#[derive(Default)]
struct State {
    waker: Option<Waker>,
    eager: bool,
    /// The connection is the writer.
    handed_over: bool,
    queue: VecDeque<Segment>,
    /// Bytes in memory of the queue.
    queued: usize,
    /// Bytes in memory the connection has taken from the queue and not yet written.
    taken: usize,
    end: Option<End>,
    failed: Option<io::ErrorKind>,
    unread: BytesMut,
    notice: Option<Notice>,
    /// Bytes written to the socket in this turn, by either party.
    wire: u64,
    /// How fast the connection may write, and for whom.
    terms: Terms,
    /// Bytes of the whole response, where they were known when it was handed over.
    promised: u64,
    /// When the connection became the writer.
    since: Option<Instant>,
}

/// Whom to tell about the end of a response, and what.
pub(crate) struct Notice {
    pub on_sent: OnSent,
    pub head: u64,
    pub body: u64,
}

impl Turn {
    // ---- the connection's side ----

    /// Begins the turn of a request; `unread` is what the client sent beyond it.
    pub fn begin(&self, unread: BytesMut) {
        let mut state = self.state.lock();
        state.eager = !unread.is_empty();
        state.unread = unread;
        state.end = None;
        state.handed_over = false;
        state.wire = 0;
        state.terms = Terms::default();
        state.since = None;
        state.promised = 0;
        state.notice = None;
        debug_assert!(state.queue.is_empty());
    }

    /// Lets `read` append pipelined bytes, unless the socket was given away.
    pub fn read<R>(&self, read: impl FnOnce(&mut BytesMut) -> R) -> Option<R> {
        let mut state = self.state.lock();
        match state.end {
            Some(End::Detached) => None,
            _ => Some(read(&mut state.unread)),
        }
    }

    /// What to do next. `output` must be empty, unless the answer wanted is only whether the turn was aborted:
    /// with output left the answers are `Write` or an abort. `saw_end`: the client will send nothing more.
    pub fn next(&self, waker: &Waker, output: &mut VecDeque<Segment>, saw_end: bool) -> Step {
        let mut state = self.state.lock();
        match state.end {
            Some(end @ (End::Aborted { .. } | End::Detached)) => {
                state.queue.clear();
                return Step::Over(end, std::mem::take(&mut state.unread));
            }
            _ => keep_waker(&mut state.waker, waker),
        }
        if !output.is_empty() {
            return Step::Write;
        }
        if !state.queue.is_empty() {
            std::mem::swap(&mut state.queue, output);
            state.taken = state.queued;
            state.queued = 0;
            return Step::Write;
        }
        state.handed_over = false;
        state.taken = 0;
        if let Some(end) = state.end.take() {
            let unread = std::mem::take(&mut state.unread);
            let notice = state.notice.take();
            drop(state);
            tell(notice, None);
            return Step::Over(end, unread);
        }
        state.eager = saw_end || !state.unread.is_empty();
        Step::Wait
    }

    /// The limits of the response that is being written.
    pub fn limits(&self) -> Limits {
        self.state.lock().terms.limits.clone()
    }

    /// What the connection is writing at the moment for a slow client.
    pub fn writing(&self) -> Option<OnTheWay> {
        let state = self.state.lock();
        let since = state.since.filter(|_| state.handed_over)?;
        let queued: u64 = state.queue.iter().map(Segment::len).sum();
        let left = match &state.notice {
            Some(notice) if notice.body != u64::MAX => {
                (notice.head + notice.body).saturating_sub(state.wire)
            }
            _ => (queued + state.taken as u64).max(state.promised.saturating_sub(state.wire)),
        };
        Some(OnTheWay {
            sent: state.wire,
            left,
            since,
            limit: pace::lowest(&state.terms.limits),
            label: state.terms.label.clone(),
        })
    }

    /// The connection wrote `n` bytes; `left` bytes in memory are still to be written.
    pub fn progress(&self, n: u64, left: usize) {
        let mut state = self.state.lock();
        state.wire += n;
        state.taken = left;
        drop(state);
        self.space.notify_all();
    }

    /// Says that the connection is over. The first reason counts.
    pub fn fail(&self, kind: io::ErrorKind) {
        let mut state = self.state.lock();
        let kind = *state.failed.get_or_insert(kind);
        state.queue.clear();
        state.queued = 0;
        state.taken = 0;
        let wire = state.wire;
        let notice = state.notice.take().map(|mut notice| {
            notice.body = notice.body.min(wire.saturating_sub(notice.head));
            notice
        });
        drop(state);
        self.space.notify_all();
        tell(notice, Some(kind));
    }

    /// Stores the waker, for states in which nobody holds a reply.
    pub fn park(&self, waker: &Waker) {
        keep_waker(&mut self.state.lock().waker, waker);
    }

    /// Wakes the connection to have it look at its flags.
    pub fn poke(&self) {
        let waker = self.state.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    // ---- the caller's side ----

    /// Whether the caller may write to the socket itself.
    pub fn may_write(&self) -> io::Result<bool> {
        let state = self.state.lock();
        match state.failed {
            Some(kind) => Err(kind.into()),
            None => Ok(!state.handed_over),
        }
    }

    /// The caller wrote `n` bytes to the socket itself.
    pub fn wrote(&self, n: u64) {
        self.state.lock().wire += n;
    }

    /// Stores whom to tell when the turn ends.
    pub fn announce(&self, notice: Option<Notice>) {
        self.state.lock().notice = notice;
    }

    /// Changes the announced length of the body, once it is known.
    pub fn set_body(&self, body: u64) {
        if let Some(notice) = &mut self.state.lock().notice {
            notice.body = body;
        }
    }

    /// Sets on what terms the connection writes what is handed over in this turn.
    pub fn terms(&self, terms: Terms) {
        self.state.lock().terms = terms;
    }

    /// Whether `more` bytes may wait in memory beside those that do.
    pub fn has_room(&self, more: usize, limit: usize) -> io::Result<bool> {
        let state = self.state.lock();
        match state.failed {
            Some(kind) => Err(kind.into()),
            None => Ok(state.queued + state.taken + more <= limit),
        }
    }

    /// Gives a segment to the connection without waiting for anything.
    pub fn push_segment(&self, segment: Segment) -> io::Result<()> {
        let mut state = self.state.lock();
        if let Some(kind) = state.failed {
            return Err(kind.into());
        }
        state.queued += segment.in_memory();
        match (state.queue.back_mut(), segment) {
            (
                Some(Segment::File { file, offset, len }),
                Segment::File {
                    file: same,
                    offset: next,
                    len: more,
                },
            ) if Arc::ptr_eq(file, &same) && *offset + *len == next => *len += more,
            (_, segment) => state.queue.push_back(segment),
        }
        self.hand_over(state);
        Ok(())
    }

    /// Gives output to the connection. With a limit, waits until less than that many bytes are in memory; must
    /// then not be called on a driver's thread.
    pub fn push(&self, output: &mut VecDeque<Segment>, limit: Option<usize>) -> io::Result<()> {
        let mut state = self.state.lock();
        loop {
            if let Some(kind) = state.failed {
                return Err(kind.into());
            }
            match limit {
                Some(limit) if state.queued + state.taken >= limit => self.space.wait(&mut state),
                _ => break,
            }
        }
        state.queued += in_memory(output);
        state.promised = state.wire + output.iter().map(Segment::len).sum::<u64>();
        state.queue.append(output);
        self.hand_over(state);
        Ok(())
    }

    fn hand_over(&self, mut state: parking_lot::MutexGuard<'_, State>) {
        // Already at work, it looks here before it sleeps; but it may be waiting for the socket, and then it looks
        // when that is writable. No need to disturb it in either case.
        let wake = !state.handed_over;
        state.handed_over = true;
        state.since.get_or_insert_with(Instant::now);
        let waker = if wake { state.waker.clone() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the turn. Only once, by the one who holds the reply or the stream.
    pub fn end(&self, end: End) {
        let mut state = self.state.lock();
        debug_assert!(state.end.is_none());
        state.end = Some(end);
        let (wake, notice) = match end {
            // Written completely: nobody has to do anything now, except for a reason to go on at once.
            End::Done { close, .. } if !state.handed_over => {
                (close || state.eager, state.notice.take())
            }
            // The connection comes here when it has written the rest.
            End::Done { .. } => (false, None),
            _ => (true, None),
        };
        let waker = if wake { state.waker.clone() } else { None };
        drop(state);
        tell(notice, None);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the turn by taking the bytes the client sent beyond the request.
    pub fn detach(&self) -> io::Result<Bytes> {
        let mut state = self.state.lock();
        if let Some(kind) = state.failed {
            return Err(kind.into());
        }
        state.end = Some(End::Detached);
        let unread = std::mem::take(&mut state.unread).freeze();
        let waker = state.waker.clone();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(unread)
    }
}

fn keep_waker(slot: &mut Option<Waker>, waker: &Waker) {
    match slot {
        Some(have) if have.will_wake(waker) => {}
        _ => *slot = Some(waker.clone()),
    }
}

fn tell(notice: Option<Notice>, error: Option<io::ErrorKind>) {
    if let Some(Notice {
        on_sent,
        head,
        body,
    }) = notice
    {
        on_sent(SentInfo { head, body, error });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::{Context, Poll, Wake};

    fn bytes(n: usize) -> VecDeque<Segment> {
        VecDeque::from([Segment::Bytes(vec![7; n].into())])
    }

    fn done(close: bool) -> End {
        let at = Instant::now();
        End::Done { close, at }
    }

    struct Alarm(AtomicUsize);

    impl Wake for Alarm {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn alarm() -> (Arc<Alarm>, Waker) {
        let alarm = Arc::new(Alarm(AtomicUsize::new(0)));
        (alarm.clone(), Waker::from(alarm))
    }

    #[test]
    fn an_idle_connection_is_left_asleep() {
        let (alarm, waker) = alarm();
        let turn = Turn::default();
        let mut output = VecDeque::new();
        turn.begin(BytesMut::new());
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Wait));
        turn.end(done(false));
        assert_eq!(alarm.0.load(SeqCst), 0);
        assert!(matches!(
            turn.next(&waker, &mut output, false),
            Step::Over(End::Done { close: false, .. }, _)
        ));
    }

    #[test]
    fn a_connection_with_a_reason_is_woken() {
        for (unread, saw_end, close) in [
            (&b"GET"[..], false, false),
            (b"", true, false),
            (b"", false, true),
        ] {
            let (alarm, waker) = alarm();
            let turn = Turn::default();
            let mut output = VecDeque::new();
            turn.begin(BytesMut::new());
            turn.read(|buffer| buffer.extend_from_slice(unread));
            assert!(matches!(
                turn.next(&waker, &mut output, saw_end),
                Step::Wait
            ));
            turn.end(done(close));
            assert_eq!(alarm.0.load(SeqCst), 1);
        }
    }

    #[test]
    fn output_is_handed_over_and_the_writer_comes_back() {
        let (alarm, waker) = alarm();
        let turn = Turn::default();
        let mut output = VecDeque::new();
        turn.begin(BytesMut::new());
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Wait));
        assert!(turn.may_write().unwrap());
        turn.push(&mut bytes(10), None).unwrap();
        assert_eq!(alarm.0.load(SeqCst), 1);
        assert!(!turn.may_write().unwrap());
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Write));
        turn.push(&mut bytes(5), None).unwrap();
        output.clear();
        turn.progress(10, 0);
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Write));
        output.clear();
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Wait));
        assert!(turn.may_write().unwrap());
        turn.fail(io::ErrorKind::TimedOut);
        turn.fail(io::ErrorKind::BrokenPipe);
        assert_eq!(
            turn.may_write().unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
    }

    #[test]
    fn the_notice_says_how_much_was_sent() {
        let (_, waker) = alarm();
        let turn = Turn::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let notice = || {
            let sender = sender.clone();
            let on_sent: OnSent = Box::new(move |info| sender.send(info).unwrap());
            Some(Notice {
                on_sent,
                head: 10,
                body: 100,
            })
        };
        turn.begin(BytesMut::new());
        turn.announce(notice());
        turn.end(done(false));
        let info = receiver.try_recv().unwrap();
        assert_eq!((info.head, info.body, info.error), (10, 100, None));
        let mut output = VecDeque::new();
        assert!(matches!(
            turn.next(&waker, &mut output, false),
            Step::Over(..)
        ));
        turn.begin(BytesMut::new());
        turn.announce(notice());
        turn.wrote(50);
        turn.fail(io::ErrorKind::BrokenPipe);
        let info = receiver.try_recv().unwrap();
        assert_eq!(
            (info.body, info.error),
            (40, Some(io::ErrorKind::BrokenPipe))
        );
    }

    #[test]
    fn detaching_takes_the_unread_bytes() {
        let (alarm, waker) = alarm();
        let turn = Turn::default();
        let mut output = VecDeque::new();
        turn.begin(BytesMut::from(&b"abc"[..]));
        assert!(matches!(turn.next(&waker, &mut output, false), Step::Wait));
        assert_eq!(turn.detach().unwrap(), "abc");
        assert_eq!(alarm.0.load(SeqCst), 1);
        assert!(turn.read(|_| ()).is_none());
        let step = turn.next(&waker, &mut output, false);
        assert!(matches!(step, Step::Over(End::Detached, _)));
    }

    /// A caller thread and a connection task go through many turns in which the caller writes, queues and ends in
    /// different orders. A lost wake-up shows as a hanging test; the count tells that nothing was lost or doubled.
    #[test]
    fn no_wake_up_is_lost() {
        const TURNS: usize = 20_000;
        let turn = Arc::new(Turn::default());
        let (give, take) = std::sync::mpsc::channel::<usize>();
        let caller = std::thread::spawn({
            let turn = turn.clone();
            move || {
                for n in take {
                    for piece in 0..n % 4 {
                        let limit = if n % 3 == 0 { Some(8) } else { None };
                        if !(piece % 2 == 1 && turn.may_write().unwrap()) {
                            turn.push(&mut bytes(10), limit).unwrap();
                        } else {
                            turn.wrote(10);
                        }
                        if n % 5 == 0 {
                            std::thread::yield_now();
                        }
                    }
                    // Closing always wakes; keeping open wakes when pipelined bytes wait (see below).
                    turn.end(done(n % 2 == 0));
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            for n in 0..TURNS {
                let pipelined: &[u8] = if n % 2 == 1 && n % 4 == 1 {
                    b"next"
                } else {
                    b""
                };
                turn.begin(BytesMut::from(pipelined));
                give.send(n).unwrap();
                let mut output = VecDeque::new();
                let mut arrived = pipelined.is_empty() && n % 2 == 1;
                let end = poll_fn(|cx: &mut Context<'_>| {
                    loop {
                        // The next request's bytes arrive at the second look, as epoll would report them.
                        if std::mem::take(&mut arrived) {
                            turn.read(|buffer| buffer.extend_from_slice(b"later"));
                        }
                        match turn.next(cx.waker(), &mut output, false) {
                            Step::Over(end, unread) => {
                                assert_eq!(unread.is_empty(), n % 2 == 0);
                                return Poll::Ready(end);
                            }
                            Step::Write => {
                                output.pop_front();
                                turn.progress(10, in_memory(&output));
                            }
                            Step::Wait => return Poll::Pending,
                        }
                    }
                })
                .await;
                assert!(matches!(end, End::Done { close, .. } if close == (n % 2 == 0)));
            }
        });
        drop(give);
        caller.join().unwrap();
    }
}
