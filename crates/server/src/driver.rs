//! A configured driver: which server answers for which host, and how the network asks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use http::{Refusal, RequestHead};
use net::{Admission, Application, Exchange, Listener, Response};
use parking_lot::{Mutex, RwLock};

use crate::dispatch;
use crate::process::Process;
use crate::vserver::VirtualServer;

/// One driver section (`ns/module/NAME`) with its hosts.
pub struct DriverEntry {
    /// Name of the section, as in `ns/modules`.
    pub name: String,
    /// `nssock`, `nsssl`, ...
    pub module: &'static str,
    pub scheme: &'static str,
    pub default_port: u16,
    /// Configured host name, used where a client sends none.
    pub hostname: String,
    /// Configured `location`, which replaces what would be computed.
    pub configured_location: Option<String>,
    pub extra_headers: Vec<(String, String)>,
    pub config: net::ListenerConfig,
    /// Lower-case host, with and without port, to server.
    hosts: RwLock<HashMap<String, Arc<VirtualServer>>>,
    default: RwLock<Option<Arc<VirtualServer>>>,
    bound: Mutex<Option<net::Bound>>,
    running: RwLock<Option<Arc<net::Driver>>>,
    process: Weak<Process>,
}

/// What a driver module reads from its section.
pub struct DriverParts {
    pub name: String,
    pub module: &'static str,
    pub scheme: &'static str,
    pub default_port: u16,
    pub hostname: String,
    pub location: Option<String>,
    pub extra_headers: Vec<(String, String)>,
    pub config: net::ListenerConfig,
    pub bound: net::Bound,
}

impl DriverEntry {
    pub fn new(parts: DriverParts, process: &Arc<Process>) -> Arc<DriverEntry> {
        Arc::new(DriverEntry {
            name: parts.name,
            module: parts.module,
            scheme: parts.scheme,
            default_port: parts.default_port,
            hostname: parts.hostname,
            configured_location: parts.location,
            extra_headers: parts.extra_headers,
            config: parts.config,
            hosts: RwLock::default(),
            default: RwLock::default(),
            bound: Mutex::new(Some(parts.bound)),
            running: RwLock::default(),
            process: Arc::downgrade(process),
        })
    }

    /// Adds a host; `host` may carry a port.
    pub fn add_host(&self, host: &str, server: &Arc<VirtualServer>) {
        let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
        self.hosts
            .write()
            .entry(host)
            .or_insert_with(|| Arc::clone(server));
        HOSTS.fetch_add(1, Ordering::Release);
    }

    pub fn set_default(&self, server: &Arc<VirtualServer>) {
        *self.default.write() = Some(Arc::clone(server));
        HOSTS.fetch_add(1, Ordering::Release);
    }

    /// The same for a value that is checked already, from memory where it was asked for lately on this thread: most
    /// requests of a server name the same few hosts.
    pub fn server_of(&self, host: &str, port: u16) -> Arc<VirtualServer> {
        LATELY.with_borrow_mut(|lately| {
            let here = (
                std::ptr::from_ref(self) as usize,
                HOSTS.load(Ordering::Acquire),
                port,
            );
            if let Some(server) = lately
                .iter()
                .find(|known| known.key == here && *known.host == *host)
                .and_then(|known| known.server.upgrade())
            {
                return server;
            }
            let server = self.server_for(Some(host), port);
            if lately.len() >= MOST_LATELY {
                lately.remove(0);
            }
            lately.push(Known {
                key: here,
                host: host.into(),
                server: Arc::downgrade(&server),
            });
            server
        })
    }

