//! User names with their passwords, where a program takes them.
//!
//! Here the place says that something is a password, so its form hardly matters: `hunter7` in a URL is one. Well-known
//! words (`postgres:postgres`) and the user's name again are left out, and a local host is a reason to ask and not to stop.
//!
//! Each parser is called beside a [`Cue`](crate::catalogue::Cue) and looks at a bounded number of
//! bytes to each side.

use std::{borrow::Cow, ops::Range};

use super::{Finding, Piece, Scan};
use crate::{
    Tier,
    literal::{Make, is_reference, is_stand_in, is_weak, looks_random},
};

/// The longest part of a URL before its host.
///
/// In bytes; a longer one is not read.
const MAX_USERINFO_BYTES: usize = 512;

/// How far a command reaches to the left of an option.
///
/// In bytes; also the longest value.
const MAX_COMMAND_BYTES: usize = 400;

impl Scan<'_> {
    /// `user:password@` behind `://`.
    ///
    /// `at` is that of `://`. A part before `@` without a colon is a token where it looks random.
    pub(super) fn url(&mut self, piece: &Piece<'_>, at: Range<usize>) {
        let text = piece.text;
        if !text[..at.start].last().is_some_and(|it| it.is_ascii_alphanumeric()) {
            return;
        }
        let to = text.len().min(at.end + MAX_USERINFO_BYTES);
        let rest = &text[at.end..to];
        let is_end = |it: &u8| {
            matches!(it, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
                || *it <= b' '
        };
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        // A password may hold `/`, which then ends the part too early; `@` behind it tells.
        let Some(host) = memchr::memrchr(b'@', &rest[..end]) else { return };
        let userinfo = &rest[..host];
        let (user, from) = match memchr::memchr(b':', userinfo) {
            Some(it) => (&userinfo[..it], it + 1),
            None => (&b""[..], 0),
        };
        let password = &userinfo[from..];
        if password.len() < 3 || is_reference(password) || is_stand_in_for(password) {
            return;
        }
        let has_user = from > 0;
        let host_name = &rest[host + 1..end];
        let is_local = [&b"localhost"[..], b"127.", b"0.0.0.0", b"[::1]", b"example."]
            .iter()
            .any(|it| host_name.starts_with(it));
        let tier = if !has_user {
            if !looks_random(password) {
                return;
            }
            Tier::Ask
        } else if is_weak(password)
            || password == user
            || password.iter().all(|it| !it.is_ascii_alphanumeric())
        {
            return;
        } else if is_local || (password.len() < 6 && !looks_random(password)) {
            Tier::Ask
        } else {
            Tier::Block
        };
        let secret = at.end + from..at.end + host;
        self.add(
            piece,
            Finding {
                rule: "url-password",
                label: Cow::Borrowed("password in a URL"),
                tier,
                variable: None,
                secret,
            },
        );
    }

    /// `-u user:password`, `-p password`, in commands that take them.
    ///
    /// `at` is that of the option. Which command it is says the text before it, up to
    /// [`MAX_COMMAND_BYTES`].
    pub(super) fn option(&mut self, piece: &Piece<'_>, at: Range<usize>) {
        let text = piece.text;
        // Behind the blank, or the quote of an array of JSON.
        let literal = &text[at.start + 1..at.end];
        let takes_pair = !literal.eq_ignore_ascii_case(b"-p");
        // Before the text in front of it, as most options have no pair behind them.
        let Some(span) = word_at(text, value_at(text, at.end)) else { return };
        let span = if takes_pair {
            let Some(colon) = memchr::memchr(b':', &text[span.clone()]) else { return };
            span.start + colon + 1..span.end
        } else {
            span
        };
        let from = at.start.saturating_sub(MAX_COMMAND_BYTES);
        let command = last_command(&text[from..at.start]);
        let has = |names: &[&str]| names.iter().any(|it| has_word(command, it.as_bytes()));
        if takes_pair {
            // `--user` and `-u` of other programs take a name alone, and `-U` is an option of curl.
            let is_proxy = literal == b"-U";
            if !(has(&["curl"]) || (!is_proxy && has(&["http", "https", "wget", "xh"]))) {
                return;
            }
        } else {
            if literal == b"-P"
                || !has(&[
                    "sshpass",
                    "login",
                    "mysql",
                    "mysqldump",
                    "mysqladmin",
                    "mariadb",
                    "mongo",
                    "mongosh",
                    "htpasswd",
                ])
            {
                return;
            }
        }
        let tier = if takes_pair || has(&["sshpass", "login"]) { Tier::Block } else { Tier::Ask };
        self.password(piece, span, takes_pair, tier);
    }

    /// `-su user:password` of curl: other letters before that of the option.
    ///
    /// `at` is that of the name of the program, and what is before `seen` was looked at with an earlier one; returns up to
    /// where that is so now. The letters before the option are those that take no value (curl(1)), else `u` is the value of one.
    pub(super) fn letters(&mut self, piece: &Piece<'_>, at: Range<usize>, seen: usize) -> usize {
        const WITHOUT_VALUE: &[u8] = b"#:01346BGIJLMNORSVafgijklnpqsv";
        let text = piece.text;
        if !text.get(at.end).is_some_and(|it| matches!(it, b' ' | b'"')) {
            return seen;
        }
        let to = text.len().min(at.end + MAX_COMMAND_BYTES);
        let is_end = |it: &u8| matches!(it, b'\n' | b';' | b'|' | b'&');
        let end = text[at.end..to].iter().position(is_end).map_or(to, |it| at.end + it);
        let mut from = at.end.max(seen);
        while let Some(dash) = text.get(from..end).and_then(|it| memchr::memchr(b'-', it)) {
            let start = from + dash + 1;
            from = start;
            if !matches!(text[start - 2], b' ' | b'"') {
                continue;
            }
            let word = &text[start..end];
            let n = word.iter().take_while(|it| WITHOUT_VALUE.contains(it)).count();
            // With no letter before it, the option is found by itself.
            if n == 0 || !matches!(word.get(n), Some(b'u' | b'U')) {
                continue;
            }
            let Some(span) = word_at(text, value_at(text, start + n + 1)) else { continue };
            let Some(colon) = memchr::memchr(b':', &text[span.clone()]) else { continue };
            self.password(piece, span.start + colon + 1..span.end, true, Tier::Block);
        }
        end.max(seen)
    }

    /// The password that a program was given, where it is one.
    fn password(&mut self, piece: &Piece<'_>, span: Range<usize>, is_of_pair: bool, tier: Tier) {
        let text = piece.text;
        let password = &text[span.clone()];
        if password.len() < 4
            || is_reference(password)
            || is_stand_in_for(password)
            || is_weak(password)
        {
            return;
        }
        // An option of another kind, such as `-P` of a port or `-p 80:80`.
        if password.starts_with(b"-") || (!is_of_pair && Make::of(password).letters() == 0) {
            return;
        }
        let (rule, label) = ("command-password", Cow::Borrowed("password of a command"));
        self.add(piece, Finding { rule, label, tier, variable: None, secret: span });
    }

    /// What follows `Bearer` or `Basic`.
    ///
    /// `at` is that of the word with its blank. A pair behind `Basic` is decoded to look at its
    /// password.
    pub(super) fn scheme(&mut self, piece: &Piece<'_>, at: Range<usize>) {
        let text = piece.text;
        if at.start > 0 && text[at.start - 1].is_ascii_alphanumeric() {
            return;
        }
        let Some(span) = word_at(text, at.end) else { return };
        let value = &text[span.clone()];
        if value.len() < 12 || is_reference(value) || is_stand_in(value) {
            return;
        }
        let is_basic = text[at.start] | 0x20 == b'b' && text[at.start + 1] | 0x20 == b'a';
        let tier = if is_basic {
            let Some(pair) = super::views::base64_text(value) else { return };
            let Some(colon) = memchr::memchr(b':', &pair) else { return };
            let password = &pair[colon + 1..];
            if password.is_empty() || is_reference(password) || is_weak(password) {
                return;
            }
            if is_stand_in_for(password) { Tier::Ask } else { Tier::Block }
        } else if looks_random(value) {
            Tier::Ask
        } else {
            return;
        };
        let (rule, label) = match is_basic {
            true => ("basic-authorization", "user name and password of an Authorization header"),
            false => ("bearer-token", "token of an Authorization header"),
        };
        let label = Cow::Borrowed(label);
        self.add(piece, Finding { rule, label, tier, variable: None, secret: span });
    }

    /// What is written to `--password-stdin` on the same line.
    ///
    /// `at` is that of the option. Only what `echo` or `printf` writes on the same line before a
    /// pipe counts.
    pub(super) fn stdin(&mut self, piece: &Piece<'_>, at: Range<usize>) {
        let text = piece.text;
        let from = at.start.saturating_sub(MAX_COMMAND_BYTES);
        let line = memchr::memrchr(b'\n', &text[from..at.start]).map_or(from, |it| from + it + 1);
        let before = &text[line..at.start];
        let Some(pipe) = memchr::memrchr(b'|', before) else { return };
        for word in [&b"echo "[..], b"echo -n ", b"printf ", b"printf %s ", b"printf '%s' "] {
            let Some(found) = memchr::memmem::rfind(&before[..pipe], word) else { continue };
            let Some(span) = word_at(text, line + found + word.len()) else { continue };
            let value = &text[span.clone()];
            if value.len() < 6 || is_reference(value) || is_stand_in_for(value) || is_weak(value) {
                continue;
            }
            if value.starts_with(b"-") || value.starts_with(b"%") {
                continue;
            }
            let finding = Finding {
                rule: "stdin-password",
                label: Cow::Borrowed("password written to a command"),
                tier: Tier::Ask,
                variable: None,
                secret: span,
            };
            self.add(piece, finding);
            return;
        }
    }
}

