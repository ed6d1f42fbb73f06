//! One-time passwords (RFC 4226, RFC 6238).

use synopsis::{Call, commands};
use tcl::{Exit, Obj};

use crate::digest::hmac;
use crate::encode::input;
use crate::kinds::context;

commands! { TABLE(call):

    /// A one-time password for a counter of eight bytes.
    #[style(nsf)]
    "ns_hotp" [-digest: Option<String>, -digits: Option<i64>, -key: Option<Obj>] (counter: Obj)
        => password(call, digest, digits.unwrap_or(6), 0, key.as_ref(), &input(&counter, true));

    /// A one-time password for a time.
    #[style(nsf)]
    "ns_totp" [
        -digest: Option<String>, -digits: Option<i64>, -interval: Option<i64>, -user_id: Option<i64>,
        -key: Option<Obj>, -time: Option<Obj>
    ]
        => by_time(call, digest, digits.unwrap_or(8), interval, user_id, key.as_ref(), time.as_ref());
}

fn by_time(
    call: &Call<'_>,
    digest: Option<String>,
    digits: i64,
    interval: Option<i64>,
    user: Option<i64>,
    key: Option<&Obj>,
    time: Option<&Obj>,
) -> Result<String, Exit> {
    let seconds = match time {
        Some(time) => time.int()?,
        None => shared::time::Time::now().sec,
    };
    let interval = interval.unwrap_or(30);
    if interval < 1 {
        return Err(tcl::error("the interval must be at least one second"));
    }
    let counter = seconds.div_euclid(interval).to_be_bytes();
    password(call, digest, digits, user.unwrap_or(0), key, &counter)
}

fn password(
    call: &Call<'_>,
    digest: Option<String>,
    digits: i64,
    user: i64,
    key: Option<&Obj>,
    counter: &[u8],
) -> Result<String, Exit> {
    let key = match key {
        Some(key) => input(key, false),
        None => users_key(call, user)?,
    };
    let digits = u32::try_from(digits)
        .ok()
        .filter(|d| (1..=10).contains(d))
        .ok_or_else(|| tcl::error("a password has 1 to 10 digits"))?;
    let code = hmac(digest.as_deref().unwrap_or("sha256"), &key, counter)?;
    // Dynamic truncation, RFC 4226 section 5.3; all digests are longer than 15 bytes.
    let offset =
        usize::from(code.last().copied().unwrap_or(0) & 15).min(code.len().saturating_sub(4));
    let number = code[offset..]
        .iter()
        .take(4)
        .fold(0u64, |n, b| n << 8 | u64::from(*b))
        & 0x7fff_ffff;
    Ok(format!(
        "{:0width$}",
        number % 10u64.pow(digits),
        width = digits as usize
    ))
}

/// Without a key: one that belongs to the server and the user, made from the secret of the configuration.
fn users_key(call: &Call<'_>, user: i64) -> Result<Vec<u8>, Exit> {
    let context = context(call);
    let config = context.process.config.read();
    let secret = context
        .server
        .as_ref()
        .and_then(|s| config.value(&format!("ns/server/{}", s.name), "serversecret"))
        .or_else(|| config.value("ns/parameters", "clustersecret"))
        .ok_or_else(|| tcl::error("no key given, and no serversecret configured"))?;
    hmac(
        "sha256",
        secret.as_bytes(),
        format!("otp:{user}").as_bytes(),
    )
}
