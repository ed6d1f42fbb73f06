//! Pools of connections: a fixed number of handles, given out in the order of asking, all that were asked for or none.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::driver::{Connection, Driver, Failure, Session, Source};

/// What a pool is made of.
pub struct Plan {
    pub name: String,
    pub description: String,
    /// Name of the driver in `ns/db/drivers`.
    pub driver_name: String,
    pub driver: Arc<dyn Driver>,
    pub source: Source,
    pub connections: usize,
    pub max_idle: Duration,
    pub max_open: Duration,
    pub log_sql_errors: bool,
}

/// A pool. Shared by all servers that may use it.
pub struct Pool {
    pub plan: Plan,
    /// Statements faster than so many microseconds are not logged.
    pub log_min_duration: AtomicI64,
    pub verbose: AtomicBool,
    pub stats: Stats,
    state: Mutex<State>,
    /// Told when handles came back and when the first of the waiting changes.
    changed: Condvar,
}

/// Counters since the start.
#[derive(Default)]
pub struct Stats {
    pub statements: AtomicU64,
    pub gets: AtomicU64,
    /// Microseconds.
    pub wait_time: AtomicU64,
    pub sql_time: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Handles nobody uses; the last one was used last.
    free: Vec<Slot>,
    /// Tickets of those who wait, the first one is next.
    queue: VecDeque<u64>,
    tickets: u64,
    /// Connections of an older generation are closed (`ns_db bouncepool`).
    generation: u64,
    closed: bool,
}

#[derive(Default)]
struct Slot {
    link: Option<Link>,
}

/// An open connection with its age.
struct Link {
    connection: Box<dyn Connection>,
    stamp: Stamp,
}

#[derive(Clone, Copy)]
struct Stamp {
    opened: Instant,
    used: Instant,
    generation: u64,
}

/// A handle outside of the pool; it goes back when it is dropped.
pub struct Loan {
    pub pool: Arc<Pool>,
    open: Option<(Box<dyn Session>, Stamp)>,
}

/// Why no handles were given out.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The time was not enough.
    Timeout,
    /// More than the pool has.
    TooMany,
    /// The process ends.
    Closed,
    /// The database cannot be reached.
    Failed(Failure),
}

/// How long to wait for handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    Forever,
    For(Duration),
    /// Do not wait.
    Never,
}

impl Pool {
    pub fn new(plan: Plan, log_min_duration: Duration, verbose: bool) -> Arc<Pool> {
        let free = (0..plan.connections).map(|_| Slot::default()).collect();
        Arc::new(Pool {
            plan,
            log_min_duration: AtomicI64::new(
                i64::try_from(log_min_duration.as_micros()).unwrap_or(i64::MAX),
            ),
            verbose: AtomicBool::new(verbose),
            stats: Stats::default(),
            state: Mutex::new(State {
                free,
                ..State::default()
            }),
            changed: Condvar::new(),
        })
    }

    /// `count` handles with open connections.
    ///
    /// # Errors
    /// Why there are none; then none was taken.
    pub fn get(self: &Arc<Self>, count: usize, patience: Patience) -> Result<Vec<Loan>, Refused> {
        let began = Instant::now();
        self.stats.gets.fetch_add(1, Ordering::Relaxed);
        let result = self.reserve(count, patience, began).and_then(|mut loans| {
            loans
                .iter_mut()
                .try_for_each(Loan::renew)
                .map_err(Refused::Failed)?;
            Ok(loans)
        });
        add_micros(&self.stats.wait_time, began.elapsed());
        result
    }

