//! Values that the text itself calls secret: `password = …`, `"api_key": …`, `--token …`.
//!
//! Scripts, configuration files and programs write an assignment in many ways, and one parser reads them all: a name,
//! what closes it (a quote, a bracket), an operator or a blank behind an option, perhaps a type or a call, then a
//! literal. It reads no language, so it errs; what it takes for a secret is of tier [`Tier::Ask`]. A name counts by
//! its words (`names`), and a value is left out where it is a reference, a placeholder, the name again, a path, code or
//! words.
//!
//! [`Scan::assignment`] is called for each word of [`Cue::Name`](crate::catalogue::Cue) and looks
//! at most [`MAX_NAME_BYTES`] to the left and [`MAX_VALUE_BYTES`] to the right; a value that is one
//! is then followed to its end, and what was followed is not looked at again.

use std::{borrow::Cow, ops::Range};

use super::{Finding, Piece, Scan, credentials::is_stand_in_for, names::Kind};
use crate::{
    Tier,
    catalogue::catalogue,
    literal::{Make, is_reference, is_weak, is_wordy, looks_random},
};

/// A longer name is none.
const MAX_NAME_BYTES: usize = 64;

/// Of a longer value the head is judged.
const MAX_VALUE_BYTES: usize = 256;

/// A longer value is cut.
///
/// In bytes: what follows is not part of the match.
const MAX_WHOLE_BYTES: usize = 64 * 1024;

/// Blanks between a name and its value that are skipped.
const MAX_BLANKS: usize = 32;

/// A value and how it stands there.
///
/// Without its quotes.
struct Value {
    span: Range<usize>,
    /// What it stands in.
    /// `None` for a bare value, which ends at a blank or a sign.
    quote: Option<u8>,
    /// Whether it goes on behind the span.
    is_cut: bool,
}

impl Scan<'_> {
    /// What is assigned to the name around `at`; returns where the name ends.
    ///
    /// No name is looked for before that offset.
    pub(super) fn assignment(&mut self, piece: &Piece<'_>, at: Range<usize>) -> usize {
        let text = piece.text;
        let name = name_around(text, &at);
        if name.len() > MAX_NAME_BYTES {
            return name.end;
        }
        // Most names have no value behind them, which is quicker to see than what they say.
        let Some(value) = value_behind(text, &name) else { return name.end };
        let Some(kind) = Kind::of(&text[name.clone()]) else { return name.end };
        let Some(value) = inner(text, value) else { return name.end };
        // Names within the head of a long bare value are part of it: `key:key:key:…`.
        let seen = match value.quote {
            None if value.is_cut => name.end.max(value.span.start + MAX_VALUE_BYTES / 2),
            _ => name.end,
        };
        let bytes = &text[value.span.clone()];
        let flat: String = text[name.clone()]
            .iter()
            .filter(|it| it.is_ascii_alphanumeric())
            .map(|it| char::from(it.to_ascii_lowercase()))
            .collect();
        if is_no_secret(bytes, &flat, value.quote.is_some()) {
            return seen;
        }
        if let Some(rule) = catalogue().assigned.iter().find(|it| it.matches(&flat, bytes)) {
            let (rule, label, tier, variable) =
                (&rule.id, &rule.label, rule.tier, rule.variable.as_deref());
            let label = Cow::Borrowed(label.as_str());
            let secret = whole(text, value);
            let end = secret.end;
            self.add(piece, Finding { rule, label, tier, variable, secret });
            return end;
        }
        let (rule, label) = match kind {
            Kind::Password if is_password(bytes) => {
                ("assigned-password", "password in an assignment")
            }
            Kind::Token if is_assigned_token(bytes) => ("assigned-token", "token in an assignment"),
            Kind::Weak if bytes.len() >= 12 && looks_random(bytes) => {
                ("assigned-key", "key in an assignment")
            }
            _ => return seen,
        };
        let label = Cow::Borrowed(label);
        let secret = whole(text, value);
        let end = secret.end;
        self.add(piece, Finding { rule, label, tier: Tier::Ask, variable: None, secret });
        end
    }
}

/// The whole name of which `at` is a part.
///
/// Letters, digits, `_`, `-` and `.` to both sides, at most [`MAX_NAME_BYTES`] of them each.
fn name_around(text: &[u8], at: &Range<usize>) -> Range<usize> {
    let is_name = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.');
    let from = at.start.saturating_sub(MAX_NAME_BYTES);
    let before = text[from..at.start].iter().rev().take_while(|it| is_name(it)).count();
    let to = text.len().min(at.end + MAX_NAME_BYTES);
    let after = text[at.end..to].iter().take_while(|it| is_name(it)).count();
    at.start - before..at.end + after
}

