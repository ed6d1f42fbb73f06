//! Procedures on demand: a new interpreter has none of the blueprint's procedures until somebody looks one up.
//!
//! Tcl asks our resolver before each command look-up; it makes the procedure, and Tcl's own look-up then finds it.
//! `info commands`, `info procs` and `namespace import` read Tcl's tables directly and are told about the rest here.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use tcl::{Interp, Obj, Outcome};

use super::blueprint::{Blueprint, join, split};

/// What an interpreter has already made of its blueprint.
pub struct Lazy {
    pub blueprint: RefCell<Arc<Blueprint>>,
    /// Full names that were made or must not be made any more.
    pub made: RefCell<HashSet<String>>,
    busy: Cell<bool>,
}

impl Lazy {
    pub fn new(blueprint: Arc<Blueprint>) -> Rc<Lazy> {
        Rc::new(Lazy {
            blueprint: RefCell::new(blueprint),
            made: RefCell::default(),
            busy: Cell::new(false),
        })
    }

    /// Connects it with an interpreter.
    pub fn install(self: &Rc<Self>, interp: &Interp) -> Outcome<()> {
        interp.set_data(Rc::clone(self));
        let lazy = Rc::clone(self);
        interp.add_resolver("navis", move |interp, name, context, _flags| {
            lazy.before_lookup(interp, name, context)
        });
        for (sub, procs_only) in [("commands", false), ("procs", true)] {
            let lazy = Rc::clone(self);
            let real = Obj::from(format!("::tcl::info::{sub}"));
            interp.register(&format!("::navis::info_{sub}"), move |interp, words| {
                let mut call = vec![real.clone()];
                call.extend_from_slice(&words[1..]);
                let found = interp.call(&call)?;
                lazy.add_names(interp, words.get(1).map(Obj::text), procs_only, found)
            });
        }
        let lazy = Rc::clone(self);
        interp.register("::navis::namespace_import", move |interp, words| {
            for pattern in words.iter().skip(1).map(Obj::text) {
                lazy.make_matching(interp, &pattern);
            }
            let mut call = vec![Obj::from("::tcl::namespace::import")];
            call.extend_from_slice(&words[1..]);
            interp.call(&call)
        });
        let lazy = Rc::clone(self);
        interp.register("::navis::namespace_delete", move |interp, words| {
            for ns in words.iter().skip(1).map(Obj::text) {
                lazy.forget_namespace(interp, &ns);
            }
            let mut call = vec![Obj::from("::tcl::namespace::delete")];
            call.extend_from_slice(&words[1..]);
            interp.call(&call)
        });
        let lazy = Rc::clone(self);
        interp.register("::navis::ifneeded", move |interp, words| {
            lazy.offer_package(interp, &words.get(1).map(Obj::text).unwrap_or_default())
        });
        interp.eval_global(WRAP)?;
        Ok(())
    }

    /// Called before each look-up of `name` from namespace `context`.
    fn before_lookup(&self, interp: &Interp, name: &str, context: &str) {
        if self.busy.get() {
            return;
        }
        let (qualifier, tail) = match name.rfind("::") {
            Some(i) => (name[..i].trim_end_matches(':'), &name[i + 2..]),
            None => ("", name),
        };
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let homes = blueprint.homes(tail);
        if homes.is_empty() {
            return;
        }
        if name.starts_with("::") {
            let ns = if qualifier.is_empty() {
                "::"
            } else {
                qualifier
            };
            return self.make_if_pending(interp, &blueprint, ns, tail);
        }
        let below = |base: &str| {
            if qualifier.is_empty() {
                base.to_owned()
            } else {
                join(base, qualifier)
            }
        };
        let (own, global) = (below(context), below("::"));
        let elsewhere = context != "::"
            && homes
                .iter()
                .any(|h| *h != own && *h != global && self.is_pending(h, tail));
        self.make_if_pending(interp, &blueprint, &own, tail);
        if elsewhere {
            // Scripts may have set the path of any namespace, so Tcl is asked.
            for base in self.path_of(interp, context) {
                self.make_if_pending(interp, &blueprint, &below(&base), tail);
            }
        }
        self.make_if_pending(interp, &blueprint, &global, tail);
    }

    /// Lets a name be made anew; `delete` removes what the interpreter has of it.
    pub fn forget(&self, full: &str, delete: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
        let _guard = self.quiet();
        delete()?;
        self.made.borrow_mut().remove(full);
        Ok(())
    }

    fn is_pending(&self, ns: &str, tail: &str) -> bool {
        !self.made.borrow().contains(&join(ns, tail))
    }

