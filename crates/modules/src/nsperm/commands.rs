//! ns_perm and its kin (manual page ns_perm).

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use server::script::Context;
use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj, Outcome};

use super::store::{ADMIN, ANY_METHOD, Action, Host, Hosts, Place, User};
use super::{Permissions, access, crypt, files};

commands! { TABLE(call):

    /// Adds a user with an encrypted password; with -salt or -clear the password is clear.
    #[family("/subcommand/ ?/arg .../?")]
    "ns_perm adduser" [-allow: bool, -deny: bool, -clear: bool, -salt: Option<String>, --]
        (name: String, encpass: String, userfield: String, host: Option<Rest>)
        => add_user(call, name, (encpass, clear, salt), userfield, (allow, deny), host.as_deref().unwrap_or_default());

    /// Adds a group of users.
    "ns_perm addgroup" (group: String, user: String, more as "user": Option<Rest>)
        => add_group(call, group, user, more.as_deref().unwrap_or_default());

    /// Names and passwords of all users.
    "ns_perm listusers" ()
        => permissions(call).map(|p| Obj::list_of(p.store.read().users.iter().flat_map(|(n, u)| [n.clone(), u.password.clone()])));

    /// Names and members of all groups.
    "ns_perm listgroups" ()
        => permissions(call).map(|p| {
            let store = p.store.read();
            Obj::list(store.groups.iter().flat_map(|(name, users)| [Obj::from(name), Obj::list_of(users.iter())]))
        });

    /// All rules, as the file perms has them.
    "ns_perm listperms" ()
        => list_rules(call);

    /// Lets users do something with a URL.
    "ns_perm allowuser" [-noinherit: bool, --] (method: String, url: String, user: Rest)
        => permit(call, Action::AllowUser, (method, url, noinherit), &user);

    /// Lets groups do something with a URL.
    "ns_perm allowgroup" [-noinherit: bool, --] (method: String, url: String, group: Rest)
        => permit(call, Action::AllowGroup, (method, url, noinherit), &group);

    /// Keeps users from doing something with a URL.
    "ns_perm denyuser" [-noinherit: bool, --] (method: String, url: String, user: Rest)
        => permit(call, Action::DenyUser, (method, url, noinherit), &user);

    /// Keeps groups from doing something with a URL.
    "ns_perm denygroup" [-noinherit: bool, --] (method: String, url: String, group: Rest)
        => permit(call, Action::DenyGroup, (method, url, noinherit), &group);

    /// An error unless this is the user's password.
    "ns_perm checkpass" (user: String, passwd: String)
        => check(call, &user, &passwd);

    /// Changes a password until the files are read again.
    "ns_perm setpass" (user: String, encpass: String, salt: Option<String>)
        => set_password(call, &user, encpass, salt);

    /// Removes a user.
    "ns_perm deluser" (name: String)
        => permissions(call).map(|p| { p.store.write().users.remove(&name); });

    /// Removes a group.
    "ns_perm delgroup" (name: String)
        => permissions(call).map(|p| { p.store.write().groups.remove(&name); });

    /// Removes the rule of a URL.
    "ns_perm delperm" [-noinherit: bool, --] (method: String, url: String)
        => permissions(call).map(|p| { p.store.write().forget(&(method, url, noinherit)); });

    /// Adds a rule for a directory, written as in .htaccess.
    #[style(proc)]
    "ns_perm_addperm" (file: String, url: String, line: String)
        => permissions(call).and_then(|p| {
            let place: Place = (ANY_METHOD.to_owned(), url, false);
            let mut store = p.store.write();
            files::add_access(&mut store, &place, &line).map_err(|e| tcl::error(format!("{file}: {e}")))
        });

    /// Adds a user, written as in the file passwd.
    #[style(proc)]
    "ns_perm_adduser" (file: String, url: String, line: String)
        => permissions(call).and_then(|p| {
            files::add_user(&mut p.store.write(), &line).map_err(|e| tcl::error(format!("{file}: {e}")))
        });

    /// A filter that reads .htaccess of a request's directories; with the parameter htaccess the module does it itself.
    #[style(args)]
    "ns_perm_filter" (arg: Option<Rest>)
        => filter(call);

    /// Calls a command with file, URL and line for every line of a file, if it has changed since the last time.
    #[style(proc)]
    "ns_perm_load" (file: String, url: String, callback: Obj)
        => load(call, &file, &url, &callback);

    /// Changes a password in memory and in the file.
    #[style(proc)]
    "ns_permpasswd" (user: String, oldpasswd: String, newpasswd: String)
        => change_password(call, &user, &oldpasswd, &newpasswd);

    /// Reads all files again.
    #[style(proc)]
    "ns_permreload" ()
        => permissions(call).map(|p| p.reload());

    /// Whether this is the user's password.
    #[style(proc)]
    "ns_passwordcheck" (user: String, password: String)
        => permissions(call).map(|p| p.store.read().check(&user, &password, |k, s| crypt(call.interp, k, s).ok()));
}

fn permissions(call: &Call<'_>) -> Result<Arc<Permissions>, Exit> {
    let server = Context::of(call.interp).server.clone();
    server
        .and_then(|s| s.extensions.find::<Permissions>())
        .ok_or_else(|| tcl::error("the module nsperm is not loaded for this server"))
}

