//! What must hold for every table; the crates that own tables call this in their tests.

use crate::params::{ParamNeed, SectionSpec};
use crate::row::{Command, Group, Meta, Need, Slot, Style};

/// All breaches in tables that are registered together, one line each.
pub fn check(tables: &[&'static [Command]]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for row in tables.iter().flat_map(|t| t.iter()) {
        if names.contains(&row.name) {
            wrong.push(format!("{}: declared twice", row.name));
        }
        names.push(row.name);
        check_row(row, &mut wrong);
    }
    wrong
}

/// All breaches in sections of the configuration.
pub fn check_params(specs: &[&'static SectionSpec]) -> Vec<String> {
    let mut wrong = Vec::new();
    for spec in specs {
        let mut keys: Vec<&str> = Vec::new();
        for row in spec.rows {
            let at = format!("{} {}", spec.name, row.key);
            if keys.contains(&row.key) {
                wrong.push(format!("{at}: declared twice"));
            }
            keys.push(row.key);
            if row.key != row.key.to_lowercase() {
                wrong.push(format!("{at}: names are in lower case"));
            }
            if row.doc.iter().all(|l| l.trim().is_empty()) {
                wrong.push(format!("{at}: no documentation"));
            }
            match row.default {
                Some("") if row.need == ParamNeed::Many => {}
                Some(text) => {
                    if let Err(e) = (row.check)(text) {
                        wrong.push(format!("{at}: wrong default: {e}"));
                    }
                }
                None => {}
            }
        }
    }
    wrong
}

fn check_row(row: &Command, wrong: &mut Vec<String>) {
    let mut say = |what: &str| wrong.push(format!("{}: {what}", row.name));
    if row.name.is_empty() || row.name.split(' ').any(str::is_empty) {
        say("words of a name are separated by one blank");
    }
    if !crate::manual::is_documented(row) {
        say("no documentation");
    }
    let slots: Vec<&Slot> = row.slots().collect();
    if slots.len() > 64 {
        say("more than 64 slots");
    }
    for (i, slot) in slots.iter().enumerate() {
        if slots[..i]
            .iter()
            .any(|s| s.name == slot.name && s.option == slot.option)
        {
            say(&format!("`{}` is declared twice", slot.name));
        }
        if slot.option && matches!(slot.need, Need::Rest | Need::OptionalRest) {
            say(&format!(
                "the option `{}` cannot take all remaining words",
                slot.name
            ));
        }
    }
    let lists = slots
        .iter()
        .filter(|s| matches!(s.need, Need::Rest | Need::OptionalRest))
        .count();
    let hands_over = row.groups.iter().any(|g| matches!(g, Group::Table(_)));
    if lists + usize::from(hands_over) > 1 {
        say("only one slot can take the remaining words");
    }
    if row.style() == Style::Proc && slots.iter().any(|s| s.need == Need::Rest) {
        say("`args` of a Tcl procedure may be empty: use Option<Rest>");
    }
    if row.meta.iter().any(|m| matches!(m, Meta::Family(_))) && row.words().count() < 2 {
        say("#[family] belongs on a subcommand");
    }
}
