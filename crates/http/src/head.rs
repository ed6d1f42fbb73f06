//! The head of a request: request line and header fields, from bytes to a checked [`RequestHead`].
//!
//! The parser is stricter than the grammar's most tolerant reading wherever tolerance has been used to smuggle
//! requests (RFC 9112 sections 2.2, 5.1, 11.2): bare LF, blanks before the colon, control characters and garbled
//! versions are refused. Folded lines are unfolded as RFC 9112 section 5.2 allows and deployed applications expect.

use crate::syntax::{is_tchar, trim_ows};
use memchr::memchr;
use shared::Set;
use std::borrow::Cow;

/// Sizes above which a head is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line without its CRLF (`maxline`).
    pub max_line: usize,
    /// Number of header fields (`maxheaders`).
    pub max_headers: usize,
    /// Whether a request line without version (HTTP/0.9) is answered; its head has version (0, 9).
    pub simple_request: bool,
    /// Whether lines may end with LF alone, which RFC 9112 section 2.2 allows and the reference server accepts.
    pub bare_lf: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_line: 8192,
            max_headers: 128,
            simple_request: false,
            bare_lf: false,
        }
    }
}

/// Why a request is not served, in the terms of the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Status code of the answer.
    pub status: u16,
    /// One sentence for the log and the notice.
    pub reason: String,
    /// Whether the connection cannot be used any more, because the place of the next request is unknown.
    pub close: bool,
}

impl Refusal {
    /// A refusal after which the connection is closed.
    pub fn new(status: u16, reason: impl Into<String>) -> Refusal {
        Refusal {
            status,
            reason: reason.into(),
            close: true,
        }
    }

    /// Status 400.
    pub fn bad(reason: impl Into<String>) -> Refusal {
        Refusal::new(400, reason)
    }

    /// The same refusal, after which the connection may carry the next request.
    pub fn keep_open(mut self) -> Refusal {
        self.close = false;
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.status,
            crate::response::reason(self.status),
            self.reason
        )
    }
}

impl std::error::Error for Refusal {}

/// The head of a request that passed all checks of this file.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// The method, a token, in the case it was sent.
    pub method: String,
    /// The request target as sent; bytes that are not UTF-8 are percent-encoded, which means the same.
    pub target: String,
    /// Major and minor version. A higher minor version than 1 is treated as 1.1 (RFC 9110 section 2.5).
    pub version: (u8, u8),
    /// The fields in their order, names in lower case; values that are not UTF-8 are taken as Latin-1.
    pub headers: Set,
    /// Bytes of the head, with the empty line, without empty lines skipped before it.
    pub bytes: usize,
}

impl RequestHead {
    /// The request line as it would be sent again, without CRLF.
    pub fn request_line(&self) -> String {
        match self.version {
            (0, 9) => format!("{} {}", self.method, self.target),
            (major, minor) => format!("{} {} HTTP/{major}.{minor}", self.method, self.target),
        }
    }

    /// The value of a field, the first if there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iget(name)
    }

    /// All values of a field, in order.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        values(&self.headers, name)
    }

    /// Whether the elements of the list field `name` contain `element`, both without regard to case.
    pub fn header_lists(&self, name: &str, element: &str) -> bool {
        values(&self.headers, name)
            .any(|value| crate::syntax::list(value).any(|have| have.eq_ignore_ascii_case(element)))
    }

    /// Whether the client is content to keep the connection (RFC 9112 section 9.3).
    pub fn wants_keep_alive(&self) -> bool {
        if self.header_lists("connection", "close") {
            return false;
        }
        self.version >= (1, 1)
            || (self.version == (1, 0) && self.header_lists("connection", "keep-alive"))
    }

    /// Whether the client waits for `100 Continue` (RFC 9110 section 10.1.1; never true for HTTP/1.0).
    pub fn expects_continue(&self) -> bool {
        self.version >= (1, 1)
            && self
                .header("expect")
                .is_some_and(|v| v.trim().eq_ignore_ascii_case("100-continue"))
    }
}

