//! `.htaccess`: rules in the directories of pages, read when they have changed.
//!
//! The reference looks into the directory of the request only, so that what a directory forbids holds below it or not,
//! depending on what was asked for before. Here the directories above count too; the price is a `stat` for each of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use server::script::{Context, url_to_file};
use tcl::{Interp, Outcome};

use super::Permissions;
use super::files;
use super::store::{ANY_METHOD, Place};

const NAME: &str = ".htaccess";

/// Files of rules seen before with their state; and those of users.
#[derive(Default)]
pub struct Seen {
    /// By URL of the directory; there are as many as directories with rules.
    rules: HashMap<String, Stamp>,
    passwd: Option<Stamp>,
    /// For `ns_perm_load`.
    loaded: HashMap<PathBuf, Stamp>,
}

type Stamp = (PathBuf, SystemTime, u64);

/// The file of rules itself is nobody's business.
pub fn is_hidden(url: &str) -> bool {
    url.split('/').any(|segment| segment == NAME)
}

/// Reads again what has changed of the users and of the rules that concern a URL.
///
/// # Errors
/// Those of scripts that say where the files of a URL are.
pub fn refresh(permissions: &Permissions, interp: &Interp, url: &str) -> Outcome<()> {
    let now = stamp(&permissions.passwd);
    if permissions.seen.lock().passwd != now {
        let mut store = permissions.store.write();
        files::each_line(&permissions.passwd, |line| {
            files::add_user(&mut store, line)
        });
        permissions.seen.lock().passwd = now;
    }
    let mut directory = String::new();
    for segment in url.split('/').skip(1) {
        let here = if directory.is_empty() {
            "/"
        } else {
            directory.as_str()
        };
        let Some(path) = file_of(interp, here)? else {
            return Ok(());
        };
        // What lies below a plain file or nothing has no rules.
        if !path.is_dir() {
            return Ok(());
        }
        consider(permissions, here, &path);
        directory = format!("{directory}/{segment}");
    }
    // The URL may name a directory without the slash at its end.
    if let Some(path) = file_of(interp, url)?.filter(|p| p.is_dir()) {
        consider(permissions, url.trim_end_matches('/'), &path);
    }
    Ok(())
}

fn consider(permissions: &Permissions, url: &str, directory: &Path) {
    let url = if url.is_empty() { "/" } else { url };
    let file = directory.join(NAME);
    let now = stamp(&file);
    if permissions.seen.lock().rules.get(url) == now.as_ref() {
        return;
    }
    let place: Place = (ANY_METHOD.to_owned(), url.to_owned(), false);
    let mut store = permissions.store.write();
    store.forget(&place);
    files::each_line(&file, |line| {
        files::add_access(&mut store, &place, line).inspect_err(|_| {
            // A line that cannot be read was to keep somebody out: nobody but the administrator comes in.
            store.permit(
                super::store::Action::AllowUser,
                place.clone(),
                [super::store::ADMIN.to_owned()],
            );
        })
    });
    let mut seen = permissions.seen.lock();
    match now {
        Some(now) => seen.rules.insert(url.to_owned(), now),
        None => seen.rules.remove(url),
    };
}

/// Whether a file has changed since this was asked the last time.
pub fn has_changed(permissions: &Permissions, file: &Path) -> bool {
    let Some(now) = stamp(file) else { return false };
    permissions
        .seen
        .lock()
        .loaded
        .insert(file.to_owned(), now.clone())
        != Some(now)
}

fn file_of(interp: &Interp, url: &str) -> Outcome<Option<PathBuf>> {
    let context = Context::of(interp);
    if let Some(conn) = context.conn()
        && let Some(path) = url_to_file(interp, &conn, url)?
    {
        return Ok(Some(PathBuf::from(path)));
    }
    Ok(context.server().fastpath.url2file(url))
}

fn stamp(file: &Path) -> Option<Stamp> {
    let state = std::fs::metadata(file).ok()?;
    Some((file.to_owned(), state.modified().ok()?, state.len()))
}
