//! `ns_set`: an ordered list of fields whose keys may repeat, as header fields and form fields do.
//!
//! All keys and values live in one buffer; a table holds where each field lies in it. A whole set of request headers is two
//! allocations, and clearing it for the next request keeps both.

use crate::glob;

/// An ordered multiset of text fields with an optional name. Keys are compared by bytes, or without regard to ASCII case when
/// the set was made with [`Set::new_nocase`]; such a set keeps its keys in lower case.
///
/// Look-ups are linear. `i...` methods disregard ASCII case in every set.
#[derive(Clone, Default)]
pub struct Set {
    name: Option<String>,
    nocase: bool,
    text: String,
    fields: Vec<Field>,
    /// Bytes of `text` that no field refers to any more.
    dead: usize,
}

#[derive(Clone, Copy)]
struct Field {
    key: usize,
    key_len: usize,
    value: usize,
    /// `NULL` for a field without value.
    value_len: usize,
}

const NULL: usize = usize::MAX;

/// Unused bytes below this are never worth a compaction.
const SLACK: usize = 512;

impl Set {
    /// An empty set with a name. It allocates nothing for fields.
    pub fn new(name: impl Into<String>) -> Set {
        Set {
            name: Some(name.into()),
            ..Set::default()
        }
    }

    /// An empty set without name.
    pub fn unnamed() -> Set {
        Set::default()
    }

    /// An empty set that disregards the case of keys and keeps them in lower case.
    pub fn new_nocase(name: impl Into<String>) -> Set {
        Set {
            nocase: true,
            ..Set::new(name)
        }
    }

    /// An empty unnamed set with room for `fields` fields and `bytes` bytes of keys and values.
    pub fn with_capacity(fields: usize, bytes: usize) -> Set {
        Set {
            text: String::with_capacity(bytes),
            fields: Vec::with_capacity(fields),
            ..Set::default()
        }
    }

    /// A set of these fields, in this order.
    pub fn from_pairs<K: AsRef<str>, V: AsRef<str>>(
        name: impl Into<String>,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Set {
        let mut set = Set::new(name);
        set.extend(pairs);
        set
    }

    /// Switches the disregard of case on or off. Switching it on lower-cases the keys that are there.
    pub fn set_nocase(&mut self, nocase: bool) {
        if nocase && !self.nocase {
            for i in 0..self.fields.len() {
                let lower = self.key_at(self.fields[i]).to_ascii_lowercase();
                self.rename(i, &lower);
            }
        }
        self.nocase = nocase;
    }

    pub fn is_nocase(&self) -> bool {
        self.nocase
    }

    /// The name, empty when there is none.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Was the set given a name (which may be empty)?
    pub fn has_name(&self) -> bool {
        self.name.is_some()
    }

    pub fn set_name(&mut self, name: Option<String>) {
        self.name = name;
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Appends a field and answers its index.
    pub fn put(&mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> usize {
        let value = value.as_ref();
        self.append(key.as_ref(), Some(value))
    }

    /// Appends a field without value (SQL's NULL), which reads as an empty text.
    pub fn put_null(&mut self, key: impl AsRef<str>) -> usize {
        self.append(key.as_ref(), None)
    }

    /// The key of a field.
    pub fn key(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|&field| self.key_at(field))
    }

    /// The value of a field; empty where it is null. `None`: no such field.
    pub fn value(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|&field| self.value_at(field))
    }

    /// Is the value null? `None`: no such field.
    pub fn is_null(&self, index: usize) -> Option<bool> {
        self.fields.get(index).map(|field| field.value_len == NULL)
    }

    /// The first value under this key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.find(key).and_then(|i| self.value(i))
    }

    /// The first value under this key, without regard to case.
    pub fn iget(&self, key: &str) -> Option<&str> {
        self.ifind(key).and_then(|i| self.value(i))
    }

