//! TLS on the server's side: the handshake, and a bridge between the encrypted connection and an HTTP connection.
//!
//! The HTTP engine works on a plain socket that any thread may write to. For TLS that socket is one end of a pair; a task
//! on the driver's thread moves bytes between the other end and the client. The price is one more copy and a wake-up per
//! response; issue 7 (TLS as a first-class citizen) is where it is to be paid back.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::UnixStream;
use tokio_rustls::TlsAcceptor;
pub use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::driver::Hub;
use crate::h1;
use crate::stats::count;

/// Bytes each direction of the bridge holds: a TLS record.
const RECORD: usize = 16 * 1024;

/// Reads a certificate chain and a private key in PEM; `key` may be left out when both are in one file.
///
/// # Errors
/// A text that names the file and what is wrong with it.
pub fn server_config(certificate: &Path, key: Option<&Path>) -> Result<Arc<ServerConfig>, String> {
    let key_file = key.unwrap_or(certificate);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| format!("certificate {}: {e}", certificate.display()))?;
    if chain.is_empty() {
        return Err(format!(
            "certificate {}: no certificate in the file",
            certificate.display()
        ));
    }
    let key = PrivateKeyDer::from_pem_file(key_file)
        .map_err(|e| format!("private key {}: {e}", key_file.display()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| format!("certificate {}: {e}", certificate.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Serves an encrypted connection until it ends.
pub(crate) async fn serve(
    hub: Arc<Hub>,
    id: u64,
    socket: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    config: Arc<ServerConfig>,
) {
    let limit = hub.listener.config.recvwait;
    let closing = hub.listener.config.sendwait;
    let handshake = async {
        let socket = tokio::net::TcpStream::from_std(socket)?;
        tokio::time::timeout(limit, TlsAcceptor::from(config).accept(socket))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    };
    let mut encrypted = match handshake.await {
        Ok(stream) => stream,
        Err(error) => {
            shared::debug!("TLS handshake with {peer}: {error}");
            count(&hub.listener.tally.errors);
            return hub.leave_address(peer.ip());
        }
    };
    let (inner, mut outer) = match pair() {
        Ok(pair) => pair,
        Err(error) => {
            shared::error!("connection from {peer}: cannot make a pair of sockets: {error}");
            return hub.leave_address(peer.ip());
        }
    };
    let http = h1::serve(hub, id, inner, peer, local);
    let bridge = async {
        // How it ends is the business of the two ends: both see it.
        let _ = copy_bidirectional_with_sizes(&mut encrypted, &mut outer, RECORD, RECORD).await;
        drop(outer);
    };
    tokio::pin!(bridge);
    let mut bridge_ended = false;
    {
        tokio::pin!(http);
        loop {
            tokio::select! {
                () = &mut http => break,
                () = &mut bridge, if !bridge_ended => bridge_ended = true,
            }
        }
    }
    if !bridge_ended {
        // What was answered still has to reach the client; one that does not close its side cannot keep us.
        let _ = tokio::time::timeout(closing, bridge).await;
    }
}

fn pair() -> io::Result<(TcpStream, UnixStream)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (inner, outer) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let outer = UnixStream::from_std(std::os::unix::net::UnixStream::from(outer))?;
    Ok((TcpStream::from(inner), outer))
}
