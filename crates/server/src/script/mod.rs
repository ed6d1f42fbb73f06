//! The room where Tcl runs: interpreters and their life, the connection as scripts see it, handles of sets.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use tcl::{Interp, Outcome};

use crate::filter::Stage;
use crate::process::Process;
use crate::vserver::VirtualServer;

mod answer;
pub mod authority;
mod birth;
mod blueprint;
mod conn;
mod lazy;
mod pages;
mod runner;
mod sets;
mod startup;
mod text;
mod threads;
mod traces;
pub mod vhost;

pub use answer::AnswerError;
pub use authority::Authorities;
pub use birth::{Library, create_interp, eval_into_blueprint, save_blueprint, update};
pub use blueprint::Blueprint;
pub use conn::{Conn, Form, FormFile, Progress};
pub use pages::{
    finish as finish_file, internal_redirect, registered_file, serve as serve_url, tcl_page,
    url_to_file,
};
pub use runner::{
    Runner, Verdict, connection_thread, plain_notice, return_notice, return_status, run_handler,
    send,
};
pub use sets::{SetRef, SetTable};
pub use startup::{
    build, eval_initcmds, list_words, read_configuration, source_initfile, tcl_version,
};
pub use text::Coder;
pub use threads::{forget_interps, in_thread, report, with_interp};
pub use traces::{InterpMoment, InterpTraces, run_traces};

/// What the program plugs into scripting; `server` itself knows no command.
#[derive(Default)]
pub struct Scripting {
    /// Commands of every interpreter.
    pub tables: Vec<&'static [synopsis::Command]>,
    /// Commands of the interpreter that reads the configuration.
    pub config_tables: Vec<&'static [synopsis::Command]>,
    /// The part of the library that is written in Tcl: name and text.
    pub library: Vec<(&'static str, &'static str)>,
    /// The same for the interpreter that reads the configuration.
    pub config_library: Vec<(&'static str, &'static str)>,
    /// Sections of the configuration that commands read.
    pub specs: Vec<fn() -> &'static synopsis::SectionSpec>,
    /// Called with every new interpreter after its commands are there.
    pub on_interp: Vec<fn(&Interp, &Rc<Context>)>,
    /// Called for every server before its Tcl library is sourced; registers handlers of pages and the like.
    pub on_server: Vec<fn(&Arc<VirtualServer>) -> Result<(), String>>,
    /// Called after every request, and after every script of a thread that keeps its interpreter.
    pub on_cleanup: Vec<fn(&Interp, &Rc<Context>)>,
    /// Renders a notice page; `None`: the built-in one.
    pub notice: Option<fn(&Interp, &Rc<Conn>, &Notice) -> Option<String>>,
}

/// What a notice page tells.
pub struct Notice {
    pub status: u16,
    pub title: String,
    /// HTML.
    pub message: String,
}

/// What an interpreter belongs to and works on.
pub struct Context {
    pub process: Arc<Process>,
    /// `None` in the interpreter that reads the configuration.
    pub server: Option<Arc<VirtualServer>>,
    conn: RefCell<Option<Rc<Conn>>>,
    pub sets: RefCell<SetTable>,
    /// Epoch of the blueprint this interpreter is up to date with.
    pub epoch: Cell<u64>,
    /// Scripts of `ns_ictl oncleanup` and the like, for this interpreter only.
    pub on_cleanup: RefCell<Vec<String>>,
    /// This interpreter builds the blueprint: what it does is seen by all later ones.
    pub building: Cell<bool>,
    /// The module whose files are being sourced (`ns_module`-style commands ask for it).
    pub module: RefCell<Option<String>>,
    /// Global variables every interpreter has; others go at the end of a request.
    pub kept_globals: RefCell<HashSet<String>>,
    /// `ns_ictl markfordelete`: not used again after the current request.
    pub condemned: Cell<bool>,
}

impl Context {
    pub fn new(process: Arc<Process>, server: Option<Arc<VirtualServer>>) -> Rc<Context> {
        Rc::new(Context {
            process,
            server,
            conn: RefCell::default(),
            sets: RefCell::default(),
            epoch: Cell::new(0),
            on_cleanup: RefCell::default(),
            building: Cell::new(false),
            module: RefCell::default(),
            kept_globals: RefCell::default(),
            condemned: Cell::new(false),
        })
    }

    /// The context of an interpreter.
    ///
    /// # Panics
    /// The interpreter was not made by this crate.
    pub fn of(interp: &Interp) -> Rc<Context> {
        interp
            .data::<Context>()
            .expect("every interpreter of the server gets its context at birth")
    }

    /// The connection a handler, filter or page is working on.
    pub fn conn(&self) -> Option<Rc<Conn>> {
        self.conn.borrow().clone()
    }

    /// Sets or ends the current connection.
    pub fn set_conn(&self, conn: Option<Rc<Conn>>) {
        *self.conn.borrow_mut() = conn;
    }

    /// The server this interpreter belongs to.
    ///
    /// # Panics
    /// In the interpreter that reads the configuration, which has no commands that ask.
    pub fn server(&self) -> &Arc<VirtualServer> {
        self.server
            .as_ref()
            .expect("commands that need a server are not in the configuration interpreter")
    }
}

/// A handler that needs an interpreter.
pub trait ScriptHandler: Send + Sync {
    /// Answers the request of `conn`.
    ///
    /// # Errors
    /// What the script ended with; the server answers then.
    fn run(&self, interp: &Interp, conn: &Rc<Conn>) -> Outcome<()>;

    /// What `ns_server requestprocs` shows: a list of kind and arguments.
    fn describe(&self) -> String;

    /// Removed by `ns_unregister_op`; what it holds may go.
    fn retired(&self) {}
}

/// A filter that needs an interpreter.
pub trait ScriptFilter: Send + Sync {
    /// The result is `filter_ok`, `filter_break` or `filter_return`.
    ///
    /// # Errors
    /// What the script ended with.
    fn run(&self, interp: &Interp, conn: &Rc<Conn>, stage: Stage) -> Outcome<String>;

    fn describe(&self) -> String;
}

/// Translates a URL to the path of a file with a script.
pub trait ScriptUrlToFile: Send + Sync {
    /// # Errors
    /// The script's.
    fn translate(&self, interp: &Interp, url: &str) -> Outcome<String>;

    fn describe(&self) -> String;
}
