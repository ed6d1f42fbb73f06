//! `nsv`: arrays of text that all threads of a server share.
//!
//! Arrays lie in buckets by the hash of their name; each bucket has a lock of its own, which readers share.

use crate::glob;
use crate::lock::{RwLock, Stats};
use hashbrown::HashMap;
use std::hash::BuildHasher;

/// All arrays of a server.
pub struct Store {
    buckets: Box<[RwLock<HashMap<String, Array>>]>,
    hasher: hashbrown::DefaultHashBuilder,
}

/// What is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    Array,
    Key,
}

/// An array in a bucket (`nsv_bucket`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayStats {
    pub name: String,
    /// How often it was looked at or changed.
    pub locks: u64,
    pub keys: usize,
}

#[derive(Default)]
struct Array {
    values: HashMap<String, String>,
    uses: std::sync::atomic::AtomicU64,
}

impl Store {
    /// A store with this many buckets, at least one. `server` goes into the names of the locks.
    pub fn new(server: &str, buckets: usize) -> Store {
        let bucket = |i| RwLock::new(format!("nsv:{server}:{i}"), HashMap::new());
        Store {
            buckets: (0..buckets.max(1)).map(bucket).collect(),
            hasher: Default::default(),
        }
    }

    /// The value of a key.
    pub fn get(&self, array: &str, key: &str) -> Result<String, Missing> {
        self.with(array, key, str::to_string)
    }

    /// Looks at the value of a key without copying it. `look` must not come back to this store.
    pub fn with<R>(
        &self,
        array: &str,
        key: &str,
        look: impl FnOnce(&str) -> R,
    ) -> Result<R, Missing> {
        self.read(array, |found| {
            let value = found.ok_or(Missing::Array)?.values.get(key);
            value.map(|value| look(value)).ok_or(Missing::Key)
        })
    }

    pub fn exists(&self, array: &str, key: &str) -> bool {
        self.read(array, |found| {
            found.is_some_and(|found| found.values.contains_key(key))
        })
    }

    /// Sets a value and answers the old one. Makes the array where there is none.
    pub fn set(&self, array: &str, key: &str, value: impl Into<String>) -> Option<String> {
        let value = value.into();
        self.write(array, |values| match values.get_mut(key) {
            Some(old) => Some(std::mem::replace(old, value)),
            None => {
                values.insert(key.to_string(), value);
                None
            }
        })
    }

    /// Sets a value only where there is none. Answers the value that is there then, and whether it is the new one.
    pub fn set_default(&self, array: &str, key: &str, value: &str) -> (String, bool) {
        self.write(array, |values| match values.get(key) {
            Some(old) => (old.clone(), false),
            None => {
                values.insert(key.to_string(), value.to_string());
                (value.to_string(), true)
            }
        })
    }

    /// Reads and changes a value in one step: `change` gets `None` where there is no value, and what it leaves there is kept;
    /// leaving `None` removes the key. Makes the array where there is none. `change` must not come back to this store.
    pub fn update<R>(
        &self,
        array: &str,
        key: &str,
        change: impl FnOnce(&mut Option<String>) -> R,
    ) -> R {
        self.write(array, |values| {
            let mut value = values.get_mut(key).map(std::mem::take);
            let result = change(&mut value);
            match (value, values.get_mut(key)) {
                (Some(value), Some(place)) => *place = value,
                (Some(value), None) => drop(values.insert(key.to_string(), value)),
                (None, _) => drop(values.remove(key)),
            }
            result
        })
    }

    /// As [`Store::update`], but an error leaves everything as it was, and no new array.
    pub fn try_update<R, E>(
        &self,
        array: &str,
        key: &str,
        change: impl FnOnce(Option<&str>) -> Result<(String, R), E>,
    ) -> Result<R, E> {
        let mut bucket = self.bucket(array).write();
        let old = bucket.get(array).and_then(|found| found.values.get(key));
        let (value, result) = change(old.map(String::as_str))?;
        let found = bucket.entry_ref(array).or_default();
        found.touch();
        match found.values.get_mut(key) {
            Some(old) => *old = value,
            None => drop(found.values.insert(key.to_string(), value)),
        }
        Ok(result)
    }

    /// Appends to a value, which starts empty, and answers the new one.
    pub fn append(&self, array: &str, key: &str, text: &str) -> String {
        self.write(array, |values| {
            let value = values.entry_ref(key).or_default();
            value.push_str(text);
            value.clone()
        })
    }

