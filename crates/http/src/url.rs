//! URLs taken apart and put together (manual pages ns_parseurl, ns_absoluteurl, ns_joinurl, ns_parsehostport).

use crate::host::bracketed;

/// The components of a URL; those that are absent are `None`, which is not the same as empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme in the case it was written.
    pub proto: Option<String>,
    /// What stands before `@`.
    pub userinfo: Option<String>,
    /// Name or address, IPv6 without brackets.
    pub host: Option<String>,
    /// Digits.
    pub port: Option<String>,
    /// The path up to its last slash, without the slashes at both ends. Absent if there is no slash.
    pub path: Option<String>,
    /// What follows the last slash of the path.
    pub tail: Option<String>,
    /// What follows `?`.
    pub query: Option<String>,
    /// What follows `#`.
    pub fragment: Option<String>,
}

/// Takes a URL or a relative reference apart. `strict` admits only the characters of RFC 3986. Nothing is decoded.
///
/// The error names the part at fault, as the reference does: `invalid authority`.
pub fn parse(text: &str, strict: bool) -> Result<Url, String> {
    let mut url = Url::default();
    let mut rest = text;
    if let Some(at) = rest.find([':', '/', '?', '#'])
        && rest.as_bytes()[at] == b':'
    {
        let scheme = &rest[..at];
        let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        if !valid {
            return Err(String::from("invalid scheme"));
        }
        url.proto = Some(scheme.to_owned());
        rest = &rest[at + 1..];
    }
    let hierarchical = rest.strip_prefix("//");
    if let Some(after) = hierarchical {
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        parse_authority(&after[..end], strict, &mut url)?;
        rest = &after[end..];
    }
    if let Some((before, fragment)) = rest.split_once('#') {
        check(fragment, strict, "fragment")?;
        url.fragment = Some(fragment.to_owned());
        rest = before;
    }
    // The reference speaks of the query for everything between authority and fragment.
    if strict && !rest.bytes().all(is_url_byte) {
        return Err(String::from("query contains invalid character"));
    }
    if let Some((before, query)) = rest.split_once('?') {
        url.query = Some(query.to_owned());
        rest = before;
    }
    if let Some(path) = rest.strip_prefix('/') {
        let (path, tail) = path.rsplit_once('/').unwrap_or(("", path));
        url.path = Some(path.to_owned());
        url.tail = Some(tail.to_owned());
    } else if hierarchical.is_some() {
        url.path = Some(String::new());
        url.tail = Some(String::new());
    } else if !rest.is_empty() {
        url.tail = Some(rest.to_owned());
    }
    Ok(url)
}

/// Puts a URL together; the opposite of [`parse`] but for a missing slash after the host.
pub fn join(url: &Url) -> Result<String, String> {
    let mut out = String::new();
    if let Some(proto) = &url.proto {
        if url.host.is_none() {
            return Err(format!(
                "key 'proto' (value {proto}) was provided without a key 'host'"
            ));
        }
        out.push_str(proto);
        out.push(':');
    }
    if let Some(host) = &url.host {
        out.push_str("//");
        if let Some(userinfo) = &url.userinfo {
            out.push_str(userinfo);
            out.push('@');
        }
        out.push_str(&bracketed(host));
        if let Some(port) = &url.port {
            out.push(':');
            out.push_str(port);
        }
    }
    if let Some(path) = &url.path {
        out.push('/');
        if !path.is_empty() {
            out.push_str(path);
            out.push('/');
        }
    }
    for (mark, text) in [("", &url.tail), ("?", &url.query), ("#", &url.fragment)] {
        if let Some(text) = text {
            out.push_str(mark);
            out.push_str(text);
        }
    }
    Ok(out)
}

