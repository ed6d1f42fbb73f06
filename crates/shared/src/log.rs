//! The system log: one stream of lines for the whole process, each with time, thread and severity.
//!
//! `notice!("...")` and its siblings format nothing when their severity is off. A message passes the thread's own buffer
//! ([`hold`]), then the sinks ([`add_sink`]), then the writer, which never holds more than a fixed amount of memory.

mod format;
mod severity;
mod writer;

pub use format::{Color, Format, Intensity};
pub use severity::{
    BUG, DEBUG, DEPRECATED, DEV, ERROR, FATAL, NOTICE, Severity, WARNING, register, severities,
    severity,
};
pub use writer::{
    DEFAULT_QUEUE_BYTES, Target, dropped, flush, lines, path, reopen, roll, set_targets,
    start_async, stop_async, targets,
};

use crate::thread;
use crate::time::Time;
use arc_swap::ArcSwap;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// One message, before it becomes a line.
#[derive(Clone, Debug)]
pub struct Entry {
    pub severity: Severity,
    pub time: Time,
    /// The name of the thread, with its dashes.
    pub thread: Arc<str>,
    /// The kernel's id of the thread.
    pub tid: i32,
    pub message: String,
}

/// Told of each message before it is written. `Break` ends its way: no older sink sees it and it is not written.
pub type Sink = Arc<dyn Fn(&Entry) -> ControlFlow<()> + Send + Sync>;

/// Names a sink, to remove it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SinkId(pub u64);

/// Logs a notice: a change of state, start and end of a job.
#[macro_export]
macro_rules! notice {
    ($($arg:tt)*) => { $crate::log::write($crate::log::NOTICE, format_args!($($arg)*)) };
}

/// Logs a warning: something unexpected that needs a developer's attention in time.
#[macro_export]
macro_rules! warning {
    ($($arg:tt)*) => { $crate::log::write($crate::log::WARNING, format_args!($($arg)*)) };
}

/// Logs an error: a malfunction that must be looked into.
#[macro_export]
macro_rules! error {
    ($($arg:tt)*) => { $crate::log::write($crate::log::ERROR, format_args!($($arg)*)) };
}

/// Logs for debugging; off unless asked for.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)*) => { $crate::log::write($crate::log::DEBUG, format_args!($($arg)*)) };
}

/// Logs a message, if its severity is on. The text is formatted only then.
pub fn write(severity: Severity, message: fmt::Arguments<'_>) {
    if severity.is_enabled() {
        write_text(severity, message.to_string());
    }
}

/// Logs a finished text, if its severity is on.
pub fn write_text(severity: Severity, message: String) {
    if !severity.is_enabled() {
        return;
    }
    severity.count_one();
    let entry = Entry {
        severity,
        time: Time::now(),
        thread: thread::name(),
        tid: thread::tid(),
        message,
    };
    // While a thread ends its local data may be gone; then the message is written at once.
    let mut overflow = Vec::new();
    let held = HELD.try_with(|held| match held.0.borrow_mut().as_mut() {
        Some(entries) => {
            entries.push(entry.clone());
            entries.len() <= MAX_HELD || {
                overflow = std::mem::take(entries);
                true
            }
        }
        None => false,
    });
    if !held.unwrap_or(false) {
        publish(&entry);
    }
    overflow.iter().for_each(publish);
    if severity == FATAL {
        release();
        flush();
    }
}

/// How lines look.
pub fn format() -> Arc<Format> {
    FORMAT.load_full()
}

/// Changes how lines look, from the next one on.
pub fn set_format(format: Format) {
    FORMAT.store(Arc::new(format));
}

/// Adds a consumer of messages. The newest is told first. What a sink logs itself is not told to sinks.
pub fn add_sink(sink: Sink) -> SinkId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = SinkId(NEXT.fetch_add(1, Ordering::Relaxed));
    SINKS.rcu(|sinks| {
        let mut sinks = Vec::clone(sinks);
        sinks.insert(0, (id, sink.clone()));
        sinks
    });
    id
}

/// Removes a consumer. `false`: there is none with this id. A call that is under way goes on.
pub fn remove_sink(id: SinkId) -> bool {
    let before = SINKS.rcu(|sinks| {
        sinks
            .iter()
            .filter(|(other, _)| *other != id)
            .cloned()
            .collect::<Vec<_>>()
    });
    before.iter().any(|(other, _)| *other == id)
}

