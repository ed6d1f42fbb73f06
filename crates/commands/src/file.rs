//! Files: status, names for temporary ones, links, lengths, rolling.

use std::fs;
use std::io::{self, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::Path;

use synopsis::{Call, Int, commands};
use tcl::channel::Channel;
use tcl::{Exit, Obj};

use crate::kinds::context;

commands! { TABLE(call):

    /// Whether a file exists, and all about it in an array.
    "ns_filestat" (filename: String, varname: Option<String>)
        => stat(call, &filename, varname.as_deref());

    /// A path without empty, `.` and `..` segments.
    "ns_normalizepath" (path: String)
        => normalize(&path);

    /// A name for a temporary file that does not exist.
    #[deprecated("use ns_opentmpfile or file tempfile")]
    "ns_mktemp" [-nocomplain: bool, --] (template: Option<String>)
        => temporary_name(call, template);

    /// A new directory for temporary files; empty if it cannot be made.
    "ns_mkdtemp" (template: Option<String>)
        => temporary_directory(call, template);

    /// A name for a temporary file.
    #[deprecated("use ns_opentmpfile or file tempfile")]
    #[style(proc)]
    "ns_tmpnam" ()
        => temporary_name(call, None);

    /// Makes a symbolic link.
    "ns_symlink" [-nocomplain: bool, --] (filename1: String, filename2: String)
        => symlink(&filename1, &filename2, nocomplain);

    /// Cuts a file.
    "ns_truncate" (filename: String, length: Option<Int<0>>)
        => truncate(&filename, length.map_or(0, Int::get));

    /// Cuts an open file.
    "ns_ftruncate" (channel as "channelId": String, length: Option<Int<0>>)
        => truncate_channel(call, &channel, length.map_or(0, Int::get));

    /// Moves the position of an open file to the next occurrence of a string.
    "ns_fseekchars" (channel as "channelId": String, searchstring: Obj)
        => seek_to(call, &channel, &searchstring);

    /// Renames a file to FILE.000, after FILE.000 became FILE.001 and so on.
    "ns_rollfile" (path: String, maxbackups: Int<0, 1000>)
        => rolled("roll", &path, shared::rolling::roll(Path::new(&path), maxbackups.as_usize(), None));

    /// Removes the oldest of rolled files.
    "ns_purgefiles" (path: String, maxbackups: Int<0, 1000>)
        => rolled("purge", &path, shared::rolling::purge(Path::new(&path), maxbackups.as_usize()));

    /// Removes a file.
    #[style(proc)]
    "ns_unlink" [-nocomplain: bool] (file: String)
        => unlink(call, &file, nocomplain);

    /// Copies a file.
    #[style(proc)]
    "ns_cp" [-preserve: bool] (srcfile: String, dstfile: String)
        => copy(call, &srcfile, &dstfile, preserve);

    /// Makes a hard link.
    #[style(proc)]
    "ns_link" [-nocomplain: bool] (path: String, link: String)
        => link_hard(&path, &link, nocomplain);
}

/// The text Tcl has for a system error.
pub fn posix_message(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::AlreadyExists => "file already exists".to_owned(),
        io::ErrorKind::DirectoryNotEmpty => "directory not empty".to_owned(),
        io::ErrorKind::IsADirectory => "illegal operation on a directory".to_owned(),
        _ => {
            let text = e.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            let mut chars = text.chars();
            chars
                .next()
                .map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
        }
    }
}

fn stat(call: &Call<'_>, name: &str, variable: Option<&str>) -> Result<bool, Exit> {
    let Ok(about) = fs::metadata(name) else {
        return Ok(false);
    };
    let Some(variable) = variable else {
        return Ok(true);
    };
    let kind = about.file_type();
    let kind = match () {
        () if kind.is_file() => "file",
        () if kind.is_dir() => "directory",
        () if kind.is_symlink() => "link",
        () if kind.is_fifo() => "fifo",
        () if kind.is_socket() => "socket",
        () if kind.is_block_device() => "blockSpecial",
        () if kind.is_char_device() => "characterSpecial",
        () => "",
    };
    let numbers: [(&str, Obj); 10] = [
        ("dev", Obj::from(about.dev())),
        ("ino", Obj::from(about.ino())),
        ("nlink", Obj::from(about.nlink())),
        ("uid", Obj::from(i64::from(about.uid()))),
        ("gid", Obj::from(i64::from(about.gid()))),
        ("size", Obj::from(about.size())),
        ("atime", Obj::from(about.atime())),
        ("ctime", Obj::from(about.ctime())),
        ("mtime", Obj::from(about.mtime())),
        ("mode", Obj::from(i64::from(about.mode()))),
    ];
    for (key, value) in numbers {
        call.interp.set_element(variable, key, value)?;
    }
    call.interp.set_element(variable, "type", kind)?;
    Ok(true)
}

fn normalize(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

const PLACES: usize = 6;

/// `template` with its six X at the end replaced at random; `None` if they are not there.
fn fill_in(template: &str) -> Result<Option<String>, Exit> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let Some(stem) = template.strip_suffix("XXXXXX") else {
        return Ok(None);
    };
    let mut bytes = [0; PLACES];
    crate::digest::fill(&mut bytes)?;
    let letters = bytes
        .iter()
        .map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()]));
    Ok(Some(stem.chars().chain(letters).collect()))
}

fn template_or_default(call: &Call<'_>, template: Option<String>) -> String {
    template.unwrap_or_else(|| {
        context(call)
            .process
            .tmpdir()
            .join("ns-XXXXXX")
            .to_string_lossy()
            .into_owned()
    })
}

/// How often a name is tried that somebody else had already.
const TRIES: usize = 100;

