//! The URL space against what was recorded from the reference, and against a naive model.

use proptest::prelude::*;
use shared::Set;

use super::*;

fn space(rows: &[(&str, &str, bool, &'static str)]) -> Space<&'static str> {
    let space = Space::new();
    for &(key, url, noinherit, data) in rows {
        space.set(key, url, noinherit, Constraints::default(), data);
    }
    space
}

fn get(space: &Space<&'static str>, key: &str, url: &str) -> &'static str {
    space.get(key, url, None).unwrap_or("")
}

/// Vectors ns_urlspace-14 to -27.
#[test]
fn vectors() {
    let s = space(&[
        ("k1", "/", false, "root"),
        ("k2", "/a", false, "A"),
        ("k2", "/a/b", false, "AB"),
        ("k3", "/a", true, "A"),
        ("k4", "/*.adp", false, "ADP"),
        ("k4", "/*.html", false, "HTML"),
        ("k5", "/a/*", false, "STAR"),
        ("k5", "/a/*.adp", false, "ADP"),
        ("k9", "/a", false, "A"),
        ("k9", "/a", false, "B"),
        ("k11", "/ü/é", false, "U"),
    ]);
    for (key, url, expected) in [
        ("k1", "/", "root"),
        ("k1", "/a/b/c", "root"),
        ("k2", "/a", "A"),
        ("k2", "/a/x", "A"),
        ("k2", "/a/b/c", "AB"),
        ("k2", "/z", ""),
        ("k3", "/a", "A"),
        ("k3", "/a/", "A"),
        ("k3", "/a/b", ""),
        ("k4", "/x.adp", "ADP"),
        ("k4", "/d/e/y.html", "HTML"),
        ("k4", "/x.txt", ""),
        ("k5", "/a/b", "STAR"),
        ("k5", "/a/b.adp", "ADP"),
        ("k5", "/a", "STAR"),
        ("k9", "/a", "B"),
        ("k11", "/ü/é/x", "U"),
        ("nokey", "/", ""),
    ] {
        assert_eq!(get(&s, key, url), expected, "{key} {url}");
    }
    assert_eq!(s.get_exact("k2", "/a", false, None), Some("A"));
    assert_eq!(s.get_exact("k2", "/a/c", false, None), None);
    assert_eq!(s.get_exact("k4", "/*.adp", false, None), Some("ADP"));
    assert!(!s.unset("nokey", "/nosuch", Unset::default()));
    assert!(s.unset("k9", "/a", Unset::default()));
    assert_eq!(get(&s, "k9", "/a"), "");
    s.unset(
        "k2",
        "/a",
        Unset {
            recurse: true,
            ..Unset::default()
        },
    );
    assert_eq!((get(&s, "k2", "/a"), get(&s, "k2", "/a/b")), ("", ""));
}

/// Exchanges of the families route and urlspace.
#[test]
fn exchanges() {
    let s = space(&[
        ("GET", "/g/a", false, "a inherit"),
        ("GET", "/g/a", true, "a exact"),
        ("GET", "/g/a/b", false, "a/b"),
        ("GET", "/g/only", true, "only"),
        ("GET", "/g/pat/*.xyz", false, "xyz"),
        ("GET", "/g/pat/img*", false, "img"),
        ("GET", "/g/pat/*", false, "star"),
        ("GET", "/g/pat/deep/*.xyz", false, "deep"),
        (".", "/*.adp", false, "A"),
        (".", "/*.html", false, "H"),
        (".", "/deep/*.html", false, "D"),
        (".", "/deep/er", false, "I"),
        (".", "/deep/er", true, "N"),
    ]);
    for (url, expected) in [
        ("/g/a", "a exact"),
        ("/g/a/", "a exact"),
        ("/g/a/x", "a inherit"),
        ("/g/a/b", "a/b"),
        ("/g/a/b/c", "a/b"),
        ("/g/ab", ""),
        ("/g/only", "only"),
        ("/g/only/", "only"),
        ("/g/only/x", ""),
        ("/g/pat/f.xyz", "xyz"),
        ("/g/pat/sub/f.xyz", "xyz"),
        ("/g/pat/img1.png", "img"),
        ("/g/pat/other", "star"),
        ("/g/pat/deep/f.xyz", "deep"),
        ("/g/pat/deep/f.abc", "star"),
        ("/g/pat/img.xyz", "xyz"),
        ("/g/pat/", "star"),
        ("/g/pat", "star"),
    ] {
        assert_eq!(get(&s, "GET", url), expected, "{url}");
    }
    for (url, expected, exact) in [
        ("/a.adp", "A", ""),
        ("/x/y/a.adp", "A", ""),
        ("/a.html", "H", ""),
        ("/deep/a.html", "D", ""),
        ("/deep/more/a.html", "D", ""),
        ("/deep/er", "N", "I"),
        ("/deep/er/z", "I", ""),
        ("/deep/er/z.html", "I", ""),
        ("/none", "", ""),
        ("/", "", ""),
    ] {
        assert_eq!(get(&s, ".", url), expected, "{url}");
        assert_eq!(
            s.get_exact(".", url, false, None).unwrap_or(""),
            exact,
            "{url}"
        );
    }
    assert_eq!(s.get_noinherit(".", "/deep/er", None), Some("N"));
    assert_eq!(s.get_noinherit(".", "/deep/er/z", None), None);
    assert_eq!(s.keys_for("/g/a", None), ["GET"]);
}

#[test]
fn constraints() {
    let s = space(&[("GET", "/g/ctx", false, "anyone")]);
    let add = |list: &[&str], data| {
        s.set(
            "GET",
            "/g/ctx",
            false,
            Constraints::parse(list, "").unwrap(),
            data,
        )
    };
    add(&["user-agent", "*robot*"], "robot");
    add(
        &["x-ns-ip", "127.0.0.0/8", "x-mode", "special"],
        "local and special",
    );
    add(&["x-ns-ip", "10.0.0.0/8"], "private net");
    for (headers, expected) in [
        (&[][..], "anyone"),
        (&[("User-Agent", "big robot 1.0")], "robot"),
        (&[("X-Mode", "special")], "local and special"),
        (&[("X-Mode", "other")], "anyone"),
        (
            &[("X-Mode", "special"), ("User-Agent", "robot")],
            "local and special",
        ),
    ] {
        let headers = Set::from_pairs("", headers.iter().copied());
        let context = RequestContext {
            headers: &headers,
            peer: "127.0.0.1".parse().unwrap(),
        };
        assert_eq!(s.get("GET", "/g/ctx", Some(&context)), Some(expected));
    }
    assert_eq!(s.get("GET", "/g/ctx", None), Some("anyone"));

    // pool-bots-not: a mapping whose constraints do not hold leaves the request to an upper one, or to none.
    let pools = space(&[("GET", "/pool/slow", false, "slow")]);
    pools.set(
        "GET",
        "/pool/*",
        false,
        Constraints::parse(&["user-agent", "*crawler*"], "").unwrap(),
        "bots",
    );
    let crawler = Set::from_pairs("", [("User-Agent", "my crawler")]);
    let browser = Set::from_pairs("", [("User-Agent", "browser")]);
    assert_eq!(pools.get("GET", "/pool/x", Some(&crawler)), Some("bots"));
    assert_eq!(pools.get("GET", "/pool/x", Some(&browser)), None);
    assert_eq!(pools.get("GET", "/pool/slow", Some(&crawler)), Some("slow"));

    // ns_register-5: a constrained registration goes with all_constraints only.
    assert!(!pools.unset("GET", "/pool", Unset::default()));
    assert!(pools.unset(
        "GET",
        "/pool",
        Unset {
            all_constraints: true,
            ..Unset::default()
        }
    ));
    assert_eq!(pools.get("GET", "/pool/x", Some(&crawler)), None);
}

#[test]
fn list_is_that_of_the_manual() {
    let s = space(&[
        (".", "/*.adp", false, "A"),
        (".", "/*.html", false, "H"),
        (".", "/internal/space/*", false, "I"),
        ("POST", "/vecreg3/*.adp", true, "P"),
    ]);
    s.set(
        ".",
        "/*.adp",
        false,
        Constraints::parse(&["user-agent", "*bot*"], "").unwrap(),
        "C",
    );
    let list: Vec<String> = s
        .list()
        .iter()
        .map(|l| {
            let pairs: Vec<String> = l
                .constraints
                .pairs()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            format!(
                "{} {} {} {} [{}] {}",
                l.key,
                l.path,
                l.pattern,
                l.kind(),
                pairs.join(" "),
                l.data
            )
        })
        .collect();
    assert_eq!(
        list,
        [
            ". / *.html inherit [] H",
            ". / *.adp inherit [] A",
            ". / *.adp inherit [user-agent=*bot*] C",
            ". /internal/space * inherit [] I",
            "POST /vecreg3 *.adp noinherit [] P",
        ]
    );
}

#[test]
fn noinherit_with_a_pattern_means_the_directory() {
    let s = space(&[
        ("POST", "/v/*.adp", true, "exact"),
        ("POST", "/v/*.adp", false, "below"),
    ]);
    assert_eq!(get(&s, "POST", "/v/x.adp"), "exact");
    assert_eq!(get(&s, "POST", "/v/w/x.adp"), "below");
    assert_eq!(get(&s, "POST", "/v"), "");
}

#[test]
fn readers_keep_their_version() {
    let s = space(&[("GET", "/a/b", false, "old")]);
    let before = s.roots.load_full();
    s.set("GET", "/a/b", false, Constraints::default(), "new");
    assert_eq!(
        before.get("GET").unwrap().get("/a/b", None, None),
        Some(&"old")
    );
    assert_eq!(get(&s, "GET", "/a/b"), "new");
}

/// The specification as a loop over all registrations: every one that applies, ranked.
struct Naive(Vec<(String, bool, usize)>);

impl Naive {
    fn set(&mut self, url: &str, noinherit: bool, data: usize) {
        let same =
            |r: &&mut (String, bool, usize)| canonical(&r.0) == canonical(url) && r.1 == noinherit;
        match self.0.iter_mut().find(same) {
            Some(row) => row.2 = data,
            None => self.0.push((url.to_owned(), noinherit, data)),
        }
    }

    fn unset(&mut self, url: &str, noinherit: bool) {
        self.0
            .retain(|r| canonical(&r.0) != canonical(url) || r.1 != noinherit);
    }

    fn get(&self, url: &str) -> Option<usize> {
        let url: Vec<&str> = url.split('/').filter(|s| !s.is_empty()).collect();
        let mut best: Option<((usize, usize, bool), usize)> = None;
        for (at, noinherit, data) in &self.0 {
            let (dir, pattern) = canonical(at);
            if url.len() < dir.len() || url[..dir.len()] != dir[..] {
                continue;
            }
            let below = url.len() - dir.len();
            let star = pattern == "*";
            let applies = if star {
                true
            } else {
                below > 0 && shared::glob::matches(&pattern, url[url.len() - 1])
            };
            if !applies || (*noinherit && below != usize::from(!star)) {
                continue;
            }
            let literal = pattern.chars().filter(|c| *c != '*' && *c != '?').count() * 2
                + pattern.chars().filter(|c| *c == '?').count();
            let rank = (dir.len(), literal, *noinherit);
            if best.as_ref().is_none_or(|(b, _)| rank > *b) {
                best = Some((rank, *data));
            }
        }
        best.map(|(_, data)| data)
    }
}

fn canonical(url: &str) -> (Vec<String>, String) {
    let mut parts: Vec<String> = url
        .split('/')
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
        .collect();
    let pattern = match parts.last() {
        Some(last) if last.contains('*') || last.contains('?') => parts.pop().unwrap(),
        _ => "*".to_owned(),
    };
    (parts, pattern)
}

/// Patterns of different rank, or that never fit the same name: for equals the older pattern wins, which the model does not track.
const LAST: &[&str] = &[
    "", "/", "/a", "/b", "/*", "/*.x", "/*.yy", "/a.x*", "/?.x", "/??",
];

fn any_url() -> impl Strategy<Value = String> {
    let dir = prop::collection::vec(prop::sample::select(vec!["/a", "/b", "/a.x", "//a"]), 0..3);
    (dir, prop::sample::select(LAST)).prop_map(|(dir, last)| dir.concat() + last)
}

proptest! {
    #[test]
    fn equals_the_naive_model(
        changes in prop::collection::vec((any_url(), any::<bool>(), 0..5u8), 0..20),
        names in prop::collection::vec(prop::sample::select(vec!["a", "b", "a.x", "b.yy", "cc", ""]), 0..5),
    ) {
        let (space, mut naive) = (Space::new(), Naive(Vec::new()));
        for (i, (url, noinherit, action)) in changes.iter().enumerate() {
            if *action == 0 {
                space.unset("GET", url, Unset { noinherit: *noinherit, ..Unset::default() });
                naive.unset(url, *noinherit);
            } else {
                space.set("GET", url, *noinherit, Constraints::default(), i);
                naive.set(url, *noinherit, i);
            }
            let url = format!("/{}", names.join("/"));
            prop_assert_eq!(space.get("GET", &url, None), naive.get(&url), "{}", url);
        }
        prop_assert_eq!(space.list().len(), naive.0.len());
    }

    #[test]
    fn recursion_leaves_nothing_below(
        urls in prop::collection::vec(any_url(), 0..20),
        top in prop::sample::select(vec!["/", "/a", "/b/a"]),
    ) {
        let space = Space::new();
        for url in &urls {
            space.set("GET", url, false, Constraints::default(), ());
        }
        space.unset("GET", top, Unset { recurse: true, ..Unset::default() });
        let prefix = if top == "/" { "/".to_owned() } else { format!("{top}/") };
        let left = space.list().iter().any(|l| format!("{}/", l.path).starts_with(&prefix));
        prop_assert!(!left);
    }
}
