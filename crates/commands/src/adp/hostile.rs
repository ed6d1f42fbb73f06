//! The ADP parser with pages nobody would write: no panic, and time in proportion to the length.

use proptest::prelude::*;

use super::parser::{Block, Lookup, parse, single_script};
use super::tags::{Tag, TagKind};

fn lookup(name: &str) -> Option<Tag> {
    let end = match name {
        "t" => None,
        "b" => Some("/b".to_owned()),
        _ => return None,
    };
    Some(Tag {
        kind: TagKind::Proc,
        end,
        script: "p".into(),
    })
}

/// Time of this thread, so that a busy machine does not matter.
fn spent(work: impl Fn()) -> f64 {
    let now = || {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
    };
    let one = || {
        let before = now();
        work();
        now() - before
    };
    (0..2).map(|_| one()).fold(f64::INFINITY, f64::min)
}

/// Four times the page may take eight times the time; the square would be sixteen times. With optimization 10 MB take less
/// than a second.
fn is_linear(piece: &str, tail: &str) {
    let page = |bytes: usize| piece.repeat(bytes / piece.len()) + tail;
    let time = |page: &str| {
        spent(|| {
            let blocks = parse(page, false, Some(&lookup));
            assert!(
                blocks
                    .iter()
                    .all(|b| matches!(b, Block::Script(_)) || !range(b).is_empty())
            );
        })
    };
    let (small, large) = (time(&page(16 << 10)), time(&page(64 << 10)));
    assert!(
        large < 8.0 * small + 0.01,
        "{piece:?} {tail:?}: {small} s, four times as much: {large} s"
    );
    if !cfg!(debug_assertions) {
        let ten = time(&page(10_000_000));
        assert!(ten < 1.0, "{piece:?} {tail:?}: {ten} s for 10 MB");
    }
}

fn range(block: &Block) -> std::ops::Range<usize> {
    match block {
        Block::Text(range) => range.clone(),
        Block::Script(_) => 0..0,
    }
}

#[test]
fn hostile_pages_take_no_longer() {
    for (piece, tail) in [
        ("<", ""),
        ("<%", ""),
        ("<%", "%>"),
        ("<%<%%>", ""),
        ("<%<%%> ", "%>"),
        ("<%%>%>", ""),
        ("<%=x%>", ""),
        ("<t ", ""),
        ("<t a=", ""),
        ("<t '", ""),
        ("<t \"<t '", "'"),
        ("<t \"<%%>\" ", ">"),
        ("<t ", ">"),
        ("<b>", ""),
        ("<b>", "</b>"),
        ("<b></b>", ""),
        ("<b><b></b>", ""),
        ("<b a", "</b"),
        ("<script ", ""),
        ("<script runat=server>", ""),
        ("<script runat=server>", "</script"),
        ("<script runat=server language=x>", "</script>"),
        ("</script", ">"),
        ("a b", ""),
        ("é<", ""),
    ] {
        is_linear(piece, tail);
    }
}

/// Blocks of the parser that looks ahead from every place anew; it is simple and, for such pages, slow.
fn closes_of_simple_search(text: &str, from: usize) -> Option<usize> {
    let find = |what: &str, from: usize| text.get(from..)?.find(what).map(|at| from + at);
    let first = find("%>", from)?;
    let (mut end, mut at) = (first, from);
    while let Some(inner) = find("<%", at).filter(|i| *i < end) {
        match find("%>", end + 2) {
            Some(next) => end = next,
            None => return Some(first),
        }
        at = inner + 2;
    }
    Some(end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn never_panics_and_keeps_the_order(page in "(<%|%>|<t|<b>|</b>|<script runat=server>|</script>|'|\"|=| |>|<|a|é|\n){0,24}", safe in any::<bool>()) {
        let lookup: Lookup<'_> = &lookup;
        let blocks = parse(&page, safe, Some(lookup));
        for block in &blocks {
            if let Block::Text(range) = block {
                prop_assert!(page.get(range.clone()).is_some());
            }
        }
        // Tags, which the operator registered, are scripts in safe pages too.
        let is_harmless = blocks.iter().all(|b| match b {
            Block::Script(s) => s.text.starts_with("ns_adp_append ["),
            Block::Text(_) => true,
        });
        prop_assert!(!safe || is_harmless);
        let _ = single_script(&page, &blocks);
    }

    #[test]
    fn scripts_end_where_looking_ahead_says(page in "(<%|%>|<%>|a){0,16}") {
        let blocks = parse(&page, false, None);
        let mut expected = Vec::new();
        let mut at = 0;
        while let Some(open) = page[at..].find('<').map(|o| at + o) {
            if !page[open..].starts_with("<%") {
                at = open + 1;
                continue;
            }
            let Some(end) = closes_of_simple_search(&page, open + 2) else { break };
            if !page[open + 2..end].trim().is_empty() {
                expected.push(page[open + 2..end].to_owned());
            }
            at = end + 2;
        }
        let scripts: Vec<String> = blocks.into_iter().filter_map(|b| match b {
            Block::Script(s) => Some(s.text),
            Block::Text(_) => None,
        }).collect();
        prop_assert_eq!(scripts, expected);
    }
}
