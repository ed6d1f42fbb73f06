//! Character sets: names as HTTP (IANA) and Tcl have them, coding and decoding, the charset of a content type.

use crate::syntax::{parameter, pieces, trim_ows_str};
use std::borrow::Cow;

/// A character set that can be coded and decoded here.
///
/// ISO-8859-1, -9 and US-ASCII are what their names say, not the Windows supersets that web browsers take for them;
/// the other ones are those of the WHATWG encoding standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Utf8,
    Ascii,
    Latin1,
    Latin5,
    Web(&'static encoding_rs::Encoding),
}

impl Charset {
    /// UTF-8.
    pub const UTF_8: Charset = Charset(Kind::Utf8);
    /// ISO-8859-1: every byte is the character of that number.
    pub const LATIN_1: Charset = Charset(Kind::Latin1);

    /// Finds a character set by its IANA name, one of the web's labels, or the name of a Tcl encoding.
    ///
    /// `None`: unknown here; the caller may ask Tcl with [`tcl_encoding`], or fall back as the reference does (UTF-8).
    pub fn for_name(name: &str) -> Option<Charset> {
        let name = name.trim();
        let name = tcl_encoding(name).and_then(iana_name).unwrap_or(name);
        let lower = name.to_ascii_lowercase();
        Some(Charset(match lower.as_str() {
            "utf-8" | "utf8" => Kind::Utf8,
            "us-ascii" | "ascii" => Kind::Ascii,
            "iso-8859-1" | "iso8859-1" | "latin1" | "l1" | "binary" => Kind::Latin1,
            "iso-8859-9" | "iso8859-9" | "latin5" | "l5" => Kind::Latin5,
            other => {
                let encoding = encoding_rs::Encoding::for_label_no_replacement(other.as_bytes())?;
                if encoding == encoding_rs::UTF_8 {
                    Kind::Utf8
                } else {
                    Kind::Web(encoding)
                }
            }
        }))
    }

    /// Decodes bytes; `None` if they are no text in this character set.
    pub fn decode<'a>(self, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
        match self.0 {
            Kind::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Kind::Ascii if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Kind::Ascii => None,
            Kind::Latin1 => Some(latin1(bytes)),
            Kind::Latin5 => Some(Cow::Owned(
                bytes
                    .iter()
                    .map(|&b| LATIN5.iter().find(|e| e.0 == b).map_or(b.into(), |e| e.1))
                    .collect(),
            )),
            Kind::Web(encoding) => {
                encoding.decode_without_bom_handling_and_without_replacement(bytes)
            }
        }
    }

    /// Encodes text; characters that the character set lacks become `?`.
    pub fn encode<'a>(self, text: &'a str) -> Cow<'a, [u8]> {
        if text.is_ascii() && !matches!(self.0, Kind::Web(e) if !e.is_ascii_compatible()) {
            return Cow::Borrowed(text.as_bytes());
        }
        match self.0 {
            Kind::Utf8 => Cow::Borrowed(text.as_bytes()),
            Kind::Ascii => Cow::Owned(
                text.chars()
                    .map(|c| if c.is_ascii() { c as u8 } else { b'?' })
                    .collect(),
            ),
            Kind::Latin1 => Cow::Owned(
                text.chars()
                    .map(|c| u8::try_from(c).unwrap_or(b'?'))
                    .collect(),
            ),
            Kind::Latin5 => Cow::Owned(text.chars().map(latin5_byte).collect()),
            Kind::Web(encoding) => encode_web(encoding, text),
        }
    }

    /// Whether this is UTF-8.
    pub fn is_utf8(self) -> bool {
        self.0 == Kind::Utf8
    }
}

/// Bytes as text, each byte the character of that number.
pub fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()),
    }
}

/// Bytes as text: UTF-8 where it is that, else byte by byte the character of that number.
pub fn lenient(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len() + 8);
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|&b| char::from(b)));
            }
            Cow::Owned(text)
        }
    }
}

/// The Tcl encoding for an IANA name (`iso-8859-1` to `iso8859-1`) or for itself (ns_encodingforcharset).
/// `None` for names that neither side knows; aliases such as `latin1` are not in the reference's table.
pub fn tcl_encoding(charset: &str) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(iana, _)| iana.eq_ignore_ascii_case(charset))
        .or_else(|| {
            NAMES
                .iter()
                .find(|(_, tcl)| tcl.eq_ignore_ascii_case(charset))
        })
        .map(|&(_, tcl)| tcl)
}

/// The IANA name of a Tcl encoding.
pub fn iana_name(encoding: &str) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(_, tcl)| tcl.eq_ignore_ascii_case(encoding))
        .map(|&(iana, _)| iana)
}

/// All character set names of the table, in lower case (ns_charsets).
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|&(iana, _)| iana)
}

/// The charset parameter of a content type, unquoted.
pub fn of_type(content_type: &str) -> Option<String> {
    parameter(content_type, "charset").filter(|name| !name.is_empty())
}

