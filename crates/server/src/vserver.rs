//! A virtual server: its settings, URL space, filters, pools and shared state.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use parking_lot::RwLock;

use crate::dispatch::{Handler, UrlToFile};
use crate::extension::Extensions;
use crate::fastpath::Fastpath;
use crate::filter::Filters;
use crate::pool::Pool;
use crate::process::Process;
use crate::request::Record;
use crate::route::Space;
use crate::script::Blueprint;
use crate::settings::{FastpathSettings, ServerSettings, TclSettings, VhostSettings};

/// Called after a response; the access log is one.
pub type Trace = Arc<dyn Fn(&Record<'_>) + Send + Sync>;

/// One virtual server. Lives as long as the process.
pub struct VirtualServer {
    pub name: String,
    pub settings: ServerSettings,
    pub tcl: TclSettings,
    pub vhost: VhostSettings,
    pub fastpath_settings: FastpathSettings,
    /// `serverdir`, absolute.
    pub root: PathBuf,
    /// `pagedir`, absolute.
    pub pages: PathBuf,
    pub fastpath: Fastpath,
    /// Header fields added to every response (`extraheaders`).
    pub extra_headers: Vec<(String, String)>,
    /// Status to URL of an internal redirect (`ns/server/S/redirects`).
    pub error_pages: HashMap<u16, String>,
    pub realm: RwLock<String>,

    /// Who answers, by method and URL.
    pub routes: Space<Arc<Handler>>,
    /// How a URL becomes a file, by URL.
    pub url_to_file: Space<Arc<UrlToFile>>,
    /// Which pool runs it, by method and URL.
    pub pool_map: Space<Arc<Pool>>,
    /// Spaces that scripts made (`ns_urlspace new`), keyed by id.
    pub script_spaces: RwLock<Vec<Arc<Space<String>>>>,
    pub filters: Filters,
    pools: OnceLock<Vec<Arc<Pool>>>,

    pub nsv: shared::nsv::Store,
    pub extensions: Extensions,
    /// What new interpreters are made from.
    pub blueprint: ArcSwap<Blueprint>,
    pub traces: RwLock<Vec<Trace>>,
    pub stats: Stats,
    process: Weak<Process>,
}

/// Counters of a server since its start.
#[derive(Default)]
pub struct Stats {
    pub requests: AtomicU64,
    pub spools: AtomicU64,
    pub queued: AtomicU64,
    pub connections: AtomicU64,
    pub dropped: AtomicU64,
    pub sent: AtomicU64,
    pub received: AtomicU64,
    /// Microseconds summed over all requests.
    pub accept_time: AtomicU64,
    pub queue_time: AtomicU64,
    pub filter_time: AtomicU64,
    pub run_time: AtomicU64,
    pub trace_time: AtomicU64,
    /// Answered by the driver thread itself.
    pub direct: AtomicU64,
    pub errors: AtomicU64,
}

impl Stats {
    pub fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

/// What `VirtualServer::new` needs and does not read itself.
pub struct Parts {
    pub settings: ServerSettings,
    pub tcl: TclSettings,
    pub vhost: VhostSettings,
    pub fastpath_settings: FastpathSettings,
    pub root: PathBuf,
    pub pages: PathBuf,
    pub fastpath: Fastpath,
    pub error_pages: HashMap<u16, String>,
    pub extra_headers: Vec<(String, String)>,
}

impl VirtualServer {
    pub fn new(name: &str, parts: Parts, process: &Arc<Process>) -> Arc<Self> {
        Arc::new(VirtualServer {
            name: name.to_owned(),
            realm: RwLock::new(
                parts
                    .settings
                    .realm
                    .clone()
                    .unwrap_or_else(|| name.to_owned()),
            ),
            nsv: shared::nsv::Store::new(name, parts.tcl.nsvbuckets.as_usize()),
            settings: parts.settings,
            tcl: parts.tcl,
            vhost: parts.vhost,
            fastpath_settings: parts.fastpath_settings,
            root: parts.root,
            pages: parts.pages,
            fastpath: parts.fastpath,
            extra_headers: parts.extra_headers,
            error_pages: parts.error_pages,
            routes: Space::default(),
            url_to_file: Space::default(),
            pool_map: Space::default(),
            script_spaces: RwLock::default(),
            filters: Filters::default(),
            pools: OnceLock::new(),
            extensions: Extensions::default(),
            blueprint: ArcSwap::from_pointee(Blueprint::default()),
            traces: RwLock::default(),
            stats: Stats::default(),
            process: Arc::downgrade(process),
        })
    }

    /// The process this server belongs to.
    pub fn process(&self) -> Arc<Process> {
        self.process
            .upgrade()
            .expect("servers are owned by the process")
    }

    /// Whether somebody decides about requests before their handlers run.
    pub fn has_authorities(&self) -> bool {
        self.extensions
            .find::<crate::script::Authorities>()
            .is_some_and(|a| !a.0.read().is_empty())
    }

    /// Whether a URL stands for a file of the page directory, without a script's translation.
    pub fn plain_files(&self, url: &str) -> bool {
        !crate::script::vhost::by_host(self)
            && self
                .url_to_file
                .get("x", url, None)
                .is_none_or(|u| matches!(*u, UrlToFile::Default))
    }

    /// Set once at start: the default pool first.
    pub fn set_pools(&self, pools: Vec<Arc<Pool>>) {
        assert!(self.pools.set(pools).is_ok(), "pools are set once");
    }

    pub fn pools(&self) -> &[Arc<Pool>] {
        self.pools.get().map_or(&[], Vec::as_slice)
    }

    pub fn default_pool(&self) -> &Arc<Pool> {
        &self.pools()[0]
    }

    pub fn pool(&self, name: &str) -> Option<&Arc<Pool>> {
        self.pools()
            .iter()
            .find(|p| p.name == name || (name.is_empty() && p.name == "default"))
    }

    /// The configuration section of this server, or one below it: `section("tcl")` is `ns/server/S/tcl`.
    pub fn section(&self, below: &str) -> String {
        if below.is_empty() {
            format!("ns/server/{}", self.name)
        } else {
            format!("ns/server/{}/{below}", self.name)
        }
    }

    /// A path relative to the server's root, made absolute.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Charset of text responses.
    pub fn output_charset(&self) -> String {
        let own = self.settings.outputcharset.clone();
        own.unwrap_or_else(|| self.process().settings().outputcharset.clone())
    }

    /// Charset of URLs and query data.
    pub fn url_charset(&self) -> String {
        self.settings
            .urlcharset
            .clone()
            .unwrap_or_else(|| self.process().settings().urlcharset.clone())
    }

    /// Charset tried for form data that is not valid in the URL charset.
    pub fn form_fallback_charset(&self) -> Option<String> {
        let own = self.settings.formfallbackcharset.clone();
        own.or_else(|| self.process().settings().formfallbackcharset.clone())
            .filter(|c| !c.is_empty())
    }
}
