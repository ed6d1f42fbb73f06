//! Keys of all kinds: read from PEM, made, written.

use aws_lc_rs::encoding::{AsBigEndian, AsDer, Pkcs8V1Der};
use aws_lc_rs::kem;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, PqdsaKeyPair, PqdsaSigningAlgorithm,
};
use aws_lc_rs::{agreement, digest};
use tcl::{Exit, Obj};

use super::curve::Curve;
use super::der::{self, Reader, element};
use super::pem;

/// What a key is for.
#[derive(Clone, Copy)]
pub enum Kind {
    Ed25519,
    X25519,
    Ec(&'static Curve),
    Rsa,
    MlDsa(&'static MlDsa),
    MlKem(&'static MlKem),
}

/// A set of parameters of ML-DSA (FIPS 204).
pub struct MlDsa {
    pub name: &'static str,
    /// The last number of its object identifier.
    number: u8,
    pub category: i64,
    pub signing: &'static PqdsaSigningAlgorithm,
    pub verifying: &'static signature::PqdsaVerificationAlgorithm,
}

/// A set of parameters of ML-KEM (FIPS 203).
pub struct MlKem {
    pub name: &'static str,
    number: u8,
    pub category: i64,
    /// Where in a private key the public one begins, and how long it is.
    public: (usize, usize),
    pub algorithm: &'static kem::Algorithm,
}

static ML_DSA: &[MlDsa] = &[
    MlDsa {
        name: "ml-dsa-44",
        number: 0x11,
        category: 2,
        signing: &signature::ML_DSA_44_SIGNING,
        verifying: &signature::ML_DSA_44,
    },
    MlDsa {
        name: "ml-dsa-65",
        number: 0x12,
        category: 3,
        signing: &signature::ML_DSA_65_SIGNING,
        verifying: &signature::ML_DSA_65,
    },
    MlDsa {
        name: "ml-dsa-87",
        number: 0x13,
        category: 5,
        signing: &signature::ML_DSA_87_SIGNING,
        verifying: &signature::ML_DSA_87,
    },
];

static ML_KEM: &[MlKem] = &[
    MlKem {
        name: "ml-kem-512",
        number: 1,
        category: 1,
        public: (768, 800),
        algorithm: &kem::ML_KEM_512,
    },
    MlKem {
        name: "ml-kem-768",
        number: 2,
        category: 3,
        public: (1152, 1184),
        algorithm: &kem::ML_KEM_768,
    },
    MlKem {
        name: "ml-kem-1024",
        number: 3,
        category: 5,
        public: (1536, 1568),
        algorithm: &kem::ML_KEM_1024,
    },
];

const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const X25519: &[u8] = &[0x2b, 0x65, 0x6e];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const SIGNATURES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03];
const KEMS: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04];

/// A key.
pub struct Key {
    pub kind: Kind,
    /// Raw: the seed, the number, an `RSAPrivateKey`, a PKCS #8 document (ML-DSA) or the expanded key (ML-KEM).
    pub private: Option<Vec<u8>>,
    /// Raw: the bytes, the point without compression, an `RSAPublicKey`.
    pub public: Vec<u8>,
}

impl Kind {
    /// The name scripts see.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ed25519 => "ed25519",
            Kind::X25519 => "x25519",
            Kind::Ec(_) => "ec",
            Kind::Rsa => "rsa",
            Kind::MlDsa(set) => set.name,
            Kind::MlKem(set) => set.name,
        }
    }

    pub fn signs(self) -> bool {
        matches!(
            self,
            Kind::Ed25519 | Kind::Ec(_) | Kind::Rsa | Kind::MlDsa(_)
        )
    }

    pub fn agrees(self) -> bool {
        match self {
            Kind::X25519 => true,
            Kind::Ec(curve) => curve.agreement.is_some(),
            _ => false,
        }
    }

    pub fn encapsulates(self) -> bool {
        matches!(self, Kind::MlKem(_))
    }

    /// The kind by the name of its algorithm, in any case. `Some(None)`: the group is not known.
    pub fn named(name: &str, group: Option<&str>) -> Option<Option<Kind>> {
        let lower = name.to_ascii_lowercase();
        Some(match lower.as_str() {
            "ed25519" => Some(Kind::Ed25519),
            "x25519" => Some(Kind::X25519),
            "ec" => Curve::named(group.unwrap_or("prime256v1")).map(Kind::Ec),
            "rsa" => Some(Kind::Rsa),
            name => {
                let signature = ML_DSA.iter().find(|s| s.name == name).map(Kind::MlDsa);
                Some(signature.or(ML_KEM.iter().find(|s| s.name == name).map(Kind::MlKem))?)
            }
        })
    }

    /// Names for [`Kind::named`].
    pub fn names(fits: fn(Kind) -> bool) -> String {
        let names = ["EC", "RSA", "Ed25519", "X25519"].into_iter();
        let names = names
            .chain(ML_DSA.iter().map(|s| s.name))
            .chain(ML_KEM.iter().map(|s| s.name));
        let names: Vec<&str> = names
            .filter(|n| Kind::named(n, None).flatten().is_some_and(fits))
            .collect();
        names.join(", ")
    }
}

