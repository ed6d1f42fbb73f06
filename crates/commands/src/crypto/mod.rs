//! ns_crypto: encryption, signatures, derived keys. Digests are in `digest.rs`.

pub mod aead;
mod curve;
mod der;
pub mod kdf;
pub mod key;
pub mod keys;
mod pem;
pub mod sign;
