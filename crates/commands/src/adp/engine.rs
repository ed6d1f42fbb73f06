//! Pages at work in one interpreter: the stack of pages, their output, what happens when a script fails.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use server::script::Context;
use tcl::{Exit, Interp, Obj, Outcome, TclError};

use super::Shared;
use super::output::{Included, Kind, Output, Piece};
use super::pages::{Page, Pages, Variant};
use super::parser::Block;
use super::settings::{Flag, Flags};

/// Pages within pages (manual page ns_adp_include).
const MOST_LEVELS: usize = 256;

/// Why pages end before their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exception {
    #[default]
    Ok,
    /// Too many pages within pages.
    Overflow,
    /// All pages end, and the output is dropped.
    Abort,
    /// All pages end.
    Break,
    /// The current page ends.
    Return,
}

impl Exception {
    pub fn name(self) -> &'static str {
        match self {
            Exception::Ok => "ok",
            Exception::Overflow => "overflow",
            Exception::Abort => "abort",
            Exception::Break => "break",
            Exception::Return => "return",
        }
    }
}

/// A page at work.
pub struct Frame {
    pub page: Rc<Page>,
    /// Where relative paths begin, if not at the page's own directory.
    pub cwd: Option<String>,
    pub args: Vec<Obj>,
    /// The first argument is the page itself.
    pub named: bool,
    pub tagset: Rc<str>,
    /// Variables that are there from the beginning.
    pub variables: Vec<(&'static str, Obj)>,
    /// The line of the script at work.
    pub(super) line: Cell<u32>,
    /// The block that failed last, and how.
    pub(super) failed: RefCell<Option<(usize, TclError)>>,
}

impl Frame {
    pub fn new(page: Rc<Page>, args: Vec<Obj>, tagset: Rc<str>) -> Frame {
        Frame {
            page,
            cwd: None,
            args,
            named: false,
            tagset,
            variables: Vec::new(),
            line: Cell::new(1),
            failed: RefCell::default(),
        }
    }

    /// Notes the line of the block that is about to run.
    pub(super) fn next_is(&self, block: usize) {
        if let Some(Block::Script(script)) = self.page.source.blocks.get(block) {
            self.line.set(script.line);
        }
    }

    pub(super) fn name(&self) -> &str {
        self.page.source.file.as_deref().unwrap_or("inline")
    }
}

/// What belongs to one response; another one within it (an error page, an internal redirect) has its own.
pub struct State {
    pub flags: Flags,
    pub bufsize: usize,
    pub exception: Exception,
    /// What `ns_adp_mimetype` said, or the type of the file.
    pub mimetype: Option<String>,
    /// Where output goes in place of the connection.
    pub channel: Option<String>,
    /// The response is complete, the rest is dropped.
    pub closed: bool,
    pub frames: Vec<Rc<Frame>>,
    pub outputs: Vec<Output>,
    /// What `?debug=` asks for, until a page matches.
    pub debug: Option<Debug>,
    pub(super) in_errorpage: bool,
}

/// A wish to debug pages (`enabledebug`).
#[derive(Clone, Default)]
pub struct Debug {
    /// Glob pattern for the file names of pages.
    pub pages: String,
    pub procs: String,
    pub host: String,
    pub port: String,
}

/// The pages of an interpreter.
pub struct Engine {
    pub context: Rc<Context>,
    pub shared: Arc<Shared>,
    pub state: RefCell<State>,
    pages: Pages,
    /// The default tag set.
    no_tagset: Rc<str>,
    /// `apply {{} ::navis::adp_run ::}`: makes the frame for the variables of a page. The value keeps its compiled form.
    frame_call: [Obj; 2],
    /// How the page ended whose frame has just been left.
    ended: RefCell<Option<Outcome<()>>>,
    /// The trace of the error that was reported last: the same error may leave several pages.
    pub(super) reported: RefCell<String>,
}

impl Engine {
    pub fn new(context: Rc<Context>, shared: Arc<Shared>) -> Engine {
        let lambda = Obj::list(["", "::navis::adp_run", "::"].map(Obj::from));
        Engine {
            state: RefCell::new(State::new(&shared)),
            context,
            shared,
            pages: Pages::default(),
            no_tagset: Rc::from(""),
            frame_call: [Obj::from("::apply"), lambda],
            ended: RefCell::default(),
            reported: RefCell::default(),
        }
    }

