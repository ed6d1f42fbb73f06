//! What can be said about a configuration before anything is started: unknown parameters and values that cannot be.

use std::collections::HashMap;

use synopsis::{ParamNeed, SectionSpec};

use crate::config::{Config, Param, Section};
use crate::module::Configured;
use crate::process::Process;
use crate::proxied::{OlderSettings, Settings};
use crate::settings::{
    FastpathSettings, GlobalFastpathSettings, PoolSettings, ProcessSettings, ServerSettings,
    TclSettings, VhostSettings,
};

/// Sections in which every name is a parameter of the operator's own.
const FREE: [&str; 14] = [
    "ns/servers",
    "ns/modules",
    "ns/mimetypes",
    "ns/encodings",
    "ns/charsets",
    "ns/environment",
    "ns/db/drivers",
    "ns/db/pools",
    "ns/limits",
    "ns/server/*/limits",
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
        Settings::spec(),
        OlderSettings::spec(),
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
    /// Configured modules that do not exist, a text each.
    missing: Vec<String>,
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
            } else if let Some(server) = section
                .name
                .strip_prefix("ns/server/")
                .and_then(|r| r.strip_suffix("/modules"))
            {
                entries.extend(Configured::of(section, Some(server)));
            }
        }
        let mut modules: HashMap<String, Vec<&'static SectionSpec>> = HashMap::new();
        let mut missing = Vec::new();
        for entry in entries.iter().filter(|e| !e.is_tcl()) {
            let found = entry.find(process.modules);
            if let Err(text) = &found {
                missing.push(text.clone());
            }
            if let Ok(module) = found {
                // A module may declare its own section in parts: those named like it.
                let own = format!("ns/module/{}", module.name);
                let mut specs = vec![(module.spec)()];
                specs.extend((module.more_specs)().into_iter().filter(|s| s.name == own));
                modules.insert(entry.section().to_lowercase(), specs.clone());
                modules
                    .entry(format!("ns/module/{}", entry.name).to_lowercase())
                    .or_insert(specs);
            }
        }
        Known {
            modules,
            general,
            config,
            missing,
        }
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
    let mut problems = known.missing.clone();
    for section in config.sections() {
        if !is_free(&section.name) {
            problems.extend(known.problems(section));
        }
    }
    problems
}

impl Known<'_> {
    fn problems(&self, section: &Section) -> Vec<String> {
        if let Some(problem) = self.unknown_server(section) {
            return vec![problem];
        }
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
                    let hint = near
                        .map(|n| format!("; did you mean {n}?"))
                        .unwrap_or_default();
                    problems.push(format!("{place}: unknown parameter{hint}"));
                }
            }
        }
        problems
    }

    /// A section that nobody reads and whose name is close to one that somebody does, or whose server or module is not
    /// configured. All others belong to applications.
    fn unknown_section(&self, section: &Section) -> Option<String> {
        let name = &section.name;
        let place = section
            .params
            .first()
            .map_or_else(|| "configuration".to_owned(), |p| p.place.to_string());
        let parts: Vec<&str> = name.split('/').collect();
        if parts.first() != Some(&"ns") {
            return None;
        }
        if let ["ns", "module", module] | ["ns", "server", _, "module", module] = parts[..] {
            let mut modules = self.keys("ns/modules");
            if let ["ns", "server", server, ..] = parts[..] {
                modules = self.keys(&format!("ns/server/{server}/modules"));
            }
            if !modules.contains(&module) {
                let hint = did_you_mean(synopsis::nearest(module, modules.iter().copied()));
                return Some(format!(
                    "{place}: section {name}: module \"{module}\" is not loaded{hint}"
                ));
            }
            return None;
        }
        let near = self
            .general
            .iter()
            .map(|s| s.name)
            .chain(FREE)
            .find_map(|known| close(name, known))?;
        Some(format!(
            "{place}: section {name}: nobody reads it; did you mean {near}?"
        ))
    }

    /// A section of a server that `ns/servers` does not list.
    fn unknown_server(&self, section: &Section) -> Option<String> {
        let server = section.name.strip_prefix("ns/server/")?.split('/').next()?;
        let servers = self.keys("ns/servers");
        if servers.is_empty() || servers.contains(&server) {
            return None;
        }
        let place = section
            .params
            .first()
            .map_or_else(|| "configuration".to_owned(), |p| p.place.to_string());
        let hint = did_you_mean(synopsis::nearest(server, servers.iter().copied()));
        Some(format!(
            "{place}: section {}: there is no server \"{server}\"{hint}",
            section.name
        ))
    }

    fn keys(&self, section: &str) -> Vec<&str> {
        self.config.section(section).map_or_else(Vec::new, |s| {
            s.params.iter().map(|p| p.key.as_str()).collect()
        })
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map(|n| format!("; did you mean {n}?"))
        .unwrap_or_default()
}