/// All values stored under `name` in a set, compared without regard to case.
pub fn values<'a>(set: &'a Set, name: &'a str) -> impl Iterator<Item = &'a str> {
    set.iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// Where a search for the end of a head stopped, so that more bytes do not begin it anew.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Empty lines skipped before the request line, in bytes.
    start: usize,
    /// Where the line begins that has no end yet.
    line: usize,
    /// Bytes of that line known to hold no LF.
    seen: usize,
    /// Complete lines found, the request line included.
    lines: usize,
    /// Whether one of them is a continuation.
    folded: bool,
}

/// Parses the head at the beginning of `input`.
///
/// `Ok(None)` means that the head is not complete. The number returned with a head is that of the bytes used, the
/// empty line and any empty lines before the request line included; what follows is the body or the next request.
pub fn parse_head(input: &[u8], limits: &Limits) -> Result<Option<(RequestHead, usize)>, Refusal> {
    resume_head(input, &mut Scan::default(), limits)
}

/// Like [`parse_head`] for a buffer that grew since `scan` saw it last; `scan` starts as [`Scan::default`].
pub fn resume_head(
    input: &[u8],
    scan: &mut Scan,
    limits: &Limits,
) -> Result<Option<(RequestHead, usize)>, Refusal> {
    match find_end(input, scan, limits)? {
        None => Ok(None),
        Some(Found::Simple(end)) => {
            let line = input[scan.start..end].trim_ascii_end();
            let (method, target) = simple_request(line)?;
            let bytes = end - scan.start;
            Ok(Some((
                RequestHead {
                    method,
                    target,
                    version: (0, 9),
                    headers: fields(),
                    bytes,
                },
                end,
            )))
        }
        Some(Found::Head(end)) => {
            let head = &input[scan.start..end];
            let (line, fields) = first_line(head);
            let (method, target, version) = request_line(line)?;
            let headers = header_fields(fields, scan.folded, limits)?;
            let head = RequestHead {
                method,
                target,
                version,
                headers,
                bytes: end - scan.start,
            };
            check_host(&head)?;
            Ok(Some((head, end)))
        }
    }
}

/// Parses header fields up to and including the empty line that ends them, as in trailers and parts of a multipart
/// body; every line must end with CRLF. `folded` tells that continuation lines may occur.
pub fn parse_fields(input: &[u8], folded: bool, limits: &Limits) -> Result<Set, Refusal> {
    header_fields(input, folded, limits)
}

enum Found {
    /// End of a head, after its empty line.
    Head(usize),
    /// End of a request line without version.
    Simple(usize),
}

fn fields() -> Set {
    Set::new_nocase("headers")
}

/// Walks over complete lines until the empty one and enforces what can be said about unparsed lines.
fn find_end(input: &[u8], scan: &mut Scan, limits: &Limits) -> Result<Option<Found>, Refusal> {
    loop {
        let rest = &input[scan.line.min(input.len())..];
        if scan.lines == 0
            && let Some(&first) = rest.first()
            && first != b'\r'
            && !(first == b'\n' && limits.bare_lf)
            && !is_tchar(first)
        {
            return Err(Refusal::bad(
                "the request line does not begin with a method (RFC 9112 section 3)",
            ));
        }
        let Some(at) = memchr(b'\n', &rest[scan.seen.min(rest.len())..]).map(|at| at + scan.seen)
        else {
            scan.seen = rest.len();
            if rest.len() > limits.max_line.saturating_add(1) {
                return Err(too_long(scan.lines, rest, limits));
            }
            return Ok(None);
        };
        scan.seen = 0;
        let line = match rest[..at].strip_suffix(b"\r") {
            Some(line) => line,
            None if limits.bare_lf => &rest[..at],
            None => {
                return Err(Refusal::bad(
                    "a line ends without CR (RFC 9112 section 2.2)",
                ));
            }
        };
        if line.len() > limits.max_line {
            return Err(too_long(scan.lines, line, limits));
        }
        scan.line += at + 1;
        if line.is_empty() {
            if scan.lines > 0 {
                return Ok(Some(Found::Head(scan.line)));
            }
            // RFC 9112 section 2.2: an empty line before the request line is skipped; the limit keeps a client from
            // sending nothing else for ever.
            if scan.line > 64 {
                return Err(Refusal::bad("nothing but empty lines"));
            }
            scan.start = scan.line;
            continue;
        }
        if scan.lines == 0 {
            check_request_line_early(line, limits)?;
            if limits.simple_request && simple_request(line).is_ok() {
                return Ok(Some(Found::Simple(scan.line)));
            }
        } else if matches!(line[0], b' ' | b'\t') {
            if scan.lines == 1 {
                return Err(Refusal::bad(
                    "blank before the first header field (RFC 9112 section 2.2)",
                ));
            }
            scan.folded = true;
        }
        scan.lines += 1;
        if scan.lines - 1 > limits.max_headers {
            return Err(Refusal::new(
                431,
                format!("more than {} header fields", limits.max_headers),
            ));
        }
    }
}

