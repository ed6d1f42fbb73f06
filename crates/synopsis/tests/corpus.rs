//! The whole corpus: every usage line of the reference is expressed as a row and printed again, and every recorded
//! script that fails in the argument parser fails the same way.

use navis_synopsis as synopsis;
use std::collections::BTreeMap;
use std::path::PathBuf;
use synopsis::{Call, Command, Directory, Group, Kind, MAX, Meta, Need, Parsed, Rest, Slot, Style};
use tcl::{Exit, Interp, Obj, Outcome};

fn reference(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/reference")
        .join(name)
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Name, kind and usage of each line that has a usage of its own.
fn lines() -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(reference("commands.tsv")).expect("commands.tsv");
    let mut out = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let usage = fields[2];
        // Lines that quote another command, or no usage at all.
        if usage.starts_with("(no usage")
            || usage.starts_with("(only in")
            || usage.starts_with("(not probed")
        {
            continue;
        }
        let usage = ["(doc) ", "(proc args) ", "(test suite) ", "(range error) "]
            .iter()
            .fold(usage, |u, mark| u.strip_prefix(mark).unwrap_or(u));
        let usage = usage.split(" (no argument").next().unwrap_or(usage);
        let usage = usage.rsplit_once("should be: ").map_or(usage, |(_, u)| u);
        let usage = usage
            .rsplit_once("should be \"")
            .map_or(usage, |(_, u)| u.trim_end_matches('"'));
        out.push((
            fields[0].to_owned(),
            fields[1].to_owned(),
            usage.trim_end().to_owned(),
        ));
    }
    out
}

/// Words of a usage, with `?...?` and `/.../` and options with their values kept together.
fn tokens(usage: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for word in usage.split(' ') {
        if open {
            let last = out.last_mut().expect("an open token");
            last.push(' ');
            last.push_str(word);
        } else {
            out.push(word.to_owned());
        }
        let last = out.last().expect("a token");
        open = match last.as_bytes()[0] {
            b'?' => !(last.len() > 1 && last.ends_with('?')),
            b'/' => !last.ends_with('/'),
            b'-' => !last.contains(' '),
            _ => false,
        };
    }
    out
}

/// The kind of a value or argument, with the text that is not explained by it.
fn kind(text: &str) -> (Kind, Option<&'static str>, &'static str) {
    let plain = text.strip_prefix('/').and_then(|t| t.strip_suffix('/'));
    if let Some(inner) = plain
        && let Some((name, range)) = inner.strip_suffix(']').and_then(|t| t.split_once('['))
        && let Some((min, max)) = range.split_once(',')
    {
        let max = if max == "MAX" {
            MAX
        } else {
            max.parse().expect("a limit")
        };
        return (
            Kind::Integer {
                min: min.parse().expect("a limit"),
                max,
            },
            None,
            leak(name.to_owned()),
        );
    }
    match (plain, text) {
        (Some("integer"), _) => (
            Kind::Integer {
                min: i64::MIN,
                max: MAX,
            },
            None,
            "integer",
        ),
        (Some("boolean"), _) => (Kind::Bool, None, "boolean"),
        (Some(name), _) if !name.contains('/') => (
            Kind::Value(leak(name.to_owned())),
            None,
            leak(name.to_owned()),
        ),
        (_, "true|false") => (Kind::Bool, None, "value"),
        (_, words) if words.contains('|') && !words.contains(['/', ' ']) => {
            let words: Vec<&'static str> = words
                .split('|')
                .map(|w| leak(w.to_owned()).as_str())
                .collect();
            (Kind::Words(leak(words)), None, "value")
        }
        _ => (Kind::Value("value"), Some(leak(text.to_owned())), "value"),
    }
}

