//! Tcl files with expectations, evaluated in a running server: `name.test.tcl`.
//!
//! ```tcl
//! case  "name" { script } { expected result }
//! error "name" { script } { message } ?errorcode?
//! match "name" { script } { glob pattern }
//! setup { script for the cases below, in the global namespace }
//! param section name value                          # before the server starts
//! ```
//!
//! The script of a case has local variables. Expected texts are trimmed, results are not.

use std::fs;
use std::path::Path;

use crate::server::Server;

/// One Rust test per file: `testkit::tcl_cases!("cases": set, nsv, cache);` runs `cases/set.test.tcl` and so on,
/// and fails when a file of the folder is not listed. The folder is relative to the package.
#[macro_export]
macro_rules! tcl_cases {
    ($folder:literal: $($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                $crate::run_cases(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", stringify!($name), ".test.tcl"));
            }
        )*
        #[test]
        fn every_file_is_listed() {
            let unlisted = $crate::unlisted_cases(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder), &[$(stringify!($name)),*]);
            assert!(unlisted.is_empty(), "not listed in tcl_cases!: {unlisted:?}");
        }
    };
}

/// Runs all cases of a file in one server.
///
/// # Panics
/// With every case that differs.
#[track_caller]
pub fn run_cases(path: &str) {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut builder = Server::builder().file("cases.tcl", &text);
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        if let ["param", section, name, value] = words.as_slice() {
            builder = builder.param(section, name, value);
        }
    }
    let server = builder.start();
    let script = include_str!("cases.tcl")
        .replace("@FILE@", &server.home().join("cases.tcl").to_string_lossy());
    match server.eval(&script) {
        Ok(report)
            if report.starts_with("0 failed of ") && !report.starts_with("0 failed of 0") => {}
        Ok(report) => panic!("{path}: {report}"),
        Err(e) => panic!("{path}: {e:?}"),
    }
}

/// Files `*.test.tcl` of a folder that are not among the names.
pub fn unlisted_cases(folder: &str, names: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(Path::new(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let files = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stems = files.filter_map(|file| file.strip_suffix(".test.tcl").map(str::to_owned));
    stems
        .filter(|stem| !names.contains(&stem.as_str()))
        .collect()
}
