//! Cookies: finding them in requests, building Set-Cookie (RFC 6265; manual page ns_cookie).

use crate::charset::Charset;
use crate::date;
use crate::encode::{Part, decode_bytes, encode};
use crate::head::values;
use crate::syntax::trim_ows_str;
use shared::Set;

/// SameSite of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SameSite {
    /// Sent with requests from the same site only.
    Strict,
    /// Also sent when a link leads here.
    #[default]
    Lax,
    /// Always sent; browsers ask for Secure, without which it is not written.
    None,
}

/// How long a browser keeps a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// Until it is closed.
    #[default]
    Session,
    /// So many seconds.
    Seconds(i64),
    /// For ever, which is ten years from the given time.
    Forever {
        /// Seconds since 1970.
        now: i64,
    },
    /// Not at all: the cookie is deleted.
    Expired,
}

impl Lifetime {
    /// What `-expires` of ns_setcookie means: negative for ever, zero the session, a time in the future that time,
    /// else a number of seconds.
    pub fn from_expires(expires: i64, now: i64) -> Lifetime {
        match expires {
            i64::MIN..=-1 => Lifetime::Forever { now },
            0 => Lifetime::Session,
            time if time > now => Lifetime::Seconds(time.saturating_sub(now)),
            seconds => Lifetime::Seconds(seconds),
        }
    }
}

/// A cookie to be set.
#[derive(Debug, Clone, Default)]
pub struct SetCookie<'a> {
    /// Should be a token; must not be empty nor hold a semicolon, an equals sign or a control character.
    pub name: &'a str,
    /// Any text; it is percent-encoded.
    pub value: &'a str,
    /// How long it is kept.
    pub lifetime: Lifetime,
    /// Domain; the empty one is left out.
    pub domain: &'a str,
    /// Path; the empty one is left out.
    pub path: &'a str,
    /// Over TLS only.
    pub secure: bool,
    /// The old attribute of RFC 2965.
    pub discard: bool,
    /// Whether scripts of pages may read it: leaves out HttpOnly.
    pub scriptable: bool,
    /// See [`SameSite`].
    pub same_site: SameSite,
}

impl SetCookie<'_> {
    /// The value of the Set-Cookie field. The error is a message for the script that asked for it.
    pub fn build(&self) -> Result<String, String> {
        // Blanks and the like are no token, but browsers take them and existing sites may use them.
        if self.name.is_empty()
            || self
                .name
                .contains(|c: char| c == ';' || c == '=' || c.is_control())
        {
            return Err(format!(
                "invalid cookie name \"{}\"",
                self.name.escape_debug()
            ));
        }
        for (what, text) in [("domain", self.domain), ("path", self.path)] {
            if text.contains(|c: char| c == ';' || c.is_control()) {
                return Err(format!("invalid cookie {what} \"{}\"", text.escape_debug()));
            }
        }
        let value = encode(self.value, Part::Cookie, Charset::UTF_8, false);
        let mut out = format!("{}=\"{value}\"", self.name);
        match self.lifetime {
            Lifetime::Session => {}
            Lifetime::Seconds(seconds) => out.push_str(&format!("; Max-Age={seconds}")),
            Lifetime::Forever { now } => {
                out.push_str("; Expires=");
                out.push_str(&date::format(now.saturating_add(10 * 366 * 86_400)));
            }
            // The date is the reference's to the letter, wrong day of the week included.
            Lifetime::Expired => out.push_str("; Expires=Fri, 01-Jan-1980 01:00:00 GMT"),
        }
        for (name, text) in [("Domain", self.domain), ("Path", self.path)] {
            if !text.is_empty() {
                out.push_str(&format!("; {name}={text}"));
            }
        }
        for (wanted, attribute) in [
            (self.secure, "; Secure"),
            (self.discard, "; Discard"),
            (!self.scriptable, "; HttpOnly"),
        ] {
            if wanted {
                out.push_str(attribute);
            }
        }
        out.push_str(match self.same_site {
            SameSite::Strict => "; SameSite=Strict",
            SameSite::None if self.secure => "; SameSite=None",
            SameSite::Lax | SameSite::None => "; SameSite=Lax",
        });
        Ok(out)
    }
}

/// Names and values in the value of one Cookie field, not decoded. Quotes around a value are removed; names are told
/// apart by case, and blanks around the equals sign belong to name and value.
pub fn pairs(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split(';').filter_map(|piece| {
        let (name, value) = trim_ows_str(piece).split_once('=')?;
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => value,
        };
        Some((name, value))
    })
}

/// The decoded values of a cookie in request headers, all Cookie fields taken together. Bytes that are not UTF-8 are
/// taken as `fallback`, or else as Latin-1.
pub fn find<'a>(
    headers: &'a Set,
    name: &'a str,
    fallback: Option<Charset>,
) -> impl Iterator<Item = String> + 'a {
    values(headers, "cookie")
        .flat_map(pairs)
        .filter(move |(have, _)| *have == name)
        .map(move |(_, value)| decode(value, fallback))
}

/// The decoded value of a cookie among the Set-Cookie fields of response headers, the last one set.
pub fn find_set(headers: &Set, name: &str) -> Option<String> {
    let found = values(headers, "set-cookie").filter_map(|line| {
        let (have, value) = pairs(line.split(';').next().unwrap_or_default()).next()?;
        (have == name).then_some(value)
    });
    found.last().map(|value| decode(value, None))
}