impl Key {
    /// The key of a PEM text or file; a private key where there is one.
    pub fn read(pem: &Obj, passphrase: Option<&Obj>) -> Result<Key, Exit> {
        let blocks = pem::read(pem)?;
        for block in &blocks {
            let key = match block.label.as_str() {
                "PRIVATE KEY" => Key::from_pkcs8(&block.bytes),
                "ENCRYPTED PRIVATE KEY" => {
                    let Some(passphrase) = passphrase else {
                        return Err(tcl::error("pem file is encrypted; provide -passphrase"));
                    };
                    pem::decrypt(&block.bytes, &passphrase.to_bytes())
                        .and_then(|der| Key::from_pkcs8(&der))
                }
                "EC PRIVATE KEY" => Key::from_sec1(&block.bytes, None),
                "RSA PRIVATE KEY" => Key::from_rsa(&block.bytes),
                _ => continue,
            };
            return key.ok_or_else(|| tcl::error("could not read private key from pem file"));
        }
        for block in &blocks {
            let key = match block.label.as_str() {
                "PUBLIC KEY" => Key::from_spki(&block.bytes),
                "RSA PUBLIC KEY" => Some(Key {
                    kind: Kind::Rsa,
                    private: None,
                    public: block.bytes.clone(),
                }),
                _ => continue,
            };
            return key.ok_or_else(|| tcl::error("could not read public key from pem file"));
        }
        Err(tcl::error("pem file contains no key"))
    }

    /// As [`Key::read`], but the key has to be a private one.
    pub fn read_private(pem: &Obj, passphrase: Option<&Obj>) -> Result<Key, Exit> {
        let key = Key::read(pem, passphrase)?;
        key.private()?;
        Ok(key)
    }

    pub fn private(&self) -> Result<&[u8], Exit> {
        self.private
            .as_deref()
            .ok_or_else(|| tcl::error("pem file contains no private key"))
    }

