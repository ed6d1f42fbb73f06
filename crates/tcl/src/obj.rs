//! One Tcl value: a counted reference that stays in its thread.
use crate::outcome::{Exit, Outcome, TclError};
use crate::{command, sys, text};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ptr::{self, NonNull};

/// A counted reference to a Tcl value. Tcl keeps values per thread, so it is neither `Send` nor `Sync`.
///
/// Cloning costs an increment. The text of a value never changes while a handle to it exists (Tcl writes only to values
/// with one reference); its internal form may change with every question asked, which is why bytes are copied or lent
/// to a closure (see [`Obj::with_bytes`]).
#[repr(transparent)]
pub struct Obj {
    pointer: NonNull<sys::Tcl_Obj>,
}

impl Obj {
    /// The empty value.
    pub fn new() -> Obj {
        // SAFETY: needs no interpreter; Tcl initialises a thread's value pool on first use.
        unsafe { Obj::from_new(sys::Tcl_NewObj()) }
    }

    /// A byte array.
    pub fn bytes(bytes: &[u8]) -> Obj {
        // SAFETY: Tcl copies the bytes.
        unsafe { Obj::from_new(sys::new_bytes(bytes)) }
    }

    /// A byte array from bytes that are no longer needed. Tcl owns its memory, so they are copied all the same.
    pub fn from_owned_bytes(bytes: Vec<u8>) -> Obj {
        Obj::bytes(&bytes)
    }

    /// A list.
    pub fn list(elements: impl IntoIterator<Item = Obj>) -> Obj {
        let elements: Vec<Obj> = elements.into_iter().collect();
        // SAFETY: the elements live until the list has taken its references.
        unsafe { Obj::from_new(sys::new_list(as_raw(&elements))) }
    }

    /// A list of texts.
    pub fn list_of<T: Into<Obj>>(elements: impl IntoIterator<Item = T>) -> Obj {
        Obj::list(elements.into_iter().map(Into::into))
    }

    /// A dictionary; of equal keys the last value counts.
    pub fn dict(pairs: impl IntoIterator<Item = (Obj, Obj)>) -> Obj {
        // SAFETY: creates a value without an interpreter.
        let dict = unsafe { Obj::from_new(sys::Tcl_NewDictObj()) };
        for (key, value) in pairs {
            // SAFETY: `dict` is fresh and unshared, as Tcl_DictObjPut demands; it cannot fail on a dictionary.
            unsafe {
                sys::Tcl_DictObjPut(ptr::null_mut(), dict.as_ptr(), key.as_ptr(), value.as_ptr())
            };
        }
        dict
    }

    /// The text, translated at the border (NULs, surrogates).
    pub fn text(&self) -> String {
        self.with_text(str::to_owned)
    }

    /// Lends the text. It cannot change meanwhile: this handle makes every other one a sharer.
    pub fn with_text<R>(&self, f: impl FnOnce(&str) -> R) -> R {
        f(&self.text_cow())
    }

