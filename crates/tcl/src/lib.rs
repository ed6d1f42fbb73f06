//! An embedded Tcl interpreter behind a safe face: libtcl 8.6 or 9.0, whichever the build found.
//!
//! The laws of the border (ARCHITECTURE.md, section 3): values and interpreters stay in their thread; one function takes
//! every call from Tcl and stops panics; Tcl's five ways to end are an [`Outcome`]; text is translated here.
mod command;
mod data;
mod interp;
mod obj;
mod outcome;
mod resolver;
mod sys;
mod text;
mod thread;

pub mod channel;
pub mod event;
pub mod list;

pub use command::{on_panic, panics};
pub use data::Canceller;
pub use interp::{Interp, SavedState, SubstFlags};
pub use list::{format as list_format, parse as list_parse};
pub use obj::{Obj, ok};
pub use outcome::{Exit, Outcome, ReturnExit, Settle, TclError, error};
pub use resolver::ResolveFlags;
pub use thread::{initialize, run_thread, version};
