//! The current request: ns_conn.

use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::server::proxied;
use ::server::script::{Coder, Conn, Form, FormFile, Progress, SetRef};
use http::accept::{Coding, accepts};
use shared::{Set, Time};
use synopsis::{Call, Int, MAX, choice, commands};
use tcl::channel::Channel;
use tcl::{Obj, Outcome, TclError};

use crate::answer::Status;
use crate::kinds::{conn, context};
use crate::privacy;

commands! { TABLE(call):

    /// Content codings the client takes.
    #[family("/subcommand/")]
    "ns_conn acceptedcompression" ()
        => codings(&conn(call)?);

    /// The credentials of the request as a set.
    "ns_conn auth" ()
        => handle(call, &credentials(&conn(call)?));

    /// The password of the request.
    "ns_conn authpassword" ()
        => credential(&conn(call)?, "password");

    /// The user name of the request.
    "ns_conn authuser" ()
        => credential(&conn(call)?, "username");

    /// Takes the connection out of HTTP: a Tcl channel of its own.
    "ns_conn channel" ()
        => channel(call);

    /// The certificate of a TLS client.
    "ns_conn clientcert" ()
        => client_certificate(&conn(call)?);

    /// Text that administrators see next to the request.
    "ns_conn clientdata" (value: Option<String>)
        => client_data(&conn(call)?, value);

    /// Ends the response; the script goes on.
    "ns_conn close" ()
        => close(&conn(call)?);

    /// Compression level of the response; 0: none.
    "ns_conn compress" (level: Option<Int<0, 9>>)
        => compress(&conn(call)?, level);

    /// The request body.
    "ns_conn content" [-binary: bool] (offset: Option<Int<0, MAX>>, length: Option<Int<1, MAX>>)
        => content(call, binary, offset, length);

    /// The file that holds the request body, if it was too large for memory.
    "ns_conn contentfile" ()
        => conn(call)?.content_file().map(|p| p.to_string_lossy().into_owned());

    /// Bytes of the request body.
    "ns_conn contentlength" ()
        => conn(call)?.content_length();

    /// Bytes of the response body that were sent.
    "ns_conn contentsentlength" (bytes: Option<Int<0, MAX>>)
        => sent_length(&conn(call)?, bytes);

    /// The Content-Type of the request, taken apart.
    "ns_conn contenttype" ()
        => content_type(&conn(call)?);

    /// Copies a part of the request body to a channel.
    "ns_conn copy" (offset: Int<0, MAX>, length: Int<0, MAX>, channel as "channelId": String)
        => copy(call, offset, length, &channel);

    /// Our address.
    "ns_conn currentaddr" ()
        => conn(call)?.request.local.ip().to_canonical().to_string();

    /// Our port.
    "ns_conn currentport" ()
        => conn(call)?.request.local.port();

    /// What the driver knows about the connection.
    "ns_conn details" ()
        => details(&conn(call)?);

    /// Name of the driver.
    "ns_conn driver" ()
        => conn(call)?.driver.name.clone();

    /// Charset of the response.
    "ns_conn encoding" (encoding: Option<String>)
        => output_encoding(&conn(call)?, encoding);

    /// Header fields of an uploaded file.
    "ns_conn fileheaders" (file: String)
        => each_file(call, &file, |f| handle(call, &f.headers));

    /// Length of an uploaded file.
    "ns_conn filelength" (file: String)
        => each_file(call, &file, |f| Obj::from(f.length));

    /// Where an uploaded file begins in the request body.
    "ns_conn fileoffset" (file: String)
        => each_file(call, &file, |f| Obj::from(f.offset));

    /// Form fields with uploaded files.
    "ns_conn files" ()
        => files(call);

    /// State of the connection as a number: 1 closed, 2 head sent, 4 HEAD, 8 chunked.
    "ns_conn flags" ()
        => flags(&conn(call)?);

    /// The form of the request.
    "ns_conn form" [-fallbackcharset: Option<String>]
        => handle(call, &form(call, fallbackcharset.as_deref())?.fields);

    /// What follows the number sign in the URL.
    "ns_conn fragment" ()
        => conn(call)?.target.borrow().fragment.clone();

    /// Bytes of the request head.
    "ns_conn headerlength" ()
        => conn(call)?.request.head.bytes;

    /// Header fields of the request as a set.
    "ns_conn headers" ()
        => handle(call, &conn(call)?.headers);

    /// The host the client addressed.
    "ns_conn host" (default: Option<String>)
        => host(&conn(call)?).or(default);

    /// Unique name of the request.
    "ns_conn id" ()
        => format!("cns{}", conn(call)?.id());

    /// Whether there is a connection that can be answered.
    "ns_conn isconnected" ()
        => context(call).conn().is_some_and(|c| c.is_connected());

    /// Keeps the connection open afterwards: 0, 1, or -1 for the protocol's decision.
    "ns_conn keepalive" (value: Option<Int<0, 1>>)
        => keep_alive(&conn(call)?, value);

    /// What absolute URLs of this server begin with.
    "ns_conn location" ()
        => conn(call)?.location();

    /// Method of the request.
    "ns_conn method" ()
        => conn(call)?.method.borrow().clone();

    /// Header fields of the response as a set.
    "ns_conn outputheaders" ()
        => handle(call, &conn(call)?.output);

    /// How long the request was read, waited, was filtered and has run.
    "ns_conn partialtimes" ()
        => partial_times(&conn(call)?);

    /// Address of the client.
    "ns_conn peeraddr" [-source: Option<Source>] ()
        => peer_address(&conn(call)?, source.unwrap_or(Source::Configured));

    /// Port of the client.
    "ns_conn peerport" ()
        => conn(call)?.request.peer.port();

    /// Name of the pool; empty for the default one.
    "ns_conn pool" ()
        => Some(conn(call)?.pool.name.clone()).filter(|n| n != "default");

    /// The port the client addressed.
    "ns_conn port" ()
        => port(&conn(call)?);

    /// Privacy signals of the client.
    "ns_conn privacy" ()
        => privacy::signals(&conn(call)?.headers.borrow());

    /// http or https.
    "ns_conn protocol" ()
        => conn(call)?.driver.scheme;

    /// What follows the question mark in the URL.
    "ns_conn query" ()
        => conn(call)?.target.borrow().query.clone();

    /// Limit of the response in kB/s; 0: none.
    "ns_conn ratelimit" (limit: Option<Int<0, MAX>>)
        => rate_limit(&conn(call)?, limit);

    /// The request line.
    "ns_conn request" ()
        => conn(call)?.request.head.request_line();

    /// Name of the virtual server.
    "ns_conn server" ()
        => conn(call)?.server.name.clone();

    /// Number of the connection.
    "ns_conn sock" ()
        => conn(call)?.request.connection;

    /// When the request began.
    "ns_conn start" ()
        => wall(conn(call)?.stamps.borrow().wall).to_string();

    /// Status of the response: the one it has, or the one it gets instead of 200.
    "ns_conn status" (status as "status-code": Option<Status>)
        => status_of(&conn(call)?, status);

    /// The URL as it was sent.
    "ns_conn target" ()
        => conn(call)?.request.head.target.clone();

    /// Until when the request may wait for what it needs.
    "ns_conn timeout" ()
        => wall(conn(call)?.stamps.borrow().wall + Duration::from_secs(MAX_WAIT)).to_string();

    /// Path of the URL.
    "ns_conn url" ()
        => conn(call)?.url();

    /// Number of components of the path.
    "ns_conn urlc" ()
        => conn(call)?.target.borrow().segments.len();

    /// The URL taken apart.
    "ns_conn urldict" ()
        => url_dict(&conn(call)?);

    /// Charset of the query and of forms.
    "ns_conn urlencoding" (encoding: Option<String>)
        => url_encoding(&conn(call)?, encoding);

    /// Components of the path.
    "ns_conn urlv" (idx: Option<Int<0, MAX>>)
        => url_components(&conn(call)?, idx);

    /// Version of HTTP.
    "ns_conn version" ()
        => version(&conn(call)?);

    /// Whether the client takes gzip.
    "ns_conn zipaccepted" ()
        => conn(call)?.accepts_gzip();
}

