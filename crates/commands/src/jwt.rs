//! ns_jwt: JSON Web Tokens in the compact form (RFC 7515, RFC 7519).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use synopsis::{Call, Rest, commands};
use tcl::{Exit, Obj, Outcome};

use crate::crypto::key::{Key, Kind};
use crate::crypto::keys;
use crate::crypto::sign::{self, Form};
use crate::digest::hmac;
use crate::encode::{base64url_text, decode_bytes};
use crate::json::parse::{self, Limits, Value};
use crate::json::{self, null, write};

commands! { TABLE(call):

    /// Makes, reads and verifies JSON Web Tokens.
    #[usage("encode|decode|verify ?/arg .../?")]
    "ns_jwt" (arg: Option<Rest>)
        => match arg {
            None => Ok(Obj::from("::ns_jwt")),
            Some(words) => dispatch(call, &words[0].text()),
        };
}

commands! { METHODS(call):

    /// A new token.
    #[style(nsf)]
    #[named("::ns_jwt encode")]
    "ns_jwt encode" [
        -alg: String, -key: Option<Obj>, -jwk: Option<Obj>, -secret: Option<Obj>, -kid: Option<String>,
        -typ: Option<String>, -cty: Option<String>, -extraheader: Option<Obj>, -iss: Option<String>,
        -sub: Option<String>, -aud: Option<Obj>, -exp: Option<Obj>, -nbf: Option<Obj>, -iat: Option<Obj>,
        -jti: Option<String>,
    ] (extrapayload: Option<Obj>)
        => {
            let mut header = vec![("alg".to_owned(), Value::Text(alg.clone()))];
            put_text(&mut header, "typ", Some(typ.unwrap_or_else(|| "JWT".to_owned())).filter(|t| !t.is_empty()));
            put_text(&mut header, "kid", kid.filter(|t| !t.is_empty()));
            put_text(&mut header, "cty", cty.filter(|t| !t.is_empty()));
            put_triples(&mut header, extraheader)?;
            let mut payload = Vec::new();
            put_text(&mut payload, "iss", iss);
            put_text(&mut payload, "sub", sub);
            if let Some(aud) = aud {
                payload.push(("aud".to_owned(), audience(&aud)?));
            }
            for (name, time) in [("exp", exp), ("nbf", nbf), ("iat", iat)] {
                if let Some(time) = time {
                    payload.push((name.to_owned(), Value::Number(json::number(&time)?)));
                }
            }
            put_text(&mut payload, "jti", jti);
            put_triples(&mut payload, extrapayload)?;
            let part = |members| base64url_text(write::compact(&Value::Object(members)).as_bytes());
            let signed = format!("{}.{}", part(header), part(payload));
            let signature = make_signature(&alg, key.as_ref(), jwk.is_some(), secret, signed.as_bytes())?;
            Ok::<_, Exit>(format!("{signed}.{}", base64url_text(&signature)))
        };

    /// The parts of a token, whoever made it.
    #[style(proc)]
    #[named("decode")]
    "ns_jwt decode" (token: String)
        => {
            let token = Token::new(&token)?;
            let null = null::null(call.interp);
            Ok::<_, Exit>(dict([
                ("header", json::to_tcl(&token.header, &null)),
                ("payload", json::to_tcl(&token.payload, &null)),
                ("signature", Obj::bytes(&token.signature)),
            ]))
        };

    /// The parts of a token, if its signature is that of the key.
    #[style(nsf)]
    #[named("::ns_jwt verify")]
    "ns_jwt verify" [
        -alg: Option<String>, -key: Option<Obj>, -jwk: Option<Obj>, -jwks: Option<Obj>, -secret: Option<Obj>,
        -kid: Option<String>, -requirekid: bool, -verifyclaims: bool, -aud: Option<String>, -iss: Option<String>,
        -sub: Option<String>, -clockskew as "/value/": Option<i64>, -now as "/value/": Option<i64>,
    ] (token: String)
        => {
            let token = Token::new(&token)?;
            let found = text_of(&token.header, "alg").unwrap_or_default();
            if found == "none" || found.is_empty() {
                return Err(tcl::error("unsigned JWTs (alg=none) are not accepted by verify"));
            }
            if let Some(alg) = alg.filter(|alg| *alg != found) {
                return Err(tcl::error(format!("JWT algorithm mismatch: expected \"{alg}\", got \"{found}\"")));
            }
            if get(&token.header, "crit").is_some() {
                // RFC 7515, section 4.1.11: who does not know an extension that is critical has to refuse.
                return Err(tcl::error("JWT header names critical extensions, which are not supported"));
            }
            let known = text_of(&token.header, "kid").unwrap_or_default();
            if requirekid && known.is_empty() {
                return Err(tcl::error("JWT header does not contain required kid"));
            }
            if let Some(kid) = kid.filter(|kid| !kid.is_empty() && *kid != known) {
                return Err(tcl::error(format!("JWT kid mismatch: expected \"{kid}\", got \"{known}\"")));
            }
            let valid = if let Some(digest) = hmac_digest(&found) {
                let expected = hmac(digest, &shared(secret)?, token.signed.as_bytes())?;
                verify_slices_are_equal(&expected, &token.signature).is_ok()
            } else {
                let key = verification_key(&found, &known, key.as_ref(), jwk.as_ref(), jwks.as_ref())?;
                let digest = suits(&found, &key)?;
                sign::verify(&key, digest, token.signed.as_bytes(), &token.signature, Form::Fixed)?
            };
            if !valid {
                return Err(tcl::error("JWT signature verification failed"));
            }
            if verifyclaims {
                let now = now.unwrap_or_else(|| shared::time::Time::now().sec);
                check_times(&token.payload, now, clockskew.unwrap_or(0))?;
                check_names(&token.payload, iss.as_deref(), sub.as_deref(), aud.as_deref())?;
            }
            let null = null::null(call.interp);
            Ok::<_, Exit>(dict([
                ("valid", Obj::from(true)),
                ("header", json::to_tcl(&token.header, &null)),
                ("payload", json::to_tcl(&token.payload, &null)),
                ("kid", Obj::from(known)),
                ("alg", Obj::from(found)),
            ]))
        };
}

