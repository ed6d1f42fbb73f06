//! Laws of `Set`, against a plain vector of pairs and against recorded answers of the reference.

use super::*;
use proptest::prelude::*;

fn pairs(set: &Set) -> Vec<(&str, &str)> {
    set.iter().collect()
}

#[test]
fn recorded_answers() {
    let mut s = Set::new_nocase("x");
    s.extend([("Foo", "1"), ("BAR", "2")]);
    assert_eq!(pairs(&s), [("foo", "1"), ("bar", "2")]);
    assert_eq!(s.get("FOO"), Some("1"));
    s.update("FOO", "3");
    assert_eq!(pairs(&s), [("foo", "3"), ("bar", "2")]);

    let mut s = Set::from_pairs("s", [("a", "1"), ("b", "2")]);
    assert_eq!(s.iupdate("A", "9"), 0);
    assert_eq!(pairs(&s), [("A", "9"), ("b", "2")]);
    assert!(!s.truncate(3));
    assert!(s.truncate(1));
    assert_eq!(s.len(), 1);

    let s = Set::from_pairs("s", [("ä", "1"), ("Ä", "2")]);
    assert_eq!((s.get("Ä"), s.iget("Ä")), (Some("2"), Some("2")));

    let mut a = Set::unnamed();
    a.merge(&Set::from_pairs("b", [("k", "1"), ("k", "2")]));
    assert_eq!(pairs(&a), [("k", "1")]);
}

#[test]
fn split_by_a_character() {
    let s = Set::from_pairs("x", [("a.b.c", "1"), (".x", "2"), ("y.", "3")]);
    let parts: Vec<_> = s
        .split('.')
        .iter()
        .map(|p| (p.name().to_string(), p.format(false, "", "=")))
        .collect();
    assert_eq!(
        parts,
        [
            ("a".into(), "b.c=1\n".into()),
            ("".into(), "x=2\n".into()),
            ("y".into(), "=3\n".to_string())
        ]
    );
    let s = Set::from_pairs("x", [("a:b", "1"), ("a:c", "2"), ("d", "3")]);
    assert_eq!(s.split(':').len(), 2);
}

#[test]
fn format_as_the_reference() {
    let s = Set::from_pairs("basket", [("a", "1"), ("b", "2")]);
    assert_eq!(s.format(true, "  ", ": "), "basket:\n  a: 1\n  b: 2\n");
    assert_eq!(s.format(false, "* ", "\t"), "* a\t1\n* b\t2\n");
    assert_eq!(Set::unnamed().format(true, "  ", ": "), "");
    assert_eq!(Set::new("").format(true, "  ", ": "), ":\n");
}

#[test]
fn null_is_not_empty() {
    let mut s = Set::unnamed();
    s.put_null("a");
    s.put("b", "");
    assert_eq!(
        (s.is_null(0), s.is_null(1), s.is_null(2)),
        (Some(true), Some(false), None)
    );
    assert_eq!(s.get("a"), Some(""));
    let copy = s.copy();
    assert_eq!(copy, s);
    s.put_value(0, "x");
    assert_eq!(s.is_null(0), Some(false));
    s.put_null_value(0);
    assert_eq!((s.is_null(0), s.get("b")), (Some(true), Some("")));
}

#[test]
fn updates_for_ever_do_not_grow() {
    let mut s = Set::from_pairs("s", [("a", "1"), ("b", "2")]);
    for i in 0..20_000 {
        s.update("a", "x".repeat(i % 100));
    }
    assert!(s.memory().0 < 8192, "{:?}", s.memory());
}

#[test]
fn clearing_keeps_the_allocations() {
    let mut s = Set::from_pairs("s", [("key", "value")]);
    let before = s.memory().0;
    s.clear();
    assert_eq!((s.memory().0, s.memory().1, s.name()), (before, 0, "s"));
}

#[derive(Debug, Clone)]
enum Step {
    Put(String, String),
    Update(String, String),
    Iupdate(String, String),
    Cput(String, String),
    Icput(String, String),
    Delete(usize),
    Delkey(String),
    Idelkey(String),
    Truncate(usize),
    Rename(usize, String),
    PutValue(usize, String),
    Nocase,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || "[aAbBü]{0,2}";
    let value = || prop_oneof!["[x-zü]{0,3}", Just("v".repeat(700))];
    prop_oneof![
        (key(), value()).prop_map(|(k, v)| Step::Put(k, v)),
        (key(), value()).prop_map(|(k, v)| Step::Update(k, v)),
        (key(), value()).prop_map(|(k, v)| Step::Iupdate(k, v)),
        (key(), value()).prop_map(|(k, v)| Step::Cput(k, v)),
        (key(), value()).prop_map(|(k, v)| Step::Icput(k, v)),
        (0..8usize).prop_map(Step::Delete),
        key().prop_map(Step::Delkey),
        key().prop_map(Step::Idelkey),
        (0..8usize).prop_map(Step::Truncate),
        (0..8usize, key()).prop_map(|(i, k)| Step::Rename(i, k)),
        (0..8usize, value()).prop_map(|(i, v)| Step::PutValue(i, v)),
        Just(Step::Nocase),
    ]
}

