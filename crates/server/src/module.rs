//! Modules: a module is a value, starting it is a function. The list of modules is a list, in crate `modules`.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use synopsis::SectionSpec;
use tcl::Interp;

use crate::config::Section;
use crate::process::Process;
use crate::script::Context;
use crate::vserver::VirtualServer;

/// A built-in module. It has no privilege: everything it needs is in what it is handed.
pub struct Module {
    /// The last component of its name in a configuration, without suffix: `nssock`.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The parameters of its section.
    pub spec: fn() -> &'static SectionSpec,
    /// Sections below its own or elsewhere that it reads as well.
    pub more_specs: fn() -> Vec<&'static SectionSpec>,
    /// Called while the process still has the privileges it was started with: binds sockets, opens nothing else.
    pub prepare: fn(&Loading<'_>) -> Result<(), String>,
    /// Called before the server's Tcl library is sourced: plugs in commands, handlers, traces, drivers.
    pub start: fn(&Loading<'_>) -> Result<(), String>,
}

/// What a module is handed while it starts.
pub struct Loading<'a> {
    pub process: &'a Arc<Process>,
    /// `None` for modules of `ns/modules`.
    pub server: Option<&'a Arc<VirtualServer>>,
    /// Its name in the configuration.
    pub name: &'a str,
    /// The name of its section: `ns/module/NAME` or `ns/server/S/module/NAME`.
    pub section: String,
    /// Sockets that were bound before (`-b`, `-B`).
    pub prebound: &'a Mutex<net::Prebound>,
}

impl Loading<'_> {
    /// Its section as it was read; empty when there is none. A module of a server falls back to the global section
    /// `ns/module/NAME`.
    pub fn config(&self) -> Section {
        let config = self.process.config.read();
        let own = config.section(&self.section).cloned();
        own.or_else(|| config.section(&format!("ns/module/{}", self.name)).cloned())
            .unwrap_or_else(|| config.section_or_empty(&self.section))
    }

    /// Adds commands to all interpreters of the module's server, or of all servers.
    pub fn commands(&self, table: &'static [synopsis::Command]) {
        let add = |s: &Arc<VirtualServer>| s.extensions.get::<ModuleTables>().0.write().push(table);
        match self.server {
            Some(server) => add(server),
            None => self.process.servers().iter().for_each(add),
        }
    }
}

impl Loading<'_> {
    /// Has `act` called after every request, and after every script of a thread that keeps its interpreter.
    pub fn on_cleanup(&self, act: impl Fn(&Interp, &Rc<Context>) + Send + Sync + 'static) {
        let act: Cleanup = Arc::new(act);
        let add = |s: &Arc<VirtualServer>| {
            s.extensions
                .get::<Cleanups>()
                .0
                .write()
                .push(Arc::clone(&act))
        };
        match self.server {
            Some(server) => add(server),
            None => self.process.servers().iter().for_each(add),
        }
    }
}

/// See [`Loading::on_cleanup`].
pub type Cleanup = Arc<dyn Fn(&Interp, &Rc<Context>) + Send + Sync>;

/// What modules do after every request of a server. An extension of the server.
#[derive(Default)]
pub struct Cleanups(pub RwLock<Vec<Cleanup>>);

/// Commands that modules added to a server. An extension of the server.
#[derive(Default)]
pub struct ModuleTables(pub RwLock<Vec<&'static [synopsis::Command]>>);

/// One line of `ns/modules` or `ns/server/S/modules`.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The parameter's name.
    pub name: String,
    /// The parameter's value: a built-in module, with or without path and suffix, or `tcl`.
    pub file: String,
    pub server: Option<String>,
    pub place: crate::config::Place,
}

impl Configured {
    /// The modules of a section, in order.
    pub fn of(section: &Section, server: Option<&str>) -> Vec<Configured> {
        let one = |p: &crate::config::Param| Configured {
            name: p.key.clone(),
            file: p.value.clone(),
            server: server.map(str::to_owned),
            place: p.place.clone(),
        };
        section.params.iter().map(one).collect()
    }

    /// Whether the module consists of Tcl files only.
    pub fn is_tcl(&self) -> bool {
        self.file.eq_ignore_ascii_case("tcl") || self.file.is_empty()
    }

    /// The last component of the path without suffix: `/usr/lib/ns/nssock.so` is `nssock`.
    pub fn implementation(&self) -> String {
        let path = Path::new(&self.file);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        stem.strip_prefix("lib")
            .filter(|s| s.starts_with("ns"))
            .unwrap_or(&stem)
            .to_owned()
    }

    /// The built-in module it names.
    ///
    /// # Errors
    /// A text that lists the known ones.
    pub fn find(&self, modules: &'static [Module]) -> Result<&'static Module, String> {
        let name = self.implementation();
        modules.iter().find(|m| m.name == name).ok_or_else(|| {
            let known: Vec<&str> = modules.iter().map(|m| m.name).collect();
            format!(
                "{}: unknown module \"{}\"; known modules are {}",
                self.place,
                self.file,
                known.join(", ")
            )
        })
    }

    pub fn section(&self) -> String {
        match &self.server {
            Some(server) => format!("ns/server/{server}/module/{}", self.name),
            None => format!("ns/module/{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_recognised_by_the_last_component() {
        let named = |file: &str| {
            let place = crate::config::Place::default();
            Configured {
                name: "x".into(),
                file: file.into(),
                server: None,
                place,
            }
            .implementation()
        };
        assert_eq!(named("nssock.so"), "nssock");
        assert_eq!(named("/usr/local/ns/bin/nssock.so"), "nssock");
        assert_eq!(named("nssock"), "nssock");
        assert_eq!(named("libnsthread.so"), "nsthread");
    }
}
