//! Listening sockets: bound before privileges are dropped, accepted from in bounded steps.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketFlags;
use socket2::{Domain, Protocol, SockRef, Type};
use tokio::io::unix::AsyncFd;

use crate::driver::{Driver, Hub, Listener, Stage, next_id};
use crate::h1;
use crate::stats::count;
use crate::{Application, ListenerConfig, Prebound};
use crate::{sys, tls};

/// How long the kernel keeps a connection without bytes to itself when `deferaccept` is set.
const DEFER: Duration = Duration::from_secs(3);

/// Length of the queue of TCP fast open requests.
const FASTOPEN_QUEUE: u16 = 256;

/// Pause after a failure to accept that will not go away by itself (no more file descriptors, say).
const PAUSE: Duration = Duration::from_millis(100);

/// Such a failure is logged no more often than this.
const REPORT: Duration = Duration::from_secs(10);

/// Time between two looks at who waits while as many connections are open as may be.
const LOOK: Duration = Duration::from_millis(50);

/// Bound addresses, not yet accepting.
pub struct Bound {
    listener: Listener,
    /// Sockets by thread.
    sockets: Vec<Vec<Socket>>,
}

/// One listening socket of one thread.
pub(crate) struct Socket {
    listener: TcpListener,
    address: SocketAddr,
}

/// Binds all addresses and ports of `config`. Addresses found in `prebound` are taken from there.
///
/// # Errors
/// The first address that cannot be had, with its cause. Nothing stays bound then.
pub fn bind(config: &ListenerConfig, prebound: &mut Prebound) -> io::Result<Bound> {
    let threads = config.driverthreads.max(1);
    let mut sockets: Vec<Vec<Socket>> = (0..threads).map(|_| Vec::new()).collect();
    let mut addresses = Vec::new();
    let (wanted, any) = wanted(config)?;
    for address in wanted {
        let made = match prebound.iter().position(|(have, _)| *have == address) {
            Some(at) => share(prebound.remove(at).1, threads),
            None => listen(address, config, threads),
        };
        let made = match made {
            Ok(made) => made,
            // Without a wish for certain addresses, a machine without IPv6 is fine.
            Err(error) if any && address.is_ipv6() && no_such_family(&error) => continue,
            Err(error) => {
                let text = format!("{}: cannot listen on {address}: {error}", config.name);
                return Err(io::Error::new(error.kind(), text));
            }
        };
        let address = made[0].local_addr()?;
        addresses.push(address);
        for (thread, listener) in sockets.iter_mut().zip(made) {
            listener.set_nonblocking(true)?;
            set_options(&listener, address, config);
            thread.push(Socket { listener, address });
        }
    }
    let listener = Listener::new(config.clone(), addresses);
    Ok(Bound { listener, sockets })
}

impl Bound {
    /// The addresses, with the ports the system chose where 0 was asked for.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listener.addresses()
    }

    /// Starts the driver threads. Connections made since the binding are served now.
    ///
    /// # Errors
    /// A thread or its event loop cannot be had.
    pub fn start(self, application: Arc<dyn Application>) -> io::Result<Driver> {
        Driver::start(self.listener, self.sockets, application)
    }
}

/// The addresses to bind; true if none were named.
fn wanted(config: &ListenerConfig) -> io::Result<(Vec<SocketAddr>, bool)> {
    let any = config.addresses.is_empty();
    let mut hosts: Vec<IpAddr> = Vec::new();
    if any {
        hosts = vec![IpAddr::from([0u8; 4]), IpAddr::from([0u16; 8])];
    }
    for name in &config.addresses {
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let found = (bare.unwrap_or(name), 0).to_socket_addrs();
        let found = found.map_err(|error| {
            let text = format!("{}: address {name}: {error}", config.name);
            io::Error::new(error.kind(), text)
        })?;
        for address in found {
            if !hosts.contains(&address.ip()) {
                hosts.push(address.ip());
            }
        }
    }
    let mut wanted = Vec::new();
    for &port in &config.ports {
        wanted.extend(hosts.iter().map(|&host| SocketAddr::new(host, port)));
    }
    Ok((wanted, any))
}

/// A listening socket per thread, by SO_REUSEPORT.
fn listen(
    mut address: SocketAddr,
    config: &ListenerConfig,
    threads: usize,
) -> io::Result<Vec<TcpListener>> {
    let mut made: Vec<TcpListener> = Vec::new();
    for _ in 0..threads {
        let socket = socket2::Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        if threads > 1 || config.reuseport {
            socket.set_reuse_port(true)?;
        }
        socket.bind(&address.into())?;
        socket.listen(config.backlog.max(1))?;
        let listener = TcpListener::from(socket);
        address = listener.local_addr()?;
        made.push(listener);
    }
    Ok(made)
}

/// A socket that exists already, for all threads.
fn share(listener: TcpListener, threads: usize) -> io::Result<Vec<TcpListener>> {
    let mut made = Vec::new();
    for _ in 1..threads {
        made.push(listener.try_clone()?);
    }
    made.push(listener);
    Ok(made)
}

/// Options that make things faster. Where the system lacks one: say so, go on.
fn set_options(listener: &TcpListener, address: SocketAddr, config: &ListenerConfig) {
    let socket = SockRef::from(listener);
    let mut attempts = Vec::new();
    if config.deferaccept {
        attempts.push(("deferaccept", sys::set_defer_accept(listener, DEFER)));
    }
    if config.fastopen {
        attempts.push(("fastopen", sys::set_fast_open(listener, FASTOPEN_QUEUE)));
    }
    if config.nodelay {
        // Accepted sockets inherit it, which saves a call for each.
        attempts.push(("nodelay", socket.set_tcp_nodelay(true)));
    }
    for (name, result) in attempts {
        if let Err(error) = result {
            let driver = &config.name;
            shared::warning!("{driver}: {name} is not available on {address}: {error}");
        }
    }
}

