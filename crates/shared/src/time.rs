//! Points and spans of time as the Tcl API writes them: `10`, `1.5`, `1:500000`, `500ms`, `2h`.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds and microseconds, a span or a time since 1970.
///
/// The fraction carries no sign of its own: -5.5 seconds are `sec: -5, usec: 500000`, as the reference prints them. Between
/// -1 and 0 seconds, where `sec` cannot hold the sign, `usec` is negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Time {
    pub sec: i64,
    pub usec: i64,
}

/// A text that is no time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidTime(String);

const MILLION: i64 = 1_000_000;

/// Times below this many seconds are spans, others points in time, where a command takes either (2001-09-09).
const POINTS_START: i64 = 1_000_000_000;

impl Time {
    pub const ZERO: Time = Time { sec: 0, usec: 0 };

    pub const fn new(sec: i64, usec: i64) -> Time {
        Time { sec, usec }
    }

    /// The time of day clock.
    pub fn now() -> Time {
        Time::from(SystemTime::now())
    }

    /// Reads the texts the reference takes. Units: `us` is none, `μs` (U+03BC), `ms`, `s`, `m`, `h`, `d`, `w`, `y`; a unit it
    /// does not know counts as seconds. `sec:usec` is kept as written, not normalised.
    pub fn parse(text: &str) -> Result<Time, InvalidTime> {
        scan(text).ok_or_else(|| InvalidTime(text.to_string()))
    }

    /// Brings `usec` into 0 to 999999 by moving whole seconds, as `ns_time adjust` does.
    pub fn adjust(self) -> Time {
        if (0..MILLION).contains(&self.usec)
            || (self.sec == 0 && -MILLION < self.usec && self.usec < 0)
        {
            return self;
        }
        Time {
            sec: self.sec.saturating_add(self.usec.div_euclid(MILLION)),
            usec: self.usec.rem_euclid(MILLION),
        }
    }

    /// The microseconds in all. Saturates at about 292,000 years.
    pub fn micros(self) -> i64 {
        let whole = self.sec.saturating_mul(MILLION);
        if self.sec < 0 {
            whole.saturating_sub(self.usec)
        } else {
            whole.saturating_add(self.usec)
        }
    }

    pub fn from_micros(micros: i64) -> Time {
        let (sec, usec) = (micros / MILLION, micros % MILLION);
        Time {
            sec,
            usec: if sec < 0 { -usec } else { usec },
        }
    }

    pub fn as_seconds(self) -> f64 {
        self.micros() as f64 / MILLION as f64
    }

    /// Is it before 1970, or a span below zero?
    pub fn is_negative(self) -> bool {
        self.micros() < 0
    }

    /// A length of time; below zero counts as none.
    pub fn to_duration(self) -> Duration {
        Duration::from_micros(u64::try_from(self.micros()).unwrap_or(0))
    }

    /// The point on the system clock; `None` where that cannot express it.
    pub fn to_system(self) -> Option<SystemTime> {
        let micros = self.micros();
        let span = Duration::from_micros(micros.unsigned_abs());
        if micros < 0 {
            UNIX_EPOCH.checked_sub(span)
        } else {
            UNIX_EPOCH.checked_add(span)
        }
    }

    /// For options that take a span or a point in time (`-expires`, `-timeout`): small values are counted from `now`.
    pub fn absolute(self, now: Time) -> Time {
        if self.sec < POINTS_START {
            now + self
        } else {
            self
        }
    }

    /// The decimal form `ns_time format` gives: `10.5`, `-1.5`, `0.000013`.
    pub fn decimal(self) -> String {
        let sign = if self.sec == 0 && self.usec < 0 {
            "-"
        } else {
            ""
        };
        let mut text = format!("{sign}{}", self.sec);
        if self.usec != 0 {
            text += &format!(".{:06}", self.usec.unsigned_abs());
            text.truncate(text.trim_end_matches('0').len());
        }
        text
    }
}

impl std::ops::Add for Time {
    type Output = Time;

    fn add(self, other: Time) -> Time {
        Time::from_micros(self.micros().saturating_add(other.micros()))
    }
}

/// The difference `ns_time diff` gives.
impl std::ops::Sub for Time {
    type Output = Time;

    fn sub(self, other: Time) -> Time {
        Time::from_micros(self.micros().saturating_sub(other.micros()))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By length, then by how it is written, so that it agrees with `==`.
impl Ord for Time {
    fn cmp(&self, other: &Time) -> std::cmp::Ordering {
        (self.micros(), self.sec, self.usec).cmp(&(other.micros(), other.sec, other.usec))
    }
}

/// `sec`, or `sec:usec` when there is a fraction or the seconds are negative, as the reference prints times.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.usec == 0 && self.sec >= 0 {
            write!(f, "{}", self.sec)
        } else {
            write!(f, "{}:{}", self.sec, self.usec)
        }
    }
}

impl std::str::FromStr for Time {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Time, InvalidTime> {
        Time::parse(text)
    }
}

impl From<Duration> for Time {
    fn from(span: Duration) -> Time {
        Time {
            sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            usec: i64::from(span.subsec_micros()),
        }
    }
}

impl From<SystemTime> for Time {
    fn from(point: SystemTime) -> Time {
        match point.duration_since(UNIX_EPOCH) {
            Ok(span) => span.into(),
            Err(before) => Time::ZERO - Time::from(before.duration()),
        }
    }
}

impl fmt::Display for InvalidTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected time value but got \"{}\"", self.0)
    }
}

