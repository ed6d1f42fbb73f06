//! Virtual servers and drivers from inside: ns_server, ns_driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use ::server::driver::DriverEntry;
use ::server::pool::Pool;
use ::server::process::Phase;
use ::server::route::{Listed, Unset};
use ::server::vserver::VirtualServer;
use synopsis::{Call, Int, choice, commands};
use tcl::{Exit, Obj, Outcome};

use crate::kinds::{ServerArg, context};

mod state;

commands! { TABLE(call):

    /// Pools, threads, requests, mappings and settings of a virtual server.
    "ns_server" [-server: Option<ServerArg>, -pool: Option<String>, --] {rest in SERVER}
        => rest.run(&Selected::of(call, server, pool)?);

    /// What is known about each driver: a dictionary for each.
    "ns_driver info" [-server: Option<ServerArg>] () => drivers(call, server).iter().map(driver_info).collect::<Vec<Obj>>();

    /// Names of the drivers.
    "ns_driver names" [-server: Option<ServerArg>] () => drivers(call, server).iter().map(|d| d.name.clone()).collect::<Vec<String>>();

    /// Counters of each driver: a dictionary for each.
    "ns_driver stats" [-server: Option<ServerArg>] () => drivers(call, server).iter().map(driver_stats).collect::<Vec<Obj>>();

    /// Names of the drivers' threads.
    "ns_driver threads" [-server: Option<ServerArg>] () => driver_threads(call, server);
}

commands! { SERVER(call):

    /// Requests that run.
    #[usage("")]
    "ns_server active" [-checkforproxy: bool] (pool: Option<String>)
        => selected(call, pool).map(|s| state::requests(&s, true, false));

    /// Requests that run or wait.
    #[usage("")]
    "ns_server all" [-checkforproxy: bool] (pool: Option<String>)
        => selected(call, pool).map(|s| state::requests(&s, true, true));

    /// Authorization procedures.
    "ns_server authprocs" () => state::authorities(&here(call));

    /// Charset of output, of URLs, or the one tried for form data that is not valid in it; sets it when one is given.
    #[usage("?output|url|formfallback?")]
    "ns_server charset" (which: Charset = Charset::Output, value: Option<String>)
        => state::charset(&here(call), which, value);

    /// Limit of one connection's output in kB/s; -1: none.
    "ns_server connectionratelimit" (value: Option<Int<-1>>) => limit(&here(call).pool.connection_rate_limit, value);

    /// Number of requests so far.
    #[usage("")]
    "ns_server connections" (pool: Option<String>)
        => selected(call, pool).map(|s| s.pool.counters.processed.load(Relaxed));

    /// Filters.
    "ns_server filters" () => state::filters(&here(call).server);

    /// Hosts for which the server answers.
    "ns_server hosts" () => state::hosts(&here(call).server);

    /// Number of connections that are kept open for the next request.
    #[usage("")]
    "ns_server keepalive" (pool: Option<String>) => selected(call, pool).map(|s| state::kept_alive(&s));

    /// Directory of log files.
    "ns_server logdir" () => state::logdir(&here(call));

    /// Maps requests to the pool, or lists what is mapped to it.
    "ns_server map" [-noinherit: bool] (mapspec: Option<String>) => map(&here(call), mapspec, noinherit);

    /// The pool of a request; empty for the default pool.
    "ns_server mapped" [-all: bool, -exact: bool, -noinherit: bool] (mapspec: String)
        => mapped(&here(call), &mapspec, all, exact, noinherit);

    /// Most connection threads of the pool; sets it when a number is given.
    #[usage("?/value[1,100]/?")]
    "ns_server maxthreads" (value: Option<i64>) => state::max_threads(&here(call), value);

    /// Connection threads that the pool keeps; sets it when a number is given.
    #[usage("?/value[1,10]/?")]
    "ns_server minthreads" (value: Option<i64>) => state::min_threads(&here(call), value);

    /// Directory of pages.
    "ns_server pagedir" () => here(call).server.pages.to_string_lossy().into_owned();

    /// Limit of the pool's output in kB/s; -1: none.
    "ns_server poolratelimit" (value: Option<Int<-1>>) => limit(&here(call).pool.pool_rate_limit, value);

    /// Names of the pools; that of the default pool is empty.
    "ns_server pools" () => here(call).server.pools().iter().map(|p| state::shown_name(p).to_owned()).collect::<Vec<String>>();

    /// Requests that wait.
    #[usage("")]
    "ns_server queued" [-checkforproxy: bool] (pool: Option<String>)
        => selected(call, pool).map(|s| state::requests(&s, false, true));

    /// Realm of basic authorization; sets it when one is given.
    "ns_server realm" (newrealm: Option<String>) => state::realm(&here(call), newrealm);

    /// Handlers of requests.
    "ns_server requestprocs" () => state::handlers(&here(call).server);

    /// Base directory; `-effective`: for the host of the current request.
    "ns_server serverdir" [-effective: bool] () => here(call).server.root.to_string_lossy().into_owned();

    /// Counters: a dictionary.
    "ns_server stats" () => state::stats(&here(call));

    /// Directory of the private Tcl library.
    "ns_server tcllib" () => state::tcl_library(&here(call).server);

    /// Connection threads: a dictionary.
    #[usage("")]
    "ns_server threads" (pool: Option<String>) => selected(call, pool).map(|s| state::threads(&s));

    /// Traces.
    "ns_server traces" () => state::traces(&here(call).server);

    /// Ends a mapping; whether there was one.
    "ns_server unmap" [-noinherit: bool] (mapspec: String) => unmap(&here(call), &mapspec, noinherit);

    /// How URLs become files.
    "ns_server url2file" () => state::url_to_file(&here(call).server);

    /// Whether each host has a page directory of its own.
    "ns_server vhostenabled" () => here(call).server.vhost.enabled;

    /// Number of requests that wait.
    #[usage("")]
    "ns_server waiting" (pool: Option<String>) => selected(call, pool).map(|s| s.pool.waiting());
}

