//! Where the program under test is, and as whom it runs.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// `$NSD`, else `nsd` beside the folder of the test programs (`target/…/debug/deps`).
///
/// # Panics
/// When it is not there.
pub fn nsd_path() -> PathBuf {
    let path = std::env::var_os("NSD").map_or_else(
        || {
            let test = std::env::current_exe().expect("the test program has a path");
            let folder = test
                .ancestors()
                .find(|folder| folder.ends_with("debug") || folder.ends_with("release"));
            folder
                .unwrap_or_else(|| Path::new("target/debug"))
                .join("nsd")
        },
        PathBuf::from,
    );
    assert!(
        path.exists(),
        "there is no {}: run `cargo build -p navis-nsd`, or name the program in NSD",
        path.display()
    );
    path
}

/// The user to name with `-u`: the program does not stay root. `None` when the tests do not run as root.
pub fn unprivileged() -> Option<&'static str> {
    is_root().then_some("nobody")
}

/// A port of 127.0.0.1 that was free a moment ago. Another process may take it before the server does;
/// `Server` then tries the next one.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}

/// Gives a tree to the user the program runs as, so that it may read and write there.
pub(crate) fn hand_over(folder: &Path) {
    let owner = is_root().then(nobody);
    visit(folder, &mut |path, is_folder| {
        let mode = if is_folder {
            0o755
        } else {
            fs::metadata(path).map_or(0o644, |meta| meta.mode() | 0o444)
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .expect("permissions of a temporary file");
        if let Some((user, group)) = owner {
            chown(path, Some(user), Some(group)).expect("owner of a temporary file");
        }
    });
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

fn nobody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users
        .lines()
        .find(|line| line.starts_with("nobody:"))
        .expect("a user named nobody");
    let mut ids = line
        .split(':')
        .skip(2)
        .map(|id| id.parse().expect("a number in /etc/passwd"));
    (ids.next().expect("user id"), ids.next().expect("group id"))
}

fn visit(path: &Path, each: &mut dyn FnMut(&Path, bool)) {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return;
    };
    if meta.is_symlink() {
        return;
    }
    each(path, meta.is_dir());
    if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            visit(&entry.path(), each);
        }
    }
}
