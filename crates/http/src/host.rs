//! Host and port as in a Host field or an authority: validation, splitting, the form used for comparison.

/// Host and port of a Host field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address; an IPv6 address without its brackets. In the case it was sent.
    pub host: String,
    /// The port, if there is one.
    pub port: Option<u16>,
}

impl HostPort {
    /// The host for look-ups: lower case, without the dot that ends an absolute domain name.
    pub fn folded(&self) -> String {
        let host = self.host.strip_suffix('.').unwrap_or(&self.host);
        host.to_ascii_lowercase()
    }

    /// Host in brackets if it needs them, and the port unless it equals `default`.
    pub fn text(&self, default: Option<u16>) -> String {
        let host = bracketed(&self.host);
        match self.port {
            Some(port) if Some(port) != default => format!("{host}:{port}"),
            _ => host,
        }
    }
}

/// The host as it stands in a URL: an IPv6 address in brackets.
pub fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

/// Checks the value of a Host field (RFC 9110 section 7.2); the empty value is valid.
pub fn check(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Ok(());
    }
    split(value).map(drop)
}

/// Splits a Host field or the authority of a request target; no user information, the port a number below 65536.
///
/// The error is a sentence for the log.
pub fn parse(value: &str) -> Result<HostPort, String> {
    let (host, port) = split(value)?;
    Ok(HostPort {
        host: host.to_owned(),
        port,
    })
}

fn split(value: &str) -> Result<(&str, Option<u16>), String> {
    let wrong = || {
        format!(
            "Host is malformed: \"{}\" (RFC 9110 section 7.2)",
            value.escape_debug()
        )
    };
    let (host, port) = match value.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or_else(wrong)?;
            let plain = address
                .split_once('%')
                .map_or(address, |(plain, _zone)| plain);
            if plain.parse::<std::net::Ipv6Addr>().is_err() && !is_ip_future(address) {
                return Err(wrong());
            }
            (address, port)
        }
        None => {
            let (host, port) = match value.find(':') {
                Some(at) => value.split_at(at),
                None => (value, ""),
            };
            if host.is_empty() || !host.bytes().all(is_reg_name) || !percents_are_whole(host) {
                return Err(wrong());
            }
            (host, port)
        }
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(digits)
            if !digits.is_empty()
                && digits.len() <= 5
                && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            Some(digits.parse::<u16>().map_err(|_| wrong())?)
        }
        _ => return Err(wrong()),
    };
    Ok((host, port))
}

/// RFC 3986 section 3.2.2: `reg-name`.
fn is_reg_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b'%'
        )
}

fn percents_are_whole(host: &str) -> bool {
    host.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

fn is_ip_future(address: &str) -> bool {
    let Some(rest) = address.strip_prefix(['v', 'V']) else {
        return false;
    };
    let Some((version, rest)) = rest.split_once('.') else {
        return false;
    };
    !version.is_empty()
        && version.bytes().all(|b| b.is_ascii_hexdigit())
        && !rest.is_empty()
        && rest
            .bytes()
            .all(|b| b != b'%' && (is_reg_name(b) || b == b':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_ones() {
        for (text, host, port) in [
            ("beta.test", "beta.test", None),
            ("beta.test:9620", "beta.test", Some(9620)),
            ("be_ta.test", "be_ta.test", None),
            ("127.0.0.1:80", "127.0.0.1", Some(80)),
            ("[::1]:9620", "::1", Some(9620)),
            ("[fe80::1%eth0]", "fe80::1%eth0", None),
        ] {
            assert_eq!(
                parse(text),
                Ok(HostPort {
                    host: host.into(),
                    port
                }),
                "{text}"
            );
        }
        assert_eq!(parse("BETA.test.").unwrap().folded(), "beta.test");
        assert_eq!(parse("[::1]:80").unwrap().text(Some(80)), "[::1]");
        assert!(check("").is_ok());
    }

    #[test]
    fn malformed_ones() {
        for text in [
            "", "h:", "h:abc", "h:99999", "h:1:2", "u@h", "h/x", "h x", "[::1", "[]", "[g]", "::1",
            "h%2", "hä", ":80", "[::1]x", "h?x", "h#x", "a\\b", "a,b:",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
