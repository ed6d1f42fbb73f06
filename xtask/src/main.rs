//! The project's own tools: `tidy` (house laws as a program), `manual`, `corpus`.

mod corpus;
mod laws;
mod licences;
mod manifest;
mod manual;
mod rooms;
mod source;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask tidy                      check the house laws
       cargo xtask corpus --nsd PROGRAM [--list]
                                             which commands and usage lines of the reference exist
       cargo xtask manual --nsd PROGRAM      write doc/reference from the command tables";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = root();
    let done = match words.as_slice() {
        ["tidy"] => tidy::run(&root),
        ["corpus", "--nsd", nsd] => corpus::run(&root, Path::new(nsd), false),
        ["corpus", "--nsd", nsd, "--list"] => corpus::run(&root, Path::new(nsd), true),
        ["manual", "--nsd", nsd] => manual::run(&root, Path::new(nsd)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace: cargo says where this package is, and it is one step below.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    here.parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
