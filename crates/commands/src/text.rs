//! HTML and plain text.

use synopsis::{Call, commands};
use tcl::{Exit, Obj, SubstFlags};

commands! { TABLE(call):

    /// Text that can stand in HTML.
    "ns_quotehtml" (html: String)
        => http::html::quote(&html).into_owned();

    /// Text with its character references replaced.
    "ns_unquotehtml" (html: String)
        => http::html::unquote(&html).into_owned();

    /// Text without its tags.
    "ns_striphtml" (html: String)
        => http::html::strip(&html);

    /// A block of text without its indentation.
    "ns_trim" [-subst: bool, -delimiter: Option<String>, -prefix: Option<String>, --] (text: String)
        => trim(call, &text, delimiter.as_deref(), prefix.as_deref(), subst);
}

/// The newline in front and the one at the end belong to the quoting, not to the text.
fn trim(
    call: &Call<'_>,
    text: &str,
    delimiter: Option<&str>,
    prefix: Option<&str>,
    subst: bool,
) -> Result<Obj, Exit> {
    if delimiter.is_some() && prefix.is_some() {
        return Err(tcl::error("invalid arguments: either -prefix or -delimiter can be specified"));
    }
    let delimiter = match delimiter.map(|d| (d.chars().next(), d.chars().count())) {
        None => None,
        Some((Some(c), 1)) => Some(c),
        Some(_) => return Err(tcl::error("invalid arguments: -delimiter must be a single character")),
    };
    let body = text.strip_prefix('\n').unwrap_or(text);
    let body = body.strip_suffix('\n').map_or(body, |b| b.strip_suffix('\r').unwrap_or(b));
    let lines: Vec<&str> = body
        .split('\n')
        .map(|line| match prefix {
            Some(prefix) => line.strip_prefix(prefix).unwrap_or(line),
            None => {
                let line = line.trim_start_matches(' ');
                delimiter.and_then(|d| line.strip_prefix(d)).unwrap_or(line)
            }
        })
        .collect();
    let trimmed = Obj::from(lines.join("\n"));
    if subst { call.interp.subst(&trimmed, SubstFlags::ALL) } else { Ok(trimmed) }
}
