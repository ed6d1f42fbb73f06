//! Answers: ns_return, ns_respond, ns_write and their relatives.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ::net::Content;
use bytes::Bytes;
use server::script::{
    AnswerError, Coder, Conn, Progress, internal_redirect, plain_notice, return_notice,
    return_status,
};
use synopsis::{Call, Int, MAX, Rest, commands};
use tcl::{Exit, Obj, Outcome, TclError};

use crate::file_answer;
use crate::kinds::{SetArg, conn};

/// A status code.
pub type Status = Int<100, 599>;

commands! { TABLE(call):

    /// Sends a complete response: text in the charset of its type or of the connection, a byte array as it is.
    "ns_return" [-binary: bool] (status: Status, mimetype: String, data: Obj)
        => give(call, &conn(call)?, status, &mimetype, &data, binary);

    /// Sends a complete response from a string, bytes, a file or a channel.
    "ns_respond" [
        -status as "/integer[100,599]/": Option<Status>, -r#type: Option<String>,
        -length as "/integer[0,MAX]/": Option<Int<0, MAX>>, -headers: Option<SetArg>, -string: Option<Obj>,
        -file: Option<String>, -fileid: Option<String>, -data as "/data/": Option<Obj>, -binary as "/data/": Option<Obj>
    ]
        => respond(call, Respond { status, r#type, length, headers, string, file, fileid, data, binary });

    /// Sends an empty page.
    #[style(proc)]
    "ns_returnok" ()
        => give(call, &conn(call)?, code(200), "text/plain", &Obj::new(), false);

    /// 400 with a reason.
    "ns_returnbadrequest" (reason: String)
        => notice(call, 400, "Bad Request", &reason);

    /// An error page with this status.
    "ns_returnerror" (status: Status, message: String)
        => notice(call, number(status), http::response::reason(number(status)), &message);

    /// 403.
    "ns_returnforbidden" ()
        => page(call, 403);

    /// 404.
    "ns_returnnotfound" ()
        => page(call, 404);

    /// 401; asks for a user name and a password, unless the script has put a WWW-Authenticate header of its own.
    "ns_returnunauthorized" ()
        => unauthorized(call);

    /// 503.
    "ns_returnunavailable" ()
        => page(call, 503);

    /// A page with a title and a message (HTML).
    "ns_returnnotice" (status: Status, title: String, message: String)
        => notice(call, number(status), &title, &message);

    /// The same as ns_returnnotice.
    #[named("ns_returnnotice")]
    "ns_returnadminnotice" (status: Status, title: String, message: String)
        => notice(call, number(status), &title, &message);

    /// 302.
    "ns_returnredirect" (location: String)
        => redirect(call, 302, &location);

    /// 301.
    "ns_returnmoved" (location: String)
        => redirect(call, 301, &location);

    /// Answers with what another URL of this server leads to.
    "ns_internalredirect" (location: String)
        => internal_redirect(call.interp, &conn(call)?, &location);

    /// Fixes status and headers of a response that ns_write sends piece by piece.
    "ns_headers" [-binary: bool, --] (status: Status, mimetype: Option<String>, length: Option<Int<0, MAX>>)
        => headers(call, binary, status, mimetype.as_deref(), length);

    /// Sends pieces of a response.
    "ns_write" (data: Rest)
        => write(call, &data);

    /// From now on ns_write sends content: the script has written the head itself.
    "ns_startcontent" [-charset: Option<String>, -r#type: Option<String>, --]
        => start_content(call, charset.as_deref(), r#type.as_deref());

    /// Tells clients and caches how long they may keep the response.
    #[complains("usage: ns_setexpires ?-cache-control public|private|no-cache|no-store|no-transform|must-revalidate|proxy-revalidate? seconds")]
    "ns_setexpires" (args: Rest)
        => set_expires(call, &args);

    /// Sets a response header.
    #[style(proc)]
    "ns_updateheader" (key: String, value: String)
        => update_header(call, &key, &value);
}

/// How a streamed response is encoded.
#[derive(Default)]
pub struct Streamed {
    /// `ns_headers -binary`
    binary: Cell<bool>,
    coder: RefCell<Option<Coder>>,
}

/// What went wrong, as Tcl sees it.
pub fn failed(e: AnswerError) -> Exit {
    TclError::new(e.to_string()).into()
}

/// Sends text or bytes as a complete response; true.
pub fn give(
    call: &Call<'_>,
    conn: &Rc<Conn>,
    status: Status,
    kind: &str,
    data: &Obj,
    binary: bool,
) -> Outcome<bool> {
    if binary || data.is_bytes() {
        return give_bytes(conn, number(status), kind, data.to_bytes());
    }
    let text = data.text();
    let (kind, coder) = conn.text_type(kind);
    let bytes = coder.encode(call.interp, &text).into_owned();
    give_content(conn, number(status), &kind, bytes)
}

/// Sends bytes as a complete response; true.
pub fn give_bytes(conn: &Rc<Conn>, status: u16, kind: &str, bytes: Vec<u8>) -> Outcome<bool> {
    if !conn.has_answered() {
        conn.output.borrow_mut().iupdate("accept-ranges", "bytes");
    }
    give_content(conn, status, kind, bytes)
}

/// Sends a complete response of this very type; true.
pub fn give_content(conn: &Rc<Conn>, status: u16, kind: &str, bytes: Vec<u8>) -> Outcome<bool> {
    conn.respond(status, Some(kind), Content::Bytes(Bytes::from(bytes)), true)
        .map_err(failed)?;
    Ok(true)
}

/// The number of a status.
pub fn number(status: Status) -> u16 {
    u16::try_from(status.get()).unwrap_or(500)
}

fn code(n: i64) -> Status {
    Status::new(n).expect("statuses in this file are within the limits")
}

struct Respond {
    status: Option<Status>,
    r#type: Option<String>,
    length: Option<Int<0, MAX>>,
    headers: Option<SetArg>,
    string: Option<Obj>,
    file: Option<String>,
    fileid: Option<String>,
    data: Option<Obj>,
    binary: Option<Obj>,
}

fn respond(call: &Call<'_>, options: Respond) -> Outcome<bool> {
    let conn = conn(call)?;
    let Respond {
        status,
        r#type,
        length,
        headers,
        string,
        file,
        fileid,
        data,
        binary,
    } = options;
    let data = data.or(binary);
    let sources = [
        string.is_some(),
        file.is_some(),
        fileid.is_some(),
        data.is_some(),
    ];
    if sources.iter().filter(|given| **given).count() != 1 {
        return Err(tcl::error(
            "must specify only one of -string, -file, -data or -fileid",
        ));
    }
    if fileid.is_some() && length.is_none() {
        return Err(tcl::error("length required when -fileid is used"));
    }
    let status = status.unwrap_or(code(200));
    let kind = r#type.unwrap_or_else(|| "*/*".to_owned());
    if let Some(headers) = headers {
        let given = headers.set.borrow().copy();
        let mut output = conn.output.borrow_mut();
        output.clear();
        output.imerge(&given);
    }
    if let Some(file) = file {
        return file_answer::give_file(call, &conn, number(status), Some(&kind), &file);
    }
    if let (Some(channel), Some(length)) = (fileid, length) {
        return file_answer::give_channel(call, &conn, number(status), &kind, &channel, length);
    }
    let cut = |mut bytes: Vec<u8>| {
        if let Some(length) = length {
            bytes.truncate(length.as_usize());
        }
        bytes
    };
    if let Some(data) = data {
        return give_bytes(&conn, number(status), &kind, cut(data.to_bytes()));
    }
    let text = string.map(|s| s.text()).unwrap_or_default();
    let (kind, coder) = conn.text_type(&kind);
    give_content(
        &conn,
        number(status),
        &kind,
        cut(coder.encode(call.interp, &text).into_owned()),
    )
}

fn notice(call: &Call<'_>, status: u16, title: &str, message: &str) -> Outcome<bool> {
    let conn = open(call)?;
    return_notice(call.interp, &conn, status, title, message);
    Ok(true)
}

fn page(call: &Call<'_>, status: u16) -> Outcome<bool> {
    return_status(call.interp, &open(call)?, status)?;
    Ok(true)
}

fn unauthorized(call: &Call<'_>) -> Outcome<bool> {
    let conn = open(call)?;
    if conn.output.borrow().iget("www-authenticate").is_none() {
        let realm = conn
            .server
            .realm
            .read()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        conn.output
            .borrow_mut()
            .put("www-authenticate", format!("Basic realm=\"{realm}\""));
    }
    page(call, 401)
}

fn redirect(call: &Call<'_>, status: u16, location: &str) -> Outcome<bool> {
    let conn = open(call)?;
    let location = percent_encoded(location);
    conn.output.borrow_mut().iupdate("location", &location);
    if conn.server.error_pages.contains_key(&status) {
        return page(call, status);
    }
    if location.is_empty() {
        plain_notice(call.interp, &conn, status)?;
        return Ok(true);
    }
    let link = http::html::quote(&location);
    let message = format!("<a href=\"{link}\">The requested URL has moved here.</a>");
    return_notice(
        call.interp,
        &conn,
        status,
        http::response::reason(status),
        &message,
    );
    Ok(true)
}

/// A location with what no URL may hold encoded: blanks, controls, everything beyond ASCII (RFC 3986 section 2).
fn percent_encoded(location: &str) -> String {
    let mut out = String::with_capacity(location.len());
    for byte in location.bytes() {
        match byte {
            b'!'..=b'~' if !matches!(byte, b'"' | b'<' | b'>') => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn headers(
    call: &Call<'_>,
    binary: bool,
    status: Status,
    kind: Option<&str>,
    length: Option<Int<0, MAX>>,
) -> Outcome<i64> {
    let conn = conn(call)?;
    let streamed = conn.local::<Streamed>();
    let (kind, coder) = match kind {
        Some(kind) if binary => (Some(kind.to_owned()), None),
        Some(kind) => {
            let (kind, coder) = conn.text_type(kind);
            (Some(kind), Some(coder))
        }
        None => (None, None),
    };
    let length = length.map(|n| n.get().unsigned_abs());
    conn.promise(number(status), kind.as_deref(), length)
        .map_err(failed)?;
    streamed.binary.set(binary);
    *streamed.coder.borrow_mut() = coder;
    Ok(0)
}

fn write(call: &Call<'_>, data: &[Obj]) -> Outcome<bool> {
    let conn = conn(call)?;
    let streamed = conn.local::<Streamed>();
    let binary = streamed.binary.get();
    let mut piece = Vec::new();
    for word in data {
        if binary || word.is_bytes() {
            piece.extend_from_slice(&word.to_bytes());
        } else {
            let coder = streamed.coder.borrow().clone();
            let coder = coder.or_else(|| Coder::find(&conn.charset()));
            word.with_text(|text| match &coder {
                Some(coder) => piece.extend_from_slice(&coder.encode(call.interp, text)),
                None => piece.extend_from_slice(text.as_bytes()),
            });
        }
    }
    sent(conn.write(&piece, !binary))
}

/// The outcome of a piece: false when the client is gone.
pub fn sent(result: Result<(), AnswerError>) -> Outcome<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(AnswerError::Io(e)) => {
            shared::debug!("ns_write: {e}");
            Ok(false)
        }
        Err(e) => Err(failed(e)),
    }
}

fn start_content(call: &Call<'_>, charset: Option<&str>, kind: Option<&str>) -> Outcome<()> {
    let conn = conn(call)?;
    let coder = match (charset, kind) {
        (Some(_), Some(_)) => {
            return Err(tcl::error("only one of -charset or -type may be specified"));
        }
        (Some(name), None) => {
            Some(Coder::find(name).ok_or_else(|| tcl::error(format!("no such charset: {name}")))?)
        }
        (None, Some(kind)) => Some(conn.text_type(kind).1),
        (None, None) => None,
    };
    *conn.local::<Streamed>().coder.borrow_mut() = coder;
    Ok(())
}

fn set_expires(call: &Call<'_>, args: &[Obj]) -> Outcome<()> {
    let (control, seconds) = match args {
        [seconds] => (None, seconds),
        [option, control, seconds] if option.text() == "-cache-control" => {
            (Some(control.text()), seconds)
        }
        _ => return Err(call.wrong_args()),
    };
    let kinds = [
        "public",
        "private",
        "no-cache",
        "no-store",
        "no-transform",
        "must-revalidate",
        "proxy-revalidate",
    ];
    if control
        .as_ref()
        .is_some_and(|c| !kinds.contains(&c.as_str()))
    {
        return Err(call.wrong_args());
    }
    let seconds = seconds.int()?;
    let conn = conn(call)?;
    let mut output = conn.output.borrow_mut();
    if let Some(control) = control {
        output.iupdate("cache-control", format!("max-age={seconds}, {control}"));
    }
    output.iupdate(
        "expires",
        http::date::format(shared::Time::now().sec.saturating_add(seconds)),
    );
    Ok(())
}

fn update_header(call: &Call<'_>, key: &str, value: &str) -> Outcome<()> {
    conn(call)?.output.borrow_mut().iupdate(key, value);
    Ok(())
}

/// The connection of a call that may still answer.
fn open(call: &Call<'_>) -> Outcome<Rc<Conn>> {
    let conn = conn(call)?;
    match conn.progress.get() {
        Progress::Open if !conn.has_answered() => Ok(conn),
        Progress::Done => Err(failed(AnswerError::AlreadyAnswered)),
        _ => Err(failed(AnswerError::AlreadyStarted)),
    }
}
