//! The walk of a request, in the order of events. Nothing is done here; everything is called from here.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use net::{Exchange, Reply};

use crate::dispatch::{self, Handler};
use crate::driver::DriverEntry;
use crate::filter::Stage;
use crate::pool::Pool;
use crate::route::RequestContext;
use crate::script::{Conn, Runner, Verdict};
use crate::vserver::{Stats, VirtualServer};

/// A request on its way from the driver to whoever answers it.
pub struct Walk {
    pub request: net::Request,
    pub reply: Reply,
    pub server: Arc<VirtualServer>,
    pub pool: Arc<Pool>,
    pub driver: Arc<DriverEntry>,
    pub target: Target,
    pub handler: Option<Arc<Handler>>,
    pub stamps: Stamps,
    /// Counts the request towards a limit.
    pub counted: Option<crate::limits::Counted>,
}

/// The request target, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// As it came: path, query and fragment, encoded.
    pub raw: String,
    /// Decoded and normalised path.
    pub path: String,
    pub segments: Vec<String>,
    /// Encoded, without the question mark.
    pub query: Option<String>,
    pub fragment: Option<String>,
    /// Of a target in absolute form, as it is sent to proxies.
    pub scheme: Option<String>,
}

/// When a request passed which station.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    pub wall: SystemTime,
    pub accept: Instant,
    /// First byte of this request.
    pub start: Instant,
    pub received: Instant,
    pub queue: Instant,
    pub dequeue: Instant,
    pub filtered: Instant,
    pub ran: Instant,
}

impl Stamps {
    fn new(times: &net::Times) -> Stamps {
        let t = times.received;
        Stamps {
            wall: times.wall,
            accept: times.accept,
            start: times.start,
            received: t,
            queue: t,
            dequeue: t,
            filtered: t,
            ran: t,
        }
    }

    /// Reading the request, waiting for a thread, filters, handler (manual page ns_conn, partialtimes).
    pub fn parts(&self) -> [Duration; 4] {
        [
            self.queue.saturating_duration_since(self.start),
            self.dequeue.saturating_duration_since(self.queue),
            self.filtered.saturating_duration_since(self.dequeue),
            self.ran.saturating_duration_since(self.filtered),
        ]
    }
}

/// What is told about a finished request: to the access log and to other native traces.
pub struct Record<'a> {
    pub server: &'a VirtualServer,
    pub pool: &'a str,
    pub driver: &'a DriverEntry,
    pub method: &'a str,
    pub raw_target: &'a str,
    pub protocol: &'a str,
    pub peer: std::net::SocketAddr,
    pub headers: &'a shared::Set,
    pub output: &'a shared::Set,
    pub user: Option<&'a str>,
    pub status: u16,
    /// Body bytes.
    pub sent: u64,
    pub received: u64,
    pub stamps: Stamps,
}

impl Walk {
    pub fn id(&self) -> u64 {
        self.request.id
    }

    pub fn method(&self) -> &str {
        &self.request.head.method
    }

    pub fn url(&self) -> &str {
        &self.target.path
    }

    pub fn peer_text(&self) -> String {
        self.request.peer.ip().to_string()
    }

    pub fn queued_at(&self) -> Instant {
        self.stamps.queue
    }
}

/// Station 4, on a driver thread: which server, who answers, and where. Never blocks.
pub fn arrive(driver: &Arc<DriverEntry>, exchange: Exchange) {
    let Exchange { request, reply } = exchange;
    let (server, target) = match dispatch::address(driver, &request.head, request.local.port()) {
        Ok(found) => found,
        Err(refusal) => return dispatch::refuse(driver, &request, reply, &refusal),
    };
    Stats::add(&server.stats.requests, 1);
    Stats::add(&server.stats.received, request.body.len());
    let context = RequestContext {
        headers: &request.head.headers,
        peer: request.peer.ip(),
    };
    let method = request.head.method.as_str();
    let handler = dispatch::proxy_of(&server, method, &target)
        .or_else(|| server.routes.get(method, &target.path, Some(&context)));
    let pool = server.pool_map.get(method, &target.path, Some(&context));
    let pool = pool.unwrap_or_else(|| Arc::clone(server.default_pool()));
    let guarded =
        server.filters.concern(method, &target.path, &context) || server.has_authorities();
    let stamps = Stamps::new(&request.times);
    let counted = crate::limits::count(&server, method, &target.path, request.body.len(), &context);
    let excess = counted.as_ref().err().copied();
    let counted = counted.unwrap_or_default();
    let mut walk = Walk {
        request,
        reply,
        server,
        pool,
        driver: Arc::clone(driver),
        target,
        handler,
        stamps,
        counted,
    };
    if let Some(excess) = excess {
        return dispatch::excess(walk, excess);
    }

    if !guarded {
        walk = match dispatch::answer_here(walk) {
            Ok(()) => return,
            Err(walk) => *walk,
        };
    }
    walk.stamps.queue = Instant::now();
    let all = WAITING.with_borrow_mut(|waiting| {
        waiting.walks.push(Box::new(walk));
        waiting.walks.len() >= if waiting.rests { TOGETHER } else { 1 }
    });
    if all {
        submit();
    }
}

