//! JSON schemas, as far as types go: one that describes some values, and the check of a value against one.

use std::collections::{BTreeSet, HashMap};

use tcl::Exit;

use super::convert::type_of;
use super::parse::Value;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What values at one place look like.
#[derive(Default)]
pub struct Shape {
    /// Schemas list types by name.
    types: BTreeSet<&'static str>,
    objects: usize,
    /// In the order they were seen, with how many objects have them.
    properties: Vec<(String, Shape, usize)>,
    places: HashMap<String, usize>,
    items: Option<Box<Shape>>,
}

impl Shape {
    pub fn see(&mut self, value: &Value) {
        self.types.insert(type_of(value));
        match value {
            Value::Array(elements) => {
                let items = self.items.get_or_insert_default();
                elements.iter().for_each(|e| items.see(e));
            }
            Value::Object(members) => {
                self.objects += 1;
                let mut seen = BTreeSet::new();
                for (key, member) in members {
                    let place = *self
                        .places
                        .entry(key.clone())
                        .or_insert(self.properties.len());
                    if place == self.properties.len() {
                        self.properties.push((key.clone(), Shape::default(), 0));
                    }
                    let (_, shape, count) = &mut self.properties[place];
                    shape.see(member);
                    *count += usize::from(seen.insert(key));
                }
            }
            _ => {}
        }
    }

    /// The schema; with `required` it names the properties that all objects have.
    pub fn schema(&self, required: bool) -> Value {
        let mut members = vec![("$schema".to_owned(), Value::Text(DRAFT.to_owned()))];
        self.describe(required, &mut members);
        Value::Object(members)
    }

    fn describe(&self, required: bool, members: &mut Vec<(String, Value)>) {
        let text = |t: &str| Value::Text(t.to_owned());
        match self.types.len() {
            0 => {}
            1 => members.push((
                "type".to_owned(),
                Value::Text(self.types.iter().copied().collect()),
            )),
            _ => members.push((
                "type".to_owned(),
                Value::Array(self.types.iter().map(|t| text(t)).collect()),
            )),
        }
        let inner = |shape: &Shape| {
            let mut members = Vec::new();
            shape.describe(required, &mut members);
            Value::Object(members)
        };
        if self.objects > 0 {
            let properties = self
                .properties
                .iter()
                .map(|(k, shape, _)| (k.clone(), inner(shape)))
                .collect();
            members.push(("properties".to_owned(), Value::Object(properties)));
            let all: Vec<Value> = self
                .properties
                .iter()
                .filter(|p| p.2 == self.objects)
                .map(|p| text(&p.0))
                .collect();
            if required && !all.is_empty() {
                members.push(("required".to_owned(), Value::Array(all)));
            }
        }
        if let Some(items) = &self.items {
            members.push(("items".to_owned(), inner(items)));
        }
    }
}

/// Checks a value. Only `type`, `properties`, `additionalProperties`, `required` and `items` are known; properties that
/// a schema of objects does not name are refused unless it says otherwise.
///
/// # Errors
/// The place and what does not match, or a keyword that is not known (unless those are to be ignored).
pub fn check(schema: &Value, value: &Value, ignore_unknown: bool) -> Result<(), Exit> {
    check_at(schema, value, "", ignore_unknown)
}

fn check_at(schema: &Value, value: &Value, path: &str, ignore_unknown: bool) -> Result<(), Exit> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Bool(true) => return Ok(()),
        _ => return Err(mismatch(path, "value not allowed by schema")),
    };
    for (keyword, _) in members {
        let known = matches!(
            keyword.as_str(),
            "type"
                | "properties"
                | "additionalProperties"
                | "required"
                | "items"
                | "$schema"
                | "$id"
                | "$comment"
                | "title"
                | "description"
        );
        if !known && !ignore_unknown {
            return Err(tcl::error(format!(
                "ns_json: unsupported schema keyword \"{keyword}\""
            )));
        }
    }
    let keyword = |name: &str| members.iter().find(|(k, _)| k == name).map(|(_, v)| v);
    let actual = type_of(value);
    match keyword("type") {
        Some(Value::Text(wanted)) if wanted != actual => {
            return Err(mismatch(path, &format!("expected {wanted}, got {actual}")));
        }
        Some(Value::Array(wanted))
            if !wanted
                .iter()
                .any(|w| matches!(w, Value::Text(w) if w == actual)) =>
        {
            let words: Vec<&str> = wanted
                .iter()
                .filter_map(|w| {
                    if let Value::Text(w) = w {
                        Some(&**w)
                    } else {
                        None
                    }
                })
                .collect();
            return Err(mismatch(
                path,
                &format!("expected {}, got {actual}", words.join(" or ")),
            ));
        }
        _ => {}
    }
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(required)) = keyword("required") {
                for name in required {
                    let Value::Text(name) = name else { continue };
                    if !fields.iter().any(|(k, _)| k == name) {
                        return Err(mismatch(
                            path,
                            &format!("missing required property \"{name}\""),
                        ));
                    }
                }
            }
            let closed = keyword("type").is_some() || keyword("properties").is_some();
            for (key, field) in fields {
                let place = format!("{path}/{key}");
                let described = match keyword("properties") {
                    Some(Value::Object(properties)) => {
                        properties.iter().find(|(k, _)| k == key).map(|(_, v)| v)
                    }
                    _ => None,
                };
                match described.or(keyword("additionalProperties")) {
                    Some(Value::Bool(false)) => {
                        return Err(mismatch(&place, "property not allowed by schema"));
                    }
                    Some(described) => check_at(described, field, &place, ignore_unknown)?,
                    None if closed => {
                        return Err(mismatch(&place, "property not allowed by schema"));
                    }
                    None => {}
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = keyword("items") {
                for (at, element) in elements.iter().enumerate() {
                    let place = if path.is_empty() {
                        at.to_string()
                    } else {
                        format!("{path}/{at}")
                    };
                    check_at(items, element, &place, ignore_unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn mismatch(path: &str, what: &str) -> Exit {
    let path = if path.is_empty() { "/" } else { path };
    tcl::error(format!("ns_json: schema mismatch at {path}: {what}"))
}
