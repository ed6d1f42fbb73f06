//! The threads for scheduled jobs that asked for one: made when needed, kept for the next job, ended when idle.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::ThreadBody;

/// A bounded set of threads that share a queue.
pub(super) struct Workers {
    limits: Limits,
    state: Mutex<State>,
    /// Told when there is work, and at the end.
    work: Condvar,
    /// Told when a thread has ended.
    ended: Condvar,
}

#[derive(Clone)]
pub(super) struct Limits {
    pub threads: usize,
    /// 0: no limit.
    pub jobs_per_thread: usize,
    pub idle_timeout: Duration,
    pub body: ThreadBody,
}

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<Task>,
    idle: usize,
    /// Numbers of living threads; they appear in names, so small ones are used again.
    numbers: BTreeSet<usize>,
    stopping: bool,
}

impl Workers {
    pub fn new(limits: Limits) -> Arc<Workers> {
        let state = Mutex::new(State::default());
        Arc::new(Workers {
            limits,
            state,
            work: Condvar::new(),
            ended: Condvar::new(),
        })
    }

    /// Hands over a task. It waits when all threads are busy; after [`Workers::stop`] it is dropped.
    pub fn submit(self: &Arc<Workers>, task: Task) {
        let mut state = self.state.lock();
        if state.stopping {
            return;
        }
        state.queue.push_back(task);
        if state.idle >= state.queue.len() {
            drop(state);
            self.work.notify_one();
        } else if state.numbers.len() < self.limits.threads {
            self.spawn(&mut state);
        }
    }

    /// No new tasks; those that wait are dropped, those that run go on.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.stopping = true;
        let dropped = std::mem::take(&mut state.queue);
        drop(state);
        drop(dropped);
        self.work.notify_all();
    }

    /// Waits for all threads to end; false if they did not until then.
    pub fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.numbers.is_empty() {
            if self.ended.wait_until(&mut state, until).timed_out() {
                return state.numbers.is_empty();
            }
        }
        true
    }

    fn spawn(self: &Arc<Workers>, state: &mut State) {
        let number = (0..)
            .find(|n| !state.numbers.contains(n))
            .expect("there are more numbers than threads");
        let name = format!("-sched:idle{number}-");
        let workers = Arc::clone(self);
        let builder = shared::thread::Builder::new(name.clone())
            .detached()
            .describe("ns:schedidle", "");
        let thread = builder.spawn(move || {
            // The number is given back in Drop: a thread body that panics must not count as alive for ever.
            let _number = Number {
                workers: &workers,
                number,
            };
            (workers.limits.body)(&name, &mut || workers.serve(&name));
        });
        match thread {
            Ok(_detached) => {
                state.numbers.insert(number);
            }
            Err(error) => shared::error!("schedule: cannot create a thread: {error}"),
        }
    }

    fn serve(&self, name: &str) {
        let mut served = 0;
        while let Some(task) = self.next() {
            task();
            shared::thread::set_name(name);
            served += 1;
            if served == self.limits.jobs_per_thread {
                return;
            }
        }
    }

    /// The next task; none when the thread shall end.
    fn next(&self) -> Option<Task> {
        let until = Instant::now() + self.limits.idle_timeout;
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.queue.pop_front() {
                return Some(task);
            }
            if state.stopping {
                return None;
            }
            state.idle += 1;
            let timed_out = self.work.wait_until(&mut state, until).timed_out();
            state.idle -= 1;
            if timed_out && state.queue.is_empty() {
                return None;
            }
        }
    }
}

struct Number<'a> {
    workers: &'a Arc<Workers>,
    number: usize,
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        let mut state = self.workers.state.lock();
        state.numbers.remove(&self.number);
        // The last one that ends must leave nobody waiting: tasks may have come while it was on its way out.
        if !state.stopping && !state.queue.is_empty() && state.idle == 0 {
            self.workers.spawn(&mut state);
        }
        drop(state);
        self.workers.ended.notify_all();
    }
}
