//! Values of another type than their key wants, and what they were probably meant to be.
//!
//! Each function looks at one key whose value has a wrong type, and knows another format in
//! which that value is right. It gives the finding that shows the value in this format, or
//! `None` where it knows no such format; the reader's own finding follows then. Nothing is read
//! in this way: a wrong value stays an error.

use std::time::Duration;

use flyto_diagnostics::{
    At, Diagnostic, ObjectReader, Reported,
    codes::{BAD_VALUE, WRONG_TYPE},
    json::Node,
    quoted,
};
use serde_json::{Map, Value};

use super::command::{plain_words, spaced};

/// Lets `meant` look at the value of a key first. What it says is said in place of the reader's own
/// finding, which knows types and no meaning.
/// # Errors
///
/// [`Reported`] when `meant` has a finding, and where the reader refuses the key itself.
pub(crate) fn check(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    meant: impl FnOnce(At<'_>) -> Option<Diagnostic>,
) -> Result<(), Reported> {
    match reader.optional(key)?.and_then(meant) {
        Some(diagnostic) => Err(reader.push(diagnostic)),
        None => Ok(()),
    }
}

/// The finding that `label` wants another type, with what stands there.
fn wrong(at: At<'_>, label: &str, wanted: &str) -> Diagnostic {
    let found = at.value().describe();
    at.error(WRONG_TYPE, format!("{label} must be {wanted}, found {found}"))
}

/// `true` or `false`, which people write in other ways.
/// `yes`, `on`, `no`, `off`, `1`, `0`, as texts or numbers, have `true` or `false` as
/// suggestion.
///
/// # Errors
///
/// [`Reported`] for every value but `true`, `false` and `null`.
#[inline(always)]
pub(crate) fn flag(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<bool>, Reported> {
    match reader.optional(key)?.map(|it| &it.value().node) {
        None => Ok(None),
        Some(Node::Bool(value)) => Ok(Some(*value)),
        Some(_) => other_flag(reader, key),
    }
}

/// What [`flag`] says of a value of another type. Apart from it, so that a flag that is not there, as most are not, costs
/// next to nothing.
#[cold]
fn other_flag(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<Option<bool>, Reported> {
    check(reader, key, |at| {
        let text = match &at.value().node {
            Node::String(text) => match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "1" => "true",
                "no" | "off" | "0" => "false",
                _ => return None,
            },
            Node::Number(text) => match &**text {
                "1" => "true",
                "0" => "false",
                _ => return None,
            },
            _ => return None,
        };
        let diag = wrong(at, &quoted(key), "`true` or `false`");
        Some(diag.with_help(format!("write `{text}`")).with_suggestion(at.span(), text))
    })?;
    reader.optional_bool(key)
}

/// A whole command line as an array, which other formats have in one key.
/// `has_args` says that the object has `args` already, into which the rest of the words would
/// go.
pub(super) fn command(at: At<'_>, has_args: bool) -> Option<Diagnostic> {
    let words = strings(at)?;
    let (program, args) = words.split_first()?;
    let diag = wrong(at, "\"command\"", "a string")
        .with_reason("\"command\" is one program and \"args\" are its arguments");
    let args = spaced(args);
    let text = format!("{}, \"args\": {args}", Value::from(*program));
    Some(if has_args {
        let program = Value::from(*program);
        diag.with_help(format!("write `\"command\": {program}`, and the rest in front of \"args\""))
    } else {
        diag.with_help(format!("write `\"command\": {text}`")).with_suggestion(at.span(), text)
    })
}

/// A person as an object, as `package.json` of npm has it.
/// Name and address become `Name <address>`, as npm writes it in one text.
pub(super) fn author(at: At<'_>) -> Option<Diagnostic> {
    at.value().as_object()?;
    let part = |key| at.member(key).and_then(|it| it.value().as_str());
    let name = part("name")?;
    let text = part("email").map_or_else(|| name.to_owned(), |email| format!("{name} <{email}>"));
    let text = Value::from(text).to_string();
    let diag = wrong(at, "\"author\"", "a string");
    Some(diag.with_help(format!("write `{text}`")).with_suggestion(at.span(), text))
}

/// Variables as `NAME=value`, as Compose files have them.
/// Every item must have a `=`. Of two with one name the last stays in the suggestion.
pub(super) fn env(at: At<'_>) -> Option<Diagnostic> {
    let mut members = Map::new();
    for text in strings(at)? {
        let (name, value) = text.split_once('=')?;
        members.insert(name.to_owned(), value.into());
    }
    let items: Vec<_> =
        members.iter().map(|(name, value)| format!("{}: {value}", Value::from(&**name))).collect();
    let text = format!("{{{}}}", items.join(", "));
    let diag = wrong(at, "\"env\"", "an object of strings");
    Some(diag.with_help(format!("write `{text}`")).with_suggestion(at.span(), text))
}

/// A time with its unit, with a part of a second, or beyond what a number here can be. `max` is
/// the most that the key may say. Zero and negative numbers are passed on, because the reader of
/// the key knows what they stand for. A fraction is rounded up in the suggestion.
pub(super) fn seconds(at: At<'_>, key: &str, max: Duration) -> Option<Diagnostic> {
    let (seconds, code) = match &at.value().node {
        Node::String(text) => (seconds_of(text)?, WRONG_TYPE),
        Node::Number(text) => (text.parse().ok()?, BAD_VALUE),
        _ => return None,
    };
    let max = max.as_secs();
    let is_whole = code == BAD_VALUE && seconds.fract() == 0.0;
    if seconds <= max as f64 && (seconds <= 0.0 || is_whole) {
        // What else a whole number may not be, the reader tells.
        return None;
    }
    let (key, found) = (quoted(key), at.value().describe());
    if seconds > max as f64 {
        let what = format!("{key} is at most {max} s, found {found}");
        return Some(at.error(BAD_VALUE, what).with_help("the unit is seconds, not milliseconds"));
    }
    let what = format!("{key} must be a whole number of seconds, found {found}");
    let text = format!("{}", seconds.ceil());
    Some(at.error(code, what).with_help(format!("write {text}")).with_suggestion(at.span(), text))
}

/// `10s`, `1.5 min`, `500ms` as seconds.
/// `None` for a number without a unit, with a sign, or with a unit that is not listed.
fn seconds_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "ms" | "millis" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return None,
    };
    Some(number * unit)
}

