//! The scheduler: runs jobs after a time, again and again, or at an hour of the day, on a thread of its own or on spare ones.
//!
//! One thread `-sched-` knows when what is due. Jobs run on it one after the other, unless they asked for a thread. An event
//! whose job still runs is not started again: it waits for the next time on its grid, so that delays do not add up.
//! Manual pages ns_schedule, ns_after, ns_pause, ns_resume and ns_info (`scheduled`) of the reference.

mod calendar;
mod clock;
#[cfg(test)]
mod tests;
mod workers;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use parking_lot::{Condvar, Mutex, MutexGuard};

pub use calendar::When;
pub use clock::{Clock, SystemClock};
use workers::Workers;

/// The number of an event; never used twice.
pub type EventId = u64;

/// What an event does. A panic in it is logged and ends this run only.
pub type Job = Arc<dyn Fn(&EventInfo) + Send + Sync>;

/// Runs the body of a thread: gets the thread's name and what to do. The place for what must surround a thread from its
/// start to its end, such as giving back its interpreters.
pub type ThreadBody = Arc<dyn Fn(&str, &mut dyn FnMut()) + Send + Sync>;

/// What a job is told about its run.
#[derive(Clone, Debug)]
pub struct EventInfo {
    pub id: EventId,
    pub description: Arc<str>,
    /// Runs of this event so far, with this one.
    pub count: u64,
}

/// How an event is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOptions {
    /// Forget it after the first run.
    pub once: bool,
    /// Run it on a thread other than the scheduler's.
    pub thread: bool,
}

/// An event as `ns_info scheduled` shows it. Times are microseconds since 1970.
#[derive(Clone, Debug)]
pub struct EventStatus {
    pub id: EventId,
    pub flags: Flags,
    pub when: When,
    /// None while it runs or is paused.
    pub next_queue: Option<i64>,
    pub last_queue: Option<i64>,
    pub last_start: Option<i64>,
    pub last_end: Option<i64>,
    pub count: u64,
    pub description: Arc<str>,
}

/// The flags of `ns_info scheduled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    pub const THREAD: u32 = 1;
    pub const ONCE: u32 = 2;
    pub const DAILY: u32 = 4;
    pub const WEEKLY: u32 = 8;
    pub const PAUSED: u32 = 16;
    pub const RUNNING: u32 = 32;

    pub fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// The scheduler's settings, the parameters `sched*` of `ns/parameters`.
#[derive(Clone)]
pub struct SchedulerConfig {
    /// Threads for jobs that asked for one; further jobs wait.
    pub max_threads: usize,
    /// Jobs such a thread runs before it ends; 0: no limit (`schedsperthread`).
    pub jobs_per_thread: usize,
    /// Such a thread ends when it has had nothing to do for so long.
    pub idle_timeout: Duration,
    /// Jobs that take longer are logged (`schedlogminduration`).
    pub log_min_duration: Duration,
    /// Around the body of every thread.
    pub body: ThreadBody,
    pub clock: Arc<dyn Clock>,
    /// The zone of daily and weekly events.
    pub zone: TimeZone,
}

impl Default for SchedulerConfig {
    fn default() -> SchedulerConfig {
        SchedulerConfig {
            max_threads: 16,
            jobs_per_thread: 0,
            idle_timeout: Duration::from_secs(120),
            log_min_duration: Duration::from_secs(2),
            body: Arc::new(|_, run| run()),
            clock: Arc::new(SystemClock::default()),
            zone: TimeZone::system(),
        }
    }
}

/// A scheduler; clones are handles to the same one.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

struct Inner {
    config: SchedulerConfig,
    state: Mutex<State>,
    /// Told when something may be due earlier than thought, when the thread has ended, and at the end.
    changed: Condvar,
    workers: Arc<Workers>,
}

