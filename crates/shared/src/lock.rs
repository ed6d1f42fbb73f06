//! Locks that know their name and count how often and how long threads waited for them.
//!
//! An uncontended lock costs one more atomic addition than the plain one. Clocks are read only where a thread has to wait, or
//! for all locks after [`measure_hold`].

use parking_lot as pl;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What a lock has counted.
#[derive(Clone, Debug)]
pub struct Stats {
    pub name: Arc<str>,
    pub id: u64,
    pub kind: Kind,
    /// Locks granted, for reading and writing together.
    pub locks: u64,
    /// Those that had to wait, and attempts that were refused.
    pub busy: u64,
    pub total_wait: Duration,
    pub max_wait: Duration,
    /// How long it was held for writing, while [`measure_hold`] was on.
    pub held: Duration,
    pub reads: u64,
    pub writes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Mutex,
    RwLock,
}

/// A mutex with a name and counters. It is not poisoned by a panic.
pub struct Mutex<T: ?Sized> {
    counters: Arc<Counters>,
    inner: pl::Mutex<T>,
}

/// A read-write lock with a name and counters. A waiting writer holds new readers back: do not lock it for reading twice.
pub struct RwLock<T: ?Sized> {
    counters: Arc<Counters>,
    inner: pl::RwLock<T>,
}

/// Keeps the lock until it is dropped.
pub struct Guard<'a, G> {
    inner: G,
    counters: &'a Counters,
    since: Option<Instant>,
}

pub type MutexGuard<'a, T> = Guard<'a, pl::MutexGuard<'a, T>>;
pub type ReadGuard<'a, T> = Guard<'a, pl::RwLockReadGuard<'a, T>>;
pub type WriteGuard<'a, T> = Guard<'a, pl::RwLockWriteGuard<'a, T>>;

/// All locks of this module and of [`crate::sync`] that exist, oldest first (`ns_info locks`).
pub fn list() -> Vec<Stats> {
    REGISTRY
        .lock()
        .iter()
        .filter_map(|lock| lock.upgrade())
        .map(|lock| lock.stats())
        .collect()
}

/// Whether to measure how long locks are held, at the price of two clock readings a lock.
pub fn measure_hold(on: bool) {
    MEASURE.store(on, Relaxed);
}

impl<T> Mutex<T> {
    pub fn new(name: impl Into<Arc<str>>, value: T) -> Mutex<T> {
        Mutex {
            counters: Counters::register(name.into(), Kind::Mutex),
            inner: pl::Mutex::new(value),
        }
    }

    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let inner = self
            .counters
            .acquire(true, || self.inner.try_lock(), || self.inner.lock());
        Guard {
            inner,
            counters: &self.counters,
            since: now_if_measured(),
        }
    }

    /// `None`: somebody else has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let inner = self.counters.attempt(true, self.inner.try_lock())?;
        Some(Guard {
            inner,
            counters: &self.counters,
            since: now_if_measured(),
        })
    }

    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }
}

impl<T> RwLock<T> {
    pub fn new(name: impl Into<Arc<str>>, value: T) -> RwLock<T> {
        RwLock {
            counters: Counters::register(name.into(), Kind::RwLock),
            inner: pl::RwLock::new(value),
        }
    }

    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    pub fn read(&self) -> ReadGuard<'_, T> {
        let inner = self
            .counters
            .acquire(false, || self.inner.try_read(), || self.inner.read());
        Guard {
            inner,
            counters: &self.counters,
            since: None,
        }
    }

    pub fn write(&self) -> WriteGuard<'_, T> {
        let inner = self
            .counters
            .acquire(true, || self.inner.try_write(), || self.inner.write());
        Guard {
            inner,
            counters: &self.counters,
            since: now_if_measured(),
        }
    }

    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        let inner = self.counters.attempt(true, self.inner.try_write())?;
        Some(Guard {
            inner,
            counters: &self.counters,
            since: now_if_measured(),
        })
    }

    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }
}

impl<G: Deref> Deref for Guard<'_, G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.inner
    }
}

impl<G: DerefMut> DerefMut for Guard<'_, G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.inner
    }
}

impl<G> Drop for Guard<'_, G> {
    fn drop(&mut self) {
        if let Some(since) = self.since {
            self.counters.held(since);
        }
    }
}

