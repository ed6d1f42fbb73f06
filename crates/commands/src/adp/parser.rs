//! The text of a page cut into blocks: text that goes out as it is, and scripts.
//!
//! A page is scanned once and without recursion. Text blocks are ranges of the page, so nothing is copied. Whatever the
//! page is, the time is in proportion to its length: what was looked for in vain is not looked for again.

use std::collections::HashMap;
use std::ops::Range;

use super::nesting::Nesting;
use super::tags::{Tag, TagKind};

/// A piece of a page, in the order of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Part of the page's text.
    Text(Range<usize>),
    Script(Script),
}

/// A script of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub text: String,
    /// Where it begins; the first line of a page is 1.
    pub line: u32,
    /// `<script stream=on>`: what follows is sent as it is made.
    pub stream: bool,
}

/// What the parser asks about tags: the registered tag of a name in lower case.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<Tag>;

/// Names of tags end within so many bytes; `<` without a name behind it is cheap then.
const MAX_NAME: usize = 256;

/// Bytes that may go out twice as the reference does it, besides those of the page. Without a limit a page of
/// unclosed tags would become a page of the square of its length.
const TWICE: usize = 1 << 20;

/// Cuts a page into blocks. `safe` drops all scripts. `lookup` is `None` where no tags are registered.
pub fn parse(text: &str, safe: bool, lookup: Option<Lookup<'_>>) -> Vec<Block> {
    let mut parser = Parser {
        text,
        safe,
        blocks: Vec::new(),
        start: 0,
        counted: 0,
        line: 1,
        doomed: Places::default(),
        scripts: None,
        bodies: HashMap::new(),
        no_script_end: false,
        told: false,
        twice: TWICE + text.len(),
    };
    let mut at = 0;
    while let Some(open) = find(text, "<", at) {
        at = if text[open..].starts_with("<%") {
            match parser.script_end(open + 2) {
                Some(end) => {
                    parser.inline_script(open, end);
                    end + 2
                }
                // An unclosed script is text, and nothing behind it can be one.
                None => break,
            }
        } else {
            parser.tag(open, lookup)
        };
    }
    parser.text_until(text.len());
    parser.blocks
}

/// All blocks of a page as one script, so that a loop may begin in one block and end in another; and the pairs of lines,
/// of the script and of the page, that belong together.
pub fn single_script(text: &str, blocks: &[Block]) -> (Script, Vec<(u32, u32)>) {
    let mut script = String::with_capacity(text.len() + 64);
    let mut lines = Vec::new();
    let mut line = 1;
    let mut add = |piece: &str, page_line: Option<u32>, script: &mut String| {
        if let Some(page_line) = page_line {
            lines.push((line, page_line));
        }
        script.push_str(piece);
        script.push('\n');
        line += newlines(piece) + 1;
    };
    for block in blocks {
        match block {
            Block::Text(range) => {
                let words = tcl::list_format(&["ns_adp_append", &text[range.clone()]]);
                add(&words, None, &mut script);
            }
            Block::Script(s) => {
                if s.stream {
                    add("ns_adp_ctl stream on", None, &mut script);
                }
                add(&s.text, Some(s.line), &mut script);
            }
        }
    }
    (
        Script {
            text: script,
            line: 1,
            stream: false,
        },
        lines,
    )
}

/// Whether a script between braces is one word of Tcl, and that script.
pub fn is_braced_word(script: &str) -> bool {
    let mut depth = 0_u32;
    let mut bytes = script.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'\\' if bytes.next().is_none() => return false,
            b'{' => depth += 1,
            b'}' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

struct Parser<'a> {
    text: &'a str,
    safe: bool,
    blocks: Vec<Block>,
    /// Where the text begins that no block has yet.
    start: usize,
    /// Lines are counted up to here.
    counted: usize,
    line: u32,
    /// Where attributes were read of tags that have no end.
    doomed: Places,
    /// How scripts lie within each other, once that matters.
    scripts: Option<Nesting>,
    /// The same for tags that have an end, by their name in lower case.
    bodies: HashMap<String, Nesting>,
    /// No script tag has an end from here on.
    no_script_end: bool,
    /// A script in an unknown language was reported.
    told: bool,
    /// What is left of [`TWICE`].
    twice: usize,
}

impl<'a> Parser<'a> {
    fn text_until(&mut self, end: usize) {
        if self.start < end {
            self.blocks.push(Block::Text(self.start..end));
        }
    }

    fn line_at(&mut self, at: usize) -> u32 {
        if at > self.counted {
            self.line += newlines(&self.text[self.counted..at]);
            self.counted = at;
        }
        self.line
    }

