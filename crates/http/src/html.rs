//! HTML text: quoting, unquoting of character references, removal of tags
//! (manual pages ns_quotehtml, ns_unquotehtml, ns_striphtml).

use crate::html_entities::ENTITIES;
use std::borrow::Cow;

/// Quotes `&`, `<`, `>`, `"` and `'` so that text can stand in content and in attribute values.
pub fn quote(text: &str) -> Cow<'_, str> {
    let special = |b: u8| matches!(b, b'&' | b'<' | b'>' | b'"' | b'\'');
    let Some(first) = text.bytes().position(special) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 32);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Replaces character references, named (with or without semicolon) and numeric ones. Unknown names stay.
///
/// As in the reference, a numeric reference that is malformed or means a control character becomes an ampersand.
pub fn unquote(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, used) = reference(rest);
        out.push(c);
        rest = &rest[used..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Removes tags and comments, and replaces character references in what is left.
///
/// A tag ends with the next `>`, quoted or not; a tag or comment without end takes the rest along.
pub fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let (before, tag) = match rest.find('<') {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        out.push_str(before);
        let Some(tag) = tag else { break };
        // `<!-->` is a complete, empty comment.
        let end = match tag.strip_prefix("<!--") {
            Some(comment) if comment.starts_with('>') => Some(5),
            Some(comment) => comment.find("-->").map(|at| at + 7),
            None => tag.find('>').map(|at| at + 1),
        };
        match end {
            Some(end) => rest = &tag[end..],
            None => break,
        }
    }
    unquote(&out).into_owned()
}

/// The character at the beginning of `text`, which is an ampersand, and the bytes used for it.
fn reference(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    if bytes.get(1) == Some(&b'#') {
        let end = bytes[2..]
            .iter()
            .take(12)
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
            .count()
            + 2;
        let digits = &text[2..end];
        let code = match digits.strip_prefix('x') {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => digits.parse::<u32>().ok(),
        };
        let used = end + usize::from(bytes.get(end) == Some(&b';'));
        let c = code
            .filter(|&code| code >= 32)
            .and_then(char::from_u32)
            .unwrap_or('&');
        return (c, used);
    }
    let length = bytes[1..]
        .iter()
        .take(10)
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    let name = &text[1..=length];
    let known = ENTITIES
        .binary_search_by(|(have, _)| (*have).cmp(name))
        .ok()
        .or_else(|| {
            let lower = name.to_ascii_lowercase();
            matches!(lower.as_str(), "lt" | "gt" | "amp" | "quot" | "apos")
                .then(|| {
                    ENTITIES
                        .binary_search_by(|(have, _)| (*have).cmp(lower.as_str()))
                        .ok()
                })
                .flatten()
        })
        .map(|at| ENTITIES[at].1);
    match known {
        Some(c) => (
            c,
            1 + length + usize::from(bytes.get(1 + length) == Some(&b';')),
        ),
        None => ('&', 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_quotes() {
        assert_eq!(
            quote("<b>\"x\" & 'y'</b>"),
            "&lt;b&gt;&#34;x&#34; &amp; &#39;y&#39;&lt;/b&gt;"
        );
        for (text, expected) in [
            ("&lt;b&gt;&amp;&quot;&#39;&#34;", "<b>&\"'\""),
            ("&#65;&#x42;&#X43;", "AB&"),
            ("&euro;&auml;&Auml;&nbsp;&copy;", "€äÄ\u{a0}©"),
            ("&hellip;&mdash;&rarr;&alpha;&Omega;&hearts;", "…—→αΩ♥"),
            ("&apos;&bogus;&amp", "'&bogus;&"),
            ("&lt&gt", "<>"),
            ("& lt;&;", "& lt;&;"),
            ("&#;&#x;&#0;", "&&&"),
            ("&#1;a", "&a"),
            ("&#10;&#9;x", "&&x"),
            ("&#128;", "\u{80}"),
            ("&#x20AC;&#128512;", "€😀"),
            ("&#99999999;&#-5;", "&&"),
            ("AT&T; x &", "AT&T; x &"),
            ("&amp;lt;", "&lt;"),
            ("&LT;&GT;", "<>"),
        ] {
            assert_eq!(unquote(text), expected, "{text}");
        }
    }

    #[test]
    fn recorded_strips() {
        for (text, expected) in [
            ("<a href=\"x>y\">link</a>", "y\">link"),
            ("a < b", "a "),
            ("a > b", "a > b"),
            ("a <!-- comment <b>x</b> --> b", "a  b"),
            ("a <!-- unterminated b", "a "),
            ("&lt;b&gt; &amp; &euro; &#65;", "<b> & € A"),
            ("<ü>x</ü>é", "xé"),
            ("<>x", "x"),
            ("<!DOCTYPE html><html>x</html>", "x"),
            ("<!---->x", "x"),
            ("<!-->x", "x"),
        ] {
            assert_eq!(strip(text), expected, "{text}");
        }
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(ENTITIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    proptest! {
        #[test]
        fn unquoting_reverses_quoting(text in any::<String>()) {
            let quoted = quote(&text).into_owned();
            prop_assert!(!quoted.contains(['<', '>', '"', '\'']));
            prop_assert_eq!(unquote(&quoted).into_owned(), text);
        }

        #[test]
        fn never_panics(text in "[&#xX0-9;a-z<>!é-]{0,30}") {
            let _ = (unquote(&text), strip(&text));
        }
    }
}
