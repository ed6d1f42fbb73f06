//! What only Tcl 9.0 has: sizes of 64 bits, the newer names.
use super::{CmdDeleteProc, ObjCmdProc, Tcl_Command, Tcl_Interp, Tcl_Obj};
use std::ffi::{c_char, c_int, c_long, c_void};

pub type Tcl_Size = isize;
pub type CommandCount = isize;
pub type Tcl_DictEpoch = usize;

/// Strings hold all characters as UTF-8 does.
pub const ASTRAL_AS_PAIRS: bool = false;

/// Marks a channel type that closes by `close2Proc`.
pub const TCL_CLOSE2PROC: *mut c_void = std::ptr::null_mut();

pub type SeekProc = unsafe extern "C" fn(*mut c_void, c_long, c_int, *mut c_int) -> c_int;

/// 9 has only the wide seek function; the field is unused.
pub const fn narrow_seek(_proc: SeekProc) -> Option<SeekProc> {
    None
}

/// A size for Tcl. No Rust allocation is longer than `isize::MAX`.
pub fn size(length: usize) -> Tcl_Size {
    length as Tcl_Size
}

// SAFETY: the declarations follow tclDecls.h of 9.0.1.
unsafe extern "C" {
    fn Tcl_CreateObjCommand2(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        proc_: ObjCmdProc,
        data: *mut c_void,
        delete: Option<CmdDeleteProc>,
    ) -> Tcl_Command;
    fn Tcl_GetBytesFromObj(
        interp: *mut Tcl_Interp,
        obj: *mut Tcl_Obj,
        length: *mut Tcl_Size,
    ) -> *mut u8;
    fn Tcl_GetChild(interp: *mut Tcl_Interp, name: *const c_char) -> *mut Tcl_Interp;
}

pub unsafe fn create_command(
    interp: *mut Tcl_Interp,
    name: *const c_char,
    proc_: ObjCmdProc,
    data: *mut c_void,
    delete: CmdDeleteProc,
) -> Tcl_Command {
    // SAFETY: live interpreter, name ends with a NUL, `data` belongs to `delete` from here on.
    unsafe { Tcl_CreateObjCommand2(interp, name, proc_, data, Some(delete)) }
}

/// The bytes of a byte array, or of a text whose characters are all below 256.
pub unsafe fn bytes_from_obj(obj: *mut Tcl_Obj) -> Option<(*const u8, usize)> {
    let mut length = 0;
    // SAFETY: live value of this thread; without an interpreter no message is left.
    let bytes = unsafe { Tcl_GetBytesFromObj(std::ptr::null_mut(), obj, &mut length) };
    (!bytes.is_null()).then_some((bytes.cast_const(), length as usize))
}

pub unsafe fn child(interp: *mut Tcl_Interp, name: *const c_char) -> *mut Tcl_Interp {
    // SAFETY: live interpreter, name ends with a NUL.
    unsafe { Tcl_GetChild(interp, name) }
}