/// The value that is assigned to a name.
///
/// `None` where nothing is assigned, where code stands there (`==` before a bare word, `::`), and
/// where a value is empty.
fn value_behind(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let is_flag = text[name.start] == b'-';
    let mut at = name.end;
    // What closes the name: `"`, `\"`, `']`.
    let closing = text[at..]
        .iter()
        .take(6)
        .take_while(|it| matches!(it, b'\\' | b'"' | b'\'' | b']' | b'`' | b')'))
        .count();
    let is_closed = closing > 0;
    at += closing;
    let blanks = skip_blanks(text, at, false);
    let had_blank = blanks > at;
    let rest = &text[blanks..];
    const OPERATORS: &[&[u8]] = &[
        b":::=", b"::=", b"===", b"!==", b"||=", b":=", b"=>", b"==", b"!=", b"?=", b"+=", b"<-",
        b"->", b"=", b":",
    ];
    let mut needs_quote = false;
    let may_be_one = rest
        .first()
        .is_some_and(|it| matches!(it, b'=' | b':' | b'|' | b'!' | b'?' | b'+' | b'<' | b'-'));
    let operator = OPERATORS.iter().find(|it| may_be_one && rest.starts_with(it));
    at = match operator {
        // A path of a module or a URL: `Token::new`, `key://`.
        Some(&b":") if rest.starts_with(b"::") || rest.starts_with(b"://") => return None,
        // The default of a shell variable; what follows `:?` is a message.
        Some(&b":") if name.start > 0 && text[name.start - 1] == b'{' => match rest.get(1)? {
            b'-' | b'=' | b'+' => blanks + 2,
            b'?' => return None,
            _ => blanks + 1,
        },
        Some(it) => {
            needs_quote = matches!(*it, [b'=' | b'!', b'=', ..] | [b'-', b'>']);
            blanks + it.len()
        }
        None if rest.starts_with(b",") && is_closed => {
            needs_quote = true;
            blanks + 1
        }
        None if rest.starts_with(b"(") && !is_closed => {
            needs_quote = true;
            blanks + 1
        }
        None if rest.starts_with(b">") && name.start > 0 && text[name.start - 1] == b'<' => {
            blanks + 1
        }
        // `<add key="Password" value="…"/>`, and the same as two lines of YAML.
        None if skip_value_key(text, at).is_some() => skip_value_key(text, at)?,
        None if is_flag && had_blank => blanks,
        None if had_blank && !is_closed => {
            needs_quote = !matches!(
                text[name.clone()].to_ascii_lowercase().as_slice(),
                b"identified by" | b"password" | b"passwd"
            );
            if !needs_quote && !is_netrc(text, name) && !text[name.clone()].contains(&b' ') {
                needs_quote = true;
            }
            blanks
        }
        None => return None,
    };
    at = skip_blanks(text, at, true);
    // A type before the value, or a call around it: `TOKEN: String = "…"`, `aws.String("…")`.
    for _ in 0..2 {
        at = skip_word_before_value(text, at)?;
    }
    let value = literal_at(text, at)?;
    (value.quote.is_some() || !needs_quote).then_some(value)
}

/// Whether the line has the other words of a `.netrc` file.
///
/// They stand at most 160 bytes before the name.
fn is_netrc(text: &[u8], name: &Range<usize>) -> bool {
    let before = &text[name.start.saturating_sub(160)..name.start];
    memchr::memmem::find(before, b"login ").is_some()
        && memchr::memmem::find(before, b"machine ").is_some()
}

/// With `with_lines`, backslashes among them are passed over and not counted, so that the one of an
/// escaped quote stays.
fn skip_blanks(text: &[u8], at: usize, with_lines: bool) -> usize {
    let is_blank = |it: &&u8| matches!(it, b' ' | b'\t') || (with_lines && matches!(it, b'\\'));
    at + text[at..].iter().take(MAX_BLANKS).take_while(is_blank).filter(|it| **it != b'\\').count()
}

/// Where the value of `value="…"` or `value: …` begins, which stands behind a name.
///
/// `at` is the end of the name, closing quotes included.
fn skip_value_key(text: &[u8], at: usize) -> Option<usize> {
    let blanks =
        text[at..].iter().take(MAX_BLANKS).take_while(|it| it.is_ascii_whitespace()).count();
    let rest = &text[at + blanks..];
    let rest_at = at + blanks;
    if blanks == 0 || !rest.get(..5)?.eq_ignore_ascii_case(b"value") {
        return None;
    }
    matches!(rest.get(5)?, b'=' | b':').then_some(rest_at + 6)
}