    /// The text, borrowed from the value when nothing has to be translated.
    pub fn text_cow(&self) -> Cow<'_, str> {
        text::from_tcl(self.string_bytes())
    }

    /// The bytes that a channel in binary mode or a response body gets: the content of a byte array, else the text in
    /// UTF-8.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.with_bytes(<[u8]>::to_vec)
    }

    /// Lends the bytes of [`Obj::to_bytes`] without a copy.
    ///
    /// The bytes of a byte array live in the internal form, which any question to the same value may replace. `Send`
    /// keeps handles out of the closure; questions through a thread-local handle panic.
    pub fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R + Send) -> R {
        if self.is_bytes() {
            // SAFETY: live value; a pure byte array always answers.
            if let Some((bytes, length)) = unsafe { sys::bytes_from_obj(self.as_ptr()) } {
                let _lent = Lent::begin();
                // SAFETY: the array stays while its internal form stays: the value is alive (we hold it) and `Lent`
                // refuses everything that could convert a value or run Tcl on this thread.
                return f(unsafe { slice(bytes, length) });
            }
        }
        f(self.text_cow().as_bytes())
    }

    /// Whether this is a pure byte array, one that has never had a text.
    pub fn is_bytes(&self) -> bool {
        // SAFETY: the pointer is to a live value of this thread; reading two fields.
        let (bytes, kind) = unsafe { ((*self.as_ptr()).bytes, (*self.as_ptr()).typePtr) };
        bytes.is_null() && kind == byte_array_type()
    }

    /// The value as a binary string, one byte per character; `None` when a character is above U+00FF.
    pub fn byte_values(&self) -> Option<Vec<u8>> {
        if self.is_bytes() {
            return Some(self.to_bytes());
        }
        self.with_text(|text| {
            if text.is_ascii() {
                return Some(text.as_bytes().to_vec());
            }
            text.chars()
                .map(|character| u8::try_from(u32::from(character)).ok())
                .collect()
        })
    }

    /// The value as a 64-bit integer, with Tcl's message and error code when it is none.
    pub fn int(&self) -> Result<i64, TclError> {
        let mut value = 0;
        if let Some(text) = self.listed() {
            return text.int();
        }
        // SAFETY: live value, live or null interpreter.
        self.convert("expected integer but got", |interp| unsafe {
            sys::Tcl_GetWideIntFromObj(interp, self.as_ptr(), &mut value) == sys::TCL_OK
        })?;
        // 8.6 takes integers up to 64 bits without sign and wraps them.
        if self.type_is(c"bignum")
            && self.with_text(|text| text.trim_start().starts_with('-')) != (value < 0)
        {
            let message = "integer value too large to represent";
            return Err(TclError::new(message).with_code(&["ARITH", "IOVERFLOW", message]));
        }
        Ok(value)
    }

    /// The value as a floating-point number.
    pub fn double(&self) -> Result<f64, TclError> {
        let mut value = 0.0;
        if let Some(text) = self.listed() {
            return text.double();
        }
        // SAFETY: live value, live or null interpreter.
        self.convert("expected floating-point number but got", |interp| unsafe {
            sys::Tcl_GetDoubleFromObj(interp, self.as_ptr(), &mut value) == sys::TCL_OK
        })?;
        Ok(value)
    }

    /// The value as a truth value (yes, no, on, off, true, false, abbreviations, numbers).
    pub fn boolean(&self) -> Result<bool, TclError> {
        let mut value = 0;
        if let Some(text) = self.listed() {
            return text.boolean();
        }
        // SAFETY: live value, live or null interpreter.
        self.convert("expected boolean value but got", |interp| unsafe {
            sys::Tcl_GetBooleanFromObj(interp, self.as_ptr(), &mut value) == sys::TCL_OK
        })?;
        Ok(value != 0)
    }

    /// The text of what was used as a list before. Tcl 9 says `got a list` for it, although it may be a literal that
    /// somebody else used so; scripts are to see what they wrote.
    fn listed(&self) -> Option<Obj> {
        self.type_is(c"list").then(|| Obj::from(self.text()))
    }

    /// The elements of a list.
    pub fn elements(&self) -> Result<Vec<Obj>, TclError> {
        let mut out = Vec::new();
        self.convert("invalid list:", |interp| {
            // SAFETY: live value, live or null interpreter.
            match unsafe { sys::list_elements(interp, self.as_ptr()) } {
                Ok((elements, count)) if count > 0 => {
                    // SAFETY: Tcl lends `count` live elements; each is copied with a reference before anything else
                    // can touch the list.
                    out = unsafe { slice(elements, count) }
                        .iter()
                        .map(|&element| unsafe { Obj::share(element) })
                        .collect();
                    true
                }
                Ok(_) => true,
                Err(()) => false,
            }
        })?;
        Ok(out)
    }

    /// The number of elements of a list.
    pub fn list_len(&self) -> Result<usize, TclError> {
        let mut length = 0;
        self.convert("invalid list:", |interp| {
            // SAFETY: live value, live or null interpreter.
            match unsafe { sys::list_length(interp, self.as_ptr()) } {
                Ok(count) => {
                    length = count;
                    true
                }
                Err(()) => false,
            }
        })?;
        Ok(length)
    }

    /// The pairs of a dictionary, in its order.
    pub fn pairs(&self) -> Result<Vec<(Obj, Obj)>, TclError> {
        let mut out = Vec::new();
        self.convert("invalid dictionary:", |interp| {
            let mut search = sys::Tcl_DictSearch {
                next: ptr::null_mut(),
                epoch: 0,
                dictionaryPtr: ptr::null_mut(),
            };
            let (mut key, mut value, mut done) = (ptr::null_mut(), ptr::null_mut(), 0);
            // SAFETY: live value, live or null interpreter, valid places for the answers.
            let status = unsafe {
                sys::Tcl_DictObjFirst(
                    interp,
                    self.as_ptr(),
                    &mut search,
                    &mut key,
                    &mut value,
                    &mut done,
                )
            };
            if status != sys::TCL_OK {
                return false;
            }
            while done == 0 {
                // SAFETY: Tcl lends a live key and value; nothing else runs between the steps of the search.
                unsafe {
                    out.push((Obj::share(key), Obj::share(value)));
                    sys::Tcl_DictObjNext(&mut search, &mut key, &mut value, &mut done);
                }
            }
            // SAFETY: the search was begun above; ending it releases the dictionary.
            unsafe { sys::Tcl_DictObjDone(&mut search) };
            true
        })?;
        Ok(out)
    }

    /// The value of a key.
    pub fn dict_get(&self, key: &str) -> Result<Option<Obj>, TclError> {
        let key = Obj::from(key);
        let mut value = ptr::null_mut();
        // SAFETY: live values, live or null interpreter.
        self.convert("invalid dictionary:", |interp| unsafe {
            sys::Tcl_DictObjGet(interp, self.as_ptr(), key.as_ptr(), &mut value) == sys::TCL_OK
        })?;
        // SAFETY: null, or a value that lives in the dictionary.
        Ok((!value.is_null()).then(|| unsafe { Obj::share(value) }))
    }

    /// Sets a key, in a copy when others share the value.
    pub fn dict_put(&mut self, key: impl Into<Obj>, value: impl Into<Obj>) -> Result<(), TclError> {
        let (key, value) = (key.into(), value.into());
        self.own();
        // SAFETY: `own` has made the dictionary unshared; key and value are alive.
        self.convert("invalid dictionary:", |interp| unsafe {
            sys::Tcl_DictObjPut(interp, self.as_ptr(), key.as_ptr(), value.as_ptr()) == sys::TCL_OK
        })
    }

    /// Appends an element to a list, in a copy when others share the value.
    pub fn push(&mut self, element: impl Into<Obj>) -> Result<(), TclError> {
        let element = element.into();
        self.own();
        // SAFETY: `own` has made the list unshared, as Tcl demands; the element is alive.
        self.convert("invalid list:", |interp| unsafe {
            sys::Tcl_ListObjAppendElement(interp, self.as_ptr(), element.as_ptr()) == sys::TCL_OK
        })
    }

    /// Appends text, in a copy when others share the value.
    pub fn append(&mut self, text: &str) {
        Lent::check();
        self.own();
        // SAFETY: `own` has made the value unshared; Tcl copies the bytes.
        unsafe { sys::append(self.as_ptr(), &text::to_tcl(text)) };
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        if self.is_bytes() {
            return self.with_bytes(<[u8]>::is_empty);
        }
        self.string_bytes().is_empty()
    }

    /// The length of the text in characters.
    pub fn char_len(&self) -> usize {
        if self.is_bytes() {
            return self.with_bytes(<[u8]>::len);
        }
        self.with_text(|text| text.chars().count())
    }

    /// The name of the internal form, when there is one ("int", "list", "bytearray", ...). For diagnosis.
    pub fn type_name(&self) -> Option<String> {
        // SAFETY: live value; types live as long as the library.
        unsafe {
            let kind = (*self.as_ptr()).typePtr;
            (!kind.is_null()).then(|| text::from_c((*kind).name).into_owned())
        }
    }

    /// Whether both are the same value in memory.
    pub fn ptr_eq(&self, other: &Obj) -> bool {
        self.pointer == other.pointer
    }

    /// Whether there is another reference to this value.
    pub fn is_shared(&self) -> bool {
        // SAFETY: live value of this thread.
        unsafe { (*self.as_ptr()).refCount > 1 }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::Tcl_Obj {
        self.pointer.as_ptr()
    }

    /// A new reference to a value that somebody else holds.
    ///
    /// # Safety
    /// `pointer` is a live value of this thread.
    pub(crate) unsafe fn share(pointer: *mut sys::Tcl_Obj) -> Obj {
        debug_assert!(!pointer.is_null());
        // SAFETY: the caller's promise; the count is read and written by this thread alone.
        unsafe {
            (*pointer).refCount += 1;
            Obj {
                pointer: NonNull::new_unchecked(pointer),
            }
        }
    }

    /// The first reference to a value just made.
    ///
    /// # Safety
    /// As [`Obj::share`]; Tcl's constructors never answer null (they end the program when memory is out).
    unsafe fn from_new(pointer: *mut sys::Tcl_Obj) -> Obj {
        // SAFETY: the caller's promise.
        unsafe { Obj::share(pointer) }
    }

    /// Makes this handle the only one, by a copy if need be.
    fn own(&mut self) {
        if self.is_shared() {
            // SAFETY: live value; the copy is fresh.
            *self = unsafe { Obj::from_new(sys::Tcl_DuplicateObj(self.as_ptr())) };
        }
    }

    fn string_bytes(&self) -> &[u8] {
        // SAFETY: live value. The string form is made on demand and not freed while a reference exists that Tcl does
        // not know to be the only one; `&self` outlives the answer and the mutating methods take `&mut self`.
        unsafe {
            let (bytes, length) = sys::string_from_obj(self.as_ptr());
            slice(bytes, length)
        }
    }

    fn type_is(&self, name: &std::ffi::CStr) -> bool {
        // SAFETY: live value; types and their names live as long as the library.
        unsafe {
            let kind = (*self.as_ptr()).typePtr;
            !kind.is_null() && std::ffi::CStr::from_ptr((*kind).name) == name
        }
    }

    /// Runs a conversion silently; when it fails, runs it once more in the interpreter at work for Tcl's own message.
    fn convert(
        &self,
        expected: &str,
        mut f: impl FnMut(*mut sys::Tcl_Interp) -> bool,
    ) -> Result<(), TclError> {
        Lent::check();
        if f(ptr::null_mut()) {
            return Ok(());
        }
        Err(match command::in_current(&mut f) {
            Some(error) => error,
            None => {
                let mut shown = self.text();
                if let Some((end, _)) = shown.char_indices().nth(50) {
                    shown.truncate(end);
                    shown.push_str("...");
                }
                TclError::new(format!("{expected} \"{shown}\"")).with_code(&["TCL", "VALUE"])
            }
        })
    }
}

