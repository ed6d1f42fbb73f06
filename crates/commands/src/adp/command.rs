//! The ns_adp_* commands.

use std::sync::Arc;

use synopsis::{Call, FromObj, Int, Kind, Label, MAX, MemorySize, Rest, Time, commands};
use tcl::{Exit, Obj, Outcome};

use super::engine::{Debug, Engine, Exception, Frame};
use super::output::Included;
use super::response::PageHandler;
use super::settings::{Flag, Flags};
use super::tags::{Tag, TagKind};
use crate::kinds::context;
use crate::register::ConstraintsArg;

commands! { TABLE(call):

    /// Ends all pages; their output is dropped.
    "ns_adp_abort" (retval: Option<Obj>) => raise(call, Exception::Abort, retval);

    /// Adds to the output.
    "ns_adp_append" (string: Rest) => append(call, &string);

    /// Number of arguments of the page.
    "ns_adp_argc" => Ok::<_, Exit>(frame(call)?.args.len());

    /// The arguments of the page, or one of them.
    "ns_adp_argv" (index: Option<Int<0, MAX>>, default: Option<Obj>) => argv(call, index, default);

    /// Sets variables to the arguments of the page.
    "ns_adp_bind_args" (varname: Rest) => bind_args(call, &varname);

    /// Ends all pages; their output is sent.
    "ns_adp_break" (retval: Option<Obj>) => raise(call, Exception::Break, retval);

    /// Sends the output and ends the response.
    "ns_adp_close" => Engine::active(call.interp)?.close(call.interp);

    /// Does nothing any more: whether output is compressed depends on the server's settings.
    #[deprecated("use \"ns_conn compress\"")]
    #[style(proc)]
    "ns_adp_compress" (bool: Option<Obj>) => drop(bool);

    /// Size of the buffer for output.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_adp_ctl bufsize" (size: Option<MemoryOf>) => bufsize(call, size);

    /// Sends output to a channel in place of the client.
    "ns_adp_ctl channel" (channel: String) => channel_to(call, channel);

    /// Ends pages when their output cannot be sent.
    "ns_adp_ctl autoabort" (value as "true|false": Option<bool>) => switch(call, Flag::AUTOABORT, value);

    /// Whether output is kept for other requests.
    "ns_adp_ctl cache" (value as "true|false": Option<bool>) => switch(call, Flag::CACHE, value);

    /// Logs the request with an error.
    "ns_adp_ctl detailerror" (value as "true|false": Option<bool>) => switch(call, Flag::DETAILERROR, value);

    /// Shows errors in the page.
    "ns_adp_ctl displayerror" (value as "true|false": Option<bool>) => switch(call, Flag::DISPLAYERROR, value);

    /// Sends `Expires: now`.
    "ns_adp_ctl expire" (value as "true|false": Option<bool>) => expire(call, value);

    /// Ignores scripts in pages that are read from here on.
    "ns_adp_ctl safe" (value as "true|false": Option<bool>) => switch(call, Flag::SAFE, value);

    /// Runs the blocks of pages that are read from here on as one script.
    "ns_adp_ctl singlescript" (value as "true|false": Option<bool>) => switch(call, Flag::SINGLESCRIPT, value);

    /// Sends output as it is made.
    "ns_adp_ctl stream" (value as "true|false": Option<bool>) => switch(call, Flag::STREAM, value);

    /// Ends a page at the first error.
    "ns_adp_ctl stricterror" (value as "true|false": Option<bool>) => switch(call, Flag::STRICTERROR, value);

    /// Logs the blocks of pages as they run.
    "ns_adp_ctl trace" (value as "true|false": Option<bool>) => switch(call, Flag::TRACE, value);

    /// Removes blanks at the beginning of the output.
    "ns_adp_ctl trimspace" (value as "true|false": Option<bool>) => switch(call, Flag::TRIMSPACE, value);

    /// Connects to the TclPro debugger.
    "ns_adp_debug" [-host: Option<String>, -port: Option<String>, -procs: Option<String>, --]
        (host_ as "host": Option<String>, port_ as "port": Option<String>, procs_ as "procs": Option<String>)
        => debug(call, host.or(host_), port.or(port_), procs.or(procs_));

    /// Connects to the TclPro debugger; the default of the parameter `debuginit`.
    #[style(proc)]
    "ns_adp_debuginit" (procs: Obj, host: Obj, port: Obj) => debuginit(call, procs, host, port);

    /// Directory of the page.
    "ns_adp_dir" => Ok::<_, Exit>(Engine::active(call.interp)?.directory());

    /// Takes the output so far: it is the result, and no longer output.
    "ns_adp_dump" => dump(call);

    /// Runs a text as a page.
    #[style(proc)]
    "ns_adp_eval" (arg: Option<Rest>) => again(call, &[], arg);

    /// Whether pages go on; the reason why not.
    "ns_adp_exception" (varname: Option<String>) => exception(call, varname);

    /// Sends the output so far.
    "ns_adp_flush" => Engine::active(call.interp)?.flush(call.interp);

    /// Runs another page within this one.
    #[named("_ns_adp_include")]
    "ns_adp_include" [-cache: Option<Time>, -nocache: bool, -tagset: Option<String>, -tcl: bool, --]
        (filename: String, arg: Option<Rest>)
        => include(call, cache, nocache, tagset, tcl, &filename, arg);

    /// File of the page, its size and time of change.
    "ns_adp_info" => info(call);

    /// Media type of the response.
    #[named("ns_adp_mimetype")]
    "ns_adp_mime" (mimetype: Option<String>) => mimetype_of(call, mimetype);

    /// Media type of the response.
    "ns_adp_mimetype" (mimetype: Option<String>) => mimetype_of(call, mimetype);

    /// Runs a text or file as a page and answers its output.
    "ns_adp_parse" [-cwd: Option<String>, -file: bool, -safe: bool, -string: bool, -tagset: Option<String>, -tcl: bool, --]
        (arg: Rest)
        => parse(call, Parse { cwd, file: file && !string, safe, tagset, tcl }, &arg);

    /// Adds to the output, with a line break.
    "ns_adp_puts" [-nonewline: bool, --] (string: Obj) => puts(call, &string, nonewline);

    /// Registers a tag that stands for a piece of a page.
    "ns_adp_registeradp" [-tagset: Option<String>] (tag: String, endtag: Option<String>, adpstring: String)
        => register(call, TagKind::Adp, tagset, &tag, endtag, adpstring);

    /// Registers a tag that stands for the result of a procedure.
    "ns_adp_registerproc" [-tagset: Option<String>] (tag: String, endtag: Option<String>, proc: String)
        => register(call, TagKind::Proc, tagset, &tag, endtag, proc);

    /// Registers a tag that stands for the result of a script.
    "ns_adp_registerscript" [-tagset: Option<String>] (tag: String, endtag: Option<String>, proc: String)
        => register(call, TagKind::Script, tagset, &tag, endtag, proc);

    /// Registers a tag that stands for a piece of a page.
    "ns_adp_registertag" [-tagset: Option<String>] (tag: String, endtag: Option<String>, adpstring: String)
        => register(call, TagKind::Adp, tagset, &tag, endtag, adpstring);

    /// Ends the current page.
    "ns_adp_return" (retval: Option<Obj>) => raise(call, Exception::Return, retval);

    /// Runs a text as a page without its scripts.
    #[named("ns_adp_parse")]
    #[usage("?-cwd /value/? ?-file? ?-safe? ?-string? ?-tagset /value/? ?-tcl? ?--? /arg .../")]
    "ns_adp_safeeval" (arg: Option<Rest>) => again(call, &["-safe"], arg);

    /// What is known of the pages in memory.
    "ns_adp_stats" => stats(call);

    /// Sends output as it is made.
    #[deprecated("use \"ns_adp_ctl stream\"")]
    #[style(proc)]
    "ns_adp_stream" (bool: Option<Obj>) => {
        let on = bool.map(|b| b.boolean()).transpose()?;
        switch(call, Flag::STREAM, Some(on.unwrap_or(true)))
    };

    /// Makes a set of tags.
    "ns_adp_tagset create" [-fallback as "default": Option<String>] (name: String)
        => tagset_create(call, &name, fallback);

    /// Whether there is a set of tags.
    "ns_adp_tagset exists" (name: String) => Engine::of(call.interp)?.shared.tags.exists(&name);

    /// All sets of tags.
    "ns_adp_tagset names" => Ok::<_, Exit>(Engine::of(call.interp)?.shared.tags.names());

    /// Number of tags in a set, and its fallback.
    "ns_adp_tagset info" (name: String) => tagset_info(call, &name);

    /// Length of the output so far, in bytes.
    "ns_adp_tell" => tell(call);

    /// Drops the output so far, or what is beyond a length in bytes.
    "ns_adp_trunc" (length: Option<Int<0, MAX>>) => trunc(call, length);

    /// Adds to the output, with a line break.
    #[named("ns_adp_puts")]
    "ns_puts" [-nonewline: bool, --] (string: Obj) => puts(call, &string, nonewline);

    /// Answers requests with a page.
    "ns_register_adp" [-constraints: Option<ConstraintsArg>, -noinherit: bool, -expires: Option<Time>, -options: Option<Options>, --]
        (method: String, url: String, file: Option<String>)
        => register_adp(call, constraints, noinherit, expires, options, &method, &url, file);

    /// Registers a tag that stands for the result of a script.
    "ns_register_adptag" [-tagset: Option<String>] (tag: String, endtag: Option<String>, proc: String)
        => register(call, TagKind::Script, tagset, &tag, endtag, proc);
}

