//! Caches: ns_cache_*, ns_memoize*.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ::server::script::Context;
use parking_lot::RwLock;
use shared::cache::{Cache, Config, Lookup, Transaction, UpdateError};
use synopsis::{Call, FromObj, Kind, Label, MemorySize, Rest, Time, commands};
use tcl::{Exit, Interp, Obj, Outcome, ReturnExit, TclError};

use crate::kinds::context;

commands! { TABLE(call):

    /// Appends texts to a value.
    "ns_cache_append" [-timeout: Option<Time>, -expires: Option<Time>, --] (cache: CacheArg, key: String, arg: Rest)
        => update(call, &cache, &key, timeout, expires, |old| {
            let mut text = old.unwrap_or_default().to_owned();
            arg.iter().for_each(|a| a.with_text(|t| text.push_str(t)));
            Ok((text.clone(), Obj::from(text)))
        });

    /// The limits of a cache, or new ones.
    "ns_cache_configure" (cache: CacheArg, arg: Option<Rest>)
        => match arg {
            None => Ok(settings(&cache.0.config())),
            Some(_) => call.hand_over(&CONFIGURE[0], call.skip + 1, Some(&cache.0)),
        };

    /// A new cache; whether it is new.
    "ns_cache_create" [-timeout: Option<Time>, -expires: Option<Time>, -maxentry: Option<MemorySize>, --]
        (cache: String, size as "/size/": MemorySize)
        => create(call, cache, size, Limits { timeout, expires, maxentry });

    /// The value of a key, made by a script where there is none.
    "ns_cache_eval" [-timeout: Option<Time>, -expires: Option<Time>, -force: bool, --] (cache: CacheArg, key: String, arg: Rest)
        => evaluate(call, &cache.0, &key, Making { timeout, expires, force }, arg.0);

    /// Whether there is such a cache.
    #[usage("/cache/")]
    "ns_cache_exists" (cache: String, more: Option<Rest>)
        => match more {
            None => Ok(caches(call).0.read().contains_key(&cache)),
            // Complains about the cache first.
            Some(_) => find(call, &cache).and_then(|_| Err(call.wrong_args())),
        };

    /// Removes keys, or everything; how many entries went.
    "ns_cache_flush" [-glob: bool, --] (cache: CacheArg, arg: Option<Rest>)
        => flush(call, &cache.0, glob, arg);

    /// The value of a key; with a variable, whether there is one.
    "ns_cache_get" (cache: CacheArg, key: String, variable as "varname": Option<String>)
        => get(call, &cache.0, &key, variable);

    /// Adds to a number, which starts with 0.
    "ns_cache_incr" [-timeout: Option<Time>, -expires: Option<Time>, --] (cache: CacheArg, key: String, incr: i64 = 1)
        => update(call, &cache, &key, timeout, expires, |old| {
            let old = old.map_or(Ok(0), |text| Obj::from(text).int())?;
            let new = old.checked_add(incr).ok_or_else(|| tcl::error("integer value too large to represent"))?;
            Ok((new.to_string(), Obj::from(new)))
        });

    /// The keys that match a pattern, or that are the pattern.
    "ns_cache_keys" [-exact: bool, --] (cache: CacheArg, pattern: Option<String>)
        => keys(call, &cache.0, exact, pattern.as_deref());

    /// Appends elements to a list.
    "ns_cache_lappend" [-timeout: Option<Time>, -expires: Option<Time>, --] (cache: CacheArg, key: String, arg: Rest)
        => update(call, &cache, &key, timeout, expires, |old| {
            let mut list = Obj::from(old.unwrap_or_default());
            list.list_len()?;
            for element in arg {
                list.push(element.clone())?;
            }
            Ok((list.text(), list))
        });

    /// The names of all caches of the server.
    "ns_cache_names" => caches(call).0.read().keys().cloned().collect::<Vec<_>>();

    /// What a cache has counted, or its contents: key, size, hits, time of expiry.
    "ns_cache_stats" [-contents: bool, -reset: bool, --] (cache: CacheArg)
        => stats(&cache.0, contents, reset);

    /// From now on values are held back until a commit.
    "ns_cache_transaction_begin" => transaction(call.interp).borrow_mut().begin();

    /// Makes the values of the transaction visible.
    "ns_cache_transaction_commit" [-all: bool]
        => transaction(call.interp).borrow_mut().commit(all).ok_or_else(no_transaction);

    /// Forgets the values of the transaction.
    "ns_cache_transaction_rollback" [-all: bool]
        => transaction(call.interp).borrow_mut().rollback(all).ok_or_else(no_transaction);

    /// The result of a script, which is evaluated once.
    #[style(args)]
    "ns_memoize" [-timeout: Option<Time>, -expires: Option<Time>, --] (script: Obj, args as "/args/": Option<Rest>)
        => {
            let mut words = vec![script];
            words.extend(args.iter().flat_map(|a| a.iter().cloned()));
            let key = if let [script] = &words[..] { script.text() } else { Obj::list(words.iter().cloned()).text() };
            evaluate(call, &memoized(call), &key, Making { timeout, expires, force: false }, &words)
        };

    /// Forgets results of scripts; how many.
    #[style(proc)]
    "ns_memoize_flush" (pattern: Option<String>)
        => {
            let transaction = transaction(call.interp);
            let mut transaction = transaction.borrow_mut();
            match pattern {
                Some(pattern) => memoized(call).flush_glob(&pattern, Some(&mut transaction)),
                None => memoized(call).flush_all(Some(&mut transaction)),
            }
        };

    /// What the cache of ns_memoize has counted.
    #[style(proc)]
    "ns_memoize_stats" => stats(&memoized(call), false, false);
}