choice! {
    /// Where the client's address is taken from.
    pub enum Source { Configured = "configured", Direct = "direct", Forwarded = "forwarded" }
}

/// Seconds a request may wait for resources (`ns_conn timeout`).
const MAX_WAIT: u64 = 300;

/// A set by its handle.
fn handle(call: &Call<'_>, set: &SetRef) -> Obj {
    Obj::from(context(call).sets.borrow_mut().enter(set))
}

fn codings(conn: &Rc<Conn>) -> Vec<&'static str> {
    let headers = conn.headers.borrow();
    let known = [("brotli", Coding::Brotli), ("gzip", Coding::Gzip)];
    let mut found: Vec<&'static str> = known
        .iter()
        .filter(|(_, coding)| accepts(&headers, *coding))
        .map(|(name, _)| *name)
        .collect();
    // The reference does not know it; who does not name it does not count on it.
    let fields: Vec<&str> = http::head::values(&headers, "accept-encoding").collect();
    if ::server::compress::names(fields, Coding::Zstd.name()) {
        found.push("zstd");
    }
    found
}

/// The credentials of a request, parsed on first use.
pub fn credentials(conn: &Rc<Conn>) -> SetRef {
    let mut auth = conn.auth.borrow_mut();
    let set = auth.get_or_insert_with(|| {
        let set = conn
            .header("authorization")
            .map_or_else(|| Set::new("auth"), |v| http::authorization::parse(&v));
        Rc::new(std::cell::RefCell::new(set))
    });
    Rc::clone(set)
}

