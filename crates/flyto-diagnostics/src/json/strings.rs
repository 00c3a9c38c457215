//! String literals (RFC 8259 section 7).

use std::borrow::Cow;

use crate::codes;
use crate::diagnostic::Location;
use crate::json::parse::{Error, Parser};
use crate::quote::shown;
use crate::source::Span;

impl<'s> Parser<'s> {
    /// Reads the string that begins at the quote here.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'s, str>, Error> {
        let quote = self.pos;
        if let Some((plain, end)) = plain_string(self.text, quote) {
            self.pos = end;
            return Ok(Cow::Borrowed(plain));
        }
        self.pos += 1;
        self.string_with_escapes(quote).map(Cow::Owned)
    }

    #[inline(never)]
    fn string_with_escapes(&mut self, quote: usize) -> Result<String, Error> {
        let mut res = String::new();
        loop {
            let end = plain_end(self.text.as_bytes(), self.pos);
            res.push_str(&self.text[self.pos..end]);
            self.pos = end;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => res.push(self.escape(quote)?),
                Some(_) => return Err(self.raw_control(quote)),
                None => return Err(self.unclosed_string(quote)),
            }
        }
        self.pos += 1;
        Ok(res)
    }

    /// Reads the escape that begins at the backslash here.
    fn escape(&mut self, quote: usize) -> Result<char, Error> {
        let start = self.pos;
        let c = match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            None => return Err(self.unclosed_string(quote)),
            Some(_) => return Err(self.bad_escape()),
        };
        self.pos += 2;
        Ok(c)
    }

    /// Reads `\u` and four digits, or two of these that make a surrogate pair.
    fn unicode_escape(&mut self) -> Result<char, Error> {
        let start = self.pos;
        let first = self.code_unit()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let lone = Span::new(start, self.pos);
        if first < 0xDC00 && self.rest().starts_with("\\u") {
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
                return Ok(c.expect("ten and ten bits above 0xFFFF are a character"));
            }
        }
        let what = format!("`{}` is half of a surrogate pair", &self.text[lone.range()]);
        let help =
            "a character above U+FFFF is two escapes, as in `\\ud83e\\udd80`, or stands for itself";
        Err(self.error(codes::STRING, lone, what).with_help(help).into())
    }

    /// Reads one `\uXXXX` as a number.
    fn code_unit(&mut self) -> Result<u32, Error> {
        let digits = self.text.as_bytes().get(self.pos + 2..self.pos + 6).unwrap_or_default();
        let value = digits
            .iter()
            .try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?));
        match value.filter(|_| digits.len() == 4) {
            Some(value) => {
                self.pos += 6;
                Ok(value)
            }
            None => Err(self.bad_escape()),
        }
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
        let what = format!("`{}` is not an escape", shown(&self.text[span.range()]));
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
}

/// The string that begins at `quote` and the place behind it, if a string without escapes does.
#[inline(always)]
pub(super) fn plain_string(text: &str, quote: usize) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let end = plain_end(bytes, quote + 1);
    let is_closed = bytes.get(end) == Some(&b'"');
    is_closed.then(|| (&text[quote + 1..end], end + 1))
}

/// Where the bytes end that stand for themselves.
#[inline(always)]
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let (words, rest) = bytes[start..].as_chunks();
    let mut end = start;
    for word in words {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return end + special.trailing_zeros() as usize / 8;
        }
        end += word.len();
    }
    let plain = |&byte: &u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    end + rest.iter().take_while(|it| plain(it)).count()
}

/// Marks the first byte of eight, counted from the lowest, that ends a plain run: the lowest bit that
/// is set lies in it. Bits above that one mean nothing. "Bit Twiddling Hacks" of Sean Eron Anderson
/// explains the arithmetic under "Determine if a word has a byte less than n".
const fn special_bytes(word: u64) -> u64 {
    const LOW: u64 = u64::MAX / 255;
    const HIGH: u64 = LOW << 7;
    // This puts the quote, 0x22, at 0x20, behind the control characters, and moves none of them out
    // of what is below. The highest bit of a byte is the same in all three words.
    let quote_or_control = (word ^ (LOW * 0x02)).wrapping_sub(LOW * 0x21);
    let backslash = (word ^ (LOW * b'\\' as u64)).wrapping_sub(LOW);
    (quote_or_control | backslash) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_special_byte_is_marked(word in prop::array::uniform8(
            prop_oneof![any::<u8>(), prop::sample::select(b"\"\\\0\x1f !#[]\x7f\x80\xa2\xdc\xff".to_vec())]
        )) {
            let ends = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            let special = special_bytes(u64::from_le_bytes(word));
            let marked = (special != 0).then(|| special.trailing_zeros() as usize / 8);
            prop_assert_eq!(marked, word.iter().position(ends));
        }
    }
}