#[derive(Default)]
struct State {
    events: HashMap<EventId, Event>,
    last_id: EventId,
    /// Due times on the steady clock.
    spans: BTreeSet<(i64, EventId)>,
    /// Due times on the wall clock.
    dates: BTreeSet<(i64, EventId)>,
    /// The queues changed since the thread looked.
    dirty: bool,
    thread: Thread,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Thread {
    #[default]
    NotStarted,
    Running,
    Stopping,
    Ended,
}

struct Event {
    when: When,
    options: EventOptions,
    paused: bool,
    running: bool,
    /// The last due time, on the clock that `when` goes by.
    due: i64,
    last_queue: Option<i64>,
    last_start: Option<i64>,
    last_end: Option<i64>,
    count: u64,
    description: Arc<str>,
    job: Job,
}

/// Wall clock events look again this often, because the clock may have been set.
const LOOK_AT_WALL: Duration = Duration::from_secs(30);

/// A recurring event with a shorter interval would keep a processor busy for nothing.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::new(SchedulerConfig::default())
    }
}

impl Scheduler {
    /// A scheduler that takes events but runs none before [`Scheduler::start`].
    pub fn new(config: SchedulerConfig) -> Scheduler {
        let workers = Workers::new(workers::Limits {
            threads: config.max_threads.max(1),
            jobs_per_thread: config.jobs_per_thread,
            idle_timeout: config.idle_timeout,
            body: Arc::clone(&config.body),
        });
        let state = Mutex::new(State::default());
        Scheduler {
            inner: Arc::new(Inner {
                config,
                state,
                changed: Condvar::new(),
                workers,
            }),
        }
    }

    /// Starts the thread `-sched-`; a second call does nothing.
    ///
    /// Errors: those of creating a thread.
    pub fn start(&self) -> std::io::Result<()> {
        let mut state = self.inner.state.lock();
        if state.thread != Thread::NotStarted {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let builder = shared::thread::Builder::new("-sched-").describe("ns:schedthread", "");
        let _detached = builder.spawn(move || {
            let _ended = Ended(&inner);
            (inner.config.body)("-sched-", &mut || inner.run());
        })?;
        state.thread = Thread::Running;
        Ok(())
    }

    /// Runs `job` after `interval` and, unless `once`, again and again. Spans of less than a millisecond count as one.
    pub fn every(
        &self,
        interval: Duration,
        options: EventOptions,
        description: &str,
        job: Job,
    ) -> EventId {
        let interval = if options.once {
            interval
        } else {
            interval.max(SHORTEST_INTERVAL)
        };
        self.inner
            .add(When::Every(interval), options, description, job)
    }

    /// Runs `job` once after `delay` on the scheduler's thread (`ns_after`).
    pub fn after(&self, delay: Duration, description: &str, job: Job) -> EventId {
        self.every(
            delay,
            EventOptions {
                once: true,
                thread: false,
            },
            description,
            job,
        )
    }

    /// Runs `job` each day; hour 0 to 23, minute 0 to 59 of local time. Other values make an event that is never due.
    pub fn daily(
        &self,
        hour: u8,
        minute: u8,
        options: EventOptions,
        description: &str,
        job: Job,
    ) -> EventId {
        self.inner
            .add(When::Daily { hour, minute }, options, description, job)
    }

    /// Runs `job` each week; day 0 (Sunday) to 6.
    pub fn weekly(
        &self,
        day: u8,
        hour: u8,
        minute: u8,
        options: EventOptions,
        description: &str,
        job: Job,
    ) -> EventId {
        self.inner.add(
            When::Weekly { day, hour, minute },
            options,
            description,
            job,
        )
    }

    /// Forgets an event. A run that has begun goes on. False if there is none, or it was its only run that has begun.
    pub fn cancel(&self, id: EventId) -> bool {
        let mut state = self.inner.state.lock();
        let Some(event) = state.events.get(&id) else {
            return false;
        };
        if event.running && event.options.once && event.count > 0 {
            return false;
        }
        let key = (event.due, id);
        state.spans.remove(&key);
        state.dates.remove(&key);
        let removed = state.events.remove(&id);
        drop(state);
        // What the job owns may call back into the scheduler when it goes.
        drop(removed);
        true
    }

    /// Keeps an event from running until it is resumed. False if there is none, or it is paused already.
    pub fn pause(&self, id: EventId) -> bool {
        let mut state = self.inner.state.lock();
        let Some(event) = state.events.get_mut(&id).filter(|e| !e.paused) else {
            return false;
        };
        event.paused = true;
        let key = (event.due, id);
        state.spans.remove(&key);
        state.dates.remove(&key);
        true
    }

    /// Lets a paused event go on, at the next time on its grid; what it missed is not made up for, except an only run.
    /// False if there is none, or it is not paused.
    pub fn resume(&self, id: EventId) -> bool {
        let mut state = self.inner.state.lock();
        let Some(event) = state.events.get_mut(&id).filter(|e| e.paused) else {
            return false;
        };
        event.paused = false;
        if !event.running {
            if !event.options.once || event.when.is_calendar() {
                self.inner.advance(event);
            }
            self.inner.enqueue(&mut state, id);
        }
        true
    }

    /// All events, by id.
    pub fn list(&self) -> Vec<EventStatus> {
        let (wall, steady) = (
            self.inner.config.clock.wall(),
            self.inner.config.clock.steady(),
        );
        let state = self.inner.state.lock();
        let mut list: Vec<EventStatus> = state
            .events
            .iter()
            .map(|(&id, event)| event.status(id, wall, steady))
            .collect();
        list.sort_unstable_by_key(|e| e.id);
        list
    }

    /// Ends the scheduler: starts no more jobs and waits at most `deadline` for those that run. False if some still do.
    ///
    /// Must not be called by a job: that would wait for itself until the deadline.
    pub fn shutdown(&self, deadline: Duration) -> bool {
        let until = Instant::now() + deadline;
        self.inner.workers.stop();
        let mut state = self.inner.state.lock();
        match state.thread {
            Thread::NotStarted => state.thread = Thread::Ended,
            Thread::Running => state.thread = Thread::Stopping,
            Thread::Stopping | Thread::Ended => {}
        }
        self.inner.changed.notify_all();
        while state.thread != Thread::Ended {
            if self.inner.changed.wait_until(&mut state, until).timed_out() {
                return false;
            }
        }
        drop(state);
        self.inner.workers.wait(until)
    }
}

impl Inner {
    fn add(&self, when: When, options: EventOptions, description: &str, job: Job) -> EventId {
        let mut event = Event {
            when,
            options,
            paused: false,
            running: false,
            due: 0,
            last_queue: None,
            last_start: None,
            last_end: None,
            count: 0,
            description: Arc::from(description),
            job,
        };
        event.due = match when {
            When::Every(interval) => self.config.clock.steady().saturating_add(micros(interval)),
            _ => self.next_date(when),
        };
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.events.insert(id, event);
        self.enqueue(&mut state, id);
        id
    }

