//! ns_crypto::aead: AES in Galois/Counter Mode (NIST SP 800-38D). What does not authenticate is not decrypted.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::cipher::{self, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use synopsis::commands;
use tcl::{Exit, Obj};

use crate::encode::{Encoding, input};

commands! { TABLE(call):

    /// Encrypts and authenticates a text or bytes: a dictionary of bytes and tag.
    "ns_crypto::aead::encrypt string" [
        -binary: bool, -aad: Option<Obj>, -cipher: Option<String>, -encoding: Option<Encoding>, -iv: Option<Obj>,
        -key: Obj, --
    ] (input: Obj)
        => {
            let cipher = Cipher::new(cipher.as_deref(), &bytes(&key, binary))?;
            let aad = aad.map_or_else(Vec::new, |aad| bytes(&aad, binary));
            let (sealed, tag) = cipher.seal(&iv_bytes(iv, binary)?, &aad, bytes(&input, binary))?;
            let encoding = encoding.unwrap_or(Encoding::Hex);
            Ok::<_, Exit>(Obj::dict([
                (Obj::from("bytes"), encoding.encode(&sealed)),
                (Obj::from("tag"), encoding.encode(&tag)),
            ]))
        };

    /// What was encrypted, if key, initialization vector, associated data and tag are those of the encryption.
    "ns_crypto::aead::decrypt string" [
        -binary: bool, -aad: Option<Obj>, -cipher: Option<String>, -encoding: Option<Encoding>, -iv: Option<Obj>,
        -key: Obj, -tag: Obj, --
    ] (input: Obj)
        => {
            let cipher = Cipher::new(cipher.as_deref(), &bytes(&key, binary))?;
            let aad = aad.map_or_else(Vec::new, |aad| bytes(&aad, binary));
            // Encrypted bytes and tags are bytes even where a script lost sight of it.
            let plain = cipher.open(&iv_bytes(iv, binary)?, &aad, bytes(&input, true), &bytes(&tag, true))?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(&plain))
        };
}

use input as bytes;

fn iv_bytes(iv: Option<Obj>, binary: bool) -> Result<Vec<u8>, Exit> {
    // A default would be the same for all messages, which reveals them and the key of the authentication.
    match iv.map(|iv| bytes(&iv, binary)) {
        Some(iv) if !iv.is_empty() => Ok(iv),
        _ => Err(tcl::error(
            "no initialization vector given: provide -iv, another one for each message",
        )),
    }
}

const TAG: usize = 16;

struct Cipher {
    gcm: &'static Algorithm,
    aes: &'static cipher::Algorithm,
    key: Vec<u8>,
}

impl Cipher {
    fn new(name: Option<&str>, key: &[u8]) -> Result<Cipher, Exit> {
        let name = name.unwrap_or("aes-128-gcm");
        let (gcm, aes, length) = match name.to_ascii_lowercase().as_str() {
            "aes-128-gcm" | "id-aes128-gcm" => (&AES_128_GCM, &cipher::AES_128, 16),
            "aes-192-gcm" | "id-aes192-gcm" => (&AES_192_GCM, &cipher::AES_192, 24),
            "aes-256-gcm" | "id-aes256-gcm" => (&AES_256_GCM, &cipher::AES_256, 32),
            other
                if other.starts_with("aes-")
                    || other.starts_with("chacha20")
                    || other.starts_with("des") =>
            {
                return Err(tcl::error(format!(
                    "cipher \"{name}\" does not support require mode: gcm"
                )));
            }
            _ => return Err(tcl::error(format!("Unknown cipher \"{name}\""))),
        };
        match key.get(..length) {
            Some(key) => Ok(Cipher {
                gcm,
                aes,
                key: key.to_vec(),
            }),
            None => Err(tcl::error(format!(
                "key too short: cipher \"{name}\" needs {length} bytes, got {}",
                key.len()
            ))),
        }
    }

    fn seal(&self, iv: &[u8], aad: &[u8], mut bytes: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>), Exit> {
        let failed = || tcl::error("could not encrypt data");
        let Ok(nonce) = Nonce::try_assume_unique_for_key(iv) else {
            let tag = self
                .any_iv(iv)
                .and_then(|any| any.seal(aad, &mut bytes))
                .ok_or_else(failed)?;
            return Ok((bytes, tag.to_vec()));
        };
        let key = LessSafeKey::new(UnboundKey::new(self.gcm, &self.key).map_err(|_| failed())?);
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(aad), &mut bytes)
            .map_err(|_| failed())?;
        let tag = tag.as_ref().to_vec();
        Ok((bytes, tag))
    }

    fn open(&self, iv: &[u8], aad: &[u8], mut bytes: Vec<u8>, tag: &[u8]) -> Result<Vec<u8>, Exit> {
        let failed = || {
            tcl::error("could not decrypt data: authentication failed (wrong key, iv, aad or tag)")
        };
        if tag.len() != TAG {
            return Err(failed());
        }
        let Ok(nonce) = Nonce::try_assume_unique_for_key(iv) else {
            let any = self.any_iv(iv).ok_or_else(failed)?;
            let expected = any.tag(aad, &bytes).ok_or_else(failed)?;
            verify_slices_are_equal(&expected, tag).map_err(|_| failed())?;
            any.counter(1, &mut bytes).ok_or_else(failed)?;
            return Ok(bytes);
        };
        let key = LessSafeKey::new(UnboundKey::new(self.gcm, &self.key).map_err(|_| failed())?);
        key.open_in_place_separate_tag(nonce, Aad::from(aad), tag, &mut bytes)
            .map_err(|_| failed())?;
        Ok(bytes)
    }

    /// The mode for initialization vectors of other lengths than 12 bytes, which the library does not take.
    fn any_iv(&self, iv: &[u8]) -> Option<AnyIv<'_>> {
        let mut zero = [0; 16];
        self.encrypt_block(&mut zero)?;
        let hash_key = u128::from_be_bytes(zero);
        let first = ghash(hash_key, &[], iv);
        Some(AnyIv {
            cipher: self,
            hash_key,
            first: first.to_be_bytes(),
        })
    }

    fn encrypt_block(&self, block: &mut [u8; 16]) -> Option<()> {
        let key = EncryptingKey::ecb(UnboundCipherKey::new(self.aes, &self.key).ok()?).ok()?;
        key.less_safe_encrypt(block, EncryptionContext::None)
            .ok()
            .map(|_| ())
    }
}