fn dispatch(call: &Call<'_>, method: &str) -> Outcome {
    match METHODS
        .iter()
        .find(|row| row.words().nth(1) == Some(method))
    {
        Some(row) => call.hand_over(row, 2, None),
        None => Err(tcl::error(format!(
            "::ns_jwt: unable to dispatch method '{method}'"
        ))),
    }
}

fn dict<const N: usize>(fields: [(&str, Obj); N]) -> Obj {
    Obj::dict(
        fields
            .into_iter()
            .map(|(name, value)| (Obj::from(name), value)),
    )
}

type Members = Vec<(String, Value)>;

fn put_text(members: &mut Members, name: &str, text: Option<String>) {
    members.extend(text.map(|text| (name.to_owned(), Value::Text(text))));
}

fn put_triples(members: &mut Members, triples: Option<Obj>) -> Result<(), Exit> {
    if let Some(triples) = triples
        && let Value::Object(more) = json::of_triple("object", &triples)?
    {
        members.extend(more);
    }
    Ok(())
}

/// One audience as a string, several as an array.
fn audience(list: &Obj) -> Result<Value, Exit> {
    let mut texts: Vec<Value> = list
        .elements()?
        .iter()
        .map(|a| Value::Text(a.text()))
        .collect();
    Ok(if texts.len() == 1 {
        texts.remove(0)
    } else {
        Value::Array(texts)
    })
}

fn hmac_digest(alg: &str) -> Option<&'static str> {
    match alg {
        "HS256" => Some("sha256"),
        "HS384" => Some("sha384"),
        "HS512" => Some("sha512"),
        _ => None,
    }
}

fn shared(secret: Option<Obj>) -> Result<Vec<u8>, Exit> {
    match secret {
        Some(secret) if !secret.is_empty() => Ok(secret.to_bytes()),
        _ => Err(tcl::error("missing shared secret; provide -secret")),
    }
}

/// The digest of an algorithm, if the key is of its kind. Nothing but the algorithm's own kind is taken: a token must
/// not choose how a key is used.
fn suits(alg: &str, key: &Key) -> Result<Option<&'static str>, Exit> {
    let curve = match key.kind {
        Kind::Ec(curve) => curve.name,
        _ => "",
    };
    let digest = match (alg, key.kind) {
        ("EdDSA", Kind::Ed25519) => None,
        ("ES256", _) if curve == "prime256v1" => Some("sha256"),
        ("ES256K", _) if curve == "secp256k1" => Some("sha256"),
        ("ES384", _) if curve == "secp384r1" => Some("sha384"),
        ("ES512", _) if curve == "secp521r1" => Some("sha512"),
        ("RS256", Kind::Rsa) => Some("sha256"),
        ("RS384", Kind::Rsa) => Some("sha384"),
        ("RS512", Kind::Rsa) => Some("sha512"),
        ("EdDSA" | "ES256" | "ES256K" | "ES384" | "ES512" | "RS256" | "RS384" | "RS512", _) => {
            return Err(tcl::error(format!(
                "key of type \"{}\" cannot be used with \"{alg}\"",
                key.kind.name()
            )));
        }
        _ => return Err(tcl::error(format!("unsupported JWT algorithm \"{alg}\""))),
    };
    Ok(digest)
}

