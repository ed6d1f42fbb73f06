//! A row of a command table as data, and the usage line made from it.

use crate::parse::Call;
use std::fmt::{self, Write};
use tcl::Outcome;

/// One command or subcommand, as `commands!` declares it.
pub struct Command {
    /// Its words: `ns_md5`, `ns_set get`, `ns_json triples schema`.
    pub name: &'static str,
    /// Documentation and marks, in the order they are written.
    pub meta: &'static [Meta],
    /// Options and arguments, in the order they are typed.
    pub groups: &'static [Group],
    /// Parses the words of the call and evaluates the right side of the row.
    pub run: fn(&Call<'_>) -> Outcome,
}

/// A line of documentation or a mark on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// `/// text`
    Doc(&'static str),
    /// `#[deprecated("use X")]`: still works; the hook of [`crate::report_deprecated`] hears of each call.
    Deprecated(&'static str),
    /// `#[style(proc)]`: whose messages the row speaks.
    Style(Style),
    /// `#[usage("/array/ ...")]`: text in place of the generated usage behind the command's words.
    Usage(&'static str),
    /// `#[complains("text")]`: the whole message when words are missing or too many; its errorCode is NONE.
    Complains(&'static str),
    /// `#[named("ns_adp_puts")]`: what usages print in place of the words of the name, typed or not.
    Named(&'static str),
    /// `#[family("/subcommand/ ?/arg .../?")]` on one row of a family: subcommands may be abbreviated, messages are
    /// Tcl's own (`bad subcommand "x": must be ...`), and this text follows the family's name in its usage.
    Family(&'static str),
}

/// The kind of messages a row produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `wrong # args: should be "ns_md5 ?-binary? ?--? /string/"`
    Native,
    /// A Tcl procedure: `wrong # args: should be "ns_dbquotename name"`
    Proc,
    /// A Tcl procedure that parses its own arguments: `wrong # args: should be "?-length /length/? /message/"`
    Args,
    /// `required argument 'counter' is missing, should be: ...` and `invalid argument 'x', maybe too many arguments; ...`
    Nsf,
}

/// A run of options or of arguments.
pub enum Group {
    /// Options in any order, ended by `--` if `dashes`.
    Options {
        slots: &'static [Slot],
        dashes: bool,
    },
    /// Arguments in their order.
    Args(&'static [Slot]),
    /// The remaining words are a subcommand of this table.
    Table(&'static [Command]),
}

/// One option or argument.
pub struct Slot {
    /// Name without dash and slashes.
    pub name: &'static str,
    /// What stands in the usage in place of the value or argument.
    pub text: Option<&'static str>,
    pub option: bool,
    pub kind: Kind,
    pub need: Need,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text; the word names it in the usage of an option: `-timeout /time/`.
    Value(&'static str),
    /// A whole number within limits; `i64::MAX` is written MAX.
    Integer { min: i64, max: i64 },
    /// A truth value.
    Bool,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// Whether a slot must be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An option without value.
    Flag,
    Required,
    Optional,
    /// All remaining words, at least one.
    Rest,
    /// All remaining words.
    OptionalRest,
}

/// How a message names a slot: `-width`, `hour`, `?idx`.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    mark: &'static str,
    name: &'static str,
}

impl Label {
    /// The label of a required argument, for conversions outside a table.
    pub const fn new(name: &'static str) -> Label {
        Label { mark: "", name }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mark, self.name)
    }
}

impl Command {
    /// The usage line: `ns_md5 ?-binary? ?--? /string/`.
    pub fn usage(&self) -> String {
        let mut line = self.prefix(self.name);
        self.write_tail(&mut line);
        line
    }

    /// The usage line with the command's words as they were typed.
    pub fn usage_as(&self, typed: &str) -> String {
        let mut line = self.prefix(typed);
        self.write_tail(&mut line);
        line
    }

    /// Its documentation, one line per `///`, without the leading blank.
    pub fn doc(&self) -> String {
        let mut text = String::new();
        for meta in self.meta {
            if let Meta::Doc(line) = meta {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(line.strip_prefix(' ').unwrap_or(line));
            }
        }
        text
    }

    /// The advice of a deprecated row.
    pub fn deprecated(&self) -> Option<&'static str> {
        self.meta.iter().find_map(|m| {
            if let Meta::Deprecated(advice) = m {
                Some(*advice)
            } else {
                None
            }
        })
    }

    pub fn style(&self) -> Style {
        self.meta
            .iter()
            .find_map(|m| {
                if let Meta::Style(style) = m {
                    Some(*style)
                } else {
                    None
                }
            })
            .unwrap_or(Style::Native)
    }

    /// Words of the name: `["ns_set", "get"]`.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.name.split(' ')
    }

    /// All slots in the order they are typed.
    pub fn slots(&self) -> impl Iterator<Item = &'static Slot> {
        self.groups.iter().flat_map(|g| match g {
            Group::Options { slots, .. } | Group::Args(slots) => slots.iter(),
            Group::Table(_) => [].iter(),
        })
    }

    pub(crate) fn complaint(&self) -> Option<&'static str> {
        self.meta.iter().find_map(|m| {
            if let Meta::Complains(text) = m {
                Some(*text)
            } else {
                None
            }
        })
    }

    fn prefix(&self, typed: &str) -> String {
        let named = self.meta.iter().find_map(|m| {
            if let Meta::Named(name) = m {
                Some(*name)
            } else {
                None
            }
        });
        if self.style() == Style::Args {
            String::new()
        } else {
            named.unwrap_or(typed).to_owned()
        }
    }

    fn write_tail(&self, line: &mut String) {
        if let Some(text) = self.meta.iter().find_map(|m| {
            if let Meta::Usage(text) = m {
                Some(*text)
            } else {
                None
            }
        }) {
            push(line, text);
            return;
        }
        let style = self.style();
        for group in self.groups {
            match group {
                Group::Options { slots, dashes } => {
                    slots.iter().for_each(|s| push(line, &s.usage(style)));
                    if *dashes {
                        push(line, "?--?");
                    }
                }
                Group::Args(slots) => slots.iter().for_each(|s| push(line, &s.usage(style))),
                Group::Table(rows) => {
                    let names: Vec<&str> = rows.iter().filter_map(|r| r.words().nth(1)).collect();
                    push(line, &names.join("|"));
                    push(line, "?/arg .../?");
                }
            }
        }
    }
}

fn push(line: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    if !line.is_empty() {
        line.push(' ');
    }
    line.push_str(text);
}

impl Slot {
    /// Made by `commands!` for `[-name as "text": Type = default]`.
    pub const fn option(
        name: &'static str,
        text: Option<&'static str>,
        kind: Kind,
        need: Need,
        default: bool,
    ) -> Slot {
        let need = match need {
            Need::Required if default => Need::Optional,
            Need::Required if matches!(kind, Kind::Bool) => Need::Flag,
            need => need,
        };
        match text {
            Some(text) if text.as_bytes()[0] == b'-' => Slot {
                name: text.split_at(1).1,
                text: None,
                option: true,
                kind,
                need,
            },
            _ => Slot {
                name: bare(name),
                text,
                option: true,
                kind,
                need,
            },
        }
    }

    /// Made by `commands!` for `(name as "text": Type = default)`.
    pub const fn arg(
        name: &'static str,
        text: Option<&'static str>,
        kind: Kind,
        need: Need,
        default: bool,
    ) -> Slot {
        let need = match need {
            Need::Required if default => Need::Optional,
            Need::Rest if default => Need::OptionalRest,
            need => need,
        };
        match text {
            Some(text) if !is_literal(text) => Slot {
                name: text,
                text: None,
                option: false,
                kind,
                need,
            },
            _ => Slot {
                name: bare(name),
                text,
                option: false,
                kind,
                need,
            },
        }
    }

    /// How messages name it.
    pub const fn label(&self) -> Label {
        let mark = match self.need {
            _ if self.option => "-",
            Need::Optional | Need::OptionalRest => "?",
            _ => "",
        };
        Label {
            mark,
            name: self.name,
        }
    }

    /// True if the call is incomplete without it.
    pub const fn is_required(&self) -> bool {
        matches!(self.need, Need::Required | Need::Rest)
    }

    fn usage(&self, style: Style) -> String {
        let core = if self.option {
            match self.need {
                Need::Flag => format!("-{}", self.name),
                _ => format!("-{} {}", self.name, self.value(style)),
            }
        } else {
            self.argument(style)
        };
        match self.need {
            Need::Required | Need::Rest => core,
            _ => format!("?{core}?"),
        }
    }

    fn value(&self, style: Style) -> String {
        match (self.text, self.kind) {
            (Some(text), _) => text.to_owned(),
            (None, _) if style == Style::Args => format!("/{}/", self.name),
            (None, Kind::Value(word)) if style == Style::Proc => word.to_owned(),
            (None, Kind::Value(word)) => format!("/{word}/"),
            (None, Kind::Integer { min, max }) => format!("/integer{}/", range(min, max)),
            (None, Kind::Bool) if style == Style::Nsf => "/boolean/".to_owned(),
            (None, Kind::Bool) => "true|false".to_owned(),
            (None, Kind::Words(words)) => words.join("|"),
        }
    }

    fn argument(&self, style: Style) -> String {
        let rest = matches!(self.need, Need::Rest | Need::OptionalRest);
        match (self.text, self.kind) {
            (Some(text), _) => text.to_owned(),
            (None, _) if style == Style::Proc && rest => format!("{} ...", self.name),
            (None, _) if style == Style::Proc => self.name.to_owned(),
            (None, _) if rest => format!("/{} .../", self.name),
            (None, Kind::Value(_)) => format!("/{}/", self.name),
            (None, _) if style != Style::Native => format!("/{}/", self.name),
            (None, Kind::Integer { min, max }) => format!("/{}{}/", self.name, range(min, max)),
            (None, Kind::Bool) => "true|false".to_owned(),
            (None, Kind::Words(words)) => words.join("|"),
        }
    }
}

/// `[1,MAX]`, or nothing when any number will do.
pub(crate) fn range(min: i64, max: i64) -> String {
    let mut text = String::new();
    if (min, max) != (i64::MIN, i64::MAX) {
        text.push('[');
        push_limit(&mut text, min);
        text.push(',');
        push_limit(&mut text, max);
        text.push(']');
    }
    text
}

fn push_limit(text: &mut String, limit: i64) {
    match limit {
        i64::MAX => text.push_str("MAX"),
        i64::MIN => text.push_str("MIN"),
        n => write!(text, "{n}").expect("writing to a String cannot fail"),
    }
}

/// `r#type` and `_unused` are `type` and `unused` to users.
const fn bare(name: &'static str) -> &'static str {
    let b = name.as_bytes();
    if b.len() > 2 && b[0] == b'r' && b[1] == b'#' {
        name.split_at(2).1
    } else if b.len() > 1 && b[0] == b'_' {
        name.split_at(1).1
    } else {
        name
    }
}

/// A text with a slash or a bar stands in the usage as it is; otherwise it is a name.
const fn is_literal(text: &str) -> bool {
    let b = text.as_bytes();
    let mut i = 0;
    while i < b.len() {
        if b[i] == b'/' || b[i] == b'|' {
            return true;
        }
        i += 1;
    }
    false
}
