//! The two clocks of the scheduler: the one on the wall, which may be set, and the one that only goes on.

use std::time::Instant;

use shared::time::Time;

/// Where the scheduler has its time from; tests bring their own.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970.
    fn wall(&self) -> i64;
    /// Microseconds since some moment; never goes back.
    fn steady(&self) -> i64;
}

/// The clocks of the machine.
pub struct SystemClock {
    origin: Instant,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock {
            origin: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> i64 {
        Time::now().micros()
    }

    fn steady(&self) -> i64 {
        i64::try_from(self.origin.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}
