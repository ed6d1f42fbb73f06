//! What the subcommands of ns_server tell about a server and its pools.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ::server::dispatch::UrlToFile;
use ::server::filter::Filter;
use ::server::pool::Pool;
use ::server::process::Phase;
use ::server::route::Listed;
use ::server::script::Authorities;
use ::server::vserver::VirtualServer;
use tcl::{Obj, Outcome};

use super::{Charset, Selected, dict, seconds};

/// The default pool is the one without a name.
pub fn shown_name(pool: &Pool) -> &str {
    if pool.name == "default" {
        ""
    } else {
        &pool.name
    }
}

/// Running and waiting requests: `{id peer state method url seconds bytes}`.
pub fn requests(selected: &Selected, running: bool, waiting: bool) -> Vec<Obj> {
    let mut rows = Vec::new();
    if running {
        for r in selected.pool.active() {
            let sent = r.sent.load(Relaxed);
            rows.push(request(
                r.id,
                &r.peer.to_string(),
                "running",
                &r.method,
                &r.url,
                r.since.elapsed(),
                sent,
            ));
        }
    }
    if waiting {
        for (id, peer, method, url, since) in selected.pool.queued() {
            rows.push(request(
                id,
                &peer,
                "queued",
                &method,
                &url,
                since.elapsed(),
                0,
            ));
        }
    }
    rows
}

fn request(
    id: u64,
    peer: &str,
    state: &str,
    method: &str,
    url: &str,
    since: Duration,
    sent: u64,
) -> Obj {
    Obj::list([
        Obj::from(format!("cns{id}")),
        Obj::from(peer),
        Obj::from(state),
        Obj::from(method),
        Obj::from(url),
        Obj::from(seconds(since)),
        Obj::from(sent),
    ])
}

pub fn authorities(selected: &Selected) -> Vec<Obj> {
    let found = selected.server.extensions.find::<Authorities>();
    found
        .map(|a| {
            a.0.read()
                .iter()
                .map(|one| Obj::from(one.describe()))
                .collect()
        })
        .unwrap_or_default()
}

/// # Errors
/// A charset cannot be changed while the server runs.
pub fn charset(selected: &Selected, which: Charset, value: Option<String>) -> Outcome<String> {
    let server = &selected.server;
    let current = match which {
        Charset::Output => server.output_charset(),
        Charset::Url => server.url_charset(),
        Charset::Formfallback => server.form_fallback_charset().unwrap_or_default(),
    };
    match value {
        Some(new) if new != current => Err(tcl::error(format!(
            "ns_server charset {}: set {}charset in the configuration instead",
            which.word(),
            which.word()
        ))),
        _ => Ok(current),
    }
}

pub fn filters(server: &VirtualServer) -> Vec<Obj> {
    server.filters.list().iter().map(|f| filter(f)).collect()
}

fn filter(f: &Filter) -> Obj {
    let mut words = vec![
        Obj::from(&f.method),
        Obj::from(&f.url),
        Obj::from(f.stage.name()),
    ];
    if !f.constraints.is_empty() {
        words.push(Obj::list(
            f.constraints
                .pairs()
                .flat_map(|(k, v)| [Obj::from(k), Obj::from(v)]),
        ));
    }
    words.extend(list_words(&f.action.describe()));
    Obj::list(words)
}

pub fn traces(server: &VirtualServer) -> Vec<Obj> {
    let scripts = server.filters.traces();
    let mut rows: Vec<Obj> = scripts.iter().map(|f| filter(f)).collect();
    rows.extend(server.traces.read().iter().map(|_| Obj::from("ns:trace")));
    rows
}

pub fn hosts(server: &Arc<VirtualServer>) -> Vec<String> {
    let process = server.process();
    if process.phase() < Phase::Running {
        return Vec::new(); // As in the reference, hosts come with the drivers.
    }
    let drivers = process.drivers.read().clone();
    let mine = |d: &Arc<::server::driver::DriverEntry>| {
        d.hosts()
            .into_iter()
            .filter(|(_, s)| Arc::ptr_eq(s, server))
            .map(|(h, _)| h)
            .collect::<Vec<_>>()
    };
    let mut all: Vec<String> = drivers.iter().flat_map(mine).collect();
    all.sort();
    all.dedup();
    all
}

pub fn kept_alive(selected: &Selected) -> usize {
    let drivers = selected.server.process().drivers.read().clone();
    let idle = |c: &net::ConnectionInfo| c.state == net::ConnectionState::Idle && c.requests > 0;
    drivers
        .iter()
        .filter_map(|d| d.running())
        .map(|d| d.connections().iter().filter(|c| idle(c)).count())
        .sum()
}

pub fn logdir(selected: &Selected) -> String {
    let process = selected.server.process();
    let own = selected.server.settings.logdir.as_ref();
    let dir = own.map_or_else(|| process.logdir(), |d| selected.server.root.join(d));
    dir.to_string_lossy().into_owned()
}

/// Method, URL, inheritance and constraints of a mapping, with the pool in front when one is given.
pub fn mapping(m: &Listed<Arc<Pool>>, pool: Option<&Pool>) -> Obj {
    let mut words: Vec<Obj> = pool.map(|p| Obj::from(shown_name(p))).into_iter().collect();
    words.extend([
        Obj::from(&m.key),
        Obj::from(mapped_url(m)),
        Obj::from(m.kind()),
    ]);
    if !m.constraints.is_empty() {
        words.push(Obj::list(
            m.constraints
                .pairs()
                .flat_map(|(k, v)| [Obj::from(k), Obj::from(v)]),
        ));
    }
    Obj::list(words)
}

