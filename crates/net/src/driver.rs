//! A running driver: its threads, its open connections, and how it stops.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, watch};

use crate::h1::Link;
use crate::listener::{Socket, accept_loop};
use crate::stats::{ConnectionInfo, Counters, Tally, Upload, Uploads, Writing, count};
use crate::{Application, Content, ListenerConfig, Response};

/// A driver's settings and addresses, as requests refer to it.
pub struct Listener {
    pub config: ListenerConfig,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) limits: http::Limits,
    writersize: AtomicU64,
    writerstreaming: AtomicBool,
    pub(crate) tally: Tally,
    pub(crate) uploads: Uploads,
}

impl Listener {
    /// A listener without sockets, for requests that do not come from the network.
    pub fn unbound(config: ListenerConfig) -> Listener {
        Listener::new(config, Vec::new())
    }

    pub(crate) fn new(config: ListenerConfig, addresses: Vec<SocketAddr>) -> Listener {
        Listener {
            limits: http::Limits {
                max_line: config.maxline,
                max_headers: config.maxheaders,
                simple_request: config.simplerequests,
                bare_lf: config.barelf,
            },
            writersize: AtomicU64::new(config.writersize),
            writerstreaming: AtomicBool::new(config.writerstreaming),
            config,
            addresses,
            tally: Tally::default(),
            uploads: Uploads::default(),
        }
    }

    /// The addresses the driver listens on, with the ports the system chose where 0 was asked for.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// See [`ListenerConfig::writersize`].
    pub fn writersize(&self) -> u64 {
        self.writersize.load(Relaxed)
    }

    /// Holds for responses that begin from now on.
    pub fn set_writersize(&self, bytes: u64) {
        self.writersize.store(bytes, Relaxed);
    }

    /// See [`ListenerConfig::writerstreaming`].
    pub fn writerstreaming(&self) -> bool {
        self.writerstreaming.load(Relaxed)
    }

    /// Holds from now on.
    pub fn set_writerstreaming(&self, on: bool) {
        self.writerstreaming.store(on, Relaxed);
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.tally.snapshot()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({} {:?})", self.config.name, self.addresses)
    }
}

/// A driver that accepts connections. Dropping it stops it without waiting for requests.
pub struct Driver {
    hub: Arc<Hub>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads of a driver do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Accept,
    /// No new connections.
    Keep,
    /// No new requests either.
    Drain,
    Stop,
}

/// What all threads and connections of a driver share.
pub(crate) struct Hub {
    pub listener: Arc<Listener>,
    pub application: Arc<dyn Application>,
    pub stage: watch::Sender<Stage>,
    draining: AtomicBool,
    connections: Mutex<Connections>,
    /// Told when the number of connections falls.
    fewer: Condvar,
    /// Told when there is room for another connection.
    pub room: Notify,
}

#[derive(Default)]
struct Connections {
    /// Accepted and not yet closed.
    open: usize,
    links: HashMap<u64, Weak<Link>>,
    /// By address, where that is limited.
    addresses: HashMap<IpAddr, usize>,
}

impl Driver {
    pub(crate) fn start(
        listener: Listener,
        sockets: Vec<Vec<Socket>>,
        application: Arc<dyn Application>,
    ) -> io::Result<Driver> {
        let hub = Arc::new(Hub {
            listener: Arc::new(listener),
            application,
            stage: watch::Sender::new(Stage::Accept),
            draining: AtomicBool::new(false),
            connections: Mutex::default(),
            fewer: Condvar::new(),
            room: Notify::new(),
        });
        let driver = Driver {
            hub: hub.clone(),
            threads: Mutex::default(),
        };
        for (number, sockets) in sockets.into_iter().enumerate() {
            let config = &hub.listener.config;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .max_blocking_threads(config.spoolerthreads.max(1))
                .on_thread_start({
                    let name = format!("-spooler:{}:{number}-", config.name);
                    move || shared::thread::set_name(&name)
                })
                .build()?;
            let hub = hub.clone();
            let name = format!("-driver:{}:{number}-", hub.listener.config.name);
            let thread = shared::thread::Builder::new(name)
                .describe("net:driver", "")
                .spawn(move || {
                    runtime.block_on(run(hub, sockets));
                    runtime.shutdown_timeout(Duration::from_secs(1));
                })?;
            driver.threads.lock().push(thread);
        }
        Ok(driver)
    }

    /// Settings and addresses.
    pub fn listener(&self) -> &Arc<Listener> {
        &self.hub.listener
    }

    /// Closes the listening sockets. Open connections go on.
    pub fn stop_accepting(&self) {
        self.hub.advance(Stage::Keep);
    }

    /// Stops: idle connections are closed at once, requests in progress have until `deadline`, what is then left is
    /// cut off. Blocks until the threads have ended. True if nothing had to be cut off.
    pub fn shutdown(&self, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        self.drain();
        let complete = self.hub.wait_until_idle(until);
        self.hub.advance(Stage::Stop);
        for link in self.hub.links() {
            link.abort();
        }
        let threads: Vec<_> = self.threads.lock().drain(..).collect();
        for thread in threads {
            if thread.join().is_err() {
                shared::error!("a driver thread panicked");
            }
        }
        complete
    }

    /// Begins what [`Driver::shutdown`] completes, without waiting; for a server that stops several drivers at the
    /// same time.
    pub fn drain(&self) {
        self.hub.advance(Stage::Keep);
        self.hub.draining.store(true, SeqCst);
        self.hub.advance(Stage::Drain);
        for link in self.hub.links() {
            link.turn.poke();
        }
    }

