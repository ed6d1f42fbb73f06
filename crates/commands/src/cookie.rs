//! Cookies: ns_setcookie, ns_getcookie, ns_deletecookie.

use http::cookie::{self, Lifetime, SameSite, SetCookie};
use synopsis::{Call, Time, choice, commands};
use tcl::{Obj, Outcome, TclError};

use crate::kinds::conn;

commands! { TABLE(call):

    /// Sets a cookie with the response.
    "ns_setcookie" [
        -discard: Option<bool>, -domain: Option<String>, -expires: Option<Time>, -path: Option<String>,
        -replace: Option<bool>, -samesite: Option<Site>, -scriptable: Option<bool>, -secure: Option<bool>, --
    ] (name: String, data: String)
        => {
            let cookie = SetCookie {
                name: &name,
                value: &data,
                lifetime: expires.map_or(Lifetime::Session, |t| Lifetime::from_expires(t.sec, unix_now())),
                domain: domain.as_deref().unwrap_or_default(),
                path: path.as_deref().unwrap_or_default(),
                secure: secure.unwrap_or(false),
                discard: discard.unwrap_or(false),
                scriptable: scriptable.unwrap_or(false),
                same_site: same_site(samesite),
            };
            set(call, &cookie, replace.unwrap_or(false))
        };

    /// Tells the client to forget a cookie.
    "ns_deletecookie" [
        -domain: Option<String>, -path: Option<String>, -replace: Option<bool>, -samesite: Option<Site>,
        -secure: Option<bool>, --
    ] (name: String)
        => {
            let cookie = SetCookie {
                name: &name,
                lifetime: Lifetime::Expired,
                domain: domain.as_deref().unwrap_or_default(),
                path: path.as_deref().unwrap_or_default(),
                secure: secure.unwrap_or(false),
                same_site: same_site(samesite),
                ..SetCookie::default()
            };
            set(call, &cookie, replace.unwrap_or(false))
        };

    /// Value of a cookie of the request, or of one that the response sets.
    "ns_getcookie" [-all: Option<bool>, -include_set_cookies: Option<bool>, --] (name: String, default: Option<Obj>)
        => get(call, &name, default, all.unwrap_or(false), include_set_cookies.unwrap_or(false));
}

choice! {
    /// Value of `-samesite`.
    pub enum Site { Strict = "strict", Lax = "lax", None = "none" }
}

fn same_site(site: Option<Site>) -> SameSite {
    match site {
        Some(Site::Strict) => SameSite::Strict,
        Some(Site::None) => SameSite::None,
        Some(Site::Lax) | None => SameSite::Lax,
    }
}

fn set(call: &Call<'_>, cookie: &SetCookie<'_>, replace: bool) -> Outcome<()> {
    let conn = conn(call)?;
    let line = cookie.build().map_err(tcl::error)?;
    let mut output = conn.output.borrow_mut();
    if replace {
        cookie::remove_set(&mut output, cookie.name);
    }
    output.put("set-cookie", line);
    Ok(())
}

fn get(call: &Call<'_>, name: &str, default: Option<Obj>, all: bool, include_set: bool) -> Outcome {
    let conn = conn(call)?;
    if all && include_set {
        return Err(tcl::error(
            "invalid combination of flags -include_set_cookies and -all",
        ));
    }
    if include_set && let Some(value) = cookie::find_set(&conn.output.borrow(), name) {
        return Ok(Obj::from(value));
    }
    let fallback = conn
        .server
        .form_fallback_charset()
        .and_then(|c| http::charset::Charset::for_name(&c));
    let headers = conn.headers.borrow();
    let mut found = cookie::find(&headers, name, fallback);
    if all {
        return Ok(Obj::list(found.map(Obj::from)));
    }
    match found.next() {
        Some(value) => Ok(Obj::from(value)),
        None => default.ok_or_else(|| TclError::new("no such cookie").into()),
    }
}

fn unix_now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok()
        .and_then(|d| i64::try_from(d.as_secs()).ok())
        .unwrap_or(0)
}