/// The known name, if `name` differs from it in one part only, and there by a slip.
fn close(name: &str, known: &str) -> Option<String> {
    let (parts, wanted): (Vec<&str>, Vec<&str>) =
        (name.split('/').collect(), known.split('/').collect());
    if parts.len() != wanted.len() {
        return None;
    }
    let meant: Vec<&str> = parts
        .iter()
        .zip(&wanted)
        .map(|(p, w)| if *w == "*" { *p } else { *w })
        .collect();
    let mut differ = parts.iter().zip(&meant).filter(|(p, m)| p != m);
    let (part, correct) = differ.next()?;
    (differ.next().is_none() && synopsis::nearest(part, [*correct]).is_some())
        .then(|| meant.join("/"))
}

/// Prints what `nsd -T` says: every section with its parameters, where each was set, and the defaults of the others; then
/// the problems. The result is the exit code: 0 without problems, else 1.
pub fn report(process: &Process, problems: &[String]) -> i32 {
    let config = process.config.read();
    let known = Known::new(process, &config);
    let mut shown: Vec<(String, Vec<Line>)> = config
        .sections()
        .iter()
        .map(|s| (s.name.clone(), lines(s, &known.of(&s.name))))
        .collect();
    for spec in &known.general {
        if !spec.name.contains('*') && config.section(spec.name).is_none() {
            let empty = Section {
                name: spec.name.to_owned(),
                ..Section::default()
            };
            shown.push((empty.name.clone(), lines(&empty, &[*spec])));
        }
    }
    let mut text = String::new();
    for (name, lines) in shown {
        text.push_str(&name);
        text.push('\n');
        let width = |pick: fn(&Line) -> &str, most: usize| {
            lines
                .iter()
                .map(|l| pick(l).chars().count())
                .filter(|n| *n <= most)
                .max()
                .unwrap_or(0)
        };
        let (keys, values) = (width(|l| &l.key, 40), width(|l| &l.value, 48));
        for line in &lines {
            text.push_str(&format!(
                "    {:<keys$}  {:<values$}  {}\n",
                line.key, line.value, line.origin
            ));
        }
        text.push('\n');
    }
    for problem in problems {
        text.push_str(problem);
        text.push('\n');
    }
    let source = config.source.display();
    match problems.len() {
        0 => text.push_str(&format!("{source}: no problems\n")),
        1 => text.push_str(&format!("{source}: 1 problem\n")),
        n => text.push_str(&format!("{source}: {n} problems\n")),
    }
    // A reader that closes the pipe early (`nsd -T | head`) is no error of ours.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    i32::from(!problems.is_empty())
}

/// A parameter as `nsd -T` shows it.
struct Line {
    key: String,
    value: String,
    origin: String,
}

fn lines(section: &Section, specs: &[&SectionSpec]) -> Vec<Line> {
    let mut lines: Vec<Line> = section
        .params
        .iter()
        .map(|p| Line {
            key: p.key.clone(),
            value: shown(&p.key, &p.value),
            origin: p.place.to_string(),
        })
        .collect();
    for row in specs.iter().flat_map(|s| s.rows.iter()) {
        if lines.iter().any(|l| l.key.eq_ignore_ascii_case(row.key)) {
            continue;
        }
        let (value, origin) = row
            .default
            .map_or(("", "not set"), |default| (default, "default"));
        lines.push(Line {
            key: row.key.to_owned(),
            value: shown(row.key, value),
            origin: origin.to_owned(),
        });
    }
    lines
}

/// One line; secrets are not shown, since such reports are passed on.
fn shown(key: &str, value: &str) -> String {
    let secret = ["password", "passphrase", "secret"]
        .iter()
        .any(|word| key.contains(word));
    if secret && !value.is_empty() {
        "********".to_owned()
    } else {
        value.replace('\n', "\\n")
    }
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