/// A size that is shown as a number with limits.
struct MemoryOf(usize);

impl FromObj for MemoryOf {
    const KIND: Kind = Kind::Integer { min: 1, max: MAX };
    fn from_obj(call: &Call<'_>, label: Label, value: &Obj) -> Result<Self, Exit> {
        let size = MemorySize::from_obj(call, label, value)?.0;
        match usize::try_from(size) {
            Ok(n) if n > 0 => Ok(MemoryOf(n)),
            _ => Err(tcl::error(format!(
                "expected integer in range [1,MAX] for '{label}', but got {size}"
            ))),
        }
    }
}

/// Switches of `ns_register_adp`, one or a list of them.
struct Options(Flags);

impl FromObj for Options {
    const KIND: Kind = Kind::Words(Flag::NAMES);
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Self, Exit> {
        let mut flags = Flags::default();
        for word in value.elements()? {
            match Flag::named(&word.text()) {
                Some(flag) => flags = flags.with(flag, true),
                None => {
                    let (last, first) = Flag::NAMES.split_last().unwrap_or((&"", &[]));
                    return Err(tcl::error(format!(
                        "bad option \"{}\": must be {}, or {last}",
                        word.text(),
                        first.join(", ")
                    )));
                }
            }
        }
        Ok(Options(flags))
    }
}

