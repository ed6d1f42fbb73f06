//! Values that a thread holds back until it commits: seen by itself only, forgotten by a rollback.

use super::Cache;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The transactions of one interpreter, nested. They reach over all caches. Dropping it forgets what was not committed.
#[derive(Default)]
pub struct Transaction {
    levels: Vec<Level>,
}

type Level = BTreeMap<(u64, String), Pending>;

struct Pending {
    cache: Arc<Cache>,
    value: Arc<str>,
    expires: i64,
    /// The cache's count of flushes when the value was stored.
    epoch: u64,
}

impl Transaction {
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Opens a transaction, inside the one that is open.
    pub fn begin(&mut self) {
        self.levels.push(Level::new());
    }

    pub fn is_active(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Ends the innermost transaction, or all. Its values go to the one around it, or to the caches, where those are left out
    /// whose keys were flushed meanwhile. Answers how many values; `None`: no transaction is open.
    pub fn commit(&mut self, all: bool) -> Option<usize> {
        let mut values = self.levels.pop()?;
        while all && let Some(outer) = self.levels.pop() {
            // The inner value of a key is the later one.
            let inner = std::mem::replace(&mut values, outer);
            values.extend(inner);
        }
        let count = values.len();
        match self.levels.last_mut() {
            Some(outer) => outer.extend(values),
            None => {
                for ((_, key), pending) in values {
                    let mut state = pending.cache.lock();
                    if state.epoch(&key) == pending.epoch {
                        state.store(&key, pending.value, pending.expires, Duration::ZERO);
                        state.counts.commit += 1;
                    }
                }
            }
        }
        Some(count)
    }

    /// Ends the innermost transaction, or all, and forgets its values. Answers how many; `None`: no transaction is open.
    pub fn rollback(&mut self, all: bool) -> Option<usize> {
        let mut count = 0;
        let mut level = self.levels.pop()?;
        loop {
            count += level.len();
            for pending in level.into_values() {
                pending.cache.lock().counts.rollback += 1;
            }
            match self.levels.pop() {
                Some(outer) if all => level = outer,
                Some(outer) => {
                    self.levels.push(outer);
                    return Some(count);
                }
                None => return Some(count),
            }
        }
    }

    pub(super) fn get(&self, cache: u64, key: &str) -> Option<Arc<str>> {
        if self.levels.is_empty() {
            return None;
        }
        let place = (cache, key.to_string());
        self.levels
            .iter()
            .rev()
            .find_map(|level| level.get(&place))
            .map(|pending| pending.value.clone())
    }

    pub(super) fn put(
        &mut self,
        cache: &Arc<Cache>,
        key: &str,
        value: Arc<str>,
        expires: i64,
        epoch: u64,
    ) {
        if let Some(level) = self.levels.last_mut() {
            level.insert(
                (cache.id, key.to_string()),
                Pending {
                    cache: cache.clone(),
                    value,
                    expires,
                    epoch,
                },
            );
        }
    }

    /// Forgets values of a cache, as its flush demands, on all levels. Answers how many.
    pub(super) fn forget(&mut self, cache: u64, matches: impl Fn(&str) -> bool) -> usize {
        let mut count = 0;
        for level in &mut self.levels {
            let before = level.len();
            level.retain(|(id, key), _| *id != cache || !matches(key));
            count += before - level.len();
        }
        count
    }

    pub(super) fn keys(&self, cache: u64, matches: impl Fn(&str) -> bool) -> Vec<String> {
        let mut keys: Vec<String> = (self.levels.iter().flat_map(|level| level.keys()))
            .filter(|(id, key)| *id == cache && matches(key))
            .map(|(_, key)| key.clone())
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }
}
