//! ns_logctl grep: messages of the log file, each with the lines that continue it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use tcl::Exit;

/// The messages of the file that contain `needle`, a line each, without colors.
///
/// # Errors
/// There is no file, or it cannot be read.
pub fn messages(filename: Option<&str>, needle: &str) -> Result<String, Exit> {
    let path = match filename {
        Some(name) => PathBuf::from(name),
        None => shared::log::path()
            .ok_or_else(|| tcl::error("ns_logctl grep: the system log is not a file"))?,
    };
    shared::log::flush();
    let failed =
        |e: std::io::Error| tcl::error(format!("couldn't open \"{}\": {e}", path.display()));
    let mut reader = BufReader::new(File::open(&path).map_err(failed)?);
    let (mut found, mut message, mut line) = (String::new(), String::new(), Vec::new());
    loop {
        line.clear();
        // One line at a time: a log can be larger than the memory.
        let end = reader.read_until(b'\n', &mut line).map_err(failed)? == 0;
        let text = plain(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
        if end || begins(&text) {
            if message.contains(needle) {
                found.push_str(&message);
                found.push('\n');
            }
            message = text;
        } else {
            message.push_str(&text);
        }
        if end {
            return Ok(found);
        }
    }
}

/// A message begins with a bracket in the first column; lines that go on with it are marked.
fn begins(line: &str) -> bool {
    line.starts_with('[')
}

/// Without ANSI color codes.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, code)) = rest.split_once("\x1b[") {
        text.push_str(before);
        rest = code.find('m').map_or("", |end| &code[end + 1..]);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_go_and_continuations_are_joined() {
        assert_eq!(plain("\x1b[32m[x]\x1b[0m Notice"), "[x] Notice");
        let dir = std::env::temp_dir().join(format!("navis-grep-{}", std::process::id()));
        std::fs::write(
            &dir,
            "[1] Notice: a\n:    needle\n[2] Notice: b\n[3] Error: needle\n",
        )
        .expect("write to tmp");
        let found = messages(dir.to_str(), "needle");
        let _ = std::fs::remove_file(&dir);
        assert_eq!(
            found.ok().as_deref(),
            Some("[1] Notice: a:    needle\n[3] Error: needle\n")
        );
    }
}
