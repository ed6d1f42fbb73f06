//! What only Tcl 8.6 has: sizes of 32 bits, the older names.
use super::{CmdDeleteProc, ObjCmdProc, Tcl_Command, Tcl_Interp, Tcl_Obj};
use std::ffi::{c_char, c_int, c_long, c_void};

pub type Tcl_Size = c_int;
pub type CommandCount = c_int;
pub type Tcl_DictEpoch = c_int;

/// Strings hold characters above U+FFFF as surrogate pairs.
pub const ASTRAL_AS_PAIRS: bool = true;

/// Marks a channel type that closes by `close2Proc`.
pub const TCL_CLOSE2PROC: *mut c_void = std::ptr::without_provenance_mut(1);

pub type SeekProc = unsafe extern "C" fn(*mut c_void, c_long, c_int, *mut c_int) -> c_int;

/// 8.6 asks for the narrow seek function wherever the wide one is given, and then calls the wide one.
pub const fn narrow_seek(proc_: SeekProc) -> Option<SeekProc> {
    Some(proc_)
}

/// A size for Tcl.
///
/// # Panics
/// 8.6 has 32 bits for sizes; a longer value would be cut silently, or end in Tcl's own panic.
pub fn size(length: usize) -> Tcl_Size {
    Tcl_Size::try_from(length).expect("Tcl 8.6 holds at most 2 GB in one value")
}

// SAFETY: the declarations follow tclDecls.h of 8.6.13.
unsafe extern "C" {
    fn Tcl_CreateObjCommand(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        proc_: ObjCmdProc,
        data: *mut c_void,
        delete: Option<CmdDeleteProc>,
    ) -> Tcl_Command;
    fn Tcl_GetByteArrayFromObj(obj: *mut Tcl_Obj, length: *mut c_int) -> *mut u8;
    fn Tcl_GetSlave(interp: *mut Tcl_Interp, name: *const c_char) -> *mut Tcl_Interp;
}

pub unsafe fn create_command(
    interp: *mut Tcl_Interp,
    name: *const c_char,
    proc_: ObjCmdProc,
    data: *mut c_void,
    delete: CmdDeleteProc,
) -> Tcl_Command {
    // SAFETY: live interpreter, name ends with a NUL, `data` belongs to `delete` from here on.
    unsafe { Tcl_CreateObjCommand(interp, name, proc_, data, Some(delete)) }
}

/// The bytes of a byte array. For other values 8.6 takes the low byte of every character.
pub unsafe fn bytes_from_obj(obj: *mut Tcl_Obj) -> Option<(*const u8, usize)> {
    let mut length = 0;
    // SAFETY: live value of this thread.
    let bytes = unsafe { Tcl_GetByteArrayFromObj(obj, &mut length) };
    Some((bytes, length as usize))
}

pub unsafe fn child(interp: *mut Tcl_Interp, name: *const c_char) -> *mut Tcl_Interp {
    // SAFETY: live interpreter, name ends with a NUL.
    unsafe { Tcl_GetSlave(interp, name) }
}
