//! Digests, keyed digests and random values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use aws_lc_rs::digest as aws;
use md5::Digest as _;
use synopsis::{Call, Int, choice, commands};
use tcl::{Exit, Obj};

use crate::crypto::key::Key;
use crate::crypto::sign::{self, Form};
use crate::encode::{Encoding, hex, input};

choice! {
    /// Versions of UUIDs (RFC 9562).
    pub enum UuidVersion { V4 = "v4", V7 = "v7" }
}

commands! { TABLE(call):

    /// MD5 digest of a string.
    "ns_md5" [-binary: bool, --] (string: Obj)
        => upper_digest("md5", &string, binary);

    /// SHA-1 digest of a string.
    "ns_sha1" [-binary: bool, --] (string: Obj)
        => upper_digest("sha1", &string, binary);

    /// Digest of a string.
    "ns_crypto::md string" [
        -binary: bool, -digest: Option<String>, -encoding: Option<Encoding>, -passphrase: Option<Obj>,
        -sign: Option<Obj>, -signature: Option<Obj>, -verify: Option<Obj>, --
    ] (message: Obj)
        => {
            let message = input(&message, binary);
            let digest = digest.as_deref().unwrap_or("sha256");
            let key = |pem: &Obj| Key::read(pem, passphrase.as_ref());
            match (sign, verify) {
                (Some(pem), _) => sign::sign(&key(&pem)?, Some(digest), &message, Form::Asn1)
                    .map(|s| encoding.unwrap_or(Encoding::Hex).encode(&s)),
                (None, Some(pem)) => {
                    let Some(signature) = signature else {
                        return Err(tcl::error("the option \"-verify\" requires \"-signature\""));
                    };
                    let valid = sign::verify(&key(&pem)?, Some(digest), &message, &input(&signature, true), Form::Asn1)?;
                    Ok(Obj::from(valid))
                }
                (None, None) => md_string(digest, encoding, &message),
            }
        };

    /// A digest that is fed piece by piece.
    "ns_crypto::md new" (digest: String)
        => running(call).add("mdctx", State::Digest(Box::new(Hasher::named(&digest)?)));

    /// Feeds a digest.
    "ns_crypto::md add" [-binary: bool, --] (ctx: String, message: Obj)
        => running(call).feed("mdctx", &ctx, &input(&message, binary));

    /// The digest of what came so far.
    "ns_crypto::md get" [-encoding: Option<Encoding>] (ctx: String)
        => running(call).result("mdctx", &ctx, encoding);

    /// Forgets a digest.
    "ns_crypto::md free" (ctx: String)
        => running(call).free("mdctx", &ctx);

    /// A key derived from a secret (RFC 5869).
    "ns_crypto::md hkdf" [
        -binary: bool, -digest: Option<String>, -salt: Obj, -secret: Obj, -info: Obj, -encoding: Option<Encoding>, --
    ] (length: Int<0>)
        => derive(
            digest.as_deref().unwrap_or("sha256"),
            &input(&salt, binary),
            &input(&secret, binary),
            &input(&info, binary),
            length.as_usize(),
            encoding,
        );

    /// A signature for Web Push (RFC 8292): ECDSA, both numbers in a row.
    "ns_crypto::md vapidsign" [
        -binary: bool, -digest: Option<String>, -encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj, --
    ] (message: Obj)
        => {
            let key = Key::read_private(&pem, passphrase.as_ref())?;
            let digest = digest.as_deref().unwrap_or("sha256");
            let signature = sign::sign(&key, Some(digest), &input(&message, binary), Form::Fixed)?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(&signature))
        };

    /// Keyed digest of a message.
    "ns_crypto::hmac string" [-binary: bool, -digest: Option<String>, -encoding: Option<Encoding>, --]
        (key: Obj, message: Obj)
        => hmac_string(digest.as_deref(), encoding, &input(&key, binary), &input(&message, binary));

    /// A keyed digest that is fed piece by piece.
    "ns_crypto::hmac new" [-binary: bool, --] (digest: String, key: Obj)
        => running(call).add("hmacctx", State::Hmac(Box::new(Hmac::new(&digest, &input(&key, binary))?)));

    /// Feeds a keyed digest.
    "ns_crypto::hmac add" [-binary: bool, --] (ctx: String, message: Obj)
        => running(call).feed("hmacctx", &ctx, &input(&message, binary));

    /// The keyed digest of what came so far.
    "ns_crypto::hmac get" [-encoding: Option<Encoding>] (ctx: String)
        => running(call).result("hmacctx", &ctx, encoding);

    /// Forgets a keyed digest.
    "ns_crypto::hmac free" (ctx: String)
        => running(call).free("hmacctx", &ctx);

    /// Random bytes, fit for keys.
    "ns_crypto::randombytes" [-encoding: Option<Encoding>] (nrbytes: Int<1>)
        => random_bytes(nrbytes.as_usize(), encoding.unwrap_or(Encoding::Hex));

    /// A universally unique identifier.
    "ns_crypto::uuid" [-version: Option<UuidVersion>]
        => uuid(version.unwrap_or(UuidVersion::V4));

    /// A random universally unique identifier.
    "ns_uuid" ()
        => uuid(UuidVersion::V4);

    /// A random number: below 1, or a whole number below the maximum.
    "ns_rand" (maximum: Option<Int<1>>)
        => rand(maximum.map(Int::get));
}

