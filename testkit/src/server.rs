//! A running server: started on a free port, asked, stopped; killed when the test forgets it.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::builder::Builder;
use crate::program::{free_port, nsd_path, unprivileged};
use crate::wait::{PATIENCE, until};
use crate::wire::{Connection, Response};

/// A server process with its temporary home. Dropping it kills the process and removes the home.
pub struct Server {
    child: Child,
    port: u16,
    home: TempDir,
    ended: Option<Option<i32>>,
}

/// An outcome of `Server::eval` that was not `ok`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptError {
    /// 1 error, 2 return, 3 break, 4 continue.
    pub code: i32,
    pub errorcode: String,
    pub message: String,
}

impl Server {
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The demo of this repository, on a copy, with an empty database. No `eval`.
    pub fn demo() -> Builder {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo");
        let builder = Builder::new().without_eval().copy(source, "demo");
        let (configuration, var) = (
            builder.home().join("demo/config.tcl"),
            builder.home().join("var"),
        );
        let builder = ["log", "run", "tmp", "uploads"]
            .iter()
            .fold(builder, |builder, name| {
                builder.folder(&format!("var/{name}"))
            });
        builder
            .environment("NAVIS_DEMO_VAR", &var.to_string_lossy())
            .configuration_file(configuration)
    }

    /// Ports are free when they are looked for and may be taken when the server comes: a few tries.
    pub(crate) fn launch(builder: Builder) -> Result<Server, String> {
        let mut failure = String::new();
        for _ in 0..5 {
            let port = free_port();
            let mut child = spawn(&builder, port);
            let accepting = until(PATIENCE, || {
                if let Ok(Some(_)) = child.try_wait() {
                    return Some(false);
                }
                TcpStream::connect(("127.0.0.1", port))
                    .is_ok()
                    .then_some(true)
            });
            // Whoever answers there, it is not us when our process has ended.
            if accepting == Some(true) && matches!(child.try_wait(), Ok(None)) {
                return Ok(Server {
                    child,
                    port,
                    home: builder.into_home(),
                    ended: None,
                });
            }
            let _ = child.kill();
            let status = child.wait();
            let log = fs::read_to_string(builder.home_path().join("output")).unwrap_or_default();
            failure = match accepting {
                None => format!("the server did not accept within {PATIENCE:?}\n{log}"),
                _ => format!("the server ended at its start: {status:?}\n{log}"),
            };
            if !log.to_lowercase().contains("in use") {
                break;
            }
        }
        Err(failure)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `http://localhost:PORT/path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// The directory that holds pages, library, logs of this server.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A file below the home, as the server left it.
    pub fn read(&self, path: &str) -> Vec<u8> {
        let path: PathBuf = self.home.path().join(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// What the server wrote to standard output and error so far; the default system log goes there.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.home.path().join("output")).unwrap_or_default())
            .into_owned()
    }

    /// Waits until the log contains the text.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        if until(PATIENCE, || self.log().contains(text).then_some(())).is_none() {
            panic!("`{text}` did not come up in the log:\n{}", self.log());
        }
    }

    /// A connection to be kept: for pipelining, half requests, several requests in order.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        Connection::open(("127.0.0.1", self.port))
            .unwrap_or_else(|e| panic!("connect: {e}\n{}", self.log()))
    }

    /// Sends bytes on a new connection and returns all that comes until the server closes.
    #[track_caller]
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let mut connection = self.connect();
        connection.send(bytes);
        connection.rest()
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    #[track_caller]
    pub fn post(&self, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Response {
        self.request(
            "POST",
            path,
            &[("Content-Type", content_type)],
            body.as_ref(),
        )
    }

    /// One request on a connection of its own. `Host`, `Connection: close` and `Content-Length` are added.
    #[track_caller]
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut connection = self.connect();
        let mut headers = headers.to_vec();
        headers.push(("Connection", "close"));
        connection.request(method, path, &headers, body)
    }

    /// Evaluates a script in a connection thread of the server.
    #[track_caller]
    pub fn eval(&self, script: &str) -> Result<String, ScriptError> {
        let response = self.post("/-testkit-/eval", "text/plain; charset=utf-8", script);
        assert_eq!(response.status, 200, "{response:?}\n{}", self.log());
        let text = response.text();
        let mut lines = text.splitn(3, '\n');
        let code = lines
            .next()
            .and_then(|code| code.parse().ok())
            .unwrap_or(-1);
        let errorcode = lines.next().unwrap_or_default().to_owned();
        let message = lines.next().unwrap_or_default().to_owned();
        if code == 0 {
            Ok(message)
        } else {
            Err(ScriptError {
                code,
                errorcode,
                message,
            })
        }
    }

    /// Resident memory in bytes (`VmRSS`).
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or_default();
        line.split_whitespace()
            .next()
            .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
            .unwrap_or(0)
            * 1024
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.pid())).map_or(0, Iterator::count)
    }

    /// Sends a signal by name: `TERM`, `HUP`, `USR1`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "kill -{name} {}",
            self.pid()
        );
    }

    /// TERM, then waits for the end: the exit code, `None` when a signal ended it.
    ///
    /// # Panics
    /// When it does not end in time.
    #[track_caller]
    pub fn stop(&mut self) -> Option<i32> {
        if self.ended.is_none() && matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
        }
        self.wait()
    }

    /// Waits for an end that somebody else caused.
    #[track_caller]
    pub fn wait(&mut self) -> Option<i32> {
        if let Some(code) = self.ended {
            return code;
        }
        let Some(status) = until(PATIENCE + Duration::from_secs(10), || {
            self.child.try_wait().ok().flatten()
        }) else {
            panic!("the server does not end\n{}", self.log());
        };
        self.ended = Some(status.code());
        status.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            // cargo shows this below the failed test.
            println!("--- the server's log\n{}", self.log());
        }
    }
}

fn spawn(builder: &Builder, port: u16) -> Child {
    let configuration = builder.write_configuration(port);
    let output = File::create(builder.home_path().join("output")).expect("a file for the output");
    let errors = output.try_clone().expect("a second handle of the output");
    let (arguments, environment) = builder.command_line();
    let mut command = Command::new(nsd_path());
    command.arg("-f").args(arguments);
    if let Some(user) = unprivileged().filter(|_| !arguments.iter().any(|word| word == "-u")) {
        command.args(["-u", user]);
    }
    command
        .arg("-t")
        .arg(configuration)
        .current_dir(builder.home_path());
    command.env("PORT", port.to_string());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    command
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", nsd_path().display()))
}