    /// `(host, server)` for `ns_server hosts` and `ns_driver`.
    pub fn hosts(&self) -> Vec<(String, Arc<VirtualServer>)> {
        let mut all: Vec<_> = self
            .hosts
            .read()
            .iter()
            .map(|(h, s)| (h.clone(), Arc::clone(s)))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// The server that answers for a `Host` value on a port: an unknown host, or a port that is not ours, is the
    /// default server's.
    pub fn server_for(&self, host: Option<&str>, port: u16) -> Arc<VirtualServer> {
        let Some(host) = host else {
            return self.default_server();
        };
        let (name, given) = match http::host::parse(host) {
            Ok(h) => (http::host::bracketed(&h.host).to_ascii_lowercase(), h.port),
            Err(_) => return self.default_server(),
        };
        let name = name.trim_end_matches('.');
        let hosts = self.hosts.read();
        // A host without a port is asked for on the port the connection came in on.
        if let Some(s) = hosts.get(&format!("{name}:{}", given.unwrap_or(port))) {
            return Arc::clone(s);
        }
        if given.is_none_or(|given| given == port || given == self.default_port)
            && let Some(s) = hosts.get(name)
        {
            return Arc::clone(s);
        }
        drop(hosts);
        self.default_server()
    }

    pub fn default_server(&self) -> Arc<VirtualServer> {
        if let Some(s) = self.default.read().as_ref() {
            return Arc::clone(s);
        }
        self.process()
            .default_server()
            .expect("drivers start after the servers are made")
    }

    /// What absolute URLs begin with: the configured location, else the host the client named if it is one of ours (or
    /// none is configured), else our own name. `port` is the one the connection came in on.
    pub fn location(&self, host: Option<&str>, port: u16) -> String {
        if let Some(l) = &self.configured_location {
            return l.clone();
        }
        let parsed = host
            .filter(|h| !h.is_empty() && http::host::check(h).is_ok())
            .and_then(|h| http::host::parse(h).ok());
        let hosts = self.hosts.read();
        if let Some(parsed) = parsed {
            let name = http::host::bracketed(&parsed.host).to_ascii_lowercase();
            let name = name.trim_end_matches('.');
            match parsed.port {
                Some(given)
                    if hosts.is_empty() || hosts.contains_key(&format!("{name}:{given}")) =>
                {
                    return self.url(name, given);
                }
                None if hosts.is_empty() => return self.url(name, self.default_port),
                None if hosts.contains_key(&format!("{name}:{port}")) => {
                    return self.url(name, port);
                }
                _ if hosts.contains_key(name) => return self.url(name, port),
                _ => {}
            }
        }
        self.url(&self.hostname, port)
    }

    fn url(&self, host: &str, port: u16) -> String {
        if port == self.default_port {
            format!("{}://{host}", self.scheme)
        } else {
            format!("{}://{host}:{port}", self.scheme)
        }
    }

    pub fn process(&self) -> Arc<Process> {
        self.process
            .upgrade()
            .expect("drivers are owned by the process")
    }

    /// Addresses that are bound.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        if let Some(bound) = self.bound.lock().as_ref() {
            return bound.addresses().to_vec();
        }
        self.running
            .read()
            .as_ref()
            .map(|d| d.listener().addresses().to_vec())
            .unwrap_or_default()
    }

    /// Begins to accept.
    ///
    /// # Errors
    /// Threads or runtimes cannot be made.
    pub fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let Some(bound) = self.bound.lock().take() else {
            return Ok(());
        };
        let driver = bound.start(Arc::new(Front {
            entry: Arc::clone(self),
        }))?;
        *self.running.write() = Some(Arc::new(driver));
        Ok(())
    }

    pub fn running(&self) -> Option<Arc<net::Driver>> {
        self.running.read().clone()
    }
}

/// Hosts a thread remembers.
const MOST_LATELY: usize = 8;

/// A host as it was asked for: by which driver, at which state of the host tables, on which port.
struct Known {
    key: (usize, u64, u16),
    host: Box<str>,
    server: Weak<VirtualServer>,
}

thread_local! {
    static LATELY: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// Counts the changes of all host tables.
static HOSTS: AtomicU64 = AtomicU64::new(0);

/// What the network sees of us.
struct Front {
    entry: Arc<DriverEntry>,
}

impl Application for Front {
    fn handle(&self, exchange: Exchange) {
        crate::request::arrive(&self.entry, exchange);
    }

    fn rest(&self) {
        crate::request::submit_waiting();
    }

    fn refuse(
        &self,
        refusal: &Refusal,
        head: Option<&RequestHead>,
        _listener: &Listener,
    ) -> Response {
        let port = self.entry.addresses().first().map_or(0, SocketAddr::port);
        let host = head.and_then(|h| h.headers.iget("host"));
        let server = self.entry.server_for(host, port);
        dispatch::refusal_response(&server, &self.entry, refusal)
    }

    fn admit(&self, _head: &RequestHead, _peer: SocketAddr, _listener: &Listener) -> Admission {
        Admission::Accept
    }
}
