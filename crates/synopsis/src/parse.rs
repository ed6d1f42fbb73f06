//! From the words of a call to the typed values of a row.
//!
//! The order of complaints is the reference's: words are converted from left to right, and only then are missing or
//! superfluous words an error (`ns_set array nosuch x` says "no such set").

use crate::kinds::FromObj;
use crate::row::{Command, Group, Kind, Label, Need, Slot, Style};
use std::any::Any;
use std::ops::Deref;
use tcl::{Exit, Interp, Obj, TclError};

/// A call of a command: the interpreter and the words, as typed.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub interp: &'a Interp,
    /// All words; the first one is the command's name as typed.
    pub words: &'a [Obj],
    /// The row that runs.
    pub command: &'static Command,
    /// How many words are the command's name, and so not its arguments.
    pub skip: usize,
    /// What the row that handed over wants this one to know.
    pub context: Option<&'a dyn Any>,
}

impl<'a> Call<'a> {
    /// A call of `command` whose name takes as many words as it has.
    pub fn new(interp: &'a Interp, words: &'a [Obj], command: &'static Command) -> Call<'a> {
        Call {
            interp,
            words,
            command,
            skip: command.words().count().min(words.len()),
            context: None,
        }
    }

    /// The words behind the command's name.
    pub fn args(&self) -> &'a [Obj] {
        &self.words[self.skip.min(self.words.len())..]
    }

    /// What the row that handed over passed on.
    pub fn context<T: 'static>(&self) -> Option<&'a T> {
        self.context.and_then(|c| c.downcast_ref())
    }

    /// Evaluates another row on the same words; the first `skip` of them are repeated as typed in its usage.
    pub fn hand_over(
        &self,
        command: &'static Command,
        skip: usize,
        context: Option<&dyn Any>,
    ) -> tcl::Outcome {
        let call = Call {
            interp: self.interp,
            words: self.words,
            command,
            skip: skip.min(self.words.len()),
            context,
        };
        (command.run)(&call)
    }

    /// Calls another command with the words behind this one's name: `ns_ssl` is `ns_http`.
    pub fn forward(&self, command: &str) -> tcl::Outcome {
        let mut words = vec![Obj::from(command)];
        words.extend_from_slice(self.args());
        self.interp.call(&words)
    }

    /// The words of the name: typed, except that an abbreviated subcommand is written out.
    pub fn typed(&self) -> String {
        let mut names = self.command.words();
        let mut typed = String::new();
        for (i, word) in self.words[..self.skip.min(self.words.len())]
            .iter()
            .enumerate()
        {
            let name = names.next();
            if i > 0 {
                typed.push(' ');
            }
            word.with_text(|text| match name {
                Some(name) if i > 0 && name.starts_with(text) => typed.push_str(name),
                _ if text.is_empty()
                    || text.contains(|c: char| c.is_whitespace() || "{}[]\"\\$;".contains(c)) =>
                {
                    typed.push_str(&tcl::list_format(&[text]));
                }
                _ => typed.push_str(text),
            });
        }
        typed
    }

    /// `wrong # args: should be "..."`, with errorCode TCL WRONGARGS, in the row's style.
    pub fn wrong_args(&self) -> Exit {
        match self.command.complaint() {
            Some(text) => TclError::new(text).into(),
            None => wrong_args(&self.command.usage_as(&self.typed())),
        }
    }

    fn missing(&self, slot: &Slot) -> Exit {
        match self.command.style() {
            Style::Nsf => {
                let usage = self.command.usage_as(&self.typed());
                tcl::error(format!(
                    "required argument '{}' is missing, should be:\n\t{usage}",
                    slot.name
                ))
            }
            _ => self.wrong_args(),
        }
    }

    fn excess(&self, word: &Obj) -> Exit {
        match self.command.style() {
            Style::Nsf if self.command.slots().next().is_some() => tcl::error(format!(
                "invalid argument '{}', maybe too many arguments; should be \"{}\"",
                word.text(),
                self.command.usage_as(&self.typed())
            )),
            _ => self.wrong_args(),
        }
    }
}

/// `wrong # args: should be "usage"` with Tcl's errorCode.
pub(crate) fn wrong_args(usage: &str) -> Exit {
    TclError::new(format!("wrong # args: should be \"{usage}\""))
        .with_code(&["TCL", "WRONGARGS"])
        .into()
}

/// All remaining words.
#[derive(Clone, Copy)]
pub struct Rest<'a>(pub &'a [Obj]);

impl Deref for Rest<'_> {
    type Target = [Obj];
    fn deref(&self) -> &[Obj] {
        self.0
    }
}

