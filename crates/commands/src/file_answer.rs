//! Answers from files and channels: ns_returnfile, ns_returnfp, ns_writer.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ::net::{Content, Part};
use server::fastpath::FileReply;
use server::script::{Conn, return_status, send};
use synopsis::{Call, Int, MAX, MemorySize, commands};
use tcl::channel::Channel;
use tcl::{Obj, Outcome};

use crate::answer::{Status, failed, give_content, number, sent};
use crate::kinds::{conn, context};

/// Bytes of a channel that are in memory at a time.
const BLOCK: usize = 64 * 1024;

commands! { TABLE(call):

    /// Sends a file; ranges and conditions of the request are heeded.
    "ns_returnfile" (status: Status, mimetype: String, filename: String)
        => give_file(call, &conn(call)?, number(status), Some(&mimetype), &filename);

    /// Sends bytes of a channel as a complete response.
    "ns_returnfp" (status: Status, mimetype: String, channel: String, length: Int<0, MAX>)
        => give_channel(call, &conn(call)?, number(status), &mimetype, &channel, length);

    /// Sends bytes of a channel as a piece of the response, by default all that follow.
    "ns_writefp" (channel as "channelId": String, nbytes: Option<i64>)
        => write_channel(call, &channel, nbytes);

    /// Sends bytes of a channel as a piece of the response.
    "ns_connsendfp" (channel: String, length: Int<0, MAX>)
        => send_channel(call, &channel, length);

    /// Copies the request body to a channel.
    "ns_conncptofp" [-bytes as "/integer[0,MAX]/": Option<Int<0, MAX>>, --] (channel: String)
        => copy_body(call, bytes, &channel);

    /// Copies the request body to a channel.
    "ns_writecontent" [-bytes as "/integer[0,MAX]/": Option<Int<0, MAX>>, --] (channel: String)
        => copy_body(call, bytes, &channel);

    /// Responses on their way to slow clients.
    "ns_writer list" [-server as "/server/": Option<String>]
        => writers(call, server.as_deref());

    /// Size from which a response is a writer's business.
    "ns_writer size" [-driver: Option<String>] (size: Option<Int<1024, MAX>>)
        => writer_size(call, driver.as_deref(), size);

    /// Whether streams never hold a connection thread.
    "ns_writer streaming" [-driver: Option<String>] (value as "true|false": Option<bool>)
        => writer_streaming(call, driver.as_deref(), value);

    /// Sends data as the rest of the response.
    "ns_writer submit" (data: Obj)
        => submit(call, &data);

    /// Sends a file, or a part of it, as the rest of the response.
    "ns_writer submitfile" [-headers: bool, -offset: Option<MemorySize>, -size: Option<MemorySize>] (filename: String)
        => submit_files(call, headers, &[Piece { file: filename, offset, size }]);

    /// Sends several files as the rest of the response.
    "ns_writer submitfiles" [-headers: bool] (filespecs: Vec<Obj>)
        => submit_files(call, headers, &pieces(call, &filespecs)?);

    /// How much of an upload has arrived: bytes and size, while it lasts.
    "ns_upload_stats" (key: String)
        => upload(call, &key);
}

/// Sends a file as a complete response, or 404; true.
pub fn give_file(
    call: &Call<'_>,
    conn: &Rc<Conn>,
    status: u16,
    kind: Option<&str>,
    file: &str,
) -> Outcome<bool> {
    if conn.has_answered() {
        return Err(failed(server::script::AnswerError::AlreadyAnswered));
    }
    let method = conn.method.borrow().clone();
    let mut head = http::RequestHead {
        method: method.clone(),
        ..conn.request.head.clone()
    };
    head.headers = conn.headers.borrow().clone();
    let now = shared::Time::now().sec;
    let reply = FileReply {
        file: Path::new(file),
        status,
        content_type: kind,
    };
    match conn.server.fastpath.send_file(&reply, &method, &head, now) {
        Ok(response) => send(conn, response),
        Err(e) => {
            let missing = matches!(
                e.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
            );
            if !missing {
                shared::warning!("{file}: {e}");
            }
            return_status(call.interp, conn, if missing { 404 } else { 500 })?;
        }
    }
    Ok(true)
}

/// Sends bytes of a channel as a complete response; true.
pub fn give_channel(
    call: &Call<'_>,
    conn: &Rc<Conn>,
    status: u16,
    kind: &str,
    channel: &str,
    length: Int<0, MAX>,
) -> Outcome<bool> {
    let channel = Channel::find(call.interp, channel)?;
    let length = length.as_usize();
    if length <= BLOCK {
        let bytes = channel.read_bytes(length).map_err(io_error)?;
        if bytes.len() < length {
            return Err(tcl::error(
                "could not read all requested bytes from the channel",
            ));
        }
        return give_content(conn, status, kind, bytes);
    }
    conn.promise(status, Some(kind), Some(length as u64))
        .map_err(failed)?;
    let result = pass_on(conn, &channel, length)?;
    conn.finish().map_err(failed)?;
    Ok(result == length)
}

