//! Scripts that are registered once and run later, in any interpreter of the server: `script ?arg ...?`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tcl::{Exit, Interp, Obj, Outcome, Settle};

/// A script with the arguments it was registered with. Cheap to clone; usable from every thread.
#[derive(Clone, Debug)]
pub struct Callback(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    script: String,
    args: Vec<String>,
    /// The script is the mere name of a command: it is called without being parsed.
    plain: bool,
}

/// Compiled scripts an interpreter keeps; more are forgotten, which bounds what re-registration in a loop costs.
const MOST_COMPILED: usize = 2000;

/// Scripts of callbacks as Tcl values, so that their bytecode is kept. The callback goes along: its address is the key.
#[derive(Default)]
struct Compiled(RefCell<HashMap<usize, (Callback, Obj)>>);

impl Callback {
    /// A script with the words behind it in the registering command.
    pub fn new(script: impl Into<String>, args: &[Obj]) -> Callback {
        let script = script.into();
        let plain = !script.is_empty()
            && !script.starts_with('#')
            && script
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_:-./@+".contains(c));
        Callback(Arc::new(Parts {
            script,
            args: args.iter().map(Obj::text).collect(),
            plain,
        }))
    }

    /// The script without its arguments.
    pub fn script(&self) -> &str {
        &self.0.script
    }

    /// The arguments of the registration.
    pub fn args(&self) -> &[String] {
        &self.0.args
    }

    /// `SCRIPT ?ARG ...?` as list elements, as the listings of `ns_server` and `ns_info` show it.
    pub fn describe(&self) -> String {
        let mut words = vec![self.0.script.as_str()];
        words.extend(self.0.args.iter().map(String::as_str));
        tcl::list_format(&words)
    }

    /// Evaluates the script at the global level, with `before` and the registered arguments and `after` appended as words.
    ///
    /// # Errors
    /// What the script ends with; `return` is one of the ways.
    pub fn call(&self, interp: &Interp, before: &[&str], after: &[&str]) -> Outcome {
        let parts = &*self.0;
        let args = before
            .iter()
            .copied()
            .chain(parts.args.iter().map(String::as_str))
            .chain(after.iter().copied());
        if parts.plain {
            // The name as a value that keeps the command Tcl found under it.
            let mut words = vec![self.compiled(interp, |parts| parts.script.clone())];
            words.extend(args.map(Obj::from));
            return interp.call_global(&words);
        }
        if !before.is_empty() || !after.is_empty() {
            return interp.eval_obj_global(&Obj::from(join(&parts.script, args)));
        }
        let script = self.compiled(interp, |parts| {
            join(&parts.script, parts.args.iter().map(String::as_str))
        });
        interp.eval_obj_global(&script)
    }

    /// The script as [`call`](Self::call) evaluates it.
    pub fn script_with(&self, before: &[&str]) -> String {
        let parts = &*self.0;
        join(
            &parts.script,
            before
                .iter()
                .copied()
                .chain(parts.args.iter().map(String::as_str)),
        )
    }

    /// As [`call`](Self::call), where the end is that of a procedure: `return` is a normal one and its value the
    /// result, `return -code break` is a break.
    ///
    /// # Errors
    /// What else the script ends with.
    pub fn run(&self, interp: &Interp, before: &[&str], after: &[&str]) -> Outcome {
        match self.call(interp, before, after) {
            Err(Exit::Return(r)) => match (r.level(), r.code()) {
                (2.., _) | (_, 0 | 2) => Ok(r.value().clone()),
                (_, 3) => Err(Exit::Break),
                (_, 4) => Err(Exit::Continue),
                _ => Err(Exit::Return(r)).settle().map_err(Exit::from),
            },
            other => other,
        }
    }

    fn compiled(&self, interp: &Interp, text: impl FnOnce(&Parts) -> String) -> Obj {
        let cache = interp.data::<Compiled>().unwrap_or_else(|| {
            let fresh = Rc::new(Compiled::default());
            interp.set_data(Rc::clone(&fresh));
            fresh
        });
        let mut cache = cache.0.borrow_mut();
        if cache.len() >= MOST_COMPILED {
            cache.clear();
        }
        let key = Arc::as_ptr(&self.0) as usize;
        let entry = cache
            .entry(key)
            .or_insert_with(|| (self.clone(), Obj::from(text(&self.0))));
        entry.1.clone()
    }
}

fn join<'a>(script: &str, args: impl Iterator<Item = &'a str>) -> String {
    let mut text = script.to_owned();
    for arg in args {
        text.push(' ');
        text.push_str(&tcl::list_format(&[arg]));
    }
    text
}
