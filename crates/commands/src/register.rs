//! Registration of handlers, filters, traces and URL translations, and their removal.

use std::rc::Rc;
use std::sync::Arc;

use ::server::dispatch::{Handler, Proxies, UrlToFile};
use ::server::filter::{Filter, Stage};
use ::server::route::{Constraints, Unset};
use ::server::script::{Conn, ScriptFilter, ScriptHandler, ScriptUrlToFile};
use ::server::vserver::VirtualServer;
use synopsis::{Call, FromObj, Kind, Label, Rest, choice, commands};
use tcl::{Exit, Interp, Obj, Outcome};

use crate::callback::Callback;
use crate::kinds::{ServerArg, context};

commands! { TABLE(call):

    /// Registers a script that answers requests for a method and URL, and for what is below the URL.
    "ns_register_proc" [-constraints: Option<ConstraintsArg>, -noinherit: bool, --]
        (method: String, url: String, script: String, arg: Option<Rest>)
        => handler(call, &method, &url, noinherit, constraints, Proc(callback(script, arg)));

    /// Registers a Tcl file that answers requests; without a file, the one that the URL stands for.
    "ns_register_tcl" [-constraints: Option<ConstraintsArg>, -noinherit: bool, --]
        (method: String, url: String, file: Option<String>)
        => handler(call, &method, &url, noinherit, constraints, TclPage { file });

    /// Registers a script that answers requests for other servers, where the server is configured as a proxy.
    "ns_register_proxy" (method: String, protocol: String, script: String, arg: Option<Rest>)
        => {
            let handler = Arc::new(Handler::Script(Arc::new(Proc(callback(script, arg)))));
            let proxies = context(call).server().extensions.get::<Proxies>();
            proxies.0.write().insert((method, protocol.to_ascii_lowercase()), handler);
        };

    /// Answers requests with files of the page directory.
    "ns_register_fastpath" [-constraints: Option<ConstraintsArg>, -noinherit: bool, --]
        (method: String, url: String)
        => route(call, &method, &url, noinherit, constraints, Handler::Fastpath);

    /// Registers a script that runs before or after authorization, or after the response, for matching requests.
    "ns_register_filter" [-constraints: Option<ConstraintsArg>, -first: bool, --]
        (when: When, method: String, urlpattern: String, script: String, arg: Option<Rest>)
        => filter(call, when, method, urlpattern, constraints, first, Arc::new(TclFilter(callback(script, arg))));

    /// Lets the remaining filters of a stage not run for matching requests.
    "ns_shortcut_filter" [-constraints: Option<ConstraintsArg>]
        (when: When, method: String, urlpattern: String)
        => filter(call, when, method, urlpattern, constraints, true, Arc::new(Shortcut));

    /// Registers a script that runs after the response to matching requests.
    "ns_register_trace" [-constraints: Option<ConstraintsArg>]
        (method: String, urlpattern: String, script: String, arg: Option<Rest>)
        => trace(call, method, urlpattern, constraints, callback(script, arg));

    /// Removes what was registered for a method and URL.
    "ns_unregister_op" [-allconstraints: bool, -noinherit: bool, -recurse: bool, -server as "/server/": Option<ServerArg>, --]
        (method: String, url: String)
        => unregister(call, server, &method, &url, Unset { noinherit, recurse, all_constraints: allconstraints });

    /// Older name of ns_unregister_op.
    #[deprecated("use ns_unregister_op")] #[style(args)]
    #[usage("?-allconstraints? ?-noinherit? ?-recurse? ?-server /server/? ?--? /method/ /url/")]
    "ns_unregister_proc" (arg: Option<Rest>) => call.forward("ns_unregister_op");

    /// Registers a script that gives the path of the file for a URL.
    "ns_register_url2file" [-noinherit: bool, --] (url: String, script: String, arg: Option<Rest>)
        => url_to_file(call, &url, noinherit, UrlToFile::Script(Arc::new(TclUrlToFile(callback(script, arg)))));

    /// URLs stand for files below the page directory, or below another one.
    "ns_register_fasturl2file" [-noinherit: bool, --] (url: String, basepath: Option<String>)
        => url_to_file(call, &url, noinherit, match basepath {
            Some(base) => UrlToFile::Script(Arc::new(Below { url: url.clone(), base })),
            None => UrlToFile::Default,
        });

    /// Removes a translation of URLs.
    "ns_unregister_url2file" [-noinherit: bool, -recurse: bool, -server as "/server/": Option<ServerArg>, --] (url: String)
        => {
            let server = target(call, server);
            server.url_to_file.unset(URL_TO_FILE_KEY, &url, Unset { noinherit, recurse, all_constraints: false });
        };
}