struct Parse {
    cwd: Option<String>,
    file: bool,
    safe: bool,
    tagset: Option<String>,
    tcl: bool,
}

fn frame(call: &Call<'_>) -> Result<std::rc::Rc<Frame>, Exit> {
    Engine::of(call.interp)?
        .frame()
        .ok_or_else(|| tcl::error("no active adp"))
}

fn append(call: &Call<'_>, strings: &[Obj]) -> Outcome<()> {
    let engine = Engine::active(call.interp)?;
    match strings {
        [one] => one.with_text(|text| engine.append(call.interp, text)),
        all => {
            let text: String = all.iter().map(Obj::text).collect();
            engine.append(call.interp, &text)
        }
    }
}

fn puts(call: &Call<'_>, string: &Obj, nonewline: bool) -> Outcome<()> {
    let engine = Engine::active(call.interp)?;
    string.with_text(|text| engine.append(call.interp, text))?;
    if nonewline {
        Ok(())
    } else {
        engine.append(call.interp, "\n")
    }
}

fn raise(call: &Call<'_>, exception: Exception, value: Option<Obj>) -> Outcome {
    let engine = Engine::active(call.interp)?;
    engine.state.borrow_mut().exception = exception;
    Err(tcl::error(value.map(|v| v.text()).unwrap_or_default()))
}

