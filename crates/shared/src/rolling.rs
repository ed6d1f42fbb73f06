//! Log files that roll: written by many threads, renamed with a number or a date, reopened on demand, nothing lost.

use crate::strftime;
use crate::time::Time;
use parking_lot::Mutex;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How a [`File`] buffers and rolls.
#[derive(Clone, Debug)]
pub struct Options {
    /// Lines kept in memory before they are written; 0 writes each line at once.
    pub max_lines: usize,
    /// How many rolled files are kept. 0 keeps none.
    pub max_backup: usize,
    /// A `strftime` pattern for the suffix of rolled files in place of numbers.
    pub roll_format: Option<String>,
}

/// A file that is appended to by many threads. Lines of different threads never mix.
pub struct File {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: fs::File,
    options: Options,
    buffer: Vec<u8>,
    lines: usize,
    /// Lines given up because the disk did not take them.
    lost: u64,
}

/// A buffer that could not be written is kept up to this many bytes; what comes then is counted as lost.
const MAX_UNWRITTEN: usize = 1 << 20;

/// More bytes than this are written at once, whatever `max_lines` says.
const WRITE_AT: usize = 64 << 10;

impl Default for Options {
    fn default() -> Options {
        Options {
            max_lines: 0,
            max_backup: 10,
            roll_format: None,
        }
    }
}

impl File {
    /// Opens a file for appending and makes it where there is none.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> io::Result<File> {
        let path = path.into();
        let file = append_to(&path)?;
        Ok(File {
            path,
            state: Mutex::new(State {
                file,
                options,
                buffer: Vec::new(),
                lines: 0,
                lost: 0,
            }),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes the options. Lines in memory stay there until the next write.
    pub fn set_options(&self, options: Options) {
        self.state.lock().options = options;
    }

    /// Appends bytes that end in a newline, `lines` lines of them. An error is that of this or an earlier line; the lines are
    /// kept and tried again with the next ones, up to 1 MiB.
    pub fn write(&self, text: &[u8], lines: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.buffer.is_empty()
            && state.buffer.len() + text.len() > MAX_UNWRITTEN
            && let Err(error) = state.write_out()
        {
            state.lost += lines as u64;
            return Err(error);
        }
        state.buffer.extend_from_slice(text);
        state.lines += lines;
        if state.lines > state.options.max_lines
            || state.options.max_lines == 0
            || state.buffer.len() > WRITE_AT
        {
            state.write_out()?;
        }
        Ok(())
    }

    /// Appends a line; the newline is added.
    pub fn write_line(&self, line: &str) -> io::Result<()> {
        let mut text = Vec::with_capacity(line.len() + 1);
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
        self.write(&text, 1)
    }

    /// Writes what is in memory.
    pub fn flush(&self) -> io::Result<()> {
        self.state.lock().write_out()
    }

    /// Lines given up because the disk did not take them.
    pub fn lost(&self) -> u64 {
        self.state.lock().lost
    }

    /// Renames the file by its options and goes on with a new one. Writers wait meanwhile and lose nothing; if no new file can
    /// be opened they go on writing to the renamed one.
    pub fn roll(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.write_out()?;
        roll(
            &self.path,
            state.options.max_backup,
            state.options.roll_format.as_deref(),
        )?;
        state.file = append_to(&self.path)?;
        Ok(())
    }

    /// Opens the path anew, after somebody else renamed the file.
    pub fn reopen(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        let written = state.write_out();
        state.file = append_to(&self.path)?;
        written
    }
}

/// The end of a log file must not lose its last lines.
impl Drop for File {
    fn drop(&mut self) {
        // Nobody is left to hear of an error.
        let _ = self.state.get_mut().write_out();
    }
}

impl State {
    fn write_out(&mut self) -> io::Result<()> {
        let mut written = 0;
        let result = loop {
            if written == self.buffer.len() {
                break Ok(());
            }
            match self.file.write(&self.buffer[written..]) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        if result.is_ok() {
            self.buffer.clear();
            self.lines = 0;
        } else {
            self.buffer.drain(..written);
        }
        result
    }
}

/// Renames `path` to `path.000`, after `path.000` became `path.001` and so on, or to `path.DATE` with a `strftime` pattern.
/// Keeps `max_backup` rolled files. A file that does not exist is not rolled.
pub fn roll(path: &Path, max_backup: usize, format: Option<&str>) -> io::Result<()> {
    if !path.try_exists()? {
        return Ok(());
    }
    match format.filter(|format| !format.is_empty()) {
        None => roll_by_number(path, max_backup),
        Some(format) => {
            let date = strftime::local(Time::now().sec)
                .format(format)
                .ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!("invalid format for rolled files: {format}"),
                    )
                })?;
            // A date with a slash would move the file to another directory.
            let dated = with_suffix(path, &date.replace('/', "-"));
            if dated.try_exists()? {
                roll_by_number(&dated, max_backup)?;
            }
            fs::rename(path, &dated)?;
            purge(path, max_backup)
        }
    }
}

