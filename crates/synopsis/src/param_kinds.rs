//! The types of configuration parameters.

use crate::kinds::Int;
use crate::params::{ParamKind, ParamNeed, ParamValue, Size};
use crate::row::range;
use shared::time::Time;
use std::time::Duration;

/// A type of one value. `parse` says what is wrong with a text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type for a parameter",
    note = "use bool, Int<MIN, MAX>, Size, Duration, String, f64, a `choice!` type, a type with `impl Param`, or Option or Vec of one"
)]
pub trait Param: Sized {
    const KIND: ParamKind;
    fn parse(text: &str) -> Result<Self, String>;
}

/// A type of a field: a [`Param`] type, its `Option` or a `Vec` of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type for a parameter",
    note = "use bool, Int<MIN, MAX>, Size, Duration, String, f64, a `choice!` type, a type with `impl Param`, or Option or Vec of one"
)]
pub trait ParamField: Sized {
    const KIND: ParamKind;
    const NEED: ParamNeed;
    /// The field from all values of the parameter. As in the reference, the first value counts for a single one.
    fn read(
        values: &[ParamValue],
        default: Option<&str>,
    ) -> Result<Self, (Option<ParamValue>, String)>;
    fn check(text: &str) -> Result<(), String>;
}

impl<T: Param> ParamField for T {
    const KIND: ParamKind = T::KIND;
    const NEED: ParamNeed = ParamNeed::Once;
    fn read(
        values: &[ParamValue],
        default: Option<&str>,
    ) -> Result<T, (Option<ParamValue>, String)> {
        match (values.first(), default) {
            (Some(value), _) => one(value),
            (None, Some(default)) => {
                T::parse(default).map_err(|e| (None, format!("the default is wrong: {e}")))
            }
            (None, None) => Err((None, "is missing and has no default".to_owned())),
        }
    }
    fn check(text: &str) -> Result<(), String> {
        T::parse(text).map(drop)
    }
}

/// An empty value counts as none.
impl<T: Param> ParamField for Option<T> {
    const KIND: ParamKind = T::KIND;
    const NEED: ParamNeed = ParamNeed::Optional;
    fn read(
        values: &[ParamValue],
        default: Option<&str>,
    ) -> Result<Option<T>, (Option<ParamValue>, String)> {
        match (values.first(), default) {
            (Some(value), _) if value.text.is_empty() => Ok(None),
            (Some(value), _) => one(value).map(Some),
            (None, Some(default)) => T::parse(default)
                .map(Some)
                .map_err(|e| (None, format!("the default is wrong: {e}"))),
            (None, None) => Ok(None),
        }
    }
    fn check(text: &str) -> Result<(), String> {
        if text.is_empty() {
            Ok(())
        } else {
            T::parse(text).map(drop)
        }
    }
}

/// A parameter that may be repeated; an empty default is an empty list.
impl<T: Param> ParamField for Vec<T> {
    const KIND: ParamKind = T::KIND;
    const NEED: ParamNeed = ParamNeed::Many;
    fn read(
        values: &[ParamValue],
        default: Option<&str>,
    ) -> Result<Vec<T>, (Option<ParamValue>, String)> {
        match default {
            Some(default) if values.is_empty() && !default.is_empty() => T::parse(default)
                .map(|v| vec![v])
                .map_err(|e| (None, format!("the default is wrong: {e}"))),
            _ => values.iter().map(one).collect(),
        }
    }
    fn check(text: &str) -> Result<(), String> {
        T::parse(text).map(drop)
    }
}

fn one<T: Param>(value: &ParamValue) -> Result<T, (Option<ParamValue>, String)> {
    T::parse(&value.text).map_err(|reason| (Some(value.clone()), reason))
}

