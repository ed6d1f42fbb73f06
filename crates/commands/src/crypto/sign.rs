//! Signatures with keys of all kinds.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{self, EcdsaKeyPair, Ed25519KeyPair, PqdsaKeyPair, UnparsedPublicKey};
use tcl::Exit;

use super::key::{Key, Kind, aws_digest};
use crate::digest;

/// How ECDSA signatures are written; other signatures have one form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A SEQUENCE of two INTEGERs.
    Asn1,
    /// Both numbers in a row, as in JOSE.
    Fixed,
}

/// The signature of a message. Without `digest` it is sha256 for keys that need one.
///
/// # Errors
/// The key has no private part, does not sign, or not with this digest.
pub fn sign(key: &Key, digest: Option<&str>, message: &[u8], form: Form) -> Result<Vec<u8>, Exit> {
    let private = key.private()?;
    check(key, digest)?;
    let name = key.digest_name(digest);
    let signature = match key.kind {
        Kind::Ed25519 => {
            let pair = Ed25519KeyPair::from_seed_unchecked(private).map_err(|_| failed())?;
            pair.try_sign(message)
                .map_err(|_| failed())?
                .as_ref()
                .to_vec()
        }
        Kind::Ec(curve) => {
            let algorithm = if form == Form::Fixed {
                curve.signing_fixed
            } else {
                curve.signing
            };
            let hash = curve
                .fit(&digest::digest(&name, message)?)
                .ok_or_else(failed)?;
            let pair =
                EcdsaKeyPair::from_private_key_and_public_key(algorithm, private, &key.public);
            pair.map_err(|_| failed())?
                .sign_digest(&hash)
                .map_err(|_| failed())?
                .as_ref()
                .to_vec()
        }
        Kind::Rsa => {
            let encoding = match name.as_str() {
                "sha256" | "sha2-256" | "sha-256" => &signature::RSA_PKCS1_SHA256,
                "sha384" | "sha2-384" | "sha-384" => &signature::RSA_PKCS1_SHA384,
                _ => &signature::RSA_PKCS1_SHA512,
            };
            let pair = RsaKeyPair::from_der(private).map_err(|_| failed())?;
            let mut out = vec![0; pair.public_modulus_len()];
            pair.sign(encoding, &SystemRandom::new(), message, &mut out)
                .map_err(|_| failed())?;
            out
        }
        Kind::MlDsa(set) => {
            let pair = PqdsaKeyPair::from_pkcs8(set.signing, private).map_err(|_| failed())?;
            let mut out = vec![0; set.signing.signature_len()];
            let length = pair.sign(message, &mut out).map_err(|_| failed())?;
            out.truncate(length);
            out
        }
        Kind::X25519 | Kind::MlKem(_) => return Err(no_signatures()),
    };
    Ok(signature)
}

/// Whether a signature is that of a message.
///
/// # Errors
/// The key does not sign, or not with this digest.
pub fn verify(
    key: &Key,
    digest: Option<&str>,
    message: &[u8],
    sig: &[u8],
    form: Form,
) -> Result<bool, Exit> {
    check(key, digest)?;
    let name = key.digest_name(digest);
    Ok(match key.kind {
        Kind::Ed25519 => UnparsedPublicKey::new(&signature::ED25519, &key.public)
            .verify(message, sig)
            .is_ok(),
        Kind::Ec(curve) => {
            let algorithm = if form == Form::Fixed {
                curve.verifying_fixed
            } else {
                curve.verifying
            };
            let hash = curve
                .fit(&digest::digest(&name, message)?)
                .ok_or_else(failed)?;
            UnparsedPublicKey::new(algorithm, &key.public)
                .verify_digest(&hash, sig)
                .is_ok()
        }
        Kind::Rsa => {
            let parameters = match name.as_str() {
                "sha256" | "sha2-256" | "sha-256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                "sha384" | "sha2-384" | "sha-384" => &signature::RSA_PKCS1_2048_8192_SHA384,
                _ => &signature::RSA_PKCS1_2048_8192_SHA512,
            };
            UnparsedPublicKey::new(parameters, &key.public)
                .verify(message, sig)
                .is_ok()
        }
        Kind::MlDsa(set) => UnparsedPublicKey::new(set.verifying, &key.public)
            .verify(message, sig)
            .is_ok(),
        Kind::X25519 | Kind::MlKem(_) => return Err(no_signatures()),
    })
}

fn check(key: &Key, digest: Option<&str>) -> Result<(), Exit> {
    match (key.kind, digest) {
        (kind, _) if !kind.signs() => Err(no_signatures()),
        (Kind::Ed25519 | Kind::MlDsa(_), Some(_)) => Err(tcl::error(format!(
            "key type {} does not support -digest",
            key.kind.name()
        ))),
        (Kind::Rsa, Some(name)) if aws_digest(&name.to_ascii_lowercase()).is_none() => {
            Err(tcl::error(format!(
                "digest \"{name}\" cannot be used for RSA signatures: use sha256, sha384 or sha512"
            )))
        }
        _ => Ok(()),
    }
}

fn no_signatures() -> Exit {
    tcl::error("key type does not support signatures")
}

fn failed() -> Exit {
    tcl::error("could not create signature")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_digest_on_any_curve() {
        for curve in ["prime256v1", "secp384r1", "secp521r1", "secp256k1"] {
            let kind = Kind::named("EC", Some(curve))
                .flatten()
                .expect("a known curve");
            let key = Key::generate(kind, 0).expect("a key");
            for digest in ["sha1", "sha256", "sha384", "sha512"] {
                for form in [Form::Asn1, Form::Fixed] {
                    let sig = sign(&key, Some(digest), b"message", form).expect("a signature");
                    assert_eq!(
                        verify(&key, Some(digest), b"message", &sig, form).ok(),
                        Some(true),
                        "{curve} {digest}"
                    );
                    assert_eq!(
                        verify(&key, Some(digest), b"massage", &sig, form).ok(),
                        Some(false),
                        "{curve} {digest}"
                    );
                }
            }
        }
    }

    #[test]
    fn other_keys_sign() {
        for name in ["Ed25519", "RSA", "ml-dsa-65"] {
            let key = Key::generate(
                Kind::named(name, None).flatten().expect("a known kind"),
                2048,
            )
            .expect("a key");
            let sig = sign(&key, None, b"message", Form::Asn1).expect("a signature");
            assert_eq!(
                verify(&key, None, b"message", &sig, Form::Asn1).ok(),
                Some(true),
                "{name}"
            );
            assert_eq!(
                verify(&key, None, b"massage", &sig, Form::Asn1).ok(),
                Some(false),
                "{name}"
            );
        }
    }
}
