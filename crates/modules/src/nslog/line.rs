//! One line of the access log. Made in a buffer that the thread keeps: a request costs no allocation here.

use std::cell::RefCell;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use server::proxied::Proxied;
use server::request::Record;
use shared::time::Time;

/// What a line contains; the parameters of the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub combined: bool,
    pub formatted_time: bool,
    pub request_time: bool,
    pub partial_times: bool,
    pub thread_name: bool,
    pub check_for_proxy: bool,
    pub suppress_query: bool,
    pub mask: Option<(Ipv4Addr, Ipv6Addr)>,
    /// As configured, for `ns_accesslog extendedheaders`.
    pub extended: String,
    pub request_headers: Vec<String>,
    pub response_headers: Vec<String>,
}

impl Format {
    /// Takes the names of header fields: `Host`, `request:Host`, `response:Content-Type`; the part before the colon may
    /// be cut to three characters.
    ///
    /// # Errors
    /// A text that names what is wrong.
    pub fn set_extended(&mut self, list: &str) -> Result<(), String> {
        let (mut request, mut response) = (Vec::new(), Vec::new());
        for word in server::script::list_words(list)? {
            match word.split_once(':') {
                None => request.push(word),
                Some((side, name)) if side.len() >= 3 && "request".starts_with(side) => {
                    request.push(name.to_owned())
                }
                Some((side, name)) if side.len() >= 3 && "response".starts_with(side) => {
                    response.push(name.to_owned())
                }
                Some((side, _)) => {
                    return Err(format!(
                        "invalid prefix \"{side}\" in \"{word}\": must be request or response"
                    ));
                }
            }
        }
        list.clone_into(&mut self.extended);
        (self.request_headers, self.response_headers) = (request, response);
        Ok(())
    }

    /// Hands the line of a request, with its newline, to `take`.
    pub fn write(&self, record: &Record<'_>, take: impl FnOnce(&[u8])) {
        thread_local! {
            static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        LINE.with_borrow_mut(|line| {
            line.clear();
            self.compose(record, Time::now(), line);
            take(line);
            // Header fields may be long once; the buffer need not stay so.
            line.shrink_to(16 << 10);
        });
    }

    fn compose(&self, r: &Record<'_>, now: Time, out: &mut Vec<u8>) {
        let proxied = if self.check_for_proxy {
            r.headers.iget("x-forwarded-for")
        } else {
            None
        };
        match proxied.map(client_of) {
            Some(client) if !client.is_empty() => match (client.parse(), self.mask) {
                (Ok(address), Some(_)) => self.address(address, out),
                _ => escape(client, out),
            },
            _ => self.address(
                Proxied::of(&r.server.process()).client(r.peer.ip(), r.headers),
                out,
            ),
        }
        if self.thread_name {
            out.push(b' ');
            escape(&shared::thread::name(), out);
            out.push(b' ');
        } else {
            out.extend_from_slice(b" - ");
        }
        match r.user {
            Some(user) if !user.is_empty() => escape_word(user, out),
            _ => out.push(b'-'),
        }
        out.extend_from_slice(b" [");
        if self.formatted_time {
            clf(now.sec, out)
        } else {
            put(out, format_args!("{}", now.sec))
        }
        out.extend_from_slice(b"] \"");
        escape(r.method, out);
        out.push(b' ');
        let target = r.raw_target;
        let shown = if self.suppress_query {
            target.split('?').next().unwrap_or(target)
        } else {
            target
        };
        escape(shown, out);
        if !r.protocol.is_empty() {
            out.push(b' ');
            escape(r.protocol, out);
        }
        put(out, format_args!("\" {} {}", r.status, r.sent));
        if self.combined {
            quoted(r.headers.iget("referer"), out);
            quoted(r.headers.iget("user-agent"), out);
        }
        if self.request_time {
            put(out, format_args!(" {}", seconds(r.stamps.start.elapsed())));
        }
        if self.partial_times {
            let start = Time::from(r.stamps.wall);
            put(out, format_args!(" \"{}.{:06}", start.sec, start.usec));
            for part in r.stamps.parts() {
                put(out, format_args!(" {}", seconds(part)));
            }
            out.push(b'"');
        }
        for name in &self.request_headers {
            quoted(r.headers.iget(name), out);
        }
        for name in &self.response_headers {
            quoted(r.output.iget(name), out);
        }
        out.push(b'\n');
    }

    fn address(&self, address: IpAddr, out: &mut Vec<u8>) {
        let address = address.to_canonical();
        match (address, self.mask) {
            (IpAddr::V4(a), Some((mask, _))) => put(out, format_args!("{}", a & mask)),
            (IpAddr::V6(a), Some((_, mask))) => put(out, format_args!("{}", a & mask)),
            (address, None) => put(out, format_args!("{address}")),
        }
    }
}

/// The first address of `X-Forwarded-For`.
fn client_of(list: &str) -> &str {
    list.split(',').next().unwrap_or_default().trim()
}

/// Writing to a vector cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

struct Seconds(std::time::Duration);

fn seconds(time: std::time::Duration) -> Seconds {
    Seconds(time)
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0.as_secs(), self.0.subsec_micros())
    }
}