/// The slice as Tcl wants it.
pub(crate) fn as_raw(objects: &[Obj]) -> &[*mut sys::Tcl_Obj] {
    // SAFETY: `Obj` is a transparent wrapper of the pointer.
    unsafe { std::slice::from_raw_parts(objects.as_ptr().cast(), objects.len()) }
}

/// Words that Tcl holds during a command, as Rust wants them; no count is touched.
///
/// # Safety
/// `words` points at `count` live values whose references the lender keeps for `'a`.
pub(crate) unsafe fn lend<'a>(words: *const *mut sys::Tcl_Obj, count: usize) -> &'a [Obj] {
    // SAFETY: the caller's promise; `Obj` is a transparent wrapper, and a shared slice drops nothing.
    unsafe { slice(words.cast::<Obj>(), count) }
}

/// # Safety
/// As `from_raw_parts`, but a null pointer is fine when there is nothing.
unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

fn byte_array_type() -> *const sys::Tcl_ObjType {
    thread_local! {
        static KIND: Cell<*const sys::Tcl_ObjType> = const { Cell::new(ptr::null()) };
    }
    let kind = KIND.get();
    if !kind.is_null() {
        return kind;
    }
    let example = Obj::bytes(&[0]);
    // SAFETY: live value; reading one field.
    let kind = unsafe { (*example.as_ptr()).typePtr };
    KIND.set(kind);
    kind
}

