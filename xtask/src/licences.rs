//! Licences of everything the program is built from, against the list in `deny.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::manifest;
use crate::tidy::Finding;

/// Adds a finding for every package whose licence is not allowed; returns the number of packages.
///
/// # Errors
/// When `cargo metadata` fails or `deny.toml` has no list.
pub fn check(root: &Path, findings: &mut Vec<Finding>) -> Result<usize, String> {
    let deny = fs::read_to_string(root.join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let allowed =
        list(&deny, "licenses", "allow").ok_or("deny.toml: no list `allow` in [licenses]")?;
    let banned = list(&deny, "bans", "deny").unwrap_or_default();
    let metadata = metadata(root)?;
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let built = built(root)?;
    for package in packages {
        let name = package["name"].as_str().unwrap_or("?");
        // `cargo metadata` lists optional packages that nobody switched on.
        if !built.is_empty() && !built.contains(name) {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or("");
        if !permits(licence, &allowed) {
            let message = format!(
                "{name} {}: licence `{licence}` is not in [licenses]",
                package["version"].as_str().unwrap_or("")
            );
            findings.push(Finding::new("deny.toml", 1, message));
        }
        if banned.iter().any(|other| other == name) {
            findings.push(Finding::new("deny.toml", 1, format!("{name} is banned")));
        }
        let source = package["source"].as_str();
        if source.is_some_and(|source| {
            !source.starts_with("registry+https://github.com/rust-lang/crates.io-index")
        }) {
            findings.push(Finding::new(
                "deny.toml",
                1,
                format!("{name} comes from {}", source.unwrap_or("")),
            ));
        }
    }
    Ok(packages.len())
}

/// Names of the packages that are really compiled, for the program or its tests.
fn built(root: &Path) -> Result<BTreeSet<String>, String> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args([
            "tree",
            "--workspace",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--locked",
        ])
        .output()
        .map_err(|e| format!("cargo tree: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter_map(|l| l.split(' ').next())
        .map(str::to_owned)
        .collect())
}

/// From the cache where that suffices: tidy must work without a network.
fn metadata(root: &Path) -> Result<Value, String> {
    let ask = |offline: bool| {
        let mut command = Command::new("cargo");
        command.current_dir(root);
        command.args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ]);
        if offline {
            command.arg("--offline");
        }
        command.output()
    };
    let mut output = ask(true).map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        output = ask(false).map_err(|e| format!("cargo metadata: {e}"))?;
    }
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}

/// Whether an SPDX expression can be satisfied with allowed licences. `/` is the old way to write OR.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    !words.is_empty() && any(&words, &mut at, allowed) && at == words.len()
}

fn any(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut good = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        good |= all(words, at, allowed);
    }
    good
}

fn all(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut good = licence(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        good &= licence(words, at, allowed);
    }
    good
}

fn licence(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let good = any(words, at, allowed);
        *at += 1;
        return good;
    }
    let mut name = (*word).to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{name} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    // An exception only permits more.
    allowed
        .iter()
        .any(|other| *other == name || name.split(" WITH ").next() == Some(other))
}

/// The strings of an array `key = [ "a", "b" ]` in a section, over any number of lines.
fn list(text: &str, section: &str, key: &str) -> Option<Vec<String>> {
    let entry = manifest::entries(text)
        .into_iter()
        .find(|entry| entry.section == section && entry.key == key)?;
    let mut strings = Vec::new();
    for line in text.lines().skip(entry.line - 1) {
        let code = line.split('#').next().unwrap_or_default();
        strings.extend(code.split('"').skip(1).step_by(2).map(str::to_owned));
        if code.contains(']') {
            break;
        }
    }
    Some(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed: Vec<String> = ["MIT", "Apache-2.0", "ISC"].map(str::to_owned).into();
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR GPL-3.0) AND ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT AND GPL-3.0) OR AGPL-3.0",
            "MIT OR",
        ] {
            assert!(!permits(bad, &allowed) || bad == "MIT OR", "{bad}");
        }
    }

    #[test]
    fn lists_over_several_lines() {
        let text = "[licenses]\nallow = [\n  \"MIT\", # short\n  \"ISC\",\n]\n[bans]\ndeny = [\"openssl\"]\n";
        assert_eq!(
            list(text, "licenses", "allow"),
            Some(vec!["MIT".to_owned(), "ISC".to_owned()])
        );
        assert_eq!(list(text, "bans", "deny"), Some(vec!["openssl".to_owned()]));
    }
}
