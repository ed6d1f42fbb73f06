//! ns_set and its handles, and what works on lists of them.

use std::rc::Rc;

use ::server::script::SetRef;
use shared::Set;
use synopsis::{Call, Int, MAX, Rest, commands};
use tcl::{Exit, Obj, Outcome};

use crate::kinds::{SetArg, context};

/// Number of a field.
type Field = Int<0, MAX>;

commands! { TABLE(call):

    /// All keys and values of a set, in order.
    "ns_set array" (set as "setId": SetArg)
        => Obj::list_of(set.set.borrow().iter().flat_map(|(k, v)| [k, v]));

    /// Frees all sets of the interpreter.
    "ns_set cleanup" => context(call).sets.borrow_mut().clear();

    /// A new set with the same name and fields.
    "ns_set copy" (set as "setId": SetArg)
        => { let copy = set.set.borrow().copy(); enter(call, copy) };

    /// Appends a field unless its key is there; its number.
    "ns_set cput" [-nocase: bool, --] (set as "setId": SetArg, key: String, value: String)
        => if nocase { cput_nocase(&set.set, &key, &value) } else { number(set.set.borrow_mut().cput(key, value)) };

    /// A new set; an odd number of words starts with its name.
    #[usage("?-nocase? ?--? ?/name/? ?/key/? ?/value/? ...")]
    "ns_set create" [-nocase: bool, --] (words: Option<Rest>)
        => create(call, nocase, words);

    /// Removes a field.
    "ns_set delete" (set as "setId": SetArg, field as "fieldNumber": Field)
        => { let i = index(&set.set, "delete", field)?; set.set.borrow_mut().delete(i); Ok::<(), Exit>(()) };

    /// Removes the first field with this key; whether there was one.
    "ns_set delkey" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => { let mut s = set.set.borrow_mut(); if nocase { s.idelkey(&key) } else { s.delkey(&key) } };

    /// The number of the first field with this key, or -1.
    "ns_set find" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => { let s = set.set.borrow(); found(if nocase { s.ifind(&key) } else { s.find(&key) }) };

    /// The set as text, a line for each field.
    "ns_set format" [-noname: bool, -lead: String = "  ".to_owned(), -separator: String = ": ".to_owned(), --]
        (set as "setId": SetArg)
        => set.set.borrow().format(!noname, &lead, &separator);

    /// Frees a set.
    "ns_set free" (set as "setId": SetArg)
        => { context(call).sets.borrow_mut().remove(&set.handle); };

    /// The first value under a key, or all of them.
    "ns_set get" [-all: bool, -nocase: bool, --] (set as "setId": SetArg, key: String, default: Option<Obj>)
        => get(&set.set, &key, all, nocase, default);

    /// As ns_set cput, without regard to case.
    "ns_set icput" [-nocase: bool, --] (set as "setId": SetArg, key: String, value: String)
        => number(set.set.borrow_mut().icput(key, value));

    /// As ns_set delkey, without regard to case.
    "ns_set idelkey" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => set.set.borrow_mut().idelkey(&key);

    /// As ns_set find, without regard to case.
    "ns_set ifind" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => found(set.set.borrow().ifind(&key));

    /// As ns_set get, without regard to case.
    "ns_set iget" [-all: bool, -nocase: bool, --] (set as "setId": SetArg, key: String, default: Option<Obj>)
        => get(&set.set, &key, all, true, default);

    /// As ns_set merge, without regard to case.
    "ns_set imerge" [-nocase: bool, --] (high as "setId1": SetArg, low as "setId2": SetArg)
        => merge(high, &low, true);

    /// Whether the value of a field is a null of a database.
    "ns_set isnull" (set as "setId": SetArg, field as "fieldNumber": Field)
        => index(&set.set, "isnull", field).map(|i| set.set.borrow().is_null(i).unwrap_or(false));

    /// As ns_set unique, without regard to case.
    "ns_set iunique" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => set.set.borrow().iunique(&key);

    /// As ns_set update, without regard to case.
    "ns_set iupdate" [-nocase: bool, --] (set as "setId": SetArg, key: String, value: String)
        => number(set.set.borrow_mut().iupdate(key, value));

    /// The key of a field.
    "ns_set key" (set as "setId": SetArg, field as "fieldNumber": Field)
        => index(&set.set, "key", field).map(|i| set.set.borrow().key(i).map(String::from));

    /// The keys of all fields, or of those that match.
    "ns_set keys" (set as "setId": SetArg, pattern: Option<String>)
        => Obj::list_of(set.set.borrow().keys(pattern.as_deref()));

    /// The handles of all sets.
    "ns_set list"
        => context(call).sets.borrow().list().into_iter().map(|(handle, _)| handle).collect::<Vec<_>>();

    /// Appends the fields of the second set whose keys the first has not.
    "ns_set merge" [-nocase: bool, --] (high as "setId1": SetArg, low as "setId2": SetArg)
        => merge(high, &low, nocase);

    /// Moves all fields of the second set to the end of the first.
    "ns_set move" (to as "setId1": SetArg, from as "setId2": SetArg)
        => {
            if !Rc::ptr_eq(&to.set, &from.set) {
                to.set.borrow_mut().take_from(&mut from.set.borrow_mut());
            }
            to.handle
        };

    /// The name of a set.
    "ns_set name" (set as "setId": SetArg) => set.set.borrow().name().to_owned();

    /// A new set; an odd number of words starts with its name.
    #[usage("?-nocase? ?--? ?/name/? ?/key/? ?/value/? ...")]
    "ns_set new" [-nocase: bool, --] (words: Option<Rest>)
        => create(call, nocase, words);

    /// Writes a set to the system log.
    "ns_set print" (set as "setId": SetArg)
        => { let text = set.set.borrow().format(true, "  ", ": "); shared::notice!("ns_set {}\n{text}", set.handle); };

    /// Appends a field; its number.
    "ns_set put" (set as "setId": SetArg, key: String, value: String)
        => number(set.set.borrow_mut().put(key, value));

    /// How many fields there are. With numbers: cuts the set, and makes room.
    "ns_set size" (set as "setId": SetArg, fields as "nrElements": Option<Int<0, MAX>>, bytes as "bufferSize": Option<Int<200, MAX>>)
        => size(&set.set, fields, bytes);

    /// New sets from one, by the part of each key in front of a character.
    "ns_set split" (set as "setId": SetArg, character as "splitChar": String = ".".to_owned())
        => split(call, &set.set, &character);

    /// What the sets of the interpreter take.
    "ns_set stats" => stats(call);

    /// Removes all fields from a number on.
    "ns_set truncate" (set as "setId": SetArg, field as "fieldNumber": Field)
        => index(&set.set, "truncate", field).map(|i| { set.set.borrow_mut().truncate(i); });

    /// Whether there is at most one field with this key.
    "ns_set unique" [-nocase: bool, --] (set as "setId": SetArg, key: String)
        => { let s = set.set.borrow(); if nocase { s.iunique(&key) } else { s.unique(&key) } };

    /// Replaces the first value under a key, or appends a field; its number.
    "ns_set update" [-nocase: bool, --] (set as "setId": SetArg, key: String, value: String)
        // The reference does nothing with -nocase; iupdate does it.
        => if nocase { -1 } else { number(set.set.borrow_mut().update(key, value)) };

    /// The value of a field.
    "ns_set value" (set as "setId": SetArg, field as "fieldNumber": Field)
        => index(&set.set, "value", field).map(|i| set.set.borrow().value(i).map(String::from));

    /// The values of all fields, or those that match.
    "ns_set values" (set as "setId": SetArg, pattern: Option<String>)
        => Obj::list_of(set.set.borrow().values(pattern.as_deref()));

    /// Adds a header line to a set; a line that begins with a blank goes on with the field before it.
    "ns_parseheader" [-prefix: Option<String>] (set: SetArg, headerline: String)
        => parse_header(&set.set, prefix.as_deref().unwrap_or_default(), &headerline);

    /// The set of this name among several, or nothing.
    #[style(proc)]
    "ns_findset" (sets: Obj, name: String) => find_named(call, &sets, &name);
}

