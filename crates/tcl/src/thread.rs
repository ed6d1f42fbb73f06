//! Where Tcl's life in a process and in a thread begins and ends.
use crate::sys;
use std::ffi::CString;
use std::path::Path;
use std::sync::Once;
use std::sync::OnceLock;

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

pub(crate) fn initialize_once() {
    if !BEGUN.is_completed() {
        initialize(&std::env::current_exe().unwrap_or_default());
    }
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
/// To be called once, outermost, in every thread that uses Tcl. Values and interpreters must not survive `f` (in
/// thread-locals, say).
pub fn run_thread<R>(f: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            // SAFETY: the thread's last use of Tcl: `f` has consumed itself, also when it panicked.
            unsafe { sys::Tcl_FinalizeThread() };
        }
    }
    initialize_once();
    let _end = End;
    f()
}
