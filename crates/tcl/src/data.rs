//! What Rust keeps with an interpreter: typed data, resolvers, the way to cancel. Dropped together with it.
use crate::interp::Interp;
use crate::resolver::Resolvers;
use crate::{command, sys};
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

const KEY: &CStr = c"navis";

#[derive(Default)]
pub(crate) struct Attached {
    typed: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
    pub(crate) resolvers: Resolvers,
    cancel: RefCell<Option<Arc<Slot>>>,
}

impl Interp {
    /// The data of this type, if some was set.
    pub fn data<T: 'static>(&self) -> Option<Rc<T>> {
        let attached = attached(self.raw())?;
        let data = attached.typed.borrow().get(&TypeId::of::<T>()).cloned()?;
        data.downcast().ok()
    }

    /// Keeps data with the interpreter, one value per type; it is dropped when the interpreter is deleted.
    pub fn set_data<T: 'static>(&self, data: Rc<T>) {
        let old = self
            .attached()
            .typed
            .borrow_mut()
            .insert(TypeId::of::<T>(), data);
        // Dropped here, with no borrow held: its Drop may ask for other data.
        drop(old);
    }

    /// Removes and returns the data of this type.
    pub fn take_data<T: 'static>(&self) -> Option<Rc<T>> {
        let attached = attached(self.raw())?;
        let data = attached.typed.borrow_mut().remove(&TypeId::of::<T>())?;
        data.downcast().ok()
    }

    /// A handle with which another thread can end what this interpreter evaluates.
    pub fn canceller(&self) -> Canceller {
        let pointer = self.raw();
        let attached = self.attached();
        let mut cancel = attached.cancel.borrow_mut();
        let slot = cancel.get_or_insert_with(|| Arc::new(Slot(Mutex::new(Some(Target(pointer))))));
        Canceller { slot: slot.clone() }
    }

    pub(crate) fn attached(&self) -> Rc<Attached> {
        let pointer = self.raw();
        attached(pointer).unwrap_or_else(|| {
            let attached = Rc::new(Attached::default());
            let data = Rc::into_raw(attached.clone()).cast_mut().cast::<c_void>();
            // SAFETY: live interpreter; the reference in `data` is released by `delete`, which Tcl calls once.
            unsafe { sys::Tcl_SetAssocData(pointer, KEY.as_ptr(), Some(delete), data) };
            attached
        })
    }
}

/// Ends an evaluation from another thread.
#[derive(Clone)]
pub struct Canceller {
    slot: Arc<Slot>,
}

impl Canceller {
    /// Makes the evaluation fail with "eval canceled" at its next command, past every `catch`. Whether the interpreter
    /// was still there.
    pub fn cancel(&self) -> bool {
        let target = self
            .slot
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*target {
            // SAFETY: made for any thread; the interpreter exists, since its deletion empties the slot under this
            // lock. Without a message no value crosses threads.
            Some(target) => unsafe {
                sys::Tcl_CancelEval(
                    target.0,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    sys::TCL_CANCEL_UNWIND,
                ) == sys::TCL_OK
            },
            None => false,
        }
    }
}

struct Slot(Mutex<Option<Target>>);

struct Target(*mut sys::Tcl_Interp);

// SAFETY: the pointer is used by one function only, Tcl_CancelEval, which is made to be called from any thread.
unsafe impl Send for Target {}

thread_local! {
    /// The last interpreter asked for and what is attached to it: most threads have one interpreter, and Tcl's own
    /// table costs a string hash.
    static LAST: Cell<(*mut sys::Tcl_Interp, *const Attached)> = const { Cell::new((ptr::null_mut(), ptr::null())) };
}

pub(crate) fn attached(interp: *mut sys::Tcl_Interp) -> Option<Rc<Attached>> {
    let (last, known) = LAST.get();
    let pointer = if last == interp && !known.is_null() {
        known
    } else {
        // SAFETY: live interpreter; KEY is ours, so the data is what `Interp::attached` stored.
        let found = unsafe { sys::Tcl_GetAssocData(interp, KEY.as_ptr(), ptr::null_mut()) };
        if found.is_null() {
            return None;
        }
        LAST.set((interp, found.cast()));
        found.cast_const().cast()
    };
    // SAFETY: the interpreter holds one reference until `delete`, which also empties LAST.
    unsafe {
        Rc::increment_strong_count(pointer);
        Some(Rc::from_raw(pointer))
    }
}

/// Stops cancellers before an interpreter goes.
pub(crate) fn forget(interp: *mut sys::Tcl_Interp) {
    if let Some(attached) = attached(interp) {
        attached.close();
    }
}

impl Attached {
    fn close(&self) {
        if let Some(slot) = self.cancel.borrow_mut().take() {
            *slot
                .0
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        }
    }
}

/// # Safety
/// Called by Tcl, once, with the data of `Interp::attached`.
unsafe extern "C" fn delete(data: *mut c_void, interp: *mut sys::Tcl_Interp) {
    if LAST.get().0 == interp {
        LAST.set((ptr::null_mut(), ptr::null()));
    }
    // SAFETY: the caller's promise.
    let attached = unsafe { Rc::from_raw(data.cast_const().cast::<Attached>()) };
    attached.close();
    drop(command::guarded(
        "deletion of an interpreter's data",
        move || drop(attached),
    ));
}