fn credential(conn: &Rc<Conn>, key: &str) -> Option<String> {
    credentials(conn).borrow().iget(key).map(str::to_owned)
}

fn channel(call: &Call<'_>) -> Outcome<String> {
    let conn = conn(call)?;
    let taken = if conn.has_answered() {
        None
    } else {
        conn.reply.borrow_mut().take()
    };
    let Some(reply) = taken else {
        return Err(tcl::error("connection socket is detached"));
    };
    let detached = reply
        .detach()
        .map_err(|e| tcl::error(format!("cannot give the connection away: {e}")))?;
    conn.progress.set(Progress::Done);
    if !detached.unread.is_empty() {
        shared::warning!(
            "ns_conn channel: {} bytes behind the request are lost",
            detached.unread.len()
        );
    }
    let channel = Channel::from_socket(detached.socket.into());
    channel.register(call.interp);
    Ok(channel.name())
}

fn client_certificate(conn: &Rc<Conn>) -> Outcome<Obj> {
    if !conn.request.secure {
        return Err(tcl::error("connection is not TLS"));
    }
    let words = [
        ("present", "0"),
        ("verified", "0"),
        ("verifyresult", "absent"),
    ];
    Ok(Obj::dict(words.map(|(k, v)| (Obj::from(k), Obj::from(v)))))
}

fn client_data(conn: &Rc<Conn>, value: Option<String>) -> Option<String> {
    if value.is_some() {
        *conn.client_data.borrow_mut() = value;
    }
    conn.client_data.borrow().clone()
}

fn close(conn: &Rc<Conn>) -> Outcome<()> {
    match conn.progress.get() {
        Progress::Done => Err(detached()),
        _ if conn.has_answered() => {
            if let Err(e) = conn.finish() {
                shared::debug!("ns_conn close: {e}");
            }
            Ok(())
        }
        _ => {
            conn.abort();
            Ok(())
        }
    }
}

fn compress(conn: &Rc<Conn>, level: Option<Int<0, 9>>) -> u32 {
    if let Some(level) = level {
        conn.compress.set(i32::try_from(level.get()).unwrap_or(0));
    }
    conn.compress_level()
}

fn content(
    call: &Call<'_>,
    binary: bool,
    offset: Option<Int<0, MAX>>,
    length: Option<Int<1, MAX>>,
) -> Outcome<Obj> {
    let conn = conn(call)?;
    let bytes = conn.content().map_err(|e| tcl::error(e.to_string()))?;
    let offset = offset.map_or(0, Int::as_usize);
    let length = length.map_or(usize::MAX, Int::as_usize);
    if binary {
        let from = part(bytes.len(), offset)?;
        return Ok(Obj::bytes(
            &bytes[from..from.saturating_add(length).min(bytes.len())],
        ));
    }
    let kind = conn.header("content-type").unwrap_or_default();
    let named = http::charset::of_type(&kind).and_then(|n| Coder::find(&n));
    let coder = named.unwrap_or(Coder::Here(http::charset::Charset::UTF_8));
    let text = coder.decode(call.interp, &bytes);
    if offset == 0 && length == usize::MAX {
        return Ok(Obj::from(text));
    }
    let from = part(text.chars().count(), offset)?;
    Ok(Obj::from(
        text.chars().skip(from).take(length).collect::<String>(),
    ))
}

/// The offset of a part of the content; one that is not in it is an error.
fn part(available: usize, offset: usize) -> Outcome<usize> {
    if offset > 0 && offset >= available {
        return Err(tcl::error("offset exceeds available content length"));
    }
    Ok(offset)
}

fn sent_length(conn: &Rc<Conn>, bytes: Option<Int<0, MAX>>) -> Outcome<Option<u64>> {
    let before = conn.sent.get();
    if let Some(bytes) = bytes {
        conn.sent.set(bytes.get().unsigned_abs());
        return Ok(Some(before));
    }
    match conn.progress.get() {
        Progress::Open => Ok(None),
        Progress::Done => Err(closed()),
        _ => Ok(Some(before)),
    }
}

