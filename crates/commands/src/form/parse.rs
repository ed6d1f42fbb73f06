//! The form of a request: fields of its query and of its body, whatever the body's kind, and the files in it.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::server::script::{Conn, Context, Form, FormFile};
use http::charset::Charset;
use http::form::Kind;
use http::multipart::{self, MultipartError, PartLimits};
use shared::Set;
use tcl::{Exit, Interp, Obj, Outcome, TclError};

/// Character sets for the text of forms.
#[derive(Clone, Copy, Debug)]
pub struct Charsets {
    /// Of the URL, and of bodies that name none.
    pub main: Charset,
    /// For what is no text in that one.
    pub fallback: Option<Charset>,
}

impl Charsets {
    /// Those of a request; `fallback` goes before what is configured.
    pub fn of(conn: &Conn, fallback: Option<&str>) -> Charsets {
        let main = conn
            .url_charset
            .borrow()
            .clone()
            .unwrap_or_else(|| conn.server.url_charset());
        let configured = || conn.server.form_fallback_charset();
        let fallback = fallback.map(str::to_owned).or_else(configured);
        Charsets {
            main: Charset::for_name(&main).unwrap_or(Charset::UTF_8),
            fallback: fallback.and_then(|name| Charset::for_name(&name)),
        }
    }
}

/// Which parts of the work are done for a request.
#[derive(Default)]
struct Done {
    /// The files lie in temporary files, and their names are fields.
    files: Cell<bool>,
}

/// The error of form data that is no text in any of the character sets.
pub fn decoding_error(what: &str) -> Exit {
    invalid_text(format!("{what}: invalid UTF-8"))
}

/// An error with the code of text that is none.
pub fn invalid_text(message: String) -> Exit {
    TclError::new(message)
        .with_code(&["NS_INVALID_UTF8"])
        .into()
}

/// The form of a request: parsed once, then kept until the request ends or its character set changes
/// (`Conn::form` is emptied then). Fields of the body come first, those of the query follow.
///
/// # Errors
/// A body that cannot be read or is malformed, and text that is none (error code `NS_INVALID_UTF8`).
pub fn of(interp: &Interp, conn: &Rc<Conn>, fallback: Option<&str>) -> Outcome<Form> {
    if let Some(form) = conn.form.borrow().as_ref() {
        return Ok(form.clone());
    }
    let charsets = Charsets::of(conn, fallback);
    let mut fields = Set::unnamed();
    let mut files = Vec::new();
    let content_type = conn.header("content-type").unwrap_or_default();
    match http::form::kind(&content_type) {
        _ if conn.content_length() == 0 => {}
        Kind::Urlencoded(own) => {
            let main = own
                .and_then(|name| Charset::for_name(&name))
                .unwrap_or(charsets.main);
            let body = conn.content().map_err(unreadable)?;
            http::form::parse_form(&body, main, charsets.fallback, &mut fields)
                .map_err(|_| decoding_error("cannot decode form data"))?;
        }
        Kind::Multipart(boundary) => {
            parts_of(body_of(conn)?, &boundary, charsets, &mut fields, &mut files)?;
        }
        Kind::Json => json(interp, conn, &content_type, &mut fields)?,
        Kind::Other
            if content_type
                .to_ascii_lowercase()
                .split(';')
                .next()
                .is_some_and(|t| t.trim().ends_with("+json")) =>
        {
            json(interp, conn, &content_type, &mut fields)?;
        }
        Kind::Other => {}
    }
    let query = conn.target.borrow().query.clone();
    if let Some(query) = query {
        http::form::parse_form(
            query.as_bytes(),
            charsets.main,
            charsets.fallback,
            &mut fields,
        )
        .map_err(|_| decoding_error("cannot decode query variables"))?;
    }
    let form = Form {
        fields: Rc::new(RefCell::new(fields)),
        files,
    };
    conn.local::<Done>().files.set(false);
    *conn.form.borrow_mut() = Some(form.clone());
    Ok(form)
}

/// As [`of`], with the files of a multipart form in temporary files that go with the request; fields `NAME.tmpfile` and
/// `NAME.content-type` tell about them.
///
/// # Errors
/// Those of `of`, and of writing the files.
pub fn with_files(interp: &Interp, conn: &Rc<Conn>, fallback: Option<&str>) -> Outcome<Form> {
    let form = of(interp, conn, fallback)?;
    let done = conn.local::<Done>();
    if done.files.get() || form.files.is_empty() {
        return Ok(form);
    }
    let dir = Context::of(interp).process.tmpdir();
    let mut body = body_of(conn)?;
    for file in &form.files {
        let path = extract(&mut body, file, &dir).map_err(unreadable)?;
        conn.temporary_files.borrow_mut().push(path.clone());
        let mut fields = form.fields.borrow_mut();
        fields.put(format!("{}.content-type", file.name), &file.content_type);
        fields.put(format!("{}.tmpfile", file.name), path.to_string_lossy());
    }
    done.files.set(true);
    Ok(form)
}

