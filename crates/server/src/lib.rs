//! Who answers what and when: virtual hosts, URL space, filters, thread pools, configuration, modules, life.

pub mod check;
pub mod compress;
pub mod config;
pub mod dispatch;
pub mod driver;
pub mod extension;
pub mod fastpath;
pub mod filter;
pub mod hooks;
pub mod identity;
pub mod life;
pub mod limits;
mod logging;
pub mod module;
pub mod pool;
pub mod privileges;
pub mod process;
pub mod proxied;
pub mod reply;
pub mod request;
pub mod route;
pub mod schedule;
pub mod script;
pub mod settings;
pub mod setup;
mod signals;
pub mod vserver;
