//! Where the output of pages gathers: for the response, for `ns_adp_parse`, for the cache.

use std::sync::Arc;

/// The output of a page and of the pages it includes.
pub struct Output {
    pub text: String,
    pub kind: Kind,
}

/// What happens to output.
pub enum Kind {
    /// It is the response; sent in pieces when it grows or a script says so.
    Response {
        /// Something was sent already.
        begun: bool,
    },
    /// It becomes the result of a command.
    Captured,
    /// It is kept for other requests: what was output before each page that is not kept.
    Recorded(Vec<Piece>),
}

/// A part of cached output.
#[derive(Clone, Debug)]
pub enum Piece {
    Text(Arc<str>),
    /// A page that is included anew each time.
    Include(Included),
}

/// A page to include, with its arguments.
#[derive(Clone, Debug)]
pub struct Included {
    /// Absolute.
    pub path: String,
    pub args: Vec<String>,
    pub tagset: String,
    pub tcl: bool,
}

impl Output {
    pub fn new(kind: Kind) -> Output {
        Output {
            text: String::new(),
            kind,
        }
    }

    /// Keeps at most `length` bytes, and no half character.
    pub fn truncate(&mut self, length: usize) {
        let mut length = length.min(self.text.len());
        while !self.text.is_char_boundary(length) {
            length -= 1;
        }
        self.text.truncate(length);
    }
}

/// Cached output by page and arguments.
#[derive(Default)]
pub struct Kept {
    entries: parking_lot::Mutex<std::collections::HashMap<String, Entry>>,
}

struct Entry {
    pieces: Arc<[Piece]>,
    until: std::time::Instant,
    bytes: usize,
}

impl Kept {
    pub fn get(&self, key: &str) -> Option<Arc<[Piece]>> {
        let entries = self.entries.lock();
        let entry = entries.get(key)?;
        (std::time::Instant::now() < entry.until).then(|| Arc::clone(&entry.pieces))
    }

    /// Keeps output. Beyond the budget expired entries go first, then those that expire next.
    pub fn put(&self, key: String, pieces: Arc<[Piece]>, ttl: std::time::Duration, budget: usize) {
        let bytes = key.len() + pieces.iter().map(Piece::len).sum::<usize>();
        let now = std::time::Instant::now();
        let Some(until) = now.checked_add(ttl).filter(|_| bytes <= budget) else {
            return;
        };
        let mut entries = self.entries.lock();
        entries.remove(&key);
        let mut used: usize = entries.values().map(|e| e.bytes).sum();
        if used + bytes > budget {
            entries.retain(|_, e| e.until > now);
            used = entries.values().map(|e| e.bytes).sum();
        }
        while used + bytes > budget {
            let Some(next) = entries
                .iter()
                .min_by_key(|(_, e)| e.until)
                .map(|(k, _)| k.clone())
            else {
                break;
            };
            used -= entries.remove(&next).map_or(0, |e| e.bytes);
        }
        entries.insert(
            key,
            Entry {
                pieces,
                until,
                bytes,
            },
        );
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Text(t) => t.len(),
            Piece::Include(i) => i.path.len() + i.args.iter().map(String::len).sum::<usize>() + 64,
        }
    }
}
