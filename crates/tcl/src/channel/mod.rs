//! Tcl channels: found by name, made from file descriptors or in Rust, read, written, moved between threads.
mod driver;

pub use driver::{Driver, Side};

use crate::interp::Interp;
use crate::obj::{Lent, Obj};
use crate::outcome::TclError;
use crate::{list, sys, text};
use std::ffi::{c_int, c_void};
use std::io::{self, SeekFrom};
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;

/// In which directions a channel is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub read: bool,
    pub write: bool,
}

impl Access {
    pub const READ: Access = Access {
        read: true,
        write: false,
    };
    pub const WRITE: Access = Access {
        read: false,
        write: true,
    };
    pub const BOTH: Access = Access {
        read: true,
        write: true,
    };

    fn bits(self) -> c_int {
        let (read, write) = (sys::TCL_READABLE, sys::TCL_WRITABLE);
        (if self.read { read } else { 0 }) | (if self.write { write } else { 0 })
    }

    fn from_bits(bits: c_int) -> Access {
        Access {
            read: bits & sys::TCL_READABLE != 0,
            write: bits & sys::TCL_WRITABLE != 0,
        }
    }
}

/// A standard channel of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    Input,
    Output,
    Error,
}

impl Standard {
    fn bits(self) -> c_int {
        match self {
            Standard::Input => sys::TCL_STDIN,
            Standard::Output => sys::TCL_STDOUT,
            Standard::Error => sys::TCL_STDERR,
        }
    }
}

/// A reference to a channel of this thread. A script that closes the channel meanwhile takes it out of its interpreter;
/// the channel itself is closed when the last reference goes.
pub struct Channel {
    pointer: sys::Tcl_Channel,
}

impl Channel {
    /// The channel that a script calls `name`.
    pub fn find(interp: &Interp, name: &str) -> Result<Channel, TclError> {
        let raw = interp.raw();
        let name = text::to_c(name);
        // SAFETY: live interpreter, name ends with a NUL; after a failure the interpreter has the message.
        unsafe {
            let pointer = sys::Tcl_GetChannel(raw, name.as_ptr(), ptr::null_mut());
            if pointer.is_null() {
                return Err(TclError::take_plain(raw));
            }
            Ok(Channel::share(pointer))
        }
    }

    /// A channel of a file, pipe or device.
    pub fn from_fd(fd: OwnedFd, access: Access) -> Channel {
        crate::thread::begin();
        // SAFETY: Tcl takes over the descriptor, which is passed as a pointer-sized number.
        unsafe {
            Channel::share(sys::Tcl_MakeFileChannel(
                number(fd.into_raw_fd()),
                access.bits(),
            ))
        }
    }

    /// A channel of a connected stream socket, open in both directions.
    pub fn from_socket(fd: OwnedFd) -> Channel {
        crate::thread::begin();
        // SAFETY: Tcl takes over the descriptor.
        unsafe { Channel::share(sys::Tcl_MakeTcpClientChannel(number(fd.into_raw_fd()))) }
    }

    /// A channel whose work Rust does. `kind` names the sort, `name` the channel.
    pub fn from_driver(
        kind: &'static str,
        name: &str,
        driver: impl Driver,
        access: Access,
    ) -> Channel {
        crate::thread::begin();
        // SAFETY: the pointer is a channel just made.
        unsafe { Channel::share(driver::create(kind, name, Box::new(driver), access.bits())) }
    }

    /// The thread's standard channel, if it is open.
    pub fn standard(which: Standard) -> Option<Channel> {
        Lent::check();
        crate::thread::begin();
        // SAFETY: may be called by any thread that has Tcl; answers null or a live channel.
        unsafe {
            let pointer = sys::Tcl_GetStdChannel(which.bits());
            (!pointer.is_null()).then(|| Channel::share(pointer))
        }
    }

    /// Makes this the thread's standard channel. Interpreters that exist already know it after [`Channel::register`].
    pub fn make_standard(&self, which: Standard) {
        // SAFETY: live channel. Tcl's thread table holds it without a reference; the one forgotten here stands for it.
        unsafe {
            sys::Tcl_RegisterChannel(ptr::null_mut(), self.raw());
            sys::Tcl_SetStdChannel(self.raw(), which.bits());
        }
    }

