//! Header fields, messages, and media types, as scripts take them apart.

use http::fields;
use server::script::SetRef;
use synopsis::{Call, FromObj, Kind, Label, commands};
use tcl::{Exit, Obj};

use crate::kinds::context;

commands! { TABLE(call):

    /// Adds a header line to a set.
    "ns_parseheader" [-prefix: Option<String>] (set: HeaderSet, headerline: String)
        => parse_header(&set, &headerline, prefix.as_deref().unwrap_or(""));

    /// The elements of a field value with their parameters.
    "ns_parsefieldvalue" [-lower: bool, -single: bool, -strict: bool, --] (fieldvalue: String)
        => parse_field_value(&fieldvalue, lower, single, strict);

    /// First line, headers and body of a message, as a dictionary.
    "ns_parsemessage" (message: String)
        => parse_message(call, &message);

    /// The media type of a file name.
    "ns_guesstype" (filename: String)
        => context(call).process.mime.read().guess(&filename);
}

/// A set by its handle, with the complaint that this command has.
struct HeaderSet(SetRef);

impl FromObj for HeaderSet {
    const KIND: Kind = Kind::Value("set");

    fn from_obj(call: &Call<'_>, _label: Label, value: &Obj) -> Result<Self, Exit> {
        let handle = value.text();
        let set = context(call).sets.borrow().get(&handle);
        set.map(HeaderSet)
            .ok_or_else(|| tcl::error(format!("no such set: '{handle}'")))
    }
}

fn parse_header(set: &HeaderSet, line: &str, prefix: &str) -> Result<usize, Exit> {
    let index = fields::parse_header(&mut set.0.borrow_mut(), line, prefix);
    index.ok_or_else(|| tcl::error(format!("invalid header: {line}")))
}

fn parse_field_value(text: &str, lower: bool, single: bool, strict: bool) -> Result<Obj, Exit> {
    let elements = fields::parse_field_value(text, lower, strict, single).map_err(tcl::error)?;
    let mut lists = elements.into_iter().map(|element| {
        Obj::list(
            element
                .into_iter()
                .flat_map(|(name, value)| [Obj::from(name), Obj::from(value)]),
        )
    });
    Ok(if single {
        lists.next().unwrap_or_default()
    } else {
        Obj::list(lists)
    })
}

fn parse_message(call: &Call<'_>, text: &str) -> Result<Obj, Exit> {
    let message = fields::parse_message(text).ok_or_else(|| {
        tcl::error(format!(
            "{}: provided HTTP message is not well-formed",
            call.words[0].text()
        ))
    })?;
    let headers = context(call).sets.borrow_mut().create(message.headers);
    Ok(Obj::list_of([
        "firstline",
        &message.first_line,
        "headers",
        &headers,
        "body",
        &message.body,
    ]))
}