fn argv(call: &Call<'_>, index: Option<Int<0, MAX>>, default: Option<Obj>) -> Outcome {
    let frame = frame(call)?;
    match index {
        None => Ok(Obj::list(frame.args.iter().cloned())),
        Some(index) => Ok(frame
            .args
            .get(index.as_usize())
            .cloned()
            .or(default)
            .unwrap_or_default()),
    }
}

fn bind_args(call: &Call<'_>, names: &[Obj]) -> Outcome<()> {
    let frame = frame(call)?;
    let args = match frame.args.as_slice() {
        all if all.len() == names.len() => all,
        // A page called by its file: the file's name is not counted.
        [_, rest @ ..] if frame.named && rest.len() == names.len() => rest,
        _ => return Err(tcl::error("invalid number of variables")),
    };
    for (name, value) in names.iter().zip(args) {
        call.interp.set(&name.text(), value.clone())?;
    }
    Ok(())
}

fn dump(call: &Call<'_>) -> Outcome {
    let engine = Engine::active(call.interp)?;
    let mut state = engine.state.borrow_mut();
    Ok(state
        .outputs
        .last_mut()
        .map(|o| Obj::from(std::mem::take(&mut o.text)))
        .unwrap_or_default())
}

fn tell(call: &Call<'_>) -> Outcome<usize> {
    let engine = Engine::active(call.interp)?;
    let state = engine.state.borrow();
    Ok(state.outputs.last().map_or(0, |o| o.text.len()))
}

fn trunc(call: &Call<'_>, length: Option<Int<0, MAX>>) -> Outcome<()> {
    let engine = Engine::active(call.interp)?;
    if let Some(output) = engine.state.borrow_mut().outputs.last_mut() {
        output.truncate(length.map_or(0, Int::as_usize));
    }
    Ok(())
}

fn bufsize(call: &Call<'_>, size: Option<MemoryOf>) -> Outcome<usize> {
    let engine = Engine::of(call.interp)?;
    let mut state = engine.state.borrow_mut();
    let before = state.bufsize;
    if let Some(MemoryOf(size)) = size {
        state.bufsize = size;
    }
    Ok(before)
}

fn channel_to(call: &Call<'_>, channel: String) -> Outcome<()> {
    let engine = Engine::of(call.interp)?;
    if !channel.is_empty() {
        // The message about an unknown channel is Tcl's.
        call.interp
            .call(&["fconfigure", &channel, "-blocking"].map(Obj::from))?;
    }
    engine.state.borrow_mut().channel = Some(channel).filter(|c| !c.is_empty());
    Ok(())
}

fn switch(call: &Call<'_>, flag: Flag, value: Option<bool>) -> Outcome<bool> {
    let engine = Engine::of(call.interp)?;
    let mut state = engine.state.borrow_mut();
    let before = state.flags.has(flag);
    if let Some(on) = value {
        state.flags = state.flags.with(flag, on);
    }
    Ok(before)
}

fn expire(call: &Call<'_>, value: Option<bool>) -> Outcome<bool> {
    let before = switch(call, Flag::EXPIRE, value)?;
    if let (Some(on), Some(conn)) = (value, context(call).conn()) {
        let mut output = conn.output.borrow_mut();
        match on {
            true => {
                output.iupdate("expires", "now");
            }
            false if output.iget("expires") == Some("now") => {
                output.idelkey_all("expires");
            }
            false => {}
        }
    }
    Ok(before)
}

