//! What can be said about a configuration before anything is started: unknown parameters and values that cannot be.

use std::collections::HashMap;

use synopsis::SectionSpec;

use crate::module::Configured;
use crate::process::Process;
use crate::settings::{
    FastpathSettings, GlobalFastpathSettings, PoolSettings, ProcessSettings, ServerSettings, TclSettings, VhostSettings,
};

/// Sections in which every name is a parameter of the operator's own.
const FREE: [&str; 12] = [
    "ns/servers",
    "ns/modules",
    "ns/mimetypes",
    "ns/encodings",
    "ns/charsets",
    "ns/environment",
    "ns/db/drivers",
    "ns/db/pools",
    "ns/db/driver/*",
    "ns/server/*/pools",
    "ns/server/*/modules",
    "ns/server/*/redirects",
];

/// Sections that the server itself reads.
fn own_specs() -> Vec<&'static SectionSpec> {
    vec![
        ProcessSettings::spec(),
        ServerSettings::spec(),
        PoolSettings::spec(),
        TclSettings::spec(),
        FastpathSettings::spec(),
        GlobalFastpathSettings::spec(),
        VhostSettings::spec(),
    ]
}

/// All sections that somebody declares, for the manual and `nsd -T`.
pub fn all_specs(process: &Process) -> Vec<&'static SectionSpec> {
    let mut specs = own_specs();
    specs.extend(process.scripting.specs.iter().map(|s| s()));
    for module in process.modules {
        specs.push((module.spec)());
        specs.extend((module.more_specs)());
    }
    specs
}

/// Everything that is doubtful, a text each: place, section, parameter, and the nearest known name.
pub fn configuration(process: &Process) -> Vec<String> {
    let config = process.config.read();
    let general: Vec<&SectionSpec> = own_specs()
        .into_iter()
        .chain(process.scripting.specs.iter().map(|s| s()))
        .chain(process.modules.iter().flat_map(|m| (m.more_specs)()))
        .collect();
    let mut by_section: HashMap<String, &SectionSpec> = HashMap::new();
    let mut modules = Vec::new();
    for section in config.sections() {
        if section.name == "ns/modules" {
            modules.extend(Configured::of(section, None));
        } else if let Some(server) = section.name.strip_prefix("ns/server/").and_then(|r| r.strip_suffix("/modules")) {
            modules.extend(Configured::of(section, Some(server)));
        }
    }
    for entry in &modules {
        if let Ok(module) = entry.find(process.modules) {
            by_section.insert(entry.section().to_lowercase(), (module.spec)());
            by_section.entry(format!("ns/module/{}", entry.name).to_lowercase()).or_insert((module.spec)());
        }
    }
    let mut problems = Vec::new();
    for section in config.sections() {
        let matching: Vec<&SectionSpec> = by_section
            .get(&section.name.to_lowercase())
            .copied()
            .into_iter()
            .chain(general.iter().copied().filter(|s| s.matches(&section.name)))
            .collect();
        if matching.is_empty() || FREE.iter().any(|f| free_matches(f, &section.name)) {
            continue;
        }
        // The default pool's parameters stand in the section of its server.
        let pool = ServerSettings::spec().matches(&section.name).then(PoolSettings::spec);
        for p in &section.params {
            let row = matching.iter().copied().chain(pool).find_map(|s| s.find(&p.key));
            match row {
                Some(row) => {
                    if let Err(reason) = (row.check)(&p.value) {
                        problems.push(format!("{}: section {}, parameter {}: {reason}", p.place, section.name, p.key));
                    }
                }
                None => {
                    let near = matching.iter().copied().chain(pool).find_map(|s| s.suggest(&p.key));
                    let hint = near.map(|n| format!("; did you mean {n}?")).unwrap_or_default();
                    problems.push(format!(
                        "{}: section {}: unknown parameter \"{}\"{hint}",
                        p.place, section.name, p.key
                    ));
                }
            }
        }
    }
    problems
}

/// Prints what `nsd -T` says: the parameters that count, then the problems. The result is the exit code.
pub fn report(process: &Process, problems: &[String]) -> i32 {
    let config = process.config.read();
    for section in config.sections() {
        println!("{}", section.name);
        for p in &section.params {
            println!("    {:<24} {}", p.key, p.value.replace('\n', "\\n"));
        }
    }
    println!("\nparameters that can be set (section, name, default, meaning):");
    for spec in all_specs(process) {
        println!("{}  {}", spec.name, spec.text());
        for row in spec.rows {
            println!("    {:<24} {:<12} {}", row.key, row.default.unwrap_or("-"), row.text());
        }
    }
    println!();
    for problem in problems {
        println!("{problem}");
    }
    println!("{} of {}", if problems.is_empty() { "no problems" } else { "problems" }, config.source.display());
    i32::from(!problems.is_empty())
}

fn free_matches(pattern: &str, name: &str) -> bool {
    let mut a = pattern.split('/');
    let mut b = name.split('/');
    loop {
        match (a.next(), b.next()) {
            // `ns/environment/...` has no declared form at any depth.
            (None, _) => return true,
            (Some("*"), Some(_)) => {}
            (Some(x), Some(y)) if x == y => {}
            _ => return false,
        }
    }
}
