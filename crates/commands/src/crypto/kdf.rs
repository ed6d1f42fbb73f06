//! Keys from secrets and passwords: PBKDF2, scrypt, Argon2.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;
use synopsis::{Int, commands};
use tcl::{Exit, Obj};

use crate::digest::Hmac;
use crate::encode::{Encoding, input};

commands! { TABLE(call):

    /// A key derived from a password (RFC 8018).
    "ns_crypto::pbkdf2_hmac" [
        -binary: bool, -digest: Option<String>, -dklen: Option<Int<1>>, -iterations: Option<Int<1>>, -salt: Obj,
        -secret: Obj, -encoding: Option<Encoding>,
    ]
        => {
            let digest = digest.as_deref().unwrap_or("sha256");
            let iterations = iterations.map_or(4096, Int::get);
            let length = dklen.map(Int::as_usize);
            pbkdf2(digest, &input(&secret, binary), &input(&salt, binary), iterations, length).map(|key| encoded(encoding, &key))
        };

    /// A key derived from a password, at the cost of memory (RFC 7914).
    "ns_crypto::scrypt" [
        -binary: bool, -salt: Obj, -secret: Obj, -n: Option<Int<1>>, -p: Option<Int<1>>, -r: Option<Int<1>>,
        -encoding: Option<Encoding>,
    ]
        => {
            let (n, r, p) = (n.map_or(1024, Int::get), r.map_or(8, Int::get), p.map_or(16, Int::get));
            scrypt(&input(&secret, binary), &input(&salt, binary), n, r, p).map(|key| encoded(encoding, &key))
        };

    /// A key derived from a password, at the cost of memory (RFC 9106). Lanes are computed one after the other.
    "ns_crypto::argon2" [
        -ad: Option<Obj>, -binary: bool, -encoding: Option<Encoding>, -iter: Option<Int<1>>, -lanes: Option<Int<1>>,
        -memcost: Option<Int<1>>, -outlen: Option<Int<1>>, -password: Option<Obj>, -salt: Obj, -secret: Option<Obj>,
        -threads: Option<i64>, -variant: Option<String>,
    ]
        => {
            let bytes = |value: Option<Obj>| value.map_or_else(Vec::new, |v| input(&v, binary));
            let costs = Costs {
                iterations: iter.map_or(3, Int::get),
                lanes: lanes.map_or(1, Int::get),
                memory: memcost.map_or(1024, Int::get),
                length: outlen.map_or(64, Int::get),
            };
            let (password, secret, ad) = (bytes(password), bytes(secret), bytes(ad));
            argon2(variant.as_deref().unwrap_or("Argon2id"), &password, &input(&salt, binary), &secret, &ad, &costs)
                .map(|key| encoded(encoding, &key))
        };
}

/// The longest derived key and the most memory, in bytes: a wrong number shall not end the process.
const LONGEST: usize = 1 << 24;
const MEMORY: u64 = 1 << 30;

fn encoded(encoding: Option<Encoding>, key: &[u8]) -> Obj {
    encoding.unwrap_or(Encoding::Hex).encode(key)
}

fn failed(why: impl std::fmt::Display) -> Exit {
    tcl::error(format!("could not derive key: {why}"))
}

fn pbkdf2(
    digest: &str,
    secret: &[u8],
    salt: &[u8],
    rounds: i64,
    length: Option<usize>,
) -> Result<Vec<u8>, Exit> {
    let prf = Hmac::new(digest, secret)?;
    let length = length.unwrap_or_else(|| prf.result().len());
    if length > LONGEST {
        return Err(failed(format!("at most {LONGEST} bytes")));
    }
    let rounds = u32::try_from(rounds)
        .ok()
        .and_then(NonZeroU32::new)
        .ok_or_else(|| failed("too many iterations"))?;
    let mut key = vec![0; length];
    let algorithm = match digest.to_ascii_lowercase().as_str() {
        "sha1" => Some(pbkdf2::PBKDF2_HMAC_SHA1),
        "sha256" => Some(pbkdf2::PBKDF2_HMAC_SHA256),
        "sha384" => Some(pbkdf2::PBKDF2_HMAC_SHA384),
        "sha512" => Some(pbkdf2::PBKDF2_HMAC_SHA512),
        _ => None,
    };
    if let Some(algorithm) = algorithm {
        pbkdf2::derive(algorithm, rounds, salt, secret, &mut key);
        return Ok(key);
    }
    let size = prf.result().len();
    for (number, part) in (1u32..).zip(key.chunks_mut(size)) {
        let mut hmac = prf.clone();
        hmac.update(salt);
        hmac.update(&number.to_be_bytes());
        let mut block = hmac.result();
        let mut sum = block.clone();
        for _ in 1..rounds.get() {
            let mut hmac = prf.clone();
            hmac.update(&block);
            block = hmac.result();
            sum.iter_mut().zip(&block).for_each(|(s, b)| *s ^= b);
        }
        part.copy_from_slice(&sum[..part.len()]);
    }
    Ok(key)
}