    /// All values under this key, in order.
    pub fn get_all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.all(key, self.nocase)
    }

    /// All values under this key, without regard to case.
    pub fn iget_all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.all(key, true)
    }

    /// The index of the first field with this key.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.position(key, self.nocase, 0)
    }

    /// The index of the first field with this key, without regard to case.
    pub fn ifind(&self, key: &str) -> Option<usize> {
        self.position(key, true, 0)
    }

    /// Is there at most one field with this key?
    pub fn unique(&self, key: &str) -> bool {
        self.get_all(key).nth(1).is_none()
    }

    /// Is there at most one field with this key, without regard to case?
    pub fn iunique(&self, key: &str) -> bool {
        self.iget_all(key).nth(1).is_none()
    }

    /// Replaces the first value under this key, or appends a field. Answers its index.
    pub fn update(&mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> usize {
        let (key, value) = (key.as_ref(), value.as_ref());
        match self.find(key) {
            Some(i) => {
                self.write_value(i, Some(value));
                i
            }
            None => self.put(key, value),
        }
    }

    /// As [`Set::update`], without regard to case. The field takes the spelling of this key.
    pub fn iupdate(&mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> usize {
        let (key, value) = (key.as_ref(), value.as_ref());
        match self.ifind(key) {
            Some(i) => {
                self.rename(i, key);
                self.write_value(i, Some(value));
                i
            }
            None => self.put(key, value),
        }
    }

    /// Appends a field unless its key is there. Answers the index of the field with this key.
    pub fn cput(&mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> usize {
        let key = key.as_ref();
        self.find(key).unwrap_or_else(|| self.put(key, value))
    }

    /// As [`Set::cput`], without regard to case.
    pub fn icput(&mut self, key: impl AsRef<str>, value: impl AsRef<str>) -> usize {
        let key = key.as_ref();
        self.ifind(key).unwrap_or_else(|| self.put(key, value))
    }

    /// Replaces the value of a field. `false`: no such field.
    pub fn put_value(&mut self, index: usize, value: impl AsRef<str>) -> bool {
        let there = index < self.fields.len();
        if there {
            self.write_value(index, Some(value.as_ref()));
        }
        there
    }

    /// Makes the value of a field null. `false`: no such field.
    pub fn put_null_value(&mut self, index: usize) -> bool {
        let there = index < self.fields.len();
        if there {
            self.write_value(index, None);
        }
        there
    }

    /// Gives a field another key. `false`: no such field.
    pub fn rename(&mut self, index: usize, key: &str) -> bool {
        let Some(&field) = self.fields.get(index) else {
            return false;
        };
        let key = spelled(key, self.nocase);
        if key.len() == field.key_len && !key.is_empty() {
            self.text
                .replace_range(field.key..field.key + field.key_len, &key);
        } else {
            self.dead += field.key_len;
            let at = self.text.len();
            self.text.push_str(&key);
            let field = &mut self.fields[index];
            (field.key, field.key_len) = (at, key.len());
            self.compact_if_worthwhile();
        }
        true
    }

    /// Removes a field. `false`: no such field.
    pub fn delete(&mut self, index: usize) -> bool {
        if index >= self.fields.len() {
            return false;
        }
        let field = self.fields.remove(index);
        self.dead += field.bytes();
        self.compact_if_worthwhile();
        true
    }

    /// Removes the first field with this key. `false`: there was none.
    pub fn delkey(&mut self, key: &str) -> bool {
        self.find(key).is_some_and(|i| self.delete(i))
    }

    /// Removes the first field with this key, without regard to case.
    pub fn idelkey(&mut self, key: &str) -> bool {
        self.ifind(key).is_some_and(|i| self.delete(i))
    }

    /// Removes every field with this key, without regard to case. Answers how many there were.
    pub fn idelkey_all(&mut self, key: &str) -> usize {
        let before = self.len();
        while self.idelkey(key) {}
        before - self.len()
    }

    /// Keeps the first `fields` fields. `false`, and no change, when there are fewer.
    pub fn truncate(&mut self, fields: usize) -> bool {
        if fields > self.fields.len() {
            return false;
        }
        self.dead += self
            .fields
            .drain(fields..)
            .map(|field| field.bytes())
            .sum::<usize>();
        self.compact_if_worthwhile();
        true
    }

    /// Removes all fields and keeps the allocations, name and flag.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.text.clear();
        self.dead = 0;
    }

    /// Makes room for `fields` fields and `bytes` bytes of keys and values in all (`ns_set size` with arguments).
    pub fn reserve(&mut self, fields: usize, bytes: usize) {
        self.fields
            .reserve(fields.saturating_sub(self.fields.len()));
        self.text.reserve(bytes.saturating_sub(self.text.len()));
    }

    /// Appends the fields of `low` whose keys are not here yet.
    pub fn merge(&mut self, low: &Set) {
        for (key, value) in low.iter_nullable() {
            if self.find(key).is_none() {
                self.append(key, value);
            }
        }
    }

    /// As [`Set::merge`], without regard to case.
    pub fn imerge(&mut self, low: &Set) {
        for (key, value) in low.iter_nullable() {
            if self.ifind(key).is_none() {
                self.append(key, value);
            }
        }
    }

    /// A set with the same name, flag and fields, without unused bytes.
    pub fn copy(&self) -> Set {
        let mut copy = Set {
            name: self.name.clone(),
            nocase: self.nocase,
            ..Set::with_capacity(self.len(), self.text.len() - self.dead)
        };
        for (key, value) in self.iter_nullable() {
            copy.append(key, value);
        }
        copy
    }

    /// Moves all fields of `from` to the end of this set.
    pub fn take_from(&mut self, from: &mut Set) {
        for (key, value) in from.iter_nullable() {
            self.append(key, value);
        }
        from.clear();
    }

    /// Splits by the part of each key in front of the first `separator`, which becomes the name of a new set; fields without
    /// separator go to a set without name. Order of first appearance.
    pub fn split(&self, separator: char) -> Vec<Set> {
        let mut sets: Vec<Set> = Vec::new();
        for (key, value) in self.iter_nullable() {
            let (name, key) = match key.split_once(separator) {
                Some((name, key)) => (Some(name), key),
                None => (None, key),
            };
            // A key that starts with the separator names the set with the empty name, which is the one without name, too.
            let i = sets
                .iter()
                .position(|set| set.name() == name.unwrap_or_default())
                .unwrap_or_else(|| {
                    sets.push(Set {
                        name: name.map(String::from),
                        nocase: self.nocase,
                        ..Set::default()
                    });
                    sets.len() - 1
                });
            sets[i].append(key, value);
        }
        sets
    }

    /// Keys and values in order; a null value is an empty text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + '_ {
        self.fields
            .iter()
            .map(|&field| (self.key_at(field), self.value_at(field)))
    }

    /// Keys and values in order, null values as `None`.
    pub fn iter_nullable(&self) -> impl ExactSizeIterator<Item = (&str, Option<&str>)> + '_ {
        self.fields.iter().map(|&field| {
            (
                self.key_at(field),
                (field.value_len != NULL).then(|| self.value_at(field)),
            )
        })
    }

    /// The keys that match a `string match` pattern, in order; all without pattern.
    pub fn keys<'a>(&'a self, pattern: Option<&'a str>) -> impl Iterator<Item = &'a str> + 'a {
        self.iter()
            .map(|(key, _)| key)
            .filter(move |key| pattern.is_none_or(|p| glob::matches(p, key)))
    }

    /// The values that match a `string match` pattern, in order; all without pattern.
    pub fn values<'a>(&'a self, pattern: Option<&'a str>) -> impl Iterator<Item = &'a str> + 'a {
        self.iter()
            .map(|(_, value)| value)
            .filter(move |value| pattern.is_none_or(|p| glob::matches(p, value)))
    }

    /// The text of `ns_set format`: the name and a colon on a line of its own, if there is a name and it is wanted, then
    /// `lead key separator value` for each field. The reference uses two spaces and `": "`.
    pub fn format(&self, with_name: bool, lead: &str, separator: &str) -> String {
        let mut text = String::with_capacity(
            self.text.len() + self.len() * (lead.len() + separator.len() + 1) + 16,
        );
        if let (true, Some(name)) = (with_name, &self.name) {
            text.push_str(name);
            text.push_str(":\n");
        }
        for (key, value) in self.iter() {
            for part in [lead, key, separator, value, "\n"] {
                text.push_str(part);
            }
        }
        text
    }

    /// Memory of the fields in bytes: allocated and in use.
    pub fn memory(&self) -> (usize, usize) {
        let field = size_of::<Field>();
        (
            self.text.capacity() + self.fields.capacity() * field,
            self.text.len() - self.dead + self.fields.len() * field,
        )
    }

    fn append(&mut self, key: &str, value: Option<&str>) -> usize {
        let at = self.text.len();
        self.text.push_str(key);
        if self.nocase {
            self.text[at..].make_ascii_lowercase();
        }
        self.text.push_str(value.unwrap_or_default());
        self.fields.push(Field {
            key: at,
            key_len: key.len(),
            value: at + key.len(),
            value_len: value.map_or(NULL, str::len),
        });
        self.fields.len() - 1
    }

    /// `index` is in range.
    fn write_value(&mut self, index: usize, value: Option<&str>) {
        let field = self.fields[index];
        let old = field.value_bytes();
        let text = value.unwrap_or_default();
        if field.value + old == self.text.len() {
            // The value is the last thing in the buffer, as after `put`: write over it.
            self.text.truncate(field.value);
            self.text.push_str(text);
        } else {
            self.fields[index].value = self.text.len();
            self.text.push_str(text);
            self.dead += old;
        }
        self.fields[index].value_len = value.map_or(NULL, str::len);
        self.compact_if_worthwhile();
    }

    /// Rewrites the buffer once more than half of it is unused, so that a set that is updated for ever does not grow.
    fn compact_if_worthwhile(&mut self) {
        if self.fields.is_empty() {
            self.text.clear();
            self.dead = 0;
        } else if self.dead > SLACK && self.dead > self.text.len() / 2 {
            let mut text = String::with_capacity(self.text.len() - self.dead);
            for field in &mut self.fields {
                let (key, value) = (field.key, field.value);
                field.key = text.len();
                text.push_str(part(&self.text, key, field.key_len));
                field.value = text.len();
                text.push_str(part(&self.text, value, field.value_bytes()));
            }
            self.text = text;
            self.dead = 0;
        }
    }

    fn key_at(&self, field: Field) -> &str {
        part(&self.text, field.key, field.key_len)
    }

    fn value_at(&self, field: Field) -> &str {
        part(&self.text, field.value, field.value_bytes())
    }

    fn position(&self, key: &str, nocase: bool, from: usize) -> Option<usize> {
        let same =
            |field: &Field| field.key_len == key.len() && equal(self.key_at(*field), key, nocase);
        self.fields[from..].iter().position(same).map(|i| from + i)
    }

    fn all<'a>(&'a self, key: &'a str, nocase: bool) -> impl Iterator<Item = &'a str> + 'a {
        self.iter()
            .filter(move |(found, _)| equal(found, key, nocase))
            .map(|(_, value)| value)
    }
}

impl Field {
    fn value_bytes(&self) -> usize {
        if self.value_len == NULL {
            0
        } else {
            self.value_len
        }
    }

    fn bytes(&self) -> usize {
        self.key_len + self.value_bytes()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> Extend<(K, V)> for Set {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        for (key, value) in pairs {
            self.put(key, value);
        }
    }
}

/// Equal when name, flag and fields (with their order and nulls) are.
impl PartialEq for Set {
    fn eq(&self, other: &Set) -> bool {
        self.name == other.name
            && self.nocase == other.nocase
            && self.iter_nullable().eq(other.iter_nullable())
    }
}

impl Eq for Set {}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Set {:?} ", self.name())?;
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A stretch of the buffer. An empty one may lie behind its end, because a value at the end can be cut off.
fn part(text: &str, at: usize, len: usize) -> &str {
    if len == 0 { "" } else { &text[at..at + len] }
}

fn equal(a: &str, b: &str, nocase: bool) -> bool {
    if nocase {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

fn spelled(key: &str, nocase: bool) -> std::borrow::Cow<'_, str> {
    if nocase && key.bytes().any(|b| b.is_ascii_uppercase()) {
        key.to_ascii_lowercase().into()
    } else {
        key.into()
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
