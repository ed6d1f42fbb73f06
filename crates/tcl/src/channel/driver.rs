//! Channels whose work Rust does: a trait, and the functions through which Tcl calls it.
use crate::{command, sys, text};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io::{self, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::rc::Rc;
use std::sync::Mutex;

/// One direction of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Read,
    Write,
}

/// What a channel made in Rust does. `Send`, since channels may move between threads.
///
/// Errors go to scripts as POSIX errors: those with a system code as they are, others by their kind.
pub trait Driver: Send + 'static {
    /// Reads some bytes; 0 is the end of the file.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _ = buffer;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes some of the bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = bytes;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Moves the position; the new one counts from the start.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let _ = to;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Cuts or extends to a length in bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Told when a script sets `-blocking`. Afterwards `read` and `write` may answer `WouldBlock`.
    fn set_blocking(&mut self, blocking: bool) -> io::Result<()> {
        let _ = blocking;
        Ok(())
    }

    /// The descriptor below, for `fileevent`. Without one the channel counts as always ready.
    fn fd(&self, side: Side) -> Option<BorrowedFd<'_>> {
        let _ = side;
        None
    }

    /// The driver's own options with their values, names with the dash.
    fn options(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Sets an own option; `None` when there is no such option, else a message when the value is bad.
    fn set_option(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let _ = (name, value);
        None
    }

    /// Closes one direction. Tcl also calls it for the reading side at the beginning of a full close.
    fn close_side(&mut self, side: Side) -> io::Result<()> {
        let _ = side;
        // Tcl takes EINVAL, and only that, for "cannot be closed in halves".
        Err(Errno::INVAL.into())
    }

    /// Ends the work; afterwards the driver is dropped.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What Tcl keeps for us per channel.
struct Instance {
    driver: RefCell<Box<dyn Driver>>,
    channel: Cell<sys::Tcl_Channel>,
    interest: Cell<c_int>,
    handlers: RefCell<Vec<RawFd>>,
    timer: Cell<*mut c_void>,
}

pub(super) fn create(
    kind: &'static str,
    name: &str,
    driver: Box<dyn Driver>,
    access: c_int,
) -> sys::Tcl_Channel {
    let instance = Rc::new(Instance {
        driver: RefCell::new(driver),
        channel: Cell::new(ptr::null_mut()),
        interest: Cell::new(0),
        handlers: RefCell::new(Vec::new()),
        timer: Cell::new(ptr::null_mut()),
    });
    let data = Rc::into_raw(instance.clone()).cast_mut().cast::<c_void>();
    let name = text::to_c(name);
    // SAFETY: the type lives for ever, Tcl copies the name; the reference in `data` is released by `close`.
    let channel =
        unsafe { sys::Tcl_CreateChannel(channel_type(kind), name.as_ptr(), data, access) };
    instance.channel.set(channel);
    channel
}

/// A Tcl type per sort of channel, made once and kept: channels point at it as long as they live.
fn channel_type(kind: &'static str) -> &'static sys::Tcl_ChannelType {
    struct Known(&'static sys::Tcl_ChannelType);
    // SAFETY: never changed after it was made; the name it points at is never freed.
    unsafe impl Send for Known {}
    static TYPES: Mutex<BTreeMap<&'static str, Known>> = Mutex::new(BTreeMap::new());

    let mut types = TYPES
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = types.entry(kind).or_insert_with(|| {
        let name: &'static CString = Box::leak(Box::new(text::to_c(kind)));
        Known(Box::leak(Box::new(sys::Tcl_ChannelType {
            typeName: name.as_ptr(),
            version: sys::TCL_CHANNEL_VERSION_5,
            closeProc: sys::TCL_CLOSE2PROC,
            inputProc: Some(input),
            outputProc: Some(output),
            seekProc: sys::narrow_seek(seek),
            setOptionProc: Some(set_option),
            getOptionProc: Some(get_option),
            watchProc: Some(watch),
            getHandleProc: Some(get_handle),
            close2Proc: Some(close),
            blockModeProc: Some(block_mode),
            flushProc: None,
            handlerProc: None,
            wideSeekProc: Some(wide_seek),
            threadActionProc: Some(thread_action),
            truncateProc: Some(truncate),
        })))
    });
    known.0
}

/// Runs a driver's method for Tcl: panics and re-entry become errors.
///
/// # Safety
/// `data` is the instance of a channel that is not closed.
unsafe fn with<R>(
    data: *mut c_void,
    f: impl FnOnce(&mut dyn Driver) -> io::Result<R>,
) -> Result<R, Errno> {
    // SAFETY: the caller's promise; the reference taken here keeps the instance if the method closes its own channel.
    let instance = unsafe { instance(data) };
    let answer = command::guarded("channel driver", || {
        match instance.driver.try_borrow_mut() {
            Ok(mut driver) => f(&mut **driver).map_err(|error| errno(&error)),
            Err(_) => Err(Errno::BUSY),
        }
    });
    answer.unwrap_or(Err(Errno::IO))
}

/// # Safety
/// `data` is the instance of a channel that is not closed.
unsafe fn instance(data: *mut c_void) -> Rc<Instance> {
    let pointer = data.cast_const().cast::<Instance>();
    // SAFETY: the caller's promise: Tcl holds one reference until `close`.
    unsafe {
        Rc::increment_strong_count(pointer);
        Rc::from_raw(pointer)
    }
}

fn errno(error: &io::Error) -> Errno {
    if let Some(errno) = Errno::from_io_error(error) {
        return errno;
    }
    match error.kind() {
        io::ErrorKind::WouldBlock => Errno::AGAIN,
        io::ErrorKind::Interrupted => Errno::INTR,
        io::ErrorKind::Unsupported => Errno::OPNOTSUPP,
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::BrokenPipe => Errno::PIPE,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Errno::CONNRESET,
        io::ErrorKind::NotConnected => Errno::NOTCONN,
        io::ErrorKind::TimedOut => Errno::TIMEDOUT,
        io::ErrorKind::NotFound => Errno::NOENT,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::StorageFull => Errno::NOSPC,
        _ => Errno::IO,
    }
}

/// # Safety
/// `code` is null or a place Tcl lent for the error number.
unsafe fn count(answer: Result<usize, Errno>, code: *mut c_int) -> c_int {
    match answer {
        Ok(count) => count as c_int,
        Err(errno) => {
            // SAFETY: the caller's promise.
            unsafe { fail(errno, code) };
            -1
        }
    }
}

/// # Safety
/// `code` is null or a place Tcl lent for the error number.
unsafe fn fail(errno: Errno, code: *mut c_int) {
    if !code.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *code = errno.raw_os_error() };
    }
}

// SAFETY of all functions below: Tcl calls them with the data given to Tcl_CreateChannel until `close` has run, in the
// channel's thread, with buffers and places it lends for the call (manual page Tcl_CreateChannel).

unsafe extern "C" fn input(
    data: *mut c_void,
    buffer: *mut c_char,
    size: c_int,
    code: *mut c_int,
) -> c_int {
    let size = usize::try_from(size).unwrap_or(0);
    // SAFETY: Tcl lends `size` writable bytes, cleared here because Rust may not see uninitialised ones.
    unsafe {
        ptr::write_bytes(buffer, 0, size);
        let buffer = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size);
        count(
            with(data, |driver| {
                driver.read(buffer).map(|count| count.min(size))
            }),
            code,
        )
    }
}

