//! Scripts at the turning points of the process: ns_atstartup, ns_atexit and their like, ns_runonce, ns_shutdown.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use ::server::hooks::Moment;
use ::server::process::Ending;
use ::server::script::Context;
use parking_lot::Mutex;
use synopsis::{Call, Interval, Rest, commands};
use tcl::{Interp, Obj, Outcome};

use crate::callback::Callback;
use crate::kinds::{conn, context};
use crate::later::Later;

commands! { TABLE(call):

    /// Evaluates a script when the request of this connection has ended.
    "ns_atclose" (script: Obj, arg: Option<Rest>) => at_close(call, &script, arg);

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

/// Scripts of `ns_atclose`. State of a connection.
#[derive(Default)]
struct AtClose(RefCell<Vec<Callback>>);

fn at_close(call: &Call<'_>, script: &Obj, args: Option<Rest<'_>>) -> Outcome<()> {
    let args = args.as_ref().map_or(&[][..], |rest| rest.0);
    let scripts: Rc<AtClose> = conn(call)?.local();
    scripts
        .0
        .borrow_mut()
        .push(Callback::new(script.text(), args));
    Ok(())
}

/// Runs the scripts of `ns_atclose`, the last one first, as the reference does; they see the connection, which has been
/// answered.
pub fn cleanup(interp: &Interp, context: &Rc<Context>) {
    let Some(conn) = context.conn() else { return };
    let scripts: Rc<AtClose> = conn.local();
    loop {
        // A script may register another one: the list is not borrowed while it runs.
        let Some(script) = scripts.0.borrow_mut().pop() else {
            return;
        };
        if let Err(exit) = script.run(interp, &[], &[]) {
            ::server::script::report(interp, "ns_atclose", exit);
        }
    }
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
    context(call)
        .process
        .hooks
        .add(moment, text, move || later.run(what));
}

/// Scripts of `ns_runonce` that were evaluated. An extension of the server and of the process.
#[derive(Default)]
struct Done(Mutex<HashSet<String>>);

fn run_once(call: &Call<'_>, script: &Obj, global: bool) -> Outcome<()> {
    let context = context(call);
    let done: Arc<Done> = if global {
        context.process.extensions.get()
    } else {
        context.server().extensions.get()
    };
    if done.0.lock().insert(script.text()) {
        call.interp.eval_obj_global(script)?;
    }
    Ok(())
}

/// What supervisors take as the wish to be started again.
const RESTART: i32 = 130;

fn shutdown(call: &Call<'_>, restart: bool, timeout: Option<Interval>) {
    let code = if restart { RESTART } else { 0 };
    context(call).process.request_end(Ending {
        code,
        timeout: timeout.map(|t| t.0.to_duration()),
    });
}
