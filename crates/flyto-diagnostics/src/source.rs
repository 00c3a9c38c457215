//! A text that findings point into, and positions in it.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::codes;
use crate::diagnostic::{Diagnostic, Location};

/// A named text: what a file held when it was read.
///
/// A `Source` is a handle, so cloning it copies no text. Every finding about the text carries one,
/// which is why a renderer never reads the file again and never shows a newer version of it than
/// the one that was judged.
///
/// ```
/// use flyto_diagnostics::{Source, Span};
///
/// let source = Source::new("notes.txt", "one\ntwo\n");
/// let place = source.place(5);
/// assert_eq!((place.line, place.column), (2, 2));
/// assert_eq!(source.slice(Span::new(4, 7)), Some("two"));
/// assert_eq!(source.slice(Span::new(4, 70)), None);
/// ```
#[derive(Clone)]
pub struct Source {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    text: String,
    /// Built when the first place is asked for: most texts have no findings.
    index: OnceLock<Index>,
}

impl Source {
    /// Names a text. The name is what people are shown, usually the path of a file; nothing is
    /// opened by it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let inner = Inner { name: name.into(), text: text.into(), index: OnceLock::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Names the bytes of a file, which must be UTF-8 as RFC 8259 section 8.1 asks of JSON.
    ///
    /// # Errors
    ///
    /// A finding with code `F0002` at the first byte that is not UTF-8. Its text is the file with
    /// every undecodable sequence replaced by U+FFFD; up to the place of the finding that is the
    /// file itself, so the place is exact.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Box<Diagnostic>> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(err) => {
                let start = err.utf8_error().valid_up_to();
                Err(Box::new(not_utf8(name.into(), &err.into_bytes(), start)))
            }
        }
    }

    /// The name shown to people, as it was given.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The text at `span`, or nothing when the span does not lie in this text on character
    /// boundaries.
    pub fn slice(&self, span: Span) -> Option<&str> {
        self.text().get(span.range())
    }

    /// Line and column of a byte offset.
    ///
    /// An offset behind the end counts as the end, one inside a character as that character's
    /// start. The first call walks the text once; each further call costs the same however long the
    /// text or its lines are.
    pub fn place(&self, offset: usize) -> Place {
        let text = self.text();
        let index = self.inner.index.get_or_init(|| Index::new(text));
        index.place(text, text.floor_char_boundary(offset))
    }
}

fn not_utf8(name: String, bytes: &[u8], start: usize) -> Diagnostic {
    let text = Source::new(name, String::from_utf8_lossy(bytes));
    let span = Span::new(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
    let what = format!("byte 0x{:02X} is not UTF-8", bytes[start]);
    let utf16 = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    let help = if utf16 {
        "the file looks like UTF-16; save it as UTF-8 without a byte order mark"
    } else {
        "save the file as UTF-8"
    };
    Diagnostic::error(codes::NOT_UTF8, Location::text(&text, span), what).with_help(help)
}

/// Equal when name and text are equal.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.name() == other.name() && self.text() == other.text())
    }
}

impl Eq for Source {}

/// Shows name and length; texts can be long.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name())
            .field("n_bytes", &self.text().len())
            .finish()
    }
}

/// A half-open range of byte offsets in one [`Source`]. An empty span is a place between two
/// characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl Span {
    /// From the first byte to the one behind the last: `start` up to and without `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The place before the byte at `offset`.
    pub const fn empty(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// The same as a range, to index a text with.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// Where something stands, in the numbers that editors show: both start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line. Lines end with a line feed; a carriage return before it belongs to the line.
    pub line: usize,
    /// The column, counted in Unicode scalar values: a tab, `ü` and `字` are one column each.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Answers where an offset is without walking the text again.
struct Index {
    /// Offset of each line's first byte.
    line_starts: Vec<usize>,
    /// How many characters start before each block of [`BLOCK_BYTES`]. Without these marks, many
    /// findings in one line of many megabytes would cost quadratic time.
    chars_before: Vec<usize>,
}

/// Bytes between two marks, so what one look-up walks at most.
const BLOCK_BYTES: usize = 4096;

impl Index {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let newlines = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        let mut chars_before = vec![0];
        let mut n_chars = 0;
        for block in bytes.chunks(BLOCK_BYTES) {
            n_chars += count_chars(block);
            chars_before.push(n_chars);
        }
        Self { line_starts, chars_before }
    }

    fn place(&self, text: &str, offset: usize) -> Place {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let line_start = self.line_starts[line - 1];
        let column = self.chars_up_to(text, offset) - self.chars_up_to(text, line_start) + 1;
        Place { line, column }
    }

    fn chars_up_to(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK_BYTES;
        self.chars_before[block] + count_chars(&text.as_bytes()[block * BLOCK_BYTES..offset])
    }
}

/// Characters that start in `bytes`: every byte but the continuation bytes of UTF-8.
fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, offset: usize, expect: &str) {
        assert_eq!(Source::new("f", text).place(offset).to_string(), expect);
    }

    #[test]
    fn places_count_from_one() {
        check("", 0, "1:1");
        check("ab", 1, "1:2");
        check("ab\ncd", 3, "2:1");
    }

    #[test]
    fn a_line_feed_belongs_to_the_line_it_ends() {
        check("ab\ncd", 2, "1:3");
        check("ab\r\ncd", 3, "1:4");
        check("ab\r\ncd", 4, "2:1");
    }

    #[test]
    fn columns_count_characters() {
        check("äöü字🦀x", "äöü字🦀".len(), "1:6");
        check("\tx", 1, "1:2");
    }

    #[test]
    fn odd_offsets_are_moved_to_a_character() {
        check("ä", 1, "1:1");
        check("ab", 99, "1:3");
        check("ab\n", 99, "2:1");
    }

    #[test]
    fn the_index_agrees_with_counting_by_hand() {
        let text = "aä字🦀\n".repeat(3 * BLOCK_BYTES / 7) + &"é".repeat(3 * BLOCK_BYTES);
        let source = Source::new("f", text.as_str());
        for (offset, _) in text.char_indices().step_by(53) {
            let before = &text[..offset];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.matches('\n').count() + 1;
            let column = before[line_start..].chars().count() + 1;
            assert_eq!(source.place(offset), Place { line, column });
        }
    }

    #[test]
    fn a_byte_that_is_not_utf8_has_a_place() {
        let diag = Source::from_bytes("f.json", b"{\n  \"\xC3\xA4\xFF\": 1}".to_vec()).unwrap_err();
        assert_eq!(diag.to_string(), "f.json:2:5: error[F0002]: byte 0xFF is not UTF-8");
        let (source, span) = diag.location.source().zip(diag.location.span()).unwrap();
        assert_eq!(source.slice(span), Some("\u{FFFD}"));
    }

    #[test]
    fn utf16_is_recognised() {
        let diag = Source::from_bytes("f.json", b"\xFF\xFE{\0}\0".to_vec()).unwrap_err();
        assert!(diag.help.unwrap().contains("UTF-16"));
    }
}
