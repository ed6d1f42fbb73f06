//! Dates of header fields (RFC 9110 section 5.6.7). Times are seconds since 1970 in UTC.

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The range of years four digits can show; times beyond are clamped when formatted.
const FIRST: i64 = -62_167_219_200; // 0000-01-01
const LAST: i64 = 253_402_300_799; // 9999-12-31 23:59:59

/// As IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn format(seconds: i64) -> String {
    with_separator(seconds, ' ')
}

/// As cookies were dated by Netscape, `Sun, 06-Nov-1994 08:49:37 GMT`.
pub fn format_cookie(seconds: i64) -> String {
    with_separator(seconds, '-')
}

/// Parses IMF-fixdate, RFC 850 and asctime dates.
///
/// Case and a wrong day of the week do not matter, and what follows the time is ignored (`; length=29` was sent by
/// old browsers). A year of two digits is the one nearest to `now` that is not more than 50 years in the future.
pub fn parse(text: &str, now: i64) -> Option<i64> {
    let (day_name, rest) = text.trim_start().split_once([',', ' '])?;
    let known = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(day_name));
    let comma = text.trim_start().as_bytes().get(day_name.len()) == Some(&b',');
    let rest = if comma { rest.strip_prefix(' ')? } else { rest };
    let bytes = rest.as_bytes();
    if comma && known(&DAYS) {
        // 06 Nov 1994 08:49:37
        separators(bytes, &[(2, b' '), (6, b' '), (11, b' ')])?;
        return civil(
            number(bytes, 7, 4)?,
            month(bytes, 3)?,
            number(bytes, 0, 2)?,
            clock(bytes, 12)?,
        );
    }
    if comma && known(&LONG_DAYS) {
        // 06-Nov-94 08:49:37
        separators(bytes, &[(2, b'-'), (6, b'-'), (9, b' ')])?;
        let year = full_year(number(bytes, 7, 2)?, now);
        return civil(
            year,
            month(bytes, 3)?,
            number(bytes, 0, 2)?,
            clock(bytes, 10)?,
        );
    }
    if !comma && known(&DAYS) {
        // Nov  6 08:49:37 1994
        separators(bytes, &[(3, b' '), (6, b' '), (15, b' ')])?;
        let day = if bytes[4] == b' ' {
            number(bytes, 5, 1)?
        } else {
            number(bytes, 4, 2)?
        };
        return civil(
            number(bytes, 16, 4)?,
            month(bytes, 0)?,
            day,
            clock(bytes, 7)?,
        );
    }
    None
}

fn with_separator(seconds: i64, separator: char) -> String {
    let seconds = seconds.clamp(FIRST, LAST);
    let (days, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of(days);
    let weekday = DAYS[(days + 4).rem_euclid(7) as usize];
    let month = MONTHS[month as usize - 1];
    // By hand: two dates in every response.
    let mut text = String::with_capacity(29);
    let two = |n: i64| [b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8].map(char::from);
    text.push_str(weekday);
    text.push_str(", ");
    text.extend(two(day));
    text.push(separator);
    text.push_str(month);
    text.push(separator);
    text.extend(two(year / 100));
    text.extend(two(year % 100));
    for (lead, n) in [
        (' ', clock / 3600),
        (':', clock / 60 % 60),
        (':', clock % 60),
    ] {
        text.push(lead);
        text.extend(two(n));
    }
    text.push_str(" GMT");
    text
}

fn separators(bytes: &[u8], expected: &[(usize, u8)]) -> Option<()> {
    expected
        .iter()
        .all(|&(at, byte)| bytes.get(at) == Some(&byte))
        .then_some(())
}

fn number(bytes: &[u8], at: usize, digits: usize) -> Option<i64> {
    let digits = bytes.get(at..at + digits)?;
    digits.iter().try_fold(0, |sum, b| {
        b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0'))
    })
}

fn month(bytes: &[u8], at: usize) -> Option<i64> {
    let name = bytes.get(at..at + 3)?;
    MONTHS
        .iter()
        .position(|m| m.as_bytes().eq_ignore_ascii_case(name))
        .map(|at| at as i64 + 1)
}

/// Seconds of the day; a leap second counts as the next minute's first.
fn clock(bytes: &[u8], at: usize) -> Option<i64> {
    separators(bytes, &[(at + 2, b':'), (at + 5, b':')])?;
    let (hour, minute, second) = (
        number(bytes, at, 2)?,
        number(bytes, at + 3, 2)?,
        number(bytes, at + 6, 2)?,
    );
    (hour < 24 && minute < 60 && second < 61).then_some(hour * 3600 + minute * 60 + second)
}

fn civil(year: i64, month: i64, day: i64, clock: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (day >= 1 && day <= length).then(|| days_of(year, month, day) * 86_400 + clock)
}

fn full_year(two: i64, now: i64) -> i64 {
    let current = date_of(now.clamp(FIRST, LAST).div_euclid(86_400)).0;
    let year = current - current.rem_euclid(100) + two;
    match year - current {
        ahead if ahead > 50 => year - 100,
        behind if behind < -49 => year + 100,
        _ => year,
    }
}

/// Days since 1970 of a date in the Gregorian calendar (Howard Hinnant's days_from_civil).
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days since 1970 (Howard Hinnant's civil_from_days).
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (
        year + era * 400 + i64::from(month <= 2),
        month,
        of_year - (153 * shifted + 2) / 5 + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_790_000_000;

    #[test]
    fn recorded_dates() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"),
            (4_102_444_800, "Fri, 01 Jan 2100 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(parse(text, NOW), Some(seconds));
        }
        for text in [
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "sun, 06 nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 GMT; length=29",
        ] {
            assert_eq!(parse(text, NOW), Some(784_111_777), "{text}");
        }
        for text in [
            "06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Xxx 1994 08:49:37 GMT",
            "Sun, 32 Jan 1994 08:49:37 GMT",
            "Sun, 29 Feb 1900 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT",
            "",
            "garbage",
            "1994-11-06T08:49:37Z",
            "Sun",
            "Sun,",
        ] {
            assert_eq!(parse(text, NOW), None, "{text}");
        }
        assert_eq!(
            parse("Sunday, 06-Nov-70 08:49:37 GMT", NOW)
                .map(format)
                .as_deref(),
            Some("Thu, 06 Nov 2070 08:49:37 GMT")
        );
        assert_eq!(format_cookie(315_536_400), "Tue, 01-Jan-1980 01:00:00 GMT");
    }

    proptest! {
        #[test]
        fn parsing_reverses_formatting(seconds in FIRST..=LAST) {
            prop_assert_eq!(parse(&format(seconds), NOW), Some(seconds));
        }

        #[test]
        fn never_panics(text in any::<String>(), seconds in any::<i64>()) {
            let _ = parse(&text, seconds);
            let _ = parse(&format!("Sun, {text}"), seconds);
            let _ = format(seconds);
        }
    }
}
