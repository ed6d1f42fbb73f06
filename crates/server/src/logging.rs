//! The system log of the process, as `ns/parameters` wants it.

use std::sync::Arc;

use shared::log::{self, Target};
use shared::rolling;

use crate::process::Process;

/// Opens the log: standard error in the foreground and in command mode, else `systemlog` below `logdir`.
///
/// # Errors
/// A text that names the file.
pub fn open(process: &Arc<Process>) -> Result<(), String> {
    let settings = process.settings();
    log::NOTICE.set_enabled(settings.lognotice);
    log::DEBUG.set_enabled(settings.logdebug || process.options.debug);
    log::DEV.set_enabled(settings.logdev);
    let mut format = (*log::format()).clone();
    format.seconds = settings.logsec;
    format.micros = settings.logusec;
    format.difference = settings.logusecdiff;
    format.relative = settings.logrelative;
    format.thread = settings.logthread;
    format.expanded = settings.logexpanded;
    format.colorize = settings.logcolorize;
    format.sanitize = u8::try_from(settings.sanitizelogfiles.get()).unwrap_or(2);
    log::set_format(format);
    if process.options.foreground || process.options.command {
        log::set_targets(vec![Target::Stderr]);
    } else {
        let name = settings
            .systemlog
            .as_ref()
            .or(settings.serverlog.as_ref())
            .map_or("nsd.log", String::as_str);
        let path = process.logdir().join(name);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)
                .map_err(|e| format!("log directory {}: {e}", dir.display()))?;
        }
        let options = rolling::Options {
            max_backup: usize::try_from(settings.logmaxbackup.get()).unwrap_or(10),
            roll_format: settings.logrollfmt.clone(),
            ..rolling::Options::default()
        };
        let file = rolling::File::open(&path, options)
            .map_err(|e| format!("log file {}: {e}", path.display()))?;
        log::set_targets(vec![Target::File(Arc::new(file))]);
    }
    if settings.asynclogwriter {
        log::start_async(log::DEFAULT_QUEUE_BYTES).map_err(|e| format!("log writer: {e}"))?;
    }
    report_panics();
    Ok(())
}

/// Rolls or reopens the log (SIGHUP).
pub fn hangup(process: &Process) {
    let result = if process.settings().logrollonsignal {
        log::roll()
    } else {
        log::reopen()
    };
    if let Err(e) = result {
        shared::error!("system log: {e}");
    }
}

/// A panic is our bug: it is logged with its place and ends one request, not the server.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map(|l| format!("{}:{}", l.file(), l.line()))
            .unwrap_or_default();
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".to_owned());
        let trace = std::backtrace::Backtrace::capture();
        log::write(log::BUG, format_args!("panic at {place}: {what}\n{trace}"));
    }));
}
