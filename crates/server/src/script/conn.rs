//! The connection an interpreter works on: the request as scripts see it, and the state of the response.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use net::{Body, Reply, Stream};
use shared::Set;

use super::SetRef;
use crate::driver::DriverEntry;
use crate::pool::Pool;
use crate::request::{Stamps, Target, Walk};
use crate::vserver::VirtualServer;

/// How far the response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was sent or promised.
    Open,
    /// `ns_headers`: status and headers are fixed, sent with the first bytes of the body.
    Promised,
    /// The head is sent, the body is on its way in pieces.
    Streaming,
    /// The response is complete, or the connection was given away.
    Done,
}

/// A file of a multipart form.
#[derive(Clone, Debug)]
pub struct FormFile {
    /// Name of the form field.
    pub name: String,
    pub filename: String,
    pub content_type: String,
    /// Where the file is in the body.
    pub offset: u64,
    pub length: u64,
    pub headers: SetRef,
}

/// The parsed form of a request.
#[derive(Clone, Debug)]
pub struct Form {
    pub fields: SetRef,
    pub files: Vec<FormFile>,
}

/// One request in the hands of a connection thread. Lives until the response is finished and traces have run.
pub struct Conn {
    pub server: Arc<VirtualServer>,
    pub pool: Arc<Pool>,
    pub driver: Arc<DriverEntry>,
    /// Everything about the request but its head.
    pub request: net::Request,
    pub method: RefCell<String>,
    pub target: RefCell<Target>,
    /// Request headers; scripts may change them.
    pub headers: SetRef,
    /// Response headers that scripts add to.
    pub output: SetRef,
    pub status: Cell<u16>,
    /// The reason phrase, where a script gave one.
    pub reason: RefCell<Option<String>>,
    pub progress: Cell<Progress>,
    pub reply: RefCell<Option<Reply>>,
    pub stream: RefCell<Option<Stream>>,
    /// Length announced by `ns_headers`, until the head is sent.
    pub promised_length: Cell<Option<u64>>,
    /// What a script has written of a response head of its own.
    pub(super) own_head: RefCell<Vec<u8>>,
    /// The compression of a streamed body.
    pub packing: RefCell<Option<crate::compress::PackStream>>,
    /// Body bytes given to the network so far.
    pub sent: Cell<u64>,
    /// `None`: decided by the protocol.
    pub keep_alive: Cell<Option<bool>>,
    /// Compression level a script asked for; -1: the server's.
    pub compress: Cell<i32>,
    /// Charset of output (IANA name) a script chose.
    pub output_charset: RefCell<Option<String>>,
    /// Charset of the query a script chose.
    pub url_charset: RefCell<Option<String>>,
    pub form: RefCell<Option<Form>>,
    pub auth_user: RefCell<Option<String>>,
    pub auth_password: RefCell<Option<String>>,
    /// Fields of the `Authorization` header, parsed on first use.
    pub auth: RefCell<Option<SetRef>>,
    pub client_data: RefCell<Option<String>>,
    pub rate_limit: Cell<i64>,
    /// Set by `ns_conn skipbody`-like handlers and for HEAD.
    pub skip_body: Cell<bool>,
    /// What a response's 200 becomes: the status of the error whose page is rendered, or one a script chose before
    /// (`ns_conn status`).
    pub error_status: Cell<Option<u16>>,
    /// Internal redirects so far: a loop ends.
    pub redirects: Cell<u32>,
    pub stamps: RefCell<Stamps>,
    /// Files to remove at the end of the request.
    pub temporary_files: RefCell<Vec<std::path::PathBuf>>,
    /// Bytes of the response already written, for the access log, set by the network when all is sent.
    local: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
    content: RefCell<Option<Bytes>>,
    /// Counts the request towards a limit for as long as it lives.
    _counted: Option<crate::limits::Counted>,
}

