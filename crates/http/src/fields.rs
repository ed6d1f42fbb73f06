//! Header fields and messages as scripts take them apart, with the reference's tolerance
//! (manual pages ns_parseheader, ns_parsefieldvalue, ns_parsemessage). Requests go through [`crate::head`] instead.

use crate::syntax::is_tchar;
use shared::Set;

/// Adds a header line to a set, its name behind `prefix`; a line that begins with a blank continues the last value.
/// Returns the index of the field, `None` for a line that is neither.
///
/// Blanks after the colon are skipped, everything else is kept.
pub fn parse_header(set: &mut Set, line: &str, prefix: &str) -> Option<usize> {
    if line.starts_with([' ', '\t']) {
        let last = set.len().checked_sub(1)?;
        let value = format!(
            "{} {}",
            set.value(last)?,
            line.trim_matches([' ', '\t', '\r', '\n'])
        );
        return set.put_value(last, value).then_some(last);
    }
    let (name, value) = line.split_once(':')?;
    let value = value.trim_start_matches([' ', '\t']);
    Some(set.put(format!("{prefix}{name}"), value))
}

/// One element of a field value: names and values in order. The first one is the value proper: its name with an empty
/// value, or `name=value`.
pub type Element = Vec<(String, String)>;

/// Splits a field value into its elements (`,`) and their parameters (`;`).
///
/// `lower` puts names into lower case; `single` stops after the first element. As in the reference, parsing ends
/// quietly at a character that is neither token nor separator; `strict` makes that the error `unparsed content '...'`.
pub fn parse_field_value(
    text: &str,
    lower: bool,
    strict: bool,
    single: bool,
) -> Result<Vec<Element>, String> {
    let mut elements: Vec<Element> = Vec::new();
    let mut rest = skip(text);
    'elements: while !rest.is_empty() {
        let mut element = Element::new();
        loop {
            rest = skip(rest.trim_start_matches(';'));
            if rest.is_empty() || rest.starts_with(',') {
                break;
            }
            let (name, after) = name_at(rest);
            let after = skip(after);
            let (name, value, after) = match after.strip_prefix('=') {
                // A value without name is taken for a name.
                Some(after) if name.is_empty() => {
                    let (value, after) = value_at(skip(after));
                    (value, String::new(), skip(after))
                }
                Some(after) => {
                    let (value, after) = value_at(skip(after));
                    (name, value, skip(after))
                }
                None => (name, String::new(), after),
            };
            let stuck = after.len() == rest.len();
            rest = after;
            if !stuck {
                element.push((if lower { name.to_lowercase() } else { name }, value));
            }
            if stuck || !(rest.is_empty() || rest.starts_with([';', ','])) {
                if strict {
                    return Err(format!("unparsed content '{rest}'"));
                }
                if !element.is_empty() {
                    elements.push(element);
                }
                break 'elements;
            }
        }
        if !element.is_empty() {
            elements.push(element);
        }
        if single {
            elements.truncate(1);
            if !elements.is_empty() {
                break;
            }
        }
        rest = skip(rest.strip_prefix(',').unwrap_or(rest));
    }
    Ok(elements)
}

/// A message taken apart.
#[derive(Debug, Clone)]
pub struct Message {
    /// The request or status line.
    pub first_line: String,
    /// Its fields, names in lower case.
    pub headers: Set,
    /// Everything behind the empty line.
    pub body: String,
}

/// Splits an HTTP message. Lines may end with LF alone; lines that are no fields are skipped; folded ones are joined.
/// `None` if there is no complete first line.
pub fn parse_message(text: &str) -> Option<Message> {
    let (first, mut rest) = line_of(text)?;
    let mut headers = Set::new_nocase("headers");
    if !first.is_empty() {
        while let Some((line, after)) = line_of(rest) {
            // A fold right behind the first line belongs to nothing; the reference takes it for the body.
            if headers.is_empty() && line.starts_with([' ', '\t']) {
                break;
            }
            rest = after;
            if line.is_empty() {
                break;
            }
            parse_header(&mut headers, line, "");
        }
    }
    Some(Message {
        first_line: first.to_owned(),
        headers,
        body: rest.to_owned(),
    })
}

fn line_of(text: &str) -> Option<(&str, &str)> {
    let (line, rest) = text.split_once('\n')?;
    Some((line.strip_suffix('\r').unwrap_or(line), rest))
}

fn skip(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\r', '\n'])
}

/// A name, which the reference also takes out of a quoted string, where it ends with the first character of no token.
fn name_at(text: &str) -> (String, &str) {
    let (inner, quoted) = match text.strip_prefix('"') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let n = inner.bytes().take_while(|&b| is_tchar(b)).count();
    let rest = &inner[n..];
    (
        inner[..n].to_owned(),
        if quoted {
            rest.strip_prefix('"').unwrap_or(rest)
        } else {
            rest
        },
    )
}

