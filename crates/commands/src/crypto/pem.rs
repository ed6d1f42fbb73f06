//! PEM (RFC 7468): texts with keys, plain or encrypted with a passphrase (PKCS #8 with PBES2, RFC 8018).

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::pbkdf2;
use tcl::{Exit, Obj};

use super::der::{self, Reader};
use crate::encode::{base64_text, decode_bytes};

/// What stands between two lines with dashes.
pub struct Block {
    pub label: String,
    pub bytes: Vec<u8>,
}

/// The blocks of a PEM text, or of the file that a value names.
pub fn read(pem: &Obj) -> Result<Vec<Block>, Exit> {
    let text = pem.text();
    if text.contains("-----BEGIN ") {
        return Ok(blocks(&text));
    }
    match std::fs::read_to_string(&text) {
        Ok(content) => Ok(blocks(&content)),
        Err(_) => Err(tcl::error(format!(
            "could not open pem file '{text}' for reading"
        ))),
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, after)) = after.split_once("-----") else {
            break;
        };
        let Some((body, after)) = after.split_once(&format!("-----END {label}-----")) else {
            break;
        };
        rest = after;
        // Lines with a colon are header fields; only encrypted keys of an old kind have them, and those are not read.
        if body.contains(':') {
            continue;
        }
        if let Ok(bytes) = decode_bytes(body, false, true) {
            found.push(Block {
                label: label.to_owned(),
                bytes,
            });
        }
    }
    found
}

/// A block as text, in lines of 64 characters.
pub fn write(label: &str, bytes: &[u8]) -> String {
    let base64 = base64_text(bytes);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        // Base64 is ASCII: every index is a border of characters.
        let (line, after) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// The most rounds of PBKDF2 for a key; a file with more would stop the thread for minutes.
const ROUNDS: u32 = 10_000_000;

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
const HMAC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
const AES_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];

/// The PKCS #8 key in an `EncryptedPrivateKeyInfo`; None if the passphrase is wrong or the way of encryption unknown.
pub fn decrypt(der: &[u8], passphrase: &[u8]) -> Option<Vec<u8>> {
    let mut info = Reader(der).sequence()?;
    let mut algorithm = info.sequence()?;
    let encrypted = info.expect(der::OCTETS)?;
    if algorithm.expect(der::OID)? != PBES2 {
        return None;
    }
    let mut parameters = algorithm.sequence()?;
    let (mut derivation, mut cipher) = (parameters.sequence()?, parameters.sequence()?);

    if derivation.expect(der::OID)? != PBKDF2 {
        return None;
    }
    let mut derivation = derivation.sequence()?;
    let salt = derivation.expect(der::OCTETS)?;
    let rounds = NonZeroU32::new(derivation.number()?).filter(|r| r.get() <= ROUNDS)?;
    let mut prf = pbkdf2::PBKDF2_HMAC_SHA1;
    while let Some((tag, content)) = derivation.next() {
        if tag == der::SEQUENCE {
            prf = match Reader(content).expect(der::OID)?.strip_prefix(HMAC)? {
                [7] => pbkdf2::PBKDF2_HMAC_SHA1,
                [9] => pbkdf2::PBKDF2_HMAC_SHA256,
                [10] => pbkdf2::PBKDF2_HMAC_SHA384,
                [11] => pbkdf2::PBKDF2_HMAC_SHA512,
                _ => return None,
            };
        }
    }

    let (aes, length) = match cipher.expect(der::OID)?.strip_prefix(AES_CBC)? {
        [2] => (&AES_128, 16),
        [22] => (&AES_192, 24),
        [42] => (&AES_256, 32),
        _ => return None,
    };
    let iv: [u8; 16] = cipher.expect(der::OCTETS)?.try_into().ok()?;
    let mut key = vec![0; length];
    pbkdf2::derive(prf, rounds, salt, passphrase, &mut key);
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(aes, &key).ok()?).ok()?;
    let mut plain = encrypted.to_vec();
    let length = key
        .decrypt(&mut plain, DecryptionContext::Iv128((&iv).into()))
        .ok()?
        .len();
    plain.truncate(length);
    Some(plain)
}