    /// A new key. `bits` counts for RSA only.
    pub fn generate(kind: Kind, bits: usize) -> Option<Key> {
        match kind {
            Kind::Ed25519 => Key::from_seed(
                Ed25519KeyPair::generate()
                    .ok()?
                    .seed()
                    .ok()?
                    .as_be_bytes()
                    .ok()?
                    .as_ref(),
            ),
            Kind::X25519 => {
                let mut bytes = [0; 32];
                aws_lc_rs::rand::fill(&mut bytes).ok()?;
                Key::from_x25519(&bytes)
            }
            Kind::Ec(curve) => {
                let pair = EcdsaKeyPair::generate(curve.signing).ok()?;
                let private = pair.private_key().as_be_bytes().ok()?.as_ref().to_vec();
                Some(Key {
                    kind,
                    private: Some(private),
                    public: pair.public_key().as_ref().to_vec(),
                })
            }
            Kind::Rsa => {
                let size = match bits {
                    2048 => KeySize::Rsa2048,
                    3072 => KeySize::Rsa3072,
                    4096 => KeySize::Rsa4096,
                    8192 => KeySize::Rsa8192,
                    _ => return None,
                };
                let pair = RsaKeyPair::generate(size).ok()?;
                let der: Pkcs8V1Der<'_> = pair.as_der().ok()?;
                Key::from_pkcs8(der.as_ref())
            }
            Kind::MlDsa(set) => {
                let pair = PqdsaKeyPair::generate(set.signing).ok()?;
                let private = pair.to_pkcs8v1().ok()?.as_ref().to_vec();
                Some(Key {
                    kind,
                    private: Some(private),
                    public: pair.public_key().as_ref().to_vec(),
                })
            }
            Kind::MlKem(set) => {
                let private = kem::DecapsulationKey::generate(set.algorithm).ok()?;
                Key::from_expanded(set, private.key_bytes().ok()?.as_ref())
            }
        }
    }

