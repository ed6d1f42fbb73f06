//! Locks whose taking and giving back are separate calls, for scripts: `ns_mutex`, `ns_rwlock`, `ns_sema`, `ns_cond`,
//! `ns_critsec`.
//!
//! What would be a deadlock with oneself, and the release of what one does not hold, is an [`Misuse`] and no hang.

use crate::lock::{Counters, Kind, Stats, now_if_measured};
use crate::thread::tid;
use parking_lot as pl;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A call that can never be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// This thread has the lock already and would wait for itself.
    Deadlock,
    /// This thread does not hold what it gives back.
    NotOwner,
}

/// Objects by the names scripts use for them.
pub struct Names<T> {
    objects: pl::Mutex<BTreeMap<String, Arc<T>>>,
    next: AtomicU64,
}

/// A mutex, not recursive.
pub struct Mutex {
    counters: Arc<Counters>,
    state: pl::Mutex<Owned>,
    free: pl::Condvar,
}

/// A lock that its owner may take again.
pub struct CritSec {
    counters: Arc<Counters>,
    state: pl::Mutex<Owned>,
    free: pl::Condvar,
}

/// Many readers or one writer. Waiting writers hold new readers back, except those that read already.
pub struct RwLock {
    counters: Arc<Counters>,
    state: pl::Mutex<Shared>,
    changed: pl::Condvar,
}

/// A counter that threads wait for to be above zero.
pub struct Semaphore {
    count: pl::Mutex<i64>,
    more: pl::Condvar,
}

/// A condition that threads wait for while they give a [`Mutex`] away.
#[derive(Default)]
pub struct CondVar {
    waiting: pl::Mutex<(u64, VecDeque<u64>)>,
    woken: pl::Condvar,
}

#[derive(Default)]
struct Owned {
    owner: i32,
    depth: u64,
    since: Option<Instant>,
}

#[derive(Default)]
struct Shared {
    writer: i32,
    waiting_writers: usize,
    /// Who reads, and how often. Few at a time.
    readers: Vec<(i32, u64)>,
    since: Option<Instant>,
}

impl<T> Names<T> {
    pub const fn new() -> Names<T> {
        Names {
            objects: pl::Mutex::new(BTreeMap::new()),
            next: AtomicU64::new(0),
        }
    }

    pub fn get(&self, name: &str) -> Option<Arc<T>> {
        self.objects.lock().get(name).cloned()
    }

    /// The object of this name, made where there is none.
    pub fn get_or_make(&self, name: &str, make: impl FnOnce() -> T) -> Arc<T> {
        let mut objects = self.objects.lock();
        if let Some(object) = objects.get(name) {
            return object.clone();
        }
        let object = Arc::new(make());
        objects.insert(name.to_string(), object.clone());
        object
    }

    /// A new object under a new name: the prefix and a number.
    pub fn add(&self, prefix: &str, make: impl FnOnce(&str) -> T) -> (String, Arc<T>) {
        let mut objects = self.objects.lock();
        loop {
            let name = format!("{prefix}{}", self.next.fetch_add(1, Relaxed));
            if !objects.contains_key(&name) {
                let object = Arc::new(make(&name));
                objects.insert(name.clone(), object.clone());
                return (name, object);
            }
        }
    }

    /// Forgets the name. Threads that use the object keep it.
    pub fn remove(&self, name: &str) -> Option<Arc<T>> {
        self.objects.lock().remove(name)
    }

    pub fn names(&self) -> Vec<String> {
        self.objects.lock().keys().cloned().collect()
    }
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names::new()
    }
}

impl Mutex {
    pub fn new(name: impl Into<Arc<str>>) -> Mutex {
        let counters = Counters::register(name.into(), Kind::Mutex);
        Mutex {
            counters,
            state: Default::default(),
            free: pl::Condvar::new(),
        }
    }

    pub fn lock(&self) -> Result<(), Misuse> {
        let state = self.state.lock();
        if state.owner == tid() {
            return Err(Misuse::Deadlock);
        }
        take(state, &self.counters, &self.free);
        Ok(())
    }

    /// `false`: somebody has it, perhaps this thread.
    pub fn try_lock(&self) -> bool {
        let mut state = self.state.lock();
        let free = self
            .counters
            .attempt(true, (state.owner == 0).then_some(()))
            .is_some();
        if free {
            state.own();
        }
        free
    }

    pub fn unlock(&self) -> Result<(), Misuse> {
        self.state.lock().give(&self.counters, &self.free)
    }

    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }
}

impl CritSec {
    pub fn new(name: impl Into<Arc<str>>) -> CritSec {
        let counters = Counters::register(name.into(), Kind::Mutex);
        CritSec {
            counters,
            state: Default::default(),
            free: pl::Condvar::new(),
        }
    }

    pub fn enter(&self) {
        let mut state = self.state.lock();
        if state.owner == tid() {
            state.depth += 1;
        } else {
            take(state, &self.counters, &self.free);
        }
    }

