//! The blocks of a page that runs as a procedure, what happens when one fails, and the debugger.

use std::rc::Rc;

use tcl::{Exit, Interp, Obj, Outcome, ReturnExit, TclError};

use super::engine::{Debug, Engine, Exception, Frame, no_active_adp};
use super::output::Included;
use super::parser::{Block, Script};
use super::settings::Flag;

/// Pages around a failing one that its error names.
const SHOWN_LEVELS: usize = 8;

impl Engine {
    /// `::navis::adp_text BLOCK`: outputs a text of the page at work; called by its procedure.
    pub fn text_block(&self, interp: &Interp, words: &[Obj]) -> Outcome {
        let (frame, block) = self.block(words)?;
        self.check()?;
        frame.next_is(block + 1);
        if let Some(Block::Text(range)) = frame.page.source.blocks.get(block) {
            self.append(interp, &frame.page.source.text[range.clone()])?;
        }
        Ok(Obj::new())
    }

    /// `::navis::adp_failed BLOCK`: a script of the page at work has failed; called by its procedure.
    pub fn failed_block(&self, interp: &Interp, words: &[Obj]) -> Outcome {
        let (line, info) = (interp.error_line(), interp.error_info());
        let (frame, block) = self.block(words)?;
        let code = interp
            .get_global("errorCode")
            .map(|c| c.text())
            .unwrap_or_default();
        let message = interp
            .get(super::pages::RESULT)
            .map(|m| m.text())
            .unwrap_or_default();
        let trace = info.strip_prefix(&message).unwrap_or_default().to_owned();
        let code = tcl::list_parse(&code).unwrap_or_else(|_| vec![code]);
        let words: Vec<&str> = code.iter().map(String::as_str).collect();
        let mut error = TclError::new(message).with_code(&words);
        if !trace.is_empty() {
            error = error.with_note(&trace);
        }
        let line = line - i64::from(frame.page.body_lines.get(block).copied().unwrap_or(1)) + 1;
        self.block_failed(interp, &frame, block, error, line)
    }

    /// `::navis::adp_eval BLOCK`: runs a script that cannot be part of the page's procedure.
    pub fn eval_block(&self, interp: &Interp, words: &[Obj]) -> Outcome {
        let (frame, block) = self.block(words)?;
        self.check()?;
        let Some(Some(script)) = frame.page.scripts.get(block) else {
            return Ok(Obj::new());
        };
        match interp.eval_obj(script) {
            Err(Exit::Error(e)) => {
                let line = e.line().unwrap_or(1);
                self.block_failed(interp, &frame, block, e, line)
            }
            _ => Ok(Obj::new()),
        }
    }

    /// `::navis::adp_check BLOCK`: between two scripts.
    pub fn check_block(&self, words: &[Obj]) -> Outcome {
        let (frame, block) = self.block(words)?;
        self.check()?;
        frame.next_is(block);
        Ok(Obj::new())
    }

    /// Leaves the page's procedure when the page has to end.
    fn check(&self) -> Outcome<()> {
        match self.state.borrow().exception {
            Exception::Ok => Ok(()),
            _ => Err(ReturnExit::new("").into()),
        }
    }

    fn block(&self, words: &[Obj]) -> Outcome<(Rc<Frame>, usize)> {
        let frame = self.frame().ok_or_else(no_active_adp)?;
        let block = words
            .get(1)
            .and_then(|w| w.int().ok())
            .and_then(|n| usize::try_from(n).ok());
        Ok((frame, block.ok_or_else(|| tcl::error("block expected"))?))
    }

    fn block_failed(
        &self,
        interp: &Interp,
        frame: &Frame,
        block: usize,
        e: TclError,
        line: i64,
    ) -> Outcome {
        let mut strict = true;
        if self.state.borrow().exception == Exception::Ok {
            if let Some(Block::Script(script)) = frame.page.source.blocks.get(block) {
                self.report(interp, frame, script, &e, line);
            }
            strict = self.has(Flag::STRICTERROR) || self.state.borrow().exception != Exception::Ok;
        }
        // A strict page ends with this block, whichever it is.
        let block = if strict {
            frame.page.source.blocks.len().wrapping_sub(1)
        } else {
            block
        };
        *frame.failed.borrow_mut() = Some((block, e));
        if strict {
            Err(ReturnExit::new("").into())
        } else {
            Ok(Obj::new())
        }
    }

