//! The one escape for text that leaves for a terminal.
//!
//! Every text goes through [`escape`] where it is written, in [`screen`](crate::screen). Text of
//! others also goes through it where it is put into a table or beside colours, so that widths are
//! right and none of its escape sequences is taken for a style of this program.

use std::fmt::Write as _;

use flyto_tools::is_hidden;
use unicode_general_category::{GeneralCategory, get_general_category};

/// The variation selector that asks for a picture in place of a sign.
const PICTURE: char = '\u{fe0f}';

/// What the characters of a text become that act on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `␛` for a control character of ASCII, `\u{202e}` for any other.
    Text,
    /// The same, and the sequences that set colours and weights stay: `ESC [ … m`.
    Styled,
    /// `\u202e`, which JSON reads back as the character itself. Within a document they stand in
    /// strings only.
    Json,
}

/// Whether `c` moves the cursor, starts an escape sequence, reorders text, hides it or shows as nothing
/// ([`flyto_tools::is_hidden`]).
///
/// Line feeds and tabs are left alone, and so are the joiners U+200C and U+200D: Persian, the scripts of India and many
/// emoji are written with them, and they change the shape of their neighbours only.
pub(crate) fn acts(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{200c}' | '\u{200d}')
}

/// Whether a sign may have U+FE0F behind it, which makes it a coloured picture: ❤️, ↔️. It hides nothing there.
fn may_be_picture(before: Option<char>) -> bool {
    before.is_some_and(|it| {
        let category = get_general_category(it);
        !acts(it) && matches!(category, GeneralCategory::OtherSymbol | GeneralCategory::MathSymbol)
    })
}

/// `text` with every character escaped that acts on a terminal. Line feeds and tabs stay, as do a
/// carriage return before a line feed and U+FE0F behind a sign.
pub(crate) fn escape(text: &str, form: Form) -> String {
    escape_behind(None, text, form)
}

/// The same for a text that has a character before it.
fn escape_behind(mut last: Option<char>, text: &str, form: Form) -> String {
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(acts) {
        let (before, from) = rest.split_at(at);
        res.push_str(before);
        last = before.chars().next_back().or(last);
        let mut chars = from.chars();
        rest = match kept_bytes(last, from, form) {
            0 => {
                let c = chars.next().unwrap_or_default();
                push(&mut res, c, form);
                last = Some(c);
                chars.as_str()
            }
            n => {
                res.push_str(&from[..n]);
                last = from[..n].chars().next_back();
                &from[n..]
            }
        };
    }
    res.push_str(rest);
    res
}

/// Where `at` of `text` is in what [`escape`] makes of it as text.
pub(crate) fn escaped_offset(text: &str, at: usize) -> usize {
    let (before, after) = text.split_at(at);
    match before.strip_suffix('\r') {
        // It stays what it is, which cannot be told from the part before alone.
        Some(before) if after.starts_with('\n') => escape(before, Form::Text).len() + 1,
        _ => escape(before, Form::Text).len(),
    }
}

/// Bytes at the start of `text` that stay although they act; `last` is the character before them.
fn kept_bytes(last: Option<char>, text: &str, form: Form) -> usize {
    if text.starts_with("\r\n") {
        return 2;
    }
    if text.starts_with(PICTURE) && may_be_picture(last) {
        return PICTURE.len_utf8();
    }
    let Some(sequence) = text.strip_prefix("\u{1b}[").filter(|_| form == Form::Styled) else {
        return 0;
    };
    let end = sequence.find(|c: char| !(c.is_ascii_digit() || c == ';'));
    end.filter(|end| sequence[*end..].starts_with('m')).map_or(0, |end| 2 + end + 1)
}

fn push(res: &mut String, c: char, form: Form) {
    // Writing to a string does not fail.
    match c {
        c if form == Form::Json => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(res, "\\u{unit:04x}");
            }
        }
        '\u{7f}' => res.push('␡'),
        // The block of control pictures has the order of the control characters.
        c if c < ' ' => res.extend(char::from_u32(0x2400 + u32::from(c))),
        c => {
            let _ = write!(res, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// A stream of a tool's own bytes on its way out. They stay as they are, but for a terminal.
#[derive(Debug)]
pub(crate) struct Passage {
    to_terminal: bool,
    /// The end of the last piece: a character or a line break of which more may follow.
    held: Vec<u8>,
    /// The last character that was written.
    last: Option<char>,
}

impl Passage {
    pub(crate) fn new(to_terminal: bool) -> Self {
        Self { to_terminal, held: Vec::new(), last: None }
    }

    /// What is to be written now that `bytes` have come.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        if !self.to_terminal {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        let whole = self.held.len() - unfinished_bytes(&self.held);
        let rest = self.held.split_off(whole);
        let whole = std::mem::replace(&mut self.held, rest);
        self.escaped(&whole)
    }

    /// What is to be written now that nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.escaped(&rest)
    }

    fn escaped(&mut self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes);
        let res = escape_behind(self.last, &text, Form::Text);
        self.last = text.chars().next_back().or(self.last);
        res.into_bytes()
    }
}

