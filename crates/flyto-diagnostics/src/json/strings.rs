//! String literals (RFC 8259 section 7).

use crate::codes;
use crate::json::parse::{Error, Parser};
use crate::source::Span;

impl Parser<'_> {
    /// Reads the string that begins at the quote here.
    pub(super) fn string(&mut self) -> Result<String, Error> {
        let quote = self.pos;
        self.pos += 1;
        let mut res = String::new();
        loop {
            let plain = self.plain_run();
            match self.text.as_bytes().get(self.pos + plain) {
                Some(b'"') if res.is_empty() => {
                    // The usual string has no escape, and is copied once to its exact size.
                    let text = self.rest()[..plain].to_owned();
                    self.pos += plain + 1;
                    return Ok(text);
                }
                stop => {
                    res.push_str(&self.text[self.pos..self.pos + plain]);
                    self.pos += plain;
                    match stop {
                        Some(b'"') => {
                            self.pos += 1;
                            return Ok(res);
                        }
                        Some(b'\\') => res.push(self.escape(quote)?),
                        Some(_) => return Err(self.raw_control(quote)),
                        None => return Err(self.unclosed_string(quote)),
                    }
                }
            }
        }
    }

    /// How many bytes from here stand for themselves.
    fn plain_run(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let stop = bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
        stop.unwrap_or(bytes.len())
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
}
