//! Reads the little of TOML that our manifests use: sections, keys, one value a line.

/// One `key = value` line with the section it stands in. Keys of dotted form (`tcl.workspace`) keep their dots.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub section: String,
    pub key: String,
    pub value: String,
    /// The text behind `#`, empty when there is none.
    pub comment: String,
    /// Counted from one.
    pub line: usize,
}

/// All entries in the order of the file. Lines that continue a value (arrays over several lines) are skipped.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut section = String::new();
    let mut found = Vec::new();
    let mut depth = 0i32;
    for (number, line) in text.lines().enumerate() {
        let (code, comment) = split_comment(line);
        let code = code.trim();
        if depth > 0 {
            depth += brackets(code);
            continue;
        }
        if code.starts_with('[') && code.ends_with(']') {
            section = code.trim_matches(['[', ']']).to_owned();
        } else if let Some((key, value)) = code.split_once('=') {
            depth = brackets(value);
            found.push(Entry {
                section: section.clone(),
                key: key.trim().trim_matches('"').to_owned(),
                value: value.trim().to_owned(),
                comment: comment.trim().to_owned(),
                line: number + 1,
            });
        }
    }
    found
}

/// The names a manifest depends on, as `(name, line, kind)`; the name is the one used in `use`.
pub fn dependencies(text: &str) -> Vec<(String, usize, Kind)> {
    let mut found: Vec<(String, usize, Kind)> = Vec::new();
    for entry in entries(text) {
        let section = entry.section.as_str();
        let (path, kind) = if let Some(at) = section.find("dev-dependencies") {
            (&section[at + "dev-dependencies".len()..], Kind::Test)
        } else if let Some(at) = section.find("build-dependencies") {
            (&section[at + "build-dependencies".len()..], Kind::Build)
        } else if let Some(at) = section.find("dependencies") {
            (&section[at + "dependencies".len()..], Kind::Normal)
        } else {
            continue;
        };
        let name = match path.strip_prefix('.') {
            Some(name) => name, // [dependencies.name]
            None => entry.key.split('.').next().unwrap_or_default(),
        };
        let name = name.trim_matches('"').to_owned();
        if !found
            .iter()
            .any(|(other, _, other_kind)| *other == name && *other_kind == kind)
        {
            found.push((name, entry.line, kind));
        }
    }
    found
}

/// What a dependency is needed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Normal,
    Test,
    Build,
}

fn split_comment(line: &str) -> (&str, &str) {
    let mut quoted = None;
    for (at, c) in line.char_indices() {
        match (quoted, c) {
            (None, '#') => return (&line[..at], &line[at + 1..]),
            (None, '"' | '\'') => quoted = Some(c),
            (Some(q), c) if q == c => quoted = None,
            _ => {}
        }
    }
    (line, "")
}

fn brackets(text: &str) -> i32 {
    text.chars().fold(0, |depth, c| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth - 1,
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_sections() {
        let found = entries(
            "[a.b]\nx = \"1#2\" # why\n\n[c]\ny.workspace = true\nz = [\n  \"p\",\n]\nw = 1\n",
        );
        let brief: Vec<_> = found
            .iter()
            .map(|e| {
                (
                    e.section.as_str(),
                    e.key.as_str(),
                    e.comment.as_str(),
                    e.line,
                )
            })
            .collect();
        assert_eq!(
            brief,
            [
                ("a.b", "x", "why", 2),
                ("c", "y.workspace", "", 5),
                ("c", "z", "", 6),
                ("c", "w", "", 9)
            ]
        );
        assert_eq!(found[0].value, "\"1#2\"");
    }

    #[test]
    fn every_spelling_of_a_dependency() {
        let text = "[dependencies]\ntcl.workspace = true\nnet = { path = \"x\" }\n[dependencies.http]\nworkspace = true\nfeatures = []\n\
                    [target.'cfg(unix)'.dependencies]\nshared = \"1\"\n[dev-dependencies]\ntestkit.workspace = true\n[build-dependencies]\ncc = \"1\"\n";
        let names: Vec<_> = dependencies(text)
            .into_iter()
            .map(|(name, _, kind)| (name, kind))
            .collect();
        let want = [
            ("tcl", Kind::Normal),
            ("net", Kind::Normal),
            ("http", Kind::Normal),
            ("shared", Kind::Normal),
            ("testkit", Kind::Test),
            ("cc", Kind::Build),
        ];
        assert_eq!(names, want.map(|(name, kind)| (name.to_owned(), kind)));
    }
}