unsafe extern "C" fn output(
    data: *mut c_void,
    bytes: *const c_char,
    size: c_int,
    code: *mut c_int,
) -> c_int {
    let size = usize::try_from(size).unwrap_or(0);
    if size == 0 {
        return 0;
    }
    // SAFETY: Tcl lends `size` bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), size);
        count(
            with(data, |driver| {
                driver.write(bytes).map(|count| count.min(size))
            }),
            code,
        )
    }
}

unsafe extern "C" fn wide_seek(
    data: *mut c_void,
    offset: i64,
    origin: c_int,
    code: *mut c_int,
) -> i64 {
    let to = match (origin, u64::try_from(offset)) {
        (0, Ok(offset)) => SeekFrom::Start(offset),
        (1, _) => SeekFrom::Current(offset),
        (2, _) => SeekFrom::End(offset),
        _ => {
            // SAFETY: a place Tcl lent.
            unsafe { fail(Errno::INVAL, code) };
            return -1;
        }
    };
    // SAFETY: see above.
    match unsafe { with(data, |driver| driver.seek(to)) } {
        Ok(position) => i64::try_from(position).unwrap_or(i64::MAX),
        Err(errno) => {
            // SAFETY: a place Tcl lent.
            unsafe { fail(errno, code) };
            -1
        }
    }
}

