//! Which content coding a client wants (RFC 9110 section 12.5.3).

use crate::head::values;
use crate::syntax::{list, pieces, trim_ows_str};
use shared::Set;

/// A content coding this server can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// As it is.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// The name in Accept-Encoding and Content-Encoding.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }
}

/// The weight, in thousandths, that the Accept-Encoding fields give a coding; 0 is "not acceptable".
///
/// A coding not mentioned has that of `*`, else none; identity is acceptable unless excluded. Malformed elements are
/// ignored. Without any field only identity is used, although everything would be allowed.
pub fn weight(headers: &Set, coding: Coding) -> u16 {
    let mut star = None;
    for element in values(headers, "accept-encoding").flat_map(list) {
        let Some((name, q)) = weighted(element) else {
            continue;
        };
        if name.eq_ignore_ascii_case(coding.name())
            || (coding == Coding::Gzip && name.eq_ignore_ascii_case("x-gzip"))
        {
            return q;
        }
        if name == "*" {
            star = Some(q);
        }
    }
    match coding {
        // Something not mentioned is less welcome than anything that is.
        Coding::Identity => star.unwrap_or(1),
        _ => star.unwrap_or(0),
    }
}

/// The best of the codings at hand, in the server's order of preference; identity if none of them is acceptable,
/// even if the client excluded that too (a 406 helps nobody).
pub fn choose(headers: &Set, available: &[Coding]) -> Coding {
    let mut best = (
        Coding::Identity,
        if available.is_empty() { u16::MAX } else { 0 },
    );
    for &coding in available
        .iter()
        .filter(|&&coding| coding != Coding::Identity)
    {
        let q = weight(headers, coding);
        if q > best.1 {
            best = (coding, q);
        }
    }
    if best.0 != Coding::Identity && explicit_identity(headers) > best.1 {
        Coding::Identity
    } else {
        best.0
    }
}

/// Whether a coding is acceptable at all.
pub fn accepts(headers: &Set, coding: Coding) -> bool {
    weight(headers, coding) > 0
}

/// `name;q=0.5` as name and thousandths; `None` for malformed elements.
pub fn weighted(element: &str) -> Option<(&str, u16)> {
    let mut parts = pieces(element);
    let name = parts
        .next()
        .filter(|name| name.bytes().all(crate::syntax::is_tchar) && !name.is_empty())?;
    let mut q = 1000;
    for part in parts {
        let (key, value) = part.split_once('=')?;
        if trim_ows_str(key).eq_ignore_ascii_case("q") {
            q = quality(trim_ows_str(value))?;
        }
    }
    Some((name, q))
}

fn explicit_identity(headers: &Set) -> u16 {
    values(headers, "accept-encoding")
        .flat_map(list)
        .filter_map(weighted)
        .find(|(name, _)| name.eq_ignore_ascii_case("identity"))
        .map_or(0, |(_, q)| q)
}

/// RFC 9110 section 12.4.2: 0 to 1 with up to three decimals; more are tolerated.
fn quality(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let thousandths = decimals
        .bytes()
        .chain(*b"000")
        .take(3)
        .fold(0, |sum, b| sum * 10 + u16::from(b - b'0'));
    match whole {
        "0" => Some(thousandths),
        "" if !decimals.is_empty() => Some(thousandths),
        "1" if thousandths == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chosen(fields: &[&str]) -> &'static str {
        let mut headers = Set::new("h");
        for field in fields {
            headers.put("Accept-Encoding", *field);
        }
        choose(&headers, &[Coding::Brotli, Coding::Gzip]).name()
    }

    #[test]
    fn recorded_choices() {
        for (field, coding) in [
            ("gzip", "gzip"),
            ("GZIP", "gzip"),
            ("gzip;q=0", "identity"),
            ("gzip;q=0.3", "gzip"),
            ("*", "br"),
            ("deflate", "identity"),
            ("identity", "identity"),
            ("br, gzip, deflate", "br"),
            ("br;q=0.1, gzip;q=1", "gzip"),
            ("gzip;q=junk", "identity"),
            ("gzip;q=2", "identity"),
            ("gzip;q=0.5, identity;q=1", "identity"),
            ("*;q=0, gzip", "gzip"),
            ("", "identity"),
        ] {
            assert_eq!(chosen(&[field]), coding, "{field}");
        }
        assert_eq!(chosen(&["deflate", "gzip"]), "gzip");
        assert_eq!(chosen(&[]), "identity");
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = chosen(&[&text, "gzip;q=0.", ";q"]);
        }
    }
}
