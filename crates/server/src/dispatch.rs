//! Who answers: host to server, method and URL to handler; and the answers that need no interpreter.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use http::{Refusal, RequestHead};
use net::{Content, Reply, Response};
use parking_lot::RwLock;

use crate::driver::DriverEntry;
use crate::fastpath::FileAnswer;
use crate::limits::Excess;
use crate::process::Phase;
use crate::request::{Record, Target, Walk};
use crate::script::{Conn, ScriptHandler};
use crate::vserver::{Stats, VirtualServer};

/// What a method and URL lead to.
pub enum Handler {
    /// Static files of the page directory.
    Fastpath,
    /// Needs an interpreter.
    Script(Arc<dyn ScriptHandler>),
    /// Needs none; runs on the driver's thread unless a filter guards it.
    Native(Arc<dyn NativeHandler>),
}

impl Handler {
    /// What `ns_server requestprocs` shows.
    pub fn describe(&self) -> String {
        match self {
            Handler::Fastpath => "ns:fastpath".to_owned(),
            Handler::Script(s) => s.describe(),
            Handler::Native(n) => n.describe(),
        }
    }
}

/// A handler without Tcl. Must not block.
pub trait NativeHandler: Send + Sync {
    fn answer(
        &self,
        server: &Arc<VirtualServer>,
        driver: &DriverEntry,
        head: &RequestHead,
        target: &Target,
    ) -> Response;

    fn describe(&self) -> String;
}

/// How a URL becomes the path of a file.
pub enum UrlToFile {
    /// Below the page directory.
    Default,
    /// A Tcl command: script and arguments.
    Script(Arc<dyn crate::script::ScriptUrlToFile>),
}

/// The server and the target of a request.
///
/// # Errors
/// What is wrong with `Host` or target: 400.
pub fn address(
    driver: &Arc<DriverEntry>,
    head: &RequestHead,
    port: u16,
) -> Result<(Arc<VirtualServer>, Target), Refusal> {
    let parsed = http::target::parse(&head.method, &head.target)?;
    let mut hosts = head.headers.iget_all("host");
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Refusal::bad("more than one Host header field"));
    }
    let server = match &parsed.form {
        http::target::Form::Absolute { scheme, .. }
            if !matches!(scheme.as_str(), "http" | "https") =>
        {
            return Err(Refusal::new(404, "there is nothing of this scheme here"));
        }
        http::target::Form::Absolute { authority, .. } => {
            driver.server_for(Some(&authority.text(None)), port)
        }
        _ => {
            match host {
                Some(host) => {
                    http::host::check(host).map_err(Refusal::bad)?;
                    driver.server_of(host, port)
                }
                // RFC 9112 section 3.2.
                None if head.version >= (1, 1) => {
                    return Err(Refusal::bad("the Host header field is missing"));
                }
                None => driver.server_for(None, port),
            }
        }
    };
    let http::target::Target {
        form,
        path,
        segments,
        query,
        fragment,
        ..
    } = parsed;
    let scheme = match form {
        http::target::Form::Absolute { scheme, .. } => Some(scheme),
        _ => None,
    };
    Ok((
        server,
        Target {
            raw: head.target.clone(),
            path,
            segments,
            query,
            fragment,
            scheme,
        },
    ))
}

/// Handlers of requests for other servers (`ns_register_proxy`), by method and scheme. An extension of the server.
#[derive(Default)]
pub struct Proxies(pub RwLock<HashMap<(String, String), Arc<Handler>>>);

/// Who answers a request with an absolute target, where the server is configured as a proxy.
pub fn proxy_of(server: &VirtualServer, method: &str, target: &Target) -> Option<Arc<Handler>> {
    let scheme = target
        .scheme
        .as_ref()
        .filter(|_| server.settings.enablehttpproxy)?;
    let proxies = server.extensions.find::<Proxies>()?;
    let key = (method.to_owned(), scheme.clone());
    proxies.0.read().get(&key).cloned()
}

/// Answers a request that cannot be attributed to a server's URL.
pub fn refuse(driver: &Arc<DriverEntry>, request: &net::Request, reply: Reply, refusal: &Refusal) {
    let server = driver.default_server();
    let response = refusal_response(&server, driver, refusal);
    let status = response.head.status;
    let close = Response {
        close: Some(true),
        ..response
    };
    reply.send(close);
    let record = Record {
        server: &server,
        pool: "default",
        driver,
        method: &request.head.method,
        raw_target: &request.head.target,
        protocol: request.protocol,
        peer: request.peer,
        headers: &request.head.headers,
        output: &shared::Set::unnamed(),
        user: None,
        status,
        sent: 0,
        received: request.body.len(),
        stamps: crate::request::Stamps {
            wall: request.times.wall,
            accept: request.times.accept,
            start: request.times.start,
            received: request.times.received,
            queue: request.times.received,
            dequeue: request.times.received,
            filtered: request.times.received,
            ran: request.times.received,
        },
    };
    crate::request::log(&record);
}