    pub fn leave(&self) -> Result<(), Misuse> {
        self.state.lock().give(&self.counters, &self.free)
    }
}

fn take(mut state: pl::MutexGuard<'_, Owned>, counters: &Counters, free: &pl::Condvar) {
    counters.granted(true);
    if state.owner != 0 {
        let start = Instant::now();
        free.wait_while(&mut state, |state| state.owner != 0);
        counters.waited(start.elapsed());
    }
    state.own();
}

impl Owned {
    fn own(&mut self) {
        (self.owner, self.depth, self.since) = (tid(), 1, now_if_measured());
    }

    fn give(&mut self, counters: &Counters, free: &pl::Condvar) -> Result<(), Misuse> {
        if self.owner != tid() {
            return Err(Misuse::NotOwner);
        }
        self.depth -= 1;
        if self.depth == 0 {
            self.owner = 0;
            if let Some(since) = self.since.take() {
                counters.held(since);
            }
            free.notify_one();
        }
        Ok(())
    }
}

impl RwLock {
    pub fn new(name: impl Into<Arc<str>>) -> RwLock {
        let counters = Counters::register(name.into(), Kind::RwLock);
        RwLock {
            counters,
            state: Default::default(),
            changed: pl::Condvar::new(),
        }
    }

    /// A thread may read as often as it likes; each needs its own unlock.
    pub fn read_lock(&self) -> Result<(), Misuse> {
        let me = tid();
        let mut state = self.state.lock();
        if state.writer == me {
            return Err(Misuse::Deadlock);
        }
        self.counters.granted(false);
        if let Some((_, times)) = state.readers.iter_mut().find(|(reader, _)| *reader == me) {
            *times += 1;
            return Ok(());
        }
        let barred = |state: &mut Shared| state.writer != 0 || state.waiting_writers > 0;
        if barred(&mut state) {
            let start = Instant::now();
            self.changed.wait_while(&mut state, barred);
            self.counters.waited(start.elapsed());
        }
        state.readers.push((me, 1));
        Ok(())
    }

    pub fn write_lock(&self) -> Result<(), Misuse> {
        let me = tid();
        let mut state = self.state.lock();
        if state.writer == me || state.readers.iter().any(|(reader, _)| *reader == me) {
            return Err(Misuse::Deadlock);
        }
        self.counters.granted(true);
        let barred = |state: &mut Shared| state.writer != 0 || !state.readers.is_empty();
        if barred(&mut state) {
            let start = Instant::now();
            state.waiting_writers += 1;
            self.changed.wait_while(&mut state, barred);
            state.waiting_writers -= 1;
            self.counters.waited(start.elapsed());
        }
        (state.writer, state.since) = (me, now_if_measured());
        Ok(())
    }

    /// Gives back what this thread holds, for writing or once for reading.
    pub fn unlock(&self) -> Result<(), Misuse> {
        let me = tid();
        let mut state = self.state.lock();
        if state.writer == me {
            state.writer = 0;
            if let Some(since) = state.since.take() {
                self.counters.held(since);
            }
        } else {
            let i = state
                .readers
                .iter()
                .position(|(reader, _)| *reader == me)
                .ok_or(Misuse::NotOwner)?;
            state.readers[i].1 -= 1;
            if state.readers[i].1 > 0 {
                return Ok(());
            }
            state.readers.swap_remove(i);
        }
        self.changed.notify_all();
        Ok(())
    }
}

impl Semaphore {
    pub fn new(count: i64) -> Semaphore {
        Semaphore {
            count: pl::Mutex::new(count),
            more: pl::Condvar::new(),
        }
    }

    /// Waits until the count is above zero, and takes one.
    pub fn wait(&self) {
        let mut count = self.count.lock();
        self.more.wait_while(&mut count, |count| *count <= 0);
        *count -= 1;
    }

    /// `false`: the time is over.
    pub fn wait_for(&self, limit: Duration) -> bool {
        let mut count = self.count.lock();
        let over = self
            .more
            .wait_while_for(&mut count, |count| *count <= 0, limit)
            .timed_out()
            && *count <= 0;
        if !over {
            *count -= 1;
        }
        !over
    }

    pub fn release(&self, by: i64) {
        let mut count = self.count.lock();
        *count = count.saturating_add(by);
        self.more.notify_all();
    }
}

impl CondVar {
    pub fn new() -> CondVar {
        CondVar::default()
    }

