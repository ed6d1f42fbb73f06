//! multipart/form-data (RFC 7578), parsed as it arrives: from memory, from a file, or piece by piece.

use crate::charset::{Charset, lenient, of_type};
use crate::encode::{Part as UrlPart, decode_bytes};
use crate::syntax::{pieces, trim_ows, trim_ows_str};
use memchr::{memchr, memmem};
use shared::Set;
use std::io::{self, Read};

/// Sizes above which a body is refused.
#[derive(Debug, Clone)]
pub struct PartLimits {
    /// Bytes of the header fields of one part.
    pub max_header: usize,
    /// Number of parts.
    pub max_parts: usize,
    /// Bytes of a field that is no file; it is kept in memory.
    pub max_field: usize,
}

impl Default for PartLimits {
    fn default() -> Self {
        PartLimits {
            max_header: 16 * 1024,
            max_parts: 10_000,
            max_field: 16 * 1024 * 1024,
        }
    }
}

/// A body that is no proper multipart/form-data: what is wrong, and at which byte of the body.
#[derive(Debug)]
pub enum MultipartError {
    /// The client's fault.
    Malformed {
        /// One sentence.
        reason: String,
        /// Bytes from the beginning of the body.
        offset: u64,
    },
    /// The body could not be read, or the receiver of events failed.
    Io(io::Error),
}

impl std::fmt::Display for MultipartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MultipartError::Malformed { reason, offset } => {
                write!(f, "multipart/form-data: {reason} at byte {offset}")
            }
            MultipartError::Io(error) => write!(f, "multipart/form-data: {error}"),
        }
    }
}

impl std::error::Error for MultipartError {}

impl From<io::Error> for MultipartError {
    fn from(error: io::Error) -> Self {
        MultipartError::Io(error)
    }
}

/// The head of a part.
#[derive(Debug, Clone)]
pub struct PartHead {
    /// Its fields, names in lower case.
    pub headers: Set,
    /// The name of the field. Parts without name are to be skipped.
    pub name: Option<String>,
    /// The file name as sent; a part that has one, even an empty one, is a file.
    pub filename: Option<String>,
    /// Where its content begins, in bytes from the beginning of the body.
    pub offset: u64,
}

impl PartHead {
    /// The content type, empty if there is none.
    pub fn content_type(&self) -> &str {
        self.headers.get("content-type").unwrap_or_default()
    }

    /// Whether the part is a file.
    pub fn is_file(&self) -> bool {
        self.filename.is_some()
    }
}

/// What happens while a body is parsed.
#[derive(Debug)]
pub enum Event<'a> {
    /// A part begins.
    Begin(PartHead),
    /// The next bytes of its content.
    Data(&'a [u8]),
    /// It is complete and had so many bytes.
    End(u64),
}

/// A complete part.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its head, with the offset of the content in the body.
    pub head: PartHead,
    /// Bytes of the content.
    pub length: u64,
    /// The content of a field; empty for a file.
    pub content: Vec<u8>,
}

impl Part {
    /// The text of a field: in the charset its content type names, else `charset`, else `fallback`; `None` if it is
    /// no text in any of them.
    pub fn text(&self, charset: Charset, fallback: Option<Charset>) -> Option<String> {
        let own = of_type(self.head.content_type()).and_then(|name| Charset::for_name(&name));
        [Some(own.unwrap_or(charset)), fallback]
            .into_iter()
            .flatten()
            .find_map(|charset| charset.decode(&self.content))
            .map(|text| text.into_owned())
    }
}

