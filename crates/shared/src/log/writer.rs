//! Where lines go: standard error, files that roll, at once or by a thread with a bounded queue.

use crate::rolling;
use parking_lot::{Condvar, Mutex, RwLock};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A place for lines.
#[derive(Clone)]
pub enum Target {
    Stderr,
    File(Arc<rolling::File>),
}

/// A bound for [`start_async`] that holds some 80,000 lines.
pub const DEFAULT_QUEUE_BYTES: usize = 8 << 20;

/// Without a working disk the end of the process must not wait for ever.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);

static TARGETS: RwLock<Vec<Target>> = RwLock::new(Vec::new());
static QUEUE: Queue = Queue {
    state: Mutex::new(State {
        text: String::new(),
        limit: 0,
        dropped: 0,
        writing: false,
        stop: false,
    }),
    news: Condvar::new(),
    written: Condvar::new(),
};
static ASYNC: AtomicBool = AtomicBool::new(false);
static WRITER: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static LINES: AtomicU64 = AtomicU64::new(0);

struct Queue {
    state: Mutex<State>,
    news: Condvar,
    written: Condvar,
}

struct State {
    text: String,
    limit: usize,
    /// Messages given up since the writer last said so.
    dropped: u64,
    writing: bool,
    stop: bool,
}

/// Where lines go from now on. None at all means standard error.
pub fn set_targets(targets: Vec<Target>) {
    flush();
    *TARGETS.write() = targets;
}

pub fn targets() -> Vec<Target> {
    TARGETS.read().clone()
}

/// The path of the first file lines go to.
pub fn path() -> Option<PathBuf> {
    files().first().map(|file| file.path().to_path_buf())
}

/// Messages given up since the start because the queue was full.
pub fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Messages written or queued since the start.
pub fn lines() -> u64 {
    LINES.load(Ordering::Relaxed)
}

/// Rolls the log files (`ns_logroll`). Messages wait meanwhile.
pub fn roll() -> io::Result<()> {
    flush();
    files().iter().try_for_each(|file| file.roll())
}

/// Opens the log files anew, after somebody else renamed them.
pub fn reopen() -> io::Result<()> {
    flush();
    files().iter().try_for_each(|file| file.reopen())
}

/// Lets a thread of its own write the lines (`asynclogwriter`). At most `queue_bytes` bytes wait for it; messages beyond are
/// counted, and the count is written. Does nothing when it runs already.
pub fn start_async(queue_bytes: usize) -> io::Result<()> {
    let mut writer = WRITER.lock();
    if writer.is_none() {
        {
            let mut state = QUEUE.state.lock();
            (state.stop, state.limit) = (false, queue_bytes);
        }
        *writer = Some(
            crate::thread::Builder::new("-logwriter-")
                .describe("ns:logwriter", "")
                .spawn(run)?,
        );
        ASYNC.store(true, Ordering::Release);
    }
    Ok(())
}

/// Ends the writer thread after it has written what waits; lines are then written by their own threads again.
pub fn stop_async() {
    let Some(writer) = WRITER.lock().take() else {
        return;
    };
    ASYNC.store(false, Ordering::Release);
    QUEUE.state.lock().stop = true;
    QUEUE.news.notify_all();
    // It ends by itself; a panic of it has been told by the panic hook.
    let _ = writer.join();
}

/// Returns when all lines queued so far are handed to the kernel, or after 5 seconds.
pub fn flush() {
    let mut state = QUEUE.state.lock();
    QUEUE.news.notify_all();
    QUEUE.written.wait_while_for(
        &mut state,
        |state| {
            (!state.text.is_empty() || state.dropped > 0 || state.writing)
                && ASYNC.load(Ordering::Acquire)
        },
        FLUSH_LIMIT,
    );
    drop(state);
    for file in files() {
        report(file.flush());
    }
}

/// Takes finished lines of one message, with their newlines.
pub(super) fn put(text: String) {
    if ASYNC.load(Ordering::Acquire) {
        let mut state = QUEUE.state.lock();
        if !state.stop {
            if state.text.len() + text.len() > state.limit {
                state.dropped += 1;
                DROPPED.fetch_add(1, Ordering::Relaxed);
            } else {
                LINES.fetch_add(1, Ordering::Relaxed);
                state.text.push_str(&text);
            }
            drop(state);
            QUEUE.news.notify_one();
            return;
        }
    }
    LINES.fetch_add(1, Ordering::Relaxed);
    write_out(&text, 1);
}

fn run() {
    let mut text = String::new();
    loop {
        let (dropped, stop) = {
            let mut state = QUEUE.state.lock();
            state.writing = false;
            QUEUE.written.notify_all();
            QUEUE.news.wait_while(&mut state, |state| {
                state.text.is_empty() && state.dropped == 0 && !state.stop
            });
            text.clear();
            std::mem::swap(&mut text, &mut state.text);
            let dropped = std::mem::take(&mut state.dropped);
            state.writing = !text.is_empty() || dropped > 0;
            (dropped, state.stop)
        };
        if dropped > 0 {
            let message =
                format!("system log: {dropped} messages were dropped because the queue was full");
            let entry = super::Entry {
                severity: super::WARNING,
                time: crate::Time::now(),
                thread: crate::thread::name(),
                tid: crate::thread::tid(),
                message,
            };
            super::format().append(&mut text, &entry);
        }
        let lines = text.bytes().filter(|b| *b == b'\n').count();
        write_out(&text, lines);
        if stop && text.is_empty() {
            let mut state = QUEUE.state.lock();
            state.writing = false;
            QUEUE.written.notify_all();
            return;
        }
    }
}

fn write_out(text: &str, lines: usize) {
    if text.is_empty() {
        return;
    }
    let targets = TARGETS.read();
    if targets.is_empty() {
        to_stderr(text);
    }
    for target in targets.iter() {
        match target {
            Target::Stderr => to_stderr(text),
            Target::File(file) => report(file.write(text.as_bytes(), lines)),
        }
    }
}

fn to_stderr(text: &str) {
    // There is nobody to tell that standard error does not work.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Tells standard error, once until it works again, that a log file cannot be written.
fn report(result: io::Result<()>) {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    match result {
        Ok(()) => BROKEN.store(false, Ordering::Relaxed),
        Err(error) if !BROKEN.swap(true, Ordering::Relaxed) => {
            to_stderr(&format!("the system log cannot be written: {error}\n"));
        }
        Err(_) => {}
    }
}

fn files() -> Vec<Arc<rolling::File>> {
    let targets = TARGETS.read();
    targets
        .iter()
        .filter_map(|target| match target {
            Target::File(file) => Some(file.clone()),
            Target::Stderr => None,
        })
        .collect()
}
