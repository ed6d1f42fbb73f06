//! `ns_cache`: text by key within a byte budget, least recently used out first, each missing value made by one thread.
//!
//! The lock of a cache is held for look-ups and changes, never while a value is made. Work over all keys (patterns, listings)
//! takes it in slices, so that a flush over many keys does not stop the server.

mod entries;
mod transaction;

pub use transaction::Transaction;

use crate::glob;
use crate::lock::{Counters, Kind};
use crate::thread::tid;
use crate::time::Time;
use entries::Entries;
use hashbrown::HashMap;
use parking_lot as pl;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The limits of a cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes for all entries, with keys and bookkeeping. One entry is kept even if its bookkeeping goes beyond.
    pub max_size: usize,
    /// Values longer than this many bytes are not kept; 0: no limit but `max_size`.
    pub max_entry: usize,
    /// When values expire whose maker does not say: a span, or a point in time ([`Time::absolute`]).
    pub expires: Option<Time>,
    /// How long to wait for another thread's value by default. `None`: until it is there.
    pub timeout: Option<Time>,
}

/// What [`Cache::stats`] tells, since the start or [`Cache::reset_stats`].
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Stats {
    pub max_size: usize,
    /// Bytes in use.
    pub size: usize,
    pub entries: usize,
    pub flushed: u64,
    /// Look-ups that found a value. As in the reference a value that was just made counts as found, too.
    pub hits: u64,
    pub missed: u64,
    /// Per cent of the look-ups.
    pub hit_rate: f64,
    pub expired: u64,
    pub pruned: u64,
    /// What making the values would have cost that were found.
    pub saved: Duration,
    /// Entries made visible and given up by transactions.
    pub commit: u64,
    pub rollback: u64,
}

/// An entry, for `ns_cache_stats -contents`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    pub key: String,
    /// Bytes of the value.
    pub size: usize,
    pub hits: u64,
    /// A point in time; zero: never.
    pub expires: Time,
}

/// What [`Cache::begin`] found.
pub enum Lookup {
    Hit(Arc<str>),
    /// This thread makes the value; others that ask for the key wait.
    Make(MakerGuard),
    /// Another thread was still making it when the time was over.
    TimedOut,
    /// This very thread is making it and would wait for itself.
    Recursive,
}

/// Why [`Cache::update`] did not change anything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UpdateError<E> {
    TimedOut,
    Recursive,
    Refused(E),
}

/// A cache.
pub struct Cache {
    name: String,
    id: u64,
    counters: Arc<Counters>,
    state: pl::Mutex<State>,
}

/// The duty to make a value. Dropped without [`MakerGuard::finish`], one of those that wait takes over.
pub struct MakerGuard {
    cache: Arc<Cache>,
    key: String,
    since: Instant,
}

struct State {
    config: Config,
    entries: Entries,
    making: HashMap<String, Making>,
    counts: Stats,
    /// Raised by flushes of a key, by hash of the key: a transaction that began before must not bring an old value back.
    key_flushes: [u64; FLUSH_CELLS],
    /// Raised by flushes of patterns.
    pattern_flushes: u64,
}

struct Making {
    by: i32,
    /// The key was flushed meanwhile by another thread: what is being made may rest on old data.
    flushed: bool,
    done: Arc<pl::Condvar>,
}

const FLUSH_CELLS: usize = 64;

/// Entries looked at per holding of the lock where all are visited.
const SLICE: usize = 4096;

