//! Interpreters of threads: every thread that runs scripts keeps one interpreter for each server it works for.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tcl::{Exit, Interp, Outcome};

use super::birth::Freshness;
use super::{Context, InterpMoment, birth, run_traces};
use crate::vserver::VirtualServer;

/// An interpreter with what it works on.
struct Entry {
    interp: Interp,
    context: Rc<Context>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        run_traces(&self.interp, &self.context, InterpMoment::Delete);
    }
}

thread_local! {
    static KEPT: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` with an interpreter of `server`: the one this thread kept, or a new one. A script that comes back here
/// while it runs (a callback within a callback) gets another interpreter.
///
/// # Errors
/// Those of `work`, and of making an interpreter.
pub fn with_interp<R>(
    server: &Arc<VirtualServer>,
    work: impl FnOnce(&Interp, &Rc<Context>) -> Outcome<R>,
) -> Outcome<R> {
    let entry = take(server)?;
    birth::begin(&entry.interp, &entry.context);
    let result = work(&entry.interp, &entry.context);
    give_back(entry);
    result
}

/// Runs a whole thread of scripts: whatever way `work` ends, its interpreters and then Tcl's own thread data go.
pub fn in_thread<R>(work: impl FnOnce() -> R) -> R {
    tcl::run_thread(|| {
        let _last = Forget;
        work()
    })
}

/// Deletes the interpreters this thread keeps; must be called before the thread ends (see [`in_thread`]).
pub fn forget_interps() {
    let entries = KEPT.with(|k| std::mem::take(&mut *k.borrow_mut()));
    drop(entries);
}

/// Logs how a script ended that nobody waits for.
pub fn report(interp: &Interp, what: &str, exit: Exit) {
    match exit {
        Exit::Error(e) => {
            let info = if e.info().is_empty() {
                interp.error_info()
            } else {
                e.info().to_owned()
            };
            let info = if info.is_empty() {
                e.message().to_owned()
            } else {
                info
            };
            shared::error!("{what}: {info}");
        }
        Exit::Return(_) => {}
        Exit::Break => shared::error!("{what}: invoked \"break\" outside of a loop"),
        Exit::Continue => shared::error!("{what}: invoked \"continue\" outside of a loop"),
        Exit::Code(code, _) => shared::error!("{what}: command returned bad code: {code}"),
    }
}

struct Forget;

impl Drop for Forget {
    fn drop(&mut self) {
        forget_interps();
    }
}

fn take(server: &Arc<VirtualServer>) -> Outcome<Entry> {
    let kept = KEPT.with(|k| {
        let mut kept = k.borrow_mut();
        let mine = |e: &Entry| {
            e.context
                .server
                .as_ref()
                .is_some_and(|s| Arc::ptr_eq(s, server))
        };
        kept.iter().position(mine).map(|i| kept.swap_remove(i))
    });
    if let Some(entry) = kept
        && birth::refresh(&entry.interp, &entry.context)? == Freshness::Current
    {
        return Ok(entry);
    }
    let (interp, context) = birth::create_interp(server)?;
    Ok(Entry { interp, context })
}

fn give_back(entry: Entry) {
    birth::cleanup(&entry.interp, &entry.context);
    if entry.context.condemned.get() {
        return;
    }
    KEPT.with(|k| k.borrow_mut().push(entry));
}
