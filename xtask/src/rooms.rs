//! Which room may use which: the table of ARCHITECTURE.md against the manifests.

use std::fs;
use std::path::Path;

use crate::manifest::{self, Kind};
use crate::tidy::Finding;

/// Row: who; column: whom it may use. `server` uses `tcl` in some files only, which `laws` checks.
const TABLE: &[(&str, &[&str])] = &[
    ("tcl", &[]),
    ("shared", &[]),
    ("synopsis", &["tcl", "shared"]),
    ("http", &["shared"]),
    ("net", &["http", "shared"]),
    ("server", &["tcl", "synopsis", "http", "net", "shared"]),
    (
        "commands",
        &["tcl", "synopsis", "http", "net", "shared", "server"],
    ),
    (
        "modules",
        &["tcl", "synopsis", "http", "net", "shared", "server"],
    ),
    ("nsd", &["tcl", "shared", "server", "commands", "modules"]),
];

/// Third-party crates that a room must not see, with the law that says so.
const OUTSIDE: &[(&str, &[&str], &str)] = &[
    (
        "http",
        &["tokio", "socket2", "rustix", "mio"],
        "http knows no socket and no runtime",
    ),
    (
        "shared",
        &["tokio", "socket2", "mio"],
        "shared knows no sockets",
    ),
    (
        "tcl",
        &["tokio", "socket2", "mio"],
        "asynchronous code never evaluates Tcl",
    ),
];

/// Compares every `crates/*/Cargo.toml` with the table.
pub fn check(root: &Path, findings: &mut Vec<Finding>) {
    let Ok(folders) = fs::read_dir(root.join("crates")) else {
        return;
    };
    let mut rooms: Vec<String> = folders
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    rooms.sort();
    for room in &rooms {
        let path = format!("crates/{room}/Cargo.toml");
        let Ok(text) = fs::read_to_string(root.join(&path)) else {
            continue;
        };
        let Some((_, allowed)) = TABLE.iter().find(|(name, _)| name == room) else {
            findings.push(Finding::new(
                &path,
                1,
                format!("room `{room}` is not in the table of xtask/src/rooms.rs"),
            ));
            continue;
        };
        check_manifest(room, allowed, &path, &text, findings);
    }
    if let Ok(text) = fs::read_to_string(root.join("ARCHITECTURE.md")) {
        check_document(&text, findings);
    }
}

fn check_manifest(
    room: &str,
    allowed: &[&str],
    path: &str,
    text: &str,
    findings: &mut Vec<Finding>,
) {
    for (name, line, kind) in manifest::dependencies(text) {
        let is_room = TABLE.iter().any(|(other, _)| *other == name);
        if is_room && !allowed.contains(&name.as_str()) {
            findings.push(Finding::new(
                path,
                line,
                format!("`{room}` may not use `{name}` (ARCHITECTURE.md, Rooms)"),
            ));
        }
        if kind == Kind::Normal
            && matches!(
                name.as_str(),
                "testkit" | "xtask" | "tempfile" | "proptest" | "trybuild"
            )
        {
            findings.push(Finding::new(
                path,
                line,
                format!("`{name}` is for tests: it belongs to [dev-dependencies]"),
            ));
        }
        for (who, whom, law) in OUTSIDE {
            if *who == room && whom.contains(&name.as_str()) && kind == Kind::Normal {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{room}` may not use `{name}`: {law}"),
                ));
            }
        }
    }
}

/// The table a reader sees must be the one that is checked.
fn check_document(text: &str, findings: &mut Vec<Finding>) {
    let mut columns: Vec<String> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line
            .trim()
            .trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        if columns.is_empty() {
            if cells.first() == Some(&"") && cells.contains(&"tcl") && cells.contains(&"synopsis") {
                columns = cells.iter().map(|cell| (*cell).to_owned()).collect();
            }
            continue;
        }
        if !line.trim().starts_with('|') {
            return;
        }
        let Some((room, allowed)) = TABLE.iter().find(|(room, _)| Some(room) == cells.first())
        else {
            continue;
        };
        for (column, cell) in columns.iter().zip(&cells).skip(1) {
            if cell.is_empty() == allowed.contains(&column.as_str()) {
                let message =
                    format!("`{room}` and `{column}`: this table and xtask/src/rooms.rs differ");
                findings.push(Finding::new("ARCHITECTURE.md", number + 1, message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_and_the_table_agree() {
        let document = "| | tcl | synopsis | http |\n|---|---|---|---|\n| synopsis | yes | | |\n| server | in `script/` | yes | |\n\nend";
        let mut findings = Vec::new();
        check_document(document, &mut findings);
        let found: Vec<_> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            ["ARCHITECTURE.md:4: `server` and `http`: this table and xtask/src/rooms.rs differ"]
        );
    }

    #[test]
    fn dependencies_for_tests_stay_in_tests() {
        let mut findings = Vec::new();
        let text = "[dependencies]\ntempfile.workspace = true\n[dev-dependencies]\ntestkit.workspace = true\ntcl.workspace = true\n";
        check_manifest(
            "http",
            &["shared"],
            "crates/http/Cargo.toml",
            text,
            &mut findings,
        );
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[1].to_string().contains("`http` may not use `tcl`"));
    }
}
