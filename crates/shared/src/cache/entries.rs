//! The entries of a cache: a table by key and a list by last use, over one vector of slots.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

/// A key with its value.
pub struct Entry {
    pub key: Box<str>,
    pub value: Arc<str>,
    /// Microseconds since 1970; 0: never.
    pub expires: i64,
    pub hits: u64,
    /// What making it took.
    pub cost: Duration,
    newer: usize,
    older: usize,
}

/// All entries, with their size in bytes.
pub struct Entries {
    table: HashTable<usize>,
    slots: Vec<Option<Entry>>,
    free: Vec<usize>,
    hasher: DefaultHashBuilder,
    newest: usize,
    oldest: usize,
    size: usize,
}

const NONE: usize = usize::MAX;

/// Bytes an entry takes beside its key and value: its slot, the counts of the shared value, its place in the table.
const OVERHEAD: usize = size_of::<Option<Entry>>() + 16 + 16;

impl Default for Entries {
    fn default() -> Entries {
        Entries {
            table: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            newest: NONE,
            oldest: NONE,
            size: 0,
        }
    }
}

impl Entry {
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires != 0 && self.expires <= now
    }

    fn bytes(&self) -> usize {
        self.key.len() + self.value.len() + OVERHEAD
    }
}

impl Entries {
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Bytes in use, with bookkeeping.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The end of the positions [`Entries::slice`] and [`Entries::remove_where`] count in.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    pub fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    pub fn peek(&self, key: &str) -> Option<&Entry> {
        self.slots[self.find(key)?].as_ref()
    }

    /// Makes an entry the one used last.
    pub fn touch(&mut self, key: &str) -> Option<&mut Entry> {
        let slot = self.find(key)?;
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
        self.slots[slot].as_mut()
    }

    /// Stores a value as the one used last. One that was there is replaced and keeps its hits.
    pub fn insert(&mut self, key: &str, value: Arc<str>, expires: i64, cost: Duration) {
        if let Some(entry) = self.touch(key) {
            let before = entry.bytes();
            (entry.value, entry.expires, entry.cost) = (value, expires, cost);
            let after = entry.bytes();
            self.size = self.size - before + after;
            return;
        }
        let entry = Entry {
            key: key.into(),
            value,
            expires,
            hits: 0,
            cost,
            newer: NONE,
            older: NONE,
        };
        self.size += entry.bytes();
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = Some(entry);
                slot
            }
            None => {
                self.slots.push(Some(entry));
                self.slots.len() - 1
            }
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        // Slots in the table are filled; were one not, its hash would only make it unreachable.
        let rehash = |&slot: &usize| {
            slots[slot]
                .as_ref()
                .map_or(0, |entry| hasher.hash_one(&*entry.key))
        };
        self.table.insert_unique(hasher.hash_one(key), slot, rehash);
        self.link(slot);
    }

    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let slot = self.find(key)?;
        self.take(slot)
    }

    /// Removes the entry that was not used for longest, unless it is `spare`. `false`: there is no other.
    pub fn remove_oldest(&mut self, spare: Option<&str>) -> bool {
        let Some(entry) = self.slots.get(self.oldest).and_then(Option::as_ref) else {
            return false;
        };
        if spare == Some(&*entry.key) {
            return false;
        }
        self.take(self.oldest).is_some()
    }

    /// Removes entries in the positions from `from` on whose key matches. Answers where to go on, and the entries.
    pub fn remove_where(
        &mut self,
        from: usize,
        count: usize,
        matches: impl Fn(&str) -> bool,
    ) -> (usize, Vec<Entry>) {
        let end = (from + count).min(self.slots.len());
        let hit = |slot: &usize| {
            self.slots[*slot]
                .as_ref()
                .is_some_and(|entry| matches(&entry.key))
        };
        let slots: Vec<usize> = (from..end).filter(hit).collect();
        (
            end,
            slots
                .into_iter()
                .filter_map(|slot| self.take(slot))
                .collect(),
        )
    }

    /// The entries in `count` positions from `from` on.
    pub fn slice(&self, from: usize, count: usize) -> impl Iterator<Item = &Entry> {
        let end = (from + count).min(self.slots.len());
        self.slots[from.min(end)..end].iter().flatten()
    }

    fn find(&self, key: &str) -> Option<usize> {
        let same = |&slot: &usize| {
            self.slots[slot]
                .as_ref()
                .is_some_and(|entry| *entry.key == *key)
        };
        self.table.find(self.hash(key), same).copied()
    }

    fn take(&mut self, slot: usize) -> Option<Entry> {
        let hash = self.hash(&self.slots[slot].as_ref()?.key);
        self.unlink(slot);
        if let Ok(place) = self.table.find_entry(hash, |&other| other == slot) {
            place.remove();
        }
        let entry = self.slots[slot].take()?;
        self.size -= entry.bytes();
        if self.table.is_empty() {
            // All memory of a large cache that was emptied goes back.
            (self.slots, self.free, self.table) = Default::default();
        } else {
            self.free.push(slot);
        }
        Some(entry)
    }

    fn link(&mut self, slot: usize) {
        let before = std::mem::replace(&mut self.newest, slot);
        match self.slots.get_mut(before).and_then(Option::as_mut) {
            Some(entry) => entry.newer = slot,
            None => self.oldest = slot,
        }
        if let Some(entry) = &mut self.slots[slot] {
            (entry.newer, entry.older) = (NONE, before);
        }
    }

    fn unlink(&mut self, slot: usize) {
        let Some((newer, older)) = self.slots[slot]
            .as_ref()
            .map(|entry| (entry.newer, entry.older))
        else {
            return;
        };
        match self.slots.get_mut(newer).and_then(Option::as_mut) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older).and_then(Option::as_mut) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}
