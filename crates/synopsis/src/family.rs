//! Registration: one Tcl command per first word, and the way from its words to the row.

use crate::kinds::comma_or;
use crate::parse::{Call, wrong_args};
use crate::row::{Command, Meta};
use std::any::Any;
use std::sync::{Mutex, OnceLock};
use tcl::{Exit, Interp, Obj, Outcome, TclError};

/// Registers all commands of `tables`. The order of the rows is the order of subcommands in messages.
///
/// Which words lead to which row is worked out once per list of tables and kept for the life of the process; a further
/// interpreter costs one registration per command.
pub fn register_all(interp: &Interp, tables: &[&'static [Command]]) {
    type Known = (Vec<(usize, usize)>, &'static Directory);
    static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
    let key: Vec<(usize, usize)> = tables
        .iter()
        .map(|t| (t.as_ptr() as usize, t.len()))
        .collect();
    let mut known = KNOWN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let directory = match known.iter().find(|(k, _)| *k == key) {
        Some((_, directory)) => *directory,
        None => {
            let directory: &'static Directory = Box::leak(Box::new(Directory::of(tables)));
            known.push((key, directory));
            directory
        }
    };
    drop(known);
    directory.register(interp);
}

/// Names a hook that hears of each call of a deprecated command: the words of its name and the advice. The first wins.
pub fn report_deprecated(hook: fn(&str, &str)) {
    let _ = DEPRECATED.set(hook);
}

static DEPRECATED: OnceLock<fn(&str, &str)> = OnceLock::new();

/// The commands of some tables, by their words.
pub struct Directory {
    commands: Vec<Node>,
}

/// A word of a name, with what may follow it.
#[derive(Default)]
struct Node {
    word: &'static str,
    row: Option<&'static Command>,
    /// In table order.
    children: Vec<Node>,
    /// Indices of `children`, sorted by word.
    sorted: Vec<usize>,
    /// Of a family that speaks like Tcl: what follows its name in its usage.
    usage: Option<&'static str>,
}

impl Directory {
    /// Of two rows with one name the later counts, so that a table can replace commands of another.
    pub fn of(tables: &[&'static [Command]]) -> Directory {
        let mut root = Node::default();
        for row in tables.iter().flat_map(|t| t.iter()) {
            let mut node = &mut root;
            let words = row.words().count();
            for (i, word) in row.words().enumerate() {
                node = node.child(word);
                if i + 2 == words {
                    let usage = row.meta.iter().find_map(|m| {
                        if let Meta::Family(u) = m {
                            Some(*u)
                        } else {
                            None
                        }
                    });
                    node.usage = node.usage.or(usage);
                }
            }
            node.row = Some(row);
        }
        root.sort();
        Directory {
            commands: root.children,
        }
    }

    pub fn register(&'static self, interp: &Interp) {
        for node in &self.commands {
            interp.register(node.word, move |interp, words| {
                node.dispatch(interp, words, 1, None)
            });
        }
    }

    /// Names of the commands, without subcommands.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.commands.iter().map(|n| n.word)
    }
}

impl Node {
    fn child(&mut self, word: &'static str) -> &mut Node {
        // Tables keep a family together: look from the end.
        match self.children.iter().rposition(|c| c.word == word) {
            Some(i) => &mut self.children[i],
            None => {
                self.children.push(Node {
                    word,
                    ..Node::default()
                });
                self.children.last_mut().expect("one was just pushed")
            }
        }
    }

    fn sort(&mut self) {
        self.sorted = (0..self.children.len()).collect();
        let children = &self.children;
        self.sorted.sort_by_key(|&i| children[i].word);
        self.children.iter_mut().for_each(Node::sort);
    }

    fn find(&self, word: &str) -> Option<&Node> {
        let at = self
            .sorted
            .binary_search_by(|&i| self.children[i].word.cmp(word))
            .ok()?;
        Some(&self.children[self.sorted[at]])
    }

    fn dispatch(
        &self,
        interp: &Interp,
        words: &[Obj],
        depth: usize,
        context: Option<&dyn Any>,
    ) -> Outcome {
        let mut node = self;
        let mut depth = depth;
        while !node.children.is_empty() {
            let Some(word) = words.get(depth) else { break };
            node = node.subcommand(word, words, depth)?;
            depth += 1;
        }
        match node.row {
            Some(row) => {
                if let (Some(advice), Some(hook)) = (row.deprecated(), DEPRECATED.get()) {
                    hook(row.name, advice);
                }
                (row.run)(&Call {
                    interp,
                    words,
                    command: row,
                    skip: depth,
                    context,
                })
            }
            None => Err(node.incomplete(&words[..depth])),
        }
    }

    fn subcommand(&self, word: &Obj, words: &[Obj], depth: usize) -> Result<&Node, Exit> {
        word.with_text(|text| {
            if let Some(node) = self.find(text) {
                return Ok(node);
            }
            if self.usage.is_none() {
                let list = self.list();
                return Err(tcl::error(format!(
                    "{}: bad subcommand \"{text}\": must be {list}",
                    typed(&words[..depth])
                )));
            }
            let mut matches = self.children.iter().filter(|c| c.word.starts_with(text));
            let what = match (matches.next(), matches.next()) {
                (Some(node), None) if !text.is_empty() => return Ok(node),
                (Some(_), _) => "ambiguous",
                (None, _) => "bad",
            };
            let message = format!("{what} subcommand \"{text}\": must be {}", self.list());
            Err(TclError::new(message)
                .with_code(&["TCL", "LOOKUP", "INDEX", "subcommand", text])
                .into())
        })
    }

    fn incomplete(&self, words: &[Obj]) -> Exit {
        let typed = typed(words);
        match self.usage {
            Some(tail) => wrong_args(&format!("{typed} {tail}")),
            None => {
                let names: Vec<&str> = self.children.iter().map(|c| c.word).collect();
                // The missing question mark is the reference's.
                wrong_args(&format!("{typed} {} ?/arg .../", names.join("|")))
            }
        }
    }

    /// `a`, `a or b`, `a, b, or c`: as Tcl lists alternatives.
    fn list(&self) -> String {
        let names: Vec<&str> = self.children.iter().map(|c| c.word).collect();
        match names[..] {
            [first, second] => format!("{first} or {second}"),
            _ => comma_or(&names),
        }
    }
}

fn typed(words: &[Obj]) -> String {
    let texts: Vec<String> = words.iter().map(Obj::text).collect();
    texts.join(" ")
}

/// The subcommand that stands in the last words of a row `... {rest in TABLE}`.
pub struct Subcommands<'a> {
    call: &'a Call<'a>,
    rows: &'static [Command],
    rest: &'a [Obj],
}

impl<'a> Subcommands<'a> {
    pub(crate) fn new(
        call: &'a Call<'a>,
        rows: &'static [Command],
        rest: &'a [Obj],
    ) -> Subcommands<'a> {
        Subcommands { call, rows, rest }
    }

    /// The subcommand as typed.
    pub fn name(&self) -> String {
        self.rest[0].text()
    }

    /// Runs the row whose second word is the subcommand; its call has `context`, and the command's name and the
    /// subcommand as its words, so that usages leave out the options between them.
    /// Errors: `bad option "x": must be ...`, or what the row returns.
    pub fn run(&self, context: &dyn Any) -> Outcome {
        let word = &self.rest[0];
        let row = word.with_text(|text| self.rows.iter().find(|r| r.words().nth(1) == Some(text)));
        let Some(row) = row else {
            let names: Vec<&str> = self.rows.iter().filter_map(|r| r.words().nth(1)).collect();
            return Err(crate::kinds::bad_option(word, &names));
        };
        let mut words = Vec::with_capacity(self.rest.len() + 1);
        words.push(self.call.words[0].clone());
        words.extend_from_slice(self.rest);
        (row.run)(&Call {
            interp: self.call.interp,
            words: &words,
            command: row,
            skip: 2,
            context: Some(context),
        })
    }
}
