//! One connection thread's side of the walk: its interpreter, the stages of a request, and what their outcomes mean.

use std::rc::Rc;
use std::sync::Arc;

use tcl::{Exit, Interp, Outcome};

use super::birth::Freshness;
use super::{Conn, Context, InterpMoment, Notice, Progress, birth, run_traces};
use crate::dispatch::Handler;
use crate::filter::Stage;
use crate::request::Walk;
use crate::vserver::{Stats, VirtualServer};

/// What the filters of a stage decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on with the next stage.
    Continue,
    /// The request is answered, or must not be answered by its handler.
    Stop,
    /// A filter failed; 500 is due.
    Failed,
}

/// The interpreter of a connection thread.
pub struct Runner {
    pub server: Arc<VirtualServer>,
    interp: Interp,
    context: Rc<Context>,
}

impl Drop for Runner {
    fn drop(&mut self) {
        run_traces(&self.interp, &self.context, InterpMoment::Delete);
    }
}

/// Runs `work` on this thread with a [`Runner`]; Tcl's data of the thread is freed at the end.
pub fn connection_thread(server: &Arc<VirtualServer>, work: impl FnOnce(&mut Runner)) {
    super::in_thread(|| match birth::create_interp(server) {
        Ok((interp, context)) => {
            let mut runner = Runner {
                server: Arc::clone(server),
                interp,
                context,
            };
            work(&mut runner);
        }
        Err(Exit::Error(e)) => shared::error!("cannot make an interpreter: {}", e.info()),
        Err(_) => shared::error!("cannot make an interpreter"),
    });
}

impl Runner {
    /// Takes a request over; the interpreter is brought up to date first.
    pub fn begin(&mut self, walk: Walk) -> Rc<Conn> {
        match birth::refresh(&self.interp, &self.context) {
            Ok(Freshness::Current) => {}
            Ok(Freshness::Replace) => self.renew(),
            Err(e) => {
                super::report(&self.interp, "update of the interpreter", e);
                self.renew();
            }
        }
        let conn = Conn::new(walk);
        self.context.set_conn(Some(Rc::clone(&conn)));
        birth::begin(&self.interp, &self.context);
        conn
    }

    /// Runs the filters of a stage that concern the request, until one objects.
    pub fn filters(&self, conn: &Rc<Conn>, stage: Stage) -> Verdict {
        let found = conn.with_context(|c| {
            self.server.filters.matching(
                stage,
                &conn.method.borrow(),
                &conn.target.borrow().path,
                c,
            )
        });
        for filter in found {
            self.interp.allow_exceptions();
            let result = match filter.action.run(&self.interp, conn, stage) {
                // A script may `return -code ...` without a procedure around it.
                Err(Exit::Return(r)) => match r.code() {
                    0 | 2 => Ok(r.value().text()),
                    3 => Err(Exit::Break),
                    4 => Err(Exit::Continue),
                    _ => Err(Exit::Return(r)),
                },
                other => other,
            };
            match result {
                Ok(r) if r == "filter_ok" => {}
                Ok(r) if r == "filter_break" => return Verdict::Continue,
                Ok(r) if r == "filter_return" => return Verdict::Stop,
                Ok(r) => {
                    if stage == Stage::Trace {
                        continue;
                    }
                    shared::error!(
                        "{} filter {}: result \"{r}\" is not filter_ok, filter_break or filter_return",
                        stage.name(),
                        filter.action.describe()
                    );
                    return Verdict::Failed;
                }
                Err(Exit::Break) => return Verdict::Continue,
                Err(Exit::Continue) => {}
                Err(e) => {
                    super::report(
                        &self.interp,
                        &format!("{} filter, {}", stage.name(), request_line(conn)),
                        e,
                    );
                    if stage != Stage::Trace {
                        return Verdict::Failed;
                    }
                }
            }
        }
        Verdict::Continue
    }

    /// The procedures of `ns_register_trace`.
    pub fn traces(&self, conn: &Rc<Conn>) {
        let (method, url) = (conn.method.borrow().clone(), conn.url());
        for trace in conn.with_context(|c| self.server.filters.matching_traces(&method, &url, c)) {
            if let Err(e) = trace.action.run(&self.interp, conn, Stage::Trace) {
                super::report(&self.interp, "trace", e);
            }
        }
    }

