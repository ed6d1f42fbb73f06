//! What all threads share: sets, caches, shared variables, counted locks, the system log. No Tcl, no sockets.

pub mod glob;
pub mod set;

pub use set::Set;
