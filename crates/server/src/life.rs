//! The life of the process: configuration, servers, modules, start, signals, end, in this order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::config::{self, Section};
use crate::hooks::Moment;
use crate::module::{Configured, Loading, Module};
use crate::process::{Ending, Options, Phase, Process};
use crate::script::{self, Scripting};
use crate::settings::{PoolSettings, ProcessSettings};
use crate::{check, logging, privileges, setup};

/// What the program is started with besides its options.
pub struct Start {
    pub options: Options,
    pub scripting: Scripting,
    pub modules: &'static [Module],
    /// User, group and root to change to once the sockets are bound.
    pub user: Option<String>,
    pub group: Option<String>,
    pub root: Option<PathBuf>,
    pub pidfile: Option<PathBuf>,
    /// Only check the configuration (`-T`).
    pub test: bool,
    /// Called when the server accepts connections: tells a parent that waits.
    pub ready: Option<Box<dyn FnOnce() + Send>>,
    /// The work of the thread `-command-` in command mode; its result is the exit code.
    pub command: Option<Box<dyn FnOnce(&Arc<Process>) -> i32 + Send>>,
}

/// Runs the server to its end; the result is the exit code.
///
/// # Errors
/// Why it could not start, one problem a line. Nothing is left behind then.
pub fn run(mut start: Start) -> Result<i32, String> {
    let process = Process::new(
        start.options.clone(),
        start.modules,
        std::mem::take(&mut start.scripting),
    );
    let signals = crate::signals::watch(&process)?;
    read_files(&process)?;
    shared::thread::set_name("-main-");
    let mut problems = check::configuration(&process);
    let settled = settle(&process);
    if start.test {
        let more = settled.err().unwrap_or_default();
        let new: Vec<_> = more
            .lines()
            .filter(|line| !problems.iter().any(|p| p == line))
            .map(str::to_owned)
            .collect();
        problems.extend(new);
        return Ok(check::report(&process, &problems));
    }
    settled?;
    let prebound = Mutex::new(privileges::prebind(&process.options.prebound)?);
    let configured = setup::servers(&process)?;
    prepare_modules(&process, &configured, &prebound)?;
    privileges::drop_to(
        start.user.as_deref(),
        start.group.as_deref(),
        start.root.as_deref(),
    )?;
    logging::open(&process)?;
    let pidfile = privileges::PidFile::write(&process, start.pidfile.as_deref())?;
    shared::notice!("{}", opening(&process));
    for problem in &problems {
        shared::warning!("{problem}");
    }
    let result = live(&process, &configured, &prebound, start);
    end(&process);
    drop(pidfile);
    signals.close();
    shared::log::flush();
    shared::log::stop_async();
    result
}

fn live(
    process: &Arc<Process>,
    configured: &[Configured],
    prebound: &Mutex<net::Prebound>,
    start: Start,
) -> Result<i32, String> {
    process.set_phase(Phase::Starting);
    start_modules(process, configured, prebound)?;
    setup::libraries(process, configured)?;
    if let Some(ending) = process.ending() {
        shared::notice!("interrupted while starting");
        return Ok(ending.code);
    }
    process.hooks.run(Moment::Prestartup);
    for server in process.servers() {
        for pool in server.pools() {
            pool.start();
        }
    }
    process
        .scheduler()
        .start()
        .map_err(|e| format!("cannot start the scheduler: {e}"))?;
    for driver in process.drivers.read().iter() {
        driver
            .start()
            .map_err(|e| format!("driver {}: {e}", driver.name))?;
        for address in driver.addresses() {
            shared::notice!("driver {}: listening on {address}", driver.name);
        }
    }
    process.set_phase(Phase::Running);
    process.hooks.run(Moment::Startup);
    shared::notice!("server started in {} ms", process.uptime().as_millis());
    if let Some(ready) = start.ready {
        ready();
    }
    if let Some(command) = start.command {
        run_command(process, command)?;
    }
    let ending = process.wait_for_end();
    Ok(ending.code)
}

/// The thread of command mode; the end of its script is the end of the process.
fn run_command(
    process: &Arc<Process>,
    command: Box<dyn FnOnce(&Arc<Process>) -> i32 + Send>,
) -> Result<(), String> {
    let owner = Arc::clone(process);
    let work = move || {
        let code = script::in_thread(|| command(&owner));
        owner.request_end(Ending {
            code,
            timeout: None,
        });
    };
    shared::thread::spawn("-command-", work)
        .map(drop)
        .map_err(|e| format!("cannot start the command thread: {e}"))
}

