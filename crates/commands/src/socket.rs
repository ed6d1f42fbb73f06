//! Sockets as Tcl channels.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use synopsis::{Call, FromObj, Kind, Label, Time, commands};
use tcl::channel::{Access, Channel, Side};
use tcl::{Exit, Interp, Obj, TclError};

use crate::file::posix_message;

commands! { TABLE(call):

    /// Connects to a host; a channel to read from and one to write to.
    "ns_sockopen" [
        -r#async: bool, -localhost: Option<String>, -localport as "/port/": Option<Port>, -nonblock: bool,
        -timeout: Option<Time>, --
    ] (host: String, port: Port)
        => open(call, &host, port.0, localhost.as_deref(), localport.map(|p| p.0), r#async, nonblock, timeout);

    /// A channel that listens on an address.
    "ns_socklisten" (address: String, port: Port)
        => listen(call, &address, port.0);

    /// Waits for a connection; a channel to read from and one to write to.
    "ns_sockaccept" (sock as "sockId": String)
        => accept(call, &sock);

    /// Whether a connection still stands.
    "ns_sockcheck" (sock as "sockId": String)
        => check(call, &sock);

    /// How many bytes could be read at once.
    "ns_socknread" (sock as "sockId": String)
        => readable(call, &sock);

    /// Makes operations on a channel wait.
    "ns_sockblocking" (sock as "sockId": String)
        => set_blocking(call, &sock, true);

    /// Makes operations on a channel return at once.
    "ns_socknonblocking" (sock as "sockId": String)
        => set_blocking(call, &sock, false);

    /// Waits until one of the channels is ready.
    "ns_sockselect" [-timeout: Option<Time>] (rfds: Vec<Obj>, wfds: Vec<Obj>, efds: Vec<Obj>)
        => select(call, timeout, [rfds, wfds, efds]);

    /// Two channels that are connected with each other.
    "ns_socketpair" ()
        => pair(call);
}

/// A port of TCP; 0 lets the system choose.
pub struct Port(pub u16);

impl FromObj for Port {
    const KIND: Kind = Kind::Value("port");

    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Self, Exit> {
        let number = value.int()?;
        u16::try_from(number)
            .map(Port)
            .map_err(|_| tcl::error(format!("value {number} out of range (0..65535)")))
    }
}

/// A complaint in the words of the system.
pub fn failed(what: &str, e: &io::Error) -> Exit {
    tcl::error(format!("{what}: {}", posix_message(e)))
}

/// The addresses of a host, which may be an address in brackets.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    // A name in brackets is an IPv6 address as URLs have it.
    let bare = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    Ok((bare, port).to_socket_addrs()?.collect())
}

fn open(
    call: &Call<'_>,
    host: &str,
    port: u16,
    local_host: Option<&str>,
    local_port: Option<u16>,
    asynchronous: bool,
    nonblock: bool,
    timeout: Option<Time>,
) -> Result<Obj, Exit> {
    let what = format!("can't connect to \"{host}:{port}\"");
    let deadline = timeout.map(|t| Instant::now() + duration(t));
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in
        resolve(host, port).map_err(|_| tcl::error(format!("could not lookup {host}")))?
    {
        match connect(address, local_host, local_port, asynchronous, deadline) {
            Ok(socket) => {
                let (read, write) =
                    channels(call.interp, socket.into()).map_err(|e| failed(&what, &e))?;
                if nonblock || asynchronous {
                    read.set_blocking(false).map_err(|e| failed(&what, &e))?;
                    write.set_blocking(false).map_err(|e| failed(&what, &e))?;
                }
                return Ok(Obj::list_of([read.name(), write.name()]));
            }
            Err(e) => last = e,
        }
    }
    if last.kind() == io::ErrorKind::TimedOut {
        return Err(TclError::new(format!("{what}: timeout"))
            .with_code(&["NS_TIMEOUT"])
            .into());
    }
    Err(failed(&what, &last))
}

fn connect(
    address: SocketAddr,
    local_host: Option<&str>,
    local_port: Option<u16>,
    asynchronous: bool,
    deadline: Option<Instant>,
) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if local_host.is_some() || local_port.is_some() {
        let any = if address.is_ipv4() { "0.0.0.0" } else { "::" };
        let local = resolve(local_host.unwrap_or(any), local_port.unwrap_or(0))?;
        let local = local.into_iter().find(|l| l.is_ipv4() == address.is_ipv4());
        socket.bind(&local.ok_or(io::ErrorKind::AddrNotAvailable)?.into())?;
    }
    let to = SockAddr::from(address);
    if asynchronous {
        socket.set_nonblocking(true)?;
        match socket.connect(&to) {
            Err(e) if e.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {
                return Err(e);
            }
            _ => return Ok(socket),
        }
    }
    match deadline {
        None => socket.connect(&to)?,
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.connect_timeout(&to, left)?;
        }
    }
    Ok(socket)
}

/// A socket as two channels, so that scripts may close either direction.
pub fn channels(interp: &Interp, socket: OwnedFd) -> io::Result<(Channel, Channel)> {
    let write = Channel::from_fd(socket.try_clone()?, Access::WRITE);
    let read = Channel::from_fd(socket, Access::READ);
    read.register(interp);
    write.register(interp);
    Ok((read, write))
}

/// A time as a duration; 0 if it is negative.
pub fn duration(time: Time) -> Duration {
    let micros = u32::try_from(time.usec).unwrap_or(0);
    Duration::from_secs(u64::try_from(time.sec).unwrap_or(0))
        + Duration::from_micros(u64::from(micros))
}