impl<'a> IntoIterator for Rest<'a> {
    type Item = &'a Obj;
    type IntoIter = std::slice::Iter<'a, Obj>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Rest<'_> {
    /// The words as a Tcl list.
    pub fn list(&self) -> Obj {
        Obj::list(self.0.iter().cloned())
    }

    /// The words joined by one blank.
    pub fn joined(&self) -> String {
        let mut text = String::new();
        for (i, word) in self.0.iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            word.with_text(|t| text.push_str(t));
        }
        text
    }
}

/// A type a slot can have: every [`FromObj`] type, its `Option`, [`Rest`] and `Option<Rest>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type for an option or argument",
    note = "use Obj, String, i64, f64, bool, Int<MIN, MAX>, Time, MemorySize, Rest, a `choice!` type, a type with `impl FromObj`, or Option of one"
)]
pub trait Take<'a>: Sized {
    const KIND: Kind;
    const NEED: Need;
    fn take(call: &'a Call<'a>, slot: &'static Slot, found: Found<'a>) -> Result<Self, Exit>;
}

/// The words that belong to a slot.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    word: Option<&'a Obj>,
    rest: &'a [Obj],
}

impl<'a, T: FromObj> Take<'a> for T {
    const KIND: Kind = T::KIND;
    const NEED: Need = Need::Required;
    fn take(call: &'a Call<'a>, slot: &'static Slot, found: Found<'a>) -> Result<T, Exit> {
        if slot.need == Need::Flag
            && let Some(value) = T::from_flag(found.word.is_some())
        {
            return Ok(value);
        }
        match found.word {
            Some(word) => convert(call, slot, word),
            None => Err(call.missing(slot)),
        }
    }
}

impl<'a, T: FromObj> Take<'a> for Option<T> {
    const KIND: Kind = T::KIND;
    const NEED: Need = Need::Optional;
    fn take(call: &'a Call<'a>, slot: &'static Slot, found: Found<'a>) -> Result<Option<T>, Exit> {
        found.word.map(|word| convert(call, slot, word)).transpose()
    }
}

impl<'a> Take<'a> for Rest<'a> {
    const KIND: Kind = Kind::Value("value");
    const NEED: Need = Need::Rest;
    fn take(call: &'a Call<'a>, slot: &'static Slot, found: Found<'a>) -> Result<Rest<'a>, Exit> {
        if found.rest.is_empty() {
            return Err(call.missing(slot));
        }
        Ok(Rest(found.rest))
    }
}

impl<'a> Take<'a> for Option<Rest<'a>> {
    const KIND: Kind = Kind::Value("value");
    const NEED: Need = Need::OptionalRest;
    fn take(_: &'a Call<'a>, _: &'static Slot, found: Found<'a>) -> Result<Option<Rest<'a>>, Exit> {
        Ok(if found.rest.is_empty() {
            None
        } else {
            Some(Rest(found.rest))
        })
    }
}

fn convert<T: FromObj>(call: &Call<'_>, slot: &'static Slot, word: &Obj) -> Result<T, Exit> {
    let value = T::from_obj(call, slot.label(), word);
    match (value, T::KIND) {
        (Err(Exit::Error(e)), Kind::Integer { .. }) if call.command.style() == Style::Nsf => {
            Err(tcl::error(format!(
                "{} for parameter \"{}\"",
                e.message(),
                slot.label()
            )))
        }
        (value, _) => value,
    }
}

/// Slots a row may have; `ns_http queue` has the most of all known commands, 35.
const MOST: usize = 64;

/// The words of a call, sorted into the slots of its row.
pub struct Parsed<'a> {
    call: &'a Call<'a>,
    /// Index of each slot's word plus one; 0: absent.
    at: [u32; MOST],
    /// The words of the one slot that takes several.
    rest: &'a [Obj],
    /// The first word no slot wants.
    excess: Option<&'a Obj>,
    /// Groups that are not yet taken, and the slot within the first of them.
    groups: &'static [Group],
    within: usize,
    taken: usize,
}

