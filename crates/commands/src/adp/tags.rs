//! Registered tags of a server, in sets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

/// How a tag's script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// A page fragment; arguments: the content between the tags if there is an end tag, a set of the attributes.
    Adp,
    /// A procedure; arguments: the values of the attributes, the content.
    Proc,
    /// A script; the content and a set of the attributes are appended to it.
    Script,
}

/// A registered tag.
#[derive(Clone, Debug)]
pub struct Tag {
    pub kind: TagKind,
    /// Name of the end tag, with its slash.
    pub end: Option<String>,
    pub script: String,
}

/// Tags by name; those that are missing are looked for in the set named as fallback.
#[derive(Clone, Debug, Default)]
pub struct TagSet {
    pub tags: HashMap<String, Tag>,
    pub fallback: Option<String>,
}

/// All sets of a server. The default set has an empty name, and always exists.
pub struct TagSets {
    sets: RwLock<HashMap<String, TagSet>>,
    epoch: AtomicU64,
}

impl Default for TagSets {
    fn default() -> Self {
        TagSets {
            sets: RwLock::new(HashMap::from([(String::new(), TagSet::default())])),
            epoch: AtomicU64::new(0),
        }
    }
}

impl TagSets {
    /// The key of a set: `default` is another name of the one without name.
    pub fn key(name: &str) -> &str {
        if name == "default" { "" } else { name }
    }

    /// Adds or replaces a tag; `false`: there is no such set.
    pub fn register(&self, set: &str, name: &str, tag: Tag) -> bool {
        let mut sets = self.sets.write();
        let Some(set) = sets.get_mut(Self::key(set)) else {
            return false;
        };
        set.tags.insert(name.to_ascii_lowercase(), tag);
        self.epoch.fetch_add(1, Ordering::Release);
        true
    }

    /// Makes a set; `false`: there is one of that name.
    pub fn create(&self, name: &str, fallback: Option<&str>) -> bool {
        let mut sets = self.sets.write();
        if sets.contains_key(Self::key(name)) {
            return false;
        }
        let fallback = fallback.map(|f| Self::key(f).to_owned());
        sets.insert(
            name.to_owned(),
            TagSet {
                tags: HashMap::new(),
                fallback,
            },
        );
        self.epoch.fetch_add(1, Ordering::Release);
        true
    }

    pub fn exists(&self, name: &str) -> bool {
        self.sets.read().contains_key(Self::key(name))
    }

    /// All names, the default set as `default`.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .sets
            .read()
            .keys()
            .map(|n| {
                if n.is_empty() {
                    "default".to_owned()
                } else {
                    n.clone()
                }
            })
            .collect();
        names.sort();
        names
    }

    /// Number of tags and name of the fallback.
    pub fn info(&self, name: &str) -> Option<(usize, String)> {
        let sets = self.sets.read();
        let set = sets.get(Self::key(name))?;
        let fallback = set
            .fallback
            .as_deref()
            .map(|f| if f.is_empty() { "default" } else { f });
        Some((set.tags.len(), fallback.unwrap_or_default().to_owned()))
    }

    /// Changes whenever a page may have to be parsed anew.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Lends a look-up of tags in a set and its fallbacks; `None` where there are none.
    pub fn with_lookup<R>(
        &self,
        set: &str,
        work: impl FnOnce(Option<super::parser::Lookup<'_>>) -> R,
    ) -> R {
        let sets = self.sets.read();
        let mut chain: Vec<&TagSet> = Vec::new();
        let mut next = sets.get(Self::key(set));
        // A loop of fallbacks ends when every set was looked at.
        while let Some(set) = next.filter(|_| chain.len() < sets.len()) {
            chain.push(set);
            next = set.fallback.as_deref().and_then(|f| sets.get(f));
        }
        if chain.iter().all(|s| s.tags.is_empty()) {
            return work(None);
        }
        work(Some(&|name: &str| {
            chain.iter().find_map(|s| s.tags.get(name)).cloned()
        }))
    }
}
