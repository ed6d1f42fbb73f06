//! The tree behind the URL space: one node per path segment, persistent, so that readers keep the version they started with.

use std::collections::HashMap;
use std::sync::Arc;

use super::constraint::{Constraints, Context};

/// A URL taken apart: directory segments and the pattern for what is below or at the end.
///
/// `/a` and `/a/*` are the same place, as in the reference: both list as path `/a`, pattern `*`.
pub(super) struct Place<'a> {
    pub segments: Vec<&'a str>,
    pub pattern: &'a str,
}

impl<'a> Place<'a> {
    pub fn parse(url: &'a str) -> Place<'a> {
        let mut segments: Vec<&str> = segments(url).collect();
        let pattern = match segments.last() {
            Some(last) if last.contains(['*', '?']) => {
                segments.pop().expect("it has a last segment")
            }
            _ => ANY,
        };
        Place { segments, pattern }
    }
}

/// The non-empty segments of a URL: doubled and trailing slashes do not count.
pub(super) fn segments(url: &str) -> impl DoubleEndedIterator<Item = &str> {
    url.split('/').filter(|s| !s.is_empty())
}

pub(super) const ANY: &str = "*";

/// Which of the two kinds of data a look-up or removal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Inherit,
    Noinherit,
}

#[derive(Clone)]
pub(super) struct Node<T> {
    children: HashMap<Box<str>, Arc<Node<T>>>,
    /// Most specific pattern first; `*` is the last one.
    leaves: Vec<Leaf<T>>,
}

#[derive(Clone)]
struct Leaf<T> {
    pattern: Box<str>,
    inherit: Vec<Entry<T>>,
    noinherit: Vec<Entry<T>>,
}

/// Entries are ordered: the most specific constraints first, the unconstrained one last.
#[derive(Clone)]
struct Entry<T> {
    constraints: Constraints,
    data: T,
}

impl<T> Default for Node<T> {
    fn default() -> Node<T> {
        Node {
            children: HashMap::new(),
            leaves: Vec::new(),
        }
    }
}

impl<T: Clone> Node<T> {
    pub fn set(&mut self, place: &Place, kind: Kind, constraints: Constraints, data: T) {
        let mut node = self;
        for segment in &place.segments {
            node = Arc::make_mut(node.children.entry(Box::from(*segment)).or_default());
        }
        node.leaf(place.pattern).set(kind, constraints, data);
    }

    /// Removes what was set at the place; how many entries went.
    pub fn unset(
        &mut self,
        place: &Place,
        kind: Kind,
        recurse: bool,
        all_constraints: bool,
    ) -> usize {
        self.unset_below(
            &place.segments,
            place.pattern,
            kind,
            recurse,
            all_constraints,
        )
    }

    fn unset_below(
        &mut self,
        path: &[&str],
        pattern: &str,
        kind: Kind,
        recurse: bool,
        all: bool,
    ) -> usize {
        let Some((first, rest)) = path.split_first() else {
            return self.unset_here(pattern, kind, recurse, all);
        };
        let Some(child) = self.children.get_mut(*first) else {
            return 0;
        };
        let child = Arc::make_mut(child);
        let removed = child.unset_below(rest, pattern, kind, recurse, all);
        if child.is_empty() {
            self.children.remove(*first);
        }
        removed
    }

    fn unset_here(&mut self, pattern: &str, kind: Kind, recurse: bool, all: bool) -> usize {
        let mut removed = 0;
        for leaf in &mut self.leaves {
            // Below `/a` are the patterns in it as well; below `/a/*.adp` are only pages of that kind.
            if *leaf.pattern == *pattern || (recurse && pattern == ANY) {
                removed += leaf.unset(kind, all);
            }
        }
        self.leaves
            .retain(|l| !l.inherit.is_empty() || !l.noinherit.is_empty());
        if recurse {
            self.children.retain(|_, child| {
                let child = Arc::make_mut(child);
                removed += child.unset_here(pattern, kind, recurse, all);
                !child.is_empty()
            });
        }
        removed
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty() && self.leaves.is_empty()
    }

    fn leaf(&mut self, pattern: &str) -> &mut Leaf<T> {
        let at = self
            .leaves
            .iter()
            .position(|l| *l.pattern == *pattern)
            .unwrap_or_else(|| {
                let rank = specificity(pattern);
                // Behind its equals: of two patterns that are equally specific the older one wins.
                let at = self
                    .leaves
                    .partition_point(|l| specificity(&l.pattern) >= rank);
                let leaf = Leaf {
                    pattern: Box::from(pattern),
                    inherit: Vec::new(),
                    noinherit: Vec::new(),
                };
                self.leaves.insert(at, leaf);
                at
            });
        &mut self.leaves[at]
    }
}