    fn script(&mut self, at: usize, text: String, stream: bool) {
        let line = self.line_at(at);
        self.blocks
            .push(Block::Script(Script { text, line, stream }));
    }

    fn inline_script(&mut self, open: usize, end: usize) {
        self.text_until(open);
        self.start = end + 2;
        let inner = &self.text[open + 2..end];
        if self.safe || inner.trim().is_empty() {
            return;
        }
        match inner.strip_prefix('=') {
            Some(expression) => self.script(open + 3, format!("ns_adp_append {expression}"), false),
            None => self.script(open + 2, inner.to_owned(), false),
        }
    }

    /// Handles what begins with `<` and is no inline script; the answer is where to go on.
    fn tag(&mut self, open: usize, lookup: Option<Lookup<'_>>) -> usize {
        let text = self.text;
        let next = open + 1;
        let name = name_at(text, next);
        if name.eq_ignore_ascii_case("script") {
            return self.script_tag(open).unwrap_or(next);
        }
        let Some(tag) = lookup
            .filter(|_| !name.is_empty())
            .and_then(|l| l(&name.to_ascii_lowercase()))
        else {
            return next;
        };
        let Some((attributes, inside)) = attributes(text, next + name.len(), &mut self.doomed)
        else {
            return next;
        };
        let Some(end_name) = &tag.end else {
            self.text_until(open);
            self.script(open, tag_script(name, &tag, &attributes, None), false);
            // A script inside an attribute counts twice, as value and as itself: so the reference does it.
            let again = text[open..inside].find("<%").map_or(inside, |at| open + at);
            self.start = if self.may_repeat(inside - again) {
                again
            } else {
                inside
            };
            return self.start;
        };
        let Some((body, after)) = self.body(inside, name, end_name) else {
            // An unclosed tag is text. What is before it has gone out already and goes out again with the rest: so the
            // reference does it.
            if self.may_repeat(open - self.start) {
                self.text_until(open);
            }
            return inside;
        };
        self.text_until(open);
        self.script(open, tag_script(name, &tag, &attributes, Some(body)), false);
        self.start = after;
        after
    }

    fn may_repeat(&mut self, bytes: usize) -> bool {
        let left = self.twice.checked_sub(bytes);
        self.twice = left.unwrap_or(0);
        left.is_some()
    }

    /// The end of a script that begins at `from`: scripts may contain scripts. When they do not match, the next `%>`
    /// ends it.
    fn script_end(&mut self, from: usize) -> Option<usize> {
        let first = find(self.text, "%>", from)?;
        if let Some(scripts) = &self.scripts {
            return Some(scripts.close(from).unwrap_or(first));
        }
        let (mut end, mut at) = (first, from);
        while let Some(inner) = find(self.text, "<%", at).filter(|i| *i < end) {
            match find(self.text, "%>", end + 2) {
                Some(next) => end = next,
                None => {
                    let opens = self.text.match_indices("<%").map(|(at, _)| (at, true));
                    let closes = self.text.match_indices("%>").map(|(at, _)| (at, false));
                    self.scripts = Some(Nesting::new(opens.chain(closes)));
                    return Some(first);
                }
            }
            at = inner + 2;
        }
        Some(end)
    }

    /// The text between a tag and its end tag, and where it goes on behind that. Tags of the same name may be inside.
    fn body(&mut self, inside: usize, name: &str, end_name: &str) -> Option<(&'a str, usize)> {
        let text = self.text;
        let key = name.to_ascii_lowercase();
        let close = match self.bodies.get(&key) {
            Some(nesting) => nesting.close(inside),
            None => {
                let found = body_end(text, inside, name, end_name);
                if found.is_none() {
                    self.bodies
                        .insert(key, Nesting::new(tags(text, 0, name, end_name)));
                }
                found
            }
        }?;
        let after = find(text, ">", close)? + 1;
        Some((&text[inside..close], after))
    }

