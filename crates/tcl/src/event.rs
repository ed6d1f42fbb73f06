//! Tcl's event loop of a thread.
use crate::interp::Interp;
use crate::{obj::Lent, sys};
use std::ffi::c_int;

/// Which events to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFlags {
    bits: c_int,
}

impl EventFlags {
    /// All kinds, and wait for one.
    pub const ALL: EventFlags = EventFlags {
        bits: sys::TCL_ALL_EVENTS,
    };
    pub const FILES: EventFlags = EventFlags {
        bits: sys::TCL_FILE_EVENTS,
    };
    pub const TIMERS: EventFlags = EventFlags {
        bits: sys::TCL_TIMER_EVENTS,
    };
    pub const IDLE: EventFlags = EventFlags {
        bits: sys::TCL_IDLE_EVENTS,
    };

    /// Only what is ready now.
    pub const fn without_waiting(self) -> EventFlags {
        EventFlags {
            bits: self.bits | sys::TCL_DONT_WAIT,
        }
    }

    pub const fn and(self, other: EventFlags) -> EventFlags {
        EventFlags {
            bits: self.bits | other.bits,
        }
    }
}

/// Handles one event; false when there is none, or nothing left to wait for.
///
/// Handlers may evaluate scripts in any interpreter of this thread.
pub fn do_one_event(flags: EventFlags) -> bool {
    Lent::check();
    // SAFETY: may be called by any thread that has Tcl; handlers are Tcl's, or ours behind their own guards.
    unsafe { sys::Tcl_DoOneEvent(flags.bits) != 0 }
}

/// Handles all events that are ready now, up to `most`; how many there were.
pub fn drain(_interp: &Interp, most: usize) -> usize {
    (0..most)
        .take_while(|_| do_one_event(EventFlags::ALL.without_waiting()))
        .count()
}
