//! Access to the fields of a form: ns_getform, ns_queryget, ns_queryexists, ns_querygetall, ns_parsequery.

use ::server::script::{Form, FormFile};
use http::charset::Charset;
use shared::Set;
use synopsis::{Call, commands};
use tcl::{Obj, Outcome};

use super::parse::{self, Charsets};
use crate::kinds::{SetArg, context};

commands! { TABLE(call):

    /// The fields of the request's form as a set, with its files in temporary files.
    #[style(args)]
    "ns_getform" [-fallbackcharset: Option<String>] (charset: Option<String>)
        => match get(call, fallbackcharset.as_deref(), charset)? {
            Some(form) => Obj::from(context(call).sets.borrow_mut().enter(&form.fields)),
            None => Obj::new(),
        };

    /// Value of a field of the form, or the given value; names without regard to case.
    #[style(proc)]
    "ns_queryget" (key: String, value: String = String::new())
        => match get(call, None, None)? {
            Some(form) => form.fields.borrow().iget(&key).map_or(value, str::to_owned),
            None => value,
        };

    /// Values of all fields of a name.
    #[style(proc)]
    "ns_querygetall" (key: String, default: Option<Obj>)
        => {
            let form = get(call, None, None)?;
            let all: Vec<Obj> = match &form {
                Some(form) => form.fields.borrow().iget_all(&key).map(Obj::from).collect(),
                None => Vec::new(),
            };
            match all.as_slice() {
                [] => default.unwrap_or_default(),
                // As in the reference the empty value alone is no list with an empty element.
                [only] if only.is_empty() => Obj::new(),
                _ => Obj::list(all),
            }
        };

    /// Whether the form has a field of that name.
    #[style(proc)]
    "ns_queryexists" (key: String)
        => get(call, None, None)?.is_some_and(|form| form.fields.borrow().ifind(&key).is_some());

    /// The fields of a query as a set.
    "ns_parsequery" [-charset: Option<String>, -fallbackcharset: Option<String>, --] (querystring: String)
        => {
            let known = |name: Option<String>| name.and_then(|n| Charset::for_name(&n));
            let main = known(charset).unwrap_or(Charset::UTF_8);
            let mut set = Set::new("parseq");
            http::form::parse_query(querystring.as_bytes(), main, known(fallbackcharset), &mut set)
                .map_err(|_| parse::invalid_text(format!("could not parse query: \"{querystring}\"")))?;
            context(call).sets.borrow_mut().create(set)
        };

    /// Paths of the temporary files of a file field.
    #[style(proc)]
    "ns_getformfile" (name: String)
        => match get(call, None, None)? {
            Some(form) => Obj::list(form.fields.borrow().get_all(&format!("{name}.tmpfile")).map(Obj::from)),
            None => Obj::new(),
        };

    /// Whether the form was parsed already.
    #[style(proc)]
    "ns_isformcached" => context(call).conn().is_some_and(|c| c.form.borrow().is_some());

    /// Forgets the parsed form, or puts another set in its place.
    #[style(proc)]
    "ns_resetcachedform" (newform: Option<SetArg>)
        => if let Some(conn) = context(call).conn() {
            *conn.form.borrow_mut() = newform.map(|s| Form { fields: s.set, files: Vec::new() });
        };

    /// Adds the fields and files of a spooled form to a set.
    #[style(args)]
    "ns_parseformfile" [-fallbackcharset: Option<String>, -encoding: Option<String>]
        (file: String, form: SetArg, ct_dict as "ctDict": Obj)
        => parse_file(call, fallbackcharset, encoding, &file, &form, &ct_dict);
}

fn get(call: &Call<'_>, fallback: Option<&str>, charset: Option<String>) -> Outcome<Option<Form>> {
    let Some(conn) = context(call).conn() else {
        return Ok(None);
    };
    if charset.is_some() || fallback.is_some() {
        // The form may have been parsed with others.
        if charset.is_some() {
            *conn.url_charset.borrow_mut() = charset;
        }
        *conn.form.borrow_mut() = None;
    }
    parse::with_files(call.interp, &conn, fallback).map(Some)
}

fn parse_file(
    call: &Call<'_>,
    fallback: Option<String>,
    encoding: Option<String>,
    file: &str,
    form: &SetArg,
    content_type: &Obj,
) -> Outcome<()> {
    let Some(conn) = context(call).conn() else {
        return Err(tcl::error("no connection"));
    };
    let mut charsets = Charsets::of(&conn, fallback.as_deref());
    if let Some(own) = encoding.and_then(|name| Charset::for_name(&name)) {
        charsets.main = own;
    }
    let boundary = content_type
        .dict_get("boundary")
        .ok()
        .flatten()
        .map(|b| b.text());
    let boundary = boundary.or_else(|| http::syntax::parameter(&content_type.text(), "boundary"));
    let cannot = |e: std::io::Error| tcl::error(format!("couldn't open \"{file}\": {e}"));
    let mut source = std::fs::File::open(file).map_err(cannot)?;
    let Some(boundary) = boundary.filter(|b| !b.is_empty()) else {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut source, &mut text).map_err(cannot)?;
        return http::form::parse_form(
            &text,
            charsets.main,
            charsets.fallback,
            &mut form.set.borrow_mut(),
        )
        .map_err(|_| parse::decoding_error("cannot decode form data"));
    };
    let mut files: Vec<FormFile> = Vec::new();
    let mut fields = Set::unnamed();
    parse::parts_of(&mut source, &boundary, charsets, &mut fields, &mut files)?;
    let dir = context(call).process.tmpdir();
    let mut set = form.set.borrow_mut();
    for (key, value) in fields.iter() {
        set.put(key, value);
    }
    for part in &files {
        let path = parse::extract(&mut source, part, &dir).map_err(cannot)?;
        conn.temporary_files.borrow_mut().push(path.clone());
        set.put(format!("{}.content-type", part.name), &part.content_type);
        set.put(format!("{}.tmpfile", part.name), path.to_string_lossy());
    }
    Ok(())
}
