//! Reading the configuration: ns_config, ns_configsection, ns_configsections.

use ::server::check;
use ::server::config::{Reading, Section};
use shared::Set;
use synopsis::{Call, choice, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::kinds::{context, wide};

choice! {
    /// Which parameters of a section are of interest.
    enum Filter { Unread = "unread", Defaulted = "defaulted", Defaults = "defaults" }
}

commands! { TABLE(call):

    /// The value of a parameter of the configuration.
    "ns_config" [-all: bool, -bool as "-bool": bool, -int as "-int": bool, -min: Option<i64>, -max: Option<i64>, -exact: bool, -set: bool, --]
        (section: String, key: String, default: Option<Obj>)
        => Wanted { all, boolean: bool, integer: int || min.is_some() || max.is_some(), min, max, set }
            .read(call, &section, &key, default);

    /// The parameters of a section as a set; nothing if there is no such section.
    "ns_configsection" [-filter: Option<Filter>, --] (section: String)
        => configsection(call, &section, filter);

    /// All sections, a set each.
    "ns_configsections" => {
        let context = context(call);
        let sets: Vec<Set> = context.process.config.read().sections().iter().map(as_set).collect();
        let mut table = context.sets.borrow_mut();
        sets.into_iter().map(|set| table.create(set)).collect::<Vec<_>>()
    };
}

struct Wanted {
    all: bool,
    boolean: bool,
    integer: bool,
    min: Option<i64>,
    max: Option<i64>,
    /// Keeps the default for later calls.
    set: bool,
}

impl Wanted {
    /// # Errors
    /// A value, or a default that counts, is not of the wanted kind; where it stands in the file is told as a note.
    fn read(&self, call: &Call<'_>, section: &str, key: &str, default: Option<Obj>) -> Outcome {
        let process = &context(call).process;
        let values: Vec<String> = {
            let mut config = process.config.write();
            let fallback = default.as_ref().map(Obj::text);
            match config.section_mut(section) {
                Some(found) => {
                    found.note(key, fallback.as_deref());
                    found.all(key).map(|p| p.value.clone()).collect()
                }
                None => Vec::new(),
            }
        };
        if self.boolean && values.len() > 1 {
            let count = values.len();
            return Err(tcl::error(format!(
                "ns_config: -bool flag implies a single value, but got {count} values"
            )));
        }
        let Some(first) = values.first() else {
            let default = self.checked_default(default)?;
            if let (true, Some(default)) = (self.set, &default) {
                let mut config = process.config.write();
                config
                    .open(section)
                    .put(key, &default.text(), ::server::config::Place::default());
            }
            return Ok(default.unwrap_or_default());
        };
        if self.all {
            let converted: Outcome<Vec<Obj>> =
                values.iter().map(|v| self.converted(v, &default)).collect();
            return converted.map(Obj::list);
        }
        self.converted(first, &default).map_err(|e| match e {
            Exit::Error(e) => e.with_note(&place_note(call, section, key)).into(),
            other => other,
        })
    }

    fn converted(&self, value: &str, default: &Option<Obj>) -> Outcome {
        if self.boolean {
            return match (truth(value), default) {
                (Some(on), _) => Ok(Obj::from(on)),
                // An unreadable value gives way to a default, as in the reference.
                (None, Some(default)) => Ok(Obj::from(default.boolean()?)),
                (None, None) => Err(TclError::new(format!(
                    "expected boolean value but got \"{value}\""
                ))
                .with_code(&["TCL", "VALUE", "BOOLEAN"])
                .into()),
            };
        }
        if self.integer {
            let number = wide(value)
                .ok_or_else(|| tcl::error(format!("expected integer but got \"{value}\"")))?;
            return self.in_range(number).map(Obj::from);
        }
        Ok(Obj::from(value))
    }

    fn checked_default(&self, default: Option<Obj>) -> Outcome<Option<Obj>> {
        if let Some(default) = &default {
            if self.boolean {
                default.boolean()?;
            } else if self.integer {
                self.in_range(default.int()?)?;
            }
        }
        Ok(default)
    }

    fn in_range(&self, number: i64) -> Outcome<i64> {
        if self.min.is_some_and(|min| number < min) || self.max.is_some_and(|max| number > max) {
            return Err(tcl::error(format!("value '{number}' out of range")));
        }
        Ok(number)
    }
}

/// 0, 1, and beginnings of true, false, yes, no, on, off; other numbers are no truth values here.
fn truth(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ if value.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Obj::from(value).boolean().ok()
        }
        _ => None,
    }
}

/// For `errorInfo`: where the value comes from.
fn place_note(call: &Call<'_>, section: &str, key: &str) -> String {
    let config = context(call)
        .process
        .config
        .read()
        .section(section)
        .and_then(|s| s.find(key).map(|p| p.place.clone()));
    config.map_or_else(String::new, |place| {
        format!("\n    ({place}, section {section}, parameter {key})")
    })
}

fn as_set(section: &Section) -> Set {
    let mut set = Set::new(section.name.as_str());
    set.set_nocase(!section.name.starts_with("ns/environment"));
    set.extend(
        section
            .params
            .iter()
            .map(|p| (p.key.as_str(), p.value.as_str())),
    );
    set
}

fn configsection(call: &Call<'_>, name: &str, filter: Option<Filter>) -> Outcome {
    let context = context(call);
    let config = context.process.config.read();
    let Some(section) = config.section(name) else {
        return Ok(Obj::new());
    };
    let set = match filter {
        None => as_set(section),
        Some(filter) => filtered(&context.process, &config, section, filter),
    };
    drop(config);
    let handle = context.sets.borrow_mut().create(set);
    Ok(Obj::from(handle))
}

fn filtered(
    process: &::server::process::Process,
    config: &::server::config::Config,
    section: &Section,
    filter: Filter,
) -> Set {
    let specs = check::specs_of(process, config, &section.name);
    let declared = |key: &str| specs.iter().any(|s| s.find(key).is_some());
    let mut set = Set::new(section.name.as_str());
    set.set_nocase(!section.name.starts_with("ns/environment"));
    match filter {
        Filter::Unread => {
            let unread =
                |key: &str| !section.readings.contains_key(&key.to_lowercase()) && !declared(key);
            set.extend(
                section
                    .params
                    .iter()
                    .filter(|p| unread(&p.key))
                    .map(|p| (p.key.as_str(), p.value.as_str())),
            );
        }
        Filter::Defaulted | Filter::Defaults => {
            let wanted = |key: &str| filter == Filter::Defaults || section.find(key).is_none();
            for row in specs
                .iter()
                .flat_map(|s| s.rows.iter())
                .filter(|r| wanted(r.key))
            {
                if let Some(default) = row.default {
                    set.cput(row.key, default);
                }
            }
            let mut asked: Vec<_> = section.readings.iter().collect();
            asked.sort_by(|a, b| a.0.cmp(b.0));
            for (key, (reading, default)) in asked {
                let counts = filter == Filter::Defaults || *reading == Reading::Defaulted;
                if counts && wanted(key) {
                    set.cput(key, default);
                }
            }
        }
    }
    set
}