fn temporary_name(call: &Call<'_>, template: Option<String>) -> Result<String, Exit> {
    let template = template_or_default(call, template);
    let failed = |why: &str| tcl::error(format!("could not create file '{template}': {why}"));
    for _ in 0..TRIES {
        let name = fill_in(&template)?.ok_or_else(|| failed("Invalid argument"))?;
        if fs::symlink_metadata(&name).is_err() {
            return Ok(name);
        }
    }
    Err(failed("File exists"))
}

fn temporary_directory(call: &Call<'_>, template: Option<String>) -> Result<Option<String>, Exit> {
    let template = template_or_default(call, template);
    for _ in 0..TRIES {
        let Some(name) = fill_in(&template)? else {
            return Ok(None);
        };
        match fs::DirBuilder::new().mode(0o700).create(&name) {
            Ok(()) => return Ok(Some(name)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn symlink(target: &str, link: &str, nocomplain: bool) -> Result<(), Exit> {
    quiet(nocomplain, std::os::unix::fs::symlink(target, link), || {
        format!("symlink '{target}' '{link}'")
    })
}

fn link_hard(path: &str, link: &str, nocomplain: bool) -> Result<(), Exit> {
    quiet(nocomplain, fs::hard_link(path, link), || {
        format!("link '{path}' '{link}'")
    })
}

fn quiet(
    nocomplain: bool,
    result: io::Result<()>,
    what: impl FnOnce() -> String,
) -> Result<(), Exit> {
    match result {
        Err(e) if !nocomplain => Err(tcl::error(format!(
            "{} failed: {}",
            what(),
            posix_message(&e)
        ))),
        _ => Ok(()),
    }
}

fn truncate(name: &str, length: i64) -> Result<(), Exit> {
    let cut = || {
        fs::OpenOptions::new()
            .write(true)
            .open(name)?
            .set_len(u64::try_from(length).unwrap_or(0))
    };
    cut().map_err(|e| {
        tcl::error(format!(
            "truncate (\"{name}\", {length}) failed: {}",
            posix_message(&e)
        ))
    })
}

fn truncate_channel(call: &Call<'_>, name: &str, length: i64) -> Result<(), Exit> {
    let channel = Channel::find(call.interp, name)?;
    channel
        .truncate(u64::try_from(length).unwrap_or(0))
        .map_err(|e| {
            tcl::error(format!(
                "ftruncate ({name}, {length}) failed: {}",
                posix_message(&e)
            ))
        })
}

/// The position, or -1 at the end of the file if the string does not occur.
fn seek_to(call: &Call<'_>, name: &str, wanted: &Obj) -> Result<i64, Exit> {
    const CHUNK: usize = 64 * 1024;
    let channel = Channel::find(call.interp, name)?;
    let failed = |e: io::Error| {
        tcl::error(format!(
            "could not search in \"{name}\": {}",
            posix_message(&e)
        ))
    };
    let wanted = wanted.to_bytes();
    let Some(mut at) = channel.tell() else {
        return Err(tcl::error(format!(
            "could not search in \"{name}\": the channel has no position"
        )));
    };
    let fd = channel.fd(tcl::channel::Side::Read).map_err(failed)?;
    let file = fs::File::from(fd);
    // Positioned reads leave the channel and its encoding alone.
    let mut window: Vec<u8> = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        if let Some(found) = find(&window, &wanted) {
            let position = at + found as u64;
            channel.seek(SeekFrom::Start(position)).map_err(failed)?;
            return Ok(i64::try_from(position).unwrap_or(i64::MAX));
        }
        // What may be the beginning of an occurrence stays.
        let gone = window.len().saturating_sub(wanted.len().saturating_sub(1));
        window.drain(..gone);
        at += gone as u64;
        let count =
            std::os::unix::fs::FileExt::read_at(&file, &mut chunk, at + window.len() as u64)
                .map_err(failed)?;
        if count == 0 {
            channel.seek(SeekFrom::End(0)).map_err(failed)?;
            return Ok(-1);
        }
        window.extend_from_slice(&chunk[..count]);
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn rolled(what: &str, path: &str, result: io::Result<()>) -> Result<(), Exit> {
    result.map_err(|e| {
        tcl::error(format!(
            "could not {what} \"{path}\": {}",
            posix_message(&e)
        ))
    })
}

fn tcl_file(call: &Call<'_>, words: &[&str]) -> Result<Obj, Exit> {
    let words: Vec<Obj> = std::iter::once("::file")
        .chain(words.iter().copied())
        .map(Obj::from)
        .collect();
    call.interp.call(&words)
}

fn unlink(call: &Call<'_>, name: &str, nocomplain: bool) -> Result<Obj, Exit> {
    if !nocomplain && fs::symlink_metadata(name).is_err() {
        return Err(tcl::error(format!(
            "error deleting \"{name}\": no such file"
        )));
    }
    tcl_file(call, &["delete", "--", name])
}

/// Tcl keeps time and permissions; without `-preserve` the copy is a new file.
fn copy(call: &Call<'_>, from: &str, to: &str, preserve: bool) -> Result<(), Exit> {
    tcl_file(call, &["copy", "-force", "--", from, to])?;
    if !preserve {
        // Best effort: a copy into a directory or onto a device has no time of its own to set.
        let _ = fs::File::options()
            .append(true)
            .open(to)
            .and_then(|f| f.set_modified(std::time::SystemTime::now()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        for (path, expected) in [
            ("", "/"),
            ("../a", "/a"),
            ("/a/./b//c/", "/a/b/c"),
            ("/../..", "/"),
            ("/a/...", "/a/..."),
        ] {
            assert_eq!(normalize(path), expected);
        }
    }
}
