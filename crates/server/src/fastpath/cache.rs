//! Small files in memory, within a budget of bytes, and descriptors of larger ones; the least recently used ones go first.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::file::{self, FileState, Loaded};

/// Contents of small files and open descriptors of larger ones, shared by all servers. Each use is checked against the
/// state of the file: one `stat` per request instead of opening, looking and closing.
pub struct FileCache {
    max_bytes: u64,
    max_entry: u64,
    /// A file that was looked at so short ago is not looked at again.
    check: Duration,
    state: Mutex<State>,
}

/// Numbers for `ns_fastpath_cache_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    pub max_bytes: u64,
    pub bytes: u64,
    pub entries: usize,
    pub hits: u64,
    pub misses: u64,
    /// Entries thrown out because their files had changed.
    pub flushed: u64,
    /// Entries thrown out for want of room.
    pub pruned: u64,
}

#[derive(Default)]
struct State {
    /// By the bytes of the path: a path as such is hashed component by component.
    entries: HashMap<Arc<OsStr>, Entry>,
    /// By the turn of their last use.
    uses: BTreeMap<u64, Arc<OsStr>>,
    turn: u64,
    bytes: u64,
    /// Descriptors.
    open: usize,
    stats: CacheStats,
}

struct Entry {
    file: FileState,
    content: Loaded,
    /// When the file was last looked at.
    checked: Instant,
    turn: u64,
}

/// Most descriptors kept open.
const MOST_OPEN: usize = 256;

/// What an entry costs besides content and twice its name, roughly.
const OVERHEAD: u64 = 200;

impl FileCache {
    /// Sizes in bytes: of everything (`cachemaxsize`), and of the largest file that is kept (`cachemaxentry`).
    pub fn new(max_bytes: u64, max_entry: u64) -> FileCache {
        FileCache {
            max_bytes,
            max_entry: max_entry.min(max_bytes),
            check: Duration::ZERO,
            state: Mutex::default(),
        }
    }

    /// Looks at a file only when the last look is `check` ago (`cachecheck`); changes are noticed that much later.
    pub fn checking_every(self, check: Duration) -> FileCache {
        FileCache { check, ..self }
    }

    /// The state of a file that was looked at short enough ago.
    pub(super) fn recent(&self, path: &Path) -> Option<FileState> {
        if self.check.is_zero() {
            return None;
        }
        let state = self.state.lock();
        let entry = state.entries.get(path.as_os_str())?;
        (entry.checked.elapsed() < self.check).then_some(entry.file)
    }

    pub fn stats(&self) -> CacheStats {
        let state = self.state.lock();
        CacheStats {
            max_bytes: self.max_bytes,
            bytes: state.bytes,
            entries: state.entries.len(),
            ..state.stats
        }
    }

    /// Sets the counters to zero.
    pub fn reset_stats(&self) {
        self.state.lock().stats = CacheStats::default();
    }

    /// Names and sizes of what is kept, most recently used first.
    pub fn contents(&self) -> Vec<(String, u64)> {
        let state = self.state.lock();
        let newest_first = state.uses.values().rev();
        newest_first
            .map(|p| {
                (
                    p.to_string_lossy().into_owned(),
                    state.entries[p].content.len(),
                )
            })
            .collect()
    }

    pub fn clear(&self) {
        let mut state = self.state.lock();
        *state = State {
            stats: state.stats,
            ..State::default()
        };
    }

    /// The content of a file that was just looked at, from memory if it is there and the same.
    pub(super) fn load(&self, path: &Path, current: FileState, now: i64) -> io::Result<Loaded> {
        let looked = (!self.check.is_zero()).then_some(self.check);
        if let Some(content) = self.state.lock().find(path, &current, looked) {
            return Ok(content);
        }
        // Two requests may read the same file at the same time; waiting for each other would cost more.
        let (loaded, read) = file::read(path, self.max_entry)?;
        // An open file is read anew each time; only a copy may miss a change that leaves no trace.
        let lasting = matches!(loaded, Loaded::Open { .. }) || !read.is_fresh(now);
        if read == current && lasting {
            let mut state = self.state.lock();
            state.insert(path, read, loaded.clone(), self.max_bytes);
        }
        Ok(loaded)
    }

    /// The file is gone: its content and its descriptor need not wait for their turn.
    pub(super) fn forget(&self, path: &Path) {
        self.state.lock().remove(path);
    }
}

impl State {
    fn find(
        &mut self,
        path: &Path,
        current: &FileState,
        check: Option<Duration>,
    ) -> Option<Loaded> {
        let some = self.entries.len() as u64 / 4;
        let Some(entry) = self.entries.get_mut(path.as_os_str()) else {
            self.stats.misses += 1;
            return None;
        };
        if entry.file != *current {
            self.stats.misses += 1;
            self.stats.flushed += 1;
            self.remove(path);
            return None;
        }
        self.stats.hits += 1;
        // Whoever asks has looked at the file, unless the last look was recent enough.
        if check.is_some_and(|check| entry.checked.elapsed() >= check) {
            entry.checked = Instant::now();
        }
        // What is used all the time stays among the young ones without being moved each time.
        if self.turn - entry.turn > some {
            self.turn += 1;
            let name = self.uses.remove(&entry.turn)?;
            entry.turn = self.turn;
            self.uses.insert(self.turn, name);
        }
        Some(entry.content.clone())
    }

    fn insert(&mut self, path: &Path, file: FileState, content: Loaded, budget: u64) {
        self.remove(path);
        let cost = cost(path, &content);
        let open = usize::from(matches!(content, Loaded::Open { .. }));
        if cost > budget {
            return;
        }
        while self.bytes + cost > budget || (open > 0 && self.open >= MOST_OPEN) {
            let Some((_, oldest)) = self.uses.first_key_value() else {
                break;
            };
            let oldest = Arc::clone(oldest);
            self.remove(Path::new(&*oldest));
            self.stats.pruned += 1;
        }
        self.turn += 1;
        let name: Arc<OsStr> = Arc::from(path.as_os_str());
        self.uses.insert(self.turn, Arc::clone(&name));
        self.entries.insert(
            name,
            Entry {
                file,
                content,
                checked: Instant::now(),
                turn: self.turn,
            },
        );
        self.bytes += cost;
        self.open += open;
    }

    fn remove(&mut self, path: &Path) {
        if let Some(entry) = self.entries.remove(path.as_os_str()) {
            self.uses.remove(&entry.turn);
            self.bytes -= cost(path, &entry.content);
            self.open -= usize::from(matches!(entry.content, Loaded::Open { .. }));
        }
    }
}

fn cost(path: &Path, content: &Loaded) -> u64 {
    let bytes = match content {
        Loaded::Memory(bytes) => bytes.len() as u64,
        Loaded::Open { .. } => 0,
    };
    bytes + path.as_os_str().len() as u64 + OVERHEAD
}