commands! { CONFIGURE(call):

    /// New limits of a cache, which is the word behind the command.
    "ns_cache_configure" [-timeout: Option<Time>, -expires: Option<Time>, -maxentry: Option<MemorySize>, -maxsize: Option<MemorySize>]
        => configure(call, maxsize, Limits { timeout, expires, maxentry });
}

/// The caches of a server.
#[derive(Default)]
struct Caches(RwLock<BTreeMap<String, Arc<Cache>>>);

/// A cache by its name.
struct CacheArg(Arc<Cache>);

impl FromObj for CacheArg {
    const KIND: Kind = Kind::Value("cache");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<Self, Exit> {
        value.with_text(|name| find(call, name)).map(CacheArg)
    }
}

fn find(call: &Call<'_>, name: &str) -> Result<Arc<Cache>, Exit> {
    caches(call).0.read().get(name).cloned().ok_or_else(|| {
        TclError::new(format!("no such cache: {name}"))
            .with_code(&["NS_CACHE", "LOOKUP", name])
            .into()
    })
}

struct Limits {
    timeout: Option<Time>,
    expires: Option<Time>,
    maxentry: Option<MemorySize>,
}

struct Making {
    timeout: Option<Time>,
    expires: Option<Time>,
    force: bool,
}

/// Bytes for results of ns_memoize where `memoizecache` does not say.
const MEMOIZED: usize = 10 << 20;

fn caches(call: &Call<'_>) -> Arc<Caches> {
    context(call).server().extensions.get::<Caches>()
}

fn memoized(call: &Call<'_>) -> Arc<Cache> {
    const NAME: &str = "ns:memoize";
    let all = caches(call);
    if let Some(cache) = all.0.read().get(NAME) {
        return Arc::clone(cache);
    }
    let size = context(call)
        .server()
        .tcl
        .memoizecache
        .map_or(MEMOIZED, |size| size.as_usize());
    let config = Config {
        max_size: size,
        max_entry: 0,
        expires: None,
        timeout: None,
    };
    Arc::clone(
        all.0
            .write()
            .entry(NAME.to_owned())
            .or_insert_with(|| Cache::new(NAME, config)),
    )
}