/// Orderly end: no new connections, running requests until the deadline, hooks, threads.
fn end(process: &Arc<Process>) {
    process.set_phase(Phase::Stopping);
    let patience = process
        .ending()
        .and_then(|e| e.timeout)
        .unwrap_or(process.settings().shutdowntimeout);
    let deadline = Instant::now() + patience;
    shared::notice!(
        "stopping; running requests have {} s",
        patience.as_secs_f32()
    );
    let drivers: Vec<_> = process
        .drivers
        .read()
        .iter()
        .filter_map(|d| d.running())
        .collect();
    for driver in &drivers {
        driver.drain();
    }
    process.hooks.run(Moment::Shutdown);
    process
        .scheduler()
        .shutdown(deadline.saturating_duration_since(Instant::now()));
    let mut complete = true;
    for server in process.servers() {
        for pool in server.pools() {
            complete &= pool.stop(deadline);
        }
    }
    for driver in &drivers {
        complete &= driver.shutdown(deadline.saturating_duration_since(Instant::now()));
    }
    for server in process.servers() {
        for pool in server.pools() {
            let left = pool.abandon_queue();
            if left > 0 {
                shared::warning!(
                    "pool {} of server {}: {left} requests were not answered",
                    pool.name,
                    server.name
                );
            }
        }
    }
    if !complete {
        shared::warning!(
            "the time for the end ({} s) was not enough for all requests",
            patience.as_secs_f32()
        );
    }
    process.hooks.run(Moment::Exit);
    script::forget_interps();
    shared::notice!("stopped");
}

fn read_files(process: &Arc<Process>) -> Result<(), String> {
    if let Some(path) = process.options.config.clone() {
        let files = config::files(&path)?;
        process.config.write().source = path;
        script::read_configuration(process, &files)?;
    }
    Ok(())
}

/// What concerns the whole process: `ns/parameters`, and the directory it works in.
fn settle(process: &Arc<Process>) -> Result<(), String> {
    let section = process.config.read().section_or_empty("ns/parameters");
    process.set_settings(ProcessSettings::read(&section).map_err(|p| problems(&p))?);
    if let Some(home) = &process.settings().home {
        std::env::set_current_dir(home).map_err(|e| format!("ns/parameters home {home}: {e}"))?;
    }
    let tmp = process.tmpdir();
    if process.settings().tmpdir.is_some() && !tmp.is_dir() {
        return Err(format!(
            "ns/parameters tmpdir {}: not a directory",
            tmp.display()
        ));
    }
    Ok(())
}

fn prepare_modules(
    process: &Arc<Process>,
    configured: &[Configured],
    prebound: &Mutex<net::Prebound>,
) -> Result<(), String> {
    each_module(process, configured, prebound, |module, loading| {
        (module.prepare)(loading)
    })?;
    let unused: Vec<String> = prebound.lock().iter().map(|(a, _)| a.to_string()).collect();
    if !unused.is_empty() {
        shared::warning!(
            "bound in advance (-b, -B), but no driver wants: {}",
            unused.join(", ")
        );
    }
    Ok(())
}

fn start_modules(
    process: &Arc<Process>,
    configured: &[Configured],
    prebound: &Mutex<net::Prebound>,
) -> Result<(), String> {
    each_module(process, configured, prebound, |module, loading| {
        (module.start)(loading)?;
        process.loaded.write().push((
            loading.name.to_owned(),
            loading.server.map(|s| s.name.clone()),
        ));
        Ok(())
    })
}

fn each_module(
    process: &Arc<Process>,
    configured: &[Configured],
    prebound: &Mutex<net::Prebound>,
    act: impl Fn(&'static Module, &Loading<'_>) -> Result<(), String>,
) -> Result<(), String> {
    for entry in configured.iter().filter(|e| !e.is_tcl()) {
        let module = entry.find(process.modules)?;
        let server = entry.server.as_ref().and_then(|s| process.server(s));
        let loading = Loading {
            process,
            server: server.as_ref(),
            name: &entry.name,
            section: entry.section(),
            prebound,
        };
        act(module, &loading)
            .map_err(|e| format!("module {} ({}): {e}", entry.name, entry.place))?;
    }
    Ok(())
}

/// Several problems as one text, a line each.
pub(crate) fn problems(list: &[synopsis::ParamProblem]) -> String {
    list.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Reads the settings of a pool from its section; `fallback` is the server's section, whose values are the defaults.
pub(crate) fn pool_settings(section: &Section) -> Result<PoolSettings, String> {
    PoolSettings::read(section).map_err(|p| problems(&p))
}

fn opening(process: &Process) -> String {
    format!(
        "{}/{} starting, pid {}, Tcl {}, home {}",
        crate::identity::PRODUCT,
        crate::identity::VERSION,
        std::process::id(),
        script::tcl_version(),
        process.home().display()
    )
}
