//! Scripts that run when a socket is ready: ns_sockcallback, ns_socklistencallback.
//!
//! One thread of the process waits for all sockets and runs their scripts, one after the other: a script that takes its
//! time delays the others, as in the reference.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::server::hooks::Moment;
use ::server::script;
use ::server::vserver::VirtualServer;
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use synopsis::{Call, Time, commands};
use tcl::channel::{Access, Channel, Side};
use tcl::{Exit, Interp, Outcome};

use crate::kinds::context;
use crate::socket::{Port, channels, duration, failed, resolve};

commands! { TABLE(call):

    /// Calls a command with the socket and what happened: r, w, e, x (the server ends) or t (too late).
    "ns_sockcallback" (sock as "sockId": String, command: String, when: String, timeout: Option<Time>)
        => on_socket(call, &sock, &command, &when, timeout);

    /// Calls a script with a channel to read from and one to write to for each connection to an address.
    "ns_socklistencallback" (address: String, port: Port, script: String)
        => on_connection(call, &address, port.0, script);
}

/// What a callback waits for.
#[derive(Clone, Copy)]
struct When {
    flags: PollFlags,
    at_exit: bool,
}

enum Target {
    /// The command gets the socket, and is called again while it answers with something true.
    Socket { command: String },
    /// The script gets the channels of each new connection.
    Listener { script: String },
}

struct Callback {
    server: Arc<VirtualServer>,
    fd: OwnedFd,
    when: When,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    target: Target,
}

/// The callbacks of the process. An extension of it; the thread begins with the first callback.
#[derive(Default)]
struct Callbacks {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Writing to it wakes the thread.
    bell: Option<UnixStream>,
    added: Vec<Callback>,
    stopping: bool,
    running: bool,
}

/// How long a stopping server waits for the callbacks that want to hear of it.
const PATIENCE: Duration = Duration::from_secs(10);

fn parse_when(when: &str) -> Result<When, Exit> {
    let invalid = || {
        tcl::error(format!(
            "invalid when specification \"{when}\": should be one/more of r, w, e, or x"
        ))
    };
    let mut parsed = When {
        flags: PollFlags::empty(),
        at_exit: false,
    };
    if when.is_empty() {
        return Err(invalid());
    }
    for c in when.chars() {
        match c {
            'r' => parsed.flags |= PollFlags::IN,
            'w' => parsed.flags |= PollFlags::OUT,
            'e' => parsed.flags |= PollFlags::PRI,
            'x' => parsed.at_exit = true,
            _ => return Err(invalid()),
        }
    }
    Ok(parsed)
}

fn on_socket(
    call: &Call<'_>,
    name: &str,
    command: &str,
    when: &str,
    timeout: Option<Time>,
) -> Result<(), Exit> {
    let when = parse_when(when)?;
    let channel = Channel::find(call.interp, name)?;
    let side = if channel.access().read {
        Side::Read
    } else {
        Side::Write
    };
    let fd = channel.fd(side).map_err(|e| failed(name, &e))?;
    let timeout = timeout.map(duration);
    let target = Target::Socket {
        command: command.to_owned(),
    };
    add(call, fd, when, timeout, target)
}

fn on_connection(call: &Call<'_>, address: &str, port: u16, script: String) -> Result<(), Exit> {
    let what = format!("could not listen on \"{address}:{port}\"");
    let host = if matches!(address, "" | "*") {
        "0.0.0.0"
    } else {
        address
    };
    let bind = || TcpListener::bind(resolve(host, port)?.as_slice());
    let listener = bind().map_err(|e| failed(&what, &e))?;
    // A client may be gone between the signal and the accept.
    listener
        .set_nonblocking(true)
        .map_err(|e| failed(&what, &e))?;
    let when = When {
        flags: PollFlags::IN,
        at_exit: false,
    };
    add(
        call,
        listener.into(),
        when,
        None,
        Target::Listener { script },
    )
}

fn add(
    call: &Call<'_>,
    fd: OwnedFd,
    when: When,
    timeout: Option<Duration>,
    target: Target,
) -> Result<(), Exit> {
    let context = context(call);
    let callbacks: Arc<Callbacks> = context.process.extensions.get();
    let deadline = timeout.map(|t| Instant::now() + t);
    let callback = Callback {
        server: Arc::clone(context.server()),
        fd,
        when,
        timeout,
        deadline,
        target,
    };
    let mut state = callbacks.state.lock();
    if state.stopping {
        return Err(tcl::error("server is shutting down"));
    }
    if !state.running {
        let (bell, ear) = UnixStream::pair().map_err(|e| failed("socket callbacks", &e))?;
        bell.set_nonblocking(true)
            .map_err(|e| failed("socket callbacks", &e))?;
        let own = Arc::clone(&callbacks);
        shared::thread::Builder::new("-socks-".to_owned())
            .describe("ns:sockcallback", "")
            .detached()
            .spawn(move || {
                script::in_thread(|| own.run(&ear));
                own.state.lock().running = false;
                own.ended.notify_all();
            })
            .map_err(|e| tcl::error(format!("cannot start a thread: {e}")))?;
        state.bell = Some(bell);
        state.running = true;
        let own = Arc::clone(&callbacks);
        context
            .process
            .hooks
            .add(Moment::Shutdown, "ns:sockcallback", move || own.stop());
    }
    state.added.push(callback);
    state.ring();
    Ok(())
}

