//! Interpreters and what new ones are made from: ns_ictl, ns_library, ns_moduleload, ns_parseargs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use ::server::script::{self, InterpMoment, InterpTraces};
use parking_lot::RwLock;
use synopsis::{Call, Int, Rest, choice, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::kinds::ServerArg;
use crate::kinds::context;

mod parseargs;

commands! { TABLE(call):

    /// Adds a module to the list of the server, and gives the list.
    "ns_ictl addmodule" (module: String) => add_module(call, module);

    /// Frees what scripts of this interpreter left behind: sets.
    "ns_ictl cleanup" () => context(call).sets.borrow_mut().clear();

    /// Version of what new interpreters are made from.
    "ns_ictl epoch" () => context(call).server().blueprint.load().epoch;

    /// What new interpreters are made from, as a script.
    "ns_ictl get" () => context(call).server().blueprint.load().script();

    /// Names of the modules of a server.
    "ns_ictl getmodules" [-server: Option<ServerArg>] () => modules(call, server);

    /// Scripts of a turning point.
    #[usage("allocate|create|deallocate|delete|freeconn|getconn|idle")]
    "ns_ictl gettraces" (when: When) => traces(call).of(when.into());

    /// This interpreter is deleted when its work is done.
    "ns_ictl markfordelete" () => context(call).condemned.set(true);

    /// How many interpreters may be updated at the same time. Kept for existing scripts: they are updated independently.
    "ns_ictl maxconcurrentupdates" (max: Option<Int<1>>) => max_updates(call, max);

    /// Evaluates a script whenever a request, job or scheduled script has ended.
    "ns_ictl oncleanup" (script: Obj, arg: Option<Rest>) => trace(call, When::Deallocate, &script, arg);

    /// Evaluates a script in every new interpreter.
    "ns_ictl oncreate" (script: Obj, arg: Option<Rest>) => trace(call, When::Create, &script, arg);

    /// Evaluates a script in every interpreter that is about to be deleted.
    "ns_ictl ondelete" (script: Obj, arg: Option<Rest>) => trace(call, When::Delete, &script, arg);

    /// Evaluates a script whenever a request, job or scheduled script begins.
    "ns_ictl oninit" (script: Obj, arg: Option<Rest>) => trace(call, When::Allocate, &script, arg);

    /// Runs the scripts of a turning point in this interpreter.
    #[usage("allocate|create|deallocate|delete|freeconn|getconn|idle")]
    "ns_ictl runtraces" (when: When) => script::run_traces(call.interp, &context(call), when.into());

    /// Makes new interpreters from a script.
    "ns_ictl save" (script: Obj) => script::save_blueprint(context(call).server(), &script);

    /// Evaluates a script at a turning point of every interpreter.
    #[usage("allocate|create|deallocate|delete|freeconn|getconn|idle /script/ ?/arg .../?")]
    "ns_ictl trace" (when: When, script: Obj, arg: Option<Rest>) => trace(call, when, &script, arg);

    /// Brings this interpreter up to date.
    "ns_ictl update" () => script::update(call.interp, &context(call));

    /// Directory of the server's own or of the shared Tcl library, or of a module in it.
    "ns_library" (kind as "private|shared": LibraryKind, module: Option<String>) => library(call, kind, module);

    /// Starts a module. Modules are part of the program here: the configuration starts them.
    "ns_moduleload" [-global: bool, -init: Option<String>, --] (module: String, file: String)
        => load_module(call, &module, &file);

    /// Evaluates a script in a new interpreter, and makes all other ones learn what it defines.
    "::navis::eval" (script: Obj) => eval_everywhere(call, &script);

    /// The module whose library is sourced.
    "::navis::module" () => context(call).module.borrow().clone();

    /// Reads arguments as a specification says, into variables of the caller.
    "ns_parseargs" (argspec: Obj, arg: Rest) => parseargs::parse(call, &argspec, &arg);
}

choice! {
    /// A turning point in the life of an interpreter.
    pub enum When {
        Allocate = "allocate", Create = "create", Deallocate = "deallocate", Delete = "delete",
        Freeconn = "freeconn", Getconn = "getconn", Idle = "idle",
    }

    /// Whose library.
    pub enum LibraryKind { Private = "private", Shared = "shared" }
}

impl From<When> for InterpMoment {
    fn from(when: When) -> InterpMoment {
        match when {
            When::Allocate => InterpMoment::Allocate,
            When::Create => InterpMoment::Create,
            When::Deallocate => InterpMoment::Deallocate,
            When::Delete => InterpMoment::Delete,
            When::Freeconn => InterpMoment::Freeconn,
            When::Getconn => InterpMoment::Getconn,
            When::Idle => InterpMoment::Idle,
        }
    }
}

fn traces(call: &Call<'_>) -> Arc<InterpTraces> {
    context(call).server().extensions.get()
}

fn trace(call: &Call<'_>, when: When, script: &Obj, args: Option<Rest<'_>>) {
    let text = crate::later::Later::new(call, script, args).text();
    traces(call).add(when.into(), text);
}

/// Modules that scripts added to the list of a server. An extension of the server.
#[derive(Default)]
struct Added(RwLock<Vec<String>>);

fn add_module(call: &Call<'_>, module: String) -> Vec<String> {
    let added: Arc<Added> = context(call).server().extensions.get();
    added.0.write().push(module);
    modules(call, None)
}

fn modules(call: &Call<'_>, server: Option<ServerArg>) -> Vec<String> {
    let context = context(call);
    let server = server.map_or_else(|| Arc::clone(context.server()), |s| s.0);
    let section = server.section("modules");
    let config = context.process.config.read();
    let mut names: Vec<String> = config
        .section(&section)
        .map(|s| s.params.iter().map(|p| p.key.clone()).collect())
        .unwrap_or_default();
    if let Some(added) = server.extensions.find::<Added>() {
        names.extend(added.0.read().iter().cloned());
    }
    names
}

/// The number of `ns_ictl maxconcurrentupdates`. An extension of the process.
#[derive(Default)]
struct MaxUpdates(AtomicI64);

fn max_updates(call: &Call<'_>, max: Option<Int<1>>) -> i64 {
    let process = &context(call).process;
    let configured = process.settings().maxconcurrentupdates.get();
    let kept = process
        .extensions
        .get_or(|| MaxUpdates(AtomicI64::new(configured)));
    if let Some(max) = max {
        kept.0.store(*max, Relaxed);
    }
    kept.0.load(Relaxed)
}

fn library(call: &Call<'_>, kind: LibraryKind, module: Option<String>) -> String {
    let context = context(call);
    let process = &context.process;
    let shared = process.home().join(&process.settings().tcllibrary);
    let mut dir = match (kind, &context.server().tcl.library) {
        (LibraryKind::Private, Some(library)) => process.home().join(library),
        _ => shared,
    };
    if let Some(module) = module {
        dir.push(module);
    }
    dir.to_string_lossy().into_owned()
}

fn load_module(call: &Call<'_>, module: &str, file: &str) -> Outcome<()> {
    let process = &context(call).process;
    if process.loaded.read().iter().any(|(name, _)| name == module) {
        return Ok(());
    }
    let known: Vec<&str> = process.modules.iter().map(|m| m.name).collect();
    Err(tcl::error(format!(
        "ns_moduleload: cannot load {file} as {module}: modules are part of the program and are started by the configuration; known are {}",
        known.join(", ")
    )))
}

fn eval_everywhere(call: &Call<'_>, script: &Obj) -> Outcome {
    let context = context(call);
    if context.building.get() {
        return call.interp.eval_obj_global(script);
    }
    let result = script::eval_into_blueprint(context.server(), script)?;
    script::update(call.interp, &context)?;
    Ok(result)
}

/// What `ns_parseargs` and its kin say: without an error code.
fn plain(message: impl Into<String>) -> Exit {
    TclError::new(message).into()
}