fn content_type(conn: &Rc<Conn>) -> Outcome<Obj> {
    let raw = conn.header("content-type").unwrap_or_default();
    let parameters = raw.split_once(';').map_or("", |(_, rest)| rest);
    let parsed = http::fields::parse_field_value(parameters, true, false, true).unwrap_or_default();
    let essence = http::charset::media_type(&raw);
    let mut dict = Obj::dict([
        (Obj::from("raw"), Obj::from(&raw)),
        (Obj::from("type"), Obj::from(&essence)),
    ]);
    if let Some((_, suffix)) = essence.rsplit_once('+') {
        dict.dict_put("suffix", suffix)?;
    }
    let parameters = parsed.first().map(Vec::as_slice).unwrap_or_default();
    for wanted in ["charset", "boundary"] {
        if let Some((_, value)) = parameters.iter().find(|(name, _)| name == wanted) {
            dict.dict_put(wanted, value)?;
        }
    }
    Ok(dict)
}

fn copy(call: &Call<'_>, offset: Int<0, MAX>, length: Int<0, MAX>, channel: &str) -> Outcome<()> {
    let conn = conn(call)?;
    let channel = Channel::find(call.interp, channel)?;
    let bytes = conn.content().map_err(|e| tcl::error(e.to_string()))?;
    let end = offset
        .as_usize()
        .checked_add(length.as_usize())
        .filter(|end| *end <= bytes.len());
    let Some(end) = end else {
        return Err(tcl::error("offset/length exceed available content length"));
    };
    channel
        .write(&bytes[offset.as_usize()..end])
        .map_err(|e| tcl::error(e.to_string()))?;
    Ok(())
}

fn details(conn: &Rc<Conn>) -> Obj {
    let local = conn.request.local.ip().to_canonical();
    let peer = conn.request.peer.ip().to_canonical();
    let is_trusted =
        peer.is_loopback() || proxied::Proxied::of(&conn.server.process()).trusts(peer);
    let mut flags = Vec::new();
    if conn.request.nth > 0 {
        flags.push("reused");
    }
    let mut pairs = vec![
        (
            "proxied",
            Obj::from(conn.headers.borrow().iget("x-forwarded-for").is_some()),
        ),
        ("currentaddr", Obj::from(local.to_string())),
        (
            "type",
            Obj::from(if peer.is_ipv4() { "IPv4" } else { "IPv6" }),
        ),
        ("trusted", Obj::from(is_trusted)),
        ("public", Obj::from(proxied::is_public(peer))),
        ("inany", Obj::from(peer.is_unspecified())),
        ("flags", Obj::list_of(flags)),
    ];
    if let Some(tls) = &conn.request.tls {
        pairs.push(("sslversion", Obj::from(&tls.protocol)));
        pairs.push(("cipher", Obj::from(&tls.cipher)));
        pairs.push((
            "servername",
            Obj::from(tls.server_name.as_deref().unwrap_or_default()),
        ));
    }
    Obj::dict(pairs.into_iter().map(|(k, v)| (Obj::from(k), v)))
}

fn output_encoding(conn: &Rc<Conn>, encoding: Option<String>) -> Outcome<String> {
    if let Some(name) = encoding {
        *conn.output_charset.borrow_mut() = Some(charset_named(&name)?);
    }
    Ok(conn.charset())
}

fn url_encoding(conn: &Rc<Conn>, encoding: Option<String>) -> Outcome<String> {
    if let Some(name) = encoding {
        *conn.url_charset.borrow_mut() = Some(charset_named(&name)?);
        // What was parsed with the other charset is parsed anew when it is asked for.
        *conn.form.borrow_mut() = None;
    }
    Ok(conn
        .url_charset
        .borrow()
        .clone()
        .unwrap_or_else(|| conn.server.url_charset()))
}

/// The IANA name of an encoding that scripts call by either name.
fn charset_named(name: &str) -> Outcome<String> {
    let known = http::charset::tcl_encoding(name)
        .map(|e| http::charset::iana_name(e).unwrap_or(e).to_owned());
    match known {
        Some(name) => Ok(name),
        None if Coder::find(name).is_some() => Ok(name.to_ascii_lowercase()),
        None => Err(tcl::error(format!("no such encoding: {name}"))),
    }
}

fn form(call: &Call<'_>, fallback: Option<&str>) -> Outcome<Form> {
    crate::form::of(call.interp, &conn(call)?, fallback)
}

fn each_file(call: &Call<'_>, name: &str, value: impl Fn(&FormFile) -> Obj) -> Outcome<Obj> {
    let form = form(call, None)?;
    let mut found: Vec<Obj> = form
        .files
        .iter()
        .filter(|f| f.name == name)
        .map(value)
        .collect();
    match found.len() {
        0 => Err(tcl::error(format!("no such file: {name}"))),
        1 => Ok(found.remove(0)),
        _ => Ok(Obj::list(found)),
    }
}

