//! How interpreters are made: the first one of a server sources its library, the others follow the blueprint.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use tcl::{Exit, Interp, Obj, Outcome, TclError};

use super::blueprint::{self, Blueprint, VarDef};
use super::lazy::Lazy;
use super::{Context, InterpMoment, Scripting, run_traces};
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
                let same = |(m, f): &(Option<String>, PathBuf)| {
                    m == module && f.file_name() == file.file_name()
                };
                all.retain(|entry| !same(entry));
                all.push((module.clone(), file));
            }
        }
        all
    }
}

fn tcl_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "tcl") && p.is_file())
        .filter(|p| {
            p.file_name()
                .is_some_and(|n| !n.to_string_lossy().starts_with('.'))
        })
        .collect();
    files.sort_by_key(|p| (p.file_name().is_some_and(|n| n != "init.tcl"), p.clone()));
    files
}

/// What making blueprints of a server needs. An extension of the server.
#[derive(Default)]
struct Maker {
    /// The commands of an interpreter without a blueprint, as `::navis::known` tells them.
    known: OnceLock<String>,
    /// One change of the blueprint at a time: each begins with the result of the one before.
    turn: parking_lot::Mutex<()>,
}

/// A new interpreter of `server`, made from its blueprint.
///
/// # Errors
/// Tcl cannot be initialised, or a binary package of the blueprint cannot be loaded.
pub fn create_interp(server: &Arc<VirtualServer>) -> Outcome<(Interp, Rc<Context>)> {
    let (interp, context) = pristine(server)?;
    let blueprint = server.blueprint.load_full();
    context.epoch.set(blueprint.epoch);
    apply(&interp, &blueprint)?;
    context.kept_globals.borrow_mut().extend(globals(&interp));
    run_traces(&interp, &context, InterpMoment::Create);
    Ok((interp, context))
}

/// An interpreter with our commands and nothing of the site.
fn pristine(server: &Arc<VirtualServer>) -> Outcome<(Interp, Rc<Context>)> {
    let process = server.process();
    let context = Context::new(Arc::clone(&process), Some(Arc::clone(server)));
    let interp = Interp::create().map_err(Exit::from)?;
    interp.set_data(Rc::clone(&context));
    register(&interp, &process.scripting, &context);
    Ok((interp, context))
}

/// The first interpreter of a server: sources the library with all files, and leaves the blueprint in the server.
///
/// # Errors
/// The built-in library fails. Errors in files of the site are logged, and start-up goes on, as operators expect of
/// one broken package among two hundred.
pub fn build_blueprint(server: &Arc<VirtualServer>, library: &Library) -> Outcome<()> {
    let process = server.process();
    let (interp, context) = pristine(server)?;
    context.building.set(true);
    interp.eval_global(blueprint::CAPTURE)?;
    let known = interp.call_global(&[Obj::from("::navis::known")])?;
    let maker: Arc<Maker> = server.extensions.get();
    let _turn = maker.turn.lock();
    let _ = maker.known.set(known.text());
    // These make themselves on first use, dates for 15 ms; new interpreters find them made.
    interp.eval_global("clock format 0 -gmt 1; clock scan 1970-01-01; ::tcl::tm::path list")?;
    for (name, text) in &process.scripting.library {
        interp.eval_global(text).map_err(|e| named(e, name))?;
    }
    for (module, file) in library.files() {
        *context.module.borrow_mut() = module;
        if let Err(e) = interp.source(&file, None) {
            super::report(&interp, &format!("sourcing {}", file.display()), e);
        }
        context.sets.borrow_mut().clear();
        interp.reset_result();
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
    let maker: Arc<Maker> = server.extensions.get();
    let _turn = maker.turn.lock();
    let (interp, context) = create_interp(server)?;
    context.building.set(true);
    interp.eval_global(blueprint::CAPTURE)?;
    let result = interp.eval_global(&text)?.text();
    let lazy = lazy_of(&interp)?;
    let before = Arc::clone(&lazy.blueprint.borrow());
    let made = lazy.made.borrow().clone();
    let known = Obj::from(maker.known.get().map_or("", String::as_str));
    let built = Blueprint::capture(&interp, &known, &before, &made)?;
    server.blueprint.store(Arc::new(built));
    drop(lazy);
    drop(interp);
    Ok(Obj::from(result))
}

/// Replaces the blueprint by what a script makes of an interpreter without one (`ns_ictl save`).
///
/// # Errors
/// The script's; the blueprint stays as it was then.
pub fn save_blueprint(server: &Arc<VirtualServer>, script: &Obj) -> Outcome<()> {
    let text = script.text();
    let maker: Arc<Maker> = server.extensions.get();
    let _turn = maker.turn.lock();
    let (interp, context) = pristine(server)?;
    context.building.set(true);
    interp.eval_global(blueprint::CAPTURE)?;
    interp.eval_global(&text)?;
    let known = Obj::from(maker.known.get().map_or("", String::as_str));
    let mut start = Blueprint::default();
    start.epoch = server.blueprint.load().epoch;
    let built = Blueprint::capture(&interp, &known, &start, &std::collections::HashSet::new())?;
    server.blueprint.store(Arc::new(built));
    Ok(())
}

fn lazy_of(interp: &Interp) -> Outcome<Rc<Lazy>> {
    interp
        .data::<Lazy>()
        .ok_or_else(|| TclError::new("interpreter without blueprint").into())
}

/// What an interpreter has to do to be up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    Current,
    /// A new interpreter has to take its place.
    Replace,
}

