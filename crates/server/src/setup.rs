//! Virtual servers made from the configuration: settings, pools, page roots, libraries.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dispatch::Handler;
use crate::fastpath::{Fastpath, FastpathConfig, FileCache, Listing};
use crate::life::{pool_settings, problems};
use crate::module::Configured;
use crate::pool::Pool;
use crate::process::Process;
use crate::route::Constraints;
use crate::script::{self, Library};
use crate::settings::{
    FastpathSettings, GlobalFastpathSettings, ServerSettings, TclSettings, VhostSettings,
};
use crate::vserver::{Parts, VirtualServer};

/// Makes the servers of `ns/servers` and gives the modules of all of them, global ones first. Without any server
/// (command mode without a configuration) there is one named `default`.
///
/// # Errors
/// What is wrong in the configuration.
pub fn servers(process: &Arc<Process>) -> Result<Vec<Configured>, String> {
    mime_types(process);
    let names: Vec<String> = {
        let config = process.config.read();
        let listed: Vec<String> = config
            .section("ns/servers")
            .map(|s| s.params.iter().map(|p| p.key.clone()).collect())
            .unwrap_or_default();
        if listed.is_empty() {
            vec!["default".to_owned()]
        } else {
            listed
        }
    };
    let mut made = Vec::new();
    for name in &names {
        if made.iter().any(|s: &Arc<VirtualServer>| s.name == *name) {
            continue;
        }
        made.push(server(process, name)?);
    }
    if let Some(wanted) = &process.options.default_server
        && !names.iter().any(|n| n.eq_ignore_ascii_case(wanted))
    {
        return Err(format!(
            "-s {wanted}: no such server; ns/servers has {}",
            names.join(", ")
        ));
    }
    process.set_servers(made);
    let config = process.config.read();
    let mut configured = Vec::new();
    if let Some(s) = config.section("ns/modules") {
        configured.extend(Configured::of(s, None));
    }
    for server in process.servers() {
        if let Some(s) = config.section(&server.section("modules")) {
            configured.extend(Configured::of(s, Some(&server.name)));
        }
    }
    for entry in configured.iter().filter(|e| !e.is_tcl()) {
        entry.find(process.modules)?;
    }
    Ok(configured)
}

/// Sources the Tcl library of every server and leaves its blueprint; evaluates `initcmds`.
///
/// # Errors
/// The built-in library fails.
pub fn libraries(process: &Arc<Process>, configured: &[Configured]) -> Result<(), String> {
    for server in process.servers() {
        shared::thread::set_name(&format!("-main:{}-", server.name));
        for plug in &process.scripting.on_server {
            plug(server)?;
        }
        let library = library_of(process, server, configured);
        script::build(server, &library)?;
        let initfile = process.home().join(&server.tcl.initfile);
        if initfile.is_file() {
            script::source_initfile(server, &initfile);
        }
        for commands in &server.tcl.initcmds {
            script::eval_initcmds(server, commands);
        }
    }
    shared::thread::set_name("-main-");
    Ok(())
}

fn library_of(process: &Process, server: &VirtualServer, configured: &[Configured]) -> Library {
    let shared_dir = process.home().join(&process.settings().tcllibrary);
    let private = server.tcl.library.as_ref().map(|l| process.home().join(l));
    let mut library = Library::default();
    if let Some(dir) = &private {
        library.directories.push((None, dir.clone()));
    }
    let mut seen = Vec::new();
    for entry in configured {
        let mine = entry.server.as_deref().is_none_or(|s| s == server.name);
        if !mine || seen.contains(&entry.name) {
            continue;
        }
        seen.push(entry.name.clone());
        for base in std::iter::once(&shared_dir).chain(&private) {
            library
                .directories
                .push((Some(entry.name.clone()), base.join(&entry.name)));
        }
    }
    library
}

fn server(process: &Arc<Process>, name: &str) -> Result<Arc<VirtualServer>, String> {
    let config = process.config.read();
    let section = |below: &str| {
        let full = if below.is_empty() {
            format!("ns/server/{name}")
        } else {
            format!("ns/server/{name}/{below}")
        };
        config.section_or_empty(&full)
    };
    let settings = ServerSettings::read(&section("")).map_err(|p| problems(&p))?;
    let tcl = TclSettings::read(&section("tcl")).map_err(|p| problems(&p))?;
    let vhost = VhostSettings::read(&section("vhost")).map_err(|p| problems(&p))?;
    let own = FastpathSettings::read(&section("fastpath")).map_err(|p| problems(&p))?;
    let global_section = config.section_or_empty("ns/fastpath");
    let global = GlobalFastpathSettings::read(&global_section).map_err(|p| problems(&p))?;

    let root_text = own
        .serverdir
        .clone()
        .filter(|s| !s.is_empty())
        .unwrap_or_else(|| settings.serverdir.clone());
    let root = absolute(&process.home(), &root_text);
    let pages = absolute(&root, &own.pagedir);
    let fastpath = fastpath(process, &settings, &own, &global, &pages);
    let error_pages = redirects(&section("redirects"))?;
    let extra_headers = pairs(
        settings.extraheaders.as_deref(),
        &format!("ns/server/{name}"),
    )?;
    let parts = Parts {
        settings,
        tcl,
        vhost,
        fastpath_settings: own,
        root,
        pages,
        fastpath,
        error_pages,
        extra_headers,
    };
    let made = VirtualServer::new(name, parts, process);
    for method in ["GET", "HEAD", "POST"] {
        made.routes.set(
            method,
            "/",
            false,
            Constraints::default(),
            Arc::new(Handler::Fastpath),
        );
    }
    let mut pools = vec![Pool::new("default", pool_settings(&section(""))?, &made)];
    for p in &section("pools").params {
        pools.push(Pool::new(
            &p.key,
            pool_settings(&section(&format!("pool/{}", p.key)))?,
            &made,
        ));
    }
    made.set_pools(pools);
    for pool in &made.pools()[1..] {
        for map in &pool.settings.map {
            map_pool(&made, pool, map)
                .map_err(|e| format!("ns/server/{name}/pool/{}: {e}", pool.name))?;
        }
    }
    Ok(made)
}

