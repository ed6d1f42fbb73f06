//! Calendar dates in local time or UTC and their `strftime` texts, in the C locale.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::borrow::Cow;
use std::fmt::Write;

/// A second of the calendar, with the fields of C's `struct tm`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calendar {
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    /// 0 is Sunday.
    pub weekday: u8,
    /// 0 is the first of January.
    pub yearday: u16,
    /// Is daylight saving time in force?
    pub dst: bool,
    /// Seconds east of Greenwich.
    pub offset: i32,
    /// The name of the zone, `UTC` or `CEST`.
    pub zone: Cow<'static, str>,
    /// Seconds since 1970.
    pub epoch: i64,
}

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Beyond this many seconds from 1970 dates are clamped, about 290,000 years, so that calendar arithmetic cannot overflow.
const LIMIT: i64 = 9_000_000_000_000;

/// Local time by `TZ` or `/etc/localtime`. Outside the years that have zone data the offset is that of UTC.
pub fn local(epoch: i64) -> Calendar {
    let Ok(timestamp) = Timestamp::from_second(epoch) else {
        return utc(epoch);
    };
    let zone = TimeZone::system();
    let info = zone.to_offset_info(timestamp);
    let name = info.abbreviation();
    let name = if name == "UTC" {
        Cow::Borrowed("UTC")
    } else {
        Cow::Owned(name.to_string())
    };
    civil(epoch, info.offset().seconds(), info.dst().is_dst(), name)
}

/// Coordinated universal time.
pub fn utc(epoch: i64) -> Calendar {
    civil(epoch, 0, false, Cow::Borrowed("UTC"))
}

/// `21/Nov/2026:09:18:10 +0100`, the date of access logs (common log format).
pub fn clf(epoch: i64) -> String {
    let c = local(epoch);
    let sign = if c.offset < 0 { '-' } else { '+' };
    let minutes = c.offset.unsigned_abs() / 60;
    format!(
        "{} {sign}{:02}{:02}",
        clf_date(&c),
        minutes / 60,
        minutes % 60
    )
}

/// `21/Nov/2026:09:18:10`, without the zone, the date of the system log.
pub fn clf_date(c: &Calendar) -> String {
    let month = &MONTHS[usize::from(c.month - 1)][..3];
    format!(
        "{:02}/{month}/{}:{:02}:{:02}:{:02}",
        c.day, c.year, c.hour, c.minute, c.second
    )
}

impl Calendar {
    /// The nine numbers of `ns_localtime` and `ns_gmtime`: second, minute, hour, day of the month, month from 0, years since
    /// 1900, day of the week, day of the year, daylight saving time.
    pub fn fields(&self) -> [i64; 9] {
        [
            i64::from(self.second),
            i64::from(self.minute),
            i64::from(self.hour),
            i64::from(self.day),
            i64::from(self.month) - 1,
            self.year - 1900,
            i64::from(self.weekday),
            i64::from(self.yearday),
            i64::from(self.dst),
        ]
    }

    /// The text of a `strftime` pattern. All conversions of POSIX 2024 and `%s %P %k %l`; the modifiers `E` and `O` are
    /// skipped. `None` for a conversion that does not exist, and for a lone `%` at the end.
    pub fn format(&self, pattern: &str) -> Option<String> {
        let mut out = String::with_capacity(pattern.len() + 16);
        self.append(&mut out, pattern)?;
        Some(out)
    }

    fn append(&self, out: &mut String, pattern: &str) -> Option<()> {
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut conversion = rest.next()?;
            if matches!(conversion, 'E' | 'O') {
                conversion = rest.next()?;
            }
            self.convert(out, conversion)?;
        }
        Some(())
    }

    fn convert(&self, out: &mut String, conversion: char) -> Option<()> {
        let weekday = DAYS[usize::from(self.weekday)];
        let month = MONTHS[usize::from(self.month - 1)];
        let hour12 = (self.hour + 11) % 12 + 1;
        let (yday, wday) = (i64::from(self.yearday), i64::from(self.weekday));
        let written = match conversion {
            'a' => write!(out, "{}", &weekday[..3]),
            'A' => write!(out, "{weekday}"),
            'b' | 'h' => write!(out, "{}", &month[..3]),
            'B' => write!(out, "{month}"),
            'c' => return self.append(out, "%a %b %e %H:%M:%S %Y"),
            'C' => write!(out, "{:02}", self.year.div_euclid(100)),
            'd' => write!(out, "{:02}", self.day),
            'D' | 'x' => return self.append(out, "%m/%d/%y"),
            'e' => write!(out, "{:2}", self.day),
            'F' => return self.append(out, "%Y-%m-%d"),
            'g' => write!(out, "{:02}", self.iso_week().0.rem_euclid(100)),
            'G' => write!(out, "{}", self.iso_week().0),
            'H' => write!(out, "{:02}", self.hour),
            'I' => write!(out, "{hour12:02}"),
            'j' => write!(out, "{:03}", self.yearday + 1),
            'k' => write!(out, "{:2}", self.hour),
            'l' => write!(out, "{hour12:2}"),
            'm' => write!(out, "{:02}", self.month),
            'M' => write!(out, "{:02}", self.minute),
            'n' => writeln!(out),
            'p' => write!(out, "{}", if self.hour < 12 { "AM" } else { "PM" }),
            'P' => write!(out, "{}", if self.hour < 12 { "am" } else { "pm" }),
            'r' => return self.append(out, "%I:%M:%S %p"),
            'R' => return self.append(out, "%H:%M"),
            's' => write!(out, "{}", self.epoch),
            'S' => write!(out, "{:02}", self.second),
            't' => write!(out, "\t"),
            'T' | 'X' => return self.append(out, "%H:%M:%S"),
            'u' => write!(out, "{}", if self.weekday == 0 { 7 } else { self.weekday }),
            'U' => write!(out, "{:02}", (yday + 7 - wday) / 7),
            'V' => write!(out, "{:02}", self.iso_week().1),
            'w' => write!(out, "{wday}"),
            'W' => write!(out, "{:02}", (yday + 7 - (wday + 6) % 7) / 7),
            'y' => write!(out, "{:02}", self.year.rem_euclid(100)),
            'Y' => write!(out, "{}", self.year),
            'z' => {
                let minutes = self.offset.unsigned_abs() / 60;
                let sign = if self.offset < 0 { '-' } else { '+' };
                write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
            }
            'Z' => write!(out, "{}", self.zone),
            '%' => write!(out, "%"),
            _ => return None,
        };
        written.ok()
    }

    /// Year and week by ISO 8601: week 1 holds the year's first Thursday.
    fn iso_week(&self) -> (i64, i64) {
        let from_monday = (i64::from(self.weekday) + 6) % 7;
        let week = (i64::from(self.yearday) - from_monday + 10) / 7;
        if week < 1 {
            (self.year - 1, weeks_in(self.year - 1))
        } else if week > weeks_in(self.year) {
            (self.year + 1, 1)
        } else {
            (self.year, week)
        }
    }
}