/// The digests by name, as messages list them.
const NAMES: &[&str] = &[
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-256",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "blake2b512",
    "blake2s256",
    "ripemd160",
];

/// A digest at work.
#[derive(Clone)]
enum Hasher {
    Aws(aws::Context),
    Md5(md5::Md5),
    Blake2b(blake2::Blake2b512),
    Blake2s(blake2::Blake2s256),
    Ripemd(ripemd::Ripemd160),
}

impl Hasher {
    /// Names are those of OpenSSL, in any case.
    fn named(name: &str) -> Result<Hasher, Exit> {
        let lower = name.to_ascii_lowercase();
        let algorithm = match lower.as_str() {
            "md5" => return Ok(Hasher::Md5(md5::Md5::new())),
            "blake2b512" => return Ok(Hasher::Blake2b(blake2::Digest::new())),
            "blake2s256" => return Ok(Hasher::Blake2s(blake2::Digest::new())),
            "ripemd160" | "ripemd" | "rmd160" => return Ok(Hasher::Ripemd(ripemd::Digest::new())),
            "sha1" | "sha-1" => &aws::SHA1_FOR_LEGACY_USE_ONLY,
            "sha224" | "sha2-224" | "sha-224" => &aws::SHA224,
            "sha256" | "sha2-256" | "sha-256" => &aws::SHA256,
            "sha384" | "sha2-384" | "sha-384" => &aws::SHA384,
            "sha512" | "sha2-512" | "sha-512" => &aws::SHA512,
            "sha512-256" | "sha2-512/256" | "sha-512/256" => &aws::SHA512_256,
            "sha3-256" => &aws::SHA3_256,
            "sha3-384" => &aws::SHA3_384,
            "sha3-512" => &aws::SHA3_512,
            _ => {
                let names = NAMES.join(" ");
                return Err(tcl::error(format!(
                    "Unknown value for digest \"{name}\", valid: {names}"
                )));
            }
        };
        Ok(Hasher::Aws(aws::Context::new(algorithm)))
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Aws(h) => h.update(bytes),
            Hasher::Md5(h) => h.update(bytes),
            Hasher::Blake2b(h) => h.update(bytes),
            Hasher::Blake2s(h) => h.update(bytes),
            Hasher::Ripemd(h) => h.update(bytes),
        }
    }

    fn finish(self) -> Vec<u8> {
        match self {
            Hasher::Aws(h) => h.finish().as_ref().to_vec(),
            Hasher::Md5(h) => h.finalize().to_vec(),
            Hasher::Blake2b(h) => h.finalize().to_vec(),
            Hasher::Blake2s(h) => h.finalize().to_vec(),
            Hasher::Ripemd(h) => h.finalize().to_vec(),
        }
    }

    /// Length of the blocks it works on, in bytes.
    fn block(&self) -> usize {
        match self {
            Hasher::Aws(h) => h.algorithm().block_len(),
            Hasher::Md5(_) | Hasher::Blake2s(_) | Hasher::Ripemd(_) => 64,
            Hasher::Blake2b(_) => 128,
        }
    }
}