impl State {
    fn ring(&self) {
        if let Some(mut bell) = self.bell.as_ref() {
            // A full pipe has woken the thread already.
            let _ = bell.write(&[0]);
        }
    }
}

impl Callbacks {
    fn stop(&self) {
        let mut state = self.state.lock();
        state.stopping = true;
        state.ring();
        let deadline = Instant::now() + PATIENCE;
        while state.running && !self.ended.wait_until(&mut state, deadline).timed_out() {}
    }

    fn run(&self, ear: &UnixStream) {
        let mut waiting: Vec<Callback> = Vec::new();
        loop {
            {
                let mut state = self.state.lock();
                waiting.append(&mut state.added);
                if state.stopping {
                    drop(state);
                    for callback in waiting.iter().filter(|c| c.when.at_exit) {
                        callback.fire("x");
                    }
                    return;
                }
            }
            let Some(revents) = wait(ear, &waiting) else {
                continue;
            };
            let now = Instant::now();
            let mut next = Vec::with_capacity(waiting.len());
            for (mut callback, revents) in waiting.into_iter().zip(revents) {
                let flags = callback.when.flags;
                let ended = revents.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
                let happened = match () {
                    () if revents.contains(PollFlags::IN)
                        || (ended && flags.contains(PollFlags::IN)) =>
                    {
                        "r"
                    }
                    () if revents.contains(PollFlags::OUT)
                        || (ended && flags.contains(PollFlags::OUT)) =>
                    {
                        "w"
                    }
                    () if revents.contains(PollFlags::PRI) || ended => "e",
                    () if callback.deadline.is_some_and(|d| d <= now) => "t",
                    () => {
                        next.push(callback);
                        continue;
                    }
                };
                // Who says nothing does not want to hear for ever that the other side is gone.
                if callback.fire(happened).unwrap_or(!ended) {
                    callback.deadline = callback.timeout.map(|t| Instant::now() + t);
                    next.push(callback);
                }
            }
            waiting = next;
        }
    }
}

/// What happened to each callback; `None` if there is only news about the list.
fn wait(ear: &UnixStream, waiting: &[Callback]) -> Option<Vec<PollFlags>> {
    let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(ear, PollFlags::IN)];
    fds.extend(
        waiting
            .iter()
            .map(|c| PollFd::from_borrowed_fd(c.fd.as_fd(), c.when.flags)),
    );
    let deadline = waiting.iter().filter_map(|c| c.deadline).min();
    let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
    let left = left.and_then(|d| Timespec::try_from(d).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return None,
        Err(e) => {
            shared::error!("socket callbacks: poll: {e}");
            // Without memory for the kernel a loop would only make it worse.
            std::thread::sleep(Duration::from_millis(100));
            return None;
        }
    }
    if fds[0].revents().contains(PollFlags::IN) {
        let mut bytes = [0; 64];
        let _ = (&mut &*ear).read(&mut bytes);
        return None;
    }
    Some(fds[1..].iter().map(PollFd::revents).collect())
}

impl Callback {
    /// Whether the callback stays; `None` if the script did not say.
    fn fire(&self, happened: &str) -> Option<bool> {
        let result = script::with_interp(&self.server, |interp, _| {
            Ok(match &self.target {
                Target::Socket { command } => self.call_command(interp, command, happened),
                Target::Listener { script } => {
                    self.call_with_connection(interp, script);
                    Some(true)
                }
            })
        });
        result.unwrap_or_else(|_| {
            shared::error!("socket callbacks: no interpreter");
            Some(false)
        })
    }

    fn call_command(&self, interp: &Interp, command: &str, happened: &str) -> Option<bool> {
        let Ok(fd) = self.fd.try_clone() else {
            return Some(false);
        };
        let channel = Channel::from_fd(fd, Access::BOTH);
        channel.register(interp);
        let result = run(interp, command, [channel.name(), happened.to_owned()]);
        // The script may have closed it; the callback keeps its own descriptor.
        let _ = channel.unregister(interp);
        match result {
            Ok(value) if value.is_empty() => None,
            Ok(value) => Some(value.boolean().unwrap_or(false)),
            Err(exit) => {
                script::report(interp, "ns_sockcallback", exit);
                Some(false)
            }
        }
    }

    fn call_with_connection(&self, interp: &Interp, script: &str) {
        let Ok(fd) = self.fd.try_clone() else { return };
        let Ok((socket, _)) = socket2::Socket::from(fd).accept() else {
            return;
        };
        if socket.set_nonblocking(false).is_err() {
            return;
        }
        match channels(interp, socket.into()) {
            Ok((read, write)) => {
                let names = [read.name(), write.name()];
                drop((read, write));
                if let Err(exit) = run(interp, script, names) {
                    script::report(interp, "ns_socklistencallback", exit);
                }
            }
            Err(e) => shared::error!("ns_socklistencallback: {e}"),
        }
    }
}

/// Evaluates a script with two more words.
fn run(interp: &Interp, script: &str, words: [String; 2]) -> Outcome {
    interp.eval_global(&format!("{script} {}", tcl::list_format(&words)))
}