/// Parses a multipart body into fields and files.
///
/// # Errors
/// As for [`of`].
pub fn parts_of(
    body: impl Read,
    boundary: &str,
    charsets: Charsets,
    fields: &mut Set,
    files: &mut Vec<FormFile>,
) -> Outcome<()> {
    let parts = multipart::parts(body, boundary, &PartLimits::default()).map_err(|e| match e {
        MultipartError::Io(e) => unreadable(e),
        malformed => TclError::new(malformed.to_string())
            .with_code(&["NS_INVALID_FORM"])
            .into(),
    })?;
    let named =
        |p: &&multipart::Part| p.head.name.as_deref() == Some("_charset_") && !p.head.is_file();
    let own = parts
        .iter()
        .find(named)
        .and_then(|p| Charset::for_name(&String::from_utf8_lossy(&p.content)));
    let main = own.unwrap_or(charsets.main);
    for part in parts {
        let Some(name) = part.head.name.clone() else {
            continue;
        };
        match part.head.filename.clone() {
            Some(filename) => {
                fields.put(&name, &filename);
                let content_type = part.head.content_type().to_owned();
                let (offset, length) = (part.head.offset, part.length);
                let headers = Rc::new(RefCell::new(part.head.headers));
                files.push(FormFile {
                    name,
                    filename,
                    content_type,
                    offset,
                    length,
                    headers,
                });
            }
            None => {
                let text = part.text(main, charsets.fallback);
                fields.put(
                    &name,
                    text.ok_or_else(|| decoding_error("cannot decode multipart form data"))?,
                );
            }
        }
    }
    Ok(())
}

/// A JSON body as fields: each value under the path that leads to it, with its type under `PATH.type`.
fn json(interp: &Interp, conn: &Rc<Conn>, content_type: &str, fields: &mut Set) -> Outcome<()> {
    let body = conn.content().map_err(unreadable)?;
    let own = http::charset::of_type(content_type).and_then(|name| Charset::for_name(&name));
    let Some(text) = own.unwrap_or(Charset::UTF_8).decode(&body) else {
        return Err(decoding_error("cannot decode JSON data"));
    };
    let words = [
        Obj::from("::ns_json"),
        Obj::from("parse"),
        Obj::from("-output"),
        Obj::from("set"),
        Obj::from(&*text),
    ];
    let handle = match interp.call(&words) {
        Ok(handle) => handle.text(),
        Err(Exit::Error(e)) => {
            shared::warning!("{}: JSON form data: {}", conn.url(), e.message());
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let parsed = Context::of(interp).sets.borrow_mut().remove(&handle);
    if let Some(parsed) = parsed {
        for (key, value) in parsed.borrow().iter() {
            fields.put(key, value);
        }
    }
    Ok(())
}

/// What a form is read from: memory or the file of a spooled body.
pub enum Source {
    Memory(Cursor<bytes::Bytes>),
    File(File),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Memory(m) => m.read(buffer),
            Source::File(f) => f.read(buffer),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Source::Memory(m) => m.seek(to),
            Source::File(f) => f.seek(to),
        }
    }
}

fn body_of(conn: &Conn) -> Outcome<Source> {
    match conn.content_file() {
        Some(path) => File::open(path).map(Source::File).map_err(unreadable),
        None => Ok(Source::Memory(Cursor::new(
            conn.content().map_err(unreadable)?,
        ))),
    }
}

/// Copies one file of a form to a file of its own.
///
/// # Errors
/// Those of reading and writing.
pub fn extract(
    body: &mut (impl Read + Seek),
    file: &FormFile,
    dir: &std::path::Path,
) -> io::Result<PathBuf> {
    let (path, mut to) = temporary(dir)?;
    body.seek(SeekFrom::Start(file.offset))?;
    let copied = io::copy(&mut body.take(file.length), &mut to).and_then(|_| to.flush());
    if let Err(e) = copied {
        let _ = std::fs::remove_file(&path);
        return Err(e);
    }
    Ok(path)
}

/// A new file only this user can read.
///
/// # Errors
/// Those of creating it.
pub fn temporary(dir: &std::path::Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("navis-form-{}-{n:x}", std::process::id()));
        match File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => return Ok((path, file)),
            // Left over from an earlier process of the same number.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

fn unreadable(e: io::Error) -> Exit {
    tcl::error(format!("cannot read request content: {e}"))
}