/// While one exists, the bytes of a value are lent and nothing on this thread may convert a value or run Tcl.
pub(crate) struct Lent;

thread_local! {
    static LENT: Cell<u32> = const { Cell::new(0) };
}

impl Lent {
    fn begin() -> Lent {
        LENT.set(LENT.get() + 1);
        Lent
    }

    /// # Panics
    /// When bytes are lent: the closure of `with_bytes` has reached Tcl through a thread-local.
    #[inline]
    pub(crate) fn check() {
        assert!(LENT.get() == 0, "Tcl was used inside with_bytes");
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.set(LENT.get() - 1);
    }
}

impl Clone for Obj {
    fn clone(&self) -> Obj {
        // SAFETY: we hold a reference, so the value lives.
        unsafe { Obj::share(self.as_ptr()) }
    }
}

impl Drop for Obj {
    fn drop(&mut self) {
        let pointer = self.as_ptr();
        // SAFETY: this handle owns one reference; what Tcl_DecrRefCount does in both versions. The count belongs to
        // this thread.
        unsafe {
            if (*pointer).refCount <= 1 {
                sys::TclFreeObj(pointer);
            } else {
                (*pointer).refCount -= 1;
            }
        }
    }
}

impl Default for Obj {
    fn default() -> Obj {
        Obj::new()
    }
}

