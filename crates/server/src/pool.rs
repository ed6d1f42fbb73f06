//! Connection threads: a stack of idle ones (last in, first out) and a queue that is used only when nobody is idle.
//!
//! The hand-over cannot lose a job. A submitter puts the job into the queue and *then* looks at the stack; a thread
//! puts itself on the stack and *then* looks at the queue. Whoever comes second sees the other, since queue and stack
//! have a lock each. Both may see each other: a job is taken by whoever gets it out of the queue, and a thread that
//! was taken off the stack without an order goes back to look at the queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};

use crate::process::Phase;
use crate::request::Walk;
use crate::settings::PoolSettings;
use crate::vserver::VirtualServer;

/// A pool of connection threads of one server.
pub struct Pool {
    pub name: String,
    pub settings: PoolSettings,
    pub minthreads: AtomicUsize,
    pub maxthreads: AtomicUsize,
    pub pool_rate_limit: AtomicI64,
    pub connection_rate_limit: AtomicI64,
    /// What `pool_rate_limit` stands for on the wire, shared by all responses of the pool.
    throttle: Arc<net::Throttle>,
    label: Arc<net::Label>,
    server: Weak<VirtualServer>,
    idle: Mutex<Vec<Arc<Seat>>>,
    queue: Mutex<VecDeque<Box<Walk>>>,
    threads: Mutex<Threads>,
    ended: Condvar,
    /// Requests that run now, for `ns_server active`.
    active: RwLock<Vec<Arc<Active>>>,
    pub counters: Counters,
}

#[derive(Default)]
struct Threads {
    alive: usize,
    starting: usize,
    /// Those that serve nobody any more and are about to end.
    retiring: usize,
    next: usize,
    stopping: bool,
}

/// Counters since the start.
#[derive(Default)]
pub struct Counters {
    pub processed: AtomicU64,
    pub queued: AtomicU64,
    pub dropped: AtomicU64,
    pub threads_started: AtomicU64,
    last_full: Mutex<Option<Instant>>,
}

/// A running request, as `ns_server active` shows it.
pub struct Active {
    pub id: u64,
    pub peer: std::net::IpAddr,
    pub method: String,
    pub url: String,
    pub since: Instant,
    pub sent: AtomicU64,
    pub thread: Arc<str>,
}

/// Where an idle thread sits until an order arrives.
#[derive(Default)]
struct Seat {
    order: Mutex<Option<Order>>,
    bell: Condvar,
}

enum Order {
    Run(Box<Walk>),
    /// Look at the queue again, or end when the pool is stopping.
    Wake,
}

impl Seat {
    fn give(&self, order: Order) {
        *self.order.lock() = Some(order);
        self.bell.notify_one();
    }
}

/// The queue is full; the request comes back.
pub struct Overrun(pub Box<Walk>);

impl Pool {
    pub fn new(name: &str, settings: PoolSettings, server: &Arc<VirtualServer>) -> Arc<Pool> {
        let at_least_one = |n: i64| usize::try_from(n.max(1)).unwrap_or(1);
        let max = at_least_one(settings.maxthreads.get());
        Arc::new(Pool {
            name: name.to_owned(),
            minthreads: AtomicUsize::new(at_least_one(settings.minthreads.get()).min(max)),
            maxthreads: AtomicUsize::new(max),
            pool_rate_limit: AtomicI64::new(settings.poolratelimit.get()),
            connection_rate_limit: AtomicI64::new(settings.connectionratelimit.get()),
            settings,
            throttle: Arc::new(net::Throttle::new(0)),
            label: Arc::new(net::Label {
                server: server.name.clone(),
                pool: name.to_owned(),
                data: String::new(),
            }),
            server: Arc::downgrade(server),
            idle: Mutex::default(),
            queue: Mutex::default(),
            threads: Mutex::default(),
            ended: Condvar::new(),
            active: RwLock::default(),
            counters: Counters::default(),
        })
    }

