//! HTTP without I/O: heads, bodies, ranges, forms, cookies, URLs.

pub mod accept;
pub mod authorization;
pub mod charset;
pub mod chunks;
pub mod conditional;
pub mod cookie;
pub mod date;
pub mod encode;
pub mod fields;
pub mod form;
pub mod framing;
pub mod head;
pub mod host;
pub mod html;
mod html_entities;
pub mod mime;
mod mime_table;
pub mod multipart;
pub mod range;
pub mod response;
pub mod syntax;
pub mod target;
pub mod url;

pub use charset::Charset;
pub use chunks::Chunks;
pub use framing::{Framing, body_framing};
pub use head::{Limits, Refusal, RequestHead, Scan, parse_head, resume_head};
pub use response::{ResponseHead, allows_body, encode_head, reason};
pub use target::Target;
