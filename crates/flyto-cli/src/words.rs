//! Numbers, times and command lines as people write them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::terminal::{Form, acts, escape};

/// `1 tool`, `2 tools`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `412 B`, `9.8 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    // The loss of digits beyond 2^53 is far below the one digit that is shown.
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        // From here on, one digit behind the point would show 1024.0.
        if value < 1023.95 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{value:.1} {unit}")
}

/// `34 ms`, `1.5 s`, `30 s`, `2 min 5 s`.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if duration.is_zero() {
        "0 s".to_owned()
    } else if seconds < 0.001 {
        format!("{:.2} ms", seconds * 1e3)
    } else if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        let text = format!("{seconds:.1}");
        format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
    } else {
        let seconds = duration.as_secs() + u64::from(duration.subsec_millis() >= 500);
        match (seconds / 60, seconds % 60) {
            (minutes, 0) => format!("{minutes} min"),
            (minutes, seconds) => format!("{minutes} min {seconds} s"),
        }
    }
}

/// How long ago, in one unit: `5 s`, `12 min`, `3 h`, `6 d`.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

/// A command line that a POSIX shell reads back as these words. Control characters are shown as
/// `$'…'` does in bash, so that the line is one line.
pub(crate) fn command_line<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let mut res = String::new();
    for word in words {
        if !res.is_empty() {
            res.push(' ');
        }
        push_word(&mut res, word.as_ref());
    }
    res
}

fn push_word(res: &mut String, word: &str) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        res.push_str(word);
    } else if !word.contains(|c| c == '\n' || c == '\t' || acts(c)) {
        let _ = write!(res, "'{}'", word.replace('\'', r"'\''"));
    } else {
        res.push_str("$'");
        for c in word.chars() {
            match c {
                '\n' => res.push_str("\\n"),
                '\t' => res.push_str("\\t"),
                '\r' => res.push_str("\\r"),
                '\'' | '\\' => res.extend(['\\', c]),
                c if c.is_ascii_control() => {
                    let _ = write!(res, "\\x{:02x}", u32::from(c));
                }
                c if acts(c) && c <= '\u{ffff}' => {
                    let _ = write!(res, "\\u{:04x}", u32::from(c));
                }
                c if acts(c) => {
                    let _ = write!(res, "\\U{:08x}", u32::from(c));
                }
                c => res.push(c),
            }
        }
        res.push('\'');
    }
}

/// The first ten of many names, and how many more there are.
pub(crate) fn some(names: &[String]) -> Vec<String> {
    const MOST: usize = 10;
    let mut res: Vec<_> = names.iter().take(MOST).cloned().collect();
    if let n_more @ 1.. = names.len() - res.len() {
        res.push(format!("and {n_more} more"));
    }
    res
}

/// A text from outside, on one line and unable to act on a terminal.
pub(crate) fn one_line(text: &str) -> String {
    escape(&text.split_whitespace().collect::<Vec<_>>().join(" "), Form::Text)
}

/// A description from outside, above the facts of a page. Its first line has single blanks, so that it stands in no column,
/// and each further line begins with a mark: none can pass for a fact.
pub(crate) fn description(text: &str) -> String {
    let text = tame(text.trim());
    let mut lines = text.split('\n');
    let mut res = one_line(lines.next().unwrap_or_default());
    for line in lines {
        res.push_str(format!("\n  | {line}").trim_end());
    }
    res
}

/// A text from outside, with every character that acts on a terminal exchanged for a
/// visible one. Line feeds and tabs stay.
pub(crate) fn tame(text: &str) -> String {
    escape(text, Form::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (n, expect) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"),
            (10_276_045, "9.8 MiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(n), expect);
        }
    }

    #[test]
    fn no_line_of_a_description_passes_for_a_fact() {
        let text = "Prints  f.\n\nversion     9, active\r\n  sha256      0000\n";
        assert_eq!(
            description(text),
            "Prints f.\n  |\n  | version     9, active\n  |   sha256      0000"
        );
        assert_eq!(description("\n approved    by root"), "approved by root");
        assert_eq!(description("Tests."), "Tests.");
    }

    #[test]
    fn times() {
        for (duration, expect) in [
            (Duration::ZERO, "0 s"),
            (Duration::from_micros(420), "0.42 ms"),
            (Duration::from_micros(34_300), "34 ms"),
            (Duration::from_micros(999_700), "1 s"),
            (Duration::from_millis(1_520), "1.5 s"),
            (Duration::from_secs(30), "30 s"),
            (Duration::from_millis(59_970), "1 min"),
            (Duration::from_secs(60), "1 min"),
            (Duration::from_secs(125), "2 min 5 s"),
        ] {
            assert_eq!(time(duration), expect);
        }
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        let of = |seconds| age(Duration::from_secs(seconds));
        assert_eq!([of(0), of(59), of(60), of(3599)], ["0 s", "59 s", "1 min", "59 min"]);
        assert_eq!([of(3600), of(86399), of(86400)], ["1 h", "23 h", "1 d"]);
    }

    #[track_caller]
    fn check_command_line(words: &[&str], expect: &str) {
        assert_eq!(command_line(words), expect);
    }

    #[test]
    fn command_lines_can_be_pasted() {
        check_command_line(&["./count.py", "-n", "a=b"], "./count.py -n a=b");
        check_command_line(&["a b", "", "$HOME", "~"], "'a b' '' '$HOME' '~'");
        check_command_line(&["it's", "'; touch pwned"], r"'it'\''s' ''\''; touch pwned'");
        check_command_line(&["a\nb\u{1b}[31m\\'"], r"$'a\nb\x1b[31m\\\''");
        check_command_line(&["grün"], "'grün'");
        check_command_line(&["a\u{202e}\u{e0041}"], r"$'a\u202e\U000e0041'");
    }

    #[test]
    fn texts_of_others_are_tamed() {
        assert_eq!(one_line(" a\n b\t\u{1b}[31mc  "), "a b ␛[31mc");
        assert_eq!(tame("a\n\tb\u{1b}[31m\u{9b}"), "a\n\tb␛[31m\\u{9b}");
    }
}
