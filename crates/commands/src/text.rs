//! Plain text: trimming, breaking lines, comparing, CSV, hashes.

use synopsis::{Call, Int, commands};
use tcl::{Exit, Obj, SubstFlags};

use crate::collate;

commands! { TABLE(call):

    /// A block of text without its indentation.
    "ns_trim" [-subst: bool, -delimiter: Option<String>, -prefix: Option<String>, --] (text: String)
        => trim(call, &text, delimiter.as_deref(), prefix.as_deref(), subst);

    /// Text in lines of limited length.
    "ns_reflow_text" [-width: Option<Int<5>>, -offset: Option<Int<0>>, -prefix: Option<String>, --] (text: String)
        => reflow(
            &text,
            width.map_or(80, Int::as_usize),
            offset.map_or(0, Int::as_usize),
            prefix.as_deref().unwrap_or(""),
        );

    /// Compares two texts in the order of a locale.
    "ns_strcoll" [-locale: Option<String>, --] (string1: String, string2: String)
        => collate::compare(locale.as_deref(), &string1, &string2);

    /// Reads one record of comma-separated values.
    "ns_getcsv" [-delimiter: Option<String>, -quotechar: Option<String>, -trim: bool, --]
        (channel as "channelId": Obj, varname: String)
        => get_csv(
            call,
            &Csv {
                delimiters: delimiter.as_deref().unwrap_or(","),
                quotes: quotechar.as_deref().unwrap_or("\""),
                trim,
            },
            &channel,
            &varname,
        );

    /// A directory of several levels for a name.
    "ns_hashpath" (string: String, levels: Int<1>)
        => hash_path(&string, levels.as_usize());

    /// A number for a text.
    "ns_hash" (value: String)
        => hash(&value);

    /// A password, encrypted as crypt(3) did at first.
    "ns_crypt" (key: String, salt: String)
        => crypt(&key, &salt);
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
        return Err(tcl::error(
            "invalid arguments: either -prefix or -delimiter can be specified",
        ));
    }
    let delimiter = match delimiter.map(|d| (d.chars().next(), d.chars().count())) {
        None => None,
        Some((Some(c), 1)) => Some(c),
        Some(_) => {
            return Err(tcl::error(
                "invalid arguments: -delimiter must be a single character",
            ));
        }
    };
    let body = text.strip_prefix('\n').unwrap_or(text);
    let body = body
        .strip_suffix('\n')
        .map_or(body, |b| b.strip_suffix('\r').unwrap_or(b));
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
    if subst {
        call.interp.subst(&trimmed, SubstFlags::ALL)
    } else {
        Ok(trimmed)
    }
}

/// Lengths are bytes of UTF-8, as in the reference; `offset` is what the first line has used up already.
fn reflow(text: &str, width: usize, offset: usize, prefix: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8 + prefix.len());
    let mut limit = width.saturating_sub(offset);
    let mut rest = text;
    while !rest.is_empty() {
        out.push_str(prefix);
        let line = rest.find('\n').unwrap_or(rest.len());
        let end = if line <= limit {
            line
        } else {
            // A blank at the limit still breaks there; a word that is too long is left whole.
            let fitting = rest.as_bytes()[..line]
                .iter()
                .take(limit + 1)
                .rposition(|&b| b == b' ');
            fitting.or_else(|| rest[..line].find(' ')).unwrap_or(line)
        };
        out.push_str(&rest[..end]);
        rest = &rest[end..];
        if !rest.is_empty() {
            out.push('\n');
            rest = &rest[1..];
        }
        limit = width;
    }
    out
}

struct Csv<'a> {
    /// Each character of it ends a field.
    delimiters: &'a str,
    quotes: &'a str,
    /// Blanks around fields that are not quoted go.
    trim: bool,
}

