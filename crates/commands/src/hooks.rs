//! Scripts at the turning points of the process: ns_atstartup, ns_atexit and their like, ns_runonce, ns_shutdown.

use std::collections::HashSet;
use std::sync::Arc;

use ::server::hooks::Moment;
use ::server::process::Ending;
use parking_lot::Mutex;
use synopsis::{Call, Interval, Rest, commands};
use tcl::{Obj, Outcome};

use crate::later::Later;
use crate::kinds::context;

commands! { TABLE(call):

    /// Evaluates a script last, when all requests have ended.
    "ns_atexit" (script: Obj, arg: Option<Rest>) => at(call, Moment::Exit, &script, arg);

    /// Evaluates a script after the modules have started, before connections are accepted.
    "ns_atprestartup" (script: Obj, arg: Option<Rest>) => at(call, Moment::Prestartup, &script, arg);

    /// Evaluates a script when the server has begun to stop.
    "ns_atshutdown" (script: Obj, arg: Option<Rest>) => at(call, Moment::Shutdown, &script, arg);

    /// Evaluates a script when SIGHUP arrives.
    "ns_atsignal" (script: Obj, arg: Option<Rest>) => at(call, Moment::Signal, &script, arg);

    /// Evaluates a script when connections are accepted.
    "ns_atstartup" (script: Obj, arg: Option<Rest>) => at(call, Moment::Startup, &script, arg);

    /// Evaluates a script unless it was evaluated before, in this server or in the whole process.
    "ns_runonce" [-global: bool, --] (script: Obj) => run_once(call, &script, global);

    /// Ends the server in order; the time is what running requests get at most.
    "ns_shutdown" [-restart: bool, --] (timeout: Option<Interval>) => shutdown(call, restart, timeout);
}

fn at(call: &Call<'_>, moment: Moment, script: &Obj, args: Option<Rest<'_>>) {
    let later = Later::new(call, script, args);
    let what = match moment {
        Moment::Prestartup => "ns_atprestartup",
        Moment::Startup => "ns_atstartup",
        Moment::Signal => "ns_atsignal",
        Moment::Shutdown => "ns_atshutdown",
        Moment::Exit => "ns_atexit",
    };
    let text = later.text();
    context(call).process.hooks.add(moment, text, move || later.run(what));
}

/// Scripts of `ns_runonce` that were evaluated. An extension of the server and of the process.
#[derive(Default)]
struct Done(Mutex<HashSet<String>>);

fn run_once(call: &Call<'_>, script: &Obj, global: bool) -> Outcome<()> {
    let context = context(call);
    let done: Arc<Done> =
        if global { context.process.extensions.get() } else { context.server().extensions.get() };
    if done.0.lock().insert(script.text()) {
        call.interp.eval_obj_global(script)?;
    }
    Ok(())
}

/// What supervisors take as the wish to be started again.
const RESTART: i32 = 130;

fn shutdown(call: &Call<'_>, restart: bool, timeout: Option<Interval>) {
    let code = if restart { RESTART } else { 0 };
    context(call).process.request_end(Ending { code, timeout: timeout.map(|t| t.0.to_duration()) });
}
