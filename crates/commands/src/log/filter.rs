//! Scripts that are told of log messages (ns_logctl register).
//!
//! Any thread logs, also those that must not wait and have no interpreter. So one thread of our own runs the scripts, in
//! the order of the messages; when it falls behind by more than a limit, messages are dropped for the scripts (not for
//! the log).

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock, Weak};

use ::server::vserver::VirtualServer;
use parking_lot::Mutex;
use shared::log::{Entry, SinkId};
use tcl::{Exit, Obj};

/// Messages that wait for the scripts.
const WAITING: usize = 1000;

struct Filter {
    server: Weak<VirtualServer>,
    script: String,
    args: Vec<String>,
}

static FILTERS: LazyLock<Mutex<HashMap<u64, SinkId>>> = LazyLock::new(Mutex::default);
static QUEUE: LazyLock<Mutex<Option<SyncSender<(Arc<Filter>, Entry)>>>> =
    LazyLock::new(Mutex::default);
/// What the scripts log themselves must not come back to them.
static WORKER: AtomicI32 = AtomicI32::new(0);

/// The handle of a new filter: the script is called with severity, time, message and `args`.
///
/// # Errors
/// No thread can be started.
pub fn register(server: &Arc<VirtualServer>, script: &str, args: &[Obj]) -> Result<String, Exit> {
    let filter = Arc::new(Filter {
        server: Arc::downgrade(server),
        script: script.to_owned(),
        args: args.iter().map(Obj::text).collect(),
    });
    let queue = queue()?;
    let id = shared::log::add_sink(Arc::new(move |entry| {
        if entry.tid != WORKER.load(Ordering::Relaxed) {
            // A full queue: scripts are slower than messages come; the log itself loses nothing.
            let _ = queue.try_send((Arc::clone(&filter), entry.clone()));
        }
        ControlFlow::Continue(())
    }));
    FILTERS.lock().insert(id.0, id);
    Ok(format!("logfilter{}", id.0))
}

/// Ends a filter.
///
/// # Errors
/// There is none with this handle.
pub fn unregister(handle: &str) -> Result<(), Exit> {
    let number = handle
        .strip_prefix("logfilter")
        .and_then(|n| n.parse::<u64>().ok());
    let id = number.and_then(|n| FILTERS.lock().remove(&n));
    let id = id.ok_or_else(|| tcl::error(format!("invalid address \"{handle}\"")))?;
    shared::log::remove_sink(id);
    Ok(())
}

fn queue() -> Result<SyncSender<(Arc<Filter>, Entry)>, Exit> {
    let mut queue = QUEUE.lock();
    if let Some(sender) = queue.as_ref() {
        return Ok(sender.clone());
    }
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::Builder::new()
        .name("-logfilter-".to_owned())
        .spawn(move || {
            shared::thread::set_name("-logfilter-");
            WORKER.store(shared::thread::tid(), Ordering::Relaxed);
            ::server::script::in_thread(|| work(&receiver));
        })
        .map_err(|e| tcl::error(format!("ns_logctl register: cannot start a thread: {e}")))?;
    *queue = Some(sender.clone());
    Ok(sender)
}

fn work(receiver: &Receiver<(Arc<Filter>, Entry)>) {
    while let Ok((filter, entry)) = receiver.recv() {
        let Some(server) = filter.server.upgrade() else {
            continue;
        };
        let severity = entry.severity.name();
        let time = entry.time.to_string();
        let words = [&*severity, &time, &entry.message]
            .into_iter()
            .chain(filter.args.iter().map(String::as_str));
        let mut script = filter.script.clone();
        for word in words {
            script.push(' ');
            script.push_str(&tcl::list_format(&[word]));
        }
        let result = ::server::script::with_interp(&server, |interp, _| {
            if let Err(e) = interp.eval_global(&script) {
                ::server::script::report(interp, "log filter", e);
            }
            Ok(())
        });
        if let Err(Exit::Error(e)) = result {
            shared::error!("log filter: {}", e.message());
        }
    }
}
