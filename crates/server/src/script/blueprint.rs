//! The blueprint of a server's interpreters: what start-up left behind, as plain text that any thread may read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tcl::{Interp, Obj, Outcome};

/// A procedure that is made in an interpreter when somebody calls it first.
#[derive(Debug, PartialEq, Eq)]
pub struct ProcDef {
    /// Formal arguments, a Tcl list.
    pub args: String,
    pub body: String,
}

/// The value of a namespace variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VarDef {
    Scalar(String),
    /// A list of names and values, as `array get` gives it.
    Array(String),
}

/// Procedures of one namespace by their last name.
pub type Procs = HashMap<String, Arc<ProcDef>>;

/// What new interpreters are made from. Replaced as a whole; the epoch tells interpreters that they are behind.
#[derive(Clone, Default)]
pub struct Blueprint {
    pub epoch: u64,
    /// By full namespace name (`::`, `::a::b`).
    pub procs: HashMap<String, Procs>,
    pub namespaces: Vec<String>,
    pub variables: HashMap<String, VarDef>,
    pub exports: Vec<(String, String)>,
    pub paths: HashMap<String, Vec<String>>,
    pub unknowns: Vec<(String, String)>,
    /// Imported name to origin; made on first use like procedures.
    pub imports: HashMap<String, HashMap<String, String>>,
    pub ensembles: Vec<(String, String)>,
    pub aliases: Vec<(String, String)>,
    /// Binary packages: file and prefix, in the order of loading.
    pub loaded: Vec<(String, String)>,
    pub packages: Vec<(String, String)>,
    /// Packages that can be loaded: name to versions and scripts.
    pub ifneeded: HashMap<String, Vec<(String, String)>>,
    pub auto_path: String,
    /// A script that makes the classes of TclOO.
    pub classes: String,
    /// A script that makes the objects of TclOO and everything of nsf.
    pub objects: String,
    /// Namespaces that have a procedure or an import of a last name.
    homes: HashMap<String, Vec<String>>,
    /// Procedures in place of built-in commands. They cannot wait for the first call, which would find the command.
    pub overrides: Vec<String>,
}

/// The list that `::navis::capture` gives.
pub const CAPTURE: &str = include_str!("capture.tcl");

impl Blueprint {
    /// Reads an interpreter. `before` is the blueprint it was made from: what it has not yet made is still valid,
    /// except what it `made` and no longer has.
    ///
    /// # Errors
    /// Those of the capturing script.
    pub fn capture(
        interp: &Interp,
        known: &Obj,
        before: &Blueprint,
        made: &HashSet<String>,
    ) -> Outcome<Blueprint> {
        let list = interp.call_global(&[Obj::from("::navis::capture"), known.clone()])?;
        let mut b = Blueprint {
            epoch: before.epoch + 1,
            ..Blueprint::default()
        };
        b.keep_unmade(before, made);
        for (key, value) in list.pairs()? {
            b.take(&key.text(), &value)?;
        }
        b.find_homes();
        for (name, _) in known.pairs()? {
            let (ns, tail) = split(&name.text());
            if b.procs.get(&ns).is_some_and(|p| p.contains_key(&tail)) {
                b.overrides.push(join(&ns, &tail));
            }
        }
        b.overrides.sort();
        Ok(b)
    }

    /// Namespaces in which something of this last name can be made.
    pub fn homes(&self, tail: &str) -> &[String] {
        self.homes.get(tail).map_or(&[], Vec::as_slice)
    }

    /// Whether an interpreter made from `other` can be brought up to date; else a new one is made.
    pub fn follows(&self, other: &Blueprint) -> bool {
        self.exports == other.exports
            && self.overrides == other.overrides
            && self.paths == other.paths
            && self.unknowns == other.unknowns
            && self.ensembles == other.ensembles
            && self.aliases == other.aliases
            && self.loaded == other.loaded
            && self.classes == other.classes
            && self.objects == other.objects
    }

    fn find_homes(&mut self) {
        let procs = self
            .procs
            .iter()
            .flat_map(|(ns, procs)| procs.keys().map(move |tail| (ns, tail)));
        let imports = self
            .imports
            .iter()
            .flat_map(|(ns, imports)| imports.keys().map(move |tail| (ns, tail)));
        let mut homes: HashMap<String, Vec<String>> = HashMap::new();
        for (ns, tail) in procs.chain(imports) {
            homes.entry(tail.clone()).or_default().push(ns.clone());
        }
        self.homes = homes;
    }

