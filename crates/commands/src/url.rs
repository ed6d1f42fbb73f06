//! URLs: encoding, parsing, joining.

use http::Charset;
use http::encode::{self, Part};
use http::url;
use synopsis::{Rest, choice, commands};
use tcl::{Exit, Obj, TclError};

choice! {
    /// The part of a URL that a text is encoded for.
    pub enum PartWord {
        Query = "query", Path = "path", FullPath = "fullpath", Fragment = "fragment", Cookie = "cookie",
        Oauth1 = "oauth1",
    }
    /// The encoding schemes of `ns_percentencode`, which has no notion of URLs.
    pub enum Scheme { Query = "query", Path = "path", Cookie = "cookie", Oauth1 = "oauth1" }
}

commands! { TABLE(call):

    /// Encodes text for a part of a URL.
    "ns_urlencode" [-charset: Option<String>, -part: Option<PartWord>, -uppercase: bool, --] (component: Rest)
        => encode_components(&component, part_of(part.map(PartWord::word)), charset.as_deref(), uppercase);

    /// Decodes text from a part of a URL.
    "ns_urldecode" [-charset: Option<String>, -fallbackcharset: Option<String>, -part: Option<PartWord>, --]
        (string: String)
        => decode(&string, part_of(part.map(PartWord::word)), charset.as_deref(), fallbackcharset.as_deref());

    /// Percent-encodes a text.
    "ns_percentencode" [-charset: Option<String>, -scheme: Option<Scheme>, -uppercase: bool, --] (string: String)
        => encode::encode(
            &string,
            part_of(scheme.map(Scheme::word)),
            charset_or_utf8(charset.as_deref()),
            uppercase,
        );

    /// Decodes percent-encoded text.
    "ns_percentdecode" [-charset: Option<String>, -fallbackcharset: Option<String>, -scheme: Option<Scheme>, --]
        (string: String)
        => decode(&string, part_of(scheme.map(Scheme::word)), charset.as_deref(), fallbackcharset.as_deref());

    /// The components of a URL, as a dictionary.
    "ns_parseurl" [-strict: bool, --] (url: String)
        => parse(&url, strict);

    /// A URL from its components.
    #[style(proc)]
    "ns_joinurl" (dict: Obj)
        => join(&dict);

    /// Completes a partial URL.
    "ns_absoluteurl" (partialurl: String, baseurl: String)
        => url::absolute(&partialurl, &baseurl).map_err(tcl::error);

    /// Host and port, as a dictionary.
    "ns_parsehostport" [-strict: bool, --] (hostport: String)
        => host_port(&hostport, strict);
}

fn part_of(word: Option<&str>) -> Part {
    word.and_then(Part::for_name).unwrap_or_default()
}

/// Unknown names count as UTF-8, as in the reference.
fn charset_or_utf8(name: Option<&str>) -> Charset {
    name.and_then(Charset::for_name).unwrap_or(Charset::UTF_8)
}

fn encode_components(
    components: &Rest<'_>,
    part: Part,
    charset: Option<&str>,
    uppercase: bool,
) -> Result<String, Exit> {
    let texts: Vec<String> = components.0.iter().map(Obj::text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    encode::encode_components(&texts, part, charset_or_utf8(charset), uppercase).map_err(tcl::error)
}

/// A fallback counts only where no character set was asked for.
fn decode(
    text: &str,
    part: Part,
    charset: Option<&str>,
    fallback: Option<&str>,
) -> Result<String, TclError> {
    let fallback = if charset.is_some() {
        None
    } else {
        fallback.and_then(Charset::for_name)
    };
    match encode::decode(text, part, charset_or_utf8(charset), fallback) {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(TclError::new(format!(
            "input string '{text}' cannot be converted to UTF-8"
        ))
        .with_code(&["NS_INVALID_UTF8"])),
    }
}

fn parse(text: &str, strict: bool) -> Result<Obj, Exit> {
    let url = url::parse(text, strict)
        .map_err(|reason| tcl::error(format!("Could not parse URL \"{text}\": {reason}")))?;
    let components = [
        ("proto", url.proto),
        ("userinfo", url.userinfo),
        ("host", url.host),
        ("port", url.port),
        ("path", url.path),
        ("tail", url.tail),
        ("query", url.query),
        ("fragment", url.fragment),
    ];
    Ok(dictionary(
        components
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?))),
    ))
}

fn join(dict: &Obj) -> Result<String, Exit> {
    let pairs = dict.pairs().map_err(|_| {
        tcl::error(format!(
            "the provided argument is not a dict: {}",
            dict.text()
        ))
    })?;
    let mut parts = url::Url::default();
    for (key, value) in pairs {
        let place = match key.text().as_str() {
            "proto" => &mut parts.proto,
            "userinfo" => &mut parts.userinfo,
            "host" => &mut parts.host,
            "port" => &mut parts.port,
            "path" => &mut parts.path,
            "tail" => &mut parts.tail,
            "query" => &mut parts.query,
            "fragment" => &mut parts.fragment,
            _ => continue,
        };
        *place = Some(value.text());
    }
    url::join(&parts).map_err(tcl::error)
}

fn host_port(text: &str, strict: bool) -> Result<Obj, Exit> {
    let (host, port) = url::host_port(text, strict)
        .ok_or_else(|| tcl::error(format!("Could not parse host and port \"{text}\"")))?;
    let pairs = [("host", Some(host)), ("port", port)];
    Ok(dictionary(
        pairs
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?.to_owned()))),
    ))
}

fn dictionary(pairs: impl Iterator<Item = (&'static str, String)>) -> Obj {
    Obj::list(pairs.flat_map(|(key, value)| [Obj::from(key), Obj::from(value)]))
}