    /// Gives the mutex away, waits to be woken, and takes it again. `false`: the time was over first.
    pub fn wait(&self, mutex: &Mutex, limit: Option<Duration>) -> Result<bool, Misuse> {
        // What lies beyond the clock's reach is for ever.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let woken = {
            let mut waiting = self.waiting.lock();
            // Given away while nobody can signal, so that no signal is missed in between.
            mutex.unlock()?;
            let me = waiting.0;
            waiting.0 += 1;
            waiting.1.push_back(me);
            loop {
                if !waiting.1.contains(&me) {
                    break true;
                }
                let over = match deadline {
                    Some(deadline) => self.woken.wait_until(&mut waiting, deadline).timed_out(),
                    None => {
                        self.woken.wait(&mut waiting);
                        false
                    }
                };
                if over && let Some(i) = waiting.1.iter().position(|other| *other == me) {
                    waiting.1.remove(i);
                    break false;
                }
            }
        };
        mutex.lock()?;
        Ok(woken)
    }

    /// Wakes the thread that has waited longest.
    pub fn signal(&self) {
        self.waiting.lock().1.pop_front();
        self.woken.notify_all();
    }

    /// Wakes all that wait.
    pub fn broadcast(&self) {
        self.waiting.lock().1.clear();
        self.woken.notify_all();
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::Deadlock => "this thread holds the lock already and would wait for itself",
            Misuse::NotOwner => "this thread does not hold the lock",
        })
    }
}

impl std::error::Error for Misuse {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread::scope;

    #[test]
    fn a_mutex_excludes_and_knows_its_owner() {
        let mutex = Mutex::new("test:sync");
        let inside = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        mutex.lock().expect("not held");
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        inside.fetch_sub(1, Relaxed);
                        mutex.unlock().expect("held");
                    }
                });
            }
        });
        assert_eq!(mutex.unlock(), Err(Misuse::NotOwner));
        assert!(mutex.try_lock());
        assert_eq!(mutex.lock(), Err(Misuse::Deadlock));
        scope(|scope| {
            scope.spawn(|| {
                assert!(!mutex.try_lock());
                assert_eq!(mutex.unlock(), Err(Misuse::NotOwner));
            });
        });
        assert_eq!(mutex.unlock(), Ok(()));
        assert_eq!(mutex.stats().locks, 801);
    }

    #[test]
    fn a_critical_section_nests() {
        let section = CritSec::new("test:critsec");
        section.enter();
        section.enter();
        assert_eq!((section.leave(), section.leave()), (Ok(()), Ok(())));
        assert_eq!(section.leave(), Err(Misuse::NotOwner));
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let lock = RwLock::new("test:rw");
        lock.read_lock().expect("free");
        lock.read_lock().expect("again");
        assert_eq!(lock.write_lock(), Err(Misuse::Deadlock));
        scope(|scope| {
            scope.spawn(|| {
                lock.read_lock().expect("shared");
                lock.unlock().expect("held");
            });
        });
        let written = AtomicUsize::new(0);
        scope(|scope| {
            scope.spawn(|| {
                lock.write_lock().expect("not held by this thread");
                written.store(1, Relaxed);
                lock.unlock().expect("held");
            });
            assert_eq!(written.load(Relaxed), 0);
            lock.unlock().expect("held twice");
            lock.unlock().expect("held once");
        });
        assert_eq!(
            (written.load(Relaxed), lock.unlock()),
            (1, Err(Misuse::NotOwner))
        );
    }

    #[test]
    fn a_semaphore_counts() {
        let semaphore = Semaphore::new(1);
        semaphore.wait();
        assert!(!semaphore.wait_for(Duration::from_millis(1)));
        scope(|scope| {
            scope.spawn(|| semaphore.release(2));
            semaphore.wait();
            semaphore.wait();
        });
    }

    #[test]
    fn a_condition_wakes_one_or_all() {
        let (mutex, condition) = (Mutex::new("test:cond"), CondVar::new());
        assert_eq!(condition.wait(&mutex, None), Err(Misuse::NotOwner));
        mutex.lock().expect("free");
        assert_eq!(
            condition.wait(&mutex, Some(Duration::from_millis(1))),
            Ok(false)
        );
        scope(|scope| {
            scope.spawn(|| {
                mutex.lock().expect("given away");
                condition.signal();
                mutex.unlock().expect("held");
            });
            assert_eq!(
                condition.wait(&mutex, Some(Duration::from_secs(60))),
                Ok(true)
            );
        });
        mutex.unlock().expect("taken again");
        let waiting = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    mutex.lock().expect("free");
                    waiting.fetch_add(1, Relaxed);
                    assert_eq!(condition.wait(&mutex, None), Ok(true));
                    mutex.unlock().expect("taken again");
                });
            }
            loop {
                mutex.lock().expect("free");
                let all = waiting.load(Relaxed) == 3;
                if all {
                    condition.broadcast();
                }
                mutex.unlock().expect("held");
                if all {
                    break;
                }
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn names_are_found_and_made() {
        let names = Names::new();
        let (name, object) = names.add("ns:test:", |name| name.len());
        assert_eq!((name.as_str(), *object), ("ns:test:0", 9));
        assert_eq!(*names.get_or_make("x", || 5), 5);
        assert_eq!(*names.get_or_make("x", || 6), 5);
        assert_eq!(names.names(), ["ns:test:0", "x"]);
        assert!(names.remove("x").is_some() && names.get("x").is_none());
    }
}