    /// Calls the procedure `debuginit`.
    ///
    /// # Errors
    /// Those of the procedure; all pages end then.
    pub fn debug(&self, interp: &Interp, debug: &Debug) -> Outcome<()> {
        let init = &self.shared.settings.debuginit;
        let words = [init, &debug.procs, &debug.host, &debug.port].map(Obj::from);
        interp.call(&words).map(|_| ()).map_err(|e| {
            self.state.borrow_mut().exception = Exception::Abort;
            let why = e
                .as_error()
                .map(|e| e.message().to_owned())
                .unwrap_or_default();
            tcl::error(format!("cannot start the debugger: {why}"))
        })
    }

    /// Starts the debugger when the request wants it for this page.
    pub(super) fn start_debugger(&self, interp: &Interp, frame: &Frame) {
        let matches = |d: &Debug| {
            let name = frame.name().rsplit('/').next().unwrap_or_default();
            shared::glob::matches(&d.pages, name)
        };
        let wanted = self.state.borrow().debug.as_ref().is_some_and(matches);
        let debug = if wanted {
            self.state.borrow_mut().debug.take()
        } else {
            None
        };
        if let Some(Err(e)) = debug.map(|d| self.debug(interp, &d)) {
            server::script::report(interp, "adp: debug", e);
        }
    }

    /// Logs why a script of a page failed, shows it where that is wanted, or includes the page for errors.
    pub(super) fn report(
        &self,
        interp: &Interp,
        frame: &Frame,
        script: &Script,
        e: &TclError,
        line: i64,
    ) {
        let info = if e.info().is_empty() {
            e.message()
        } else {
            e.info()
        };
        {
            let mut reported = self.reported.borrow_mut();
            if !reported.is_empty() && info.starts_with(reported.as_str()) {
                return;
            }
            info.clone_into(&mut reported);
        }
        let line = frame.page.source.line(script, line);
        frame.line.set(line);
        let mut text = format!(
            "{info}\n    at line {line} of adp file \"{}\"",
            frame.name()
        );
        let outer: Vec<Rc<Frame>> = {
            let state = self.state.borrow();
            state
                .frames
                .iter()
                .rev()
                .skip(1)
                .take(SHOWN_LEVELS)
                .map(Rc::clone)
                .collect()
        };
        for frame in &outer {
            text.push_str(&format!(
                "\n    included from line {} of adp file \"{}\"",
                frame.line.get(),
                frame.name()
            ));
        }
        if self.has(Flag::DETAILERROR) {
            self.add_request(&mut text);
        }
        shared::error!("{text}");
        let page = &self.shared.settings.errorpage;
        let nested = std::mem::replace(&mut self.state.borrow_mut().in_errorpage, true);
        if !nested && !page.is_empty() {
            let path = self
                .context
                .server()
                .path(page)
                .to_string_lossy()
                .into_owned();
            let args = vec![Obj::from(&path), Obj::from(&text)];
            let what = Included {
                path,
                args: Vec::new(),
                tagset: String::new(),
                tcl: false,
            };
            if let Err(e) = self.include(interp, &what, args) {
                server::script::report(interp, "adp: error page", e);
            }
        } else if self.has(Flag::DISPLAYERROR) {
            let shown = format!("<br><pre>\n{}\n<br></pre>\n", http::html::quote(&text));
            // The client is gone: there is nobody to show it to.
            let _ = self.append(interp, &shown);
        }
        self.state.borrow_mut().in_errorpage = nested;
    }

    fn add_request(&self, text: &mut String) {
        let Some(conn) = self.context.conn() else {
            return;
        };
        text.push_str(&format!(
            "\n    while processing connection {}: {} {}, PeerAddress: {}",
            conn.id(),
            conn.method.borrow(),
            conn.target.borrow().raw,
            conn.request.peer.ip()
        ));
        for name in ["Host", "User-Agent", "Referer"] {
            if let Some(value) = conn.header(name) {
                text.push_str(&format!("\n        {name}: {value}"));
            }
        }
    }
}