    /// A script with the same effect (`ns_ictl get`).
    pub fn script(&self) -> String {
        let mut text = String::new();
        let mut line = |words: &[&str]| {
            text.push_str(&tcl::list_format(words));
            text.push('\n');
        };
        for (file, prefix) in &self.loaded {
            line(&["::load", file, prefix]);
        }
        for ns in &self.namespaces {
            line(&["::namespace", "eval", ns, ""]);
        }
        for (ns, patterns) in &self.exports {
            line(&[
                "::namespace",
                "eval",
                ns,
                &format!("::namespace export {patterns}"),
            ]);
        }
        for (ns, path) in &self.paths {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            line(&[
                "::namespace",
                "eval",
                ns,
                &format!(
                    "::namespace path {}",
                    tcl::list_format(&[&tcl::list_format(&path)])
                ),
            ]);
        }
        for (ns, script) in &self.unknowns {
            line(&[
                "::namespace",
                "eval",
                ns,
                &format!("::namespace unknown {}", tcl::list_format(&[script])),
            ]);
        }
        for (name, value) in &self.variables {
            match value {
                VarDef::Scalar(value) => line(&["::set", name, value]),
                VarDef::Array(list) => line(&["::array", "set", name, list]),
            }
        }
        for (ns, procs) in &self.procs {
            for (tail, def) in procs {
                line(&["::proc", &join(ns, tail), &def.args, &def.body]);
            }
        }
        for (ns, imports) in &self.imports {
            for origin in imports.values() {
                line(&[
                    "::namespace",
                    "eval",
                    ns,
                    &tcl::list_format(&["::namespace", "import", "-force", origin]),
                ]);
            }
        }
        for (name, version) in &self.packages {
            line(&["::package", "provide", name, version]);
        }
        text.push_str(&self.classes);
        text.push_str(&self.objects);
        text
    }

    fn keep_unmade(&mut self, before: &Blueprint, made: &HashSet<String>) {
        for (ns, procs) in &before.procs {
            for (tail, def) in procs {
                if !made.contains(&join(ns, tail)) {
                    self.procs
                        .entry(ns.clone())
                        .or_default()
                        .insert(tail.clone(), Arc::clone(def));
                }
            }
        }
        for (ns, imports) in &before.imports {
            for (tail, origin) in imports {
                if !made.contains(&join(ns, tail)) {
                    self.imports
                        .entry(ns.clone())
                        .or_default()
                        .insert(tail.clone(), origin.clone());
                }
            }
        }
    }

    fn take(&mut self, key: &str, value: &Obj) -> Outcome<()> {
        match key {
            "procs" => {
                for w in value.elements()?.chunks_exact(3) {
                    let (ns, tail) = split(&w[0].text());
                    let def = ProcDef {
                        args: w[1].text(),
                        body: w[2].text(),
                    };
                    self.procs
                        .entry(ns)
                        .or_default()
                        .insert(tail, Arc::new(def));
                }
            }
            "variables" => {
                for w in value.elements()?.chunks_exact(3) {
                    let def = if w[1].text() == "array" {
                        VarDef::Array(w[2].text())
                    } else {
                        VarDef::Scalar(w[2].text())
                    };
                    self.variables.insert(w[0].text(), def);
                }
            }
            "imports" => {
                for (name, origin) in pairs(value)? {
                    let (ns, tail) = split(&name);
                    self.imports.entry(ns).or_default().insert(tail, origin);
                }
            }
            "paths" => {
                for w in value.elements()?.chunks_exact(2) {
                    let path = w[1].elements()?.iter().map(Obj::text).collect();
                    self.paths.insert(w[0].text(), path);
                }
            }
            "ifneeded" => {
                for w in value.elements()?.chunks_exact(3) {
                    self.ifneeded
                        .entry(w[0].text())
                        .or_default()
                        .push((w[1].text(), w[2].text()));
                }
            }
            "namespaces" => self.namespaces = value.elements()?.iter().map(Obj::text).collect(),
            "exports" => self.exports = pairs(value)?,
            "unknowns" => self.unknowns = pairs(value)?,
            "ensembles" => self.ensembles = pairs(value)?,
            "aliases" => self.aliases = pairs(value)?,
            "loaded" => self.loaded = pairs(value)?,
            "packages" => self.packages = pairs(value)?,
            "autopath" => self.auto_path = value.text(),
            "classes" => self.classes = value.text(),
            "objects" => self.objects = value.text(),
            _ => {}
        }
        Ok(())
    }

    /// The number of procedures.
    pub fn proc_count(&self) -> usize {
        self.procs.values().map(HashMap::len).sum()
    }
}

/// `::a::b::c` as (`::a::b`, `c`); `::c` as (`::`, `c`).
pub fn split(name: &str) -> (String, String) {
    match name.rfind("::") {
        Some(0) => ("::".to_owned(), name[2..].to_owned()),
        Some(i) => (
            name[..i].trim_end_matches(':').to_owned(),
            name[i + 2..].to_owned(),
        ),
        None => ("::".to_owned(), name.to_owned()),
    }
}

/// The inverse of [`split`].
pub fn join(ns: &str, tail: &str) -> String {
    if ns == "::" {
        format!("::{tail}")
    } else {
        format!("{ns}::{tail}")
    }
}

fn pairs(list: &Obj) -> Outcome<Vec<(String, String)>> {
    Ok(list
        .elements()?
        .chunks_exact(2)
        .map(|w| (w[0].text(), w[1].text()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_at_the_last_separator() {
        assert_eq!(split("::a::b::c"), ("::a::b".into(), "c".into()));
        assert_eq!(split("::c"), ("::".into(), "c".into()));
        assert_eq!(join("::", "c"), "::c");
        assert_eq!(join("::a", "c"), "::a::c");
    }
}
