//! How interpreters are made: the first one of a server sources its library, the others follow the blueprint.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tcl::{Exit, Interp, Obj, Outcome, TclError};

use super::blueprint::{self, Blueprint, VarDef};
use super::lazy::Lazy;
use super::{Context, Scripting};
use crate::vserver::VirtualServer;

/// Directories of Tcl files to source, in order; a module's name goes with its directory.
#[derive(Debug, Default)]
pub struct Library {
    pub directories: Vec<(Option<String>, PathBuf)>,
}

impl Library {
    /// The files of all directories: `init.tcl` first, then by name. A file of a later directory of the same module
    /// replaces one of the same name (private libraries come after the shared one).
    pub fn files(&self) -> Vec<(Option<String>, PathBuf)> {
        let mut all: Vec<(Option<String>, PathBuf)> = Vec::new();
        for (module, dir) in &self.directories {
            for file in tcl_files(dir) {
                let same = |(m, f): &(Option<String>, PathBuf)| m == module && f.file_name() == file.file_name();
                all.retain(|entry| !same(entry));
                all.push((module.clone(), file));
            }
        }
        all
    }
}

fn tcl_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "tcl") && p.is_file())
        .filter(|p| p.file_name().is_some_and(|n| !n.to_string_lossy().starts_with('.')))
        .collect();
    files.sort_by_key(|p| (p.file_name().is_some_and(|n| n != "init.tcl"), p.clone()));
    files
}

/// A new interpreter of `server`, made from its blueprint.
///
/// # Errors
/// Tcl cannot be initialised, or a binary package of the blueprint cannot be loaded.
pub fn create_interp(server: &Arc<VirtualServer>) -> Outcome<(Interp, Rc<Context>)> {
    let process = server.process();
    let context = Context::new(Arc::clone(&process), Some(Arc::clone(server)));
    let interp = Interp::create().map_err(Exit::from)?;
    interp.set_data(Rc::clone(&context));
    register(&interp, &process.scripting, &context);
    let blueprint = server.blueprint.load_full();
    context.epoch.set(blueprint.epoch);
    apply(&interp, &blueprint)?;
    Ok((interp, context))
}

/// The first interpreter of a server: sources the library with all files, and leaves the blueprint in the server.
///
/// # Errors
/// The built-in library fails. Errors in files of the site are logged, and start-up goes on, as operators expect of
/// one broken package among two hundred.
pub fn build_blueprint(server: &Arc<VirtualServer>, library: &Library) -> Outcome<()> {
    let process = server.process();
    let context = Context::new(Arc::clone(&process), Some(Arc::clone(server)));
    let interp = Interp::create().map_err(Exit::from)?;
    interp.set_data(Rc::clone(&context));
    context.building.set(true);
    register(&interp, &process.scripting, &context);
    interp.eval_global(blueprint::CAPTURE)?;
    let known = interp.call_global(&[Obj::from("::navis::known")])?;
    for (name, text) in &process.scripting.library {
        interp.eval_global(text).map_err(|e| named(e, name))?;
    }
    for (module, file) in library.files() {
        *context.module.borrow_mut() = module;
        if let Err(e) = interp.source(&file, None) {
            super::report(&interp, &format!("sourcing {}", file.display()), e);
        }
        cleanup(&interp, &context);
    }
    *context.module.borrow_mut() = None;
    let made = std::collections::HashSet::new();
    let built = Blueprint::capture(&interp, &known, &Blueprint::default(), &made)?;
    shared::notice!(
        "blueprint of server {}: {} procs in {} namespaces, {} variables, {} binary packages",
        server.name,
        built.proc_count(),
        built.namespaces.len(),
        built.variables.len(),
        built.loaded.len()
    );
    server.blueprint.store(Arc::new(built));
    Ok(())
}

/// Evaluates a script in a fresh interpreter and makes what it leaves behind part of the blueprint (`ns_eval`).
///
/// # Errors
/// The script's; the blueprint stays as it was then.
pub fn eval_into_blueprint(server: &Arc<VirtualServer>, script: &Obj) -> Outcome {
    let text = script.text();
    let (interp, context) = create_interp(server)?;
    let lazy = interp.data::<Lazy>().ok_or_else(|| Exit::from(TclError::new("interpreter without blueprint")))?;
    context.building.set(true);
    interp.eval_global(blueprint::CAPTURE)?;
    let pristine = Interp::create().map_err(Exit::from)?;
    let fresh = Context::new(server.process(), Some(Arc::clone(server)));
    pristine.set_data(Rc::clone(&fresh));
    register(&pristine, &server.process().scripting, &fresh);
    pristine.eval_global(blueprint::CAPTURE)?;
    let known = pristine.call_global(&[Obj::from("::navis::known")])?;
    drop(pristine);
    let result = interp.eval_global(&text)?.text();
    let before = Arc::clone(&lazy.blueprint.borrow());
    let made = lazy.made.borrow().clone();
    let built = Blueprint::capture(&interp, &known, &before, &made)?;
    server.blueprint.store(Arc::new(built));
    Ok(Obj::from(result))
}

