//! The border between Rust's text and Tcl's: a NUL is two bytes inside Tcl, and in 8.6 characters above U+FFFF are
//! surrogate pairs.
use crate::sys;
use std::borrow::Cow;
use std::ffi::CString;

/// Rust text as Tcl stores it; borrowed when both agree.
pub(crate) fn to_tcl(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes
        .iter()
        .any(|&byte| byte == 0 || (sys::ASTRAL_AS_PAIRS && byte >= 0xF0))
    {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2 + 2);
    let mut buffer = [0; 4];
    for character in text.chars() {
        match character {
            '\0' => out.extend_from_slice(&[0xC0, 0x80]),
            '\u{10000}'.. if sys::ASTRAL_AS_PAIRS => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let unit = *unit;
                    out.extend_from_slice(&[
                        0xE0 | (unit >> 12) as u8,
                        0x80 | (unit >> 6 & 0x3F) as u8,
                        0x80 | (unit & 0x3F) as u8,
                    ]);
                }
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    Cow::Owned(out)
}

/// Rust text as a C string for Tcl.
pub(crate) fn to_c(text: &str) -> CString {
    // `to_tcl` leaves no zero byte.
    CString::new(to_tcl(text).into_owned()).expect("NULs are two bytes here")
}

/// Tcl's text as Rust's; borrowed when it is strict UTF-8 already.
///
/// A surrogate pair becomes its character, a lone surrogate U+FFFD, and a byte that begins no character stands for
/// itself, as it does inside Tcl.
pub(crate) fn from_tcl(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => Cow::Owned(translate(bytes, error.valid_up_to())),
    }
}

/// The text of a C string that Tcl lent.
///
/// # Safety
/// `text` is null or points at bytes that end with a NUL and live as long as the answer.
pub(crate) unsafe fn from_c<'a>(text: *const std::ffi::c_char) -> Cow<'a, str> {
    if text.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: the caller's promise.
    from_tcl(unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes())
}

fn translate(bytes: &[u8], valid: usize) -> String {
    let mut out = String::with_capacity(bytes.len());
    // The prefix was found valid by the caller; lossy conversion borrows it.
    out.push_str(&String::from_utf8_lossy(&bytes[..valid]));
    let mut rest = &bytes[valid..];
    while let [first, ..] = *rest {
        if first < 0x80 {
            out.push(char::from(first));
            rest = &rest[1..];
        } else if rest.starts_with(&[0xC0, 0x80]) {
            out.push('\0');
            rest = &rest[2..];
        } else if let Some(unit) = surrogate(rest) {
            rest = &rest[3..];
            match surrogate(rest) {
                Some(low) if unit < 0xDC00 && low >= 0xDC00 => {
                    let code =
                        0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    rest = &rest[3..];
                }
                _ => out.push(char::REPLACEMENT_CHARACTER),
            }
        } else {
            let width =
                (2..=4.min(rest.len())).find_map(|width| std::str::from_utf8(&rest[..width]).ok());
            match width {
                Some(character) => {
                    out.push_str(character);
                    rest = &rest[character.len()..];
                }
                None => {
                    out.push(char::from(first));
                    rest = &rest[1..];
                }
            }
        }
    }
    out
}

fn surrogate(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] => {
            Some(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(to_tcl("Grüße, 世界"), Cow::Borrowed(_)));
        assert!(matches!(
            from_tcl("Grüße, 世界".as_bytes()),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn nul_is_two_bytes_inside() {
        assert_eq!(&*to_tcl("a\0b"), b"a\xC0\x80b");
        assert_eq!(from_tcl(b"a\xC0\x80b"), "a\0b");
    }

    #[test]
    fn surrogates_are_joined_or_replaced() {
        assert_eq!(from_tcl(b"\xED\xA0\xBD\xED\xB8\x80"), "\u{1F600}");
        assert_eq!(from_tcl(b"x\xED\xA0\xBDy"), "x\u{FFFD}y");
        assert_eq!(from_tcl(b"\xED\xB8\x80\xED\xA0\xBD"), "\u{FFFD}\u{FFFD}");
        assert_eq!(from_tcl(b"\xED\xA0"), "\u{ED}\u{A0}");
        assert_eq!(from_tcl(b"\xFFa"), "\u{FF}a");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in any::<String>()) {
            let inside = to_tcl(&text);
            prop_assert!(!inside.contains(&0));
            prop_assert_eq!(from_tcl(&inside), text.as_str());
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = from_tcl(&bytes);
        }
    }
}
