//! The queues of ns_job and their threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ::server::hooks::Moment;
use ::server::script;
use ::server::vserver::VirtualServer;
use parking_lot::{Condvar, Mutex, MutexGuard};
use shared::time::Time;
use tcl::{Exit, Interp};

/// The queues of a server. An extension of it.
pub struct Jobs {
    inner: Arc<Inner>,
}

struct Inner {
    server: Weak<VirtualServer>,
    state: Mutex<All>,
    /// Told about every change: a job was added or ended, the end has come.
    changed: Condvar,
    job_names: AtomicU64,
    queue_names: AtomicU64,
}

pub struct All {
    pub queues: BTreeMap<String, Queue>,
    pub limits: Limits,
    pub threads: usize,
    /// Threads that wait for a job, or have been woken for one they have not taken yet.
    pub idle: usize,
    /// Threads that have not looked for a job yet.
    starting: usize,
    pub stopping: bool,
}

pub struct Limits {
    /// Jobs a thread runs before it ends; 0: no limit.
    pub jobs_per_thread: usize,
    /// A thread without a job ends after this time.
    pub idle_timeout: Duration,
    /// Jobs that take longer are logged.
    pub log_min_duration: Duration,
}

pub struct Queue {
    pub description: String,
    pub max: usize,
    pub jobs: VecDeque<Job>,
    /// It goes when its last job does.
    pub deleted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Scheduled,
    Running,
    Done,
}

pub struct Job {
    pub id: String,
    pub script: String,
    pub detached: bool,
    pub state: State,
    pub cancelled: bool,
    pub waited: bool,
    pub thread: String,
    pub started: Option<Time>,
    pub ended: Option<Time>,
    since: Option<Instant>,
    took: Option<Duration>,
    pub settled: Option<Settled>,
}

/// How a job ended.
#[derive(Clone, Debug)]
pub struct Settled {
    /// `TCL_OK` and so on.
    pub code: &'static str,
    pub result: String,
    pub error_code: String,
    pub error_info: String,
}

impl Default for Settled {
    fn default() -> Settled {
        Settled {
            code: "TCL_OK",
            result: String::new(),
            error_code: String::new(),
            error_info: String::new(),
        }
    }
}

impl Queue {
    pub fn new(description: String, max: usize) -> Queue {
        Queue {
            description,
            max,
            jobs: VecDeque::new(),
            deleted: false,
        }
    }

    pub fn find(&self, id: &str) -> Option<usize> {
        self.jobs.iter().position(|j| j.id == id)
    }

    pub fn running(&self) -> usize {
        self.jobs
            .iter()
            .filter(|j| j.state == State::Running)
            .count()
    }

    /// Jobs that may run now.
    fn ready_count(&self) -> usize {
        let scheduled = self
            .jobs
            .iter()
            .filter(|j| j.state == State::Scheduled)
            .count();
        scheduled.min(self.max.saturating_sub(self.running()))
    }

    /// The next job that may run now.
    fn ready(&self) -> Option<usize> {
        let next = self.jobs.iter().position(|j| j.state == State::Scheduled)?;
        (self.running() < self.max).then_some(next)
    }
}

impl Job {
    pub fn new(id: String, script: String, detached: bool) -> Job {
        Job {
            id,
            script,
            detached,
            state: State::Scheduled,
            cancelled: false,
            waited: false,
            thread: String::new(),
            started: None,
            ended: None,
            since: None,
            took: None,
            settled: None,
        }
    }

    /// How long it has run, or ran.
    pub fn elapsed(&self) -> Duration {
        self.took
            .or_else(|| self.since.map(|s| s.elapsed()))
            .unwrap_or_default()
    }
}

impl All {
    /// Queues that were deleted go with their last job.
    pub fn remove_deleted(&mut self) {
        self.queues.retain(|_, q| !(q.deleted && q.jobs.is_empty()));
    }

    /// Takes the next job that may run: queue, id, script.
    fn take(&mut self) -> Option<(String, String, String)> {
        for (name, queue) in &mut self.queues {
            let Some(at) = queue.ready() else { continue };
            let job = &mut queue.jobs[at];
            job.state = State::Running;
            job.thread = shared::thread::name().to_string();
            job.started = Some(Time::now());
            job.since = Some(Instant::now());
            return Some((name.clone(), job.id.clone(), job.script.clone()));
        }
        None
    }

    fn settle(&mut self, queue: &str, id: &str, settled: Settled) {
        let limit = self.limits.log_min_duration;
        let Some(queue) = self.queues.get_mut(queue) else {
            return;
        };
        let Some(at) = queue.find(id) else { return };
        let job = &mut queue.jobs[at];
        let took = job.elapsed();
        job.took = Some(took);
        job.ended = Some(Time::now());
        job.state = State::Done;
        job.settled = Some(settled);
        if took >= limit {
            shared::notice!(
                "ns_job {id}: took {:.3} s: {}",
                took.as_secs_f64(),
                job.script
            );
        }
        if job.detached || job.cancelled {
            queue.jobs.remove(at);
        }
        self.remove_deleted();
    }
}