impl std::error::Error for InvalidTime {}

fn scan(text: &str) -> Option<Time> {
    let text = text.trim();
    if let Some((sec, usec)) = text.split_once(':') {
        let sec = if sec.is_empty() { 0 } else { integer(sec)? };
        return Some(Time {
            sec,
            usec: integer(usec)?,
        });
    }
    let (negative, rest) = sign(text);
    let (whole, rest) = digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("0", rest),
    };
    if fraction.is_empty() || (whole.is_empty() && !text.contains('.')) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { number(whole) };
    let (times, parts) = match rest.trim_start() {
        "μs" => (1, 1_000_000),
        "ms" => (1, 1000),
        "m" => (60, 1),
        "h" => (3600, 1),
        "d" => (86_400, 1),
        "w" => (604_800, 1),
        "y" => (31_536_000, 1),
        _ => {
            let usec = nanos(fraction) / 1000;
            // "-0.5" loses its sign in the reference, too.
            return Some(Time {
                sec: if negative { -whole } else { whole },
                usec,
            });
        }
    };
    let nanos = (i128::from(whole) * 1_000_000_000 + i128::from(nanos(fraction))) * times / parts;
    let micros = i64::try_from(nanos / 1000).unwrap_or(i64::MAX);
    Some(Time::from_micros(if negative { -micros } else { micros }))
}

/// An integer that fills the text. Saturates, as `strtol` does.
fn integer(text: &str) -> Option<i64> {
    let (negative, rest) = sign(text);
    let (whole, rest) = digits(rest);
    (!whole.is_empty() && rest.is_empty()).then(|| {
        if negative {
            -number(whole)
        } else {
            number(whole)
        }
    })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

/// Digits only: the sole failure is a number too large.
fn number(digits: &str) -> i64 {
    digits.parse().unwrap_or(i64::MAX)
}

/// The first nine digits behind the point.
fn nanos(fraction: &str) -> i64 {
    fraction
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(9)
        .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn t(text: &str) -> Time {
        Time::parse(text).expect(text)
    }

    #[test]
    fn recorded_texts() {
        for (text, sec, usec) in [
            ("10", 10, 0),
            ("10:5", 10, 5),
            ("10.9", 10, 900_000),
            ("10.0000019", 10, 1),
            ("500ms", 0, 500_000),
            ("1.5ms", 0, 1500),
            ("2us", 2, 0),
            ("100μs", 0, 100),
            ("100µs", 100, 0),
            ("0.3", 0, 300_000),
            ("1:1500000", 1, 1_500_000),
            ("1.5h", 5400, 0),
            ("0.5d", 43_200, 0),
            ("5 s", 5, 0),
            (" 5s", 5, 0),
            ("5M", 5, 0),
            ("-5s", -5, 0),
            ("1h30m", 1, 0),
            ("1e3", 1, 0),
            ("010", 10, 0),
            ("+5", 5, 0),
            (":5", 0, 5),
            (".5", 0, 500_000),
            ("1.5.5", 1, 500_000),
            ("99999999999999999999", i64::MAX, 0),
            ("1y", 31_536_000, 0),
        ] {
            assert_eq!(t(text), Time::new(sec, usec), "{text}");
        }
        for text in [
            "", "x", "s", "1:2:3", "5:", "1:x", "5.", ":", ".", "-", "1.x",
        ] {
            let error = Time::parse(text).expect_err(text);
            assert_eq!(
                error.to_string(),
                format!("expected time value but got \"{text}\"")
            );
        }
    }

    #[test]
    fn recorded_arithmetic() {
        for (a, b, difference) in [
            ("10", "5", "5"),
            ("5", "10", "-5:0"),
            ("10:500000", "5:750000", "4:750000"),
            ("0:1", "0:2", "0:-1"),
            ("5", "10.5", "-5:500000"),
            ("1h", "1m", "3540"),
            ("10", "10", "0"),
        ] {
            assert_eq!((t(a) - t(b)).to_string(), difference);
        }
        assert_eq!(
            (t("10:600000") + Time::new(5, 500_000)).to_string(),
            "16:100000"
        );
        for (text, adjusted) in [
            ("10:1500000", "11:500000"),
            ("10:-1", "9:999999"),
            ("-1:500000", "-1:500000"),
        ] {
            assert_eq!(t(text).adjust().to_string(), adjusted);
        }
        for (text, decimal) in [
            ("10:5", "10.000005"),
            ("-1", "-1"),
            ("-1:500000", "-1.5"),
            ("-0.5", "0.5"),
            ("1:000001", "1.000001"),
        ] {
            assert_eq!(t(text).decimal(), decimal);
        }
    }

    #[test]
    fn spans_and_points() {
        let now = Time::new(1_700_000_000, 0);
        assert_eq!(t("10m").absolute(now), Time::new(1_700_000_600, 0));
        assert_eq!(t("1800000000").absolute(now), Time::new(1_800_000_000, 0));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[-+0-9:. smhdwyμ]{0,12}|.{0,8}") {
            if let Ok(time) = Time::parse(&text) {
                let _ = (time.adjust(), time.to_string(), time.decimal(), time - time, time.to_duration(), time.to_system());
            }
        }

        #[test]
        fn what_is_printed_is_read(micros in -4_000_000_000_000_000i64..4_000_000_000_000_000) {
            let time = Time::from_micros(micros);
            prop_assert_eq!(time.micros(), micros);
            prop_assert_eq!(Time::parse(&time.to_string()), Ok(time));
        }
    }
}
