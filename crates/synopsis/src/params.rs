//! Configuration parameters as data, and reading them into the fields of a struct. No Tcl here.

use crate::param_kinds::ParamField;
use std::fmt;

/// Where parameters come from: a section of the configuration as it was read.
pub trait ParamSource {
    /// All values of a parameter, in the order of the file. `key` is in lower case.
    fn values(&self, key: &str) -> Vec<ParamValue>;

    /// The section's real name where the declared one is a pattern (`ns/server/*`).
    fn section(&self) -> Option<&str> {
        None
    }
}

/// One line of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamValue {
    pub text: String,
    /// Empty if the configuration could not tell.
    pub file: String,
    pub line: u32,
}

/// A source without parameters: everything is default.
pub struct NoParams;

impl ParamSource for NoParams {
    fn values(&self, _: &str) -> Vec<ParamValue> {
        Vec::new()
    }
}

/// A section with its parameters, as `params!` declares it.
pub struct SectionSpec {
    /// `ns/parameters`, or with `*` for a name: `ns/server/*`.
    pub name: &'static str,
    pub doc: &'static [&'static str],
    pub rows: &'static [ParamRow],
}

/// One parameter.
pub struct ParamRow {
    /// Its name in the configuration.
    pub key: &'static str,
    pub kind: ParamKind,
    pub need: ParamNeed,
    pub default: Option<&'static str>,
    pub doc: &'static [&'static str],
    /// What is wrong with a text, if anything.
    pub check: fn(&str) -> Result<(), String>,
}

/// What the values of a parameter look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    Bool,
    Integer {
        min: i64,
        max: i64,
    },
    Number,
    /// Bytes, with a unit.
    Size,
    /// A span of time, with a unit.
    Time,
    Text,
    Words(&'static [&'static str]),
    /// Anything else, by name.
    Other(&'static str),
}

/// How often a parameter may or must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamNeed {
    /// Once, unless there is a default.
    Once,
    Optional,
    Many,
}

/// A number of bytes that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Size {
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As a length in memory.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamProblem {
    pub section: String,
    pub key: String,
    /// The value at fault; None if the parameter is missing.
    pub value: Option<ParamValue>,
    pub reason: String,
}

impl fmt::Display for ParamProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) if !value.file.is_empty() => write!(f, "{}:{}: ", value.file, value.line)?,
            _ => f.write_str("configuration: ")?,
        }
        write!(
            f,
            "section {}, parameter {}: {}",
            self.section, self.key, self.reason
        )
    }
}

impl std::error::Error for ParamProblem {}

impl ParamRow {
    /// Made by `params!`.
    pub const fn of<T: ParamField>(
        key: &'static str,
        default: Option<&'static str>,
        doc: &'static [&'static str],
    ) -> ParamRow {
        ParamRow {
            key,
            kind: T::KIND,
            need: T::NEED,
            default,
            doc,
            check: T::check,
        }
    }

    /// Its documentation in one line.
    pub fn text(&self) -> String {
        one_line(self.doc)
    }
}

impl SectionSpec {
    pub fn find(&self, key: &str) -> Option<&ParamRow> {
        self.rows.iter().find(|r| r.key.eq_ignore_ascii_case(key))
    }

    /// True if `name` is this section; `*` stands for one component.
    pub fn matches(&self, name: &str) -> bool {
        let mut own = self.name.split('/');
        let mut other = name.split('/');
        loop {
            match (own.next(), other.next()) {
                (None, None) => return true,
                (Some("*"), Some(part)) if !part.is_empty() => {}
                (Some(a), Some(b)) if a.eq_ignore_ascii_case(b) => {}
                _ => return false,
            }
        }
    }

    /// For a name that is no parameter of this section: the nearest that is.
    pub fn suggest(&self, key: &str) -> Option<&'static str> {
        crate::nearest(key, self.rows.iter().map(|r| r.key))
    }

    pub fn text(&self) -> String {
        one_line(self.doc)
    }
}

fn one_line(doc: &[&str]) -> String {
    let lines: Vec<&str> = doc.iter().map(|l| l.trim()).collect();
    lines.join(" ")
}

/// Reads the parameters of a section one after the other and collects what is wrong.
pub struct Reader<'a> {
    source: &'a dyn ParamSource,
    spec: &'static SectionSpec,
    next: usize,
    pub problems: Vec<ParamProblem>,
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a dyn ParamSource, spec: &'static SectionSpec) -> Reader<'a> {
        Reader {
            source,
            spec,
            next: 0,
            problems: Vec::new(),
        }
    }

    /// The next parameter; None leaves a problem behind.
    pub fn take<T: ParamField>(&mut self) -> Option<T> {
        let row = self.spec.rows.get(self.next)?;
        self.next += 1;
        let values = self.source.values(row.key);
        match T::read(&values, row.default) {
            Ok(value) => Some(value),
            Err((value, reason)) => {
                let section = self.source.section().unwrap_or(self.spec.name).to_owned();
                self.problems.push(ParamProblem {
                    section,
                    key: row.key.to_owned(),
                    value,
                    reason,
                });
                None
            }
        }
    }
}

/// Length of `name` without underscores.
pub const fn stripped(name: &str) -> usize {
    let b = name.as_bytes();
    let mut n = 0;
    let mut i = skip_raw(b);
    while i < b.len() {
        if b[i] != b'_' {
            n += 1;
        }
        i += 1;
    }
    n
}

/// `name` without underscores and `r#`.
pub const fn strip<const N: usize>(name: &str) -> [u8; N] {
    let b = name.as_bytes();
    let mut out = [0; N];
    let mut n = 0;
    let mut i = skip_raw(b);
    while i < b.len() {
        if b[i] != b'_' {
            out[n] = b[i];
            n += 1;
        }
        i += 1;
    }
    out
}

const fn skip_raw(b: &[u8]) -> usize {
    if b.len() > 2 && b[0] == b'r' && b[1] == b'#' {
        2
    } else {
        0
    }
}
