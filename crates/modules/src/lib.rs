//! The list of built-in modules. A module is a value; starting it is a function.

mod nsdb;
mod nslog;
mod nsperm;
mod nssock;
mod nsssl;

use server::module::Module;

/// All modules, in the order in which they are listed to users.
pub static MODULES: &[Module] = &[
    nssock::MODULE,
    nsssl::MODULE,
    nsdb::MODULE,
    nslog::MODULE,
    nsperm::MODULE,
];