fn make_signature(
    alg: &str,
    key: Option<&Obj>,
    jwk: bool,
    secret: Option<Obj>,
    message: &[u8],
) -> Result<Vec<u8>, Exit> {
    if alg == "none" {
        return Ok(Vec::new());
    }
    if let Some(digest) = hmac_digest(alg) {
        return hmac(digest, &shared(secret)?, message);
    }
    let Some(pem) = key.filter(|key| !key.is_empty()) else {
        let why = if jwk {
            "signing with -jwk is not implemented"
        } else {
            "missing signing key; provide -key"
        };
        return Err(tcl::error(why));
    };
    let key = Key::read_private(pem, None)?;
    let digest = suits(alg, &key)?;
    sign::sign(&key, digest, message, Form::Fixed)
}

/// A token, taken apart and not yet believed.
struct Token<'a> {
    /// What the signature is of.
    signed: &'a str,
    header: Value,
    payload: Value,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    fn new(token: &'a str) -> Result<Token<'a>, Exit> {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts[..] else {
            return Err(tcl::error(
                "invalid JWT: expected 3 dot-separated components",
            ));
        };
        let object = |part: &str| -> Result<Value, Exit> {
            let text = String::from_utf8(decode_bytes(part, true, true)?);
            let text = text.map_err(|_| tcl::error("invalid JWT: a component is not UTF-8"))?;
            match parse::parse(&text, &Limits::default())? {
                value @ Value::Object(_) => Ok(value),
                _ => Err(tcl::error("invalid JWT: a component is not a JSON object")),
            }
        };
        Ok(Token {
            signed: &token[..header.len() + 1 + payload.len()],
            header: object(header)?,
            payload: object(payload)?,
            signature: decode_bytes(signature, true, true)?,
        })
    }
}

/// A member of an object; of several with the name the last, as in dictionaries.
fn get<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Object(members) = object else {
        return None;
    };
    members
        .iter()
        .rev()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

fn text_of(object: &Value, name: &str) -> Option<String> {
    match get(object, name) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn verification_key(
    alg: &str,
    kid: &str,
    pem: Option<&Obj>,
    jwk: Option<&Obj>,
    jwks: Option<&Obj>,
) -> Result<Key, Exit> {
    let given = |value: Option<&'_ Obj>| value.filter(|v| !v.is_empty()).cloned();
    if let Some(pem) = given(pem) {
        return Key::read(&pem, None);
    }
    if let Some(jwk) = given(jwk) {
        return of_jwk(&web_key(&jwk)?, alg);
    }
    let Some(set) = given(jwks) else {
        return Err(tcl::error(
            "missing verification key; provide -key, -jwk, or -jwks",
        ));
    };
    let keys = web_keys(&set)?;
    let mut fitting = keys
        .iter()
        .filter(|key| kid.is_empty() || field(key, "kid") == Some(kid));
    match (fitting.next(), fitting.next()) {
        (Some(key), None) => of_jwk(key, alg),
        (None, _) => Err(tcl::error(format!("no key with kid \"{kid}\" in JWK set"))),
        _ => Err(tcl::error(
            "JWK set contains several keys that may be meant",
        )),
    }
}

/// A JSON Web Key (RFC 7517): names and texts.
type WebKey = Vec<(String, String)>;

fn field<'k>(key: &'k WebKey, name: &str) -> Option<&'k str> {
    key.iter()
        .rev()
        .find(|(k, _)| k == name)
        .map(|(_, v)| v.as_str())
}

/// From a dictionary or from JSON.
fn web_key(jwk: &Obj) -> Result<WebKey, Exit> {
    if let Some(value) = as_json(jwk) {
        return Ok(from_json(&value));
    }
    let pairs = jwk
        .pairs()
        .map_err(|_| tcl::error("invalid JWK: expected a dictionary"))?;
    Ok(pairs
        .into_iter()
        .map(|(k, v)| (k.text(), v.text()))
        .collect())
}