    fn reserve(
        self: &Arc<Self>,
        count: usize,
        patience: Patience,
        began: Instant,
    ) -> Result<Vec<Loan>, Refused> {
        if count > self.plan.connections {
            return Err(Refused::TooMany);
        }
        let mut state = self.state.lock();
        let ticket = state.tickets;
        state.tickets += 1;
        state.queue.push_back(ticket);
        let mut refused = None;
        while refused.is_none()
            && !(state.queue.front() == Some(&ticket) && state.free.len() >= count)
        {
            refused = match patience {
                _ if state.closed => Some(Refused::Closed),
                Patience::Never => Some(Refused::Timeout),
                Patience::Forever => {
                    self.changed.wait(&mut state);
                    None
                }
                Patience::For(time) => {
                    match time.checked_sub(began.elapsed()).filter(|t| !t.is_zero()) {
                        Some(left) => {
                            self.changed.wait_for(&mut state, left);
                            None
                        }
                        None => Some(Refused::Timeout),
                    }
                }
            };
        }
        state.queue.retain(|t| *t != ticket);
        // Whoever is first now may find enough handles.
        self.changed.notify_all();
        if state.closed {
            refused = Some(Refused::Closed);
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        // Those used last first: the others grow old and are closed.
        let at = state.free.len() - count;
        let slots = state.free.split_off(at);
        drop(state);
        let loan = |slot: Slot| Loan {
            pool: Arc::clone(self),
            open: slot.link.map(|link| (link.connection.take(), link.stamp)),
        };
        Ok(slots.into_iter().rev().map(loan).collect())
    }

    /// Closes connections that are too old, idle for too long, or of an older generation.
    pub fn close_stale(&self) {
        let mut state = self.state.lock();
        let generation = state.generation;
        let stale = |slot: &mut Slot| {
            let old = slot
                .link
                .as_ref()
                .is_some_and(|l| self.is_stale(&l.stamp, generation, true));
            if old { slot.link.take() } else { None }
        };
        let gone: Vec<Link> = state.free.iter_mut().filter_map(stale).collect();
        drop(state);
        // Closing may take a while, others must not wait for it.
        drop(gone);
    }

    fn is_stale(&self, stamp: &Stamp, generation: u64, idle: bool) -> bool {
        let past = |limit: Duration, since: Instant| !limit.is_zero() && since.elapsed() > limit;
        stamp.generation != generation
            || past(self.plan.max_open, stamp.opened)
            || (idle && past(self.plan.max_idle, stamp.used))
    }

    /// All open connections are closed before anybody uses them again.
    pub fn bounce(&self) {
        self.state.lock().generation += 1;
        self.close_stale();
    }

    /// Closes all connections; nobody gets a handle any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.generation += 1;
        self.changed.notify_all();
        drop(state);
        self.close_stale();
    }

    /// Handles in use, and connections that are open but not in use.
    pub fn usage(&self) -> (usize, usize) {
        let state = self.state.lock();
        let open = state.free.iter().filter(|s| s.link.is_some()).count();
        (self.plan.connections - state.free.len(), open)
    }

    fn put(&self, link: Option<Link>) {
        let mut state = self.state.lock();
        let generation = state.generation;
        let gone = match link {
            Some(link) if self.is_stale(&link.stamp, generation, false) => {
                state.free.push(Slot::default());
                Some(link)
            }
            link => {
                state.free.push(Slot { link });
                None
            }
        };
        self.changed.notify_all();
        drop(state);
        drop(gone);
    }
}

impl Loan {
    /// Opens the connection unless it is open and young enough.
    fn renew(&mut self) -> Result<(), Failure> {
        let generation = self.pool.state.lock().generation;
        if self
            .open
            .as_ref()
            .is_some_and(|(_, stamp)| self.pool.is_stale(stamp, generation, true))
        {
            self.open = None;
        }
        self.connect()
    }

    /// Opens the connection unless it is open. Whatever its age: it may be in the middle of a transaction.
    ///
    /// # Errors
    /// What the database says.
    pub fn connect(&mut self) -> Result<(), Failure> {
        if self.open.is_none() {
            let generation = self.pool.state.lock().generation;
            let now = Instant::now();
            let stamp = Stamp {
                opened: now,
                used: now,
                generation,
            };
            self.open = Some((
                self.pool.plan.driver.open(&self.pool.plan.source)?.take(),
                stamp,
            ));
        }
        Ok(())
    }