/// Requests a driver thread has at hand before they go to their pools whatever else it has to do.
const TOGETHER: usize = 16;

/// Requests for pools that a driver thread read while it went through what was ready. They are handed over together when
/// it is through: a connection thread that is woken for the first would otherwise take the
/// processor from the driver, to sleep again before the second is there.
#[derive(Default)]
struct Waiting {
    // Boxed where they are made: the pool's queue moves boxes, and a walk is large.
    #[allow(clippy::vec_box)]
    walks: Vec<Box<Walk>>,
    /// This thread says when it is through; others hand over at once.
    rests: bool,
}

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

/// Hands over what waits, on a driver thread that is through with what was ready.
pub fn submit_waiting() {
    WAITING.with_borrow_mut(|waiting| waiting.rests = true);
    submit();
}

fn submit() {
    let mut walks = WAITING.with_borrow_mut(|waiting| std::mem::take(&mut waiting.walks));
    for walk in walks.drain(..) {
        let pool = Arc::clone(&walk.pool);
        if let Err(crate::pool::Overrun(walk)) = pool.submit(walk) {
            dispatch::overrun(*walk);
        }
    }
    // The room is kept for the next ones.
    WAITING.with_borrow_mut(|waiting| {
        if waiting.walks.is_empty() {
            waiting.walks = walks;
        }
    });
}

/// Stations 5 to 8, on a connection thread: filters, authorization, handler, response, traces, log.
pub fn run(mut walk: Walk, runner: &mut Runner) {
    walk.stamps.dequeue = Instant::now();
    if let Some(counted) = &walk.counted {
        counted.runs();
    }
    let conn = runner.begin(walk);
    let walked = catch_unwind(AssertUnwindSafe(|| stations(runner, &conn)));
    if walked.is_err() {
        // The panic is counted and logged by the hook; the client gets an answer, the thread goes on.
        runner.fail(&conn, 500);
        runner.finish(&conn);
    }
    let traced = catch_unwind(AssertUnwindSafe(|| trace(runner, &conn)));
    if traced.is_err() {
        shared::error!("a trace of {} panicked", conn.url());
    }
    runner.end();
}

fn stations(runner: &Runner, conn: &std::rc::Rc<Conn>) {
    let mut verdict = runner.filters(conn, Stage::Preauth);
    if verdict == Verdict::Continue {
        verdict = runner.authorize(conn);
    }
    if verdict == Verdict::Continue {
        verdict = runner.filters(conn, Stage::Postauth);
    }
    conn.stamps.borrow_mut().filtered = Instant::now();
    conn.stamps.borrow_mut().ran = Instant::now();
    match verdict {
        Verdict::Continue if !conn.has_answered() => match dispatch::handler_of(conn) {
            Ok(handler) => runner.handle(conn, &handler),
            Err(status) => runner.fail_with_page(conn, status),
        },
        Verdict::Failed => runner.fail(conn, 500),
        _ => {}
    }
    conn.stamps.borrow_mut().ran = Instant::now();
    runner.finish(conn);
}

fn trace(runner: &Runner, conn: &std::rc::Rc<Conn>) {
    runner.filters(conn, Stage::Trace);
    runner.traces(conn);
    if conn.headers.borrow().ifind("authorization").is_some() {
        crate::script::authority::authorization(conn);
    }
    let method = conn.method.borrow();
    let user = conn.auth_user.borrow();
    let record = Record {
        server: &conn.server,
        pool: &conn.pool.name,
        driver: &conn.driver,
        method: &method,
        raw_target: &conn.request.head.target,
        protocol: conn.request.protocol,
        peer: conn.request.peer,
        headers: &conn.headers.borrow(),
        output: &conn.output.borrow(),
        user: user.as_deref(),
        status: conn.status.get(),
        sent: conn.sent.get(),
        received: conn.content_length(),
        stamps: *conn.stamps.borrow(),
    };
    log(&record);
}

/// Station 8: counters and native traces.
pub fn log(record: &Record<'_>) {
    let stats = &record.server.stats;
    let [accept, queue, filter, run] = record.stamps.parts();
    let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
    Stats::add(&stats.accept_time, micros(accept));
    Stats::add(&stats.queue_time, micros(queue));
    Stats::add(&stats.filter_time, micros(filter));
    Stats::add(&stats.run_time, micros(run));
    let traces = record.server.traces.read();
    for trace in traces.iter() {
        trace(record);
    }
}
