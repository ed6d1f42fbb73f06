//! HTML taken apart.

use synopsis::commands;
use tcl::{Exit, Obj};

commands! { TABLE(call):

    /// Text that can stand in HTML.
    "ns_quotehtml" (html: String)
        => http::html::quote(&html).into_owned();

    /// Text with its character references replaced.
    "ns_unquotehtml" (html: String)
        => http::html::unquote(&html).into_owned();

    /// Text without its tags.
    "ns_striphtml" (html: String)
        => http::html::strip(&html);

    /// The tags, texts, comments and processing instructions of HTML.
    "ns_parsehtml" [-noangle: bool, -onlytags: bool, --] (html: String)
        => parse(&html, noangle, onlytags);

    /// The targets of the links of HTML.
    "ns_hrefs" (html: String)
        => hrefs(&html);
}

/// A piece of HTML; all hold the source text.
enum Piece<'a> {
    Text(&'a str),
    /// With the name, and the attributes of a start tag.
    Tag(&'a str, &'a str, Option<Vec<(&'a str, &'a str)>>),
    Comment(&'a str),
    Instruction(&'a str),
}

fn parse(html: &str, noangle: bool, onlytags: bool) -> Result<Obj, Exit> {
    if noangle && onlytags {
        return Err(tcl::error(
            "the options '-noangle' and '-onlytags' are mutually exclusive",
        ));
    }
    let bare = |raw: &'_ str| {
        let inner = if noangle { &raw[1..raw.len() - 1] } else { raw };
        Obj::from(inner)
    };
    let list = |kind: &str, value: Obj| Obj::list([Obj::from(kind), value]);
    Ok(Obj::list(pieces(html).into_iter().filter_map(
        |piece| match piece {
            Piece::Tag(_, name, attributes) if onlytags => Some(element(name, attributes)),
            _ if onlytags => None,
            Piece::Text(text) => Some(list("text", Obj::from(text))),
            Piece::Comment(raw) => Some(list("comment", bare(raw))),
            Piece::Instruction(raw) => Some(list("pi", bare(raw))),
            Piece::Tag(raw, name, attributes) => Some(Obj::list([
                Obj::from("tag"),
                bare(raw),
                element(name, attributes),
            ])),
        },
    )))
}

/// The name, and for a start tag a dictionary of its attributes.
fn element(name: &str, attributes: Option<Vec<(&str, &str)>>) -> Obj {
    match attributes {
        None => Obj::from(name),
        Some(attributes) => {
            let pairs = attributes
                .into_iter()
                .map(|(name, value)| (Obj::from(name), Obj::from(value)));
            Obj::list([Obj::from(name), Obj::dict(pairs)])
        }
    }
}

fn pieces(html: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut text_from = 0;
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        let start = at + found;
        let rest = &html[start..];
        let next = rest.as_bytes().get(1).copied().unwrap_or(b' ');
        if !(next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')) {
            at = start + 1;
            continue;
        }
        let close = if rest.starts_with("<!--") { "-->" } else { ">" };
        let Some(end) = rest.find(close) else {
            // Without an end it is text, but a tag may still follow a comment that is not closed.
            at = start + 1;
            continue;
        };
        let end = start + end + close.len();
        let raw = &html[start..end];
        if text_from < start {
            out.push(Piece::Text(&html[text_from..start]));
        }
        out.push(match next {
            b'!' if close == "-->" => Piece::Comment(raw),
            b'!' => Piece::Text(raw),
            b'?' => Piece::Instruction(raw),
            _ => tag(raw).unwrap_or(Piece::Text(raw)),
        });
        at = end;
        text_from = end;
    }
    if text_from < html.len() {
        out.push(Piece::Text(&html[text_from..]));
    }
    out
}

/// `<name attributes>`; `None` if a quote in it does not end.
fn tag(raw: &str) -> Option<Piece<'_>> {
    let inner = &raw[1..raw.len() - 1];
    let ends_name = |c: char| c.is_ascii_whitespace();
    if inner.starts_with('/') {
        let name = &inner[..inner.find(ends_name).unwrap_or(inner.len())];
        return Some(Piece::Tag(raw, name, None));
    }
    let length = inner
        .find(|c: char| ends_name(c) || c == '/')
        .unwrap_or(inner.len());
    Some(Piece::Tag(
        raw,
        &inner[..length],
        Some(attributes(&inner[length..])?),
    ))
}

fn attributes(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut out = Vec::new();
    let skipped = |c: char| c.is_ascii_whitespace() || c == '/';
    let mut rest = text.trim_start_matches(skipped);
    while !rest.is_empty() {
        let length = rest
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let value = match after.trim_ascii_start().strip_prefix('=') {
            None => {
                rest = after;
                ""
            }
            Some(value) => {
                let value = value.trim_ascii_start();
                let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
                let (value, after) = match quote {
                    Some(quote) => value[1..].split_once(quote)?,
                    None => value.split_at(
                        value
                            .find(|c: char| c.is_ascii_whitespace())
                            .unwrap_or(value.len()),
                    ),
                };
                rest = after;
                value
            }
        };
        // An angle bracket in a name means that this was no attribute but text before a tag.
        if !name.contains('<') {
            out.push((name, value));
        }
        rest = rest.trim_start_matches(skipped);
    }
    Some(out)
}

/// The reference finds an `href` only as the first attribute and without comments; any is found here.
fn hrefs(html: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let from = &rest[start..];
        let close = if from.starts_with("<!--") { "-->" } else { ">" };
        let Some(end) = from.find(close) else { break };
        let inner = &from[1..end];
        rest = &from[end + close.len()..];
        let is_link = inner.starts_with(['a', 'A'])
            && inner[1..].starts_with(|c: char| c.is_ascii_whitespace());
        if is_link && let Some(value) = href(&inner[1..]) {
            out.push(value);
        }
    }
    out
}

/// The value of `href` in attributes; a quoted value without end takes the rest.
fn href(text: &str) -> Option<&str> {
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        let length = rest
            .find(|c: char| c.is_ascii_whitespace() || c == '=')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        rest = after.trim_ascii_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_ascii_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(
                value
                    .find(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(value.len()),
            ),
        };
        if name.eq_ignore_ascii_case("href") {
            return Some(value);
        }
        rest = after.trim_ascii_start();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_wherever_the_attribute_stands() {
        assert_eq!(
            hrefs("<a class='c' HREF=x id=1>y</a><a\nhref='two words'>"),
            ["x", "two words"]
        );
        assert_eq!(hrefs("<!-- <a href=c> --><abbr href=n><a name=x>"), [""; 0]);
        assert_eq!(hrefs("<a href=\"open>x"), ["open"]);
        assert_eq!(hrefs("<a = = href=x><é><a é=é href=y>"), ["x", "y"]);
    }

    #[test]
    fn attributes_of_odd_tags() {
        assert_eq!(
            attributes(" disabled value=1/").unwrap_or_default(),
            [("disabled", ""), ("value", "1/")]
        );
        assert_eq!(attributes(" =x").unwrap_or_default(), [("", "x")]);
        assert!(attributes(" a='x").is_none());
    }
}
