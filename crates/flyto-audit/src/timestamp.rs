//! Moments in records.
//!
//! RFC 3339 is written and read here, by arithmetic on the Gregorian calendar, so that a record
//! needs no time zone data and no further crate. A second has 9 digits at most behind its point,
//! and those behind the third are cut.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment in milliseconds, by the clock of the writing machine; in text RFC 3339, UTC, always 24 characters.
///
/// Such texts sort as the moments do. A text of another precision or with another offset is read as well.
///
/// ```
/// use flyto_audit::Timestamp;
///
/// let at: Timestamp = "2026-03-01T01:30:00+02:00".parse()?;
/// assert_eq!(at.to_string(), "2026-02-28T23:30:00.000Z");
/// # Ok::<(), flyto_audit::InvalidTimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Milliseconds since 1970 began, in [`RANGE`].
    unix_ms: i64,
}

/// A text is no [`Timestamp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a time is written as in RFC 3339, such as 2026-01-31T12:00:00Z, between the years 0 and 9999"
)]
pub struct InvalidTimestamp;

/// The years 0 to 9999, which RFC 3339 can write.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

const DAY_MS: i64 = 86_400_000;

impl Timestamp {
    /// The present, by the system's clock.
    #[must_use]
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// Milliseconds since 1970 began (UTC); negative before.
    #[must_use]
    pub fn unix_ms(self) -> i64 {
        self.unix_ms
    }

    /// The moment that is `duration` earlier, at the earliest the year 0.
    #[must_use]
    pub fn earlier_by(self, duration: Duration) -> Self {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::clamped(self.unix_ms.saturating_sub(ms))
    }

    /// The moment that is `duration` later, at the latest the end of the year 9999.
    #[must_use]
    pub fn later_by(self, duration: Duration) -> Self {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::clamped(self.unix_ms.saturating_add(ms))
    }

    /// The only way to make one that takes any number: what lies outside of [`RANGE`] becomes its
    /// nearest end.
    fn clamped(unix_ms: i64) -> Self {
        Self { unix_ms: unix_ms.clamp(*RANGE.start(), *RANGE.end()) }
    }
}