choice! {
    /// When a filter runs.
    pub enum When { Preauth = "preauth", Postauth = "postauth", Trace = "trace" }
}

impl From<When> for Stage {
    fn from(when: When) -> Stage {
        match when {
            When::Preauth => Stage::Preauth,
            When::Postauth => Stage::Postauth,
            When::Trace => Stage::Trace,
        }
    }
}

/// Translations do not depend on the method; the space wants a key all the same.
const URL_TO_FILE_KEY: &str = "x";

/// The value of `-constraints`.
pub struct ConstraintsArg(pub Constraints);

impl FromObj for ConstraintsArg {
    const KIND: Kind = Kind::Value("constraints");

    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Self, Exit> {
        let words: Vec<String> = value.elements()?.iter().map(Obj::text).collect();
        Constraints::parse(&words, &value.text())
            .map(ConstraintsArg)
            .map_err(tcl::error)
    }
}

/// Lets the Tcl files of a server be pages, where that is configured.
///
/// # Errors
/// None; the type is that of the hook.
pub fn on_server(server: &Arc<VirtualServer>) -> Result<(), String> {
    if server.settings.enabletclpages {
        for method in ["GET", "HEAD", "POST"] {
            let page = Handler::Script(Arc::new(TclPage { file: None }));
            server.routes.set(
                method,
                "/*.tcl",
                false,
                Constraints::default(),
                Arc::new(page),
            );
        }
    }
    Ok(())
}

/// Registers a handler that needs an interpreter; for this and other families.
pub fn handler(
    call: &Call<'_>,
    method: &str,
    url: &str,
    noinherit: bool,
    constraints: Option<ConstraintsArg>,
    handler: impl ScriptHandler + 'static,
) {
    route(
        call,
        method,
        url,
        noinherit,
        constraints,
        Handler::Script(Arc::new(handler)),
    );
}

fn route(
    call: &Call<'_>,
    method: &str,
    url: &str,
    noinherit: bool,
    constraints: Option<ConstraintsArg>,
    handler: Handler,
) {
    let constraints = constraints.map(|c| c.0).unwrap_or_default();
    context(call)
        .server()
        .routes
        .set(method, url, noinherit, constraints, Arc::new(handler));
}

fn filter(
    call: &Call<'_>,
    when: When,
    method: String,
    url: String,
    constraints: Option<ConstraintsArg>,
    first: bool,
    action: Arc<dyn ScriptFilter>,
) {
    let constraints = constraints.map(|c| c.0).unwrap_or_default();
    context(call).server().filters.add(
        Filter {
            stage: when.into(),
            method,
            url,
            constraints,
            action,
        },
        first,
    );
}

fn trace(
    call: &Call<'_>,
    method: String,
    url: String,
    constraints: Option<ConstraintsArg>,
    callback: Callback,
) {
    let constraints = constraints.map(|c| c.0).unwrap_or_default();
    let action = Arc::new(TclTrace(callback));
    context(call).server().filters.add_trace(Filter {
        stage: Stage::Trace,
        method,
        url,
        constraints,
        action,
    });
}

