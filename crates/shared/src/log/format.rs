//! How a message becomes a line: `[21/Nov/2026:09:18:10][pid.thread][-name-] Severity: text`.

use super::Entry;
use crate::strftime;
use crate::time::Time;
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

/// The parameters of section `ns/parameters` that shape lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// `logsec`: the date and time.
    pub seconds: bool,
    /// `logusec`: microseconds behind the seconds.
    pub micros: bool,
    /// `logusecdiff`: the time since the line before, in seconds with microseconds.
    pub difference: bool,
    /// `logrelative`: seconds since the start of the log in place of the date.
    pub relative: bool,
    /// `logthread`: the ids of process and thread.
    pub thread: bool,
    /// `logexpanded`: an empty line behind each message.
    pub expanded: bool,
    /// `logcolorize`: colors by ANSI codes.
    pub colorize: bool,
    /// `logprefixcolor`, `logprefixintensity`: the color of what stands in front of the severity.
    pub prefix: (Color, Intensity),
    /// `sanitizelogfiles`: 0 writes messages as they are; 1 escapes every control character as `\xNN`; 2 leaves line ends,
    /// marking the lines that follow, and tabs; 3 is 2 with tabs expanded. All but 0 make it impossible to forge a line.
    pub sanitize: u8,
    /// `logdeduplicate`: a run of equal messages of a thread is written once, then counted.
    pub deduplicate: bool,
}

/// The eight colors of a terminal, and its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    Black,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    Gray,
    Default,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intensity {
    Normal,
    Bright,
}

impl Default for Format {
    fn default() -> Format {
        Format {
            seconds: true,
            micros: false,
            difference: false,
            relative: false,
            thread: true,
            expanded: false,
            colorize: false,
            prefix: (Color::Green, Intensity::Normal),
            sanitize: 2,
            deduplicate: false,
        }
    }
}

impl Color {
    /// By the names the configuration uses.
    pub const NAMES: [(&str, Color); 9] = [
        ("black", Color::Black),
        ("red", Color::Red),
        ("green", Color::Green),
        ("yellow", Color::Yellow),
        ("blue", Color::Blue),
        ("magenta", Color::Magenta),
        ("cyan", Color::Cyan),
        ("gray", Color::Gray),
        ("default", Color::Default),
    ];

    pub(super) fn ansi(self) -> u8 {
        if self == Color::Default {
            39
        } else {
            30 + self as u8
        }
    }

    pub(super) fn from_ansi(number: u8) -> Color {
        match number {
            30..=37 => Color::NAMES[usize::from(number - 30)].1,
            _ => Color::Default,
        }
    }
}

/// What starts a line that continues a message, so that it cannot be taken for a message of its own.
pub(super) const CONTINUATION: &str = "\n:    ";

static STARTED: LazyLock<Time> = LazyLock::new(Time::now);
/// The time of the line before, of any thread, in microseconds; 0 before the first one.
static LAST: AtomicI64 = AtomicI64::new(0);

impl Format {
    /// Appends the line of a message, with its newline.
    pub(super) fn append(&self, out: &mut String, entry: &Entry) {
        let started = *STARTED;
        if self.colorize {
            paint(out, self.prefix);
        }
        let before = LAST.swap(entry.time.micros(), Ordering::Relaxed);
        if self.relative {
            let since = (entry.time - started).to_duration();
            let _ = write!(out, "[{}.{:06}", since.as_secs(), since.subsec_micros());
        } else if self.seconds || self.micros || self.difference {
            out.push('[');
            append_date(out, entry.time.sec);
            if self.micros {
                let _ = write!(out, ".{:06}", entry.time.usec);
            }
        }
        if self.difference {
            let difference = if before == 0 {
                0
            } else {
                entry.time.micros().saturating_sub(before).max(0)
            };
            let _ = write!(
                out,
                "-{}.{:06}",
                difference / 1_000_000,
                difference % 1_000_000
            );
        }
        if self.relative || self.seconds || self.micros || self.difference {
            out.push(']');
        }
        if self.thread {
            let _ = write!(out, "[{}.{:x}]", std::process::id(), entry.tid);
        }
        out.push('[');
        sanitize(out, &entry.thread, 1);
        out.push_str("] ");
        if self.colorize {
            out.push_str("\x1b[0m");
            paint(out, entry.severity.color());
        }
        sanitize(out, &entry.severity.name(), 1);
        out.push_str(": ");
        sanitize(out, &entry.message, self.sanitize);
        if self.colorize {
            out.push_str("\x1b[0m");
        }
        out.push_str(if self.expanded { "\n\n" } else { "\n" });
    }
}

/// Escapes control characters by the levels of [`Format::sanitize`]. Newlines at the end are dropped but at level 0.
pub(super) fn sanitize(out: &mut String, text: &str, level: u8) {
    if level == 0 {
        out.push_str(text);
        return;
    }
    let mut column = 0;
    for c in text.trim_end_matches(['\r', '\n']).chars() {
        column += 1;
        match c {
            '\n' if level >= 2 => {
                out.push_str(CONTINUATION);
                column = 0;
            }
            '\t' if level == 2 => out.push(c),
            '\t' if level >= 3 => {
                let width = 8 - (column - 1) % 8;
                out.extend(std::iter::repeat_n(' ', width));
                column += width - 1;
            }
            // Line and paragraph separators end lines in some viewers; bidirectional overrides reorder what is seen.
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escape(out, c)
            }
            c if c.is_control() => escape(out, c),
            c => out.push(c),
        }
    }
}

fn escape(out: &mut String, c: char) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

fn paint(out: &mut String, (color, intensity): (Color, Intensity)) {
    let _ = write!(
        out,
        "\x1b[{};{}m",
        u8::from(intensity == Intensity::Bright),
        color.ansi()
    );
}

/// The date changes once a second; the zone look-up is the price of a line otherwise.
fn append_date(out: &mut String, second: i64) {
    thread_local! {
        static DATE: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    let cached = DATE.try_with(|date| {
        let mut date = date.borrow_mut();
        if date.0 != second {
            *date = (second, strftime::clf_date(&strftime::local(second)));
        }
        out.push_str(&date.1);
    });
    if cached.is_err() {
        out.push_str(&strftime::clf_date(&strftime::utc(second)));
    }
}
