//! Compression of dynamic bodies: whether to, with which coding, all at once, or as a stream.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::accept::Coding;

/// What is to be done with a dynamic body, the parameters `compress*` of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressConfig {
    /// `compressenable`
    pub enabled: bool,
    /// 1 (fast) to 9 (small), `compresslevel`.
    pub level: u32,
    /// Bodies below this many bytes go out as they are, `compressminsize`.
    pub min_size: u64,
    /// Use brotli for clients that name it, `compressbrotli`.
    pub brotli: bool,
    /// Use zstd for clients that name it, `compresszstd`.
    pub zstd: bool,
}

impl Default for CompressConfig {
    fn default() -> CompressConfig {
        CompressConfig {
            enabled: false,
            level: 4,
            min_size: 512,
            brotli: false,
            zstd: true,
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
    /// Send it compressed, with `vary: accept-encoding` and `content-encoding`.
    Packed(Coding),
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
/// its body is not to be touched. Of codings a client likes equally zstd goes first, which is the fastest and makes less
/// bytes than gzip, then brotli, which makes the least. Both must be named: `*` is gzip, which everybody can read.
pub fn decide<'a>(
    config: &CompressConfig,
    accept_encoding: impl IntoIterator<Item = &'a str> + Clone,
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
    let mut best = (0, Decision::Identity);
    for (enabled, coding) in [
        (config.zstd, Coding::Zstd),
        (config.brotli, Coding::Brotli),
        (true, Coding::Gzip),
    ] {
        if !enabled {
            continue;
        }
        let accept = accept_encoding.clone();
        let weight = match coding {
            Coding::Gzip => quality(accept, coding.name()),
            _ => named_quality(accept, coding.name()),
        };
        if weight > best.0 {
            best = (weight, Decision::Packed(coding));
        }
    }
    best.1
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
    let (named, star) = weights(accept_encoding, coding);
    named.or(star).unwrap_or(0)
}

/// The same, when `*` does not count.
fn named_quality<'a>(accept_encoding: impl IntoIterator<Item = &'a str>, coding: &str) -> u16 {
    weights(accept_encoding, coding).0.unwrap_or(0)
}

/// Does a client name a coding, and take it?
pub fn names<'a>(accept_encoding: impl IntoIterator<Item = &'a str>, coding: &str) -> bool {
    named_quality(accept_encoding, coding) > 0
}

/// What is said about a coding, and about `*`.
fn weights<'a>(
    accept_encoding: impl IntoIterator<Item = &'a str>,
    coding: &str,
) -> (Option<u16>, Option<u16>) {
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
    (named, star)
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
    pack(Coding::Gzip, body, level)
}

/// The whole body in a coding. `level`: 1 to 9, others are brought into that range.
pub fn pack(coding: Coding, body: &[u8], level: u32) -> Vec<u8> {
    // Text shrinks to a third or less; growing the buffer once is cheaper than clearing a large one.
    let mut stream = PackStream::with_capacity(coding, level, Some(body.len()));
    stream.feed(body);
    stream.finish()
}

/// Brotli's window for bodies of unknown size, as a power of two: 256 KiB. Larger ones cost memory on both sides.
const BROTLI_WINDOW: u32 = 18;

/// A compressed body that is made piece by piece; what went in can be read by the client after each piece.
pub struct PackStream(Encoder);

enum Encoder {
    Plain(Vec<u8>),
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl PackStream {
    pub fn new(coding: Coding, level: u32) -> PackStream {
        PackStream::with_capacity(coding, level, None)
    }

    fn with_capacity(coding: Coding, level: u32, size: Option<usize>) -> PackStream {
        let level = level.clamp(1, 9);
        let room = Vec::with_capacity(size.map_or(0, |s| s / 3 + 64));
        PackStream(match coding {
            Coding::Identity => Encoder::Plain(room),
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(room, Compression::new(level))),
            Coding::Brotli => {
                // A window larger than the body is memory for nothing.
                let window = size.map_or(BROTLI_WINDOW, |s| s.max(1).ilog2().clamp(10, 21) + 1);
                Encoder::Brotli(Box::new(brotli::CompressorWriter::new(
                    room, 4096, level, window,
                )))
            }
            Coding::Zstd => Encoder::Zstd(
                zstd::stream::write::Encoder::new(room, level.cast_signed())
                    .expect("it fails without memory only"),
            ),
        })
    }

    /// Compresses a piece and flushes it, at the price of some bytes. Nothing in, nothing out.
    pub fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        if piece.is_empty() {
            return Vec::new();
        }
        self.feed(piece);
        let flushed = match &mut self.0 {
            Encoder::Plain(_) => Ok(()),
            Encoder::Gzip(e) => e.flush(),
            Encoder::Brotli(e) => e.flush(),
            Encoder::Zstd(e) => e.flush(),
        };
        flushed.expect(MEMORY);
        std::mem::take(match &mut self.0 {
            Encoder::Plain(out) => out,
            Encoder::Gzip(e) => e.get_mut(),
            Encoder::Brotli(e) => e.get_mut(),
            Encoder::Zstd(e) => e.get_mut(),
        })
    }

    fn feed(&mut self, piece: &[u8]) {
        let fed = match &mut self.0 {
            Encoder::Plain(out) => out.write_all(piece),
            Encoder::Gzip(e) => e.write_all(piece),
            Encoder::Brotli(e) => e.write_all(piece),
            Encoder::Zstd(e) => e.write_all(piece),
        };
        fed.expect(MEMORY);
    }

    /// The end of the body, which holds its checksum.
    pub fn finish(self) -> Vec<u8> {
        match self.0 {
            Encoder::Plain(out) => out,
            Encoder::Gzip(e) => e.finish().expect(MEMORY),
            Encoder::Brotli(e) => e.into_inner(),
            Encoder::Zstd(e) => e.finish().expect(MEMORY),
        }
    }
}

