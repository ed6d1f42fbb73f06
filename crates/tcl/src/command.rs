//! The one door through which Tcl calls Rust: words in, outcome out, panics stopped.
use crate::interp::Interp;
use crate::obj::{self, Obj};
use crate::outcome::{self, Exit, Outcome, TclError};
use crate::{sys, text};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

static PANICS: AtomicU64 = AtomicU64::new(0);
static PANIC_HOOK: RwLock<Option<Box<dyn Fn(&str) + Send + Sync>>> = RwLock::new(None);

/// How many panics have been stopped at the border since the process began.
pub fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Sets who is told of a panic stopped at the border: "internal error in command NAME: MESSAGE".
pub fn on_panic(hook: impl Fn(&str) + Send + Sync + 'static) {
    *PANIC_HOOK
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Box::new(hook));
}

/// A registered command.
pub(crate) struct Closure {
    name: Box<str>,
    run: Box<dyn Fn(&Interp, &[Obj]) -> Outcome>,
}

/// # Safety
/// `interp` is a live interpreter of this thread.
pub(crate) unsafe fn register(
    interp: *mut sys::Tcl_Interp,
    name: &str,
    run: Box<dyn Fn(&Interp, &[Obj]) -> Outcome>,
) {
    let closure = Rc::new(Closure {
        name: name.into(),
        run,
    });
    let data = Rc::into_raw(closure).cast_mut().cast::<c_void>();
    let name = text::to_c(name);
    // SAFETY: live interpreter. The reference travels in `data` and is released by `delete`, which Tcl calls once.
    unsafe { sys::create_command(interp, name.as_ptr(), trampoline, data, delete) };
}

thread_local! {
    static CURRENT: Cell<*mut sys::Tcl_Interp> = const { Cell::new(std::ptr::null_mut()) };
}

/// The interpreter at work on this thread, until the guard is dropped.
pub(crate) struct Current(*mut sys::Tcl_Interp);

impl Current {
    #[inline]
    pub(crate) fn enter(interp: *mut sys::Tcl_Interp) -> Current {
        Current(CURRENT.replace(interp))
    }
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs something that fails inside the interpreter at work, for its message, and leaves that interpreter as it was.
pub(crate) fn in_current(f: &mut dyn FnMut(*mut sys::Tcl_Interp) -> bool) -> Option<TclError> {
    let interp = CURRENT.get();
    if interp.is_null() {
        return None;
    }
    // SAFETY: CURRENT is set only while the interpreter evaluates, so it lives; the saved state is restored below.
    unsafe {
        let state = sys::Tcl_SaveInterpState(interp, sys::TCL_OK);
        sys::Tcl_ResetResult(interp);
        // To Tcl this is a fresh error of the running command: no trace yet.
        let error = (!f(interp)).then(|| TclError::take_plain(interp));
        sys::Tcl_RestoreInterpState(interp, state);
        error
    }
}

/// Runs code that Tcl called and stops its panics.
pub(crate) fn guarded<R>(what: &str, f: impl FnOnce() -> R) -> Result<R, TclError> {
    // The closure's captures may be left half changed by a panic. Commands are written so that this is their own
    // affair: shared state is behind locks without poisoning, and the error ends the request.
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic without a message".to_owned());
        // Dropping a payload may panic again.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        let told = catch_unwind(AssertUnwindSafe(|| {
            if let Some(hook) = &*PANIC_HOOK
                .read()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
            {
                hook(&format!("internal error in {what}: {message}"));
            }
        }));
        drop(told);
        TclError::new(format!("internal error in {what}")).with_code(&["NAVIS", "PANIC"])
    })
}

/// Every call from Tcl to a Rust command.
///
/// # Safety
/// Called by Tcl with the data of `register`, a live interpreter and `count` words it holds during the call.
unsafe extern "C" fn trampoline(
    data: *mut c_void,
    interp: *mut sys::Tcl_Interp,
    count: sys::CommandCount,
    words: *const *mut sys::Tcl_Obj,
) -> c_int {
    let closure = data.cast_const().cast::<Closure>();
    // SAFETY: `data` is the reference made in `register`; the one taken here keeps the closure alive when the command
    // deletes itself while it runs.
    let closure = unsafe {
        Rc::increment_strong_count(closure);
        Rc::from_raw(closure)
    };
    // SAFETY: Tcl holds a reference to each word until the command is done.
    let words = unsafe { obj::lend(words, count as usize) };
    let _current = Current::enter(interp);
    let result = guarded_command(&closure, || {
        // SAFETY: the interpreter lives during the call, and whoever evaluates in one keeps it alive.
        let outcome = unsafe { Interp::view(interp, |interp| (closure.run)(interp, words)) };
        // SAFETY: as above; the values are given back under the same guard, since dropping them may run Rust code.
        unsafe { outcome::into_code(interp, outcome) }
    });
    match result {
        Ok(code) => code,
        // SAFETY: live interpreter.
        Err(error) => unsafe { outcome::into_code(interp, Err(Exit::Error(error))) },
    }
}

fn guarded_command(closure: &Closure, f: impl FnOnce() -> c_int) -> Result<c_int, TclError> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(code) => Ok(code),
        Err(payload) => guarded(&format!("command {}", closure.name), || {
            std::panic::resume_unwind(payload)
        }),
    }
}

/// Releases a command's closure; Tcl calls it once, when the command goes.
///
/// # Safety
/// `data` is the reference made in `register`.
unsafe extern "C" fn delete(data: *mut c_void) {
    // SAFETY: the caller's promise.
    let closure = unsafe { Rc::from_raw(data.cast_const().cast::<Closure>()) };
    let name = closure.name.clone();
    // There is nobody to give an error to; the panic is counted and told.
    drop(guarded(&format!("deletion of command {name}"), move || {
        drop(closure)
    }));
}