    fn from_seed(seed: &[u8]) -> Option<Key> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        Some(Key {
            kind: Kind::Ed25519,
            private: Some(seed.to_vec()),
            public: pair.public_key().as_ref().to_vec(),
        })
    }

    fn from_x25519(bytes: &[u8]) -> Option<Key> {
        let private = agreement::PrivateKey::from_private_key(&agreement::X25519, bytes).ok()?;
        let public = private.compute_public_key().ok()?.as_ref().to_vec();
        Some(Key {
            kind: Kind::X25519,
            private: Some(bytes.to_vec()),
            public,
        })
    }

    fn from_expanded(set: &'static MlKem, private: &[u8]) -> Option<Key> {
        let (start, length) = set.public;
        let public = private.get(start..start + length)?.to_vec();
        Some(Key {
            kind: Kind::MlKem(set),
            private: Some(private.to_vec()),
            public,
        })
    }

    /// An `ECPrivateKey` (RFC 5915); the curve may stand outside of it.
    fn from_sec1(der: &[u8], curve: Option<&'static Curve>) -> Option<Key> {
        let mut fields = Reader(der).sequence()?;
        fields.number().filter(|version| *version == 1)?;
        let number = fields.expect(der::OCTETS)?;
        let mut curve = curve;
        while let Some((tag, content)) = fields.next() {
            if tag == 0xa0 && curve.is_none() {
                curve = Curve::by_oid(Reader(content).expect(der::OID)?);
            }
        }
        let curve = curve?;
        if number.len() > curve.length {
            return None;
        }
        let mut private = vec![0; curve.length - number.len()];
        private.extend_from_slice(number);
        let pair =
            EcdsaKeyPair::from_private_key_der(curve.signing, &sec1(curve, &private, None)).ok()?;
        Some(Key {
            kind: Kind::Ec(curve),
            private: Some(private),
            public: pair.public_key().as_ref().to_vec(),
        })
    }

    /// An `RSAPrivateKey` (RFC 8017).
    fn from_rsa(der: &[u8]) -> Option<Key> {
        let mut fields = Reader(der).sequence()?;
        fields.number()?;
        let (n, e) = (fields.expect(der::INTEGER)?, fields.expect(der::INTEGER)?);
        let public = element(
            der::SEQUENCE,
            &[&element(der::INTEGER, &[n]), &element(der::INTEGER, &[e])],
        );
        Some(Key {
            kind: Kind::Rsa,
            private: Some(der.to_vec()),
            public,
        })
    }

    /// A `PrivateKeyInfo` (RFC 5958).
    pub fn from_pkcs8(der: &[u8]) -> Option<Key> {
        let mut info = Reader(der).sequence()?;
        info.number()?;
        let mut algorithm = info.sequence()?;
        let private = info.expect(der::OCTETS)?;
        match algorithm.expect(der::OID)? {
            ED25519 => Key::from_seed(Reader(private).expect(der::OCTETS)?),
            X25519 => Key::from_x25519(Reader(private).expect(der::OCTETS)?),
            EC => Key::from_sec1(private, algorithm.expect(der::OID).and_then(Curve::by_oid)),
            RSA => Key::from_rsa(private),
            oid => {
                if let Some([number]) = oid.strip_prefix(SIGNATURES) {
                    let set = ML_DSA.iter().find(|s| s.number == *number)?;
                    let pair = PqdsaKeyPair::from_pkcs8(set.signing, der).ok()?;
                    let public = pair.public_key().as_ref().to_vec();
                    return Some(Key {
                        kind: Kind::MlDsa(set),
                        private: Some(der.to_vec()),
                        public,
                    });
                }
                let [number] = oid.strip_prefix(KEMS)? else {
                    return None;
                };
                let set = ML_KEM.iter().find(|s| s.number == *number)?;
                // Of the three forms, a seed alone cannot be expanded here.
                let mut form = Reader(private);
                let expanded = match form.next()? {
                    (der::OCTETS, expanded) => expanded,
                    (der::SEQUENCE, both) => {
                        let mut both = Reader(both);
                        both.expect(der::OCTETS)?;
                        both.expect(der::OCTETS)?
                    }
                    _ => return None,
                };
                Key::from_expanded(set, expanded)
            }
        }
    }

    /// A `SubjectPublicKeyInfo` (RFC 5280).
    pub fn from_spki(der: &[u8]) -> Option<Key> {
        let mut info = Reader(der).sequence()?;
        let mut algorithm = info.sequence()?;
        let oid = algorithm.expect(der::OID)?;
        let [0, public @ ..] = info.expect(der::BITS)? else {
            return None;
        };
        let kind = match oid {
            ED25519 => Kind::Ed25519,
            X25519 => Kind::X25519,
            EC => Kind::Ec(algorithm.expect(der::OID).and_then(Curve::by_oid)?),
            RSA => Kind::Rsa,
            oid => match (oid.strip_prefix(SIGNATURES), oid.strip_prefix(KEMS)) {
                (Some([number]), _) => Kind::MlDsa(ML_DSA.iter().find(|s| s.number == *number)?),
                (_, Some([number])) => Kind::MlKem(ML_KEM.iter().find(|s| s.number == *number)?),
                _ => return None,
            },
        };
        Key::from_public(kind, public)
    }

    /// A public key from its raw bytes; None if they cannot be one.
    pub fn from_public(kind: Kind, public: &[u8]) -> Option<Key> {
        let fits = match kind {
            Kind::Ed25519 | Kind::X25519 => public.len() == 32,
            Kind::Ec(curve) => curve.has(public),
            Kind::Rsa => Reader(public).sequence().is_some(),
            Kind::MlDsa(_) => true,
            Kind::MlKem(set) => public.len() == set.public.1,
        };
        fits.then(|| Key {
            kind,
            private: None,
            public: public.to_vec(),
        })
    }

    /// A `SubjectPublicKeyInfo`.
    pub fn spki(&self) -> Vec<u8> {
        element(
            der::SEQUENCE,
            &[
                &self.algorithm(),
                &element(der::BITS, &[&[0], &self.public]),
            ],
        )
    }

    pub fn public_pem(&self) -> String {
        pem::write("PUBLIC KEY", &self.spki())
    }

    /// A `PrivateKeyInfo` in PEM.
    pub fn private_pem(&self) -> Result<String, Exit> {
        let private = self.private()?;
        let inner = match self.kind {
            Kind::MlDsa(_) => return Ok(pem::write("PRIVATE KEY", private)),
            Kind::Ec(curve) => sec1(curve, private, Some(&self.public)),
            Kind::Rsa => private.to_vec(),
            Kind::Ed25519 | Kind::X25519 | Kind::MlKem(_) => element(der::OCTETS, &[private]),
        };
        let version = element(der::INTEGER, &[&[0]]);
        let info = element(
            der::SEQUENCE,
            &[
                &version,
                &self.algorithm(),
                &element(der::OCTETS, &[&inner]),
            ],
        );
        Ok(pem::write("PRIVATE KEY", &info))
    }

    fn algorithm(&self) -> Vec<u8> {
        let oid = |parts: &[&[u8]]| element(der::OID, parts);
        match self.kind {
            Kind::Ed25519 => element(der::SEQUENCE, &[&oid(&[ED25519])]),
            Kind::X25519 => element(der::SEQUENCE, &[&oid(&[X25519])]),
            Kind::Ec(curve) => element(der::SEQUENCE, &[&oid(&[EC]), &oid(&[curve.oid])]),
            Kind::Rsa => element(der::SEQUENCE, &[&oid(&[RSA]), &element(der::NULL, &[])]),
            Kind::MlDsa(set) => element(der::SEQUENCE, &[&oid(&[SIGNATURES, &[set.number]])]),
            Kind::MlKem(set) => element(der::SEQUENCE, &[&oid(&[KEMS, &[set.number]])]),
        }
    }

    /// Modulus and exponent of an RSA key.
    pub fn rsa_numbers(&self) -> Option<(&[u8], &[u8])> {
        let mut fields = Reader(&self.public).sequence()?;
        Some((
            der::unsigned(fields.expect(der::INTEGER)?),
            der::unsigned(fields.expect(der::INTEGER)?),
        ))
    }

    /// The digest of a message, for signatures.
    pub fn digest_name(&self, wanted: Option<&str>) -> String {
        wanted.unwrap_or("sha256").to_ascii_lowercase()
    }
}

