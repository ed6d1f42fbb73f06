//! What all threads share: sets, caches, shared variables, counted locks, the system log. No Tcl, no sockets.

pub mod glob;
pub mod log;
pub mod rolling;
pub mod set;
pub mod size;
pub mod strftime;
pub mod thread;
pub mod time;

pub use set::Set;
pub use time::Time;
