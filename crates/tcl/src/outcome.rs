//! The five ways a Tcl script ends, as a Rust `Result`.
use crate::obj::{self, Obj};
use crate::{list, sys};
use std::cell::OnceCell;
use std::ffi::c_int;
use std::fmt;

/// What a command answers: `Ok` is Tcl's "ok", [`Exit`] has the other four ways.
pub type Outcome<T = Obj> = Result<T, Exit>;

/// A script that did not end with "ok".
#[derive(Debug)]
pub enum Exit {
    /// An error, to be caught by `catch` or told at the top.
    Error(TclError),
    /// `return`, perhaps with options.
    Return(ReturnExit),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// A code of the application (`return -code 5`).
    Code(i32, Obj),
}

/// An error in Rust code, with the error code NONE: `return Err(tcl::error("no such set"))`.
pub fn error(message: impl Into<String>) -> Exit {
    Exit::Error(TclError::new(message))
}

/// A Tcl error. When it came out of an evaluation it keeps its error code, trace and options, and given back to Tcl it
/// goes on as if no Rust had been between.
pub struct TclError {
    // Boxed: an Outcome travels through every command, and it should stay two words.
    inner: Box<Inner>,
}

struct Inner {
    message: String,
    /// A Tcl list.
    code: String,
    trace: OnceCell<String>,
    /// Appended to the trace when Tcl gets the error.
    note: String,
    origin: Option<Origin>,
}

/// Where an error came from: what Tcl needs to go on with it.
struct Origin {
    state: State,
    options: Obj,
}

impl TclError {
    /// A new error with the error code NONE.
    pub fn new(message: impl Into<String>) -> TclError {
        TclError {
            inner: Box::new(Inner {
                message: message.into(),
                code: "NONE".to_owned(),
                trace: OnceCell::new(),
                note: String::new(),
                origin: None,
            }),
        }
    }

    /// The same message with another error code; a trace that came with the error is dropped.
    pub fn with_code(mut self, words: &[&str]) -> TclError {
        self.inner.code = list::format(words);
        self.inner.origin = None;
        self.inner.trace = OnceCell::new();
        self
    }

    /// Adds text to the trace, as `Tcl_AddErrorInfo` does: by convention "\n    (while doing something)".
    pub fn with_note(mut self, note: &str) -> TclError {
        self.inner.note.push_str(note);
        self.inner.trace = OnceCell::new();
        self
    }

    /// What went wrong; the result of the script.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The error code, a Tcl list.
    pub fn code(&self) -> &str {
        &self.inner.code
    }

    /// The words of the error code; one word when it is no list.
    pub fn code_words(&self) -> Vec<String> {
        list::parse(self.code()).unwrap_or_else(|_| vec![self.inner.code.clone()])
    }

    /// The trace (`errorInfo`) as far as it has grown; the message alone for an error that Tcl has not seen.
    pub fn info(&self) -> &str {
        self.inner.trace.get_or_init(|| {
            let known = self
                .inner
                .origin
                .as_ref()
                .and_then(|origin| option(&origin.options, "-errorinfo"));
            let mut info = known.unwrap_or_else(|| self.inner.message.clone());
            info.push_str(&self.inner.note);
            info
        })
    }

    /// The line of the script, when it came out of one.
    pub fn line(&self) -> Option<i64> {
        self.inner
            .origin
            .as_ref()?
            .options
            .dict_get("-errorline")
            .ok()??
            .int()
            .ok()
    }

    /// The return options, as `catch` stores them.
    pub fn options(&self) -> Obj {
        if let Some(origin) = &self.inner.origin {
            return origin.options.clone();
        }
        Obj::dict(
            [
                ("-code", "1"),
                ("-level", "0"),
                ("-errorcode", self.code()),
                ("-errorinfo", self.info()),
            ]
            .map(|(key, value)| (Obj::from(key), Obj::from(value))),
        )
    }

    /// Takes the error out of an interpreter and leaves that one clean.
    ///
    /// # Safety
    /// `interp` is a live interpreter of this thread whose last evaluation ended with an error.
    pub(crate) unsafe fn take(interp: *mut sys::Tcl_Interp) -> TclError {
        // SAFETY: the caller's promise. The options are a value of their own; the state is released by its Drop.
        let (message, options, state) = unsafe {
            let options = Obj::share(sys::Tcl_GetReturnOptions(interp, sys::TCL_ERROR));
            let message = Obj::share(sys::Tcl_GetObjResult(interp)).text();
            let state = State(sys::Tcl_SaveInterpState(interp, sys::TCL_ERROR));
            sys::Tcl_ResetResult(interp);
            (message, options, state)
        };
        let code = option(&options, "-errorcode").unwrap_or_else(|| "NONE".to_owned());
        let inner = Inner {
            message,
            code,
            trace: OnceCell::new(),
            note: String::new(),
            origin: Some(Origin { state, options }),
        };
        TclError {
            inner: Box::new(inner),
        }
    }