impl Jobs {
    pub fn new(server: &Arc<VirtualServer>) -> Jobs {
        let process = server.process();
        let settings = process.settings();
        let limits = Limits {
            jobs_per_thread: settings.jobsperthread.as_usize(),
            idle_timeout: settings.jobtimeout,
            log_min_duration: settings.joblogminduration,
        };
        let state = All {
            queues: BTreeMap::new(),
            limits,
            threads: 0,
            idle: 0,
            starting: 0,
            stopping: false,
        };
        let inner = Arc::new(Inner {
            server: Arc::downgrade(server),
            state: Mutex::new(state),
            changed: Condvar::new(),
            job_names: AtomicU64::new(0),
            queue_names: AtomicU64::new(0),
        });
        let patience = settings.shutdowntimeout;
        let stopping = Arc::clone(&inner);
        process
            .hooks
            .add(Moment::Shutdown, "ns:jobs", move || stopping.stop(patience));
        Jobs { inner }
    }

    pub fn lock(&self) -> MutexGuard<'_, All> {
        self.inner.state.lock()
    }

    /// Tells those who wait that something is different.
    pub fn changed(&self) {
        self.inner.changed.notify_all();
    }

    /// Waits for a change; false when the time is over.
    pub fn wait(&self, state: &mut MutexGuard<'_, All>, deadline: Option<Instant>) -> bool {
        match deadline {
            Some(deadline) => !self.inner.changed.wait_until(state, deadline).timed_out(),
            None => {
                self.inner.changed.wait(state);
                true
            }
        }
    }

    pub fn new_job_name(&self) -> String {
        format!("job{}", self.inner.job_names.fetch_add(1, Relaxed))
    }

    pub fn new_queue_name(&self) -> String {
        let state = self.lock();
        loop {
            let name = format!(
                "queue_id_{:x}",
                self.inner.queue_names.fetch_add(1, Relaxed)
            );
            if !state.queues.contains_key(&name) {
                return name;
            }
        }
    }

    /// Wakes a thread for a new job, or makes one where all are busy and the queues allow more.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn provide_thread(&self) -> std::io::Result<()> {
        let mut state = self.lock();
        let most: usize = state.queues.values().map(|q| q.max).sum();
        let ready: usize = state.queues.values().map(Queue::ready_count).sum();
        if state.stopping || ready <= state.idle + state.starting || state.threads >= most {
            drop(state);
            self.changed();
            return Ok(());
        }
        state.threads += 1;
        state.starting += 1;
        drop(state);
        let inner = Arc::clone(&self.inner);
        let name = format!("-ns_job_{:x}-", inner.job_names.load(Relaxed));
        let spawned = shared::thread::Builder::new(name)
            .describe("ns:jobthread", "")
            .spawn(move || {
                let count = Count(&inner);
                inner.state.lock().starting -= 1;
                script::in_thread(|| inner.serve());
                drop(count);
            });
        if spawned.is_err() {
            let mut state = self.lock();
            state.threads -= 1;
            state.starting -= 1;
        }
        spawned.map(drop)
    }
}

/// The thread is gone, whatever way it went.
struct Count<'a>(&'a Inner);

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.0.state.lock().threads -= 1;
        self.0.changed.notify_all();
    }
}

impl Inner {
    /// The life of a thread.
    fn serve(&self) {
        let mut served = 0;
        loop {
            let mut state = self.state.lock();
            let per_thread = state.limits.jobs_per_thread;
            if per_thread > 0 && served >= per_thread {
                return;
            }
            let deadline = Instant::now() + state.limits.idle_timeout;
            let (queue, id, text) = loop {
                if state.stopping {
                    return;
                }
                if let Some(job) = state.take() {
                    break job;
                }
                state.idle += 1;
                let late = self.changed.wait_until(&mut state, deadline).timed_out();
                state.idle -= 1;
                if late {
                    match state.take() {
                        Some(job) => break job,
                        None => return,
                    }
                }
            };
            drop(state);
            let settled = self.run(&text);
            self.state.lock().settle(&queue, &id, settled);
            self.changed.notify_all();
            served += 1;
        }
    }

    fn run(&self, text: &str) -> Settled {
        let Some(server) = self.server.upgrade() else {
            return Settled::default();
        };
        let worked = script::with_interp(&server, |interp, _| Ok(evaluate(interp, text)));
        worked.unwrap_or_else(|_| failed("no interpreter", "", ""))
    }

    /// No more jobs; waits for those that run.
    fn stop(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        state.stopping = true;
        self.changed.notify_all();
        while state.threads > 0 {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                shared::warning!("ns_job: {} threads still work", state.threads);
                return;
            }
        }
    }
}

fn evaluate(interp: &Interp, text: &str) -> Settled {
    let done = |code: &'static str, result: String| Settled {
        code,
        result,
        ..Settled::default()
    };
    match interp.eval_global(text) {
        Ok(value) => done("TCL_OK", value.text()),
        Err(Exit::Return(value)) => done("TCL_RETURN", value.value().text()),
        Err(Exit::Break) => failed("invoked \"break\" outside of a loop", "NONE", ""),
        Err(Exit::Continue) => failed("invoked \"continue\" outside of a loop", "NONE", ""),
        Err(Exit::Code(code, value)) => {
            shared::debug!("ns_job: return code {code}");
            done("TCL_RETURN", value.text())
        }
        Err(Exit::Error(e)) => failed(e.message(), e.code(), e.info()),
    }
}

fn failed(message: &str, code: &str, info: &str) -> Settled {
    Settled {
        code: "TCL_ERROR",
        result: message.to_owned(),
        error_code: if code.is_empty() {
            "NONE".to_owned()
        } else {
            code.to_owned()
        },
        error_info: if info.is_empty() {
            message.to_owned()
        } else {
            info.to_owned()
        },
    }
}