    /// The connection, if it is open.
    pub fn session(&mut self) -> Option<&mut dyn Session> {
        match &mut self.open {
            Some((session, _)) => Some(&mut **session),
            None => None,
        }
    }

    pub fn is_connected(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the connection; the handle stays.
    pub fn disconnect(&mut self) {
        self.open = None;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let name = &self.pool.plan.name;
        let link = self.open.take().and_then(|(mut session, stamp)| match session.reset() {
            Ok(rolled_back) => {
                if rolled_back {
                    shared::warning!("pool {name}: a handle came back with an open transaction; it was rolled back");
                }
                Some(Link { connection: session.park(), stamp: Stamp { used: Instant::now(), ..stamp } })
            }
            Err(e) => {
                shared::error!("pool {name}: connection closed, it cannot be reset: {}", e.message);
                None
            }
        });
        self.pool.put(link);
    }
}

pub fn add_micros(counter: &AtomicU64, time: Duration) {
    counter.fetch_add(
        u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        Ordering::Relaxed,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nsdb::driver::Want;
    use crate::nsdb::sqlite::Sqlite;

    fn pool(connections: usize) -> Arc<Pool> {
        let plan = Plan {
            name: "p".into(),
            description: String::new(),
            driver_name: "sqlite".into(),
            driver: Arc::new(Sqlite::default()),
            source: Source {
                datasource: ":memory:".into(),
                ..Source::default()
            },
            connections,
            max_idle: Duration::from_secs(60),
            max_open: Duration::from_secs(60),
            log_sql_errors: false,
        };
        Pool::new(plan, Duration::ZERO, false)
    }

    #[test]
    fn all_handles_or_none() {
        let pool = pool(3);
        let one = pool.get(1, Patience::Never).expect("three are free");
        assert_eq!(
            pool.get(3, Patience::For(Duration::from_millis(5))).err(),
            Some(Refused::Timeout)
        );
        assert_eq!(pool.get(4, Patience::Forever).err(), Some(Refused::TooMany));
        assert_eq!(pool.usage(), (1, 0));
        drop(one);
        assert_eq!(pool.get(3, Patience::Never).expect("all are free").len(), 3);
        assert_eq!(pool.usage(), (0, 3));
    }

    #[test]
    fn the_first_to_ask_is_the_first_to_get() {
        let pool = pool(2);
        let held = pool.get(1, Patience::Never).expect("free");
        let (sent, received) = std::sync::mpsc::channel();
        let both = {
            let (pool, sent) = (Arc::clone(&pool), sent.clone());
            std::thread::spawn(move || {
                let _two = pool.get(2, Patience::Forever).expect("comes");
                sent.send("both").expect("received");
            })
        };
        while pool.state.lock().queue.is_empty() {
            std::thread::yield_now();
        }
        // One handle is free, but somebody came before who wants two.
        assert_eq!(pool.get(1, Patience::Never).err(), Some(Refused::Timeout));
        drop(held);
        both.join().expect("ends");
        assert_eq!(received.recv(), Ok("both"));
        assert_eq!(pool.usage().0, 0);
    }

    #[test]
    fn bounced_connections_are_opened_anew() {
        let pool = pool(1);
        let id = |p: &Arc<Pool>| {
            let mut loan = p.get(1, Patience::Never).expect("free").remove(0);
            loan.session().map(|s| s.session_id())
        };
        assert_eq!(id(&pool), id(&pool));
        pool.bounce();
        assert_eq!(id(&pool).as_deref(), Some("2"));
        let mut held = pool.get(1, Patience::Never).expect("free").remove(0);
        held.session()
            .expect("open")
            .run("begin", Want::Nothing)
            .expect("begins");
        pool.bounce();
        drop(held);
        assert_eq!(id(&pool).as_deref(), Some("3"));
        pool.close();
        assert_eq!(pool.get(1, Patience::Forever).err(), Some(Refused::Closed));
    }
}
