//! Percent-encoding of the parts of a URL, of cookies and of OAuth signatures, in any character set
//! (manual pages ns_urlencode, ns_urldecode, ns_percentencode).

use crate::charset::Charset;
use std::borrow::Cow;

/// Which characters may stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// Names and values of a query; a blank is `+`.
    #[default]
    Query,
    /// One segment of a path.
    Path,
    /// A path with its slashes.
    FullPath,
    /// A fragment.
    Fragment,
    /// The value of a cookie.
    Cookie,
    /// RFC 5849 section 3.6, always in upper case.
    Oauth1,
}

impl Part {
    /// The part by the name the Tcl API has for it.
    pub fn for_name(name: &str) -> Option<Part> {
        Some(match name {
            "query" => Part::Query,
            "path" => Part::Path,
            "fullpath" => Part::FullPath,
            "fragment" => Part::Fragment,
            "cookie" => Part::Cookie,
            "oauth1" => Part::Oauth1,
            _ => return None,
        })
    }

    /// Characters beyond letters and digits that are not encoded.
    const fn safe(self) -> &'static [u8] {
        match self {
            Part::Query => b"!$'()*-./:?@_~",
            Part::Path => b"!$&'()*+,-.:@_~",
            Part::FullPath => b"!$&'()*+,-./:@_~",
            Part::Fragment => b"!$&'()*+,-./:;=?@_~",
            Part::Cookie => b"!#$&'()*+-./:<=>?@[]^_`{|}~",
            Part::Oauth1 => b"-._~",
        }
    }
}

/// Appends bytes, percent-encoded. `uppercase` is about the hexadecimal digits.
pub fn encode_bytes(bytes: &[u8], part: Part, uppercase: bool, out: &mut String) {
    let digits: &[u8; 16] = if uppercase || part == Part::Oauth1 {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let safe = part.safe();
    out.reserve(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || safe.contains(&byte) {
            out.push(char::from(byte));
        } else if byte == b' ' && part == Part::Query {
            out.push('+');
        } else {
            out.push('%');
            out.push(char::from(digits[usize::from(byte >> 4)]));
            out.push(char::from(digits[usize::from(byte & 15)]));
        }
    }
}

/// Percent-encodes text in a character set.
pub fn encode(text: &str, part: Part, charset: Charset, uppercase: bool) -> String {
    let mut out = String::new();
    encode_bytes(&charset.encode(text), part, uppercase, &mut out);
    out
}

/// Decodes `%xx`, and `+` in queries. A percent sign without two hexadecimal digits stands for itself.
pub fn decode_bytes(text: &[u8], part: Part) -> Cow<'_, [u8]> {
    let plus = part == Part::Query;
    if !text.iter().any(|&b| b == b'%' || (plus && b == b'+')) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'+' if plus => out.push(b' '),
            b'%' => match (
                text.get(at + 1).and_then(hex),
                text.get(at + 2).and_then(hex),
            ) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    at += 2;
                }
                _ => out.push(b'%'),
            },
            byte => out.push(byte),
        }
        at += 1;
    }
    Cow::Owned(out)
}

/// Bytes that are no text in the wanted character set, nor in the one to fall back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidText;

impl std::fmt::Display for InvalidText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the decoded bytes are no text in the expected character set")
    }
}

impl std::error::Error for InvalidText {}

/// Decodes text that is percent-encoded in `charset`, or, if it cannot be that, in `fallback`.
///
/// Characters beyond ASCII that stand unencoded in `text` are taken as UTF-8 bytes.
pub fn decode<'a>(
    text: &'a str,
    part: Part,
    charset: Charset,
    fallback: Option<Charset>,
) -> Result<Cow<'a, str>, InvalidText> {
    match decode_bytes(text.as_bytes(), part) {
        // Nothing was encoded: what is text already needs no character set, unless it is a legacy one whose bytes came raw.
        Cow::Borrowed(_) if charset.is_utf8() || text.is_ascii() => Ok(Cow::Borrowed(text)),
        bytes => {
            let decoded = charset
                .decode(&bytes)
                .or_else(|| fallback.and_then(|c| c.decode(&bytes)));
            decoded
                .map(|text| Cow::Owned(text.into_owned()))
                .ok_or(InvalidText)
        }
    }
}

/// Several components: name/value pairs of a query, segments of a path, else simply one after the other.
/// The error is the reference's message.
pub fn encode_components(
    parts: &[&str],
    part: Part,
    charset: Charset,
    uppercase: bool,
) -> Result<String, &'static str> {
    let separator = match part {
        Part::Query if parts.len() > 1 && parts.len() % 2 == 1 => {
            return Err("query encoding with multiple arguments requires name/value pairs");
        }
        Part::Path | Part::FullPath => Some('/'),
        _ => None,
    };
    let mut out = String::new();
    for (at, text) in parts.iter().enumerate() {
        if at > 0 {
            match part {
                Part::Query => out.push(if at % 2 == 1 { '=' } else { '&' }),
                _ => out.extend(separator),
            }
        }
        encode_bytes(&charset.encode(text), part, uppercase, &mut out);
    }
    Ok(out)
}

