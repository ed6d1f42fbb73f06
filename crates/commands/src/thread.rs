//! Threads of scripts: ns_thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::server::script;
use parking_lot::{Condvar, Mutex};
use synopsis::{Call, commands};
use tcl::{Exit, Interp, Obj, Outcome};

use crate::kinds::context;

commands! { TABLE(call):

    /// Starts a thread that evaluates a script, and gives its handle.
    "ns_thread begin" [-detached: bool, -name: Option<String>, --] (script: Obj)
        => begin(call, &script, detached, name);

    /// Starts a thread that nobody waits for.
    "ns_thread begindetached" [-detached: bool, -name: Option<String>, --] (script: Obj)
        => begin(call, &script, true, name);

    /// Starts a thread that evaluates a script, and gives its handle.
    "ns_thread create" [-detached: bool, -name: Option<String>, --] (script: Obj)
        => begin(call, &script, detached, name);

    /// Handle of this thread.
    "ns_thread get" () => own_handle();

    /// Number of this thread, as `ns_info threads` and the system show it.
    "ns_thread getid" () => i64::from(shared::thread::tid());

    /// Handle of this thread.
    "ns_thread handle" () => own_handle();

    /// Number of this thread, as `ns_info threads` and the system show it.
    "ns_thread id" () => i64::from(shared::thread::tid());

    /// Waits for the end of a thread: the result of its script.
    "ns_thread join" (threadid: String) => wait(call, &threadid);

    /// Name of this thread; sets it first when one is given.
    "ns_thread name" (name: Option<String>) => rename(name);

    /// Size of the stack of threads.
    "ns_thread stackinfo" () => stack_info(call);

    /// Waits for the end of a thread: the result of its script.
    "ns_thread wait" (threadid: String) => wait(call, &threadid);

    /// Lets other threads run.
    "ns_thread yield" () => std::thread::yield_now();
}

/// Threads that somebody may wait for, by handle. An extension of the process.
#[derive(Default)]
struct Threads {
    waitable: Mutex<HashMap<String, Arc<Work>>>,
    last: AtomicU64,
}

/// What becomes of a thread.
#[derive(Default)]
struct Work {
    result: Mutex<Option<String>>,
    bell: Condvar,
}

/// Leaves a result whatever way the thread ends, so that nobody waits for ever.
struct Finish(Arc<Work>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.result.lock().get_or_insert_default();
        self.0.bell.notify_all();
    }
}

thread_local! {
    static HANDLE: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

fn own_handle() -> String {
    let given = HANDLE.with_borrow(Clone::clone);
    given.unwrap_or_else(|| format!("tid{:#x}", shared::thread::tid()))
}

fn begin(
    call: &Call<'_>,
    script: &Obj,
    detached: bool,
    name: Option<String>,
) -> Outcome<Option<String>> {
    let context = context(call);
    let server = Arc::clone(context.server());
    let threads: Arc<Threads> = context.process.extensions.get();
    let number = threads.last.fetch_add(1, Relaxed);
    let handle = format!("thread{number:#x}");
    let work = Arc::new(Work::default());
    if !detached {
        threads
            .waitable
            .lock()
            .insert(handle.clone(), Arc::clone(&work));
    }
    let text = script.text();
    let finish = Finish(work);
    let own = handle.clone();
    let body = move || {
        HANDLE.set(Some(own));
        script::in_thread(|| {
            let result = script::with_interp(&server, |interp, _| Ok(run(interp, &text)));
            let result = result.unwrap_or_else(|_| "no interpreter".to_owned());
            *finish.0.result.lock() = Some(result);
        });
        drop(finish);
    };
    let full = format!("-tcl-{}:{number}-", name.as_deref().unwrap_or("nsthread"));
    let mut builder = shared::thread::Builder::new(full).describe("ns:tclthread", &script.text());
    if detached {
        builder = builder.detached();
    }
    match builder.spawn(body) {
        Ok(_) if detached => Ok(None),
        Ok(_) => Ok(Some(handle)),
        Err(e) => {
            threads.waitable.lock().remove(&handle);
            Err(tcl::error(format!("cannot start a thread: {e}")))
        }
    }
}

/// The result of the script; of a failed one its trace, which is logged as well.
fn run(interp: &Interp, script: &str) -> String {
    match interp.eval_global(script) {
        Ok(value) => value.text(),
        Err(Exit::Return(value)) => value.value().text(),
        Err(Exit::Error(e)) => {
            let info = if e.info().is_empty() {
                e.message()
            } else {
                e.info()
            };
            shared::error!("ns_thread: {info}");
            info.to_owned()
        }
        Err(Exit::Break) => outside(script, "break"),
        Err(Exit::Continue) => outside(script, "continue"),
        Err(Exit::Code(code, _)) => outside(script, &code.to_string()),
    }
}

fn outside(script: &str, what: &str) -> String {
    let text = if what.parse::<i32>().is_ok() {
        format!("command returned bad code: {what}")
    } else {
        format!("invoked \"{what}\" outside of a loop")
    };
    let text = format!("{text}\n    while executing\n\"{script}\"");
    shared::error!("ns_thread: {text}");
    text
}

fn wait(call: &Call<'_>, handle: &str) -> Outcome<String> {
    let threads: Arc<Threads> = context(call).process.extensions.get();
    let work = threads.waitable.lock().remove(handle);
    let Some(work) = work else {
        return Err(tcl::error(format!("invalid address \"{handle}\"")));
    };
    let mut result = work.result.lock();
    while result.is_none() {
        work.bell.wait(&mut result);
    }
    Ok(result.take().unwrap_or_default())
}

fn rename(name: Option<String>) -> String {
    if let Some(name) = name {
        shared::thread::set_name(&name);
    }
    shared::thread::name().to_string()
}

fn stack_info(call: &Call<'_>) -> String {
    let size = context(call).process.settings().stacksize;
    // Without the setting, what the Rust library takes.
    format!("max {}", size.map_or(2 << 20, |s| s.get()))
}
