//! Pages as responses: requests that lead to pages, and the way of their output to the client.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::charset::{self, Charset};
use net::Content;
use server::dispatch::Handler;
use server::route::Constraints;
use server::script::{AnswerError, Conn, Notice, Progress, ScriptHandler};
use server::vserver::VirtualServer;
use tcl::{Interp, Obj, Outcome};

use super::engine::{Debug, Engine, Exception, Frame, State};
use super::output::{Included, Kind, Output};
use super::settings::{Flag, Flags};

/// A page, or all pages of a part of the URL space.
pub struct PageHandler {
    /// `None`: the file that the URL names.
    pub file: Option<String>,
    /// Switches besides the configured ones.
    pub flags: Flags,
    /// How long output is kept.
    pub ttl: Option<Duration>,
}

impl ScriptHandler for PageHandler {
    fn run(&self, interp: &Interp, conn: &Rc<Conn>) -> Outcome<()> {
        let engine = Engine::of(interp)?;
        let path = match &self.file {
            Some(file) => Some(file.clone()),
            None => {
                let url = conn.url();
                match server::script::url_to_file(interp, conn, &url)? {
                    Some(path) => Some(path),
                    None => conn
                        .server
                        .fastpath
                        .url2file(&url)
                        .map(|p| p.to_string_lossy().into_owned()),
                }
            }
        };
        let Some(path) = path.and_then(|p| existing(p, &engine.shared.settings.defaultextension))
        else {
            return server::script::return_status(interp, conn, 404);
        };
        let mut state = State::new(&engine.shared);
        state.flags = state.flags.and(self.flags);
        state
            .outputs
            .push(Output::new(Kind::Response { begun: false }));
        state.mimetype = Some(media_type(&conn.server, &path));
        engine.with_state(state, || engine.respond(interp, conn, path, self.ttl))
    }

    fn describe(&self) -> String {
        match &self.file {
            Some(file) => tcl::list_format(&["ns:adppage", file]),
            None => "ns:adppage".to_owned(),
        }
    }
}

impl Engine {
    fn respond(
        &self,
        interp: &Interp,
        conn: &Rc<Conn>,
        path: String,
        ttl: Option<Duration>,
    ) -> Outcome<()> {
        let settings = &self.shared.settings;
        if self.has(Flag::EXPIRE) {
            conn.output.borrow_mut().iupdate("expires", "now");
        }
        let start = match settings.startpage.as_str() {
            "" => path.clone(),
            page => conn.server.path(page).to_string_lossy().into_owned(),
        };
        let args = vec![start.clone(), path];
        let words: Vec<Obj> = args.iter().map(Obj::from).collect();
        let what = Included {
            path: start,
            args,
            tagset: String::new(),
            tcl: false,
        };
        if settings.enabledebug {
            self.heed_debug(interp);
        }
        // What failed was reported where it failed; a page that cannot be read has not been.
        let variant = self.variant(false, None)?;
        self.load(&what.path, &variant)?;
        let _ = match ttl {
            Some(ttl) => self.include_cached(interp, &what, words, ttl),
            None => self.include(interp, &what, words),
        };
        self.finish(interp, conn)
    }

    /// `?debug=PAGES&dprocs=PROCS&dhost=HOST&dport=PORT` (manual page adp-overview).
    fn heed_debug(&self, interp: &Interp) {
        let get = |name: &str| {
            let asked = interp.call(&["ns_queryget", name].map(Obj::from));
            asked.map(|value| value.text()).unwrap_or_default()
        };
        let pages = get("debug");
        if !pages.is_empty() {
            let (procs, host, port) = (get("dprocs"), get("dhost"), get("dport"));
            self.state.borrow_mut().debug = Some(Debug {
                pages,
                procs,
                host,
                port,
            });
        }
    }

