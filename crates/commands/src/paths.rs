//! Where a server's pages and files are: ns_url2file, ns_pagepath, ns_serverpath, and the scripts that decide about it.

use std::path::PathBuf;
use std::sync::Arc;

use ::server::script::vhost::{self, ScriptAnswer, Scripts};
use ::server::vserver::VirtualServer;
use synopsis::{Call, Rest, commands};
use tcl::{Interp, Outcome};

use crate::callback::Callback;
use crate::kinds::context;

commands! { TABLE(call):

    /// Path of the file that a URL stands for.
    "ns_url2file" (url: String) => url2file(call, &url);

    /// Path of the page directory, or of something below it.
    #[usage("?-host /value/? ?--? ?/path-segment .../?")]
    "ns_pagepath" [-host: Option<String>, --] (path_segment as "path-segment": Option<Rest>)
        => below(vhost::page_root(call.interp, context(call).server(), host_of(call, host).as_deref())?, path_segment);

    /// Path of the server's directory, or of something below it.
    #[usage("?-host /value/? ?--? ?/path-segment .../?")]
    "ns_serverpath" [-host: Option<String>, --] (path_segment as "path-segment": Option<Rest>)
        => below(vhost::server_root(call.interp, context(call).server(), host_of(call, host).as_deref())?, path_segment);

    /// Registers a script that gives the directory of the server for the host of a request.
    "ns_serverrootproc" (script: String, arg: Option<Rest>)
        => {
            let callback = Callback::new(script, arg.as_deref().unwrap_or_default());
            *context(call).server().extensions.get::<Scripts>().root.write() = Some(Arc::new(Answer(callback)));
        };

    /// Registers a script that gives the location of the server.
    "ns_locationproc" (script: String, arg: Option<Rest>)
        => {
            let callback = Callback::new(script, arg.as_deref().unwrap_or_default());
            *context(call).server().extensions.get::<Scripts>().location.write() = Some(Arc::new(Answer(callback)));
        };
}

struct Answer(Callback);

impl ScriptAnswer for Answer {
    fn answer(&self, interp: &Interp, host: &str) -> Outcome<String> {
        let before: &[&str] = if host.is_empty() { &[] } else { &[host] };
        self.0.run(interp, before, &[]).map(|answer| answer.text())
    }
}

/// Takes what the configuration says about roots.
///
/// # Errors
/// None; the type is that of the hook.
pub fn on_server(server: &Arc<VirtualServer>) -> Result<(), String> {
    if let Some(script) = server
        .settings
        .serverrootproc
        .as_ref()
        .filter(|s| !s.is_empty())
    {
        let answer = Answer(Callback::new(script.clone(), &[]));
        *server.extensions.get::<Scripts>().root.write() = Some(Arc::new(answer));
    }
    Ok(())
}

fn url2file(call: &Call<'_>, url: &str) -> Outcome<String> {
    let context = context(call);
    let server = context.server();
    if let Some(path) = ::server::script::registered_file(call.interp, server, url)? {
        return Ok(path);
    }
    let root = vhost::page_root(call.interp, server, host_of(call, None).as_deref())?;
    Ok(vhost::file_below(&root, url).to_string_lossy().into_owned())
}

fn host_of(call: &Call<'_>, given: Option<String>) -> Option<String> {
    given.or_else(|| context(call).conn().and_then(|c| c.header("host")))
}

fn below(mut path: PathBuf, segments: Option<Rest<'_>>) -> String {
    for segment in segments.iter().flat_map(|s| s.iter()) {
        segment.with_text(|s| path.push(s.trim_start_matches('/')));
    }
    path.to_string_lossy().into_owned()
}