    /// Removes a key and answers its value. The array stays, even if it is empty then.
    pub fn unset(&self, array: &str, key: &str) -> Result<String, Missing> {
        let mut bucket = self.bucket(array).write();
        let found = bucket.get_mut(array).ok_or(Missing::Array)?;
        found.touch();
        found.values.remove(key).ok_or(Missing::Key)
    }

    /// Removes an array.
    pub fn unset_array(&self, array: &str) -> Result<(), Missing> {
        let removed = self.bucket(array).write().remove(array);
        // The values are freed here, after the lock is given back.
        removed.map(drop).ok_or(Missing::Array)
    }

    /// Sets many values at once. Makes the array, even for no values.
    pub fn set_all(&self, array: &str, pairs: impl IntoIterator<Item = (String, String)>) {
        self.write(array, |values| values.extend(pairs));
    }

    /// Replaces all values of an array at once. Makes the array, even for no values.
    pub fn reset_all(&self, array: &str, pairs: impl IntoIterator<Item = (String, String)>) {
        let fresh: HashMap<_, _> = pairs.into_iter().collect();
        let old = self.write(array, |values| std::mem::replace(values, fresh));
        drop(old);
    }

    /// Keys and values whose key matches a pattern, all without one, in no order. Nothing where there is no array.
    pub fn get_all(&self, array: &str, pattern: Option<&str>) -> Vec<(String, String)> {
        self.select(array, pattern, |key, value| {
            (key.to_string(), value.to_string())
        })
    }

    /// Keys that match a pattern, all without one, in no order.
    pub fn keys(&self, array: &str, pattern: Option<&str>) -> Vec<String> {
        self.select(array, pattern, |key, _| key.to_string())
    }

    /// The number of keys; 0 where there is no array.
    pub fn size(&self, array: &str) -> usize {
        self.read(array, |found| found.map_or(0, |found| found.values.len()))
    }

    pub fn array_exists(&self, array: &str) -> bool {
        self.bucket(array).read().contains_key(array)
    }

    /// The arrays whose name matches a pattern, all without one, in no order.
    pub fn arrays(&self, pattern: Option<&str>) -> Vec<String> {
        let matches = |name: &&String| pattern.is_none_or(|pattern| glob::matches(pattern, name));
        let names = |bucket: &RwLock<HashMap<String, Array>>| {
            bucket
                .read()
                .keys()
                .filter(matches)
                .cloned()
                .collect::<Vec<_>>()
        };
        self.buckets.iter().flat_map(names).collect()
    }

    pub fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    /// The arrays in a bucket. `None`: no such bucket.
    pub fn bucket_arrays(&self, bucket: usize) -> Option<Vec<ArrayStats>> {
        let arrays = self.buckets.get(bucket)?.read();
        let stats = |(name, array): (&String, &Array)| ArrayStats {
            name: name.clone(),
            locks: array.uses.load(std::sync::atomic::Ordering::Relaxed),
            keys: array.values.len(),
        };
        Some(arrays.iter().map(stats).collect())
    }

    /// What the lock of each bucket has counted.
    pub fn bucket_stats(&self) -> Vec<Stats> {
        self.buckets.iter().map(|bucket| bucket.stats()).collect()
    }

    fn bucket(&self, array: &str) -> &RwLock<HashMap<String, Array>> {
        &self.buckets[(self.hasher.hash_one(array) % self.buckets.len() as u64) as usize]
    }

    fn read<R>(&self, array: &str, look: impl FnOnce(Option<&Array>) -> R) -> R {
        let bucket = self.bucket(array).read();
        let found = bucket.get(array);
        if let Some(found) = found {
            found.touch();
        }
        look(found)
    }

    fn write<R>(&self, array: &str, change: impl FnOnce(&mut HashMap<String, String>) -> R) -> R {
        let mut bucket = self.bucket(array).write();
        let found = bucket.entry_ref(array).or_default();
        found.touch();
        change(&mut found.values)
    }