pub fn mapped_url<T>(m: &Listed<T>) -> String {
    match (m.path.as_str(), m.pattern.as_str()) {
        (path, "*" | "") => path.to_owned(),
        ("/", pattern) => format!("/{pattern}"),
        (path, pattern) => format!("{path}/{pattern}"),
    }
}

/// # Errors
/// The number is not from 1 to `maxconnections`.
pub fn max_threads(selected: &Selected, value: Option<i64>) -> Outcome<usize> {
    let pool = &selected.pool;
    if let Some(n) = value {
        pool.maxthreads
            .store(within(n, pool.settings.maxconnections.get())?, Relaxed);
        let least = pool
            .minthreads
            .load(Relaxed)
            .min(pool.maxthreads.load(Relaxed));
        pool.minthreads.store(least, Relaxed);
    }
    Ok(pool.maxthreads.load(Relaxed))
}

/// # Errors
/// The number is not from 1 to `maxthreads`.
pub fn min_threads(selected: &Selected, value: Option<i64>) -> Outcome<usize> {
    let pool = &selected.pool;
    if let Some(n) = value {
        let most = i64::try_from(pool.maxthreads.load(Relaxed)).unwrap_or(i64::MAX);
        pool.minthreads.store(within(n, most)?, Relaxed);
    }
    Ok(pool.minthreads.load(Relaxed))
}

fn within(n: i64, most: i64) -> Outcome<usize> {
    usize::try_from(n)
        .ok()
        .filter(|_| (1..=most).contains(&n))
        .ok_or_else(|| {
            tcl::error(format!(
                "expected integer in range [1,{most}] for '?value', but got {n}"
            ))
        })
}

pub fn realm(selected: &Selected, new: Option<String>) -> String {
    if let Some(new) = new {
        *selected.server.realm.write() = new;
    }
    selected.server.realm.read().clone()
}

pub fn handlers(server: &VirtualServer) -> Vec<Obj> {
    let row = |m: &Listed<Arc<::server::dispatch::Handler>>| {
        let mut words = vec![
            Obj::from(&m.key),
            Obj::from(&m.path),
            Obj::from(&m.pattern),
            Obj::from(m.kind()),
        ];
        if !m.constraints.is_empty() {
            words.push(Obj::list(
                m.constraints
                    .pairs()
                    .flat_map(|(k, v)| [Obj::from(k), Obj::from(v)]),
            ));
        }
        words.extend(list_words(&m.data.describe()));
        Obj::list(words)
    };
    server.routes.list().iter().map(row).collect()
}

pub fn url_to_file(server: &VirtualServer) -> Vec<Obj> {
    let row = |m: &Listed<Arc<UrlToFile>>| {
        let mut words = vec![
            Obj::from(&m.path),
            Obj::from(&m.pattern),
            Obj::from(m.kind()),
        ];
        match &*m.data {
            UrlToFile::Default => words.push(Obj::from("ns:fastpath")),
            UrlToFile::Script(script) => words.extend(list_words(&script.describe())),
        }
        Obj::list(words)
    };
    server.url_to_file.list().iter().map(row).collect()
}

/// A description is a list; one that is not stays one word.
fn list_words(text: &str) -> Vec<Obj> {
    match tcl::list_parse(text) {
        Ok(words) => words.into_iter().map(Obj::from).collect(),
        Err(_) => vec![Obj::from(text)],
    }
}

pub fn stats(selected: &Selected) -> Obj {
    let stats = &selected.server.stats;
    let counters = &selected.pool.counters;
    let time = |micros: u64| {
        Obj::from(
            shared::time::Time::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)).decimal(),
        )
    };
    dict([
        ("requests", Obj::from(counters.processed.load(Relaxed))),
        ("spools", Obj::from(stats.spools.load(Relaxed))),
        ("queued", Obj::from(counters.queued.load(Relaxed))),
        ("dropped", Obj::from(counters.dropped.load(Relaxed))),
        ("sent", Obj::from(stats.sent.load(Relaxed))),
        (
            "connthreads",
            Obj::from(counters.threads_started.load(Relaxed)),
        ),
        ("accepttime", time(stats.accept_time.load(Relaxed))),
        ("queuetime", time(stats.queue_time.load(Relaxed))),
        ("filtertime", time(stats.filter_time.load(Relaxed))),
        ("runtime", time(stats.run_time.load(Relaxed))),
        ("tracetime", time(stats.trace_time.load(Relaxed))),
    ])
}

pub fn tcl_library(server: &VirtualServer) -> String {
    let process = server.process();
    let dir = server.tcl.library.as_ref().map_or_else(
        || process.home().join(&process.settings().tcllibrary),
        |l| process.home().join(l),
    );
    dir.to_string_lossy().into_owned()
}

pub fn threads(selected: &Selected) -> Obj {
    let (alive, idle) = selected.pool.thread_counts();
    dict([
        ("min", Obj::from(selected.pool.minthreads.load(Relaxed))),
        ("max", Obj::from(selected.pool.maxthreads.load(Relaxed))),
        ("current", Obj::from(alive)),
        ("idle", Obj::from(idle)),
        ("stopping", Obj::from(0)),
    ])
}
