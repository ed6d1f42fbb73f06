//! Pages as they are kept: the text and its blocks once for a server, scripts compiled once for an interpreter.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use server::process::Process;
use tcl::{Exit, Obj, TclError};

use super::Shared;
use super::parser::{self, Block, Script};

/// What tells whether a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    pub dev: u64,
    pub ino: u64,
    pub mtime: (i64, i64),
    pub size: u64,
}

/// In which way a page is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    pub safe: bool,
    pub single: bool,
    /// The file or text is a Tcl script.
    pub tcl: bool,
    pub tagset: Rc<str>,
}

/// A page in memory, shared by all threads.
pub struct Source {
    /// `None` for a page that was given as text.
    pub file: Option<String>,
    pub state: Option<FileState>,
    pub text: String,
    pub blocks: Vec<Block>,
    /// For a page that became one script: lines of the script and of the page.
    lines: Vec<(u32, u32)>,
    epoch: u64,
    /// How often it ran.
    pub evals: AtomicU64,
}

impl Source {
    fn new(
        file: Option<String>,
        state: Option<FileState>,
        text: String,
        variant: &Variant,
        shared: &Shared,
    ) -> Source {
        let epoch = shared.tags.epoch();
        let mut lines = Vec::new();
        let blocks = if variant.tcl {
            vec![Block::Script(Script {
                text: text.clone(),
                line: 1,
                stream: false,
            })]
        } else {
            let blocks = shared.tags.with_lookup(&variant.tagset, |lookup| {
                parser::parse(&text, variant.safe, lookup)
            });
            if variant.single && blocks.iter().any(|b| matches!(b, Block::Script(_))) {
                let (script, pairs) = parser::single_script(&text, &blocks);
                lines = pairs;
                vec![Block::Script(script)]
            } else {
                blocks
            }
        };
        Source {
            file,
            state,
            text,
            blocks,
            lines,
            epoch,
            evals: AtomicU64::new(0),
        }
    }

    /// The line of the page for a line of one of its scripts.
    pub fn line(&self, script: &Script, line: i64) -> u32 {
        let line = u32::try_from(line).unwrap_or(1).max(1);
        match self
            .lines
            .iter()
            .rev()
            .find(|(in_script, _)| *in_script <= line)
        {
            Some((in_script, in_page)) => in_page + (line - in_script),
            None => script.line + line - 1,
        }
    }

    pub fn scripts(&self) -> usize {
        self.blocks
            .iter()
            .filter(|b| matches!(b, Block::Script(_)))
            .count()
    }
}

/// A page with its scripts as Tcl values, which keep their compiled form.
pub struct Page {
    pub source: Arc<Source>,
    /// One for each block; `None` for text.
    pub scripts: Vec<Option<Obj>>,
    /// `apply` and all blocks as the body of one procedure, for pages that run more than once: variables and loops are
    /// several times faster in a procedure than in scripts on their own.
    pub call: Option<[Obj; 2]>,
    /// For each block the line of that body where it begins.
    pub body_lines: Vec<u32>,
}

impl Page {
    fn new(source: Arc<Source>, again: bool) -> Rc<Page> {
        let script = |b: &Block| match b {
            Block::Text(_) => None,
            Block::Script(s) => Some(Obj::from(&s.text)),
        };
        let scripts = source.blocks.iter().map(script).collect();
        let (call, body_lines) = match again {
            true => {
                let (body, lines) = body(&source.blocks);
                let lambda = Obj::list([Obj::new(), Obj::from(body), Obj::from("::")]);
                (Some([Obj::from("::apply"), lambda]), lines)
            }
            false => (None, Vec::new()),
        };
        Rc::new(Page {
            source,
            scripts,
            call,
            body_lines,
        })
    }
}

/// The variable of a page's procedure that takes the result of its blocks: a blank, which nobody uses for a name.
pub const RESULT: &str = " ";

