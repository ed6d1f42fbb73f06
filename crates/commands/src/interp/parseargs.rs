//! `ns_parseargs`: options and arguments of Tcl procedures, read by a specification.

use synopsis::Call;
use tcl::{Obj, Outcome, TclError};

use super::plain;

/// One element of a specification.
struct Slot {
    /// Without the dash.
    name: String,
    default: Option<Obj>,
}

struct Spec {
    options: Vec<Slot>,
    /// `--` was among the options.
    dashes: bool,
    arguments: Vec<Slot>,
    /// The last argument is `args`: takes all that remains.
    rest: bool,
}

/// Sets variables of the caller. `words` is one list, or the arguments themselves.
///
/// # Errors
/// The specification is wrong, or the arguments do not fit it.
pub fn parse(call: &Call<'_>, spec: &Obj, words: &[Obj]) -> Outcome<()> {
    let spec = Spec::read(spec)?;
    let words = match words {
        [list] => list.elements()?,
        several => several.to_vec(),
    };
    let mut rest = words.as_slice();
    let mut seen = vec![false; spec.options.len()];
    while let [first, behind @ ..] = rest {
        let word = first.text();
        if spec.dashes && word == "--" {
            rest = behind;
            break;
        }
        let Some(at) = word
            .strip_prefix('-')
            .and_then(|name| spec.options.iter().position(|o| o.name == name))
        else {
            break;
        };
        let [value, behind @ ..] = behind else {
            return Err(plain(format!("missing argument to {word}")));
        };
        set(call, &spec.options[at].name, value)?;
        seen[at] = true;
        rest = behind;
    }
    let unset = spec.options.iter().zip(seen).filter(|(_, seen)| !seen);
    for (name, default) in unset.filter_map(|(o, _)| Some((&o.name, o.default.as_ref()?))) {
        set(call, name, default)?;
    }
    for slot in &spec.arguments {
        match (rest, &slot.default) {
            ([first, behind @ ..], _) => {
                set(call, &slot.name, first)?;
                rest = behind;
            }
            ([], Some(default)) => set(call, &slot.name, default)?,
            ([], None) => return Err(spec.complaint()),
        }
    }
    if spec.rest {
        return set(call, "args", &Obj::list(rest.iter().cloned()));
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(spec.complaint())
    }
}

fn set(call: &Call<'_>, name: &str, value: &Obj) -> Outcome<()> {
    call.interp.set(name, value.clone())
}

impl Spec {
    fn read(spec: &Obj) -> Outcome<Spec> {
        let mut read = Spec {
            options: Vec::new(),
            dashes: false,
            arguments: Vec::new(),
            rest: false,
        };
        let elements = spec.elements()?;
        for (at, element) in elements.iter().enumerate() {
            let fields = element.elements()?;
            let (name, default) = match fields.as_slice() {
                [name] => (name.text(), None),
                [name, default] => (name.text(), Some(default.clone())),
                _ => {
                    return Err(plain(format!(
                        "wrong # fields in argument specifier \"{}\"",
                        element.text()
                    )));
                }
            };
            if name.is_empty() || name == "-" {
                return Err(plain(format!(
                    "argument or option in position {at} has no name"
                )));
            }
            if name == "--" {
                read.dashes = true;
            } else if let Some(option) =
                name.strip_prefix('-').filter(|_| read.arguments.is_empty())
            {
                read.options.push(Slot {
                    name: option.to_owned(),
                    default,
                });
            } else if name == "args" && at + 1 == elements.len() {
                read.rest = true;
            } else {
                read.arguments.push(Slot { name, default });
            }
        }
        Ok(read)
    }

    fn complaint(&self) -> tcl::Exit {
        let mut words: Vec<String> = self
            .options
            .iter()
            .map(|o| format!("?-{0} /{0}/?", o.name))
            .collect();
        if self.dashes {
            words.push("?--?".to_owned());
        }
        for slot in &self.arguments {
            words.push(if slot.default.is_some() {
                format!("?/{}/?", slot.name)
            } else {
                format!("/{}/", slot.name)
            });
        }
        if self.rest {
            words.push("?/arg .../?".to_owned());
        }
        let message = format!("wrong # args: should be \"{}\"", words.join(" "));
        TclError::new(message)
            .with_code(&["TCL", "WRONGARGS"])
            .into()
    }
}