choice! {
    /// Which charset `ns_server charset` is about.
    pub enum Charset { Output = "output", Url = "url", Formfallback = "formfallback" }
}

/// What a subcommand is about.
#[derive(Clone)]
struct Selected {
    server: Arc<VirtualServer>,
    pool: Arc<Pool>,
    /// Whether a pool was named.
    explicit: bool,
}

impl Selected {
    fn of(
        call: &Call<'_>,
        server: Option<ServerArg>,
        pool: Option<String>,
    ) -> Result<Selected, Exit> {
        let server = match server {
            Some(ServerArg(server)) => server,
            None => Arc::clone(context(call).server()),
        };
        let explicit = pool.is_some();
        let pool = find_pool(&server, pool.as_deref().unwrap_or_default())?;
        Ok(Selected {
            server,
            pool,
            explicit,
        })
    }
}

fn find_pool(server: &Arc<VirtualServer>, name: &str) -> Result<Arc<Pool>, Exit> {
    server.pool(name).cloned().ok_or_else(|| {
        tcl::error(format!(
            "no such pool '{name}' for server '{}'",
            server.name
        ))
    })
}

fn here(call: &Call<'_>) -> Selected {
    call.context::<Selected>()
        .cloned()
        .expect("rows of this table are run with a selection only")
}

/// The selection, with the pool that older scripts name behind the subcommand.
fn selected(call: &Call<'_>, pool: Option<String>) -> Result<Selected, Exit> {
    let mut selected = here(call);
    if let Some(name) = pool {
        selected.pool = find_pool(&selected.server, &name)?;
        selected.explicit = true;
    }
    Ok(selected)
}

fn limit(setting: &AtomicI64, value: Option<Int<-1>>) -> i64 {
    if let Some(value) = value {
        setting.store(*value, Relaxed);
    }
    setting.load(Relaxed)
}

fn map(selected: &Selected, spec: Option<String>, noinherit: bool) -> Outcome {
    let Some(spec) = spec else {
        let mapped = |m: &Listed<Arc<Pool>>| Arc::ptr_eq(&m.data, &selected.pool);
        let list = selected.server.pool_map.list();
        return Ok(Obj::list(
            list.iter()
                .filter(|m| mapped(m))
                .map(|m| state::mapping(m, None)),
        ));
    };
    let wanted = mapping_of(&spec)?;
    let pool = Arc::clone(&selected.pool);
    selected.server.pool_map.set(
        &wanted.method,
        &wanted.url,
        noinherit,
        wanted.constraints,
        pool,
    );
    Ok(Obj::new())
}

fn unmap(selected: &Selected, spec: &str, noinherit: bool) -> Outcome<bool> {
    let wanted = mapping_of(spec)?;
    let what = Unset {
        noinherit,
        ..Unset::default()
    };
    Ok(selected
        .server
        .pool_map
        .unset(&wanted.method, &wanted.url, what))
}

fn mapped(selected: &Selected, spec: &str, all: bool, exact: bool, noinherit: bool) -> Outcome {
    let wanted = mapping_of(spec)?;
    let space = &selected.server.pool_map;
    if all {
        let list = space.list();
        let same =
            |m: &&Listed<Arc<Pool>>| m.key == wanted.method && state::mapped_url(m) == wanted.url;
        return Ok(Obj::list(
            list.iter()
                .filter(same)
                .map(|m| state::mapping(m, Some(&m.data))),
        ));
    }
    let found = if exact {
        space.get_exact(&wanted.method, &wanted.url, noinherit, None)
    } else if noinherit {
        space.get_noinherit(&wanted.method, &wanted.url, None)
    } else {
        space.get(&wanted.method, &wanted.url, None)
    };
    Ok(Obj::from(found.as_deref().map_or("", state::shown_name)))
}

