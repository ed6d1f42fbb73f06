//! Range requests (RFC 9110 section 14): which bytes are wanted, and the frames of a multipart/byteranges body.

use crate::date;
use crate::syntax::{trim_ows, trim_ows_str};

/// More ranges than this after merging, and the whole is sent: such requests want to make the server work.
const MAX_RANGES: usize = 64;

/// Bytes `start` up to, but not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The byte after the last one; greater than `start`.
    pub end: u64,
}

impl ByteRange {
    /// Number of bytes, at least 1.
    pub fn length(self) -> u64 {
        self.end - self.start
    }

    /// The value of Content-Range for content of `size` bytes.
    pub fn content_range(self, size: u64) -> String {
        format!("bytes {}-{}/{size}", self.start, self.end - 1)
    }
}

/// What a Range field asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranges {
    /// There is no usable Range field: 200 with everything.
    Whole,
    /// 206 with these ranges, at least one; overlapping and adjacent ones are merged.
    Parts(Vec<ByteRange>),
    /// 416, with the value of [`unsatisfied`] as Content-Range.
    Unsatisfiable,
}

/// Evaluates the value of a Range field for content of `size` bytes. Only GET has ranges (section 14.2), which the
/// caller has checked; a malformed field or an unknown unit is ignored.
pub fn parse(value: &str, size: u64) -> Ranges {
    let Some((unit, set)) = value.split_once('=') else {
        return Ranges::Whole;
    };
    if !unit.eq_ignore_ascii_case("bytes") || set.starts_with([' ', '\t']) {
        return Ranges::Whole;
    }
    let mut ranges: Vec<ByteRange> = Vec::new();
    let mut specified = 0;
    for spec in set
        .split(',')
        .map(trim_ows_str)
        .filter(|spec| !spec.is_empty())
    {
        specified += 1;
        if specified > 16 * MAX_RANGES {
            return Ranges::Whole;
        }
        match parse_spec(spec, size) {
            None => return Ranges::Whole,
            Some(None) => {}
            Some(Some(range)) => merge(&mut ranges, range),
        }
    }
    match ranges.len() {
        _ if specified == 0 => Ranges::Whole,
        0 => Ranges::Unsatisfiable,
        1..=MAX_RANGES => Ranges::Parts(ranges),
        _ => Ranges::Whole,
    }
}

/// The value of Content-Range of a 416 response.
pub fn unsatisfied(size: u64) -> String {
    format!("bytes */{size}")
}

/// Whether the condition of If-Range holds (section 13.1.5), so that Range is evaluated.
///
/// A date must equal the modification time exactly, an entity tag must be strong and equal.
pub fn if_range_holds(
    value: &str,
    etag: Option<&str>,
    last_modified: Option<i64>,
    now: i64,
) -> bool {
    let value = value.trim();
    if value.starts_with('"') {
        return etag == Some(value);
    }
    matches!((date::parse(value, now), last_modified), (Some(wanted), Some(have)) if wanted == have)
}

/// What stands before the bytes of a part of multipart/byteranges; `first` if none was written before it.
pub fn part_head(
    boundary: &str,
    content_type: &str,
    range: ByteRange,
    size: u64,
    first: bool,
) -> String {
    let lead = if first { "" } else { "\r\n" };
    let clean = |text: &str| {
        String::from_utf8_lossy(trim_ows(text.as_bytes())).replace(['\r', '\n', '\0'], " ")
    };
    format!(
        "{lead}--{boundary}\r\ncontent-type: {}\r\ncontent-range: {}\r\n\r\n",
        clean(content_type),
        range.content_range(size)
    )
}

/// What stands after the last part.
pub fn closing(boundary: &str) -> String {
    format!("\r\n--{boundary}--\r\n")
}

/// The length of a whole multipart/byteranges body.
pub fn multipart_length(
    boundary: &str,
    content_type: &str,
    ranges: &[ByteRange],
    size: u64,
) -> u64 {
    let parts = ranges.iter().enumerate().map(|(at, &range)| {
        part_head(boundary, content_type, range, size, at == 0).len() as u64 + range.length()
    });
    parts.sum::<u64>() + closing(boundary).len() as u64
}

/// `None`: malformed. `Some(None)`: nothing of it lies within the content.
fn parse_spec(spec: &str, size: u64) -> Option<Option<ByteRange>> {
    let (first, last) = spec.split_once('-')?;
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => {
            let length = number(last)?.min(size);
            Some((length > 0).then_some(ByteRange {
                start: size - length,
                end: size,
            }))
        }
        (false, open) => {
            let start = number(first)?;
            let last = if open { u64::MAX } else { number(last)? };
            if last < start {
                return None;
            }
            Some((start < size).then(|| ByteRange {
                start,
                end: last.saturating_add(1).min(size),
            }))
        }
    }
}