    /// Takes the error of a C function that evaluates nothing: message and code, no trace yet.
    ///
    /// # Safety
    /// `interp` is a live interpreter of this thread in which that function has just failed.
    pub(crate) unsafe fn take_plain(interp: *mut sys::Tcl_Interp) -> TclError {
        // SAFETY: the caller's promise.
        let mut error = unsafe { TclError::take(interp) };
        error.inner.origin = None;
        error
    }

    /// Gives the error to an interpreter.
    ///
    /// # Safety
    /// `interp` is a live interpreter of this thread.
    unsafe fn give(self, interp: *mut sys::Tcl_Interp) -> c_int {
        let inner = *self.inner;
        match inner.origin {
            // SAFETY: live interpreter; restoring consumes the saved state.
            Some(origin) => unsafe {
                sys::Tcl_RestoreInterpState(interp, origin.state.into_raw());
            },
            // SAFETY: live interpreter, which takes references of its own to the values.
            None => unsafe {
                sys::Tcl_ResetResult(interp);
                sys::Tcl_SetObjResult(interp, Obj::from(&inner.message).as_ptr());
                if inner.code != "NONE" {
                    sys::Tcl_SetObjErrorCode(interp, Obj::from(&inner.code).as_ptr());
                }
            },
        }
        if !inner.note.is_empty() {
            // SAFETY: live interpreter, live value.
            unsafe { sys::Tcl_AppendObjToErrorInfo(interp, Obj::from(&inner.note).as_ptr()) };
        }
        sys::TCL_ERROR
    }
}

impl fmt::Debug for TclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TclError")
            .field("message", &self.message())
            .field("code", &self.code())
            .finish()
    }
}

impl fmt::Display for TclError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for TclError {}

impl From<TclError> for Exit {
    fn from(error: TclError) -> Exit {
        Exit::Error(error)
    }
}

/// A `return` on its way to the procedure that it leaves.
#[derive(Debug)]
pub struct ReturnExit {
    value: Obj,
    /// A dictionary: -code, -level, and what else the script said.
    options: Obj,
}

impl ReturnExit {
    /// `return VALUE`: the calling procedure ends with the value.
    pub fn new(value: impl Into<Obj>) -> ReturnExit {
        ReturnExit::with(value, 0, 1)
    }

    /// `return -code CODE -level LEVEL VALUE`, codes: 0 ok, 1 error, 2 return, 3 break, 4 continue.
    pub fn with(value: impl Into<Obj>, code: i32, level: u32) -> ReturnExit {
        let options = Obj::dict(
            [("-code", i64::from(code)), ("-level", i64::from(level))]
                .map(|(k, v)| (k.into(), v.into())),
        );
        ReturnExit {
            value: value.into(),
            options,
        }
    }

    /// The value returned.
    pub fn value(&self) -> &Obj {
        &self.value
    }

    /// The code the procedure ends with.
    pub fn code(&self) -> i32 {
        self.number("-code", 0)
    }

    /// How many procedures are left.
    pub fn level(&self) -> i32 {
        self.number("-level", 1)
    }

    /// The options as a dictionary.
    pub fn options(&self) -> &Obj {
        &self.options
    }

    fn number(&self, name: &str, default: i32) -> i32 {
        let known = self
            .options
            .dict_get(name)
            .ok()
            .flatten()
            .and_then(|value| value.int().ok());
        known
            .and_then(|value| i32::try_from(value).ok())
            .unwrap_or(default)
    }
}

impl From<ReturnExit> for Exit {
    fn from(exit: ReturnExit) -> Exit {
        Exit::Return(exit)
    }
}

