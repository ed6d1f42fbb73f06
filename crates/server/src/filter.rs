//! Filters: code that runs before authorization, after it, or after the response, for matching requests.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::route::{Constraints, Context};
use crate::script::ScriptFilter;

/// When a filter runs (manual page ns_register_filter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Preauth,
    Postauth,
    Trace,
}

impl Stage {
    pub fn name(self) -> &'static str {
        match self {
            Stage::Preauth => "preauth",
            Stage::Postauth => "postauth",
            Stage::Trace => "trace",
        }
    }
}

/// One registration. Method and URL are patterns of `string match`.
pub struct Filter {
    pub stage: Stage,
    pub method: String,
    pub url: String,
    pub constraints: Constraints,
    pub action: Arc<dyn ScriptFilter>,
}

impl Filter {
    fn concerns(&self, stage: Stage, method: &str, url: &str, context: &dyn Context) -> bool {
        self.stage == stage
            && shared::glob::matches(&self.method, method)
            && shared::glob::matches(&self.url, url)
            && self.constraints.hold(Some(context))
    }
}

/// The filters of a server, in the order in which they run.
#[derive(Default)]
pub struct Filters {
    list: RwLock<Arc<Vec<Arc<Filter>>>>,
    /// Procedures of `ns_register_trace`; they run after the trace filters, whatever those answered.
    traces: RwLock<Arc<Vec<Arc<Filter>>>>,
}

impl Filters {
    pub fn add(&self, filter: Filter, first: bool) {
        Self::insert(&self.list, filter, first);
    }

    pub fn add_trace(&self, filter: Filter) {
        Self::insert(&self.traces, filter, false);
    }

    /// Those of one stage that concern a request.
    pub fn matching(
        &self,
        stage: Stage,
        method: &str,
        url: &str,
        context: &dyn Context,
    ) -> Vec<Arc<Filter>> {
        Self::select(&self.list, stage, method, url, context)
    }

    /// The `ns_register_trace` procedures that concern a request.
    pub fn matching_traces(
        &self,
        method: &str,
        url: &str,
        context: &dyn Context,
    ) -> Vec<Arc<Filter>> {
        Self::select(&self.traces, Stage::Trace, method, url, context)
    }

    /// Whether any filter or trace could concern this request; cheap, asked for every request.
    pub fn concern(&self, method: &str, url: &str, context: &dyn Context) -> bool {
        let any = |l: &RwLock<Arc<Vec<Arc<Filter>>>>| {
            let list = l.read();
            if list.is_empty() {
                return false;
            }
            let list = Arc::clone(&list);
            list.iter()
                .any(|f| f.concerns(f.stage, method, url, context))
        };
        any(&self.list) || any(&self.traces)
    }

    pub fn list(&self) -> Arc<Vec<Arc<Filter>>> {
        Arc::clone(&self.list.read())
    }

    pub fn traces(&self) -> Arc<Vec<Arc<Filter>>> {
        Arc::clone(&self.traces.read())
    }

    fn insert(to: &RwLock<Arc<Vec<Arc<Filter>>>>, filter: Filter, first: bool) {
        let mut guard = to.write();
        let mut list = Vec::clone(&guard);
        let filter = Arc::new(filter);
        if first {
            list.insert(0, filter);
        } else {
            list.push(filter);
        }
        *guard = Arc::new(list);
    }

    fn select(
        from: &RwLock<Arc<Vec<Arc<Filter>>>>,
        stage: Stage,
        method: &str,
        url: &str,
        context: &dyn Context,
    ) -> Vec<Arc<Filter>> {
        let list = from.read();
        if list.is_empty() {
            return Vec::new();
        }
        let list = Arc::clone(&list);
        list.iter()
            .filter(|f| f.concerns(stage, method, url, context))
            .cloned()
            .collect()
    }
}
