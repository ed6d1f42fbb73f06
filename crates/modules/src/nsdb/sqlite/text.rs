//! The text of a value, as SQLite itself converts it.

use std::fmt::Write;

use rusqlite::types::ValueRef;

/// Appends the text of a value; false for NULL. A blob becomes a byte string: one character for each byte.
pub fn write_value(out: &mut String, value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Null => return false,
        ValueRef::Integer(n) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{n}");
        }
        ValueRef::Real(x) => write_real(out, x),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => out.push_str(text),
            // The file holds something else than its declared encoding; nothing of it may get lost.
            Err(_) => write_bytes(out, bytes),
        },
        ValueRef::Blob(bytes) => write_bytes(out, bytes),
    }
    true
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    out.reserve(bytes.len());
    out.extend(bytes.iter().map(|&b| char::from(b)));
}

/// As the bundled SQLite writes it: 15 digits if they read back as the same number, else 17; always with a decimal point,
/// with an exponent below 1e-4 and from 1e17 on.
pub fn write_real(out: &mut String, x: f64) {
    if x.is_infinite() {
        out.push_str(if x > 0.0 { "Inf" } else { "-Inf" });
        return;
    }
    if x == 0.0 {
        out.push_str("0.0");
        return;
    }
    let short = format!("{:.14e}", x.abs());
    let exact = x.is_normal() && short.parse() == Ok(x.abs());
    let scientific = if exact {
        short
    } else {
        format!("{:.16e}", x.abs())
    };
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    if x < 0.0 {
        out.push('-');
    }
    if !(-4..17).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{first}.{rest}e{sign}{:02}", exponent.abs());
        return;
    }
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n(
            '0',
            usize::try_from(-exponent - 1).unwrap_or(0),
        ));
        out.push_str(digits);
        return;
    }
    let whole = usize::try_from(exponent).unwrap_or(0) + 1;
    if digits.len() <= whole {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
        out.push_str(".0");
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
}