/// Skips a bare word that is followed by `=` or by `(` and a quote.
///
/// `None` where the word reads the value from elsewhere: `os.getenv("…")`. Without such a word,
/// `at` as it is.
fn skip_word_before_value(text: &[u8], at: usize) -> Option<usize> {
    let mut start = at;
    if text[at..].starts_with(b"new ") {
        start += 4;
    }
    let is_word = |it: &&u8| {
        it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b'&' | b'*' | b'<' | b'>' | b'?')
    };
    let n = text[start..].iter().take(40).take_while(is_word).count();
    let word = &text[start..start + n];
    let behind = skip_blanks(text, start + n, false);
    let next = text.get(behind).copied();
    let is_quote = |it: Option<&u8>| matches!(it, Some(b'"' | b'\'' | b'`'));
    if n == 0 {
        return Some(at);
    }
    if next == Some(b'=') && behind > start + n && text.get(behind + 1) != Some(&b'=') {
        return Some(skip_blanks(text, behind + 1, false));
    }
    if next == Some(b'(') && is_quote(text.get(behind + 1)) {
        let lower = word.to_ascii_lowercase();
        #[rustfmt::skip] // A list reads best as one.
        const READERS: &[&str] = &[
            "env", "get", "read", "load", "fetch", "find", "conf", "setting", "input", "param", "prompt", "header",
            "var", "lookup", "vault", "file", "arg", "require", "select", "query", "index", "match", "replace",
            "split", "join", "format", "print", "log", "contains", "starts", "ends",
        ];
        let reads = READERS.iter().any(|it| memchr::memmem::find(&lower, it.as_bytes()).is_some());
        return (!reads).then_some(behind + 1);
    }
    Some(at)
}

/// A quoted or a bare value at `at`.
///
/// Prefixes of strings and escaped quotes are passed over. Two quotes side by side are an empty
/// value.
fn literal_at(text: &[u8], at: usize) -> Option<Value> {
    let rest = &text[at..text.len().min(at + MAX_VALUE_BYTES)];
    // `b"…"`, `f'…'`, `@"…"`, `$'…'`, and the backslashes of an escaped quote.
    let prefix = rest
        .iter()
        .take(3)
        .take_while(|it| {
            matches!(
                it,
                b'b' | b'B' | b'r' | b'f' | b'u' | b'L' | b'N' | b'@' | b'$' | b'[' | b'(' | b'{'
            )
        })
        .count();
    let slashes = rest[prefix..].iter().take(8).take_while(|it| **it == b'\\').count();
    let quote_at = prefix + slashes;
    match rest.get(quote_at) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let repeats = rest[quote_at..].iter().take(4).take_while(|it| *it == quote).count();
            // Two of them are an empty value, more are quotes within quotes.
            if repeats == 2 {
                return None;
            }
            let start = quote_at + repeats;
            let mut end = start;
            while let Some(it) = rest.get(end) {
                let is_escaped = end > start && rest[end - 1] == b'\\';
                if *it == b'\n' || (it == quote && (slashes > 0 || !is_escaped)) {
                    break;
                }
                end += 1;
            }
            while slashes > 0 && end > start && rest[end - 1] == b'\\' {
                end -= 1;
            }
            let is_cut = end == rest.len() && at + end < text.len();
            Some(Value { span: at + start..at + end, quote: Some(*quote), is_cut })
        }
        _ => {
            let len = rest.iter().position(ends_bare).unwrap_or(rest.len());
            let is_cut = len == rest.len() && at + len < text.len();
            (len > 0).then_some(Value { span: at..at + len, quote: None, is_cut })
        }
    }
}

/// Whether a byte ends a value without quotes.
#[rustfmt::skip] // One line reads as the set it is.
fn ends_bare(it: &u8) -> bool {
    matches!(it, 0..=b' ' | b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'>' | b'<' | b'|' | b'&' | b'\\')
}

/// The whole of a value whose head was judged.
///
/// Up to the end of the value, at most [`MAX_WHOLE_BYTES`] further.
fn whole(text: &[u8], value: Value) -> Range<usize> {
    let Value { mut span, quote, is_cut } = value;
    if is_cut {
        let rest = &text[span.end..text.len().min(span.end + MAX_WHOLE_BYTES)];
        let is_end = |it: &u8| match quote {
            Some(quote) => *it == quote || *it == b'\n',
            None => ends_bare(it),
        };
        span.end += rest.iter().position(is_end).unwrap_or(rest.len());
    }
    span
}

