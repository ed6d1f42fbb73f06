//! The C declarations of libtcl that 8.6 and 9.0 have in common; `v8` and `v9` add the rest under the same names.
#![allow(non_camel_case_types, non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_void};

#[cfg(not(tcl9))]
mod v8;
#[cfg(not(tcl9))]
pub use v8::*;
#[cfg(tcl9)]
mod v9;
#[cfg(tcl9)]
pub use v9::*;

#[repr(C)]
pub struct Tcl_Interp {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct Tcl_Command_ {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct Tcl_Channel_ {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct Tcl_InterpState_ {
    _opaque: [u8; 0],
}
pub type Tcl_Command = *mut Tcl_Command_;
pub type Tcl_Channel = *mut Tcl_Channel_;
pub type Tcl_InterpState = *mut Tcl_InterpState_;
pub type Tcl_WideInt = i64;

/// The public head of a namespace; more fields follow.
#[repr(C)]
pub struct Tcl_Namespace {
    pub name: *const c_char,
    pub fullName: *const c_char,
}

/// The head of a type; only the name is read.
#[repr(C)]
pub struct Tcl_ObjType {
    pub name: *const c_char,
}

#[repr(C)]
pub struct Tcl_Obj {
    pub refCount: Tcl_Size,
    pub bytes: *mut c_char,
    pub length: Tcl_Size,
    pub typePtr: *const Tcl_ObjType,
    pub internalRep: [*mut c_void; 2],
}

/// Both fields of the iteration state are Tcl's own.
#[repr(C)]
pub struct Tcl_DictSearch {
    pub next: *mut c_void,
    pub epoch: Tcl_DictEpoch,
    pub dictionaryPtr: *mut c_void,
}

#[repr(C)]
pub struct Tcl_DString {
    pub string: *mut c_char,
    pub length: Tcl_Size,
    pub spaceAvl: Tcl_Size,
    pub staticSpace: [c_char; 200],
}

#[repr(C)]
pub struct Tcl_ChannelType {
    pub typeName: *const c_char,
    pub version: *mut c_void,
    pub closeProc: *mut c_void,
    pub inputProc:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_char, c_int, *mut c_int) -> c_int>,
    pub outputProc:
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *mut c_int) -> c_int>,
    pub seekProc:
        Option<unsafe extern "C" fn(*mut c_void, std::ffi::c_long, c_int, *mut c_int) -> c_int>,
    pub setOptionProc: Option<
        unsafe extern "C" fn(*mut c_void, *mut Tcl_Interp, *const c_char, *const c_char) -> c_int,
    >,
    pub getOptionProc: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *mut Tcl_Interp,
            *const c_char,
            *mut Tcl_DString,
        ) -> c_int,
    >,
    pub watchProc: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    pub getHandleProc: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_void) -> c_int>,
    pub close2Proc: Option<unsafe extern "C" fn(*mut c_void, *mut Tcl_Interp, c_int) -> c_int>,
    pub blockModeProc: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
    pub flushProc: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub handlerProc: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
    pub wideSeekProc:
        Option<unsafe extern "C" fn(*mut c_void, Tcl_WideInt, c_int, *mut c_int) -> Tcl_WideInt>,
    pub threadActionProc: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    pub truncateProc: Option<unsafe extern "C" fn(*mut c_void, Tcl_WideInt) -> c_int>,
}

pub type ObjCmdProc =
    unsafe extern "C" fn(*mut c_void, *mut Tcl_Interp, CommandCount, *const *mut Tcl_Obj) -> c_int;
pub type CmdDeleteProc = unsafe extern "C" fn(*mut c_void);
pub type InterpDeleteProc = unsafe extern "C" fn(*mut c_void, *mut Tcl_Interp);
pub type FileProc = unsafe extern "C" fn(*mut c_void, c_int);
pub type TimerProc = unsafe extern "C" fn(*mut c_void);
pub type ResolveCmdProc = unsafe extern "C" fn(
    *mut Tcl_Interp,
    *const c_char,
    *mut Tcl_Namespace,
    c_int,
    *mut Tcl_Command,
) -> c_int;

pub const TCL_OK: c_int = 0;
pub const TCL_ERROR: c_int = 1;
pub const TCL_RETURN: c_int = 2;
pub const TCL_BREAK: c_int = 3;
pub const TCL_CONTINUE: c_int = 4;