fn write_channel(call: &Call<'_>, channel: &str, bytes: Option<i64>) -> Outcome<bool> {
    let conn = conn(call)?;
    let channel = Channel::find(call.interp, channel)?;
    let most = bytes.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    pass_on(&conn, &channel, most)?;
    Ok(conn.is_connected())
}

fn send_channel(call: &Call<'_>, channel: &str, length: Int<0, MAX>) -> Outcome<bool> {
    let conn = conn(call)?;
    let channel = Channel::find(call.interp, channel)?;
    let wanted = length.as_usize();
    if pass_on(&conn, &channel, wanted)? < wanted {
        return Err(tcl::error("could not send all requested bytes"));
    }
    Ok(true)
}

/// Sends up to `most` bytes of a channel; how many it sent.
fn pass_on(conn: &Rc<Conn>, channel: &Channel, most: usize) -> Outcome<usize> {
    let mut total = 0;
    while total < most {
        let block = channel
            .read_bytes(BLOCK.min(most - total))
            .map_err(io_error)?;
        if block.is_empty() || !sent(conn.write(&block, false))? {
            break;
        }
        total += block.len();
    }
    Ok(total)
}

fn copy_body(call: &Call<'_>, bytes: Option<Int<0, MAX>>, channel: &str) -> Outcome<()> {
    let conn = conn(call)?;
    let channel = Channel::find(call.interp, channel)?;
    let content = conn.content().map_err(io_error)?;
    let end = bytes.map_or(content.len(), |n| n.as_usize().min(content.len()));
    channel.write(&content[..end]).map_err(io_error)?;
    Ok(())
}

struct Piece {
    file: String,
    offset: Option<MemorySize>,
    size: Option<MemorySize>,
}

/// `{{filename F ?-offset N? ?-size N?} ...}`
fn pieces(call: &Call<'_>, specs: &[Obj]) -> Outcome<Vec<Piece>> {
    let mut all = Vec::new();
    for spec in specs {
        let mut piece = Piece {
            file: String::new(),
            offset: None,
            size: None,
        };
        let words = spec.elements()?;
        if let [only] = words.as_slice() {
            piece.file = only.text();
        } else {
            for (key, value) in spec.pairs()? {
                let size = || {
                    let parsed = value.with_text(shared::size::parse);
                    parsed
                        .map(|n| Some(MemorySize(n)))
                        .map_err(|e| tcl::error(e.to_string()))
                };
                match key.text().trim_start_matches('-') {
                    "filename" => piece.file = value.text(),
                    "offset" => piece.offset = size()?,
                    "size" => piece.size = size()?,
                    other => {
                        return Err(tcl::error(format!(
                            "{}: invalid file spec \"{other}\"",
                            call.typed()
                        )));
                    }
                }
            }
        }
        all.push(piece);
    }
    Ok(all)
}

fn submit(call: &Call<'_>, data: &Obj) -> Outcome<bool> {
    let conn = conn(call)?;
    let bytes = data.to_bytes();
    let result = sent(conn.write(&bytes, false))?;
    conn.finish().map_err(failed)?;
    Ok(result)
}

fn submit_files(call: &Call<'_>, headers: bool, pieces: &[Piece]) -> Outcome<bool> {
    let conn = conn(call)?;
    let mut parts = Vec::new();
    for piece in pieces {
        let file = File::open(&piece.file).map_err(|e| could_not_open(&piece.file, &e))?;
        let size = file
            .metadata()
            .map_err(|e| could_not_open(&piece.file, &e))?
            .len();
        let offset = piece.offset.map_or(0, |n| n.0.unsigned_abs());
        if offset > size {
            return Err(tcl::error(format!(
                "offset must be a positive value less or equal filesize, got {offset}"
            )));
        }
        let len = match piece.size {
            Some(MemorySize(n)) if n.unsigned_abs() > size - offset => {
                return Err(tcl::error("size must be less or equal filesize - offset"));
            }
            Some(MemorySize(n)) => n.unsigned_abs(),
            None => size - offset,
        };
        parts.push((Arc::new(file), offset, len));
    }
    if conn.has_answered() {
        for (file, offset, len) in &parts {
            if !copy_file(&conn, file, *offset, *len)? {
                return Ok(false);
            }
        }
        conn.finish().map_err(failed)?;
        return Ok(true);
    }
    // Without -headers the script should have sent a head; what it leaves out is made here, as the reference cannot.
    let first = pieces.first().map(|p| p.file.as_str()).unwrap_or_default();
    let kind = (conn.server.fastpath.config().mime_types)(first);
    if !headers {
        shared::debug!("ns_writer: no head was sent, one is made");
    }
    let parts = parts
        .into_iter()
        .map(|(file, offset, len)| Part::File { file, offset, len })
        .collect();
    conn.respond(200, Some(&kind), Content::Parts(parts), false)
        .map_err(failed)?;
    Ok(true)
}