fn too_long(lines: usize, line: &[u8], limits: &Limits) -> Refusal {
    if lines == 0 {
        return Refusal::new(
            414,
            format!("the request line is longer than {} bytes", limits.max_line),
        );
    }
    let name = line
        .iter()
        .take(64)
        .take_while(|&&b| is_tchar(b))
        .map(|&b| char::from(b))
        .collect::<String>();
    Refusal::new(
        431,
        format!(
            "the header line \"{name}\" is longer than {} bytes",
            limits.max_line
        ),
    )
}

/// Refuses a request line as soon as it is there, so that garbage does not wait for an empty line.
fn check_request_line_early(line: &[u8], limits: &Limits) -> Result<(), Refusal> {
    if limits.simple_request && simple_request(line).is_ok() {
        return Ok(());
    }
    split_request_line(line).map(|_| ())
}

/// The first line without its end, and what follows it.
fn first_line(head: &[u8]) -> (&[u8], &[u8]) {
    // `find_end` saw an LF; should that ever change, the empty request line is refused.
    let at = memchr(b'\n', head).map_or(0, |at| at + 1);
    let line = head[..at].strip_suffix(b"\n").unwrap_or_default();
    (line.strip_suffix(b"\r").unwrap_or(line), &head[at..])
}

fn request_line(line: &[u8]) -> Result<(String, String, (u8, u8)), Refusal> {
    let (method, target, version) = split_request_line(line)?;
    Ok((token_text(method), target_text(target), version))
}

fn token_text(token: &[u8]) -> String {
    token.iter().map(|&b| char::from(b)).collect()
}

/// `GET /path` alone, as HTTP/0.9 had it.
fn simple_request(line: &[u8]) -> Result<(String, String), Refusal> {
    let target = line
        .strip_prefix(b"GET ")
        .ok_or_else(|| Refusal::bad("no version in the request line"))?;
    if target.first() != Some(&b'/') || !target.iter().all(|&b| is_target_byte(b)) {
        return Err(Refusal::bad("no version in the request line"));
    }
    Ok((String::from("GET"), target_text(target)))
}

/// RFC 9112 section 3: method SP request-target SP HTTP-version, single blanks, nothing else.
fn split_request_line(line: &[u8]) -> Result<(&[u8], &[u8], (u8, u8)), Refusal> {
    let blank = memchr(b' ', line).ok_or_else(|| Refusal::bad("the request line has no target"))?;
    let (method, rest) = (&line[..blank], &line[blank + 1..]);
    if method.is_empty() || !method.iter().all(|&b| is_tchar(b)) {
        return Err(Refusal::bad(
            "the method is no token (RFC 9110 section 9.1)",
        ));
    }
    let blank =
        memchr(b' ', rest).ok_or_else(|| Refusal::bad("the request line has no version"))?;
    let (target, version) = (&rest[..blank], &rest[blank + 1..]);
    if target.is_empty() || !target.iter().all(|&b| is_target_byte(b)) {
        return Err(Refusal::bad(
            "the request target is empty or has characters that must be encoded",
        ));
    }
    check_form(method, target)?;
    Ok((method, target, parse_version(version)?))
}

