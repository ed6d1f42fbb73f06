//! The kinds of values that our commands take: handles of sets, the current connection.

use std::rc::Rc;
use std::sync::Arc;

use server::script::{Conn, Context, SetRef};
use server::vserver::VirtualServer;
use synopsis::{Call, FromObj, Kind, Label};
use tcl::{Exit, Obj, TclError};

/// An `ns_set` by its handle.
pub struct SetArg {
    pub handle: String,
    pub set: SetRef,
}

impl FromObj for SetArg {
    const KIND: Kind = Kind::Value("setId");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<Self, Exit> {
        let handle = value.text();
        match context(call).sets.borrow().get(&handle) {
            Some(set) => Ok(SetArg { handle, set }),
            None => Err(tcl::error(format!("no such set: '{handle}'"))),
        }
    }
}

/// A virtual server by its name.
pub struct ServerArg(pub Arc<VirtualServer>);

impl FromObj for ServerArg {
    const KIND: Kind = Kind::Value("server");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<Self, Exit> {
        let name = value.text();
        let found = context(call).process.server(&name);
        found
            .map(ServerArg)
            .ok_or_else(|| tcl::error(format!("invalid server: '{name}'")))
    }
}

/// What the interpreter of a call belongs to.
pub fn context(call: &Call<'_>) -> Rc<Context> {
    Context::of(call.interp)
}

/// The connection of a call.
///
/// # Errors
/// `no connection`, as outside of a request.
pub fn conn(call: &Call<'_>) -> Result<Rc<Conn>, Exit> {
    context(call)
        .conn()
        .ok_or_else(|| TclError::new("no connection").into())
}

/// A whole number as C's `strtoll` reads it, filling the text: blanks in front, a sign, digits or `0x` and digits.
pub fn wide(text: &str) -> Option<i64> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, radix) = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(if negative { -number } else { number }).ok()
}
