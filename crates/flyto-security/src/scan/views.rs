//! What a text is once it is decoded.
//!
//! Only the encoded part is decoded, and only where text comes of it: nearly all bytes printable ASCII. A match found
//! so has the span of the encoded part, so that a redacted text does not hold it in any form.
//!
//! A text is decoded into a copy that is no longer than it is, and dropped when that was looked at;
//! nothing decoded is kept. How often that is done again is for [`MAX_DEPTH`](super::MAX_DEPTH).

use std::ops::Range;

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{Piece, Scan, words::is_seam};
use crate::{ScanError, View};

/// The most encoded bytes that are decoded as one: 64 KiB of text, as Base64.
///
/// In bytes; what follows is not decoded.
const MAX_ENCODED_BYTES: usize = 88 * 1024;

/// A shorter run decodes to no secret.
const MIN_ENCODED_BYTES: usize = 16;

/// Lines of encoded text that go on in the next line have at least so many characters.
const MIN_LINE_BYTES: usize = 60;

/// The most digits of `\u{…}` and `&#…;` that are read.
const MAX_DIGITS: usize = 8;

/// How far the word around an escape reaches to each side.
const MAX_WORD_BYTES: usize = 2048;

/// With or without padding; the last bits may be anything, as hand-made text has them.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

impl Scan<'_> {
    /// Decodes what a run holds of Base64 and hexadecimal digits; returns where the last of it ends, which may be
    /// lines behind the run.
    pub(super) fn encoded(
        &mut self,
        piece: &Piece<'_>,
        run: &Range<usize>,
    ) -> Result<usize, ScanError> {
        let text = piece.text;
        let is_part =
            |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'-' | b'_');
        let mut at = run.start;
        let mut end = run.end;
        while at < run.end {
            if !is_part(text[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < run.end && is_part(text[at]) {
                at += 1;
            }
            while at < run.end && text[at] == b'=' {
                at += 1;
            }
            let part = start..at;
            if part.len() < MIN_ENCODED_BYTES {
                continue;
            }
            if part.end == run.end
                && part.len() >= MIN_LINE_BYTES
                && let Some((lines_end, joined)) = lines(text, &part)
            {
                end = lines_end;
                self.encoded_text(piece, part.start..lines_end, &joined)?;
                continue;
            }
            self.encoded_text(piece, part.clone(), &text[part])?;
        }
        Ok(end)
    }

    /// Hexadecimal digits are tried first: they are Base64 as well.
    fn encoded_text(
        &mut self,
        piece: &Piece<'_>,
        span: Range<usize>,
        encoded: &[u8],
    ) -> Result<(), ScanError> {
        let encoded = &encoded[..encoded.len().min(MAX_ENCODED_BYTES)];
        let (view, decoded) = match hex_text(encoded) {
            Some(it) => (View::Hex, Some(it)),
            None => (View::Base64, base64_text(encoded)),
        };
        match decoded {
            Some(it) => self.decoded(piece, span, view, &it),
            None => Ok(()),
        }
    }

    /// Decodes the words that have escapes in them: `%3D`, `\u003d`, `\u{3d}`, `\U0000003d`, `\x3d`, `\075`, `&#61;`, `&equals;`.
    ///
    /// Each word is decoded once, for the kind of its first escape; what is shorter than 8 bytes
    /// then is left. Gives the backslashes that stand within words of the content, which a shell leaves out.
    pub(super) fn escaped(&mut self, piece: &Piece<'_>) -> Result<Vec<usize>, ScanError> {
        let text = piece.text;
        let mut done = 0;
        let mut seams = Vec::new();
        for at in memchr::memchr3_iter(b'%', b'\\', b'&', text) {
            if piece.depth == 0 && text[at] == b'\\' && is_seam(text, at) {
                seams.push(at);
            }
            if at < done {
                continue;
            }
            let Some((view, _, _)) = escape_at(text, at) else { continue };
            let word = word_around(text, at, done, view);
            done = word.end;
            let plain = unescape(&text[word.clone()], view);
            if plain.len() >= 8 {
                self.decoded(piece, word, view, &plain)?;
            }
        }
        Ok(seams)
    }
}