/// The body of a page's procedure, and the line in it where each block begins. The blocks are as they are in the page,
/// each in a `catch`; a block that is no word in braces is evaluated instead.
fn body(blocks: &[Block]) -> (String, Vec<u32>) {
    let mut body = String::new();
    let mut lines = Vec::with_capacity(blocks.len());
    let mut line = 1;
    let mut after_script = false;
    for (i, block) in blocks.iter().enumerate() {
        let from = body.len();
        let script = match block {
            Block::Text(_) => None,
            Block::Script(s) => Some(s),
        };
        if let Some(script) = script {
            if after_script {
                // Text does this by the way.
                body.push_str(&format!("::navis::adp_check {i}\n"));
                line += 1;
            }
            if script.stream {
                body.push_str("::navis::adp_stream; ");
            }
            if parser::is_braced_word(&script.text) {
                let text = &script.text;
                body.push_str(&format!(
                    "if {{[catch {{{text}}} {{{RESULT}}}] == 1}} {{::navis::adp_failed {i}}}\n"
                ));
            } else {
                body.push_str(&format!("::navis::adp_eval {i}\n"));
            }
        } else {
            body.push_str(&format!("::navis::adp_text {i}\n"));
        }
        after_script = script.is_some();
        lines.push(line);
        line = 1 + parser::newlines(&body);
        debug_assert!(body.len() > from);
    }
    (body, lines)
}

/// The pages of a server by path; there is more than one of a path where it is read in several ways.
#[derive(Default)]
pub struct Sources {
    by_path: RwLock<HashMap<String, Vec<(SharedVariant, Arc<Source>)>>>,
    bytes: AtomicUsize,
}

type SharedVariant = (bool, bool, bool, String);

impl Sources {
    /// All pages, for `ns_adp_stats`.
    pub fn list(&self) -> Vec<Arc<Source>> {
        self.by_path
            .read()
            .values()
            .flatten()
            .map(|(_, s)| Arc::clone(s))
            .collect()
    }

    fn get(
        &self,
        path: &str,
        variant: &SharedVariant,
        state: FileState,
        epoch: u64,
    ) -> Option<Arc<Source>> {
        let sources = self.by_path.read();
        let (_, source) = sources.get(path)?.iter().find(|(v, _)| v == variant)?;
        (source.state == Some(state) && source.epoch == epoch).then(|| Arc::clone(source))
    }

    fn put(&self, path: &str, variant: SharedVariant, source: &Arc<Source>, budget: usize) {
        let mut sources = self.by_path.write();
        if self.bytes.load(Ordering::Relaxed) + source.text.len() > budget {
            // Rare, and interpreters keep the pages they use.
            sources.clear();
            self.bytes.store(0, Ordering::Relaxed);
        }
        self.bytes.fetch_add(source.text.len(), Ordering::Relaxed);
        let list = sources.entry(path.to_owned()).or_default();
        list.retain(|(v, _)| *v != variant);
        list.push((variant, Arc::clone(source)));
    }
}

/// Pages given as text that an interpreter keeps, and the bytes of the longest one.
const KEPT_TEXTS: usize = 256;
const KEPT_TEXT: usize = 4096;

/// The pages of an interpreter.
#[derive(Default)]
pub struct Pages {
    by_text: RefCell<HashMap<Box<str>, Vec<(Variant, Rc<Page>)>>>,
    by_path: RefCell<HashMap<Box<str>, Vec<(Variant, Rc<Page>)>>>,
}

impl Pages {
    /// A page given as text. Short ones are kept: registered tags and templates come again and again.
    pub fn of_text(&self, text: &str, variant: &Variant, shared: &Shared) -> Rc<Page> {
        let make = || {
            let source = Source::new(None, None, text.to_owned(), variant, shared);
            Page::new(Arc::new(source), false)
        };
        if text.len() > KEPT_TEXT {
            return make();
        }
        let epoch = shared.tags.epoch();
        let mut kept = self.by_text.borrow_mut();
        let same = |list: &Vec<(Variant, Rc<Page>)>| list.iter().position(|(v, _)| v == variant);
        if let Some((list, at)) = kept.get_mut(text).and_then(|l| same(l).map(|at| (l, at))) {
            let page = &mut list[at].1;
            if page.source.epoch != epoch {
                *page = make();
            } else if page.call.is_none() {
                // The second time it pays to compile it as a whole.
                *page = Page::new(Arc::clone(&page.source), true);
            }
            return Rc::clone(page);
        }
        if kept.len() >= KEPT_TEXTS {
            kept.clear();
        }
        let page = make();
        kept.entry(text.into())
            .or_default()
            .push((variant.clone(), Rc::clone(&page)));
        page
    }

