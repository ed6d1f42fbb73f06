//! Plain files: their state, opened without waiting, and pieces of their content.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use net::{Content, Part};
use rustix::fs::{Mode, OFlags};

/// What identifies the content of a file as long as nobody changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    pub len: u64,
    seconds: i64,
    nanoseconds: i64,
    inode: u64,
    device: u64,
}

/// What is at a path; links are followed.
pub(super) enum Kind {
    File(FileState),
    Directory,
    /// Devices, sockets, named pipes: reading them may never end.
    Other,
}

/// The content of a file.
#[derive(Clone)]
pub(super) enum Loaded {
    Memory(Bytes),
    Open { file: Arc<File>, len: u64 },
}

impl FileState {
    fn new(m: &std::fs::Metadata) -> FileState {
        FileState {
            len: m.len(),
            seconds: m.mtime(),
            nanoseconds: m.mtime_nsec(),
            inode: m.ino(),
            device: m.dev(),
        }
    }

    /// Seconds since 1970.
    pub fn modified(&self) -> i64 {
        self.seconds
    }

    pub fn is_older_than(&self, other: &FileState) -> bool {
        (self.seconds, self.nanoseconds) < (other.seconds, other.nanoseconds)
    }

    /// Changed so short ago that the next change could carry the same time stamp.
    pub fn is_fresh(&self, now: i64) -> bool {
        self.seconds >= now - 1
    }

    /// A tag from time and size, which are the same on all machines with a copy of the file.
    pub fn etag(&self, variant: &str) -> String {
        let dash = if variant.is_empty() { "" } else { "-" };
        format!(
            "\"{:x}.{:x}-{:x}{dash}{variant}\"",
            self.seconds, self.nanoseconds, self.len
        )
    }
}

/// Errors: those of `stat`.
pub(super) fn kind(path: &Path) -> io::Result<Kind> {
    Ok(classify(&std::fs::metadata(path)?))
}

/// Opens a plain file.
///
/// Errors: those of `open`; `NotFound` for what is no plain file.
pub(super) fn open(path: &Path) -> io::Result<Loaded> {
    let (file, state) = open_plain(path)?;
    Ok(Loaded::Open {
        file: Arc::new(file),
        len: state.len,
    })
}

/// Reads a whole plain file into memory; its state is that of the moment before.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<(Loaded, FileState)> {
    let (file, state) = open_plain(path)?;
    // It may have grown since it was looked at; a large one is sent from the file.
    let Some(len) = usize::try_from(state.len)
        .ok()
        .filter(|_| state.len <= limit)
    else {
        return Ok((
            Loaded::Open {
                file: Arc::new(file),
                len: state.len,
            },
            state,
        ));
    };
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, 0)?;
    Ok((Loaded::Memory(Bytes::from(bytes)), state))
}

/// Does the error mean that there is nothing for this client? Files that may not be read look absent from outside.
pub(super) fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(
        error.kind(),
        NotFound | NotADirectory | PermissionDenied | InvalidFilename | InvalidInput
    ) || matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NAMETOOLONG | rustix::io::Errno::NXIO)
    )
}

impl Loaded {
    pub fn len(&self) -> u64 {
        match self {
            Loaded::Memory(bytes) => bytes.len() as u64,
            Loaded::Open { len, .. } => *len,
        }
    }

    /// A piece that lies within the content.
    pub fn slice(&self, offset: u64, len: u64) -> Content {
        if len == 0 {
            return Content::Empty;
        }
        match self.part(offset, len) {
            Part::Bytes(bytes) => Content::Bytes(bytes),
            Part::File { file, offset, len } => Content::File { file, offset, len },
        }
    }

    /// The same as a piece of several.
    pub fn part(&self, offset: u64, len: u64) -> Part {
        match self {
            Loaded::Memory(bytes) => {
                Part::Bytes(bytes.slice(offset as usize..(offset + len) as usize))
            }
            Loaded::Open { file, .. } => Part::File {
                file: Arc::clone(file),
                offset,
                len,
            },
        }
    }
}

fn classify(metadata: &std::fs::Metadata) -> Kind {
    if metadata.is_file() {
        Kind::File(FileState::new(metadata))
    } else if metadata.is_dir() {
        Kind::Directory
    } else {
        Kind::Other
    }
}

/// Opens without waiting for the other end of a pipe, should somebody have put one there since the file was looked at.
fn open_plain(path: &Path) -> io::Result<(File, FileState)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match classify(&file.metadata()?) {
        Kind::File(state) => Ok((file, state)),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}