impl fmt::Debug for Obj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Obj({:?})", self.text())
    }
}

impl fmt::Display for Obj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

/// Compares texts.
impl PartialEq<str> for Obj {
    fn eq(&self, other: &str) -> bool {
        self.with_text(|text| text == other)
    }
}

impl PartialEq<&str> for Obj {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl From<&str> for Obj {
    fn from(value: &str) -> Obj {
        // SAFETY: Tcl copies the bytes.
        unsafe { Obj::from_new(sys::new_string(&text::to_tcl(value))) }
    }
}

impl From<String> for Obj {
    fn from(value: String) -> Obj {
        Obj::from(value.as_str())
    }
}

impl From<&String> for Obj {
    fn from(value: &String) -> Obj {
        Obj::from(value.as_str())
    }
}

impl From<Cow<'_, str>> for Obj {
    fn from(value: Cow<'_, str>) -> Obj {
        Obj::from(&*value)
    }
}

impl From<char> for Obj {
    fn from(value: char) -> Obj {
        Obj::from(&*value.encode_utf8(&mut [0; 4]))
    }
}

impl From<&Obj> for Obj {
    fn from(value: &Obj) -> Obj {
        value.clone()
    }
}

impl From<i64> for Obj {
    fn from(value: i64) -> Obj {
        // SAFETY: creates a value without an interpreter.
        unsafe { Obj::from_new(sys::Tcl_NewWideIntObj(value)) }
    }
}

impl From<u64> for Obj {
    fn from(value: u64) -> Obj {
        match i64::try_from(value) {
            Ok(value) => Obj::from(value),
            Err(_) => Obj::from(value.to_string()),
        }
    }
}

impl From<usize> for Obj {
    fn from(value: usize) -> Obj {
        Obj::from(value as u64)
    }
}

impl From<bool> for Obj {
    fn from(value: bool) -> Obj {
        Obj::from(i64::from(value))
    }
}

impl From<f64> for Obj {
    fn from(value: f64) -> Obj {
        // SAFETY: creates a value without an interpreter.
        unsafe { Obj::from_new(sys::Tcl_NewDoubleObj(value)) }
    }
}

macro_rules! from_small_integers {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Obj {
            fn from(value: $kind) -> Obj {
                Obj::from(i64::from(value))
            }
        }
    )*};
}
from_small_integers!(i8 u8 i16 u16 i32 u32);

/// Nothing to say: the empty value.
impl From<()> for Obj {
    fn from((): ()) -> Obj {
        Obj::new()
    }
}

impl FromIterator<Obj> for Obj {
    fn from_iter<I: IntoIterator<Item = Obj>>(elements: I) -> Obj {
        Obj::list(elements)
    }
}

/// `Ok(value.into())`, for the last line of a command.
pub fn ok(value: impl Into<Obj>) -> Outcome {
    Ok::<Obj, Exit>(value.into())
}
