//! The chunked transfer coding (RFC 9112 section 7.1): an incremental decoder and the frames of an encoder.

use crate::head::{Limits, Refusal, parse_fields};
use memchr::memchr;
use shared::Set;

/// Longest chunk-size line with its extensions, in bytes without CRLF. Nobody uses extensions; attackers do.
const MAX_SIZE_LINE: usize = 256;

/// Longest trailer section in bytes.
const MAX_TRAILER: usize = 16 * 1024;

/// What a call of [`Chunks::decode`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Bytes of the input that were used; the rest has to be given again together with more.
    pub used: usize,
    /// Whether the body is complete. What follows in the input is the next request.
    pub done: bool,
}

/// Decoder of one chunked body.
#[derive(Debug)]
pub struct Chunks {
    state: State,
    limits: Limits,
    trailer: Set,
    decoded: u64,
    /// Incomplete line or trailer, kept so that the caller may throw away its input.
    kept: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    Done,
}

impl Chunks {
    /// A decoder at the beginning of a body; `limits` apply to the trailers.
    pub fn new(limits: &Limits) -> Chunks {
        let trailer = Set::new_nocase("trailers");
        Chunks {
            state: State::Size,
            limits: limits.clone(),
            trailer,
            decoded: 0,
            kept: Vec::new(),
        }
    }

    /// Decodes as much of `input` as there is and hands the content to `sink`, in pieces.
    ///
    /// All of `input` is used unless the body ended in it. Errors are 400 with the fault named, or what `sink`
    /// returned (413, say); after an error the decoder must not be used again.
    pub fn decode(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), Refusal>,
    ) -> Result<Step, Refusal> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            match self.state {
                State::Done => return Ok(Step { used, done: true }),
                _ if rest.is_empty() => return Ok(Step { used, done: false }),
                State::Data(left) => {
                    let n = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    sink(&rest[..n])?;
                    used += n;
                    self.decoded += n as u64;
                    let left = left - n as u64;
                    self.state = if left == 0 {
                        State::DataEnd
                    } else {
                        State::Data(left)
                    };
                }
                State::DataEnd => {
                    // At most two bytes; an error is told with the first wrong one.
                    let expected = if self.kept.is_empty() { b'\r' } else { b'\n' };
                    if rest[0] != expected {
                        return Err(Refusal::bad(
                            "no CRLF after the data of a chunk (RFC 9112 section 7.1)",
                        ));
                    }
                    used += 1;
                    if self.kept.is_empty() {
                        self.kept.push(b'\r');
                    } else {
                        self.kept.clear();
                        self.state = State::Size;
                    }
                }
                State::Size => {
                    let (n, complete) = self.collect_line(rest, MAX_SIZE_LINE, "chunk size")?;
                    used += n;
                    if complete {
                        let size = chunk_size(&self.kept[..self.kept.len() - 2])?;
                        self.kept.clear();
                        self.state = if size == 0 {
                            State::Trailer
                        } else {
                            State::Data(size)
                        };
                    }
                }
                State::Trailer => {
                    let (n, complete) = self.collect_line(rest, MAX_TRAILER, "trailer")?;
                    used += n;
                    if complete && (self.kept == b"\r\n" || self.kept.ends_with(b"\r\n\r\n")) {
                        self.finish_trailer()?;
                    }
                }
            }
        }
    }

    /// The trailer fields; empty until the body is complete.
    pub fn trailers(&self) -> &Set {
        &self.trailer
    }

    /// Bytes of content so far.
    pub fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Whether the last chunk and the trailers have been seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Bytes of content announced by the chunk in progress but not seen yet. Lets a caller refuse a body that is
    /// going to be too large before it arrives.
    pub fn announced(&self) -> u64 {
        match self.state {
            State::Data(left) => left,
            _ => 0,
        }
    }

    /// Appends to `kept` up to and including the next LF; tells how much that was and whether `kept` ends with CRLF.
    fn collect_line(
        &mut self,
        rest: &[u8],
        limit: usize,
        what: &str,
    ) -> Result<(usize, bool), Refusal> {
        let n = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        if self.kept.len() + n > limit + 2 {
            return Err(Refusal::bad(format!("{what} longer than {limit} bytes")));
        }
        self.kept.extend_from_slice(&rest[..n]);
        Ok((n, self.kept.ends_with(b"\r\n")))
    }

    fn finish_trailer(&mut self) -> Result<(), Refusal> {
        if self.kept.len() > 2 {
            if self.kept.iter().filter(|&&b| b == b'\n').count()
                != memchr::memmem::find_iter(&self.kept, b"\r\n").count()
            {
                return Err(Refusal::bad(
                    "a trailer line ends without CR (RFC 9112 section 2.2)",
                ));
            }
            self.trailer = parse_fields(&self.kept, false, &self.limits)?;
        }
        self.kept = Vec::new();
        self.state = State::Done;
        Ok(())
    }
}

