//! Writing the configuration: ns_section and ns_param, which only configuration files have.

use std::cell::RefCell;
use std::rc::Rc;

use ::server::config::{Param, Place};
use synopsis::{Call, commands};
use tcl::{Exit, Obj, Outcome};

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
        return Err(tcl::error(format!("ns_section: \"{name}\" is no name of a section{}", at(&place(call)))));
    }
    {
        let mut config = context.process.config.write();
        let copied: Vec<Param> = match &from {
            Some(from) => match config.section(from) {
                Some(source) => source.params.clone(),
                None => {
                    let message = format!("ns_section {name}: there is no section \"{from}\" to start from");
                    return Err(tcl::error(message + &at(&place(call))));
                }
            },
            None => Vec::new(),
        };
        let target = config.open(name);
        for p in copied {
            if update { target.update(&p.key, &p.value, p.place) } else { target.put(&p.key, &p.value, p.place) }
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
        Some(block) => call.interp.eval_obj(&block).map(drop),
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
        return Err(tcl::error(format!("ns_param: section {name}: a parameter without name{}", at(&place))));
    }
    let context = context(call);
    let mut config = context.process.config.write();
    let section = config.open(&name);
    if open.update.get() { section.update(key, value, place) } else { section.put(key, value, place) }
    Ok(())
}

fn no_section(key: &str, place: &Place) -> Exit {
    tcl::error(format!("ns_param {key}: no section is open; use ns_section first{}", at(place)))
}

fn at(place: &Place) -> String {
    if place.file.is_empty() { String::new() } else { format!(" ({place})") }
}

/// File and line of the command that is being evaluated. Tcl knows both for commands of files; one question a
/// parameter, some microseconds.
fn place(call: &Call<'_>) -> Place {
    let script = "for {set i [expr {[info frame] - 1}]} {$i > 0} {incr i -1} {
        set f [info frame $i]
        if {[dict get $f type] eq {source}} {return [list [dict get $f file] [dict get $f line]]}
    }";
    let found = call.interp.call(&[Obj::from("::apply"), Obj::list([Obj::new(), Obj::from(script)])]);
    let words = found.ok().and_then(|f| f.elements().ok()).unwrap_or_default();
    match words.as_slice() {
        [file, line] => {
            Place { file: file.text(), line: line.int().ok().and_then(|n| u32::try_from(n).ok()).unwrap_or(0) }
        }
        _ => Place::default(),
    }
}