fn add_user(
    call: &Call<'_>,
    name: String,
    (password, is_clear, salt): (String, bool, Option<String>),
    field: String,
    (allow, deny): (bool, bool),
    hosts: &[Obj],
) -> Result<(), Exit> {
    if allow && deny {
        return Err(tcl::error("-allow and -deny exclude each other"));
    }
    let hosts = hosts
        .iter()
        .map(|h| Host::parse(&h.text()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(tcl::error)?;
    let hosts = match (hosts.is_empty(), deny) {
        (true, _) => Hosts::All,
        (false, true) => Hosts::AllBut(hosts),
        (false, false) => Hosts::Only(hosts),
    };
    let password = match salt.filter(|_| !is_clear) {
        Some(salt) => crypt(call.interp, &password, &salt)?,
        None => password,
    };
    let permissions = permissions(call)?;
    let mut store = permissions.store.write();
    if store.users.contains_key(&name) {
        return Err(tcl::error(format!("duplicate user: {name}")));
    }
    store.users.insert(
        name,
        User {
            password,
            is_clear,
            field,
            hosts,
        },
    );
    Ok(())
}

fn add_group(call: &Call<'_>, group: String, user: String, more: &[Obj]) -> Result<(), Exit> {
    let permissions = permissions(call)?;
    let mut store = permissions.store.write();
    let members: Vec<String> = std::iter::once(user)
        .chain(more.iter().map(Obj::text))
        .collect();
    if let Some(stranger) = members
        .iter()
        .find(|m| !m.is_empty() && !store.users.contains_key(*m))
    {
        return Err(tcl::error(format!("no such user: {stranger}")));
    }
    if store.groups.contains_key(&group) {
        return Err(tcl::error(format!("duplicate group: {group}")));
    }
    store.groups.insert(group, members.into_iter().collect());
    Ok(())
}

fn list_rules(call: &Call<'_>) -> Outcome {
    let permissions = permissions(call)?;
    let store = permissions.store.read();
    let mut lines = Vec::new();
    for ((method, url, noinherit), rule) in store.rules() {
        let inherit = if *noinherit { "noinherit" } else { "inherit" };
        for action in Action::ALL
            .into_iter()
            .filter(|a| !rule.list(*a).is_empty())
        {
            let head = [action.name(), inherit, method, url].map(Obj::from);
            lines.push(Obj::list(
                head.into_iter()
                    .chain(rule.list(action).iter().map(Obj::from)),
            ));
        }
    }
    Ok(Obj::list(lines))
}

fn permit(call: &Call<'_>, action: Action, place: Place, names: &[Obj]) -> Result<(), Exit> {
    let permissions = permissions(call)?;
    let names: Vec<String> = names.iter().map(Obj::text).collect();
    let mut store = permissions.store.write();
    files::warn_of_strangers(&store, action, &names);
    store.permit(action, place, names);
    Ok(())
}

fn check(call: &Call<'_>, user: &str, password: &str) -> Result<(), Exit> {
    let permissions = permissions(call)?;
    let store = permissions.store.read();
    if !store.users.contains_key(user) {
        return Err(tcl::error(format!("no such user: {user}")));
    }
    match store.check(user, password, |k, s| crypt(call.interp, k, s).ok()) {
        true => Ok(()),
        false => Err(tcl::error("incorrect password")),
    }
}

fn set_password(
    call: &Call<'_>,
    user: &str,
    password: String,
    salt: Option<String>,
) -> Result<(), Exit> {
    let password = match salt {
        Some(salt) => crypt(call.interp, &password, &salt)?,
        None => password,
    };
    let permissions = permissions(call)?;
    let mut store = permissions.store.write();
    let known = store
        .users
        .get_mut(user)
        .ok_or_else(|| tcl::error(format!("no such user: {user}")))?;
    known.password = password;
    known.is_clear = false;
    Ok(())
}

fn change_password(call: &Call<'_>, user: &str, old: &str, new: &str) -> Result<(), Exit> {
    let permissions = permissions(call)?;
    let is_right = {
        let store = permissions.store.read();
        let check = |name: &str| store.check(name, old, |k, s| crypt(call.interp, k, s).ok());
        if !store.users.contains_key(user) {
            return Err(tcl::error(format!("no such user: {user}")));
        }
        check(user) || check(ADMIN)
    };
    if !is_right {
        return Err(tcl::error("incorrect old password"));
    }
    let password = crypt(call.interp, new, &salt())?;
    files::change_password(&permissions.passwd, user, &password)
        .map_err(|e| tcl::error(format!("could not change the password: {e}")))?;
    set_password(call, user, password, None)
}

/// Two characters that need not be secret, only seldom the same.
fn salt() -> String {
    const SALTS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let random = RandomState::new().hash_one(0_u8);
    [random, random >> 6]
        .map(|n| char::from(SALTS[(n & 63) as usize]))
        .iter()
        .collect()
}

fn filter(call: &Call<'_>) -> Outcome<Obj> {
    let permissions = permissions(call)?;
    if let Some(conn) = Context::of(call.interp).conn() {
        access::refresh(&permissions, call.interp, &conn.url())?;
    }
    Ok(Obj::from("filter_ok"))
}

fn load(call: &Call<'_>, file: &str, url: &str, callback: &Obj) -> Result<(), Exit> {
    let permissions = permissions(call)?;
    if !access::has_changed(&permissions, Path::new(file)) {
        return Ok(());
    }
    let mut failure = None;
    files::each_line(Path::new(file), |line| {
        if failure.is_none() {
            let words = callback.elements().map_err(|e| e.message().to_owned())?;
            let words: Vec<Obj> = words
                .into_iter()
                .chain([file, url, line].map(Obj::from))
                .collect();
            failure = call.interp.call_global(&words).err();
        }
        Ok(())
    });
    failure.map_or(Ok(()), Err)
}
