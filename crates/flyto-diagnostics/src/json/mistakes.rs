//! What people write instead of JSON, and how to tell them.
//!
//! Everything here runs once, after the parser has stopped, so it may look around at leisure.

use crate::code::Code;
use crate::codes;
use crate::diagnostic::{Diagnostic, Location};
use crate::json::parse::{Before, Container, Error, Open, Parser, is_number};
use crate::json::{Spanned, Value};
use crate::quote::quoted;
use crate::similar::closest;
use crate::source::Span;

impl<'s> Parser<'s> {
    pub(super) fn error(&self, code: Code, span: Span, what: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, Location::text(self.source, span), what)
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

    pub(super) fn second_document(&self, value: &Value) -> Error {
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
            '+' | '.' => self.bad_number(),
            c if is_word_char(c) => self.unknown_word(),
            ',' if before != Before::Colon && before != Before::Nothing => {
                self.spare_comma(expected)
            }
            ']' | '}' if matches!(before, Before::Bracket | Before::Comma) => {
                self.closes_other(expected, self.pos)
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
            c if is_word_char(c) || c == '-' => {
                let run = self.key_run();
                let span = self.ahead(run.len());
                let what = format!("the key {} has no double quotes", quoted(run));
                self.error(codes::QUOTES, span, what)
                    .with_help("put keys between double quotes")
                    .with_suggestion(span, string_literal(run))
                    .into()
            }
            ',' => self.spare_comma(expected),
            ']' => self.closes_other(expected, self.pos),
            _ => self.unexpected(expected).into(),
        }
    }

