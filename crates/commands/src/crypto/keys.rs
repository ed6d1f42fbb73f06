//! ns_crypto::key, eckey, signature, agreement and kem: keys in PEM and what they are good for.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

use aws_lc_rs::{agreement, kem};
use synopsis::{choice, commands};
use tcl::{Exit, Obj};

use super::curve::Curve;
use super::key::{Key, Kind};
use super::sign::{self, Form};
use crate::encode::{Encoding, input};

choice! {
    enum PublicForm { Raw = "raw", Pem = "pem" }
    enum EcForm { Raw = "raw", Pem = "pem", Der = "der" }
    enum PointForm { Pem = "pem", Der = "der" }
    enum Source { Public = "public", Keypair = "keypair" }
}

commands! { TABLE(call):

    /// A new private key.
    "ns_crypto::key generate" [-name: String, -group: Option<String>, -outfile: Option<String>]
        => generate("key", |_| true, &name, group.as_deref(), outfile.as_deref());

    /// A public key from its numbers.
    "ns_crypto::key import" [
        -name: String, -from: Option<Source>, -params: Obj, -format: Option<PublicForm>, -encoding: Option<Encoding>,
        -outfile: Option<String>,
    ]
        => {
            let key = import(&name, from, &params)?;
            show_public(&key, format.unwrap_or(PublicForm::Pem), encoding, outfile.as_deref())
        };

    /// What is to say about a key.
    "ns_crypto::key info" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj]
        => Key::read(&pem, passphrase.as_ref()).map(|key| info(&key, encoding.unwrap_or(Encoding::Hex)));

    /// The kind of a key.
    "ns_crypto::key type" [-passphrase: Option<Obj>, -pem: Obj]
        => Key::read(&pem, passphrase.as_ref()).map(|key| key.kind.name());

    /// The public part of a key.
    "ns_crypto::key pub" [
        -encoding: Option<Encoding>, -format: Option<PublicForm>, -passphrase: Option<Obj>, -outfile: Option<String>,
        -pem: Obj,
    ]
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            show_public(&key, format.unwrap_or(PublicForm::Raw), encoding, outfile.as_deref())
        };

    /// The raw private part of a key.
    "ns_crypto::key priv" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj]
        => {
            let key = Key::read_private(&pem, passphrase.as_ref())?;
            if matches!(key.kind, Kind::Rsa | Kind::MlDsa(_)) {
                return Err(tcl::error(format!("key type \"{}\" has no raw private key", key.kind.name())));
            }
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(key.private()?))
        };

    /// A new private key on an elliptic curve.
    "ns_crypto::eckey generate" [-name: Option<String>, -pem: Option<String>, -outfile: Option<String>]
        => {
            let kind = Curve::named(name.as_deref().unwrap_or("prime256v1")).map(Kind::Ec);
            let kind = kind.ok_or_else(|| tcl::error("key type \"EC\" cannot be used for EC key generation"))?;
            new_key(kind, 0, outfile.or(pem).as_deref())
        };

    /// The public part of a key on an elliptic curve.
    "ns_crypto::eckey pub" [
        -encoding: Option<Encoding>, -passphrase: Option<Obj>, -format: Option<EcForm>, -outfile: Option<String>,
        -pem: Obj,
    ]
        => {
            let key = ec_key(Key::read(&pem, passphrase.as_ref())?)?;
            let form = match format.unwrap_or(EcForm::Raw) {
                EcForm::Raw => return show_public(&key, PublicForm::Raw, encoding, outfile.as_deref()),
                EcForm::Pem => PointForm::Pem,
                EcForm::Der => PointForm::Der,
            };
            if encoding.is_some() {
                return Err(tcl::error("the option \"-encoding\" is only valid with format \"raw\""));
            }
            show_point(&key, form, outfile.as_deref())
        };

    /// A public key from the coordinates of its point.
    "ns_crypto::eckey fromcoords" [
        -binary: bool, -curve: String, -x: Obj, -y: Obj, -format: Option<PointForm>, -outfile: Option<String>,
    ]
        => {
            let curve = Curve::named(&curve).ok_or_else(|| tcl::error("could not import EC public key: invalid curve"))?;
            let key = from_coordinates(curve, &input(&x, binary), &input(&y, binary))?;
            show_point(&key, format.unwrap_or(PointForm::Pem), outfile.as_deref())
        };

    /// The point of a public key on prime256v1, checked and encoded anew.
    "ns_crypto::eckey import" [-binary: bool, -string: Obj, -encoding: Option<Encoding>]
        => {
            let point = input(&string, binary);
            let curve = Curve::named("prime256v1").filter(|c| c.has(&point));
            curve.ok_or_else(|| tcl::error("could not import EC public key: point is not on curve"))?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(&point))
        };

    /// The raw private part of a key on an elliptic curve.
    "ns_crypto::eckey priv" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj]
        => {
            let key = ec_key(Key::read_private(&pem, passphrase.as_ref())?)?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(key.private()?))
        };

    /// The secret that a private key shares with the owner of a public one, which is given as its point.
    "ns_crypto::eckey sharedsecret" [
        -binary: bool, -encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj, --
    ] (pubkey: Obj)
        => {
            let key = ec_key(Key::read_private(&pem, passphrase.as_ref())?)?;
            agree(&key, &input(&pubkey, binary)).map(|secret| encoding.unwrap_or(Encoding::Hex).encode(&secret))
        };

    /// A new private key for signatures.
    "ns_crypto::signature generate" [-name: Option<String>, -group: Option<String>, -outfile: Option<String>]
        => generate("signature", Kind::signs, name.as_deref().unwrap_or("Ed25519"), group.as_deref(), outfile.as_deref());

    /// The public part of a key for signatures.
    "ns_crypto::signature pub" [-passphrase: Option<Obj>, -outfile: Option<String>, -pem: Obj]
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            if !key.kind.signs() {
                return Err(tcl::error("key type does not support signatures"));
            }
            show_public(&key, PublicForm::Pem, None, outfile.as_deref())
        };

    /// The signature of a message.
    "ns_crypto::signature sign" [
        -binary: bool, -digest: Option<String>, -id: Option<Obj>, -encoding: Option<Encoding>,
        -passphrase: Option<Obj>, -pem: Obj, --
    ] (message: Obj)
        => {
            let key = Key::read_private(&pem, passphrase.as_ref())?;
            refuse_id(id.is_some())?;
            let signature = sign::sign(&key, digest.as_deref(), &input(&message, binary), Form::Asn1)?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(&signature))
        };

    /// Whether a signature is that of a message.
    "ns_crypto::signature verify" [
        -binary: bool, -digest: Option<String>, -id: Option<Obj>, -passphrase: Option<Obj>, -pem: Obj,
        -signature: Obj, --
    ] (message: Obj)
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            refuse_id(id.is_some())?;
            sign::verify(&key, digest.as_deref(), &input(&message, binary), &input(&signature, true), Form::Asn1)
        };

    /// A new private key for key agreement.
    "ns_crypto::agreement generate" [-name: Option<String>, -group: Option<String>, -outfile: Option<String>]
        => generate("key agreement", Kind::agrees, name.as_deref().unwrap_or("X25519"), group.as_deref(), outfile.as_deref());

    /// The public part of a key for key agreement.
    "ns_crypto::agreement pub" [-passphrase: Option<Obj>, -outfile: Option<String>, -pem: Obj]
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            if !key.kind.agrees() {
                return Err(no_agreement());
            }
            show_public(&key, PublicForm::Pem, None, outfile.as_deref())
        };

    /// The secret that a private key shares with the owner of a public one.
    "ns_crypto::agreement derive" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj, -peer: Obj]
        => {
            let key = Key::read_private(&pem, passphrase.as_ref())?;
            let peer = Key::read(&peer, passphrase.as_ref())?;
            let fits = match (key.kind, peer.kind) {
                (Kind::X25519, Kind::X25519) => true,
                (Kind::Ec(mine), Kind::Ec(other)) => mine.name == other.name,
                _ => false,
            };
            if key.kind.agrees() && !fits {
                return Err(tcl::error("keys are not compatible with each other"));
            }
            agree(&key, &peer.public).map(|secret| encoding.unwrap_or(Encoding::Hex).encode(&secret))
        };

    /// A new private key for the encapsulation of keys.
    "ns_crypto::kem generate" [-name: Option<String>, -group: Option<String>, -outfile: Option<String>]
        => generate("KEM", Kind::encapsulates, name.as_deref().unwrap_or("ml-kem-768"), group.as_deref(), outfile.as_deref());

    /// The public part of a key for the encapsulation of keys.
    "ns_crypto::kem pub" [-passphrase: Option<Obj>, -outfile: Option<String>, -pem: Obj]
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            if !key.kind.encapsulates() {
                return Err(no_kem());
            }
            show_public(&key, PublicForm::Pem, None, outfile.as_deref())
        };

    /// A new secret for the owner of a key: a dictionary of the secret and of what tells it to the owner.
    "ns_crypto::kem encapsulate" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj]
        => {
            let key = Key::read(&pem, passphrase.as_ref())?;
            let Kind::MlKem(set) = key.kind else { return Err(no_kem()) };
            let public = kem::EncapsulationKey::new(set.algorithm, &key.public).map_err(|_| no_kem())?;
            let (ciphertext, secret) = public.encapsulate().map_err(|_| tcl::error("could not encapsulate secret"))?;
            let encoding = encoding.unwrap_or(Encoding::Hex);
            Ok::<_, Exit>(Obj::dict([
                (Obj::from("ciphertext"), encoding.encode(ciphertext.as_ref())),
                (Obj::from("secret"), encoding.encode(secret.as_ref())),
            ]))
        };

    /// The secret that somebody encapsulated for this key.
    "ns_crypto::kem decapsulate" [-encoding: Option<Encoding>, -passphrase: Option<Obj>, -pem: Obj, -ciphertext: Obj]
        => {
            let key = Key::read_private(&pem, passphrase.as_ref())?;
            let Kind::MlKem(set) = key.kind else { return Err(no_kem()) };
            let private = kem::DecapsulationKey::new(set.algorithm, key.private()?).map_err(|_| no_kem())?;
            let ciphertext = input(&ciphertext, true);
            let secret = private.decapsulate(ciphertext.as_slice().into());
            let secret = secret.map_err(|_| tcl::error("could not decapsulate secret"))?;
            Ok::<_, Exit>(encoding.unwrap_or(Encoding::Hex).encode(secret.as_ref()))
        };
}

