//! The process: what there is once, whatever the number of servers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex, RwLock};

use crate::config::Config;
use crate::driver::DriverEntry;
use crate::extension::Extensions;
use crate::hooks::Hooks;
use crate::module::Module;
use crate::schedule::{Scheduler, SchedulerConfig};
use crate::script::Scripting;
use crate::settings::ProcessSettings;
use crate::vserver::VirtualServer;

/// How the program was started; see `nsd -h`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub config: Option<PathBuf>,
    /// `argv[0]` and everything behind the options.
    pub argv: Vec<String>,
    /// Command mode: a script from `argv` or standard input.
    pub command: bool,
    pub foreground: bool,
    pub debug: bool,
    pub default_server: Option<String>,
    pub program: PathBuf,
    pub prebound: Vec<String>,
}

/// Where the process stands between its first and last line of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Configuring = 0,
    Starting = 1,
    Running = 2,
    Stopping = 3,
}

/// There is one. Everything that runs holds an `Arc` of it or of a server below it.
pub struct Process {
    pub config: RwLock<Config>,
    pub options: Options,
    settings: OnceLock<ProcessSettings>,
    servers: OnceLock<Vec<Arc<VirtualServer>>>,
    pub drivers: RwLock<Vec<Arc<DriverEntry>>>,
    pub modules: &'static [Module],
    /// Names of loaded modules, as configured, with the server they belong to.
    pub loaded: RwLock<Vec<(String, Option<String>)>>,
    pub hooks: Hooks,
    scheduler: OnceLock<Scheduler>,
    pub scripting: Scripting,
    pub extensions: Extensions,
    pub mime: RwLock<Arc<http::mime::Types>>,
    pub started: SystemTime,
    pub started_at: Instant,
    phase: AtomicU8,
    end: End,
}

/// The request to end, and the exit code it asks for.
#[derive(Default)]
struct End {
    code: AtomicI32,
    wanted: Mutex<Option<Ending>>,
    bell: Condvar,
}

/// Why and how the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    pub code: i32,
    /// Instead of `shutdowntimeout`.
    pub timeout: Option<Duration>,
}

impl Process {
    pub fn new(options: Options, modules: &'static [Module], scripting: Scripting) -> Arc<Process> {
        Arc::new(Process {
            config: RwLock::default(),
            options,
            settings: OnceLock::new(),
            servers: OnceLock::new(),
            drivers: RwLock::default(),
            modules,
            loaded: RwLock::default(),
            hooks: Hooks::default(),
            scheduler: OnceLock::new(),
            scripting,
            extensions: Extensions::default(),
            mime: RwLock::new(Arc::new(http::mime::Types::default())),
            started: SystemTime::now(),
            started_at: Instant::now(),
            phase: AtomicU8::new(Phase::Configuring as u8),
            end: End::default(),
        })
    }

    pub fn settings(&self) -> &ProcessSettings {
        self.settings.get_or_init(ProcessSettings::defaults)
    }

    pub fn set_settings(&self, settings: ProcessSettings) {
        assert!(
            self.settings.set(settings).is_ok(),
            "settings are read once, before anybody asks for them"
        );
    }

    /// The scheduler; takes events before it is started.
    pub fn scheduler(&self) -> &Scheduler {
        self.scheduler.get_or_init(|| {
            let settings = self.settings();
            Scheduler::new(SchedulerConfig {
                jobs_per_thread: settings.schedsperthread.as_usize(),
                log_min_duration: settings.schedlogminduration,
                body: Arc::new(|name, run| {
                    shared::thread::set_name(name);
                    crate::script::in_thread(run);
                }),
                ..SchedulerConfig::default()
            })
        })
    }

    pub fn set_servers(&self, servers: Vec<Arc<VirtualServer>>) {
        assert!(self.servers.set(servers).is_ok(), "servers are made once");
    }

    pub fn servers(&self) -> &[Arc<VirtualServer>] {
        self.servers.get().map_or(&[], Vec::as_slice)
    }

    pub fn server(&self, name: &str) -> Option<Arc<VirtualServer>> {
        // Names of servers are names of parameters, which have no case.
        self.servers()
            .iter()
            .find(|s| s.name.eq_ignore_ascii_case(name))
            .cloned()
    }

    /// `-s`, else `defaultserver`, else the first of the configuration.
    pub fn default_server(&self) -> Option<Arc<VirtualServer>> {
        let named = self
            .options
            .default_server
            .clone()
            .or_else(|| self.settings().defaultserver.clone());
        named
            .and_then(|n| self.server(&n))
            .or_else(|| self.servers().first().cloned())
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Configuring,
            1 => Phase::Starting,
            2 => Phase::Running,
            _ => Phase::Stopping,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Directory of temporary files.
    pub fn tmpdir(&self) -> PathBuf {
        self.settings()
            .tmpdir
            .as_ref()
            .map_or_else(std::env::temp_dir, PathBuf::from)
    }

    /// `home`, absolute; the current directory when it is not configured.
    pub fn home(&self) -> PathBuf {
        self.settings().home.as_ref().map_or_else(
            || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            PathBuf::from,
        )
    }

    /// `logdir`, absolute.
    pub fn logdir(&self) -> PathBuf {
        self.home().join(&self.settings().logdir)
    }

    pub fn uptime(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Asks for an orderly end; the first request wins. Returns at once.
    pub fn request_end(&self, ending: Ending) {
        let mut wanted = self.end.wanted.lock();
        if wanted.is_none() {
            *wanted = Some(ending);
            self.end.code.store(ending.code, Ordering::Release);
        }
        self.end.bell.notify_all();
    }

    /// Whether the end was asked for.
    pub fn ending(&self) -> Option<Ending> {
        *self.end.wanted.lock()
    }

    /// Blocks until somebody asks for the end.
    pub fn wait_for_end(&self) -> Ending {
        let mut wanted = self.end.wanted.lock();
        loop {
            if let Some(ending) = *wanted {
                return ending;
            }
            self.end.bell.wait(&mut wanted);
        }
    }

    /// Like [`wait_for_end`](Self::wait_for_end), for at most `limit`.
    pub fn wait_for_end_until(&self, limit: Duration) -> Option<Ending> {
        let mut wanted = self.end.wanted.lock();
        if wanted.is_none() {
            self.end.bell.wait_for(&mut wanted, limit);
        }
        *wanted
    }
}