    /// The page in a file, read and parsed when the file has changed.
    ///
    /// # Errors
    /// The file cannot be read; error code `POSIX ...`.
    pub fn load(
        &self,
        path: &str,
        variant: &Variant,
        shared: &Shared,
        process: &Process,
    ) -> Result<Rc<Page>, Exit> {
        let state = stat(path)?;
        let epoch = shared.tags.epoch();
        if let Some(list) = self.by_path.borrow().get(path) {
            let fresh = |(v, p): &&(Variant, Rc<Page>)| {
                v == variant && p.source.state == Some(state) && p.source.epoch == epoch
            };
            if let Some((_, page)) = list.iter().find(fresh) {
                return Ok(Rc::clone(page));
            }
        }
        let key = (
            variant.safe,
            variant.single,
            variant.tcl,
            variant.tagset.to_string(),
        );
        let source = match shared.sources.get(path, &key, state, epoch) {
            Some(source) => source,
            None => {
                let bytes = std::fs::read(path).map_err(|e| file_error("open", path, &e))?;
                let text = decode(bytes, path, process);
                let source = Arc::new(Source::new(
                    Some(path.to_owned()),
                    Some(state),
                    text,
                    variant,
                    shared,
                ));
                shared
                    .sources
                    .put(path, key, &source, shared.settings.cachesize.as_usize());
                source
            }
        };
        let page = Page::new(source, true);
        let mut pages = self.by_path.borrow_mut();
        let list = pages.entry(path.into()).or_default();
        list.retain(|(v, _)| v != variant);
        list.push((variant.clone(), Rc::clone(&page)));
        Ok(page)
    }
}

/// The state of a regular file.
///
/// # Errors
/// `could not stat "PATH": no such file or directory`.
pub fn stat(path: &str) -> Result<FileState, Exit> {
    let meta = std::fs::metadata(path).map_err(|e| file_error("stat", path, &e))?;
    if !meta.is_file() {
        return Err(TclError::new(format!("not an ordinary file: {path}")).into());
    }
    Ok(FileState {
        dev: meta.dev(),
        ino: meta.ino(),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        size: meta.size(),
    })
}

fn file_error(what: &str, path: &str, e: &std::io::Error) -> Exit {
    let (code, text) = match e.kind() {
        std::io::ErrorKind::NotFound => ("ENOENT", "no such file or directory".to_owned()),
        std::io::ErrorKind::PermissionDenied => ("EACCES", "permission denied".to_owned()),
        _ => ("EIO", e.to_string().to_ascii_lowercase()),
    };
    TclError::new(format!("could not {what} \"{path}\": {text}"))
        .with_code(&["POSIX", code, &text])
        .into()
}

/// The text of a file: in the encoding of its extension (`ns/encodings`), that of its media type, else UTF-8.
fn decode(bytes: Vec<u8>, path: &str, process: &Process) -> String {
    let named = encoding_of(path, process);
    let charset = named.as_deref().and_then(http::charset::Charset::for_name);
    match charset {
        Some(c) if !c.is_utf8() => c.decode(&bytes).map_or_else(
            || http::charset::lenient(&bytes).into_owned(),
            |t| t.into_owned(),
        ),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|e| http::charset::lenient(e.as_bytes()).into_owned()),
    }
}

fn encoding_of(path: &str, process: &Process) -> Option<String> {
    let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    let config = process.config.read();
    let configured = config.section("ns/encodings").and_then(|s| {
        s.get(&format!(".{extension}"))
            .or_else(|| s.get(&extension))
            .map(str::to_owned)
    });
    configured.or_else(|| http::charset::of_type(process.mime.read().guess(path)))
}
