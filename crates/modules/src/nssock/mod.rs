//! The driver for HTTP over TCP.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use server::config::Section;
use server::driver::{DriverEntry, DriverParts};
use server::module::{Loading, Module};
use synopsis::{Int, Size, params};

pub const MODULE: Module = Module {
    name: "nssock",
    about: "HTTP/1.1 over TCP.",
    spec: Settings::spec,
    more_specs: || vec![],
    prepare,
    start,
};

params! {
    /// A driver for HTTP over TCP.
    pub struct Settings in "ns/module/nssock" {
        /// Addresses or host names to listen on; none: all.
        address: Vec<String>,
        /// Ports to listen on.
        port: Vec<String>,
        /// Name of this host in generated URLs.
        hostname: Option<String>,
        /// What generated URLs begin with.
        location: Option<String>,
        /// Server for unknown hosts.
        defaultserver: Option<String>,
        /// Header fields added to every response of this driver.
        extraheaders: Option<String>,
        /// Threads that accept and read.
        driverthreads: Int<1, 64> = "1",
        /// Threads that write request bodies to files.
        spoolerthreads: Int<0, 32> = "0",
        /// Length of the kernel's queue of connections not yet accepted.
        backlog: Int<1> = "32",
        /// Connections accepted per wake-up.
        acceptsize: Int<1> = "32",
        /// Open connections beyond which no more are accepted; 0: no limit (own parameter).
        maxopen: Int<0> = "0",
        /// Requests that may wait in the driver.
        maxqueuesize: Int<1> = "1024",
        /// TCP_NODELAY.
        nodelay: bool = "true",
        /// Let the kernel wait for the first bytes.
        deferaccept: bool = "false",
        /// SO_REUSEPORT.
        reuseport: bool = "false",
        /// TCP_FASTOPEN (own parameter).
        fastopen: bool = "false",
        /// Size of one read.
        bufsize: Size = "16kB",
        /// Longest request line and header line.
        maxline: Size = "8kB",
        /// Most header lines.
        maxheaders: Int<1> = "128",
        /// Largest request body.
        maxinput: Size = "1MB",
        /// Larger bodies go to a file; 0: never before `readahead`.
        maxupload: Size = "0",
        /// Bodies up to this size are read into memory.
        readahead: Size = "16384",
        /// Directory of spooled bodies (default: `tmpdir`).
        uploadpath: Option<String>,
        /// Longest wait for a request, and for the next bytes of its body.
        recvwait: Duration = "30s",
        /// Longest time without progress of a response.
        sendwait: Duration = "30s",
        /// Longest wait for a client's last bytes when closing.
        closewait: Duration = "2s",
        /// Longest idle time between requests.
        keepwait: Duration = "5s",
        /// Larger uploads end keep-alive; 0: no limit.
        keepalivemaxuploadsize: Size = "0",
        /// Larger responses end keep-alive; 0: no limit.
        keepalivemaxdownloadsize: Size = "0",
        /// Kept for existing configurations: the driver's event loop writes for slow clients.
        writerthreads: Int<0, 32> = "0",
        /// Responses from this size on are a writer's business: `writerratelimit` holds for them.
        writersize: Size = "1MB",
        /// Small writes of a stream are collected up to this size.
        writerbufsize: Size = "8kB",
        /// Streams never hold a connection thread: what a client does not take waits in memory, then in a file.
        writerstreaming: bool = "false",
        /// Memory for a stream whose client is slow (own parameter).
        writermemory: Size = "256kB",
        /// Largest file of such a stream; beyond it `ns_write` waits after all (own parameter).
        writerspool: Size = "1GB",
        /// Bytes per second a request body must bring on average after the first `recvwait`; 0: no limit (own parameter).
        minrecvrate: Size = "0",
        /// Bytes per second a client must take on average after it was waited for `sendwait` in all; 0: no limit (own
        /// parameter).
        minsendrate: Size = "0",
        /// Connections one address may have open; 0: no limit (own parameter).
        maxperaddress: Int<0> = "0",
        /// Limit of a writer's output (kB/s); 0: none.
        writerratelimit: Int<0> = "0",
        /// Accepts in a row that are worth a log line.
        sockacceptlog: Int<0> = "4",
    }
}

/// Reads the section and binds the sockets.
fn prepare(loading: &Loading<'_>) -> Result<(), String> {
    bind(
        loading,
        Kind {
            module: "nssock",
            scheme: "http",
            port: 80,
            tls: None,
        },
    )
}

/// What distinguishes a driver for TLS from one without.
pub struct Kind {
    pub module: &'static str,
    pub scheme: &'static str,
    pub port: u16,
    pub tls: Option<Arc<net::tls::ServerConfig>>,
}

