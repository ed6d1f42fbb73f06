//! Query strings and urlencoded forms as sets (manual pages ns_parsequery, ns_getform).

use crate::charset::Charset;
use crate::encode::{InvalidText, Part, decode_bytes};
use memchr::memchr;
use shared::Set;
use std::borrow::Cow;

/// What the content of a body is with regard to forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `application/x-www-form-urlencoded`, with the charset parameter if there is one.
    Urlencoded(Option<String>),
    /// `multipart/form-data` with its boundary; see [`crate::multipart`].
    Multipart(String),
    /// `application/json`.
    Json,
    /// Anything else, a multipart form without boundary included.
    Other,
}

/// Tells from the content type whether a body is a form. Case of the type does not matter.
pub fn kind(content_type: &str) -> Kind {
    match crate::charset::media_type(content_type).as_str() {
        "application/x-www-form-urlencoded" => {
            Kind::Urlencoded(crate::charset::of_type(content_type))
        }
        "multipart/form-data" => match crate::syntax::parameter(content_type, "boundary") {
            Some(boundary) if !boundary.is_empty() && boundary.len() <= 200 => {
                Kind::Multipart(boundary)
            }
            _ => Kind::Other,
        },
        "application/json" => Kind::Json,
        _ => Kind::Other,
    }
}

/// Appends the fields of a query to a set.
///
/// `&` separates, `;` does not; nothing is trimmed; empty fields count, so that the empty query has one. Fails with the
/// first field that is no text in `charset`, nor in `fallback`.
pub fn parse_query(
    query: &[u8],
    charset: Charset,
    fallback: Option<Charset>,
    set: &mut Set,
) -> Result<(), InvalidText> {
    for field in query.split(|&b| b == b'&') {
        let (key, value) = match memchr(b'=', field) {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &b""[..]),
        };
        set.put(
            decode(key, charset, fallback)?,
            decode(value, charset, fallback)?,
        );
    }
    Ok(())
}

/// Appends the fields of a form, from a query or from a body, to a set.
///
/// Unlike [`parse_query`], an empty form has no fields, and a field `_charset_` names the character set of all fields
/// (HTML living standard, section 4.10.21.8), before `charset`.
pub fn parse_form(
    form: &[u8],
    charset: Charset,
    fallback: Option<Charset>,
    set: &mut Set,
) -> Result<(), InvalidText> {
    if form.is_empty() {
        return Ok(());
    }
    parse_query(form, own_charset(form).unwrap_or(charset), fallback, set)
}

/// Writes fields as a query.
pub fn encode_query<'a>(
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    charset: Charset,
) -> String {
    let mut out = String::new();
    for (at, (key, value)) in fields.into_iter().enumerate() {
        if at > 0 {
            out.push('&');
        }
        crate::encode::encode_bytes(&charset.encode(key), Part::Query, false, &mut out);
        out.push('=');
        crate::encode::encode_bytes(&charset.encode(value), Part::Query, false, &mut out);
    }
    out
}

fn own_charset(form: &[u8]) -> Option<Charset> {
    let value = form
        .split(|&b| b == b'&')
        .find_map(|field| field.strip_prefix(b"_charset_="))?;
    Charset::for_name(std::str::from_utf8(&decode_bytes(value, Part::Query)).ok()?)
}

fn decode(
    bytes: &[u8],
    charset: Charset,
    fallback: Option<Charset>,
) -> Result<String, InvalidText> {
    let bytes = decode_bytes(bytes, Part::Query);
    let text = charset
        .decode(&bytes)
        .or_else(|| fallback.and_then(|charset| charset.decode(&bytes)));
    text.map(Cow::into_owned).ok_or(InvalidText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(text: &[u8]) -> Result<Vec<(String, String)>, InvalidText> {
        let mut set = Set::new("parseq");
        parse_query(text, Charset::UTF_8, None, &mut set)?;
        Ok(set
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect())
    }

    fn shown(text: &str) -> String {
        query(text.as_bytes())
            .unwrap()
            .iter()
            .map(|(k, v)| format!("<{k}>=<{v}>"))
            .collect()
    }

    #[test]
    fn recorded_queries() {
        for (text, expected) in [
            ("", "<>=<>"),
            ("a=1&a=2&A=3", "<a>=<1><a>=<2><A>=<3>"),
            ("a&b", "<a>=<><b>=<>"),
            ("=b", "<>=<b>"),
            ("&", "<>=<><>=<>"),
            ("a=b=c", "<a>=<b=c>"),
            ("a=1+2%203", "<a>=<1 2 3>"),
            ("a%20b=c%26d", "<a b>=<c&d>"),
            ("a=1;b=2", "<a>=<1;b=2>"),
            ("x=é", "<x>=<é>"),
            ("x=%zz", "<x>=<%zz>"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert_eq!(query(b"x=%E9"), Err(InvalidText));
    }

    #[test]
    fn forms_and_their_character_sets() {
        let form = |text: &[u8], charset, fallback| {
            let mut set = Set::new("form");
            parse_form(text, charset, fallback, &mut set).map(|()| set.format(false, "", "="))
        };
        let mut set = Set::new("form");
        parse_form(
            b"_charset_=iso-8859-1&v=%E9",
            Charset::UTF_8,
            None,
            &mut set,
        )
        .unwrap();
        assert_eq!(set.get("v"), Some("é"));
        assert!(form(b"", Charset::UTF_8, None).is_ok());
        assert!(form(b"v=\xe9", Charset::UTF_8, Some(Charset::LATIN_1)).is_ok());
        assert_eq!(
            kind("APPLICATION/x-www-form-urlencoded; charset=x"),
            Kind::Urlencoded(Some("x".into()))
        );
        assert_eq!(kind("application/x-www-form-urlencodedx"), Kind::Other);
        assert_eq!(
            kind("multipart/form-data; boundary=\"XbX\"; charset=utf-8"),
            Kind::Multipart("XbX".into())
        );
        assert_eq!(kind("multipart/form-data"), Kind::Other);
    }

    proptest! {
        #[test]
        fn parsing_reverses_encoding(fields in proptest::collection::vec((any::<String>(), any::<String>()), 1..5)) {
            let text = encode_query(fields.iter().map(|(k, v)| (k.as_str(), v.as_str())), Charset::UTF_8);
            prop_assert_eq!(query(text.as_bytes()).unwrap(), fields);
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut set = Set::new("x");
            let _ = parse_form(&bytes, Charset::UTF_8, Some(Charset::LATIN_1), &mut set);
        }
    }
}