fn no_agreement() -> Exit {
    tcl::error("key type does not support key agreement")
}

fn no_kem() -> Exit {
    tcl::error("key type does not support key encapsulation")
}

/// Only SM2 signatures have an identifier.
fn refuse_id(given: bool) -> Result<(), Exit> {
    if given {
        Err(tcl::error(
            "the option \"-id\" is not supported for this key type",
        ))
    } else {
        Ok(())
    }
}

fn ec_key(key: Key) -> Result<Key, Exit> {
    match key.kind {
        Kind::Ec(_) => Ok(key),
        _ => Err(tcl::error("pem file contains no EC key")),
    }
}

/// `what` names the algorithms that may be asked for.
fn generate(
    what: &str,
    fits: fn(Kind) -> bool,
    name: &str,
    group: Option<&str>,
    outfile: Option<&str>,
) -> Result<Obj, Exit> {
    match Kind::named(name, group) {
        Some(Some(kind)) if fits(kind) => {
            let bits = match (kind, group) {
                (Kind::Rsa, Some(bits)) => bits.parse().unwrap_or(0),
                _ => 2048,
            };
            new_key(kind, bits, outfile)
        }
        Some(None) => Err(tcl::error(format!(
            "key type \"{name}\" cannot be used for key generation"
        ))),
        _ => Err(tcl::error(format!(
            "unknown or unsupported {what} algorithm \"{name}\", supported names: {}",
            Kind::names(fits)
        ))),
    }
}