impl Cache {
    pub fn new(name: impl Into<String>, config: Config) -> Arc<Cache> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = name.into();
        Arc::new(Cache {
            id: NEXT.fetch_add(1, Relaxed),
            counters: Counters::register(format!("ns:cache:{name}").into(), Kind::Mutex),
            name,
            state: pl::Mutex::new(State {
                config,
                entries: Entries::default(),
                making: HashMap::new(),
                counts: Stats::default(),
                key_flushes: [0; FLUSH_CELLS],
                pattern_flushes: 0,
            }),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn config(&self) -> Config {
        self.lock().config.clone()
    }

    /// Changes the limits. A smaller budget holds at once.
    pub fn set_config(&self, config: Config) {
        let mut state = self.lock();
        state.config = config;
        state.prune(None);
    }

    /// The value of a key, if it is there and has not expired. Values a transaction holds back are seen with it only.
    pub fn get(&self, key: &str, transaction: Option<&Transaction>) -> Option<Arc<str>> {
        let mut state = self.lock();
        let found = transaction
            .and_then(|t| t.get(self.id, key))
            .or_else(|| state.valid(key));
        state.count_lookup(found.is_some());
        found
    }

    /// Looks for a value, or takes the duty to make it. While another thread makes it this one waits, at most for `timeout`,
    /// or as long as the configuration says. `force` makes it anew and removes the one that is there.
    pub fn begin(
        self: &Arc<Cache>,
        key: &str,
        force: bool,
        timeout: Option<Time>,
        transaction: Option<&mut Transaction>,
    ) -> Lookup {
        let mut state = self.lock();
        let mut deadline = None;
        if let (Some(transaction), true) = (transaction.as_deref(), !force)
            && let Some(value) = transaction.get(self.id, key)
        {
            state.count_lookup(true);
            return Lookup::Hit(value);
        }
        loop {
            if !force && let Some(value) = state.valid(key) {
                state.count_lookup(true);
                return Lookup::Hit(value);
            }
            match state.making.get(key) {
                None => break,
                Some(making) if making.by == tid() => return Lookup::Recursive,
                Some(making) => {
                    let done = making.done.clone();
                    if !self.wait(&mut state, &done, timeout, &mut deadline) {
                        return Lookup::TimedOut;
                    }
                }
            }
        }
        if force {
            state.remove(key);
            if let Some(transaction) = transaction {
                transaction.forget(self.id, |other| other == key);
            }
        }
        state.count_lookup(false);
        let making = Making {
            by: tid(),
            flushed: false,
            done: Arc::new(pl::Condvar::new()),
        };
        state.making.insert(key.to_string(), making);
        Lookup::Make(MakerGuard {
            cache: self.clone(),
            key: key.to_string(),
            since: Instant::now(),
        })
    }

    /// Stores a value. It is not kept where it is longer than the limits allow.
    pub fn set(&self, key: &str, value: &str, expires: Option<Time>) {
        let mut state = self.lock();
        let expires = state.expiry(expires);
        state.store(key, value.into(), expires, Duration::ZERO);
    }

    /// Changes a value in one step, under the lock of the cache: `change` gets what is there and answers what shall be, and
    /// must not come back to this cache. An error changes nothing. Waits while another thread makes the value.
    pub fn update<R, E>(
        self: &Arc<Cache>,
        key: &str,
        timeout: Option<Time>,
        expires: Option<Time>,
        transaction: Option<&mut Transaction>,
        change: impl FnOnce(Option<&str>) -> Result<(String, R), E>,
    ) -> Result<R, UpdateError<E>> {
        let mut state = self.lock();
        let mut deadline = None;
        while let Some(making) = state.making.get(key) {
            if making.by == tid() {
                return Err(UpdateError::Recursive);
            }
            let done = making.done.clone();
            if !self.wait(&mut state, &done, timeout, &mut deadline) {
                return Err(UpdateError::TimedOut);
            }
        }
        let old = transaction
            .as_deref()
            .and_then(|t| t.get(self.id, key))
            .or_else(|| state.valid(key));
        let (value, result) = change(old.as_deref()).map_err(UpdateError::Refused)?;
        state.count_lookup(old.is_some());
        let expires = state.expiry(expires);
        match transaction.filter(|transaction| transaction.is_active()) {
            Some(transaction) => {
                transaction.put(self, key, value.into(), expires, state.epoch(key))
            }
            None => state.store(key, value.into(), expires, Duration::ZERO),
        }
        Ok(result)
    }

    /// Removes a key. `false`: it was not there. A value that is being made by another thread will not be kept.
    pub fn flush(&self, key: &str, transaction: Option<&mut Transaction>) -> bool {
        let own = transaction
            .is_some_and(|transaction| transaction.forget(self.id, |other| other == key) > 0);
        let mut state = self.lock();
        let cell = state.entries.hash(key) as usize % FLUSH_CELLS;
        state.key_flushes[cell] += 1;
        state.spoil(|other| other == key);
        let there = state.remove(key) || own;
        state.counts.flushed += u64::from(there);
        there
    }

    /// Removes the keys that match a `string match` pattern, and answers how many. What is stored meanwhile may stay.
    pub fn flush_glob(&self, pattern: &str, transaction: Option<&mut Transaction>) -> usize {
        if !glob::is_pattern(pattern) {
            return usize::from(self.flush(pattern, transaction));
        }
        self.flush_where(|key| glob::matches(pattern, key), transaction)
    }

    /// Removes the keys that start with a prefix, and answers how many.
    pub fn flush_prefix(&self, prefix: &str, transaction: Option<&mut Transaction>) -> usize {
        self.flush_where(|key| key.starts_with(prefix), transaction)
    }

    /// Removes everything, and answers how many entries that were.
    pub fn flush_all(&self, transaction: Option<&mut Transaction>) -> usize {
        let own = transaction.map_or(0, |transaction| transaction.forget(self.id, |_| true));
        let mut state = self.lock();
        state.pattern_flushes += 1;
        state.spoil(|_| true);
        let old = std::mem::take(&mut state.entries);
        let count = old.len() + own;
        state.counts.flushed += count as u64;
        drop(state);
        // Freeing many entries takes a while; the lock is given back already.
        drop(old);
        count
    }

    /// The keys that match a pattern, all without one, in no order, without those that have expired.
    pub fn keys(&self, pattern: Option<&str>, transaction: Option<&Transaction>) -> Vec<String> {
        let matches = |key: &str| pattern.is_none_or(|pattern| glob::matches(pattern, key));
        let mut keys =
            transaction.map_or_else(Vec::new, |transaction| transaction.keys(self.id, matches));
        let own = keys.len();
        self.visit(|entry, now| {
            if !entry.is_expired(now)
                && matches(&entry.key)
                && !keys[..own].iter().any(|key| **key == *entry.key)
            {
                keys.push(entry.key.to_string());
            }
        });
        keys
    }

    /// Is there such a key that has not expired?
    pub fn contains(&self, key: &str, transaction: Option<&Transaction>) -> bool {
        transaction.is_some_and(|transaction| transaction.get(self.id, key).is_some())
            || self
                .lock()
                .entries
                .peek(key)
                .is_some_and(|entry| !entry.is_expired(Time::now().micros()))
    }

    /// What is in the cache, in no order.
    pub fn contents(&self) -> Vec<Content> {
        let mut contents = Vec::new();
        self.visit(|entry, _| {
            contents.push(Content {
                key: entry.key.to_string(),
                size: entry.value.len(),
                hits: entry.hits,
                expires: Time::from_micros(entry.expires),
            });
        });
        contents
    }

    pub fn stats(&self) -> Stats {
        let state = self.lock();
        let lookups = state.counts.hits + state.counts.missed;
        Stats {
            max_size: state.config.max_size,
            size: state.entries.size(),
            entries: state.entries.len(),
            hit_rate: if lookups == 0 {
                0.0
            } else {
                state.counts.hits as f64 * 100.0 / lookups as f64
            },
            ..state.counts.clone()
        }
    }

    pub fn reset_stats(&self) {
        self.lock().counts = Stats::default();
    }

    /// Values being made at the moment.
    pub fn making(&self) -> usize {
        self.lock().making.len()
    }

    fn lock(&self) -> pl::MutexGuard<'_, State> {
        self.counters
            .acquire(true, || self.state.try_lock(), || self.state.lock())
    }

    /// Waits for the maker of a value. `false`: the time is over.
    fn wait(
        &self,
        state: &mut pl::MutexGuard<'_, State>,
        done: &pl::Condvar,
        timeout: Option<Time>,
        deadline: &mut Option<Instant>,
    ) -> bool {
        if deadline.is_none() {
            let now = Time::now();
            // What lies beyond the reach of the clock is for ever.
            *deadline = timeout.or(state.config.timeout).and_then(|timeout| {
                Instant::now().checked_add((timeout.absolute(now) - now).to_duration())
            });
        }
        match *deadline {
            Some(deadline) => !done.wait_until(state, deadline).timed_out(),
            None => {
                done.wait(state);
                true
            }
        }
    }

    fn flush_where(
        &self,
        matches: impl Fn(&str) -> bool,
        transaction: Option<&mut Transaction>,
    ) -> usize {
        let own = transaction.map_or(0, |transaction| transaction.forget(self.id, &matches));
        {
            let mut state = self.lock();
            state.pattern_flushes += 1;
            state.spoil(&matches);
        }
        let (mut from, mut count) = (0, own);
        loop {
            let mut state = self.lock();
            let (next, removed) = state.entries.remove_where(from, SLICE, &matches);
            from = next;
            count += removed.len();
            state.counts.flushed += removed.len() as u64;
            let end = from >= state.entries.slots();
            drop(state);
            drop(removed);
            if end {
                self.lock().counts.flushed += own as u64;
                return count;
            }
        }
    }

    fn visit(&self, mut see: impl FnMut(&entries::Entry, i64)) {
        let now = Time::now().micros();
        let mut from = 0;
        loop {
            let state = self.lock();
            state
                .entries
                .slice(from, SLICE)
                .for_each(|entry| see(entry, now));
            from += SLICE;
            if from >= state.entries.slots() {
                return;
            }
        }
    }
}

impl MakerGuard {
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Stores the value and wakes those that wait. In a transaction they do not see it, and one of them makes its own.
    /// The value is not kept when the key was flushed by another thread meanwhile.
    pub fn finish(
        self,
        value: &str,
        expires: Option<Time>,
        transaction: Option<&mut Transaction>,
    ) -> Arc<str> {
        let value: Arc<str> = value.into();
        let mut state = self.cache.lock();
        let expires = state.expiry(expires);
        if state
            .making
            .get(&self.key)
            .is_some_and(|making| !making.flushed)
        {
            match transaction.filter(|transaction| transaction.is_active()) {
                Some(transaction) => {
                    transaction.put(
                        &self.cache,
                        &self.key,
                        value.clone(),
                        expires,
                        state.epoch(&self.key),
                    );
                }
                None => {
                    state.store(&self.key, value.clone(), expires, self.since.elapsed());
                    state.count_made(&self.key);
                }
            }
        }
        drop(state);
        value
    }
}

/// Ends the making, finished or not.
impl Drop for MakerGuard {
    fn drop(&mut self) {
        let making = self.cache.lock().making.remove(&self.key);
        if let Some(making) = making {
            making.done.notify_all();
        }
    }
}

impl State {
    /// The value of a key that has not expired, which becomes the one used last.
    fn valid(&mut self, key: &str) -> Option<Arc<str>> {
        let entry = self.entries.peek(key)?;
        // The clock is read only for entries that can expire.
        if entry.expires != 0 && entry.is_expired(Time::now().micros()) {
            self.entries.remove(key);
            self.counts.expired += 1;
            return None;
        }
        let entry = self.entries.touch(key)?;
        entry.hits += 1;
        let (value, cost) = (entry.value.clone(), entry.cost);
        self.counts.saved = self.counts.saved.saturating_add(cost);
        Some(value)
    }

