//! The ns_* commands.