/// RFC 9112 section 3.2: which forms of target a method may have.
fn check_form(method: &[u8], target: &[u8]) -> Result<(), Refusal> {
    let fine = match (method, target[0]) {
        (_, b'/') => true,
        (b"OPTIONS", b'*') => target.len() == 1,
        (b"CONNECT", _) => !target.contains(&b'/'),
        _ => memchr::memmem::find(target, b"://").is_some_and(|at| {
            at > 0
                && target[0].is_ascii_alphabetic()
                && target[..at]
                    .iter()
                    .all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        }),
    };
    if fine {
        Ok(())
    } else {
        Err(Refusal::bad(
            "the request target is in none of the forms of RFC 9112 section 3.2",
        ))
    }
}

fn parse_version(version: &[u8]) -> Result<(u8, u8), Refusal> {
    match version {
        [
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            major @ b'0'..=b'9',
            b'.',
            minor @ b'0'..=b'9',
        ] => match (major, minor) {
            (b'1', b'0') => Ok((1, 0)),
            (b'1', _) => Ok((1, 1)),
            _ => Err(Refusal::new(
                505,
                "only HTTP/1.0 and HTTP/1.1 are served here",
            )),
        },
        _ => Err(Refusal::bad(
            "the version is garbled (RFC 9112 section 2.3)",
        )),
    }
}

/// What may stand in a target: everything visible. Bytes above 127 are tolerated; the path is checked for UTF-8 later.
fn is_target_byte(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

fn target_text(target: &[u8]) -> String {
    let mut text = String::with_capacity(target.len());
    for chunk in target.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn header_fields(input: &[u8], folded: bool, limits: &Limits) -> Result<Set, Refusal> {
    let unfolded: Cow<'_, [u8]> = if folded {
        Cow::Owned(unfold(input, limits)?)
    } else {
        Cow::Borrowed(input)
    };
    let mut stack = [httparse::EMPTY_HEADER; 64];
    let mut heap;
    let room = if limits.max_headers <= stack.len() {
        &mut stack[..]
    } else {
        heap = vec![httparse::EMPTY_HEADER; limits.max_headers];
        &mut heap[..]
    };
    let parsed = match httparse::parse_headers(&unfolded, room) {
        Ok(httparse::Status::Complete((_, parsed))) => parsed,
        Ok(httparse::Status::Partial) => return Err(Refusal::bad("the header fields have no end")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::new(
                431,
                format!("more than {} header fields", limits.max_headers),
            ));
        }
        Err(error) => {
            return Err(Refusal::bad(format!(
                "header fields: {error} (RFC 9112 section 5)"
            )));
        }
    };
    let mut headers = fields();
    headers.reserve(parsed.len(), unfolded.len());
    for header in parsed {
        if header.name.is_empty() {
            return Err(Refusal::bad(
                "a header field has no name (RFC 9112 section 5.1)",
            ));
        }
        headers.put(header.name, value_text(trim_ows(header.value)));
    }
    Ok(headers)
}

/// A field value as text: UTF-8 if it is that, else each byte is the character of that number.
pub(crate) fn value_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(value.iter().map(|&b| char::from(b)).collect()),
    }
}

/// RFC 9112 section 5.2: each obsolete fold becomes one blank. The whole field must stay below `max_line`.
fn unfold(input: &[u8], limits: &Limits) -> Result<Vec<u8>, Refusal> {
    let mut out: Vec<u8> = Vec::with_capacity(input.len());
    let mut length = 0;
    for line in input.split_inclusive(|&b| b == b'\n') {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            while matches!(out.last(), Some(b'\r' | b'\n' | b' ' | b'\t')) {
                out.pop();
            }
            let rest = line.trim_ascii_start();
            if !rest.is_empty() {
                out.push(b' ');
                out.extend_from_slice(rest);
            } else {
                out.extend_from_slice(b"\r\n");
            }
            length += line.len();
        } else {
            out.extend_from_slice(line);
            length = line.len();
        }
        if length > limits.max_line + 2 {
            return Err(Refusal::new(
                431,
                format!(
                    "a folded header field is longer than {} bytes",
                    limits.max_line
                ),
            ));
        }
    }
    Ok(out)
}