fn files(call: &Call<'_>) -> Outcome<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for file in form(call, None)?.files {
        if !names.contains(&file.name) {
            names.push(file.name);
        }
    }
    Ok(names)
}

fn flags(conn: &Rc<Conn>) -> i64 {
    let mut flags = match conn.progress.get() {
        Progress::Open => 0,
        Progress::Promised => 8,
        Progress::Streaming => 2 | 8,
        Progress::Done => 1 | 2,
    };
    if conn.skip_body.get() {
        flags |= 4;
    }
    flags
}

fn host(conn: &Rc<Conn>) -> Option<String> {
    let value = conn.header("host")?;
    Some(
        http::host::parse(&value)
            .map(|h| h.host.to_string())
            .unwrap_or_default(),
    )
}

fn port(conn: &Rc<Conn>) -> u16 {
    let Some(value) = conn.header("host") else {
        return 0;
    };
    let named = http::host::parse(&value).ok().and_then(|h| h.port);
    named.unwrap_or_else(|| conn.request.local.port())
}

fn keep_alive(conn: &Rc<Conn>, value: Option<Int<0, 1>>) -> Outcome<i64> {
    if conn.progress.get() == Progress::Done {
        return Err(detached());
    }
    if let Some(value) = value {
        conn.keep_alive.set(Some(value.get() == 1));
    }
    Ok(conn.keep_alive.get().map_or(-1, i64::from))
}

fn partial_times(conn: &Rc<Conn>) -> Obj {
    let mut stamps = *conn.stamps.borrow();
    if conn.progress.get() != Progress::Done {
        stamps.ran = std::time::Instant::now();
    }
    let [accept, queue, filter, run] = stamps.parts();
    let pairs = [
        ("accepttime", accept),
        ("queuetime", queue),
        ("filtertime", filter),
        ("runtime", run),
    ];
    Obj::dict(pairs.map(|(k, v)| (Obj::from(k), Obj::from(Time::from(v).decimal()))))
}

fn peer_address(conn: &Rc<Conn>, source: Source) -> String {
    let peer = conn.request.peer.ip();
    let headers = conn.headers.borrow();
    match source {
        Source::Direct => peer.to_canonical().to_string(),
        Source::Forwarded => proxied::forwarded(&headers)
            .next()
            .map(|a| a.to_string())
            .unwrap_or_default(),
        Source::Configured => proxied::Proxied::of(&conn.server.process())
            .client(peer, &headers)
            .to_string(),
    }
}

fn rate_limit(conn: &Rc<Conn>, limit: Option<Int<0, MAX>>) -> i64 {
    if let Some(limit) = limit {
        conn.rate_limit.set(limit.get());
    }
    conn.rate_limit.get().max(0)
}

fn status_of(conn: &Rc<Conn>, status: Option<Status>) -> u16 {
    if let Some(status) = status {
        let number = crate::answer::number(status);
        conn.status.set(number);
        conn.error_status.set(Some(number));
    }
    conn.status.get()
}

fn url_dict(conn: &Rc<Conn>) -> Obj {
    let target = conn.target.borrow();
    let (path, tail) = target.path.rsplit_once('/').unwrap_or(("", &target.path));
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut pairs = vec![("path", path), ("tail", tail)];
    if let Some(query) = &target.query {
        pairs.push(("query", query));
    }
    if let Some(fragment) = &target.fragment {
        pairs.push(("fragment", fragment));
    }
    Obj::dict(pairs.into_iter().map(|(k, v)| (Obj::from(k), Obj::from(v))))
}

fn url_components(conn: &Rc<Conn>, index: Option<Int<0, MAX>>) -> Outcome<Obj> {
    let target = conn.target.borrow();
    match index {
        None => Ok(Obj::list_of(target.segments.iter())),
        Some(i) => match target.segments.get(i.as_usize()) {
            Some(segment) => Ok(Obj::from(segment)),
            None => Err(tcl::error(format!(
                "provided index {i} exceeds length of urlv"
            ))),
        },
    }
}

fn version(conn: &Rc<Conn>) -> String {
    let (major, minor) = conn.request.head.version;
    format!("{major}.{minor}")
}

fn wall(time: SystemTime) -> Time {
    Time::from(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn closed() -> tcl::Exit {
    TclError::new("connection already closed").into()
}

fn detached() -> tcl::Exit {
    TclError::new("connection socket is detached").into()
}
