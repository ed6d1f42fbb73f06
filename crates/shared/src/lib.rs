//! What all threads share: sets, caches, shared variables, counted locks, the system log. No Tcl, no sockets.

pub mod cache;
pub mod glob;
pub mod lock;
pub mod log;
pub mod nsv;
pub mod rolling;
pub mod set;
pub mod size;
pub mod strftime;
pub mod sync;
pub mod thread;
pub mod time;

pub use set::Set;
pub use time::Time;