/// Brings an interpreter up to the current blueprint between two uses; cheap when it is.
pub(super) fn refresh(interp: &Interp, context: &Rc<Context>) -> Outcome<Freshness> {
    let Some(server) = &context.server else {
        return Ok(Freshness::Current);
    };
    let new = server.blueprint.load();
    if new.epoch == context.epoch.get() {
        return Ok(Freshness::Current);
    }
    let Some(lazy) = interp.data::<Lazy>() else {
        return Ok(Freshness::Current);
    };
    if !new.follows(&lazy.blueprint.borrow()) {
        return Ok(Freshness::Replace);
    }
    follow(interp, context, &Arc::clone(&new))?;
    Ok(Freshness::Current)
}

/// Brings the interpreter of a running script up to the current blueprint as far as that is possible meanwhile; when it
/// is not wholly, the next script gets a new interpreter (`ns_ictl update`).
///
/// # Errors
/// Tcl's.
pub fn update(interp: &Interp, context: &Rc<Context>) -> Outcome<()> {
    let Some(server) = &context.server else {
        return Ok(());
    };
    let new = server.blueprint.load_full();
    let Some(lazy) = interp.data::<Lazy>() else {
        return Ok(());
    };
    if context.building.get() || new.epoch == context.epoch.get() {
        return Ok(());
    }
    let old = Arc::clone(&lazy.blueprint.borrow());
    drop(lazy);
    follow(interp, context, &new)?;
    if !new.follows(&old) {
        context.condemned.set(true);
        set_up_namespaces(interp, &new)?;
        if new.classes != old.classes {
            interp.eval_global(MAKE)?;
            interp.eval_global(&new.classes)?;
        }
        make_ensembles_and_aliases(interp, &new)?;
    }
    Ok(())
}

fn follow(interp: &Interp, context: &Rc<Context>, new: &Arc<Blueprint>) -> Outcome<()> {
    let lazy = lazy_of(interp)?;
    context.epoch.set(new.epoch);
    let old = lazy.blueprint.replace(Arc::clone(new));
    // Procedures that changed or went are deleted; they are made anew when somebody calls them.
    let made: Vec<String> = lazy.made.borrow().iter().cloned().collect();
    for full in made {
        let (ns, tail) = blueprint::split(&full);
        let was = old.procs.get(&ns).and_then(|p| p.get(&tail));
        let is = new.procs.get(&ns).and_then(|p| p.get(&tail));
        if was != is {
            lazy.forget(&full, || {
                if was.is_some() && interp.has_command(&full) {
                    interp.rename(&full, "")?;
                }
                Ok(())
            })?;
        }
    }
    // What this interpreter defined by itself gives way to what everybody has now.
    for (ns, procs) in &new.procs {
        let before = old.procs.get(ns);
        for tail in procs
            .keys()
            .filter(|t| before.is_none_or(|b| !b.contains_key(*t)))
        {
            let full = blueprint::join(ns, tail);
            lazy.forget(&full, || {
                if interp.has_command(&full) {
                    interp.rename(&full, "")?;
                }
                Ok(())
            })?;
        }
    }
    for ns in new
        .namespaces
        .iter()
        .filter(|n| !old.namespaces.contains(n))
    {
        interp.call_global(&[
            Obj::from("::namespace"),
            Obj::from("eval"),
            Obj::from(ns),
            Obj::new(),
        ])?;
    }
    for (name, def) in new
        .variables
        .iter()
        .filter(|(n, d)| old.variables.get(*n) != Some(d))
    {
        set_variable(interp, name, def)?;
    }
    for (name, version) in new.packages.iter().filter(|p| !old.packages.contains(p)) {
        interp.call_global(&["::package", "provide", name, version].map(Obj::from))?;
    }
    interp.reset_result();
    Ok(())
}