/// RFC 9112 section 3.2: HTTP/1.1 needs exactly one valid Host; 1.0 may have none.
fn check_host(head: &RequestHead) -> Result<(), Refusal> {
    let mut hosts = head.header_all("host");
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(Refusal::bad("more than one Host (RFC 9112 section 3.2)")),
        (None, None) if head.version >= (1, 1) => {
            Err(Refusal::bad("no Host (RFC 9112 section 3.2)"))
        }
        (None, None) => Ok(()),
        (Some(host), None) => crate::host::check(host).map_err(Refusal::bad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Option<(RequestHead, usize)>, Refusal> {
        parse_head(
            text.as_bytes(),
            &Limits {
                max_line: 1024,
                max_headers: 24,
                simple_request: false,
                ..Limits::default()
            },
        )
    }

    fn status(bytes: &[u8]) -> u16 {
        match parse_head(
            bytes,
            &Limits {
                max_line: 1024,
                max_headers: 24,
                simple_request: false,
                ..Limits::default()
            },
        ) {
            Ok(Some(_)) => 200,
            Ok(None) => 0,
            Err(refusal) => refusal.status,
        }
    }

    #[test]
    fn a_plain_head() {
        let text = "GET /a?b HTTP/1.1\r\nHost: localhost\r\nX-Dup: a\r\nx-dup:  b \t\r\n\r\nrest";
        let (head, used) = parse(text).unwrap().unwrap();
        assert_eq!(
            (head.method.as_str(), head.target.as_str(), head.version),
            ("GET", "/a?b", (1, 1))
        );
        assert_eq!(&text[used..], "rest");
        assert_eq!(head.header_all("X-Dup").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(head.headers.iter().next(), Some(("host", "localhost")));
        assert_eq!(head.request_line(), "GET /a?b HTTP/1.1");
        assert_eq!(head.bytes, used);
    }

    #[test]
    fn recorded_refusals() {
        for text in [
            "GET\r\n\r\n",
            "GET  HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /r  HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET\t/r\tHTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /r HTTP/1.1 \r\nHost: h\r\n\r\n",
            " GET /r HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET r/hello HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
            "G(T /r HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /r\u{1}x HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /r\0x HTTP/1.1\r\nHost: h\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET /r HTTP/1.1\r\r\nHost: h\r\n\r\n",
            "GET /r HTTP/1.1x\r\nHost: h\r\n\r\n",
            "GET /r HTTP/1\r\nHost: h\r\n\r\n",
            "GET /r HTTP/1.1\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET /r HTTP/1.1\r\n Host: h\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nno colon here\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\n: v\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nX : v\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nX(b)@: v\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nX: a\u{1}b\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n",
            "GET /r HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
            "GET /r HTTP/1.1\nHost: h\n\n",
            "GET /r HTTP/1.1\r\nHost: h\nX: y\r\n\r\n",
            "GET /r\r\n\r\n",
        ] {
            assert_eq!(status(text.as_bytes()), 400, "{text:?}");
        }
        assert_eq!(status(b"\x16\x03\x01\x00"), 400);
        assert_eq!(status(b"GET /r HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
        assert_eq!(status(b"GET /r HTTP/0.0\r\nHost: h\r\n\r\n"), 505);
        assert_eq!(status(b"GET /r HTTP/1.2\r\nHost: h\r\n\r\n"), 200);
        assert_eq!(status(b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
        assert_eq!(
            status(b"CONNECT localhost:80 HTTP/1.1\r\nHost: h\r\n\r\n"),
            200
        );
        assert_eq!(status(b"GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
        assert_eq!(status(b"\r\n\r\nGET / HTTP/1.0\r\n\r\n"), 200);
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost:\r\n\r\n"), 200);
        assert_eq!(status(b"\r\n\r\n"), 0);
    }

    #[test]
    fn limits_have_their_own_statuses() {
        let line = |n| format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(n));
        assert_eq!(status(line(1024 - 14).as_bytes()), 200);
        assert_eq!(status(line(1024 - 13).as_bytes()), 414);
        assert_eq!(
            status(
                "GET /"
                    .bytes()
                    .chain([b'a'; 1100])
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            414
        );
        let header = |n| format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "b".repeat(n));
        assert_eq!(status(header(1021).as_bytes()), 200);
        assert_eq!(status(header(1022).as_bytes()), 431);
        let many = |n| format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "X: y\r\n".repeat(n));
        assert_eq!(status(many(23).as_bytes()), 200);
        assert_eq!(status(many(24).as_bytes()), 431);
    }

    #[test]
    fn folds_become_blanks() {
        let (head, _) =
            parse("GET / HTTP/1.1\r\nHost: h\r\nX: one\r\n  two\r\n\tthree\r\nY: \r\n \r\n\r\n")
                .unwrap()
                .unwrap();
        assert_eq!(head.header("x"), Some("one two three"));
        assert_eq!(head.header("y"), Some(""));
    }

    #[test]
    fn text_of_values_and_targets() {
        let (head, _) = parse_head(
            b"GET /a?\xe9\xc3\xa9 HTTP/1.0\r\nX-L: caf\xe9\r\nX-U: caf\xc3\xa9\r\n\r\n",
            &Limits::default(),
        )
        .unwrap()
        .unwrap();
        assert_eq!(head.target, "/a?%E9é");
        assert_eq!(
            (head.header("x-l"), head.header("x-u")),
            (Some("café"), Some("café"))
        );
    }

    #[test]
    fn requests_without_version_only_on_demand() {
        let limits = Limits {
            simple_request: true,
            ..Limits::default()
        };
        let (head, used) = parse_head(b"GET /r/hello\r\n", &limits).unwrap().unwrap();
        assert_eq!(
            (head.version, head.target.as_str(), used),
            ((0, 9), "/r/hello", 14)
        );
        assert!(parse_head(b"POST /r/hello\r\n", &limits).is_err());
        assert!(!head.wants_keep_alive());
    }

    #[test]
    fn lf_alone_only_on_demand() {
        let limits = Limits {
            bare_lf: true,
            ..Limits::default()
        };
        let text = b"\nGET / HTTP/1.1\nHost: h\r\nX: a\n b\n\nrest";
        let (head, used) = parse_head(text, &limits).unwrap().unwrap();
        assert_eq!(
            (head.header("x"), &text[used..]),
            (Some("a b"), &b"rest"[..])
        );
        assert_eq!(
            parse_head(text, &Limits::default()).unwrap_err().status,
            400
        );
        assert!(parse_head(b"GET / HTTP/1.1\nHost: h\nX: a\rb\n\n", &limits).is_err());
    }

    #[test]
    fn connection_options_form_a_list() {
        let keep = |version: &str, connection: &str| {
            let text =
                format!("GET / HTTP/{version}\r\nHost: h\r\nConnection: {connection}\r\n\r\n");
            parse(&text).unwrap().unwrap().0.wants_keep_alive()
        };
        assert!(keep("1.1", "x"));
        assert!(!keep("1.1", "x, Close"));
        assert!(!keep("1.0", "x"));
        assert!(keep("1.0", "x, Keep-Alive"));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_head(&bytes, &Limits::default());
            let mut head = b"GET / HTTP/1.1\r\nHost: h\r\n".to_vec();
            head.extend(bytes);
            head.extend(b"\r\n\r\n");
            let _ = parse_head(&head, &Limits { max_line: 50, max_headers: 3, simple_request: true, ..Limits::default() });
        }

        #[test]
        fn pieces_give_the_same_as_the_whole(cut in 0usize..90, value in "[ -~]{0,20}") {
            let text = format!("\r\nPOST /a HTTP/1.1\r\nHost: h\r\nX: {value}\r\n y\r\nContent-Length: 3\r\n\r\nabc");
            let cut = cut.min(text.len());
            let mut scan = Scan::default();
            let first = resume_head(&text.as_bytes()[..cut], &mut scan, &Limits::default()).unwrap();
            let (whole, used) = parse_head(text.as_bytes(), &Limits::default()).unwrap().unwrap();
            let (head, n) = match first {
                Some(done) => done,
                None => resume_head(text.as_bytes(), &mut scan, &Limits::default()).unwrap().unwrap(),
            };
            prop_assert_eq!(n, used);
            prop_assert_eq!(head.target, whole.target);
            prop_assert_eq!(head.headers.iter().collect::<Vec<_>>(), whole.headers.iter().collect::<Vec<_>>());
        }
    }
}