    /// What was counted so far.
    pub fn stats(&self) -> Counters {
        self.hub.listener.counters()
    }

    /// The open connections.
    pub fn connections(&self) -> Vec<ConnectionInfo> {
        self.hub.links().iter().map(|link| link.info()).collect()
    }

    /// The responses that are on their way without a thread (`ns_writer list`).
    pub fn writing(&self) -> Vec<Writing> {
        self.hub
            .links()
            .iter()
            .filter_map(|link| link.writing())
            .collect()
    }

    /// Number of open connections.
    pub fn open(&self) -> usize {
        self.hub.connections.lock().open
    }

    /// Request bodies on their way (see [`ListenerConfig::progressminsize`]).
    pub fn uploads(&self) -> Vec<Upload> {
        self.hub.listener.uploads.snapshot()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if !self.threads.lock().is_empty() {
            self.shutdown(Duration::ZERO);
        }
    }
}

impl Hub {
    pub fn is_draining(&self) -> bool {
        self.draining.load(SeqCst)
    }

    /// The application's answer to what is refused. May run while a thread panics, so it must not.
    pub fn refusal(&self, refusal: &http::Refusal, head: Option<&http::RequestHead>) -> Response {
        let ask = || self.application.refuse(refusal, head, &self.listener);
        catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
            Response::new(http::ResponseHead::new(refusal.status), Content::Empty)
        })
    }

    /// Counts a connection in; false if there are too many already.
    pub fn admit(&self) -> bool {
        let mut connections = self.connections.lock();
        let limit = self.listener.config.maxconnections;
        if limit > 0 && connections.open >= limit {
            return false;
        }
        connections.open += 1;
        true
    }

    /// Counts a connection of an address in; false if it has too many already.
    pub fn admit_address(&self, address: IpAddr) -> bool {
        let limit = self.listener.config.maxperaddress;
        if limit == 0 {
            return true;
        }
        let mut connections = self.connections.lock();
        let open = connections.addresses.entry(address).or_default();
        let room = *open < limit;
        if room {
            *open += 1;
        }
        room
    }

    /// An accepted connection ended before it was served.
    pub fn leave_address(&self, address: IpAddr) {
        if self.listener.config.maxperaddress > 0 {
            let mut connections = self.connections.lock();
            if let Some(open) = connections.addresses.get_mut(&address) {
                *open -= 1;
                if *open == 0 {
                    connections.addresses.remove(&address);
                }
            }
        }
        self.leave();
    }

    /// Ends some connections on which nobody asks anything, the oldest first, to make room for new ones: a crowd of
    /// idle clients must not keep others out.
    pub fn evict_idle(&self) {
        let mut idle: Vec<Arc<Link>> = self.links();
        idle.retain(|link| link.is_idle());
        idle.sort_unstable_by_key(|link| link.id);
        // A share of them, so that a flood does not look for them anew with each connection.
        let some = (idle.len() / 16).max(1);
        for link in idle.into_iter().take(some) {
            count(&self.listener.tally.evicted);
            link.abort();
        }
    }

    /// A connection counted in was not accepted after all.
    pub fn leave(&self) {
        self.connections.lock().open -= 1;
        self.fewer.notify_all();
        self.room.notify_one();
    }

    pub fn opened(&self, link: &Arc<Link>) {
        let mut connections = self.connections.lock();
        connections.links.insert(link.id, Arc::downgrade(link));
        drop(connections);
        // Whoever stops the driver after this sees the connection in the list; who did before is made up for here.
        if *self.stage.borrow() == Stage::Stop {
            link.abort();
        }
    }

    pub fn closed(&self, id: u64, address: IpAddr) {
        self.connections.lock().links.remove(&id);
        self.leave_address(address);
    }

    fn advance(&self, stage: Stage) {
        self.stage.send_if_modified(|have| {
            let later = stage > *have;
            *have = stage.max(*have);
            later
        });
    }

    fn links(&self) -> Vec<Arc<Link>> {
        let connections = self.connections.lock();
        connections
            .links
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn wait_until_idle(&self, until: Instant) -> bool {
        let mut connections = self.connections.lock();
        while connections.open > 0 {
            if self.fewer.wait_until(&mut connections, until).timed_out() {
                return connections.open == 0;
            }
        }
        true
    }
}

/// One driver thread. Connections that are left when it ends are cut off when the runtime drops them.
async fn run(hub: Arc<Hub>, sockets: Vec<Socket>) {
    let mut stage = hub.stage.subscribe();
    let notify = Arc::new(Notify::new());
    REST.set(Some(notify.clone()));
    tokio::spawn({
        let application = hub.application.clone();
        async move {
            loop {
                notify.notified().await;
                if catch_unwind(AssertUnwindSafe(|| application.rest())).is_err() {
                    shared::error!("panic while the application did what it had put off");
                }
            }
        }
    });
    for socket in sockets {
        tokio::spawn(accept_loop(hub.clone(), socket));
    }
    // The sender lives in the hub, which is in our hands.
    let _ = stage.wait_for(|stage| *stage == Stage::Stop).await;
}

thread_local! {
    /// Wakes this driver thread's task that calls [`Application::rest`].
    static REST: RefCell<Option<Arc<Notify>>> = const { RefCell::new(None) };
}

/// [`Application::rest`] is due when the connections that are ready now had their turn: its task is queued behind them.
pub(crate) fn rest_soon() {
    REST.with_borrow(|notify| {
        if let Some(notify) = notify {
            notify.notify_one();
        }
    });
}

/// A number no other request or connection of this process has.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}
