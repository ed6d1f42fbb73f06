//! How a response is framed: which of its fields belong to the protocol, and whether the connection stays open
//! (RFC 9112 sections 6 and 9).

use http::ResponseHead;
use shared::Set;

/// What framing needs to know about the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub version: (u8, u8),
    /// The method was HEAD.
    pub head_only: bool,
    /// The client and the request's framing allow another request.
    pub keep_alive: bool,
    /// A larger response closes the connection; 0 is unlimited.
    pub max_download: u64,
}

/// How the body is delimited on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// No body is sent, whatever the application gives.
    None,
    Length(u64),
    Chunked,
    Close,
}

/// The decision about a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub delimiter: Delimiter,
    pub close: bool,
}

/// Decides, and sets the framing fields of `head`. `length` is that of the content, unknown for a stream.
pub(crate) fn frame(
    asked: &Asked,
    head: &mut ResponseHead,
    length: Option<u64>,
    close: Option<bool>,
) -> Frame {
    let status = head.status;
    let own_close = lists(&head.headers, "connection", "close");
    let upgrade = status == 101;
    let bodiless = asked.head_only || !http::allows_body(status);
    // A script that answers HEAD or 304 without content may say what GET would have.
    let told = match length {
        Some(0) if asked.head_only || status == 304 => head
            .headers
            .iget("content-length")
            .and_then(|text| text.trim().parse::<u64>().ok()),
        _ => None,
    };
    head.headers.idelkey_all("content-length");
    head.headers.idelkey_all("transfer-encoding");
    if !upgrade {
        head.headers.idelkey_all("connection");
        head.headers.idelkey_all("keep-alive");
    }
    let http11 = asked.version >= (1, 1);
    let mut keep = asked.keep_alive && !own_close && close != Some(true);
    if asked.max_download > 0 && length.is_some_and(|length| length > asked.max_download) {
        keep = false;
    }
    let delimiter = match length {
        _ if bodiless => Delimiter::None,
        Some(length) => Delimiter::Length(length),
        None if http11 => Delimiter::Chunked,
        None => Delimiter::Close,
    };
    if http::response::allows_length(status) {
        let announced = match (told, length) {
            (Some(told), _) => Some(told),
            (None, Some(length)) if status != 304 => Some(length),
            _ => None,
        };
        match announced {
            Some(_) if status == 205 => put(head, "content-length", "0"),
            Some(length) => put(head, "content-length", &length.to_string()),
            None if status == 205 => put(head, "content-length", "0"),
            None if status == 304 => {}
            None if http11 => put(head, "transfer-encoding", "chunked"),
            None => {}
        }
    }
    // An interim status as the last word: what follows would be taken for the answer.
    if delimiter == Delimiter::Close || status < 200 {
        keep = false;
    }
    if !upgrade {
        put(
            head,
            "connection",
            if keep { "keep-alive" } else { "close" },
        );
    }
    let close = !keep;
    Frame { delimiter, close }
}

fn lists(fields: &Set, name: &str, element: &str) -> bool {
    http::head::values(fields, name)
        .any(|value| http::syntax::list(value).any(|have| have.eq_ignore_ascii_case(element)))
}

fn put(head: &mut ResponseHead, name: &str, value: &str) {
    head.headers.put(name, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(version: (u8, u8), head_only: bool) -> Asked {
        Asked {
            version,
            head_only,
            keep_alive: true,
            max_download: 1000,
        }
    }

    fn framed(
        asked: Asked,
        status: u16,
        fields: &[(&str, &str)],
        length: Option<u64>,
    ) -> (Frame, String) {
        let mut head = ResponseHead::new(status);
        for (name, value) in fields {
            head.headers.put(name, value);
        }
        let frame = frame(&asked, &mut head, length, None);
        let fields: Vec<String> = head
            .headers
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        (frame, fields.join(" "))
    }

    #[test]
    fn lengths_and_chunks() {
        let keep = |delimiter| Frame {
            delimiter,
            close: false,
        };
        let cut = |delimiter| Frame {
            delimiter,
            close: true,
        };
        let get = asked((1, 1), false);
        let wrong = [
            ("Content-Length", "7"),
            ("transfer-encoding", "x"),
            ("Connection", "keep-alive"),
        ];
        for (asked, status, length, frame, fields) in [
            (
                get,
                200,
                Some(5),
                keep(Delimiter::Length(5)),
                "content-length=5 connection=keep-alive",
            ),
            (
                get,
                200,
                None,
                keep(Delimiter::Chunked),
                "transfer-encoding=chunked connection=keep-alive",
            ),
            (
                get,
                200,
                Some(1001),
                cut(Delimiter::Length(1001)),
                "content-length=1001 connection=close",
            ),
            (
                get,
                204,
                Some(5),
                keep(Delimiter::None),
                "connection=keep-alive",
            ),
            (
                get,
                205,
                None,
                keep(Delimiter::None),
                "content-length=0 connection=keep-alive",
            ),
            (
                get,
                304,
                Some(5),
                keep(Delimiter::None),
                "connection=keep-alive",
            ),
            (
                get,
                304,
                None,
                keep(Delimiter::None),
                "connection=keep-alive",
            ),
            (
                get,
                304,
                Some(0),
                keep(Delimiter::None),
                "content-length=7 connection=keep-alive",
            ),
            (
                asked((1, 0), false),
                200,
                None,
                cut(Delimiter::Close),
                "connection=close",
            ),
            (
                asked((1, 0), false),
                200,
                Some(5),
                keep(Delimiter::Length(5)),
                "content-length=5 connection=keep-alive",
            ),
            (
                asked((1, 1), true),
                200,
                Some(5),
                keep(Delimiter::None),
                "content-length=5 connection=keep-alive",
            ),
            (
                asked((1, 1), true),
                200,
                Some(0),
                keep(Delimiter::None),
                "content-length=7 connection=keep-alive",
            ),
            (
                asked((1, 1), true),
                200,
                None,
                keep(Delimiter::None),
                "transfer-encoding=chunked connection=keep-alive",
            ),
        ] {
            let have = framed(asked, status, &wrong, length);
            assert_eq!(
                (have.0, have.1.as_str()),
                (frame, fields),
                "{status} {length:?}"
            );
        }
    }

    #[test]
    fn an_application_may_close() {
        let (frame, fields) = framed(
            asked((1, 1), false),
            200,
            &[("Connection", "foo, Close")],
            Some(1),
        );
        assert!(frame.close);
        assert_eq!(fields, "content-length=1 connection=close");
        let (_, fields) = framed(
            asked((1, 1), false),
            101,
            &[("connection", "upgrade")],
            Some(0),
        );
        assert_eq!(fields, "connection=upgrade");
    }
}