    fn count_lookup(&mut self, hit: bool) {
        if hit {
            self.counts.hits += 1;
        } else {
            self.counts.missed += 1;
        }
    }

    fn count_made(&mut self, key: &str) {
        if let Some(entry) = self.entries.touch(key) {
            entry.hits += 1;
            self.counts.hits += 1;
        }
    }

    /// Microseconds since 1970; 0: never.
    fn expiry(&self, expires: Option<Time>) -> i64 {
        expires
            .or(self.config.expires)
            .map_or(0, |expires| expires.absolute(Time::now()).micros().max(1))
    }

    fn store(&mut self, key: &str, value: Arc<str>, expires: i64, cost: Duration) {
        let too_long = self.config.max_entry > 0 && value.len() > self.config.max_entry;
        if too_long || value.len() > self.config.max_size {
            self.entries.remove(key);
            return;
        }
        self.entries.insert(key, value, expires, cost);
        self.prune(Some(key));
    }

    fn remove(&mut self, key: &str) -> bool {
        self.entries.remove(key).is_some()
    }

    /// Removes what was not used for longest until the budget holds, but not `spare`.
    fn prune(&mut self, spare: Option<&str>) {
        while self.entries.size() > self.config.max_size && self.entries.remove_oldest(spare) {
            self.counts.pruned += 1;
        }
    }

    fn spoil(&mut self, matches: impl Fn(&str) -> bool) {
        let me = tid();
        for (_, making) in self
            .making
            .iter_mut()
            .filter(|(key, making)| making.by != me && matches(key))
        {
            making.flushed = true;
        }
    }

    /// Changes whenever the key may have been flushed.
    fn epoch(&self, key: &str) -> u64 {
        self.key_flushes[self.entries.hash(key) as usize % FLUSH_CELLS] + self.pattern_flushes
    }
}

#[cfg(test)]
#[path = "cache/tests.rs"]
mod tests;
