//! Text of requests and responses as bytes: with the charsets built in, else with those of Tcl.

use std::borrow::Cow;
use std::cell::RefCell;

use http::charset::{self, Charset};
use tcl::{Interp, Obj};

use super::conn::Conn;

/// How text becomes bytes, and bytes text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coder {
    /// Without Tcl.
    Here(Charset),
    /// The Tcl encoding of this name.
    Tcl(String),
}

impl Coder {
    /// For an IANA name or the name of a Tcl encoding; `None`: nobody knows it.
    pub fn find(name: &str) -> Option<Coder> {
        let here = Charset::for_name(name).map(Coder::Here);
        here.or_else(|| charset::tcl_encoding(name).map(|e| Coder::Tcl(e.to_owned())))
    }

    /// Characters that the charset lacks become `?`.
    pub fn encode<'a>(&self, interp: &Interp, text: &'a str) -> Cow<'a, [u8]> {
        match self {
            Coder::Here(charset) => charset.encode(text),
            Coder::Tcl(name) => match convert(interp, "convertto", name, Obj::from(text))
                .and_then(|o| o.byte_values())
            {
                Some(bytes) => Cow::Owned(bytes),
                None => Cow::Borrowed(text.as_bytes()),
            },
        }
    }

    /// Bytes that are no text in the charset are taken for UTF-8, or else for Latin-1.
    pub fn decode(&self, interp: &Interp, bytes: &[u8]) -> String {
        match self {
            Coder::Here(charset) => charset
                .decode(bytes)
                .unwrap_or_else(|| charset::lenient(bytes))
                .into_owned(),
            Coder::Tcl(name) => match convert(interp, "convertfrom", name, Obj::bytes(bytes)) {
                Some(text) => text.text(),
                None => charset::lenient(bytes).into_owned(),
            },
        }
    }
}

impl Conn {
    /// The charset of text this connection sends, where its type does not say.
    pub fn charset(&self) -> String {
        self.output_charset
            .borrow()
            .clone()
            .unwrap_or_else(|| self.server.output_charset())
    }

    /// The content type of a response with text, complete with its charset, and the coder for it. An unknown charset
    /// becomes UTF-8; types of packed data (images, sound) get none.
    pub fn text_type(&self, content_type: &str) -> (String, Coder) {
        let charset = self.charset();
        TYPES.with_borrow_mut(|types| {
            let known = types
                .iter()
                .find(|known| *known.given == *content_type && *known.charset == *charset);
            if let Some(known) = known {
                return (known.complete.clone(), known.coder.clone());
            }
            let (complete, coder) = text_type(content_type, charset.clone());
            if types.len() >= MOST_TYPES {
                types.remove(0);
            }
            let (given, complete) = (content_type.into(), complete);
            types.push(TextType {
                given,
                charset: charset.into(),
                complete: complete.clone(),
                coder: coder.clone(),
            });
            (complete, coder)
        })
    }
}

/// Content types a thread remembers; most responses have one of a few.
const MOST_TYPES: usize = 8;

struct TextType {
    given: Box<str>,
    charset: Box<str>,
    complete: String,
    coder: Coder,
}

thread_local! {
    static TYPES: RefCell<Vec<TextType>> = const { RefCell::new(Vec::new()) };
}

fn text_type(content_type: &str, name: String) -> (String, Coder) {
    let utf8 = Coder::Here(Charset::UTF_8);
    if let Some(named) = charset::of_type(content_type) {
        return match Coder::find(&named) {
            Some(coder) => (content_type.to_owned(), coder),
            None => (
                format!("{}; charset=utf-8", charset::media_type(content_type)),
                utf8,
            ),
        };
    }
    let media = charset::media_type(content_type);
    let packed = ["image/", "audio/", "video/", "font/"]
        .iter()
        .any(|p| media.starts_with(p));
    if packed && !media.ends_with("+xml") {
        return (content_type.to_owned(), utf8);
    }
    let (name, coder) = match Coder::find(&name) {
        Some(coder) => (name, coder),
        None => ("utf-8".to_owned(), utf8),
    };
    if media.is_empty() {
        return (String::new(), coder);
    }
    (
        charset::add_to_type(content_type, &name).into_owned(),
        coder,
    )
}

fn convert(interp: &Interp, direction: &str, encoding: &str, value: Obj) -> Option<Obj> {
    interp
        .call(&[
            Obj::from("::encoding"),
            Obj::from(direction),
            Obj::from(encoding),
            value,
        ])
        .ok()
}