    fn select<R>(
        &self,
        array: &str,
        pattern: Option<&str>,
        pick: impl Fn(&str, &str) -> R,
    ) -> Vec<R> {
        let pair = |(key, value): (&String, &String)| pick(key, value);
        self.read(array, |found| {
            let Some(found) = found else {
                return Vec::new();
            };
            match pattern {
                // A pattern without special characters is a key.
                Some(key) if !glob::is_pattern(key) => found
                    .values
                    .get_key_value(key)
                    .map(pair)
                    .into_iter()
                    .collect(),
                Some(pattern) => found
                    .values
                    .iter()
                    .filter(|(key, _)| glob::matches(pattern, key))
                    .map(pair)
                    .collect(),
                None => found.values.iter().map(pair).collect(),
            }
        })
    }
}

impl Array {
    fn touch(&self) {
        self.uses.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
        list.sort();
        list
    }

    #[test]
    fn recorded_answers() {
        let store = Store::new("test", 8);
        assert_eq!(store.get("va", "k"), Err(Missing::Array));
        assert_eq!(store.set("va", "k", "v"), None);
        assert_eq!(store.get("va", "nokey"), Err(Missing::Key));
        assert_eq!(store.set("va", "k", "w"), Some("v".into()));
        assert_eq!(store.set_default("va", "k", "x"), ("w".into(), false));
        assert_eq!(store.append("va", "k", "abc"), "wabc");
        assert_eq!(store.unset("va", "k"), Ok("wabc".into()));
        assert_eq!(
            (store.unset("va", "k"), store.array_exists("va")),
            (Err(Missing::Key), true)
        );
        assert_eq!(store.unset_array("va"), Ok(()));
        assert_eq!(
            (store.unset_array("va"), store.size("va")),
            (Err(Missing::Array), 0)
        );
        store.set_all(
            "va",
            [("a", "1"), ("ab", "2"), ("b", "3")].map(|(k, v)| (k.into(), v.into())),
        );
        assert_eq!(sorted(store.keys("va", Some("a*"))), ["a", "ab"]);
        assert_eq!(
            store.get_all("va", Some("b")),
            [("b".to_string(), "3".to_string())]
        );
        store.reset_all("va", []);
        assert_eq!(
            (store.size("va"), store.arrays(Some("v?"))),
            (0, vec!["va".to_string()])
        );
        assert_eq!(
            store.try_update("new", "k", |_| Err::<(String, ()), _>(5)),
            Err(5)
        );
        assert!(!store.array_exists("new"));
        let arrays: usize = (0..8)
            .filter_map(|i| store.bucket_arrays(i))
            .map(|list| list.len())
            .sum();
        assert_eq!((arrays, store.bucket_arrays(8)), (1, None));
    }

    #[test]
    fn an_update_is_one_step() {
        let store = Store::new("test", 2);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        store.update("va", "n", |value| {
                            let n: u32 = value
                                .as_deref()
                                .map_or(0, |text| text.parse().expect("a number"));
                            *value = Some((n + 1).to_string());
                        });
                    }
                });
            }
        });
        assert_eq!(store.get("va", "n"), Ok("2000".into()));
        store.update("va", "n", |value| *value = None);
        assert!(!store.exists("va", "n"));
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(steps in proptest::collection::vec(("[ab]", "[xyz]", 0..4u8, "[0-9]{0,2}"), 0..40)) {
            let (store, mut model) = (Store::new("test", 3), BTreeMap::<String, BTreeMap<String, String>>::new());
            for (array, key, step, value) in steps {
                match step {
                    0 => {
                        let old = model.entry(array.clone()).or_default().insert(key.clone(), value.clone());
                        prop_assert_eq!(store.set(&array, &key, value), old);
                    }
                    1 => {
                        let new = model.entry(array.clone()).or_default().entry(key.clone()).or_default();
                        new.push_str(&value);
                        prop_assert_eq!(&store.append(&array, &key, &value), new);
                    }
                    2 => {
                        let removed = match model.get_mut(&array) {
                            None => Err(Missing::Array),
                            Some(keys) => keys.remove(&key).ok_or(Missing::Key),
                        };
                        prop_assert_eq!(store.unset(&array, &key), removed);
                    }
                    _ => {
                        prop_assert_eq!(store.unset_array(&array).is_ok(), model.remove(&array).is_some());
                    }
                }
                prop_assert_eq!(sorted(store.arrays(None)), model.keys().cloned().collect::<Vec<_>>());
                for (array, keys) in &model {
                    prop_assert_eq!(sorted(store.get_all(array, None)), keys.clone().into_iter().collect::<Vec<_>>());
                }
            }
        }
    }
}
