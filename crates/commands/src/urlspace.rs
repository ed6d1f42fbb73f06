//! ns_urlspace: data of scripts, by URL.

use std::sync::Arc;

use ::server::route::{Context, Space, Unset};
use synopsis::{Call, Int, commands};
use tcl::{Exit, Obj, Outcome};

use crate::kinds::{SetArg, context};
use crate::register::ConstraintsArg;

commands! { TABLE(call):

    /// The data for a URL.
    "ns_urlspace get" [
        -context: Option<SetArg>, -exact: bool, -id: Option<SpaceId>, -key: String = DOT.to_owned(), -noinherit: bool
    ] (url as "URL": String)
        => {
            let space = space(call, id)?;
            let set = context.as_ref().map(|c| c.set.borrow());
            let context: Option<&dyn Context> = set.as_ref().map(|s| &**s as &dyn Context);
            if exact {
                space.get_exact(&key, &url, noinherit, context)
            } else if noinherit {
                space.get_noinherit(&key, &url, context)
            } else {
                space.get(&key, &url, context)
            }
        };

    /// Everything in a space.
    "ns_urlspace list" [-id: Option<SpaceId>]
        => {
            let space = space(call, id)?;
            Obj::list(space.list().into_iter().map(|l| {
                let mut words = vec![Obj::from(&l.key), Obj::from(&l.path), Obj::from(&l.pattern), Obj::from(l.kind())];
                if !l.constraints.is_empty() {
                    let pairs = l.constraints.pairs().flat_map(|(key, value)| [Obj::from(key), Obj::from(value)]);
                    words.push(Obj::list(pairs));
                }
                words.push(Obj::from(&l.data));
                Obj::list(words)
            }))
        };

    /// A new space; its number.
    "ns_urlspace new" => new(call);

    /// Data for a URL and what is below it.
    "ns_urlspace set" [
        -constraints: Option<ConstraintsArg>, -id: Option<SpaceId>, -key: String = DOT.to_owned(), -noinherit: bool
    ] (url as "URL": String, data: String)
        => {
            let constraints = constraints.map(|c| c.0).unwrap_or_default();
            space(call, id)?.set(&key, &url, noinherit, constraints, data);
            Ok::<(), Exit>(())
        };

    /// Removes data; whether there was any, unless that of all URLs below goes with it.
    "ns_urlspace unset" [
        -allconstraints: bool, -allfilters: bool, -id: Option<SpaceId>, -key: String = DOT.to_owned(), -noinherit: bool,
        -recurse: bool
    ] (url as "URL": String)
        => {
            let what = Unset { noinherit, recurse, all_constraints: allconstraints || allfilters };
            let removed = space(call, id)?.unset(&key, &url, what);
            (!recurse).then_some(removed)
        };
}

/// The key without `-key`.
const DOT: &str = ".";

/// Number of a space; -1 is the one that needs no number.
type SpaceId = Int<-1, MOST>;

/// Spaces a server can have, as in the reference.
const MOST: i64 = 16;

fn space(call: &Call<'_>, id: Option<SpaceId>) -> Outcome<Arc<Space<String>>> {
    let context = context(call);
    let mut spaces = context.server().script_spaces.write();
    if spaces.is_empty() {
        spaces.push(Arc::default());
    }
    let id = id.map_or(-1, SpaceId::get);
    let index = usize::try_from(id).unwrap_or(0);
    let found = spaces.get(index).cloned();
    found.ok_or_else(|| tcl::error(format!("provided urlspace id {id} is invalid")))
}

fn new(call: &Call<'_>) -> Outcome<usize> {
    let context = context(call);
    let mut spaces = context.server().script_spaces.write();
    if spaces.is_empty() {
        spaces.push(Arc::default());
    }
    let id = spaces.len();
    if i64::try_from(id).is_ok_and(|id| id > MOST) {
        return Err(tcl::error("maximum number of urlspaces reached"));
    }
    spaces.push(Arc::default());
    Ok(id)
}