    /// The engine of an interpreter; the one that reads the configuration has none.
    ///
    /// # Errors
    /// `no active adp`.
    pub fn of(interp: &Interp) -> Result<Rc<Engine>, Exit> {
        interp.data::<Engine>().ok_or_else(no_active_adp)
    }

    /// As [`of`](Self::of), while a page is at work.
    ///
    /// # Errors
    /// `no active adp`.
    pub fn active(interp: &Interp) -> Result<Rc<Engine>, Exit> {
        let engine = Engine::of(interp)?;
        if engine.state.borrow().frames.is_empty() {
            return Err(no_active_adp());
        }
        Ok(engine)
    }

    pub fn has(&self, flag: Flag) -> bool {
        self.state.borrow().flags.has(flag)
    }

    pub fn frame(&self) -> Option<Rc<Frame>> {
        self.state.borrow().frames.last().map(Rc::clone)
    }

    /// Runs `work` with a state of its own, as for a new response.
    pub fn with_state<R>(&self, state: State, work: impl FnOnce() -> R) -> R {
        let outer = self.state.replace(state);
        let result = work();
        *self.state.borrow_mut() = outer;
        result
    }

    /// Forgets what the last request or script left.
    pub fn reset(&self) {
        *self.state.borrow_mut() = State::new(&self.shared);
        self.reported.borrow_mut().clear();
    }

    /// The directory relative paths begin at.
    pub fn directory(&self) -> String {
        let state = self.state.borrow();
        for frame in state.frames.iter().rev() {
            if let Some(cwd) = &frame.cwd {
                return cwd.clone();
            }
            if let Some((dir, _)) = frame
                .page
                .source
                .file
                .as_deref()
                .and_then(|f| f.rsplit_once('/'))
            {
                return if dir.is_empty() {
                    "/".to_owned()
                } else {
                    dir.to_owned()
                };
            }
        }
        self.context.server().pages.to_string_lossy().into_owned()
    }