pub const TCL_GLOBAL_ONLY: c_int = 1;
pub const TCL_NAMESPACE_ONLY: c_int = 2;
pub const TCL_LEAVE_ERR_MSG: c_int = 0x200;
pub const TCL_EVAL_GLOBAL: c_int = 0x2_0000;
pub const TCL_CANCEL_UNWIND: c_int = 0x10_0000;
pub const TCL_SUBST_COMMANDS: c_int = 1;
pub const TCL_SUBST_VARIABLES: c_int = 2;
pub const TCL_SUBST_BACKSLASHES: c_int = 4;
pub const TCL_READABLE: c_int = 2;
pub const TCL_WRITABLE: c_int = 4;
pub const TCL_STDIN: c_int = 2;
pub const TCL_STDOUT: c_int = 4;
pub const TCL_STDERR: c_int = 8;
pub const TCL_CLOSE_READ: c_int = 2;
pub const TCL_CLOSE_WRITE: c_int = 4;
pub const TCL_DONT_WAIT: c_int = 2;
pub const TCL_FILE_EVENTS: c_int = 8;
pub const TCL_TIMER_EVENTS: c_int = 16;
pub const TCL_IDLE_EVENTS: c_int = 32;
pub const TCL_ALL_EVENTS: c_int = !TCL_DONT_WAIT;
pub const TCL_MODE_NONBLOCKING: c_int = 1;
pub const TCL_CHANNEL_VERSION_5: *mut c_void = std::ptr::without_provenance_mut(5);