impl<'a> Parsed<'a> {
    /// Sorts the words. Errors: an option at the end lacks its value.
    pub fn new(call: &'a Call<'a>) -> Result<Parsed<'a>, Exit> {
        let groups = call.command.groups;
        let mut parsed = Parsed {
            call,
            at: [0; MOST],
            rest: &[],
            excess: None,
            groups,
            within: 0,
            taken: 0,
        };
        let words = call.words;
        let mut w = call.skip;
        let mut base = 0;
        for (g, group) in groups.iter().enumerate() {
            match group {
                Group::Options { slots, dashes } => {
                    let needed = required(&groups[g + 1..]);
                    w = parsed.options(slots, *dashes, base, w, needed)?;
                    base += slots.len();
                }
                Group::Args(slots) => {
                    let behind = required(&groups[g + 1..]);
                    w = parsed.args(slots, base, w, behind);
                    base += slots.len();
                }
                Group::Table(_) => {
                    parsed.rest = &words[w.min(words.len())..];
                    w = words.len();
                }
            }
        }
        parsed.excess = words.get(w);
        Ok(parsed)
    }

    /// The value of the next slot. Errors: it is required and absent, or its text is no such value.
    pub fn take<T: Take<'a>>(&mut self) -> Result<T, Exit> {
        let (slot, found) = self.next();
        T::take(self.call, slot, found)
    }

    /// The value of the next slot, or its default.
    pub fn take_or<T: FromObj>(&mut self, default: impl FnOnce() -> T) -> Result<T, Exit> {
        let (slot, found) = self.next();
        Ok(<Option<T> as Take>::take(self.call, slot, found)?.unwrap_or_else(default))
    }

    /// The subcommand in the remaining words.
    pub fn take_table(&mut self, rows: &'static [Command]) -> Result<crate::Subcommands<'a>, Exit> {
        if self.rest.is_empty() {
            Err(self.call.wrong_args())
        } else {
            Ok(crate::Subcommands::new(self.call, rows, self.rest))
        }
    }

    /// To be called when all slots are taken. Errors: there are more words than slots.
    pub fn finish(self) -> Result<(), Exit> {
        match self.excess {
            Some(word) => Err(self.call.excess(word)),
            None => Ok(()),
        }
    }

    fn next(&mut self) -> (&'static Slot, Found<'a>) {
        let slot = loop {
            match self.groups.first() {
                Some(Group::Options { slots, .. } | Group::Args(slots))
                    if self.within < slots.len() =>
                {
                    break &slots[self.within];
                }
                Some(_) => {
                    self.groups = &self.groups[1..];
                    self.within = 0;
                }
                None => unreachable!("`commands!` takes as many values as it declares slots"),
            }
        };
        let index = self.at[self.taken] as usize;
        self.within += 1;
        self.taken += 1;
        let rest = if matches!(slot.need, Need::Rest | Need::OptionalRest) {
            self.rest
        } else {
            &[]
        };
        (
            slot,
            Found {
                word: index.checked_sub(1).map(|i| &self.call.words[i]),
                rest,
            },
        )
    }

    fn options(
        &mut self,
        slots: &'static [Slot],
        dashes: bool,
        base: usize,
        mut w: usize,
        needed: usize,
    ) -> Result<usize, Exit> {
        let words = self.call.words;
        while let Some(word) = words.get(w) {
            let left = words.len() - w;
            let complete = slots
                .iter()
                .enumerate()
                .all(|(i, s)| !s.is_required() || self.at[base + i] != 0);
            let fits = left == needed && complete;
            // A byte array is data; asking for its text would make it a text for every later reader.
            if word.is_bytes() {
                break;
            }
            let Some(option) = word.with_text(|text| {
                let name = text.strip_prefix('-')?;
                if dashes && name == "-" {
                    return Some(slots.len());
                }
                slots.iter().position(|s| s.name == name)
            }) else {
                break;
            };
            let flag = slots.get(option).is_none_or(|s| s.need == Need::Flag);
            if fits && (flag || left > 1) {
                break;
            }
            let Some(slot) = slots.get(option) else {
                w += 1;
                break;
            };
            let value = if flag { w } else { w + 1 };
            if value >= words.len() {
                return Err(tcl::error(format!("missing argument to -{}", slot.name)));
            }
            self.at[base + option] = position(value);
            w = value + 1;
        }
        Ok(w)
    }

    fn args(&mut self, slots: &'static [Slot], base: usize, mut w: usize, behind: usize) -> usize {
        let words = self.call.words;
        for (i, slot) in slots.iter().enumerate() {
            let left = words.len().saturating_sub(w);
            let spare = left
                .saturating_sub(slots[i + 1..].iter().filter(|s| s.is_required()).count() + behind);
            match slot.need {
                Need::Rest | Need::OptionalRest => {
                    // A required list gets its first word even where words behind it are missing: the count is wrong anyway.
                    let count = if slot.need == Need::Rest {
                        spare.max(left.min(1))
                    } else {
                        spare
                    };
                    self.rest = &words[w..w + count];
                    w += count;
                }
                Need::Optional if spare == 0 => {}
                _ if left == 0 => {}
                _ => {
                    self.at[base + i] = position(w);
                    w += 1;
                }
            }
        }
        w
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

fn required(groups: &[Group]) -> usize {
    groups
        .iter()
        .map(|g| match g {
            Group::Args(slots) => slots.iter().filter(|s| s.is_required()).count(),
            Group::Options { .. } => 0,
            Group::Table(_) => 1,
        })
        .sum()
}

impl std::fmt::Debug for Rest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(Obj::text))
            .finish()
    }
}

/// The label a message uses for a slot that is not in a table.
impl From<&'static str> for Label {
    fn from(name: &'static str) -> Label {
        Label::new(name)
    }
}
