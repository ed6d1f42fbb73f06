//! The configuration: ns_section, ns_param, ns_config and what reads it.

use std::rc::Rc;
use std::cell::RefCell;

use ::server::config::Place;
use synopsis::{Call, commands};
use tcl::{Obj, Outcome};

use crate::kinds::context;

commands! { TABLE(call):
}

commands! { CONFIGURING(call):

    /// Opens a section; with a block, for the parameters in it.
    "ns_section" (name: String, block: Option<Obj>)
        => section(call, &name, block);

    /// Adds a parameter to the open section.
    "ns_param" (key: String, value: String)
        => param(call, &key, &value);
}

/// The section that `ns_param` adds to.
#[derive(Default)]
struct Open(RefCell<String>);

fn section(call: &Call<'_>, name: &str, block: Option<Obj>) -> Outcome<()> {
    let open = call.interp.data::<Open>().unwrap_or_else(|| {
        let fresh = Rc::new(Open::default());
        call.interp.set_data(Rc::clone(&fresh));
        fresh
    });
    let context = context(call);
    let full = context.process.config.write().open(name).name.clone();
    open.0.replace(full);
    match block {
        Some(block) => call.interp.eval_obj(&block).map(drop),
        None => Ok(()),
    }
}

fn param(call: &Call<'_>, key: &str, value: &str) -> Outcome<()> {
    let open = call.interp.data::<Open>().map(|o| o.0.borrow().clone()).unwrap_or_default();
    if open.is_empty() {
        return Err(tcl::error(format!("ns_param {key}: no section is open; use ns_section first")));
    }
    context(call).process.config.write().open(&open).put(key, value, place(call));
    Ok(())
}

/// File and line of the script that is being evaluated.
fn place(call: &Call<'_>) -> Place {
    let script = "for {set i [info frame]} {$i > 0} {incr i -1} {
        set f [info frame $i]
        if {[dict get $f type] eq {source}} {return [list [dict get $f file] [dict get $f line]]}
    }";
    let found = call.interp.call(&[Obj::from("apply"), Obj::list([Obj::new(), Obj::from(script)])]);
    let words = found.ok().and_then(|f| f.elements().ok()).unwrap_or_default();
    match words.as_slice() {
        [file, line] => Place { file: file.text(), line: line.int().ok().and_then(|n| u32::try_from(n).ok()).unwrap_or(0) },
        _ => Place::default(),
    }
}
