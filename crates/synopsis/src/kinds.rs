//! The kinds of values slots know by themselves, and the trait for more.

use crate::parse::Call;
use crate::row::{Kind, Label, range};
use tcl::{Exit, Obj};

/// `i64::MAX`; written MAX in usages.
pub const MAX: i64 = i64::MAX;

/// A type that is made from one Tcl value: what an option's value or an argument can be.
///
/// ```text
/// struct CacheHandle(Arc<Cache>);
/// impl FromObj for CacheHandle {
///     const KIND: Kind = Kind::Value("cache");       // an option's usage: ?-name /cache/?
///     fn from_obj(call: &Call, label: Label, value: &Obj) -> Result<Self, Exit> { .. }
/// }
/// ```
pub trait FromObj: Sized {
    /// What it looks like in usages.
    const KIND: Kind;

    /// The value of `value`. `label` is how messages name the slot. Errors are Tcl errors.
    fn from_obj(call: &Call<'_>, label: Label, value: &Obj) -> Result<Self, Exit>;

    /// The value of an option that takes no value; only `bool` has one.
    fn from_flag(_present: bool) -> Option<Self> {
        None
    }
}

impl FromObj for Obj {
    const KIND: Kind = Kind::Value("value");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Obj, Exit> {
        Ok(value.clone())
    }
}

impl FromObj for String {
    const KIND: Kind = Kind::Value("value");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<String, Exit> {
        Ok(value.text())
    }
}

impl FromObj for bool {
    const KIND: Kind = Kind::Bool;
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<bool, Exit> {
        Ok(value.boolean()?)
    }
    fn from_flag(present: bool) -> Option<bool> {
        Some(present)
    }
}

impl FromObj for i64 {
    const KIND: Kind = Kind::Integer {
        min: i64::MIN,
        max: i64::MAX,
    };
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<i64, Exit> {
        Ok(value.int()?)
    }
}

impl FromObj for f64 {
    const KIND: Kind = Kind::Value("double");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<f64, Exit> {
        Ok(value.double()?)
    }
}

/// A Tcl list.
impl FromObj for Vec<Obj> {
    const KIND: Kind = Kind::Value("list");
    fn from_obj(_: &Call<'_>, _: Label, value: &Obj) -> Result<Vec<Obj>, Exit> {
        Ok(value.elements()?)
    }
}

/// A whole number from MIN to MAX, for slots and for configuration parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int<const MIN: i64, const MAX: i64 = { i64::MAX }>(i64);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// The number if it is within the limits.
    pub const fn new(n: i64) -> Option<Self> {
        if MIN <= n && n <= MAX {
            Some(Int(n))
        } else {
            None
        }
    }

    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number as a length or count; negative numbers become 0.
    pub const fn as_usize(self) -> usize {
        if self.0 < 0 { 0 } else { self.0 as usize }
    }
}

impl<const MIN: i64, const MAX: i64> std::ops::Deref for Int<MIN, MAX> {
    type Target = i64;
    fn deref(&self) -> &i64 {
        &self.0
    }
}

impl<const MIN: i64, const MAX: i64> From<Int<MIN, MAX>> for i64 {
    fn from(n: Int<MIN, MAX>) -> i64 {
        n.0
    }
}

impl<const MIN: i64, const MAX: i64> std::fmt::Display for Int<MIN, MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<const MIN: i64, const MAX: i64> FromObj for Int<MIN, MAX> {
    const KIND: Kind = Kind::Integer { min: MIN, max: MAX };
    fn from_obj(_: &Call<'_>, label: Label, value: &Obj) -> Result<Self, Exit> {
        let n = value.int()?;
        Int::new(n).ok_or_else(|| out_of_range(label, MIN, MAX, n))
    }
}

/// The complaint of [`Int`], for limits that are known only at run time.
pub fn out_of_range(label: impl Into<Label>, min: i64, max: i64, n: i64) -> Exit {
    let label = label.into();
    tcl::error(format!(
        "expected integer in range {} for '{label}', but got {n}",
        range(min, max)
    ))
}

/// `bad option "x": must be a, b, or c`, as the reference words it: a comma even before the second of two.
pub fn bad_option(value: &Obj, words: &[&str]) -> Exit {
    tcl::error(format!(
        "bad option \"{}\": must be {}",
        value.text(),
        comma_or(words)
    ))
}

/// What is wrong with the text of a configuration parameter.
pub fn not_a_word(text: &str, words: &[&str]) -> String {
    format!("bad value \"{text}\": must be {}", comma_or(words))
}

/// `a`, `a, or b`, `a, b, or c`.
pub(crate) fn comma_or(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{}, or {last}", init.join(", ")),
    }
}