/// `ns_set size` may ask for any number; room is only a hint.
const MOST_FIELDS: usize = 1 << 16;
const MOST_BYTES: usize = 16 << 20;

fn enter(call: &Call<'_>, set: Set) -> String {
    context(call).sets.borrow_mut().create(set)
}

fn create(call: &Call<'_>, nocase: bool, words: Option<Rest<'_>>) -> String {
    let words = words.map_or(&[][..], |w| w.0);
    let mut set = Set::unnamed();
    let fields = if words.len() % 2 == 1 {
        set.set_name(Some(words[0].text()));
        &words[1..]
    } else {
        words
    };
    set.set_nocase(nocase);
    for pair in fields.chunks_exact(2) {
        pair[0].with_text(|key| pair[1].with_text(|value| set.put(key, value)));
    }
    enter(call, set)
}

/// The reference answers -1 when the key is there.
fn cput_nocase(set: &SetRef, key: &str, value: &str) -> i64 {
    let mut set = set.borrow_mut();
    if set.ifind(key).is_some() {
        -1
    } else {
        number(set.put(key, value))
    }
}

fn number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

fn found(index: Option<usize>) -> i64 {
    index.map_or(-1, number)
}

/// The number of a field, or of the place behind the last one.
fn index(set: &SetRef, command: &str, field: Field) -> Result<usize, Exit> {
    let index = field.as_usize();
    if index <= set.borrow().len() {
        Ok(index)
    } else {
        Err(tcl::error(format!(
            "ns_set {command}: index must be maximal the number of elements"
        )))
    }
}