/// `cachingmode none`: for clusters whose nodes do not tell each other of changes.
fn caching(call: &Call<'_>) -> bool {
    context(call).process.settings().cachingmode != "none"
}

/// The transactions of an interpreter.
fn transaction(interp: &Interp) -> Rc<RefCell<Transaction>> {
    interp.data::<RefCell<Transaction>>().unwrap_or_else(|| {
        let fresh = Rc::new(RefCell::new(Transaction::new()));
        interp.set_data(Rc::clone(&fresh));
        fresh
    })
}

/// Ends what a request or script has left open: its values are forgotten.
pub fn end_transactions(interp: &Interp, _: &Rc<Context>) {
    let Some(transaction) = interp.data::<RefCell<Transaction>>() else {
        return;
    };
    let mut transaction = transaction.borrow_mut();
    if transaction.is_active() {
        let count = transaction.rollback(true).unwrap_or(0);
        shared::warning!("cache transaction was left open; rolled back, {count} values forgotten");
    }
}

fn no_transaction() -> Exit {
    tcl::error("no cache transaction active")
}

fn positive(size: MemorySize) -> Result<usize, Exit> {
    usize::try_from(size.0).map_err(|_| tcl::error("maxsize and maxentry must be positive numbers"))
}

fn create(call: &Call<'_>, name: String, size: MemorySize, limits: Limits) -> Outcome<bool> {
    let config = Config {
        max_size: positive(size)?,
        max_entry: limits.maxentry.map_or(Ok(0), positive)?,
        expires: limits.expires,
        timeout: limits.timeout,
    };
    let caches = caches(call);
    let mut all = caches.0.write();
    if all.contains_key(&name) {
        return Ok(false);
    }
    all.insert(name.clone(), Cache::new(name, config));
    Ok(true)
}

fn configure(call: &Call<'_>, maxsize: Option<MemorySize>, limits: Limits) -> Outcome<()> {
    let cache = call
        .context::<Arc<Cache>>()
        .ok_or_else(|| tcl::error("no cache"))?;
    let mut config = cache.config();
    if let Some(size) = maxsize {
        config.max_size = positive(size)?;
    }
    if let Some(size) = limits.maxentry {
        config.max_entry = positive(size)?;
    }
    config.expires = limits.expires.or(config.expires);
    config.timeout = limits.timeout.or(config.timeout);
    cache.set_config(config);
    Ok(())
}

fn settings(config: &Config) -> Obj {
    let time = |time: &Option<Time>| time.map_or_else(Obj::new, |t| Obj::from(t.to_string()));
    Obj::list([
        Obj::from("maxsize"),
        Obj::from(config.max_size),
        Obj::from("maxentry"),
        Obj::from(config.max_entry),
        Obj::from("expires"),
        time(&config.expires),
        Obj::from("timeout"),
        time(&config.timeout),
    ])
}

fn timed_out(key: &str) -> Exit {
    TclError::new(format!("timeout waiting for concurrent update: {key}"))
        .with_code(&["NS_TIMEOUT"])
        .into()
}

fn evaluate(
    call: &Call<'_>,
    cache: &Arc<Cache>,
    key: &str,
    making: Making,
    words: &[Obj],
) -> Outcome {
    if !caching(call) {
        return run(call.interp, words);
    }
    let transaction = transaction(call.interp);
    let found = cache.begin(
        key,
        making.force,
        making.timeout,
        Some(&mut transaction.borrow_mut()),
    );
    match found {
        Lookup::Hit(value) => Ok(Obj::from(&*value)),
        Lookup::TimedOut | Lookup::Recursive => Err(timed_out(key)),
        Lookup::Make(guard) => {
            // An error, `break` and the like drop the guard: the next one who asks makes the value.
            let value = run(call.interp, words)?;
            value.with_text(|text| {
                guard.finish(text, making.expires, Some(&mut transaction.borrow_mut()))
            });
            Ok(value)
        }
    }
}

