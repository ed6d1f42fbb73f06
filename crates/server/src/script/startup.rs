//! Scripts of the start: the configuration, the library, `initcmds`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tcl::{Exit, Interp, Obj};

use super::birth::{self, Library};
use super::{Context, report, with_interp};
use crate::process::Process;
use crate::vserver::VirtualServer;

/// Reads the files of a configuration into `process.config`.
///
/// # Errors
/// The error of the script with file and line.
pub fn read_configuration(process: &Arc<Process>, files: &[PathBuf]) -> Result<(), String> {
    let interp = Interp::create().map_err(|e| e.message().to_owned())?;
    let context = Context::new(Arc::clone(process), None);
    interp.set_data(std::rc::Rc::clone(&context));
    synopsis::register_all(&interp, &process.scripting.config_tables);
    for (name, text) in &process.scripting.config_library {
        interp
            .eval_global(text)
            .map_err(|e| format!("built-in library, {name}: {}", text_of(&interp, &e)))?;
    }
    for file in files {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        if let Err(e) = interp.source(&absolute, Some("utf-8")) {
            return Err(format!(
                "configuration {}: {}",
                file.display(),
                text_of(&interp, &e)
            ));
        }
    }
    Ok(())
}

/// Sources the library of a server.
///
/// # Errors
/// The built-in part of the library fails.
pub fn build(server: &Arc<VirtualServer>, library: &Library) -> Result<(), String> {
    birth::build_blueprint(server, library).map_err(|e| match e {
        Exit::Error(e) => format!("server {}: {}", server.name, e.message()),
        _ => format!("server {}: the library ended abnormally", server.name),
    })
}

/// Sources a start script of the site; the reference's own is skipped, since its work is built in.
pub fn source_initfile(server: &Arc<VirtualServer>, file: &Path) {
    let text = match std::fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) => return shared::error!("initfile {}: {e}", file.display()),
    };
    if text.contains("NaviServer") || text.contains("AOLserver") {
        return shared::notice!(
            "initfile {}: the reference's own, its work is built in; skipped",
            file.display()
        );
    }
    let script = Obj::list(["source", &file.to_string_lossy()].map(Obj::from));
    if let Err(e) = birth::eval_into_blueprint(server, &script) {
        log_exit(server, &format!("initfile {}", file.display()), e);
    }
}

/// Evaluates `initcmds` of a server.
pub fn eval_initcmds(server: &Arc<VirtualServer>, script: &str) {
    if let Err(e) = birth::eval_into_blueprint(server, &Obj::from(script)) {
        log_exit(server, "initcmds", e);
    }
}

/// The words of a Tcl list in a configuration value.
///
/// # Errors
/// Tcl's message.
pub fn list_words(text: &str) -> Result<Vec<String>, String> {
    tcl::list_parse(text).map_err(|e| e.message().to_owned())
}

/// The version of the Tcl library, `8.6.13`.
pub fn tcl_version() -> &'static str {
    tcl::version()
}

fn log_exit(server: &Arc<VirtualServer>, what: &str, exit: Exit) {
    let mut exit = Some(exit);
    let reported = with_interp(server, |interp, _| {
        if let Some(e) = exit.take() {
            report(interp, what, e);
        }
        Ok(())
    });
    if reported.is_err() {
        shared::error!("{what}: failed");
    }
}

fn text_of(interp: &Interp, exit: &Exit) -> String {
    match exit {
        Exit::Error(e) if !e.info().is_empty() => e.info().to_owned(),
        Exit::Error(e) => {
            let info = interp.error_info();
            if info.is_empty() {
                e.message().to_owned()
            } else {
                info
            }
        }
        _ => "ended with an unexpected return code".to_owned(),
    }
}
