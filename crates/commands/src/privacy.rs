//! The privacy signals of a request as `ns_conn privacy` gives them: Sec-GPC, DNT and ADPC.

use shared::Set;
use tcl::Obj;

/// `gpc 0|1 dnt 0|1 adpc {present 0|1 ...}`
pub fn signals(headers: &Set) -> Obj {
    let on = |name: &str| Obj::from(headers.iget(name).is_some_and(|v| v.trim() == "1"));
    let adpc = headers
        .iget("adpc")
        .map_or_else(|| dict([("present", Obj::from(false))]), adpc);
    dict([("gpc", on("sec-gpc")), ("dnt", on("dnt")), ("adpc", adpc)])
}

/// The field of Advanced Data Protection Control: `withdraw=*, consent="a b"`; several identifiers in one value are
/// separated by blanks.
fn adpc(raw: &str) -> Obj {
    let (mut consent, mut withdraw, mut unknown, mut errors) = (vec![], vec![], vec![], vec![]);
    let mut all = false;
    for (name, value) in directives(raw) {
        match (name.to_ascii_lowercase().as_str(), value) {
            ("", _) => errors.push(Obj::from("directive without a name")),
            ("consent", Some(value)) => consent.extend(value.split_whitespace().map(Obj::from)),
            ("withdraw", Some(value)) => {
                all |= value.split_whitespace().any(|v| v == "*");
                withdraw.extend(
                    value
                        .split_whitespace()
                        .filter(|v| *v != "*")
                        .map(Obj::from),
                );
            }
            ("consent" | "withdraw", None) => {
                errors.push(Obj::from(format!("{name} without a value")))
            }
            _ => unknown.push(Obj::from(name)),
        }
    }
    dict([
        ("present", Obj::from(true)),
        ("valid", Obj::from(errors.is_empty())),
        ("raw", Obj::from(raw)),
        ("consent", Obj::list(consent)),
        ("withdraw", Obj::list(withdraw)),
        ("withdraw_all", Obj::from(all)),
        ("unknown", Obj::list(unknown)),
        ("errors", Obj::list(errors)),
    ])
}

/// `name=value` and `name="value"`, separated by commas or semicolons.
fn directives(raw: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut quoted = false;
    let pieces = raw.split(|c: char| {
        quoted ^= c == '"';
        !quoted && matches!(c, ',' | ';')
    });
    for piece in pieces.map(str::trim).filter(|p| !p.is_empty()) {
        match piece.split_once('=') {
            Some((name, value)) => {
                found.push((
                    name.trim().to_owned(),
                    Some(value.trim().trim_matches('"').to_owned()),
                ));
            }
            None => found.push((piece.to_owned(), None)),
        }
    }
    found
}

fn dict<const N: usize>(pairs: [(&str, Obj); N]) -> Obj {
    Obj::dict(pairs.map(|(key, value)| (Obj::from(key), value)))
}