/// The date in common log format; computed once per second and thread, time zones are not cheap.
fn clf(second: i64, out: &mut Vec<u8>) {
    thread_local! {
        static LAST: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second {
            *text = shared::strftime::clf(second);
            *last = second;
        }
        out.extend_from_slice(text.as_bytes());
    });
}

fn quoted(value: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" \"");
    escape(value.unwrap_or_default(), out);
    out.push(b'"');
}

/// What clients send must not be able to end a field or a line: quotes, backslashes and control characters are escaped.
fn escape(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &b) in bytes.iter().enumerate() {
        // U+0080 to U+009F are control characters, too: C2 80 to C2 9F.
        let c1 = (0x80..=0x9f).contains(&b) && i > 0 && bytes[i - 1] == 0xc2;
        if b >= 0x20 && b != b'"' && b != b'\\' && b != 0x7f && !c1 {
            continue;
        }
        let start = if c1 { i - 1 } else { i };
        out.extend_from_slice(&bytes[from..start]);
        from = i + 1;
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ if c1 => put(out, format_args!("\\xc2\\x{b:02x}")),
            _ => put(out, format_args!("\\x{b:02x}")),
        }
    }
    out.extend_from_slice(&bytes[from..]);
}

/// A value that stands between blanks and not in quotes.
fn escape_word(text: &str, out: &mut Vec<u8>) {
    let mut parts = text.split(' ');
    escape(parts.next().unwrap_or_default(), out);
    for part in parts {
        out.extend_from_slice(b"\\x20");
        escape(part, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_field_or_a_line() {
        let escaped = |text: &str| {
            let mut out = Vec::new();
            escape(text, &mut out);
            String::from_utf8(out).expect("valid")
        };
        assert_eq!(escaped("plain /é?a=b"), "plain /é?a=b");
        assert_eq!(
            escaped("a\"b\\c\nd\re\tf\0g\x7fh\x1b["),
            "a\\\"b\\\\c\\nd\\re\\tf\\x00g\\x7fh\\x1b["
        );
        assert_eq!(escaped("a\u{85}b\u{a0}"), "a\\xc2\\x85b\u{a0}");
        let mut word = Vec::new();
        escape_word("a b\"", &mut word);
        assert_eq!(word, b"a\\x20b\\\"");
    }

    #[test]
    fn header_names_have_a_side() {
        let mut f = Format {
            combined: true,
            formatted_time: true,
            request_time: false,
            partial_times: false,
            thread_name: false,
            check_for_proxy: false,
            suppress_query: false,
            mask: None,
            extended: String::new(),
            request_headers: Vec::new(),
            response_headers: Vec::new(),
        };
        f.set_extended("Host req:Accept response:Content-Type")
            .expect("fine");
        assert_eq!(f.request_headers, ["Host", "Accept"]);
        assert_eq!(f.response_headers, ["Content-Type"]);
        assert!(f.set_extended("reply:X").is_err());
        assert_eq!(f.extended, "Host req:Accept response:Content-Type");
    }
}
