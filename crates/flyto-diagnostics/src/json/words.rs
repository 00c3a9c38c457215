//! Words, and text that lacks its double quotes.

use crate::codes;
use crate::json::parse::{Error, Parser};
use crate::quote::quoted;
use crate::similar::closest;

impl<'s> Parser<'s> {
    pub(super) fn word_here(&self) -> &'s str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())]
    }

    /// A bare word stands where a value belongs.
    pub(super) fn unknown_word(&self) -> Error {
        let word = self.word_here();
        let span = self.ahead(word.len());
        let unknown = |help: String| {
            let what = format!("{} is not a word of JSON", quoted(word));
            self.error(codes::UNKNOWN_WORD, span, what).with_help(help)
        };
        // Words this long are none of those below, and folding their case would copy them.
        let lower = if word.len() <= 16 { word.to_lowercase() } else { String::new() };
        let meant = match lower.as_str() {
            "none" | "nil" | "undefined" => Some("null"),
            "nan" | "infinity" | "inf" => {
                return unknown("leave the value out, or write `null` or a string".to_owned())
                    .into();
            }
            lower => closest(lower, ["true", "false", "null"]),
        };
        if let Some(meant) = meant {
            return unknown(format!("write `{meant}`")).with_suggestion(span, meant).into();
        }
        let rest = self.rest();
        let end = rest.find([',', ']', '}', '\r', '\n', '"', ':']).unwrap_or(rest.len());
        let text = rest[..end].trim_end();
        let span = self.ahead(text.len());
        let what = format!("the string {} has no double quotes", quoted(text));
        let diag = self.error(codes::QUOTES, span, what);
        self.mend(diag.with_help("put strings between double quotes"), span, string_literal)
    }

    /// Quotes of another kind stand around a string or key.
    pub(super) fn wrong_quotes(&self, role: &str) -> Error {
        let mut chars = self.rest().chars();
        let open = chars.next().unwrap_or_default();
        let closing = closing_quotes(open).unwrap_or_default();
        let inner = chars.as_str();
        let line = inner.find(['\r', '\n']).unwrap_or(inner.len());
        let mut escaped = false;
        let close = inner[..line].char_indices().find(|&(_, c)| {
            let found = !escaped && closing.contains(c);
            escaped = !escaped && c == '\\';
            found
        });
        let what = format!("{role} begins with `{open}` instead of a double quote");
        let help = "put strings and keys between double quotes, `\"`";
        let Some((end, close)) = close else {
            return self
                .error(codes::QUOTES, self.ahead(open.len_utf8()), what)
                .with_help(help)
                .into();
        };
        let span = self.ahead(open.len_utf8() + end + close.len_utf8());
        let diag = self.error(codes::QUOTES, span, what).with_help(help);
        self.mend(diag, span, |_| double_quoted(&inner[..end]))
    }

    /// A key without quotes begins here.
    pub(super) fn bare_key(&self) -> Error {
        let rest = self.rest();
        let end = rest.find(|c| !is_word_char(c) && c != '-' && c != '.').unwrap_or(rest.len());
        let key = &rest[..end];
        let span = self.ahead(end);
        let what = format!("the key {} has no double quotes", quoted(key));
        let diag = self.error(codes::QUOTES, span, what);
        self.mend(diag.with_help("put keys between double quotes"), span, string_literal)
    }
}

pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The quotes that may close a string opened by `c`, if `c` is a quote of another language.
pub(super) fn closing_quotes(c: char) -> Option<&'static str> {
    match c {
        '\'' => Some("'"),
        '`' => Some("`"),
        '‘' | '’' | '‚' => Some("‘’"),
        '“' | '”' | '„' => Some("“”\""),
        _ => None,
    }
}

/// The JSON string for what stands between quotes of another kind. Escapes stay as they are, but
/// for the one of a single quote, which JSON does not have.
fn double_quoted(inner: &str) -> String {
    let mut res = String::from('"');
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\'' | '`')) => res.push(c),
                Some(c) => res.extend(['\\', c]),
                None => res.push_str("\\\\"),
            },
            '"' => res.push_str("\\\""),
            c => res.push(c),
        }
    }
    res.push('"');
    res
}

/// `text` as a JSON string.
pub(crate) fn string_literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
