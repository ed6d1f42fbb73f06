//! Bytes as text and back: base64, UTF-8 checks.

use synopsis::{Call, choice, commands};
use tcl::{Exit, Obj};

choice! {
    /// How bytes are written as text.
    pub enum Encoding { Hex = "hex", Base64Url = "base64url", Base64 = "base64", Binary = "binary" }
}

commands! { TABLE(call):

    /// Base64, in lines of 60 characters.
    "ns_base64encode" [-binary: bool, --] (string: Obj)
        => lines(&base64(&input(&string, binary), STANDARD, true));

    /// The text or the bytes that base64 stands for.
    "ns_base64decode" [-binary: bool, -strict: bool, --] (string: String)
        => decode(&string, STANDARD, binary, strict);

    /// Base64 for URLs and file names, without padding.
    "ns_base64urlencode" [-binary: bool, --] (string: Obj)
        => base64(&input(&string, binary), URL_SAFE, false);

    /// The text or the bytes that base64url stands for.
    "ns_base64urldecode" [-binary: bool, -strict: bool, --] (string: String)
        => decode(&string, URL_SAFE, binary, strict);

    /// An old name of ns_base64encode.
    "ns_uuencode" [-binary: bool, --] (string: Obj)
        => lines(&base64(&input(&string, binary), STANDARD, true));

    /// An old name of ns_base64decode.
    "ns_uudecode" [-binary: bool, -strict: bool, --] (string: String)
        => decode(&string, STANDARD, binary, strict);

    /// Whether bytes are UTF-8.
    "ns_valid_utf8" (string: Obj, varname: Option<String>)
        => valid_utf8(call, &string, varname.as_deref());
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Encoding {
    /// Bytes in this encoding; a byte array for `binary`.
    pub fn encode(self, bytes: &[u8]) -> Obj {
        match self {
            Encoding::Hex => Obj::from(hex(bytes, false)),
            Encoding::Base64 => Obj::from(base64(bytes, STANDARD, true)),
            Encoding::Base64Url => Obj::from(base64(bytes, URL_SAFE, false)),
            Encoding::Binary => Obj::bytes(bytes),
        }
    }
}

/// The bytes a command works on: those of a byte array or the UTF-8 form of a text; with `-binary` one per character,
/// of which the low eight bits count, as in Tcl.
pub fn input(value: &Obj, binary: bool) -> Vec<u8> {
    if binary && !value.is_bytes() {
        // The low bits are what counts; nothing else is lost.
        return value.with_text(|text| text.chars().map(|c| u32::from(c) as u8).collect());
    }
    value.to_bytes()
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8], uppercase: bool) -> String {
    let digits = if uppercase {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(digits[usize::from(byte >> 4)]));
        out.push(char::from(digits[usize::from(byte & 15)]));
    }
    out
}

/// Base64 in one line.
fn base64(bytes: &[u8], alphabet: &[u8; 64], padded: bool) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= group.len() {
                let index = (bits >> (18 - 6 * place)) & 63;
                out.push(char::from(alphabet[index as usize]));
            } else if padded {
                out.push('=');
            }
        }
    }
    out
}

/// Base64 in one line, with padding.
pub fn base64_text(bytes: &[u8]) -> String {
    base64(bytes, STANDARD, true)
}

/// Base64 for URLs, without padding.
pub fn base64url_text(bytes: &[u8]) -> String {
    base64(bytes, URL_SAFE, false)
}

fn lines(base64: &str) -> String {
    let mut out = String::with_capacity(base64.len() + base64.len() / 60);
    for (at, c) in base64.chars().enumerate() {
        if at > 0 && at % 60 == 0 {
            out.push('\n');
        }
        out.push(c);
    }
    out
}

/// Characters outside the alphabet are skipped, or with `strict` (white space and `=` aside) refused; of several the
/// last is named, as the reference does. An incomplete last group yields the bytes that are complete.
pub fn decode_bytes(text: &str, url_safe: bool, strict: bool) -> Result<Vec<u8>, Exit> {
    let (plus, slash) = if url_safe { (b'-', b'_') } else { (b'+', b'/') };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0u32);
    let mut invalid = None;
    for (at, byte) in text.bytes().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            _ if byte == plus => 62,
            _ if byte == slash => 63,
            _ => {
                if !byte.is_ascii_whitespace() && byte != b'=' {
                    invalid = Some((byte, at + 1));
                }
                continue;
            }
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            // The eight bits above those that wait for the next character.
            out.push((bits >> count) as u8);
        }
    }
    match invalid {
        Some((byte, position)) if strict => Err(tcl::error(format!(
            "invalid character '{}' at position {position}",
            char::from(byte)
        ))),
        _ => Ok(out),
    }
}

fn decode(text: &str, alphabet: &[u8; 64], binary: bool, strict: bool) -> Result<Obj, Exit> {
    let bytes = decode_bytes(text, alphabet == URL_SAFE, strict)?;
    Ok(text_or_bytes(bytes, binary))
}

/// Text where the bytes are UTF-8 and nobody asked for bytes.
fn text_or_bytes(bytes: Vec<u8>, binary: bool) -> Obj {
    if binary {
        return Obj::from_owned_bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Obj::from(text),
        Err(e) => Obj::from_owned_bytes(e.into_bytes()),
    }
}

/// What is checked are the bytes of the value: a text with characters beyond ASCII is not what a client sent.
fn valid_utf8(call: &Call<'_>, value: &Obj, variable: Option<&str>) -> Result<bool, Exit> {
    let Some(bytes) = value.byte_values() else {
        return Ok(false);
    };
    let Err(e) = std::str::from_utf8(&bytes) else {
        return Ok(true);
    };
    if let Some(variable) = variable {
        call.interp.set(variable, around(&bytes, e.valid_up_to()))?;
    }
    Ok(false)
}

/// `ab|\x80c|...`: what stands before the invalid byte, up to two characters from it on, and whether more follows.
fn around(bytes: &[u8], at: usize) -> String {
    let start = at.saturating_sub(10);
    let end = bytes.len().min(at + 2);
    let shown = |bytes: &[u8]| -> String {
        bytes
            .iter()
            .map(|&b| match b {
                0x20..=0x7e => char::from(b).to_string(),
                _ => format!("\\x{b:02x}"),
            })
            .collect()
    };
    let before = if start > 0 { "..." } else { "" };
    let after = if end < bytes.len() { "..." } else { "" };
    format!(
        "{before}{}|{}|{after}",
        shown(&bytes[start..at]),
        shown(&bytes[at..end])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes(), STANDARD, true), text);
            assert_eq!(
                base64(bytes.as_bytes(), URL_SAFE, false),
                text.trim_end_matches('=')
            );
            assert_eq!(
                decode_bytes(text, false, true).ok().as_deref(),
                Some(bytes.as_bytes())
            );
        }
        assert_eq!(
            decode_bytes("AAAAA", false, false).ok(),
            Some(vec![0, 0, 0])
        );
        assert!(decode_bytes("SGVs!bG8s", false, true).is_err());
    }
}