/// Maps `METHOD URL ?constraints?` to a pool; a mere URL is mapped for GET.
///
/// # Errors
/// What is wrong with the specification.
pub fn map_pool(server: &VirtualServer, pool: &Arc<Pool>, spec: &str) -> Result<(), String> {
    let words = tcl_words(spec)?;
    let (method, url, constraints) = match words.as_slice() {
        [url] => ("GET", url.as_str(), None),
        [method, url] => (method.as_str(), url.as_str(), None),
        [method, url, constraints] => (method.as_str(), url.as_str(), Some(constraints.as_str())),
        _ => {
            return Err(format!(
                "invalid mapping \"{spec}\": must be METHOD URL ?constraints?"
            ));
        }
    };
    let constraints = match constraints {
        Some(text) => Constraints::parse(&tcl_words(text)?, text)?,
        None => Constraints::default(),
    };
    server
        .pool_map
        .set(method, url, false, constraints, Arc::clone(pool));
    Ok(())
}

fn tcl_words(text: &str) -> Result<Vec<String>, String> {
    script::list_words(text)
}

fn absolute(base: &Path, path: &str) -> PathBuf {
    if path.is_empty() {
        base.to_owned()
    } else {
        base.join(path)
    }
}

fn redirects(section: &crate::config::Section) -> Result<HashMap<u16, String>, String> {
    let mut pages = HashMap::new();
    for p in &section.params {
        let status: u16 = p
            .key
            .parse()
            .ok()
            .filter(|s| (300..600).contains(s))
            .ok_or_else(|| {
                format!(
                    "{}: section {}: \"{}\" is not a status code",
                    p.place, section.name, p.key
                )
            })?;
        pages.entry(status).or_insert_with(|| p.value.clone());
    }
    Ok(pages)
}

/// A list of header names and values, as `extraheaders` has it.
///
/// # Errors
/// It is no list, or has an odd number of elements.
pub fn pairs(list: Option<&str>, section: &str) -> Result<Vec<(String, String)>, String> {
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let words =
        tcl_words(list).map_err(|e| format!("section {section}, parameter extraheaders: {e}"))?;
    if words.len() % 2 != 0 {
        return Err(format!(
            "section {section}, parameter extraheaders: \"{list}\" is not a list of names and values"
        ));
    }
    Ok(words
        .chunks_exact(2)
        .map(|w| (w[0].clone(), w[1].clone()))
        .collect())
}

fn mime_types(process: &Process) {
    let config = process.config.read();
    let Some(section) = config.section("ns/mimetypes") else {
        return;
    };
    let mut types = http::mime::Types::default();
    for p in &section.params {
        match p.key.to_ascii_lowercase().as_str() {
            "default" => types.set_default(&p.value),
            "noextension" => types.set_no_extension(&p.value),
            extension => types.add(extension, &p.value),
        }
    }
    *process.mime.write() = Arc::new(types);
}

fn fastpath(
    process: &Process,
    settings: &ServerSettings,
    own: &FastpathSettings,
    global: &GlobalFastpathSettings,
    pages: &Path,
) -> Fastpath {
    let listing = match own.directorylisting.as_str() {
        "simple" => Listing::Simple,
        "fancy" => Listing::Fancy,
        _ => Listing::None,
    };
    let given = |o: &Option<String>| o.as_ref().is_some_and(|p| !p.is_empty());
    let mime = Arc::clone(&process.mime.read());
    let mut config = FastpathConfig::new(
        pages,
        Arc::new(move |name: &str| mime.guess(name).to_owned()),
    );
    config.directory_files = own
        .directoryfile
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    config.directory_handler = given(&own.directoryproc) || given(&own.directoryadp);
    config.listing = listing;
    config.hide_dot_files = own.hidedotfiles;
    config.gzip_static = global.gzip_static;
    config.brotli_static = global.brotli_static;
    config.zstd_static = global.zstd_static;
    config.check_modified_since = settings.checkmodifiedsince;
    config.etag = own.etag;
    let cache = global.cache.then(|| {
        process.extensions.get_or(|| {
            FileCache::new(global.cachemaxsize.get(), global.cachemaxentry.get())
                .checking_every(global.cachecheck)
        })
    });
    Fastpath::new(config, cache)
}