    /// Sends what there is, as the whole response or as its last piece.
    fn finish(&self, interp: &Interp, conn: &Rc<Conn>) -> Outcome<()> {
        let (aborted, begun) = {
            let state = self.state.borrow();
            (state.exception == Exception::Abort, begun(&state))
        };
        if aborted {
            self.state.borrow_mut().outputs.clear();
            if conn.has_answered() {
                // What was sent before stands.
                let _ = conn.finish();
            }
            return Ok(());
        }
        let whole = !begun && !conn.has_answered() && self.state.borrow().channel.is_none();
        if !whole {
            let flushed = self.flush(interp);
            if !conn.has_answered() {
                // All of it went into a channel.
                return self.send_whole(conn, String::new());
            }
            let _ = conn.finish();
            return flushed;
        }
        let text = self.take_text(false);
        self.send_whole(conn, text)
    }

    fn send_whole(&self, conn: &Rc<Conn>, text: String) -> Outcome<()> {
        let media_type = self.media_type();
        let bytes = encode(text, &media_type);
        match conn.respond(
            conn.status.get(),
            Some(&media_type),
            Content::Bytes(bytes),
            true,
        ) {
            Ok(()) | Err(AnswerError::AlreadyAnswered) => Ok(()),
            Err(e) => Err(tcl::error(e.to_string())),
        }
    }

    /// The output of the response so far; nothing is left of it.
    fn take_text(&self, begun: bool) -> String {
        let mut state = self.state.borrow_mut();
        let trim = state.flags.has(Flag::TRIMSPACE) && !begun;
        let Some(output) = state.outputs.first_mut() else {
            return String::new();
        };
        let text = std::mem::take(&mut output.text);
        if trim {
            text.trim_start().to_owned()
        } else {
            text
        }
    }