fn new_key(kind: Kind, bits: usize, outfile: Option<&str>) -> Result<Obj, Exit> {
    let key = Key::generate(kind, bits);
    let key = key.ok_or_else(|| {
        tcl::error(format!(
            "could not generate key of type \"{}\"",
            kind.name()
        ))
    })?;
    give(key.private_pem()?.into_bytes(), true, outfile)
}

/// The text, or nothing when it goes to a file. Files with private keys are for their owner only.
fn give(content: Vec<u8>, private: bool, outfile: Option<&str>) -> Result<Obj, Exit> {
    let Some(path) = outfile else {
        return Ok(match String::from_utf8(content) {
            Ok(text) => Obj::from(text),
            Err(e) => Obj::from_owned_bytes(e.into_bytes()),
        });
    };
    let mode = if private { 0o600 } else { 0o644 };
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(path)?;
        if private {
            // A file that was there has permissions of its own.
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(&content)
    };
    match write() {
        Ok(()) => Ok(Obj::new()),
        Err(e) => Err(tcl::error(format!("could not write file '{path}': {e}"))),
    }
}

fn show_public(
    key: &Key,
    form: PublicForm,
    encoding: Option<Encoding>,
    outfile: Option<&str>,
) -> Result<Obj, Exit> {
    match form {
        PublicForm::Pem => give(key.public_pem().into_bytes(), false, outfile),
        PublicForm::Raw if outfile.is_some() => Err(tcl::error(
            "the option \"-outfile\" is not supported with format \"raw\"",
        )),
        PublicForm::Raw => Ok(encoding.unwrap_or(Encoding::Hex).encode(&key.public)),
    }
}

