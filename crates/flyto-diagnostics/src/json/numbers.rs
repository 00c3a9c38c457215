//! Numbers (RFC 8259 section 6).

use std::borrow::Cow;

use crate::codes;
use crate::json::mistakes::MENDED_BYTES;
use crate::json::parse::{Error, Parser};
use crate::json::words::string_literal;
use crate::quote::{quoted, shown};

impl<'s> Parser<'s> {
    /// Reads the number that begins here.
    pub(super) fn number(&mut self) -> Result<Cow<'s, str>, Error> {
        let run = self.number_run();
        let exact = run.len() <= 18 && run.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
        if !is_number(run) || (!exact && run.parse::<serde_json::Number>().is_err()) {
            return Err(self.bad_number());
        }
        self.pos += run.len();
        Ok(Cow::Borrowed(run))
    }

    /// What was meant as a number: up to the next character that cannot be part of one
    /// in any notation.
    pub(super) fn number_run(&self) -> &'s str {
        let bytes = self.rest().as_bytes();
        let stop = bytes.iter().position(|byte| {
            !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.' | b'_')
        });
        &self.rest()[..stop.unwrap_or(bytes.len())]
    }

    pub(super) fn bad_number(&self) -> Error {
        let run = self.number_run();
        let span = self.ahead(run.len());
        if is_number(run) {
            let what = format!("the number {} is too large", shown(run));
            let help = "the size of a number is at most about 1.8e308";
            return self.error(codes::NUMBER, span, what).with_help(help).into();
        }
        let unsigned = run.get(..16).unwrap_or(run).trim_start_matches(['-', '+']);
        if ["nan", "inf", "infinity"].contains(&unsigned.to_lowercase().as_str()) {
            let what = format!("{} is not a number of JSON", quoted(run));
            let help = "leave the value out, or write `null` or a string";
            return self.error(codes::UNKNOWN_WORD, span, what).with_help(help).into();
        }
        let diag = self.error(codes::NUMBER, span, format!("{} is not a number", quoted(run)));
        if run.len() > MENDED_BYTES {
            return diag.into();
        }
        if let Some((why, repaired)) = repaired(run) {
            let help = format!("{why}; write {repaired}");
            return diag.with_help(help).with_suggestion(span, repaired).into();
        }
        let is_text = run.len() > 1 && !run.contains(|c: char| c.is_ascii_alphabetic());
        if is_text {
            let help = "put text such as a date or a version between double quotes";
            return diag.with_help(help).with_suggestion(span, string_literal(run)).into();
        }
        let without_unit = run.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        diag.with_help(if without_unit != run && is_number(without_unit) {
            "a number has no unit; write the number alone, or a string"
        } else {
            "a number has digits, and may have a minus sign, a fraction, an exponent"
        })
        .into()
    }
}

/// Whether `text` is a number by RFC 8259 section 6.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let n_int = digits(rest);
    if n_int == 0 || (n_int > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[n_int..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let n_fraction = digits(fraction);
        if n_fraction == 0 {
            return false;
        }
        rest = &fraction[n_fraction..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let n_exponent = digits(exponent);
        if n_exponent == 0 {
            return false;
        }
        rest = &exponent[n_exponent..];
    }
    rest.is_empty()
}

/// What is wrong with a number in another notation, and the same in JSON's.
fn repaired(run: &str) -> Option<(&'static str, String)> {
    let (sign, body) = match run.strip_prefix('+') {
        Some(body) => ("", body),
        None => run.strip_prefix('-').map_or(("", run), |body| ("-", body)),
    };
    let body = body.replace('_', "").to_ascii_lowercase();
    if let Some(value) = other_radix(&body) {
        return Some(("numbers are decimal", format!("{sign}{value}")));
    }
    let (mantissa, exponent) = body.split_at(body.find('e').unwrap_or(body.len()));
    let (int, fraction) = match mantissa.split_once('.') {
        Some((int, fraction)) => (int, Some(fraction)),
        None => (mantissa, None),
    };
    let why = if run.starts_with('+') {
        "a number has no plus sign in front"
    } else if run.contains('_') {
        "a number has no separators between digits"
    } else if int.is_empty() {
        "a digit stands before the point"
    } else if fraction == Some("") {
        "a digit stands behind the point"
    } else {
        "a number has no leading zeros"
    };
    let int =
        if int.trim_start_matches('0').is_empty() { "0" } else { int.trim_start_matches('0') };
    let fraction = match fraction {
        Some("") => ".0".to_owned(),
        Some(digits) => format!(".{digits}"),
        None => String::new(),
    };
    let res = format!("{sign}{int}{fraction}{exponent}");
    (has_digit(mantissa) && is_number(&res)).then_some((why, res))
}

/// The value of `0x1f`, `0o17` and `0b11`.
fn other_radix(body: &str) -> Option<u64> {
    let radix = match body.get(..2)? {
        "0x" => 16,
        "0o" => 8,
        "0b" => 2,
        _ => return None,
    };
    u64::from_str_radix(&body[2..], radix).ok()
}

pub(super) fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}