/// Writes a part of a file into a response that was begun.
fn copy_file(conn: &Rc<Conn>, file: &File, offset: u64, len: u64) -> Outcome<bool> {
    use std::os::unix::fs::FileExt;
    let mut block = vec![0; BLOCK];
    let (mut at, end) = (offset, offset + len);
    while at < end {
        let want = usize::try_from(end - at).unwrap_or(BLOCK).min(BLOCK);
        let n = file.read_at(&mut block[..want], at).map_err(io_error)?;
        if n == 0 {
            return Err(tcl::error("the file became shorter while it was sent"));
        }
        if !sent(conn.write(&block[..n], false))? {
            return Ok(false);
        }
        at += n as u64;
    }
    Ok(true)
}

fn writers(call: &Call<'_>, server: Option<&str>) -> Outcome<Obj> {
    if let Some(name) = server
        && context(call).process.server(name).is_none()
    {
        return Err(tcl::error(format!("invalid server: \"{name}\"")));
    }
    let mut rows = Vec::new();
    for driver in context(call).process.drivers.read().iter() {
        let Some(running) = driver.running() else {
            continue;
        };
        for one in running.writing() {
            let label = one.label.as_deref().cloned().unwrap_or_default();
            if server.is_some_and(|name| name != label.server) {
                continue;
            }
            let since = one
                .since
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            let seconds = one.since.elapsed().unwrap_or_default().as_secs_f64();
            let kilobytes = |bytes: u64| bytes / 1024;
            let rate = if seconds > 0.0 {
                (one.sent as f64 / seconds) as u64
            } else {
                0
            };
            rows.push(Obj::list([
                Obj::from(format!("{}.{:06}", since.as_secs(), since.subsec_micros())),
                Obj::from(format!("-driver:{}-", driver.name)),
                Obj::from(driver.name.as_str()),
                Obj::from(if label.pool == "default" {
                    ""
                } else {
                    label.pool.as_str()
                }),
                Obj::from(one.connection.peer.ip().to_string()),
                Obj::from(i64::from(one.descriptor)),
                Obj::from(one.left),
                Obj::from(one.sent),
                Obj::from(kilobytes(rate)),
                Obj::from(kilobytes(one.limit)),
                Obj::from(label.data.as_str()),
            ]));
        }
    }
    Ok(Obj::list(rows))
}

fn writer_size(
    call: &Call<'_>,
    driver: Option<&str>,
    size: Option<Int<1024, MAX>>,
) -> Outcome<i64> {
    let entry = listener(call, driver)?;
    let Some(running) = entry.running() else {
        return Ok(i64::try_from(entry.config.writersize).unwrap_or(i64::MAX));
    };
    if let Some(size) = size {
        running.listener().set_writersize(size.get().unsigned_abs());
    }
    Ok(i64::try_from(running.listener().writersize()).unwrap_or(i64::MAX))
}

fn writer_streaming(call: &Call<'_>, driver: Option<&str>, value: Option<bool>) -> Outcome<bool> {
    let entry = listener(call, driver)?;
    let Some(running) = entry.running() else {
        return Ok(entry.config.writerstreaming);
    };
    if let Some(on) = value {
        running.listener().set_writerstreaming(on);
    }
    Ok(running.listener().writerstreaming())
}

fn listener(call: &Call<'_>, driver: Option<&str>) -> Outcome<Arc<server::driver::DriverEntry>> {
    match driver {
        None => Ok(Arc::clone(&conn(call)?.driver)),
        Some(name) => {
            let drivers = context(call).process.drivers.read().clone();
            let found = drivers.iter().find(|d| d.name == name).cloned();
            found.ok_or_else(|| tcl::error(format!("no such driver: \"{name}\"")))
        }
    }
}

fn upload(call: &Call<'_>, key: &str) -> Outcome<Obj> {
    for driver in context(call).process.drivers.read().iter() {
        let Some(running) = driver.running() else {
            continue;
        };
        if let Some(upload) = running.uploads().into_iter().find(|u| u.target == key) {
            let size = upload.length.map_or_else(Obj::new, Obj::from);
            return Ok(Obj::list([Obj::from(upload.received), size]));
        }
    }
    Ok(Obj::new())
}

fn could_not_open(file: &str, e: &std::io::Error) -> tcl::Exit {
    tcl::error(format!("could not open \"{file}\": {}", posix(e)))
}

fn io_error(e: std::io::Error) -> tcl::Exit {
    tcl::error(posix(&e))
}

/// The system's text for an error, as Tcl writes it: without a number, in lower case.
fn posix(e: &std::io::Error) -> String {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}