    fn next_date(&self, when: When) -> i64 {
        calendar::next(when, self.config.clock.wall(), &self.config.zone).unwrap_or(i64::MAX)
    }

    /// Moves the due time to the next one on the event's grid that is still ahead.
    fn advance(&self, event: &mut Event) {
        event.due = match event.when {
            When::Every(interval) => {
                let (interval, now) = (micros(interval).max(1), self.config.clock.steady());
                let missed = now.saturating_sub(event.due).max(0) / interval;
                event
                    .due
                    .saturating_add((missed + 1).saturating_mul(interval))
            }
            when => self.next_date(when),
        };
    }

    fn enqueue(&self, state: &mut State, id: EventId) {
        let Some(event) = state.events.get(&id) else {
            return;
        };
        let key = (event.due, id);
        let queue = if event.when.is_calendar() {
            &mut state.dates
        } else {
            &mut state.spans
        };
        queue.insert(key);
        if queue.first() == Some(&key) {
            state.dirty = true;
            self.changed.notify_all();
        }
    }

    /// The body of the scheduler's thread.
    fn run(self: &Arc<Inner>) {
        loop {
            let wait = self.run_due();
            let mut state = self.state.lock();
            if state.thread == Thread::Stopping {
                return;
            }
            if !std::mem::take(&mut state.dirty) {
                match wait {
                    Some(wait) => {
                        self.changed.wait_for(&mut state, wait);
                    }
                    None => self.changed.wait(&mut state),
                }
                state.dirty = false;
            }
        }
    }

