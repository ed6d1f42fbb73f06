//! Character sets: names, encodings, and which of them a request uses.

use http::charset::{self, Charset};
use synopsis::{Call, commands};
use tcl::{Obj, Outcome};

use super::parse;
use crate::kinds::{conn, context};

commands! { TABLE(call):

    /// Names of all character sets.
    "ns_charsets" => charset::names().collect::<Vec<&str>>();

    /// The Tcl encoding for a character set; empty if there is none.
    "ns_encodingforcharset" (charset: String) => charset::tcl_encoding(&charset);

    /// The Tcl encoding for content of a type.
    #[style(proc)]
    "ns_encodingfortype" (mimetype: String)
        => {
            let context = context(call);
            let default = context.server.as_ref().map_or_else(|| "utf-8".to_owned(), |s| s.output_charset());
            let default = charset::tcl_encoding(&default).unwrap_or("utf-8");
            charset::tcl_encoding_for_type(&mimetype, default).map(str::to_owned)
        };

    /// Sets the character set of the request's URL and form; the encoding is returned.
    #[style(proc)]
    "ns_urlcharset" (charset: String) => set_charset(call, &charset);

    /// Sets the character set in which the form is decoded.
    #[style(proc)]
    "ns_setformencoding" (charset: String) => set_charset(call, &charset).map(drop);

    /// Decodes the form in the character set that one of its fields names.
    #[style(proc)]
    "ns_formfieldcharset" (name: String)
        => {
            let conn = conn(call)?;
            let form = parse::with_files(call.interp, &conn, Some("iso-8859-1"))?;
            let named = form.fields.borrow().iget(&name).map(str::to_owned);
            match named {
                Some(charset) => set_charset(call, &charset)?,
                None => Obj::new(),
            }
        };

    /// The character set that suits the client best, of a list.
    #[usage("?-preference charset-list?")] #[complains("Usage: ns_choosecharset ?-preference charset-list?")]
    "ns_choosecharset" [-preference: Option<Obj>] => choose(call, preference);
}

fn set_charset(call: &Call<'_>, name: &str) -> Outcome {
    let conn = conn(call)?;
    let Some(encoding) = charset::tcl_encoding(name) else {
        return Err(tcl::error(format!("no encoding for charset \"{name}\"")));
    };
    let before = conn
        .url_charset
        .borrow()
        .clone()
        .unwrap_or_else(|| conn.server.url_charset());
    if Charset::for_name(&before) != Charset::for_name(name) {
        *conn.form.borrow_mut() = None;
    }
    *conn.url_charset.borrow_mut() = Some(charset::iana_name(encoding).unwrap_or(name).to_owned());
    Ok(Obj::from(encoding))
}

fn choose(call: &Call<'_>, preference: Option<Obj>) -> Outcome {
    let conn = conn(call)?;
    let context = context(call);
    let wanted: Vec<String> = match preference {
        Some(list) => list.elements()?.iter().map(Obj::text).collect(),
        None => {
            let configured = context.process.config.read();
            let list = configured.section("ns/parameters").and_then(|s| {
                let found = s
                    .params
                    .iter()
                    .find(|p| p.key.eq_ignore_ascii_case("preferredcharsets"));
                found.map(|p| p.value.clone())
            });
            tcl::list_parse(list.as_deref().unwrap_or("utf-8 iso-8859-1"))?
        }
    };
    let accepted: Vec<(String, f64)> = conn
        .header("accept-charset")
        .unwrap_or_default()
        .split(',')
        .filter_map(weighted)
        .collect();
    let fallback = || conn.server.output_charset();
    if accepted.is_empty() {
        return Ok(Obj::from(wanted.first().cloned().unwrap_or_else(fallback)));
    }
    let quality = |name: &str| {
        let own = accepted.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        own.or_else(|| accepted.iter().find(|(n, _)| n == "*"))
            .map_or(0.0, |(_, q)| *q)
    };
    let mut best: Option<(&String, f64)> = None;
    for name in &wanted {
        let q = quality(name);
        if q > best.map_or(0.0, |(_, q)| q) {
            best = Some((name, q));
        }
    }
    Ok(Obj::from(
        best.map_or_else(fallback, |(name, _)| name.clone()),
    ))
}

/// An element of Accept-Charset: name and weight.
fn weighted(element: &str) -> Option<(String, f64)> {
    let mut pieces = element.split(';');
    let name = pieces.next().map(str::trim).filter(|n| !n.is_empty())?;
    let weight = pieces.find_map(|p| {
        p.trim()
            .strip_prefix("q=")
            .and_then(|q| q.trim().parse().ok())
    });
    Some((name.to_owned(), weight.unwrap_or(1.0)))
}
