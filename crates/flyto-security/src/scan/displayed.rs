//! Secrets that are parted by what has no place on a screen: `ESC [ m` in the middle of a token, as `grep --color` writes it,
//! each second byte of UTF-16, a control character, a space without a width.
//!
//! The text is scanned once more without them, and only where it has any; and again with what backspaces take away, where it
//! has any. Other sequences are left out and not carried out: what a cursor movement would overwrite is not known.

use std::{collections::HashSet, ops::Range};

use unicode_width::UnicodeWidthChar as _;

use super::{Piece, Scan};
use crate::{ScanError, View};

const ESC: u8 = 0x1b;
const BACKSPACE: u8 = 8;

/// The longest string of a control sequence, such as the address of a link (OSC 8): 4 KiB. Of a longer one, the text stays.
const MAX_STRING_BYTES: usize = 4096;

/// How a text is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As a terminal does, but for backspaces, which are left out.
    Plain,
    /// A backspace takes the character before it away.
    Erased,
    /// U+0080 to U+009F begin no sequence: not every terminal obeys them.
    WithoutC1,
}

/// The parts of a text that are shown.
#[derive(Default)]
struct Displayed {
    text: Vec<u8>,
    /// Where each part begins in `text`, and where in the content.
    parts: Vec<(usize, usize)>,
}

impl Displayed {
    /// The text without what has no place on a screen; `None` where it has nothing of that kind.
    fn of(content: &[u8], reading: Reading) -> Option<Self> {
        let mut at = next_mark(content, 0)?;
        let mut res = Self::default();
        let mut done = 0;
        loop {
            res.push(content, done..at);
            let n = match &content[at..] {
                [0xc2, ..] if reading == Reading::WithoutC1 => 2,
                rest => len(rest),
            };
            if content[at] == BACKSPACE && reading == Reading::Erased {
                res.pop();
            }
            done = at + n;
            match next_mark(content, done) {
                Some(next) => at = next,
                None => break,
            }
        }
        res.push(content, done..content.len());
        Some(res)
    }

    /// Takes the last character away, but not the end of a line.
    fn pop(&mut self) {
        if self.text.last().is_none_or(|it| *it == b'\n') {
            return;
        }
        while self.text.pop().is_some_and(|it| it & 0b1100_0000 == 0b1000_0000) {}
        self.parts.truncate(self.parts.partition_point(|(start, _)| *start < self.text.len()));
    }

    fn push(&mut self, content: &[u8], part: Range<usize>) {
        if !part.is_empty() {
            self.parts.push((self.text.len(), part.start));
            self.text.extend_from_slice(&content[part]);
        }
    }

    /// Where the content has what is at `at`.
    fn source(&self, at: usize) -> usize {
        let part = self.parts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.parts.get(part).map_or(at, |(start, source)| source + at - start)
    }
}

impl Scan<'_> {
    /// Looks at the content as a terminal shows it. What was found already is not found again.
    pub(super) fn displayed(&mut self, content: &[u8]) -> Result<(), ScanError> {
        self.displayed_with(content, Reading::Plain)?;
        if memchr::memchr(BACKSPACE, content).is_some() {
            self.displayed_with(content, Reading::Erased)?;
        }
        let begins =
            |at: usize| matches!(content.get(at + 1), Some(0x90 | 0x98 | 0x9b | 0x9d..=0x9f));
        if memchr::memchr_iter(0xc2, content).any(begins) {
            self.displayed_with(content, Reading::WithoutC1)?;
        }
        Ok(())
    }

    fn displayed_with(&mut self, content: &[u8], reading: Reading) -> Result<(), ScanError> {
        let Some(displayed) = Displayed::of(content, reading) else { return Ok(()) };
        let n_before = self.found.len();
        let text = &displayed.text;
        self.look_at(&Piece { text, view: View::Displayed, outer: None, depth: 1 })?;
        let mut found = self.found.split_off(n_before);
        let known: HashSet<_> = self.found.iter().map(|it| (&*it.rule, it.span.clone())).collect();
        found.retain_mut(|it| {
            // No match is empty.
            let last = displayed.source(it.span.end.saturating_sub(1));
            it.span = displayed.source(it.span.start)..last + 1;
            !known.contains(&(&*it.rule, it.span.clone()))
        });
        drop(known);
        self.found.append(&mut found);
        Ok(())
    }
}

