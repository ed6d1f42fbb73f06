//! HTTP without I/O: heads, bodies, ranges, forms, cookies, URLs.

pub mod chunks;
pub mod framing;
pub mod head;
pub mod host;
pub mod response;
pub mod syntax;

pub use chunks::Chunks;
pub use framing::{Framing, body_framing};
pub use head::{Limits, Refusal, RequestHead, Scan, parse_head, resume_head};
pub use response::{ResponseHead, allows_body, encode_head, reason};
