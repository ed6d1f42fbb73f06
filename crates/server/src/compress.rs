//! gzip of dynamic bodies: whether to, all at once, or as a stream.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What is to be done with a dynamic body, the parameters `compress*` of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressConfig {
    /// `compressenable`
    pub enabled: bool,
    /// 1 (fast) to 9 (small), `compresslevel`.
    pub level: u32,
    /// Bodies below this many bytes go out as they are, `compressminsize`.
    pub min_size: u64,
}

impl Default for CompressConfig {
    fn default() -> CompressConfig {
        CompressConfig {
            enabled: false,
            level: 4,
            min_size: 512,
        }
    }
}

/// The answer of [`decide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send it as it is; there was no choice.
    Never,
    /// Send it as it is, with `vary: accept-encoding`: another client would get it compressed.
    Identity,
    /// Send it compressed, with `vary: accept-encoding` and `content-encoding: gzip`.
    Gzip,
}

impl Decision {
    /// Does the response depend on Accept-Encoding?
    pub fn varies(self) -> bool {
        self != Decision::Never
    }
}

/// Whether to compress a body of `size` bytes (none: a stream of unknown length) and of this content type.
///
/// `accept_encoding`: all values of that header field of the request. `has_coding`: the handler has set a Content-Encoding,
/// its body is not to be touched.
pub fn decide<'a>(
    config: &CompressConfig,
    accept_encoding: impl IntoIterator<Item = &'a str>,
    content_type: &str,
    size: Option<u64>,
    has_coding: bool,
) -> Decision {
    if !config.enabled
        || has_coding
        || size.is_some_and(|s| s < config.min_size)
        || !is_compressible(content_type)
    {
        return Decision::Never;
    }
    if accepts(accept_encoding, "gzip") {
        Decision::Gzip
    } else {
        Decision::Identity
    }
}

/// [`accepts`] for gzip.
pub fn accepts_gzip<'a>(accept_encoding: impl IntoIterator<Item = &'a str>) -> bool {
    accepts(accept_encoding, "gzip")
}

/// Does a client that sent these Accept-Encoding values take this coding? (RFC 9110 section 12.5.3)
///
/// Several lines count as one. No value at all: only identity, which is what clients mean by that.
pub fn accepts<'a>(accept_encoding: impl IntoIterator<Item = &'a str>, coding: &str) -> bool {
    quality(accept_encoding, coding) > 0
}

/// The preference for a coding in thousandths, 0 if it is not accepted. An entry for the coding goes before one for `*`.
pub fn quality<'a>(accept_encoding: impl IntoIterator<Item = &'a str>, coding: &str) -> u16 {
    let (mut named, mut star) = (None, None);
    for element in accept_encoding
        .into_iter()
        .flat_map(|value| value.split(','))
    {
        let mut parts = element.split(';').map(str::trim);
        let name = parts.next().unwrap_or("");
        // x-gzip is the old name of gzip (RFC 9110 section 8.4.1.3).
        let name = if name.eq_ignore_ascii_case("x-gzip") {
            "gzip"
        } else {
            name
        };
        let found = if name.eq_ignore_ascii_case(coding) {
            &mut named
        } else if name == "*" {
            &mut star
        } else {
            continue;
        };
        let weight = parts.find_map(|p| {
            let (key, value) = p.split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case("q")
                .then(|| thousandths(value.trim()))
        });
        *found = Some(weight.unwrap_or(1000));
    }
    named.or(star).unwrap_or(0)
}

/// Is text of this kind worth compressing? Images, audio, video and archives are packed already.
pub fn is_compressible(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    match kind {
        "text" => true,
        "application" | "image" | "model" | "font" => {
            subtype.ends_with("+xml")
                || subtype.ends_with("+json")
                || subtype.ends_with("+text")
                || matches!(
                    subtype,
                    "json"
                        | "xml"
                        | "javascript"
                        | "x-javascript"
                        | "ecmascript"
                        | "x-tcl"
                        | "x-sh"
                        | "wasm"
                        | "rtf"
                        | "manifest"
                        | "x-ndjson"
                        | "json-seq"
                        | "yaml"
                        | "sql"
                        | "graphql"
                        | "x-httpd-php"
                        | "postscript"
                        | "xml-dtd"
                        | "x-www-form-urlencoded"
                        | "vnd.ms-fontobject"
                        | "ttf"
                        | "otf"
                        | "bmp"
                        | "x-icon"
                        | "vnd.microsoft.icon"
                )
        }
        _ => false,
    }
}

/// The whole body as one gzip member. `level`: 1 to 9, others are brought into that range.
pub fn gzip(body: &[u8], level: u32) -> Vec<u8> {
    // Text shrinks to a third or less; growing the buffer once is cheaper than clearing a large one.
    let mut stream = GzipStream::with_capacity(level, body.len() / 3 + 64);
    stream
        .encoder
        .write_all(body)
        .expect("writing to memory cannot fail");
    stream.finish()
}

/// A gzip member that is made piece by piece; what went in can be read by the client after each piece.
pub struct GzipStream {
    encoder: GzEncoder<Vec<u8>>,
}