fn no_such_family(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

/// Accepts connections until the driver stops accepting; then the socket is closed.
pub(crate) async fn accept_loop(hub: Arc<Hub>, socket: Socket) {
    let Socket { listener, address } = socket;
    let listener = match sys::watch_listener(listener) {
        Ok(listener) => listener,
        Err(cause) => {
            shared::error!("cannot watch the socket on {address}: {cause}");
            return;
        }
    };
    let mut stage = hub.stage.subscribe();
    let mut reported: Option<Instant> = None;
    let serving = async {
        loop {
            if let Err(cause) = accept_some(&hub, &listener, address).await {
                count(&hub.listener.tally.accept_errors);
                if reported.is_none_or(|at| at.elapsed() >= REPORT) {
                    reported = Some(Instant::now());
                    shared::error!("cannot accept connections on {address}: {cause}");
                }
                tokio::time::sleep(PAUSE).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let stopped = async {
        // The sender lives in the hub, which is in our hands.
        let _ = stage.wait_for(|stage| *stage > Stage::Accept).await;
    };
    tokio::select! {
        () = stopped => {}
        () = serving => {}
    }
}

/// Waits for connections and accepts up to `acceptsize` of them.
async fn accept_some(
    hub: &Arc<Hub>,
    listener: &AsyncFd<TcpListener>,
    address: SocketAddr,
) -> io::Result<()> {
    let mut ready = listener.readable().await?;
    for _ in 0..hub.listener.config.acceptsize.max(1) {
        if !hub.admit() {
            // Only who waits at the door is a reason to send idle ones away. The kernel says so once at most, and the
            // one who waits may come when we are full already: it is looked after again and again.
            if somebody_waits(listener.get_ref()) {
                hub.evict_idle();
            }
            let _ = tokio::time::timeout(LOOK, hub.room.notified()).await;
            return Ok(());
        }
        match accept(listener.get_ref()) {
            Ok((socket, peer)) => {
                if !hub.admit_address(peer.ip()) {
                    count(&hub.listener.tally.too_many);
                    hub.leave();
                    continue;
                }
                count(&hub.listener.tally.accepted);
                let local = match address.ip().is_unspecified() {
                    true => socket.local_addr().unwrap_or(address),
                    false => address,
                };
                let id = next_id();
                match &hub.listener.config.tls {
                    None => drop(tokio::spawn(h1::serve(
                        hub.clone(),
                        id,
                        socket,
                        peer,
                        local,
                    ))),
                    Some(config) => {
                        let config = Arc::clone(config);
                        drop(tokio::spawn(tls::serve(
                            hub.clone(),
                            id,
                            socket,
                            peer,
                            local,
                            config,
                        )));
                    }
                }
            }
            Err(error) => {
                hub.leave();
                match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        ready.clear_ready();
                        return Ok(());
                    }
                    // The client left while it was waiting in the queue.
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// Whether a connection can be accepted.
fn somebody_waits(listener: &TcpListener) -> bool {
    let mut wanted = [PollFd::new(listener, PollFlags::IN)];
    matches!(poll(&mut wanted, Some(&Timespec::default())), Ok(1..))
}

/// Accepts one connection, non-blocking from the start.
fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, peer) = rustix::net::acceptfrom_with(listener, flags)?;
    let peer = peer
        .and_then(|peer| SocketAddr::try_from(peer).ok())
        .ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((TcpStream::from(socket), peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(addresses: &[&str], ports: &[u16]) -> ListenerConfig {
        ListenerConfig {
            addresses: addresses.iter().map(|&name| name.to_owned()).collect(),
            ports: ports.to_vec(),
            ..ListenerConfig::default()
        }
    }

    #[test]
    fn every_address_gets_every_port() {
        let bound = bind(&config(&["127.0.0.1", "[::1]"], &[0, 0]), &mut Vec::new()).unwrap();
        let addresses = bound.addresses();
        assert_eq!(addresses.len(), 4);
        assert!(addresses.iter().all(|address| address.port() != 0));
        assert_eq!(
            addresses.iter().filter(|address| address.is_ipv6()).count(),
            2
        );
    }

    #[test]
    fn threads_share_a_port() {
        let mut config = config(&["127.0.0.1"], &[0]);
        config.driverthreads = 3;
        let bound = bind(&config, &mut Vec::new()).unwrap();
        assert_eq!(bound.addresses().len(), 1);
        assert!(bound.sockets.iter().all(|sockets| sockets.len() == 1));
    }

    #[test]
    fn an_error_names_address_and_cause() {
        let first = bind(&config(&["127.0.0.1"], &[0]), &mut Vec::new()).unwrap();
        let port = first.addresses()[0].port();
        let error = bind(&config(&["127.0.0.1"], &[port]), &mut Vec::new())
            .err()
            .unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(
            text.contains(&format!("nssock: cannot listen on 127.0.0.1:{port}: ")),
            "{text}"
        );
        let error = bind(&config(&["no such host"], &[0]), &mut Vec::new())
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("address no such host"),
            "{error}"
        );
    }

    #[test]
    fn bound_sockets_are_taken_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut prebound = vec![(address, listener)];
        let mut config = config(&["127.0.0.1"], &[address.port()]);
        config.driverthreads = 2;
        let bound = bind(&config, &mut prebound).unwrap();
        assert_eq!(bound.addresses(), [address]);
        assert!(prebound.is_empty());
    }
}
