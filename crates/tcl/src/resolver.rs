//! Being told of a command look-up before it happens, so that commands can be made on first use.
use crate::interp::Interp;
use crate::{command, data, sys, text};
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int};
use std::ptr;
use std::rc::Rc;

type Resolve = dyn Fn(&Interp, &str, &str, ResolveFlags);

#[derive(Default)]
pub(crate) struct Resolvers {
    all: RefCell<Vec<(String, Rc<Resolve>)>>,
    at_work: Cell<bool>,
}

/// How the name is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolveFlags {
    bits: c_int,
}

impl ResolveFlags {
    /// Only the global namespace counts.
    pub fn global_only(self) -> bool {
        self.bits & sys::TCL_GLOBAL_ONLY != 0
    }

    /// Only the namespace at hand counts: no search path, no fallback to the global one.
    pub fn namespace_only(self) -> bool {
        self.bits & sys::TCL_NAMESPACE_ONLY != 0
    }
}

impl Interp {
    /// `f` is told of each look-up of a command: interpreter, name as written, full name of the namespace at hand,
    /// flags. It may define commands; then the normal look-up goes on. Look-ups made by `f` itself are not told.
    ///
    /// The interpreter's result and error state are kept around `f`.
    pub fn add_resolver(
        &self,
        name: &str,
        f: impl Fn(&Interp, &str, &str, ResolveFlags) + 'static,
    ) {
        let attached = self.attached();
        let mut all = attached.resolvers.all.borrow_mut();
        let begin = all.is_empty();
        all.retain(|(known, _)| known != name);
        all.push((name.to_owned(), Rc::new(f)));
        drop(all);
        if begin {
            // SAFETY: live interpreter; the name lives on in Tcl's copy. Without variable procedures Tcl asks for
            // commands only.
            unsafe {
                sys::Tcl_AddInterpResolvers(
                    self.raw(),
                    c"navis".as_ptr(),
                    Some(resolve),
                    ptr::null_mut(),
                    ptr::null_mut(),
                );
            }
        }
    }

    /// Removes a resolver; whether there was one.
    pub fn remove_resolver(&self, name: &str) -> bool {
        let attached = self.attached();
        let mut all = attached.resolvers.all.borrow_mut();
        let before = all.len();
        all.retain(|(known, _)| known != name);
        let (after, removed) = (all.len(), all.len() < before);
        drop(all);
        if removed && after == 0 {
            // SAFETY: live interpreter, name ends with a NUL.
            unsafe { sys::Tcl_RemoveInterpResolvers(self.raw(), c"navis".as_ptr()) };
        }
        removed
    }
}

/// # Safety
/// Called by Tcl with a live interpreter, a name that ends with a NUL and the namespace at hand.
unsafe extern "C" fn resolve(
    interp: *mut sys::Tcl_Interp,
    name: *const c_char,
    context: *mut sys::Tcl_Namespace,
    flags: c_int,
    _command: *mut sys::Tcl_Command,
) -> c_int {
    // TCL_CONTINUE: the normal look-up goes on.
    let Some(attached) = data::attached(interp) else {
        return sys::TCL_CONTINUE;
    };
    let resolvers = &attached.resolvers;
    if resolvers.at_work.replace(true) {
        return sys::TCL_CONTINUE;
    }
    let all: Vec<Rc<Resolve>> = resolvers
        .all
        .borrow()
        .iter()
        .map(|(_, resolve)| resolve.clone())
        .collect();
    // SAFETY: Tcl lends the name and the namespace during the call; they are copied because `f` may delete them.
    let (name, context) = unsafe {
        let context = if context.is_null() {
            "::".into()
        } else {
            text::from_c((*context).fullName).into_owned()
        };
        (text::from_c(name).into_owned(), context)
    };
    let _current = command::Current::enter(interp);
    let answer = command::guarded(&format!("resolver of {name}"), || {
        // SAFETY: the interpreter lives: it is looking up a command.
        unsafe {
            Interp::view(interp, |interp| {
                let _state = interp.save_state();
                for resolve in all {
                    resolve(interp, &name, &context, ResolveFlags { bits: flags });
                }
            });
        }
    });
    drop(answer);
    resolvers.at_work.set(false);
    sys::TCL_CONTINUE
}
