//! The media type of a file name (manual page ns_guesstype, configuration section ns/mimetypes).

use crate::mime_table::TYPES;
use std::collections::HashMap;

/// The table of a server: the built-in types, changed and completed by its configuration.
#[derive(Debug, Clone)]
pub struct Types {
    own: HashMap<String, String>,
    default: String,
    no_extension: String,
}

impl Default for Types {
    fn default() -> Self {
        Types {
            own: HashMap::new(),
            default: String::from("*/*"),
            no_extension: String::from("*/*"),
        }
    }
}

impl Types {
    /// The built-in types; `*/*` for what is unknown.
    pub fn new() -> Types {
        Types::default()
    }

    /// The type for unknown extensions (`default`), and for names without extension unless that is set too.
    pub fn set_default(&mut self, media_type: &str) {
        if self.no_extension == self.default {
            media_type.clone_into(&mut self.no_extension);
        }
        media_type.clone_into(&mut self.default);
    }

    /// The type for names without extension (`noextension`).
    pub fn set_no_extension(&mut self, media_type: &str) {
        media_type.clone_into(&mut self.no_extension);
    }

    /// Adds or replaces a type; the extension with or without its dot, in any case.
    pub fn add(&mut self, extension: &str, media_type: &str) {
        self.own.insert(
            extension.trim_start_matches('.').to_ascii_lowercase(),
            media_type.to_owned(),
        );
    }

    /// The type of a file name or path. Only the part behind the last dot counts, without regard to case; a name that
    /// begins with its only dot has no known extension but the one it looks like.
    pub fn guess(&self, path: &str) -> &str {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            None => &self.no_extension,
            Some((_, extension)) => self.by_extension(extension),
        }
    }

    /// Extension without its dot, and type, of all; added ones in place of built-in ones of the same extension.
    pub fn list(&self) -> Vec<(String, String)> {
        let mut all: std::collections::BTreeMap<&str, &str> = TYPES.iter().copied().collect();
        all.extend(self.own.iter().map(|(e, t)| (e.as_str(), t.as_str())));
        all.into_iter()
            .map(|(e, t)| (e.to_owned(), t.to_owned()))
            .collect()
    }

    /// The type for an extension without its dot.
    pub fn by_extension(&self, extension: &str) -> &str {
        let lower = match extension.bytes().any(|b| b.is_ascii_uppercase()) {
            true => std::borrow::Cow::Owned(extension.to_ascii_lowercase()),
            false => std::borrow::Cow::Borrowed(extension),
        };
        if let Some(own) = self.own.get(&*lower) {
            return own;
        }
        match TYPES.binary_search_by(|(have, _)| (*have).cmp(&*lower)) {
            Ok(at) => TYPES[at].1,
            Err(_) => &self.default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_types() {
        let mime = Types::new();
        for (name, media_type) in [
            ("x.html", "text/html"),
            ("x.js", "text/javascript"),
            ("x.PNG", "image/png"),
            ("a/b.c/x.css", "text/css"),
            ("x.tar.gz", "application/gzip"),
            ("x.wav", "audio/l16"),
            ("x.bin", "application/x-macbinary"),
            ("x.wasm", "application/wasm"),
            ("ü.png", "image/png"),
            ("noext", "*/*"),
            ("a.b/noext", "*/*"),
            (".hidden", "*/*"),
            ("x.", "*/*"),
            ("", "*/*"),
            ("dir/", "*/*"),
        ] {
            assert_eq!(mime.guess(name), media_type, "{name}");
        }
    }

    #[test]
    fn configuration_wins() {
        let mut mime = Types::new();
        mime.set_default("text/plain");
        assert_eq!(
            (mime.guess("x.zzz"), mime.guess("x")),
            ("text/plain", "text/plain")
        );
        mime.set_no_extension("text/x-none");
        mime.add(".HTML", "text/x-html");
        assert_eq!(
            (mime.guess("x.zzz"), mime.guess("x"), mime.guess("a.html")),
            ("text/plain", "text/x-none", "text/x-html")
        );
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TYPES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
