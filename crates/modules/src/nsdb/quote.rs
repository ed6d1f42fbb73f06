//! Values, names and lists as they stand in SQL.

use synopsis::{choice, commands};
use tcl::{Exit, Obj};

choice! {
    /// Types of columns; values of all but text stand in SQL as they are.
    pub enum ColumnType {
        Decimal = "decimal", Double = "double", Integer = "integer", Int = "int", Real = "real", Smallint = "smallint",
        Bigint = "bigint", Bit = "bit", Float = "float", Numeric = "numeric", Tinyint = "tinyint", Text = "text",
    }
}

commands! { TABLE(call):

    /// A value for SQL: quoted unless its type is a number, NULL when it is empty.
    "ns_dbquotevalue" (value: Obj, r#type: Option<ColumnType>)
        => value.with_text(|v| quote_value(v, r#type.unwrap_or(ColumnType::Text)));

    /// The values of a list for SQL, with commas between them.
    "ns_dbquotelist" (list: Vec<Obj>, r#type: Option<ColumnType>)
        => quote_list(&list, r#type.unwrap_or(ColumnType::Text));

    /// A name for SQL: in double quotes if it contains a space.
    #[style(proc)]
    "ns_dbquotename" (name: String)
        => quote_name(name);

    /// The elements of a list in quotes, `'a' 'b c'`, as a Tcl list.
    "ns_quotelisttolist" (value: String)
        => unquote_list(&value);
}

fn quote_value(value: &str, column: ColumnType) -> String {
    if value.is_empty() {
        return "NULL".to_owned();
    }
    if column != ColumnType::Text {
        return value.to_owned();
    }
    let mut out = String::with_capacity(value.len() + 2);
    out.push('\'');
    for c in value.chars() {
        if c == '\'' {
            out.push('\'');
        }
        out.push(c);
    }
    out.push('\'');
    out
}

fn quote_list(list: &[Obj], column: ColumnType) -> String {
    let quoted: Vec<String> = list
        .iter()
        .map(|v| v.with_text(|v| quote_value(v, column)))
        .collect();
    quoted.join(",")
}

fn quote_name(name: String) -> String {
    if name.contains(' ') {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name
    }
}

fn unquote_list(text: &str) -> Result<Vec<String>, Exit> {
    let mut elements = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    let mut pending = false;
    for c in text.chars() {
        match c {
            '\'' => {
                // A quote ends the element before it, or the one it closes.
                if quoted || pending {
                    elements.push(std::mem::take(&mut current));
                }
                quoted = !quoted;
                pending = false;
            }
            c if c.is_whitespace() && !quoted => {
                if pending {
                    elements.push(std::mem::take(&mut current));
                }
                pending = false;
            }
            c => {
                current.push(c);
                pending = !quoted;
            }
        }
    }
    if pending || !current.is_empty() {
        elements.push(current);
    }
    Ok(elements)
}