    /// Runs the handler; failures become error pages, or a broken connection when the answer had begun.
    pub fn handle(&self, conn: &Rc<Conn>, handler: &Handler) {
        let outcome = self.run_handler(conn, handler);
        match outcome {
            Ok(()) | Err(Exit::Return(_)) => {}
            Err(Exit::Error(e)) => {
                let busy = e.code().starts_with("NS_TIMEOUT");
                // Text of the client that is none, or a form that is none, is its fault.
                let bad = e.code().starts_with("NS_INVALID_");
                let info = self.describe_error(conn, &e);
                if busy || bad {
                    shared::warning!("{info}");
                } else {
                    shared::error!("{info}");
                }
                self.fail(
                    conn,
                    if busy {
                        503
                    } else if bad {
                        400
                    } else {
                        500
                    },
                );
            }
            Err(e) => {
                super::report(&self.interp, &format!("handler, {}", request_line(conn)), e);
                self.fail(conn, 500);
            }
        }
    }

    /// Runs a handler that another one chose (`ns_internalredirect`, index pages).
    ///
    /// # Errors
    /// Those of the handler.
    pub fn run_handler(&self, conn: &Rc<Conn>, handler: &Handler) -> Outcome<()> {
        run_handler(&self.interp, conn, handler)
    }

    /// Answers with an error page, unless an answer has begun: then the connection is broken off, so that the client
    /// does not take a page that ends with an error for complete.
    pub fn fail(&self, conn: &Rc<Conn>, status: u16) {
        Stats::add(&self.server.stats.errors, 1);
        match conn.progress.get() {
            Progress::Done => {}
            Progress::Streaming => conn.abort(),
            Progress::Open | Progress::Promised => {
                conn.progress.set(Progress::Open);
                if let Err(e) = return_status(&self.interp, conn, status) {
                    super::report(&self.interp, "error page", e);
                    if conn.progress.get() == Progress::Open {
                        let _ = plain_notice(&self.interp, conn, status);
                    }
                }
            }
        }
    }

    /// As [`fail`](Self::fail), where nobody is at fault: 404 and 405.
    pub fn fail_with_page(&self, conn: &Rc<Conn>, status: u16) {
        if let Err(e) = return_status(&self.interp, conn, status) {
            super::report(&self.interp, "error page", e);
        }
    }

    /// Asks the authorities (`ns_register_auth`, `nsperm`); answers 401 or 403 when they object.
    pub fn authorize(&self, conn: &Rc<Conn>) -> Verdict {
        if !self.server.has_authorities() {
            return Verdict::Continue;
        }
        crate::script::authority::authorize(&self.interp, conn).unwrap_or_else(|e| {
            super::report(
                &self.interp,
                &format!("authorization, {}", request_line(conn)),
                e,
            );
            Verdict::Failed
        })
    }

    /// Ends the response, whatever state it is in.
    pub fn finish(&self, conn: &Rc<Conn>) {
        if !conn.has_answered() {
            shared::error!("no response was sent, {}", request_line(conn));
            self.fail(conn, 500);
        }
        if let Err(e) = conn.finish() {
            shared::debug!("{}: {e}", request_line(conn));
        }
    }

    /// Forgets the request.
    pub fn end(&mut self) {
        birth::cleanup(&self.interp, &self.context);
        if self.context.condemned.get() {
            self.renew();
        }
    }

    /// Runs a piece of work that needs the interpreter of this thread.
    pub fn with<R>(&self, work: impl FnOnce(&Interp, &Rc<Context>) -> R) -> R {
        work(&self.interp, &self.context)
    }

    fn renew(&mut self) {
        run_traces(&self.interp, &self.context, InterpMoment::Delete);
        match birth::create_interp(&self.server) {
            Ok((interp, context)) => {
                self.interp = interp;
                self.context = context;
            }
            Err(e) => super::report(&self.interp, "cannot make an interpreter", e),
        }
    }