    /// Something else than a colon stands behind a key.
    pub(super) fn no_colon(&self, key: &Spanned<String>) -> Error {
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

    pub(super) fn trailing_comma(&self, comma: usize) -> Error {
        let span = Span::new(comma, comma + 1);
        let what = match self.open.last() {
            Some(Open { kind: Container::Object, .. }) => {
                "a comma behind the last member of an object"
            }
            _ => "a comma behind the last item of an array",
        };
        let diag = self.error(codes::TRAILING_COMMA, span, what);
        diag.with_help("remove the comma").with_suggestion(span, "").into()
    }

    /// Neither a comma nor the right closing bracket stands behind a value.
    pub(super) fn no_separator(&self, value_end: usize) -> Error {
        let Some(open) = self.open.last().copied() else {
            return self.unexpected("the end").into();
        };
        let close = open.kind.close();
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
        let (name, close) = (open.kind.name(), open.kind.close());
        let outer_close = outer.last().map(|it| it.kind.close());
        let diag = if outer_close.is_some_and(|c| self.rest().starts_with(c)) {
            let diag = diag.with_help(format!("close the {name} with `{close}` first"));
            diag.with_suggestion(Span::empty(value_end), close)
        } else {
            let diag = diag.with_help(format!("close the {name} with `{close}`"));
            diag.with_suggestion(self.ahead(1), close)
        };
        self.opened(diag, open).into()
    }

    /// The text ends inside an array or object. Behind a value, closing what is open mends it.
    fn unclosed(&self, value_end: Option<usize>) -> Error {
        let end = self.text.trim_end().len();
        let Some(open) = self.open.last() else { return self.unexpected("a value").into() };
        let (name, close) = (open.kind.name(), open.kind.close());
        let what = format!("the text ends inside an {name}");
        let diag = self.error(codes::UNCLOSED, Span::empty(end), what);
        let mut diag = diag.with_help(format!("close the {name} with `{close}`"));
        if let Some(value_end) = value_end {
            let missing = self.open.iter().rev().map(|it| it.kind.close());
            diag = diag.with_suggestion(Span::empty(value_end), missing.collect::<String>());
        }
        self.opened(diag, open).into()
    }

    fn opened(&self, diag: Diagnostic, open: &Open) -> Diagnostic {
        let bracket = Location::text(self.source, Span::new(open.start, open.start + 1));
        diag.with_related(bracket, format!("the {} begins here", open.kind.name()))
    }

    /// A bare word stands where a value belongs.
    fn unknown_word(&self) -> Error {
        let word = self.word_here();
        let span = self.ahead(word.len());
        let unknown = |help: String| {
            let what = format!("{} is not a word of JSON", quoted(word));
            self.error(codes::UNKNOWN_WORD, span, what).with_help(help)
        };
        let lower = word.to_lowercase();
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
        self.error(codes::QUOTES, span, what)
            .with_help("put strings between double quotes")
            .with_suggestion(span, string_literal(text))
            .into()
    }

    /// Quotes of another kind stand around a string or key.
    fn wrong_quotes(&self, role: &str) -> Error {
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
        let replacement = double_quoted(&inner[..end]);
        self.error(codes::QUOTES, span, what)
            .with_help(help)
            .with_suggestion(span, replacement)
            .into()
    }

    pub(super) fn bad_number(&self) -> Error {
        let run = self.number_run();
        let span = self.ahead(run.len().max(1));
        if is_number(run) {
            let help = "the size of a number is at most about 1.8e308";
            return self.error(codes::NUMBER, span, "a number is too large").with_help(help).into();
        }
        let unsigned = run.trim_start_matches(['-', '+']);
        if ["nan", "inf", "infinity"].contains(&unsigned.to_lowercase().as_str()) {
            let what = format!("{} is not a number of JSON", quoted(run));
            let help = "leave the value out, or write `null` or a string";
            return self.error(codes::UNKNOWN_WORD, span, what).with_help(help).into();
        }
        let shown = if run.is_empty() { &self.text[span.range()] } else { run };
        let diag = self.error(codes::NUMBER, span, format!("{} is not a number", quoted(shown)));
        if let Some((why, repaired)) = repaired_number(run) {
            let help = format!("{why}; write {repaired}");
            return diag.with_help(help).with_suggestion(span, repaired).into();
        }
        let is_text = run.len() > 1 && !run.contains(|c: char| c.is_ascii_alphabetic());
        if is_text {
            let help = "put text such as a date or a version between double quotes";
            return diag.with_help(help).with_suggestion(span, string_literal(run)).into();
        }
        diag.with_help("a number has digits, and may have a minus sign, a fraction, an exponent")
            .into()
    }

    /// A control character stands in the string that began at `quote`.
    pub(super) fn raw_control(&self, quote: usize) -> Error {
        let here = self.ahead(1);
        let begins = Location::text(self.source, Span::new(quote, quote + 1));
        let escape = match self.peek() {
            Some(b'\n' | b'\r') => {
                return self
                    .error(codes::STRING, here, "a string runs over the end of its line")
                    .with_help("close it with `\"`; a line break inside a string is written `\\n`")
                    .with_related(begins, "the string begins here")
                    .into();
            }
            Some(b'\t') => "\\t".to_owned(),
            byte => format!("\\u{:04x}", byte.unwrap_or_default()),
        };
        let what = format!("a string holds {} as it is", self.found());
        self.error(codes::STRING, here, what)
            .with_help(format!("write `{escape}`"))
            .with_suggestion(here, escape)
            .with_related(begins, "the string begins here")
            .into()
    }

    /// The text ends in the string that began at `quote`.
    pub(super) fn unclosed_string(&self, quote: usize) -> Error {
        let begins = Location::text(self.source, Span::new(quote, quote + 1));
        let end = Span::empty(self.text.trim_end().len());
        self.error(codes::UNCLOSED, end, "the text ends inside a string")
            .with_help("close the string with `\"`")
            .with_related(begins, "the string begins here")
            .into()
    }

    /// The backslash here, which is not the last byte, begins no escape.
    pub(super) fn bad_escape(&self) -> Error {
        let after = &self.rest()[1..];
        let n_hex = |text: &str, most: usize| {
            text.bytes().take(most).take_while(u8::is_ascii_hexdigit).count()
        };
        if let Some(digits) = after.strip_prefix('u') {
            let span = self.ahead(2 + n_hex(digits, 4));
            let what = format!("`{}` is not a whole escape", &self.text[span.range()]);
            let help = "`\\u` is followed by four hexadecimal digits, as in `\\u00e9`";
            return self.error(codes::STRING, span, what).with_help(help).into();
        }
        let c = after.chars().next().unwrap_or_default();
        let span = self.ahead(1 + c.len_utf8());
        if c == '\n' || c == '\r' {
            return self
                .error(codes::STRING, self.ahead(1), "a string runs over the end of its line")
                .with_help("a line break inside a string is written `\\n`")
                .into();
        }
        let shown = quoted(&self.text[span.range()][1..]);
        let what = format!("`\\{}` is not an escape", shown.trim_matches('"'));
        let diag = self.error(codes::STRING, span, what);
        match c {
            '\'' => diag
                .with_help("a single quote needs no backslash")
                .with_suggestion(span, "'")
                .into(),
            'x' if n_hex(&after[1..], 2) == 2 => {
                let span = self.ahead(4);
                let escape = format!("\\u00{}", &after[1..3]);
                diag.with_help(format!("write `{escape}`")).with_suggestion(span, escape).into()
            }
            _ => {
                let backslash = self.ahead(1);
                let diag = diag.with_help("a backslash itself is written `\\\\`");
                diag.with_suggestion(backslash, "\\\\").into()
            }
        }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let what = format!("expected {expected}, found {}", self.found());
        let here = self.ahead(self.char_len());
        let diag = self.error(codes::UNEXPECTED, here, what);
        match self.rest().chars().next() {
            Some(c)
                if !c.is_ascii() && (c.is_whitespace() || matches!(c, '\u{200B}' | '\u{FEFF}')) =>
            {
                diag.with_help(
                    "the white space of JSON is blank, tab and line break; write a blank",
                )
                .with_suggestion(here, " ")
            }
            _ => diag,
        }
    }

    /// What stands here, for a message.
    fn found(&self) -> String {
        match self.rest().chars().next() {
            None => "the end of the text".to_owned(),
            Some('"') => "a string".to_owned(),
            Some('-' | '0'..='9') => {
                format!("the number {}", quoted(self.number_run()).trim_matches('"'))
            }
            Some(c) if is_word_char(c) => format!("the word {}", quoted(self.word_here())),
            Some(c) if c.is_ascii_graphic() => format!("`{c}`"),
            Some(c)
                if c.is_control() || c.is_whitespace() || matches!(c, '\u{200B}' | '\u{FEFF}') =>
            {
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

    fn ahead(&self, len: usize) -> Span {
        Span::new(self.pos, (self.pos + len).min(self.text.len()))
    }

    fn char_len(&self) -> usize {
        self.rest().chars().next().map_or(0, char::len_utf8)
    }

    pub(super) fn word_here(&self) -> &'s str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())]
    }

    fn key_run(&self) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !is_word_char(c) && c != '-' && c != '.').unwrap_or(rest.len());
        &rest[..end]
    }

    /// What somebody wrote who wanted a number: up to the next character that cannot be part of one
    /// in any notation.
    pub(super) fn number_run(&self) -> &'s str {
        let bytes = self.rest().as_bytes();
        let stop = bytes.iter().position(|byte| {
            !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.' | b'_')
        });
        &self.rest()[..stop.unwrap_or(bytes.len())]
    }
}