impl GzipStream {
    pub fn new(level: u32) -> GzipStream {
        GzipStream::with_capacity(level, 0)
    }

    fn with_capacity(level: u32, bytes: usize) -> GzipStream {
        GzipStream {
            encoder: GzEncoder::new(
                Vec::with_capacity(bytes),
                Compression::new(level.clamp(1, 9)),
            ),
        }
    }

    /// Compresses a piece and flushes it (Z_SYNC_FLUSH, at the price of some five bytes). Nothing in, nothing out.
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        if piece.is_empty() {
            return Vec::new();
        }
        self.encoder
            .write_all(piece)
            .expect("writing to memory cannot fail");
        self.encoder.flush().expect("writing to memory cannot fail");
        std::mem::take(self.encoder.get_mut())
    }

    /// The end of the member, which holds its checksum.
    pub fn finish(self) -> Vec<u8> {
        self.encoder
            .finish()
            .expect("writing to memory cannot fail")
    }
}

/// `0.25` as 250. What is no weight counts as 1, as if it were not there.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if !matches!(whole, "0" | "1") || fraction.len() > 3 || !digits(fraction) {
        return 1000;
    }
    let fraction = fraction
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(3)
        .fold(0, |n, b| n * 10 + u16::from(b - b'0'));
    if whole == "1" { 1000 } else { fraction }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn unpack(packed: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut plain).unwrap();
        plain
    }

    /// Exchanges of the family compress.
    #[test]
    fn decisions() {
        let config = CompressConfig {
            enabled: true,
            level: 4,
            min_size: 256,
        };
        let text = "text/plain; charset=utf-8";
        for (accept, kind, size, expected) in [
            (&["gzip"][..], text, 900, Decision::Gzip),
            (&["gzip"], text, 4, Decision::Never),
            (&[], text, 900, Decision::Identity),
            (&["gzip;q=0"], text, 900, Decision::Identity),
            (&["gzip;q=0.3"], text, 900, Decision::Gzip),
            (&["*"], text, 900, Decision::Gzip),
            (&["*;q=0"], text, 900, Decision::Identity),
            (&["gzip;q=0, *"], text, 900, Decision::Identity),
            (&["deflate"], text, 900, Decision::Identity),
            (&["br"], text, 900, Decision::Identity),
            (&["br, gzip, deflate"], text, 900, Decision::Gzip),
            (&["identity"], text, 900, Decision::Identity),
            // What the reference gets wrong: case, several lines, packed images.
            (&["GZIP"], text, 900, Decision::Gzip),
            (&["br", "gzip"], text, 900, Decision::Gzip),
            (&["gzip"], "image/png", 900, Decision::Never),
            (&["gzip"], "image/svg+xml", 900, Decision::Gzip),
            (
                &["gzip"],
                "application/json; charset=utf-8",
                256,
                Decision::Gzip,
            ),
            (&["gzip"], "application/gzip", 900, Decision::Never),
            (&["gzip"], "", 900, Decision::Never),
        ] {
            let decision = decide(&config, accept.iter().copied(), kind, Some(size), false);
            assert_eq!(decision, expected, "{accept:?} {kind} {size}");
        }
        assert_eq!(decide(&config, ["gzip"], text, None, false), Decision::Gzip);
        assert_eq!(decide(&config, ["gzip"], text, None, true), Decision::Never);
        assert_eq!(
            decide(&CompressConfig::default(), ["gzip"], text, None, false),
            Decision::Never
        );
    }

    #[test]
    fn qualities() {
        for (value, expected) in [
            ("gzip", 1000),
            ("gzip;q=1.000", 1000),
            ("gzip ; Q = 0.25", 250),
            ("gzip;q=0.001", 1),
            ("gzip;q=0.000", 0),
            ("x-gzip", 1000),
            ("gzip;q=nonsense", 1000),
            ("gzip;q=0.5, *;q=1", 500),
            ("*;q=0.2", 200),
            (",, ,", 0),
            ("", 0),
        ] {
            assert_eq!(quality([value], "gzip"), expected, "{value:?}");
        }
    }

    #[test]
    fn whole_bodies() {
        let body = b"abcdefgh\n".repeat(100);
        for level in [0, 1, 4, 9, 99] {
            let packed = gzip(&body, level);
            assert!(packed.len() < 100);
            assert_eq!(unpack(&packed), body);
        }
        assert_eq!(unpack(&gzip(b"", 4)), b"");
    }

    #[test]
    fn each_piece_can_be_read_at_once() {
        let mut stream = GzipStream::new(4);
        let mut sent = Vec::new();
        let mut plain = Vec::new();
        for piece in [&b"first "[..], b"", b"second ", &[7; 100_000]] {
            sent.extend(stream.write(piece));
            plain.extend(piece);
            let mut seen = vec![0; plain.len()];
            GzDecoder::new(&sent[..]).read_exact(&mut seen).unwrap();
            assert_eq!(seen, plain);
        }
        sent.extend(stream.finish());
        assert_eq!(unpack(&sent), plain);
        assert_eq!(unpack(&GzipStream::new(4).finish()), b"");
    }
}