fn register(interp: &Interp, scripting: &Scripting, context: &Rc<Context>) {
    synopsis::register_all(interp, &scripting.tables);
    if let Some(server) = &context.server {
        for table in server
            .extensions
            .get::<crate::module::ModuleTables>()
            .0
            .read()
            .iter()
        {
            synopsis::register_all(interp, &[*table]);
        }
    }
    for hook in &scripting.on_interp {
        hook(interp, context);
    }
}

/// Makes an object of TclOO without its constructor, in a namespace of a given name where that is free.
const MAKE: &str = r"
    proc ::navis::make {class name ns} {
        if {[info object isa object $name]} return
        ::oo::objdefine $class export createWithNamespace
        if {[namespace exists $ns] || [catch {$class createWithNamespace $name $ns}]} {$class create $name}
        ::oo::objdefine $class unexport createWithNamespace
    }
    proc ::navis::fill {object variable kind value} {
        upvar #0 [info object namespace $object]::$variable v
        if {$kind eq {array}} {array set v $value} else {set v $value}
    }
";

fn apply(interp: &Interp, b: &Arc<Blueprint>) -> Outcome<()> {
    for (file, prefix) in &b.loaded {
        let words = [Obj::from("::load"), Obj::from(file), Obj::from(prefix)];
        if let Err(e) = interp.call_global(&words) {
            super::report(interp, &format!("loading {file}"), e);
        }
    }
    for ns in &b.namespaces {
        interp.call_global(&[
            Obj::from("::namespace"),
            Obj::from("eval"),
            Obj::from(ns),
            Obj::new(),
        ])?;
    }
    set_up_namespaces(interp, b)?;
    for (name, def) in &b.variables {
        set_variable(interp, name, def)?;
    }
    let lazy = Lazy::new(Arc::clone(b));
    for full in &b.overrides {
        let (ns, tail) = blueprint::split(full);
        let Some(def) = b.procs.get(&ns).and_then(|p| p.get(&tail)) else {
            continue;
        };
        interp.call_global(&["::proc", full, &def.args, &def.body].map(Obj::from))?;
        lazy.made.borrow_mut().insert(full.clone());
    }
    lazy.install(interp)?;
    if !(b.classes.is_empty() && b.objects.is_empty()) {
        interp.eval_global(MAKE)?;
        interp.eval_global(&b.classes)?;
    }
    make_ensembles_and_aliases(interp, b)?;
    if !b.auto_path.is_empty() {
        interp.set_global("auto_path", Obj::from(&b.auto_path))?;
    }
    for (name, version) in &b.packages {
        let words = ["::package", "provide", name, version].map(Obj::from);
        interp.call_global(&words)?;
    }
    if !b.objects.is_empty()
        && let Err(e) = interp.eval_global(&b.objects)
    {
        super::report(interp, "objects of the blueprint", e);
    }
    interp.reset_result();
    Ok(())
}

