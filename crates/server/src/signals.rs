//! Signals: TERM and INT end the process in order, HUP rolls logs and runs the hooks of `ns_atsignal`.

use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::hooks::Moment;
use crate::logging;
use crate::process::{Ending, Process};

/// Stops the thread that waits for signals.
pub struct Watch {
    handle: Handle,
}

impl Watch {
    pub fn close(&self) {
        self.handle.close();
    }
}

/// Starts to watch. The thread is started before privileges are dropped, which glibc does for all threads.
///
/// # Errors
/// Handlers or the thread cannot be installed.
pub fn watch(process: &Arc<Process>) -> Result<Watch, String> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGQUIT, SIGHUP]).map_err(|e| format!("signals: {e}"))?;
    let handle = signals.handle();
    let owner = Arc::downgrade(process);
    let work = move || {
        // Scripts of `ns_atsignal` run here.
        crate::script::in_thread(|| {
            for signal in signals.forever() {
                let Some(process) = owner.upgrade() else {
                    return;
                };
                receive(&process, signal);
            }
        });
    };
    shared::thread::spawn("-signal-", work).map_err(|e| format!("signals: {e}"))?;
    Ok(Watch { handle })
}

fn receive(process: &Arc<Process>, signal: i32) {
    match signal {
        SIGHUP => {
            logging::hangup(process);
            process.hooks.run(Moment::Signal);
        }
        SIGINT if process.options.debug => shared::notice!("SIGINT is ignored (-d)"),
        _ if process.ending().is_some() => {
            // The second time somebody insists: no more patience, but logs are written.
            shared::warning!("signal {signal} again: ending at once");
            shared::log::flush();
            // The orderly end is what hangs: nothing more can be waited for.
            #[allow(clippy::disallowed_methods)]
            std::process::exit(130);
        }
        _ => {
            shared::notice!("received signal {signal}");
            process.request_end(Ending {
                code: 0,
                timeout: None,
            });
        }
    }
}