static MEASURE: AtomicBool = AtomicBool::new(false);
static REGISTRY: pl::Mutex<Vec<Weak<Counters>>> = pl::Mutex::new(Vec::new());

pub(crate) struct Counters {
    name: pl::RwLock<Arc<str>>,
    id: u64,
    kind: Kind,
    reads: AtomicU64,
    writes: AtomicU64,
    busy: AtomicU64,
    total_wait: AtomicU64,
    max_wait: AtomicU64,
    held: AtomicU64,
}

impl Counters {
    pub(crate) fn register(name: Arc<str>, kind: Kind) -> Arc<Counters> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let zero = AtomicU64::default;
        let counters = Arc::new(Counters {
            name: pl::RwLock::new(name),
            id: NEXT.fetch_add(1, Relaxed),
            kind,
            reads: zero(),
            writes: zero(),
            busy: zero(),
            total_wait: zero(),
            max_wait: zero(),
            held: zero(),
        });
        let mut registry = REGISTRY.lock();
        // Before the list grows, entries of locks that are gone make room: the cost is spread over the registrations.
        if registry.len() == registry.capacity() {
            registry.retain(|lock| lock.strong_count() > 0);
        }
        registry.push(Arc::downgrade(&counters));
        counters
    }

    /// Takes the lock by `now`, or by `wait` with the clock running.
    pub(crate) fn acquire<G>(
        &self,
        write: bool,
        now: impl FnOnce() -> Option<G>,
        wait: impl FnOnce() -> G,
    ) -> G {
        self.granted(write);
        if let Some(guard) = now() {
            return guard;
        }
        let start = Instant::now();
        let guard = wait();
        self.waited(start.elapsed());
        guard
    }

    pub(crate) fn attempt<G>(&self, write: bool, guard: Option<G>) -> Option<G> {
        match guard {
            Some(_) => self.granted(write),
            None => drop(self.busy.fetch_add(1, Relaxed)),
        }
        guard
    }

    pub(crate) fn granted(&self, write: bool) {
        if write { &self.writes } else { &self.reads }.fetch_add(1, Relaxed);
    }

    pub(crate) fn waited(&self, time: Duration) {
        let nanos = nanos(time);
        self.busy.fetch_add(1, Relaxed);
        self.total_wait.fetch_add(nanos, Relaxed);
        self.max_wait.fetch_max(nanos, Relaxed);
    }

    pub(crate) fn held(&self, since: Instant) {
        self.held.fetch_add(nanos(since.elapsed()), Relaxed);
    }

    pub(crate) fn stats(&self) -> Stats {
        let (reads, writes) = (self.reads.load(Relaxed), self.writes.load(Relaxed));
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Relaxed));
        Stats {
            name: self.name.read().clone(),
            id: self.id,
            kind: self.kind,
            locks: reads + writes,
            busy: self.busy.load(Relaxed),
            total_wait: time(&self.total_wait),
            max_wait: time(&self.max_wait),
            held: time(&self.held),
            reads,
            writes,
        }
    }
}

pub(crate) fn now_if_measured() -> Option<Instant> {
    MEASURE.load(Relaxed).then(Instant::now)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_counted() {
        let lock = Mutex::new("test:waiting", 0);
        let guard = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| *lock.lock() += 1);
            // The other thread counts itself before it waits.
            while lock.stats().locks < 2 {
                std::thread::yield_now();
            }
            assert!(lock.try_lock().is_none());
            drop(guard);
        });
        let stats = lock.stats();
        assert_eq!((stats.locks, *lock.lock()), (2, 1));
        assert!(stats.busy >= 1 && stats.max_wait <= stats.total_wait);
    }

    #[test]
    fn locks_are_listed_while_they_exist() {
        let named = |name: &str| {
            list()
                .into_iter()
                .filter(|stats| &*stats.name == name)
                .count()
        };
        let lock = RwLock::new("test:listed", 1);
        drop((lock.read(), lock.read()));
        drop(lock.write());
        let stats = lock.stats();
        assert_eq!(
            (stats.reads, stats.writes, stats.kind),
            (2, 1, Kind::RwLock)
        );
        assert_eq!(named("test:listed"), 1);
        drop(lock);
        assert_eq!(named("test:listed"), 0);
    }
}