    /// Shows the channel to the scripts of an interpreter.
    pub fn register(&self, interp: &Interp) {
        // SAFETY: live interpreter and channel.
        unsafe { sys::Tcl_RegisterChannel(interp.raw(), self.raw()) };
    }

    /// Hides the channel from the scripts of an interpreter; it stays open while this handle lives.
    pub fn unregister(&self, interp: &Interp) -> Result<(), TclError> {
        // SAFETY: live interpreter and channel; our reference keeps it open.
        match unsafe { sys::Tcl_UnregisterChannel(interp.raw(), self.raw()) } {
            sys::TCL_OK => Ok(()),
            // SAFETY: live interpreter, which has the message.
            _ => Err(unsafe { TclError::take_plain(interp.raw()) }),
        }
    }

    /// The name that scripts use, "file5".
    pub fn name(&self) -> String {
        // SAFETY: live channel; the name is copied.
        unsafe { text::from_c(sys::Tcl_GetChannelName(self.raw())).into_owned() }
    }

    /// The sort of channel: "file", "tcp", or what the driver said.
    pub fn kind(&self) -> String {
        // SAFETY: live channel; types and their names live as long as their channels.
        unsafe { text::from_c((*sys::Tcl_GetChannelType(self.raw())).typeName).into_owned() }
    }

    pub fn access(&self) -> Access {
        // SAFETY: live channel.
        Access::from_bits(unsafe { sys::Tcl_GetChannelMode(self.raw()) })
    }

