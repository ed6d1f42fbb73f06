//! JSON's null as a Tcl value.
//!
//! Any Tcl command may turn a value into a number or a list and forget what it was before. So the null is known by its
//! identity: it is one object of the interpreter, and a copy of its text is not it.

use std::cell::RefCell;
use std::rc::Rc;

use tcl::{Interp, Obj};

/// How many texts of nulls an interpreter remembers; `-nullvalue` makes further ones.
const MOST: usize = 16;

/// The nulls of an interpreter. The first one has the default text, the empty string.
struct Nulls(RefCell<Vec<(String, Obj)>>);

/// The null.
pub fn null(interp: &Interp) -> Obj {
    with_text(interp, "")
}

/// A null that looks like `text`.
pub fn with_text(interp: &Interp, text: &str) -> Obj {
    let nulls = nulls(interp);
    let mut known = nulls.0.borrow_mut();
    if let Some((_, null)) = known.iter().find(|(t, _)| t == text) {
        return null.clone();
    }
    if known.len() == MOST {
        // The oldest but the default one: from now on it is a plain value.
        known.remove(1);
    }
    let null = Obj::from(text);
    known.push((text.to_owned(), null.clone()));
    null
}

/// Whether a value is a null, whatever it looks like.
pub fn is_null(interp: &Interp, value: &Obj) -> bool {
    nulls(interp)
        .0
        .borrow()
        .iter()
        .any(|(_, null)| null.ptr_eq(value))
}

fn nulls(interp: &Interp) -> Rc<Nulls> {
    interp.data::<Nulls>().unwrap_or_else(|| {
        let nulls = Rc::new(Nulls(RefCell::new(vec![(String::new(), Obj::from(""))])));
        interp.set_data(Rc::clone(&nulls));
        nulls
    })
}