fn listen(call: &Call<'_>, address: &str, port: u16) -> Result<String, Exit> {
    let what = format!("could not listen on \"{address}:{port}\"");
    let host = if matches!(address, "" | "*") {
        "0.0.0.0"
    } else {
        address
    };
    let bind = || TcpListener::bind(resolve(host, port)?.as_slice());
    let listener = bind().map_err(|e| failed(&what, &e))?;
    let channel = Channel::from_fd(listener.into(), Access::READ);
    channel.register(call.interp);
    Ok(channel.name())
}

fn accept(call: &Call<'_>, name: &str) -> Result<Obj, Exit> {
    let fd = Channel::find(call.interp, name)?
        .fd(Side::Read)
        .map_err(|e| failed("accept failed", &e))?;
    let (socket, _) = Socket::from(fd)
        .accept()
        .map_err(|e| failed("accept failed", &e))?;
    let (read, write) =
        channels(call.interp, socket.into()).map_err(|e| failed("accept failed", &e))?;
    Ok(Obj::list_of([read.name(), write.name()]))
}

fn any_side(channel: &Channel) -> io::Result<OwnedFd> {
    channel.fd(Side::Read).or_else(|_| channel.fd(Side::Write))
}

/// Nothing to read is fine, the end of the stream or an error is not.
fn check(call: &Call<'_>, name: &str) -> Result<bool, Exit> {
    let channel = Channel::find(call.interp, name)?;
    let fd = any_side(&channel).map_err(|e| failed("ns_sockcheck", &e))?;
    let ready = {
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        poll(
            &mut fds,
            Some(&Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        )
        .unwrap_or(0)
            > 0
    };
    if !ready {
        return Ok(true);
    }
    let mut byte = [std::mem::MaybeUninit::uninit()];
    Ok(Socket::from(fd)
        .peek(&mut byte)
        .is_ok_and(|count| count > 0))
}

fn readable(call: &Call<'_>, name: &str) -> Result<i64, Exit> {
    let channel = Channel::find(call.interp, name)?;
    let fd = any_side(&channel).map_err(|e| failed("ns_socknread", &e))?;
    let waiting = rustix::io::ioctl_fionread(&fd).map_err(|e| failed("ns_socknread", &e.into()))?;
    let words = ["::chan", "pending", "input", name].map(Obj::from);
    let buffered = call.interp.call(&words)?.int()?.max(0);
    Ok(buffered.saturating_add(i64::try_from(waiting).unwrap_or(i64::MAX)))
}

fn set_blocking(call: &Call<'_>, name: &str, blocking: bool) -> Result<(), Exit> {
    Channel::find(call.interp, name)?
        .set_blocking(blocking)
        .map_err(|e| failed(name, &e))
}

/// Three lists of the channels that are ready; nothing at all if there was nothing to wait for.
fn select(call: &Call<'_>, timeout: Option<Time>, lists: [Vec<Obj>; 3]) -> Result<Obj, Exit> {
    if lists.iter().all(Vec::is_empty) && timeout.is_none() {
        return Ok(Obj::new());
    }
    let kinds = [
        (Side::Read, PollFlags::IN),
        (Side::Write, PollFlags::OUT),
        (Side::Read, PollFlags::PRI),
    ];
    let mut ready: [Vec<Obj>; 3] = Default::default();
    let mut waiting: Vec<(usize, Obj, OwnedFd, PollFlags)> = Vec::new();
    for (list, (names, (side, flags))) in lists.iter().zip(kinds).enumerate() {
        for name in names {
            let channel = Channel::find(call.interp, &name.text())?;
            let words = [
                Obj::from("::chan"),
                Obj::from("pending"),
                Obj::from("input"),
                name.clone(),
            ];
            if list == 0 && call.interp.call(&words)?.int()? > 0 {
                // What Tcl has read already is not seen by the system.
                ready[0].push(name.clone());
                continue;
            }
            let fd = channel
                .fd(side)
                .or_else(|_| any_side(&channel))
                .map_err(|e| failed(&name.text(), &e))?;
            waiting.push((list, name.clone(), fd, flags));
        }
    }
    let deadline = match timeout {
        // Something is ready: look at the others, but do not wait.
        _ if !ready[0].is_empty() => Some(Instant::now()),
        Some(time) => Some(Instant::now() + duration(time)),
        None => None,
    };
    let mut fds: Vec<PollFd<'_>> = waiting
        .iter()
        .map(|(_, _, fd, flags)| PollFd::from_borrowed_fd(fd.as_fd(), *flags))
        .collect();
    loop {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        let left = left.and_then(|d| Timespec::try_from(d).ok());
        match poll(&mut fds, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(failed("select failed", &e.into())),
            Ok(_) => break,
        }
    }
    for ((list, name, _, flags), fd) in waiting.iter().zip(&fds) {
        let ended = PollFlags::HUP | PollFlags::ERR;
        let wanted = if *list == 2 { *flags } else { *flags | ended };
        if fd.revents().intersects(wanted) {
            ready[*list].push(name.clone());
        }
    }
    Ok(Obj::list(ready.map(Obj::list)))
}

fn pair(call: &Call<'_>) -> Result<Obj, Exit> {
    let (one, two) =
        std::os::unix::net::UnixStream::pair().map_err(|e| failed("ns_socketpair", &e))?;
    let names = [one, two].map(|socket| {
        let channel = Channel::from_fd(socket.into(), Access::BOTH);
        channel.register(call.interp);
        channel.name()
    });
    Ok(Obj::list_of(names))
}
