//! The configuration as it was read: sections and parameters in order, each with the place it came from.
//!
//! Names are case-insensitive and stored in lower case, except in `ns/environment/*` (behaviour.md, Configuration).
//! The Tcl commands that fill it (`ns_section`, `ns_param`) live in `commands`; here is only what they fill.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One `ns_param` line.
#[derive(Clone, Debug)]
pub struct Param {
    pub key: String,
    pub value: String,
    pub place: Place,
}

/// File and line of a parameter; an empty file means that Tcl could not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.file.is_empty() {
            write!(f, "configuration")
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// What happened to a parameter since the start; `ns_configsection -filter` asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Asked for, and found in the file.
    Read,
    /// Asked for, not in the file: the default was used.
    Defaulted,
}

/// One section with its parameters in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub name: String,
    pub params: Vec<Param>,
    /// Keys (lower case) that were asked for, with the default where one was used.
    pub readings: HashMap<String, (Reading, String)>,
}

impl Section {
    /// The first value of `key`, ignoring case.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.find(key).map(|p| p.value.as_str())
    }

    /// The first parameter with this key, ignoring case.
    pub fn find(&self, key: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.key.eq_ignore_ascii_case(key))
    }

    /// All values of a repeated parameter, in the order of the file.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Param> {
        self.params
            .iter()
            .filter(move |p| p.key.eq_ignore_ascii_case(key))
    }

    /// Adds a parameter behind those with the same name.
    pub fn put(&mut self, key: &str, value: &str, place: Place) {
        let key = if is_environment(&self.name) {
            key.to_owned()
        } else {
            key.to_lowercase()
        };
        self.params.push(Param {
            key,
            value: value.to_owned(),
            place,
        });
    }

    /// Notes that somebody asked for a parameter, and the default that was used if it is not there.
    pub fn note(&mut self, key: &str, default: Option<&str>) {
        let reading = if self.find(key).is_some() {
            Reading::Read
        } else {
            Reading::Defaulted
        };
        let default = default.unwrap_or_default();
        match self.readings.get_mut(&key.to_lowercase()) {
            Some(known) => {
                known.0 = reading;
                if !default.is_empty() {
                    default.clone_into(&mut known.1);
                }
            }
            None => drop(
                self.readings
                    .insert(key.to_lowercase(), (reading, default.to_owned())),
            ),
        }
    }

    /// Replaces the first parameter of that name or adds one.
    pub fn update(&mut self, key: &str, value: &str, place: Place) {
        match self
            .params
            .iter_mut()
            .find(|p| p.key.eq_ignore_ascii_case(key))
        {
            Some(p) => {
                p.value = value.to_owned();
                p.place = place;
            }
            None => self.put(key, value, place),
        }
    }
}

impl synopsis::ParamSource for Section {
    fn values(&self, key: &str) -> Vec<synopsis::ParamValue> {
        self.all(key)
            .map(|p| synopsis::ParamValue {
                text: p.value.clone(),
                file: p.place.file.clone(),
                line: p.place.line,
            })
            .collect()
    }
}

/// All sections, in the order in which they were opened first.
#[derive(Debug, Default)]
pub struct Config {
    sections: Vec<Section>,
    index: HashMap<String, usize>,
    /// The file or directory it came from; empty in command mode without one.
    pub source: PathBuf,
}

impl Config {
    /// The stored form of a section name: trimmed, lower case (not `ns/environment`), without doubled or outer slashes.
    pub fn canonical(name: &str) -> String {
        let name = name.trim().trim_matches('/');
        if is_environment(name) {
            name.to_owned()
        } else {
            name.to_lowercase()
        }
    }

    /// The section of that name; made when it is missing.
    pub fn open(&mut self, name: &str) -> &mut Section {
        let name = Self::canonical(name);
        let i = match self.index.get(&name) {
            Some(&i) => i,
            None => {
                self.sections.push(Section {
                    name: name.clone(),
                    ..Section::default()
                });
                self.index.insert(name, self.sections.len() - 1);
                self.sections.len() - 1
            }
        };
        &mut self.sections[i]
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.index
            .get(&Self::canonical(name))
            .map(|&i| &self.sections[i])
    }

    pub fn section_mut(&mut self, name: &str) -> Option<&mut Section> {
        let i = *self.index.get(&Self::canonical(name))?;
        Some(&mut self.sections[i])
    }

    /// A copy of the section, or an empty one: what a module reads its parameters from.
    pub fn section_or_empty(&self, name: &str) -> Section {
        self.section(name).cloned().unwrap_or_else(|| Section {
            name: Self::canonical(name),
            ..Section::default()
        })
    }

    pub fn value(&self, section: &str, key: &str) -> Option<&str> {
        self.section(section)?.get(key)
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }
}

/// Names of environment variables keep their case.
fn is_environment(section: &str) -> bool {
    section
        .get(..14)
        .is_some_and(|start| start.eq_ignore_ascii_case("ns/environment"))
}

/// The files of a configuration in the order in which they are read: the file itself, or the `*.tcl` and
/// `*.conf` fragments of a directory by name.
///
/// # Errors
/// A text that names the path: not there, not readable, or a directory without fragments.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let meta =
        std::fs::metadata(path).map_err(|e| format!("configuration {}: {e}", path.display()))?;
    if !meta.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries =
        std::fs::read_dir(path).map_err(|e| format!("configuration {}: {e}", path.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| {
            let hidden = p
                .file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with('.'));
            !hidden && p.extension().is_some_and(|x| x == "tcl" || x == "conf") && p.is_file()
        })
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(format!(
            "configuration {}: the directory has no *.tcl or *.conf file",
            path.display()
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_insensitive_but_not_in_the_environment() {
        let mut c = Config::default();
        c.open("NS/Parameters").put("Home", "/x", Place::default());
        assert_eq!(c.value("ns/parameters", "HOME"), Some("/x"));
        c.open("ns/environment/Path");
        assert_eq!(c.sections()[1].name, "ns/environment/Path");
    }

    #[test]
    fn repeated_parameters_keep_their_order() {
        let mut c = Config::default();
        let s = c.open("ns/x");
        s.put("map", "/a", Place::default());
        s.put("map", "/b", Place::default());
        s.update("map", "/c", Place::default());
        let all: Vec<_> = c
            .section("ns/x")
            .expect("opened above")
            .all("map")
            .map(|p| p.value.clone())
            .collect();
        assert_eq!(all, ["/c", "/b"]);
    }
}
