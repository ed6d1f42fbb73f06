//! Keyed lists, as TclX had them: lists of pairs, with paths of keys separated by dots.

use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj};

commands! { TABLE(call):

    /// Sets values in the keyed list of a variable.
    #[usage("wrong # args: keylset listvar /key/ /value/ ?/key//value/ ...?")]
    "keylset" (words: Option<Rest>)
        => set(call);

    /// A value of the keyed list of a variable, or its keys.
    #[usage("wrong # args: keylget listvar ?/key/? ?/retvar/ | {}?")]
    "keylget" (words: Option<Rest>)
        => get(call);

    /// Removes keys from the keyed list of a variable.
    #[usage("wrong # args: keyldel listvar /key/ ?/key/ ...?")]
    "keyldel" (words: Option<Rest>)
        => delete(call);

    /// The keys of the keyed list of a variable.
    #[usage("wrong # args: keylkeys listvar ?/key/?")]
    "keylkeys" (words: Option<Rest>)
        => keys(call);
}

/// The complaint about a number of words; these commands have their own form of it.
fn wrong(call: &Call<'_>, what: &str) -> Exit {
    tcl::error(format!("wrong # args: {} {what}", call.words[0].text()))
}

/// The value of the variable; Tcl's complaint if there is none.
fn list_of(call: &Call<'_>, name: &Obj) -> Result<Obj, Exit> {
    call.interp.call(&[Obj::from("::set"), name.clone()])
}

type Entries = Vec<(Obj, Obj)>;

fn entries(list: &Obj) -> Result<Entries, Exit> {
    list.elements()?
        .iter()
        .map(|entry| match entry.elements()?.as_slice() {
            [key, value] => Ok((key.clone(), value.clone())),
            _ => Err(tcl::error(format!(
                "keyed list entry must be a two element list, found \"{}\"",
                entry.text()
            ))),
        })
        .collect()
}

fn list(entries: Entries) -> Obj {
    Obj::list(
        entries
            .into_iter()
            .map(|(key, value)| Obj::list([key, value])),
    )
}

fn split(key: &str) -> (&str, Option<&str>) {
    key.split_once('.')
        .map_or((key, None), |(first, rest)| (first, Some(rest)))
}

fn checked(key: &Obj) -> Result<String, Exit> {
    let key = key.text();
    if key.is_empty() {
        return Err(tcl::error("keyed list key may not be an empty string"));
    }
    Ok(key)
}

fn find(list: &Obj, key: &str) -> Result<Option<Obj>, Exit> {
    let mut list = list.clone();
    let mut rest = Some(key);
    while let Some(path) = rest {
        let (first, after) = split(path);
        match entries(&list)?.into_iter().find(|(k, _)| *k == first) {
            Some((_, value)) => list = value,
            None => return Ok(None),
        }
        rest = after;
    }
    Ok(Some(list))
}

fn put(list_value: &Obj, key: &str, value: &Obj) -> Result<Obj, Exit> {
    let mut all = entries(list_value)?;
    let (first, rest) = split(key);
    let place = all.iter().position(|(k, _)| *k == first);
    let new = match rest {
        None => value.clone(),
        Some(rest) => put(
            &place.map_or_else(Obj::new, |at| all[at].1.clone()),
            rest,
            value,
        )?,
    };
    match place {
        Some(at) => all[at].1 = new,
        None => all.push((Obj::from(first), new)),
    }
    Ok(list(all))
}

/// `None` if there is no such key. Lists that become empty go with their last key.
fn remove(list_value: &Obj, key: &str) -> Result<Option<Obj>, Exit> {
    let mut all = entries(list_value)?;
    let (first, rest) = split(key);
    let Some(at) = all.iter().position(|(k, _)| *k == first) else {
        return Ok(None);
    };
    match rest {
        None => drop(all.remove(at)),
        Some(rest) => match remove(&all[at].1, rest)? {
            None => return Ok(None),
            Some(left) if left.is_empty() => drop(all.remove(at)),
            Some(left) => all[at].1 = left,
        },
    }
    Ok(Some(list(all)))
}

fn set(call: &Call<'_>) -> Result<(), Exit> {
    let args = call.args();
    if args.len() < 3 || args.len().is_multiple_of(2) {
        return Err(wrong(call, "listvar /key/ /value/ ?/key//value/ ...?"));
    }
    let name = args[0].text();
    let mut value = call.interp.get(&name).unwrap_or_default();
    for pair in args[1..].chunks_exact(2) {
        value = put(&value, &checked(&pair[0])?, &pair[1])?;
    }
    call.interp.set(&name, value)
}

fn get(call: &Call<'_>) -> Result<Obj, Exit> {
    let (name, key, result) = match call.args() {
        [_] => return keys(call),
        [name, key] => (name, key, None),
        [name, key, result] => (name, key, Some(result)),
        _ => return Err(wrong(call, "listvar ?/key/? ?/retvar/ | {}?")),
    };
    let value = list_of(call, name)?;
    let key = checked(key)?;
    match (find(&value, &key)?, result) {
        (Some(found), None) => Ok(found),
        (None, None) => Err(tcl::error(format!("key \"{key}\" not found in keyed list"))),
        (None, Some(_)) => Ok(Obj::from(false)),
        (Some(found), Some(result)) => {
            if !result.is_empty() {
                call.interp.set(&result.text(), found)?;
            }
            Ok(Obj::from(true))
        }
    }
}

fn delete(call: &Call<'_>) -> Result<(), Exit> {
    let [name, keys @ ..] = call.args() else {
        return Err(wrong(call, "listvar /key/ ?/key/ ...?"));
    };
    if keys.is_empty() {
        return Err(wrong(call, "listvar /key/ ?/key/ ...?"));
    }
    let mut value = list_of(call, name)?;
    for key in keys {
        let key = checked(key)?;
        value =
            remove(&value, &key)?.ok_or_else(|| tcl::error(format!("key not found: \"{key}\"")))?;
    }
    call.interp.set(&name.text(), value)
}

fn keys(call: &Call<'_>) -> Result<Obj, Exit> {
    let (name, key) = match call.args() {
        [name] => (name, None),
        [name, key] => (name, Some(key)),
        _ => return Err(wrong(call, "listvar ?/key/?")),
    };
    let mut value = list_of(call, name)?;
    if let Some(key) = key {
        let key = checked(key)?;
        value =
            find(&value, &key)?.ok_or_else(|| tcl::error(format!("key not found: \"{key}\"")))?;
    }
    Ok(Obj::list(entries(&value)?.into_iter().map(|(key, _)| key)))
}