/// Completes a partial URL with the components of `base`, as the reference does: dot segments are kept, query and
/// fragment are dropped, and anything without host gets that of the base.
///
/// See [`resolve`] for what RFC 3986 says. The error is the reference's message.
pub fn absolute(partial: &str, base: &str) -> Result<String, String> {
    let unusable = || String::from("Could not parse base URL into protocol, host and path");
    let base = parse(base, false).map_err(|_| unusable())?;
    let (Some(base_proto), Some(base_host), Some(base_path)) =
        (&base.proto, &base.host, &base.path)
    else {
        return Err(unusable());
    };
    let part = parse(partial, false)
        .map_err(|error| format!("Could not parse URL \"{partial}\": {error}"))?;
    let own_host = part.host.is_some();
    let host = part.host.as_ref().unwrap_or(base_host);
    let port = if own_host {
        part.port.as_ref()
    } else {
        base.port.as_ref()
    };
    let path = match &part.path {
        Some(path) => path.as_str(),
        // The empty reference leads to the root; that is the reference server's doing, RFC 3986 has the base itself.
        None if partial.is_empty() => "",
        None => base_path.as_str(),
    };
    let full = Url {
        proto: Some(part.proto.as_ref().unwrap_or(base_proto).clone()),
        host: Some(host.clone()),
        port: port.cloned(),
        path: Some(path.to_owned()),
        tail: Some(part.tail.unwrap_or_default()),
        ..Url::default()
    };
    join(&full)
}

/// Resolves a reference against an absolute URL by RFC 3986 section 5.2.
pub fn resolve(reference: &str, base: &str) -> Option<String> {
    let split = |text: &str| -> Option<(
        Option<String>,
        Option<String>,
        String,
        Option<String>,
        Option<String>,
    )> {
        let url = parse(text, false).ok()?;
        let (rest, fragment) = text
            .split_once('#')
            .map_or((text, None), |(r, f)| (r, Some(f.to_owned())));
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(r, q)| (r, Some(q.to_owned())));
        let rest = url
            .proto
            .as_ref()
            .map_or(rest, |proto| &rest[proto.len() + 1..]);
        let (authority, path) = match rest.strip_prefix("//") {
            Some(after) => {
                let end = after.find('/').unwrap_or(after.len());
                (Some(after[..end].to_owned()), &after[end..])
            }
            None => (None, rest),
        };
        Some((url.proto, authority, path.to_owned(), query, fragment))
    };
    let (scheme, authority, path, query, fragment) = split(reference)?;
    let (base_scheme, base_authority, base_path, base_query, _) = split(base)?;
    let base_scheme = base_scheme?;
    let (scheme, authority, path, query) = if let Some(scheme) = scheme {
        (scheme, authority, remove_dots(&path), query)
    } else if authority.is_some() {
        (base_scheme, authority, remove_dots(&path), query)
    } else if path.is_empty() {
        (base_scheme, base_authority, base_path, query.or(base_query))
    } else if path.starts_with('/') {
        (base_scheme, base_authority, remove_dots(&path), query)
    } else {
        let merged = match base_path.rfind('/') {
            Some(at) => format!("{}{path}", &base_path[..=at]),
            None if base_authority.is_some() => format!("/{path}"),
            None => path,
        };
        (base_scheme, base_authority, remove_dots(&merged), query)
    };
    let mut out = format!("{scheme}:");
    for (mark, text) in [
        ("//", authority),
        ("", Some(path)),
        ("?", query),
        ("#", fragment),
    ] {
        if let Some(text) = text {
            out.push_str(mark);
            out.push_str(&text);
        }
    }
    Some(out)
}

/// `host`, `host:port` or `[address]:port` (ns_parsehostport), with the reference's tolerance: anything may follow a
/// digit in the port. For requests use [`crate::host::parse`].
pub fn host_port(text: &str, strict: bool) -> Option<(&str, Option<&str>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(after) => after.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let bad = |c: char| matches!(c, ' ' | '[' | ']' | '/' | '?' | '#');
    let unregistered =
        |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '%'));
    if host.is_empty()
        || (!text.starts_with('[') && host.contains(bad))
        || (strict && host.contains(unregistered))
    {
        return None;
    }
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        Some(port) if port.starts_with(|c: char| c.is_ascii_digit()) => Some((host, Some(port))),
        _ => None,
    }
}