/// The page of a refused request.
pub fn refusal_response(
    server: &Arc<VirtualServer>,
    driver: &DriverEntry,
    refusal: &Refusal,
) -> Response {
    let text = format!("<p>{}</p>", http::html::quote(&refusal.reason));
    crate::reply::notice_response(server, driver, refusal.status, &text)
}

/// Answers on this thread what needs no interpreter: native handlers and files.
///
/// # Errors
/// The request comes back when an interpreter is needed.
pub fn answer_here(walk: Walk) -> Result<(), Box<Walk>> {
    let response = match walk.handler.as_deref() {
        // RFC 9110 section 9.3.7: about the server as a whole there is nothing to tell.
        None if walk.method() == "OPTIONS" && walk.url() == "*" => {
            Response::new(http::ResponseHead::new(200), Content::Empty)
        }
        Some(Handler::Native(native)) => {
            native.answer(&walk.server, &walk.driver, &walk.request.head, &walk.target)
        }
        Some(Handler::Fastpath) if walk.server.plain_files(&walk.target.path) => {
            let head = &walk.request.head;
            let now = crate::reply::unix_now();
            let target = &walk.target;
            match walk
                .server
                .fastpath
                .respond(&head.method, &target.path, head, now)
            {
                FileAnswer::Response(response) => response,
                _ => return Err(Box::new(walk)),
            }
        }
        _ => return Err(Box::new(walk)),
    };
    Stats::add(&walk.server.stats.direct, 1);
    deliver(walk, response);
    Ok(())
}

/// The queue of the pool is full: 503 with `Retry-After`.
pub fn overrun(walk: Walk) {
    Stats::add(&walk.server.stats.dropped, 1);
    let text = "<p>The server is currently too busy to answer. Please try again later.</p>";
    let mut response = crate::reply::notice_response(&walk.server, &walk.driver, 503, text);
    let seconds = walk.pool.settings.retryafter.as_secs().max(1);
    response
        .head
        .headers
        .put("retry-after", seconds.to_string());
    response.close = Some(walk.server.process().phase() == Phase::Stopping);
    deliver(walk, response);
}

/// The limit for the URL is reached: 503 or 413.
pub fn excess(walk: Walk, excess: Excess) {
    if excess == Excess::TooMany {
        return overrun(walk);
    }
    let text = "The request is larger than is accepted here.";
    let response = crate::reply::notice_response(&walk.server, &walk.driver, 413, text);
    deliver(walk, response);
}

/// The handler of a request on a connection thread; filters may have changed method and URL.
///
/// # Errors
/// The status to answer with: 405 when other methods have a handler here, else 404.
pub fn handler_of(conn: &Rc<Conn>) -> Result<Arc<Handler>, u16> {
    let (method, url) = (conn.method.borrow().clone(), conn.url());
    if let Some(proxy) = proxy_of(&conn.server, &method, &conn.target.borrow()) {
        return Ok(proxy);
    }
    let found = conn.with_context(|c| conn.server.routes.get(&method, &url, Some(c)));
    found.ok_or_else(|| {
        if !url.starts_with('/') {
            return 404; // The authority of CONNECT, the star of OPTIONS.
        }
        let others = conn.with_context(|c| conn.server.routes.keys_for(&url, Some(c)));
        if others.is_empty() { 404 } else { 405 }
    })
}

/// Sends a response that was made without an interpreter, and logs it.
fn deliver(walk: Walk, mut response: Response) {
    let Walk {
        request,
        mut reply,
        server,
        pool,
        driver,
        mut stamps,
        ..
    } = walk;
    crate::reply::dress(&mut response.head.headers, &server, &driver);
    stamps.ran = std::time::Instant::now();
    let status = response.head.status;
    let length = match &response.content {
        _ if request.head.method == "HEAD" => 0,
        Content::Empty => 0,
        Content::Bytes(b) => b.len() as u64,
        Content::File { len, .. } => *len,
        Content::Parts(parts) => parts.iter().map(net::Part::len).sum(),
    };
    Stats::add(&server.stats.sent, length);
    // Copied only where somebody may look at it.
    let output = if server.traces.read().is_empty() {
        shared::Set::unnamed()
    } else {
        response.head.headers.copy()
    };
    let record = Record {
        server: &server,
        pool: &pool.name,
        driver: &driver,
        method: &request.head.method,
        raw_target: &request.head.target,
        protocol: request.protocol,
        peer: request.peer,
        headers: &request.head.headers,
        output: &output,
        user: None,
        status,
        sent: length,
        received: request.body.len(),
        stamps,
    };
    reply.terms(pool.terms(-1, None));
    reply.send(response);
    crate::request::log(&record);
}
