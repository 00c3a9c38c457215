//! What people write instead of JSON, and how to tell them.
//!
//! Everything here runs once, after the parser has stopped, so it may look around at leisure.

use crate::code::Code;
use std::borrow::Cow;

use crate::codes;
use crate::diagnostic::{Diagnostic, Location};
use crate::json::numbers::has_digit;
use crate::json::parse::{Before, Container, Error, MAX_DEPTH, MAX_VALUES, Open, Parser};
use crate::json::words::{closing_quotes, is_word_char};
use crate::json::{Spanned, Value};
use crate::quote::{quoted, shown};
use crate::source::Span;

/// How long a text may be for which a suggestion writes a replacement, which is a copy of it. No
/// suggestion puts quotes around more than this.
pub(super) const MENDED_BYTES: usize = 1024;

impl Parser<'_> {
    pub(super) fn error(&self, code: Code, span: Span, what: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, Location::text(self.source, span), what)
    }

    /// Suggests to replace the text of `span`, if that is short.
    pub(super) fn mend(
        &self,
        diag: Diagnostic,
        span: Span,
        replacement: impl FnOnce(&str) -> String,
    ) -> Error {
        let text = &self.text[span.range()];
        if text.len() > MENDED_BYTES {
            return diag.into();
        }
        diag.with_suggestion(span, replacement(text)).into()
    }

    pub(super) fn byte_order_mark(&self) -> Error {
        let mark = Span::new(0, '\u{FEFF}'.len_utf8());
        self.error(codes::BYTE_ORDER_MARK, mark, "the text begins with a byte order mark")
            .with_help("save the file as UTF-8 without a byte order mark (BOM)")
            .with_suggestion(mark, "")
            .into()
    }

    pub(super) fn empty_file(&self) -> Error {
        let what = if self.text.is_empty() { "the file is empty" } else { "the file is blank" };
        let help = "a JSON document is a value, such as `{}`";
        self.error(codes::EMPTY_FILE, Span::empty(0), what).with_help(help).into()
    }

    pub(super) fn too_many_values(&self) -> Error {
        let what = format!("there are more than {MAX_VALUES} values");
        self.error(codes::TOO_BIG, Span::empty(self.pos), what).into()
    }

    pub(super) fn too_deep(&self) -> Error {
        let what = format!("arrays and objects are nested more than {MAX_DEPTH} deep");
        self.error(codes::TOO_BIG, self.ahead(1), what).into()
    }

    /// The comment that begins here, if one does.
    pub(super) fn comment(&self) -> Option<Error> {
        let rest = self.rest();
        let line = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let len = if rest.starts_with("//") || rest.starts_with('#') {
            rest[..line].trim_end().len()
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |at| at + 4)
        } else {
            return None;
        };
        let span = self.ahead(len);
        let diag = self.error(codes::COMMENT, span, "JSON has no comments");
        Some(diag.with_help("remove the comment").with_suggestion(span, "").into())
    }

    pub(super) fn second_document(&self, value: &Value<'_>) -> Error {
        let what = format!("expected the end of the file, found {}", self.found());
        let here = self.ahead(self.char_len());
        let diag = self.error(codes::SECOND_DOCUMENT, here, what);
        let diag = match self.peek() {
            Some(b'}' | b']') => diag
                .with_help("remove it; nothing is open that it could close")
                .with_suggestion(here, ""),
            Some(b':') if value.as_str().is_some() => {
                diag.with_help("put the members of an object between `{` and `}`")
            }
            _ => diag.with_help(
                "a file holds one JSON value; put several into an array, as in `[…, …]`",
            ),
        };
        let end = Location::text(self.source, Span::new(value.span.end - 1, value.span.end));
        diag.with_related(end, "the document ends here").into()
    }

    /// Something that is no value stands where one belongs.
    pub(super) fn no_value(&self, before: Before) -> Error {
        let Some(c) = self.rest().chars().next() else { return self.unclosed(None) };
        let expected = match before {
            Before::Nothing => "a value",
            Before::Bracket => "a value or `]`",
            Before::Comma => "a value after the comma",
            Before::Colon => "a value after the colon",
        };
        match c {
            c if closing_quotes(c).is_some() => self.wrong_quotes("a string"),
            '+' | '.' if has_digit(self.number_run()) => self.bad_number(),
            c if is_word_char(c) => self.unknown_word(),
            ',' if before != Before::Colon && before != Before::Nothing => {
                self.spare_comma(expected)
            }
            ']' | '}' if matches!(before, Before::Bracket | Before::Comma) => {
                self.closes_other(expected, self.pos)
            }
            ',' | ']' | '}' if before == Before::Colon => {
                self.unexpected(expected).with_help("write a value, such as `null`").into()
            }
            _ => self.unexpected(expected).into(),
        }
    }

    /// Something that is no string stands where a key belongs.
    pub(super) fn no_key(&self) -> Error {
        let Some(c) = self.rest().chars().next() else { return self.unclosed(None) };
        let expected = "a key in double quotes";
        match c {
            c if closing_quotes(c).is_some() => self.wrong_quotes("a key"),
            c if is_word_char(c) || c == '-' => self.bare_key(),
            ',' => self.spare_comma(expected),
            ']' => self.closes_other(expected, self.pos),
            _ => self.unexpected(expected).into(),
        }
    }

    /// Something else than a colon stands behind a key.
    pub(super) fn no_colon(&self, key: &Spanned<Cow<'_, str>>) -> Error {
        let name = quoted(&key.value);
        match self.peek() {
            None => self.unclosed(None),
            Some(b',' | b'}') => {
                let what = format!("the key {name} has no value");
                let help = format!("write `{name}: …`");
                self.error(codes::UNEXPECTED, key.span, what).with_help(help).into()
            }
            Some(b'=') => {
                let len = if self.rest().starts_with("=>") { 2 } else { 1 };
                let diag = self.unexpected(&format!("`:` after the key {name}"));
                diag.with_help("a colon stands between key and value")
                    .with_suggestion(self.ahead(len), ":")
                    .into()
            }
            Some(_) => {
                let diag = self.unexpected(&format!("`:` after the key {name}"));
                if self.value_begins() {
                    let behind = Span::empty(key.span.end);
                    diag.with_help("a colon stands between key and value")
                        .with_suggestion(behind, ":")
                        .into()
                } else {
                    diag.into()
                }
            }
        }
    }

    pub(super) fn trailing_comma(&self, open: Open, comma: usize) -> Error {
        let span = Span::new(comma, comma + 1);
        let last = match open.kind {
            Container::Array => "item of an array",
            Container::Object => "member of an object",
        };
        let diag =
            self.error(codes::TRAILING_COMMA, span, format!("a comma behind the last {last}"));
        diag.with_help("remove the comma").with_suggestion(span, "").into()
    }

    /// Neither a comma nor the bracket that closes `open` stands behind a value.
    pub(super) fn no_separator(&self, open: Open, value_end: usize) -> Error {
        let close = char::from(open.kind.close());
        let expected = format!("`,` or `{close}`");
        let adjacent = self.pos == value_end && self.text[..value_end].ends_with('"');
        match self.rest().chars().next() {
            None => self.unclosed(Some(value_end)),
            Some(']' | '}') => self.closes_other(&expected, value_end),
            Some(c) if adjacent && is_word_char(c) => {
                let help = "a double quote inside a string is written `\\\"`";
                self.unexpected(&format!("{expected} behind the string")).with_help(help).into()
            }
            Some(';') => {
                let diag = self.unexpected(&expected).with_help("write a comma");
                diag.with_suggestion(self.ahead(1), ",").into()
            }
            Some(':') if open.kind == Container::Array => {
                let help = "members with a key stand in an object, between `{` and `}`";
                self.unexpected(&expected).with_help(help).into()
            }
            Some('"') => self.missing_comma(&expected, value_end),
            Some(_) if open.kind == Container::Array && self.value_begins() => {
                self.missing_comma(&expected, value_end)
            }
            Some(_) => self.unexpected(&expected).into(),
        }
    }

    fn missing_comma(&self, expected: &str, value_end: usize) -> Error {
        self.unexpected(expected)
            .with_help("a comma is missing")
            .with_suggestion(Span::empty(value_end), ",")
            .into()
    }

    fn spare_comma(&self, expected: &str) -> Error {
        let diag = self.unexpected(expected).with_help("remove the comma");
        diag.with_suggestion(self.ahead(1), "").into()
    }

    /// A bracket closes something else than what is open.
    fn closes_other(&self, expected: &str, value_end: usize) -> Error {
        let diag = self.unexpected(expected);
        let Some((open, outer)) = self.open.split_last() else { return diag.into() };
        let (name, close) = (open.kind.name(), char::from(open.kind.close()));
        let diag = if outer.last().is_some_and(|it| self.peek() == Some(it.kind.close())) {
            let diag = diag.with_help(format!("close the {name} with `{close}` first"));
            diag.with_suggestion(Span::empty(value_end), close.to_string())
        } else {
            let diag = diag.with_help(format!("close the {name} with `{close}`"));
            diag.with_suggestion(self.ahead(1), close.to_string())
        };
        self.opened(diag, open).into()
    }

    /// The text ends inside an array or object. Behind a value, closing what is open mends it.
    fn unclosed(&self, value_end: Option<usize>) -> Error {
        let end = self.text.trim_end().len();
        let Some(open) = self.open.last() else { return self.empty_file() };
        let (name, close) = (open.kind.name(), char::from(open.kind.close()));
        let what = format!("the text ends inside an {name}");
        let diag = self.error(codes::UNCLOSED, Span::empty(end), what);
        let mut diag = diag.with_help(format!("close the {name} with `{close}`"));
        if let Some(value_end) = value_end {
            let missing = self.open.iter().rev().map(|it| char::from(it.kind.close()));
            diag = diag.with_suggestion(Span::empty(value_end), missing.collect::<String>());
        }
        self.opened(diag, open).into()
    }

    fn opened(&self, diag: Diagnostic, open: &Open) -> Diagnostic {
        let bracket = Location::text(self.source, Span::new(open.start, open.start + 1));
        diag.with_related(bracket, format!("the {} begins here", open.kind.name()))
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let what = format!("expected {expected}, found {}", self.found());
        let here = self.ahead(self.char_len());
        let diag = self.error(codes::UNEXPECTED, here, what);
        match self.rest().chars().next() {
            Some(c) if is_foreign_space(c) => {
                let help = "the white space of JSON is blank, tab and line break; write a blank";
                diag.with_help(help).with_suggestion(here, " ")
            }
            _ => diag,
        }
    }

    /// What stands here, for a message.
    pub(super) fn found(&self) -> String {
        match self.rest().chars().next() {
            None => "the end of the text".to_owned(),
            Some('"') => "a string".to_owned(),
            Some('-' | '0'..='9') => format!("the number {}", shown(self.number_run())),
            Some(c) if is_word_char(c) => format!("the word {}", quoted(self.word_here())),
            Some(c) if c.is_control() || is_foreign_space(c) => {
                format!("the character U+{:04X}", c as u32)
            }
            Some(c) => format!("`{c}`"),
        }
    }

    /// Whether what stands here looks like the beginning of a value.
    fn value_begins(&self) -> bool {
        matches!(self.peek(), Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9'))
            || ["true", "false", "null"].contains(&self.word_here())
    }

    pub(super) fn ahead(&self, len: usize) -> Span {
        Span::new(self.pos, (self.pos + len).min(self.text.len()))
    }

    fn char_len(&self) -> usize {
        self.rest().chars().next().map_or(0, char::len_utf8)
    }
}

/// Whether `c` is white space for Unicode, or invisible, and not white space for JSON.
fn is_foreign_space(c: char) -> bool {
    !c.is_ascii() && (c.is_whitespace() || matches!(c, '\u{200B}' | '\u{FEFF}'))
}
