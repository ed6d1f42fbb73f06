//! What a test says about its server: pages, libraries, parameters, or a whole configuration.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::program::hand_over;
use crate::server::Server;

/// Collected with `Server::builder()`, used up by `start`.
///
/// Folders below the server's own temporary home: `pages/` (what is served), `lib/` (private Tcl library),
/// `modules/` (`tcllibrary`), `log/`, `tmp/`.
pub struct Builder {
    home: TempDir,
    configuration: Option<String>,
    configuration_file: Option<PathBuf>,
    parameters: Vec<(String, String, String)>,
    appended: String,
    modules: Vec<(String, String)>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    evaluator: bool,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        let home = tempfile::Builder::new()
            .prefix("navis-test-")
            .tempdir()
            .expect("a temporary directory");
        for folder in ["pages", "lib", "modules", "log", "tmp"] {
            fs::create_dir(home.path().join(folder)).expect("a folder in a new directory");
        }
        Builder {
            home,
            configuration: None,
            configuration_file: None,
            parameters: Vec::new(),
            appended: String::new(),
            modules: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            evaluator: true,
        }
    }

    /// The directory that holds everything of this server.
    pub fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    /// A file below `pages/`; folders are made.
    pub fn page(self, path: &str, content: impl AsRef<[u8]>) -> Builder {
        self.file(&format!("pages/{path}"), content)
    }

    /// A file of the private Tcl library, sourced at start.
    pub fn library(self, path: &str, script: &str) -> Builder {
        self.file(&format!("lib/{path}"), script)
    }

    /// Any file below the home.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Builder {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder"))
            .expect("a folder for a file");
        fs::write(path, content).expect("a file of the test");
        self
    }

    /// `ns_param` in a section, after those of the default configuration.
    pub fn param(mut self, section: &str, name: &str, value: &str) -> Builder {
        self.parameters
            .push((section.to_owned(), name.to_owned(), value.to_owned()));
        self
    }

    /// A module of the server `default`, e.g. `("nslog", "nslog")`.
    pub fn module(mut self, name: &str, file: &str) -> Builder {
        self.modules.push((name.to_owned(), file.to_owned()));
        self
    }

    /// Configuration text (Tcl) behind the default one. `@PORT@` and `@HOME@` are replaced.
    pub fn append(mut self, text: &str) -> Builder {
        self.appended.push_str(text);
        self.appended.push('\n');
        self
    }

    /// Configuration text instead of the default one; `Server::eval` is then not available unless the
    /// server `default` sources `@HOME@/lib`. `@PORT@` and `@HOME@` are replaced.
    pub fn configuration(mut self, text: &str) -> Builder {
        self.configuration = Some(text.to_owned());
        self
    }

    /// A file (or directory of fragments) for `-t` as it is, instead of a written one. It finds its port in the
    /// environment variable `PORT`, which every server of a test gets.
    pub fn configuration_file(mut self, path: impl AsRef<Path>) -> Builder {
        self.configuration_file = Some(path.as_ref().to_owned());
        self
    }

    /// A copy of a folder below the home: what the server reads must be readable for the user it becomes.
    /// A folder `var` in it is left out, it belongs to whoever runs the original.
    pub fn copy(self, from: impl AsRef<Path>, to: &str) -> Builder {
        copy_folder(from.as_ref(), &self.home.path().join(to));
        self
    }

    /// An empty folder below the home, which the server may write to.
    pub fn folder(self, path: &str) -> Builder {
        fs::create_dir_all(self.home.path().join(path)).expect("a folder below the home");
        self
    }

    /// A word for the command line, before `-t`.
    pub fn argument(mut self, word: &str) -> Builder {
        self.arguments.push(word.to_owned());
        self
    }

    pub fn environment(mut self, name: &str, value: &str) -> Builder {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without the handler behind `Server::eval`, for tests that count handlers or connections.
    pub fn without_eval(mut self) -> Builder {
        self.evaluator = false;
        self
    }

    /// Starts the program and waits until its port accepts.
    ///
    /// # Panics
    /// With the server's log when it ends, or does not accept in time.
    #[track_caller]
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Like `start`; the error is the log of a server that ended instead of accepting.
    pub fn try_start(mut self) -> Result<Server, String> {
        if self.evaluator {
            self = self.library("testkit-eval.tcl", include_str!("eval.tcl"));
        }
        Server::launch(self)
    }

    pub(crate) fn write_configuration(&self, port: u16) -> PathBuf {
        let home = self.home.path().to_string_lossy();
        let mut text = self
            .configuration
            .clone()
            .unwrap_or_else(|| include_str!("default.conf.tcl").to_owned());
        for (name, file) in &self.modules {
            text.push_str(&format!(
                "ns_section ns/server/default/modules {{ns_param {{{name}}} {{{file}}}}}\n"
            ));
        }
        for (section, name, value) in &self.parameters {
            text.push_str(&format!(
                "ns_section {{{section}}}\nns_param {{{name}}} {{{value}}}\n"
            ));
        }
        text.push_str(&self.appended);
        let text = text
            .replace("@PORT@", &port.to_string())
            .replace("@HOME@", &home);
        let path = self.home.path().join("nsd.conf.tcl");
        fs::write(&path, text).expect("the configuration");
        hand_over(self.home.path());
        self.configuration_file.clone().unwrap_or(path)
    }

    pub(crate) fn command_line(&self) -> (&[String], &[(String, String)]) {
        (&self.arguments, &self.environment)
    }

    pub(crate) fn home_path(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn into_home(self) -> TempDir {
        self.home
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder below the home");
    let entries = fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
    for entry in entries.flatten().filter(|entry| entry.file_name() != "var") {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy of a file");
        }
    }
}
