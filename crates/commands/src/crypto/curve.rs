//! The elliptic curves that keys may lie on.

use aws_lc_rs::{agreement, digest, signature};

/// A curve. Names are OpenSSL's.
pub struct Curve {
    pub name: &'static str,
    /// Other names, of SEC, NIST and JOSE.
    aliases: &'static [&'static str],
    /// Content of its object identifier.
    pub oid: &'static [u8],
    /// Bytes of a coordinate and of a private key.
    pub length: usize,
    pub bits: usize,
    pub security: usize,
    pub signing: &'static signature::EcdsaSigningAlgorithm,
    /// Signatures as two numbers in a row, as in JOSE, not as ASN.1.
    pub signing_fixed: &'static signature::EcdsaSigningAlgorithm,
    pub verifying: &'static signature::EcdsaVerificationAlgorithm,
    pub verifying_fixed: &'static signature::EcdsaVerificationAlgorithm,
    /// The digest of these four.
    pub digest: &'static digest::Algorithm,
    pub agreement: Option<&'static agreement::Algorithm>,
}

static CURVES: &[Curve] = &[
    Curve {
        name: "prime256v1",
        aliases: &["secp256r1", "p-256"],
        oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        length: 32,
        bits: 256,
        security: 128,
        signing: &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
        signing_fixed: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        verifying: &signature::ECDSA_P256_SHA256_ASN1,
        verifying_fixed: &signature::ECDSA_P256_SHA256_FIXED,
        digest: &digest::SHA256,
        agreement: Some(&agreement::ECDH_P256),
    },
    Curve {
        name: "secp384r1",
        aliases: &["p-384"],
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x22],
        length: 48,
        bits: 384,
        security: 192,
        signing: &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
        signing_fixed: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        verifying: &signature::ECDSA_P384_SHA384_ASN1,
        verifying_fixed: &signature::ECDSA_P384_SHA384_FIXED,
        digest: &digest::SHA384,
        agreement: Some(&agreement::ECDH_P384),
    },
    Curve {
        name: "secp521r1",
        aliases: &["p-521"],
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x23],
        length: 66,
        bits: 521,
        security: 256,
        signing: &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
        signing_fixed: &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
        verifying: &signature::ECDSA_P521_SHA512_ASN1,
        verifying_fixed: &signature::ECDSA_P521_SHA512_FIXED,
        digest: &digest::SHA512,
        agreement: Some(&agreement::ECDH_P521),
    },
    Curve {
        name: "secp256k1",
        aliases: &[],
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x0a],
        length: 32,
        bits: 256,
        security: 128,
        signing: &signature::ECDSA_P256K1_SHA256_ASN1_SIGNING,
        signing_fixed: &signature::ECDSA_P256K1_SHA256_FIXED_SIGNING,
        verifying: &signature::ECDSA_P256K1_SHA256_ASN1,
        verifying_fixed: &signature::ECDSA_P256K1_SHA256_FIXED,
        digest: &digest::SHA256,
        agreement: None,
    },
];

impl Curve {
    pub fn named(name: &str) -> Option<&'static Curve> {
        let lower = name.to_ascii_lowercase();
        CURVES
            .iter()
            .find(|c| c.name == lower || c.aliases.contains(&&*lower))
    }

    pub fn by_oid(oid: &[u8]) -> Option<&'static Curve> {
        CURVES.iter().find(|c| c.oid == oid)
    }

    /// Whether bytes are a point of the curve, in the form without compression.
    pub fn has(&self, point: &[u8]) -> bool {
        point.len() == 2 * self.length + 1
            && point[0] == 4
            && signature::UnparsedPublicKey::new(self.verifying, point)
                .parse()
                .is_ok()
    }

    /// Any digest as one that the algorithms of this curve take. ECDSA uses a digest as a number: the leading bits, as
    /// many as the curve has, so that zeros in front of a shorter one and what is behind these bits make no difference.
    pub fn fit(&self, hash: &[u8]) -> Option<digest::Digest> {
        let length = self.digest.output_len();
        let mut fitted = vec![0; length.saturating_sub(hash.len())];
        fitted.extend_from_slice(&hash[..hash.len().min(length)]);
        digest::Digest::import_less_safe(&fitted, self.digest).ok()
    }
}
