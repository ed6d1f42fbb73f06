//! The URL space: data registered for methods and URLs, and the most specific of it found for a request.
//!
//! A registration has a key (a method, or what the caller likes), a URL whose last segment may be a pattern, a kind (inherited
//! by everything below, or for exactly this URL) and optionally constraints on the request's header fields and client
//! address. Documented in the manual pages ns_urlspace, ns_register and ns_server of the reference.
//!
//! Look-ups take no lock and allocate nothing; changes copy the path from the root to the changed node.

mod constraint;
mod node;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

pub use constraint::{Constraints, Context, RequestContext, Subnet};
use node::{Kind, Node, Place};

/// A space of URLs with data of one type; `T` should be cheap to clone, an `Arc` for instance.
pub struct Space<T> {
    roots: ArcSwap<Roots<T>>,
    /// Serialises writers; readers do not know it.
    write: Mutex<()>,
}

type Roots<T> = BTreeMap<Box<str>, Arc<Node<T>>>;

/// What [`Space::unset`] removes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unset {
    /// The data of exactly this URL instead of the inherited data.
    pub noinherit: bool,
    /// The same kind of data at all URLs below as well.
    pub recurse: bool,
    /// Registrations with constraints as well.
    pub all_constraints: bool,
}

/// One registration, as `ns_urlspace list`, `ns_server map` and `ns_server requestprocs` show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    pub key: String,
    /// The directory, `/` for the root.
    pub path: String,
    /// The pattern of the last segment, `*` if there was none.
    pub pattern: String,
    pub noinherit: bool,
    pub constraints: Constraints,
    pub data: T,
}

impl<T> Listed<T> {
    /// `inherit` or `noinherit`.
    pub fn kind(&self) -> &'static str {
        if self.noinherit {
            "noinherit"
        } else {
            "inherit"
        }
    }
}

impl<T: Clone> Default for Space<T> {
    fn default() -> Space<T> {
        Space::new()
    }
}

impl<T: Clone> Space<T> {
    pub fn new() -> Space<T> {
        Space {
            roots: ArcSwap::from_pointee(BTreeMap::new()),
            write: Mutex::new(()),
        }
    }

    /// Registers data; what had the same key, URL, kind and constraints is replaced.
    pub fn set(&self, key: &str, url: &str, noinherit: bool, constraints: Constraints, data: T) {
        self.change(|roots| {
            let root = Arc::make_mut(roots.entry(Box::from(key)).or_default());
            root.set(&Place::parse(url), kind(noinherit), constraints, data);
        });
    }

    /// The data for a request: the deepest registration wins, then the most specific pattern, then the exact before the
    /// inherited one, then the most constraints. Constrained registrations that do not apply are passed over.
    pub fn get(&self, key: &str, url: &str, context: Option<&dyn Context>) -> Option<T> {
        self.roots.load().get(key)?.get(url, None, context).cloned()
    }

    /// Considers only data set for exactly this URL (`-noinherit`).
    pub fn get_noinherit(&self, key: &str, url: &str, context: Option<&dyn Context>) -> Option<T> {
        self.roots
            .load()
            .get(key)?
            .get(url, Some(Kind::Noinherit), context)
            .cloned()
    }

    /// The data assigned to this URL and none inherited from above (`-exact`). If it has both kinds: the inheritable one,
    /// unless `noinherit` asks for the other.
    pub fn get_exact(
        &self,
        key: &str,
        url: &str,
        noinherit: bool,
        context: Option<&dyn Context>,
    ) -> Option<T> {
        let only = noinherit.then_some(Kind::Noinherit);
        self.roots
            .load()
            .get(key)?
            .get_exact(&Place::parse(url), only, context)
            .cloned()
    }

    /// The keys (methods) that have something for this URL, in alphabetical order: tells 405 from 404.
    pub fn keys_for(&self, url: &str, context: Option<&dyn Context>) -> Vec<String> {
        let roots = self.roots.load();
        let here = roots
            .iter()
            .filter(|(_, root)| root.get(url, None, context).is_some());
        here.map(|(key, _)| key.to_string()).collect()
    }

    /// Removes registrations. The answer says whether there were any.
    pub fn unset(&self, key: &str, url: &str, what: Unset) -> bool {
        self.change(|roots| {
            let Some(root) = roots.get_mut(key) else {
                return false;
            };
            let root = Arc::make_mut(root);
            root.unset(
                &Place::parse(url),
                kind(what.noinherit),
                what.recurse,
                what.all_constraints,
            ) > 0
        })
    }

    /// Everything, by key, then by path.
    pub fn list(&self) -> Vec<Listed<T>> {
        let mut list = Vec::new();
        for (key, root) in self.roots.load().iter() {
            root.visit(
                &mut String::new(),
                &mut |path, pattern, kind, constraints, data| {
                    list.push(Listed {
                        key: key.to_string(),
                        path: path.to_owned(),
                        pattern: pattern.to_owned(),
                        noinherit: kind == Kind::Noinherit,
                        constraints: constraints.clone(),
                        data: data.clone(),
                    });
                },
            );
        }
        list
    }

    fn change<R>(&self, f: impl FnOnce(&mut Roots<T>) -> R) -> R {
        let _turn = self.write.lock();
        let mut roots = Roots::clone(&self.roots.load());
        let answer = f(&mut roots);
        self.roots.store(Arc::new(roots));
        answer
    }
}

fn kind(noinherit: bool) -> Kind {
    if noinherit {
        Kind::Noinherit
    } else {
        Kind::Inherit
    }
}