/// The secret in a value: behind `Bearer`, or the default of `${X:-…}`.
///
/// `None` where the value names a place instead (`env:NAME`, `file:…`).
fn inner(text: &[u8], mut value: Value) -> Option<Value> {
    const SCHEMES: &[&[u8]] = &[
        b"bearer", b"basic", b"token", b"bot", b"apikey", b"key", b"digest", b"oauth", b"splunk",
        b"sso-key", b"genie",
    ];
    for scheme in SCHEMES {
        let bytes = &text[value.span.clone()];
        let Some(head) = bytes.get(..scheme.len()) else { continue };
        if !head.eq_ignore_ascii_case(scheme) {
            continue;
        }
        let behind =
            bytes[scheme.len()..].iter().take_while(|it| matches!(it, b' ' | b':')).count();
        if behind > 0 {
            value.span.start += scheme.len() + behind;
        } else if bytes.len() == scheme.len() && value.quote.is_none() {
            let at = skip_blanks(text, value.span.end, false);
            return literal_at(text, at).filter(|_| at > value.span.end);
        }
    }
    for head in [&b"pass:"[..], b"env:", b"file:"] {
        if text[value.span.clone()].starts_with(head) {
            if head != b"pass:" {
                return None;
            }
            value.span.start += head.len();
        }
    }
    let bytes = &text[value.span.clone()];
    if bytes.starts_with(b"${")
        && let Some(it) = memchr::memmem::find(bytes, b":-")
    {
        let start = value.span.start + it + 2;
        let end = memchr::memchr(b'}', &text[start..value.span.end])
            .map_or(value.span.end, |it| start + it);
        value.span = start..end;
    }
    Some(value)
}

/// What a value may be in the place of a secret.
///
/// `flat_name` is the name in lower case without signs. What is short, a reference, a placeholder,
/// a path, an address, a name of a file, words with blanks, or code outside of quotes.
fn is_no_secret(value: &[u8], flat_name: &str, is_quoted: bool) -> bool {
    if value.len() < 5 || is_reference(value) || is_stand_in_for(value) || is_weak(value) {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let has = |part: &[u8]| memchr::memmem::find(&lower, part).is_some();
    let is_place = value.starts_with(b"/") && value[1..].contains(&b'/')
        || [&b"./"[..], b"../", b"~/", b"http:", b"https:", b"arn:", b"vault:", b"ssm:", b"op:"]
            .iter()
            .any(|it| lower.starts_with(it))
        || has(b"://");
    const ENDINGS: &[&[u8]] = &[
        b".pem", b".key", b".json", b".txt", b".yaml", b".yml", b".crt", b".env", b".sh", b".py",
        b".js", b".html", b".sock", b".pub", b".ts", b".go", b".xml", b".conf",
    ];
    if is_place || ENDINGS.iter().any(|it| lower.ends_with(it)) {
        return true;
    }
    // The name again: `password=password_field`, `token: accessToken`.
    if lower.iter().filter(|it| it.is_ascii_alphanumeric()).eq(flat_name.as_bytes()) {
        return true;
    }
    let make = Make::of(value);
    if value.contains(&b' ') {
        return true;
    }
    if !is_quoted {
        // Code: a call, an index, a field.
        let is_code =
            value.iter().any(|it| matches!(it, b'(' | b'[' | b'*')) || has(b"::") || has(b"->");
        let is_field = make.digits == 0
            && value.contains(&b'.')
            && value.iter().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.'));
        if is_code || is_field {
            return true;
        }
    }
    false
}

/// Whether a person may have chosen `value` as a password: not a name, not words.
///
/// Called for names that tell of a password.
fn is_password(value: &[u8]) -> bool {
    let make = Make::of(value);
    let has_sign = value.iter().any(|it| {
        matches!(
            it,
            b'!' | b'@'
                | b'#'
                | b'$'
                | b'%'
                | b'^'
                | b'*'
                | b'+'
                | b'~'
                | b'&'
                | b'?'
                | b'='
                | b'/'
        )
    });
    if make.letters() == 0 {
        return make.digits >= 8 || (has_sign && make.digits >= 4);
    }
    if make.digits > 0 {
        return value.len() >= 6;
    }
    let is_mixed = make.upper > 0 && make.lower > 0;
    (has_sign && value.len() >= 6)
        || !is_wordy(value)
        || (is_mixed && make.upper > 1 && make.others == 0 && !is_camel(value))
}

/// Whether `value` is words of which each begins with an upper-case letter.
///
/// `PasswordField`.
fn is_camel(value: &[u8]) -> bool {
    is_wordy(value)
        && !value.windows(2).any(|it| it[0].is_ascii_uppercase() && it[1].is_ascii_uppercase())
}

/// Whether a machine may have made `value`.
///
/// Called for names that tell of a token.
fn is_assigned_token(value: &[u8]) -> bool {
    let make = Make::of(value);
    looks_random(value)
        || (value.len() >= 10 && make.digits >= 3 && make.letters() >= 3 && !value.contains(&b'_'))
}