    fn describe_error(&self, conn: &Rc<Conn>, e: &tcl::TclError) -> String {
        let info = if e.info().is_empty() {
            e.message()
        } else {
            e.info()
        };
        let mut text = format!(
            "{}, PeerAddress: {}\n{info}",
            request_line(conn),
            conn.request.peer.ip()
        );
        if let Some(headers) = &self.server.tcl.errorlogheaders {
            for name in headers.split_whitespace() {
                if let Some(value) = conn.header(name) {
                    text.push_str(&format!("\n    {name}: {value}"));
                }
            }
        }
        text
    }
}

fn request_line(conn: &Conn) -> String {
    format!("{} {}", conn.method.borrow(), conn.target.borrow().raw)
}

/// Runs a handler in an interpreter.
///
/// # Errors
/// Those of the handler's script.
pub fn run_handler(interp: &Interp, conn: &Rc<Conn>, handler: &Handler) -> Outcome<()> {
    match handler {
        Handler::Script(script) => script.run(interp, conn),
        Handler::Fastpath => serve_file(interp, conn, &conn.url()),
        Handler::Native(native) => {
            let response = native.answer(
                &conn.server,
                &conn.driver,
                &conn.request.head,
                &conn.target.borrow(),
            );
            send(conn, response);
            Ok(())
        }
    }
}

/// Answers with a file of the page directory, its index, its listing, or 404.
///
/// # Errors
/// Those of index pages and listings written in Tcl.
pub fn serve_file(interp: &Interp, conn: &Rc<Conn>, url: &str) -> Outcome<()> {
    super::pages::serve(interp, conn, url)
}

/// Answers with a status: the page configured for it in `redirects`, else a notice.
///
/// # Errors
/// Those of the configured page.
pub fn return_status(interp: &Interp, conn: &Rc<Conn>, status: u16) -> Outcome<()> {
    if let Some(url) = conn.server.error_pages.get(&status).cloned()
        && conn.redirects.get() == 0
    {
        conn.status.set(status);
        conn.error_status.set(Some(status));
        return super::pages::internal_redirect(interp, conn, &url);
    }
    plain_notice(interp, conn, status)
}

/// A notice page for a status, without looking for a configured page.
///
/// # Errors
/// None at present; the type fits callers.
pub fn plain_notice(interp: &Interp, conn: &Rc<Conn>, status: u16) -> Outcome<()> {
    let message = match status {
        404 => "The requested URL was not found on this server.",
        405 => "This request method is not supported for the requested URL.",
        403 => "The requested URL cannot be accessed by this server.",
        401 => {
            "The requested URL cannot be accessed because a valid username and password are required."
        }
        503 => "The server is temporarily unable to answer. Please try again later.",
        301..=303 | 307 | 308 => "The requested URL has moved.",
        _ => "The requested URL cannot be accessed due to a system error on this server.",
    };
    let title = if status == 401 {
        "Access Denied"
    } else {
        http::response::reason(status)
    };
    return_notice(interp, conn, status, title, message);
    Ok(())
}

/// A notice page in the way the server is configured to show them.
pub fn return_notice(interp: &Interp, conn: &Rc<Conn>, status: u16, title: &str, message: &str) {
    let notice = Notice {
        status,
        title: title.to_owned(),
        message: message.to_owned(),
    };
    let render = conn.server.process().scripting.notice;
    let page = render
        .and_then(|r| r(interp, conn, &notice))
        .unwrap_or_else(|| crate::reply::notice_page(&conn.server, status, title, message));
    let (content_type, coder) = conn.text_type("text/html");
    let content = net::Content::Bytes(bytes::Bytes::from(coder.encode(interp, &page).into_owned()));
    if let Err(e) = conn.respond(status, Some(&content_type), content, true) {
        shared::debug!("{}: {e}", request_line(conn));
    }
}

/// Sends a response that was made without a script.
pub fn send(conn: &Rc<Conn>, response: net::Response) {
    for (key, value) in response.head.headers.iter() {
        conn.output.borrow_mut().iupdate(key, value);
    }
    if let Err(e) = conn.respond(response.head.status, None, response.content, false) {
        shared::debug!("{}: {e}", request_line(conn));
    }
}