const MEMORY: &str = "writing to memory cannot fail";

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
            min_size: 256,
            ..CompressConfig::default()
        };
        let text = "text/plain; charset=utf-8";
        for (accept, kind, size, expected) in [
            (&["gzip"][..], text, 900, Decision::Packed(Coding::Gzip)),
            (&["gzip"], text, 4, Decision::Never),
            (&[], text, 900, Decision::Identity),
            (&["gzip;q=0"], text, 900, Decision::Identity),
            (&["gzip;q=0.3"], text, 900, Decision::Packed(Coding::Gzip)),
            (&["*"], text, 900, Decision::Packed(Coding::Gzip)),
            (&["*;q=0"], text, 900, Decision::Identity),
            (&["gzip;q=0, *"], text, 900, Decision::Identity),
            (&["deflate"], text, 900, Decision::Identity),
            (&["br"], text, 900, Decision::Identity),
            (
                &["br, gzip, deflate"],
                text,
                900,
                Decision::Packed(Coding::Gzip),
            ),
            (&["identity"], text, 900, Decision::Identity),
            // What the reference gets wrong: case, several lines, packed images.
            (&["GZIP"], text, 900, Decision::Packed(Coding::Gzip)),
            (&["br", "gzip"], text, 900, Decision::Packed(Coding::Gzip)),
            (&["gzip"], "image/png", 900, Decision::Never),
            (
                &["gzip"],
                "image/svg+xml",
                900,
                Decision::Packed(Coding::Gzip),
            ),
            (
                &["gzip"],
                "application/json; charset=utf-8",
                256,
                Decision::Packed(Coding::Gzip),
            ),
            (&["gzip"], "application/gzip", 900, Decision::Never),
            (&["gzip"], "", 900, Decision::Never),
        ] {
            let decision = decide(&config, accept.iter().copied(), kind, Some(size), false);
            assert_eq!(decision, expected, "{accept:?} {kind} {size}");
        }
        assert_eq!(
            decide(&config, ["gzip"], text, None, false),
            Decision::Packed(Coding::Gzip)
        );
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

    /// Ours: the reference knows gzip only.
    #[test]
    fn other_codings() {
        let zstd = CompressConfig {
            enabled: true,
            ..CompressConfig::default()
        };
        let all = CompressConfig {
            brotli: true,
            ..zstd
        };
        let none = CompressConfig {
            zstd: false,
            ..zstd
        };
        use Coding::{Brotli, Gzip, Zstd};
        for (config, accept, expected) in [
            (zstd, "gzip, deflate, br, zstd", Some(Zstd)),
            (zstd, "zstd;q=0.5, gzip", Some(Gzip)),
            (zstd, "gzip, deflate, br", Some(Gzip)),
            (zstd, "*", Some(Gzip)),
            (zstd, "br", None),
            (all, "gzip, deflate, br, zstd", Some(Zstd)),
            (all, "gzip, deflate, br", Some(Brotli)),
            (all, "br", Some(Brotli)),
            (all, "br;q=0, zstd;q=0, gzip", Some(Gzip)),
            (none, "gzip, deflate, br, zstd", Some(Gzip)),
            (none, "zstd", None),
        ] {
            let decision = decide(&config, [accept], "text/html", None, false);
            assert_eq!(
                decision,
                expected.map_or(Decision::Identity, Decision::Packed),
                "{config:?} {accept}"
            );
        }
    }

    fn unpack_as(coding: Coding, packed: &[u8], length: usize) -> Vec<u8> {
        let mut plain = vec![0; length];
        match coding {
            Coding::Identity => plain.copy_from_slice(&packed[..length]),
            Coding::Gzip => GzDecoder::new(packed).read_exact(&mut plain).unwrap(),
            Coding::Brotli => brotli::Decompressor::new(packed, 4096)
                .read_exact(&mut plain)
                .unwrap(),
            Coding::Zstd => zstd::stream::read::Decoder::new(packed)
                .unwrap()
                .read_exact(&mut plain)
                .unwrap(),
        }
        plain
    }

    #[test]
    fn each_piece_can_be_read_at_once() {
        for coding in [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            let mut stream = PackStream::new(coding, 4);
            let mut sent = Vec::new();
            let mut plain = Vec::new();
            for piece in [&b"first "[..], b"", b"second ", &[7; 100_000]] {
                sent.extend(stream.write(piece));
                plain.extend(piece);
                assert_eq!(unpack_as(coding, &sent, plain.len()), plain, "{coding:?}");
            }
            sent.extend(stream.finish());
            assert_eq!(unpack_as(coding, &sent, plain.len()), plain);
            for level in [0, 1, 9, 99] {
                let packed = pack(coding, &plain, level);
                assert!(
                    coding == Coding::Identity || packed.len() < plain.len() / 20,
                    "{coding:?} {level} {}",
                    packed.len()
                );
                assert_eq!(unpack_as(coding, &packed, plain.len()), plain);
            }
        }
        assert_eq!(unpack(&PackStream::new(Coding::Gzip, 4).finish()), b"");
    }
}
