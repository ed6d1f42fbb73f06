//! Authorization: ns_register_auth, ns_auth and its older names.

use std::rc::Rc;
use std::sync::Arc;

use ::server::script::authority::{
    Authorities, Authority, Decision, Opinion, Question, UserAuthorities, judge,
};
use synopsis::{Call, Rest, choice, commands};
use tcl::{Interp, Obj, Outcome, TclError};

use crate::callback::Callback;
use crate::kinds::context;

commands! { TABLE(call):

    /// Registers a script that judges requests, or users.
    "ns_register_auth" [-authority: Option<String>, -first: bool, --]
        (r#type as "type": About, script: String, arg: Option<Rest>)
        => register(call, authority, first, r#type, Callback::new(script, arg.as_deref().unwrap_or_default()));

    /// Whether a user may do something with a URL.
    "ns_auth request" [-dict: bool, --]
        (method: String, url: String, username: String, password: String, ipaddr: Option<String>)
        => request(call, dict, &method, &url, &username, &password, ipaddr);

    /// Whether this is the user's password.
    "ns_auth user" [-dict: bool, --] (username: String, password: String)
        => answer(call, dict, &Question::User { user: &username, password: &password });

    /// Older name of ns_auth request.
    #[deprecated("use ns_auth request")]
    "ns_requestauthorize" [-dict: bool, --]
        (method: String, url: String, username: String, password: String, ipaddr: Option<String>)
        => request(call, dict, &method, &url, &username, &password, ipaddr);

    /// Older name of ns_auth request.
    #[deprecated("use ns_auth request")]
    "ns_checkurl" [-dict: bool, --]
        (method: String, url: String, username: String, password: String, ipaddr: Option<String>)
        => request(call, dict, &method, &url, &username, &password, ipaddr);
}

choice! {
    /// What is judged.
    pub enum About { Request = "request", User = "user" }
}

fn register(
    call: &Call<'_>,
    authority: Option<String>,
    first: bool,
    about: About,
    callback: Callback,
) {
    let server = Arc::clone(context(call).server());
    let name = authority.unwrap_or_else(|| callback.script().to_owned());
    let judge: Arc<dyn Authority> = Arc::new(Script { name, callback });
    let add = |list: &mut Vec<Arc<dyn Authority>>| {
        let at = if first { 0 } else { list.len() };
        list.insert(at, judge);
    };
    match about {
        About::Request => add(&mut server.extensions.get::<Authorities>().0.write()),
        About::User => add(&mut server.extensions.get::<UserAuthorities>().0.write()),
    }
}

fn request(
    call: &Call<'_>,
    dict: bool,
    method: &str,
    url: &str,
    user: &str,
    password: &str,
    ipaddr: Option<String>,
) -> Outcome {
    let peer = match ipaddr {
        Some(text) => {
            text.parse::<std::net::IpAddr>()
                .map_err(|_| tcl::error(format!("invalid IP address: '{text}'")))?;
            text
        }
        None => context(call)
            .conn()
            .map(|c| c.request.peer.ip().to_string())
            .unwrap_or_default(),
    };
    answer(
        call,
        dict,
        &Question::Request {
            method,
            url,
            user,
            password,
            peer: &peer,
        },
    )
}

fn answer(call: &Call<'_>, dict: bool, question: &Question<'_>) -> Outcome {
    let context = context(call);
    let (decision, authority) = judge(call.interp, context.server(), question);
    if !dict {
        return Ok(Obj::from(decision.word()));
    }
    Ok(Obj::list(
        ["authority", &authority, "code", decision.word()].map(Obj::from),
    ))
}

/// A script that judges. What it returns is its opinion, and the next one is asked; `return -code break` and `continue`
/// make it the decision.
struct Script {
    name: String,
    callback: Callback,
}

/// The lambda that tells how a script ends, with its result; kept for its bytecode.
struct Ending(Obj);

const ENDING: &str = "{script} {list [catch {uplevel #0 $script} result options] $result $options}";

impl Authority for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn judge(&self, interp: &Interp, question: &Question<'_>) -> Outcome<Opinion> {
        let script = match *question {
            Question::Request {
                method,
                url,
                user,
                password,
                peer,
            } => self
                .callback
                .script_with(&[method, url, user, password, peer]),
            Question::User { user, password } => self.callback.script_with(&[user, password]),
        };
        let lambda = interp.data::<Ending>().unwrap_or_else(|| {
            let fresh = Rc::new(Ending(Obj::from(ENDING)));
            interp.set_data(Rc::clone(&fresh));
            fresh
        });
        let ended = interp
            .call_global(&[Obj::from("::apply"), lambda.0.clone(), Obj::from(script)])?
            .elements()?;
        let [code, result, options] = ended.as_slice() else {
            return Err(tcl::error("no outcome"));
        };
        let is_final = match code.int()? {
            0 | 2 => false,
            3 | 4 => true,
            _ => {
                let info = options
                    .dict_get("-errorinfo")?
                    .map_or_else(|| result.text(), |i| i.text());
                return Err(TclError::new(info).into());
            }
        };
        // A word nobody knows is no permission.
        let decision = Decision::parse(&result.text()).unwrap_or(Decision::Error);
        Ok(Opinion { decision, is_final })
    }

    fn describe(&self) -> String {
        format!("ns:tclauth {}", self.callback.describe())
    }
}
