//! The fastpath: static files, index files and directory listings, answered from a request head alone.
//!
//! Nothing here blocks for longer than the file system does, and nothing knows Tcl: what a script must answer (index pages,
//! directory procedures) goes back to the caller as a [`FileAnswer`].

mod cache;
mod file;
mod listing;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::conditional::{self, Validators, Verdict};
use http::range::{self, ByteRange, Ranges};
use http::{RequestHead, ResponseHead};
use net::{Content, Part, Response};

pub use cache::{CacheStats, FileCache};
use file::FileState;

/// The content type for a file name.
pub type MimeTypes = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The settings of a server's static files (sections `ns/fastpath` and `ns/server/S/fastpath`).
#[derive(Clone)]
pub struct FastpathConfig {
    /// Directory of pages, absolute.
    pub pagedir: PathBuf,
    /// Names of files that answer for a directory, in the order of preference.
    pub directory_files: Vec<String>,
    /// Extensions, with their dot, of directory files that another handler must run.
    pub script_extensions: Vec<String>,
    /// `directoryproc` or `directoryadp` is configured: directories without a directory file are its business.
    pub directory_handler: bool,
    /// What to show for directories otherwise.
    pub listing: Listing,
    /// Leave names that begin with a dot out of listings. Asked for by name such files are served.
    pub hide_dot_files: bool,
    /// Send `FILE.gz` where the client takes it and it is not older than the file.
    pub gzip_static: bool,
    /// The same for `FILE.br`; of equally wanted ones it goes first.
    pub brotli_static: bool,
    /// The same for `FILE.zst` (a parameter of our own).
    pub zstd_static: bool,
    /// Answer `If-Modified-Since` (`checkmodifiedsince` of the server).
    pub check_modified_since: bool,
    /// Send entity tags (a parameter of our own).
    pub etag: bool,
    pub mime_types: MimeTypes,
}

/// `directorylisting`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    #[default]
    None,
    /// Names.
    Simple,
    /// Names, sizes and times.
    Fancy,
}

impl FastpathConfig {
    /// The defaults, for pages in `pagedir`.
    pub fn new(pagedir: impl Into<PathBuf>, mime_types: MimeTypes) -> FastpathConfig {
        FastpathConfig {
            pagedir: pagedir.into(),
            directory_files: ["index.adp", "index.tcl", "index.html", "index.htm"]
                .map(str::to_owned)
                .to_vec(),
            script_extensions: [".adp", ".tcl"].map(str::to_owned).to_vec(),
            directory_handler: false,
            listing: Listing::None,
            hide_dot_files: true,
            gzip_static: false,
            brotli_static: false,
            zstd_static: false,
            check_modified_since: true,
            etag: false,
            mime_types,
        }
    }
}

/// How a request for a file is answered.
pub enum FileAnswer {
    Response(Response),
    /// 302 to this path, its query included: a directory was asked for without the slash at its end.
    Redirect(String),
    /// This page of a directory answers: `url` is its own URL, `file` its place. It is up to another handler.
    IndexScript {
        url: String,
        file: PathBuf,
    },
    /// A directory without a page, for `directoryproc` or `directoryadp`.
    Directory(PathBuf),
    NotFound,
    /// Files are for GET, HEAD and POST.
    MethodNotAllowed,
    /// The file system failed, not the client: 500.
    Failed(io::Error),
}

/// Which file is sent, and how.
pub struct FileReply<'a> {
    pub file: &'a Path,
    /// Conditions and ranges count for 200 only.
    pub status: u16,
    /// None: guessed from the name.
    pub content_type: Option<&'a str>,
}

/// The static files of one server.
pub struct Fastpath {
    config: FastpathConfig,
    cache: Option<Arc<FileCache>>,
}

impl Fastpath {
    /// `cache`: the process' memory for small files, if it is switched on.
    pub fn new(config: FastpathConfig, cache: Option<Arc<FileCache>>) -> Fastpath {
        Fastpath { config, cache }
    }

    pub fn config(&self) -> &FastpathConfig {
        &self.config
    }

    /// The file for a decoded path, below the page directory. None if the path cannot name one: it holds a zero byte, or
    /// leads out of the directory. Symbolic links may do so, they are the operator's.
    pub fn url2file(&self, path: &str) -> Option<PathBuf> {
        let mut file = self.config.pagedir.clone();
        for segment in path.split('/').filter(|s| !s.is_empty() && *s != ".") {
            if segment == ".." || segment.contains('\0') {
                return None;
            }
            file.push(segment);
        }
        Some(file)
    }

    /// Answers a request for a path that is decoded and normalised. `now`: seconds since 1970.
    pub fn respond(&self, method: &str, path: &str, head: &RequestHead, now: i64) -> FileAnswer {
        match self.url2file(path) {
            Some(file) => self.respond_with(&file, method, path, head, now),
            None => FileAnswer::NotFound,
        }
    }

