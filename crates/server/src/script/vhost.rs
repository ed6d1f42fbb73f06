//! Roots of pages: the server's own, one for each host (section `vhost`), or what a script says (`ns_serverrootproc`);
//! and what a script says about the server's location (`ns_locationproc`).

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::RwLock;
use tcl::{Interp, Outcome};

use crate::script::Conn;
use crate::vserver::VirtualServer;

/// A script that answers for one server.
pub trait ScriptAnswer: Send + Sync {
    /// The answer for a host, as the request names it; empty when there is none.
    ///
    /// # Errors
    /// The script's.
    fn answer(&self, interp: &Interp, host: &str) -> Outcome<String>;
}

/// What is registered for a server: an extension of it.
#[derive(Default)]
pub struct Scripts {
    /// `ns_serverrootproc`, `serverrootproc`
    pub root: RwLock<Option<Arc<dyn ScriptAnswer>>>,
    /// `ns_locationproc`
    pub location: RwLock<Option<Arc<dyn ScriptAnswer>>>,
}

/// Whether the place of pages depends on the host.
pub fn by_host(server: &VirtualServer) -> bool {
    server.vhost.enabled
        || server
            .extensions
            .find::<Scripts>()
            .is_some_and(|s| s.root.read().is_some())
}

/// The root of a server, for a host.
///
/// # Errors
/// Those of the root script.
pub fn server_root(
    interp: &Interp,
    server: &VirtualServer,
    host: Option<&str>,
) -> Outcome<PathBuf> {
    let script = server
        .extensions
        .find::<Scripts>()
        .and_then(|s| s.root.read().clone());
    if let Some(script) = script {
        let root = script.answer(interp, host.unwrap_or_default())?;
        if !root.is_empty() {
            return Ok(server.root.join(root));
        }
    }
    Ok(host_directory(server, host).unwrap_or_else(|| server.root.clone()))
}

/// The directory of pages of a server, for a host.
///
/// # Errors
/// Those of the root script.
pub fn page_root(interp: &Interp, server: &VirtualServer, host: Option<&str>) -> Outcome<PathBuf> {
    if !by_host(server) {
        return Ok(server.pages.clone());
    }
    Ok(server_root(interp, server, host)?.join(&server.fastpath_settings.pagedir))
}

/// The file for a decoded path below a directory; `..` stays within it.
pub fn file_below(root: &Path, url: &str) -> PathBuf {
    let mut segments: Vec<&str> = Vec::new();
    for segment in url.split('/').filter(|s| !s.is_empty() && *s != ".") {
        if segment == ".." {
            segments.pop();
        } else {
            segments.push(segment);
        }
    }
    let mut file = root.to_owned();
    file.extend(segments);
    file
}

/// Where clients find this server, for the request of a connection: what the location script says, else what the driver
/// is configured to say.
///
/// # Errors
/// Those of the script.
pub fn location(interp: &Interp, conn: &Rc<Conn>) -> Outcome<String> {
    let script = conn
        .server
        .extensions
        .find::<Scripts>()
        .and_then(|s| s.location.read().clone());
    if let Some(script) = script {
        let location = script.answer(interp, "")?;
        if !location.is_empty() {
            return Ok(location);
        }
    }
    Ok(conn.location())
}

/// `serverdir/hostprefix/HASH/HOST`, when hosts have directories and this host's name can be one.
fn host_directory(server: &VirtualServer, host: Option<&str>) -> Option<PathBuf> {
    let settings = &server.vhost;
    if !settings.enabled {
        return None;
    }
    let host = host_name(host?, settings.stripport, settings.stripwww)?;
    let mut dir = server.root.clone();
    if let Some(prefix) = &settings.hostprefix {
        dir.push(prefix.trim_start_matches('/'));
    }
    let mut letters = host.chars().filter(|c| *c != '.');
    for _ in 0..settings.hosthashlevel.get() {
        dir.push(letters.next().unwrap_or('_').to_string());
    }
    dir.push(host);
    Some(dir)
}

/// A host as the name of a directory: lower case, without port and `www.` where that is configured. None if it would
/// lead elsewhere.
fn host_name(host: &str, strip_port: bool, strip_www: bool) -> Option<String> {
    let mut host = host.trim().to_ascii_lowercase();
    if strip_port {
        let end = host.rfind(':').filter(|&at| !host[at..].contains(']'));
        if let Some(at) = end {
            host.truncate(at);
        }
    }
    let host = host.as_str();
    let host = if strip_www {
        host.strip_prefix("www.").unwrap_or(host)
    } else {
        host
    };
    let host = host.trim_end_matches('.');
    let one_directory = matches!(
        Path::new(host).components().collect::<Vec<_>>()[..],
        [Component::Normal(_)]
    );
    (one_directory && !host.contains(['/', '\\', '\0'])).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_become_names_of_directories_or_nothing() {
        assert_eq!(
            host_name("WWW.Example.COM:8080", true, true).as_deref(),
            Some("example.com")
        );
        assert_eq!(
            host_name("www.example.com:80", false, false).as_deref(),
            Some("www.example.com:80")
        );
        assert_eq!(host_name("[::1]:80", true, true).as_deref(), Some("[::1]"));
        for bad in ["", "..", ".", "a/b", "/etc", "../x", "www."] {
            assert_eq!(host_name(bad, true, true), None, "{bad}");
        }
    }

    #[test]
    fn paths_stay_below_their_root() {
        let root = Path::new("/pages");
        assert_eq!(
            file_below(root, "/../../etc/passwd"),
            Path::new("/pages/etc/passwd")
        );
        assert_eq!(
            file_below(root, "/a//b/./c/../d"),
            Path::new("/pages/a/b/d")
        );
        assert_eq!(file_below(root, "/"), Path::new("/pages"));
    }
}
