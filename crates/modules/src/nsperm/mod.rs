//! nsperm: users, groups and permissions from files, and who may see what because of them (manual pages ns_perm, nsperm).

mod access;
mod commands;
mod files;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use server::module::{Loading, Module};
use server::script::authority::{
    Authorities, Authority, Decision, Opinion, Question, UserAuthorities,
};
use synopsis::params;
use tcl::{Interp, Obj, Outcome};

use access::Seen;
use store::Store;

pub const MODULE: Module = Module {
    name: "nsperm",
    about: "Users, groups and permissions from files.",
    spec: Settings::spec,
    more_specs: || vec![],
    prepare: |_| Ok(()),
    start,
};

params! {
    /// Permissions of a server. Its files are in `modules/nsperm` below the home directory.
    pub struct Settings in "ns/server/*/module/nsperm" {
        /// Look for `.htaccess` in the directories of a URL.
        htaccess: bool = "false",
        /// The file of users; a relative path is below the home directory.
        passwdfile: String = "modules/nsperm/passwd",
    }
}

/// Users and rules of one server. An extension of the server.
pub struct Permissions {
    store: RwLock<Store>,
    directory: PathBuf,
    passwd: PathBuf,
    htaccess: bool,
    /// State of the files that are looked at with every request.
    seen: Mutex<Seen>,
}

fn start(loading: &Loading<'_>) -> Result<(), String> {
    let server = loading
        .server
        .ok_or("nsperm belongs to a server: load it in ns/server/NAME/modules")?;
    let settings = Settings::read(&loading.config()).map_err(|problems| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let home = loading.process.home();
    let permissions = server.extensions.get_or(|| Permissions {
        store: RwLock::default(),
        directory: home.join("modules/nsperm"),
        passwd: home.join(&settings.passwdfile),
        htaccess: settings.htaccess,
        seen: Mutex::default(),
    });
    permissions.reload();
    let judge: Arc<dyn Authority> = Arc::new(Judge(permissions));
    server
        .extensions
        .get::<Authorities>()
        .0
        .write()
        .push(Arc::clone(&judge));
    server
        .extensions
        .get::<UserAuthorities>()
        .0
        .write()
        .push(judge);
    loading.commands(commands::TABLE);
    Ok(())
}

impl Permissions {
    /// Reads all files anew. Requests see the old rules or the new ones, never none.
    fn reload(&self) {
        let mut fresh = Store::default();
        files::load(&mut fresh, &self.directory, &self.passwd);
        // Those of .htaccess are read again when they are needed.
        *self.seen.lock() = Seen::default();
        *self.store.write() = fresh;
    }
}

/// The module among those who judge.
struct Judge(Arc<Permissions>);

impl Authority for Judge {
    fn name(&self) -> &str {
        "nsperm"
    }

    /// A rule's word is final. Without a rule the others are asked.
    fn judge(&self, interp: &Interp, question: &Question<'_>) -> Outcome<Opinion> {
        let crypt = |password: &str, salt: &str| crypt(interp, password, salt).ok();
        Ok(match *question {
            Question::User { user, password } => {
                let store = self.0.store.read();
                let known = store.users.contains_key(user);
                let right = known && store.check(user, password, crypt);
                let decision = if right {
                    Decision::Ok
                } else {
                    Decision::Unauthorized
                };
                Opinion {
                    decision,
                    is_final: known,
                }
            }
            Question::Request {
                method,
                url,
                user,
                password,
                peer,
            } => {
                if self.0.htaccess {
                    if access::is_hidden(url) {
                        return Ok(Opinion {
                            decision: Decision::Forbidden,
                            is_final: true,
                        });
                    }
                    access::refresh(&self.0, interp, url)?;
                }
                let said = self
                    .0
                    .store
                    .read()
                    .judge(method, url, (user, password), peer, crypt);
                Opinion {
                    decision: said.unwrap_or(Decision::Ok),
                    is_final: said.is_some(),
                }
            }
        })
    }

    fn describe(&self) -> String {
        "nsperm {}".to_owned()
    }
}

/// `ns_crypt`, which belongs to the commands.
fn crypt(interp: &Interp, password: &str, salt: &str) -> Outcome<String> {
    Ok(interp
        .call_global(&[Obj::from("ns_crypt"), Obj::from(password), Obj::from(salt)])?
        .text())
}
