//! Between trees of values and what scripts hold: Tcl values, triples, sets.

use shared::Set;
use tcl::{Exit, Interp, Obj};

use super::null;
use super::parse::{DEEPEST, Value, check_number};

/// Strings, numbers and booleans as texts, arrays as lists, objects as dictionaries.
pub fn to_tcl(value: &Value, null: &Obj) -> Obj {
    match value {
        Value::Null => null.clone(),
        Value::Bool(b) => Obj::from(word(*b)),
        Value::Number(text) | Value::Text(text) => Obj::from(text.as_str()),
        Value::Array(elements) => {
            let mut list = Vec::with_capacity(elements.len());
            for element in elements {
                list.push(to_tcl(element, null));
            }
            Obj::list(list)
        }
        Value::Object(members) => {
            let mut pairs = Vec::with_capacity(members.len());
            for (key, member) in members {
                pairs.push((Obj::from(key.as_str()), to_tcl(member, null)));
            }
            Obj::dict(pairs)
        }
    }
}

/// The triples of a document: `{} type value`.
pub fn to_triples(value: &Value, null: &Obj) -> Obj {
    Obj::list([
        Obj::from(""),
        Obj::from(type_of(value)),
        content(value, null),
    ])
}

/// The third of a triple.
fn content(value: &Value, null: &Obj) -> Obj {
    // Plain loops here and below: chains of closures take several times the stack per level.
    let mut triples = Vec::new();
    match value {
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                triples.extend([
                    Obj::from(at),
                    Obj::from(type_of(element)),
                    content(element, null),
                ]);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                triples.extend([
                    Obj::from(key.as_str()),
                    Obj::from(type_of(member)),
                    content(member, null),
                ]);
            }
        }
        scalar => return to_tcl(scalar, null),
    }
    Obj::list(triples)
}

/// The word triples and schemas have for the type of a value.
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Text(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn word(b: bool) -> &'static str {
    if b { "true" } else { "false" }
}

/// One field per scalar, with its path as the key, and before it one with its type. Scalars without a path have no field.
pub fn to_set(value: &Value, null: &str) -> Set {
    let mut set = Set::new("ns_json");
    fill_set(value, "", null, &mut set);
    set
}

fn fill_set(value: &Value, path: &str, null: &str, set: &mut Set) {
    let below = |segment: &str| {
        let segment = encode_key(segment);
        if path.is_empty() {
            segment
        } else {
            format!("{path}/{segment}")
        }
    };
    let scalar = match value {
        Value::Array(elements) if !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                fill_set(element, &below(&at.to_string()), null, set);
            }
            return;
        }
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                fill_set(member, &below(key), null, set);
            }
            return;
        }
        Value::Array(_) | Value::Object(_) => None,
        Value::Null => Some(null),
        Value::Bool(b) => Some(word(*b)),
        Value::Number(text) | Value::Text(text) => Some(text.as_str()),
    };
    if path.is_empty() {
        return;
    }
    set.put(format!("{path}.type"), type_of(value));
    if let Some(scalar) = scalar {
        set.put(path, scalar);
    }
}

/// A segment of a key of such a set.
pub fn encode_key(segment: &str) -> String {
    segment
        .replace('~', "~0")
        .replace('/', "~1")
        .replace('.', "~2")
}

/// What [`encode_key`] made it of. A `~` and what follows stay if it is not one of the three.
pub fn decode_key(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        if c != '~' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('0') => out.push('~'),
            Some('1') => out.push('/'),
            Some('2') => out.push('.'),
            other => {
                out.push('~');
                out.extend(other);
            }
        }
    }
    out
}

/// Whether a word is the type of a triple.
pub fn is_type(word: &str) -> bool {
    matches!(
        word,
        "string" | "number" | "boolean" | "null" | "object" | "array"
    )
}

/// The type and the value of a document in triples; None if the value is something else.
pub fn document(value: &Obj) -> Option<(String, Obj)> {
    // Not every text should become a list, only one that may be a document.
    let may_be = value.type_name().as_deref() == Some("list")
        || value.with_text(|text| {
            let text = text.trim_start();
            text.starts_with("{}") || text.starts_with("\"\"")
        });
    if !may_be {
        return None;
    }
    let elements = value.elements().ok()?;
    let [name, kind, content] = elements.as_slice() else {
        return None;
    };
    let kind = kind.text();
    (name.is_empty() && is_type(&kind)).then(|| (kind, content.clone()))
}

/// The value of a triple.
///
/// # Errors
/// The value does not suit the type.
pub fn of_triple(kind: &str, value: &Obj) -> Result<Value, Exit> {
    of_triple_at(kind, value, 0)
}

fn of_triple_at(kind: &str, value: &Obj, depth: usize) -> Result<Value, Exit> {
    if depth > DEEPEST {
        return Err(tcl::error("ns_json value: max depth exceeded"));
    }
    Ok(match kind {
        "string" => Value::Text(value.text()),
        "number" => {
            let text = value.text();
            check_number(&text)?;
            Value::Number(text)
        }
        "boolean" => Value::Bool(value.boolean()?),
        "null" => Value::Null,
        "object" | "array" => {
            let elements = value.elements()?;
            let (triples, rest) = elements.as_chunks::<3>();
            if !rest.is_empty() {
                return Err(tcl::error(
                    "ns_json value: triples length must be multiple of 3",
                ));
            }
            let array = kind == "array";
            let (mut list, mut members) = (Vec::new(), Vec::new());
            for [name, kind, value] in triples {
                let value = of_triple_at(&kind.text(), value, depth + 1)?;
                if array {
                    list.push(value);
                } else {
                    members.push((name.text(), value));
                }
            }
            if array {
                Value::Array(list)
            } else {
                Value::Object(members)
            }
        }
        _ => {
            return Err(tcl::error(format!(
                "ns_json value: invalid triple type: {kind}"
            )));
        }
    })
}

/// The value of a Tcl value whose type nobody told: a null, a document in triples, a number as JSON writes it, a word
/// for true or false, else a string.
pub fn guess(interp: &Interp, value: &Obj) -> Result<Value, Exit> {
    if null::is_null(interp, value) {
        return Ok(Value::Null);
    }
    if let Some((kind, content)) = document(value) {
        return of_triple(&kind, &content);
    }
    let text = value.text();
    Ok(match truth(&text) {
        Some(b) => Value::Bool(b),
        None if check_number(&text).is_ok() => Value::Number(text),
        None => Value::Text(text),
    })
}

/// Tcl's words for true and false, in full; their abbreviations are texts.
pub fn truth(text: &str) -> Option<bool> {
    if text.len() > 5 {
        return None;
    }
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The text of a Tcl number as JSON writes it; its own text if it is one already.
///
/// # Errors
/// It is no number, or not a finite one.
pub fn number(value: &Obj) -> Result<String, Exit> {
    let text = value.text();
    let trimmed = text.trim();
    if check_number(trimmed).is_ok() {
        return Ok(trimmed.to_owned());
    }
    if let Ok(int) = value.int() {
        return Ok(int.to_string());
    }
    match value.double() {
        Ok(double) if double.is_finite() => Ok(Obj::from(double).text()),
        _ => Err(tcl::error(format!(
            "expected numeric Tcl value, got \"{text}\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back() {
        for key in ["a/b~c.d", "", "~1", "~~0", "é"] {
            assert_eq!(decode_key(&encode_key(key)), key);
        }
        assert_eq!(decode_key("a~3b~"), "a~3b~");
    }
}
