//! Sockets, drivers, writers: from an accepted connection to a complete request, and from a response back to the wire.
//!
//! A [`Driver`] listens on the addresses of one [`ListenerConfig`]. It hands complete requests to an
//! [`Application`] as an [`Exchange`], which carries the way back to the client, its [`Reply`]. The reply may be
//! given from any thread and is the same for every protocol. No Tcl, nothing about virtual hosts or URLs here.
//!
//! ```text
//! listener.rs  sockets bound and accepted        h1/connection.rs  one HTTP/1 connection, request after request
//! driver.rs    threads, start, drain, stop       h1/body.rs        request bodies, to memory or to a spooled file
//! exchange.rs  what the application is given     h1/port.rs        responses framed and written from any thread
//! reply.rs     what the application gives back   h1/turn.rs        hand-over between those threads and the connection
//! ```

mod config;
mod driver;
mod exchange;
mod h1;
mod listener;
mod output;
mod pace;
mod reply;
mod spool;
mod stats;
mod sys;
pub mod tls;

pub use config::{ListenerConfig, Prebound};
pub use driver::{Driver, Listener};
pub use exchange::{Admission, Application, Body, Exchange, Request, Times, TlsInfo};
pub use listener::{Bound, bind};
pub use pace::{Limits, Throttle};
pub use reply::{
    Content, Detached, Label, Part, PeerInfo, Reply, ReplyPort, Response, Sent, SentInfo, Stream,
    StreamPort, Streaming, Terms,
};
pub use spool::SpooledFile;
pub use stats::{ConnectionInfo, ConnectionState, Counters, Upload, Writing};
