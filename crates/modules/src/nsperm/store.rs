//! Users, groups and rules, and what follows from them. Knows no Tcl and no files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use server::route::{Constraints, Space, Unset};
use server::script::authority::Decision;

/// The user who may do everything.
pub const ADMIN: &str = "nsadmin";

/// The key of rules for all methods (`.htaccess`).
pub const ANY_METHOD: &str = "*";

/// A name and a password, and from where they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Encrypted with `ns_crypt`, or clear.
    pub password: String,
    pub is_clear: bool,
    /// Whatever the operator wants to note (the fifth field of the file).
    pub field: String,
    pub hosts: Hosts,
}

/// From which hosts somebody may come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    #[default]
    All,
    Only(Vec<Host>),
    AllBut(Vec<Host>),
}

/// One host, or many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// Address and mask, as 128 bits; IPv4 lies within `::ffff:0:0/96`.
    Network(u128, u128),
    /// A full name; `.example.com` is all below.
    Name(String),
}

/// Who may do something with a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub deny_users: BTreeSet<String>,
    pub allow_users: BTreeSet<String>,
    pub deny_groups: BTreeSet<String>,
    pub allow_groups: BTreeSet<String>,
}

/// One of the four lists of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    AllowUser,
    AllowGroup,
    DenyUser,
    DenyGroup,
}

/// Method, URL, and whether it is for exactly this URL.
pub type Place = (String, String, bool);

/// Everything that nsperm knows about a server.
#[derive(Default)]
pub struct Store {
    pub users: BTreeMap<String, User>,
    pub groups: BTreeMap<String, BTreeSet<String>>,
    rules: BTreeMap<Place, Rule>,
    space: Space<Arc<Rule>>,
}

impl Action {
    pub const ALL: [Action; 4] = [
        Action::AllowUser,
        Action::AllowGroup,
        Action::DenyUser,
        Action::DenyGroup,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Action::AllowUser => "allowuser",
            Action::AllowGroup => "allowgroup",
            Action::DenyUser => "denyuser",
            Action::DenyGroup => "denygroup",
        }
    }

    pub fn parse(word: &str) -> Option<Action> {
        Action::ALL.into_iter().find(|a| a.name() == word)
    }
}

impl Rule {
    pub fn list(&self, action: Action) -> &BTreeSet<String> {
        match action {
            Action::AllowUser => &self.allow_users,
            Action::AllowGroup => &self.allow_groups,
            Action::DenyUser => &self.deny_users,
            Action::DenyGroup => &self.deny_groups,
        }
    }

    fn list_mut(&mut self, action: Action) -> &mut BTreeSet<String> {
        match action {
            Action::AllowUser => &mut self.allow_users,
            Action::AllowGroup => &mut self.allow_groups,
            Action::DenyUser => &mut self.deny_users,
            Action::DenyGroup => &mut self.deny_groups,
        }
    }
}

impl Store {
    /// Adds names to the rule of a place; it is made if there is none.
    pub fn permit(
        &mut self,
        action: Action,
        place: Place,
        names: impl IntoIterator<Item = String>,
    ) {
        let rule = self.rules.entry(place.clone()).or_default();
        rule.list_mut(action).extend(names);
        let rule = Arc::new(rule.clone());
        let (method, url, noinherit) = place;
        self.space
            .set(&method, &url, noinherit, Constraints::default(), rule);
    }

    /// Removes the rule of a place. The answer says whether there was one.
    pub fn forget(&mut self, place: &Place) -> bool {
        let what = Unset {
            noinherit: place.2,
            ..Unset::default()
        };
        self.space.unset(&place.0, &place.1, what);
        self.rules.remove(place).is_some()
    }

    pub fn rules(&self) -> impl Iterator<Item = (&Place, &Rule)> {
        self.rules.iter()
    }

    /// The rules for a request: that of its method, HEAD taking that of GET if it has none, and that for all methods.
    fn rules_for(&self, method: &str, url: &str) -> impl Iterator<Item = Arc<Rule>> {
        let own = self.space.get(method, url, None);
        let own = own.or_else(|| {
            (method == "HEAD")
                .then(|| self.space.get("GET", url, None))
                .flatten()
        });
        own.into_iter().chain(self.space.get(ANY_METHOD, url, None))
    }

    /// Whether a request may go on. `None`: there is no rule. `crypt`: `ns_crypt` of password and salt.
    pub fn judge(
        &self,
        method: &str,
        url: &str,
        who: (&str, &str),
        peer: &str,
        crypt: impl Fn(&str, &str) -> Option<String>,
    ) -> Option<Decision> {
        let mut rules = self.rules_for(method, url).peekable();
        rules.peek()?;
        let (name, password) = who;
        let user = self.users.get(name);
        // Somebody without credentials need not exist to be told that they are needed.
        let known = match user {
            Some(user) => matches(user, password, &crypt),
            None => name.is_empty() && password.is_empty(),
        };
        if !known {
            return Some(Decision::Unauthorized);
        }
        if let Some(user) = user
            && !user.hosts.admit(peer)
        {
            return Some(Decision::Forbidden);
        }
        if name == ADMIN || rules.all(|rule| self.allows(&rule, name)) {
            return Some(Decision::Ok);
        }
        Some(if name.is_empty() {
            Decision::Unauthorized
        } else {
            Decision::Forbidden
        })
    }

