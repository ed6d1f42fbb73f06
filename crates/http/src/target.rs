//! The request target: its form, the decoded and normalised path, its segments, query and fragment
//! (RFC 9112 section 3.2, RFC 3986 section 5.2.4).

use crate::encode::{Part, decode_bytes};
use crate::head::Refusal;
use crate::host::{self, HostPort};

/// The four forms of a request target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// `/path?query`, the usual one.
    Origin,
    /// `scheme://host/path?query`, as sent to proxies. Its host counts, not that of the Host field.
    Absolute {
        /// In lower case. Other schemes than http and https have nothing to be found here.
        scheme: String,
        /// Host and port.
        authority: HostPort,
    },
    /// `host:port` of CONNECT.
    Authority(HostPort),
    /// `*` of OPTIONS.
    Asterisk,
}

/// A request target taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Which form it had.
    pub form: Form,
    /// The path: decoded, without dot segments and repeated slashes, beginning with a slash. `*` for the asterisk
    /// form, empty for the authority form.
    pub path: String,
    /// The segments of the path, decoded. An encoded slash does not separate: `a%2Fb` is one segment.
    pub segments: Vec<String>,
    /// What follows `?`, still encoded. `None` without a question mark.
    pub query: Option<String>,
    /// What follows `#`, still encoded. Clients should not send one.
    pub fragment: Option<String>,
}

/// Takes apart the target of a request with this method.
///
/// Refused with 400: a path that is not UTF-8 when decoded or has an encoded NUL, backslashes that would climb on
/// systems that take them for separators, and a malformed authority.
pub fn parse(method: &str, target: &str) -> Result<Target, Refusal> {
    if target == "*" {
        let (path, segments) = (String::from("*"), Vec::new());
        return Ok(Target {
            form: Form::Asterisk,
            path,
            segments,
            query: None,
            fragment: None,
        });
    }
    if method == "CONNECT" && !target.starts_with('/') {
        let authority = host::parse(target).map_err(Refusal::bad)?;
        let (path, segments) = (String::new(), Vec::new());
        return Ok(Target {
            form: Form::Authority(authority),
            path,
            segments,
            query: None,
            fragment: None,
        });
    }
    let (rest, fragment) = split_at(target, '#');
    let (rest, query) = split_at(rest, '?');
    let (form, path) = if rest.starts_with('/') {
        (Form::Origin, rest)
    } else {
        let (scheme, rest) = rest
            .split_once("://")
            .ok_or_else(|| Refusal::bad("the request target is malformed"))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // RFC 9110 section 4.2.4: user information is a fault, an empty host too.
        let authority = host::parse(authority).map_err(Refusal::bad)?;
        (
            Form::Absolute {
                scheme: scheme.to_ascii_lowercase(),
                authority,
            },
            if path.is_empty() { "/" } else { path },
        )
    };
    let (path, segments) = normalise(path)?;
    Ok(Target {
        form,
        path,
        segments,
        query: query.map(str::to_owned),
        fragment: fragment.map(str::to_owned),
    })
}

/// Decodes and normalises an encoded path that begins with a slash: the path as text and its segments.
pub fn normalise(encoded: &str) -> Result<(String, Vec<String>), Refusal> {
    if encoded.contains('\\') {
        return Err(Refusal::bad("a backslash in the path must be encoded"));
    }
    let mut segments: Vec<String> = Vec::new();
    let mut directory = true;
    for raw in encoded.split('/') {
        let decoded = decode_bytes(raw.as_bytes(), Part::Path);
        let text = std::str::from_utf8(&decoded)
            .map_err(|_| Refusal::bad("the path is not UTF-8 when decoded"))?;
        if text.contains('\0') {
            return Err(Refusal::bad("the path has an encoded NUL"));
        }
        if text.contains('\\') && text.split(['/', '\\']).any(|piece| piece == "..") {
            return Err(Refusal::bad("the path climbs with backslashes"));
        }
        directory = push_segment(text, &mut segments);
    }
    Ok((join(&segments, directory), segments))
}

/// Removes `.`, `..` and empty segments from a decoded path; a path that ends in a slash or a dot segment keeps a
/// slash at its end. The result begins with a slash.
pub fn normalise_decoded(path: &str) -> String {
    let mut segments: Vec<String> = Vec::new();
    let mut directory = true;
    for piece in path.split('/') {
        directory = push_piece(piece, &mut segments);
    }
    join(&segments, directory)
}

/// The query of a target and what stands before it; the fragment is cut off. For targets that need no normalising.
pub fn split(target: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, fragment) = split_at(target, '#');
    let (path, query) = split_at(rest, '?');
    (path, query, fragment)
}

