//! Small words of the HTTP grammar that many header fields share: tokens, lists, parameters, quoted strings.

/// RFC 9110 section 5.6.2: the characters of a token.
pub const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Whether `text` is a non-empty token.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// Without blanks and tabs at both ends (RFC 9110 section 5.6.3).
pub fn trim_ows(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Without blanks and tabs at both ends.
pub fn trim_ows_str(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// The non-empty elements of a comma separated list (RFC 9110 section 5.6.1), trimmed; commas inside quoted strings
/// do not separate.
pub fn list(value: &str) -> impl Iterator<Item = &str> {
    Split {
        rest: Some(value),
        separator: b',',
    }
    .map(trim_ows_str)
    .filter(|element| !element.is_empty())
}

/// The pieces between `;`, trimmed, empty ones included; semicolons inside quoted strings do not separate.
pub fn pieces(value: &str) -> impl Iterator<Item = &str> {
    Split {
        rest: Some(value),
        separator: b';',
    }
    .map(trim_ows_str)
}

/// The value of parameter `name` of a field value such as `text/html; charset=utf-8`, unquoted.
///
/// The name is compared without regard to case; the first piece is the value proper and not looked at.
pub fn parameter(value: &str, name: &str) -> Option<String> {
    pieces(value).skip(1).find_map(|piece| {
        let (have, content) = piece.split_once('=')?;
        trim_ows_str(have)
            .eq_ignore_ascii_case(name)
            .then(|| unquote(trim_ows_str(content)))
    })
}

/// The content of a quoted string (RFC 9110 section 5.6.4); other text is returned unchanged.
pub fn unquote(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"') else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

/// As a quoted string; characters that cannot stand in one become blanks.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\t' => out.push(c),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Split<'a> {
    rest: Option<&'a str>,
    separator: u8,
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest?;
        let (mut quoted, mut escaped) = (false, false);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                byte if byte == self.separator && !quoted => {
                    self.rest = Some(&text[at + 1..]);
                    return Some(&text[..at]);
                }
                _ => {}
            }
        }
        self.rest = None;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_parameters() {
        assert_eq!(
            list(" a,, b , \"c,d\" ,").collect::<Vec<_>>(),
            ["a", "b", "\"c,d\""]
        );
        assert_eq!(
            parameter("form-data; NAME=\"a;\\\"b\"; filename=x", "name").as_deref(),
            Some("a;\"b")
        );
        assert_eq!(
            parameter("form-data; name=file; filename=plain.txt", "filename").as_deref(),
            Some("plain.txt")
        );
        assert_eq!(parameter("name=x", "name"), None);
    }

    proptest! {
        #[test]
        fn quoting_is_reversible(text in "[ -~äé€\t]*") {
            prop_assert_eq!(unquote(&quote(&text)), text);
        }

        #[test]
        fn splitting_never_panics(text in any::<String>()) {
            list(&text).for_each(drop);
            let _ = parameter(&text, "x");
        }
    }
}
