//! nsv_dict: dictionaries in shared variables, changed in one step under the lock of their array.

use shared::nsv::{Missing, Store};
use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use super::{missing, store};

commands! { TABLE(call):

    /// Appends texts to the value of a key in a dictionary.
    #[family("/subcommand/ ...")]
    "nsv_dict append" (array: String, key: String, dictkey: String, value: Option<Rest>)
        => change(&store(call), &array, &key, |dict| {
            let mut new = dict.dict_get(&dictkey)?.unwrap_or_default().text();
            value.iter().flat_map(|v| v.iter()).for_each(|v| v.with_text(|t| new.push_str(t)));
            Ok(dict.dict_put(&dictkey, new)?)
        });

    /// Whether there is such a key in a dictionary.
    "nsv_dict exists" (array: String, key: String, dictkey: Rest)
        => {
            let found = read(&store(call), &array, &key, |dict| look(dict, dictkey.0));
            matches!(found, Ok(Ok(Some(_))))
        };

    /// A value in a dictionary.
    "nsv_dict get" [-varname: Option<String>, --] (array: String, key: String, dictkey: Option<Rest>)
        => get(call, &array, &key, dictkey.map_or(&[], |d| d.0), varname);

    /// A value in a dictionary, or a default.
    "nsv_dict getdef" [-varname: Option<String>, --] (array: String, key: String, arg: Rest)
        => getdef(call, &array, &key, arg, varname);

    /// The same as nsv_dict getdef.
    "nsv_dict getwithdefault" [-varname: Option<String>, --] (array: String, key: String, arg: Rest)
        => getdef(call, &array, &key, arg, varname);

    /// Adds to a number in a dictionary.
    "nsv_dict incr" (array: String, key: String, dictkey: String, increment: i64 = 1)
        => change(&store(call), &array, &key, |dict| {
            let old = dict.dict_get(&dictkey)?.map_or(Ok(0), |v| v.int())?;
            let new = old.checked_add(increment).ok_or_else(|| tcl::error("integer value too large to represent"))?;
            Ok(dict.dict_put(&dictkey, new)?)
        });

    /// Keys of a dictionary.
    "nsv_dict keys" (array: String, key: String, pattern: Option<String>)
        => {
            let pairs = there(&store(call), &array, &key)?.pairs()?;
            let keys = pairs.into_iter().map(|(k, _)| k.text());
            Ok::<_, Exit>(keys.filter(|k| pattern.as_ref().is_none_or(|p| shared::glob::matches(p, k))).collect::<Vec<_>>())
        };

    /// Appends elements to a list in a dictionary.
    "nsv_dict lappend" (array: String, key: String, dictkey: String, value: Option<Rest>)
        => change(&store(call), &array, &key, |dict| {
            let mut list = dict.dict_get(&dictkey)?.unwrap_or_default();
            list.list_len()?;
            for element in value.iter().flat_map(|v| v.iter()) {
                list.push(element.clone())?;
            }
            Ok(dict.dict_put(&dictkey, list)?)
        });

    /// Sets a value in a dictionary, or in one within it.
    "nsv_dict set" (array: String, key: String, dictkey: Obj, arg: Rest)
        => change(&store(call), &array, &key, |dict| {
            let mut path = vec![dictkey];
            path.extend_from_slice(&arg.0[..arg.len() - 1]);
            *dict = put(dict, &path, &arg.0[arg.len() - 1])?;
            Ok(())
        });

    /// The number of keys of a dictionary.
    "nsv_dict size" (array: String, key: String)
        => there(&store(call), &array, &key).and_then(|dict| Ok(dict.pairs()?.len()));

    /// Removes a key of a dictionary, or of one within it.
    "nsv_dict unset" (array: String, key: String, dictkey: Rest)
        => {
            let store = store(call);
            store.with(&array, &key, |_| ()).map_err(|what| missing(what, &array, &key))?;
            change(&store, &array, &key, |dict| { *dict = remove(dict, dictkey.0)?; Ok(()) })
        };
}

/// The value under a key, for a look outside of the lock.
fn there(store: &Store, array: &str, key: &str) -> Outcome {
    store
        .with(array, key, |value| Obj::from(value))
        .map_err(|what| missing(what, array, key))
}

