//! `cargo xtask tidy`: walks the tree, asks every law, tells every finding with file and line.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::{laws, licences, rooms};

/// One place that breaks one law.
#[derive(Debug)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks the tree and the licences of what it is built from.
///
/// # Errors
/// All findings, a line each.
pub fn run(root: &Path) -> Result<(), String> {
    let (files, mut findings) = check(root);
    let packages = licences::check(root, &mut findings)?;
    if findings.is_empty() {
        println!("tidy: {files} files and {packages} packages keep the house laws");
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    Err(format!(
        "{}\ntidy: {} findings",
        lines.join("\n"),
        lines.len()
    ))
}

/// What can be checked without cargo: the number of files read, and the findings.
pub fn check(root: &Path) -> (usize, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut files = 0;
    walk(root, "", &mut |path| {
        files += 1;
        laws::check_name(path, &mut findings);
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            laws::check_file(path, &text, &mut findings);
        }
    });
    rooms::check(root, &mut findings);
    (files, findings)
}

/// Folders whose content is not ours to judge: results of builds, recorded data, what the demo wrote.
const FOREIGN: &[&str] = &[
    "target",
    ".git",
    "tests/reference",
    "demo/var",
    "proptest-regressions",
];

fn walk(root: &Path, folder: &str, visit: &mut dyn FnMut(&str)) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return;
    };
    let mut names: Vec<_> = entries.flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        if FOREIGN.contains(&path.as_str()) || FOREIGN.contains(&name.as_str()) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(root, &path, visit),
            Ok(kind) if kind.is_file() => visit(&path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a tree and returns what tidy says about it.
    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let tree = tempfile::tempdir().expect("a directory for the test");
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
            fs::write(path, text).expect("file");
        }
        check(tree.path())
            .1
            .iter()
            .map(Finding::to_string)
            .collect()
    }

    #[track_caller]
    fn one(files: &[(&str, &str)], want: &str) {
        let found = findings(files);
        assert!(
            found.len() == 1 && found[0].contains(want),
            "{found:#?}\nwanted: {want}"
        );
    }

    const HEAD: &str = "//! What lives here.\n";

    #[test]
    fn a_good_tree_has_no_findings() {
        let room = "[dependencies]\ntcl.workspace = true\n";
        let server = format!("{HEAD}use tcl::Obj;\n");
        let sys = format!(
            "{HEAD}// SAFETY: none.\nfn f() {{ unsafe {{ }} }}\n#[cfg(tcl9)]\nfn g() {{}}\n"
        );
        let files = [
            (
                "Cargo.toml",
                "[workspace.dependencies]\nbytes = \"1\" # slices\n",
            ),
            ("crates/server/Cargo.toml", room),
            ("crates/server/src/script/conn.rs", &server),
            ("crates/tcl/src/sys/v9.rs", &sys),
            ("target/x/utils.rs", "no head"),
            ("tests/reference/helpers.rs", "no head"),
        ];
        assert_eq!(findings(&files), Vec::<String>::new());
    }

    #[test]
    fn rooms_are_kept_apart() {
        let manifest = "[dependencies]\nshared.workspace = true\nnet.workspace = true\n";
        one(
            &[("crates/http/Cargo.toml", manifest)],
            "crates/http/Cargo.toml:3: `http` may not use `net`",
        );
        one(
            &[(
                "crates/http/Cargo.toml",
                "[dependencies]\ntokio.workspace = true\n",
            )],
            "no socket and no runtime",
        );
        one(&[("crates/annex/Cargo.toml", "")], "not in the table");
    }

    #[test]
    fn the_server_uses_tcl_in_three_places() {
        let text =
            format!("{HEAD}// tcl::Obj in a comment\nfn f() -> tcl::Obj {{ crate::tcl::x() }}\n");
        one(
            &[("crates/server/src/route.rs", &text)],
            "crates/server/src/route.rs:3: `tcl` in `server`",
        );
        assert!(findings(&[("crates/server/src/config.rs", &text)]).is_empty());
    }

    #[test]
    fn unsafe_has_one_room() {
        let text = format!("{HEAD}fn f() {{ let _ = \"unsafe\"; }}\nunsafe fn g() {{}}\n");
        one(
            &[("crates/http/src/lib.rs", &text)],
            "crates/http/src/lib.rs:3: `unsafe`",
        );
        assert!(findings(&[("crates/net/src/sys.rs", &text)]).is_empty());
        let text = format!("{HEAD}#![allow(unsafe_code)]\n");
        one(&[("crates/net/src/lib.rs", &text)], "unsafe_code");
    }

    #[test]
    fn versions_are_known_in_one_place() {
        let text = format!("{HEAD}#[cfg(not(tcl9))]\nfn f() {{}}\n");
        one(
            &[("crates/tcl/src/obj.rs", &text)],
            "crates/tcl/src/obj.rs:2: the version of Tcl",
        );
        assert!(findings(&[("crates/tcl/build.rs", &text)]).is_empty());
    }

    #[test]
    fn files_open_with_a_sentence_and_end_in_time() {
        one(&[("crates/http/src/a.rs", "use std::fs;\n")], "opens with");
        let long = format!("{HEAD}{}", "fn f() {}\n".repeat(800));
        one(&[("crates/http/src/a.rs", &long)], "801 lines");
        let table = format!("//! Table: of MIME types.\n{}", "// row\n".repeat(800));
        assert!(findings(&[("crates/http/src/a.rs", &table)]).is_empty());
    }

    #[test]
    fn names_say_something() {
        one(&[("crates/http/src/utils.rs", HEAD)], "says nothing");
        one(&[("tests/common/mod.rs", HEAD)], "says nothing");
        one(
            &[("crates/server/src/pool_manager.rs", HEAD)],
            "says nothing",
        );
    }

    #[test]
    fn tests_do_not_sleep() {
        let text = format!(
            "{HEAD}fn f() {{ thread::sleep(x); }}\n#[cfg(test)]\nmod tests {{\n fn f() {{ std::thread::sleep(x); }}\n}}\n"
        );
        one(
            &[("crates/http/src/a.rs", &text)],
            "crates/http/src/a.rs:5: tests do not sleep",
        );
        let text = format!("{HEAD}fn f() {{ thread::sleep(x); }}\n");
        one(
            &[("tests/regression/a.rs", &text)],
            ":2: tests do not sleep",
        );
        assert!(findings(&[("testkit/src/wait.rs", &text)]).is_empty());
    }

    #[test]
    fn dependencies_have_reasons() {
        let text = "[workspace.dependencies]\ntcl = { path = \"crates/tcl\" }\nbytes = \"1\"\n";
        one(
            &[("Cargo.toml", text)],
            "Cargo.toml:3: `bytes` has no reason",
        );
        one(
            &[("crates/http/Cargo.toml", "[dependencies]\nbytes = \"1\"\n")],
            "workspace = true",
        );
    }

    #[test]
    fn what_is_to_be_done_has_an_issue() {
        let mark = ["TO", "DO"].concat();
        let text =
            format!("{HEAD}// {mark}: later\n// {mark}(#12): later\nfn f() {{}} // {mark} #3\n");
        one(
            &[("crates/http/src/a.rs", &text)],
            "crates/http/src/a.rs:2:",
        );
        one(&[("demo/a.tcl", &format!("# {mark} x\n"))], "demo/a.tcl:1:");
    }

    #[test]
    fn http_has_no_clock() {
        let text = format!(
            "{HEAD}fn f() {{ Instant::now(); }}\n#[cfg(test)]\nmod tests {{ fn f() {{ Instant::now(); }} }}\n"
        );
        one(
            &[("crates/http/src/a.rs", &text)],
            "a.rs:2: `http` has no clock",
        );
    }
}