impl Param for String {
    const KIND: ParamKind = ParamKind::Text;
    fn parse(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

/// Tcl's words for true and false and their unique beginnings, in any case; of the numbers only 0 and 1.
impl Param for bool {
    const KIND: ParamKind = ParamKind::Bool;
    fn parse(text: &str) -> Result<bool, String> {
        const WORDS: [(&str, bool); 6] = [
            ("true", true),
            ("yes", true),
            ("on", true),
            ("false", false),
            ("no", false),
            ("off", false),
        ];
        let lower = text.to_ascii_lowercase();
        let wrong = || format!("expected boolean value but got \"{text}\"");
        match lower.as_str() {
            "1" => return Ok(true),
            "0" => return Ok(false),
            "" => return Err(wrong()),
            _ => {}
        }
        let mut found = WORDS
            .iter()
            .filter(|(word, _)| word.starts_with(&lower))
            .map(|(_, value)| *value);
        match (found.next(), found.next()) {
            (Some(value), None) => Ok(value),
            _ => Err(wrong()),
        }
    }
}

impl<const MIN: i64, const MAX: i64> Param for Int<MIN, MAX> {
    const KIND: ParamKind = ParamKind::Integer { min: MIN, max: MAX };
    fn parse(text: &str) -> Result<Self, String> {
        let n = integer(text).ok_or_else(|| format!("expected integer but got \"{text}\""))?;
        Int::new(n)
            .ok_or_else(|| format!("expected integer in range {} but got {n}", range(MIN, MAX)))
    }
}

impl Param for f64 {
    const KIND: ParamKind = ParamKind::Number;
    fn parse(text: &str) -> Result<f64, String> {
        let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        number.ok_or_else(|| format!("expected floating-point number but got \"{text}\""))
    }
}

/// `10`, `12kB`, `1.5MB`. Stricter than commands: an unknown unit or text behind it is an error, and so is a negative size.
impl Param for Size {
    const KIND: ParamKind = ParamKind::Size;
    fn parse(text: &str) -> Result<Size, String> {
        let wrong =
            || format!("expected memory size such as 512, 8kB, 1.5MB or 2GB but got \"{text}\"");
        let (number, unit) = split(text);
        let known = ["", "B", "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB"].contains(&unit);
        if !known || !number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(wrong());
        }
        let bytes =
            shared::size::parse(if unit == "B" { number } else { text }).map_err(|_| wrong())?;
        u64::try_from(bytes).map(Size).map_err(|_| wrong())
    }
}

/// `30`, `1.5s`, `500ms`, `2h`. Stricter than commands: an unknown unit is an error, and so is a negative time.
impl Param for Duration {
    const KIND: ParamKind = ParamKind::Time;
    fn parse(text: &str) -> Result<Duration, String> {
        let wrong =
            || format!("expected time such as 30, 1.5s, 500ms, 5m or 2h but got \"{text}\"");
        let (number, unit) = split(text);
        // Only the Greek letter is known below; people also type a `u` or the micro sign.
        let text = match unit {
            "us" | "µs" | "μs" => &format!("{number}μs"),
            "" | "ms" | "s" | "m" | "h" | "d" | "w" | "y" => text,
            _ => return Err(wrong()),
        };
        let time = Time::parse(text).map_err(|_| wrong())?;
        if time.is_negative() {
            Err(wrong())
        } else {
            Ok(time.to_duration())
        }
    }
}

/// The number and the unit of a text, without blanks around them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !".:+-".contains(c))
        .unwrap_or(text.len());
    (text[..end].trim_end(), text[end..].trim())
}

/// A whole number as `ns_config -int` reads it: blanks before it, a sign, `0x`.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) => (16, hex),
        None => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_those_of_the_reference() {
        for (text, value) in [
            ("1", true),
            ("0", false),
            ("t", true),
            ("f", false),
            ("y", true),
            ("n", false),
            ("On", true),
            ("OFF", false),
            ("yes", true),
            ("no", false),
            ("TRUE", true),
            ("fal", false),
        ] {
            assert_eq!(bool::parse(text), Ok(value), "{text}");
        }
        for text in ["", "2", "-1", "o", "maybe", "truer"] {
            assert_eq!(
                bool::parse(text),
                Err(format!("expected boolean value but got \"{text}\""))
            );
        }
    }

    #[test]
    fn integers_are_those_of_the_reference() {
        type Any = Int<{ i64::MIN }, { i64::MAX }>;
        for (text, value) in [
            ("-5", -5),
            ("0x1f", 31),
            ("010", 10),
            ("+7", 7),
            (" 12", 12),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(Any::parse(text).map(Int::get), Ok(value), "{text}");
        }
        for text in [
            "",
            "1.5",
            "1e3",
            "abc",
            "12abc",
            "12 ",
            "10kB",
            "9223372036854775808",
            "+-1",
            "0x",
            "-",
        ] {
            assert_eq!(
                Any::parse(text).map(Int::get),
                Err(format!("expected integer but got \"{text}\""))
            );
        }
        assert_eq!(
            Int::<1, 9>::parse("10").map(Int::get),
            Err("expected integer in range [1,9] but got 10".to_owned())
        );
    }

    #[test]
    fn sizes_and_times_have_units() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("8kB", 8192),
            ("1.5MB", 1_572_864),
            ("4 MB", 4 << 20),
            ("2KiB", 2048),
            ("1GB", 1 << 30),
            ("100B", 100),
        ] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "kB", "-1", "3mb", "10KBx", "x", "1e3"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
        for (text, micros) in [
            ("30", 30_000_000),
            ("1.5s", 1_500_000),
            ("500ms", 500_000),
            ("100us", 100),
            ("2h", 7_200_000_000),
            ("1:500000", 1_500_000),
        ] {
            assert_eq!(
                Duration::parse(text),
                Ok(Duration::from_micros(micros)),
                "{text}"
            );
        }
        for text in ["", "-1", "5parsecs", "s", "1h30m"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }
}