fn set_up_namespaces(interp: &Interp, b: &Blueprint) -> Outcome<()> {
    let in_namespace = |ns: &str, sub: &str, words: &str| -> Outcome {
        let script = format!("::namespace {sub} {words}");
        interp.call_global(&[
            Obj::from("::namespace"),
            Obj::from("eval"),
            Obj::from(ns),
            Obj::from(script),
        ])
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
    Ok(())
}

fn make_ensembles_and_aliases(interp: &Interp, b: &Blueprint) -> Outcome<()> {
    for (name, options) in &b.ensembles {
        make_ensemble(interp, name, options)?;
    }
    for (name, words) in &b.aliases {
        let mut call = vec![
            Obj::from("::interp"),
            Obj::from("alias"),
            Obj::new(),
            Obj::from(name),
            Obj::new(),
        ];
        call.extend(Obj::from(words).elements()?);
        interp.call_global(&call)?;
    }
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
    let mut settings = Vec::new();
    let mut home = ns;
    let mut by_export = true;
    for (key, value) in Obj::from(options).pairs()? {
        match key.text().as_str() {
            "-namespace" => home = value.text(),
            key_text => {
                by_export &= !matches!(key_text, "-map" | "-subcommands") || value.is_empty();
                settings.extend([key, value]);
            }
        }
    }
    if by_export {
        // Such an ensemble looks into the table of its namespace, which must be complete.
        lazy_of(interp)?.make_exported(interp, &home);
    }
    let mut words = ["::namespace", "ensemble"].map(Obj::from).to_vec();
    let exists = interp
        .call_global(&["::namespace", "ensemble", "exists", name].map(Obj::from))?
        .boolean()?;
    if exists {
        words.extend(["configure", name].map(Obj::from));
        words.extend(settings);
        return interp.call_global(&words).map(|_| ());
    }
    if interp.has_command(name) {
        // The procedure of that name made itself an ensemble on first use, as `clock` does.
        interp.rename(name, "")?;
    }
    words.push(Obj::from("create"));
    words.extend(settings);
    words.extend([Obj::from("-command"), Obj::from(name)]);
    interp
        .call_global(&[
            Obj::from("::namespace"),
            Obj::from("eval"),
            Obj::from(home),
            Obj::list(words),
        ])
        .map(|_| ())
}

/// Begins a use of an interpreter, for a request or another script.
pub(super) fn begin(interp: &Interp, context: &Context) {
    run_traces(interp, context, InterpMoment::Allocate);
    if context.conn().is_some() {
        run_traces(interp, context, InterpMoment::Getconn);
    }
}

/// Ends what one request or script left behind: the connection, sets, channels, global variables; runs cleanup scripts.
pub(super) fn cleanup(interp: &Interp, context: &Rc<Context>) {
    if context.conn().is_some() {
        run_traces(interp, context, InterpMoment::Freeconn);
    }
    run_traces(interp, context, InterpMoment::Deallocate);
    for hook in &context.process.scripting.on_cleanup {
        hook(interp, context);
    }
    if let Some(cleanups) = context
        .server
        .as_ref()
        .and_then(|s| s.extensions.find::<crate::module::Cleanups>())
    {
        let acts = cleanups.0.read().clone();
        for act in acts {
            act(interp, context);
        }
    }
    let scripts = std::mem::take(&mut *context.on_cleanup.borrow_mut());
    for script in scripts {
        if let Err(e) = interp.eval_global(&script) {
            super::report(interp, "cleanup", e);
        }
    }
    close_channels(interp);
    for name in list_of(interp, |words| &words.globals) {
        let stays = |n: &str| context.kept_globals.borrow().contains(n) || is_kept(n);
        if !name.with_text(stays) {
            interp.unset_global(&name.text());
        }
    }
    context.set_conn(None);
    context.sets.borrow_mut().clear();
    interp.reset_result();
}

fn globals(interp: &Interp) -> Vec<String> {
    list_of(interp, |words| &words.globals)
        .iter()
        .map(Obj::text)
        .collect()
}

/// Commands that are called after every request, as values that keep what Tcl found under their names.
struct Words {
    globals: [Obj; 1],
    channels: [Obj; 1],
}

fn list_of(interp: &Interp, which: impl FnOnce(&Words) -> &[Obj; 1]) -> Vec<Obj> {
    let words = interp.data::<Words>().unwrap_or_else(|| {
        let words = Rc::new(Words {
            globals: [Obj::from("::tcl::info::globals")],
            channels: [Obj::from("::tcl::chan::names")],
        });
        interp.set_data(Rc::clone(&words));
        words
    });
    interp
        .call_global(which(&words))
        .ok()
        .and_then(|n| n.elements().ok())
        .unwrap_or_default()
}

/// Variables of Tcl itself, some of which come into being late.
fn is_kept(name: &str) -> bool {
    name.starts_with("tcl_")
        || name.starts_with("auto_")
        || matches!(name, "env" | "errorInfo" | "errorCode")
}

/// Closes what a script left open. The standard channels belong to the process.
fn close_channels(interp: &Interp) {
    for name in list_of(interp, |words| &words.channels) {
        if !name.with_text(|n| matches!(n, "stdin" | "stdout" | "stderr")) {
            // What cannot be closed is gone as well.
            let _ = interp.call_global(&[Obj::from("::close"), name]);
        }
    }
}

fn named(e: Exit, name: &str) -> Exit {
    match e {
        Exit::Error(e) => Exit::from(TclError::new(format!(
            "built-in library, {name}: {}\n{}",
            e.message(),
            e.info()
        ))),
        other => other,
    }
}