/// Does the reference's `ns_fmttime` know every conversion of this pattern? What it refuses it writes as
/// `%Y%m%d-%H%M%S`. Known from recordings to be refused: `%T %F %e`, one of `%I %p`, of `%U %w`, of `%D %R %s`, a lone `%`;
/// where a recording leaves it open, the conversion is taken as known.
pub fn is_reference_pattern(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c == '%'
            && !rest
                .next()
                .is_some_and(|c| "YmdHMScxXzZaAbBjy%".contains(c))
        {
            return false;
        }
    }
    true
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
pub fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let from_march = i64::from((month + 9) % 12);
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(epoch: i64, offset: i32, dst: bool, zone: Cow<'static, str>) -> Calendar {
    let shifted = epoch.clamp(-LIMIT, LIMIT) + i64::from(offset);
    let (days, second) = (shifted.div_euclid(86_400), shifted.rem_euclid(86_400));
    // Years start in March here, so that the leap day is the last one.
    let from_era = days + 719_468;
    let era = from_era.div_euclid(146_097);
    let of_era = from_era.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = (if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    }) as u8;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Calendar {
        year,
        month,
        day: (of_year - (153 * from_march + 2) / 5 + 1) as u8,
        hour: (second / 3600) as u8,
        minute: (second / 60 % 60) as u8,
        second: (second % 60) as u8,
        weekday: (days + 4).rem_euclid(7) as u8,
        yearday: (days - days_from_civil(year, 1, 1)) as u16,
        dst,
        offset,
        zone,
        epoch,
    }
}

fn weeks_in(year: i64) -> i64 {
    let first = (days_from_civil(year, 1, 1) + 4).rem_euclid(7);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if first == 4 || (first == 3 && leap) {
        53
    } else {
        52
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_dates() {
        let f = |epoch, pattern: &str| utc(epoch).format(pattern).expect(pattern);
        assert_eq!(f(0, "%c"), "Thu Jan  1 00:00:00 1970");
        assert_eq!(f(1_000_000_000, "%c"), "Sun Sep  9 01:46:40 2001");
        assert_eq!(f(1_000_000_000, "%x %X"), "09/09/01 01:46:40");
        assert_eq!(f(1_000_000_000, "%Z %z"), "UTC +0000");
        assert_eq!(
            f(951_782_400, "%F %j %G-W%V-%u %U %W"),
            "2000-02-29 060 2000-W09-2 09 09"
        );
        assert_eq!(f(1_609_459_200, "%G-W%V %I %p"), "2020-W53 12 AM");
        assert_eq!(f(0, "ü %%"), "ü %");
        assert_eq!(utc(0).format("%"), None);
        assert_eq!(utc(0).format("%Q"), None);
        assert_eq!(utc(0).fields(), [0, 0, 0, 1, 0, 70, 4, 0, 0]);
        assert_eq!(clf_date(&utc(1_000_000_000)), "09/Sep/2001:01:46:40");
    }

    #[test]
    fn patterns_the_reference_knows() {
        for known in ["%Y-%m-%d %H:%M:%S", "%c", "%x %X", "%Z %z", "literal", ""] {
            assert!(is_reference_pattern(known), "{known}");
        }
        for refused in [
            "%T",
            "%a %b %e %H:%M:%S %Y",
            "%A, %d %B %Y %I:%M %p",
            "%j %U %w %y %%",
            "%D %R %s",
            "%F",
            "%",
        ] {
            assert!(!is_reference_pattern(refused), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn a_date_leads_back_to_its_second(epoch in -100_000_000_000i64..100_000_000_000) {
            let c = utc(epoch);
            let days = days_from_civil(c.year, c.month, c.day);
            let back = days * 86_400 + i64::from(c.hour) * 3600 + i64::from(c.minute) * 60 + i64::from(c.second);
            prop_assert_eq!(back, epoch);
            prop_assert!(c.yearday < 366);
        }

        #[test]
        fn never_panics(epoch: i64, pattern in "(%[a-zA-Z%]|.){0,6}") {
            let _ = (utc(epoch).format(&pattern), local(epoch).format(&pattern), clf(epoch));
        }
    }
}
