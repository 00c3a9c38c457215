//! What a command line says of the way to answer, read before the line itself is.

use std::ffi::OsString;

use clap::ValueEnum as _;

use super::{Format, When};

/// What has to be known of a command line that may not be readable: how to say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Presets {
    pub(crate) format: Format,
    pub(crate) color: When,
}

impl Presets {
    pub(crate) fn of(words: &[OsString]) -> Self {
        let mut res = Self::default();
        let mut words = words.iter().skip(1).filter_map(|it| it.to_str());
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            let (flag, value) = word.split_once('=').map_or((word, None), |(a, b)| (a, Some(b)));
            if flag == "--format" {
                let value = value.or_else(|| words.next()).unwrap_or_default();
                res.format = Format::from_str(value, false).unwrap_or(res.format);
            } else if flag == "--color" {
                let value = value.or_else(|| words.next()).unwrap_or_default();
                res.color = When::from_str(value, false).unwrap_or(res.color);
            }
        }
        res
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_presets(line: &str, format: Format, color: When) {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        assert_eq!(Presets::of(&words), Presets { format, color }, "{line}");
    }

    #[test]
    fn format_and_colour_are_seen_in_what_is_no_command_line() {
        check_presets("flyto nonsense --format json", Format::Json, When::Auto);
        check_presets("flyto --format=json --color=never -", Format::Json, When::Never);
        check_presets("flyto --format xml", Format::Human, When::Auto);
        check_presets("flyto call x -- --format json", Format::Human, When::Auto);
    }
}