    /// On what terms responses of this pool are sent. `own`: the limit of the connection in kB/s where it has one, else
    /// -1; `data`: what a script keeps with the request.
    pub fn terms(&self, own: i64, data: Option<&str>) -> net::Terms {
        let mut limits = net::Limits::new();
        let bytes = |kilobytes: i64| u64::try_from(kilobytes).unwrap_or(0) * 1024;
        let connection = if own >= 0 {
            own
        } else {
            self.connection_rate_limit.load(Relaxed)
        };
        if connection > 0 {
            limits.push(Arc::new(net::Throttle::new(bytes(connection))));
        }
        let all = self.pool_rate_limit.load(Relaxed);
        if all > 0 {
            self.throttle.set_rate(bytes(all));
            limits.push(Arc::clone(&self.throttle));
        }
        let label = match data {
            Some(data) => Arc::new(net::Label {
                data: data.to_owned(),
                ..(*self.label).clone()
            }),
            None => Arc::clone(&self.label),
        };
        net::Terms {
            limits,
            label: Some(label),
        }
    }

    /// Makes the first `minthreads` threads.
    pub fn start(self: &Arc<Self>) {
        for _ in 0..self.minthreads.load(Relaxed) {
            self.grow();
        }
    }

    /// Hands a request to the most recently idle thread, or queues it.
    ///
    /// # Errors
    /// The queue holds `maxconnections` requests already, or the pool is stopping.
    pub fn submit(self: &Arc<Self>, walk: Box<Walk>) -> Result<(), Overrun> {
        let seat = self.idle.lock().pop();
        if let Some(seat) = seat {
            seat.give(Order::Run(walk));
            return Ok(());
        }
        let limit = self.queue_limit();
        let waiting = {
            let mut queue = self.queue.lock();
            if queue.len() >= limit {
                drop(queue);
                self.overrun();
                return Err(Overrun(walk));
            }
            queue.push_back(walk);
            queue.len()
        };
        self.counters.queued.fetch_add(1, Relaxed);
        // Somebody may have become idle since the first look.
        let seat = self.idle.lock().pop();
        match seat {
            Some(seat) => match self.queue.lock().pop_front() {
                Some(walk) => seat.give(Order::Run(walk)),
                None => seat.give(Order::Wake),
            },
            None => self.consider_growth(waiting, limit),
        }
        Ok(())
    }

    /// `(alive, idle)` threads.
    pub fn thread_counts(&self) -> (usize, usize) {
        let alive = self.threads.lock().alive;
        (alive, self.idle.lock().len())
    }

    fn queue_limit(&self) -> usize {
        usize::try_from(self.settings.maxconnections.get()).unwrap_or(usize::MAX)
    }

    pub fn waiting(&self) -> usize {
        self.queue.lock().len()
    }

    /// Method, URL, peer and arrival of the requests in the queue.
    pub fn queued(&self) -> Vec<(u64, String, String, String, Instant)> {
        let of = |w: &Walk| {
            (
                w.id(),
                w.peer_text(),
                w.method().to_owned(),
                w.url().to_owned(),
                w.queued_at(),
            )
        };
        self.queue.lock().iter().map(|w| of(w)).collect()
    }

    pub fn active(&self) -> Vec<Arc<Active>> {
        self.active.read().clone()
    }

    /// Tells idle threads to end and waits for all of them until `deadline`; true when none is left.
    pub fn stop(&self, deadline: Instant) -> bool {
        self.threads.lock().stopping = true;
        for seat in self.idle.lock().drain(..) {
            seat.give(Order::Wake);
        }
        let mut threads = self.threads.lock();
        while threads.alive + threads.starting + threads.retiring > 0 {
            if self.ended.wait_until(&mut threads, deadline).timed_out() {
                return threads.alive + threads.starting + threads.retiring == 0;
            }
        }
        true
    }