fn show_point(key: &Key, form: PointForm, outfile: Option<&str>) -> Result<Obj, Exit> {
    match (form, outfile) {
        (PointForm::Pem, _) => give(key.public_pem().into_bytes(), false, outfile),
        (PointForm::Der, None) => Ok(Obj::from_owned_bytes(key.spki())),
        (PointForm::Der, _) => give(key.spki(), false, outfile),
    }
}

fn agree(key: &Key, peer: &[u8]) -> Result<Vec<u8>, Exit> {
    let algorithm = match key.kind {
        Kind::X25519 => &agreement::X25519,
        Kind::Ec(curve) => curve.agreement.ok_or_else(no_agreement)?,
        _ => return Err(no_agreement()),
    };
    let failed = || tcl::error("could not derive shared secret");
    let private =
        agreement::PrivateKey::from_private_key(algorithm, key.private()?).map_err(|_| failed())?;
    let peer = agreement::UnparsedPublicKey::new(algorithm, peer);
    agreement::agree(&private, peer, failed(), |secret| Ok(secret.to_vec()))
}

fn from_coordinates(curve: &'static Curve, x: &[u8], y: &[u8]) -> Result<Key, Exit> {
    let length = curve.length;
    if x.len() != length || y.len() != length {
        let name = curve.name;
        return Err(tcl::error(format!(
            "invalid coordinate length for {name} (need {length} bytes each)"
        )));
    }
    let point = [&[4], x, y].concat();
    Key::from_public(Kind::Ec(curve), &point)
        .ok_or_else(|| tcl::error("could not import EC public key: point is not on curve"))
}

/// A public key from numbers in a dictionary. Numbers are bytes.
fn import(name: &str, source: Option<Source>, params: &Obj) -> Result<Key, Exit> {
    let pairs = params
        .pairs()
        .map_err(|_| tcl::error("the option \"-params\" requires a dictionary"))?;
    let get = |key: &str| {
        pairs
            .iter()
            .find(|(k, _)| k.with_text(|k| k == key))
            .map(|(_, v)| v)
    };
    let upper = name.to_ascii_uppercase();
    if source == Some(Source::Keypair) && matches!(upper.as_str(), "EC" | "RSA" | "OKP") {
        return Err(tcl::error(format!(
            "key import from keypair for algorithm \"{name}\" is not yet implemented"
        )));
    }
    match upper.as_str() {
        "EC" => {
            let (Some(group), Some(x), Some(y)) = (get("group"), get("x"), get("y")) else {
                return Err(tcl::error(
                    "EC public key import requires dict keys \"group\", \"x\", and \"y\"",
                ));
            };
            let curve = Curve::named(&group.text());
            let curve =
                curve.ok_or_else(|| tcl::error("could not import EC public key: invalid curve"))?;
            from_coordinates(curve, &input(x, true), &input(y, true))
        }
        "RSA" => {
            let (Some(n), Some(e)) = (get("n"), get("e")) else {
                return Err(tcl::error(
                    "RSA public key import requires dict keys \"n\" and \"e\"",
                ));
            };
            rsa(&input(n, true), &input(e, true))
        }
        "OKP" => {
            let (Some(crv), Some(x)) = (get("crv"), get("x")) else {
                return Err(tcl::error(
                    "OKP public key import requires dict keys \"crv\" and \"x\"",
                ));
            };
            okp(&crv.text(), &input(x, true))
        }
        _ => Err(tcl::error(format!(
            "key import for algorithm \"{name}\" is not yet implemented"
        ))),
    }
}