fn parse_authority(text: &str, strict: bool, url: &mut Url) -> Result<(), String> {
    let invalid = || String::from("invalid authority");
    let host_port = match text.split_once('@') {
        Some((userinfo, rest)) => {
            if strict && !userinfo.bytes().all(is_url_byte) {
                return Err(invalid());
            }
            url.userinfo = Some(userinfo.to_owned());
            rest
        }
        None => text,
    };
    let (host, port) = match host_port.strip_prefix('[') {
        Some(after) => after.split_once(']').ok_or_else(invalid)?,
        None => host_port.split_at(host_port.find(':').unwrap_or(host_port.len())),
    };
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '[' | ']');
    if host.contains(bad) || (strict && !host.bytes().all(is_url_byte)) {
        return Err(invalid());
    }
    url.host = Some(host.to_owned());
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok(()),
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            url.port = Some(digits.to_owned());
            Ok(())
        }
        _ => Err(invalid()),
    }
}

fn check(text: &str, strict: bool, what: &str) -> Result<(), String> {
    if strict && !text.bytes().all(is_url_byte) {
        Err(format!("{what} contains invalid character"))
    } else {
        Ok(())
    }
}

/// RFC 3986: unreserved, sub-delims, and what separates components within a path or query, percent signs included.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}

/// RFC 3986 section 5.2.4.
fn remove_dots(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let absolute = path.starts_with('/');
    let mut directory = false;
    for piece in path.strip_prefix('/').unwrap_or(path).split('/') {
        directory = matches!(piece, "." | "..");
        match piece {
            "." => {}
            ".." => drop(out.pop()),
            piece => out.push(piece),
        }
    }
    let mut text = String::from(if absolute { "/" } else { "" });
    text.push_str(&out.join("/"));
    if directory && !text.ends_with('/') {
        text.push('/');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, strict: bool) -> String {
        match parse(text, strict) {
            Err(error) => error,
            Ok(url) => [
                ("proto", url.proto),
                ("userinfo", url.userinfo),
                ("host", url.host),
                ("port", url.port),
                ("path", url.path),
                ("tail", url.tail),
                ("query", url.query),
                ("fragment", url.fragment),
            ]
            .into_iter()
            .filter_map(|(key, value)| value.map(|value| format!("{key}={value}")))
            .collect::<Vec<_>>()
            .join("|"),
        }
    }

    #[test]
    fn recorded_urls() {
        for (text, expected) in [
            ("", ""),
            (
                "http://www.example.com",
                "proto=http|host=www.example.com|path=|tail=",
            ),
            (
                "http://h:8080/a/b/c.html",
                "proto=http|host=h|port=8080|path=a/b|tail=c.html",
            ),
            (
                "https://user:pw@h/a",
                "proto=https|userinfo=user:pw|host=h|path=|tail=a",
            ),
            (
                "http://h/a/b/?x=1&y=2",
                "proto=http|host=h|path=a/b|tail=|query=x=1&y=2",
            ),
            (
                "http://h#frag",
                "proto=http|host=h|path=|tail=|fragment=frag",
            ),
            ("http://h:/", "invalid authority"),
            ("http://h:abc/", "invalid authority"),
            (
                "http://[::1]:8000/x",
                "proto=http|host=::1|port=8000|path=|tail=x",
            ),
            ("http://[::1", "invalid authority"),
            ("//www/path", "host=www|path=|tail=path"),
            ("/path/only", "path=path|tail=only"),
            ("a/b/c.html", "tail=a/b/c.html"),
            ("?x=1", "query=x=1"),
            (
                "mailto:user@example.com",
                "proto=mailto|tail=user@example.com",
            ),
            ("file:///etc/hosts", "proto=file|host=|path=etc|tail=hosts"),
            (
                "unix:/home/www.socket|http://foo.org/",
                "proto=unix|path=home/www.socket|http://foo.org|tail=",
            ),
            ("http:/path", "proto=http|path=|tail=path"),
            ("http:", "proto=http"),
            ("http:///path", "proto=http|host=|path=|tail=path"),
            ("://host", "invalid scheme"),
            ("example.com:80", "proto=example.com|tail=80"),
            ("http://exa mple.com/", "invalid authority"),
            (
                "http://h/a?b=c?d#e#f",
                "proto=http|host=h|path=|tail=a|query=b=c?d|fragment=e#f",
            ),
            (
                "http://h//double//slash",
                "proto=http|host=h|path=/double/|tail=slash",
            ),
            (
                "http://a@b@c/",
                "proto=http|userinfo=a|host=b@c|path=|tail=",
            ),
            (
                "http://@host/",
                "proto=http|userinfo=|host=host|path=|tail=",
            ),
            ("ht_tp://host/", "invalid scheme"),
        ] {
            assert_eq!(shown(text, false), expected, "{text}");
        }
        for (text, expected) in [
            ("http://h/a b", "query contains invalid character"),
            ("http://exämple.com/ü", "invalid authority"),
            ("http://h/%zz", "proto=http|host=h|path=|tail=%zz"),
            ("http://h/#a b", "fragment contains invalid character"),
            ("http://us er@h/", "invalid authority"),
        ] {
            assert_eq!(shown(text, true), expected, "{text}");
        }
    }

    #[test]
    fn recorded_joins() {
        for (text, expected) in [
            (
                "http://h:8080/a/b/c.html?x=1#f",
                "http://h:8080/a/b/c.html?x=1#f",
            ),
            ("http://h", "http://h/"),
            ("/a/b/c", "/a/b/c"),
            ("//host/x", "//host/x"),
            ("?x=1", "?x=1"),
            ("http://[::1]:8000/x", "http://[::1]:8000/x"),
        ] {
            assert_eq!(join(&parse(text, false).unwrap()).as_deref(), Ok(expected));
        }
        let base = "http://www.example.com/a/b/c.html";
        for (partial, base, expected) in [
            ("x.html", base, "http://www.example.com/a/b/x.html"),
            ("/x.html", base, "http://www.example.com/x.html"),
            ("../x.html", base, "http://www.example.com/a/b/../x.html"),
            ("", base, "http://www.example.com/"),
            ("?y=2", base, "http://www.example.com/a/b/"),
            (
                "//other.com/x",
                "https://www.example.com/a",
                "https://other.com/x",
            ),
            (
                "mailto:a@b.c",
                "http://www.example.com/a",
                "mailto://www.example.com/a@b.c",
            ),
            ("x", "https://user:pw@host:8443/a/", "https://host:8443/a/x"),
            ("x", "http://[::1]:8000/a/", "http://[::1]:8000/a/x"),
            ("g:h", "http://a/b/c/d;p?q", "g://a/b/c/h"),
        ] {
            assert_eq!(
                absolute(partial, base).as_deref(),
                Ok(expected),
                "{partial}"
            );
        }
        for base in ["/just/a/path", "relative/base", "", "mailto:a@b.c"] {
            assert!(absolute("x", base).is_err(), "{base}");
        }
    }

    #[test]
    fn rfc_3986_section_5_4() {
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("/./g", "http://a/g"),
        ] {
            assert_eq!(
                resolve(reference, "http://a/b/c/d;p?q").as_deref(),
                Some(expected),
                "{reference}"
            );
        }
    }

    #[test]
    fn recorded_hosts() {
        for (text, expected) in [
            ("localhost:80", Some(("localhost", Some("80")))),
            ("[::1]", Some(("::1", None))),
            ("localhost:80:90", Some(("localhost", Some("80:90")))),
            ("user@localhost:80", Some(("user@localhost", Some("80")))),
            ("::1", None),
            ("[]:80", None),
            ("localhost:", None),
            (":80", None),
            ("local host:80", None),
            ("::1]", None),
            ("http://localhost:80", None),
            ("localhost: 80", None),
        ] {
            assert_eq!(host_port(text, false), expected, "{text}");
        }
        for (text, valid) in [
            ("under_score.org:80", true),
            ("a!b:80", false),
            ("a+b", false),
            ("[::1]:80", true),
            ("ä", false),
        ] {
            assert_eq!(host_port(text, true).is_some(), valid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), base in "[a-z:/?#.]{0,20}") {
            let _ = (parse(&text, true), parse(&text, false), host_port(&text, true));
            let _ = (absolute(&text, "http://h/x"), resolve(&text, &base), resolve(&base, &text));
        }
    }
}
