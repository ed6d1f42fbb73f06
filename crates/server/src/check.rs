//! What can be said about a configuration before anything is started: unknown parameters and values that cannot be.

use std::collections::HashMap;

use synopsis::{ParamNeed, SectionSpec};

use crate::config::{Config, Param, Section};
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

/// Which specification each section has.
struct Known<'a> {
    /// Sections of configured modules, by name.
    modules: HashMap<String, Vec<&'static SectionSpec>>,
    /// Sections that are there without a module.
    general: Vec<&'static SectionSpec>,
    config: &'a Config,
}

impl<'a> Known<'a> {
    fn new(process: &Process, config: &'a Config) -> Self {
        let general = own_specs()
            .into_iter()
            .chain(process.scripting.specs.iter().map(|s| s()))
            .chain(process.modules.iter().flat_map(|m| (m.more_specs)()))
            .collect();
        let mut entries = Vec::new();
        for section in config.sections() {
            if section.name == "ns/modules" {
                entries.extend(Configured::of(section, None));
            } else if let Some(server) =
                section.name.strip_prefix("ns/server/").and_then(|r| r.strip_suffix("/modules"))
            {
                entries.extend(Configured::of(section, Some(server)));
            }
        }
        let mut modules: HashMap<String, Vec<&'static SectionSpec>> = HashMap::new();
        for entry in &entries {
            if let Ok(module) = entry.find(process.modules) {
                // A module may declare its own section in parts: those named like it.
                let own = format!("ns/module/{}", module.name);
                let mut specs = vec![(module.spec)()];
                specs.extend((module.more_specs)().into_iter().filter(|s| s.name == own));
                modules.insert(entry.section().to_lowercase(), specs.clone());
                modules.entry(format!("ns/module/{}", entry.name).to_lowercase()).or_insert(specs);
            }
        }
        Known { modules, general, config }
    }

    /// All that declare parameters of a section.
    fn of(&self, section: &str) -> Vec<&'static SectionSpec> {
        let name = Config::canonical(section);
        let mut specs: Vec<_> = self.modules.get(&name).cloned().unwrap_or_default();
        specs.extend(self.general.iter().copied().filter(|s| s.matches(&name)));
        // The default pool's parameters stand in the section of its server.
        if ServerSettings::spec().matches(&name) {
            specs.push(PoolSettings::spec());
        }
        specs
    }
}

/// The specifications that declare the parameters of a section.
pub fn specs_of(process: &Process, config: &Config, section: &str) -> Vec<&'static SectionSpec> {
    Known::new(process, config).of(section)
}

/// Everything that is doubtful, a text each: place, section, parameter, and the nearest known name.
pub fn configuration(process: &Process) -> Vec<String> {
    let config = process.config.read();
    let known = Known::new(process, &config);
    let mut problems = Vec::new();
    for section in config.sections() {
        if !is_free(&section.name) {
            problems.extend(known.problems(section));
        }
    }
    problems
}

impl Known<'_> {
    fn problems(&self, section: &Section) -> Vec<String> {
        let specs = self.of(&section.name);
        if specs.is_empty() {
            return self.unknown_section(section).into_iter().collect();
        }
        let mut problems = Vec::new();
        let mut single: HashMap<&str, &Param> = HashMap::new();
        for p in &section.params {
            let place = format!("{}: section {}, parameter {}", p.place, section.name, p.key);
            match specs.iter().find_map(|s| s.find(&p.key)) {
                Some(row) => {
                    if let Err(reason) = (row.check)(&p.value) {
                        problems.push(format!("{place}: {reason}"));
                    }
                    match single.insert(p.key.as_str(), p) {
                        Some(first) if row.need != ParamNeed::Many => problems.push(format!(
                            "{place}: is set a second time; \"{}\" from {} counts",
                            first.value, first.place
                        )),
                        _ => {}
                    }
                }
                None => {
                    let near = specs.iter().find_map(|s| s.suggest(&p.key));
                    let hint = near.map(|n| format!("; did you mean {n}?")).unwrap_or_default();
                    problems.push(format!("{place}: unknown parameter{hint}"));
                }
            }
        }
        problems
    }

    /// A section below `ns/` that nobody reads: a misspelt name, a server or module that is not configured. Sections
    /// elsewhere belong to applications.
    fn unknown_section(&self, section: &Section) -> Option<String> {
        let place = section.params.first().map_or_else(|| "configuration".to_owned(), |p| p.place.to_string());
        let name = &section.name;
        if let Some(rest) = name.strip_prefix("ns/server/") {
            let server = rest.split('/').next().unwrap_or_default();
            let servers: Vec<&str> = self.config.section("ns/servers")?.params.iter().map(|p| p.key.as_str()).collect();
            if !servers.contains(&server) {
                let near = synopsis::nearest(server, servers.iter().copied());
                let hint = near.map(|n| format!("; did you mean {n}?")).unwrap_or_default();
                return Some(format!("{place}: section {name}: there is no server \"{server}\"{hint}"));
            }
            return None;
        }
        None
    }
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

fn is_free(section: &str) -> bool {
    FREE.iter().any(|f| free_matches(f, section))
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