fn read<R>(
    store: &Store,
    array: &str,
    key: &str,
    look: impl FnOnce(&Obj) -> R,
) -> Result<R, Missing> {
    let value = store.with(array, key, |value| Obj::from(value))?;
    Ok(look(&value))
}

/// Changes a dictionary under the lock; nothing is changed after an error. Answers the new dictionary.
fn change(
    store: &Store,
    array: &str,
    key: &str,
    change: impl FnOnce(&mut Obj) -> Outcome<()>,
) -> Outcome<String> {
    store.try_update(array, key, |old| {
        let mut dict = old.map(Obj::from).unwrap_or_default();
        dict.pairs()?;
        change(&mut dict)?;
        let text = dict.text();
        Ok((text.clone(), text))
    })
}

/// The value at the end of a path of keys.
fn look(dict: &Obj, path: &[Obj]) -> Result<Option<Obj>, TclError> {
    let mut value = dict.clone();
    for key in path {
        match value.dict_get(&key.text())? {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// As Tcl's `dict get` does: which key of the path is missing goes into the message.
fn demand(dict: &Obj, path: &[Obj]) -> Outcome {
    let mut value = dict.clone();
    // Without keys the value must still be a dictionary.
    if path.is_empty() {
        value.pairs()?;
    }
    for key in path {
        value = value.dict_get(&key.text())?.ok_or_else(|| unknown(key))?;
    }
    Ok(value)
}

fn unknown(key: &Obj) -> Exit {
    let key = key.text();
    TclError::new(format!("key \"{key}\" not known in dictionary"))
        .with_code(&["TCL", "LOOKUP", "DICT", &key])
        .into()
}

fn put(dict: &Obj, path: &[Obj], value: &Obj) -> Outcome {
    let mut dict = dict.clone();
    match path {
        [] => return Ok(value.clone()),
        [key] => dict.dict_put(key.clone(), value.clone())?,
        [key, rest @ ..] => {
            let inner = dict.dict_get(&key.text())?.unwrap_or_default();
            dict.dict_put(key.clone(), put(&inner, rest, value)?)?;
        }
    }
    Ok(dict)
}

fn remove(dict: &Obj, path: &[Obj]) -> Outcome {
    match path {
        [] => Ok(dict.clone()),
        [key] => {
            let key = key.text();
            Ok(Obj::dict(
                dict.pairs()?.into_iter().filter(|(k, _)| k.text() != key),
            ))
        }
        [key, rest @ ..] => {
            let inner = dict.dict_get(&key.text())?.ok_or_else(|| unknown(key))?;
            let mut dict = dict.clone();
            dict.dict_put(key.clone(), remove(&inner, rest)?)?;
            Ok(dict)
        }
    }
}

fn get(call: &Call<'_>, array: &str, key: &str, path: &[Obj], variable: Option<String>) -> Outcome {
    let found = read(&store(call), array, key, |dict| {
        if variable.is_some() {
            Ok(look(dict, path)?)
        } else {
            demand(dict, path).map(Some)
        }
    });
    match (found, variable) {
        (Ok(found), None) => Ok(found?.unwrap_or_default()),
        (Err(what), None) => Err(missing(what, array, key)),
        (Err(_), Some(_)) => Ok(Obj::from(false)),
        (Ok(found), Some(variable)) => match found? {
            Some(value) => call.interp.set(&variable, value).map(|()| Obj::from(true)),
            None => Ok(Obj::from(false)),
        },
    }
}

fn getdef(
    call: &Call<'_>,
    array: &str,
    key: &str,
    args: Rest<'_>,
    variable: Option<String>,
) -> Outcome {
    let Some((default, path)) = args.0.split_last().filter(|(_, path)| !path.is_empty()) else {
        return Err(call.wrong_args());
    };
    let found = read(&store(call), array, key, |dict| look(dict, path)).unwrap_or(Ok(None))?;
    let there = found.is_some();
    let value = found.unwrap_or_else(|| default.clone());
    match variable {
        Some(variable) => call.interp.set(&variable, value).map(|()| Obj::from(there)),
        None => Ok(value),
    }
}