    fn path_of(&self, interp: &Interp, context: &str) -> Vec<String> {
        let _guard = self.quiet();
        let _saved = interp.save_state();
        let words = ["::tcl::namespace::eval", context, "::tcl::namespace::path"].map(Obj::from);
        let path = interp
            .call_global(&words)
            .ok()
            .and_then(|p| p.elements().ok());
        path.unwrap_or_default().iter().map(Obj::text).collect()
    }

    /// While the guard lives, look-ups make nothing.
    fn quiet(&self) -> Busy<'_> {
        Busy {
            lazy: self,
            before: self.busy.replace(true),
        }
    }

    /// Makes everything of a namespace that is exported, for ensembles that find their subcommands by that.
    pub fn make_exported(&self, interp: &Interp, ns: &str) {
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let patterns: Vec<String> = blueprint
            .exports
            .iter()
            .filter(|(n, _)| n == ns)
            .filter_map(|(_, p)| tcl::list_parse(p).ok())
            .flatten()
            .collect();
        let exported = |tail: &&String| patterns.iter().any(|p| shared::glob::matches(p, tail));
        let tails: Vec<String> = names(&blueprint, ns).filter(exported).cloned().collect();
        for tail in tails {
            self.make_if_pending(interp, &blueprint, ns, &tail);
        }
    }

    fn make_if_pending(&self, interp: &Interp, blueprint: &Blueprint, ns: &str, tail: &str) {
        let is_proc = blueprint
            .procs
            .get(ns)
            .is_some_and(|p| p.contains_key(tail));
        let is_import = blueprint
            .imports
            .get(ns)
            .is_some_and(|p| p.contains_key(tail));
        if !(is_proc || is_import) {
            return;
        }
        let full = join(ns, tail);
        if self.made.borrow().contains(&full) {
            return;
        }
        self.make(interp, blueprint, ns, tail, full);
    }

    fn make(&self, interp: &Interp, blueprint: &Blueprint, ns: &str, tail: &str, full: String) {
        let guard = self.quiet();
        let saved = interp.save_state();
        let exists = interp.has_command(&full);
        self.made.borrow_mut().insert(full.clone());
        let mut origin = None;
        if !exists {
            if let Some(def) = blueprint.procs.get(ns).and_then(|p| p.get(tail)) {
                let words = [
                    Obj::from("::proc"),
                    Obj::from(&full),
                    Obj::from(&def.args),
                    Obj::from(&def.body),
                ];
                if let Err(e) = interp.call_global(&words) {
                    shared::error!("blueprint: cannot make {full}: {}", describe(&e));
                }
            } else if let Some(from) = blueprint.imports.get(ns).and_then(|p| p.get(tail)) {
                origin = Some(from.clone());
            }
        }
        drop(guard);
        if let Some(origin) = origin {
            // The origin may be pending itself; the look-up inside the import makes it.
            let (ons, otail) = split(&origin);
            self.make_if_pending(interp, blueprint, &ons, &otail);
            let script = Obj::list([
                Obj::from("::tcl::namespace::import"),
                Obj::from("-force"),
                Obj::from(&origin),
            ]);
            let words = [Obj::from("::tcl::namespace::eval"), Obj::from(ns), script];
            let _guard = self.quiet();
            if interp.call_global(&words).is_err() || !interp.has_command(&full) {
                // It is no longer exported; an alias does the same for those who call it.
                let words = ["::interp", "alias", "", &full, "", &origin].map(Obj::from);
                if let Err(e) = interp.call_global(&words) {
                    shared::error!(
                        "blueprint: cannot import {origin} into {ns}: {}",
                        describe(&e)
                    );
                }
            }
        }
        drop(saved);
    }

    /// Adds the names that are not yet made to what `info commands` or `info procs` found.
    fn add_names(
        &self,
        interp: &Interp,
        pattern: Option<String>,
        procs_only: bool,
        found: Obj,
    ) -> Outcome {
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let current = interp.current_namespace();
        let pattern = pattern.unwrap_or_else(|| "*".to_owned());
        let mut extra: Vec<String> = Vec::new();
        let mut collect = |ns: &str, tail_pattern: &str, prefix: &str| {
            let made = self.made.borrow();
            let mut add = |tail: &String| {
                if shared::glob::matches(tail_pattern, tail) && !made.contains(&join(ns, tail)) {
                    extra.push(format!("{prefix}{tail}"));
                }
            };
            blueprint
                .procs
                .get(ns)
                .into_iter()
                .flat_map(|p| p.keys())
                .for_each(&mut add);
            let imports = blueprint.imports.get(ns).into_iter().flatten();
            imports
                .filter(|(_, origin)| !procs_only || is_proc(&blueprint, origin))
                .for_each(|(tail, _)| add(tail));
        };
        match pattern.rfind("::") {
            Some(i) => {
                let prefix = &pattern[..i + 2];
                let ns = if pattern.starts_with("::") {
                    prefix.to_owned()
                } else {
                    join(&current, prefix)
                };
                let ns = ns.trim_end_matches(':');
                collect(
                    if ns.is_empty() { "::" } else { ns },
                    &pattern[i + 2..],
                    prefix,
                );
            }
            None => {
                collect(&current, &pattern, "");
                if current != "::" && !procs_only {
                    collect("::", &pattern, "");
                }
            }
        }
        if extra.is_empty() {
            return Ok(found);
        }
        let mut names: Vec<Obj> = found.elements()?;
        let have: HashSet<String> = names.iter().map(Obj::text).collect();
        names.extend(extra.iter().filter(|n| !have.contains(*n)).map(Obj::from));
        Ok(Obj::list(names))
    }

    /// Makes all pending procedures that a `namespace import` pattern covers.
    fn make_matching(&self, interp: &Interp, pattern: &str) {
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let absolute = if pattern.starts_with("::") {
            pattern.to_owned()
        } else {
            join(&interp.current_namespace(), pattern)
        };
        let (mut ns, tail_pattern) = split(&absolute);
        if !blueprint.procs.contains_key(&ns) && !pattern.starts_with("::") {
            ns = split(&join("::", pattern)).0;
        }
        let tails: Vec<String> = names(&blueprint, &ns)
            .filter(|t| shared::glob::matches(&tail_pattern, t))
            .cloned()
            .collect();
        for tail in tails {
            self.make_if_pending(interp, &blueprint, &ns, &tail);
        }
    }

    fn forget_namespace(&self, interp: &Interp, ns: &str) {
        let words = ["::tcl::namespace::eval", ns, "::tcl::namespace::current"].map(Obj::from);
        let exists = interp.call(&["::tcl::namespace::exists", ns].map(Obj::from));
        if !exists.is_ok_and(|e| e.boolean().unwrap_or(false)) {
            return; // Tcl will say so.
        }
        let Ok(full) = interp.call(&words) else {
            return;
        };
        let full = full.text();
        let below = format!("{full}::");
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let inside = |name: &str| name == full || name.starts_with(&below);
        let mut made = self.made.borrow_mut();
        for (name, procs) in blueprint.procs.iter().filter(|(n, _)| inside(n)) {
            made.extend(procs.keys().map(|t| join(name, t)));
        }
        for (name, imports) in blueprint.imports.iter().filter(|(n, _)| inside(n)) {
            made.extend(imports.keys().map(|t| join(name, t)));
        }
    }

    /// Tells Tcl how to load a package the start-up interpreter knew of.
    fn offer_package(&self, interp: &Interp, name: &str) -> Outcome {
        let blueprint = Arc::clone(&self.blueprint.borrow());
        let Some(versions) = blueprint.ifneeded.get(name) else {
            return Ok(Obj::from(false));
        };
        for (version, script) in versions {
            interp.call(&[
                Obj::from("::package"),
                Obj::from("ifneeded"),
                Obj::from(name),
                Obj::from(version),
                Obj::from(script),
            ])?;
        }
        Ok(Obj::from(true))
    }
}