/// One word is a script, several are a command. `return` ends the script with its value, whatever its code.
fn run(interp: &Interp, words: &[Obj]) -> Outcome {
    let outcome = match words {
        [script] => interp.eval_obj(script),
        command => interp.call(command),
    };
    match outcome {
        Err(Exit::Return(exit)) => Ok(ReturnExit::value(&exit).clone()),
        other => other,
    }
}

fn update(
    call: &Call<'_>,
    cache: &CacheArg,
    key: &str,
    timeout: Option<Time>,
    expires: Option<Time>,
    change: impl FnOnce(Option<&str>) -> Outcome<(String, Obj)>,
) -> Outcome {
    if !caching(call) {
        return change(None).map(|(_, value)| value);
    }
    let transaction = transaction(call.interp);
    let mut transaction = transaction.borrow_mut();
    cache
        .0
        .update(key, timeout, expires, Some(&mut transaction), change)
        .map_err(|e| match e {
            UpdateError::Refused(e) => e,
            UpdateError::TimedOut | UpdateError::Recursive => timed_out(key),
        })
}

fn get(call: &Call<'_>, cache: &Arc<Cache>, key: &str, variable: Option<String>) -> Outcome {
    let transaction = transaction(call.interp);
    let found = cache
        .get(key, Some(&transaction.borrow()))
        .map(|value| Obj::from(&*value));
    match (found, variable) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(variable)) => {
            call.interp.set(&variable, value).map(|()| Obj::from(true))
        }
        (None, Some(_)) => Ok(Obj::from(false)),
        (None, None) => Err(tcl::error(format!("no such key: {key}"))),
    }
}

fn keys(call: &Call<'_>, cache: &Arc<Cache>, exact: bool, pattern: Option<&str>) -> Vec<String> {
    let transaction = transaction(call.interp);
    let transaction = transaction.borrow();
    match pattern {
        Some(key) if exact && cache.contains(key, Some(&transaction)) => vec![key.to_owned()],
        Some(_) if exact => Vec::new(),
        _ => cache.keys(pattern, Some(&transaction)),
    }
}

fn flush(call: &Call<'_>, cache: &Arc<Cache>, glob: bool, args: Option<Rest<'_>>) -> usize {
    let transaction = transaction(call.interp);
    let mut transaction = transaction.borrow_mut();
    let Some(args) = args else {
        return cache.flush_all(Some(&mut transaction));
    };
    let mut count = 0;
    for word in args {
        count += word.with_text(|text| {
            if glob {
                cache.flush_glob(text, Some(&mut transaction))
            } else {
                usize::from(cache.flush(text, Some(&mut transaction)))
            }
        });
    }
    count
}

fn stats(cache: &Cache, contents: bool, reset: bool) -> Obj {
    let result = if contents {
        Obj::list(cache.contents().into_iter().map(|c| {
            let expires = c.expires.to_string();
            Obj::list([
                Obj::from(c.key),
                Obj::from(c.size),
                Obj::from(c.hits),
                Obj::from(expires),
            ])
        }))
    } else {
        let s = cache.stats();
        let pairs = [
            ("maxsize", Obj::from(s.max_size)),
            ("size", Obj::from(s.size)),
            ("entries", Obj::from(s.entries)),
            ("flushed", Obj::from(s.flushed)),
            ("hits", Obj::from(s.hits)),
            ("missed", Obj::from(s.missed)),
            ("hitrate", Obj::from(format!("{:.2}", s.hit_rate))),
            ("expired", Obj::from(s.expired)),
            ("pruned", Obj::from(s.pruned)),
            ("saved", Obj::from(format!("{:.6}", s.saved.as_secs_f64()))),
            ("commit", Obj::from(s.commit)),
            ("rollback", Obj::from(s.rollback)),
        ];
        Obj::list(pairs.into_iter().flat_map(|(k, v)| [Obj::from(k), v]))
    };
    if reset {
        cache.reset_stats();
    }
    result
}