/// The lines of encoded text that begin with `part`, and their content; `None` for a single one.
///
/// The end is that of the last line that belongs to it; lines are as long as the first, but for the
/// last.
fn lines(text: &[u8], part: &Range<usize>) -> Option<(usize, Vec<u8>)> {
    let mut joined = text[part.clone()].to_vec();
    let mut end = part.end;
    let mut n_lines = 1;
    while joined.len() < MAX_ENCODED_BYTES {
        // A line end, or one that is escaped in JSON.
        let mut at = end;
        if text[at..].starts_with(b"\\n") {
            at += 2;
        } else if text.get(at).is_some_and(|it| matches!(it, b'\n' | b'\r')) {
            at += 1 + usize::from(text[at..].starts_with(b"\r\n"));
            at += text[at..].iter().take(32).take_while(|it| matches!(it, b' ' | b'\t')).count();
        } else {
            break;
        }
        let rest = &text[at..text.len().min(at + 128)];
        let is_part =
            |it: &&u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'=' | b'-' | b'_');
        let n = rest.iter().take_while(is_part).count();
        if n == 0 || n > part.len() {
            break;
        }
        joined.extend_from_slice(&rest[..n]);
        end = at + n;
        n_lines += 1;
        if n < part.len() {
            break;
        }
    }
    (n_lines > 1).then_some((end, joined))
}

/// What hexadecimal digits spell, where it is text.
///
/// `0x` may stand before them. `None` for anything but an even number of digits, and where the bytes are no text.
fn hex_text(encoded: &[u8]) -> Option<Vec<u8>> {
    let encoded = encoded.strip_prefix(b"0x").unwrap_or(encoded);
    if !encoded.len().is_multiple_of(2) || !encoded.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digit = |it: u8| char::from(it).to_digit(16).unwrap_or(0) as u8;
    text(encoded.chunks_exact(2).map(|it| digit(it[0]) << 4 | digit(it[1])).collect())
}

/// What Base64 decodes to, where it is text.
///
/// Either alphabet, by the signs that occur. `None` where the bytes are no text.
pub(super) fn base64_text(encoded: &[u8]) -> Option<Vec<u8>> {
    // A quick look at the first bytes: a long word of a program is not decoded in full.
    let head = &encoded[..encoded.len().min(16) / 4 * 4];
    let engine =
        if encoded.iter().any(|it| matches!(it, b'-' | b'_')) { &FOR_URLS } else { &PLAIN };
    let mut first = [0; 12];
    let n = engine.decode_slice(head, &mut first).ok()?;
    text(first[..n].to_vec())?;
    // What cannot be decoded at the end, because a text was cut, is left out.
    let whole = match encoded.iter().position(|it| *it == b'=') {
        Some(at) => &encoded[..at],
        None => encoded,
    };
    let whole = if whole.len() % 4 == 1 { &whole[..whole.len() - 1] } else { whole };
    text(engine.decode(whole).ok()?)
}

/// The text that bytes are: of ASCII, or the same in UTF-16 of either byte order. `None` where they are no text.
fn text(bytes: Vec<u8>) -> Option<Vec<u8>> {
    if is_text(&bytes) {
        return Some(bytes);
    }
    let marked = bytes.strip_prefix(&[0xff, 0xfe]).or_else(|| bytes.strip_prefix(&[0xfe, 0xff]));
    let pairs = marked.unwrap_or(&bytes).chunks_exact(2);
    let with_zero_at = |at: usize| pairs.clone().all(|it| it[at] == 0);
    let low = if with_zero_at(1) { 0 } else { with_zero_at(0).then_some(1)? };
    let text: Vec<u8> = pairs.map(|it| it[low]).collect();
    is_text(&text).then_some(text)
}

/// Whether nearly all bytes are printable ASCII.
///
/// At least 95 of 100; false without any.
fn is_text(bytes: &[u8]) -> bool {
    let n = bytes.iter().filter(|it| matches!(it, b' '..=b'~' | b'\n' | b'\r' | b'\t')).count();
    !bytes.is_empty() && n * 100 >= bytes.len() * 95
}

