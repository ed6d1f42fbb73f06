//! Memory sizes as the Tcl API writes them: `1024`, `10kB`, `1.5MB`, `2GiB`. All units are powers of 1024.

use std::fmt;

/// A text with a unit that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidSize(String);

const UNITS: [(&str, u32); 7] = [
    ("kB", 10),
    ("KB", 10),
    ("KiB", 10),
    ("MB", 20),
    ("MiB", 20),
    ("GB", 30),
    ("GiB", 30),
];

/// Bytes. As in the reference, text behind a unit is ignored, no digits count as 0, and what is too large for 64 bits wraps
/// when a unit multiplies it.
pub fn parse(text: &str) -> Result<i64, InvalidSize> {
    let trimmed = text.trim();
    let (negative, rest) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let (whole, rest) = digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    let rest = rest.trim_start();
    let shift = match UNITS.iter().find(|(unit, _)| rest.starts_with(unit)) {
        Some(&(_, shift)) => shift,
        None if rest.is_empty() => 0,
        None => return Err(InvalidSize(text.to_string())),
    };
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().unwrap_or(i64::MAX)
    };
    let part: f64 = if fraction.is_empty() {
        0.0
    } else {
        format!("0.{fraction}").parse().unwrap_or(0.0)
    };
    let size = whole
        .wrapping_mul(1 << shift)
        .wrapping_add((part * f64::from(1u32 << shift)) as i64);
    Ok(if negative { size.wrapping_neg() } else { size })
}

impl fmt::Display for InvalidSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid memory unit '{}'; valid units kB, MB, GB, KiB, MiB, and GiB",
            self.0
        )
    }
}

impl std::error::Error for InvalidSize {}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_texts() {
        for (text, bytes) in [
            ("10", 10),
            ("12KB", 12_288),
            ("10kB", 10_240),
            ("10KiB", 10_240),
            ("1MB", 1 << 20),
            ("1GiB", 1 << 30),
            ("1.5MB", 1_572_864),
            ("0.5KB", 512),
            ("5 MB", 5 << 20),
            ("-1", -1),
            ("-1KB", -1024),
            ("", 0),
            ("KB", 0),
            ("10KBx", 10_240),
            ("9999999999GB", -7_709_325_834_783_293_440),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["10kb", "10kiB", "2.5k", "5M", "5B", "5TB", "abc", "1e3"] {
            let error = parse(text).expect_err(text).to_string();
            assert_eq!(
                error,
                format!("invalid memory unit '{text}'; valid units kB, MB, GB, KiB, MiB, and GiB")
            );
        }
    }
}
