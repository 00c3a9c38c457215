//! How times are written on the command line.

use std::time::Duration;

/// Reads a number of seconds, with a fraction if need be. More than a year is cut to one, for
/// clocks that cannot add more.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    const LONGEST_SECONDS: f64 = 366.0 * 24.0 * 60.0 * 60.0;
    let Ok(seconds) = text.parse::<f64>() else {
        return Err(match with_unit(text) {
            Some(seconds) if seconds > 0.0 => {
                format!("expected a number of seconds; write {seconds}")
            }
            Some(_) => "expected more than 0 seconds".to_owned(),
            None => "expected a number of seconds".to_owned(),
        });
    };
    if seconds > 0.0 {
        Ok(Duration::from_secs_f64(seconds.min(LONGEST_SECONDS)))
    } else {
        Err("expected more than 0 seconds".to_owned())
    }
}

/// The seconds in a time that is written with a unit, as other programs take it: `90s`, `2m`.
pub(super) fn with_unit(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "ms" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    };
    Some(number.trim_end().parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive() {
        for bad in ["0", "-1", "nan", "inf s", "x", ""] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert!(seconds("inf").is_ok());
    }
}