/// Removes the Set-Cookie fields for a cookie, as `-replace` wants it. Returns how many there were.
pub fn remove_set(headers: &mut Set, name: &str) -> usize {
    let mut removed = 0;
    for at in (0..headers.len()).rev() {
        let is_it = headers
            .key(at)
            .is_some_and(|key| key.eq_ignore_ascii_case("set-cookie"))
            && headers
                .value(at)
                .and_then(|line| line.split_once('='))
                .is_some_and(|(have, _)| have == name);
        if is_it {
            headers.delete(at);
            removed += 1;
        }
    }
    removed
}

fn decode(value: &str, fallback: Option<Charset>) -> String {
    let bytes = decode_bytes(value.as_bytes(), Part::Cookie);
    let decoded = Charset::UTF_8
        .decode(&bytes)
        .or_else(|| fallback.and_then(|charset| charset.decode(&bytes)));
    decoded
        .unwrap_or_else(|| crate::charset::latin1(&bytes))
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn get(line: &str, name: &str) -> Option<String> {
        let mut headers = Set::new("h");
        headers.put("Cookie", line);
        find(&headers, name, None).next()
    }

    #[test]
    fn recorded_requests() {
        for (line, name, value) in [
            ("a=1; b=2", "b", Some("2")),
            ("a=1;b=2", "b", Some("2")),
            ("a=x%20y%C3%A9", "a", Some("x yé")),
            ("a=\"in quotes\"; b=2", "a", Some("in quotes")),
            ("a=\"quoted; x\"; b=2", "a", Some("quoted")),
            ("a=\"quoted; x\"; b=2", "b", Some("2")),
            ("a = 1", "a", None),
            ("a=", "a", Some("")),
            ("a; b=1", "a", None),
            ("xa=no; a=yes", "a", Some("yes")),
            ("a=lower", "A", None),
            ("a=1, b=2", "b", None),
            ("a=x+y", "a", Some("x+y")),
            ("a=%zz", "a", Some("%zz")),
            ("a=b=c", "a", Some("b=c")),
            ("a=1; a=2", "a", Some("1")),
            ("a=%E9", "a", Some("é")),
            ("$Version=1; a=1; $Path=/", "a", Some("1")),
        ] {
            assert_eq!(get(line, name).as_deref(), value, "{line}");
        }
        let mut headers = Set::new("h");
        headers.put("cookie", "a=1; b=2");
        headers.put("Cookie", "a=3");
        assert_eq!(find(&headers, "a", None).collect::<Vec<_>>(), ["1", "3"]);
    }

    #[test]
    fn recorded_responses() {
        let cookie = SetCookie {
            name: "p",
            value: "v",
            ..SetCookie::default()
        };
        let show = |cookie: SetCookie<'_>| cookie.build().unwrap();
        assert_eq!(show(cookie.clone()), "p=\"v\"; HttpOnly; SameSite=Lax");
        let odd = SetCookie {
            value: "a b;c,d=e\"fé",
            ..cookie.clone()
        };
        assert_eq!(
            show(odd),
            "p=\"a%20b%3bc%2cd=e%22f%c3%a9\"; HttpOnly; SameSite=Lax"
        );
        let all = SetCookie {
            value: "v 1",
            lifetime: Lifetime::from_expires(10, 1_700_000_000),
            domain: "example.test",
            path: "/p",
            secure: true,
            discard: true,
            scriptable: true,
            same_site: SameSite::Strict,
            ..cookie.clone()
        };
        assert_eq!(
            show(all),
            "p=\"v%201\"; Max-Age=10; Domain=example.test; Path=/p; Secure; Discard; SameSite=Strict"
        );
        let none = SetCookie {
            same_site: SameSite::None,
            ..cookie.clone()
        };
        assert!(show(none.clone()).ends_with("SameSite=Lax"));
        assert!(
            show(SetCookie {
                secure: true,
                ..none
            })
            .ends_with("; Secure; HttpOnly; SameSite=None")
        );
        let gone = SetCookie {
            value: "",
            lifetime: Lifetime::Expired,
            ..cookie.clone()
        };
        assert_eq!(
            show(gone),
            "p=\"\"; Expires=Fri, 01-Jan-1980 01:00:00 GMT; HttpOnly; SameSite=Lax"
        );
        let ever = SetCookie {
            lifetime: Lifetime::from_expires(-1, 0),
            ..cookie.clone()
        };
        assert_eq!(
            show(ever),
            "p=\"v\"; Expires=Wed, 09 Jan 1980 00:00:00 GMT; HttpOnly; SameSite=Lax"
        );
        assert_eq!(
            Lifetime::from_expires(2_100_000_000, 1_700_000_000),
            Lifetime::Seconds(400_000_000)
        );
        for name in ["", "odd name;", "a=b"] {
            assert!(
                SetCookie {
                    name,
                    ..cookie.clone()
                }
                .build()
                .is_err()
            );
        }
        assert!(
            SetCookie {
                path: "/;x",
                ..cookie.clone()
            }
            .build()
            .is_err()
        );
    }

    #[test]
    fn replacing() {
        let mut headers = Set::new("o");
        for line in ["t=\"one%20\"; HttpOnly", "u=\"x\"", "t=\"two\"; HttpOnly"] {
            headers.put("set-cookie", line);
        }
        assert_eq!(find_set(&headers, "t").as_deref(), Some("two"));
        assert_eq!(remove_set(&mut headers, "t"), 2);
        assert_eq!(find_set(&headers, "t"), None);
        assert_eq!(headers.len(), 1);
    }

    proptest! {
        #[test]
        fn what_is_set_comes_back(value in any::<String>()) {
            let line = SetCookie { name: "a", value: &value, ..SetCookie::default() }.build().unwrap();
            prop_assert_eq!(get(&line, "a"), Some(value));
        }
    }
}
