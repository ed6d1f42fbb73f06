//! The `ns_set` handles of an interpreter: `d0`, `d1`, ... A handle that was freed is an error, never a dangling set.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use shared::Set;

/// A set that a script can hold; the connection holds its header sets through the same reference.
pub type SetRef = Rc<RefCell<Set>>;

/// All sets of one interpreter.
#[derive(Default)]
pub struct SetTable {
    sets: HashMap<u64, SetRef>,
    /// Where a set lies in memory, to its number. The table holds the set, so the place cannot be taken by another one.
    numbers: HashMap<*const RefCell<Set>, u64>,
    /// Numbers below `next` that are free, the smallest first.
    free: BinaryHeap<Reverse<u64>>,
    next: u64,
}

impl SetTable {
    /// The handle of `set`; a set that is known keeps its handle.
    pub fn enter(&mut self, set: &SetRef) -> String {
        if let Some(id) = self.numbers.get(&Rc::as_ptr(set)) {
            return format!("d{id}");
        }
        // The lowest free number: a script that frees what it makes sees the same handles again.
        let id = match self.free.pop() {
            Some(Reverse(id)) => id,
            None => {
                self.next += 1;
                self.next - 1
            }
        };
        self.sets.insert(id, Rc::clone(set));
        self.numbers.insert(Rc::as_ptr(set), id);
        format!("d{id}")
    }

    /// A new set and its handle.
    pub fn create(&mut self, set: Set) -> String {
        self.enter(&Rc::new(RefCell::new(set)))
    }

    pub fn get(&self, handle: &str) -> Option<SetRef> {
        self.sets.get(&number(handle)?).cloned()
    }

    pub fn remove(&mut self, handle: &str) -> Option<SetRef> {
        let id = number(handle)?;
        let set = self.sets.remove(&id)?;
        self.numbers.remove(&Rc::as_ptr(&set));
        self.free.push(Reverse(id));
        Some(set)
    }

    /// Frees all sets (`ns_set cleanup`, and the end of a request).
    pub fn clear(&mut self) {
        self.sets.clear();
        self.numbers.clear();
        self.free.clear();
        self.next = 0;
    }

    /// `(handle, set)` of all, oldest first.
    pub fn list(&self) -> Vec<(String, SetRef)> {
        let mut all: Vec<_> = self.sets.iter().collect();
        all.sort_by_key(|(id, _)| **id);
        all.into_iter()
            .map(|(id, s)| (format!("d{id}"), Rc::clone(s)))
            .collect()
    }

    pub fn len(&self) -> usize {
        self.sets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

fn number(handle: &str) -> Option<u64> {
    let digits = handle
        .strip_prefix('d')
        .or_else(|| handle.strip_prefix('t'))?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_handles_are_unknown_and_numbers_are_used_again() {
        let mut t = SetTable::default();
        let a = t.create(Set::new("a"));
        let b = t.create(Set::new("b"));
        assert_eq!((a.as_str(), b.as_str()), ("d0", "d1"));
        assert!(t.remove(&a).is_some());
        assert!(t.get(&a).is_none());
        assert_eq!(t.create(Set::new("c")), "d0");
        assert_eq!(t.create(Set::new("e")), "d2");
        let again = t.get("d2").expect("it was just made");
        assert_eq!(t.enter(&again), "d2");
        assert!(
            t.get("d").is_none()
                && t.get("x1").is_none()
                && t.get("d99999999999999999999").is_none()
        );
    }
}