/// The definition: a vector of pairs.
#[derive(Default)]
struct Model(Vec<(String, String)>, bool);

impl Model {
    fn find(&self, key: &str, i: bool) -> Option<usize> {
        self.0.iter().position(|(k, _)| {
            if i || self.1 {
                k.eq_ignore_ascii_case(key)
            } else {
                k == key
            }
        })
    }

    fn spell(&self, key: &str) -> String {
        if self.1 {
            key.to_ascii_lowercase()
        } else {
            key.into()
        }
    }

    fn put(&mut self, key: &str, value: &str) {
        self.0.push((self.spell(key), value.into()));
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Put(k, v) => self.put(k, v),
            Step::Update(k, v) => match self.find(k, false) {
                Some(i) => self.0[i].1 = v.clone(),
                None => self.put(k, v),
            },
            Step::Iupdate(k, v) => match self.find(k, true) {
                Some(i) => self.0[i] = (self.spell(k), v.clone()),
                None => self.put(k, v),
            },
            Step::Cput(k, v) if self.find(k, false).is_none() => self.put(k, v),
            Step::Icput(k, v) if self.find(k, true).is_none() => self.put(k, v),
            Step::Cput(..) | Step::Icput(..) => {}
            Step::Delete(i) if *i < self.0.len() => drop(self.0.remove(*i)),
            Step::Delkey(k) => drop(self.find(k, false).map(|i| self.0.remove(i))),
            Step::Idelkey(k) => drop(self.find(k, true).map(|i| self.0.remove(i))),
            Step::Truncate(n) => self.0.truncate(*n),
            Step::Rename(i, k) if *i < self.0.len() => self.0[*i].0 = self.spell(k),
            Step::PutValue(i, v) if *i < self.0.len() => self.0[*i].1 = v.clone(),
            Step::Delete(_) | Step::Rename(..) | Step::PutValue(..) => {}
            Step::Nocase => {
                self.1 = !self.1;
                if self.1 {
                    self.0
                        .iter_mut()
                        .for_each(|(k, _)| k.make_ascii_lowercase());
                }
            }
        }
    }
}

fn apply(set: &mut Set, step: &Step) {
    match step {
        Step::Put(k, v) => drop(set.put(k, v)),
        Step::Update(k, v) => drop(set.update(k, v)),
        Step::Iupdate(k, v) => drop(set.iupdate(k, v)),
        Step::Cput(k, v) => drop(set.cput(k, v)),
        Step::Icput(k, v) => drop(set.icput(k, v)),
        Step::Delete(i) => drop(set.delete(*i)),
        Step::Delkey(k) => drop(set.delkey(k)),
        Step::Idelkey(k) => drop(set.idelkey(k)),
        Step::Truncate(n) => drop(set.truncate(*n)),
        Step::Rename(i, k) => drop(set.rename(*i, k)),
        Step::PutValue(i, v) => drop(set.put_value(*i, v)),
        Step::Nocase => set.set_nocase(!set.is_nocase()),
    }
}

proptest! {
    #[test]
    fn behaves_like_a_vector_of_pairs(steps in proptest::collection::vec(step(), 0..40), probe in "[aAbBü]{0,2}") {
        let (mut set, mut model) = (Set::unnamed(), Model::default());
        for step in &steps {
            apply(&mut set, step);
            model.apply(step);
            let expected: Vec<_> = model.0.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            prop_assert_eq!(pairs(&set), expected);
            prop_assert_eq!(set.find(&probe), model.find(&probe, false));
            prop_assert_eq!(set.ifind(&probe), model.find(&probe, true));
            let all = model.0.iter().filter(|(k, _)| k.eq_ignore_ascii_case(&probe)).count();
            prop_assert_eq!(set.iget_all(&probe).count(), all);
            prop_assert_eq!(set.iunique(&probe), all < 2);
            prop_assert_eq!(set.memory().1, model.0.iter().map(|(k, v)| k.len() + v.len() + size_of::<Field>()).sum());
        }
        prop_assert_eq!(set.copy(), set);
    }
}
