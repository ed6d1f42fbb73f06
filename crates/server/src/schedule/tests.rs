//! The scheduler with a clock that the test moves, and its threads.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;

/// Steady time in microseconds; the wall shows the same plus an offset.
#[derive(Default)]
struct TestClock {
    steady: AtomicI64,
    offset: AtomicI64,
}

impl TestClock {
    fn advance_ms(&self, ms: i64) {
        self.steady.fetch_add(ms * 1000, Ordering::SeqCst);
    }

    fn set_wall(&self, utc: &str) {
        let wall = utc.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        self.offset.store(wall - self.steady(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn wall(&self) -> i64 {
        self.steady() + self.offset.load(Ordering::SeqCst)
    }

    fn steady(&self) -> i64 {
        self.steady.load(Ordering::SeqCst)
    }
}

fn scheduler() -> (Scheduler, Arc<TestClock>) {
    let clock = Arc::new(TestClock::default());
    let config = SchedulerConfig {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        zone: TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap(),
        ..SchedulerConfig::default()
    };
    (Scheduler::new(config), clock)
}

fn counter() -> (Arc<AtomicUsize>, Job) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let job: Job = Arc::new(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    (count, job)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const ONCE: EventOptions = EventOptions {
    once: true,
    thread: false,
};
const AGAIN: EventOptions = EventOptions {
    once: false,
    thread: false,
};

#[test]
fn intervals_keep_their_grid() {
    let (s, clock) = scheduler();
    let (count, job) = counter();
    let id = s.every(ms(100), AGAIN, "tick", job);
    // Moments at which the thread looks, and runs until then: late looks do not move the grid, missed ones are not made up.
    for (step, runs, wait) in [
        (0, 0, 100),
        (99, 0, 1),
        (1, 1, 100),
        (130, 2, 70),
        (70, 3, 100),
        (350, 4, 50),
        (50, 5, 100),
    ] {
        clock.advance_ms(step);
        let waits = s.inner.run_due();
        assert_eq!(
            (count.load(Ordering::SeqCst), waits),
            (runs, Some(ms(wait))),
            "after {step}"
        );
    }
    assert!(s.cancel(id));
    assert!(!s.cancel(id));
    assert_eq!(s.inner.run_due(), None);
}

#[test]
fn once_runs_once() {
    let (s, clock) = scheduler();
    let (count, job) = counter();
    let id = s.after(ms(50), "later", Arc::clone(&job));
    let other = s.every(ms(50), ONCE, "never", job);
    assert!(s.cancel(other));
    clock.advance_ms(50);
    assert_eq!(s.inner.run_due(), None);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(!s.cancel(id));
    assert!(s.list().is_empty());
    assert!(!s.pause(id) && !s.resume(id));
}

#[test]
fn events_come_in_order_of_time() {
    let (s, clock) = scheduler();
    let (order, seen) = mpsc::channel();
    for delay in [30, 10, 20] {
        let order = order.clone();
        s.after(ms(delay), "", Arc::new(move |_| order.send(delay).unwrap()));
    }
    clock.advance_ms(100);
    s.inner.run_due();
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [10, 20, 30]);
}

#[test]
fn daily_and_weekly_follow_the_wall() {
    let (s, clock) = scheduler();
    clock.set_wall("2026-11-21T04:00:00Z");
    let (count, job) = counter();
    s.daily(5, 35, AGAIN, "", Arc::clone(&job));
    let weekly = s.weekly(6, 5, 40, ONCE, "", job);
    assert_eq!(s.inner.run_due(), Some(LOOK_AT_WALL));
    clock.set_wall("2026-11-21T04:34:50Z");
    assert_eq!(s.inner.run_due(), Some(Duration::from_secs(10)));
    clock.set_wall("2026-11-21T04:35:00Z");
    s.inner.run_due();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let next = s.list()[0]
        .next_queue
        .map(|t| jiff::Timestamp::from_microsecond(t).unwrap().to_string());
    assert_eq!(next.as_deref(), Some("2026-11-22T04:35:00Z"));
    clock.set_wall("2026-11-21T04:40:00Z");
    s.inner.run_due();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert!(!s.cancel(weekly));
}

/// Vector ns_after-17.
#[test]
fn pause_and_resume() {
    let (s, clock) = scheduler();
    let (count, job) = counter();
    let id = s.every(ms(100), AGAIN, "", job);
    assert!(s.pause(id) && !s.pause(id));
    assert!(s.list()[0].flags.has(Flags::PAUSED) && s.list()[0].next_queue.is_none());
    clock.advance_ms(250);
    assert_eq!(s.inner.run_due(), None);
    assert!(s.resume(id) && !s.resume(id));
    assert_eq!(s.inner.run_due(), Some(ms(50)));
    assert_eq!(count.load(Ordering::SeqCst), 0);
    clock.advance_ms(50);
    s.inner.run_due();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(s.cancel(id));
}

#[test]
fn a_job_may_cancel_pause_and_add() {
    let (s, clock) = scheduler();
    let (count, job) = counter();
    let handle = s.clone();
    let inner_job = Arc::clone(&job);
    s.every(
        ms(10),
        AGAIN,
        "",
        Arc::new(move |info| {
            inner_job(info);
            handle.after(ms(0), "", Arc::clone(&inner_job));
            assert!(handle.cancel(info.id));
        }),
    );
    clock.advance_ms(10);
    assert_eq!(s.inner.run_due(), None);
    assert_eq!(count.load(Ordering::SeqCst), 2);

    let handle = s.clone();
    let id = s.every(
        ms(10),
        AGAIN,
        "",
        Arc::new(move |info| assert!(handle.pause(info.id))),
    );
    clock.advance_ms(10);
    assert_eq!(s.inner.run_due(), None);
    assert!(s.resume(id));
    assert!(s.inner.run_due().is_some());
}

#[test]
fn a_panic_ends_one_run() {
    let (s, clock) = scheduler();
    s.every(ms(10), AGAIN, "", Arc::new(|_| panic!("on purpose")));
    for count in 1..3 {
        clock.advance_ms(10);
        s.inner.run_due();
        assert_eq!(s.list()[0].count, count);
    }
}

#[test]
fn the_list_tells_all() {
    let (s, clock) = scheduler();
    clock.set_wall("2026-11-21T12:00:00Z");
    let (_, job) = counter();
    s.every(ms(1000), AGAIN, "tick", Arc::clone(&job));
    s.daily(
        3,
        15,
        EventOptions {
            once: true,
            thread: true,
        },
        "day",
        Arc::clone(&job),
    );
    s.weekly(
        0,
        0,
        0,
        EventOptions {
            once: false,
            thread: true,
        },
        "week",
        job,
    );
    let start = clock.wall();
    clock.advance_ms(1000);
    s.inner.run_due();
    let list = s.list();
    let flags: Vec<u32> = list.iter().map(|e| e.flags.0).collect();
    assert_eq!(flags, [0, 1 | 2 | 4, 1 | 8]);
    assert_eq!(list.iter().map(|e| e.id).collect::<Vec<_>>(), [1, 2, 3]);
    let tick = &list[0];
    assert_eq!((&*tick.description, tick.count), ("tick", 1));
    assert_eq!(tick.next_queue, Some(start + 2_000_000));
    assert_eq!(
        (tick.last_queue, tick.last_start, tick.last_end),
        (Some(start + 1_000_000), tick.last_queue, tick.last_queue)
    );
}

#[test]
fn a_job_that_runs_is_not_started_twice() {
    let (s, clock) = scheduler();
    let (started, has_started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let options = EventOptions {
        once: false,
        thread: true,
    };
    let id = s.every(
        ms(10),
        options,
        "slow",
        Arc::new(move |info| {
            started.send((info.count, shared::thread::name())).unwrap();
            let _ = gate.lock().recv();
        }),
    );
    clock.advance_ms(10);
    s.inner.run_due();
    let first = has_started.recv().unwrap();
    assert_eq!(first, (1, "-sched:1-".into()));
    clock.advance_ms(50);
    assert_eq!(s.inner.run_due(), None, "it is in no queue while it runs");
    assert!(s.list()[0].flags.has(Flags::RUNNING));
    assert!(!s.shutdown(ms(0)), "it still runs");
    assert!(s.cancel(id));
    drop(release);
    assert!(s.shutdown(Duration::from_secs(60)));
    assert!(has_started.try_recv().is_err());
}

#[test]
fn threads_are_bounded_and_used_again() {
    let clock = Arc::new(TestClock::default());
    let bodies = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&bodies);
    let s = Scheduler::new(SchedulerConfig {
        max_threads: 2,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        body: Arc::new(move |_, run| {
            counted.fetch_add(1, Ordering::SeqCst);
            run();
        }),
        ..SchedulerConfig::default()
    });
    let (done, finished) = mpsc::channel();
    for n in 0..20 {
        let done = done.clone();
        s.every(
            ms(1),
            EventOptions {
                once: true,
                thread: true,
            },
            "",
            Arc::new(move |_| done.send(n).unwrap()),
        );
    }
    clock.advance_ms(1);
    s.inner.run_due();
    let mut all: Vec<i32> = finished.iter().take(20).collect();
    all.sort_unstable();
    assert_eq!(all, (0..20).collect::<Vec<_>>());
    assert!(s.shutdown(Duration::from_secs(60)));
    assert!((1..=2).contains(&bodies.load(Ordering::SeqCst)));
}

#[test]
fn threads_end_after_their_share_of_jobs() {
    let clock = Arc::new(TestClock::default());
    let s = Scheduler::new(SchedulerConfig {
        max_threads: 1,
        jobs_per_thread: 1,
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..SchedulerConfig::default()
    });
    let (done, finished) = mpsc::channel();
    for _ in 0..3 {
        let done = done.clone();
        let job: Job = Arc::new(move |_| done.send(std::thread::current().id()).unwrap());
        s.every(
            ms(1),
            EventOptions {
                once: true,
                thread: true,
            },
            "",
            job,
        );
    }
    clock.advance_ms(1);
    s.inner.run_due();
    let ids: Vec<_> = finished.iter().take(3).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    assert!(s.shutdown(Duration::from_secs(60)));
}

#[test]
fn the_thread_runs_what_is_due_and_ends() {
    let s = Scheduler::default();
    let (done, finished) = mpsc::channel();
    let early = done.clone();
    s.after(
        ms(0),
        "before start",
        Arc::new(move |_| early.send("early").unwrap()),
    );
    s.start().unwrap();
    s.start().unwrap();
    assert_eq!(finished.recv(), Ok("early"));
    s.after(Duration::from_secs(3600), "far", Arc::new(|_| ()));
    s.after(ms(1), "soon", Arc::new(move |_| done.send("soon").unwrap()));
    assert_eq!(
        finished.recv(),
        Ok("soon"),
        "a nearer event wakes the thread"
    );
    assert!(s.shutdown(Duration::from_secs(60)));
    assert!(s.shutdown(Duration::ZERO));
}

#[test]
fn shutdown_without_start() {
    let (s, _) = scheduler();
    assert!(s.shutdown(Duration::from_secs(60)));
    s.start().unwrap();
    assert!(
        s.shutdown(Duration::ZERO),
        "a scheduler that was ended does not start"
    );
}
