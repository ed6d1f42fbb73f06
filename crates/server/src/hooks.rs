//! Life hooks: what runs at start-up, before the drivers, on a signal, at shutdown, at exit.

use std::sync::Arc;

use parking_lot::Mutex;

/// The moments a hook can wait for (`ns_atprestartup`, `ns_atstartup`, `ns_atsignal`, `ns_atshutdown`, `ns_atexit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After all modules have started, before the drivers accept.
    Prestartup,
    /// When the drivers accept.
    Startup,
    /// SIGHUP.
    Signal,
    /// The server has begun to stop; drivers no longer accept.
    Shutdown,
    /// Last, when all connection threads have ended.
    Exit,
}

type Job = Arc<dyn Fn() + Send + Sync>;

struct Hook {
    moment: Moment,
    description: String,
    job: Job,
}

/// All hooks of the process.
#[derive(Default)]
pub struct Hooks {
    list: Mutex<Vec<Hook>>,
}

impl Hooks {
    pub fn add(
        &self,
        moment: Moment,
        description: impl Into<String>,
        job: impl Fn() + Send + Sync + 'static,
    ) {
        self.list.lock().push(Hook {
            moment,
            description: description.into(),
            job: Arc::new(job),
        });
    }

    /// Runs the hooks of a moment: start-up and signals in the order of registration, the end in reverse order.
    /// The list is not locked meanwhile: a hook may register another.
    pub fn run(&self, moment: Moment) {
        let mut jobs: Vec<Job> = self
            .list
            .lock()
            .iter()
            .filter(|h| h.moment == moment)
            .map(|h| Arc::clone(&h.job))
            .collect();
        if matches!(moment, Moment::Shutdown | Moment::Exit) {
            jobs.reverse();
        }
        for job in jobs {
            job();
        }
    }

    /// `(moment, description)` of all hooks, for `ns_info callbacks`.
    pub fn list(&self) -> Vec<(Moment, String)> {
        self.list
            .lock()
            .iter()
            .map(|h| (h.moment, h.description.clone()))
            .collect()
    }
}