/// From now on this thread's messages are kept, not written (`ns_logctl hold`).
pub fn hold() {
    HELD.with(|held| {
        held.0.borrow_mut().get_or_insert_default();
    });
}

/// The number of messages kept.
pub fn held_count() -> usize {
    HELD.with(|held| held.0.borrow().as_ref().map_or(0, Vec::len))
}

/// The lines of the messages kept, which stay there (`ns_logctl peek`).
pub fn held_peek() -> String {
    HELD.with(|held| text_of(held.0.borrow().as_deref().unwrap_or_default()))
}

/// The lines of the messages kept, which are forgotten and never written (`ns_logctl get`).
pub fn held_take() -> String {
    text_of(&take())
}

/// Writes the messages kept and goes on keeping (`ns_logctl flush`).
pub fn held_flush() {
    take().iter().for_each(publish);
}

/// Forgets the messages kept but the first `keep` (`ns_logctl truncate`).
pub fn held_truncate(keep: usize) {
    HELD.with(|held| {
        if let Some(entries) = held.0.borrow_mut().as_mut() {
            entries.truncate(keep);
        }
    });
}

/// Writes the messages kept and ends the keeping (`ns_logctl release`).
pub fn release() {
    let entries = HELD
        .try_with(|held| held.0.borrow_mut().take())
        .ok()
        .flatten();
    entries.iter().flatten().for_each(publish);
}

static FORMAT: LazyLock<ArcSwap<Format>> =
    LazyLock::new(|| ArcSwap::from_pointee(Format::default()));
static SINKS: LazyLock<ArcSwap<Vec<(SinkId, Sink)>>> =
    LazyLock::new(|| ArcSwap::from_pointee(Vec::new()));

/// A thread that keeps more messages than this has them written, so that a forgotten [`hold`] cannot fill the memory.
const MAX_HELD: usize = 50_000;

thread_local! {
    static HELD: Held = const { Held(RefCell::new(None)) };
    static IN_SINK: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Repeats> = const { RefCell::new(Repeats { last: None, count: 0 }) };
}

/// The messages a thread keeps. What it still keeps when it ends is written.
struct Held(RefCell<Option<Vec<Entry>>>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.get_mut().iter().flatten().for_each(publish);
    }
}

/// What the thread wrote last, to write a run of equal messages once.
struct Repeats {
    last: Option<(Severity, String)>,
    count: u64,
}

fn take() -> Vec<Entry> {
    HELD.with(|held| {
        held.0
            .borrow_mut()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    })
}

fn text_of(entries: &[Entry]) -> String {
    let format = FORMAT.load();
    let mut text = String::new();
    entries
        .iter()
        .for_each(|entry| format.append(&mut text, entry));
    text
}

/// Sinks, then the writer.
fn publish(entry: &Entry) {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            let _ = IN_SINK.try_with(|flag| flag.set(false));
        }
    }
    let sinks = SINKS.load_full();
    if !sinks.is_empty() && !IN_SINK.try_with(|flag| flag.replace(true)).unwrap_or(true) {
        let _leave = Leave;
        if sinks.iter().any(|(_, sink)| sink(entry).is_break()) {
            return;
        }
    }
    let format = FORMAT.load();
    let mut text = String::with_capacity(entry.message.len() + 96);
    if format.deduplicate && collapse(&format, entry, &mut text) {
        return;
    }
    format.append(&mut text, entry);
    writer::put(text);
}

/// `true`: the same message again, only counted. Otherwise the count of the run before it, if any, is put into `text`.
fn collapse(format: &Format, entry: &Entry, text: &mut String) -> bool {
    LAST.try_with(|last| {
        let mut last = last.borrow_mut();
        let same = last.last.as_ref().is_some_and(|(severity, message)| {
            *severity == entry.severity && *message == entry.message
        });
        if same {
            last.count += 1;
            return true;
        }
        if let (Some((severity, _)), count @ 1..) = (&last.last, last.count) {
            let message = format!("... last message repeated {count} times");
            format.append(
                text,
                &Entry {
                    severity: *severity,
                    message,
                    ..entry.clone()
                },
            );
        }
        *last = Repeats {
            last: Some((entry.severity, entry.message.clone())),
            count: 0,
        };
        false
    })
    .unwrap_or(false)
}

#[cfg(test)]
#[path = "log/tests.rs"]
mod tests;
