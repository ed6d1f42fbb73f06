//! The files of nsperm: passwd, group, perms, hosts.allow, hosts.deny, and .htaccess.

use std::io;
use std::path::Path;

use super::store::{Action, Host, Hosts, Place, Store, User};

/// Reads all files of a directory; one that is missing says nothing. What is wrong in a line is logged with its place,
/// the other lines count.
pub fn load(store: &mut Store, directory: &Path, passwd: &Path) {
    each_line(passwd, |line| add_user(store, line));
    each_line(&directory.join("group"), |line| add_group(store, line));
    each_line(&directory.join("hosts.allow"), |line| {
        add_hosts(store, line, true)
    });
    each_line(&directory.join("hosts.deny"), |line| {
        add_hosts(store, line, false)
    });
    each_line(&directory.join("perms"), |line| add_rule(store, line));
}

/// Calls `act` with every line that is neither empty nor a comment.
pub fn each_line(file: &Path, mut act: impl FnMut(&str) -> Result<(), String>) {
    let text = match std::fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return,
        Err(e) => return shared::error!("nsperm: {}: {e}", file.display()),
    };
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(e) = act(line) {
            shared::error!("nsperm: {}, line {}: {e}", file.display(), number + 1);
        }
    }
}

/// `name:password:::field::`; a user with this name is replaced.
///
/// # Errors
/// It is no such line.
pub fn add_user(store: &mut Store, line: &str) -> Result<(), String> {
    let mut fields = line.split(':');
    let name = unquoted(fields.next().unwrap_or_default());
    let password = fields
        .next()
        .ok_or("a user needs a name and a password: name:password:::::")?;
    let user = User {
        password: password.to_owned(),
        field: fields.nth(2).unwrap_or_default().to_owned(),
        ..User::default()
    };
    store.users.insert(name.to_owned(), user);
    Ok(())
}

/// `name:::user,user`
fn add_group(store: &mut Store, line: &str) -> Result<(), String> {
    let (name, rest) = line
        .split_once(':')
        .ok_or("a group needs a name and users: name:::user,user")?;
    let users = rest.rsplit(':').next().unwrap_or_default();
    let members = store.groups.entry(name.trim().to_owned()).or_default();
    members.extend(
        users
            .split(',')
            .map(str::trim)
            .filter(|u| !u.is_empty())
            .map(|u| unquoted(u).to_owned()),
    );
    Ok(())
}

/// `user: host, host`
fn add_hosts(store: &mut Store, line: &str, allow: bool) -> Result<(), String> {
    let (name, rest) = line
        .split_once(':')
        .ok_or("must be: user: host, host ...")?;
    let name = unquoted(name.trim());
    let words = rest
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|w| !w.is_empty());
    let hosts = words
        .map(Host::parse)
        .collect::<Result<Vec<Host>, String>>()?;
    let user = store
        .users
        .get_mut(name)
        .ok_or_else(|| format!("no such user: \"{name}\""))?;
    user.hosts = match (std::mem::take(&mut user.hosts), allow) {
        (Hosts::All, true) => Hosts::Only(hosts),
        (Hosts::All, false) => Hosts::AllBut(hosts),
        (Hosts::Only(mut all), true) => {
            all.extend(hosts);
            Hosts::Only(all)
        }
        (Hosts::AllBut(mut all), false) => {
            all.extend(hosts);
            Hosts::AllBut(all)
        }
        (had, _) => {
            user.hosts = had;
            return Err(format!("user \"{name}\" is in hosts.allow already"));
        }
    };
    Ok(())
}

/// `ACTION inherit|noinherit METHOD URL ENTITY`
fn add_rule(store: &mut Store, line: &str) -> Result<(), String> {
    let words = tcl::list_parse(line).map_err(|e| e.to_string())?;
    let [action, inherit, method, url, names @ ..] = words.as_slice() else {
        return Err("must be: ACTION INHERITANCE METHOD URL ENTITY".to_owned());
    };
    let action = Action::parse(&action.to_ascii_lowercase()).ok_or_else(|| {
        format!(
            "unknown action \"{action}\": must be allowuser, allowgroup, denyuser, or denygroup"
        )
    })?;
    let noinherit = match inherit.as_str() {
        "inherit" => false,
        "noinherit" => true,
        other => return Err(format!("\"{other}\" must be inherit or noinherit")),
    };
    if names.is_empty() {
        return Err("nobody is named".to_owned());
    }
    warn_of_strangers(store, action, names);
    store.permit(
        action,
        (method.clone(), url.clone(), noinherit),
        names.iter().cloned(),
    );
    Ok(())
}