/// Tools under their names.
///
/// An object in place of the array, as other formats have it: each tool under its name.
pub(super) fn tools(at: At<'_>) -> Option<Diagnostic> {
    let name = at.value().as_object()?.first().map_or("…", |it| &*it.key.value);
    let name = quoted(name);
    let diag = wrong(at, "\"tools\"", "an array");
    Some(diag.with_help(format!("write `[{{\"name\": {name}, …}}]`, one object for each tool")))
}

/// A command line where a tool belongs.
///
/// The words of a line that needs a shell become the arguments of `sh -c`.
pub(super) fn tool(at: At<'_>) -> Option<Diagnostic> {
    let line = at.value().as_str()?;
    let words = plain_words(line).unwrap_or_else(|| vec!["sh".into(), "-c".into(), line.into()]);
    let (program, args) = words.split_first()?;
    let args =
        if args.is_empty() { String::new() } else { format!(", \"args\": {}", spaced(args)) };
    let call = format!("\"command\": {}{args}", Value::from(&**program));
    let help = format!("write `{{\"name\": …, \"description\": …, {call}}}`");
    Some(wrong(at, "a tool", "an object").with_help(help))
}

/// Servers as a list.
///
/// An array in place of the object; the name of the first one shows in the help.
pub(super) fn servers(at: At<'_>) -> Option<Diagnostic> {
    let name = at.value().as_array()?.first().and_then(|it| it.get("name")?.as_str());
    let name = quoted(name.unwrap_or("…"));
    let diag = wrong(at, "\"mcpServers\"", "an object");
    Some(diag.with_help(format!("write `{{{name}: {{…}}}}`: each server under its name")))
}

/// The items of an array of strings.
/// `None` where it is no array, or one item is no string.
fn strings(at: At<'_>) -> Option<Vec<&str>> {
    at.value().as_array()?.iter().map(|it| it.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<f64>) {
        assert_eq!(seconds_of(text), expect, "{text}");
    }

    #[test]
    fn times_with_a_unit() {
        check("10s", Some(10.0));
        check(" 1.5 min ", Some(90.0));
        check("500ms", Some(0.5));
        check("2h", Some(7200.0));
        for other in ["10", "", "s", "ten s", "1.2.3s", "5 fortnights", "-5s"] {
            check(other, None);
        }
    }
}