fn get(set: &SetRef, key: &str, all: bool, nocase: bool, default: Option<Obj>) -> Obj {
    let set = set.borrow();
    if all {
        let values: Vec<&str> = if nocase {
            set.iget_all(key).collect()
        } else {
            set.get_all(key).collect()
        };
        return if values.is_empty() {
            default.unwrap_or_default()
        } else {
            Obj::list_of(values)
        };
    }
    let value = if nocase { set.iget(key) } else { set.get(key) };
    value.map(Obj::from).or(default).unwrap_or_default()
}

fn merge(high: SetArg, low: &SetArg, nocase: bool) -> String {
    if !Rc::ptr_eq(&high.set, &low.set) {
        let mut set = high.set.borrow_mut();
        if nocase {
            set.imerge(&low.set.borrow())
        } else {
            set.merge(&low.set.borrow())
        }
    }
    high.handle
}

fn size(set: &SetRef, fields: Option<Int<0, MAX>>, bytes: Option<Int<200, MAX>>) -> i64 {
    let mut set = set.borrow_mut();
    if let Some(fields) = fields.map(Int::as_usize)
        && !set.truncate(fields)
    {
        let bytes = bytes.map_or(0, Int::as_usize).min(MOST_BYTES);
        set.reserve(fields.min(MOST_FIELDS), bytes);
    }
    number(set.len())
}

fn split(call: &Call<'_>, set: &SetRef, character: &str) -> Outcome {
    let mut characters = character.chars();
    let (Some(separator), None) = (characters.next(), characters.next()) else {
        return Err(tcl::error(format!(
            "ns_set split: the split character must be one character long, provided '{character}'"
        )));
    };
    let parts = set.borrow().split(separator);
    Ok(Obj::list(
        parts.into_iter().map(|part| Obj::from(enter(call, part))),
    ))
}

/// `sets N fields N allocated BYTES used BYTES`.
fn stats(call: &Call<'_>) -> Obj {
    let sets = context(call).sets.borrow().list();
    let (mut fields, mut allocated, mut used) = (0, 0, 0);
    for (_, set) in &sets {
        let set = set.borrow();
        let (a, u) = set.memory();
        fields += set.len();
        allocated += a;
        used += u;
    }
    let pairs = [
        ("sets", sets.len()),
        ("fields", fields),
        ("allocated", allocated),
        ("used", used),
    ];
    Obj::dict(pairs.map(|(k, v)| (Obj::from(k), Obj::from(v))))
}

fn parse_header(set: &SetRef, prefix: &str, line: &str) -> Outcome<i64> {
    let mut set = set.borrow_mut();
    let invalid = || tcl::error(format!("invalid header: {line}"));
    if line.starts_with([' ', '\t']) {
        let last = set.len().checked_sub(1).ok_or_else(invalid)?;
        let value = format!(
            "{} {}",
            set.value(last).unwrap_or_default(),
            line.trim_start_matches([' ', '\t'])
        );
        set.put_value(last, value);
        return Ok(0);
    }
    let (key, value) = line.split_once(':').ok_or_else(invalid)?;
    set.put(
        format!("{prefix}{key}"),
        value.trim_start_matches([' ', '\t']),
    );
    Ok(0)
}

fn find_named(call: &Call<'_>, sets: &Obj, name: &str) -> Outcome {
    let context = context(call);
    for handle in sets.elements()? {
        let Some(set) = context.sets.borrow().get(&handle.text()) else {
            return Err(tcl::error(format!("no such set: '{}'", handle.text())));
        };
        if set.borrow().name() == name {
            return Ok(handle);
        }
    }
    Ok(Obj::new())
}