/// The slot of a token; None for `?--?`.
fn slot(token: &str, style: Style) -> Option<Slot> {
    let (optional, inner) = match token.strip_prefix('?').and_then(|t| t.strip_suffix('?')) {
        Some(inner) => (true, inner),
        None => (false, token),
    };
    let need = if optional {
        Need::Optional
    } else {
        Need::Required
    };
    if inner == "--" {
        return None;
    }
    if let Some(option) = inner.strip_prefix('-') {
        return Some(match option.split_once(' ') {
            None => Slot::option(
                leak(format!("-{option}")),
                Some(leak(format!("-{option}"))),
                Kind::Bool,
                Need::Required,
                false,
            ),
            Some((name, value)) => {
                let (mut kind, mut text, word) = kind(value);
                if let (Kind::Value(_), Style::Args) = (kind, style) {
                    assert_eq!(
                        word, name,
                        "values of procedures are named like their options"
                    );
                    kind = Kind::Value("value");
                }
                if matches!(kind, Kind::Bool) && style == Style::Native && value == "/boolean/" {
                    text = Some("/boolean/");
                }
                Slot {
                    name: leak(name.to_owned()),
                    text,
                    option: true,
                    kind,
                    need,
                }
            }
        });
    }
    let list = |optional| {
        if optional {
            Need::OptionalRest
        } else {
            Need::Rest
        }
    };
    if let Some(name) = inner
        .strip_prefix('/')
        .and_then(|t| t.strip_suffix(" .../"))
    {
        return Some(Slot::arg(
            leak(name.to_owned()),
            None,
            Kind::Value("value"),
            list(optional),
            false,
        ));
    }
    if style == Style::Proc {
        let (name, need) = inner
            .strip_suffix(" ...")
            .map_or((inner, need), |n| (n, list(optional)));
        return Some(Slot::arg(
            leak(name.to_owned()),
            None,
            Kind::Value("value"),
            need,
            false,
        ));
    }
    let (kind, text, name) = kind(inner);
    Some(match text {
        Some(text) => Slot {
            name,
            text: Some(text),
            option: false,
            kind,
            need,
        },
        None => Slot::arg(name, None, kind, need, false),
    })
}