    /// Sends the output of the response so far. Output that becomes the result of a command stays where it is.
    ///
    /// # Errors
    /// The client is gone (switch `autoabort`): all pages end.
    pub fn flush(&self, interp: &Interp) -> Outcome<()> {
        let begun = {
            let state = self.state.borrow();
            match state.outputs.last() {
                Some(Output {
                    kind: Kind::Response { begun },
                    ..
                }) => *begun,
                _ => return Ok(()),
            }
        };
        let text = self.take_text(begun);
        if text.is_empty() || self.state.borrow().closed {
            return Ok(());
        }
        if let Some(Output {
            kind: Kind::Response { begun },
            ..
        }) = self.state.borrow_mut().outputs.first_mut()
        {
            *begun = true;
        }
        let channel = self.state.borrow().channel.clone();
        if let Some(channel) = channel {
            interp.call(&["puts", "-nonewline", &channel, &text].map(Obj::from))?;
            return interp.call(&["flush", &channel].map(Obj::from)).map(|_| ());
        }
        let Some(conn) = self.context.conn() else {
            return Ok(());
        };
        if conn.progress.get() == Progress::Done {
            // A command has answered; what the page says besides is dropped.
            return Ok(());
        }
        let media_type = self.media_type();
        if !conn.has_answered() {
            // Cannot fail: nothing was sent.
            let _ = conn.promise(conn.status.get(), Some(&media_type), None);
        }
        let written = conn.write(&encode(text, &media_type), true);
        match written {
            Err(AnswerError::Io(e)) if self.has(Flag::AUTOABORT) => {
                self.state.borrow_mut().exception = Exception::Abort;
                Err(tcl::error(format!("adp flush failed: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Sends the response; what pages output from here on is dropped (`ns_adp_close`).
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(&self, interp: &Interp) -> Outcome<()> {
        let Some(conn) = self.context.conn() else {
            return self.flush(interp);
        };
        let done = self.finish(interp, &conn);
        self.state.borrow_mut().closed = true;
        done
    }

    /// The media type of the response, with a charset.
    pub fn media_type(&self) -> String {
        let state = self.state.borrow();
        let own = state.mimetype.as_deref().unwrap_or("text/html");
        let conn = self.context.conn();
        let chosen = conn.and_then(|c| c.output_charset.borrow().clone());
        match chosen {
            Some(charset) => charset::add_to_type(own, &charset).into_owned(),
            None => charset::add_to_type(own, &self.context.server().output_charset()).into_owned(),
        }
    }
}

fn begun(state: &State) -> bool {
    matches!(
        state.outputs.first(),
        Some(Output {
            kind: Kind::Response { begun: true },
            ..
        })
    )
}

fn encode(text: String, media_type: &str) -> Bytes {
    match charset::of_type(media_type)
        .as_deref()
        .and_then(Charset::for_name)
    {
        Some(c) if !c.is_utf8() => Bytes::from(c.encode(&text).into_owned()),
        _ => Bytes::from(text),
    }
}

fn existing(path: String, extension: &str) -> Option<String> {
    let is_file = |p: &str| std::fs::metadata(p).is_ok_and(|m| m.is_file());
    if is_file(&path) {
        return Some(path);
    }
    let longer = (!extension.is_empty()).then(|| format!("{path}{extension}"))?;
    is_file(&longer).then_some(longer)
}

fn media_type(server: &VirtualServer, path: &str) -> String {
    let process = server.process();
    let types = process.mime.read();
    match types.guess(path) {
        "*/*" | "" => "text/html".to_owned(),
        known => known.to_owned(),
    }
}

/// Registers the pages that the configuration maps.
///
/// # Errors
/// What is wrong with the section `ns/server/S/adp`.
pub fn map_pages(server: &Arc<VirtualServer>) -> Result<(), String> {
    let shared = super::Shared::of(server)?;
    for map in &shared.settings.map {
        let words = server::script::list_words(map)?;
        let (url, ttl) = match words.as_slice() {
            [url] => (url, None),
            [url, ttl] => {
                let time = synopsis::Time::parse(ttl)
                    .map_err(|e| format!("{}, map {map}: {e}", server.section("adp")))?;
                (url, Some(time.to_duration()))
            }
            _ => {
                return Err(format!(
                    "{}: map \"{map}\" must be a URL and perhaps a time",
                    server.section("adp")
                ));
            }
        };
        let handler = Arc::new(Handler::Script(Arc::new(PageHandler {
            file: None,
            flags: Flags::default(),
            ttl,
        })));
        for method in ["GET", "HEAD", "POST"] {
            server.routes.set(
                method,
                url,
                false,
                Constraints::default(),
                Arc::clone(&handler),
            );
        }
    }
    Ok(())
}

/// Renders a notice with the page `noticeadp`. It sees the variables `title`, `notice`, `noticedetail`, `status`.
pub fn render_notice(interp: &Interp, conn: &Rc<Conn>, notice: &Notice) -> Option<String> {
    let path = notice_page(&conn.server)?;
    let engine = Engine::of(interp).ok()?;
    let rendered = engine.with_state(State::new(&engine.shared), || {
        let variant = engine.variant(false, None)?;
        let page = engine.load(&path, &variant)?;
        let mut frame = Frame::new(page, vec![Obj::from(&path)], variant.tagset);
        frame.named = true;
        frame.variables = vec![
            ("title", Obj::from(&notice.title)),
            ("notice", Obj::from(&notice.message)),
            ("noticedetail", Obj::from(conn.server.settings.noticedetail)),
            ("status", Obj::from(i64::from(notice.status))),
        ];
        engine.capture(interp, frame)
    });
    match rendered {
        Ok(text) => Some(text),
        Err(e) => {
            server::script::report(interp, "page noticeadp", e);
            None
        }
    }
}

/// `noticeadp`: absolute, or in the directory `conf` of the server or of the installation.
fn notice_page(server: &VirtualServer) -> Option<String> {
    let name = server.settings.noticeadp.as_str();
    if name.is_empty() {
        return None;
    }
    let home = server.process().home();
    let places = [
        server.root.join(name),
        server.root.join("conf").join(name),
        home.join("conf").join(name),
    ];
    places
        .into_iter()
        .find(|p| p.is_file())
        .map(|p| p.to_string_lossy().into_owned())
}