/// Removes the oldest of the files that are named `path` and a suffix, until `keep` are left.
pub fn purge(path: &Path, keep: usize) -> io::Result<()> {
    let mut rolled = Vec::new();
    let Some(name) = path.file_name() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut prefix = name.to_os_string();
    prefix.push(".");
    for entry in fs::read_dir(directory(path))? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(prefix.as_encoded_bytes())
        {
            let about = entry.metadata()?;
            if about.is_file() {
                rolled.push((about.modified()?, entry.path()));
            }
        }
    }
    rolled.sort();
    for (_, path) in rolled.iter().take(rolled.len().saturating_sub(keep)) {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn roll_by_number(path: &Path, max_backup: usize) -> io::Result<()> {
    let numbered = |n: usize| with_suffix(path, &format!("{n:03}"));
    // Three digits, as the reference: 000 to 999.
    let max_backup = max_backup.min(1000);
    if max_backup == 0 {
        return fs::remove_file(path);
    }
    let mut free = 0;
    while free < max_backup && numbered(free).try_exists()? {
        free += 1;
    }
    if free == max_backup {
        free -= 1;
        fs::remove_file(numbered(free))?;
    }
    for n in (0..free).rev() {
        fs::rename(numbered(n), numbered(n + 1))?;
    }
    fs::rename(path, numbered(0))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(suffix);
    name.into()
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn append_to(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn numbers_grow_with_age() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        for content in ["1", "2", "3"] {
            fs::write(&path, content).expect("writable");
            roll(&path, 2, None).expect("it rolls");
        }
        assert!(!path.exists());
        assert_eq!(text(&dir.path().join("log.000")), "3");
        assert_eq!(text(&dir.path().join("log.001")), "2");
        assert!(!dir.path().join("log.002").exists());
        roll(&path, 2, None).expect("nothing to roll is no error");
    }

    #[test]
    fn dates_are_numbered_within_their_grain() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        for content in ["1", "2"] {
            fs::write(&path, content).expect("writable");
            roll(&path, 5, Some("x%%y")).expect("it rolls");
        }
        assert_eq!(text(&dir.path().join("log.x%y")), "2");
        assert_eq!(text(&dir.path().join("log.x%y.000")), "1");
        fs::write(&path, "3").expect("writable");
        assert!(roll(&path, 5, Some("%Q")).is_err());
    }

    #[test]
    fn purging_spares_other_files() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["log", "log.000", "log.001", "log.002", "logbook"] {
            fs::write(dir.path().join(name), "x").expect("writable");
        }
        purge(&dir.path().join("log"), 1).expect("it purges");
        assert!(dir.path().join("logbook").exists() && dir.path().join("log").exists());
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 3);
    }

    #[test]
    fn nothing_is_lost_while_rolling() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let file = File::open(
            &path,
            Options {
                max_lines: 3,
                max_backup: 1000,
                roll_format: None,
            },
        )
        .expect("it opens");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    for line in 0..500 {
                        file.write_line(&format!("{writer} {line}"))
                            .expect("written");
                    }
                });
            }
            for _ in 0..20 {
                file.roll().expect("it rolls");
                file.reopen().expect("it reopens");
            }
        });
        drop(file);
        let mut lines: Vec<String> = fs::read_dir(dir.path())
            .expect("readable")
            .flat_map(|entry| {
                text(&entry.expect("an entry").path())
                    .lines()
                    .map(String::from)
                    .collect::<Vec<_>>()
            })
            .collect();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 2000);
    }
}