/// The number of fields, -1 at the end of the file.
fn get_csv(call: &Call<'_>, csv: &Csv<'_>, channel: &Obj, variable: &str) -> Result<i64, Exit> {
    let next = || -> Result<Option<String>, Exit> {
        let line = call.interp.call(&[Obj::from("::gets"), channel.clone()])?;
        if line.is_empty()
            && call
                .interp
                .call(&[Obj::from("::eof"), channel.clone()])?
                .boolean()?
        {
            return Ok(None);
        }
        Ok(Some(line.text()))
    };
    let Some(mut record) = next()? else {
        return Ok(-1);
    };
    let fields = loop {
        match csv.split(&record) {
            Some(fields) => break fields,
            // A quoted field goes on in the next line.
            None => match next()? {
                Some(line) => {
                    record.push('\n');
                    record.push_str(&line);
                }
                None => return Ok(-1),
            },
        }
    };
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    call.interp.set(variable, Obj::list_of(fields))?;
    Ok(count)
}

impl Csv<'_> {
    /// The fields of a record; `None` if it ends within quotes.
    fn split(&self, record: &str) -> Option<Vec<String>> {
        let mut fields = Vec::new();
        let mut rest = record;
        if rest.is_empty() {
            return Some(fields);
        }
        loop {
            let start = if self.trim {
                rest.trim_start_matches([' ', '\t'])
            } else {
                rest
            };
            let quote = start.chars().next().filter(|c| self.quotes.contains(*c));
            let (field, after) = match quote {
                Some(quote) => {
                    let (field, after) = quoted(&start[quote.len_utf8()..], quote)?;
                    (field, &after[self.delimiter_in(after)..])
                }
                None => {
                    let (field, after) = rest.split_at(self.delimiter_in(rest));
                    let field = if self.trim {
                        field.trim_matches([' ', '\t'])
                    } else {
                        field
                    };
                    (field.to_owned(), after)
                }
            };
            fields.push(field);
            let mut chars = after.chars();
            if chars.next().is_none() {
                return Some(fields);
            }
            rest = chars.as_str();
        }
    }

    fn delimiter_in(&self, text: &str) -> usize {
        text.find(|c| self.delimiters.contains(c))
            .unwrap_or(text.len())
    }
}

/// What stands before the closing quote, doubled ones made single, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once(quote)?;
        field.push_str(part);
        match after.strip_prefix(quote) {
            Some(after) => {
                field.push(quote);
                rest = after;
            }
            None => return Some((field, after)),
        }
    }
}

/// One byte of the name per level; dots and slashes are passed over, `_` fills up.
fn hash_path(text: &str, levels: usize) -> Result<String, Exit> {
    // Longer paths than any system takes are mistakes; the limit keeps them from using up memory.
    const MOST: usize = 1 << 20;
    if levels > MOST {
        return Err(tcl::error(format!("too many levels: {levels}")));
    }
    let mut bytes = text.bytes().filter(|b| !matches!(b, b'.' | b'/'));
    Ok((0..levels)
        .flat_map(|_| ['/', bytes.next().map_or('_', char::from)])
        .collect())
}

/// The hash of Tcl's tables.
fn hash(text: &str) -> i64 {
    text.bytes().fold(0i64, |hash, byte| {
        hash.wrapping_mul(9).wrapping_add(i64::from(byte))
    })
}

fn crypt(key: &str, salt: &str) -> Result<String, Exit> {
    match salt.as_bytes() {
        &[a, b] => Ok(crate::descrypt::crypt(key.as_bytes(), [a, b])),
        _ => Err(tcl::error("salt string must be 2 characters long")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks() {
        let text = "red green blue cyan black white";
        assert_eq!(
            reflow(text, 10, 5, ""),
            "red\ngreen blue\ncyan black\nwhite"
        );
        assert_eq!(
            reflow("averyverylongword x", 10, 0, "> "),
            "> averyverylongword\n> x"
        );
        assert_eq!(reflow("ää öö\n\nü", 5, 0, ""), "ää\nöö\n\nü");
        assert_eq!(reflow("x", 5, 9, ""), "x");
    }

    #[test]
    fn records() {
        let csv = Csv {
            delimiters: ",",
            quotes: "\"",
            trim: false,
        };
        let split = |text| csv.split(text).map(|f| f.join("|"));
        assert_eq!(split("a,\"b\"c,d").as_deref(), Some("a|b|d"));
        assert_eq!(split("\"e\"\"f\",").as_deref(), Some("e\"f|"));
        assert_eq!(split("\"open"), None);
    }
}
