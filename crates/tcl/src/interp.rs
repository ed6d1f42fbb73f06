//! An interpreter: scripts in, outcomes out, variables, commands.
use crate::obj::{self, Lent, Obj};
use crate::outcome::{self, Outcome, State, TclError};
use crate::{command, data, sys, text, thread};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

/// A Tcl interpreter. It belongs to its thread and is deleted when the owner drops it.
///
/// All methods take `&self`: a command may evaluate a script that calls the command again.
pub struct Interp {
    pointer: *mut sys::Tcl_Interp,
    owned: bool,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*mut ()>,
}

/// What `subst` substitutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubstFlags {
    pub commands: bool,
    pub variables: bool,
    pub backslashes: bool,
}

impl SubstFlags {
    pub const ALL: SubstFlags = SubstFlags {
        commands: true,
        variables: true,
        backslashes: true,
    };
}

impl Interp {
    /// A new interpreter with Tcl's script library (about 1.2 ms and 0.4 MB).
    pub fn create() -> Result<Interp, TclError> {
        let interp = Interp::create_bare();
        // SAFETY: live interpreter of this thread.
        match unsafe { sys::Tcl_Init(interp.raw()) } {
            sys::TCL_OK => Ok(interp),
            // SAFETY: Tcl_Init has just failed in this interpreter.
            _ => Err(unsafe { TclError::take(interp.raw()) }),
        }
    }

    /// A new interpreter with the built-in commands only: no `unknown`, no packages.
    pub fn create_bare() -> Interp {
        thread::begin();
        // SAFETY: the library is initialised; the interpreter belongs to this thread from here on.
        let pointer = unsafe { sys::Tcl_CreateInterp() };
        Interp {
            pointer,
            owned: true,
            thread: PhantomData,
        }
    }

    /// Evaluates a script once, in the current scope, without compiling it.
    pub fn eval(&self, script: &str) -> Outcome {
        self.eval_flags(script, 0)
    }

    /// Evaluates a script once, in the global scope.
    pub fn eval_global(&self, script: &str) -> Outcome {
        self.eval_flags(script, sys::TCL_EVAL_GLOBAL)
    }

    /// Evaluates a value, which keeps the compiled form for the next time.
    pub fn eval_obj(&self, script: &Obj) -> Outcome {
        self.eval_obj_flags(script, 0)
    }

    /// As [`Interp::eval_obj`], in the global scope.
    pub fn eval_obj_global(&self, script: &Obj) -> Outcome {
        self.eval_obj_flags(script, sys::TCL_EVAL_GLOBAL)
    }

    /// Lets the next script end with `break`, `continue` or another code: for the outermost script of an interpreter
    /// Tcl makes an error of it otherwise.
    pub fn allow_exceptions(&self) {
        // SAFETY: live interpreter.
        unsafe { sys::Tcl_AllowExceptions(self.raw()) }
    }

    /// Calls a command with the words as they are: nothing is parsed or substituted.
    pub fn call(&self, words: &[Obj]) -> Outcome {
        self.call_flags(words, 0)
    }

    /// As [`Interp::call`], in the global scope.
    pub fn call_global(&self, words: &[Obj]) -> Outcome {
        self.call_flags(words, sys::TCL_EVAL_GLOBAL)
    }

    /// Evaluates a file. Without an encoding, the system's (8.6) or UTF-8 (9).
    pub fn source(&self, file: &Path, encoding: Option<&str>) -> Outcome {
        let path = Obj::from(file.to_string_lossy());
        let encoding = encoding.map(text::to_c);
        self.run(|interp| {
            let encoding = encoding
                .as_ref()
                .map_or(ptr::null(), |encoding| encoding.as_ptr());
            // SAFETY: live interpreter and value; the name ends with a NUL or is null.
            unsafe { sys::Tcl_FSEvalFileEx(interp, path.as_ptr(), encoding) }
        })
    }