    /// Forgets requests that still wait; their clients get what dropping an unanswered reply gives.
    pub fn abandon_queue(&self) -> usize {
        let rest: Vec<_> = self.queue.lock().drain(..).collect();
        rest.len()
    }

    /// Growth by the filling of the queue: one thread while it is short, two above the low mark, up to four above the
    /// high mark, since each costs an interpreter.
    fn consider_growth(self: &Arc<Self>, waiting: usize, limit: usize) {
        let percent = waiting * 100 / limit.max(1);
        let mark = |m: i64| usize::try_from(m).unwrap_or(100);
        let (low, high) = (
            mark(self.settings.lowwatermark.get()),
            mark(self.settings.highwatermark.get()),
        );
        let wanted = if percent > high {
            4
        } else if percent > low {
            2
        } else {
            1
        };
        for _ in 0..wanted.min(waiting) {
            if !self.grow() {
                break;
            }
        }
    }

    /// Starts one thread unless the maximum is reached.
    fn grow(self: &Arc<Self>) -> bool {
        let id = {
            let mut t = self.threads.lock();
            // One that starts will take a job; do not start more than one at a time beyond the minimum.
            let patient = t.starting > 0 && t.alive + t.starting >= self.minthreads.load(Relaxed);
            if t.stopping || patient || t.alive + t.starting >= self.maxthreads.load(Relaxed) {
                return false;
            }
            t.starting += 1;
            t.next += 1;
            t.next - 1
        };
        let Some(server) = self.server.upgrade() else {
            return false;
        };
        let name = format!("-conn:{}:{}:0:{id}-", server.name, self.name);
        let pool = Arc::clone(self);
        let spawned = shared::thread::spawn(&name, move || {
            // The thread is counted until its interpreter is gone.
            let mut ticket = Ticket {
                pool: Arc::clone(&pool),
                state: TicketState::Starting,
            };
            crate::script::connection_thread(&server, |runner| {
                pool.serve(&server, runner, &mut ticket)
            });
        });
        if let Err(e) = spawned {
            self.threads.lock().starting -= 1;
            shared::error!("pool {}: cannot start thread {name}: {e}", self.name);
            return false;
        }
        self.counters.threads_started.fetch_add(1, Relaxed);
        true
    }

    /// The life of one thread: orders, the queue, the seat; until time-out, `connsperthread` or the end.
    fn serve(
        self: &Arc<Self>,
        server: &Arc<VirtualServer>,
        runner: &mut crate::script::Runner,
        ticket: &mut Ticket,
    ) {
        ticket.alive();
        let most = u64::try_from(self.settings.connsperthread.get()).unwrap_or(0);
        let mut served = 0u64;
        let seat = Arc::new(Seat::default());
        let name: Arc<str> = shared::thread::name().to_string().into();
        loop {
            let (next, waiting) = {
                let mut queue = self.queue.lock();
                (queue.pop_front(), queue.len())
            };
            let walk = match next {
                Some(walk) => {
                    // While this thread was made no other was; those who still wait may need one.
                    if waiting > 0 {
                        self.consider_growth(waiting, self.queue_limit());
                    }
                    walk
                }
                None => match self.sit(&seat, ticket) {
                    Some(Order::Run(walk)) => walk,
                    Some(Order::Wake) if self.threads.lock().stopping && self.waiting() == 0 => {
                        return;
                    }
                    Some(Order::Wake) => continue,
                    None => return,
                },
            };
            let active = Arc::new(Active {
                id: walk.id(),
                peer: walk.request.peer.ip(),
                method: walk.method().to_owned(),
                url: walk.url().to_owned(),
                since: Instant::now(),
                sent: AtomicU64::new(0),
                thread: Arc::clone(&name),
            });
            self.active.write().push(Arc::clone(&active));
            crate::request::run(*walk, runner);
            self.active.write().retain(|a| !Arc::ptr_eq(a, &active));
            self.counters.processed.fetch_add(1, Relaxed);
            served += 1;
            if most > 0 && served >= most && self.retire(ticket) {
                let short = self.threads.lock().alive < self.minthreads.load(Relaxed);
                if (short || self.waiting() > 0) && server.process().phase() == Phase::Running {
                    self.grow();
                }
                return;
            }
        }
    }