fn split_at(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Adds a decoded segment, which may hold slashes that were encoded. They are kept together unless one of the pieces
/// says something about directories. Returns whether the path, if it ended here, would be that of a directory.
fn push_segment(text: &str, segments: &mut Vec<String>) -> bool {
    if text.contains('/')
        && !text
            .split('/')
            .any(|piece| matches!(piece, "" | "." | ".."))
    {
        segments.push(text.to_owned());
        return false;
    }
    text.split('/')
        .fold(true, |_, piece| push_piece(piece, segments))
}

fn push_piece(piece: &str, segments: &mut Vec<String>) -> bool {
    match piece {
        "" | "." => true,
        ".." => {
            if let Some(last) = segments.pop()
                && let Some((rest, _)) = last.rsplit_once('/')
            {
                segments.push(rest.to_owned());
            }
            true
        }
        name => {
            segments.push(name.to_owned());
            false
        }
    }
}

fn join(segments: &[String], directory: bool) -> String {
    let mut path = String::with_capacity(segments.iter().map(|s| s.len() + 1).sum::<usize>() + 1);
    for segment in segments {
        path.push('/');
        path.push_str(segment);
    }
    if directory {
        path.push('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn get(target: &str) -> Result<Target, u16> {
        parse("GET", target).map_err(|refusal| refusal.status)
    }

    #[test]
    fn recorded_paths() {
        for (target, path, segments) in [
            ("/n/url/a/b/", "/n/url/a/b/", "n|url|a|b"),
            ("/n/url//a///b", "/n/url/a/b", "n|url|a|b"),
            ("/n/url/a/../b/./c", "/n/url/b/c", "n|url|b|c"),
            ("/n/url/../../../n/url/x", "/n/url/x", "n|url|x"),
            ("/n/url/a%20b/c%2Fd", "/n/url/a b/c/d", "n|url|a b|c/d"),
            ("/n/url/a/%2e%2e/b", "/n/url/b", "n|url|b"),
            ("/n/url/a+b", "/n/url/a+b", "n|url|a+b"),
            ("/n/url/%3Fx=1", "/n/url/?x=1", "n|url|?x=1"),
            ("/n/url/a%5Cb", "/n/url/a\\b", "n|url|a\\b"),
            ("/n/url/100%", "/n/url/100%", "n|url|100%"),
            ("/n/url/%2541", "/n/url/%41", "n|url|%41"),
            ("/%2e%2e%2fconfig.tcl", "/config.tcl", "config.tcl"),
            ("/deep/..%2f..%2fconfig.tcl", "/config.tcl", "config.tcl"),
            ("/a/b%2Fc/../d", "/a/b/d", "a|b|d"),
            ("/../../../etc/passwd", "/etc/passwd", "etc|passwd"),
            ("//etc/passwd", "/etc/passwd", "etc|passwd"),
            ("/.../x", "/.../x", "...|x"),
            ("/deep/er/..", "/deep/", "deep"),
            ("/", "/", ""),
        ] {
            let have = get(target).unwrap();
            assert_eq!(
                (have.path.as_str(), have.segments.join("|").as_str()),
                (path, segments),
                "{target}"
            );
            assert_eq!(normalise_decoded(&have.path), have.path);
        }
        for target in [
            "/..\\x",
            "/..%5cx",
            "/x%00.html",
            "/%c0%ae%c0%ae/x",
            "/caf%E9",
            "http:///x",
            "http://u@h/",
            "/%C0%AF",
        ] {
            assert_eq!(get(target), Err(400), "{target}");
        }
    }

    #[test]
    fn queries_and_fragments() {
        let target = get("/n/url/x#f?q=1").unwrap();
        assert_eq!(
            (
                target.path.as_str(),
                target.query,
                target.fragment.as_deref()
            ),
            ("/n/url/x", None, Some("f?q=1"))
        );
        let target = get("/x?q=1#f#g").unwrap();
        assert_eq!(
            (target.query.as_deref(), target.fragment.as_deref()),
            (Some("q=1"), Some("f#g"))
        );
        assert_eq!(
            get("/n/url?a?b=c?d").unwrap().query.as_deref(),
            Some("a?b=c?d")
        );
        assert_eq!(get("/n/url?").unwrap().query.as_deref(), Some(""));
    }

    #[test]
    fn other_forms() {
        let target = get("HTTP://LOCALHOST:9620/n?x").unwrap();
        let authority = HostPort {
            host: "LOCALHOST".into(),
            port: Some(9620),
        };
        assert_eq!(
            target.form,
            Form::Absolute {
                scheme: "http".into(),
                authority
            }
        );
        assert_eq!(
            (target.path.as_str(), target.query.as_deref()),
            ("/n", Some("x"))
        );
        assert_eq!(get("http://localhost?x").unwrap().path, "/");
        assert!(matches!(
            parse("CONNECT", "localhost:80").unwrap().form,
            Form::Authority(_)
        ));
        assert_eq!(parse("OPTIONS", "*").unwrap().form, Form::Asterisk);
    }

    proptest! {
        #[test]
        fn paths_never_leave_the_root(text in "(/|%2f|%2e|\\.|a|%5c|%20|\\?|#|é){0,30}") {
            if let Ok(target) = get(&format!("/{text}")) {
                prop_assert!(target.path.starts_with('/'));
                prop_assert!(!target.path.contains("//"));
                prop_assert!(target.path.split('/').all(|piece| piece != ".." && piece != "."));
                prop_assert!(target.path.trim_matches('/') == target.segments.join("/"));
            }
        }

        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = get(&text);
        }
    }
}