    /// Substitutes commands, variables and backslashes as `subst` does.
    pub fn subst(&self, text: &Obj, flags: SubstFlags) -> Outcome {
        let mut bits = 0;
        for (wanted, bit) in [
            (flags.commands, sys::TCL_SUBST_COMMANDS),
            (flags.variables, sys::TCL_SUBST_VARIABLES),
            (flags.backslashes, sys::TCL_SUBST_BACKSLASHES),
        ] {
            bits |= if wanted { bit } else { 0 };
        }
        let interp = self.raw();
        let _current = command::Current::enter(interp);
        // SAFETY: live interpreter, live value; the answer is a fresh value or null after an error.
        unsafe {
            let answer = sys::Tcl_SubstObj(interp, text.as_ptr(), bits);
            if answer.is_null() {
                return Err(TclError::take(interp).into());
            }
            Ok(Obj::share(answer))
        }
    }

    /// Makes a command. The first word it gets is its name as the script wrote it.
    ///
    /// A panic inside becomes a Tcl error with the code `NAVIS PANIC`, is counted ([`crate::panics`]) and told
    /// ([`crate::on_panic`]).
    pub fn register(&self, name: &str, run: impl Fn(&Interp, &[Obj]) -> Outcome + 'static) {
        // SAFETY: live interpreter of this thread.
        unsafe { command::register(self.raw(), name, Box::new(run)) };
    }