/// The escape at `at`: its kind, its length, and what it stands for.
///
/// `None` for any other escape, and for one of a character that is not ASCII.
fn escape_at(text: &[u8], at: usize) -> Option<(View, usize, u8)> {
    let digits = |from: usize, n: usize, radix: u32| {
        let digits = text.get(at + from..at + from + n)?;
        digits
            .iter()
            .try_fold(0, |sum: u32, it| Some(sum * radix + char::from(*it).to_digit(radix)?))
    };
    // As many digits as there are, and whether the sign that closes them stands behind.
    let run = |from: usize, radix: u32, close: u8| {
        let rest = text.get(at + from..)?;
        let is_digit = |it: &&u8| char::from(**it).is_digit(radix);
        let n = rest.iter().take(MAX_DIGITS).take_while(is_digit).count();
        let is_closed = rest.get(n) == Some(&close);
        let value = digits(from, n, radix).filter(|_| n > 0)?;
        Some((from + n + usize::from(is_closed), value, is_closed))
    };
    let ascii = |it: u32| u8::try_from(it).ok().filter(u8::is_ascii);
    match (text[at], text.get(at + 1)?, text.get(at + 2)) {
        (b'%', ..) => Some((View::Percent, 3, ascii(digits(1, 2, 16)?)?)),
        (b'\\', b'u' | b'x', Some(b'{')) => {
            let (len, it, _) = run(3, 16, b'}').filter(|it| it.2)?;
            Some((View::Escapes, len, ascii(it)?))
        }
        (b'\\', b'U', _) => Some((View::Escapes, 10, ascii(digits(2, 8, 16)?)?)),
        (b'\\', b'u', _) => Some((View::Escapes, 6, ascii(digits(2, 4, 16)?)?)),
        (b'\\', b'x', _) => Some((View::Escapes, 4, ascii(digits(2, 2, 16)?)?)),
        (b'\\', b'0'..=b'3', _) => Some((View::Escapes, 4, ascii(digits(1, 3, 8)?)?)),
        (b'\\', b'/', _) => Some((View::Escapes, 2, b'/')),
        // The sign that closes a number may be missing.
        (b'&', b'#', Some(b'x' | b'X')) => {
            let (len, it, _) = run(3, 16, b';')?;
            Some((View::References, len, ascii(it)?))
        }
        (b'&', b'#', _) => {
            let (len, it, _) = run(2, 10, b';')?;
            Some((View::References, len, ascii(it)?))
        }
        (b'&', b'A'..=b'Z' | b'a'..=b'z', _) => {
            let name = &text[at + 1..text.len().min(at + 2 + MAX_NAME_BYTES)];
            let name = &name[..name.iter().position(|it| *it == b';')?];
            let known = NAMES.iter().find(|it| it.0.as_bytes() == name)?;
            Some((View::References, name.len() + 2, known.1))
        }
        _ => None,
    }
}

/// The longest of the [`NAMES`].
const MAX_NAME_BYTES: usize = 8;

/// Characters of ASCII that have a name in HTML ("HTML, Named character references").
const NAMES: &[(&str, u8)] = &[
    ("Hat", b'^'),
    ("NewLine", b'\n'),
    ("Tab", b'\t'),
    ("UnderBar", b'_'),
    ("amp", b'&'),
    ("apos", b'\''),
    ("ast", b'*'),
    ("bsol", b'\\'),
    ("colon", b':'),
    ("comma", b','),
    ("commat", b'@'),
    ("dollar", b'$'),
    ("equals", b'='),
    ("excl", b'!'),
    ("grave", b'`'),
    ("gt", b'>'),
    ("lbrace", b'{'),
    ("lbrack", b'['),
    ("lcub", b'{'),
    ("lowbar", b'_'),
    ("lpar", b'('),
    ("lsqb", b'['),
    ("lt", b'<'),
    ("midast", b'*'),
    ("num", b'#'),
    ("percnt", b'%'),
    ("period", b'.'),
    ("plus", b'+'),
    ("quest", b'?'),
    ("quot", b'"'),
    ("rbrace", b'}'),
    ("rbrack", b']'),
    ("rcub", b'}'),
    ("rpar", b')'),
    ("rsqb", b']'),
    ("semi", b';'),
    ("sol", b'/'),
    ("verbar", b'|'),
    ("vert", b'|'),
];

/// The word that has an escape at `at`, from `from` on at the earliest.
///
/// At most [`MAX_WORD_BYTES`] to each side.
fn word_around(text: &[u8], at: usize, from: usize, view: View) -> Range<usize> {
    let is_end = |it: &u8| {
        *it <= b' '
            || matches!(it, b'"' | b'\'' | b'`')
            || (view != View::Percent && matches!(it, b'<' | b'>'))
    };
    let first = from.max(at.saturating_sub(MAX_WORD_BYTES));
    let start = text[first..at].iter().rposition(is_end).map_or(first, |it| first + it + 1);
    let to = text.len().min(at + MAX_WORD_BYTES);
    let end = text[at..to].iter().position(is_end).map_or(to, |it| at + it);
    start..end
}

/// The word with its escapes of one kind undone.
///
/// Escapes of other kinds stay as they are.
fn unescape(word: &[u8], view: View) -> Vec<u8> {
    let mut res = Vec::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        match escape_at(word, at) {
            Some((kind, len, byte)) if kind == view => {
                res.push(byte);
                at += len;
            }
            _ => {
                res.push(word[at]);
                at += 1;
            }
        }
    }
    res
}