impl Conn {
    pub(crate) fn new(walk: Walk) -> Rc<Conn> {
        let Walk {
            mut request,
            reply,
            server,
            pool,
            driver,
            target,
            stamps,
            counted,
            ..
        } = walk;
        let headers = std::mem::replace(&mut request.head.headers, Set::unnamed());
        let method = request.head.method.clone();
        let mut output = Set::new_nocase("outputheaders");
        output.set_nocase(true);
        Rc::new(Conn {
            skip_body: Cell::new(method == "HEAD"),
            method: RefCell::new(method),
            target: RefCell::new(target),
            headers: Rc::new(RefCell::new(headers)),
            output: Rc::new(RefCell::new(output)),
            status: Cell::new(200),
            reason: RefCell::default(),
            progress: Cell::new(Progress::Open),
            reply: RefCell::new(Some(reply)),
            stream: RefCell::default(),
            promised_length: Cell::new(None),
            own_head: RefCell::default(),
            packing: RefCell::default(),
            sent: Cell::new(0),
            keep_alive: Cell::new(None),
            compress: Cell::new(-1),
            output_charset: RefCell::default(),
            url_charset: RefCell::default(),
            form: RefCell::default(),
            auth_user: RefCell::default(),
            auth_password: RefCell::default(),
            auth: RefCell::default(),
            client_data: RefCell::default(),
            rate_limit: Cell::new(-1),
            error_status: Cell::new(None),
            redirects: Cell::new(0),
            stamps: RefCell::new(stamps),
            temporary_files: RefCell::default(),
            local: RefCell::default(),
            content: RefCell::default(),
            _counted: counted,
            request,
            server,
            pool,
            driver,
        })
    }

    pub fn id(&self) -> u64 {
        self.request.id
    }

    /// Value of a request header, ignoring case.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.borrow().iget(name).map(str::to_owned)
    }

    /// Path of the URL, decoded.
    pub fn url(&self) -> String {
        self.target.borrow().path.clone()
    }

    /// Length of the request body in bytes.
    pub fn content_length(&self) -> u64 {
        self.request.body.len()
    }

    /// The request body; read from its file the first time when it was spooled.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn content(&self) -> std::io::Result<Bytes> {
        if let Some(bytes) = self.content.borrow().as_ref() {
            return Ok(bytes.clone());
        }
        let bytes = match &self.request.body {
            Body::Empty => Bytes::new(),
            Body::Memory(b) => b.clone(),
            Body::File(file) => {
                let mut all = Vec::new();
                file.open()?.read_to_end(&mut all)?;
                Bytes::from(all)
            }
        };
        *self.content.borrow_mut() = Some(bytes.clone());
        Ok(bytes)
    }

    /// The file of a spooled body.
    pub fn content_file(&self) -> Option<&std::path::Path> {
        match &self.request.body {
            Body::File(file) => Some(file.path()),
            _ => None,
        }
    }

    /// Whether the client is still there and a response can still be sent.
    pub fn is_connected(&self) -> bool {
        if self.progress.get() == Progress::Done {
            return false;
        }
        self.reply
            .borrow()
            .as_ref()
            .map_or_else(|| self.stream.borrow().is_some(), Reply::is_connected)
    }

    /// Whether something was sent or promised already.
    pub fn has_answered(&self) -> bool {
        self.progress.get() != Progress::Open || !self.own_head.borrow().is_empty()
    }

    /// State of a command family for this request, made on first use.
    pub fn local<T: Default + 'static>(&self) -> Rc<T> {
        let mut local = self.local.borrow_mut();
        let any = local
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Rc::new(T::default()) as Rc<dyn Any>);
        Rc::clone(any)
            .downcast::<T>()
            .unwrap_or_else(|_| unreachable!("stored under the id of its type"))
    }

    /// Runs `work` with what context constraints are compared with.
    pub fn with_context<R>(&self, work: impl FnOnce(&dyn crate::route::Context) -> R) -> R {
        let headers = self.headers.borrow();
        work(&crate::route::RequestContext {
            headers: &headers,
            peer: self.request.peer.ip(),
        })
    }

    /// `http://host:port`, as the client addressed us, else as the driver is configured.
    pub fn location(&self) -> String {
        self.driver
            .location(self.header("host").as_deref(), self.request.local.port())
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        for file in self.temporary_files.get_mut().drain(..) {
            // Gone already is fine: scripts may have moved it.
            let _ = std::fs::remove_file(file);
        }
    }
}