/// A value: a quoted string, in which `\\` is a backslash and `\"` stays as it is, or what reaches to the next
/// separator or blank.
fn value_at(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let ends = |c: char| matches!(c, ';' | ',') || !c.is_ascii_graphic();
        let n = text.find(ends).unwrap_or(text.len());
        return (text[..n].to_owned(), &text[n..]);
    };
    let mut out = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &inner[at + 1..]),
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | '"'))) => out.push(escaped),
                Some((_, next)) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let elements = parse_field_value(text, false, false, false).unwrap();
        let show = |e: &Element| {
            e.iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join(";")
        };
        elements.iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn recorded_field_values() {
        for (text, expected) in [
            ("foo", "foo="),
            ("foo; bar=baz; x=\"y z\"", "foo=;bar=baz;x=y z"),
            ("foo;a=1,bar;b=2", "foo=;a=1 | bar=;b=2"),
            (
                "for=192.0.2.43;proto=https, for=\"[2001:db8::17]:4711\"",
                "for=192.0.2.43;proto=https | for=[2001:db8::17]:4711",
            ),
            ("text/html; charset=utf-8", "text="),
            ("foo; bar=\"unterminated", "foo=;bar=unterminated"),
            ("foo; bar=\"a\\\"b\"", "foo=;bar=a\"b"),
            ("foo; bar=\"a\\\\b\"", "foo=;bar=a\\b"),
            (
                "a; filename=\"my, file;name.txt\"; size=10",
                "a=;filename=my, file;name.txt;size=10",
            ),
            (
                "gzip;q=1.0, identity; q=0.5, *;q=0",
                "gzip=;q=1.0 | identity=;q=0.5 | *=;q=0",
            ),
            (" a , b ; c = d ", "a= | b=;c=d"),
            ("a;;b", "a=;b="),
            ("a;b=", "a=;b="),
            ("a;=b", "a=;b="),
            ("\"quoted\"", "quoted="),
            ("\"quoted, value\"; x=1", "quoted= | value="),
            ("u=ü; v=\"é€\"", "u="),
            (
                "attachment; filename*=UTF-8''%e2%82%ac%20rates",
                "attachment=;filename*=UTF-8''%e2%82%ac%20rates",
            ),
            ("max-age=3600, public; x", "max-age=3600 | public=;x="),
            ("a; b=1; b=2", "a=;b=1;b=2"),
            ("", ""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        let strict = |text| parse_field_value(text, false, true, false);
        assert_eq!(strict("foo; bar=a b"), Err("unparsed content 'b'".into()));
        assert_eq!(strict("a=b c=d"), Err("unparsed content 'c=d'".into()));
        assert!(strict("foo; bar=\"a b\"").is_ok());
        let lower =
            parse_field_value("Attachment; FileName=\"X.TXT\", b", true, true, true).unwrap();
        assert_eq!(
            lower,
            [vec![
                ("attachment".to_owned(), String::new()),
                ("filename".into(), "X.TXT".into())
            ]]
        );
    }

    #[test]
    fn recorded_headers() {
        let parse = |lines: &[&str]| {
            let mut set = Set::new("h");
            let ok = lines
                .iter()
                .all(|line| parse_header(&mut set, line, "").is_some());
            ok.then(|| {
                set.iter()
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect::<Vec<_>>()
                    .join("|")
            })
        };
        assert_eq!(parse(&["a:   b  "]).as_deref(), Some("a=b  "));
        assert_eq!(parse(&["a : b"]).as_deref(), Some("a =b"));
        assert_eq!(parse(&["a:b", " cont"]).as_deref(), Some("a=b cont"));
        assert_eq!(parse(&["X: a:b:c"]).as_deref(), Some("X=a:b:c"));
        for bad in ["noheader", "", " cont"] {
            assert_eq!(parse(&[bad]), None, "{bad}");
        }
        let mut set = Set::new("h");
        assert_eq!(parse_header(&mut set, "Foo: bar", "X-"), Some(0));
        assert_eq!(set.key(0), Some("X-Foo"));
    }

    #[test]
    fn recorded_messages() {
        let parse = |text: &str| {
            parse_message(text).map(|m| {
                let headers: String = m
                    .headers
                    .iter()
                    .map(|(k, v)| format!("<{k}={v}>"))
                    .collect();
                format!("{}|{headers}|{}", m.first_line, m.body)
            })
        };
        for (text, expected) in [
            ("A: 1\r\nB: 2\r\n\r\nbody", Some("A: 1|<b=2>|body")),
            (
                "A: 1\nB: 2\n\nbody line 1\nbody line 2\n",
                Some("A: 1|<b=2>|body line 1\nbody line 2\n"),
            ),
            ("\r\nonly body", Some("||only body")),
            ("only body", None),
            ("", None),
            (
                "A: 1\r\nA: 2\r\na: 3\r\n\r\n\r\nx",
                Some("A: 1|<a=2><a=3>|\r\nx"),
            ),
            (
                "GET / HTTP/1.1\r\nA: x\r\n\ty\r\nB: 2\r\n\r\nbody",
                Some("GET / HTTP/1.1|<a=x y><b=2>|body"),
            ),
        ] {
            assert_eq!(parse(text).as_deref(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), marks in "[a,;= \"\\\\é]{0,20}") {
            for text in [&text, &marks] {
                for strict in [false, true] {
                    let _ = (parse_field_value(text, true, strict, strict), parse_message(text));
                }
            }
        }
    }
}