// SAFETY: the declarations follow tcl.h, tclDecls.h and tclIntDecls.h of 8.6.13 and 9.0.1; the ones below are the same
// in both (pointers, int and Tcl_WideInt only), and `tests/layout.rs` compares the structures and constants.
unsafe extern "C" {
    pub fn Tcl_FindExecutable(argv0: *const c_char);
    pub fn Tcl_GetVersion(
        major: *mut c_int,
        minor: *mut c_int,
        patch: *mut c_int,
        kind: *mut c_int,
    );
    pub fn Tcl_CreateInterp() -> *mut Tcl_Interp;
    pub fn Tcl_Init(interp: *mut Tcl_Interp) -> c_int;
    pub fn Tcl_DeleteInterp(interp: *mut Tcl_Interp);
    pub fn Tcl_InterpDeleted(interp: *mut Tcl_Interp) -> c_int;
    pub fn Tcl_IsSafe(interp: *mut Tcl_Interp) -> c_int;
    pub fn Tcl_Preserve(data: *mut c_void);
    pub fn Tcl_Release(data: *mut c_void);
    pub fn Tcl_FinalizeThread();

    pub fn TclFreeObj(obj: *mut Tcl_Obj);
    pub fn Tcl_NewObj() -> *mut Tcl_Obj;
    pub fn Tcl_NewWideIntObj(value: Tcl_WideInt) -> *mut Tcl_Obj;
    pub fn Tcl_NewDoubleObj(value: f64) -> *mut Tcl_Obj;
    pub fn Tcl_NewDictObj() -> *mut Tcl_Obj;
    pub fn Tcl_DuplicateObj(obj: *mut Tcl_Obj) -> *mut Tcl_Obj;
    pub fn Tcl_GetWideIntFromObj(
        interp: *mut Tcl_Interp,
        obj: *mut Tcl_Obj,
        value: *mut Tcl_WideInt,
    ) -> c_int;
    pub fn Tcl_GetDoubleFromObj(
        interp: *mut Tcl_Interp,
        obj: *mut Tcl_Obj,
        value: *mut f64,
    ) -> c_int;
    pub fn Tcl_GetBooleanFromObj(
        interp: *mut Tcl_Interp,
        obj: *mut Tcl_Obj,
        value: *mut c_int,
    ) -> c_int;
    pub fn Tcl_ListObjAppendElement(
        interp: *mut Tcl_Interp,
        list: *mut Tcl_Obj,
        element: *mut Tcl_Obj,
    ) -> c_int;
    pub fn Tcl_DictObjPut(
        interp: *mut Tcl_Interp,
        dict: *mut Tcl_Obj,
        key: *mut Tcl_Obj,
        value: *mut Tcl_Obj,
    ) -> c_int;
    pub fn Tcl_DictObjGet(
        interp: *mut Tcl_Interp,
        dict: *mut Tcl_Obj,
        key: *mut Tcl_Obj,
        value: *mut *mut Tcl_Obj,
    ) -> c_int;
    pub fn Tcl_DictObjFirst(
        interp: *mut Tcl_Interp,
        dict: *mut Tcl_Obj,
        search: *mut Tcl_DictSearch,
        key: *mut *mut Tcl_Obj,
        value: *mut *mut Tcl_Obj,
        done: *mut c_int,
    ) -> c_int;
    pub fn Tcl_DictObjNext(
        search: *mut Tcl_DictSearch,
        key: *mut *mut Tcl_Obj,
        value: *mut *mut Tcl_Obj,
        done: *mut c_int,
    );
    pub fn Tcl_DictObjDone(search: *mut Tcl_DictSearch);

    pub fn Tcl_EvalObjEx(interp: *mut Tcl_Interp, script: *mut Tcl_Obj, flags: c_int) -> c_int;
    pub fn Tcl_FSEvalFileEx(
        interp: *mut Tcl_Interp,
        path: *mut Tcl_Obj,
        encoding: *const c_char,
    ) -> c_int;
    pub fn Tcl_SubstObj(interp: *mut Tcl_Interp, text: *mut Tcl_Obj, flags: c_int) -> *mut Tcl_Obj;
    pub fn Tcl_GetObjResult(interp: *mut Tcl_Interp) -> *mut Tcl_Obj;
    pub fn Tcl_SetObjResult(interp: *mut Tcl_Interp, value: *mut Tcl_Obj);
    pub fn Tcl_AllowExceptions(interp: *mut Tcl_Interp);
    pub fn Tcl_ResetResult(interp: *mut Tcl_Interp);
    pub fn Tcl_SetObjErrorCode(interp: *mut Tcl_Interp, code: *mut Tcl_Obj);
    pub fn Tcl_AppendObjToErrorInfo(interp: *mut Tcl_Interp, text: *mut Tcl_Obj);
    pub fn Tcl_GetErrorLine(interp: *mut Tcl_Interp) -> c_int;
    pub fn Tcl_GetReturnOptions(interp: *mut Tcl_Interp, code: c_int) -> *mut Tcl_Obj;
    pub fn Tcl_SetReturnOptions(interp: *mut Tcl_Interp, options: *mut Tcl_Obj) -> c_int;
    pub fn Tcl_SaveInterpState(interp: *mut Tcl_Interp, status: c_int) -> Tcl_InterpState;
    pub fn Tcl_RestoreInterpState(interp: *mut Tcl_Interp, state: Tcl_InterpState) -> c_int;
    pub fn Tcl_DiscardInterpState(state: Tcl_InterpState);

    pub fn Tcl_ObjSetVar2(
        interp: *mut Tcl_Interp,
        name: *mut Tcl_Obj,
        element: *mut Tcl_Obj,
        value: *mut Tcl_Obj,
        flags: c_int,
    ) -> *mut Tcl_Obj;
    pub fn Tcl_ObjGetVar2(
        interp: *mut Tcl_Interp,
        name: *mut Tcl_Obj,
        element: *mut Tcl_Obj,
        flags: c_int,
    ) -> *mut Tcl_Obj;
    pub fn Tcl_UnsetVar2(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        element: *const c_char,
        flags: c_int,
    ) -> c_int;

    pub fn Tcl_FindCommand(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        context: *mut Tcl_Namespace,
        flags: c_int,
    ) -> Tcl_Command;
    pub fn Tcl_GetCommandFullName(interp: *mut Tcl_Interp, command: Tcl_Command, out: *mut Tcl_Obj);
    pub fn Tcl_DeleteCommand(interp: *mut Tcl_Interp, name: *const c_char) -> c_int;
    pub fn Tcl_GetCurrentNamespace(interp: *mut Tcl_Interp) -> *mut Tcl_Namespace;
    pub fn Tcl_AddInterpResolvers(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        command: Option<ResolveCmdProc>,
        variable: *mut c_void,
        compiled_variable: *mut c_void,
    );
    pub fn Tcl_RemoveInterpResolvers(interp: *mut Tcl_Interp, name: *const c_char) -> c_int;
    pub fn Tcl_GetAssocData(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        delete: *mut Option<InterpDeleteProc>,
    ) -> *mut c_void;
    pub fn Tcl_SetAssocData(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        delete: Option<InterpDeleteProc>,
        data: *mut c_void,
    );
    pub fn Tcl_CancelEval(
        interp: *mut Tcl_Interp,
        result: *mut Tcl_Obj,
        data: *mut c_void,
        flags: c_int,
    ) -> c_int;

    pub fn TclResetCancellation(interp: *mut Tcl_Interp, force: c_int) -> c_int;
    pub fn Tcl_DoOneEvent(flags: c_int) -> c_int;
    pub fn Tcl_SetErrno(errno: c_int);
    pub fn Tcl_GetErrno() -> c_int;
    pub fn Tcl_CreateFileHandler(
        fd: c_int,
        mask: c_int,
        proc_: Option<FileProc>,
        data: *mut c_void,
    );
    pub fn Tcl_DeleteFileHandler(fd: c_int);
    pub fn Tcl_CreateTimerHandler(
        milliseconds: c_int,
        proc_: Option<TimerProc>,
        data: *mut c_void,
    ) -> *mut c_void;
    pub fn Tcl_DeleteTimerHandler(token: *mut c_void);

    pub fn Tcl_CreateChannel(
        kind: *const Tcl_ChannelType,
        name: *const c_char,
        data: *mut c_void,
        mask: c_int,
    ) -> Tcl_Channel;
    pub fn Tcl_MakeFileChannel(handle: *mut c_void, mode: c_int) -> Tcl_Channel;
    pub fn Tcl_MakeTcpClientChannel(handle: *mut c_void) -> Tcl_Channel;
    pub fn Tcl_GetChannel(
        interp: *mut Tcl_Interp,
        name: *const c_char,
        mode: *mut c_int,
    ) -> Tcl_Channel;
    pub fn Tcl_GetChannelName(channel: Tcl_Channel) -> *const c_char;
    pub fn Tcl_GetChannelMode(channel: Tcl_Channel) -> c_int;
    pub fn Tcl_GetChannelType(channel: Tcl_Channel) -> *const Tcl_ChannelType;
    pub fn Tcl_GetChannelHandle(
        channel: Tcl_Channel,
        direction: c_int,
        handle: *mut *mut c_void,
    ) -> c_int;
    pub fn Tcl_GetChannelNames(interp: *mut Tcl_Interp) -> c_int;
    pub fn Tcl_GetChannelOption(
        interp: *mut Tcl_Interp,
        channel: Tcl_Channel,
        option: *const c_char,
        out: *mut Tcl_DString,
    ) -> c_int;
    pub fn Tcl_SetChannelOption(
        interp: *mut Tcl_Interp,
        channel: Tcl_Channel,
        option: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub fn Tcl_RegisterChannel(interp: *mut Tcl_Interp, channel: Tcl_Channel);
    pub fn Tcl_UnregisterChannel(interp: *mut Tcl_Interp, channel: Tcl_Channel) -> c_int;
    pub fn Tcl_IsChannelRegistered(interp: *mut Tcl_Interp, channel: Tcl_Channel) -> c_int;
    pub fn Tcl_IsChannelShared(channel: Tcl_Channel) -> c_int;
    pub fn Tcl_ClearChannelHandlers(channel: Tcl_Channel);
    pub fn Tcl_CutChannel(channel: Tcl_Channel);
    pub fn Tcl_SpliceChannel(channel: Tcl_Channel);
    pub fn Tcl_NotifyChannel(channel: Tcl_Channel, mask: c_int);
    pub fn Tcl_SetStdChannel(channel: Tcl_Channel, kind: c_int);
    pub fn Tcl_GetStdChannel(kind: c_int) -> Tcl_Channel;
    pub fn Tcl_Flush(channel: Tcl_Channel) -> c_int;
    pub fn Tcl_Eof(channel: Tcl_Channel) -> c_int;
    pub fn Tcl_InputBlocked(channel: Tcl_Channel) -> c_int;
    pub fn Tcl_Seek(channel: Tcl_Channel, offset: Tcl_WideInt, mode: c_int) -> Tcl_WideInt;
    pub fn Tcl_Tell(channel: Tcl_Channel) -> Tcl_WideInt;
    pub fn Tcl_TruncateChannel(channel: Tcl_Channel, length: Tcl_WideInt) -> c_int;
    pub fn Tcl_DStringFree(string: *mut Tcl_DString);
}

// The functions whose sizes differ in width: here they take and give `usize`.
// SAFETY: as above, with `Tcl_Size` as the version at hand defines it.
unsafe extern "C" {
    fn Tcl_GetStringFromObj(obj: *mut Tcl_Obj, length: *mut Tcl_Size) -> *mut c_char;
    fn Tcl_NewStringObj(bytes: *const c_char, length: Tcl_Size) -> *mut Tcl_Obj;
    fn Tcl_AppendToObj(obj: *mut Tcl_Obj, bytes: *const c_char, length: Tcl_Size);
    fn Tcl_NewByteArrayObj(bytes: *const u8, length: Tcl_Size) -> *mut Tcl_Obj;
    fn Tcl_NewListObj(count: Tcl_Size, elements: *const *mut Tcl_Obj) -> *mut Tcl_Obj;
    fn Tcl_ListObjGetElements(
        interp: *mut Tcl_Interp,
        list: *mut Tcl_Obj,
        count: *mut Tcl_Size,
        elements: *mut *mut *mut Tcl_Obj,
    ) -> c_int;
    fn Tcl_ListObjLength(
        interp: *mut Tcl_Interp,
        list: *mut Tcl_Obj,
        count: *mut Tcl_Size,
    ) -> c_int;
    fn Tcl_EvalEx(
        interp: *mut Tcl_Interp,
        script: *const c_char,
        length: Tcl_Size,
        flags: c_int,
    ) -> c_int;
    fn Tcl_EvalObjv(
        interp: *mut Tcl_Interp,
        count: Tcl_Size,
        words: *const *mut Tcl_Obj,
        flags: c_int,
    ) -> c_int;
    fn Tcl_Read(channel: Tcl_Channel, buffer: *mut c_char, count: Tcl_Size) -> Tcl_Size;
    fn Tcl_ReadChars(
        channel: Tcl_Channel,
        obj: *mut Tcl_Obj,
        count: Tcl_Size,
        append: c_int,
    ) -> Tcl_Size;
    fn Tcl_GetsObj(channel: Tcl_Channel, obj: *mut Tcl_Obj) -> Tcl_Size;
    fn Tcl_Write(channel: Tcl_Channel, bytes: *const c_char, count: Tcl_Size) -> Tcl_Size;
    fn Tcl_WriteObj(channel: Tcl_Channel, obj: *mut Tcl_Obj) -> Tcl_Size;
    fn Tcl_DStringAppend(
        out: *mut Tcl_DString,
        bytes: *const c_char,
        count: Tcl_Size,
    ) -> *mut c_char;
    fn Tcl_BadChannelOption(
        interp: *mut Tcl_Interp,
        option: *const c_char,
        list: *const c_char,
    ) -> c_int;
}

pub unsafe fn string_from_obj(obj: *mut Tcl_Obj) -> (*const u8, usize) {
    let mut length: Tcl_Size = 0;
    // SAFETY: the caller passes a live value of this thread.
    let bytes = unsafe { Tcl_GetStringFromObj(obj, &mut length) };
    (bytes.cast(), length as usize)
}

pub unsafe fn new_string(bytes: &[u8]) -> *mut Tcl_Obj {
    // SAFETY: Tcl copies the bytes during the call.
    unsafe { Tcl_NewStringObj(bytes.as_ptr().cast(), size(bytes.len())) }
}

pub unsafe fn append(obj: *mut Tcl_Obj, bytes: &[u8]) {
    // SAFETY: the caller passes a live, unshared value of this thread; Tcl copies the bytes.
    unsafe { Tcl_AppendToObj(obj, bytes.as_ptr().cast(), size(bytes.len())) }
}

pub unsafe fn new_bytes(bytes: &[u8]) -> *mut Tcl_Obj {
    // SAFETY: Tcl copies the bytes during the call.
    unsafe { Tcl_NewByteArrayObj(bytes.as_ptr(), size(bytes.len())) }
}

pub unsafe fn new_list(elements: &[*mut Tcl_Obj]) -> *mut Tcl_Obj {
    // SAFETY: all elements are live values of this thread; the list takes its own references.
    unsafe { Tcl_NewListObj(size(elements.len()), elements.as_ptr()) }
}

pub unsafe fn list_elements(
    interp: *mut Tcl_Interp,
    obj: *mut Tcl_Obj,
) -> Result<(*const *mut Tcl_Obj, usize), ()> {
    let mut count: Tcl_Size = 0;
    let mut elements: *mut *mut Tcl_Obj = std::ptr::null_mut();
    // SAFETY: live value, live (or null) interpreter of this thread; both outputs are valid places.
    match unsafe { Tcl_ListObjGetElements(interp, obj, &mut count, &mut elements) } {
        TCL_OK => Ok((elements, count as usize)),
        _ => Err(()),
    }
}

pub unsafe fn list_length(interp: *mut Tcl_Interp, obj: *mut Tcl_Obj) -> Result<usize, ()> {
    let mut count: Tcl_Size = 0;
    // SAFETY: live value, live (or null) interpreter of this thread.
    match unsafe { Tcl_ListObjLength(interp, obj, &mut count) } {
        TCL_OK => Ok(count as usize),
        _ => Err(()),
    }
}

pub unsafe fn eval(interp: *mut Tcl_Interp, script: &[u8], flags: c_int) -> c_int {
    // SAFETY: live interpreter of this thread; the script outlives the call.
    unsafe { Tcl_EvalEx(interp, script.as_ptr().cast(), size(script.len()), flags) }
}

pub unsafe fn eval_words(interp: *mut Tcl_Interp, words: &[*mut Tcl_Obj], flags: c_int) -> c_int {
    // SAFETY: live interpreter; the caller holds a reference to every word during the call.
    unsafe { Tcl_EvalObjv(interp, size(words.len()), words.as_ptr(), flags) }
}

/// Reads up to `buffer.len()` bytes through the channel's buffer; -1 is an error.
pub unsafe fn read(channel: Tcl_Channel, buffer: &mut [u8]) -> isize {
    // SAFETY: live channel; Tcl writes at most the given number of bytes.
    unsafe {
        Tcl_Read(
            channel,
            buffer.as_mut_ptr().cast(),
            size(buffer.len().min(i32::MAX as usize)),
        ) as isize
    }
}

/// Reads up to `count` characters into `obj` (usize::MAX: to the end of file); -1 is an error.
pub unsafe fn read_chars(channel: Tcl_Channel, obj: *mut Tcl_Obj, count: usize) -> isize {
    let count = if count > i32::MAX as usize {
        -1
    } else {
        count as Tcl_Size
    };
    // SAFETY: live channel, live unshared value.
    unsafe { Tcl_ReadChars(channel, obj, count, 0) as isize }
}

/// Reads one line without its end into `obj`; -1 is end of file, an error or nothing yet.
pub unsafe fn gets(channel: Tcl_Channel, obj: *mut Tcl_Obj) -> isize {
    // SAFETY: live channel, live unshared value.
    unsafe { Tcl_GetsObj(channel, obj) as isize }
}

/// Writes bytes as they are (end-of-line translation still applies); -1 is an error.
pub unsafe fn write(channel: Tcl_Channel, bytes: &[u8]) -> isize {
    // SAFETY: live channel; Tcl copies the bytes.
    unsafe { Tcl_Write(channel, bytes.as_ptr().cast(), size(bytes.len())) as isize }
}

/// Writes a value as `puts -nonewline` does; -1 is an error.
pub unsafe fn write_obj(channel: Tcl_Channel, obj: *mut Tcl_Obj) -> isize {
    // SAFETY: live channel, live value.
    unsafe { Tcl_WriteObj(channel, obj) as isize }
}

pub unsafe fn dstring_append(out: *mut Tcl_DString, bytes: &[u8]) {
    // SAFETY: Tcl lent an initialised string for the call.
    unsafe { Tcl_DStringAppend(out, bytes.as_ptr().cast(), size(bytes.len())) };
}

pub unsafe fn bad_channel_option(
    interp: *mut Tcl_Interp,
    option: *const c_char,
    list: *const c_char,
) -> c_int {
    // SAFETY: both strings end with a NUL and live during the call.
    unsafe { Tcl_BadChannelOption(interp, option, list) }
}
