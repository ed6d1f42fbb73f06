//! Short runs of the program: command mode, `-T`, `-V` and whatever else ends by itself.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{hand_over, nsd_path, unprivileged};
use crate::wait::{PATIENCE, until};

/// How a short run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a script in command mode without a configuration file.
///
/// # Panics
/// When it does not end in time.
#[track_caller]
pub fn nsd_command(script: &str) -> Finished {
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("script.tcl"), script).expect("the script");
    let mut words = vec!["-c"];
    if let Some(user) = unprivileged() {
        words.extend(["-u", user]);
    }
    words.push("script.tcl");
    run(folder.path(), &words, "")
}

/// Runs the program with these words (nothing is added) and this standard input, in a directory of its own.
///
/// # Panics
/// When it does not end in time.
#[track_caller]
pub fn nsd(words: &[&str], input: &str) -> Finished {
    let folder = tempfile::tempdir().expect("a temporary directory");
    run(folder.path(), words, input)
}

/// Output goes through files, so that nobody has to read two pipes at the same time.
#[track_caller]
fn run(folder: &Path, words: &[&str], input: &str) -> Finished {
    fs::write(folder.join("stdin"), input).expect("the input");
    hand_over(folder);
    let file = |name: &str| File::create(folder.join(name)).expect("a file for the output");
    let mut child = Command::new(nsd_path())
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::from(
            File::open(folder.join("stdin")).expect("the input"),
        ))
        .stdout(file("stdout"))
        .stderr(file("stderr"))
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", nsd_path().display()));
    let status = until(PATIENCE, || child.try_wait().ok().flatten());
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = |name: &str| {
        String::from_utf8_lossy(&fs::read(folder.join(name)).unwrap_or_default()).into_owned()
    };
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let Some(status) = status else {
        panic!("nsd {} does not end\n{stdout}\n{stderr}", words.join(" "));
    };
    Finished {
        code: status.code(),
        stdout,
        stderr,
    }
}
