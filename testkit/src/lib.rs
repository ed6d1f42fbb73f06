//! What tests of the whole program need: a server on a free port, raw bytes, Tcl scripts with expectations, a browser.
//!
//! ```no_run
//! # use navis_testkit as testkit;
//! let mut server = testkit::Server::builder().page("index.html", "hello").start();
//! assert_eq!(server.get("/").text(), "hello");
//! assert_eq!(server.eval("expr {6 * 7}").as_deref(), Ok("42"));
//! assert_eq!(server.stop(), Some(0));
//! ```
//!
//! The program under test is `$NSD`, or `nsd` in the folder of the test programs: build it with
//! `cargo build -p navis-nsd` first. Everything here panics with a message that helps: it is made for tests.

pub mod browser;
mod builder;
mod cases;
mod command;
mod program;
mod server;
pub mod wait;
mod wire;

pub use builder::Builder;
pub use cases::{run_cases, unlisted_cases};
pub use command::{Finished, nsd, nsd_command};
pub use program::{free_port, nsd_path, unprivileged};
pub use server::Server;
pub use wire::{Connection, Response};