/// Names in a namespace that the blueprint can make.
fn names<'a>(blueprint: &'a Blueprint, ns: &str) -> impl Iterator<Item = &'a String> {
    let procs = blueprint.procs.get(ns).into_iter().flat_map(|p| p.keys());
    procs.chain(blueprint.imports.get(ns).into_iter().flat_map(|p| p.keys()))
}

fn is_proc(blueprint: &Blueprint, full: &str) -> bool {
    let (ns, tail) = split(full);
    blueprint
        .procs
        .get(&ns)
        .is_some_and(|p| p.contains_key(&tail))
}

struct Busy<'a> {
    lazy: &'a Lazy,
    before: bool,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.lazy.busy.set(self.before);
    }
}

fn describe(e: &tcl::Exit) -> String {
    match e {
        tcl::Exit::Error(e) => e.message().to_owned(),
        _ => "unexpected return code".to_owned(),
    }
}

/// Puts ours in front of Tcl's own subcommands, and our answer in front of the search for packages on disk.
const WRAP: &str = "
    namespace ensemble configure ::info -map [dict replace [namespace ensemble configure ::info -map] \
        commands ::navis::info_commands procs ::navis::info_procs]
    namespace ensemble configure ::namespace -map [dict replace [namespace ensemble configure ::namespace -map] \
        import ::navis::namespace_import delete ::navis::namespace_delete]
    proc ::navis::package_unknown {next name args} {
        if {[::navis::ifneeded $name]} {
            foreach v [package versions $name] {
                if {![llength $args] || ![catch {package vsatisfies $v {*}$args} fits] && $fits} return
            }
        }
        if {$next ne {}} {uplevel #0 [list {*}$next $name {*}$args]}
    }
    package unknown [list ::navis::package_unknown [package unknown]]
";
