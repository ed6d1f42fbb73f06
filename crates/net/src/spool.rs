//! Request bodies, and streams whose clients are slow, in files. Bodies are written block by block on the runtime's blocking threads, so that a slow disk holds up
//! one upload and not its driver.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::{Bytes, BytesMut};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::output::Segment;

/// Bytes collected before they are written. Two blocks per upload are in memory: one being filled, one being written.
const BLOCK: usize = 64 * 1024;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A request body in a file, which is removed when this value is dropped.
#[derive(Debug)]
pub struct SpooledFile {
    path: PathBuf,
    len: u64,
}

impl SpooledFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Opens it for reading, at its beginning.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl Drop for SpooledFile {
    fn drop(&mut self) {
        // The application may have moved the file away; that is no fault.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A body on its way into a file.
pub(crate) struct Spool {
    file: Arc<File>,
    block: BytesMut,
    writing: Option<JoinHandle<io::Result<()>>>,
    /// Declared last: the file is removed if the upload is given up.
    spooled: SpooledFile,
}

impl Spool {
    /// Creates the file under `directory`, readable by its owner only.
    pub async fn create(directory: &Path) -> io::Result<Spool> {
        let directory = directory.to_owned();
        let (file, path) = blocking(move || create(&directory)).await?;
        Ok(Spool {
            file: Arc::new(file),
            block: BytesMut::new(),
            writing: None,
            spooled: SpooledFile { path, len: 0 },
        })
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.spooled.len
    }

    /// Takes bytes; [`Spool::advance`] writes them.
    pub fn push(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.spooled.len += bytes.len() as u64;
    }

    /// Waits for the previous block and begins to write the current one if it is large enough.
    pub async fn advance(&mut self) -> io::Result<()> {
        if self.block.len() >= BLOCK {
            self.write_block().await?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub async fn finish(mut self) -> io::Result<SpooledFile> {
        self.write_block().await?;
        self.settle().await?;
        Ok(self.spooled)
    }

    async fn write_block(&mut self) -> io::Result<()> {
        self.settle().await?;
        let block: Bytes = self.block.split().freeze();
        let file = self.file.clone();
        self.writing = Some(spawn_blocking(move || (&*file).write_all(&block)));
        Ok(())
    }

    async fn settle(&mut self) -> io::Result<()> {
        match self.writing.take() {
            None => Ok(()),
            Some(writing) => writing.await.map_err(io::Error::other)?,
        }
    }
}

/// What a stream's client has not taken yet, in a file without a name: it goes with the last descriptor.
pub(crate) struct Overflow {
    file: Arc<File>,
    len: u64,
}

impl Overflow {
    /// Creates the file under `directory`.
    pub fn create(directory: &Path) -> io::Result<Overflow> {
        let file = loop {
            let path = directory.join(format!(
                "navis-stream-{}-{}",
                std::process::id(),
                NUMBER.fetch_add(1, Relaxed)
            ));
            let mut options = OpenOptions::new();
            match options
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
            {
                Ok(file) => {
                    std::fs::remove_file(&path)?;
                    break file;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => {
                    let text = format!("cannot create {}: {error}", path.display());
                    return Err(io::Error::new(error.kind(), text));
                }
            }
        };
        Ok(Overflow {
            file: Arc::new(file),
            len: 0,
        })
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Writes bytes at the end; the answer is where they are.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<Segment> {
        let offset = self.len;
        self.file.write_all_at(bytes, offset)?;
        let len = bytes.len() as u64;
        self.len += len;
        Ok(Segment::File {
            file: self.file.clone(),
            offset,
            len,
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

fn create(directory: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = directory.join(format!("navis-upload-{}-{number}", std::process::id()));
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match created {
            Ok(file) => return Ok((file, path)),
            // Left behind by a process with the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => {
                let text = format!("cannot create {}: {error}", path.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime without drivers")
            .block_on(future)
    }

    #[test]
    fn bytes_arrive_in_order_and_the_file_goes() {
        let directory = tempfile::tempdir().unwrap();
        let expected: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let spooled = run(async {
            let mut spool = Spool::create(directory.path()).await.unwrap();
            for piece in expected.chunks(1000) {
                spool.push(piece);
                spool.advance().await.unwrap();
            }
            assert_eq!(spool.len(), 300_000);
            spool.finish().await.unwrap()
        });
        let mut have = Vec::new();
        spooled.open().unwrap().read_to_end(&mut have).unwrap();
        assert!(have == expected && spooled.len() == 300_000);
        drop(spooled);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_given_up_upload_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        run(async {
            let mut spool = Spool::create(directory.path()).await.unwrap();
            spool.push(b"abc");
        });
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let missing = directory.path().join("missing");
        assert!(run(Spool::create(&missing)).is_err());
    }
}