fn debug(
    call: &Call<'_>,
    host: Option<String>,
    port: Option<String>,
    procs: Option<String>,
) -> Outcome<bool> {
    let engine = Engine::active(call.interp)?;
    let debug = Debug {
        pages: String::new(),
        procs: procs.unwrap_or_default(),
        host: host.unwrap_or_default(),
        port: port.unwrap_or_default(),
    };
    engine.debug(call.interp, &debug)?;
    Ok(true)
}

/// The debugger itself is not part of this program: `prodebug.tcl` of TclPro brings it.
fn debuginit(call: &Call<'_>, procs: Obj, host: Obj, port: Obj) -> Outcome {
    if !call.interp.has_command("debugger_init") {
        return Err(tcl::error(
            "there is no debugger_init: put prodebug.tcl of TclPro into the Tcl library",
        ));
    }
    call.interp
        .call(&[Obj::from("debugger_init"), host, port])?;
    if !procs.is_empty() {
        let instrument = Obj::list([Obj::from("debugger_instrument"), procs]);
        call.interp
            .call(&[Obj::from("debugger_eval"), instrument])?;
    }
    Ok(Obj::new())
}

fn again(call: &Call<'_>, options: &[&str], args: Option<Rest<'_>>) -> Outcome {
    let mut words = vec![Obj::from("ns_adp_parse")];
    words.extend(options.iter().copied().map(Obj::from));
    words.extend(args.iter().flat_map(|a| a.iter().cloned()));
    call.interp.call(&words)
}

fn exception(call: &Call<'_>, varname: Option<String>) -> Outcome<bool> {
    let exception = Engine::of(call.interp)?.state.borrow().exception;
    if let Some(name) = varname {
        call.interp.set(&name, exception.name())?;
    }
    Ok(exception == Exception::Ok)
}

fn include(
    call: &Call<'_>,
    cache: Option<Time>,
    nocache: bool,
    tagset: Option<String>,
    tcl: bool,
    filename: &str,
    args: Option<Rest<'_>>,
) -> Outcome<()> {
    let engine = Engine::of(call.interp)?;
    let path = engine.resolve(filename);
    let mut what = Included {
        path,
        args: Vec::new(),
        tagset: tagset.unwrap_or_default(),
        tcl,
    };
    let args: Vec<Obj> = args.map(|a| a.to_vec()).unwrap_or_default();
    if nocache || cache.is_some() {
        what.args = args.iter().map(Obj::text).collect();
    }
    if engine.state.borrow().outputs.is_empty() {
        // Looked for first: that it is missing says more than that there is no page.
        super::pages::stat(&what.path)?;
        return Err(tcl::error("no active adp"));
    }
    match cache {
        _ if nocache && engine.postpone(&what) => Ok(()),
        Some(ttl) if !nocache => engine.include_cached(call.interp, &what, args, ttl.to_duration()),
        _ => engine.include(call.interp, &what, args),
    }
}

fn parse(call: &Call<'_>, how: Parse, args: &[Obj]) -> Outcome<String> {
    let engine = Engine::of(call.interp)?;
    let Some(first) = args.first() else {
        return Ok(String::new());
    };
    let mut variant = engine.variant(how.tcl, how.tagset.as_deref())?;
    variant.safe |= how.safe;
    let cwd = how.cwd.as_deref().map(|c| engine.resolve(c));
    let page = if how.file {
        let name = first.text();
        let path = match &cwd {
            Some(cwd) if !name.starts_with('/') => format!("{cwd}/{name}"),
            _ => engine.resolve(&name),
        };
        engine.load(&path, &variant)?
    } else {
        first.with_text(|text| engine.text_page(text, &variant))
    };
    let mut frame = Frame::new(page, args.to_vec(), variant.tagset);
    frame.named = how.file;
    if !how.file {
        frame.cwd = cwd;
    }
    engine.capture(call.interp, frame)
}

