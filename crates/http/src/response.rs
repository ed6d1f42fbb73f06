//! The head of a response: status codes with their reasons, and encoding into bytes that cannot be split by a value.

use shared::Set;

/// Status line and header fields of a response.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Reason phrase; `None` stands for the usual one.
    pub reason: Option<String>,
    /// Fields in the order in which they are sent, names as stored.
    pub headers: Set,
}

impl ResponseHead {
    /// A head without fields.
    pub fn new(status: u16) -> ResponseHead {
        // Room for what most responses have; a name would be an allocation nobody sees.
        let mut headers = Set::with_capacity(10, 320);
        headers.set_nocase(true);
        ResponseHead {
            status,
            reason: None,
            headers,
        }
    }

    /// Adds a field.
    pub fn with(mut self, name: &str, value: &str) -> ResponseHead {
        self.headers.put(name, value);
        self
    }
}

/// Appends the bytes of a head, the empty line included. CR, LF, NUL and other controls in names, values and reason
/// become blanks: nothing a script passes on can begin a field or a response of its own (RFC 9112 section 11.1).
pub fn encode_head(version: (u8, u8), head: &ResponseHead, out: &mut Vec<u8>) {
    out.reserve(64 + head.headers.len() * 48);
    encode_status_line(version, head.status, head.reason.as_deref(), out);
    encode_fields(&head.headers, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the status line with its CRLF. Only HTTP/1.0 and 1.1 exist on the wire.
pub fn encode_status_line(version: (u8, u8), status: u16, phrase: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(if version < (1, 1) {
        b"HTTP/1.0 "
    } else {
        b"HTTP/1.1 "
    });
    let status = status.clamp(100, 999);
    out.extend_from_slice(&[
        b'0' + (status / 100) as u8,
        b'0' + (status / 10 % 10) as u8,
        b'0' + (status % 10) as u8,
        b' ',
    ]);
    push_clean(phrase.unwrap_or_else(|| reason(status)), out);
    out.extend_from_slice(b"\r\n");
}

/// Appends fields, one line each, without the empty line.
pub fn encode_fields(fields: &Set, out: &mut Vec<u8>) {
    for (name, value) in fields.iter() {
        encode_field(name, value, out);
    }
}

/// Appends one field with its CRLF.
pub fn encode_field(name: &str, value: &str, out: &mut Vec<u8>) {
    push_clean(name, out);
    out.extend_from_slice(b": ");
    push_clean(value, out);
    out.extend_from_slice(b"\r\n");
}

/// Whether a response with this status has content (RFC 9110 sections 15.2, 15.3.5, 15.4.5). 205 allows none either,
/// but says so with a length of zero.
pub fn allows_body(status: u16) -> bool {
    status >= 200 && !matches!(status, 204 | 205 | 304)
}

/// Whether a response with this status may carry Content-Length or Transfer-Encoding (RFC 9110 section 8.6).
pub fn allows_length(status: u16) -> bool {
    status >= 200 && status != 204
}

/// The reason phrase of a status code; `Unknown Reason` for codes nobody registered.
pub fn reason(status: u16) -> &'static str {
    match REASONS.binary_search_by_key(&status, |&(code, _)| code) {
        Ok(at) => REASONS[at].1,
        Err(_) => "Unknown Reason",
    }
}

/// All known status codes with their phrases, in ascending order (IANA registry, and the few common private ones).
pub const REASONS: &[(u16, &str)] = &[
    (100, "Continue"),
    (101, "Switching Protocols"),
    (102, "Processing"),
    (103, "Early Hints"),
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (203, "Non-Authoritative Information"),
    (204, "No Content"),
    (205, "Reset Content"),
    (206, "Partial Content"),
    (207, "Multi-Status"),
    (208, "Already Reported"),
    (226, "IM Used"),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (305, "Use Proxy"),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (402, "Payment Required"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (407, "Proxy Authentication Required"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (410, "Gone"),
    (411, "Length Required"),
    (412, "Precondition Failed"),
    (413, "Payload Too Large"),
    (414, "URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Range Not Satisfiable"),
    (417, "Expectation Failed"),
    (418, "I'm a teapot"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Entity"),
    (423, "Locked"),
    (424, "Failed Dependency"),
    (425, "Too Early"),
    (426, "Upgrade Required"),
    (428, "Precondition Required"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
    (451, "Unavailable For Legal Reasons"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
    (505, "HTTP Version Not Supported"),
    (506, "Variant Also Negotiates"),
    (507, "Insufficient Storage"),
    (508, "Loop Detected"),
    (510, "Not Extended"),
    (511, "Network Authentication Required"),
];

fn push_clean(text: &str, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(text.as_bytes());
    for byte in &mut out[from..] {
        if (*byte < b' ' && *byte != b'\t') || *byte == 0x7f {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(version: (u8, u8), head: &ResponseHead) -> String {
        let mut out = Vec::new();
        encode_head(version, head, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn heads() {
        let head = ResponseHead::new(200)
            .with("content-type", "text/plain")
            .with("x", "a\r\nevil: 1\0");
        assert_eq!(
            encoded((1, 1), &head),
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nx: a  evil: 1 \r\n\r\n"
        );
        let mut head = ResponseHead::new(799);
        assert_eq!(
            encoded((1, 0), &head),
            "HTTP/1.0 799 Unknown Reason\r\n\r\n"
        );
        head.reason = Some("Fine\nindeed".into());
        assert_eq!(encoded((0, 9), &head), "HTTP/1.0 799 Fine indeed\r\n\r\n");
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(REASONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(reason(404), "Not Found");
    }

    proptest! {
        #[test]
        fn a_head_has_as_many_lines_as_fields(name in any::<String>(), value in any::<String>()) {
            let text = encoded((1, 1), &ResponseHead::new(200).with(&name, &value));
            prop_assert_eq!(text.matches('\n').count(), 3);
            prop_assert_eq!(text.matches('\r').count(), 3);
        }
    }
}
