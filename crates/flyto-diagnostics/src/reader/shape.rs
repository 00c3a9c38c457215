//! What a value must be, and how to say that it is something else.

use crate::at::At;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::json::{Node, Value, is_number, string_literal};
use crate::quote::quoted;
use crate::similar::closest;

/// What a key wants.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shape {
    String,
    Bool,
    Unsigned,
    Signed,
    Number,
    Object,
    Array,
    StringArray,
    StringMap,
}

/// Why a value is not what its key wants.
pub(super) enum Misfit {
    Type,
    /// The type is right; the text says what to write, if there is more to say.
    Value(Option<String>),
    /// More entries than may be, which is a finding of its own.
    Many(Box<Diagnostic>),
}

impl Shape {
    /// With its article, behind "must be".
    fn name(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Bool => "`true` or `false`",
            Self::Unsigned => "a whole number that is not negative",
            Self::Signed => "a whole number",
            Self::Number => "a number",
            Self::Object => "an object",
            Self::Array => "an array",
            Self::StringArray => "an array of strings",
            Self::StringMap => "an object of strings",
        }
    }

    /// How it looks, where one is missing.
    pub(super) fn sample(self) -> &'static str {
        match self {
            Self::String => "\"…\"",
            Self::Bool => "true",
            Self::Unsigned | Self::Signed | Self::Number => "1",
            Self::Object => "{…}",
            Self::Array => "[…]",
            Self::StringArray => "[\"…\"]",
            Self::StringMap => "{\"…\": \"…\"}",
        }
    }

    /// The finding that the value is something else.
    pub(super) fn misfit(self, at: At<'_>, misfit: Misfit) -> Diagnostic {
        let what =
            format!("{} must be {}, found {}", label(at), self.name(), at.value().describe());
        match misfit {
            Misfit::Many(diagnostic) => *diagnostic,
            Misfit::Value(None) => at.error(codes::BAD_VALUE, what),
            Misfit::Value(Some(help)) => at.error(codes::BAD_VALUE, what).with_help(help),
            Misfit::Type => {
                let diag = at.error(codes::WRONG_TYPE, what);
                match self.converted(at) {
                    Some(text) => diag
                        .with_help(format!("write {}", quoted_code(&text)))
                        .with_suggestion(at.span(), text),
                    None => diag,
                }
            }
        }
    }

    /// The value as it was probably meant, where its type is wrong.
    fn converted(self, at: At<'_>) -> Option<String> {
        let written = at.source().slice(at.span())?;
        match (self, &at.value().node) {
            (Self::String, Node::Number(_) | Node::Bool(_)) => Some(string_literal(written)),
            (Self::Bool, Node::String(text)) => {
                let lower = text.to_ascii_lowercase();
                matches!(lower.as_str(), "true" | "false").then_some(lower)
            }
            (Self::Unsigned | Self::Signed | Self::Number, Node::String(text)) => {
                is_number(text).then(|| text.clone().into_owned())
            }
            (Self::Array | Self::StringArray, Node::String(_)) => Some(format!("[{written}]")),
            _ => None,
        }
    }
}

/// A piece of JSON in a message, if it is short enough to be read there.
fn quoted_code(text: &str) -> String {
    const SHORT: usize = 60;
    if text.len() <= SHORT { format!("`{text}`") } else { "it like this".to_owned() }
}

/// What a value is called: the key it belongs to, with indices, as in `"args[1]"`.
fn label(at: At<'_>) -> String {
    let pointer = at.pointer();
    let mut value = at.document();
    let mut name: Option<String> = None;
    let mut indices = String::new();
    for token in pointer.tokens() {
        if value.as_array().is_some() {
            indices.push_str(&format!("[{token}]"));
        } else {
            name = Some(token.clone().into_owned());
            indices.clear();
        }
        match value.step(&token) {
            Some(next) => value = next,
            None => break,
        }
    }
    match name {
        Some(name) => quoted(&format!("{name}{indices}")),
        None if indices.is_empty() => "the document".to_owned(),
        None => format!("item {indices}"),
    }
}

/// The finding that a word is none of those that are possible.
pub(super) fn no_choice(at: At<'_>, word: &str, choices: &[&'static str]) -> Diagnostic {
    let list: Vec<_> = choices.iter().map(|choice| quoted(choice)).collect();
    let one_of = if let [only] = list.as_slice() {
        only.clone()
    } else {
        format!("one of {}", list.join(", "))
    };
    let what = format!("{} must be {one_of}, found the string {}", label(at), quoted(word));
    let diag = at.error(codes::BAD_VALUE, what);
    match closest(word, choices.iter().copied()) {
        Some(near) => diag
            .with_help(format!("did you mean {}?", quoted(near)))
            .with_suggestion(at.span(), string_literal(near)),
        None => diag.with_help(format!("write {}", list.join(" or "))),
    }
}

pub(super) fn string(at: At<'_>) -> Result<&str, Misfit> {
    at.value().as_str().ok_or(Misfit::Type)
}

pub(super) fn boolean(at: At<'_>) -> Result<bool, Misfit> {
    at.value().as_bool().ok_or(Misfit::Type)
}

pub(super) fn object(at: At<'_>) -> Result<At<'_>, Misfit> {
    at.value().as_object().ok_or(Misfit::Type)?;
    few(at)
}

pub(super) fn array(at: At<'_>) -> Result<At<'_>, Misfit> {
    at.value().as_array().ok_or(Misfit::Type)?;
    few(at)
}

fn few(at: At<'_>) -> Result<At<'_>, Misfit> {
    at.too_many().map_or(Ok(at), |it| Err(Misfit::Many(Box::new(it))))
}

pub(super) fn unsigned(at: At<'_>) -> Result<u64, Misfit> {
    let text = digits(at.value())?;
    text.parse().or_else(|_| {
        let value = whole(text, &format!("0 to {}", u64::MAX))?;
        u64::try_from(value).map_err(|_| Misfit::Value(None))
    })
}

pub(super) fn signed(at: At<'_>) -> Result<i64, Misfit> {
    let text = digits(at.value())?;
    text.parse().or_else(|_| whole(text, &format!("{} to {}", i64::MIN, i64::MAX)))
}

pub(super) fn number(at: At<'_>) -> Result<f64, Misfit> {
    digits(at.value())?.parse().map_err(|_| Misfit::Value(None))
}

fn digits<'v>(value: &'v Value<'_>) -> Result<&'v str, Misfit> {
    if let Node::Number(text) = &value.node { Ok(text) } else { Err(Misfit::Type) }
}

/// The value of a number that is no integer literal of the type wanted: `30.0` and `3e1` are whole
/// all the same.
fn whole(text: &str, range: &str) -> Result<i64, Misfit> {
    /// Up to here, 2^53, every whole number has a floating point number of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let value: f64 = text.parse().map_err(|_| Misfit::Value(None))?;
    if value.fract() != 0.0 {
        return Err(Misfit::Value(None));
    }
    if value.abs() > EXACT {
        return Err(Misfit::Value(Some(format!("write digits only, in the range {range}"))));
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
    Ok(value as i64)
}