    /// Sits down on the stack. `None`: nobody came within `threadtimeout` and the thread may end.
    fn sit(&self, seat: &Arc<Seat>, ticket: &mut Ticket) -> Option<Order> {
        self.idle.lock().push(Arc::clone(seat));
        // A job may have come while nobody was on the stack.
        if self.waiting() > 0 && self.stand_up(seat) {
            return Some(Order::Wake);
        }
        if self.threads.lock().stopping && self.stand_up(seat) {
            return Some(Order::Wake);
        }
        let patience = self.settings.threadtimeout.max(Duration::from_millis(1));
        loop {
            let deadline = Instant::now() + patience;
            let mut order = seat.order.lock();
            while order.is_none() {
                if seat.bell.wait_until(&mut order, deadline).timed_out() {
                    break;
                }
            }
            if let Some(order) = order.take() {
                return Some(order);
            }
            drop(order);
            if self.retire_idle(seat, ticket) {
                return None;
            }
        }
    }

    /// Takes the seat off the stack; false when somebody else took it and will give an order.
    fn stand_up(&self, seat: &Arc<Seat>) -> bool {
        let mut idle = self.idle.lock();
        match idle.iter().position(|s| Arc::ptr_eq(s, seat)) {
            Some(i) => {
                idle.remove(i);
                true
            }
            None => false,
        }
    }

    /// An idle thread goes when there are more than `minthreads`; the count and the seat change together, so that two of
    /// them do not both take the other for the one that stays.
    fn retire_idle(&self, seat: &Arc<Seat>, ticket: &mut Ticket) -> bool {
        let mut t = self.threads.lock();
        let goes = t.alive > self.minthreads.load(Relaxed) && self.stand_up(seat);
        if goes {
            ticket.retired(&mut t);
        }
        goes
    }

    /// A thread that served its share goes only when no other is going or coming: no mass extinction.
    fn retire(&self, ticket: &mut Ticket) -> bool {
        let mut t = self.threads.lock();
        let goes = t.starting == 0 && t.retiring == 0;
        if goes {
            ticket.retired(&mut t);
        }
        goes
    }

    fn overrun(&self) {
        self.counters.dropped.fetch_add(1, Relaxed);
        let mut last = self.counters.last_full.lock();
        if last.is_none_or(|t| t.elapsed() > Duration::from_secs(10)) {
            *last = Some(Instant::now());
            let (alive, idle) = self.thread_counts();
            shared::warning!(
                "pool {}: queue is full: {} requests wait (maxconnections), {alive} threads of at most {} ({idle} idle); \
                 {} requests refused so far",
                self.name,
                self.waiting(),
                self.maxthreads.load(Relaxed),
                self.counters.dropped.load(Relaxed)
            );
        }
    }
}

/// Counts a thread as starting, as alive, as retiring, then not at all, whatever way it ends.
struct Ticket {
    pool: Arc<Pool>,
    state: TicketState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TicketState {
    Starting,
    Alive,
    Retiring,
}

impl Ticket {
    fn alive(&mut self) {
        let mut t = self.pool.threads.lock();
        t.starting -= 1;
        t.alive += 1;
        self.state = TicketState::Alive;
    }

    fn retired(&mut self, t: &mut Threads) {
        t.alive -= 1;
        t.retiring += 1;
        self.state = TicketState::Retiring;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut t = self.pool.threads.lock();
        match self.state {
            TicketState::Starting => t.starting -= 1,
            TicketState::Alive => t.alive -= 1,
            TicketState::Retiring => t.retiring -= 1,
        }
        self.pool.ended.notify_all();
    }
}