/// Brings an interpreter up to the current blueprint; cheap when it is.
pub(super) fn refresh(interp: &Interp, context: &Rc<Context>) -> Outcome<()> {
    let Some(server) = &context.server else { return Ok(()) };
    let new = server.blueprint.load();
    if new.epoch == context.epoch.get() {
        return Ok(());
    }
    let new = Arc::clone(&new);
    context.epoch.set(new.epoch);
    let Some(lazy) = interp.data::<Lazy>() else { return Ok(()) };
    let old = lazy.blueprint.replace(Arc::clone(&new));
    // Procedures that changed or went are deleted; they are made anew when somebody calls them.
    let made: Vec<String> = lazy.made.borrow().iter().cloned().collect();
    for full in made {
        let (ns, tail) = blueprint::split(&full);
        let was = old.procs.get(&ns).and_then(|p| p.get(&tail));
        let is = new.procs.get(&ns).and_then(|p| p.get(&tail));
        if was != is {
            lazy.made.borrow_mut().remove(&full);
            if was.is_some() && interp.has_command(&full) {
                interp.rename(&full, "")?;
            }
        }
    }
    for ns in new.namespaces.iter().filter(|n| !old.namespaces.contains(n)) {
        interp.call_global(&[Obj::from("::namespace"), Obj::from("eval"), Obj::from(ns), Obj::new()])?;
    }
    for (name, def) in new.variables.iter().filter(|(n, d)| old.variables.get(*n) != Some(d)) {
        set_variable(interp, name, def)?;
    }
    Ok(())
}

fn register(interp: &Interp, scripting: &Scripting, context: &Rc<Context>) {
    synopsis::register_all(interp, &scripting.tables);
    if let Some(server) = &context.server {
        for table in server.extensions.get::<crate::module::ModuleTables>().0.read().iter() {
            synopsis::register_all(interp, &[*table]);
        }
    }
    for hook in &scripting.on_interp {
        hook(interp, context);
    }
}

fn apply(interp: &Interp, b: &Arc<Blueprint>) -> Outcome<()> {
    for (file, prefix) in &b.loaded {
        let words = [Obj::from("::load"), Obj::from(file), Obj::from(prefix)];
        if let Err(e) = interp.call_global(&words) {
            super::report(interp, &format!("loading {file}"), e);
        }
    }
    for ns in &b.namespaces {
        interp.call_global(&[Obj::from("::namespace"), Obj::from("eval"), Obj::from(ns), Obj::new()])?;
    }
    let in_namespace = |ns: &str, sub: &str, words: &str| -> Outcome {
        let script = format!("::namespace {sub} {words}");
        interp.call_global(&[Obj::from("::namespace"), Obj::from("eval"), Obj::from(ns), Obj::from(script)])
    };
    for (ns, patterns) in &b.exports {
        in_namespace(ns, "export", patterns)?;
    }
    for (ns, path) in &b.paths {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        in_namespace(ns, "path", &tcl::list_format(&[&tcl::list_format(&words)]))?;
    }
    for (ns, script) in &b.unknowns {
        in_namespace(ns, "unknown", &tcl::list_format(&[script]))?;
    }
    for (name, def) in &b.variables {
        set_variable(interp, name, def)?;
    }
    Lazy::new(Arc::clone(b)).install(interp)?;
    for (name, options) in &b.ensembles {
        make_ensemble(interp, name, options)?;
    }
    for (name, words) in &b.aliases {
        let mut call = vec![Obj::from("::interp"), Obj::from("alias"), Obj::new(), Obj::from(name), Obj::new()];
        call.extend(Obj::from(words).elements()?);
        interp.call_global(&call)?;
    }
    if !b.auto_path.is_empty() {
        interp.set_global("auto_path", Obj::from(&b.auto_path))?;
    }
    if !b.tm_path.is_empty() {
        let script = format!("foreach p [lreverse {}] {{::tcl::tm::path add $p}}", tcl::list_format(&[&b.tm_path]));
        interp.eval_global(&script)?;
    }
    for (name, version) in &b.packages {
        let words = ["::package", "provide", name, version].map(Obj::from);
        interp.call_global(&words)?;
    }
    if !b.objects.is_empty() {
        interp.eval_global(&b.objects)?;
    }
    interp.reset_result();
    Ok(())
}

fn set_variable(interp: &Interp, name: &str, def: &VarDef) -> Outcome<()> {
    match def {
        VarDef::Scalar(value) => interp.set_global(name, Obj::from(value)),
        VarDef::Array(list) => {
            // `array set` makes the array even when the list is empty.
            let words = ["::array", "set", name, list].map(Obj::from);
            interp.call_global(&words).map(|_| ())
        }
    }
}

fn make_ensemble(interp: &Interp, name: &str, options: &str) -> Outcome<()> {
    let (ns, _) = blueprint::split(name);
    let mut words = vec![Obj::from("::namespace"), Obj::from("ensemble"), Obj::from("create")];
    let mut home = ns;
    for (key, value) in Obj::from(options).pairs()? {
        match key.text().as_str() {
            "-namespace" => home = value.text(),
            _ => words.extend([key, value]),
        }
    }
    words.extend([Obj::from("-command"), Obj::from(name)]);
    let script = Obj::list(words);
    interp.call_global(&[Obj::from("::namespace"), Obj::from("eval"), Obj::from(home), script]).map(|_| ())
}

/// Ends what one request or script left behind: the connection, sets, cleanup scripts.
pub(super) fn cleanup(interp: &Interp, context: &Rc<Context>) {
    for hook in &context.process.scripting.on_cleanup {
        hook(interp, context);
    }
    let scripts = std::mem::take(&mut *context.on_cleanup.borrow_mut());
    for script in scripts {
        if let Err(e) = interp.eval_global(&script) {
            super::report(interp, "cleanup", e);
        }
    }
    if let Some(cleanups) = context.server.as_ref().and_then(|s| s.extensions.find::<crate::module::Cleanups>()) {
        for act in cleanups.0.read().iter() {
            act(interp, context);
        }
    }
    context.set_conn(None);
    context.sets.borrow_mut().clear();
    interp.reset_result();
}

fn named(e: Exit, name: &str) -> Exit {
    match e {
        Exit::Error(e) => Exit::from(TclError::new(format!("built-in library, {name}: {}\n{}", e.message(), e.info()))),
        other => other,
    }
}
