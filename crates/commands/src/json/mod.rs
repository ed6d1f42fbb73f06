//! ns_json: JSON texts, their values, triples and schemas.

mod convert;
pub mod null;
pub mod parse;
mod schema;
mod triples;
pub mod write;

use synopsis::{Call, Int, Rest, choice, commands};
use tcl::{Exit, Obj};

pub use convert::{guess, number, of_triple, to_tcl};
use parse::{Limits, Value};
use triples::{Place, Type};

use crate::kinds::context;

choice! {
    /// What a text becomes.
    enum Output { Tcl = "tclvalue", Triples = "triples", Set = "set" }

    /// What a text may be.
    enum Top { Any = "any", Container = "container" }

    /// What a value of triples becomes.
    enum Form { Json = "json", Triples = "triples" }
}

commands! { TABLE(call):

    /// Whether a value is JSON's null; a text that looks like it is not.
    "ns_json isnull" (value: Obj)
        => null::is_null(call.interp, &value);

    /// JSON's null.
    "ns_json null" ()
        => null::null(call.interp);

    /// The text that keyencode made a segment of.
    "ns_json keydecode" (string: String)
        => convert::decode_key(&string);

    /// A text as a segment of the keys of sets.
    "ns_json keyencode" (string: String)
        => convert::encode_key(&string);

    /// The parts of a key of a set.
    "ns_json keyinfo" (key: String)
        => {
            let (key, field) = key.strip_suffix(".type").map_or((&*key, ""), |key| (key, "type"));
            let key = Obj::from(convert::decode_key(key));
            Obj::list([Obj::from("key"), key, Obj::from("field"), Obj::from(field)])
        };

    /// The value of a JSON text.
    "ns_json parse" [
        -output: Output = Output::Tcl, -scan: bool, -top: Top = Top::Any, -nullvalue: Option<String>,
        -validatenumbers: bool, -maxdepth: Option<Int<1>>, -maxstring: Option<Int<0>>, -maxcontainer: Option<Int<0>>, --
    ] (value: Obj)
        => {
            let limits = Limits {
                depth: maxdepth.map_or(Limits::default().depth, Int::as_usize),
                string: maxstring.map_or(0, Int::as_usize),
                container: maxcontainer.map_or(0, Int::as_usize),
                finite: validatenumbers,
                container_only: top == Top::Container,
            };
            parse_command(call, &text(&value), &limits, output, nullvalue.as_deref().unwrap_or(""), scan)
        };

    /// The JSON text of a value in triples.
    "ns_json triples getvalue" [
        -path: Option<Obj>, -pointer: Option<String>, -indices: bool, -output: Form = Form::Json, -pretty: bool, --
    ] (triples: Obj)
        => {
            let names = triples::names(path.as_ref(), pointer.as_deref())?;
            let place = Place::find(&triples, &names, "ns_json triples")?;
            if indices {
                Ok(place.indices(2))
            } else if output == Form::Triples {
                Ok(place.value())
            } else {
                Ok::<_, Exit>(shown(&of_triple(&place.kind(), &place.value())?, pretty))
            }
        };

    /// Triples with another value.
    "ns_json triples setvalue" [
        -path: Option<Obj>, -pointer: Option<String>, -r#type: Type = Type::Auto, --
    ] (triples: Obj, value: Obj)
        => {
            let names = triples::names(path.as_ref(), pointer.as_deref())?;
            if names.is_empty() {
                return Err(tcl::error("ns_json triples setvalue: empty path"));
            }
            let place = Place::find(&triples, &names, "ns_json triples setvalue")?;
            let (kind, value) = triples::new_value(call.interp, r#type, &place.kind(), &value)?;
            Ok::<_, Exit>(place.replaced(kind, value))
        };

    /// The type of a value in triples.
    "ns_json triples gettype" [-path: Option<Obj>, -pointer: Option<String>, -indices: bool, --] (triples: Obj)
        => {
            let names = triples::names(path.as_ref(), pointer.as_deref())?;
            let place = Place::find(&triples, &names, "ns_json triples")?;
            Ok::<_, Exit>(if indices { place.indices(1) } else { Obj::from(place.kind()) })
        };

    /// A JSON schema that the values of some triples match.
    "ns_json triples schema" [-pretty: bool, -required: bool, --] (triples: Rest)
        => {
            let mut shape = schema::Shape::default();
            for triples in triples {
                shape.see(&document(triples)?);
            }
            Ok::<_, Exit>(shown(&shape.schema(required), pretty))
        };

    /// Whether triples match a JSON schema; an error tells where not.
    "ns_json triples match" [-schema: Obj, -ignoreunsupported: bool, --] (triples: Obj)
        => {
            let limits = Limits { container_only: true, ..Limits::default() };
            let schema = parse::parse(&text(&schema), &limits)?;
            schema::check(&schema, &document(&triples)?, ignoreunsupported)?;
            Ok::<_, Exit>(true)
        };

    /// The JSON text of a Tcl value.
    "ns_json value" [-r#type: Type = Type::Auto, -pretty: bool, --] (value: Obj)
        => Ok::<_, Exit>(shown(&as_type(call, r#type, &value)?, pretty));
}

/// The text of a value; of bytes, which come from bodies of requests, the text that they encode.
fn text(value: &Obj) -> String {
    if value.is_bytes()
        && let Ok(text) = String::from_utf8(value.to_bytes())
    {
        return text;
    }
    value.text()
}

fn shown(value: &Value, pretty: bool) -> Obj {
    Obj::from(if pretty {
        write::pretty(value)
    } else {
        write::compact(value)
    })
}

fn parse_command(
    call: &Call<'_>,
    text: &str,
    limits: &Limits,
    output: Output,
    nullvalue: &str,
    scan: bool,
) -> Result<Obj, Exit> {
    let (value, end) = if scan {
        parse::parse_prefix(text, limits)?
    } else {
        (parse::parse(text, limits)?, text.len())
    };
    let null = null::with_text(call.interp, nullvalue);
    let result = match output {
        Output::Tcl => to_tcl(&value, &null),
        Output::Triples => convert::to_triples(&value, &null),
        Output::Set => {
            let set = convert::to_set(&value, nullvalue);
            Obj::from(context(call).sets.borrow_mut().create(set))
        }
    };
    Ok(if scan {
        Obj::list([result, Obj::from(end)])
    } else {
        result
    })
}

/// The value of a document in triples.
fn document(triples: &Obj) -> Result<Value, Exit> {
    match convert::document(triples) {
        Some((kind, content)) => of_triple(&kind, &content),
        None => of_triple("object", triples),
    }
}

fn as_type(call: &Call<'_>, kind: Type, value: &Obj) -> Result<Value, Exit> {
    match kind {
        Type::Auto => guess(call.interp, value),
        Type::Number => convert::number(value).map(Value::Number),
        kind => of_triple(kind.word(), value),
    }
}