fn scrypt(secret: &[u8], salt: &[u8], n: i64, r: i64, p: i64) -> Result<Vec<u8>, Exit> {
    let small = |value: i64| u32::try_from(value).map_err(|_| failed("parameters too large"));
    let (r, p) = (small(r)?, small(p)?);
    let n = u64::try_from(n)
        .ok()
        .filter(|n| n.is_power_of_two() && *n > 1);
    let n = n.ok_or_else(|| failed("-n must be a power of 2 above 1"))?;
    let memory = n
        .checked_add(u64::from(p))
        .and_then(|blocks| blocks.checked_mul(128 * u64::from(r)));
    if memory.is_none_or(|m| m > MEMORY) {
        return Err(failed(format!(
            "more than {} megabytes needed",
            MEMORY >> 20
        )));
    }
    let params = scrypt::Params::new(n.trailing_zeros() as u8, r, p).map_err(failed)?;
    let mut key = vec![0; 64];
    scrypt::scrypt(secret, salt, &params, &mut key).map_err(failed)?;
    Ok(key)
}

struct Costs {
    iterations: i64,
    lanes: i64,
    /// In KB.
    memory: i64,
    /// Of the key, in bytes.
    length: i64,
}

fn argon2(
    variant: &str,
    password: &[u8],
    salt: &[u8],
    secret: &[u8],
    ad: &[u8],
    costs: &Costs,
) -> Result<Vec<u8>, Exit> {
    let algorithm = match variant.to_ascii_lowercase().as_str() {
        "argon2id" => argon2::Algorithm::Argon2id,
        "argon2i" => argon2::Algorithm::Argon2i,
        "argon2d" => argon2::Algorithm::Argon2d,
        _ => {
            return Err(tcl::error(format!(
                "unknown argon2 variant \"{variant}\", valid: Argon2d Argon2i Argon2id"
            )));
        }
    };
    let small = |value: i64| u32::try_from(value).map_err(|_| failed("parameters too large"));
    let length = usize::try_from(costs.length).ok().filter(|l| *l <= LONGEST);
    let length = length.ok_or_else(|| failed(format!("at most {LONGEST} bytes")))?;
    let memory = small(costs.memory)?;
    if u64::from(memory) * 1024 > MEMORY {
        return Err(failed(format!(
            "more than {} megabytes needed",
            MEMORY >> 20
        )));
    }
    let mut params = argon2::ParamsBuilder::new();
    params
        .m_cost(memory)
        .t_cost(small(costs.iterations)?)
        .p_cost(small(costs.lanes)?)
        .output_len(length);
    if !ad.is_empty() {
        params.data(argon2::AssociatedData::new(ad).map_err(failed)?);
    }
    let params = params.build().map_err(failed)?;
    let version = argon2::Version::V0x13;
    let argon2 = if secret.is_empty() {
        argon2::Argon2::new(algorithm, version, params)
    } else {
        argon2::Argon2::new_with_secret(secret, algorithm, version, params).map_err(failed)?
    };
    let mut key = vec![0; length];
    argon2
        .hash_password_into(password, salt, &mut key)
        .map_err(failed)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::hex;

    #[test]
    fn argon2_of_the_manual() {
        let costs = Costs {
            iterations: 3,
            lanes: 1,
            memory: 1024,
            length: 16,
        };
        let key = argon2("argon2id", b"42", b"saltsalt", b"", b"", &costs).expect("a key");
        assert_eq!(hex(&key, false), "d508696098fa42e70058a3141d1c7464");
    }

    #[test]
    fn both_pbkdf2_agree() {
        for digest in ["sha1", "sha512"] {
            let library = pbkdf2(digest, b"password", b"salt", 3, Some(100)).ok();
            // In another spelling the library does not know it.
            let alias = if digest == "sha1" { "sha-1" } else { "sha-512" };
            assert_eq!(
                library,
                pbkdf2(alias, b"password", b"salt", 3, Some(100)).ok()
            );
        }
    }
}