    /// What is said about a user counts more than what is said about the user's groups, a denial more than a permission;
    /// who is not named is welcome unless somebody is.
    fn allows(&self, rule: &Rule, name: &str) -> bool {
        let is_in = |groups: &BTreeSet<String>| {
            groups.iter().any(|g| {
                self.groups
                    .get(g)
                    .is_some_and(|members| members.contains(name))
            })
        };
        if rule.deny_users.contains(name) {
            return false;
        }
        if rule.allow_users.contains(name) {
            return true;
        }
        if is_in(&rule.deny_groups) {
            return false;
        }
        is_in(&rule.allow_groups) || (rule.allow_users.is_empty() && rule.allow_groups.is_empty())
    }

    /// Whether this is the password of the user.
    pub fn check(
        &self,
        name: &str,
        password: &str,
        crypt: impl Fn(&str, &str) -> Option<String>,
    ) -> bool {
        self.users
            .get(name)
            .is_some_and(|user| matches(user, password, &crypt))
    }
}

/// An empty password in the file is matched by an empty one only: it is no invitation.
fn matches(user: &User, password: &str, crypt: &impl Fn(&str, &str) -> Option<String>) -> bool {
    if user.is_clear || user.password.is_empty() {
        return same(&user.password, password);
    }
    let salt: String = user.password.chars().take(2).collect();
    crypt(password, &salt).is_some_and(|c| same(&c, &user.password))
}

/// Takes the same time wherever the difference is.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

impl Hosts {
    pub fn admit(&self, peer: &str) -> bool {
        match self {
            Hosts::All => true,
            Hosts::Only(list) => list.iter().any(|h| h.is(peer)),
            Hosts::AllBut(list) => !list.iter().any(|h| h.is(peer)),
        }
    }
}