fn row(name: &str, usage: &str, style: Style, family: Option<&'static str>) -> &'static Command {
    let tail = if style == Style::Args {
        usage
    } else {
        usage.strip_prefix(name).map_or(usage, str::trim_start)
    };
    let mut groups: Vec<(bool, bool, Vec<Slot>)> = Vec::new();
    for token in if tail.is_empty() {
        Vec::new()
    } else {
        tokens(tail)
    } {
        let slot = slot(&token, style);
        let option = slot.as_ref().is_none_or(|s| s.option);
        if groups.last().is_none_or(|(o, _, _)| *o != option) {
            groups.push((option, false, Vec::new()));
        }
        let (_, dashes, slots) = groups.last_mut().expect("one was pushed");
        match slot {
            Some(slot) => slots.push(slot),
            None => *dashes = true,
        }
    }
    let groups: Vec<Group> = groups
        .into_iter()
        .map(|(option, dashes, slots)| {
            let slots: &'static [Slot] = leak(slots);
            if option {
                Group::Options { slots, dashes }
            } else {
                Group::Args(slots)
            }
        })
        .collect();
    let mut meta = vec![Meta::Style(style)];
    meta.extend(family.map(Meta::Family));
    leak(Command {
        name: leak(name.to_owned()),
        meta: leak(meta),
        groups: leak(groups),
        run: convert_only,
    })
}

/// What a row does here: converts what can be converted without the server.
fn convert_only(call: &Call<'_>) -> Outcome {
    let mut parsed = Parsed::new(call)?;
    for slot in call.command.slots() {
        let value = match slot.need {
            Need::Flag => parsed.take::<bool>().map(|_| None)?,
            Need::Rest => parsed.take::<Rest>().map(|_| None)?,
            Need::OptionalRest => parsed.take::<Option<Rest>>().map(|_| None)?,
            Need::Required => parsed.take::<Obj>().map(Some)?,
            Need::Optional => parsed.take::<Option<Obj>>()?,
        };
        let Some(value) = value else { continue };
        match slot.kind {
            Kind::Integer { min, max } => {
                let n = value.int()?;
                if n < min || n > max {
                    let max = if max == MAX {
                        "MAX".to_owned()
                    } else {
                        max.to_string()
                    };
                    return Err(tcl::error(format!(
                        "expected integer in range [{min},{max}] for '{}', but got {n}",
                        slot.label()
                    )));
                }
            }
            Kind::Words(words) if !words.iter().any(|w| value == *w) => {
                return Err(synopsis::hidden::bad_option(&value, words));
            }
            Kind::Bool => drop(value.boolean()?),
            _ => {}
        }
    }
    parsed.finish()?;
    Ok(Obj::from("parsed"))
}

/// The rows of the corpus, the usages of its families, and what cannot be expressed.
#[allow(clippy::type_complexity)]
fn corpus() -> (
    Vec<&'static Command>,
    BTreeMap<String, String>,
    Vec<String>,
    usize,
) {
    let lines = lines();
    let mut rows = Vec::new();
    let mut families = BTreeMap::new();
    let mut foreign = Vec::new();
    let mut expressed = 0;
    let is_family = |name: &str| {
        let prefix = format!("{name} ");
        // ns_ictl gettraces and its like are arguments, recorded once per word.
        lines
            .iter()
            .any(|(n, _, u)| n.starts_with(&prefix) && (u == n || u.starts_with(&format!("{n} "))))
    };
    for (name, kind, usage) in &lines {
        if is_family(name) && !matches!(name.as_str(), "ns_server" | "ns_server charset") {
            families.insert(name.clone(), usage.clone());
            continue;
        }
        let own = usage
            .split(' ')
            .take(name.split(' ').count())
            .collect::<Vec<_>>()
            .join(" ")
            == *name;
        let style = if !own && (usage.starts_with("?-") || usage.starts_with('/')) {
            Style::Args
        } else if kind.starts_with("nsf") && own && usage.contains(" ?-") {
            Style::Nsf
        } else if own && (kind == "Tcl proc" || kind.starts_with("nsf")) && !usage.contains('/') {
            Style::Proc
        } else {
            Style::Native
        };
        // Aliases print the usage of the command they stand for; as rows they have its name typed in front.
        if !own && style != Style::Args {
            foreign.push(format!("{name}: {usage}"));
            continue;
        }
        let command = row(name, usage, style, None);
        if command.usage() == *usage {
            expressed += 1;
            rows.push(command);
        } else {
            foreign.push(format!(
                "{name}: {usage}\n    as a row: {}",
                command.usage()
            ));
        }
    }
    // The second word in a family's usage tells which way it speaks.
    for (name, usage) in &families {
        if let Some(tail) = usage
            .strip_prefix(&format!("{name} "))
            .filter(|t| t.starts_with("/subcommand/"))
        {
            let first = rows
                .iter()
                .position(|r| r.name.starts_with(&format!("{name} ")))
                .expect("a subcommand");
            let Command {
                meta, groups, run, ..
            } = rows[first];
            let mut meta = meta.to_vec();
            meta.push(Meta::Family(leak(tail.to_owned())));
            rows[first] = leak(Command {
                name: rows[first].name,
                meta: leak(meta),
                groups,
                run: *run,
            });
        }
    }
    (rows, families, foreign, expressed)
}

fn directory(rows: Vec<&'static Command>) -> &'static Directory {
    let tables: Vec<&'static [Command]> = rows.into_iter().map(std::slice::from_ref).collect();
    leak(Directory::of(&tables))
}

#[test]
fn every_usage_line_can_be_a_row() {
    let (rows, families, foreign, expressed) = corpus();
    let own: Vec<&String> = foreign.iter().filter(|f| f.contains("as a row")).collect();
    println!(
        "{expressed} rows and {} families expressed; {} lines are another command's or free text:",
        families.len(),
        foreign.len()
    );
    foreign.iter().for_each(|f| println!("  {f}"));
    assert!(own.is_empty(), "cannot be expressed: {own:#?}");
    assert!(expressed >= 860, "{expressed}");

    // Families: ask an interpreter.
    let interp = Interp::create().expect("an interpreter");
    directory(rows).register(&interp);
    let mut wrong = Vec::new();
    for (name, usage) in &families {
        let message = match interp.eval(name) {
            Err(Exit::Error(e)) => e.message().to_owned(),
            other => format!("{other:?}"),
        };
        if message != format!("wrong # args: should be \"{usage}\"") {
            wrong.push(format!("{name}\n  want {usage}\n  got  {message}"));
        }
    }
    // ns_time alone is a call of its own.
    wrong.iter().for_each(|w| println!("{w}"));
    assert!(wrong.len() <= 1, "{}", wrong.join("\n"));
}

#[test]
fn recorded_parser_errors_are_reproduced() {
    let (rows, ..) = corpus();
    let interp = Interp::create().expect("an interpreter");
    directory(rows).register(&interp);
    let mut right = 0;
    let mut wrong = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(reference("vectors"))
        .expect("vectors")
        .filter_map(|e| Some(e.ok()?.path()))
        .collect();
    files.sort();
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "jsonl"))
    {
        for line in std::fs::read_to_string(file)
            .expect("a file of vectors")
            .lines()
        {
            let vector = fields(line);
            let (Some(script), Some(result), Some(code)) = (
                vector.get("script"),
                vector.get("result"),
                vector.get("errorcode"),
            ) else {
                continue;
            };
            let of_parser = [
                "wrong # args: should",
                "bad subcommand",
                "ambiguous subcommand",
                "bad option",
                "missing argument to",
                "expected integer in range",
            ];
            if vector.get("code").map(String::as_str) != Some("1")
                || !of_parser.iter().any(|p| result.contains(p))
                || script.contains(';')
                || script.contains('\n')
            {
                continue;
            }
            let got = match interp.eval(script) {
                Ok(value) => (value.text(), String::new()),
                Err(Exit::Error(e)) => (e.message().to_owned(), e.code().to_owned()),
                Err(other) => (format!("{other:?}"), String::new()),
            };
            if (&got.0, &got.1) == (result, code) {
                right += 1;
            } else {
                wrong.push(format!(
                    "{}: {script}\n  want {result} {code}\n  got  {} {}",
                    vector["id"], got.0, got.1
                ));
            }
        }
    }
    println!("{right} right, {} wrong", wrong.len());
    wrong.iter().for_each(|w| println!("{w}"));
    assert!(
        right > 680 && wrong.len() <= 10,
        "{right} right, {} wrong",
        wrong.len()
    );
}

/// The fields of a flat JSON object; values other than strings as they are written.
fn fields(line: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut chars = line.chars().peekable();
    let mut key: Option<String> = None;
    while let Some(c) = chars.next() {
        let value = match c {
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some('n') => text.push('\n'),
                            Some('t') => text.push('\t'),
                            Some('r') => text.push('\r'),
                            Some('b') => text.push('\u{8}'),
                            Some('f') => text.push('\u{c}'),
                            Some('u') => {
                                let hex: String = chars.by_ref().take(4).collect();
                                text.push(
                                    u32::from_str_radix(&hex, 16)
                                        .ok()
                                        .and_then(char::from_u32)
                                        .unwrap_or('\u{fffd}'),
                                );
                            }
                            Some(c) => text.push(c),
                            None => break,
                        },
                        c => text.push(c),
                    }
                }
                text
            }
            c if c.is_alphanumeric() || c == '-' => {
                let mut text = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || ".-+".contains(*c)) {
                    text.push(c);
                }
                text
            }
            _ => continue,
        };
        match key.take() {
            None => key = Some(value),
            Some(key) => drop(out.insert(key, value)),
        }
    }
    out
}
