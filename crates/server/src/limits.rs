//! Limits of requests by URL (manual page ns_limits): how many may be under way, how large their bodies may be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use crate::route::{Context, Space};
use crate::vserver::VirtualServer;

/// A bundle of limits with its counters; every URL it is registered for counts.
pub struct Limit {
    /// Requests that may run.
    pub max_run: AtomicU64,
    /// Requests that may wait in addition.
    pub max_wait: AtomicU64,
    /// Bytes of a body.
    pub max_upload: AtomicU64,
    /// Seconds; kept for existing configurations.
    pub timeout: AtomicU64,
    running: AtomicU64,
    waiting: AtomicU64,
    dropped: AtomicU64,
    overflowed: AtomicU64,
}

impl Default for Limit {
    fn default() -> Limit {
        Limit {
            max_run: AtomicU64::new(100),
            max_wait: AtomicU64::new(100),
            max_upload: AtomicU64::new(10_240_000),
            timeout: AtomicU64::new(100),
            running: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
        }
    }
}

impl Limit {
    /// What `ns_limits_get` shows.
    pub fn values(&self) -> [(&'static str, u64); 9] {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        [
            ("nrunning", get(&self.running)),
            ("nwaiting", get(&self.waiting)),
            ("ntimeout", 0),
            ("ndropped", get(&self.dropped)),
            ("noverflow", get(&self.overflowed)),
            ("maxrun", get(&self.max_run)),
            ("maxwait", get(&self.max_wait)),
            ("maxupload", get(&self.max_upload)),
            ("timeout", get(&self.timeout)),
        ]
    }
}

/// All bundles of the process, by name. An extension of it.
#[derive(Default)]
pub struct Limits(RwLock<BTreeMap<String, Arc<Limit>>>);

impl Limits {
    pub fn find(&self, name: &str) -> Option<Arc<Limit>> {
        self.0.read().get(name).cloned()
    }

    pub fn get_or_make(&self, name: &str) -> Arc<Limit> {
        Arc::clone(self.0.write().entry(name.to_owned()).or_default())
    }

    pub fn list(&self) -> BTreeMap<String, Arc<Limit>> {
        self.0.read().clone()
    }
}

/// Which bundle counts for which method and URL. An extension of the server.
#[derive(Default)]
pub struct Registered(pub Space<Arc<Limit>>);

/// A request that counts towards a limit for as long as this lives.
pub struct Counted {
    limit: Arc<Limit>,
    running: std::cell::Cell<bool>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// 503
    TooMany,
    /// 413
    TooLarge,
}

/// Counts a request with a body of so many bytes; None where no limit is registered.
///
/// # Errors
/// The limit is reached.
pub fn count(
    server: &VirtualServer,
    method: &str,
    url: &str,
    body: u64,
    context: &dyn Context,
) -> Result<Option<Counted>, Excess> {
    let Some(registered) = server.extensions.find::<Registered>() else {
        return Ok(None);
    };
    let Some(limit) = registered.0.get(method, url, Some(context)) else {
        return Ok(None);
    };
    if body > limit.max_upload.load(Ordering::Relaxed) {
        limit.overflowed.fetch_add(1, Ordering::Relaxed);
        return Err(Excess::TooLarge);
    }
    let most = limit
        .max_run
        .load(Ordering::Relaxed)
        .saturating_add(limit.max_wait.load(Ordering::Relaxed));
    let before =
        limit.waiting.fetch_add(1, Ordering::Relaxed) + limit.running.load(Ordering::Relaxed);
    let counted = Counted {
        limit,
        running: std::cell::Cell::new(false),
    };
    if before >= most {
        counted.limit.dropped.fetch_add(1, Ordering::Relaxed);
        return Err(Excess::TooMany);
    }
    Ok(Some(counted))
}

impl Counted {
    /// The request has got its thread.
    pub fn runs(&self) {
        if !self.running.replace(true) {
            self.limit.waiting.fetch_sub(1, Ordering::Relaxed);
            self.limit.running.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let counter = if self.running.get() {
            &self.limit.running
        } else {
            &self.limit.waiting
        };
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}