    /// The same for a file found in another way (`ns_register_url2file`).
    pub fn respond_with(
        &self,
        file: &Path,
        method: &str,
        path: &str,
        head: &RequestHead,
        now: i64,
    ) -> FileAnswer {
        if !matches!(method, "GET" | "HEAD" | "POST") {
            return FileAnswer::MethodNotAllowed;
        }
        let recent = self.cache.as_ref().and_then(|cache| cache.recent(file));
        let kind = recent.map_or_else(|| file::kind(file), |state| Ok(file::Kind::File(state)));
        let answer = match kind {
            Ok(file::Kind::Directory) => self.directory(file, method, path, head, now),
            Ok(file::Kind::File(state)) => {
                let reply = FileReply {
                    file,
                    status: 200,
                    content_type: None,
                };
                self.send(&reply, state, method, head, now)
                    .map(FileAnswer::Response)
            }
            Ok(file::Kind::Other) => Ok(FileAnswer::NotFound),
            Err(error) => Err(error),
        };
        answer.unwrap_or_else(|error| {
            if file::is_absent(&error) {
                if let Some(cache) = &self.cache {
                    cache.forget(file);
                }
                FileAnswer::NotFound
            } else {
                FileAnswer::Failed(error)
            }
        })
    }

    /// Sends one file whatever the URL is (`ns_returnfile`).
    ///
    /// Errors: those of the file system; `NotFound` for what is no plain file.
    pub fn send_file(
        &self,
        reply: &FileReply,
        method: &str,
        head: &RequestHead,
        now: i64,
    ) -> io::Result<Response> {
        match file::kind(reply.file)? {
            file::Kind::File(state) => self.send(reply, state, method, head, now),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn directory(
        &self,
        dir: &Path,
        method: &str,
        path: &str,
        head: &RequestHead,
        now: i64,
    ) -> io::Result<FileAnswer> {
        let url = format!("{}/", path.trim_end_matches('/'));
        for name in &self.config.directory_files {
            let file = dir.join(name);
            let Ok(file::Kind::File(state)) = file::kind(&file) else {
                continue;
            };
            if !path.ends_with('/') {
                return Ok(FileAnswer::Redirect(redirect_target(&url, &head.target)));
            }
            if self
                .config
                .script_extensions
                .iter()
                .any(|e| name.ends_with(e.as_str()))
            {
                return Ok(FileAnswer::IndexScript {
                    url: url + name,
                    file,
                });
            }
            let reply = FileReply {
                file: &file,
                status: 200,
                content_type: None,
            };
            return self
                .send(&reply, state, method, head, now)
                .map(FileAnswer::Response);
        }
        if self.config.directory_handler {
            return Ok(FileAnswer::Directory(dir.to_owned()));
        }
        if self.config.listing == Listing::None {
            return Ok(FileAnswer::NotFound);
        }
        let page = listing::page(dir, &url, self.config.listing, self.config.hide_dot_files)?;
        let response = ResponseHead::new(200).with("content-type", "text/html; charset=utf-8");
        Ok(FileAnswer::Response(finish(
            response,
            method,
            Content::Bytes(Bytes::from(page)),
        )))
    }

    fn send(
        &self,
        reply: &FileReply,
        state: FileState,
        method: &str,
        head: &RequestHead,
        now: i64,
    ) -> io::Result<Response> {
        let plain = reply.status == 200;
        // A POST is answered like a GET, but a range of it, or its not being modified, means nothing to a client.
        let ranged = plain && method == "GET" && head.header("range").is_some();
        let mut response = ResponseHead::new(reply.status)
            .with("last-modified", &http::date::format(state.modified()));
        let etag = |variant: &str| self.config.etag.then(|| state.etag(variant));

        // Ranges are those of the file itself: pieces of a compressed variant are of no use to who has pieces of the file.
        let choice = if plain && !ranged {
            self.variant(reply.file, state, head)
        } else {
            Variant::default()
        };
        let tag = etag(choice.coding.unwrap_or(""));
        let verdict = if plain {
            self.verdict(method, head, state, tag.as_deref(), now)
        } else {
            Verdict::Proceed
        };
        if verdict != Verdict::Proceed {
            response.status = if verdict == Verdict::NotModified {
                304
            } else {
                412
            };
            if let Some(tag) = &tag {
                response.headers.put("etag", tag);
            }
            response.headers.put("content-length", "0");
            return Ok(Response::new(response, Content::Empty));
        }
        let content = match &choice.file {
            Some((file, state)) => self.load(file, *state, now)?,
            None => self.load(reply.file, state, now)?,
        };
        if choice.varies {
            response.headers.put("vary", "accept-encoding");
        }
        if let Some(coding) = choice.coding {
            response.headers.put("content-encoding", coding);
        }
        if let Some(tag) = &tag {
            response.headers.put("etag", tag);
        }
        let guessed;
        let content_type = match reply.content_type {
            Some(content_type) => content_type,
            None => {
                guessed = (self.config.mime_types)(&reply.file.to_string_lossy());
                &guessed
            }
        };
        let holds =
            |value| range::if_range_holds(value, tag.as_deref(), Some(state.modified()), now);
        let ranges = match head.header("range") {
            Some(value) if ranged && head.header("if-range").is_none_or(holds) => {
                range::parse(value, content.len())
            }
            _ => Ranges::Whole,
        };
        match ranges {
            Ranges::Whole => {}
            Ranges::Parts(set) => return Ok(partial(response, content_type, &content, &set)),
            Ranges::Unsatisfiable => return Ok(partial(response, content_type, &content, &[])),
        }
        let mut response = response.with("content-type", content_type);
        response.headers.put("accept-ranges", "bytes");
        let length = content.len();
        Ok(finish(response, method, content.slice(0, length)))
    }

    fn verdict(
        &self,
        method: &str,
        head: &RequestHead,
        state: FileState,
        tag: Option<&str>,
        now: i64,
    ) -> Verdict {
        let validators = Validators {
            etag: tag,
            last_modified: Some(state.modified()),
        };
        match conditional::evaluate(method, &head.headers, validators, now) {
            Verdict::NotModified
                if !self.config.check_modified_since && head.header("if-none-match").is_none() =>
            {
                Verdict::Proceed
            }
            verdict => verdict,
        }
    }

    /// The precompressed file that suits the client best.
    fn variant(&self, file: &Path, state: FileState, head: &RequestHead) -> Variant {
        let accept = || head.header_all("accept-encoding");
        let mut choice = Variant::default();
        let mut best = 0;
        for (enabled, coding, suffix) in [
            (self.config.brotli_static, "br", ".br"),
            (self.config.zstd_static, "zstd", ".zst"),
            (self.config.gzip_static, "gzip", ".gz"),
        ] {
            let quality = crate::compress::quality(accept(), coding);
            // A .br or .zst is looked for only where it is wanted: few clients take it but not gzip, and the reference
            // sends no Vary then. The price: a cache may keep the plain file for a client that could have had less bytes.
            if !enabled || (quality == 0 && coding != "gzip") {
                continue;
            }
            let mut name = file.as_os_str().to_owned();
            name.push(suffix);
            let name = PathBuf::from(name);
            let Ok(file::Kind::File(packed)) = file::kind(&name) else {
                continue;
            };
            choice.varies = true;
            if quality > best && !packed.is_older_than(&state) {
                best = quality;
                (choice.coding, choice.file) = (Some(coding), Some((name, packed)));
            }
        }
        choice
    }

    fn load(&self, file: &Path, state: FileState, now: i64) -> io::Result<file::Loaded> {
        match &self.cache {
            Some(cache) => cache.load(file, state, now),
            None => file::open(file),
        }
    }
}

#[derive(Default)]
struct Variant {
    /// There is another representation.
    varies: bool,
    coding: Option<&'static str>,
    file: Option<(PathBuf, FileState)>,
}

/// 206 with one range or several, or 416 if there are none (RFC 9110 sections 14 and 15.3.7).
fn partial(
    mut head: ResponseHead,
    content_type: &str,
    content: &file::Loaded,
    set: &[ByteRange],
) -> Response {
    let total = content.len();
    head.status = if set.is_empty() { 416 } else { 206 };
    if let [_, _, ..] = set {
        let boundary = boundary();
        head.headers.put(
            "content-type",
            format!("multipart/byteranges; boundary={boundary}"),
        );
        head.headers.put("accept-ranges", "bytes");
        let mut parts = Vec::with_capacity(set.len() * 2 + 1);
        for (at, &range) in set.iter().enumerate() {
            let lead = range::part_head(&boundary, content_type, range, total, at == 0);
            parts.push(Part::Bytes(Bytes::from(lead)));
            parts.push(content.part(range.start, range.length()));
        }
        parts.push(Part::Bytes(Bytes::from(range::closing(&boundary))));
        return Response::new(head, Content::Parts(parts));
    }
    head.headers.put("content-type", content_type);
    head.headers.put("accept-ranges", "bytes");
    let content = match set.first() {
        None => {
            head.headers.put("content-range", range::unsatisfied(total));
            Content::Empty
        }
        Some(range) => {
            head.headers
                .put("content-range", range.content_range(total));
            content.slice(range.start, range.length())
        }
    };
    Response::new(head, content)
}

/// A boundary nobody can guess, so that no file contains it on purpose.
fn boundary() -> String {
    let random = || RandomState::new().hash_one(0u8);
    format!("{:016x}{:016x}", random(), random())
}

/// For HEAD the length is told and the content kept.
fn finish(mut head: ResponseHead, method: &str, content: Content) -> Response {
    if method != "HEAD" {
        return Response::new(head, content);
    }
    head.headers
        .put("content-length", content.len().to_string());
    Response::new(head, Content::Empty)
}

/// The location of a directory, made from the normalised path: that of the request may begin with two slashes, which
/// clients would take for a host.
fn redirect_target(url: &str, target: &str) -> String {
    let mut location = String::with_capacity(target.len() + 1);
    http::encode::encode_bytes(
        format!("/{}", url.trim_start_matches('/')).as_bytes(),
        http::encode::Part::FullPath,
        true,
        &mut location,
    );
    let target = target.split('#').next().unwrap_or("");
    if let Some((_, query)) = target.split_once('?') {
        location.push('?');
        location.push_str(query);
    }
    location
}
