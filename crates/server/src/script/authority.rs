//! Who may do what: the chains of those who judge requests and users (manual pages ns_auth, ns_register; nsperm).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use parking_lot::RwLock;
use tcl::{Interp, Outcome};

use crate::script::{Conn, SetRef, Verdict};
use crate::vserver::VirtualServer;

/// What somebody decided about a request or a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Ok,
    /// No, whoever asks.
    Forbidden,
    /// Not without other credentials.
    Unauthorized,
    /// It could not be decided.
    Error,
    /// The request is answered already.
    FilterReturn,
}

impl Decision {
    /// The word scripts return, in lower case.
    pub fn parse(word: &str) -> Option<Decision> {
        Some(match word {
            "ok" => Decision::Ok,
            "forbidden" => Decision::Forbidden,
            "unauthorized" => Decision::Unauthorized,
            "error" => Decision::Error,
            "filter_return" => Decision::FilterReturn,
            _ => return None,
        })
    }

    /// The word `ns_auth` answers with.
    pub fn word(self) -> &'static str {
        match self {
            Decision::Ok => "OK",
            Decision::Forbidden => "FORBIDDEN",
            Decision::Unauthorized => "UNAUTHORIZED",
            Decision::Error => "ERROR",
            Decision::FilterReturn => "FILTER_RETURN",
        }
    }
}

/// A decision, and whether the others are asked as well.
#[derive(Clone, Copy, Debug)]
pub struct Opinion {
    pub decision: Decision,
    pub is_final: bool,
}

/// What is to be judged.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// May this user do this with this URL?
    Request {
        method: &'a str,
        url: &'a str,
        user: &'a str,
        password: &'a str,
        peer: &'a str,
    },
    /// Is this the user's password?
    User { user: &'a str, password: &'a str },
}

/// Somebody who judges.
pub trait Authority: Send + Sync {
    /// Its label (`-authority`).
    fn name(&self) -> &str;

    /// # Errors
    /// The script's; taken for [`Decision::Error`], and final.
    fn judge(&self, interp: &Interp, question: &Question<'_>) -> Outcome<Opinion>;

    /// What `ns_server authprocs` shows: a list of kind and arguments.
    fn describe(&self) -> String;
}

/// Those who judge requests, in the order in which they are asked. An extension of the server.
#[derive(Default)]
pub struct Authorities(pub RwLock<Vec<Arc<dyn Authority>>>);

/// Those who judge users. An extension of the server.
#[derive(Default)]
pub struct UserAuthorities(pub RwLock<Vec<Arc<dyn Authority>>>);

/// Asks one after the other until somebody's decision is final. If nobody's is, the last one's counts; without anybody
/// everything is allowed. Answers with the label of the last one asked.
pub fn judge(
    interp: &Interp,
    server: &VirtualServer,
    question: &Question<'_>,
) -> (Decision, String) {
    let chain = match question {
        Question::Request { .. } => server
            .extensions
            .find::<Authorities>()
            .map(|a| a.0.read().clone()),
        Question::User { .. } => server
            .extensions
            .find::<UserAuthorities>()
            .map(|a| a.0.read().clone()),
    };
    let mut answer = (Decision::Ok, String::new());
    for authority in chain.unwrap_or_default() {
        let opinion = authority.judge(interp, question).unwrap_or_else(|e| {
            crate::script::report(interp, &format!("authority {}", authority.name()), e);
            Opinion {
                decision: Decision::Error,
                is_final: true,
            }
        });
        answer = (opinion.decision, authority.name().to_owned());
        if opinion.is_final {
            break;
        }
    }
    answer
}

/// Judges the request of a connection; answers it when it may not go on.
///
/// # Errors
/// Those of the page that tells.
pub fn authorize(interp: &Interp, conn: &Rc<Conn>) -> Outcome<Verdict> {
    let (user, password) = credentials(conn);
    let (method, url, peer) = (
        conn.method.borrow().clone(),
        conn.url(),
        conn.request.peer.ip().to_string(),
    );
    let question = Question::Request {
        method: &method,
        url: &url,
        user: &user,
        password: &password,
        peer: &peer,
    };
    let status = match judge(interp, &conn.server, &question).0 {
        Decision::Ok => return Ok(Verdict::Continue),
        Decision::FilterReturn => return Ok(Verdict::Stop),
        Decision::Error => return Ok(Verdict::Failed),
        Decision::Forbidden => 403,
        Decision::Unauthorized => {
            demand_credentials(conn);
            401
        }
    };
    if !conn.has_answered() {
        crate::script::return_status(interp, conn, status)?;
    }
    Ok(Verdict::Stop)
}

/// Adds the challenge of basic authorization to the response, unless a script has set one.
pub fn demand_credentials(conn: &Conn) {
    let mut output = conn.output.borrow_mut();
    if output.ifind("www-authenticate").is_none() {
        let realm = conn
            .server
            .realm
            .read()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        output.put("www-authenticate", format!("Basic realm=\"{realm}\""));
    }
}

/// The `Authorization` header taken apart, as scripts see and change it; parsed on first use.
pub fn authorization(conn: &Conn) -> SetRef {
    if let Some(set) = conn.auth.borrow().as_ref() {
        return Rc::clone(set);
    }
    let value = conn.header("authorization").unwrap_or_default();
    let parsed = http::authorization::parse(&value);
    if conn.auth_user.borrow().is_none() {
        *conn.auth_user.borrow_mut() = parsed.iget("username").map(str::to_owned);
        *conn.auth_password.borrow_mut() = parsed.iget("password").map(str::to_owned);
    }
    let set = Rc::new(RefCell::new(parsed));
    *conn.auth.borrow_mut() = Some(Rc::clone(&set));
    set
}

/// User and password of the request; empty when there are none.
pub fn credentials(conn: &Conn) -> (String, String) {
    let set = authorization(conn);
    let set = set.borrow();
    (
        set.iget("username").unwrap_or_default().to_owned(),
        set.iget("password").unwrap_or_default().to_owned(),
    )
}