/// HMAC (RFC 2104) over any of the digests; the library offers it for a few only.
#[derive(Clone)]
pub struct Hmac {
    inner: Hasher,
    outer: Hasher,
}

impl Hmac {
    pub fn new(digest: &str, key: &[u8]) -> Result<Hmac, Exit> {
        let fresh = Hasher::named(digest)?;
        let mut padded = key.to_vec();
        if padded.len() > fresh.block() {
            let mut hasher = fresh.clone();
            hasher.update(key);
            padded = hasher.finish();
        }
        padded.resize(fresh.block(), 0);
        let keyed = |pad: u8| {
            let mut hasher = fresh.clone();
            hasher.update(&padded.iter().map(|b| b ^ pad).collect::<Vec<u8>>());
            hasher
        };
        Ok(Hmac {
            inner: keyed(0x36),
            outer: keyed(0x5c),
        })
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.inner.update(bytes);
    }

    /// The keyed digest of what came so far.
    pub fn result(&self) -> Vec<u8> {
        let mut outer = self.outer.clone();
        outer.update(&self.inner.clone().finish());
        outer.finish()
    }
}

enum State {
    Digest(Box<Hasher>),
    Hmac(Box<Hmac>),
}

/// The digests an interpreter is working on, by handle. They stay until freed.
#[derive(Default)]
struct Running {
    last: RefCell<u64>,
    states: RefCell<HashMap<String, State>>,
}

fn running(call: &Call<'_>) -> Rc<Running> {
    call.interp.data::<Running>().unwrap_or_else(|| {
        let running = Rc::new(Running::default());
        call.interp.set_data(Rc::clone(&running));
        running
    })
}

impl Running {
    fn add(&self, kind: &str, state: State) -> String {
        let mut last = self.last.borrow_mut();
        *last += 1;
        let handle = format!("{kind}{last}");
        self.states.borrow_mut().insert(handle.clone(), state);
        handle
    }

    fn feed(&self, kind: &str, handle: &str, bytes: &[u8]) -> Result<(), Exit> {
        match self.states.borrow_mut().get_mut(handle) {
            Some(State::Digest(hasher)) if kind == "mdctx" => hasher.update(bytes),
            Some(State::Hmac(hmac)) if kind == "hmacctx" => hmac.inner.update(bytes),
            _ => return Err(not_of_type(kind)),
        }
        Ok(())
    }

    fn result(&self, kind: &str, handle: &str, encoding: Option<Encoding>) -> Result<Obj, Exit> {
        let bytes = match self.states.borrow().get(handle) {
            Some(State::Digest(hasher)) if kind == "mdctx" => hasher.clone().finish(),
            Some(State::Hmac(hmac)) if kind == "hmacctx" => hmac.result(),
            _ => return Err(not_of_type(kind)),
        };
        Ok(encoding.unwrap_or(Encoding::Hex).encode(&bytes))
    }

    fn free(&self, kind: &str, handle: &str) -> Result<(), Exit> {
        let mut states = self.states.borrow_mut();
        match states.get(handle) {
            Some(State::Digest(_)) if kind == "mdctx" => {}
            Some(State::Hmac(_)) if kind == "hmacctx" => {}
            _ => return Err(not_of_type(kind)),
        }
        states.remove(handle);
        Ok(())
    }
}

fn not_of_type(kind: &str) -> Exit {
    tcl::error(format!("argument is not of type \"ns:{kind}\""))
}

/// The digest of bytes; names are those of OpenSSL.
pub fn digest(name: &str, bytes: &[u8]) -> Result<Vec<u8>, Exit> {
    let mut hasher = Hasher::named(name)?;
    hasher.update(bytes);
    Ok(hasher.finish())
}

