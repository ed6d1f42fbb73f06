//! ns_limits_*: named bundles of limits, by URL; and the memory of the fastpath.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::server::fastpath::FileCache;
use ::server::limits::{Limit, Limits, Registered};
use ::server::route::Constraints;
use ::server::vserver::VirtualServer;
use synopsis::{Call, Int, commands};
use tcl::{Obj, Outcome};

use crate::kinds::{ServerArg, context};

commands! { TABLE(call):

    /// Sets limits of a bundle; it is made when it does not exist.
    "ns_limits_set" [-maxrun: Option<Int<0>>, -maxwait: Option<Int<0>>, -maxupload: Option<Int<0>>, -timeout: Option<Int<0>>, --]
        (limits: String)
        => {
            let limit = all(call).get_or_make(&limits);
            for (value, to) in [
                (maxrun, &limit.max_run),
                (maxwait, &limit.max_wait),
                (maxupload, &limit.max_upload),
                (timeout, &limit.timeout),
            ] {
                if let Some(value) = value {
                    to.store(u64::try_from(value.get()).unwrap_or(0), Ordering::Relaxed);
                }
            }
        };

    /// Limits and counters of a bundle.
    "ns_limits_get" (limits: String)
        => {
            let limit = find(call, &limits)?;
            let pairs = limit.values().into_iter().map(|(name, value)| (Obj::from(name), Obj::from(value)));
            Ok::<Obj, tcl::Exit>(Obj::dict(pairs))
        };

    /// Names of all bundles, or of those that match a pattern.
    "ns_limits_list" (pattern: Option<String>)
        => {
            let known: BTreeMap<String, Arc<Limit>> = all(call).list();
            let matching = |name: &&String| pattern.as_ref().is_none_or(|p| shared::glob::matches(p, name));
            known.keys().filter(matching).cloned().collect::<Vec<String>>()
        };

    /// Lets a bundle count for a method and URL.
    "ns_limits_register" [-noinherit: bool, -server as "/server/": Option<ServerArg>, --]
        (limits: String, method: String, url: String)
        => {
            let limit = find(call, &limits)?;
            let server = server.map_or_else(|| Arc::clone(context(call).server()), |s| s.0);
            server.extensions.get::<Registered>().0.set(&method, &url, noinherit, Constraints::default(), limit);
            Ok::<(), tcl::Exit>(())
        };

    /// Counters of the memory for small files.
    "ns_fastpath_cache_stats" [-contents: bool, -reset: bool]
        => {
            let Some(cache) = context(call).process.extensions.find::<FileCache>() else { return Ok(Obj::new()) };
            if contents {
                return Ok(Obj::list(cache.contents().into_iter().map(|(name, size)| {
                    Obj::list([Obj::from(name), Obj::from(size)])
                })));
            }
            let stats = cache.stats();
            if reset {
                cache.reset_stats();
            }
            let lookups = (stats.hits + stats.misses).max(1);
            let pairs = [
                ("maxsize", stats.max_bytes),
                ("size", stats.bytes),
                ("entries", stats.entries as u64),
                ("flushed", stats.flushed),
                ("hits", stats.hits),
                ("missed", stats.misses),
                ("hitrate", stats.hits * 100 / lookups),
                ("pruned", stats.pruned),
            ];
            Obj::dict(pairs.map(|(name, value)| (Obj::from(name), Obj::from(value))))
        };

    /// Directory of a server below `home`, or of one of its modules.
    "ns_modulepath" (server: String, module: Option<synopsis::Rest>)
        => {
            let mut path = context(call).process.home().join("servers").join(server.trim_start_matches('/'));
            for (at, word) in module.iter().flat_map(|m| m.iter()).enumerate() {
                if at == 0 {
                    path.push("modules");
                }
                word.with_text(|w| path.push(w.trim_start_matches('/')));
            }
            path.to_string_lossy().into_owned()
        };
}

synopsis::params! {
    /// A bundle of limits.
    pub struct LimitSettings in "ns/limit/*" {
        /// Requests that may run.
        maxrun: Int<0> = "100",
        /// Requests that may wait in addition.
        maxwait: Int<0> = "100",
        /// Bytes of a body.
        maxupload: Int<0> = "10240000",
        /// Seconds; kept for existing configurations.
        timeout: Int<0> = "100",
    }
}

/// Makes the bundles of `ns/limits`, and lets those of `ns/server/S/limits` count for the server's URLs.
///
/// # Errors
/// What is wrong in the configuration.
pub fn on_server(server: &Arc<VirtualServer>) -> Result<(), String> {
    let process = server.process();
    let config = process.config.read();
    let limits: Arc<Limits> = process.extensions.get();
    for name in config
        .section("ns/limits")
        .into_iter()
        .flat_map(|s| s.params.iter())
        .map(|p| &p.key)
    {
        let section = config.section_or_empty(&format!("ns/limit/{name}"));
        let read = LimitSettings::read(&section);
        let settings = read.map_err(|p| {
            p.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        let limit = limits.get_or_make(name);
        for (value, to) in [
            (settings.maxrun, &limit.max_run),
            (settings.maxwait, &limit.max_wait),
            (settings.maxupload, &limit.max_upload),
            (settings.timeout, &limit.timeout),
        ] {
            to.store(u64::try_from(value.get()).unwrap_or(0), Ordering::Relaxed);
        }
    }
    for p in config
        .section(&server.section("limits"))
        .into_iter()
        .flat_map(|s| s.params.iter())
    {
        let words =
            tcl::list_parse(&p.value).map_err(|e| format!("{}: {}", p.place, e.message()))?;
        let [method, url] = words.as_slice() else {
            return Err(format!(
                "{}: invalid mapping \"{}\": must be METHOD URL",
                p.place, p.value
            ));
        };
        let limit = limits
            .find(&p.key)
            .ok_or_else(|| format!("{}: no such limits: {}", p.place, p.key))?;
        server.extensions.get::<Registered>().0.set(
            method,
            url,
            false,
            Constraints::default(),
            limit,
        );
    }
    Ok(())
}

fn all(call: &Call<'_>) -> Arc<Limits> {
    context(call).process.extensions.get()
}

fn find(call: &Call<'_>, name: &str) -> Outcome<Arc<Limit>> {
    all(call)
        .find(name)
        .ok_or_else(|| tcl::error(format!("no such limits: {name}")))
}