unsafe extern "C" fn seek(
    data: *mut c_void,
    offset: std::ffi::c_long,
    origin: c_int,
    code: *mut c_int,
) -> c_int {
    // SAFETY: passed on as it came; positions that do not fit are Tcl's limit here, the wide function is preferred.
    unsafe { wide_seek(data, offset, origin, code) as c_int }
}

unsafe extern "C" fn truncate(data: *mut c_void, length: i64) -> c_int {
    let length = u64::try_from(length).unwrap_or(0);
    // SAFETY: see above.
    unsafe { with(data, |driver| driver.truncate(length)) }
        .map_or_else(|errno| errno.raw_os_error(), |()| 0)
}

unsafe extern "C" fn block_mode(data: *mut c_void, mode: c_int) -> c_int {
    let blocking = mode != sys::TCL_MODE_NONBLOCKING;
    // SAFETY: see above.
    unsafe { with(data, |driver| driver.set_blocking(blocking)) }
        .map_or_else(|errno| errno.raw_os_error(), |()| 0)
}

unsafe extern "C" fn get_handle(
    data: *mut c_void,
    direction: c_int,
    handle: *mut *mut c_void,
) -> c_int {
    let side = if direction == sys::TCL_READABLE {
        Side::Read
    } else {
        Side::Write
    };
    // SAFETY: see above; `handle` is a place Tcl lent.
    unsafe {
        match with(data, |driver| Ok(driver.fd(side).map(|fd| fd.as_raw_fd()))) {
            Ok(Some(fd)) => {
                *handle = super::number(fd);
                sys::TCL_OK
            }
            _ => sys::TCL_ERROR,
        }
    }
}

unsafe extern "C" fn set_option(
    data: *mut c_void,
    interp: *mut sys::Tcl_Interp,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: Tcl lends both texts; the interpreter is live or null.
    unsafe {
        let (option, value) = (text::from_c(name), text::from_c(value));
        let answer = with(data, |driver| {
            let names: Vec<&str> = driver
                .options()
                .iter()
                .map(|(name, _)| name.trim_start_matches('-'))
                .collect();
            Ok((driver.set_option(&option, &value), names.join(" ")))
        });
        match answer {
            Ok((Some(Ok(())), _)) => sys::TCL_OK,
            Ok((Some(Err(message)), _)) => {
                if !interp.is_null() {
                    sys::Tcl_SetObjResult(interp, crate::Obj::from(message).as_ptr());
                }
                sys::TCL_ERROR
            }
            Ok((None, names)) => sys::bad_channel_option(interp, name, text::to_c(&names).as_ptr()),
            Err(errno) => {
                sys::Tcl_SetErrno(errno.raw_os_error());
                sys::TCL_ERROR
            }
        }
    }
}

unsafe extern "C" fn get_option(
    data: *mut c_void,
    interp: *mut sys::Tcl_Interp,
    name: *const c_char,
    out: *mut sys::Tcl_DString,
) -> c_int {
    // SAFETY: Tcl lends the name (null: all options) and an initialised string.
    unsafe {
        let options = with(data, |driver| Ok(driver.options())).unwrap_or_default();
        if name.is_null() {
            for (name, value) in options {
                let pair = format!(" {}", crate::list::format(&[name, &value]));
                sys::dstring_append(out, &text::to_tcl(&pair));
            }
            return sys::TCL_OK;
        }
        let wanted = text::from_c(name);
        match options.iter().find(|(name, _)| *name == wanted) {
            Some((_, value)) => {
                sys::dstring_append(out, &text::to_tcl(value));
                sys::TCL_OK
            }
            None => {
                let names: Vec<&str> = options
                    .iter()
                    .map(|(name, _)| name.trim_start_matches('-'))
                    .collect();
                sys::bad_channel_option(interp, name, text::to_c(&names.join(" ")).as_ptr())
            }
        }
    }
}

unsafe extern "C" fn close(
    data: *mut c_void,
    _interp: *mut sys::Tcl_Interp,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let side = match flags & (sys::TCL_CLOSE_READ | sys::TCL_CLOSE_WRITE) {
            0 => None,
            sys::TCL_CLOSE_READ => Some(Side::Read),
            _ => Some(Side::Write),
        };
        if let Some(side) = side {
            return with(data, |driver| driver.close_side(side))
                .map_or_else(|errno| errno.raw_os_error(), |()| 0);
        }
        let answer = with(data, |driver| driver.close());
        // Tcl's own reference.
        let instance = Rc::from_raw(data.cast_const().cast::<Instance>());
        instance.stop_watching();
        drop(command::guarded("channel driver", move || drop(instance)));
        answer.map_or_else(|errno| errno.raw_os_error(), |()| 0)
    }
}

