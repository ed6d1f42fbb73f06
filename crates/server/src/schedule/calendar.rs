//! When an event is due: after a span of time, or at an hour and minute of a day or week in local time.

use std::time::Duration;

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// The times at which an event runs (manual page ns_schedule).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A span after it was added, and after that each time again. Measured with a clock that nobody sets.
    Every(Duration),
    /// Once a day. Hours 0 to 23, minutes 0 to 59, local time.
    Daily { hour: u8, minute: u8 },
    /// Once a week. Days 0 (Sunday) to 6.
    Weekly { day: u8, hour: u8, minute: u8 },
}

impl When {
    /// The interval as `ns_info scheduled` shows it: the span, or the time since midnight, or since the start of the week.
    pub fn interval(&self) -> Duration {
        let minutes = match *self {
            When::Every(span) => return span,
            When::Daily { hour, minute } => u64::from(hour) * 60 + u64::from(minute),
            When::Weekly { day, hour, minute } => {
                (u64::from(day) * 24 + u64::from(hour)) * 60 + u64::from(minute)
            }
        };
        Duration::from_secs(minutes * 60)
    }

    pub(super) fn is_calendar(&self) -> bool {
        !matches!(self, When::Every(_))
    }
}

/// The next time in microseconds since 1970 that the clock on the wall shows the time wanted, after `now`.
///
/// On the day on which the clock skips the time, the event comes as much later as was skipped; on the day on which it shows
/// the time twice, the event comes at the first one only. None for `Every`, and at the end of representable time.
pub(super) fn next(when: When, now: i64, zone: &TimeZone) -> Option<i64> {
    let (weekday, hour, minute) = match when {
        When::Every(_) => return None,
        When::Daily { hour, minute } => (None, hour, minute),
        When::Weekly { day, hour, minute } => (
            Some(Weekday::from_sunday_zero_offset(i8::try_from(day).ok()?).ok()?),
            hour,
            minute,
        ),
    };
    let today = Timestamp::from_microsecond(now)
        .ok()?
        .to_zoned(zone.clone())
        .date();
    // A day back, because a skipped time of yesterday may still lie ahead; a week and a day on, because today's may be over.
    for offset in -1i64..=8 {
        let day = today.checked_add(offset.days()).ok()?;
        if weekday.is_some_and(|w| day.weekday() != w) {
            continue;
        }
        let local = day.to_datetime(
            Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()?,
        );
        let due = zone
            .to_ambiguous_timestamp(local)
            .compatible()
            .ok()?
            .as_microsecond();
        if due > now {
            return Some(due);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central European time by its rule, so that the test needs no zone files.
    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn utc(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn next_occurrence() {
        let daily = |hour, minute| When::Daily { hour, minute };
        let weekly = |day, hour, minute| When::Weekly { day, hour, minute };
        for (when, now, expected) in [
            (daily(5, 35), "2026-01-10T00:00:00Z", "2026-01-10T04:35:00Z"),
            (daily(5, 35), "2026-01-10T04:35:00Z", "2026-01-11T04:35:00Z"),
            (
                daily(5, 35),
                "2026-01-10T04:34:59.999999Z",
                "2026-01-10T04:35:00Z",
            ),
            (daily(0, 0), "2026-12-31T22:59:00Z", "2026-12-31T23:00:00Z"),
            // The night of the change to summer time: 02:30 does not exist, 03:30 stands for it.
            (daily(2, 30), "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"),
            (daily(2, 30), "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"),
            (daily(12, 0), "2026-03-28T11:00:00Z", "2026-03-29T10:00:00Z"),
            // Back to winter time: 02:30 comes twice, the event once.
            (daily(2, 30), "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
            (daily(2, 30), "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
            (
                weekly(2, 5, 35),
                "2026-11-21T12:00:00Z",
                "2026-11-24T04:35:00Z",
            ),
            (
                weekly(2, 5, 35),
                "2026-11-24T04:35:00Z",
                "2026-12-01T04:35:00Z",
            ),
            (
                weekly(0, 2, 30),
                "2026-03-23T00:00:00Z",
                "2026-03-29T01:30:00Z",
            ),
            (
                weekly(6, 23, 59),
                "2026-11-21T12:00:00Z",
                "2026-11-21T22:59:00Z",
            ),
        ] {
            assert_eq!(
                next(when, utc(now), &zone()),
                Some(utc(expected)),
                "{when:?} after {now}"
            );
        }
        assert_eq!(next(daily(24, 0), 0, &zone()), None);
        assert_eq!(next(weekly(7, 0, 0), 0, &zone()), None);
    }

    #[test]
    fn intervals() {
        assert_eq!(
            When::Daily {
                hour: 3,
                minute: 15
            }
            .interval(),
            Duration::from_secs(11_700)
        );
        assert_eq!(
            When::Weekly {
                day: 1,
                hour: 0,
                minute: 1
            }
            .interval(),
            Duration::from_secs(86_460)
        );
    }
}
