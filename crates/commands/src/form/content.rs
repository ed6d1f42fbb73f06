//! The body of a request: ns_getcontent, ns_getjson.

use std::io::Write;

use http::charset::Charset;
use synopsis::{Call, choice, commands};
use tcl::{Obj, Outcome};

use super::parse;
use crate::kinds::{conn, context};

commands! { TABLE(call):

    /// The request's body, as a file or as a value.
    #[style(args)]
    "ns_getcontent" [-as_file as "as_file": bool = true, -binary: bool = true]
        => content(call, as_file, binary);

    /// The request's JSON body.
    #[style(args)]
    "ns_getjson" [-output: Option<Output>]
        => {
            let conn = conn(call)?;
            let body = conn.content().map_err(unreadable)?;
            let text = Charset::UTF_8.decode(&body).ok_or_else(|| parse::decoding_error("cannot decode JSON data"))?;
            let output = output.unwrap_or(Output::TclValue).word();
            call.interp.call(&["::ns_json", "parse", "-output", output, &text].map(Obj::from))
        };
}

choice! {
    /// What JSON is turned into.
    pub enum Output { TclValue = "tclvalue", Triples = "triples", Set = "set" }
}

fn content(call: &Call<'_>, as_file: bool, binary: bool) -> Outcome {
    let conn = conn(call)?;
    if !as_file {
        let body = conn.content().map_err(unreadable)?;
        if binary {
            return Ok(Obj::bytes(&body));
        }
        let content_type = conn.header("content-type").unwrap_or_default();
        let own = http::charset::of_type(&content_type).and_then(|name| Charset::for_name(&name));
        let text = own
            .unwrap_or(Charset::UTF_8)
            .decode(&body)
            .ok_or_else(|| parse::decoding_error("cannot decode content"))?;
        return Ok(Obj::from(&*text));
    }
    if let Some(path) = conn.content_file() {
        return Ok(Obj::from(path.to_string_lossy().as_ref()));
    }
    let (path, mut file) = parse::temporary(&context(call).process.tmpdir()).map_err(unreadable)?;
    conn.temporary_files.borrow_mut().push(path.clone());
    file.write_all(&conn.content().map_err(unreadable)?)
        .map_err(unreadable)?;
    Ok(Obj::from(path.to_string_lossy().as_ref()))
}

fn unreadable(e: std::io::Error) -> tcl::Exit {
    tcl::error(format!("cannot read request content: {e}"))
}