fn unregister(call: &Call<'_>, server: Option<ServerArg>, method: &str, url: &str, what: Unset) {
    target(call, server).routes.unset(method, url, what);
}

fn url_to_file(call: &Call<'_>, url: &str, noinherit: bool, how: UrlToFile) {
    let server = Arc::clone(context(call).server());
    server.url_to_file.set(
        URL_TO_FILE_KEY,
        url,
        noinherit,
        Constraints::default(),
        Arc::new(how),
    );
}

fn target(call: &Call<'_>, server: Option<ServerArg>) -> Arc<VirtualServer> {
    server.map_or_else(|| Arc::clone(context(call).server()), |s| s.0)
}

fn callback(script: String, args: Option<Rest<'_>>) -> Callback {
    Callback::new(script, args.as_deref().unwrap_or_default())
}

/// `ns_register_proc`
struct Proc(Callback);

impl ScriptHandler for Proc {
    fn run(&self, interp: &Interp, _: &Rc<Conn>) -> Outcome<()> {
        self.0.run(interp, &[], &[]).map(drop)
    }

    fn describe(&self) -> String {
        format!("ns:tclrequest {}", self.0.describe())
    }
}

/// `ns_register_tcl`
struct TclPage {
    file: Option<String>,
}

impl ScriptHandler for TclPage {
    fn run(&self, interp: &Interp, conn: &Rc<Conn>) -> Outcome<()> {
        ::server::script::tcl_page(interp, conn, self.file.as_deref())
    }

    fn describe(&self) -> String {
        match &self.file {
            Some(file) => format!("ns:tclpage {}", tcl::list_format(&[file])),
            None => "ns:tclpage {}".to_owned(),
        }
    }
}

/// `ns_register_filter`
struct TclFilter(Callback);

impl ScriptFilter for TclFilter {
    fn run(&self, interp: &Interp, _: &Rc<Conn>, stage: Stage) -> Outcome<String> {
        self.0
            .run(interp, &[stage.name()], &[])
            .map(|result| result.text())
    }

    fn describe(&self) -> String {
        format!("ns:tclfilter {}", self.0.describe())
    }
}

/// `ns_register_trace`
struct TclTrace(Callback);

impl ScriptFilter for TclTrace {
    fn run(&self, interp: &Interp, _: &Rc<Conn>, _: Stage) -> Outcome<String> {
        self.0.run(interp, &[], &[]).map(|result| result.text())
    }

    fn describe(&self) -> String {
        format!("ns:tcltrace {}", self.0.describe())
    }
}

/// `ns_shortcut_filter`
struct Shortcut;

impl ScriptFilter for Shortcut {
    fn run(&self, _: &Interp, _: &Rc<Conn>, _: Stage) -> Outcome<String> {
        Ok("filter_break".to_owned())
    }

    fn describe(&self) -> String {
        "ns:shortcut".to_owned()
    }
}

/// `ns_register_url2file`
struct TclUrlToFile(Callback);

impl ScriptUrlToFile for TclUrlToFile {
    fn translate(&self, interp: &Interp, url: &str) -> Outcome<String> {
        self.0.run(interp, &[url], &[]).map(|path| path.text())
    }

    fn describe(&self) -> String {
        format!("ns:tclurl2file {}", self.0.describe())
    }
}

/// `ns_register_fasturl2file URL BASEPATH`
struct Below {
    url: String,
    base: String,
}

impl ScriptUrlToFile for Below {
    fn translate(&self, _: &Interp, url: &str) -> Outcome<String> {
        let prefix = self.url.trim_end_matches('*').trim_end_matches('/');
        let below = url.strip_prefix(prefix).unwrap_or(url);
        Ok(format!(
            "{}/{}",
            self.base.trim_end_matches('/'),
            below.trim_start_matches('/')
        ))
    }

    fn describe(&self) -> String {
        format!("ns:fasturl2file {}", tcl::list_format(&[&self.base]))
    }
}