impl Exit {
    /// The error in it, if it is one.
    pub fn as_error(&self) -> Option<&TclError> {
        match self {
            Exit::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Tcl's number for it.
    pub fn code(&self) -> i32 {
        match self {
            Exit::Error(_) => sys::TCL_ERROR,
            Exit::Return(_) => sys::TCL_RETURN,
            Exit::Break => sys::TCL_BREAK,
            Exit::Continue => sys::TCL_CONTINUE,
            Exit::Code(code, _) => *code,
        }
    }
}

/// What a script's end means where nothing is above it.
pub trait Settle {
    /// At the top `return` is a normal end; `break`, `continue` and unknown codes are errors, as in Tcl.
    fn settle(self) -> Result<Obj, TclError>;
}

impl Settle for Outcome {
    fn settle(self) -> Result<Obj, TclError> {
        let mut exit = match self {
            Ok(value) => return Ok(value),
            Err(exit) => exit,
        };
        if let Exit::Return(returned) = exit {
            if returned.level() > 1 {
                return Ok(returned.value);
            }
            let value = returned.value.clone();
            exit = match returned.code() {
                sys::TCL_OK | sys::TCL_RETURN => return Ok(value),
                sys::TCL_ERROR => return Err(returned_error(&returned)),
                sys::TCL_BREAK => Exit::Break,
                sys::TCL_CONTINUE => Exit::Continue,
                code => Exit::Code(code, value),
            };
        }
        Err(match exit {
            Exit::Error(error) => error,
            Exit::Break => TclError::new("invoked \"break\" outside of a loop"),
            Exit::Continue => TclError::new("invoked \"continue\" outside of a loop"),
            Exit::Code(code, _) => TclError::new(format!("command returned bad code: {code}")),
            Exit::Return(returned) => return Ok(returned.value),
        })
    }
}

/// Turns what an evaluation answered into an outcome.
///
/// # Safety
/// `interp` is a live interpreter of this thread that has just answered `code`.
pub(crate) unsafe fn from_code(interp: *mut sys::Tcl_Interp, code: c_int) -> Outcome {
    // SAFETY: the caller's promise, for all calls below; the result always exists.
    unsafe {
        if code == sys::TCL_OK {
            return Ok(Obj::share(sys::Tcl_GetObjResult(interp)));
        }
        if code == sys::TCL_ERROR {
            return Err(Exit::Error(TclError::take(interp)));
        }
        let value = Obj::share(sys::Tcl_GetObjResult(interp));
        let exit = match code {
            sys::TCL_RETURN => {
                let options = Obj::share(sys::Tcl_GetReturnOptions(interp, code));
                Exit::Return(ReturnExit { value, options })
            }
            sys::TCL_BREAK => Exit::Break,
            sys::TCL_CONTINUE => Exit::Continue,
            _ => Exit::Code(code, value),
        };
        sys::Tcl_ResetResult(interp);
        Err(exit)
    }
}

/// Leaves an outcome in an interpreter and answers Tcl's number for it.
///
/// # Safety
/// `interp` is a live interpreter of this thread.
pub(crate) unsafe fn into_code(interp: *mut sys::Tcl_Interp, outcome: Outcome) -> c_int {
    // SAFETY: live interpreter; Tcl takes its own references to the values.
    unsafe {
        match outcome {
            Ok(value) => {
                sys::Tcl_SetObjResult(interp, value.as_ptr());
                sys::TCL_OK
            }
            Err(Exit::Error(error)) => error.give(interp),
            Err(Exit::Return(returned)) => {
                sys::Tcl_SetObjResult(interp, returned.value.as_ptr());
                // Keeps -code, -level and all other options; answers TCL_RETURN, or the code itself at level 0.
                sys::Tcl_SetReturnOptions(interp, returned.options.as_ptr())
            }
            Err(Exit::Break) => {
                sys::Tcl_ResetResult(interp);
                sys::TCL_BREAK
            }
            Err(Exit::Continue) => {
                sys::Tcl_ResetResult(interp);
                sys::TCL_CONTINUE
            }
            Err(Exit::Code(code, value)) => {
                sys::Tcl_SetObjResult(interp, value.as_ptr());
                code
            }
        }
    }
}

/// A saved interpreter state; released if nobody restores it.
pub(crate) struct State(pub(crate) sys::Tcl_InterpState);

impl State {
    pub(crate) fn into_raw(self) -> sys::Tcl_InterpState {
        let state = self.0;
        std::mem::forget(self);
        state
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state has not been restored (`into_raw` forgets it). It holds values, no interpreter.
        unsafe { sys::Tcl_DiscardInterpState(self.0) };
    }
}

fn returned_error(returned: &ReturnExit) -> TclError {
    let mut error = TclError::new(returned.value.text());
    if let Some(code) = option(&returned.options, "-errorcode") {
        error.inner.code = code;
    }
    if let Some(info) = option(&returned.options, "-errorinfo").filter(|info| !info.is_empty()) {
        error.inner.trace = OnceCell::from(info);
    }
    error
}

fn option(options: &obj::Obj, name: &str) -> Option<String> {
    options
        .dict_get(name)
        .ok()
        .flatten()
        .map(|value| value.text())
}