    /// Reads bytes through the channel's buffer: on a blocking channel until `buffer` is full or the file ends. 0 is
    /// the end of the file; a non-blocking channel that has nothing yet answers `WouldBlock`.
    ///
    /// End-of-line translation applies unless [`Channel::set_binary`] was called.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: live channel.
        let count = unsafe { sys::read(self.raw(), buffer) };
        match usize::try_from(count) {
            Ok(0) if !buffer.is_empty() && self.is_blocked() => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            Ok(count) => Ok(count),
            Err(_) => Err(last_error()),
        }
    }

    /// Reads up to `most` bytes; fewer only at the end of the file, or when a non-blocking channel has no more now.
    pub fn read_bytes(&self, most: usize) -> io::Result<Vec<u8>> {
        // Read in steps: `most` may be a script's wish, not a size anybody has.
        const STEP: usize = 64 * 1024;
        let mut out = Vec::new();
        while out.len() < most {
            let begin = out.len();
            out.resize(begin + STEP.min(most - begin), 0);
            let count = match self.read(&mut out[begin..]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && begin > 0 => 0,
                Err(error) => return Err(error),
            };
            out.truncate(begin + count);
            if count == 0 {
                break;
            }
        }
        Ok(out)
    }

    /// Reads bytes to the end of the file.
    pub fn read_to_end(&self) -> io::Result<Vec<u8>> {
        self.read_bytes(usize::MAX)
    }

    /// Reads up to `most` characters (`None`: to the end) in the channel's encoding, as `read` does.
    pub fn read_text(&self, most: Option<usize>) -> io::Result<Obj> {
        let out = Obj::new();
        // SAFETY: live channel, fresh value.
        match unsafe { sys::read_chars(self.raw(), out.as_ptr(), most.unwrap_or(usize::MAX)) } {
            count if count < 0 => Err(last_error()),
            _ => Ok(out),
        }
    }

    /// Reads a line without its end, as `gets` does. `None` is the end of the file.
    pub fn read_line(&self) -> io::Result<Option<Obj>> {
        let out = Obj::new();
        // SAFETY: live channel, fresh value.
        match unsafe { sys::gets(self.raw(), out.as_ptr()) } {
            count if count >= 0 => Ok(Some(out)),
            _ if self.is_eof() => Ok(None),
            _ if self.is_blocked() => Err(io::ErrorKind::WouldBlock.into()),
            _ => Err(last_error()),
        }
    }

    /// Writes bytes into the channel's buffer (end-of-line translation applies unless binary).
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        // Tcl 8.6 takes sizes of 32 bits.
        for part in bytes.chunks(1 << 30) {
            // SAFETY: live channel.
            if unsafe { sys::write(self.raw(), part) } < 0 {
                return Err(last_error());
            }
        }
        Ok(())
    }

    /// Writes a value in the channel's encoding, as `puts -nonewline` does.
    pub fn write_obj(&self, value: &Obj) -> io::Result<()> {
        // SAFETY: live channel and value.
        check(unsafe { sys::write_obj(self.raw(), value.as_ptr()) } >= 0)
    }

    /// Writes out what is buffered; on a non-blocking channel in the background.
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: live channel.
        check(unsafe { sys::Tcl_Flush(self.raw()) } == sys::TCL_OK)
    }

    /// Whether the last read met the end of the file.
    pub fn is_eof(&self) -> bool {
        // SAFETY: live channel.
        unsafe { sys::Tcl_Eof(self.raw()) != 0 }
    }

    /// Whether the last read got less than it wanted because there was nothing yet.
    pub fn is_blocked(&self) -> bool {
        // SAFETY: live channel.
        unsafe { sys::Tcl_InputBlocked(self.raw()) != 0 }
    }

    /// Moves the position, in bytes.
    pub fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let (offset, origin) = match to {
            SeekFrom::Start(offset) => (i64::try_from(offset).unwrap_or(i64::MAX), 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        // SAFETY: live channel.
        u64::try_from(unsafe { sys::Tcl_Seek(self.raw(), offset, origin) })
            .map_err(|_| last_error())
    }

    /// The position in bytes; `None` when the channel has none.
    pub fn tell(&self) -> Option<u64> {
        // SAFETY: live channel.
        u64::try_from(unsafe { sys::Tcl_Tell(self.raw()) }).ok()
    }

    /// Cuts the file at a length, in bytes.
    pub fn truncate(&self, length: u64) -> io::Result<()> {
        let length = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: live channel.
        check(unsafe { sys::Tcl_TruncateChannel(self.raw(), length) } == sys::TCL_OK)
    }

    /// An option, as `fconfigure CHANNEL NAME` answers.
    pub fn option(&self, interp: &Interp, name: &str) -> Result<String, TclError> {
        let name = text::to_c(name);
        let mut out = driver::DString::new();
        let raw = interp.raw();
        // SAFETY: live interpreter and channel, an initialised string; after a failure the interpreter has the message.
        unsafe {
            match sys::Tcl_GetChannelOption(raw, self.raw(), name.as_ptr(), out.as_mut()) {
                sys::TCL_OK => Ok(out.text()),
                _ => Err(TclError::take_plain(raw)),
            }
        }
    }

    /// Sets an option, as `fconfigure CHANNEL NAME VALUE` does.
    pub fn set_option(&self, interp: &Interp, name: &str, value: &str) -> Result<(), TclError> {
        let (name, value) = (text::to_c(name), text::to_c(value));
        let raw = interp.raw();
        // SAFETY: live interpreter and channel, both texts end with a NUL.
        unsafe {
            match sys::Tcl_SetChannelOption(raw, self.raw(), name.as_ptr(), value.as_ptr()) {
                sys::TCL_OK => Ok(()),
                _ => Err(TclError::take_plain(raw)),
            }
        }
    }

    /// Bytes in, bytes out: no encoding, no end-of-line translation.
    pub fn set_binary(&self) {
        self.set_plain_option(c"-translation", c"binary");
    }

    pub fn set_blocking(&self, blocking: bool) -> io::Result<()> {
        check(self.set_plain_option(c"-blocking", if blocking { c"1" } else { c"0" }))
    }

    /// A duplicate of the descriptor below. What the channel has buffered is not seen through it.
    pub fn fd(&self, side: Side) -> io::Result<OwnedFd> {
        let direction = match side {
            Side::Read => sys::TCL_READABLE,
            Side::Write => sys::TCL_WRITABLE,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: live channel, a valid place for the answer.
        if unsafe { sys::Tcl_GetChannelHandle(self.raw(), direction, &mut handle) } != sys::TCL_OK {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let fd = RawFd::try_from(handle as isize).map_err(|_| io::ErrorKind::Unsupported)?;
        if fd < 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the channel has just named this descriptor as its own and is open, so it stays open during the call.
        unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()
    }

    /// Takes the channel out of this thread. Fails, with the handle, when scripts elsewhere share it.
    pub fn cut(self, interp: &Interp) -> Result<CutChannel, Channel> {
        let (raw, pointer) = (interp.raw(), self.raw());
        // SAFETY: live interpreter and channel; our reference keeps it open. Cutting needs a channel nobody else in
        // this thread refers to, with no handlers.
        unsafe {
            let known = sys::Tcl_IsChannelRegistered(raw, pointer) != 0;
            if known {
                sys::Tcl_UnregisterChannel(raw, pointer);
            }
            if sys::Tcl_IsChannelShared(pointer) != 0 {
                if known {
                    sys::Tcl_RegisterChannel(raw, pointer);
                }
                return Err(self);
            }
            sys::Tcl_ClearChannelHandlers(pointer);
            sys::Tcl_CutChannel(pointer);
        }
        // The reference travels.
        std::mem::forget(self);
        Ok(CutChannel { pointer })
    }

    /// # Safety
    /// `pointer` is a live channel of this thread.
    unsafe fn share(pointer: sys::Tcl_Channel) -> Channel {
        // SAFETY: the caller's promise; without an interpreter this is a plain reference.
        unsafe { sys::Tcl_RegisterChannel(ptr::null_mut(), pointer) };
        Channel { pointer }
    }

    fn raw(&self) -> sys::Tcl_Channel {
        Lent::check();
        self.pointer
    }

    fn set_plain_option(&self, name: &std::ffi::CStr, value: &std::ffi::CStr) -> bool {
        // SAFETY: live channel; without an interpreter no message is left.
        unsafe {
            sys::Tcl_SetChannelOption(ptr::null_mut(), self.raw(), name.as_ptr(), value.as_ptr())
                == sys::TCL_OK
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: gives back the reference taken in `share`; the last one closes the channel.
        unsafe { sys::Tcl_UnregisterChannel(ptr::null_mut(), self.pointer) };
    }
}

/// A channel between threads. Dropped there, it is closed.
pub struct CutChannel {
    pointer: sys::Tcl_Channel,
}

// SAFETY: a cut channel is in no thread's list, has no handlers and only this reference; Tcl made cutting and splicing
// for this journey (the Thread extension's transfer does the same). Drivers made in Rust are `Send`.
unsafe impl Send for CutChannel {}

impl CutChannel {
    /// Makes it a channel of this thread.
    pub fn splice(self) -> Channel {
        crate::thread::begin();
        // SAFETY: cut in `Channel::cut`; the reference travels on.
        unsafe { sys::Tcl_SpliceChannel(self.pointer) };
        let channel = Channel {
            pointer: self.pointer,
        };
        std::mem::forget(self);
        channel
    }
}

impl Drop for CutChannel {
    fn drop(&mut self) {
        // SAFETY: as in `splice`; the channel handle made here closes it.
        unsafe { sys::Tcl_SpliceChannel(self.pointer) };
        drop(Channel {
            pointer: self.pointer,
        });
    }
}

/// The names of the channels that an interpreter's scripts can use.
pub fn names(interp: &Interp) -> Vec<String> {
    let _state = interp.save_state();
    // SAFETY: live interpreter; the names are its result, put back by `_state`.
    unsafe { sys::Tcl_GetChannelNames(interp.raw()) };
    list::parse(&interp.result().text()).unwrap_or_default()
}

fn number(fd: RawFd) -> *mut c_void {
    fd as isize as *mut c_void
}

fn check(well: bool) -> io::Result<()> {
    if well { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> io::Error {
    // SAFETY: reads the thread's error number.
    io::Error::from_raw_os_error(unsafe { sys::Tcl_GetErrno() })
}
