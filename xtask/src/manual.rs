//! `cargo xtask manual`: the Tcl reference, written from the command and parameter tables of a program.
//!
//! The tables are inside the program, so it is the one that knows: command mode evaluates `::navis::manual`, which
//! answers a list of page names and Markdown texts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Each page is framed by a line of its own, so that no quoting is needed.
const SCRIPT: &str = "foreach {page text} [::navis::manual] {puts \"%page $page\"; puts $text}\n";

/// Writes one Markdown file per page to `doc/reference`.
///
/// # Errors
/// When the program fails, or has no manual to tell.
pub fn run(root: &Path, nsd: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let script = folder.path().join("manual.tcl");
    fs::write(&script, SCRIPT).map_err(|e| e.to_string())?;
    for (path, mode) in [(folder.path(), 0o755), (script.as_path(), 0o644)] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .map_err(|e| e.to_string())?;
    }
    let mut command = Command::new("timeout");
    command
        .arg("60")
        .arg(nsd)
        .arg("-c")
        .current_dir(folder.path());
    if fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
        command.args(["-u", "nobody"]);
    }
    let output = command
        .arg(&script)
        .output()
        .map_err(|e| format!("{}: {e}", nsd.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{} has no manual (`::navis::manual`):\n{}",
            nsd.display(),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let pages = pages(&String::from_utf8_lossy(&output.stdout));
    let target = root.join("doc/reference");
    fs::create_dir_all(&target).map_err(|e| e.to_string())?;
    for (name, text) in &pages {
        fs::write(target.join(format!("{name}.md")), text).map_err(|e| e.to_string())?;
    }
    println!("{} pages in {}", pages.len(), target.display());
    Ok(())
}

fn pages(text: &str) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let name = line
            .strip_prefix("%page ")
            .filter(|name| !name.is_empty() && !name.contains(['/', '.']));
        if let Some(name) = name {
            pages.push((name.to_owned(), String::new()));
        } else if let Some((_, page)) = pages.last_mut() {
            page.push_str(line);
            page.push('\n');
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_framed() {
        let found = pages("noise\n%page ns_set\n# ns_set\n\n%page ../x\n%page ns_log\ntext\n");
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            ("ns_set".to_owned(), "# ns_set\n\n%page ../x\n".to_owned())
        );
    }
}
