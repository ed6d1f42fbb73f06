//! The Authorization field taken apart: Basic, Bearer and Digest (RFC 7617, 6750, 7616; ns_conn auth).

use crate::charset::lenient;
use crate::syntax::{list, trim_ows_str, unquote};
use shared::Set;

/// The credentials in the value of an Authorization field as a set: `authmethod` and, by scheme, `username` and
/// `password`, `token`, or the parameters of a digest. Empty for other schemes and for none.
///
/// The set distinguishes case; the scheme in the field does not.
pub fn parse(value: &str) -> Set {
    let mut set = Set::new("auth");
    let value = trim_ows_str(value);
    let Some((scheme, rest)) = value.split_once([' ', '\t']) else {
        return set;
    };
    let rest = trim_ows_str(rest);
    if scheme.eq_ignore_ascii_case("basic") {
        let bytes = base64(rest);
        let text = lenient(&bytes);
        set.put("authmethod", "Basic");
        match text.split_once(':') {
            Some((user, password)) => {
                set.put("username", user);
                set.put("password", password);
            }
            None => {
                set.put("username", &*text);
            }
        }
    } else if scheme.eq_ignore_ascii_case("bearer") {
        set.put("authmethod", "Bearer");
        set.put("token", rest);
    } else if scheme.eq_ignore_ascii_case("digest") {
        set.put("authmethod", "Digest");
        for parameter in list(rest) {
            if let Some((name, value)) = parameter.split_once('=') {
                set.put(
                    trim_ows_str(name).to_ascii_lowercase(),
                    unquote(trim_ows_str(value)),
                );
            }
        }
    }
    set
}

/// Base64, ordinary or URL-safe, with the reference's tolerance: padding may be missing, other characters are skipped.
pub fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(value: &str) -> String {
        parse(value)
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect::<Vec<_>>()
            .join("|")
    }

    #[test]
    fn recorded_credentials() {
        for (value, expected) in [
            (
                "Basic YW5uOnMzY3JldDp4",
                "authmethod=Basic|username=ann|password=s3cret:x",
            ),
            ("basic YTpi", "authmethod=Basic|username=a|password=b"),
            ("Basic    YTpi", "authmethod=Basic|username=a|password=b"),
            ("Basic YTpiYw", "authmethod=Basic|username=a|password=bc"),
            ("Basic anVzdHVzZXI=", "authmethod=Basic|username=justuser"),
            ("Basic OnB3", "authmethod=Basic|username=|password=pw"),
            (
                "Basic dXPDqXI6cMOkc3M=",
                "authmethod=Basic|username=usér|password=päss",
            ),
            ("Bearer abc.def", "authmethod=Bearer|token=abc.def"),
            (
                "Digest username=\"ann\", qop=auth, nc=1",
                "authmethod=Digest|username=ann|qop=auth|nc=1",
            ),
            ("Basic", ""),
            ("Custom a=b", ""),
            ("", ""),
        ] {
            assert_eq!(shown(value), expected, "{value}");
        }
        assert_eq!(
            parse("Basic !!!notbase64").get("username"),
            Some("\u{9e}\u{8b}[jǺ")
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = (parse(&format!("Basic {text}")), parse(&format!("Digest {text}")), parse(&text));
        }
    }
}
