//! Where Tcl's life in a process and in a thread begins and ends.
use crate::sys;
use std::cell::Cell;
use std::ffi::CString;
use std::path::Path;
use std::sync::{Once, OnceLock};

static BEGUN: Once = Once::new();

/// Prepares the library; the first call counts. `program` is what `info nameofexecutable` answers.
pub fn initialize(program: &Path) {
    BEGUN.call_once(|| {
        use std::os::unix::ffi::OsStrExt;
        let name = CString::new(program.as_os_str().as_bytes()).unwrap_or_default();
        // SAFETY: called once, before any other function of the library; the name ends with a NUL.
        unsafe { sys::Tcl_FindExecutable(name.as_ptr()) };
    });
}

/// Called by everything that makes interpreters or channels: prepares the library and the end of the thread.
pub(crate) fn begin() {
    if !BEGUN.is_completed() {
        initialize(&std::env::current_exe().unwrap_or_default());
    }
    // Where thread-locals are gone already the thread is at its end.
    let _ = END.try_with(|end| end.armed.set(true));
}

/// The version of the library in use, "8.6.13".
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let (mut major, mut minor, mut patch, mut kind) = (0, 0, 0, 0);
        // SAFETY: four valid places; needs no initialisation.
        unsafe { sys::Tcl_GetVersion(&mut major, &mut minor, &mut patch, &mut kind) };
        let mark = ["a", "b", "."]
            .get(usize::try_from(kind).unwrap_or(2))
            .unwrap_or(&".");
        format!("{major}.{minor}{mark}{patch}")
    })
}

/// Runs a thread's work and releases what Tcl keeps for the thread (about 190 kB), after everything of `f` is dropped.
///
/// To be called outermost in every thread that uses Tcl. Values and interpreters must not survive `f` (in thread-locals,
/// say). A thread that forgets it is cleaned up when its thread-locals are dropped: late, but it must happen, since Tcl
/// recognises threads by an id that the system uses again.
pub fn run_thread<R>(f: impl FnOnce() -> R) -> R {
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            END.with(End::finish);
        }
    }
    begin();
    let _ended = Ended;
    f()
}

struct End {
    armed: Cell<bool>,
}

thread_local! {
    /// Made before the first interpreter of a thread, hence dropped after thread-locals that came into use later.
    static END: End = const { End { armed: Cell::new(false) } };
}

impl End {
    fn finish(&self) {
        if self.armed.replace(false) {
            // SAFETY: the thread's last use of Tcl; a later one begins anew and arms this again.
            unsafe { sys::Tcl_FinalizeThread() };
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.finish();
    }
}
