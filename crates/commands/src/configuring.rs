//! Writing the configuration: ns_section and ns_param, which only configuration files have.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use ::server::config::{Param, Place};
use synopsis::{Call, Command, commands};
use tcl::{Exit, Obj, Outcome, SubstFlags};

use crate::kinds::{SetArg, context};

commands! { TABLE(call):

    /// Opens a section; the parameters follow in a block or behind it. -update replaces parameters of the same name,
    /// -from starts with those of another section, -set with the fields of a set.
    "ns_section" [-update: bool, -from as "/section/": Option<String>, -set as "/setId/": Option<SetArg>, --]
        (name: String, block: Option<Obj>)
        => section(call, update, from, set, &name, block);

    /// Adds a parameter to the open section.
    "ns_param" (key: String, value: String)
        => param(call, &key, &value);

    /// Sets variables from a dictionary of defaults; the environment goes first, and what is set already stays.
    #[style(args)]
    "ns_configure_variables" [-config_root as "-configRoot": Option<String>, -silent: Option<bool>, --]
        (prefix: String, default_config as "defaultConfig": Obj)
        => variables(call, config_root, silent.unwrap_or(false), &prefix, &default_config);
}

/// The section that `ns_param` adds to.
#[derive(Default)]
struct Open {
    name: RefCell<String>,
    update: std::cell::Cell<bool>,
}

fn open(call: &Call<'_>) -> Rc<Open> {
    call.interp.data::<Open>().unwrap_or_else(|| {
        let fresh = Rc::new(Open::default());
        call.interp.set_data(Rc::clone(&fresh));
        fresh
    })
}

fn section(
    call: &Call<'_>,
    update: bool,
    from: Option<String>,
    set: Option<SetArg>,
    name: &str,
    block: Option<Obj>,
) -> Outcome<()> {
    let open = open(call);
    let context = context(call);
    if name.trim().trim_matches('/').is_empty() {
        return Err(tcl::error(format!(
            "ns_section: \"{name}\" is no name of a section{}",
            at(&place(call))
        )));
    }
    {
        let mut config = context.process.config.write();
        let copied: Vec<Param> = match &from {
            Some(from) => match config.section(from) {
                Some(source) => source.params.clone(),
                None => {
                    let message =
                        format!("ns_section {name}: there is no section \"{from}\" to start from");
                    return Err(tcl::error(message + &at(&place(call))));
                }
            },
            None => Vec::new(),
        };
        let target = config.open(name);
        for p in copied {
            if update {
                target.update(&p.key, &p.value, p.place)
            } else {
                target.put(&p.key, &p.value, p.place)
            }
        }
        if let Some(set) = set {
            let place = place(call);
            for (key, value) in set.set.borrow().iter() {
                target.put(key, value, place.clone());
            }
        }
        open.name.replace(target.name.clone());
    }
    open.update.set(update);
    match block {
        // Tcl's own `eval` knows where in the file the block stands, so that lines in it are right.
        Some(block) => match call.interp.call(&[Obj::from("::eval"), block]) {
            Err(Exit::Error(e)) => {
                let (begin, within) = (
                    place(call),
                    e.line().and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
                );
                let line = Place {
                    line: begin.line + within.max(1) - 1,
                    ..begin
                };
                Err(e
                    .with_note(&format!(
                        "\n    (section {}{})",
                        open.name.borrow(),
                        at(&line)
                    ))
                    .into())
            }
            other => other.map(drop),
        },
        None => Ok(()),
    }
}

fn param(call: &Call<'_>, key: &str, value: &str) -> Outcome<()> {
    let open = open(call);
    let place = place(call);
    let name = open.name.borrow();
    if name.is_empty() {
        return Err(no_section(key, &place));
    }
    if key.trim().is_empty() {
        return Err(tcl::error(format!(
            "ns_param: section {name}: a parameter without name{}",
            at(&place)
        )));
    }
    let context = context(call);
    let mut config = context.process.config.write();
    let section = config.open(&name);
    if open.update.get() {
        section.update(key, value, place)
    } else {
        section.put(key, value, place)
    }
    Ok(())
}