struct AnyIv<'a> {
    cipher: &'a Cipher,
    hash_key: u128,
    /// The first counter block; its number 0 hides the tag.
    first: [u8; 16],
}

impl AnyIv<'_> {
    fn seal(&self, aad: &[u8], bytes: &mut [u8]) -> Option<[u8; TAG]> {
        self.counter(1, bytes)?;
        self.tag(aad, bytes)
    }

    fn tag(&self, aad: &[u8], sealed: &[u8]) -> Option<[u8; TAG]> {
        let mut tag = ghash(self.hash_key, aad, sealed).to_be_bytes();
        self.counter(0, &mut tag)?;
        Some(tag)
    }

    /// Encrypts or decrypts with the counter blocks from a number on. The counter are the last 32 bits alone.
    fn counter(&self, from: u32, bytes: &mut [u8]) -> Option<()> {
        let mut block = self.first;
        let (head, tail) = block.split_at_mut(12);
        let mut number = u32::from_be_bytes(tail.try_into().ok()?).wrapping_add(from);
        let mut rest = bytes;
        while !rest.is_empty() {
            // Up to where the counter wraps; the library would carry into the other bits.
            let most = (u64::from(u32::MAX - number) + 1) * 16;
            let (part, after) =
                rest.split_at_mut(usize::try_from(most).unwrap_or(usize::MAX).min(rest.len()));
            let mut counter = [0; 16];
            counter[..12].copy_from_slice(head);
            counter[12..].copy_from_slice(&number.to_be_bytes());
            let key =
                EncryptingKey::ctr(UnboundCipherKey::new(self.cipher.aes, &self.cipher.key).ok()?)
                    .ok()?;
            key.less_safe_encrypt(part, EncryptionContext::Iv128((&counter).into()))
                .ok()?;
            number = 0;
            rest = after;
        }
        Some(())
    }
}

/// GHASH over both parts, each padded, and their lengths.
fn ghash(key: u128, aad: &[u8], sealed: &[u8]) -> u128 {
    let mut hash = 0;
    for chunk in aad.chunks(16).chain(sealed.chunks(16)) {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        hash = multiply(hash ^ u128::from_be_bytes(block), key);
    }
    let lengths = (aad.len() as u128 * 8) << 64 | (sealed.len() as u128 * 8);
    multiply(hash ^ lengths, key)
}

/// The product in the field of GCM. No branch and no index depends on the bits: they are secret.
fn multiply(x: u128, y: u128) -> u128 {
    let (mut product, mut v) = (0, y);
    for bit in (0..128).rev() {
        product ^= v & 0u128.wrapping_sub(x >> bit & 1);
        v = v >> 1 ^ 0xe1 << 120 & 0u128.wrapping_sub(v & 1);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher() -> Cipher {
        Cipher::new(None, b"0123456789abcdef").expect("the key is long enough")
    }

    #[test]
    fn whatever_differs_is_refused() {
        for iv in [
            &b"123456789012"[..],
            b"12345678",
            b"a much longer initialization vector",
        ] {
            let (sealed, tag) = cipher()
                .seal(iv, b"aad", b"hello world".to_vec())
                .expect("it is sealed");
            assert_eq!(
                cipher()
                    .open(iv, b"aad", sealed.clone(), &tag)
                    .ok()
                    .as_deref(),
                Some(&b"hello world"[..])
            );
            assert!(cipher().open(iv, b"aae", sealed.clone(), &tag).is_err());
            assert!(
                cipher()
                    .open(b"123456789013", b"aad", sealed.clone(), &tag)
                    .is_err()
            );
            assert!(
                cipher()
                    .open(iv, b"aad", sealed.clone(), &tag[..15])
                    .is_err()
            );
            let mut wrong = tag.clone();
            wrong[0] ^= 1;
            assert!(cipher().open(iv, b"aad", sealed.clone(), &wrong).is_err());
            let mut wrong = sealed.clone();
            wrong[3] ^= 1;
            assert!(cipher().open(iv, b"aad", wrong, &tag).is_err());
            let other = Cipher::new(None, b"0123456789abcdeg").expect("the key is long enough");
            assert!(other.open(iv, b"aad", sealed, &tag).is_err());
        }
    }

    #[test]
    fn both_ways_agree() {
        // The general way, with the first block that an iv of 12 bytes stands for.
        let mut first = [0; 16];
        first[..12].copy_from_slice(b"123456789012");
        first[15] = 1;
        let cipher = cipher();
        let any = AnyIv {
            first,
            ..cipher.any_iv(b"x").expect("the cipher works")
        };
        let mut bytes = b"some bytes, more than one block of them".to_vec();
        let tag = any.seal(b"aad", &mut bytes);
        let (sealed, expected) = cipher
            .seal(
                b"123456789012",
                b"aad",
                b"some bytes, more than one block of them".to_vec(),
            )
            .expect("it is sealed");
        assert_eq!((bytes, tag.map(|t| t.to_vec())), (sealed, Some(expected)));
    }
}