/// Appends the line that introduces a chunk of `size` bytes. After the data comes `\r\n`; a size of zero would end
/// the body and is not written.
pub fn encode_size(size: usize, out: &mut Vec<u8>) {
    if size == 0 {
        return;
    }
    let mut digits = [0u8; usize::BITS as usize / 4];
    let mut at = digits.len();
    let mut left = size;
    while left > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[left & 15];
        left >>= 4;
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

/// Appends `data` as one chunk; nothing for no data.
pub fn encode(data: &[u8], out: &mut Vec<u8>) {
    if !data.is_empty() {
        out.reserve(data.len() + 20);
        encode_size(data.len(), out);
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// The end of a body without trailers.
pub const LAST: &[u8] = b"0\r\n\r\n";

/// Appends the last chunk with trailer fields.
pub fn encode_last(trailers: &Set, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n");
    crate::response::encode_fields(trailers, out);
    out.extend_from_slice(b"\r\n");
}

/// `chunk-size [ chunk-ext ]`; blanks after the size are tolerated as the reference does, before it not.
fn chunk_size(line: &[u8]) -> Result<u64, Refusal> {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    if digits == 0 {
        return Err(Refusal::bad("a chunk has no size (RFC 9112 section 7.1)"));
    }
    let rest = &line[digits..];
    let blanks = rest
        .iter()
        .take_while(|&&b| b == b' ' || b == b'\t')
        .count();
    let extension = &rest[blanks..];
    if !(extension.is_empty() || extension[0] == b';') {
        return Err(Refusal::bad(
            "the size of a chunk is no hexadecimal number (RFC 9112 section 7.1)",
        ));
    }
    if extension
        .iter()
        .any(|&b| b != b'\t' && (b < b' ' || b == 0x7f))
    {
        return Err(Refusal::bad(
            "control character in a chunk extension (RFC 9112 section 7.1.1)",
        ));
    }
    let mut size: u64 = 0;
    for &digit in &line[..digits] {
        let value = char::from(digit).to_digit(16).unwrap_or(0);
        size = size
            .checked_mul(16)
            .and_then(|s| s.checked_add(u64::from(value)))
            .filter(|&s| s <= i64::MAX as u64)
            .ok_or_else(|| {
                Refusal::bad("the size of a chunk is beyond all sizes (RFC 9112 section 7.1)")
            })?;
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool, usize, Vec<(String, String)>), u16> {
        let mut decoder = Chunks::new(&Limits::default());
        let (mut body, mut used, mut done) = (Vec::new(), 0, false);
        for piece in pieces {
            let step = decoder
                .decode(piece, |data| {
                    body.extend_from_slice(data);
                    Ok(())
                })
                .map_err(|refusal| refusal.status)?;
            used += step.used;
            done = step.done;
        }
        let trailers = decoder
            .trailers()
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        Ok((body, done, used, trailers))
    }

    #[test]
    fn recorded_bodies() {
        for (text, body) in [
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n", "abcdef"),
            (
                "a\r\n0123456789\r\nB\r\n0123456789x\r\n0\r\n\r\n",
                "01234567890123456789x",
            ),
            ("0\r\n\r\n", ""),
            ("5;name=value\r\nhello\r\n0;x\r\n\r\n", "hello"),
            ("5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5\r\nhello\r\n0\r\nX-Trail: yes\r\n\r\n", "hello"),
            ("0005\r\nhello\r\n000\r\n\r\n", "hello"),
            ("5  \r\nhello\r\n0\r\n\r\n", "hello"),
        ] {
            let (have, done, used, _) = run(&[text.as_bytes()]).unwrap();
            assert_eq!(
                (have.as_slice(), done, used),
                (body.as_bytes(), true, text.len()),
                "{text:?}"
            );
        }
        for text in [
            " 5\r\nhello\r\n0\r\n\r\n",
            "xyz\r\nhello\r\n0\r\n\r\n",
            "-5\r\nhello\r\n",
            "+5\r\nhello\r\n",
            "0x5\r\nhello\r\n",
            "fffffffffffffffff\r\nhello\r\n",
            "\r\nhello\r\n0\r\n\r\n",
            "3\r\nhello\r\n0\r\n\r\n",
            "9\r\nhello\r\n0\r\n\r\n",
            "5\n\r\nhello\r\n",
            "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n",
            "5\r\nhello\r\n0\r\nA: b\nC: d\r\n\r\n",
        ] {
            assert_eq!(run(&[text.as_bytes()]).map(|r| r.0), Err(400), "{text:?}");
        }
        // A bare LF ends nothing; the client waits for an answer until the receive timeout.
        assert!(!run(&[b"5\nhello\n0\n\n"]).unwrap().1);
        assert!(run(&[&[b'5'; 300]]).is_err());
    }

    #[test]
    fn trailers_are_kept_and_the_rest_is_left() {
        let (_, done, used, trailers) = run(&[b"0\r\nX-A: 1\r\nx-b: 2\r\n\r\nGET / "]).unwrap();
        assert!(done);
        assert_eq!(used, 21);
        assert_eq!(
            trailers,
            [("x-a".into(), "1".into()), ("x-b".into(), "2".into())]
        );
    }

    #[test]
    fn encoder_writes_lower_hexadecimal() {
        let mut out = Vec::new();
        encode(&[b'x'; 26], &mut out);
        assert!(out.starts_with(b"1a\r\nxxx"));
        encode(b"", &mut out);
        assert_eq!(out.len(), 4 + 26 + 2);
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding_at_every_split(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                encode(chunk, &mut wire);
            }
            let mut trailers = Set::new("t");
            trailers.put("x-sum", "1");
            encode_last(&trailers, &mut wire);
            let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(wire.len())).collect();
            cuts.extend([0, wire.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &wire[w[0]..w[1]]).collect();
            let (body, done, used, have) = run(&pieces).unwrap();
            prop_assert_eq!(body, chunks.concat());
            prop_assert!(done);
            prop_assert_eq!(used, wire.len());
            prop_assert_eq!(have, vec![("x-sum".to_owned(), "1".to_owned())]);
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = run(&[&bytes]);
        }
    }
}
