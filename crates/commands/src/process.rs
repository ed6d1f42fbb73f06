//! The process and its rights: ns_kill, ns_rlimit, ns_setuser, ns_setgroup, ns_crash, exit.

use ::server::privileges;
use ::server::process::Ending;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use synopsis::{Call, Int, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::kinds::context;

commands! { TABLE(call):

    /// Ends the process at once, with a core file where the system makes them.
    "ns_crash" () => crash();

    /// Sends a signal to a process; 0 only tests whether it exists.
    "ns_kill" [-nocomplain: bool] (pid: i64, signal: Int<0>) => kill(pid, *signal, nocomplain);

    /// Largest size of core files: current and highest limit. A value sets the current one.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_rlimit coresize" (value: Option<i64>) => limit(Resource::Core, value);

    /// Largest size of the data segment.
    "ns_rlimit datasize" (value: Option<i64>) => limit(Resource::Data, value);

    /// Most open files.
    "ns_rlimit files" (value: Option<i64>) => limit(Resource::Nofile, value);

    /// Largest size of files.
    "ns_rlimit filesize" (value: Option<i64>) => limit(Resource::Fsize, value);

    /// Largest size of the address space.
    "ns_rlimit vmsize" (value: Option<i64>) => limit(Resource::As, value);

    /// Changes the group of the process; -1 when it may not or there is none.
    "ns_setgroup" (group: String) => changed("ns_setgroup", privileges::set_group(&group));

    /// Changes the user of the process; -1 when it may not or there is none.
    "ns_setuser" (user: String) => changed("ns_setuser", privileges::set_user(&user));

    /// Ends the server in order, with this exit code.
    #[style(proc)]
    #[usage("?returnCode?")]
    "exit" (code: Int<{ i32::MIN as i64 }, { i32::MAX as i64 }> = Int::new(0).expect("0 is within the limits"))
        => exit(call, *code);
}

fn crash() {
    shared::log::flush();
    std::process::abort();
}

fn kill(pid: i64, signal: i64, nocomplain: bool) -> Outcome<()> {
    match privileges::kill(pid, signal) {
        Err(e) if !nocomplain => Err(tcl::error(format!("kill {pid} {signal} failed: {e}"))),
        _ => Ok(()),
    }
}

fn limit(resource: Resource, value: Option<i64>) -> Outcome<Obj> {
    let mut limit = getrlimit(resource);
    if let Some(value) = value {
        limit = Rlimit {
            current: u64::try_from(value).ok(),
            maximum: limit.maximum,
        };
        setrlimit(resource, limit)
            .map_err(|e| TclError::new(format!("could not set limit: {e}")))?;
    }
    let text = |n: Option<u64>| n.map_or_else(|| Obj::from("unlimited"), Obj::from);
    Ok(Obj::list([text(limit.current), text(limit.maximum)]))
}

fn changed(command: &str, result: Result<(), String>) -> i64 {
    match result {
        Ok(()) => 0,
        Err(e) => {
            shared::warning!("{command}: {e}");
            -1
        }
    }
}

/// In command mode the script ends here: its thread waits for the end of the process. Elsewhere the script goes on to
/// its own end, unless it minds the error.
fn exit(call: &Call<'_>, code: i64) -> Outcome<()> {
    let process = &context(call).process;
    // The slot's limits are those of i32.
    let code = i32::try_from(code).unwrap_or(1);
    let thread = shared::thread::name();
    shared::notice!("exit {code} was called by thread {thread}");
    if &*thread == "-command-" {
        for channel in ["stdout", "stderr"] {
            // A channel that is closed needs no flush.
            let _ = call
                .interp
                .call(&[Obj::from("::flush"), Obj::from(channel)]);
        }
        process.request_end(Ending {
            code,
            timeout: None,
        });
        loop {
            std::thread::park();
        }
    }
    process.request_end(Ending {
        code,
        timeout: None,
    });
    let error: Exit = TclError::new("the server is ending: exit was called")
        .with_code(&["NS_EXIT"])
        .into();
    Err(error)
}