/// The content type with a charset parameter; one that has any is left alone.
pub fn add_to_type<'a>(content_type: &'a str, charset: &str) -> Cow<'a, str> {
    if of_type(content_type).is_some() {
        Cow::Borrowed(content_type)
    } else {
        Cow::Owned(format!(
            "{}; charset={charset}",
            content_type.trim_end_matches([';', ' '])
        ))
    }
}

/// The media type alone, in lower case, without parameters.
pub fn media_type(content_type: &str) -> String {
    pieces(content_type)
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

/// The Tcl encoding for content of a type (ns_encodingfortype): that of its charset parameter, which must not be
/// quoted; `default` for text; `binary` for everything else. `None` if the charset is unknown.
pub fn tcl_encoding_for_type<'a>(content_type: &str, default: &'a str) -> Option<&'a str>
where
    'static: 'a,
{
    let raw = pieces(content_type).skip(1).find_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        trim_ows_str(name)
            .eq_ignore_ascii_case("charset")
            .then(|| trim_ows_str(value))
    });
    match raw {
        Some(name) => tcl_encoding(name),
        None if media_type(content_type).starts_with("text/") => Some(default),
        None => Some("binary"),
    }
}

/// ISO-8859-9 is Latin-1 with these six letters.
const LATIN5: [(u8, char); 6] = [
    (0xd0, 'Ğ'),
    (0xdd, 'İ'),
    (0xde, 'Ş'),
    (0xf0, 'ğ'),
    (0xfd, 'ı'),
    (0xfe, 'ş'),
];

fn latin5_byte(c: char) -> u8 {
    match LATIN5.iter().find(|e| e.1 == c) {
        Some(&(byte, _)) => byte,
        None => u8::try_from(c)
            .ok()
            .filter(|b| !LATIN5.iter().any(|e| e.0 == *b))
            .unwrap_or(b'?'),
    }
}

/// The encoder of the web standard writes unknown characters as `&#...;`, which is right for forms only.
fn encode_web(encoding: &'static encoding_rs::Encoding, text: &str) -> Cow<'static, [u8]> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut encoder = encoding.new_encoder();
    let mut rest = text;
    loop {
        let room = encoder
            .max_buffer_length_from_utf8_without_replacement(rest.len())
            .unwrap_or(rest.len() * 4 + 16);
        out.reserve(room + 1);
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = &rest[read..];
        match result {
            encoding_rs::EncoderResult::InputEmpty => return Cow::Owned(out),
            encoding_rs::EncoderResult::Unmappable(_) => out.push(b'?'),
            encoding_rs::EncoderResult::OutputFull => {}
        }
    }
}

