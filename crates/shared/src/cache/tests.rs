//! Laws of the caches, against recorded answers of the reference and a plain model.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::AtomicUsize;
use std::thread::scope;

fn cache(max_size: usize) -> Arc<Cache> {
    Cache::new(
        "test",
        Config {
            max_size,
            max_entry: 0,
            expires: None,
            timeout: None,
        },
    )
}

/// `ns_cache_eval`.
fn eval(
    cache: &Arc<Cache>,
    key: &str,
    value: &str,
    mut transaction: Option<&mut Transaction>,
) -> String {
    match cache.begin(key, false, None, transaction.as_deref_mut()) {
        Lookup::Hit(value) => value.to_string(),
        Lookup::Make(maker) => maker.finish(value, None, transaction).to_string(),
        Lookup::TimedOut | Lookup::Recursive => panic!("nobody else makes it"),
    }
}

fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

#[test]
fn recorded_counts() {
    let c = cache(1 << 20);
    for key in ["a", "a", "b"] {
        eval(&c, key, "1", None);
    }
    let stats = c.stats();
    assert_eq!(
        (
            stats.entries,
            stats.hits,
            stats.missed,
            stats.flushed,
            stats.max_size
        ),
        (2, 3, 2, 0, 1 << 20)
    );
    c.reset_stats();
    assert_eq!((c.stats().entries, c.stats().hits), (2, 0));
    assert!(c.flush("a", None) && !c.flush("a", None));
    assert_eq!(c.stats().flushed, 1);
    let c = cache(1 << 20);
    eval(&c, "a", "12345", None);
    assert_eq!(
        c.contents(),
        [Content {
            key: "a".into(),
            size: 5,
            hits: 1,
            expires: Time::ZERO
        }]
    );
}

#[test]
fn the_budget_holds() {
    let c = cache(100);
    for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        eval(&c, key, &"x".repeat(40), None);
    }
    assert_eq!(c.keys(None, None), ["h"]);
    assert_eq!(c.stats().pruned, 7);
    let c = cache(2000);
    for i in 0..1000 {
        eval(&c, &i.to_string(), "0123456789", None);
        c.get("0", None);
        assert!(c.stats().size <= 2000);
    }
    assert!(c.contains("0", None) && c.contains("999", None) && !c.contains("1", None));
    c.set_config(Config {
        max_size: 300,
        ..c.config()
    });
    assert!(c.stats().size <= 300);
    c.set_config(Config {
        max_size: 2000,
        max_entry: 20,
        ..c.config()
    });
    c.set("0", &"x".repeat(21), None);
    assert!(!c.contains("0", None));
}

#[test]
fn values_expire() {
    let c = cache(1 << 20);
    c.set("a", "1", Some(Time::new(1_000_000_001, 0)));
    c.set("b", "1", Some(Time::new(3600, 0)));
    assert_eq!(c.keys(None, None), ["b"]);
    assert_eq!(
        (c.get("a", None), c.stats().expired, c.stats().entries),
        (None, 1, 1)
    );
    assert_eq!(eval(&c, "a", "2", None), "2");
}

#[test]
fn keys_and_flushes_by_pattern() {
    let c = cache(1 << 20);
    let fill = || {
        ["a", "ab", "b", "a*"]
            .iter()
            .for_each(|key| c.set(key, "1", None))
    };
    fill();
    assert_eq!(sorted(c.keys(Some("a*"), None)), ["a", "a*", "ab"]);
    assert_eq!(
        (c.flush_glob("a*", None), c.keys(None, None)),
        (3, vec!["b".to_string()])
    );
    fill();
    assert!(c.flush("a*", None));
    assert_eq!(
        (
            c.flush_glob("z*", None),
            c.flush_prefix("a", None),
            c.flush_all(None)
        ),
        (0, 2, 1)
    );
    let (c, many) = (cache(64 << 20), 3 * SLICE);
    (0..many).for_each(|i| c.set(&i.to_string(), "", None));
    let odd = c.keys(Some("*[13579]"), None).len();
    assert_eq!((odd, c.flush_glob("*[13579]", None)), (many / 2, many / 2));
    assert_eq!((c.flush_all(None), c.stats().size), (many / 2, 0));
}

#[test]
fn one_thread_makes_and_the_others_wait() {
    let c = cache(1 << 20);
    let made = AtomicUsize::new(0);
    scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match c.begin("k", false, None, None) {
                Lookup::Hit(value) => assert_eq!(&*value, "v"),
                Lookup::Make(maker) => {
                    made.fetch_add(1, Relaxed);
                    std::thread::yield_now();
                    maker.finish("v", None, None);
                }
                Lookup::TimedOut | Lookup::Recursive => panic!("no limit was given"),
            });
        }
    });
    assert_eq!((made.load(Relaxed), c.making()), (1, 0));
}

#[test]
fn a_maker_that_fails_is_followed_by_another() {
    let c = cache(1 << 20);
    let Lookup::Make(maker) = c.begin("k", false, None, None) else {
        panic!("nothing is there")
    };
    scope(|scope| {
        let other = scope.spawn(|| eval(&c, "k", "second", None));
        let late = scope.spawn(|| {
            matches!(
                c.begin("k", false, Some(Time::new(0, 1)), None),
                Lookup::TimedOut
            )
        });
        assert!(late.join().expect("it ends"));
        drop(maker);
        assert_eq!(other.join().expect("it ends"), "second");
    });
}