fn web_keys(jwks: &Obj) -> Result<Vec<WebKey>, Exit> {
    let bad = || tcl::error("invalid JWK set: expected a dictionary with the key \"keys\"");
    if let Some(value) = as_json(jwks) {
        let Some(Value::Array(keys)) = get(&value, "keys") else {
            return Err(bad());
        };
        return Ok(keys.iter().map(from_json).collect());
    }
    let keys = jwks.dict_get("keys").ok().flatten().ok_or_else(bad)?;
    keys.elements()?.iter().map(web_key).collect()
}

fn as_json(value: &Obj) -> Option<Value> {
    let text = value.text();
    let may_be = text
        .trim_start()
        .strip_prefix('{')
        .is_some_and(|rest| rest.trim_start().starts_with('"'));
    if may_be {
        parse::parse(&text, &Limits::default()).ok()
    } else {
        None
    }
}

fn from_json(value: &Value) -> WebKey {
    let Value::Object(members) = value else {
        return Vec::new();
    };
    let texts = members.iter().filter_map(|(k, v)| match v {
        Value::Text(text) => Some((k.clone(), text.clone())),
        _ => None,
    });
    texts.collect()
}

fn of_jwk(jwk: &WebKey, alg: &str) -> Result<Key, Exit> {
    if field(jwk, "alg").is_some_and(|a| a != alg) || field(jwk, "use").is_some_and(|u| u != "sig")
    {
        return Err(tcl::error(format!("JWK is not for \"{alg}\" signatures")));
    }
    let number = |name: &str| -> Result<Vec<u8>, Exit> {
        let text = field(jwk, name).ok_or_else(|| tcl::error(format!("JWK has no \"{name}\"")))?;
        decode_bytes(text, true, true)
    };
    let crv = field(jwk, "crv").unwrap_or_default();
    match field(jwk, "kty") {
        Some("EC") => keys::ec(crv, &number("x")?, &number("y")?),
        Some("OKP") => keys::okp(crv, &number("x")?),
        Some("RSA") => keys::rsa(&number("n")?, &number("e")?),
        kty => Err(tcl::error(format!(
            "unsupported JWK key type \"{}\"",
            kty.unwrap_or_default()
        ))),
    }
}

/// The claims about time; `skew` is how far the clocks may be apart, in seconds.
fn check_times(payload: &Value, now: i64, skew: i64) -> Result<(), Exit> {
    let seconds = |name: &str| -> Result<Option<f64>, Exit> {
        match get(payload, name) {
            None => Ok(None),
            Some(Value::Number(text)) if text.parse::<f64>().is_ok_and(f64::is_finite) => {
                Ok(text.parse().ok())
            }
            Some(_) => Err(tcl::error(format!("JWT claim \"{name}\" is not a number"))),
        }
    };
    let (now, skew) = (now as f64, skew as f64);
    if seconds("exp")?.is_some_and(|exp| now >= exp + skew) {
        return Err(tcl::error("JWT expired"));
    }
    if seconds("nbf")?.is_some_and(|nbf| now < nbf - skew) {
        return Err(tcl::error("JWT not valid yet"));
    }
    if seconds("iat")?.is_some_and(|iat| now < iat - skew) {
        return Err(tcl::error("JWT issued in the future"));
    }
    Ok(())
}

fn check_names(
    payload: &Value,
    iss: Option<&str>,
    sub: Option<&str>,
    aud: Option<&str>,
) -> Result<(), Exit> {
    let differs = |name: &str, wanted: Option<&str>| {
        wanted.is_some_and(|wanted| {
            !wanted.is_empty() && text_of(payload, name).as_deref() != Some(wanted)
        })
    };
    if differs("iss", iss) {
        return Err(tcl::error("JWT issuer mismatch"));
    }
    if differs("sub", sub) {
        return Err(tcl::error("JWT subject mismatch"));
    }
    let Some(wanted) = aud.filter(|aud| !aud.is_empty()) else {
        return Ok(());
    };
    let is = |value: &Value| matches!(value, Value::Text(text) if text == wanted);
    let named = match get(payload, "aud") {
        Some(Value::Array(all)) => all.iter().any(is),
        Some(one) => is(one),
        None => false,
    };
    if named {
        Ok(())
    } else {
        Err(tcl::error("JWT audience mismatch"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_rfc_7515() {
        let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let token = Token::new(token).expect("it has three parts");
        assert_eq!(text_of(&token.payload, "iss").as_deref(), Some("joe"));
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = decode_bytes(key, true, true).expect("base64");
        assert_eq!(
            hmac("sha256", &key, token.signed.as_bytes()).ok(),
            Some(token.signature)
        );
        assert!(check_times(&token.payload, 1_300_819_379, 0).is_ok());
        assert!(check_times(&token.payload, 1_300_819_380, 0).is_err());
    }
}
