//! Where the body of a request ends (RFC 9112 section 6). Every doubt is a refusal: two parties that disagree about
//! the end of a message are what request smuggling lives on (section 11.2).

use crate::head::{Refusal, RequestHead};
use crate::syntax::list;

/// How the body of a request is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// So many bytes follow.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
}

/// Decides how the body of a request is delimited.
///
/// A chunked HTTP/1.0 request is read, but see [`forces_close`]. Any transfer coding other than exactly `chunked`
/// gets 400 as the reference gives it; section 6.1 would also allow 501.
pub fn body_framing(head: &RequestHead) -> Result<Framing, Refusal> {
    let mut codings = 0;
    let mut chunked = false;
    for value in head.header_all("transfer-encoding") {
        if value.is_empty() {
            return Err(Refusal::bad(
                "empty Transfer-Encoding (RFC 9112 section 6.1)",
            ));
        }
        for coding in list(value) {
            codings += 1;
            chunked = coding.eq_ignore_ascii_case("chunked");
        }
    }
    let mut lengths = head.header_all("content-length");
    let length = lengths.next();
    if lengths.next().is_some() {
        return Err(Refusal::bad(
            "more than one Content-Length (RFC 9112 section 6.3)",
        ));
    }
    if head.header("transfer-encoding").is_some() {
        if length.is_some() {
            return Err(Refusal::bad(
                "both Transfer-Encoding and Content-Length (RFC 9112 section 6.3)",
            ));
        }
        if codings != 1 || !chunked {
            return Err(Refusal::bad(
                "a transfer coding other than chunked (RFC 9112 section 6.1)",
            ));
        }
        return Ok(Framing::Chunked);
    }
    match length {
        None => Ok(Framing::None),
        Some(digits) => Ok(Framing::Length(content_length(digits)?)),
    }
}

/// Whether the connection must be closed after this request because HTTP/1.0 knows no transfer codings
/// (RFC 9112 section 6.1: the framing counts as faulty).
pub fn forces_close(head: &RequestHead) -> bool {
    head.version < (1, 1) && head.header("transfer-encoding").is_some()
}

fn content_length(digits: &str) -> Result<u64, Refusal> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Refusal::bad(
            "Content-Length is no number (RFC 9112 section 6.3)",
        ));
    }
    digits
        .parse::<u64>()
        .ok()
        .filter(|&n| n <= i64::MAX as u64)
        .ok_or_else(|| Refusal::bad("Content-Length is beyond all sizes (RFC 9112 section 6.3)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::{Limits, parse_head};

    fn framing(version: &str, fields: &str) -> Result<Framing, u16> {
        let text = format!("POST / HTTP/{version}\r\nHost: h\r\n{fields}\r\n");
        let (head, _) = parse_head(text.as_bytes(), &Limits::default())
            .unwrap()
            .unwrap();
        assert_eq!(
            forces_close(&head),
            version == "1.0" && fields.contains("Transfer")
        );
        body_framing(&head).map_err(|refusal| refusal.status)
    }

    #[test]
    fn recorded_decisions() {
        assert_eq!(framing("1.1", ""), Ok(Framing::None));
        assert_eq!(
            framing("1.1", "Content-Length: 010\r\n"),
            Ok(Framing::Length(10))
        );
        assert_eq!(
            framing("1.1", "Transfer-Encoding:\tCHUNKED\r\n"),
            Ok(Framing::Chunked)
        );
        assert_eq!(
            framing("1.0", "Transfer-Encoding: chunked\r\n"),
            Ok(Framing::Chunked)
        );
        for bad in [
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length: -3\r\n",
            "Content-Length: +3\r\n",
            "Content-Length: 3x\r\n",
            "Content-Length: 0x3\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Content-Length: 9223372036854775808\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, gzip\r\n",
            "Transfer-Encoding: frob\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding: ,\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: chunked;q=1\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
        ] {
            assert_eq!(framing("1.1", bad), Err(400), "{bad:?}");
        }
    }
}