/// As [`is_stand_in`], and short passwords that are one character again and again.
///
/// A password may be shorter than any token.
pub(super) fn is_stand_in_for(password: &[u8]) -> bool {
    match password.len() {
        0..8 => crate::literal::distinct(password) < 3 || password.starts_with(b"xxx"),
        _ => is_stand_in(password),
    }
}

/// The command that ends a text: what is behind the last line end, `;`, `|` or `&`.
///
/// A sign behind a backslash ends nothing.
fn last_command(text: &[u8]) -> &[u8] {
    let mut start = 0;
    for (i, byte) in text.iter().enumerate() {
        let is_continued = i > 0 && text[i - 1] == b'\\';
        if matches!(byte, b'\n' | b';' | b'|' | b'&') && !is_continued {
            start = i + 1;
        }
    }
    &text[start..]
}

/// Not within a longer word of letters and digits.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find_iter(text, word).any(|at| {
        let before = text[..at].last().is_none_or(|it| !it.is_ascii_alphanumeric());
        before && text.get(at + word.len()).is_none_or(|it| !it.is_ascii_alphanumeric())
    })
}

/// Where the value of an option begins whose letter or name ends at `at`: behind blanks or `=`, or in the next element of an
/// array of JSON.
fn value_at(text: &[u8], at: usize) -> usize {
    /// Signs between an option and its value, at most.
    const MAX_SIGNS: usize = 4;
    let rest = &text[at..text.len().min(at + MAX_SIGNS)];
    if let Some(behind) = rest.strip_prefix(b"\",") {
        // The quote that begins the next element is that of a word.
        return at + 2 + behind.iter().take_while(|it| **it == b' ').count();
    }
    at + rest.iter().take_while(|it| matches!(it, b' ' | b'=')).count()
}

/// The word of a shell at `at`, without its quotes; at most 400 bytes.
///
/// `None` where it is empty. A backslash ends one without quotes.
fn word_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let quote = *text.get(at)?;
    // Within a text of JSON a quote stands behind a backslash.
    let is_escaped = quote == b'\\' && text.get(at + 1) == Some(&b'"');
    let (start, is_quoted) = match quote {
        b'"' | b'\'' => (at + 1, true),
        _ if is_escaped => (at + 2, true),
        _ => (at, false),
    };
    let quote = if is_escaped { b'\\' } else { quote };
    let rest = &text[start..text.len().min(start + MAX_COMMAND_BYTES)];
    let is_end = |it: &u8| match is_quoted {
        true => *it == quote || *it == b'\n',
        false => {
            *it <= b' '
                || matches!(
                    it,
                    b'"' | b'\'' | b'`' | b';' | b'|' | b'&' | b'<' | b'>' | b')' | b',' | b'\\'
                )
        }
    };
    let len = rest.iter().position(is_end).unwrap_or(rest.len());
    (len > 0).then_some(start..start + len)
}
