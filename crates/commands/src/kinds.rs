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
            None => Err(TclError::new(format!("no such set: \"{handle}\"")).with_code(&["NS", "NO_SUCH_SET"]).into()),
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
        found.map(ServerArg).ok_or_else(|| tcl::error(format!("invalid server: '{name}'")))
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
    context(call).conn().ok_or_else(|| TclError::new("no connection").into())
}
