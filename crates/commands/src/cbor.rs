//! ns_cbor: values in CBOR (RFC 8949), as far as WebAuthn uses it.

use synopsis::{Call, commands};
use tcl::{Exit, Obj};

use crate::encode::{Encoding, input};
use crate::json::null;

commands! { TABLE(call):

    /// The value at the beginning of some bytes.
    "ns_cbor parse" [-binary: bool, -encoding: Option<Encoding>, -scan: bool, --] (value: Obj)
        => parse(call, &input(&value, binary), encoding, scan);

    /// The same as ns_cbor parse.
    "ns_cbor decode" [-binary: bool, -encoding: Option<Encoding>, -scan: bool, --] (value: Obj)
        => parse(call, &input(&value, binary), encoding, scan);

    /// As ns_cbor parse -scan.
    "ns_cbor scan" [-binary: bool, -encoding: Option<Encoding>, -scan: bool, --] (value: Obj)
        => parse(call, &input(&value, binary), encoding, true);
}

/// Arrays and maps within each other.
const DEEPEST: usize = 64;

fn parse(
    call: &Call<'_>,
    bytes: &[u8],
    encoding: Option<Encoding>,
    scan: bool,
) -> Result<Obj, Exit> {
    let mut decoder = Decoder {
        rest: bytes,
        // The manual says hex, but scripts take the bytes as they are.
        encoding: encoding.unwrap_or(Encoding::Binary),
        null: null::null(call.interp),
    };
    let value = decoder.item(0)?;
    let used = bytes.len() - decoder.rest.len();
    Ok(if scan {
        Obj::list([value, Obj::from(used)])
    } else {
        value
    })
}

struct Decoder<'a> {
    rest: &'a [u8],
    encoding: Encoding,
    null: Obj,
}

impl<'a> Decoder<'a> {
    fn item(&mut self, depth: usize) -> Result<Obj, Exit> {
        if depth > DEEPEST {
            return Err(problem("nesting too deep"));
        }
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        match (major, info) {
            (6, _) => return Err(problem("tags not supported")),
            (7, 20 | 21) => return Ok(Obj::from(info == 21)),
            (7, 22 | 23) => return Ok(self.null.clone()),
            (7, _) => return Err(problem("simple/float value not supported")),
            (_, 28..=30) => return Err(problem("invalid additional-info")),
            (2..=5, 31) => return Err(problem("indefinite-length items not supported")),
            (_, 31) => return Err(problem("invalid additional-info")),
            _ => {}
        }
        let argument = match info {
            24..=27 => self
                .take(1 << (info - 24))?
                .iter()
                .fold(0u64, |n, b| n << 8 | u64::from(*b)),
            info => u64::from(info),
        };
        match major {
            0 => i64::try_from(argument)
                .map(Obj::from)
                .map_err(|_| problem("integer too large for Tcl wide int")),
            1 => i64::try_from(argument)
                .map(|n| Obj::from(-1 - n))
                .map_err(|_| problem("negative integer too small for Tcl wide int")),
            2 => self
                .bytes(argument)
                .map(|bytes| self.encoding.encode(bytes)),
            3 => self.bytes(argument).map(text),
            4 => {
                let count = self.count(argument, 1)?;
                let items = (0..count)
                    .map(|_| self.item(depth + 1))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(Obj::list(items))
            }
            _ => {
                let count = self.count(argument, 2)?;
                let mut pairs = Vec::new();
                for _ in 0..count {
                    pairs.push((self.item(depth + 1)?, self.item(depth + 1)?));
                }
                Ok(Obj::dict(pairs))
            }
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Exit> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], Exit> {
        self.take(usize::try_from(length).map_err(|_| truncated())?)
    }

    /// A number of items of so many bytes at least; the rest has to have room for them.
    fn count(&self, count: u64, each: u64) -> Result<u64, Exit> {
        match count.checked_mul(each) {
            Some(bytes) if bytes <= self.rest.len() as u64 => Ok(count),
            _ => Err(truncated()),
        }
    }
}

/// The text of some bytes. Where they are no UTF-8, each is a character: authenticators in the field send such names.
fn text(bytes: &[u8]) -> Obj {
    match std::str::from_utf8(bytes) {
        Ok(text) => Obj::from(text),
        Err(_) => Obj::from(bytes.iter().map(|b| char::from(*b)).collect::<String>()),
    }
}

fn truncated() -> Exit {
    problem("truncated input")
}

fn problem(what: &str) -> Exit {
    tcl::error(format!("CBOR {what}"))
}
