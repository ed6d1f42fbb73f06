//! Finding and replacing values in triples.

use synopsis::choice;
use tcl::{Exit, Interp, Obj};

use super::{convert, null};

choice! {
    /// How a Tcl value becomes a JSON value.
    pub enum Type {
        Auto = "auto", Text = "string", Number = "number", Boolean = "boolean", Null = "null", Object = "object", Array = "array",
    }
}

/// The names that lead to a value, from `-path` or, without it, from `-pointer` (RFC 6901).
pub fn names(path: Option<&Obj>, pointer: Option<&str>) -> Result<Vec<String>, Exit> {
    if let Some(path) = path {
        return Ok(path.elements()?.iter().map(Obj::text).collect());
    }
    let Some(pointer) = pointer else {
        return Err(tcl::error("ns_json triples: missing -path or -pointer"));
    };
    let place = pointer.strip_prefix('#').unwrap_or(pointer);
    if place.is_empty() {
        return Ok(Vec::new());
    }
    let Some(tokens) = place.strip_prefix('/') else {
        return Err(tcl::error(format!(
            "ns_json triples: invalid JSON pointer (must start with '/'): {pointer}"
        )));
    };
    // In this order: `~01` is `~1`.
    Ok(tokens
        .split('/')
        .map(|t| t.replace("~1", "/").replace("~0", "~"))
        .collect())
}

/// A place in triples: the lists on the way to it, each with the index of the triple in it.
pub struct Place {
    way: Vec<(Vec<Obj>, usize)>,
}

impl Place {
    /// `who` begins messages about what is missing.
    pub fn find(triples: &Obj, names: &[String], who: &str) -> Result<Place, Exit> {
        let bad = || {
            tcl::error("ns_json triples: input must be a list of {key|index type value} elements")
        };
        let elements = triples.elements().map_err(|_| bad())?;
        if elements.len() % 3 != 0 {
            return Err(bad());
        }
        let mut way = Vec::new();
        let wrapped = convert::document(triples).is_some();
        if wrapped {
            way.push((elements.clone(), 0));
        } else if names.is_empty() {
            return Err(tcl::error(
                "ns_json triples: empty path requires root wrapper {\"\" TYPE VALUE}",
            ));
        }
        let mut list = Some(elements);
        for (at, name) in names.iter().enumerate() {
            let inner = match (way.last(), list.take()) {
                (None, Some(list)) => list,
                (Some((list, index)), _) => {
                    let kind = list[index + 1].text();
                    if kind != "object" && kind != "array" {
                        let scalar = if at > 0 { &names[at - 1] } else { name };
                        return Err(tcl::error(format!(
                            "ns_json triples: cannot descend into {kind} at path element {scalar}"
                        )));
                    }
                    let inner = list[index + 2].elements().map_err(|_| bad())?;
                    if inner.len() % 3 != 0 {
                        return Err(bad());
                    }
                    inner
                }
                (None, None) => return Err(bad()),
            };
            // Of several with one name the last counts, as in dictionaries.
            let found = (0..inner.len())
                .step_by(3)
                .rev()
                .find(|&i| inner[i].with_text(|t| t == name));
            let Some(index) = found else {
                return Err(tcl::error(format!("{who}: no such element: {name}")));
            };
            way.push((inner, index));
        }
        if way.is_empty() {
            return Err(bad());
        }
        Ok(Place { way })
    }

    pub fn kind(&self) -> String {
        self.at(1).text()
    }

    pub fn value(&self) -> Obj {
        self.at(2)
    }

    fn at(&self, offset: usize) -> Obj {
        self.way
            .last()
            .and_then(|(list, index)| list.get(index + offset))
            .cloned()
            .unwrap_or_default()
    }

    /// The indices for `lindex` that lead to the value (offset 2) or its type (offset 1).
    pub fn indices(&self, offset: usize) -> Obj {
        let last = self.way.len() - 1;
        Obj::list(
            self.way
                .iter()
                .enumerate()
                .map(|(at, (_, index))| Obj::from(index + if at == last { offset } else { 2 })),
        )
    }

    /// The triples with another value at this place.
    pub fn replaced(self, kind: &str, value: Obj) -> Obj {
        let mut ways = self.way.into_iter().rev();
        let mut new = match ways.next() {
            Some((mut list, index)) => {
                list[index + 1] = Obj::from(kind);
                list[index + 2] = value;
                Obj::list(list)
            }
            None => value,
        };
        for (mut list, index) in ways {
            list[index + 2] = new;
            new = Obj::list(list);
        }
        new
    }
}

/// The type and the third of a triple for a new value where a value of type `old` was.
pub fn new_value(
    interp: &Interp,
    kind: Type,
    old: &str,
    value: &Obj,
) -> Result<(&'static str, Obj), Exit> {
    let kind = match kind {
        Type::Auto if null::is_null(interp, value) => Type::Null,
        Type::Auto => match convert::document(value) {
            Some((kind, content)) => {
                convert::of_triple(&kind, &content)?;
                let kind = Type::parse(&kind).unwrap_or(Type::Text);
                return Ok((kind.word(), content));
            }
            // Scalars keep their type, other places take what the value looks like.
            None => match old {
                "string" => Type::Text,
                "number" => Type::Number,
                "boolean" => Type::Boolean,
                _ => Type::parse(convert::type_of(&convert::guess(interp, value)?))
                    .unwrap_or(Type::Text),
            },
        },
        kind => kind,
    };
    let new = match kind {
        Type::Auto | Type::Text => value.clone(),
        Type::Number => Obj::from(convert::number(value)?),
        Type::Boolean => Obj::from(if value.boolean()? { "true" } else { "false" }),
        Type::Null => null::null(interp),
        Type::Object | Type::Array => {
            convert::of_triple(kind.word(), value)?;
            value.clone()
        }
    };
    Ok((kind.word(), new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_of_rfc_6901() {
        let names = |pointer| names(None, Some(pointer)).expect("a pointer");
        assert!(names("").is_empty() && names("#").is_empty());
        assert_eq!(names("/a~1b/m~0n/~01"), ["a/b", "m~n", "~1"]);
        assert_eq!(names("/"), [""]);
    }
}
