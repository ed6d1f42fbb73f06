//! What the process does with the rights it was started with: sockets bound in advance, another user, the pid file.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User, initgroups, setgid, setgroups, setuid};

use crate::process::Process;

/// Binds the addresses of `-b` and `-B`: `address:port`, `[v6]:port`, or a port alone.
///
/// # Errors
/// The first that cannot be bound, with its cause.
pub fn prebind(specs: &[String]) -> Result<net::Prebound, String> {
    let mut bound = Vec::new();
    for spec in specs
        .iter()
        .flat_map(|s| s.split(','))
        .map(str::trim)
        .filter(|s| !s.is_empty())
    {
        let spec = spec.strip_suffix("/tcp").unwrap_or(spec);
        let text = if spec.bytes().all(|b| b.is_ascii_digit()) {
            format!("0.0.0.0:{spec}")
        } else {
            spec.to_owned()
        };
        let addresses = text
            .to_socket_addrs()
            .map_err(|e| format!("prebind \"{spec}\": {e}"))?;
        for address in addresses {
            let listener = listen(address)
                .map_err(|e| format!("prebind \"{spec}\": cannot bind {address}: {e}"))?;
            bound.push((address, listener));
        }
    }
    Ok(bound)
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let domain = if address.is_ipv6() {
        socket2::Domain::IPV6
    } else {
        socket2::Domain::IPV4
    };
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Changes root, group and user. Root without a user to change to is refused.
///
/// # Errors
/// What is wrong, with the remedy.
pub fn drop_to(user: Option<&str>, group: Option<&str>, root: Option<&Path>) -> Result<(), String> {
    let user = user.map(find_user).transpose()?;
    let group = group.map(find_group).transpose()?;
    if let Some(root) = root {
        nix::unistd::chroot(root).map_err(|e| format!("-r {}: {e}", root.display()))?;
        std::env::set_current_dir("/").map_err(|e| format!("-r {}: {e}", root.display()))?;
    }
    if !Uid::effective().is_root() {
        if let Some((_, uid, _)) = user.filter(|(_, uid, _)| *uid != Uid::effective()) {
            return Err(format!(
                "-u {uid}: only root can change the user; start as root, or leave -u out"
            ));
        }
        return Ok(());
    }
    let Some((name, uid, own_group)) = user else {
        return Err(
            "refusing to run as root: name the user to run as with -u USER (and -g GROUP)"
                .to_owned(),
        );
    };
    if uid.is_root() {
        return Err("refusing to run as root: -u must name another user".to_owned());
    }
    let gid = group
        .or(own_group)
        .unwrap_or_else(|| Gid::from_raw(uid.as_raw()));
    match std::ffi::CString::new(name.clone()) {
        Ok(c) if own_group.is_some() => initgroups(&c, gid),
        _ => setgroups(&[gid]),
    }
    .map_err(|e| format!("-u {name}: cannot set groups: {e}"))?;
    setgid(gid).map_err(|e| format!("-g {gid}: {e}"))?;
    setuid(uid).map_err(|e| format!("-u {name}: {e}"))
}

fn find_user(name: &str) -> Result<(String, Uid, Option<Gid>), String> {
    let found = match name.parse::<u32>() {
        Ok(id) => User::from_uid(Uid::from_raw(id)),
        Err(_) => User::from_name(name),
    };
    match (found, name.parse::<u32>()) {
        (Ok(Some(u)), _) => Ok((u.name, u.uid, Some(u.gid))),
        (_, Ok(id)) => Ok((name.to_owned(), Uid::from_raw(id), None)),
        _ => Err(format!("-u {name}: no such user")),
    }
}

fn find_group(name: &str) -> Result<Gid, String> {
    if let Ok(id) = name.parse::<u32>() {
        return Ok(Gid::from_raw(id));
    }
    match Group::from_name(name) {
        Ok(Some(g)) => Ok(g.gid),
        _ => Err(format!("-g {name}: no such group")),
    }
}

/// Changes the user of the process, with his groups (`ns_setuser`).
///
/// # Errors
/// There is no such user, or the process may not.
pub fn set_user(name: &str) -> Result<(), String> {
    let (name, uid, gid) = find_user(name)?;
    if let (Some(gid), Ok(c)) = (gid, std::ffi::CString::new(name.clone())) {
        initgroups(&c, gid).map_err(|e| format!("user {name}: cannot set groups: {e}"))?;
    }
    setuid(uid).map_err(|e| format!("user {name}: {e}"))
}

/// Changes the group of the process (`ns_setgroup`).
///
/// # Errors
/// There is no such group, or the process may not.
pub fn set_group(name: &str) -> Result<(), String> {
    setgid(find_group(name)?).map_err(|e| format!("group {name}: {e}"))
}

/// Sends a signal; 0 only tests whether the process exists.
///
/// # Errors
/// What the system says, in lower case.
pub fn kill(pid: i64, signal: i64) -> Result<(), String> {
    let invalid = || "invalid argument".to_owned();
    let pid = i32::try_from(pid).map_err(|_| "no such process".to_owned())?;
    let signal = match i32::try_from(signal).map_err(|_| invalid())? {
        0 => None,
        n => Some(nix::sys::signal::Signal::try_from(n).map_err(|_| invalid())?),
    };
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal)
        .map_err(|e| e.desc().to_lowercase())
}

/// The file with the process id; removed when dropped.
pub struct PidFile {
    path: Option<PathBuf>,
}

impl PidFile {
    /// Writes `pidfile`: of the option, else the configured one. Without a configuration there is none.
    ///
    /// # Errors
    /// A text that names the file.
    pub fn write(process: &Process, option: Option<&Path>) -> Result<PidFile, String> {
        let path = match option {
            Some(p) => p.to_owned(),
            None if process.options.config.is_none() => return Ok(PidFile { path: None }),
            None => process.logdir().join(&process.settings().pidfile),
        };
        if let Some(dir) = path.parent() {
            // The directory may be there already, or the write below says what is wrong.
            let _ = std::fs::create_dir_all(dir);
        }
        match std::fs::write(&path, format!("{}\n", std::process::id())) {
            Ok(()) => Ok(PidFile { path: Some(path) }),
            Err(e) if option.is_none() => {
                shared::warning!("pid file {}: {e}", path.display());
                Ok(PidFile { path: None })
            }
            Err(e) => Err(format!("pid file {}: {e}", path.display())),
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Already gone is what we want.
            let _ = std::fs::remove_file(path);
        }
    }
}
