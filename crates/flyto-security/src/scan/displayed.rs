//! Secrets that control sequences of a terminal, or NUL bytes, part: `ESC [ m` in the middle of a token, as `grep --color`
//! writes it, or each second byte of UTF-16.
//!
//! The text is scanned once more without them, and only where it has any. Sequences are left out and not carried out: what
//! a cursor movement or a backspace would overwrite is not known.

use std::{collections::HashSet, ops::Range};

use super::{Piece, Scan};
use crate::{ScanError, View};

const ESC: u8 = 0x1b;

/// The longest string of a control sequence, such as the address of a link (OSC 8): 4 KiB. Of a longer one, the text stays.
const MAX_STRING_BYTES: usize = 4096;

/// The parts of a text that are shown.
#[derive(Default)]
struct Displayed {
    text: Vec<u8>,
    /// Where each part begins in `text`, and where in the content.
    parts: Vec<(usize, usize)>,
}

impl Displayed {
    /// The text without sequences and NUL bytes; `None` where it has none of them.
    fn of(content: &[u8]) -> Option<Self> {
        memchr::memchr2(ESC, 0, content)?;
        let mut res = Self::default();
        let mut done = 0;
        for at in memchr::memchr2_iter(ESC, 0, content) {
            // Within a string that was left out.
            if at >= done {
                res.push(content, done..at);
                done = at + len(&content[at..]);
            }
        }
        res.push(content, done..content.len());
        Some(res)
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
        let Some(displayed) = Displayed::of(content) else { return Ok(()) };
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

/// How long the sequence is with which `text` begins (ECMA-48, section 5.4 and 8.3): 1 for a NUL, and for an ESC that begins
/// none.
fn len(text: &[u8]) -> usize {
    let run = |from: usize, part: std::ops::RangeInclusive<u8>| {
        from + text[from..].iter().take_while(|it| part.contains(it)).count()
    };
    let ends = |at: usize, last: std::ops::RangeInclusive<u8>| {
        text.get(at).is_some_and(|it| last.contains(it))
    };
    match text {
        // Parameters, intermediate bytes, and the byte that says what is done.
        [ESC, b'[', ..] => {
            let at = run(run(2, b'0'..=b'?'), b' '..=b'/');
            if ends(at, b'@'..=b'~') { at + 1 } else { at }
        }
        // Strings: titles, links, images. BEL ends them as well as ESC \ does (xterm).
        [ESC, b']' | b'P' | b'^' | b'_' | b'X', rest @ ..] => {
            let rest = &rest[..rest.len().min(MAX_STRING_BYTES)];
            match memchr::memchr2(ESC, 7, rest) {
                Some(at) if rest[at] == 7 => 2 + at + 1,
                Some(at) if rest.get(at + 1) == Some(&b'\\') => 2 + at + 2,
                _ => 2,
            }
        }
        [ESC, ..] => {
            let at = run(1, b' '..=b'/');
            if ends(at, b'0'..=b'~') { at + 1 } else { at }
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expect: Option<&str>) {
        let displayed = Displayed::of(content.as_bytes());
        let text = displayed.map(|it| String::from_utf8(it.text).expect("only ASCII is left out"));
        assert_eq!(text.as_deref(), expect, "{content:?}");
    }

    #[test]
    fn a_text_is_as_a_terminal_shows_it() {
        check("plain", None);
        check("a\0b\0", Some("ab"));
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
        check(&long, Some(&format!("a{}\x07b", "x".repeat(MAX_STRING_BYTES))));
    }

    #[test]
    fn each_byte_has_its_place() {
        let content = b"\x1b[ma\0b\x1b[31mcd";
        let displayed = Displayed::of(content).expect("it has sequences");
        for (at, it) in displayed.text.iter().enumerate() {
            assert_eq!(content[displayed.source(at)], *it, "{at}");
        }
    }
}