impl Container {
    fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn close(self) -> &'static str {
        match self {
            Self::Array => "]",
            Self::Object => "}",
        }
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The quotes that may close a string opened by `c`, if `c` is a quote of another language.
fn closing_quotes(c: char) -> Option<&'static str> {
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

/// What is wrong with a number in another notation, and the same in JSON's.
fn repaired_number(run: &str) -> Option<(&'static str, String)> {
    let (sign, unsigned) = match run.strip_prefix(['-', '+']) {
        Some(rest) => (if run.starts_with('-') { "-" } else { "" }, rest),
        None => ("", run),
    };
    let plain = unsigned.replace('_', "");
    let mut why = if run.starts_with('+') {
        "a number has no plus sign in front"
    } else {
        "a number has no separators between digits"
    };
    let lower = plain.to_ascii_lowercase();
    let radix = match lower.get(..2) {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    let repaired = if let Some(radix) = radix {
        why = "numbers are decimal";
        u64::from_str_radix(&lower[2..], radix).ok()?.to_string()
    } else {
        let (mantissa, exponent) = match lower.find('e') {
            Some(at) => lower.split_at(at),
            None => (lower.as_str(), ""),
        };
        let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "-"));
        let (mut int, mut fraction) = (int, fraction);
        if int.len() > 1 && int.starts_with('0') {
            why = "a number has no leading zeros";
            int = int.trim_start_matches('0');
        }
        if int.is_empty() && !mantissa.is_empty() {
            if mantissa.starts_with('.') {
                why = "a digit stands before the point";
            }
            int = "0";
        }
        if fraction.is_empty() {
            why = "a digit stands behind the point";
            fraction = "0";
        }
        if fraction == "-" {
            format!("{int}{exponent}")
        } else {
            format!("{int}.{fraction}{exponent}")
        }
    };
    let res = format!("{sign}{repaired}");
    is_number(&res).then_some((why, res))
}