fn hex(byte: &u8) -> Option<u8> {
    // to_digit(16) is below 16, so the cast loses nothing.
    char::from(*byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    const PARTS: [Part; 6] = [
        Part::Query,
        Part::Path,
        Part::FullPath,
        Part::Fragment,
        Part::Cookie,
        Part::Oauth1,
    ];

    fn code(text: &str, part: Part) -> String {
        encode(text, part, Charset::UTF_8, false)
    }

    #[test]
    fn recorded_encodings() {
        for (part, expected) in [
            (
                Part::Query,
                "!%22%23$%25%26'()*%2b%2c-./:%3b%3c%3d%3e?@%5b%5c%5d%5e_%60%7b%7c%7d~",
            ),
            (
                Part::Path,
                "!%22%23$%25&'()*+,-.%2f:%3b%3c%3d%3e%3f@%5b%5c%5d%5e_%60%7b%7c%7d~",
            ),
            (
                Part::FullPath,
                "!%22%23$%25&'()*+,-./:%3b%3c%3d%3e%3f@%5b%5c%5d%5e_%60%7b%7c%7d~",
            ),
            (
                Part::Fragment,
                "!%22%23$%25&'()*+,-./:;%3c=%3e?@%5b%5c%5d%5e_%60%7b%7c%7d~",
            ),
            (Part::Cookie, "!%22#$%25&'()*+%2c-./:%3b<=>?@[%5c]^_`{|}~"),
            (
                Part::Oauth1,
                "%21%22%23%24%25%26%27%28%29%2A%2B%2C-.%2F%3A%3B%3C%3D%3E%3F%40%5B%5C%5D%5E_%60%7B%7C%7D~",
            ),
        ] {
            assert_eq!(code(ALL, part), expected, "{part:?}");
        }
        assert_eq!(code("a b", Part::Query), "a+b");
        assert_eq!(code("a b", Part::Path), "a%20b");
        assert_eq!(
            encode("é/ü ?", Part::Query, Charset::UTF_8, true),
            "%C3%A9/%C3%BC+?"
        );
        assert_eq!(encode("é", Part::Query, Charset::LATIN_1, false), "%e9");
        let pairs = |p: &[&str], part| encode_components(p, part, Charset::UTF_8, false);
        assert_eq!(pairs(&["1.5", "-3"], Part::Query).as_deref(), Ok("1.5=-3"));
        assert_eq!(
            pairs(&["a", "b", "c", "d"], Part::Query).as_deref(),
            Ok("a=b&c=d")
        );
        assert_eq!(
            pairs(&["dir", "file name"], Part::Path).as_deref(),
            Ok("dir/file%20name")
        );
        assert!(pairs(&["a", "b", "c"], Part::Query).is_err());
    }

    #[test]
    fn recorded_decodings() {
        let query = |text| decode(text, Part::Query, Charset::UTF_8, None).map(Cow::into_owned);
        for (text, expected) in [
            ("a+b%20c", "a b c"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("a%%20b", "a% b"),
            ("%u00e9", "%u00e9"),
            ("é%20+", "é  "),
            ("%F0%9F%98%80", "😀"),
            ("a%00b", "a\0b"),
        ] {
            assert_eq!(query(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "%E9",
            "a%80b",
            "%C3",
            "%C3%28",
            "%ED%A0%80",
            "%C0%80",
            "%F8%88%80%80%80",
        ] {
            assert_eq!(query(text), Err(InvalidText), "{text}");
        }
        assert_eq!(
            decode("a+b", Part::Path, Charset::UTF_8, None).as_deref(),
            Ok("a+b")
        );
        assert_eq!(
            decode(
                "caf%E9",
                Part::Query,
                Charset::UTF_8,
                Some(Charset::LATIN_1)
            )
            .as_deref(),
            Ok("café")
        );
        assert_eq!(
            decode("%C3%A9", Part::Query, Charset::LATIN_1, None).as_deref(),
            Ok("Ã©")
        );
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(text in any::<String>(), upper in any::<bool>(), at in 0usize..6) {
            let part = PARTS[at];
            let coded = encode(&text, part, Charset::UTF_8, upper);
            prop_assert!(coded.is_ascii());
            prop_assert_eq!(decode(&coded, part, Charset::UTF_8, None).unwrap(), text);
        }

        #[test]
        fn decoding_never_panics(text in any::<String>()) {
            for part in PARTS {
                let _ = decode(&text, part, Charset::UTF_8, Some(Charset::LATIN_1));
            }
        }
    }
}