    fn script_tag(&mut self, open: usize) -> Option<usize> {
        if self.no_script_end {
            return None;
        }
        let text = self.text;
        let (attributes, inside) = attributes(text, open + 1 + "script".len(), &mut self.doomed)?;
        let value = |name: &str| {
            attributes
                .iter()
                .find(|(n, _)| n.eq_ignore_ascii_case(name))
                .map(|(_, v)| v.to_ascii_lowercase())
        };
        if value("runat").as_deref() != Some("server") {
            return None;
        }
        let language = value("language").unwrap_or_else(|| "tcl".to_owned());
        if language != "tcl" {
            if !std::mem::replace(&mut self.told, true) {
                shared::warning!(
                    "adp: script language \"{language}\" is not known, the script is left as it is"
                );
            }
            return None;
        }
        let end = find_ignoring_case(text, "</script", inside);
        let Some((end, after)) = end.and_then(|end| Some((end, find(text, ">", end)? + 1))) else {
            self.no_script_end = true;
            return None;
        };
        self.text_until(open);
        self.start = after;
        if !self.safe {
            let stream = matches!(
                value("stream").as_deref(),
                Some("on" | "true" | "yes" | "1")
            );
            self.script(inside, text[inside..end].to_owned(), stream);
        }
        Some(after)
    }
}

/// The script that a registered tag stands for.
fn tag_script(name: &str, tag: &Tag, attributes: &[(&str, &str)], body: Option<&str>) -> String {
    let mut words: Vec<&str> = Vec::with_capacity(attributes.len() * 2 + 2);
    match tag.kind {
        TagKind::Proc => {
            words.extend(attributes.iter().map(|(_, v)| *v));
            words.extend(body);
            format!(
                "ns_adp_append [{} {}]",
                tag.script,
                tcl::list_format(&words)
            )
        }
        TagKind::Script | TagKind::Adp => {
            words.extend(["ns_set", "create", name]);
            words.extend(attributes.iter().flat_map(|(n, v)| [*n, *v]));
            let set = tcl::list_format(&words);
            let body = body.map(|b| tcl::list_format(&[b])).unwrap_or_default();
            if tag.kind == TagKind::Script {
                format!("ns_adp_append [{} {body} [{set}]]", tag.script)
            } else {
                let adp = tcl::list_format(&[&tag.script]);
                format!("ns_adp_append [ns_adp_parse -string -- {adp} {body} [{set}]]")
            }
        }
    }
}

/// Where the end tag of a tag begins whose content begins at `inside`.
fn body_end(text: &str, inside: usize, name: &str, end_name: &str) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, opens) in tags(text, inside, name, end_name) {
        depth = if opens { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Where tags of a name begin (true) and end (false).
fn tags<'a>(
    text: &'a str,
    from: usize,
    name: &'a str,
    end_name: &'a str,
) -> impl Iterator<Item = (usize, bool)> + 'a {
    text[from..].match_indices('<').filter_map(move |(at, _)| {
        let at = from + at;
        let found = name_at(text, at + 1);
        if found.eq_ignore_ascii_case(end_name) {
            Some((at, false))
        } else {
            found.eq_ignore_ascii_case(name).then_some((at, true))
        }
    })
}

/// A set of places in a text, a bit for each once there are any.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    fn add(&mut self, places: &[usize], length: usize) {
        if self.0.is_empty() {
            self.0 = vec![0; length / 64 + 1];
        }
        for place in places {
            self.0[place / 64] |= 1 << (place % 64);
        }
    }

    fn has(&self, place: usize) -> bool {
        self.0
            .get(place / 64)
            .is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }
}

/// Names and values up to the end of a tag, and where that is. A name without value is its own value.
///
/// `doomed`: where this came by without finding the end; who comes by there again will not find it either.
fn attributes<'a>(
    text: &'a str,
    from: usize,
    doomed: &mut Places,
) -> Option<(Vec<(&'a str, &'a str)>, usize)> {
    let mut seen = Vec::new();
    let found = attributes_until(text, from, doomed, &mut seen);
    if found.is_none() {
        doomed.add(&seen, text.len());
    }
    found
}

fn attributes_until<'a>(
    text: &'a str,
    from: usize,
    doomed: &Places,
    seen: &mut Vec<usize>,
) -> Option<(Vec<(&'a str, &'a str)>, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = from;
    loop {
        at = skip_blanks(bytes, at);
        if *bytes.get(at)? == b'>' {
            return Some((found, at + 1));
        }
        if doomed.has(at) {
            return None;
        }
        seen.push(at);
        let (name, after) = word(text, at, true)?;
        let equals = skip_blanks(bytes, after);
        if bytes.get(equals) == Some(&b'=') {
            let (value, end) = word(text, skip_blanks(bytes, equals + 1), false)?;
            found.push((name, value));
            at = end;
        } else {
            found.push((name, name));
            at = after;
        }
    }
}

