//! Detaching from the terminal: the program starts itself again and waits until that one accepts connections.
//!
//! A fork would have to happen before any thread exists and leave the parent's locks behind; a fresh process has neither
//! problem, and what goes wrong while it starts still reaches the terminal.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};

/// Set in the environment of the detached process.
const MARK: &str = "NAVIS_DETACHED";

/// Whether this is the detached process.
pub fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts the detached process and waits until it is ready, or has failed.
pub fn launch(words: &[String]) -> ExitCode {
    let program = std::env::current_exe().unwrap_or_else(|_| words[0].clone().into());
    let started = Command::new(program)
        .args(&words[1..])
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(e) => {
            eprintln!("nsd: cannot start in the background: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut answer = String::new();
    if let Some(mut out) = child.stdout.take() {
        // Ends when the child says that it is ready, or with the child.
        let _ = out.read_to_string(&mut answer);
    }
    if answer.contains("ready") {
        return ExitCode::SUCCESS;
    }
    match child.wait() {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Tells the parent, and lets go of the terminal. Does nothing in the foreground.
pub fn ready() {
    if !is_child() {
        return;
    }
    // A session of our own: signals of the terminal are not for us. Fails only if we lead one already.
    let _ = rustix::process::setsid();
    println!("ready");
    let _ = std::io::stdout().flush();
    let Ok(null) = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
    else {
        return;
    };
    // Without the terminal these would be errors later; /dev/null takes everything.
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = rustix::stdio::dup2_stderr(&null);
}