/// A rule for somebody who does not exist holds as soon as there is such a user; but it may be a misprint.
pub fn warn_of_strangers(store: &Store, action: Action, names: &[String]) {
    for name in names {
        let known = match action {
            Action::AllowUser | Action::DenyUser => {
                name.is_empty() || store.users.contains_key(name)
            }
            Action::AllowGroup | Action::DenyGroup => store.groups.contains_key(name),
        };
        if !known {
            shared::warning!("nsperm: {}: there is no \"{name}\"", action.name());
        }
    }
}

/// A line of .htaccess, `allow user ...` or `deny user ...`, for a directory's URL.
///
/// # Errors
/// It is no such line.
pub fn add_access(store: &mut Store, place: &Place, line: &str) -> Result<(), String> {
    let words = tcl::list_parse(line).map_err(|e| e.to_string())?;
    let (action, names) = match words.split_first() {
        Some((word, names)) if word == "allow" && !names.is_empty() => (Action::AllowUser, names),
        Some((word, names)) if word == "deny" && !names.is_empty() => (Action::DenyUser, names),
        _ => return Err(format!("\"{line}\" must be allow or deny, and users")),
    };
    store.permit(action, place.clone(), names.iter().cloned());
    Ok(())
}

/// Replaces the password of a user in a passwd file; its other lines stay as they are. The file is never half written.
///
/// # Errors
/// Those of the file system; `NotFound` if the user is not in the file.
pub fn change_password(file: &Path, name: &str, password: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let mut found = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut fields: Vec<&str> = line.split(':').collect();
        if !line.starts_with('#') && fields.len() > 1 && unquoted(fields[0].trim()) == name {
            found = true;
            fields[1] = password;
        }
        lines.push(fields.join(":"));
    }
    if !found {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("{}: no user \"{name}\"", file.display()),
        ));
    }
    let fresh = file.with_extension("new");
    let written = std::fs::write(&fresh, lines.join("\n") + "\n")
        .and_then(|()| std::fs::set_permissions(&fresh, std::fs::metadata(file)?.permissions()))
        .and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        // The old file is what counts; what is left of the new one is of no use to anybody.
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// `""` in a file is the user without a name.
fn unquoted(name: &str) -> &str {
    if name == "\"\"" { "" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut store = Store::default();
        for line in [
            "\"\"::::::",
            "nsadmin:CUdnvgBYocLSI:::::",
            "ann:xy:1:2:Ann A.:/:",
        ] {
            add_user(&mut store, line).unwrap();
        }
        assert_eq!(store.users["ann"].field, "Ann A.");
        assert_eq!(store.users[""], User::default());
        assert!(add_user(&mut store, "alone").is_err());
        add_group(&mut store, "all:::nsadmin, ann,\"\"").unwrap();
        assert_eq!(
            store.groups["all"].iter().collect::<Vec<_>>(),
            ["", "ann", "nsadmin"]
        );
        add_hosts(&mut store, "ann: 10.0.0.0/8, .example.com", true).unwrap();
        assert!(add_hosts(&mut store, "ann: 10.0.0.0/8", false).is_err());
        assert!(add_hosts(&mut store, "eve: 10.0.0.0/8", true).is_err());
        let hosts = ["10.0.0.0/8", ".example.com"].map(|h| Host::parse(h).unwrap());
        assert_eq!(store.users["ann"].hosts, Hosts::Only(hosts.to_vec()));
        add_rule(&mut store, "denyuser  inherit GET /NS \"\"").unwrap();
        for line in [
            "denyuser",
            "denyuser always GET / x",
            "kick inherit GET / x",
            "denyuser inherit GET /",
            "a {b",
        ] {
            assert!(add_rule(&mut store, line).is_err(), "{line}");
        }
        let (place, rule) = store.rules().next().unwrap();
        assert_eq!(place, &("GET".to_owned(), "/NS".to_owned(), false));
        assert!(rule.deny_users.contains(""));
        assert!(add_access(&mut store, &("*".into(), "/d".into(), false), "allow a b").is_ok());
        assert!(add_access(&mut store, &("*".into(), "/d".into(), false), "require a").is_err());
    }
}