/// From the strongest to the weakest: variables the script has set, the environment (`PREFIXname`), the file that
/// `setupfile` names, the dictionary, whose values may name other variables.
fn variables(
    call: &Call<'_>,
    root: Option<String>,
    silent: bool,
    prefix: &str,
    defaults: &Obj,
) -> Outcome<()> {
    let interp = call.interp;
    let tell = |name: &str, from: &str| {
        if !silent {
            let value = interp.get(name).unwrap_or_default().text();
            shared::notice!("configuration: {name} is '{value}' ({from})");
        }
    };
    let defaults = defaults.pairs()?;
    for (name, _) in &defaults {
        let name = name.text();
        if interp.get(&name).is_some() {
            tell(&name, "set before");
        } else if let Some(value) = interp.get_global(&format!("env({prefix}{name})")) {
            interp.set(&name, value)?;
            tell(&name, "environment");
        }
    }
    let setup = defaults.iter().find(|(name, _)| name.text() == "setupfile");
    if let Some((_, value)) = setup {
        let file = interp
            .get("setupfile")
            .unwrap_or_else(|| value.clone())
            .text();
        if !file.is_empty() {
            let path = root
                .map_or_else(|| config_root(call), PathBuf::from)
                .join(&file);
            interp.source(&path, Some("utf-8"))?;
        }
    }
    for (name, value) in &defaults {
        let name = name.text();
        if interp.get(&name).is_none() {
            let value = interp.subst(value, SubstFlags::ALL).map_err(|e| match e {
                Exit::Error(e) => e
                    .with_note(&format!(
                        "\n    (default of configuration variable \"{name}\")"
                    ))
                    .into(),
                other => other,
            })?;
            interp.set(&name, value)?;
            tell(&name, "default");
        }
    }
    Ok(())
}

/// The directory of the configuration.
fn config_root(call: &Call<'_>) -> PathBuf {
    let path = context(call)
        .process
        .options
        .config
        .clone()
        .unwrap_or_default();
    if path.is_dir() {
        path
    } else {
        path.parent().map(PathBuf::from).unwrap_or_default()
    }
}

fn no_section(key: &str, place: &Place) -> Exit {
    tcl::error(format!(
        "ns_param {key}: no section is open; use ns_section first{}",
        at(place)
    ))
}

fn at(place: &Place) -> String {
    if place.file.is_empty() {
        String::new()
    } else {
        format!(" ({place})")
    }
}

/// File and line of the command that is being evaluated. Tcl knows both for commands of files; one question a
/// parameter, some microseconds.
fn place(call: &Call<'_>) -> Place {
    let script = "for {set i [expr {[info frame] - 1}]} {$i > 0} {incr i -1} {
        set f [info frame $i]
        if {[dict get $f type] eq {source}} {return [list [dict get $f file] [dict get $f line]]}
    }";
    let found = call.interp.call(&[
        Obj::from("::apply"),
        Obj::list([Obj::new(), Obj::from(script)]),
    ]);
    let words = found
        .ok()
        .and_then(|f| f.elements().ok())
        .unwrap_or_default();
    match words.as_slice() {
        [file, line] => Place {
            file: file.text(),
            line: line
                .int()
                .ok()
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(0),
        },
        _ => Place::default(),
    }
}

/// The tables of the interpreter that reads the configuration: these, and of the others what does not need a server.
pub fn tables(all: &[&'static [Command]]) -> Vec<&'static [Command]> {
    const ALSO: [&str; 6] = [
        "ns_info",
        "ns_env",
        "ns_socklisten",
        "ns_addrbyhost",
        "ns_hostbyaddr",
        "ns_parseargs",
    ];
    let others: Vec<Command> = all
        .iter()
        .copied()
        .flatten()
        .filter(|row| ALSO.contains(&row.words().next().unwrap_or_default()))
        .map(|row| Command {
            name: row.name,
            meta: row.meta,
            groups: row.groups,
            run: row.run,
        })
        .collect();
    // Once for the life of the process.
    let others: &'static [Command] = Box::leak(others.into_boxed_slice());
    vec![
        TABLE,
        crate::config::TABLE,
        crate::log::TABLE,
        crate::set::TABLE,
        others,
    ]
}