    /// Deletes a command; whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        let name = text::to_c(name);
        // SAFETY: live interpreter, name ends with a NUL.
        unsafe { sys::Tcl_DeleteCommand(self.raw(), name.as_ptr()) == 0 }
    }

    /// Whether a script in the current namespace finds the command; resolvers are asked.
    pub fn has_command(&self, name: &str) -> bool {
        !self.find_command(name).is_null()
    }

    /// The full name of a command, "::ns::name".
    pub fn command_full_name(&self, name: &str) -> Option<String> {
        let command = self.find_command(name);
        if command.is_null() {
            return None;
        }
        let out = Obj::new();
        // SAFETY: live interpreter, a command found just now, a fresh value.
        unsafe { sys::Tcl_GetCommandFullName(self.raw(), command, out.as_ptr()) };
        Some(out.text())
    }

    /// Renames a command; an empty new name deletes it.
    pub fn rename(&self, old: &str, new: &str) -> Outcome<()> {
        self.call(&["::rename".into(), old.into(), new.into()])
            .map(drop)
    }

    /// The value of a variable of the current scope; "array(element)" is understood.
    pub fn get(&self, name: &str) -> Option<Obj> {
        self.get_flags(name, 0)
    }

    /// The value of a global variable.
    pub fn get_global(&self, name: &str) -> Option<Obj> {
        self.get_flags(name, sys::TCL_GLOBAL_ONLY)
    }

    /// Sets a variable of the current scope; "array(element)" is understood.
    pub fn set(&self, name: &str, value: impl Into<Obj>) -> Outcome<()> {
        self.set_flags(&Obj::from(name), None, value.into(), 0)
    }

    /// Sets a global variable.
    pub fn set_global(&self, name: &str, value: impl Into<Obj>) -> Outcome<()> {
        self.set_flags(&Obj::from(name), None, value.into(), sys::TCL_GLOBAL_ONLY)
    }

    /// Sets an element of an array whatever characters the key has.
    pub fn set_element(&self, array: &str, key: &str, value: impl Into<Obj>) -> Outcome<()> {
        self.set_flags(&Obj::from(array), Some(&Obj::from(key)), value.into(), 0)
    }

    /// Removes a variable of the current scope; whether there was one.
    pub fn unset(&self, name: &str) -> bool {
        self.unset_flags(name, 0)
    }

    /// Removes a global variable; whether there was one.
    pub fn unset_global(&self, name: &str) -> bool {
        self.unset_flags(name, sys::TCL_GLOBAL_ONLY)
    }

    /// The result that the last evaluation left. After a failure it is empty: the error has it.
    pub fn result(&self) -> Obj {
        // SAFETY: live interpreter; there always is a result.
        unsafe { Obj::share(sys::Tcl_GetObjResult(self.raw())) }
    }

    /// Empties the result.
    pub fn reset_result(&self) {
        // SAFETY: live interpreter.
        unsafe { sys::Tcl_ResetResult(self.raw()) };
    }

    /// The trace of the last error, `::errorInfo`.
    pub fn error_info(&self) -> String {
        self.get_global("errorInfo")
            .map(|info| info.text())
            .unwrap_or_default()
    }

    /// The line of the script at work in which the last error happened; the first is 1.
    pub fn error_line(&self) -> i64 {
        // SAFETY: live interpreter of this thread.
        i64::from(unsafe { sys::Tcl_GetErrorLine(self.raw()) })
    }

    /// Keeps result and error state; the guard puts them back.
    pub fn save_state(&self) -> SavedState<'_> {
        // SAFETY: live interpreter.
        let state = State(unsafe { sys::Tcl_SaveInterpState(self.raw(), sys::TCL_OK) });
        SavedState {
            interp: self,
            state: Some(state),
        }
    }

    /// Whether it is a safe interpreter.
    pub fn is_safe(&self) -> bool {
        // SAFETY: live interpreter.
        unsafe { sys::Tcl_IsSafe(self.raw()) != 0 }
    }

    /// Whether the interpreter is being deleted.
    pub fn is_deleted(&self) -> bool {
        // SAFETY: the memory of the interpreter lives as long as this handle.
        unsafe { sys::Tcl_InterpDeleted(self.raw()) != 0 }
    }

    /// The depth of procedure calls; 0 at the top.
    pub fn level(&self) -> usize {
        let _state = self.save_state();
        let level = self.call(&["::info".into(), "level".into()]);
        level
            .ok()
            .and_then(|level| level.int().ok())
            .and_then(|level| usize::try_from(level).ok())
            .unwrap_or(0)
    }

    /// The full name of the namespace at work, "::" at the top.
    pub fn current_namespace(&self) -> String {
        // SAFETY: live interpreter; its current namespace lives, and so does the name during the copy.
        unsafe {
            let namespace = sys::Tcl_GetCurrentNamespace(self.raw());
            text::from_c((*namespace).fullName).into_owned()
        }
    }

    /// Lends a child interpreter (`interp create name`). It is kept alive during the call.
    pub fn with_child<R>(&self, name: &str, f: impl FnOnce(&Interp) -> R) -> Option<R> {
        let name = text::to_c(name);
        // SAFETY: live interpreter, name ends with a NUL.
        let child = unsafe { sys::child(self.raw(), name.as_ptr()) };
        if child.is_null() {
            return None;
        }
        let _kept = Kept::new(child);
        // SAFETY: the child is a live interpreter of this thread, preserved until `_kept` goes.
        Some(unsafe { Interp::view(child, f) })
    }

    /// Lends an interpreter that somebody else owns.
    ///
    /// # Safety
    /// `pointer` is an interpreter of this thread that lives during the call.
    pub(crate) unsafe fn view<R>(pointer: *mut sys::Tcl_Interp, f: impl FnOnce(&Interp) -> R) -> R {
        f(&Interp {
            pointer,
            owned: false,
            thread: PhantomData,
        })
    }

    /// The pointer for a call to Tcl.
    #[inline]
    pub(crate) fn raw(&self) -> *mut sys::Tcl_Interp {
        Lent::check();
        self.pointer
    }

    pub(crate) fn run(&self, f: impl FnOnce(*mut sys::Tcl_Interp) -> c_int) -> Outcome {
        let interp = self.raw();
        let _current = command::Current::enter(interp);
        let code = f(interp);
        // SAFETY: live interpreter that has just answered `code`.
        let outcome = unsafe { outcome::from_code(interp, code) };
        if outcome.is_err() {
            // A cancelled evaluation leaves its mark, which would cancel the next one too. Not forced: it goes only
            // when nothing is under way.
            // SAFETY: live interpreter.
            unsafe { sys::TclResetCancellation(interp, 0) };
        }
        outcome
    }

    fn eval_flags(&self, script: &str, flags: c_int) -> Outcome {
        // Tcl 9 looks at the byte behind the script, and at that of an empty one: there must be one.
        let mut script = text::to_tcl(script).into_owned();
        script.push(0);
        // SAFETY: live interpreter; the script outlives the call.
        self.run(|interp| unsafe { sys::eval(interp, &script[..script.len() - 1], flags) })
    }

    fn eval_obj_flags(&self, script: &Obj, flags: c_int) -> Outcome {
        // SAFETY: live interpreter; we hold the script.
        self.run(|interp| unsafe { sys::Tcl_EvalObjEx(interp, script.as_ptr(), flags) })
    }

    fn call_flags(&self, words: &[Obj], flags: c_int) -> Outcome {
        if words.is_empty() {
            return Ok(Obj::new());
        }
        // SAFETY: live interpreter; we hold every word during the call.
        self.run(|interp| unsafe { sys::eval_words(interp, obj::as_raw(words), flags) })
    }

    fn find_command(&self, name: &str) -> sys::Tcl_Command {
        let name = text::to_c(name);
        // SAFETY: live interpreter, name ends with a NUL; a null namespace is the current one.
        unsafe { sys::Tcl_FindCommand(self.raw(), name.as_ptr(), ptr::null_mut(), 0) }
    }

    fn get_flags(&self, name: &str, flags: c_int) -> Option<Obj> {
        let name = Obj::from(name);
        // SAFETY: live interpreter and value; the answer is null or lives in the variable.
        unsafe {
            let value = sys::Tcl_ObjGetVar2(self.raw(), name.as_ptr(), ptr::null_mut(), flags);
            (!value.is_null()).then(|| Obj::share(value))
        }
    }

    fn set_flags(&self, name: &Obj, key: Option<&Obj>, value: Obj, flags: c_int) -> Outcome<()> {
        let interp = self.raw();
        let key = key.map_or(ptr::null_mut(), Obj::as_ptr);
        let flags = flags | sys::TCL_LEAVE_ERR_MSG;
        // SAFETY: live interpreter and values; after a failure the interpreter has the message.
        unsafe {
            let stored = sys::Tcl_ObjSetVar2(interp, name.as_ptr(), key, value.as_ptr(), flags);
            if stored.is_null() {
                return Err(TclError::take_plain(interp).into());
            }
        }
        Ok(())
    }

    fn unset_flags(&self, name: &str, flags: c_int) -> bool {
        let name = text::to_c(name);
        // SAFETY: live interpreter, name ends with a NUL.
        unsafe { sys::Tcl_UnsetVar2(self.raw(), name.as_ptr(), ptr::null(), flags) == sys::TCL_OK }
    }
}

impl Drop for Interp {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        data::forget(self.pointer);
        // SAFETY: we own the interpreter. No evaluation is under way: each holds a borrow of the owner. Memory that
        // somebody has preserved stays until released.
        unsafe { sys::Tcl_DeleteInterp(self.pointer) };
    }
}

/// Puts an interpreter's result and error state back when dropped.
pub struct SavedState<'a> {
    interp: &'a Interp,
    state: Option<State>,
}

impl Drop for SavedState<'_> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            // SAFETY: the interpreter is borrowed, so it lives; restoring consumes the state.
            unsafe { sys::Tcl_RestoreInterpState(self.interp.pointer, state.into_raw()) };
        }
    }
}

/// Keeps the memory of an interpreter that others may delete.
struct Kept(*mut sys::Tcl_Interp);

impl Kept {
    fn new(interp: *mut sys::Tcl_Interp) -> Kept {
        // SAFETY: live interpreter; released in Drop.
        unsafe { sys::Tcl_Preserve(interp.cast()) };
        Kept(interp)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: preserved in `new`.
        unsafe { sys::Tcl_Release(self.0.cast()) };
    }
}
