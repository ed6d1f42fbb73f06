//! How commands and parameters are declared: one row gives parser, usage line, error messages, manual and completion.
//!
//! [`commands!`] declares Tcl commands, [`params!`] declares configuration parameters, [`choice!`] declares a type whose
//! values are a few words; all three are `macro_rules!`. The row syntax is described at [`commands!`].

mod choice;
mod family;
mod grammar;
mod kinds;
pub mod laws;
pub mod manual;
mod nearest;
mod outcome;
mod param_grammar;
mod param_kinds;
mod params;
mod parse;
mod row;
mod units;

pub use family::{Directory, Subcommands, register_all, report_deprecated};
pub use kinds::{FromObj, Int, MAX, out_of_range};
pub use nearest::nearest;
pub use outcome::IntoOutcome;
pub use param_kinds::{Param, ParamField};
pub use params::{
    NoParams, ParamKind, ParamNeed, ParamProblem, ParamRow, ParamSource, ParamValue, Reader,
    SectionSpec, Size,
};
pub use parse::{Call, Parsed, Rest, Take};
pub use row::{Command, Group, Kind, Label, Meta, Need, Slot, Style};
pub use units::{Interval, MemorySize, Time};

/// What the macros need and nobody else.
#[doc(hidden)]
pub mod hidden {
    pub use crate::kinds::{bad_option, not_a_word};
    pub use crate::params::{strip, stripped};
    pub use tcl::{Exit, Obj, Outcome};
}
