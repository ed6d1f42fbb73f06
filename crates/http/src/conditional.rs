//! Conditional requests, evaluated in the order of RFC 9110 section 13.2.2.

use crate::date;
use crate::head::values;
use crate::syntax::trim_ows_str;
use shared::Set;

/// What is known of the representation a request selects. It exists.
#[derive(Debug, Clone, Copy, Default)]
pub struct Validators<'a> {
    /// The entity tag with its quotes, `W/` before it if it is weak.
    pub etag: Option<&'a str>,
    /// Modification time, seconds since 1970.
    pub last_modified: Option<i64>,
}

/// What the conditions of a request say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Serve it.
    Proceed,
    /// Answer 304.
    NotModified,
    /// Answer 412.
    Failed,
}

/// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since. Unreadable dates are ignored, and so
/// are all conditions of CONNECT, OPTIONS and TRACE. If-Range is a matter of [`crate::range`].
pub fn evaluate(method: &str, headers: &Set, have: Validators<'_>, now: i64) -> Verdict {
    if matches!(method, "CONNECT" | "OPTIONS" | "TRACE") {
        return Verdict::Proceed;
    }
    let reads = matches!(method, "GET" | "HEAD");
    let date_of = |name| headers.iget(name).and_then(|text| date::parse(text, now));
    if headers.iget("if-match").is_some() {
        if !values(headers, "if-match").any(|value| matches(value, have.etag, true)) {
            return Verdict::Failed;
        }
    } else if let (Some(limit), Some(time)) = (date_of("if-unmodified-since"), have.last_modified)
        && time > limit
    {
        return Verdict::Failed;
    }
    if headers.iget("if-none-match").is_some() {
        if values(headers, "if-none-match").any(|value| matches(value, have.etag, false)) {
            return if reads {
                Verdict::NotModified
            } else {
                Verdict::Failed
            };
        }
    } else if reads
        && let (Some(since), Some(time)) = (date_of("if-modified-since"), have.last_modified)
        && time <= since
    {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// Whether a list of entity tags contains the one there is; `*` matches anything that exists. Strong comparison
/// refuses weak tags on either side (section 8.8.3.2).
pub fn matches(list: &str, etag: Option<&str>, strong: bool) -> bool {
    if trim_ows_str(list) == "*" {
        return true;
    }
    let Some(etag) = etag else { return false };
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    if strong && etag.starts_with("W/") {
        return false;
    }
    tags(list).any(|tag| {
        if strong {
            tag == etag
        } else {
            opaque(tag) == opaque(etag)
        }
    })
}

/// The entity tags of a list. A backslash is an ordinary character in them, unlike in quoted strings.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let quote = rest.find('"')?;
        if !matches!(&rest[..quote], "" | "W/") {
            return None;
        }
        let end = quote + 2 + rest[quote + 1..].find('"')?;
        let tag = &rest[..end];
        rest = &rest[end..];
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIME: &str = "Thu, 02 Jan 2020 03:04:05 GMT";
    const BEFORE: &str = "Wed, 01 Jan 2020 00:00:00 GMT";
    const AFTER: &str = "Fri, 03 Jan 2020 00:00:00 GMT";

    fn verdict(method: &str, etag: Option<&str>, fields: &[(&str, &str)]) -> Verdict {
        let mut headers = Set::new("h");
        for (name, value) in fields {
            headers.put(*name, *value);
        }
        let have = Validators {
            etag,
            last_modified: date::parse(TIME, 0),
        };
        evaluate(method, &headers, have, 1_790_000_000)
    }

    #[test]
    fn dates() {
        let ims = |date: &str| verdict("GET", None, &[("If-Modified-Since", date)]);
        for date in [
            TIME,
            AFTER,
            "Thursday, 02-Jan-20 03:04:05 GMT",
            "Thu Jan  2 03:04:05 2020",
        ] {
            assert_eq!(ims(date), Verdict::NotModified, "{date}");
        }
        assert_eq!(ims(&format!("{TIME}; length=29")), Verdict::NotModified);
        for date in [BEFORE, "yesterday", ""] {
            assert_eq!(ims(date), Verdict::Proceed, "{date}");
        }
        let ius = |date: &str| verdict("GET", None, &[("If-Unmodified-Since", date)]);
        assert_eq!(
            (ius(TIME), ius(AFTER), ius("whenever")),
            (Verdict::Proceed, Verdict::Proceed, Verdict::Proceed)
        );
        assert_eq!(ius(BEFORE), Verdict::Failed);
        assert_eq!(
            verdict("POST", None, &[("If-Modified-Since", TIME)]),
            Verdict::Proceed
        );
        let both = [("If-Modified-Since", TIME), ("If-Unmodified-Since", BEFORE)];
        assert_eq!(verdict("GET", None, &both), Verdict::Failed);
    }

    #[test]
    fn entity_tags() {
        assert_eq!(
            verdict("GET", None, &[("If-Match", "\"abc\"")]),
            Verdict::Failed
        );
        assert_eq!(verdict("GET", None, &[("If-Match", "*")]), Verdict::Proceed);
        assert_eq!(
            verdict("GET", None, &[("If-None-Match", "*")]),
            Verdict::NotModified
        );
        assert_eq!(
            verdict("PUT", None, &[("If-None-Match", "*")]),
            Verdict::Failed
        );
        let other = [("If-None-Match", "\"abc\""), ("If-Modified-Since", TIME)];
        assert_eq!(verdict("GET", None, &other), Verdict::Proceed);
        let tag = Some("W/\"a,b\"");
        assert_eq!(
            verdict("GET", tag, &[("If-None-Match", "\"x\", \"a,b\"")]),
            Verdict::NotModified
        );
        assert_eq!(
            verdict("GET", tag, &[("If-Match", "W/\"a,b\"")]),
            Verdict::Failed
        );
        assert_eq!(
            verdict(
                "GET",
                Some("\"a\""),
                &[("If-Match", "\"b\""), ("If-Match", "\"a\"")]
            ),
            Verdict::Proceed
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = verdict("GET", Some("\"a\""), &[("if-match", &text), ("if-none-match", &text)]);
        }
    }
}
