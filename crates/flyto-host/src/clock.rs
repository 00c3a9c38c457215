//! Times as they are kept and shown.

use std::time::{Duration, SystemTime};

use serde::Serializer;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Milliseconds since 1970; 0 for a time before that.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time that is this many milliseconds after 1970. What no clock can tell is 1970.
pub(crate) fn from_millis(millis: u64) -> SystemTime {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A time in UTC, to the second, by RFC 3339: `2026-11-22T08:30:00Z`.
///
/// So the documents of jobs tell their times. A time before 1970 is told as 1970.
#[must_use]
pub fn text(time: SystemTime) -> String {
    let seconds = millis(time) / 1000;
    let (day, of_day) = (day(seconds / DAY_SECONDS), seconds % DAY_SECONDS);
    format!("{day}T{:02}:{:02}:{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// Writes a time as [`text`] does.
pub(crate) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(*time))
}

/// The same where there may be none.
pub(crate) fn serialize_option<S: Serializer>(
    time: &Option<SystemTime>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serialize(time, to),
        None => to.serialize_none(),
    }
}

/// The day of the Gregorian calendar that is this many days after 1970-01-01, by the algorithm `civil_from_days` of
/// <https://howardhinnant.github.io/date_algorithms.html>.
pub(crate) fn day(days: u64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(19_723), "2024-01-01");
        assert_eq!(day(20_779), "2026-11-22");
        assert_eq!(day(47_540), "2100-02-28");
        assert_eq!(day(47_541), "2100-03-01");
    }

    #[test]
    fn times_are_told_to_the_second() {
        assert_eq!(text(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
        assert_eq!(text(from_millis(1_795_338_061_999)), "2026-11-22T09:01:01Z");
        assert_eq!(millis(from_millis(7)), 7);
        assert!(text(from_millis(u64::MAX)).ends_with('Z'));
    }
}
