//! The access log: a line for every request of a server, in a file that rolls.

mod commands;
mod line;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use server::hooks::Moment;
use server::module::{Loading, Module};
use server::request::Record;
use server::schedule::{EventInfo, EventOptions};
use shared::rolling;
use synopsis::{Int, params};

use line::Format;

pub const MODULE: Module = Module {
    name: "nslog",
    about: "Access log in common or combined log format.",
    spec: Settings::spec,
    more_specs: || vec![],
    prepare: |loading| settings(loading).map(drop),
    start,
};

params! {
    /// An access log.
    pub struct Settings in "ns/server/*/module/nslog" {
        /// The file; a relative path is below `logdir`.
        file: String = "access.log",
        /// Log the date in common log format, otherwise seconds since 1970.
        formattedtime: bool = "true",
        /// Log referer and user agent.
        logcombined: bool = "true",
        /// Log how long the request took.
        logreqtime: bool = "false",
        /// Log when the request began and how long each part of it took.
        logpartialtimes: bool = "false",
        /// Log the thread's name in place of the first dash.
        logthreadname: bool = "false",
        /// Names of header fields whose values are logged; `response:NAME` for those of the response.
        extendedheaders: String = "",
        /// Log the first address of X-Forwarded-For (deprecated: reverseproxymode).
        checkforproxy: bool = "false",
        /// Mask the host's part of addresses.
        masklogaddr: bool = "false",
        /// The part of IPv4 addresses that is kept.
        maskipv4: String = "255.255.255.0",
        /// The part of IPv6 addresses that is kept.
        maskipv6: String = "ffff:ffff:ffff:ffff::",
        /// Do not log what follows the question mark.
        suppressquery: bool = "false",
        /// Lines kept in memory before they are written.
        maxbuffer: Int<0> = "0",
        /// Rolled files that are kept.
        maxbackup: Int<1> = "100",
        /// Time stamp in the names of rolled files (strftime); empty: numbers.
        rollfmt: String = "",
        /// Hour of the day at which the file is rolled.
        rollhour: Int<0, 23> = "0",
        /// Roll the file each day.
        rolllog: bool = "true",
        /// Roll the file when SIGHUP arrives; otherwise it is only opened anew.
        rollonsignal: bool = "false",
        /// Log only requests of drivers whose name matches.
        driver: String = "",
    }
}

/// Lines in memory are written at the latest after this time.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// One access log. It may be changed while the server runs.
pub struct AccessLog {
    file: ArcSwap<rolling::File>,
    format: ArcSwap<Format>,
    options: Mutex<rolling::Options>,
    driver: String,
    directory: PathBuf,
    /// The last write failed, and that was reported.
    failing: AtomicBool,
}

/// The access logs of a server, in the order of configuration. An extension of the server.
#[derive(Default)]
pub struct AccessLogs(pub RwLock<Vec<Arc<AccessLog>>>);