impl<T> Node<T> {
    /// The data that applies to a URL: the deepest place wins, in it the most specific pattern, in that data set without
    /// inheritance.
    ///
    /// `only`: consider just that kind.
    pub fn get(&self, url: &str, only: Option<Kind>, context: Option<&dyn Context>) -> Option<&T> {
        let last = segments(url).next_back().unwrap_or("");
        let mut left = segments(url).count();
        let mut node = self;
        let mut best = None;
        for segment in segments(url) {
            // Deeper nodes overrule upper ones; looking into those for nothing is cheaper than keeping a stack of nodes.
            best = node.applicable(last, left, only, context).or(best);
            match node.children.get(segment) {
                Some(child) => node = child,
                None => return best,
            }
            left -= 1;
        }
        node.applicable(last, left, only, context).or(best)
    }

    /// The data set for just this place, without inheritance and without matching of patterns; that for the places below goes first.
    pub fn get_exact(
        &self,
        place: &Place,
        only: Option<Kind>,
        context: Option<&dyn Context>,
    ) -> Option<&T> {
        let mut node = self;
        for segment in &place.segments {
            node = node.children.get(*segment)?;
        }
        let leaf = node.leaves.iter().find(|l| *l.pattern == *place.pattern)?;
        match only {
            Some(kind) => leaf.choose(kind, context),
            None => leaf
                .choose(Kind::Inherit, context)
                .or_else(|| leaf.choose(Kind::Noinherit, context)),
        }
    }

    /// Calls `f` with path, pattern, kind, constraints and data of everything in this tree: nodes depth first, by name.
    pub fn visit(&self, path: &mut String, f: &mut dyn FnMut(&str, &str, Kind, &Constraints, &T)) {
        let here = if path.is_empty() { "/" } else { path.as_str() };
        for leaf in &self.leaves {
            for kind in [Kind::Inherit, Kind::Noinherit] {
                for entry in leaf.entries(kind).iter().rev() {
                    f(here, &leaf.pattern, kind, &entry.constraints, &entry.data);
                }
            }
        }
        let mut names: Vec<&str> = self.children.keys().map(|k| &**k).collect();
        names.sort_unstable();
        for name in names {
            let length = path.len();
            path.push('/');
            path.push_str(name);
            self.children[name].visit(path, f);
            path.truncate(length);
        }
    }

    /// What this node has for a URL whose last segment is `last` and that goes on for `left` segments below the node.
    fn applicable(
        &self,
        last: &str,
        left: usize,
        only: Option<Kind>,
        context: Option<&dyn Context>,
    ) -> Option<&T> {
        self.leaves.iter().find_map(|leaf| {
            // `*` stands for the node itself and everything below, other patterns for the last segment somewhere below.
            let own = if *leaf.pattern == *ANY {
                left == 0
            } else if left > 0 && shared::glob::matches(&leaf.pattern, last) {
                left == 1
            } else {
                return None;
            };
            let exact = if own && only != Some(Kind::Inherit) {
                leaf.choose(Kind::Noinherit, context)
            } else {
                None
            };
            exact.or_else(|| {
                if only == Some(Kind::Noinherit) {
                    None
                } else {
                    leaf.choose(Kind::Inherit, context)
                }
            })
        })
    }
}

impl<T> Leaf<T> {
    fn entries(&self, kind: Kind) -> &[Entry<T>] {
        match kind {
            Kind::Inherit => &self.inherit,
            Kind::Noinherit => &self.noinherit,
        }
    }

    fn entries_mut(&mut self, kind: Kind) -> &mut Vec<Entry<T>> {
        match kind {
            Kind::Inherit => &mut self.inherit,
            Kind::Noinherit => &mut self.noinherit,
        }
    }

    fn choose(&self, kind: Kind, context: Option<&dyn Context>) -> Option<&T> {
        self.entries(kind)
            .iter()
            .find(|e| e.constraints.hold(context))
            .map(|e| &e.data)
    }

    fn set(&mut self, kind: Kind, constraints: Constraints, data: T) {
        let entries = self.entries_mut(kind);
        match entries.iter_mut().find(|e| e.constraints == constraints) {
            Some(entry) => entry.data = data,
            None => {
                let rank = constraints.specificity();
                let at = entries.partition_point(|e| e.constraints.specificity() >= rank);
                entries.insert(at, Entry { constraints, data });
            }
        }
    }

    fn unset(&mut self, kind: Kind, all_constraints: bool) -> usize {
        let entries = self.entries_mut(kind);
        let before = entries.len();
        entries.retain(|e| !all_constraints && !e.constraints.is_empty());
        before - entries.len()
    }
}

/// A rank among patterns: literal characters count twice, `?` once, `*` nothing. If one pattern covers all that another
/// covers, its rank is not higher.
fn specificity(pattern: &str) -> usize {
    let mut rank = 0;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        rank += match c {
            '*' => 0,
            '?' => 1,
            '[' => {
                chars.by_ref().find(|&c| c == ']');
                1
            }
            '\\' => {
                chars.next();
                2
            }
            _ => 2,
        };
    }
    rank
}