    /// Runs or hands over everything that is due; how long there is nothing to do then. None: until something is added.
    fn run_due(self: &Arc<Inner>) -> Option<Duration> {
        loop {
            let (wall, steady) = (self.config.clock.wall(), self.config.clock.steady());
            let mut state = self.state.lock();
            if state.thread == Thread::Stopping {
                return None;
            }
            let Some(id) = state.take_due(wall, steady) else {
                return state.wait(wall, steady);
            };
            let event = state.events.get_mut(&id).expect("queued events exist");
            event.running = true;
            event.last_queue = Some(wall);
            let thread = event.options.thread;
            drop(state);
            if thread {
                let inner = Arc::clone(self);
                self.workers.submit(Box::new(move || {
                    shared::thread::set_name(&format!("-sched:{id}-"));
                    inner.perform(id);
                }));
            } else {
                self.perform(id);
            }
        }
    }

    /// One run of an event, on the thread that calls.
    fn perform(&self, id: EventId) {
        let (wall, begin) = (self.config.clock.wall(), self.config.clock.steady());
        let mut state = self.state.lock();
        // It may have been cancelled while it waited for a thread.
        let Some(event) = state.events.get_mut(&id) else {
            return;
        };
        event.last_start = Some(wall);
        event.count += 1;
        let info = EventInfo {
            id,
            description: Arc::clone(&event.description),
            count: event.count,
        };
        let job = Arc::clone(&event.job);
        drop(state);

        if catch_unwind(AssertUnwindSafe(|| job(&info))).is_err() {
            shared::error!("schedule: event {id} ({}) panicked", info.description);
        }
        let elapsed = self.config.clock.steady().saturating_sub(begin);
        if elapsed > micros(self.config.log_min_duration) {
            let seconds = elapsed as f64 / 1e6;
            shared::warning!(
                "schedule: event {id} ({}) took {seconds:.6} secs",
                info.description
            );
        }
        self.finish(self.state.lock(), id);
    }

    fn finish(&self, mut state: MutexGuard<'_, State>, id: EventId) {
        let Some(event) = state.events.get_mut(&id) else {
            return;
        };
        event.running = false;
        event.last_end = Some(self.config.clock.wall());
        if event.options.once {
            let removed = state.events.remove(&id);
            drop(state);
            drop(removed);
            return;
        }
        self.advance(event);
        if !event.paused {
            self.enqueue(&mut state, id);
        }
    }
}

impl State {
    fn take_due(&mut self, wall: i64, steady: i64) -> Option<EventId> {
        for (queue, now) in [(&mut self.spans, steady), (&mut self.dates, wall)] {
            if queue.first().is_some_and(|&(due, _)| due <= now) {
                return queue.pop_first().map(|(_, id)| id);
            }
        }
        None
    }

    fn wait(&self, wall: i64, steady: i64) -> Option<Duration> {
        let until = |queue: &BTreeSet<(i64, EventId)>, now: i64| {
            let (due, _) = queue.first()?;
            Some(Duration::from_micros(
                u64::try_from(due.saturating_sub(now)).unwrap_or(0),
            ))
        };
        let date = until(&self.dates, wall).map(|d| d.min(LOOK_AT_WALL));
        match (until(&self.spans, steady), date) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

impl Event {
    fn status(&self, id: EventId, wall: i64, steady: i64) -> EventStatus {
        let mut flags = match self.when {
            When::Every(_) => 0,
            When::Daily { .. } => Flags::DAILY,
            When::Weekly { .. } => Flags::WEEKLY,
        };
        for (set, flag) in [
            (self.options.thread, Flags::THREAD),
            (self.options.once, Flags::ONCE),
            (self.paused, Flags::PAUSED),
            (self.running, Flags::RUNNING),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let next = if self.when.is_calendar() {
            self.due
        } else {
            wall.saturating_add(self.due.saturating_sub(steady))
        };
        EventStatus {
            id,
            flags: Flags(flags),
            when: self.when,
            next_queue: (!self.paused && !self.running).then_some(next),
            last_queue: self.last_queue,
            last_start: self.last_start,
            last_end: self.last_end,
            count: self.count,
            description: Arc::clone(&self.description),
        }
    }
}

/// Tells those who wait that the scheduler's thread is over, however it came to that.
struct Ended<'a>(&'a Inner);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.state.lock().thread = Thread::Ended;
        self.0.changed.notify_all();
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