/// Binds the sockets of a driver section and enters it into the process.
///
/// # Errors
/// What is wrong with the section, or which address cannot be had.
pub fn bind(loading: &Loading<'_>, kind: Kind) -> Result<(), String> {
    let section = loading.config();
    let settings = read(&section)?;
    let mut config = listener(loading, &settings, kind.scheme, kind.port)?;
    config.module = kind.module.to_owned();
    config.tls = kind.tls;
    let bound = net::bind(&config, &mut loading.prebound.lock()).map_err(|e| e.to_string())?;
    let parts = DriverParts {
        name: loading.name.to_owned(),
        module: kind.module,
        scheme: kind.scheme,
        default_port: kind.port,
        hostname: settings
            .hostname
            .clone()
            .unwrap_or_else(|| own_name(&settings)),
        location: settings.location.clone(),
        extra_headers: server::setup::pairs(settings.extraheaders.as_deref(), &loading.section)?,
        config,
        bound,
    };
    let driver = DriverEntry::new(parts, loading.process);
    hosts(loading, &driver, settings.defaultserver.as_deref())?;
    loading.process.drivers.write().push(driver);
    Ok(())
}

/// Drivers are started by the server when everything else stands.
fn start(_loading: &Loading<'_>) -> Result<(), String> {
    Ok(())
}

fn read(section: &Section) -> Result<Settings, String> {
    Settings::read(section).map_err(|p| {
        p.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })
}

fn own_name(settings: &Settings) -> String {
    settings
        .address
        .first()
        .and_then(|a| a.split_whitespace().next())
        .unwrap_or("localhost")
        .to_owned()
}

fn listener(
    loading: &Loading<'_>,
    s: &Settings,
    scheme: &str,
    default_port: u16,
) -> Result<net::ListenerConfig, String> {
    let words = |list: &[String]| -> Vec<String> {
        list.iter()
            .flat_map(|l| l.split_whitespace())
            .map(str::to_owned)
            .collect()
    };
    let mut ports = Vec::new();
    for port in words(&s.port) {
        ports.push(port.parse::<u16>().map_err(|_| {
            format!(
                "section {}, parameter port: \"{port}\" is not a port",
                loading.section
            )
        })?);
    }
    if ports.is_empty() {
        ports.push(default_port);
    }
    Ok(net::ListenerConfig {
        name: loading.name.to_owned(),
        module: "nssock".to_owned(),
        scheme: scheme.to_owned(),
        addresses: words(&s.address),
        ports,
        driverthreads: s.driverthreads.as_usize(),
        spoolerthreads: s.spoolerthreads.as_usize(),
        backlog: i32::try_from(s.backlog.get()).unwrap_or(i32::MAX),
        acceptsize: s.acceptsize.as_usize(),
        maxconnections: s.maxopen.as_usize(),
        nodelay: s.nodelay,
        deferaccept: s.deferaccept,
        reuseport: s.reuseport,
        fastopen: s.fastopen,
        bufsize: s.bufsize.as_usize(),
        maxline: s.maxline.as_usize(),
        maxheaders: s.maxheaders.as_usize(),
        maxinput: s.maxinput.get(),
        maxupload: s.maxupload.get(),
        readahead: s.readahead.get(),
        uploadpath: s
            .uploadpath
            .as_ref()
            .map_or_else(|| loading.process.tmpdir(), PathBuf::from),
        progressminsize: loading.process.settings().progressminsize.get(),
        recvwait: s.recvwait,
        sendwait: s.sendwait,
        closewait: s.closewait,
        keepwait: s.keepwait,
        keepalivemaxuploadsize: s.keepalivemaxuploadsize.get(),
        keepalivemaxdownloadsize: s.keepalivemaxdownloadsize.get(),
        writersize: s.writersize.get(),
        writerstreaming: s.writerstreaming,
        writermemory: s.writermemory.as_usize(),
        writerspool: s.writerspool.get(),
        writerratelimit: u64::try_from(s.writerratelimit.get()).unwrap_or(0) * 1024,
        minrecvrate: s.minrecvrate.get(),
        minsendrate: s.minsendrate.get(),
        maxperaddress: s.maxperaddress.as_usize(),
        writerbufsize: s.writerbufsize.as_usize(),
        ..net::ListenerConfig::default()
    })
}

/// Which server answers for which host: `ns/module/NAME/servers`; a driver of one server is all its own.
fn hosts(
    loading: &Loading<'_>,
    driver: &Arc<DriverEntry>,
    default: Option<&str>,
) -> Result<(), String> {
    if let Some(server) = loading.server {
        driver.set_default(server);
        return Ok(());
    }
    let process = loading.process;
    let named = |name: &str| {
        let known: Vec<String> = process.servers().iter().map(|s| s.name.clone()).collect();
        process.server(name).ok_or_else(|| {
            format!(
                "section {}: no server \"{name}\"; servers are {}",
                loading.section,
                known.join(", ")
            )
        })
    };
    if let Some(name) = default {
        driver.set_default(&named(name)?);
    }
    let config = process.config.read();
    let Some(section) = config.section(&format!("{}/servers", loading.section)) else {
        return Ok(());
    };
    for p in &section.params {
        let server = named(&p.key)?;
        for host in p.value.split_whitespace() {
            driver.add_host(host, &server);
        }
    }
    Ok(())
}