#[test]
fn asking_for_what_one_makes_is_an_error() {
    let c = cache(1 << 20);
    let Lookup::Make(maker) = c.begin("k", false, None, None) else {
        panic!("nothing is there")
    };
    assert!(matches!(c.begin("k", false, None, None), Lookup::Recursive));
    let refused = c.update("k", None, None, None, |_| Ok::<_, ()>((String::new(), ())));
    assert_eq!(refused, Err(UpdateError::Recursive));
    assert_eq!(eval(&c, "other", "1", None), "1");
    assert_eq!(&*maker.finish("v", None, None), "v");
}

#[test]
fn what_is_flushed_while_it_is_made_is_not_kept() {
    let c = cache(1 << 20);
    let Lookup::Make(maker) = c.begin("k", false, None, None) else {
        panic!("nothing is there")
    };
    scope(|scope| {
        scope.spawn(|| c.flush_glob("k*", None));
    });
    assert_eq!(&*maker.finish("old", None, None), "old");
    assert_eq!(c.get("k", None), None);
    let Lookup::Make(maker) = c.begin("k", true, None, None) else {
        panic!("forced")
    };
    c.flush("k", None);
    maker.finish("own flush", None, None);
    assert!(c.contains("k", None));
    assert!(matches!(c.begin("k", true, None, None), Lookup::Make(_)));
    assert!(!c.contains("k", None));
}

#[test]
fn updates_are_one_step() {
    let c = cache(1 << 20);
    scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let add = |old: Option<&str>| {
                        let n: u32 = old.map_or(Ok(0), str::parse)?;
                        Ok::<_, std::num::ParseIntError>(((n + 1).to_string(), n + 1))
                    };
                    c.update("n", None, None, None, add).expect("a number");
                }
            });
        }
    });
    assert_eq!(c.get("n", None).as_deref(), Some("2000"));
    let refused = c.update("n", None, None, None, |_| Err::<(String, ()), _>("no"));
    assert_eq!(refused, Err(UpdateError::Refused("no")));
}

#[test]
fn transactions_hold_values_back() {
    let c = cache(1 << 20);
    let mut t = Transaction::new();
    assert_eq!((t.commit(false), t.rollback(true)), (None, None));
    c.set("old", "0", None);
    t.begin();
    assert_eq!(eval(&c, "a", "1", Some(&mut t)), "1");
    assert_eq!(eval(&c, "a", "2", Some(&mut t)), "1");
    assert_eq!(
        (c.get("a", None), c.get("a", Some(&t)).as_deref()),
        (None, Some("1"))
    );
    assert_eq!(sorted(c.keys(None, Some(&t))), ["a", "old"]);
    assert_eq!(
        (t.rollback(false), c.keys(None, Some(&t))),
        (Some(1), vec!["old".to_string()])
    );
    t.begin();
    eval(&c, "a", "1", Some(&mut t));
    t.begin();
    eval(&c, "b", "1", Some(&mut t));
    assert_eq!((t.rollback(false), t.commit(false)), (Some(1), Some(1)));
    assert_eq!(sorted(c.keys(None, None)), ["a", "old"]);
    t.begin();
    t.begin();
    eval(&c, "c", "1", Some(&mut t));
    assert_eq!(
        (t.commit(true), t.is_active(), c.contains("c", None)),
        (Some(1), false, true)
    );
    t.begin();
    c.flush("c", Some(&mut t));
    t.rollback(false);
    assert!(!c.contains("c", None));
    assert_eq!((c.stats().commit, c.stats().rollback), (2, 2));
}

#[test]
fn a_commit_does_not_bring_back_what_was_flushed() {
    let c = cache(1 << 20);
    let mut t = Transaction::new();
    t.begin();
    eval(&c, "a", "1", Some(&mut t));
    eval(&c, "b", "1", Some(&mut t));
    assert!(c.flush("a", Some(&mut t)));
    eval(&c, "a", "2", Some(&mut t));
    c.flush("b", None);
    t.commit(false);
    assert_eq!(
        (c.get("a", None).as_deref(), c.get("b", None)),
        (Some("2"), None)
    );
}

proptest! {
    #[test]
    fn behaves_like_a_list_by_use(steps in proptest::collection::vec((0..4u8, "[a-f]", 0..60usize), 0..80)) {
        // Oldest first.
        let (c, mut model) = (cache(700), Vec::<(String, usize)>::new());
        for (step, key, length) in steps {
            let place = model.iter().position(|(other, _)| *other == key);
            match step {
                0 | 1 => {
                    c.set(&key, &"x".repeat(length), None);
                    place.map(|i| model.remove(i));
                    model.push((key, length));
                }
                2 => {
                    prop_assert_eq!(c.get(&key, None).map(|value| value.len()), place.map(|i| model[i].1));
                    if let Some(i) = place {
                        let used = model.remove(i);
                        model.push(used);
                    }
                }
                _ => {
                    prop_assert_eq!(c.flush(&key, None), place.is_some());
                    place.map(|i| model.remove(i));
                }
            }
            let overhead = { let probe = cache(1 << 20); probe.set("", "", None); probe.stats().size };
            let size = |model: &[(String, usize)]| model.iter().map(|(k, n)| k.len() + n + overhead).sum::<usize>();
            while size(&model) > 700 && model.len() > 1 {
                model.remove(0);
            }
            prop_assert_eq!(c.stats().size, size(&model));
            let mut expected: Vec<String> = model.iter().map(|(key, _)| key.clone()).collect();
            expected.sort();
            prop_assert_eq!(sorted(c.keys(None, None)), expected);
        }
    }
}
