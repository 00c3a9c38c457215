//! How result texts write durations.

use std::time::Duration;

/// Writes a duration in hours, minutes and seconds: `300ms`, `1.5s`, `30s`, `1m30s`, `1h0m0s`.
///
/// Units above the largest that is needed are left out, those below are not; below a second the
/// unit is `ms`, `µs` or `ns`. Zero is `0s`. Digits behind the point are those that the duration has.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_program::duration_text;
///
/// assert_eq!(duration_text(Duration::from_millis(1_500)), "1.5s");
/// assert_eq!(duration_text(Duration::from_secs(3_600)), "1h0m0s");
/// assert_eq!(duration_text(Duration::from_micros(250)), "250µs");
/// ```
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let nanos = duration.subsec_nanos();
    match duration.as_secs() {
        0 if nanos == 0 => "0s".to_owned(),
        0 if nanos < 1_000 => format!("{nanos}ns"),
        0 if nanos < 1_000_000 => format!("{}µs", with_fraction(nanos.into(), 3)),
        0 => format!("{}ms", with_fraction(nanos.into(), 6)),
        secs => {
            let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
            let secs = with_fraction(u128::from(secs) * 1_000_000_000 + u128::from(nanos), 9);
            match (hours, minutes) {
                (0, 0) => format!("{secs}s"),
                (0, _) => format!("{minutes}m{secs}s"),
                _ => format!("{hours}h{minutes}m{secs}s"),
            }
        }
    }
}

/// How long something took or was given, as texts of results say it: in whole milliseconds, and below one in whole
/// microseconds, as finer parts say nothing about when a program was stopped.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_program::time_text;
///
/// assert_eq!(time_text(Duration::from_micros(1_500_250)), "1.5s");
/// assert_eq!(time_text(Duration::from_nanos(100_900)), "100µs");
/// ```
#[must_use]
pub fn time_text(time: Duration) -> String {
    let unit = if time >= Duration::from_millis(1) { 1_000_000 } else { 1_000 };
    let nanos = time.subsec_nanos();
    let whole = if time < Duration::from_micros(1) { nanos } else { nanos - nanos % unit };
    duration_text(Duration::new(time.as_secs(), whole))
}

/// `value` with its last `digits` digits behind the point, without zeros at the end.
fn with_fraction(value: u128, digits: usize) -> String {
    let unit = 10_u128.pow(u32::try_from(digits).expect("at most nine"));
    let (whole, rest) = (value / unit, value % unit);
    let fraction = format!("{rest:0digits$}");
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(duration: Duration, expect: &str) {
        assert_eq!(duration_text(duration), expect);
    }

    #[test]
    fn a_short_time_is_not_told_as_none() {
        for (nanos, expect) in [
            (0, "0s"),
            (7, "7ns"),
            (1_007, "1µs"),
            (999_999, "999µs"),
            (1_000_999, "1ms"),
            (2_000_999_999, "2s"),
        ] {
            assert_eq!(time_text(Duration::from_nanos(nanos)), expect);
        }
    }

    #[test]
    fn units_and_fractions() {
        check(Duration::ZERO, "0s");
        check(Duration::from_nanos(999), "999ns");
        check(Duration::from_nanos(1_100), "1.1µs");
        check(Duration::from_micros(2_200), "2.2ms");
        check(Duration::from_millis(300), "300ms");
        check(Duration::from_millis(1_500), "1.5s");
        check(Duration::from_secs(30), "30s");
        check(Duration::from_secs(60), "1m0s");
        check(Duration::from_secs(90), "1m30s");
        check(Duration::from_secs(3600), "1h0m0s");
        check(Duration::from_millis(3_661_001), "1h1m1.001s");
        check(Duration::from_secs(360_000), "100h0m0s");
    }
}
