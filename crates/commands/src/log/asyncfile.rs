//! ns_asynclogfile: files that a thread of their own writes, so that scripts do not wait for the disk.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use synopsis::{Int, MAX, choice, commands};
use tcl::{Exit, Obj, Outcome};

use crate::kinds::context;

choice! {
    enum Sanitize { None = "0", Full = "1", Human = "2", Tabs = "3" }
}

commands! { TABLE(call):

    /// Opens a file for writing; its handle is a number.
    "ns_asynclogfile open" (filename: String, mode: Option<Obj>) => open(&filename, mode);

    /// Writes a line to such a file.
    "ns_asynclogfile write" [-binary: bool, -sanitize: Option<Sanitize>] (fd: Int<0, MAX>, line: Obj)
        => {
            let level = sanitize.map_or_else(|| context(call).process.settings().sanitizelogfiles.get(), |s| s as i64);
            write(*fd, &line, binary, level)
        };

    /// Closes such a file after all that was written.
    "ns_asynclogfile close" (fd: Int<0, MAX>) => close(*fd);

    /// What was written so far.
    "ns_asynclogfile stats" => stats();
}

/// Writes that may wait; then writers wait for the disk after all.
const WAITING: usize = 4096;

type Shared = Arc<Mutex<File>>;

static FILES: LazyLock<Mutex<HashMap<i64, Shared>>> = LazyLock::new(Mutex::default);
static QUEUE: LazyLock<Mutex<Option<SyncSender<(Shared, Vec<u8>)>>>> =
    LazyLock::new(Mutex::default);
static LINES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);

fn open(filename: &str, mode: Option<Obj>) -> Outcome {
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o644);
    let (mut append, mut flags) = (false, 0);
    for word in mode.map(|m| m.elements()).transpose()?.unwrap_or_default() {
        match word.text().as_str() {
            "APPEND" => append = true,
            "EXCL" => {
                options.create_new(true);
            }
            "TRUNC" => {
                options.truncate(true);
            }
            // Linux numbers: O_DSYNC, O_SYNC.
            "DSYNC" => flags |= 0o10000,
            "SYNC" => flags |= 0o4_010_000,
            other => {
                let message =
                    format!("bad mode \"{other}\": must be APPEND, EXCL, DSYNC, SYNC, or TRUNC");
                return Err(tcl::error(message));
            }
        }
    }
    options.append(append).custom_flags(flags);
    let file = options
        .open(filename)
        .map_err(|e| tcl::error(format!("couldn't open file \"{filename}\": {e}")))?;
    let handle = i64::from(file.as_raw_fd());
    FILES.lock().insert(handle, Arc::new(Mutex::new(file)));
    Ok(Obj::from(handle))
}

fn find(fd: i64) -> Result<Shared, Exit> {
    FILES
        .lock()
        .get(&fd)
        .cloned()
        .ok_or_else(|| tcl::error(format!("no such log file: {fd}")))
}

fn write(fd: i64, line: &Obj, binary: bool, level: i64) -> Outcome<()> {
    let file = find(fd)?;
    let bytes = if binary {
        line.byte_values().unwrap_or_else(|| line.to_bytes())
    } else {
        sanitized(&line.text(), level).into_bytes()
    };
    let sender = queue()?;
    sender
        .send((file, bytes))
        .map_err(|_| tcl::error("ns_asynclogfile: the writer has ended"))
}

fn close(fd: i64) -> Outcome<()> {
    // The writer holds the file as long as something waits for it; the last holder closes it.
    FILES
        .lock()
        .remove(&fd)
        .map(drop)
        .ok_or_else(|| tcl::error(format!("no such log file: {fd}")))
}

fn stats() -> Obj {
    let pairs = [
        ("files", FILES.lock().len() as u64),
        ("lines", LINES.load(Ordering::Relaxed)),
        ("bytes", BYTES.load(Ordering::Relaxed)),
        ("errors", FAILED.load(Ordering::Relaxed)),
    ];
    Obj::dict(pairs.map(|(k, v)| (Obj::from(k), Obj::from(v))))
}

fn queue() -> Result<SyncSender<(Shared, Vec<u8>)>, Exit> {
    let mut queue = QUEUE.lock();
    if let Some(sender) = queue.as_ref() {
        return Ok(sender.clone());
    }
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::Builder::new()
        .name("-asynclogwriter-".to_owned())
        .spawn(move || {
            shared::thread::set_name("-asynclogwriter-");
            work(&receiver);
        })
        .map_err(|e| tcl::error(format!("ns_asynclogfile: cannot start a thread: {e}")))?;
    *queue = Some(sender.clone());
    Ok(sender)
}

fn work(receiver: &Receiver<(Shared, Vec<u8>)>) {
    while let Ok((file, bytes)) = receiver.recv() {
        match file.lock().write_all(&bytes) {
            Ok(()) => {
                LINES.fetch_add(1, Ordering::Relaxed);
                BYTES.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            // One line of the log for the first failure: a full disk would fill the log as well.
            Err(e) if FAILED.fetch_add(1, Ordering::Relaxed) == 0 => {
                shared::error!("ns_asynclogfile: {e}")
            }
            Err(_) => {}
        }
    }
}

/// As `sanitizelogfiles`: 0 nothing; 1 every control character as `\xNN`; 2 line ends stay and mark what follows; 3 as 2
/// with tabs expanded. The line end that the caller put at the end stays.
fn sanitized(line: &str, level: i64) -> String {
    if level == 0 {
        return line.to_owned();
    }
    let (body, end) = line
        .strip_suffix('\n')
        .map_or((line, ""), |body| (body, "\n"));
    let mut text = String::with_capacity(line.len() + 8);
    for c in body.chars() {
        match c {
            '\n' if level > 1 => text.push_str("\n:    "),
            '\t' if level == 2 => text.push('\t'),
            '\t' if level == 3 => text.push_str("        "),
            c if c.is_control() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push_str(end);
    text
}

#[cfg(test)]
mod tests {
    use super::sanitized;

    #[test]
    fn no_line_can_be_forged() {
        assert_eq!(sanitized("a\n[x] b\tc\n", 2), "a\n:    [x] b\tc\n");
        assert_eq!(sanitized("a\nb\x1b\n", 1), "a\\x0ab\\x1b\n");
        assert_eq!(sanitized("a\tb", 3), "a        b");
        assert_eq!(sanitized("a\nb", 0), "a\nb");
    }
}
