//! The list of built-in modules. A module is a value; starting it is a function.

mod nsdb;
mod nslog;
mod nssock;

use server::module::Module;

/// All modules, in the order in which they are listed to users.
pub static MODULES: &[Module] = &[nssock::MODULE, nsdb::MODULE, nslog::MODULE];