/// A quoted or plain word; a name ends with `=`, too.
fn word(text: &str, at: usize, name: bool) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(at)?;
    if quote == b'"' || quote == b'\'' {
        let end = at + 1 + bytes[at + 1..].iter().position(|b| *b == quote)?;
        return Some((&text[at + 1..end], end + 1));
    }
    let ends = |b: &u8| b.is_ascii_whitespace() || *b == b'>' || (name && *b == b'=');
    let mut end = at + bytes[at..].iter().position(ends)?;
    if name && end == at {
        end += 1; // A stray `=`.
    }
    Some((&text[at..end], end))
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn name_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let mut bytes = rest.bytes().take(MAX_NAME);
    let end = match bytes.position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'<')) {
        Some(end) if rest.as_bytes()[end] != b'<' => end,
        None if rest.len() <= MAX_NAME => rest.len(),
        // No name has a `<`, or is so long.
        _ => 0,
    };
    &rest[..end]
}

fn find(text: &str, what: &str, from: usize) -> Option<usize> {
    text.get(from..)?.find(what).map(|at| from + at)
}

fn find_ignoring_case(text: &str, what: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    (from..=bytes.len().checked_sub(what.len())?)
        .find(|at| bytes[*at..*at + what.len()].eq_ignore_ascii_case(what.as_bytes()))
}

/// Line breaks in a text.
pub fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|b| *b == b'\n').count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, lookup: Option<Lookup<'_>>) -> String {
        let blocks = parse(text, false, lookup);
        let show = |b: &Block| match b {
            Block::Text(r) => format!("[{}]", &text[r.clone()]),
            Block::Script(s) => format!("({}:{})", s.line, s.text),
        };
        blocks.iter().map(show).collect()
    }

    #[test]
    fn scripts_and_text() {
        for (page, blocks) in [
            ("", ""),
            ("a < b > c %> d", "[a < b > c %> d]"),
            ("a<%=$x%>b", "[a](1:ns_adp_append $x)[b]"),
            ("a\n<% b\n c %>\n<%d%>", "[a\n](2: b\n c )[\n](4:d)"),
            ("<%%>x<% %>", "[x]"),
            ("x <% unclosed", "[x <% unclosed]"),
            (
                "<% ns_adp_parse {<%= 1 %>} %>x",
                "(1: ns_adp_parse {<%= 1 %>} )[x]",
            ),
            ("<% puts \"<%\" %>x", "(1: puts \"<%\" )[x]"),
            ("<SCRIPT runat=server>a</Script >b", "(1:a)[b]"),
            ("<script>a<%b%></script>", "[<script>a](1:b)[</script>]"),
            ("<script runat=server>open", "[<script runat=server>open]"),
            (
                "<script runat=server language=perl>p</script>",
                "[<script runat=server language=perl>p</script>]",
            ),
            ("<", "[<]"),
            ("<script", "[<script]"),
        ] {
            assert_eq!(show(page, None), blocks, "{page}");
        }
    }

    #[test]
    fn registered_tags() {
        let lookup = |name: &str| match name {
            "t" => Some(Tag {
                kind: TagKind::Proc,
                end: None,
                script: "p".into(),
            }),
            "b" => Some(Tag {
                kind: TagKind::Proc,
                end: Some("/b".into()),
                script: "q".into(),
            }),
            _ => None,
        };
        for (page, blocks) in [
            ("<T>", "(1:ns_adp_append [p ])"),
            ("<t a=1 b = 'x y' c>z", "(1:ns_adp_append [p 1 {x y} c])[z]"),
            ("<t a='>' b>", "(1:ns_adp_append [p > b])"),
            ("<t/>", "[<t/>]"),
            ("<t a=\"open", "[<t a=\"open]"),
            ("<b>x<b>y</b>z</b>!", "(1:ns_adp_append [q x<b>y</b>z])[!]"),
            ("<t =>", "(1:ns_adp_append [p =])"),
        ] {
            assert_eq!(show(page, Some(&lookup)), blocks, "{page}");
        }
    }

    #[test]
    fn words_in_braces() {
        for script in ["", "a", "{a} {b {c}}", "\\{", "\\\\", "a\\\nb"] {
            assert!(is_braced_word(script), "{script}");
        }
        for script in ["}", "{", "} {", "a\\", "if {1} {"] {
            assert!(!is_braced_word(script), "{script}");
        }
    }

    #[test]
    fn one_script_of_all_blocks() {
        let page = "a\n<% foreach i {1 2} { %>(<%= $i %>)<% } %>";
        let (script, lines) = single_script(page, &parse(page, false, None));
        assert_eq!(
            script.text,
            "ns_adp_append {a\n}\n foreach i {1 2} { \nns_adp_append (\nns_adp_append  $i \nns_adp_append )\n } \n"
        );
        assert_eq!(lines, [(3, 2), (5, 2), (7, 2)]);
    }
}
