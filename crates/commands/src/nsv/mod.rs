//! Shared variables: nsv_*.

mod dict;

use std::sync::Arc;

use ::server::vserver::VirtualServer;
use shared::nsv::{Missing, Store};
use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::kinds::{context, wide};

pub use dict::TABLE as DICT;

commands! { TABLE(call):

    /// Sets a value, or answers it.
    "nsv_set" [-default: bool, -reset: bool, --] (array: String, key: String, value: Option<String>)
        => set(&store(call), &array, &key, value, default, reset);

    /// A value; with a variable, whether there is one.
    "nsv_get" (array: String, key: String, variable as "varName": Option<String>)
        => get(call, &array, &key, variable);

    /// Whether there is such a key.
    "nsv_exists" (array: String, key: String) => store(call).exists(&array, &key);

    /// Removes a key or an array.
    "nsv_unset" [-nocomplain: bool, --] (array: String, key: Option<String>)
        => unset(&store(call), &array, key.as_deref(), nocomplain);

    /// Adds to a number, which starts with 0.
    "nsv_incr" (array: String, key: String, increment: i64 = 1)
        => incr(&store(call), &array, &key, increment);

    /// Appends texts to a value.
    "nsv_append" (array: String, key: String, value: Rest)
        => { let text: String = value.iter().map(Obj::text).collect(); store(call).append(&array, &key, &text) };

    /// Appends elements to a list.
    "nsv_lappend" (array: String, key: String, value: Rest)
        => lappend(&store(call), &array, &key, value);

    /// Sets several values.
    #[family("/subcommand/ ...")]
    "nsv_array set" (array: String, list: Obj)
        => { let pairs = pairs(&list)?; store(call).set_all(&array, pairs); Ok::<(), Exit>(()) };

    /// Replaces all values.
    "nsv_array reset" (array: String, list: Obj)
        => { let pairs = pairs(&list)?; store(call).reset_all(&array, pairs); Ok::<(), Exit>(()) };

    /// Keys and values.
    "nsv_array get" (array: String, pattern: Option<String>)
        => {
            let all = store(call).get_all(&array, pattern.as_deref());
            Obj::list_of(all.into_iter().flat_map(|(k, v)| [k, v]))
        };

    /// Keys.
    "nsv_array names" (array: String, pattern: Option<String>)
        => store(call).keys(&array, pattern.as_deref());

    /// The number of keys.
    "nsv_array size" (array: String) => store(call).size(&array);

    /// Whether there is such an array.
    "nsv_array exists" (array: String) => store(call).array_exists(&array);

    /// The names of arrays.
    "nsv_names" (pattern: Option<String>) => store(call).arrays(pattern.as_deref());

    /// The arrays in each bucket with the uses of their locks, or those in one bucket.
    #[usage("?/bucket-number[0,8]/?")]
    "nsv_bucket" (number: Option<Obj>) => bucket(call, number);
}

/// The server whose variables a script uses.
pub(super) struct Shared(Arc<VirtualServer>);

impl std::ops::Deref for Shared {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0.nsv
    }
}

fn store(call: &Call<'_>) -> Shared {
    Shared(Arc::clone(context(call).server()))
}

/// `no such array: a`, `no such key: k`.
fn missing(what: Missing, array: &str, key: &str) -> Exit {
    let (kind, code, name) = match what {
        Missing::Array => ("array", "ARRAY", array),
        Missing::Key => ("key", "KEY", key),
    };
    TclError::new(format!("no such {kind}: {name}"))
        .with_code(&["TCL", "LOOKUP", "NSV", code, name])
        .into()
}

fn set(
    store: &Store,
    array: &str,
    key: &str,
    value: Option<String>,
    default: bool,
    reset: bool,
) -> Outcome {
    if default && reset {
        return Err(tcl::error("only '-default' or '-reset' can be used"));
    }
    let complain = |what| missing(what, array, key);
    match value {
        Some(value) if default => Ok(Obj::from(store.set_default(array, key, &value).0)),
        Some(value) if reset => Ok(store
            .set(array, key, value)
            .map(Obj::from)
            .unwrap_or_default()),
        Some(value) => {
            let answer = Obj::from(&value);
            store.set(array, key, value);
            Ok(answer)
        }
        None if default => Err(tcl::error(format!(
            "can't use '-default' without providing a value for key {key}"
        ))),
        None if reset => store.unset(array, key).map(Obj::from).map_err(complain),
        None => store
            .with(array, key, |value| Obj::from(value))
            .map_err(complain),
    }
}

fn get(call: &Call<'_>, array: &str, key: &str, variable: Option<String>) -> Outcome {
    let found = store(call).with(array, key, |value| Obj::from(value));
    match (found, variable) {
        (Ok(value), None) => Ok(value),
        (Ok(value), Some(variable)) => call.interp.set(&variable, value).map(|()| Obj::from(true)),
        (Err(Missing::Key), Some(_)) => Ok(Obj::from(false)),
        (Err(what), _) => Err(missing(what, array, key)),
    }
}

fn unset(store: &Store, array: &str, key: Option<&str>, nocomplain: bool) -> Outcome<()> {
    let removed = match key {
        Some(key) => store.unset(array, key).map(drop),
        None => store.unset_array(array),
    };
    match removed {
        Err(what) if !nocomplain => Err(missing(what, array, key.unwrap_or_default())),
        _ => Ok(()),
    }
}

fn incr(store: &Store, array: &str, key: &str, increment: i64) -> Outcome<i64> {
    store.try_update(array, key, |old| {
        let old = old.map_or(Some(0), wide);
        let old = old.ok_or_else(|| tcl::error("array variable is not an integer"))?;
        let new = old
            .checked_add(increment)
            .ok_or_else(|| tcl::error("integer value too large to represent"))?;
        Ok((new.to_string(), new))
    })
}

fn lappend(store: &Store, array: &str, key: &str, values: Rest<'_>) -> String {
    // As in the reference the value need not be a list; elements are put behind it.
    let values: Vec<String> = values.iter().map(Obj::text).collect();
    store.update(array, key, |list| {
        let list = list.get_or_insert_default();
        values
            .iter()
            .for_each(|value| tcl::list::append(list, value));
        list.clone()
    })
}

fn pairs(list: &Obj) -> Outcome<Vec<(String, String)>> {
    let words = list.elements()?;
    if words.len() % 2 != 0 {
        return Err(tcl::error(format!("invalid list: {}", list.text())));
    }
    Ok(words
        .chunks_exact(2)
        .map(|pair| (pair[0].text(), pair[1].text()))
        .collect())
}

fn bucket(call: &Call<'_>, number: Option<Obj>) -> Outcome {
    let store = store(call);
    let list = |number: usize| {
        let arrays = store.bucket_arrays(number).unwrap_or_default();
        Obj::list(
            arrays
                .into_iter()
                .map(|a| Obj::list([Obj::from(a.name), Obj::from(a.locks)])),
        )
    };
    match number {
        None => Ok(Obj::list((0..store.bucket_count()).map(list))),
        Some(number) => {
            let (n, count) = (number.int()?, store.bucket_count());
            match usize::try_from(n) {
                Ok(index) if index <= count => Ok(list(index)),
                _ => {
                    let most = i64::try_from(count).unwrap_or(i64::MAX);
                    Err(synopsis::out_of_range("?bucket-number", 0, most, n))
                }
            }
        }
    }
}
