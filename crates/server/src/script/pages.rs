//! Files as a connection thread serves them: with index pages, listings and URL translation that may be scripts.

use std::rc::Rc;

use tcl::{Exit, Interp, Obj, Outcome, TclError};

use super::conn::Conn;
use super::runner::{return_status, run_handler, send};
use crate::dispatch::UrlToFile;
use crate::fastpath::FileAnswer;
use crate::script::vhost;
use crate::vserver::VirtualServer;

/// Redirects within the server before a loop is assumed.
const MOST_REDIRECTS: u32 = 16;

/// Answers a GET, HEAD or POST for a file.
///
/// # Errors
/// Those of scripts that take part.
pub fn serve(interp: &Interp, conn: &Rc<Conn>, url: &str) -> Outcome<()> {
    let method = conn.method.borrow().clone();
    let now = crate::reply::unix_now();
    let file = url_to_file(interp, conn, url)?;
    let mut head = http::RequestHead {
        method: method.clone(),
        ..conn.request.head.clone()
    };
    head.headers = conn.headers.borrow().clone();
    let fastpath = &conn.server.fastpath;
    let answer = match file {
        None => fastpath.respond(&method, url, &head, now),
        Some(path) => fastpath.respond_with(std::path::Path::new(&path), &method, url, &head, now),
    };
    finish(interp, conn, url, answer)
}

/// Sends one file, whatever URL it belongs to (`ns_returnfile` and the like come here too).
///
/// # Errors
/// Those of scripts that take part.
pub fn finish(interp: &Interp, conn: &Rc<Conn>, url: &str, answer: FileAnswer) -> Outcome<()> {
    match answer {
        FileAnswer::Response(response) => {
            send(conn, response);
            Ok(())
        }
        FileAnswer::Redirect(location) => {
            conn.output.borrow_mut().iupdate("location", &location);
            return_status(interp, conn, 302)
        }
        FileAnswer::IndexScript { url, .. } => internal_redirect(interp, conn, &url),
        FileAnswer::Directory(_) => listing(interp, conn),
        FileAnswer::MethodNotAllowed => return_status(interp, conn, 405),
        FileAnswer::NotFound => return_status(interp, conn, 404),
        FileAnswer::Failed(e) => {
            shared::error!("{url}: {e}");
            return_status(interp, conn, 500)
        }
    }
}

/// The path a URL stands for where something else than the page directory decides: a script registered for the URL, or
/// the host.
///
/// # Errors
/// Those of the registered script.
pub fn url_to_file(interp: &Interp, conn: &Conn, url: &str) -> Outcome<Option<String>> {
    if let Some(path) = registered_file(interp, &conn.server, url)? {
        return Ok(Some(path));
    }
    if !vhost::by_host(&conn.server) {
        return Ok(None);
    }
    let root = vhost::page_root(interp, &conn.server, conn.header("host").as_deref())?;
    Ok(Some(
        vhost::file_below(&root, url).to_string_lossy().into_owned(),
    ))
}

/// What a script registered with `ns_register_url2file` says about a URL.
///
/// # Errors
/// The script's.
pub fn registered_file(
    interp: &Interp,
    server: &VirtualServer,
    url: &str,
) -> Outcome<Option<String>> {
    match server.url_to_file.get("x", url, None).as_deref() {
        Some(UrlToFile::Script(script)) => script.translate(interp, url).map(Some),
        Some(UrlToFile::Default) | None => Ok(None),
    }
}

/// Answers with what another URL of this server leads to.
///
/// # Errors
/// Those of the handler; too many redirects.
pub fn internal_redirect(interp: &Interp, conn: &Rc<Conn>, location: &str) -> Outcome<()> {
    let depth = conn.redirects.get() + 1;
    if depth > MOST_REDIRECTS {
        shared::error!("internal redirect to {location}: more than {MOST_REDIRECTS} in a row");
        return super::runner::plain_notice(interp, conn, 500);
    }
    conn.redirects.set(depth);
    let parsed = http::target::parse("GET", location).map_err(|r| {
        Exit::from(TclError::new(format!(
            "invalid redirect target \"{location}\": {}",
            r.reason
        )))
    })?;
    {
        let mut target = conn.target.borrow_mut();
        target.path = parsed.path;
        target.segments = parsed.segments;
        target.scheme = None;
        if parsed.query.is_some() {
            target.query = parsed.query;
            *conn.form.borrow_mut() = None;
        }
    }
    match crate::dispatch::handler_of(conn) {
        Ok(handler) => run_handler(interp, conn, &handler),
        Err(status) => return_status(interp, conn, status),
    }
}

/// Runs a Tcl file as a page: `file`, or the one that the URL stands for. Like a page of another kind it answers with an
/// empty page when it answers nothing, and an error in it is logged and costs the rest of the page.
///
/// # Errors
/// Those of the translation of the URL.
pub fn tcl_page(interp: &Interp, conn: &Rc<Conn>, file: Option<&str>) -> Outcome<()> {
    let url = conn.url();
    let path = match file {
        Some(file) => Some(conn.server.pages.join(file)),
        None => match url_to_file(interp, conn, &url)? {
            Some(path) => Some(std::path::PathBuf::from(path)),
            None => conn.server.fastpath.url2file(&url),
        },
    };
    let Some(path) = path.filter(|p| p.is_file()) else {
        return return_status(interp, conn, 404);
    };
    match interp.source(&path, None) {
        Ok(_) | Err(Exit::Return(_)) => {}
        Err(e)
            if e.as_error()
                .is_some_and(|e| e.code().starts_with("NS_TIMEOUT")) =>
        {
            return Err(e);
        }
        Err(e) => super::report(interp, &format!("page {}, {url}", path.display()), e),
    }
    if !conn.has_answered() {
        let empty = net::Content::Bytes(bytes::Bytes::new());
        let mut kind = conn.server.process().mime.read().guess(&url).to_owned();
        if kind.starts_with("text/") && !kind.contains("charset=") {
            kind.push_str(&format!("; charset={}", conn.server.output_charset()));
        }
        if let Err(e) = conn.respond(200, Some(&kind), empty, false) {
            shared::debug!("{url}: {e}");
        }
    }
    Ok(())
}

fn listing(interp: &Interp, conn: &Rc<Conn>) -> Outcome<()> {
    let settings = &conn.server.fastpath_settings;
    if let Some(adp) = settings.directoryadp.as_ref().filter(|a| !a.is_empty()) {
        return internal_redirect(interp, conn, adp);
    }
    if let Some(procedure) = settings.directoryproc.as_ref().filter(|p| !p.is_empty()) {
        // Without arguments: it asks ns_conn.
        return interp.call_global(&[Obj::from(procedure)]).map(|_| ());
    }
    return_status(interp, conn, 404)
}