/// An RSA key from modulus and exponent.
pub fn rsa(n: &[u8], e: &[u8]) -> Result<Key, Exit> {
    use super::der::{SEQUENCE, element, integer};
    if n.is_empty() || e.is_empty() {
        return Err(tcl::error(
            "RSA public key import requires non-empty values for \"n\" and \"e\"",
        ));
    }
    let public = element(SEQUENCE, &[&integer(n), &integer(e)]);
    Ok(Key {
        kind: Kind::Rsa,
        private: None,
        public,
    })
}

/// A key of one of the curves that have no coordinates.
pub fn okp(crv: &str, x: &[u8]) -> Result<Key, Exit> {
    let kind = match crv.to_ascii_lowercase().as_str() {
        "ed25519" => Kind::Ed25519,
        "x25519" => Kind::X25519,
        _ => return Err(tcl::error(format!("unsupported OKP curve \"{crv}\""))),
    };
    Key::from_public(kind, x).ok_or_else(|| {
        tcl::error(format!(
            "invalid public key length for {crv} (need 32 bytes)"
        ))
    })
}

/// An EC key from its coordinates, which JSON Web Keys name by the curve's name in JOSE.
pub fn ec(crv: &str, x: &[u8], y: &[u8]) -> Result<Key, Exit> {
    let curve =
        Curve::named(crv).ok_or_else(|| tcl::error(format!("unsupported EC curve \"{crv}\"")))?;
    from_coordinates(curve, x, y)
}

fn info(key: &Key, encoding: Encoding) -> Obj {
    let kind = key.kind;
    let mut fields = vec![("type", Obj::from(kind.name()))];
    let rsa = key.rsa_numbers().filter(|_| matches!(kind, Kind::Rsa));
    let (bits, security) = match kind {
        Kind::Ed25519 => (256, 128),
        Kind::X25519 => (253, 128),
        Kind::Ec(curve) => (curve.bits, curve.security),
        Kind::Rsa => {
            let bits = rsa.map_or(0, |(n, _)| {
                n.len() * 8 - n.first().map_or(0, |b| b.leading_zeros() as usize)
            });
            // NIST SP 800-57, part 1.
            let security = match bits {
                0..2048 => 80,
                2048..3072 => 112,
                3072..7680 => 128,
                7680..15360 => 192,
                _ => 256,
            };
            (bits, security)
        }
        Kind::MlDsa(set) => (
            key.public.len() * 8,
            [0, 0, 128, 192, 0, 256][set.category as usize],
        ),
        Kind::MlKem(set) => (
            key.public.len() * 8,
            [0, 128, 0, 192, 0, 256][set.category as usize],
        ),
    };
    fields.push(("bits", Obj::from(bits)));
    fields.push(("securityBits", Obj::from(security)));
    fields.push(("provider", Obj::from("aws-lc")));
    fields.push(("description", Obj::from(format!("{} key", kind.name()))));
    fields.push(("signature", Obj::from(kind.signs())));
    if kind.signs() {
        fields.push((
            "requiresdigest",
            Obj::from(matches!(kind, Kind::Ec(_) | Kind::Rsa)),
        ));
    }
    fields.push(("agreement", Obj::from(kind.agrees())));
    fields.push(("kem", Obj::from(kind.encapsulates())));
    match kind {
        Kind::Ed25519 | Kind::X25519 => fields.push(("x", encoding.encode(&key.public))),
        Kind::Ec(curve) => {
            let (x, y) = key.public[1..].split_at(curve.length);
            fields.push(("curve", Obj::from(curve.name)));
            fields.push(("x", encoding.encode(x)));
            fields.push(("y", encoding.encode(y)));
        }
        Kind::Rsa => {
            if let Some((n, e)) = rsa {
                fields.push(("n", encoding.encode(n)));
                fields.push(("e", encoding.encode(e)));
            }
        }
        Kind::MlDsa(super::key::MlDsa { category, .. })
        | Kind::MlKem(super::key::MlKem { category, .. }) => {
            fields.push(("securityCategory", Obj::from(*category)));
        }
    }
    Obj::dict(
        fields
            .into_iter()
            .map(|(name, value)| (Obj::from(name), value)),
    )
}
