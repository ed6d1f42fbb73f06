//! The severities of the system log: eight known ones and those that scripts add.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// A severity, known by its number. Turned on and off for the whole process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(u16);

pub const NOTICE: Severity = Severity(0);
pub const WARNING: Severity = Severity(1);
pub const ERROR: Severity = Severity(2);
pub const FATAL: Severity = Severity(3);
pub const BUG: Severity = Severity(4);
pub const DEBUG: Severity = Severity(5);
pub const DEPRECATED: Severity = Severity(6);
pub const DEV: Severity = Severity(7);

const KNOWN: [&str; 8] = [
    "Notice",
    "Warning",
    "Error",
    "Fatal",
    "Bug",
    "Debug",
    "Deprecated",
    "Dev",
];

/// How many severities there can be; scripts cannot fill the memory with them.
const LIMIT: usize = 640;

static NAMES: RwLock<Vec<Arc<str>>> = RwLock::new(Vec::new());
static ENABLED: [AtomicBool; LIMIT] = {
    let on = [true, true, true, true, true, false, true, false];
    let mut all = [const { AtomicBool::new(false) }; LIMIT];
    let mut i = 0;
    while i < on.len() {
        all[i] = AtomicBool::new(on[i]);
        i += 1;
    }
    all
};
static COUNTS: [AtomicU64; LIMIT] = [const { AtomicU64::new(0) }; LIMIT];
/// The ANSI number of the color, and 128 for a bright one.
static COLORS: [AtomicU8; LIMIT] = {
    let colors = [39, 33, 128 + 31, 128 + 31, 128 + 31, 34, 33, 32];
    let mut all = [const { AtomicU8::new(39) }; LIMIT];
    let mut i = 0;
    while i < colors.len() {
        all[i] = AtomicU8::new(colors[i]);
        i += 1;
    }
    all
};

/// The severity of this name, without regard to case.
pub fn severity(name: &str) -> Option<Severity> {
    severities()
        .into_iter()
        .find(|severity| severity.name().eq_ignore_ascii_case(name))
}

/// The severity of this name, made (and off) where there is none. `None`: there are 640 already.
pub fn register(name: &str) -> Option<Severity> {
    if let Some(known) = severity(name) {
        return Some(known);
    }
    let mut names = NAMES.write();
    if let Some(added) = names
        .iter()
        .position(|other| other.eq_ignore_ascii_case(name))
    {
        return Some(Severity((KNOWN.len() + added) as u16));
    }
    let number = KNOWN.len() + names.len();
    if number >= LIMIT {
        return None;
    }
    names.push(name.into());
    Some(Severity(number as u16))
}

/// All severities, the eight known ones first.
pub fn severities() -> Vec<Severity> {
    (0..KNOWN.len() + NAMES.read().len())
        .map(|number| Severity(number as u16))
        .collect()
}

impl Severity {
    /// By its place in [`severities`], the way scripts may give it.
    pub fn by_number(number: usize) -> Option<Severity> {
        severities().get(number).copied()
    }

    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    pub fn name(self) -> Arc<str> {
        match KNOWN.get(self.number()) {
            Some(&known) => known.into(),
            None => NAMES
                .read()
                .get(self.number() - KNOWN.len())
                .cloned()
                .unwrap_or_else(|| "?".into()),
        }
    }

    pub fn is_enabled(self) -> bool {
        ENABLED[self.number()].load(Ordering::Relaxed)
    }

    /// Answers what it was before.
    pub fn set_enabled(self, on: bool) -> bool {
        ENABLED[self.number()].swap(on, Ordering::Relaxed)
    }

    /// Messages logged with it since the start.
    pub fn count(self) -> u64 {
        COUNTS[self.number()].load(Ordering::Relaxed)
    }

    pub fn color(self) -> (super::Color, super::Intensity) {
        let packed = COLORS[self.number()].load(Ordering::Relaxed);
        let bright = if packed >= 128 {
            super::Intensity::Bright
        } else {
            super::Intensity::Normal
        };
        (super::Color::from_ansi(packed & 127), bright)
    }

    /// Used where [`super::Format::colorize`] is on.
    pub fn set_color(self, color: super::Color, intensity: super::Intensity) {
        let bright = if intensity == super::Intensity::Bright {
            128
        } else {
            0
        };
        COLORS[self.number()].store(color.ansi() + bright, Ordering::Relaxed);
    }

    pub(super) fn count_one(self) {
        COUNTS[self.number()].fetch_add(1, Ordering::Relaxed);
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl std::fmt::Debug for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}
