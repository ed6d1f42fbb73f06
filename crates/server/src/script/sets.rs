//! The `ns_set` handles of an interpreter: `d0`, `d1`, ... A handle that was freed is an error, never a dangling set.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use shared::Set;

/// A set that a script can hold; the connection holds its header sets through the same reference.
pub type SetRef = Rc<RefCell<Set>>;

/// All sets of one interpreter.
#[derive(Default)]
pub struct SetTable {
    sets: HashMap<u64, SetRef>,
    next: u64,
}

impl SetTable {
    /// The handle of `set`; a set that is known keeps its handle.
    pub fn enter(&mut self, set: &SetRef) -> String {
        if let Some((id, _)) = self.sets.iter().find(|(_, s)| Rc::ptr_eq(s, set)) {
            return format!("d{id}");
        }
        // The lowest free number: a script that frees what it makes sees the same handles again.
        let id = (0..).find(|id| !self.sets.contains_key(id)).unwrap_or(self.next);
        self.next = self.next.max(id + 1);
        self.sets.insert(id, Rc::clone(set));
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
        self.sets.remove(&number(handle)?)
    }

    /// Frees all sets (`ns_set cleanup`, and the end of a request).
    pub fn clear(&mut self) {
        self.sets.clear();
        self.next = 0;
    }

    /// `(handle, set)` of all, oldest first.
    pub fn list(&self) -> Vec<(String, SetRef)> {
        let mut all: Vec<_> = self.sets.iter().collect();
        all.sort_by_key(|(id, _)| **id);
        all.into_iter().map(|(id, s)| (format!("d{id}"), Rc::clone(s))).collect()
    }

    pub fn len(&self) -> usize {
        self.sets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

fn number(handle: &str) -> Option<u64> {
    let digits = handle.strip_prefix('d').or_else(|| handle.strip_prefix('t'))?;
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
        assert!(t.get("d").is_none() && t.get("x1").is_none() && t.get("d99999999999999999999").is_none());
    }
}