fn info(call: &Call<'_>) -> Outcome {
    let frame = frame(call)?;
    let source = &frame.page.source;
    let (size, mtime) = source
        .state
        .map_or((source.text.len() as u64, 0), |s| (s.size, s.mtime.0));
    let file = source.file.as_deref().unwrap_or("inline");
    Ok(Obj::list([
        Obj::from(file),
        Obj::from(size),
        Obj::from(mtime),
    ]))
}

fn mimetype_of(call: &Call<'_>, mimetype: Option<String>) -> Outcome<String> {
    let engine = Engine::active(call.interp)?;
    if let Some(mimetype) = mimetype {
        engine.state.borrow_mut().mimetype = Some(mimetype);
    }
    Ok(engine.media_type())
}

fn register(
    call: &Call<'_>,
    kind: TagKind,
    tagset: Option<String>,
    tag: &str,
    end: Option<String>,
    script: String,
) -> Outcome<()> {
    let engine = Engine::of(call.interp)?;
    let set = tagset.unwrap_or_default();
    if engine
        .shared
        .tags
        .register(&set, tag, Tag { kind, end, script })
    {
        Ok(())
    } else {
        Err(tcl::error(format!("no such tagset: \"{set}\"")))
    }
}

fn tagset_create(call: &Call<'_>, name: &str, fallback: Option<String>) -> Outcome<bool> {
    let engine = Engine::of(call.interp)?;
    if let Some(fallback) = fallback
        .as_deref()
        .filter(|f| !engine.shared.tags.exists(f))
    {
        return Err(tcl::error(format!("no such tagset: \"{fallback}\"")));
    }
    Ok(engine.shared.tags.create(name, fallback.as_deref()))
}

fn tagset_info(call: &Call<'_>, name: &str) -> Outcome {
    let engine = Engine::of(call.interp)?;
    match engine.shared.tags.info(name) {
        Some((size, fallback)) => Ok(Obj::list([
            Obj::from("size"),
            Obj::from(size),
            Obj::from("fallback"),
            Obj::from(fallback),
        ])),
        None => Err(tcl::error(format!("no such tagset: \"{name}\""))),
    }
}

fn stats(call: &Call<'_>) -> Outcome {
    let engine = Engine::of(call.interp)?;
    let mut list = Vec::new();
    for source in engine.shared.sources.list() {
        let (Some(file), Some(state)) = (&source.file, source.state) else {
            continue;
        };
        let evals = source.evals.load(std::sync::atomic::Ordering::Relaxed);
        let numbers = [
            ("dev", state.dev),
            ("ino", state.ino),
            ("mtime", u64::try_from(state.mtime.0).unwrap_or(0)),
            // The list holds one reference itself.
            ("refcnt", (Arc::strong_count(&source) - 1) as u64),
            ("evals", evals),
            ("size", state.size),
            ("blocks", source.blocks.len() as u64),
            ("scripts", source.scripts() as u64),
        ];
        list.push(Obj::from(file));
        list.push(Obj::list(
            numbers
                .into_iter()
                .flat_map(|(k, n)| [Obj::from(k), Obj::from(n)]),
        ));
    }
    Ok(Obj::list(list))
}

#[allow(clippy::too_many_arguments)] // One for each slot of the command.
fn register_adp(
    call: &Call<'_>,
    constraints: Option<ConstraintsArg>,
    noinherit: bool,
    expires: Option<Time>,
    options: Option<Options>,
    method: &str,
    url: &str,
    file: Option<String>,
) {
    let server = std::sync::Arc::clone(context(call).server());
    let handler = PageHandler {
        file: file.map(|f| server.pages.join(f).to_string_lossy().into_owned()),
        flags: options.map(|o| o.0).unwrap_or_default(),
        ttl: expires.map(Time::to_duration),
    };
    crate::register::handler(call, method, url, noinherit, constraints, handler);
}