/// Digits only; numbers beyond all sizes are the greatest one.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Adds a range, in place of those it touches.
fn merge(ranges: &mut Vec<ByteRange>, mut range: ByteRange) {
    let mut place = None;
    let mut at = 0;
    while at < ranges.len() {
        let have = ranges[at];
        if range.start <= have.end && have.start <= range.end {
            range = ByteRange {
                start: range.start.min(have.start),
                end: range.end.max(have.end),
            };
            ranges.remove(at);
            // A grown range may touch an earlier one now.
            place = Some(place.unwrap_or(at).min(at));
            at = 0;
        } else {
            at += 1;
        }
    }
    ranges.insert(place.unwrap_or(ranges.len()).min(ranges.len()), range);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(value: &str, size: u64) -> String {
        match parse(value, size) {
            Ranges::Whole => "whole".into(),
            Ranges::Unsatisfiable => "416".into(),
            Ranges::Parts(parts) => parts
                .iter()
                .map(|r| format!("{}-{}", r.start, r.end - 1))
                .collect::<Vec<_>>()
                .join(","),
        }
    }

    #[test]
    fn recorded_ranges() {
        for (value, expected) in [
            ("bytes=0-9", "0-9"),
            ("BYTES=0-3", "0-3"),
            ("bytes=990-", "990-999"),
            ("bytes=-10", "990-999"),
            ("bytes=-5000", "0-999"),
            ("bytes=-0", "416"),
            ("bytes=995-2000", "995-999"),
            ("bytes=1000-", "416"),
            ("bytes=9-0", "whole"),
            ("bytes=0-99999999999999999999", "0-999"),
            ("bytes=a-b", "whole"),
            ("lines=0-3", "whole"),
            ("0-3", "whole"),
            ("bytes=", "whole"),
            ("bytes=-", "whole"),
            ("bytes= 0-3", "whole"),
            ("bytes=0 - 3", "whole"),
            ("bytes=--3", "whole"),
            ("bytes=0-3x", "whole"),
            ("bytes=0-0, 500-501, -2", "0-0,500-501,998-999"),
            ("bytes=0-10,5-15", "0-15"),
            ("bytes=0-4,5-9", "0-9"),
            ("bytes=20-24,0-4", "20-24,0-4"),
            ("bytes=0-4,2000-", "0-4"),
            ("bytes=2000-,3000-", "416"),
            ("bytes=0-4,,10-14", "0-4,10-14"),
            ("bytes=0-4,x", "whole"),
            ("bytes=0-1,4-5,2-3", "0-5"),
        ] {
            assert_eq!(show(value, 1000), expected, "{value}");
        }
        assert_eq!(show("bytes=0-9", 0), "416");
    }

    #[test]
    fn conditions_and_frames() {
        let date = "Thu, 02 Jan 2020 03:04:05 GMT";
        let time = date::parse(date, 0);
        assert!(if_range_holds(date, None, time, 0));
        assert!(!if_range_holds(
            "Fri, 03 Jan 2020 00:00:00 GMT",
            None,
            time,
            0
        ));
        assert!(if_range_holds("\"a\"", Some("\"a\""), None, 0));
        for bad in ["W/\"a\"", "\"b\"", "nonsense", ""] {
            assert!(!if_range_holds(bad, Some("\"a\""), time, 0), "{bad}");
        }
        let range = ByteRange { start: 10, end: 15 };
        let head = part_head("B", "text/plain", range, 1000, false);
        assert_eq!(
            head,
            "\r\n--B\r\ncontent-type: text/plain\r\ncontent-range: bytes 10-14/1000\r\n\r\n"
        );
        let length = part_head("B", "text/plain", range, 1000, true).len() + 5 + closing("B").len();
        assert_eq!(
            multipart_length("B", "text/plain", &[range], 1000),
            length as u64
        );
    }

    proptest! {
        #[test]
        fn ranges_lie_within_and_apart(specs in proptest::collection::vec((0u64..60, 0u64..60), 1..9), size in 0u64..50) {
            let value = specs.iter().map(|(a, b)| format!("{}-{}", a, a + b)).collect::<Vec<_>>().join(",");
            if let Ranges::Parts(parts) = parse(&format!("bytes={value}"), size) {
                for (at, a) in parts.iter().enumerate() {
                    prop_assert!(a.start < a.end && a.end <= size);
                    prop_assert!(parts[at + 1..].iter().all(|b| a.end < b.start || b.end < a.start));
                }
                let wanted = |byte: u64| specs.iter().any(|&(a, b)| a <= byte && byte <= a + b);
                for byte in 0..size {
                    prop_assert_eq!(wanted(byte), parts.iter().any(|r| r.start <= byte && byte < r.end));
                }
            }
        }

        #[test]
        fn never_panics(text in any::<String>(), size in any::<u64>()) {
            let _ = parse(&format!("bytes={text}"), size);
        }
    }
}
