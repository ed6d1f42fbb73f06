//! The manual pages and completion lists that tables hold.

use crate::params::{ParamKind, ParamNeed, SectionSpec};
use crate::row::{Command, Meta};
use std::fmt::{self, Write};

/// A manual page in Markdown: a title, the usages, then each command with its documentation.
pub fn page(title: &str, rows: &[&Command]) -> String {
    let mut out = format!("# {title}\n\n```tcl\n");
    for row in rows {
        line(&mut out, format_args!("{}", row.usage()));
    }
    out.push_str("```\n");
    for row in rows {
        line(
            &mut out,
            format_args!("\n## {}\n\n`{}`\n", row.name, row.usage()),
        );
        if let Some(advice) = row.deprecated() {
            line(&mut out, format_args!("Deprecated: {advice}.\n"));
        }
        line(&mut out, format_args!("{}", row.doc()));
    }
    out
}

/// One page per command (first word), in table order: its name and its text.
pub fn pages(tables: &[&'static [Command]]) -> Vec<(&'static str, String)> {
    let mut families: Vec<(&'static str, Vec<&Command>)> = Vec::new();
    for row in tables.iter().flat_map(|t| t.iter()) {
        let first = row.words().next().unwrap_or_default();
        match families.iter_mut().rev().find(|(name, _)| *name == first) {
            Some((_, rows)) => rows.push(row),
            None => families.push((first, vec![row])),
        }
    }
    families
        .into_iter()
        .map(|(name, rows)| (name, page(name, &rows)))
        .collect()
}

/// A section of the configuration in Markdown, as a table.
pub fn section(spec: &SectionSpec) -> String {
    let mut out = format!(
        "## {}\n\n{}\n\n| parameter | type | default | |\n|---|---|---|---|\n",
        spec.name,
        spec.text()
    );
    for row in spec.rows {
        let many = if row.need == ParamNeed::Many {
            ", may be repeated"
        } else {
            ""
        };
        let default = match (row.default, row.need) {
            (Some(text), _) => format!("`{text}`"),
            (None, ParamNeed::Once) => "required".to_owned(),
            (None, _) => String::new(),
        };
        let kind = row.kind.to_string().replace('|', "\\|");
        line(
            &mut out,
            format_args!(
                "| `{}` | {kind}{many} | {default} | {} |",
                row.key,
                row.text()
            ),
        );
    }
    out
}

/// All names, first words and whole names of subcommands, sorted: what a shell may complete.
pub fn completions(tables: &[&'static [Command]]) -> Vec<String> {
    let mut names: Vec<String> = tables
        .iter()
        .flat_map(|t| t.iter())
        .flat_map(|row| {
            let words: Vec<&str> = row.words().collect();
            (1..=words.len()).map(move |n| words[..n].join(" "))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Name and usage line of every row, in table order.
pub fn all_usages(tables: &[&'static [Command]]) -> Vec<(&'static str, String)> {
    tables
        .iter()
        .flat_map(|t| t.iter())
        .map(|row| (row.name, row.usage()))
        .collect()
}

/// True if a row has documentation.
pub fn is_documented(row: &Command) -> bool {
    row.meta
        .iter()
        .any(|m| matches!(m, Meta::Doc(text) if !text.trim().is_empty()))
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamKind::Bool => f.write_str("boolean"),
            ParamKind::Integer { min, max } => {
                write!(f, "integer{}", crate::row::range(*min, *max))
            }
            ParamKind::Number => f.write_str("number"),
            ParamKind::Size => f.write_str("memory size"),
            ParamKind::Time => f.write_str("time"),
            ParamKind::Text => f.write_str("text"),
            ParamKind::Words(words) => f.write_str(&words.join("|")),
            ParamKind::Other(name) => f.write_str(name),
        }
    }
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}