/// Which bytes a mark may begin with: control characters but for tab and ends of lines, and the first bytes of characters of
/// several bytes in UTF-8.
const BEGINS_MARK: [bool; 256] = {
    let mut res = [false; 256];
    let mut it = 0;
    while it < 0x20 {
        res[it] = !matches!(it as u8, b'\t' | b'\n' | b'\r');
        it += 1;
    }
    res[0x7f] = true;
    it = 0xc2;
    while it <= 0xf4 {
        res[it] = true;
        it += 1;
    }
    res
};

/// Where the next sequence or character is, from `from` on, that has no place on a screen.
fn next_mark(content: &[u8], mut from: usize) -> Option<usize> {
    loop {
        from += plain_bytes(content.get(from..)?);
        let rest = &content[from..];
        let at = from + rest.iter().position(|it| BEGINS_MARK[usize::from(*it)])?;
        if len(&content[at..]) > 0 {
            return Some(at);
        }
        from = at + 1;
    }
}

/// How many bytes at the start are printable ASCII, tabs and ends of lines: a multiple of 64. The compiler makes vector
/// instructions of it.
fn plain_bytes(text: &[u8]) -> usize {
    const CHUNK: usize = 64;
    let is_other = |it: u8| {
        let is_control = (it < 0x20) & (it != b'\t') & (it != b'\n') & (it != b'\r');
        u8::from(is_control | (it >= 0x7f))
    };
    let is_plain = |chunk: &&[u8]| chunk.iter().fold(0, |any, it| any | is_other(*it)) == 0;
    text.chunks_exact(CHUNK).take_while(is_plain).count() * CHUNK
}

/// How long the mark is with which `text` begins: a sequence (ECMA-48, section 5.4 and 8.3), 1 for a control character of ASCII
/// and for an ESC that begins no sequence, the bytes of another control character and of a character without a width; 0 for
/// any other. Sequences also begin with the characters of one byte in ISO 6429, which are U+0080 to U+009F.
fn len(text: &[u8]) -> usize {
    let run = |from: usize, part: std::ops::RangeInclusive<u8>| {
        from + text[from..].iter().take_while(|it| part.contains(it)).count()
    };
    let ends = |at: usize, last: std::ops::RangeInclusive<u8>| {
        text.get(at).is_some_and(|it| last.contains(it))
    };
    match text {
        // Parameters, intermediate bytes, and the byte that says what is done.
        [ESC, b'[', ..] | [0xc2, 0x9b, ..] => {
            let at = run(run(2, b'0'..=b'?'), b' '..=b'/');
            if ends(at, b'@'..=b'~') { at + 1 } else { at }
        }
        // Strings: titles, links, images. BEL ends them as well as ESC \ and U+009C do (xterm).
        [ESC, b']' | b'P' | b'^' | b'_' | b'X', rest @ ..]
        | [0xc2, 0x90 | 0x98 | 0x9d..=0x9f, rest @ ..] => {
            let rest = &rest[..rest.len().min(MAX_STRING_BYTES)];
            match memchr::memchr3(ESC, 7, 0x9c, rest) {
                Some(at) if rest[at] == 7 => 2 + at + 1,
                Some(at) if rest[at] == ESC && rest.get(at + 1) == Some(&b'\\') => 2 + at + 2,
                Some(at) if rest[at] == 0x9c && rest[..at].ends_with(&[0xc2]) => 2 + at + 1,
                _ => 2,
            }
        }
        [ESC, ..] => {
            let at = run(1, b' '..=b'/');
            if ends(at, b'0'..=b'~') { at + 1 } else { at }
        }
        [0x80..=0xff, ..] => {
            let first = text[..text.len().min(4)].utf8_chunks().next();
            let first = first.and_then(|it| it.valid().chars().next());
            first.filter(|it| has_no_width(*it)).map_or(0, char::len_utf8)
        }
        [] => 0,
        _ => 1,
    }
}