fn settings(loading: &Loading<'_>) -> Result<(Settings, Format), String> {
    let section = loading.config();
    let s = Settings::read(&section).map_err(|p| {
        p.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let wrong = |name: &str, value: &str, what: &str| {
        format!(
            "section {}, parameter {name}: \"{value}\" is {what}",
            loading.section
        )
    };
    let v4: Ipv4Addr = s
        .maskipv4
        .parse()
        .map_err(|_| wrong("maskipv4", &s.maskipv4, "no IPv4 address"))?;
    let v6: Ipv6Addr = s
        .maskipv6
        .parse()
        .map_err(|_| wrong("maskipv6", &s.maskipv6, "no IPv6 address"))?;
    let mut format = Format {
        combined: s.logcombined,
        formatted_time: s.formattedtime,
        request_time: s.logreqtime,
        partial_times: s.logpartialtimes,
        thread_name: s.logthreadname,
        check_for_proxy: s.checkforproxy,
        suppress_query: s.suppressquery,
        mask: s.masklogaddr.then_some((v4, v6)),
        extended: String::new(),
        request_headers: Vec::new(),
        response_headers: Vec::new(),
    };
    format.set_extended(&s.extendedheaders).map_err(|e| {
        format!(
            "section {}, parameter extendedheaders: {e}",
            loading.section
        )
    })?;
    Ok((s, format))
}

fn start(loading: &Loading<'_>) -> Result<(), String> {
    let server = loading
        .server
        .ok_or("an access log belongs to a server: load it in ns/server/NAME/modules")?;
    let (s, format) = settings(loading)?;
    let options = rolling::Options {
        max_lines: s.maxbuffer.as_usize(),
        max_backup: s.maxbackup.as_usize(),
        roll_format: Some(s.rollfmt).filter(|f| !f.is_empty()),
    };
    let directory = loading.process.logdir();
    let path = directory.join(&s.file);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    }
    let file = open(&path, options.clone())?;
    let log = Arc::new(AccessLog {
        file: ArcSwap::from_pointee(file),
        format: ArcSwap::from_pointee(format),
        options: Mutex::new(options),
        driver: s.driver,
        directory,
        failing: AtomicBool::new(false),
    });
    server
        .extensions
        .get::<AccessLogs>()
        .0
        .write()
        .push(Arc::clone(&log));
    let tracing = Arc::clone(&log);
    server
        .traces
        .write()
        .push(Arc::new(move |record: &Record<'_>| tracing.record(record)));
    loading.commands(commands::TABLE);

    let process = loading.process;
    if s.rolllog {
        let rolled = Arc::clone(&log);
        let hour = u8::try_from(s.rollhour.get()).unwrap_or(0);
        let options = EventOptions {
            thread: true,
            ..EventOptions::default()
        };
        let job = Arc::new(move |_: &EventInfo| rolled.roll_or_report());
        process.scheduler().daily(
            hour,
            0,
            options,
            &format!("nslog roll {}", path.display()),
            job,
        );
    }
    let flushed = Arc::clone(&log);
    let job = Arc::new(move |_: &EventInfo| flushed.flush());
    process
        .scheduler()
        .every(FLUSH_INTERVAL, EventOptions::default(), "nslog flush", job);
    let signalled = Arc::clone(&log);
    let roll = s.rollonsignal;
    process.hooks.add(
        Moment::Signal,
        format!("nslog {}", loading.name),
        move || {
            if roll {
                signalled.roll_or_report()
            } else {
                signalled.reopen()
            }
        },
    );
    process
        .hooks
        .add(Moment::Exit, format!("nslog {}", loading.name), move || {
            log.flush()
        });
    Ok(())
}

fn open(path: &Path, options: rolling::Options) -> Result<rolling::File, String> {
    rolling::File::open(path, options)
        .map_err(|e| format!("cannot open access log {}: {e}", path.display()))
}

impl AccessLog {
    fn record(&self, record: &Record<'_>) {
        if !self.driver.is_empty() && !shared::glob::matches(&self.driver, &record.driver.name) {
            return;
        }
        self.format.load().write(record, |line| {
            let result = self.file.load().write(line, 1);
            self.report(result, "write");
        });
    }

    /// Logs the first of several failures in a row.
    fn report(&self, result: std::io::Result<()>, what: &str) {
        match result {
            Ok(()) => {
                if self.failing.load(Ordering::Relaxed) {
                    self.failing.store(false, Ordering::Relaxed);
                }
            }
            Err(e) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    shared::error!("access log {}: cannot {what}: {e}", self.path().display());
                }
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.file.load().path().to_owned()
    }

    pub fn format(&self) -> Arc<Format> {
        self.format.load_full()
    }

    pub fn set_format(&self, format: Format) {
        self.format.store(Arc::new(format));
    }

    pub fn options(&self) -> rolling::Options {
        self.options.lock().clone()
    }

    /// Changes the options of the file.
    pub fn change(&self, change: impl FnOnce(&mut rolling::Options)) {
        let mut options = self.options.lock();
        change(&mut options);
        self.file.load().set_options(options.clone());
    }

    /// Goes on in another file; the present one stays in use if that cannot be opened.
    ///
    /// # Errors
    /// A text with the path.
    pub fn move_to(&self, path: &str) -> Result<(), String> {
        let file = open(&self.directory.join(path), self.options())?;
        let old = self.file.swap(Arc::new(file));
        self.report(old.flush(), "write");
        Ok(())
    }

    /// # Errors
    /// Those of renaming and opening.
    pub fn roll(&self) -> std::io::Result<()> {
        self.file.load().roll()
    }

    fn roll_or_report(&self) {
        if let Err(e) = self.roll() {
            shared::error!("access log {}: cannot roll: {e}", self.path().display());
        }
    }

    fn reopen(&self) {
        if let Err(e) = self.file.load().reopen() {
            shared::error!(
                "access log {}: cannot open it anew: {e}",
                self.path().display()
            );
        }
    }

    fn flush(&self) {
        self.report(self.file.load().flush(), "write");
    }
}