unsafe extern "C" fn watch(data: *mut c_void, mask: c_int) {
    // SAFETY: see above.
    let instance = unsafe { instance(data) };
    instance.watch(data, mask);
}

unsafe extern "C" fn thread_action(data: *mut c_void, action: c_int) {
    // Leaving a thread: its notifier must forget us. Entering one: Tcl asks to watch anew.
    if action == 1 {
        // SAFETY: see above.
        unsafe { instance(data) }.stop_watching();
    }
}

impl Instance {
    fn watch(&self, data: *mut c_void, mask: c_int) {
        self.stop_watching();
        self.interest.set(mask);
        let mut unwatched = false;
        for (side, bit) in [
            (Side::Read, sys::TCL_READABLE),
            (Side::Write, sys::TCL_WRITABLE),
        ] {
            if mask & bit == 0 {
                continue;
            }
            let fd = self
                .driver
                .try_borrow()
                .ok()
                .and_then(|driver| driver.fd(side).map(|fd| fd.as_raw_fd()));
            match fd {
                Some(fd) => {
                    let mut handlers = self.handlers.borrow_mut();
                    // One descriptor for both sides gets one handler: a second one would replace the first.
                    let both = mask & (sys::TCL_READABLE | sys::TCL_WRITABLE);
                    let bits = if handlers.contains(&fd) { both } else { bit };
                    // SAFETY: the descriptor is open while the driver is; the handler is deleted before that.
                    unsafe { sys::Tcl_CreateFileHandler(fd, bits, Some(ready), data) };
                    handlers.push(fd);
                }
                None => unwatched = true,
            }
        }
        if unwatched {
            // SAFETY: the timer is deleted before the instance goes.
            self.timer
                .set(unsafe { sys::Tcl_CreateTimerHandler(0, Some(always_ready), data) });
        }
    }

    fn stop_watching(&self) {
        for fd in self.handlers.borrow_mut().drain(..) {
            // SAFETY: deleting a handler that is not there does nothing.
            unsafe { sys::Tcl_DeleteFileHandler(fd) };
        }
        let timer = self.timer.replace(ptr::null_mut());
        if !timer.is_null() {
            // SAFETY: a timer made in `watch` that has not fired: firing clears the field.
            unsafe { sys::Tcl_DeleteTimerHandler(timer) };
        }
    }
}

unsafe extern "C" fn ready(data: *mut c_void, mask: c_int) {
    // SAFETY: handlers are deleted before the instance goes; Tcl keeps the channel during the notification.
    unsafe { sys::Tcl_NotifyChannel(instance(data).channel.get(), mask) };
}

unsafe extern "C" fn always_ready(data: *mut c_void) {
    // SAFETY: timers are deleted before the instance goes.
    let instance = unsafe { instance(data) };
    // Armed again before the scripts run: they may close the channel, which disarms it.
    instance.timer.set(ptr::null_mut());
    let interest = instance.interest.get();
    // SAFETY: as in `watch`.
    instance
        .timer
        .set(unsafe { sys::Tcl_CreateTimerHandler(0, Some(always_ready), data) });
    // SAFETY: the channel is open: closing it would have deleted this timer.
    unsafe { sys::Tcl_NotifyChannel(instance.channel.get(), interest) };
}

/// Tcl's growing string, on our stack.
pub(super) struct DString(Box<sys::Tcl_DString>);

impl DString {
    pub(super) fn new() -> DString {
        // What Tcl_DStringInit does. Boxed: it points into itself and must not move.
        let mut inner = Box::new(sys::Tcl_DString {
            string: ptr::null_mut(),
            length: 0,
            spaceAvl: 200,
            staticSpace: [0; 200],
        });
        inner.string = inner.staticSpace.as_mut_ptr();
        DString(inner)
    }

    pub(super) fn as_mut(&mut self) -> *mut sys::Tcl_DString {
        &mut *self.0
    }

    pub(super) fn text(&self) -> String {
        // SAFETY: Tcl keeps the string ended with a NUL.
        unsafe { text::from_c(self.0.string) }.into_owned()
    }
}

impl Drop for DString {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`.
        unsafe { sys::Tcl_DStringFree(&mut *self.0) };
    }
}
