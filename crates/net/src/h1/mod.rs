//! HTTP/1.0 and 1.1 on a TCP connection.

mod body;
mod connection;
mod frame;
mod port;
mod turn;

pub(crate) use connection::{Link, serve};