/// Parses a whole body; contents of files are left where they are and described by offset and length.
pub fn parts(
    body: impl Read,
    boundary: &str,
    limits: &PartLimits,
) -> Result<Vec<Part>, MultipartError> {
    let mut found: Vec<Part> = Vec::new();
    stream(body, boundary, limits, |event| {
        match (event, found.last_mut()) {
            (Event::Begin(head), _) => found.push(Part {
                head,
                length: 0,
                content: Vec::new(),
            }),
            (Event::Data(data), Some(part)) if !part.head.is_file() => {
                if part.content.len() + data.len() > limits.max_field {
                    return Err(io::Error::other(format!(
                        "a field is longer than {} bytes",
                        limits.max_field
                    )));
                }
                part.content.extend_from_slice(data);
            }
            (Event::End(length), Some(part)) => part.length = length,
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// Parses a whole body and hands everything to `sink`, which may write files; an error of it ends the parsing.
pub fn stream(
    mut body: impl Read,
    boundary: &str,
    limits: &PartLimits,
    mut sink: impl FnMut(Event<'_>) -> io::Result<()>,
) -> Result<(), MultipartError> {
    let mut parser = Parser::new(boundary, limits);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return parser.finish(&mut sink),
            Ok(n) => parser.feed(&buffer[..n], &mut sink)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The incremental parser beneath [`parts`] and [`stream`].
///
/// Lines may end with LF alone, as the reference accepts it. A preamble and an epilogue are skipped; a body in which
/// the boundary does not occur at all has no parts.
#[derive(Debug)]
pub struct Parser {
    /// LF, two dashes, boundary.
    delimiter: Vec<u8>,
    limits: PartLimits,
    state: State,
    /// What has not been used yet: at most an incomplete delimiter line or head.
    kept: Vec<u8>,
    /// Place of the first byte of `kept` in the body.
    position: u64,
    /// Whether what comes next stands at the beginning of a line.
    line_start: bool,
    /// Bytes of the current part's content.
    length: u64,
    parts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Preamble,
    Head,
    Content,
    Epilogue,
}

enum Line {
    /// A delimiter line or closing line of so many bytes, the leading LF not counted.
    Next(usize),
    Close(usize),
    /// Not a delimiter after all.
    No,
    /// Not enough bytes to tell.
    More,
}

/// Blanks tolerated after a boundary.
const MAX_PADDING: usize = 256;

impl Parser {
    /// A parser for a boundary, without the leading dashes.
    pub fn new(boundary: &str, limits: &PartLimits) -> Parser {
        Parser {
            delimiter: format!("\n--{boundary}").into_bytes(),
            limits: limits.clone(),
            state: State::Preamble,
            kept: Vec::new(),
            position: 0,
            line_start: true,
            length: 0,
            parts: 0,
        }
    }

    /// Takes the next bytes of the body.
    pub fn feed(
        &mut self,
        input: &[u8],
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        if self.state == State::Epilogue {
            return Ok(());
        }
        self.kept.extend_from_slice(input);
        self.run(false, sink)
    }

    /// Ends the body; an error if a part was not closed.
    pub fn finish(
        mut self,
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        self.run(true, sink)?;
        match self.state {
            State::Preamble | State::Epilogue => Ok(()),
            State::Head => Err(self.malformed(
                format!("the header of part {} has no end", self.parts + 1),
                0,
            )),
            State::Content => {
                Err(self.malformed(format!("part {} has no closing boundary", self.parts), 0))
            }
        }
    }

    fn run(
        &mut self,
        last: bool,
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        let mut at = 0;
        loop {
            let before = (at, self.state);
            match self.state {
                State::Preamble | State::Content => self.content(&mut at, last, sink)?,
                State::Head => self.head(&mut at, sink)?,
                State::Epilogue => at = self.kept.len(),
            }
            if before == (at, self.state) {
                break;
            }
        }
        self.kept.drain(..at);
        self.position += at as u64;
        Ok(())
    }

    /// Moves `at` over content up to the next delimiter, and over that.
    fn content(
        &mut self,
        at: &mut usize,
        last: bool,
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        let rest = &self.kept[*at..];
        // The delimiter without its LF counts at the beginning of a line.
        let (text, lead) = if self.line_start && prefixes(rest, &self.delimiter[1..]) {
            (0, 0)
        } else {
            match memmem::find(rest, &self.delimiter) {
                Some(lf) => (lf - usize::from(lf > 0 && rest[lf - 1] == b'\r'), lf + 1),
                None => {
                    // Keep what may be the beginning of CR LF and a delimiter.
                    let keep = if last {
                        0
                    } else {
                        (self.delimiter.len() + 1).min(rest.len())
                    };
                    let n = rest.len() - keep;
                    return self.pass(at, n, sink);
                }
            }
        };
        match delimiter_line(&rest[lead..], self.delimiter.len() - 1, last) {
            Line::More => self.pass(at, text, sink),
            // One byte more than the LF, or the same place would be looked at again.
            Line::No => self.pass(at, lead + 1, sink),
            line => {
                self.pass(at, text, sink)?;
                if self.state == State::Content {
                    sink(Event::End(self.length))?;
                }
                let (n, state) = match line {
                    Line::Close(n) => (n, State::Epilogue),
                    Line::Next(n) => (n, State::Head),
                    Line::No | Line::More => (0, self.state),
                };
                *at += lead - text + n;
                self.state = state;
                Ok(())
            }
        }
    }

    /// Hands `n` bytes of content on.
    fn pass(
        &mut self,
        at: &mut usize,
        n: usize,
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        let n = n.min(self.kept.len() - *at);
        if n > 0 {
            let data = &self.kept[*at..*at + n];
            self.line_start = data.ends_with(b"\n");
            if self.state == State::Content {
                self.length += n as u64;
                sink(Event::Data(data))?;
            }
            *at += n;
        }
        Ok(())
    }

    /// Parses the head of a part once its empty line is there.
    fn head(
        &mut self,
        at: &mut usize,
        sink: &mut impl FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<(), MultipartError> {
        let rest = &self.kept[*at..];
        let mut lines: Vec<&[u8]> = Vec::new();
        let mut used = 0;
        let complete = loop {
            let Some(n) = memchr(b'\n', &rest[used..]) else {
                break false;
            };
            let line = &rest[used..used + n];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            used += n + 1;
            if line.is_empty() {
                break true;
            }
            lines.push(line);
        };
        let too_long = used.max(if complete { 0 } else { rest.len() }) > self.limits.max_header;
        if too_long {
            return Err(self.malformed(
                format!("the header of part {} is too long", self.parts + 1),
                *at,
            ));
        }
        if !complete {
            return Ok(());
        }
        if self.parts >= self.limits.max_parts {
            return Err(self.malformed(format!("more than {} parts", self.limits.max_parts), *at));
        }
        let headers = match part_fields(&lines) {
            Ok(headers) => headers,
            Err(reason) => {
                return Err(self.malformed(format!("part {}: {reason}", self.parts + 1), *at));
            }
        };
        *at += used;
        let disposition = headers.get("content-disposition").unwrap_or_default();
        let name = disposition_parameter(disposition, "name");
        let filename = extended_filename(disposition)
            .or_else(|| disposition_parameter(disposition, "filename"));
        self.parts += 1;
        self.length = 0;
        self.line_start = true;
        self.state = State::Content;
        sink(Event::Begin(PartHead {
            name,
            filename,
            offset: self.position + *at as u64,
            headers,
        }))?;
        Ok(())
    }

    fn malformed(&self, reason: String, at: usize) -> MultipartError {
        MultipartError::Malformed {
            reason,
            offset: self.position + at as u64,
        }
    }
}

/// Whether `text` begins with `word` or is the beginning of it.
fn prefixes(text: &[u8], word: &[u8]) -> bool {
    let n = text.len().min(word.len());
    n > 0 && text[..n] == word[..n]
}

/// Looks at what follows a boundary of `boundary` bytes (dashes included) at the beginning of `line`.
fn delimiter_line(line: &[u8], boundary: usize, last: bool) -> Line {
    let Some(after) = line.get(boundary..) else {
        return if last { Line::No } else { Line::More };
    };
    if after.starts_with(b"--") {
        return Line::Close(boundary + 2);
    }
    let blanks = after
        .iter()
        .take_while(|&&b| b == b' ' || b == b'\t')
        .count();
    if blanks > MAX_PADDING {
        return Line::No;
    }
    match &after[blanks..] {
        [b'\n', ..] => Line::Next(boundary + blanks + 1),
        [b'\r', b'\n', ..] => Line::Next(boundary + blanks + 2),
        [] | [b'\r'] | [b'-'] if !last => Line::More,
        _ => Line::No,
    }
}

fn part_fields(lines: &[&[u8]]) -> Result<Set, String> {
    let mut joined: Vec<Vec<u8>> = Vec::new();
    for line in lines {
        match (line.first(), joined.last_mut()) {
            (Some(b' ' | b'\t'), Some(field)) => {
                field.push(b' ');
                field.extend_from_slice(trim_ows(line));
            }
            _ => joined.push(line.to_vec()),
        }
    }
    let mut headers = Set::new_nocase("part");
    for field in joined {
        let colon = memchr(b':', &field)
            .ok_or_else(|| format!("no colon in header line \"{}\"", excerpt(&field)))?;
        let name = trim_ows(&field[..colon]);
        if name.is_empty() || field.contains(&0) {
            return Err(format!("malformed header line \"{}\"", excerpt(&field)));
        }
        headers.put(lenient(name), lenient(trim_ows(&field[colon + 1..])));
    }
    Ok(headers)
}

fn excerpt(line: &[u8]) -> String {
    line.iter()
        .take(60)
        .flat_map(|b| b.escape_ascii())
        .map(char::from)
        .collect()
}

/// Like [`crate::syntax::parameter`], but only `\"` is an escape: browsers of old sent `C:\dir\file`.
fn disposition_parameter(disposition: &str, name: &str) -> Option<String> {
    pieces(disposition).skip(1).find_map(|piece| {
        let (have, value) = piece.split_once('=')?;
        if !trim_ows_str(have).eq_ignore_ascii_case(name) {
            return None;
        }
        let value = trim_ows_str(value);
        let Some(quoted) = value.strip_prefix('"') else {
            return Some(value.to_owned());
        };
        let mut out = String::with_capacity(quoted.len());
        let mut chars = quoted.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' if chars.peek() == Some(&'"') => out.extend(chars.next()),
                c => out.push(c),
            }
        }
        Some(out)
    })
}

/// RFC 8187: `filename*=UTF-8''na%C3%AFve.txt`.
fn extended_filename(disposition: &str) -> Option<String> {
    let value = disposition_parameter(disposition, "filename*")?;
    let (charset, rest) = value.split_once('\'')?;
    let (_language, coded) = rest.split_once('\'')?;
    let bytes = decode_bytes(coded.as_bytes(), UrlPart::Path);
    Charset::for_name(charset)?
        .decode(&bytes)
        .map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(body: &[u8]) -> Result<Vec<Part>, MultipartError> {
        parts(body, "XbX", &PartLimits::default())
    }

    fn shown(body: &str) -> String {
        let found = all(body.as_bytes()).unwrap();
        let mut out = Vec::new();
        for part in found {
            let from = part.head.offset as usize;
            let content = &body[from..from + part.length as usize];
            if !part.head.is_file() {
                assert_eq!(part.content, content.as_bytes());
            }
            out.push(format!(
                "{:?} {:?} {content:?}",
                part.head.name.unwrap_or_default(),
                part.head.filename
            ));
        }
        out.join("; ")
    }

    const FIELD: &str = "--XbX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    const FILE: &str = "--XbX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x.txt\"\r\n\
                        Content-Type: text/plain\r\n\r\nfile content\n\r\n";

    #[test]
    fn recorded_uploads() {
        let file = "\"file\" Some(\"x.txt\") \"file content\\n\"";
        let field = "\"a\" None \"1\"";
        assert_eq!(
            shown(&format!("{FIELD}{FILE}--XbX--\r\n")),
            format!("{field}; {file}")
        );
        assert_eq!(
            shown(&format!(
                "ignored preamble\r\n{FIELD}--XbX--\r\nepilogue\r\n"
            )),
            field
        );
        assert_eq!(shown(&format!("{FIELD}--XbX--")), field);
        assert_eq!(
            shown(&format!("{FIELD}{FILE}--XbX--\r\n").replace("\r\n", "\n")),
            format!("{field}; {file}")
        );
        let inside = "--XbX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\na --XbX b\r\n-XbX\r\n--XbXy\r\n--XbX--\r\n";
        assert_eq!(
            shown(inside),
            "\"f\" Some(\"x\") \"a --XbX b\\r\\n-XbX\\r\\n--XbXy\""
        );
        let empty = "--XbX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\"\r\n\r\n\r\n--XbX--\r\n";
        assert_eq!(shown(empty), "\"f\" Some(\"\") \"\"");
        assert_eq!(shown(""), "");
        assert_eq!(shown(&FIELD.replace("XbX", "other")), "");
    }

    #[test]
    fn dispositions() {
        let name = |text: &str| disposition_parameter(text, "filename");
        assert_eq!(
            name("form-data; name=file; filename=plain.txt").as_deref(),
            Some("plain.txt")
        );
        assert_eq!(
            name("form-data; filename=\"C:\\dir\\x.txt\"").as_deref(),
            Some("C:\\dir\\x.txt")
        );
        assert_eq!(
            name("form-data; filename=\"a\\\"b.txt\"").as_deref(),
            Some("a\"b.txt")
        );
        assert_eq!(
            extended_filename("x; filename*=UTF-8''na%C3%AFve.txt").as_deref(),
            Some("naïve.txt")
        );
    }

    #[test]
    fn text_in_its_character_set() {
        let body = b"--XbX\r\nContent-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\ncaf\xe9\r\n--XbX\r\nContent-Disposition: form-data; name=b\r\n\r\ncaf\xe9\r\n--XbX--";
        let found = all(body).unwrap();
        assert_eq!(found[0].text(Charset::UTF_8, None).as_deref(), Some("café"));
        assert_eq!(found[1].text(Charset::UTF_8, None), None);
        assert_eq!(
            found[1]
                .text(Charset::UTF_8, Some(Charset::LATIN_1))
                .as_deref(),
            Some("café")
        );
    }

    #[test]
    fn malformed_bodies_name_the_place() {
        for (body, message) in [
            (format!("{FIELD}{FILE}"), "part 2 has no closing boundary"),
            (
                "--XbX\r\nContent-Disposition: x\r\n".to_owned(),
                "the header of part 1 has no end",
            ),
            (
                "--XbX\r\nnonsense\r\n\r\n\r\n--XbX--".to_owned(),
                "no colon in header line \"nonsense\" at byte 7",
            ),
            (
                format!("--XbX\r\nA: {}\r\n\r\n", "x".repeat(20_000)),
                "too long",
            ),
        ] {
            let error = all(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let limits = PartLimits {
            max_parts: 1,
            max_field: 3,
            ..PartLimits::default()
        };
        let two = format!("{FIELD}{FIELD}--XbX--");
        assert!(
            parts(two.as_bytes(), "XbX", &limits)
                .unwrap_err()
                .to_string()
                .contains("more than 1 parts")
        );
        let long = FIELD.replace("\r\n1\r\n", "\r\n1234\r\n") + "--XbX--";
        assert!(
            parts(long.as_bytes(), "XbX", &limits)
                .unwrap_err()
                .to_string()
                .contains("longer than 3")
        );
    }

    /// Events with adjacent data joined.
    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, String> {
        let mut out: Vec<String> = Vec::new();
        let mut data: Vec<u8> = Vec::new();
        let mut sink = |event: Event<'_>| {
            match event {
                Event::Begin(head) => out.push(format!("begin {:?} {}", head.name, head.offset)),
                Event::Data(bytes) => data.extend_from_slice(bytes),
                Event::End(length) => {
                    out.push(format!("end {length} {:?}", std::mem::take(&mut data)))
                }
            }
            Ok(())
        };
        let mut parser = Parser::new("XbX", &PartLimits::default());
        let mut run = || {
            for piece in pieces {
                parser.feed(piece, &mut sink)?;
            }
            Ok(())
        };
        let fed: Result<(), MultipartError> = run();
        fed.and_then(|()| parser.finish(&mut sink))
            .map_err(|error| error.to_string())?;
        Ok(out)
    }

    proptest! {
        #[test]
        fn pieces_give_the_same_as_the_whole(
            content in "(\r\n|\n|--|XbX|--XbX| |-|a){0,12}",
            lf in any::<bool>(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut body = format!("pre\r\n{FIELD}").replace("\r\n1\r\n", &format!("\r\n{content}\r\n")) + FILE + "--XbX--\r\nend";
            if lf {
                body = body.replace("\r\n", "\n");
            }
            let bytes = body.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = events(&[bytes]);
            prop_assert_eq!(&events(&pieces), &whole);
            prop_assert_eq!(&events(&single), &whole);
        }

        #[test]
        fn never_panics(bytes in "(--XbX|\r\n|\n|A: b|\0|-| |x){0,20}") {
            let _ = all(bytes.as_bytes());
        }
    }
}