impl From<SystemTime> for Timestamp {
    /// Cuts to milliseconds; a clock before the year 0 or after 9999 gives the nearest moment within.
    fn from(time: SystemTime) -> Self {
        let ms = |it: Duration| i64::try_from(it.as_millis()).unwrap_or(i64::MAX);
        Self::clamped(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => ms(after),
            Err(err) => -ms(err.duration()),
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.unix_ms.div_euclid(DAY_MS));
        let ms = self.unix_ms.rem_euclid(DAY_MS);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        // Each record has one, and the formatting machinery takes longer than all the rest of its head.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts = [(0, 4, year), (5, 2, month), (8, 2, day), (11, 2, hour), (14, 2, minute)];
        for (at, n_digits, number) in parts.into_iter().chain([(17, 2, second), (20, 3, ms % 1000)])
        {
            let mut rest = number;
            for digit in text[at..at + n_digits].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        f.write_str(str::from_utf8(&text).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).ok_or(InvalidTimestamp)
    }
}

/// `None` for a text in any other form, for a day that the month does not have, and for a moment
/// outside of [`RANGE`] once the offset is taken off.
fn parse(text: &str) -> Option<Timestamp> {
    let mut rest = Rest(text.as_bytes());
    let year = rest.number(4)?;
    let month = rest.after(b"-")?.number(2).filter(|it| (1..=12).contains(it))?;
    let day = rest.after(b"-")?.number(2)?;
    let hour = rest.after(b"Tt ")?.number(2).filter(|it| *it < 24)?;
    let minute = rest.after(b":")?.number(2).filter(|it| *it < 60)?;
    // A leap second has no place in the count of seconds: it is the first of the next minute.
    let second = rest.after(b":")?.number(2).filter(|it| *it <= 60)?;
    let mut milli = 0;
    if rest.after(b".").is_some() {
        let n_digits = rest.0.iter().take_while(|it| it.is_ascii_digit()).count();
        let digits = rest.0.get(..n_digits).filter(|it| (1..=9).contains(&it.len()))?;
        let kept = digits.iter().copied().chain(*b"00").take(3);
        milli = kept.fold(0, |sum, it| sum * 10 + i64::from(it - b'0'));
        rest.0 = &rest.0[n_digits..];
    }
    let offset_minutes = match *rest.0 {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ref zone @ ..] => {
            let mut zone = Rest(zone);
            let hours = zone.number(2).filter(|it| *it < 24)?;
            let minutes = zone.after(b":")?.number(2).filter(|it| *it < 60)?;
            let minutes = zone.0.is_empty().then_some(hours * 60 + minutes)?;
            if sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let days = days_of(year, month, day);
    // A day that the month lacks comes out as another one.
    (date_of(days) == (year, month, day)).then_some(())?;
    let seconds = hour * 3600 + (minute - offset_minutes) * 60 + second;
    let unix_ms = days * DAY_MS + seconds * 1000 + milli;
    RANGE.contains(&unix_ms).then_some(Timestamp { unix_ms })
}

/// What is left of a text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// The number in the next `n_digits` digits.
    fn number(&mut self, n_digits: usize) -> Option<i64> {
        let digits = self.0.get(..n_digits).filter(|it| it.iter().all(u8::is_ascii_digit))?;
        self.0 = &self.0[n_digits..];
        Some(digits.iter().fold(0, |sum, it| sum * 10 + i64::from(it - b'0')))
    }

    /// Itself behind one of `bytes`, where it begins so.
    fn after(&mut self, bytes: &[u8]) -> Option<&mut Self> {
        let (first, rest) = self.0.split_first()?;
        bytes.contains(first).then(|| {
            self.0 = rest;
            self
        })
    }
}

/// Days from the first of January 1970 to a date of the Gregorian calendar. The year begins in March here, so that
/// the leap day is its last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months_since_march = (month + 9) % 12;
    // March to July and August to December have 153 days each, in the same pattern.
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between the first of March of the year 0 and 1970.
    year * 365 + leap_days + day_of_year - 719_468
}

/// The date of a day: [`days_of`] backwards.
fn date_of(days: i64) -> (i64, i64, i64) {
    // From the mean length of a year, 365.2425 days, at most one off.
    let mut year = ((days + 719_468) * 10_000).div_euclid(3_652_425) + 1;
    while days_of(year, 3, 1) > days {
        year -= 1;
    }
    let day_of_year = days - days_of(year, 3, 1);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time as in RFC 3339")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::{RANGE, Timestamp};

    #[track_caller]
    fn check(text: &str, unix_ms: i64, written: &str) {
        let at: Timestamp = text.parse().unwrap();
        assert_eq!((at.unix_ms(), at.to_string().as_str()), (unix_ms, written));
    }

    #[test]
    fn known_moments() {
        check("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z");
        check("2000-02-29T12:00:00.5Z", 951_825_600_500, "2000-02-29T12:00:00.500Z");
        check("1969-12-31t23:59:59.9999z", -1, "1969-12-31T23:59:59.999Z");
        check("2001-09-09 01:46:40Z", 1_000_000_000_000, "2001-09-09T01:46:40.000Z");
        check("2026-03-01T01:30:00.123456789+02:00", 1_772_321_400_123, "2026-02-28T23:30:00.123Z");
        check("2016-12-31T23:59:60Z", 1_483_228_800_000, "2017-01-01T00:00:00.000Z");
        check("0000-01-01T00:00:00Z", *RANGE.start(), "0000-01-01T00:00:00.000Z");
        check("9999-12-31T23:59:59.999Z", *RANGE.end(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T12:00:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+01:00Z",
            "9999-12-31T23:59:59-01:00",
            "2026-1-01T00:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_moment_survives_its_text(unix_ms in RANGE) {
            let at = Timestamp { unix_ms };
            assert_eq!(at.to_string().parse(), Ok(at));
        }
    }
}