struct Mapping {
    method: String,
    url: String,
    constraints: ::server::route::Constraints,
}

fn mapping_of(spec: &str) -> Result<Mapping, Exit> {
    let words = tcl::list_parse(spec)?;
    let (method, url, rest) = match words.as_slice() {
        [method, url] => (method, url, None),
        [method, url, rest] => (method, url, Some(rest)),
        _ => {
            return Err(tcl::error(format!(
                "invalid mapspec '{spec}'; must be 2- or 3-element list containing HTTP method, plain path, and optionally a list of constraints"
            )));
        }
    };
    let constraints = match rest {
        Some(text) => ::server::route::Constraints::parse(&tcl::list_parse(text)?, text)
            .map_err(tcl::error)?,
        None => ::server::route::Constraints::default(),
    };
    Ok(Mapping {
        method: method.clone(),
        url: url.clone(),
        constraints,
    })
}

/// The drivers, or those that answer for a server.
fn drivers(call: &Call<'_>, server: Option<ServerArg>) -> Vec<Arc<DriverEntry>> {
    let process = Arc::clone(&context(call).process);
    if process.phase() < Phase::Running {
        return Vec::new(); // As in the reference, they come after the libraries.
    }
    let all = process.drivers.read().clone();
    let Some(ServerArg(server)) = server else {
        return all;
    };
    let serves = |d: &Arc<DriverEntry>| {
        d.hosts().iter().any(|(_, s)| Arc::ptr_eq(s, &server))
            || Arc::ptr_eq(&d.default_server(), &server)
    };
    all.into_iter().filter(serves).collect()
}

fn driver_info(driver: &Arc<DriverEntry>) -> Obj {
    let c = &driver.config;
    let words = |list: Vec<String>| Obj::from(list.join(" "));
    let mut ports: Vec<String> = driver
        .addresses()
        .iter()
        .map(|a| a.port().to_string())
        .collect();
    ports.dedup();
    let headers = Obj::list(
        driver
            .extra_headers
            .iter()
            .flat_map(|(k, v)| [Obj::from(k), Obj::from(v)]),
    );
    let port = driver.addresses().first().map_or(0, |a| a.port());
    dict([
        ("module", Obj::from(&driver.name)),
        ("type", Obj::from(driver.module)),
        ("server", Obj::new()),
        ("location", Obj::from(driver.location(None, port))),
        ("address", words(c.addresses.clone())),
        ("port", words(ports)),
        ("defaultport", Obj::from(i64::from(driver.default_port))),
        ("protocol", Obj::from(driver.scheme)),
        ("sendwait", Obj::from(seconds(c.sendwait))),
        ("recvwait", Obj::from(seconds(c.recvwait))),
        ("extraheaders", headers),
        (
            "libraryversion",
            Obj::from(::server::identity::server_header()),
        ),
    ])
}

fn driver_stats(driver: &Arc<DriverEntry>) -> Obj {
    let running = driver.running();
    let (counters, connections) = running
        .map(|d| (d.stats(), d.connections()))
        .unwrap_or_default();
    let in_state =
        |state: net::ConnectionState| connections.iter().filter(|c| c.state == state).count();
    let reading = in_state(net::ConnectionState::Reading) + in_state(net::ConnectionState::Idle);
    let errors = counters.errors + counters.refused.iter().map(|(_, n)| n).sum::<u64>();
    dict([
        ("thread", Obj::from(format!("-driver:{}:0-", driver.name))),
        ("module", Obj::from(driver.module)),
        ("received", Obj::from(counters.requests)),
        ("spooled", Obj::from(counters.spooled)),
        ("partial", Obj::from(counters.partial)),
        ("errors", Obj::from(errors)),
        ("waiting", Obj::from(0)),
        ("reading", Obj::from(reading)),
        (
            "closing",
            Obj::from(in_state(net::ConnectionState::Closing)),
        ),
    ])
}

fn driver_threads(call: &Call<'_>, server: Option<ServerArg>) -> Vec<String> {
    let wanted: Vec<String> = drivers(call, server)
        .iter()
        .map(|d| format!("-driver:{}:", d.name))
        .collect();
    let names = shared::thread::list()
        .into_iter()
        .map(|t| t.name.to_string());
    names
        .filter(|n| wanted.iter().any(|w| n.starts_with(w.as_str())))
        .collect()
}

fn seconds(span: std::time::Duration) -> String {
    shared::time::Time::from_micros(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)).decimal()
}

/// A dictionary with the keys in this order.
fn dict<const N: usize>(pairs: [(&str, Obj); N]) -> Obj {
    Obj::list(pairs.into_iter().flat_map(|(k, v)| [Obj::from(k), v]))
}