/// The digests that RSA signatures are made with.
pub fn aws_digest(name: &str) -> Option<&'static digest::Algorithm> {
    Some(match name {
        "sha256" | "sha2-256" | "sha-256" => &digest::SHA256,
        "sha384" | "sha2-384" | "sha-384" => &digest::SHA384,
        "sha512" | "sha2-512" | "sha-512" => &digest::SHA512,
        _ => return None,
    })
}

/// An `ECPrivateKey`; without the public key it names its curve.
fn sec1(curve: &Curve, private: &[u8], public: Option<&[u8]>) -> Vec<u8> {
    let version = element(der::INTEGER, &[&[1]]);
    let number = element(der::OCTETS, &[private]);
    let last = match public {
        Some(public) => element(0xa1, &[&element(der::BITS, &[&[0], public])]),
        None => element(0xa0, &[&element(der::OID, &[curve.oid])]),
    };
    element(der::SEQUENCE, &[&version, &number, &last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_pem() {
        for name in ["Ed25519", "X25519", "EC", "ML-DSA-44", "ML-KEM-768"] {
            let kind = Kind::named(name, None).flatten().expect("a known kind");
            let key = Key::generate(kind, 2048).expect("a key");
            let pem = key.private_pem().expect("a private key");
            let block = pem
                .lines()
                .filter(|l| !l.starts_with('-'))
                .collect::<String>();
            let der = crate::encode::decode_bytes(&block, false, true).expect("base64");
            let back = Key::from_pkcs8(&der).unwrap_or_else(|| panic!("{name} can be read"));
            assert_eq!(
                (back.public, back.private),
                (key.public.clone(), key.private.clone()),
                "{name}"
            );
            let public =
                Key::from_spki(&key.spki()).unwrap_or_else(|| panic!("{name} has a public key"));
            assert_eq!(public.public, key.public);
        }
    }
}
