//! The only place that polls: waiting for another process, which tells nobody when it is ready.

use std::time::{Duration, Instant};

/// How long anything on this machine may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until there is an answer; `None` when `limit` is over.
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        // Another process is awaited: no lock or channel of ours can tell.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