fn upper_digest(name: &str, value: &Obj, binary: bool) -> Result<String, Exit> {
    Ok(hex(&digest(name, &input(value, binary))?, true))
}

fn md_string(name: &str, encoding: Option<Encoding>, message: &[u8]) -> Result<Obj, Exit> {
    Ok(encoding
        .unwrap_or(Encoding::Hex)
        .encode(&digest(name, message)?))
}

/// The keyed digest of a message.
pub fn hmac(digest: &str, key: &[u8], message: &[u8]) -> Result<Vec<u8>, Exit> {
    let mut hmac = Hmac::new(digest, key)?;
    hmac.update(message);
    Ok(hmac.result())
}

fn hmac_string(
    name: Option<&str>,
    encoding: Option<Encoding>,
    key: &[u8],
    message: &[u8],
) -> Result<Obj, Exit> {
    Ok(encoding
        .unwrap_or(Encoding::Hex)
        .encode(&hmac(name.unwrap_or("sha256"), key, message)?))
}

fn derive(
    digest: &str,
    salt: &[u8],
    secret: &[u8],
    info: &[u8],
    length: usize,
    encoding: Option<Encoding>,
) -> Result<Obj, Exit> {
    let key = hmac(digest, salt, secret)?;
    if length > 255 * key.len() {
        return Err(tcl::error(format!(
            "a key derived with {digest} has at most {} bytes",
            255 * key.len()
        )));
    }
    let mut out = Vec::with_capacity(length + key.len());
    let mut block = Vec::new();
    // The check above keeps the number of blocks within a byte.
    for number in 1..=u8::MAX {
        if out.len() >= length {
            break;
        }
        block.extend_from_slice(info);
        block.push(number);
        block = hmac(digest, &key, &block)?;
        out.extend_from_slice(&block);
    }
    out.truncate(length);
    Ok(encoding.unwrap_or(Encoding::Hex).encode(&out))
}

/// Fills `bytes` from the operating system's generator.
pub fn fill(bytes: &mut [u8]) -> Result<(), Exit> {
    aws_lc_rs::rand::fill(bytes)
        .map_err(|_| tcl::error("could not obtain random bytes from the operating system"))
}

fn random_bytes(count: usize, encoding: Encoding) -> Result<Obj, Exit> {
    // A limit that no key or token comes near, so that a wrong number is an error and not the end of memory.
    const MOST: usize = 1 << 30;
    if count > MOST {
        return Err(tcl::error(format!("too many random bytes wanted: {count}")));
    }
    let mut bytes = vec![0; count];
    fill(&mut bytes)?;
    Ok(encoding.encode(&bytes))
}

fn uuid(version: UuidVersion) -> Result<String, Exit> {
    let mut bytes = [0u8; 16];
    fill(&mut bytes)?;
    let digit = match version {
        UuidVersion::V4 => 4,
        UuidVersion::V7 => {
            let since = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            // Milliseconds fill 48 bits until the year 10889.
            bytes[..6].copy_from_slice(&(since.as_millis() as u64).to_be_bytes()[2..]);
            7
        }
    };
    bytes[6] = bytes[6] & 0x0f | digit << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes, false);
    Ok([
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-"))
}

fn rand(maximum: Option<i64>) -> Result<Obj, Exit> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    let random = u64::from_le_bytes(bytes);
    Ok(match maximum.and_then(|m| u64::try_from(m).ok()) {
        // The product's upper half is below the maximum; the bias is below 2^-64 times it.
        Some(maximum) => Obj::from(((u128::from(random) * u128::from(maximum)) >> 64) as u64),
        // 53 bits are what a double holds.
        None => Obj::from((random >> 11) as f64 / (1u64 << 53) as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_of_rfc_4231() {
        let mut hmac = Hmac::new("sha256", &[0x0b; 20]).expect("sha256 is known");
        hmac.inner.update(b"Hi There");
        assert_eq!(
            hex(&hmac.result(), false),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }
}