impl Host {
    /// `address`, `address/mask`, `address/bits`, or a name.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str) -> Result<Host, String> {
        let wrong = || {
            format!("invalid host \"{text}\": must be an address, address/netmask, or a host name")
        };
        if let Some((address, mask)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| wrong())?;
            let width: u32 = if address.is_ipv4() { 32 } else { 128 };
            let mask = match mask.parse::<u32>() {
                Ok(bits) if bits <= width => u128::MAX
                    .checked_shl(128 - (bits + 128 - width))
                    .unwrap_or(0),
                Ok(_) => return Err(wrong()),
                Err(_) => match (mask.parse().map_err(|_| wrong())?, address) {
                    (IpAddr::V4(mask), IpAddr::V4(_)) => {
                        u128::from(mask.to_bits()) | !u128::from(u32::MAX)
                    }
                    (IpAddr::V6(mask), IpAddr::V6(_)) => mask.to_bits(),
                    _ => return Err(wrong()),
                },
            };
            return Ok(Host::Network(bits(address) & mask, mask));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Host::Network(bits(address), u128::MAX));
        }
        let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        if text.is_empty() || !text.bytes().all(is_name) {
            return Err(wrong());
        }
        Ok(Host::Name(text.to_ascii_lowercase()))
    }

    /// Asks the name service for names: the price of rules with names is paid by every request they concern.
    fn is(&self, peer: &str) -> bool {
        let Ok(address) = peer.parse::<IpAddr>() else {
            return false;
        };
        let has = |name: &str| {
            let found = (name, 0).to_socket_addrs();
            found.is_ok_and(|mut all| all.any(|a| bits(a.ip()) == bits(address)))
        };
        match self {
            // IPv4 lies within ::/64, but who writes ::1/64 does not mean it; who writes ::/0 does.
            Host::Network(base, mask) => {
                let is_wide = *mask != 0 && mask.leading_ones() < 96;
                bits(address) & mask == *base && !(is_wide && address.to_canonical().is_ipv4())
            }
            // Whoever owns an address may give it any name; the name must lead back to it.
            Host::Name(name) if name.starts_with('.') => dns_lookup::lookup_addr(&address)
                .is_ok_and(|found| {
                    found.to_ascii_lowercase().ends_with(name.as_str()) && has(&found)
                }),
            Host::Name(name) => has(name),
        }
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crypt(password: &str, salt: &str) -> Option<String> {
        Some(format!("{salt}{password}"))
    }

    fn store() -> Store {
        let mut store = Store::default();
        for name in ["nsadmin", "ann", "bob", "eve"] {
            let password = format!("xy{name}");
            store.users.insert(
                name.into(),
                User {
                    password,
                    ..User::default()
                },
            );
        }
        store
            .groups
            .insert("team".into(), ["ann", "bob"].map(String::from).into());
        store
    }

    fn ask(store: &Store, method: &str, url: &str, name: &str) -> Option<Decision> {
        store.judge(method, url, (name, name), "10.1.2.3", crypt)
    }

    fn place(method: &str, url: &str, noinherit: bool) -> Place {
        (method.into(), url.into(), noinherit)
    }

    #[test]
    fn what_is_not_ruled_is_not_judged() {
        let mut store = store();
        assert_eq!(ask(&store, "GET", "/a", "ann"), None);
        store.permit(Action::AllowUser, place("GET", "/a", false), ["ann".into()]);
        assert_eq!(ask(&store, "POST", "/a", "eve"), None);
        assert_eq!(ask(&store, "GET", "/b", "eve"), None);
        assert!(store.forget(&place("GET", "/a", false)));
        assert_eq!(ask(&store, "GET", "/a", "eve"), None);
    }

    #[test]
    fn users_before_groups_and_no_before_yes() {
        let mut store = store();
        let a = place("GET", "/a", false);
        store.permit(Action::AllowGroup, a.clone(), ["team".into()]);
        let expected = [
            ("ann", Decision::Ok),
            ("eve", Decision::Forbidden),
            ("nsadmin", Decision::Ok),
            ("", Decision::Unauthorized),
        ];
        for (name, decision) in expected {
            assert_eq!(
                ask(&store, "GET", "/a/b.html", name),
                Some(decision),
                "{name}"
            );
        }
        store.permit(Action::DenyUser, a, ["ann".into()]);
        assert_eq!(ask(&store, "GET", "/a", "ann"), Some(Decision::Forbidden));
        assert_eq!(ask(&store, "HEAD", "/a", "ann"), Some(Decision::Forbidden));
        assert_eq!(ask(&store, "HEAD", "/a", "bob"), Some(Decision::Ok));
        // Below there is a rule of its own, and one for a single URL.
        store.permit(
            Action::DenyGroup,
            place("GET", "/a/open", false),
            ["nobody".into()],
        );
        assert_eq!(ask(&store, "GET", "/a/open/x", "eve"), Some(Decision::Ok));
        store.permit(
            Action::DenyUser,
            place("GET", "/a/open", true),
            ["eve".into()],
        );
        assert_eq!(
            ask(&store, "GET", "/a/open", "eve"),
            Some(Decision::Forbidden)
        );
        assert_eq!(ask(&store, "GET", "/a/open/x", "eve"), Some(Decision::Ok));
    }

    #[test]
    fn passwords_and_hosts() {
        let mut store = store();
        store.permit(
            Action::AllowUser,
            place(ANY_METHOD, "/", false),
            ["ann".into(), "bob".into(), "".into()],
        );
        let judge = |store: &Store, name: &str, password: &str, peer: &str| {
            store.judge("PUT", "/x", (name, password), peer, crypt)
        };
        assert_eq!(
            judge(&store, "ann", "wrong", "::1"),
            Some(Decision::Unauthorized)
        );
        assert_eq!(
            judge(&store, "nsadmin", "wrong", "::1"),
            Some(Decision::Unauthorized)
        );
        assert_eq!(
            judge(&store, "stranger", "", "::1"),
            Some(Decision::Unauthorized)
        );
        assert_eq!(judge(&store, "", "", "::1"), Some(Decision::Ok));
        assert_eq!(judge(&store, "", "x", "::1"), Some(Decision::Unauthorized));
        store.users.get_mut("ann").unwrap().hosts =
            Hosts::Only(vec![Host::parse("10.0.0.0/255.0.0.0").unwrap()]);
        store.users.get_mut("bob").unwrap().hosts =
            Hosts::AllBut(vec![Host::parse("::1/64").unwrap()]);
        assert_eq!(judge(&store, "ann", "ann", "10.9.9.9"), Some(Decision::Ok));
        assert_eq!(
            judge(&store, "ann", "ann", "11.9.9.9"),
            Some(Decision::Forbidden)
        );
        assert_eq!(
            judge(&store, "bob", "bob", "::2"),
            Some(Decision::Forbidden)
        );
        assert_eq!(judge(&store, "bob", "bob", "11.9.9.9"), Some(Decision::Ok));
        store.users.get_mut("eve").unwrap().password.clear();
        assert!(!store.check("eve", "anything", crypt));
        assert!(store.check("eve", "", crypt));
    }

    #[test]
    fn hosts() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/ffff::",
            "x y",
            "::1/129",
            "a/24",
            "10.0.0.1/x",
        ] {
            assert!(Host::parse(text).is_err(), "{text}");
        }
        for (text, peer, expected) in [
            ("10.2.0.0/16", "10.2.255.1", true),
            ("10.2.0.0/255.255.0.0", "10.3.0.1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::1", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("::/0", "9.9.9.9", true),
            ("::1/64", "9.9.9.9", false),
            ("::1/64", "::2", true),
        ] {
            assert_eq!(
                Host::parse(text).unwrap().is(peer),
                expected,
                "{text} {peer}"
            );
        }
    }
}
