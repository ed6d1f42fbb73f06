//! From a tree of values to JSON text, in one line or in several.

use super::parse::Value;

/// The shortest text of a value.
pub fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// A text that people read: indented by two blanks; what is short and simple stays in a line.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write_pretty(value, 0, &mut out);
    out
}

/// A text in quotes, with the escapes that JSON demands and no others.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(number) => out.push_str(number),
        Value::Text(text) => quote(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quote(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

/// The longest container that stays in one line, in bytes of its shortest text.
const LINE: usize = 60;

/// Whether a value is written in one line: a scalar, an array of scalars, an object with one such member.
fn simple(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements
            .iter()
            .all(|e| !matches!(e, Value::Array(_) | Value::Object(_))),
        Value::Object(members) => match members.as_slice() {
            [] => true,
            [(_, member)] => simple(member),
            _ => false,
        },
        _ => true,
    }
}

fn write_pretty(value: &Value, indent: usize, out: &mut String) {
    let empty = match value {
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    if empty {
        return write(value, out);
    }
    let line = simple(value) && compact(value).len() <= LINE;
    let (open, close, blank) = match value {
        Value::Object(_) => ('{', '}', true),
        _ => ('[', ']', false),
    };
    let separate = |at: usize, out: &mut String| {
        if at > 0 {
            out.push(',');
        }
        if !line {
            out.push('\n');
            out.push_str(&"  ".repeat(indent + 1));
        } else if at > 0 || blank {
            out.push(' ');
        }
    };
    out.push(open);
    match value {
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                separate(at, out);
                write_pretty(element, indent + 1, out);
            }
        }
        Value::Object(members) => {
            for (at, (key, member)) in members.iter().enumerate() {
                separate(at, out);
                quote(key, out);
                out.push_str(": ");
                write_pretty(member, indent + 1, out);
            }
        }
        _ => {}
    }
    if !line {
        out.push('\n');
        out.push_str(&"  ".repeat(indent));
    } else if blank {
        out.push(' ');
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Limits, parse_prefix};
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let value = Value::Object(vec![
            (
                "a\"\\\u{1}\n".to_owned(),
                Value::Array(vec![Value::Null, Value::Bool(false)]),
            ),
            (
                "é".to_owned(),
                Value::Object(vec![(String::new(), Value::Number("1.50".to_owned()))]),
            ),
        ]);
        for text in [compact(&value), pretty(&value)] {
            assert_eq!(
                parse_prefix(&text, &Limits::default()).ok(),
                Some((value.clone(), text.len())),
                "{text}"
            );
        }
    }
}
