//! The laws a single file can break.

use std::path::Path;

use crate::manifest;
use crate::source::{Source, has_word, positions};
use crate::tidy::Finding;

/// Asked at 500, stopped at 800; tables say so in their first line.
const MOST_LINES: usize = 800;
const TABLE_MARK: &str = "//! Table:";

/// Names that tell nothing about the content.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "misc", "stuff",
];

/// The one place that may poll: everything in tests that waits goes through it.
const WAITING_ROOM: &str = "testkit/src/wait.rs";

/// Laws about a path.
pub fn check_name(path: &str, findings: &mut Vec<Finding>) {
    for part in Path::new(path).components() {
        let part = part.as_os_str().to_string_lossy();
        let stem = part.split('.').next().unwrap_or_default().to_lowercase();
        if stem
            .split(['_', '-'])
            .any(|word| EMPTY_NAMES.contains(&word))
        {
            findings.push(Finding::new(
                path,
                1,
                format!("the name `{part}` says nothing: name the content"),
            ));
        }
    }
}

/// Laws about a file's text; which ones depends on its kind.
pub fn check_file(path: &str, text: &str, findings: &mut Vec<Finding>) {
    if path.ends_with(".rs") {
        check_rust(path, text, findings);
    } else if path.ends_with("Cargo.toml") {
        check_manifest(path, text, findings);
    } else if [".tcl", ".adp", ".py", ".sh"]
        .iter()
        .any(|end| path.ends_with(end))
    {
        check_length(path, text, findings);
        for (number, line) in text.lines().enumerate() {
            check_promise(path, number + 1, line, findings);
        }
    }
}

fn check_rust(path: &str, text: &str, findings: &mut Vec<Finding>) {
    if !text.starts_with("//! ") {
        findings.push(Finding::new(
            path,
            1,
            "a file opens with a `//!` sentence that says what lives there",
        ));
    }
    check_length(path, text, findings);
    let source = Source::parse(text);
    for (number, comment) in source.comments.iter().enumerate() {
        check_promise(path, number + 1, comment, findings);
    }
    check_unsafe(path, &source, findings);
    check_version(path, &source, findings);
    let tests_from = source
        .code
        .iter()
        .position(|line| line.contains("cfg(test)"))
        .unwrap_or(usize::MAX);
    for (at, line) in source.code.iter().enumerate() {
        let in_tests = at >= tests_from
            || path.starts_with("tests/")
            || path.starts_with("testkit/")
            || path.contains("/tests/");
        if in_tests && path != WAITING_ROOM && has_word(line, "thread::sleep") {
            findings.push(Finding::new(
                path,
                at + 1,
                "tests do not sleep: wait for the event (testkit::wait)",
            ));
        }
        if path.starts_with("crates/http/src")
            && !in_tests
            && (line.contains("Instant::now") || line.contains("SystemTime::now"))
        {
            findings.push(Finding::new(
                path,
                at + 1,
                "`http` has no clock: time comes in as an argument",
            ));
        }
        if path.starts_with("crates/server/src") && !tcl_room_of_server(path) && uses_tcl(line) {
            let message = "`tcl` in `server` belongs to `script/`, `config.rs` and `module.rs` (ARCHITECTURE.md, Rooms)";
            findings.push(Finding::new(path, at + 1, message));
        }
    }
}

fn check_length(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if lines > MOST_LINES && !text.starts_with(TABLE_MARK) {
        let message = format!(
            "{lines} lines: at {MOST_LINES} a file is about more than one thing (a table opens with `{TABLE_MARK}`)"
        );
        findings.push(Finding::new(path, lines, message));
    }
}

/// A promise in a comment names the issue that keeps it.
fn check_promise(path: &str, line: usize, text: &str, findings: &mut Vec<Finding>) {
    for mark in [["TO", "DO"].concat(), ["FIX", "ME"].concat()] {
        for at in positions(text, &mark) {
            let after = text[at + mark.len()..].trim_start_matches(['(', ' ', '[', ':']);
            let numbered = after
                .strip_prefix('#')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if !numbered {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("{mark} without the number of an issue: {mark}(#12)"),
                ));
            }
        }
    }
}

fn check_unsafe(path: &str, source: &Source, findings: &mut Vec<Finding>) {
    if path.starts_with("crates/tcl/") || path == "crates/net/src/sys.rs" {
        return;
    }
    for word in ["unsafe", "unsafe_code"] {
        for line in source.lines_with_word(word) {
            let message = format!("`{word}` is for crates/tcl and crates/net/src/sys.rs only");
            findings.push(Finding::new(path, line, message));
        }
    }
}

fn check_version(path: &str, source: &Source, findings: &mut Vec<Finding>) {
    if path.starts_with("crates/tcl/src/sys/")
        || path == "crates/tcl/src/sys.rs"
        || path == "crates/tcl/build.rs"
    {
        return;
    }
    for (at, line) in source.code.iter().enumerate() {
        if line.contains("cfg")
            && ["tcl8", "tcl9", "tcl86", "tcl90"]
                .iter()
                .any(|word| has_word(line, word))
        {
            findings.push(Finding::new(
                path,
                at + 1,
                "the version of Tcl is known in crates/tcl/src/sys only",
            ));
        }
    }
}

fn tcl_room_of_server(path: &str) -> bool {
    let path = path.trim_start_matches("crates/server/src/");
    path.starts_with("script/")
        || matches!(path, "script.rs" | "config.rs" | "module.rs")
        || path.starts_with("config/")
        || path.starts_with("module/")
}

fn uses_tcl(line: &str) -> bool {
    positions(line, "tcl").any(|at| {
        let before = line[..at].trim_end();
        let after = &line[at + 3..];
        let begins_path = !before.ends_with("::") && !before.ends_with('.');
        begins_path
            && (after.starts_with("::")
                || (before.ends_with("use") && after.trim_start().starts_with([';', ' '])))
    })
}

fn check_manifest(path: &str, text: &str, findings: &mut Vec<Finding>) {
    if path == "Cargo.toml" {
        for entry in manifest::entries(text)
            .iter()
            .filter(|entry| entry.section == "workspace.dependencies")
        {
            if !entry.value.contains("path =") && entry.comment.is_empty() {
                findings.push(Finding::new(
                    path,
                    entry.line,
                    format!("`{}` has no reason: write `# why` beside it", entry.key),
                ));
            }
        }
        return;
    }
    for entry in manifest::entries(text) {
        let Some(kind) = ["dependencies", "dev-dependencies", "build-dependencies"]
            .iter()
            .find(|kind| entry.section.ends_with(*kind))
        else {
            continue;
        };
        if !entry.key.ends_with(".workspace") && !entry.value.contains("workspace = true") {
            let message = format!(
                "`{}` in [{kind}]: versions stand in the workspace file, here `workspace = true`",
                entry.key
            );
            findings.push(Finding::new(path, entry.line, message));
        }
    }
}