/// IANA name and Tcl encoding. Where several names mean the same encoding, the preferred one comes first.
const NAMES: &[(&str, &str)] = &[
    ("utf-8", "utf-8"),
    ("iso-8859-1", "iso8859-1"),
    ("iso-8859-2", "iso8859-2"),
    ("iso-8859-3", "iso8859-3"),
    ("iso-8859-4", "iso8859-4"),
    ("iso-8859-5", "iso8859-5"),
    ("iso-8859-6", "iso8859-6"),
    ("iso-8859-7", "iso8859-7"),
    ("iso-8859-8", "iso8859-8"),
    ("iso-8859-9", "iso8859-9"),
    ("iso-8859-10", "iso8859-10"),
    ("iso-8859-11", "iso8859-11"),
    ("iso-8859-13", "iso8859-13"),
    ("iso-8859-14", "iso8859-14"),
    ("iso-8859-15", "iso8859-15"),
    ("iso-8859-16", "iso8859-16"),
    ("us-ascii", "ascii"),
    ("big5", "big5"),
    ("euc-cn", "euc-cn"),
    ("euc-jp", "euc-jp"),
    ("euc-kr", "euc-kr"),
    ("gb12345", "gb12345"),
    ("gb1988", "gb1988"),
    ("gb2312", "gb2312"),
    ("gbk", "cp936"),
    ("iso-2022-jp", "iso2022-jp"),
    ("iso-2022-kr", "iso2022-kr"),
    ("jis_x0201", "jis0201"),
    ("jis_c6226-1983", "jis0208"),
    ("jis_x0212-1990", "jis0212"),
    ("koi8-r", "koi8-r"),
    ("koi8-u", "koi8-u"),
    ("ks_c_5601-1987", "ksc5601"),
    ("shift_jis", "shiftjis"),
    ("windows-31j", "cp932"),
    ("tis-620", "tis-620"),
    ("macintosh", "macRoman"),
    ("x-mac-centraleurroman", "macCentEuro"),
    ("x-mac-croatian", "macCroatian"),
    ("x-mac-cyrillic", "macCyrillic"),
    ("x-mac-dingbats", "macDingbats"),
    ("x-mac-greek", "macGreek"),
    ("x-mac-icelandic", "macIceland"),
    ("x-mac-japanese", "macJapan"),
    ("x-mac-romanian", "macRomania"),
    ("x-mac-thai", "macThai"),
    ("x-mac-turkish", "macTurkish"),
    ("x-mac-ukrainian", "macUkraine"),
    ("ibm437", "cp437"),
    ("ibm737", "cp737"),
    ("ibm775", "cp775"),
    ("ibm850", "cp850"),
    ("ibm852", "cp852"),
    ("ibm855", "cp855"),
    ("ibm857", "cp857"),
    ("ibm860", "cp860"),
    ("ibm861", "cp861"),
    ("ibm862", "cp862"),
    ("ibm863", "cp863"),
    ("ibm864", "cp864"),
    ("ibm865", "cp865"),
    ("ibm866", "cp866"),
    ("ibm869", "cp869"),
    ("windows-874", "cp874"),
    ("windows-949", "cp949"),
    ("windows-950", "cp950"),
    ("windows-1250", "cp1250"),
    ("windows-1251", "cp1251"),
    ("windows-1252", "cp1252"),
    ("windows-1253", "cp1253"),
    ("windows-1254", "cp1254"),
    ("windows-1255", "cp1255"),
    ("windows-1256", "cp1256"),
    ("windows-1257", "cp1257"),
    ("windows-1258", "cp1258"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_in_both_directions() {
        for (name, tcl) in [
            ("UTF-8", "utf-8"),
            ("ISO-8859-15", "iso8859-15"),
            ("ascii", "ascii"),
            ("us-ascii", "ascii"),
            ("shift_jis", "shiftjis"),
            ("gb2312", "gb2312"),
            ("windows-1251", "cp1251"),
            ("macintosh", "macRoman"),
            ("iso8859-1", "iso8859-1"),
            ("tis-620", "tis-620"),
        ] {
            assert_eq!(tcl_encoding(name), Some(tcl), "{name}");
        }
        for name in ["latin1", "utf8", "bogus", "", "utf-16"] {
            assert_eq!(tcl_encoding(name), None, "{name}");
        }
        assert_eq!(iana_name("cp1252"), Some("windows-1252"));
    }

    #[test]
    fn types() {
        for (content_type, encoding) in [
            ("text/html", Some("utf-8")),
            ("text/html; charset=iso-8859-1", Some("iso8859-1")),
            ("text/html; charset=\"iso-8859-1\"", None),
            ("text/html;charset=ISO-8859-1", Some("iso8859-1")),
            ("text/plain; charset=bogus", None),
            (
                "text/html; foo=bar; charset=iso-8859-15",
                Some("iso8859-15"),
            ),
            ("application/json", Some("binary")),
            ("", Some("binary")),
        ] {
            assert_eq!(
                tcl_encoding_for_type(content_type, "utf-8"),
                encoding,
                "{content_type}"
            );
        }
        assert_eq!(
            of_type("text/html; charset=\"UTF-8\"").as_deref(),
            Some("UTF-8")
        );
        assert_eq!(
            add_to_type("text/html", "utf-8"),
            "text/html; charset=utf-8"
        );
        assert_eq!(
            add_to_type("text/html; charset=x", "utf-8"),
            "text/html; charset=x"
        );
        assert_eq!(media_type("Text/HTML ; a=b"), "text/html");
    }

    #[test]
    fn coding() {
        let code =
            |name: &str, text: &str| Charset::for_name(name).unwrap().encode(text).into_owned();
        assert_eq!(code("iso8859-1", "é€"), b"\xe9?");
        assert_eq!(code("iso-8859-15", "€\u{3b1}x"), b"\xa4?x");
        assert_eq!(code("iso8859-9", "Ğðé"), b"\xd0?\xe9");
        assert_eq!(code("cp1252", "€"), b"\x80");
        assert_eq!(
            Charset::LATIN_1.decode(b"\xed\xa0\x80").unwrap(),
            "í\u{a0}\u{80}"
        );
        assert_eq!(Charset::UTF_8.decode(b"\xed\xa0\x80"), None);
        assert_eq!(
            Charset::for_name("shiftjis")
                .unwrap()
                .decode(b"\x93\xfa")
                .unwrap(),
            "日"
        );
        assert_eq!(Charset::for_name("bogus"), None);
        assert_eq!(lenient(b"a\xe9\xc3\xa9"), "aéé");
    }

    proptest! {
        #[test]
        fn what_can_be_encoded_can_be_decoded(text in any::<String>(), at in 0..NAMES.len()) {
            if let Some(charset) = Charset::for_name(NAMES[at].0) {
                let bytes = charset.encode(&text).into_owned();
                let _ = charset.decode(&bytes);
                let latin: String = text.chars().filter(|c| (*c as u32) < 128 && !c.is_control()).collect();
                if charset != Charset::for_name("ks_c_5601-1987").unwrap() && !NAMES[at].0.contains("jis") {
                    let bytes = charset.encode(&latin);
                    let back = charset.decode(&bytes).unwrap();
                    prop_assert_eq!(back.as_ref(), latin.as_str());
                }
            }
        }
    }
}