    /// An absolute path.
    pub fn resolve(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.directory())
        }
    }

    /// How a page is read now.
    pub fn variant(&self, tcl: bool, tagset: Option<&str>) -> Result<Variant, Exit> {
        let state = self.state.borrow();
        let tagset = match tagset {
            Some(name) if !self.shared.tags.exists(name) => {
                return Err(tcl::error(format!("no such tagset: \"{name}\"")));
            }
            Some(name) => Rc::from(super::tags::TagSets::key(name)),
            None => state
                .frames
                .last()
                .map_or_else(|| Rc::clone(&self.no_tagset), |f| Rc::clone(&f.tagset)),
        };
        Ok(Variant {
            safe: state.flags.has(Flag::SAFE),
            single: state.flags.has(Flag::SINGLESCRIPT),
            tcl,
            tagset,
        })
    }

    /// Reads a page from its file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn load(&self, path: &str, variant: &Variant) -> Result<Rc<Page>, Exit> {
        self.pages
            .load(path, variant, &self.shared, &self.context.process)
    }

    /// A page given as text.
    pub fn text_page(&self, text: &str, variant: &Variant) -> Rc<Page> {
        self.pages.of_text(text, variant, &self.shared)
    }

    /// Runs a file as a page; its output goes where output goes now.
    ///
    /// # Errors
    /// The file cannot be read, or its last block failed.
    pub fn include(&self, interp: &Interp, what: &Included, args: Vec<Obj>) -> Outcome<()> {
        let tagset = Some(what.tagset.as_str()).filter(|t| !t.is_empty());
        let variant = self.variant(what.tcl, tagset)?;
        let page = self.load(&what.path, &variant)?;
        self.run(interp, Frame::new(page, args, variant.tagset))
    }

    /// As [`include`](Self::include), with output kept for `ttl`.
    ///
    /// # Errors
    /// As there.
    pub fn include_cached(
        &self,
        interp: &Interp,
        what: &Included,
        args: Vec<Obj>,
        ttl: Duration,
    ) -> Outcome<()> {
        let recording = matches!(
            self.state.borrow().outputs.last(),
            Some(Output {
                kind: Kind::Recorded(_),
                ..
            })
        );
        if recording || !self.has(Flag::CACHE) {
            return self.include(interp, what, args);
        }
        let variant = self.variant(
            what.tcl,
            Some(what.tagset.as_str()).filter(|t| !t.is_empty()),
        )?;
        let page = self.load(&what.path, &variant)?;
        let words: Vec<&str> = what.args.iter().map(String::as_str).collect();
        let key = format!(
            "{}\0{:?}\0{}{}{}\0{}\0{}",
            what.path,
            page.source.state,
            u8::from(variant.safe),
            u8::from(variant.single),
            u8::from(variant.tcl),
            variant.tagset,
            tcl::list_format(&words)
        );
        let pieces = match self.shared.kept.get(&key) {
            Some(pieces) => pieces,
            None => {
                self.state
                    .borrow_mut()
                    .outputs
                    .push(Output::new(Kind::Recorded(Vec::new())));
                let ended = self.run(interp, Frame::new(page, args, variant.tagset));
                let output = self.state.borrow_mut().outputs.pop();
                let Some(Output {
                    text,
                    kind: Kind::Recorded(mut pieces),
                }) = output
                else {
                    return ended;
                };
                pieces.push(Piece::Text(Arc::from(text)));
                let pieces: Arc<[Piece]> = Arc::from(pieces);
                let complete = ended.is_ok() && self.state.borrow().exception == Exception::Ok;
                if complete {
                    let budget = self.shared.settings.cachesize.as_usize();
                    self.shared.kept.put(key, Arc::clone(&pieces), ttl, budget);
                } else {
                    self.play(interp, &pieces)?;
                    return ended;
                }
                pieces
            }
        };
        self.play(interp, &pieces)
    }

    /// Outputs what was kept; pages that are not kept run.
    fn play(&self, interp: &Interp, pieces: &[Piece]) -> Outcome<()> {
        let mut last = Ok(());
        for piece in pieces {
            match piece {
                Piece::Text(text) if text.is_empty() => {}
                Piece::Text(text) => {
                    last = Ok(());
                    self.append(interp, text)?;
                }
                Piece::Include(what) => {
                    last = self.include(interp, what, what.args.iter().map(Obj::from).collect());
                }
            }
        }
        last
    }

    /// Remembers a page that is to run each time, if output is being kept.
    pub fn postpone(&self, what: &Included) -> bool {
        let mut state = self.state.borrow_mut();
        let Some(Output {
            text,
            kind: Kind::Recorded(pieces),
        }) = state.outputs.last_mut()
        else {
            return false;
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(Arc::from(std::mem::take(text))));
        }
        pieces.push(Piece::Include(what.clone()));
        true
    }

    /// Runs a page, and answers what it output.
    ///
    /// # Errors
    /// Its last block failed.
    pub fn capture(&self, interp: &Interp, frame: Frame) -> Outcome<String> {
        let outermost = {
            let mut state = self.state.borrow_mut();
            state.outputs.push(Output::new(Kind::Captured));
            state.frames.is_empty()
        };
        let ended = self.run(interp, frame);
        let text = self
            .state
            .borrow_mut()
            .outputs
            .pop()
            .map(|o| o.text)
            .unwrap_or_default();
        if outermost {
            let exception = std::mem::take(&mut self.state.borrow_mut().exception);
            if exception != Exception::Ok {
                return Ok(text);
            }
        }
        ended.map(|()| text)
    }

    /// Runs a page in a frame of its own.
    ///
    /// # Errors
    /// Its last block failed, an exception goes on to the pages around it, or there are too many of them.
    pub fn run(&self, interp: &Interp, frame: Frame) -> Outcome<()> {
        {
            let mut state = self.state.borrow_mut();
            if state.frames.len() >= MOST_LEVELS {
                state.exception = Exception::Overflow;
                shared::error!(
                    "adp: more than {MOST_LEVELS} pages within pages, at file \"{}\"",
                    frame.name()
                );
                return Err(tcl::error(format!(
                    "adp: pages within pages are limited to {MOST_LEVELS}"
                )));
            }
            frame.page.source.evals.fetch_add(1, Ordering::Relaxed);
            state.frames.push(Rc::new(frame));
        }
        let frame = self.frame().ok_or_else(no_active_adp)?;
        frame.next_is(0);
        self.start_debugger(interp, &frame);
        let mut ended = match &frame.page.call {
            Some(call) if frame.variables.is_empty() && !self.has(Flag::TRACE) => {
                let called = interp.call(call);
                let last = frame.page.source.blocks.len().wrapping_sub(1);
                match frame.failed.take() {
                    Some((block, e)) if block == last => called.and(Err(e.into())),
                    _ => called.map(|_| ()),
                }
            }
            _ => interp
                .call(&self.frame_call)
                .and_then(|_| self.ended.take().unwrap_or(Ok(()))),
        };
        let mut state = self.state.borrow_mut();
        state.frames.pop();
        match state.exception {
            Exception::Ok => {}
            Exception::Return => {
                state.exception = Exception::Ok;
                ended = Ok(());
            }
            // The scripts of the pages around end, too.
            _ if ended.is_ok() && !state.frames.is_empty() => ended = Err(tcl::error("")),
            _ => {}
        }
        ended
    }

    /// `::navis::adp_run`: runs the page on top of the stack; called in its frame.
    pub fn run_here(&self, interp: &Interp) -> Outcome {
        let Some(frame) = self.frame() else {
            return Err(no_active_adp());
        };
        for (name, value) in &frame.variables {
            interp.set(name, value.clone())?;
        }
        let ended = self.blocks(interp, &frame);
        *self.ended.borrow_mut() = Some(ended);
        Ok(Obj::new())
    }

    fn blocks(&self, interp: &Interp, frame: &Frame) -> Outcome<()> {
        let page = &frame.page;
        let source = &page.source;
        let mut last = Ok(());
        for (block, compiled) in source.blocks.iter().zip(&page.scripts) {
            match (block, compiled) {
                (Block::Script(script), Some(compiled)) => {
                    frame.line.set(script.line);
                    if script.stream {
                        self.start_stream();
                    }
                    self.trace(&script.text);
                    last = match interp.eval_obj(compiled) {
                        Err(Exit::Error(e)) => Err(e),
                        // `return`, `break` and `continue` end the block only.
                        _ => Ok(()),
                    };
                    if self.state.borrow().exception != Exception::Ok {
                        break;
                    }
                    if let Err(e) = &last {
                        self.report(interp, frame, script, e, e.line().unwrap_or(1));
                        if self.has(Flag::STRICTERROR)
                            || self.state.borrow().exception != Exception::Ok
                        {
                            break;
                        }
                    }
                }
                (Block::Text(range), _) => {
                    last = Ok(());
                    let text = &source.text[range.clone()];
                    self.trace(text);
                    self.append(interp, text)?;
                }
                (Block::Script(_), None) => {}
            }
        }
        last.map_err(Exit::from)
    }

    fn trace(&self, text: &str) {
        if self.has(Flag::TRACE) {
            let end = text.floor_char_boundary(self.shared.settings.tracesize.as_usize());
            let depth = self.state.borrow().frames.len();
            shared::notice!("adp trace, level {depth}: {}", &text[..end]);
        }
    }

    /// What follows is sent as it is made, unless it is the result of a command.
    pub fn start_stream(&self) {
        let mut state = self.state.borrow_mut();
        state.flags = state.flags.with(Flag::STREAM, true);
    }

    /// Adds to the output.
    ///
    /// # Errors
    /// The output had to be sent, and the client is gone.
    pub fn append(&self, interp: &Interp, text: &str) -> Outcome<()> {
        let due = {
            let mut state = self.state.borrow_mut();
            let (stream, bufsize) = (state.flags.has(Flag::STREAM), state.bufsize);
            let Some(output) = state.outputs.last_mut() else {
                return Err(no_active_adp());
            };
            output.text.push_str(text);
            matches!(output.kind, Kind::Response { .. }) && (stream || output.text.len() > bufsize)
        };
        if due { self.flush(interp) } else { Ok(()) }
    }
}

impl State {
    /// The state at the beginning of a request.
    pub fn new(shared: &Shared) -> State {
        State {
            flags: Flags::of(&shared.settings),
            bufsize: shared.settings.bufsize.as_usize(),
            exception: Exception::Ok,
            mimetype: None,
            channel: None,
            closed: false,
            frames: Vec::new(),
            outputs: Vec::new(),
            debug: None,
            in_errorpage: false,
        }
    }
}

pub(super) fn no_active_adp() -> Exit {
    tcl::error("no active adp")
}
