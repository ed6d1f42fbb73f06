//! HTTP/1.0 and 1.1 on a TCP connection.

mod body;
mod connection;
mod frame;
mod link;
mod port;
mod turn;

pub(crate) use connection::serve;
pub(crate) use link::Link;
