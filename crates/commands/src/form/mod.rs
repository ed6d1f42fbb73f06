//! Query and form data: ns_getform, ns_queryget and their kin, and the content of a request.

mod charsets;
mod content;
mod parse;
mod query;

pub use parse::{Charsets, decoding_error, of, with_files};

/// The tables of this family.
pub const TABLES: [&[synopsis::Command]; 3] = [query::TABLE, charsets::TABLE, content::TABLE];
