//! Threads with names: who runs, since when, started by whom, and how much processor time it has used.

use crate::time::Time;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// What is known about a running thread.
#[derive(Clone, Debug)]
pub struct Info {
    /// By custom with dashes around it: `-conn:main:default:0:3-`.
    pub name: Arc<str>,
    /// The name of the thread that started it, as it was then.
    pub parent: Arc<str>,
    /// The kernel's id of the thread, as `top -H` and `/proc/PID/task` show it.
    pub tid: i32,
    pub detached: bool,
    pub started: Time,
    /// What it runs, for the eye: `ns:connthread`.
    pub procedure: Arc<str>,
    /// What it works on, for the eye.
    pub argument: Arc<str>,
}

/// How to start a thread. The name should carry its dashes.
pub struct Builder {
    name: String,
    stack: Option<usize>,
    detached: bool,
    procedure: Arc<str>,
    argument: Arc<str>,
}

/// Stack of a thread that does not say: as much as programs get from the system. Only what is used costs memory, and
/// scripts within pages within scripts need more than the 2 MiB of Rust's threads.
const STACK: usize = 8 << 20;

/// Starts a registered thread.
pub fn spawn<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new(name).spawn(work)
}

impl Builder {
    pub fn new(name: impl Into<String>) -> Builder {
        Builder {
            name: name.into(),
            stack: None,
            detached: false,
            procedure: "".into(),
            argument: "".into(),
        }
    }

    /// The size of the stack in bytes. Without it, what the Rust library takes: 2 MiB.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack = Some(bytes);
        self
    }

    /// Nobody will wait for it. Only noted, for [`list`].
    pub fn detached(mut self) -> Builder {
        self.detached = true;
        self
    }

    /// What [`list`] shows as its procedure and argument.
    pub fn describe(mut self, procedure: &str, argument: &str) -> Builder {
        (self.procedure, self.argument) = (procedure.into(), argument.into());
        self
    }

    pub fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let parent = name();
        // The kernel keeps 15 bytes of a name and refuses one that holds a zero byte.
        let short: String = self
            .name
            .trim_matches('-')
            .chars()
            .filter(|c| *c != '\0')
            .collect();
        let builder = std::thread::Builder::new()
            .name(short)
            .stack_size(self.stack.unwrap_or(STACK));
        builder.spawn(move || {
            register(Info {
                name: self.name.into(),
                parent,
                tid: tid(),
                detached: self.detached,
                started: Time::now(),
                procedure: self.procedure,
                argument: self.argument,
            });
            work()
        })
    }
}

/// The name of this thread.
pub fn name() -> Arc<str> {
    with_registration(|registration| registration.name.borrow().clone())
        .unwrap_or_else(|| "-ending-".into())
}

/// Gives this thread another name, also for the eyes of the kernel (its first 15 bytes, without dashes).
pub fn set_name(name: &str) {
    let shared: Arc<str> = name.into();
    change(|info| info.name = shared.clone());
    with_registration(|registration| *registration.name.borrow_mut() = shared);
    let short: Vec<u8> = name
        .trim_matches('-')
        .bytes()
        .filter(|b| *b != 0)
        .take(15)
        .collect();
    if let Ok(short) = std::ffi::CString::new(short) {
        // Only the view of `top` depends on it.
        let _ = rustix::thread::set_name(&short);
    }
}

/// Notes what this thread runs and what it works on, for [`list`].
pub fn describe(procedure: &str, argument: &str) {
    let (procedure, argument): (Arc<str>, Arc<str>) = (procedure.into(), argument.into());
    change(|info| (info.procedure, info.argument) = (procedure, argument));
}

/// The kernel's id of this thread.
pub fn tid() -> i32 {
    thread_local! {
        static TID: i32 = rustix::thread::gettid().as_raw_nonzero().get();
    }
    TID.try_with(|tid| *tid).unwrap_or(0)
}

/// All threads that were started here or ever asked for their name, by kernel id.
pub fn list() -> Vec<Info> {
    THREADS.lock().values().cloned().collect()
}

/// The time a thread of this process has spent in user and in system mode, in steps of a clock tick (10 ms).
/// `None`: no such thread.
pub fn cpu_time(tid: i32) -> Option<(Duration, Duration)> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).ok()?;
    // The second field, the name, may hold blanks and brackets; the third follows the last bracket.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let mut next = || {
        Some(Duration::from_nanos(
            fields.next()?.parse::<u64>().ok()? * (1_000_000_000 / ticks),
        ))
    };
    Some((next()?, next()?))
}

static THREADS: Mutex<BTreeMap<i32, Info>> = Mutex::new(BTreeMap::new());

/// Removes the thread from the list when its local data is dropped.
struct Registration {
    tid: i32,
    name: RefCell<Arc<str>>,
}

thread_local! {
    static REGISTRATION: RefCell<Option<Registration>> = const { RefCell::new(None) };
}

impl Drop for Registration {
    fn drop(&mut self) {
        THREADS.lock().remove(&self.tid);
    }
}

fn register(info: Info) {
    let registration = Registration {
        tid: info.tid,
        name: RefCell::new(info.name.clone()),
    };
    THREADS.lock().insert(info.tid, info);
    let old = REGISTRATION.with(|mine| mine.borrow_mut().replace(registration));
    // Dropping an old one would take the new entry with it.
    std::mem::forget(old);
}

/// Runs `look` with this thread's registration, made on the first call. `None` while the thread is ending.
fn with_registration<R>(look: impl FnOnce(&Registration) -> R) -> Option<R> {
    let registered = REGISTRATION.try_with(|mine| mine.borrow().is_some()).ok()?;
    if !registered {
        let tid = tid();
        let main = u32::try_from(tid).is_ok_and(|tid| tid == std::process::id());
        let name = match std::thread::current().name() {
            _ if main => "-main-".into(),
            Some(name) => format!("-{}-", name.trim_matches('-')),
            None => format!("-thread:{tid}-"),
        };
        register(Info {
            name: name.into(),
            parent: "".into(),
            tid,
            detached: false,
            started: Time::now(),
            procedure: "".into(),
            argument: "".into(),
        });
    }
    REGISTRATION
        .try_with(|mine| mine.borrow().as_ref().map(look))
        .ok()?
}

fn change(edit: impl FnOnce(&mut Info)) {
    let Some(tid) = with_registration(|registration| registration.tid) else {
        return;
    };
    if let Some(info) = THREADS.lock().get_mut(&tid) {
        edit(info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_listed_while_they_run() {
        set_name("-parent-");
        let thread = Builder::new("-child:1-")
            .describe("ns:test", "x")
            .spawn(|| {
                let me = tid();
                let info = list()
                    .into_iter()
                    .find(|info| info.tid == me)
                    .expect("the running thread is listed");
                set_name("-renamed-");
                let renamed = list()
                    .into_iter()
                    .find(|info| info.tid == me)
                    .expect("still listed");
                (info, renamed.name, name(), cpu_time(me).is_some())
            });
        let (info, renamed, own, has_time) = thread
            .expect("a thread starts")
            .join()
            .expect("it does not panic");
        assert_eq!(
            (&*info.name, &*info.parent, &*info.procedure),
            ("-child:1-", "-parent-", "ns:test")
        );
        assert_eq!(
            (&*renamed, &*own, has_time),
            ("-renamed-", "-renamed-", true)
        );
        assert!(!list().iter().any(|other| other.tid == info.tid));
        assert!(cpu_time(i32::MAX).is_none());
    }
}