/// Whether a character beyond ASCII takes no place on a screen: a control character, an ignorable one, a mark that is put on
/// the one before it, an annotation (U+FFF9 to U+FFFB).
fn has_no_width(it: char) -> bool {
    it.width().is_none_or(|it| it == 0) || matches!(it, '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: Option<&str>) {
        let displayed = Displayed::of(content.as_bytes(), Reading::Plain);
        let text =
            displayed.map(|it| String::from_utf8(it.text).expect("whole characters are left out"));
        assert_eq!(text.as_deref(), expect, "{content:?}");
    }

    #[test]
    fn a_text_is_as_a_terminal_shows_it() {
        check("plain", None);
        check("a\0b\0", Some("ab"));
        check("a\u{200b}b\u{feff}c\u{ad}d\u{2060}", Some("abcd"));
        check("a\x08b\x7fc\x01", Some("abc"));
        for hidden in [
            0x80, 0x85, 0xad, 0x301, 0x34f, 0x61c, 0x17b4, 0x180b, 0x180e, 0x202e, 0x2066, 0x206a,
            0xfe0f, 0xfeff, 0xfff9, 0x1bca0, 0x1d173, 0xe0001, 0xe0061, 0xe0100,
        ] {
            let hidden = char::from_u32(hidden).expect("a character");
            check(&format!("a{hidden}b{hidden}"), Some("ab"));
        }
        check("a\u{9b}31mb\u{9d}0;title\u{9c}c\u{90}q\x1b\\d", Some("abcd"));
        check("\u{201c}a\u{2014}b\u{201d}\u{a9}\t\r\n", None);
        for n in [63, 64, 65, 127, 128, 200] {
            let plain = "x".repeat(n);
            check(&plain, None);
            check(&format!("{plain}\x08y"), Some(&format!("{plain}y")));
        }
        check("\x1b[01;31m\x1b[Kab\x1b[m\x1b[Kcd", Some("abcd"));
        check("a\x1b[38:2::1:2:3mb\x1b[?25lc\x1b[0 qd", Some("abcd"));
        check("a\x1b(Bb\x1b=c\x1b7d", Some("abcd"));
        check("\x1b]8;;http://a.org\x1b\\ab\x1b]8;;\x07cd", Some("abcd"));
        // What begins no sequence, or does not end one.
        check("a\x1b", Some("a"));
        check("a\x1b[3", Some("a"));
        check("a\x1b]0;b", Some("a0;b"));
        check("a\x1b\x1b[mb\x1b\u{e9}", Some("ab\u{e9}"));
        let long = format!("a\x1b]{}\x07b", "x".repeat(MAX_STRING_BYTES));
        check(&long, Some(&format!("a{}b", "x".repeat(MAX_STRING_BYTES))));
    }

    #[test]
    fn a_backspace_takes_a_character_away() {
        for (content, expect) in [
            ("ab\x08c", "ac"),
            ("\x08a\n\x08b", "a\nb"),
            ("g\x08gh\x08h", "gh"),
            ("a\u{e9}\x08\x08\x08b", "b"),
        ] {
            let displayed = Displayed::of(content.as_bytes(), Reading::Erased).expect("it has one");
            assert_eq!(displayed.text, expect.as_bytes(), "{content:?}");
        }
    }

    #[test]
    fn each_byte_has_its_place() {
        let content = "\x1b[ma\0b\x1b[31mcde\u{e9}\x08\x08f\u{e8}\u{200b}g".as_bytes();
        let displayed = Displayed::of(content, Reading::Erased).expect("it has sequences");
        assert_eq!(displayed.text, "abcdf\u{e8}g".as_bytes());
        for (at, it) in displayed.text.iter().enumerate() {
            assert_eq!(content[displayed.source(at)], *it, "{at}");
        }
    }
}