/// Bytes at the end that mean something else if more follows.
fn unfinished_bytes(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\r") {
        return 1;
    }
    let last = bytes.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |it| it.invalid());
    // Of a character with its first byte in place, up to three bytes may be there.
    match std::str::from_utf8(invalid) {
        Err(err) if err.error_len().is_none() => invalid.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: [&str; 3]) {
        let got = [Form::Text, Form::Styled, Form::Json].map(|it| escape(text, it));
        assert_eq!(got, expect, "{text:?}");
    }

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        check("a\n\tb ü 字 🦀", ["a\n\tb ü 字 🦀"; 3]);
        check("\u{7f}\u{9b}", ["␡\\u{9b}", "␡\\u{9b}", "\\u007f\\u009b"]);
        check("\u{1b}[31;1mx", ["␛[31;1mx", "\u{1b}[31;1mx", "\\u001b[31;1mx"]);
        check("\u{1b}[2J", ["␛[2J", "␛[2J", "\\u001b[2J"]);
        check("\u{1b}[", ["␛[", "␛[", "\\u001b["]);
        check("\u{202e}\u{61c}", ["\\u{202e}\\u{61c}", "\\u{202e}\\u{61c}", "\\u202e\\u061c"]);
        check("\u{e0041}", ["\\u{e0041}", "\\u{e0041}", "\\udb40\\udc41"]);
        check("a\r\nb\rc", ["a\r\nb␍c", "a\r\nb␍c", "a\r\nb\\u000dc"]);
    }

    #[test]
    fn joiners_are_part_of_words() {
        check("می\u{200c}خواهم 👩\u{200d}🚀", ["می\u{200c}خواهم 👩\u{200d}🚀"; 3]);
        check("\u{200b}\u{feff}", ["\\u{200b}\\u{feff}", "\\u{200b}\\u{feff}", "\\u200b\\ufeff"]);
    }

    #[test]
    fn signs_may_be_pictures() {
        check("❤\u{fe0f} ↔\u{fe0f}", ["❤\u{fe0f} ↔\u{fe0f}"; 3]);
        check("a\u{fe0f}", ["a\\u{fe0f}", "a\\u{fe0f}", "a\\ufe0f"]);
        check(
            "❤\u{fe0f}\u{fe0f}",
            ["❤\u{fe0f}\\u{fe0f}", "❤\u{fe0f}\\u{fe0f}", "❤\u{fe0f}\\ufe0f"],
        );
        check("\u{2800}\u{fe0f}", ["\\u{2800}\\u{fe0f}", "\\u{2800}\\u{fe0f}", "\\u2800\\ufe0f"]);
    }

    #[test]
    fn no_hidden_character_passes() {
        for c in '\0'..=char::MAX {
            let expect = is_hidden(c) && !"\n\t\u{200c}\u{200d}".contains(c);
            assert_eq!(acts(c), expect, "{c:?}");
            let mut bytes = [0; 4];
            let text = &*c.encode_utf8(&mut bytes);
            assert_eq!(escape(text, Form::Text) != text, expect, "{c:?}");
            assert_eq!(escape(text, Form::Json) != text, expect, "{c:?}");
        }
    }

    #[test]
    fn bytes_for_a_file_stay_as_they_are() {
        let mut passage = Passage::new(false);
        assert_eq!(passage.take(b"\x1b\xff\r"), b"\x1b\xff\r");
        assert_eq!(passage.finish(), b"");
    }

    fn pieces(bytes: &[u8], n: usize) -> String {
        let mut passage = Passage::new(true);
        let mut res: Vec<u8> = bytes.chunks(n).flat_map(|it| passage.take(it)).collect();
        res.extend(passage.finish());
        String::from_utf8(res).unwrap()
    }

    #[test]
    fn nothing_is_held_without_need() {
        let mut passage = Passage::new(true);
        assert_eq!(passage.take(b"a\xff"), "a\u{fffd}".as_bytes());
        assert_eq!(passage.take(b"\xf0\x9f"), b"");
        assert_eq!(passage.take(b"\xa6\x80\x1b"), "🦀␛".as_bytes());
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left(text in any::<String>()) {
            let left = escape(&text, Form::Text).replace("\r\n", "").replace(PICTURE, "");
            prop_assert!(!left.contains(acts), "{left:?}");
            let json = serde_json::to_string(&text).unwrap();
            let escaped = escape(&json, Form::Json);
            prop_assert!(!escaped.replace(PICTURE, "").contains(acts), "{escaped:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }

        #[test]
        fn pieces_of_a_stream_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![
                any::<u8>(), Just(b'\r'), Just(b'\n'), Just(0xf0), Just(0x9f), Just(0x80), Just(0xc2),
            ], 0..60),
            signs in "[❤\u{fe0f}a\r]{0,6}",
            n in 1usize..8,
        ) {
            let bytes = [signs.as_bytes(), &bytes].concat();
            let whole = escape(&String::from_utf8_lossy(&bytes), Form::Text);
            prop_assert_eq!(pieces(&bytes, n), whole);
        }

        #[test]
        fn offsets_follow(text in "[a\\r\\n\u{7f}\u{202e}]{0,20}", at in 0usize..40) {
            let at = text.floor_char_boundary(at.min(text.len()));
            let marked = format!("{}{}", escape(&text[..at], Form::Text), &text[at..]);
            let offset = escaped_offset(&text, at);
            let whole = escape(&text, Form::Text);
            prop_assert!(whole.is_char_boundary(offset));
            prop_assert_eq!(&whole[offset..], escape(&text[at..], Form::Text), "{}", marked);
        }
    }
}
