//! Going over a text without a tree of its values.

use std::borrow::Cow;
use std::fmt;

use crate::json::parse::{MAX_DEPTH, MAX_VALUES, Parser, space_end};
use crate::json::strings::plain_string;
use crate::source::Source;

/// Reads a JSON text value by value, for a caller that knows which values should stand where.
///
/// Each method reads the value that comes next, and gives `None` where another one stands there or what
/// stands there is no JSON. A scanner that gave `None` is of no more use: the caller then has
/// [`parse`](super::parse) read the text, which says what is wrong. Nothing is accepted here that `parse`
/// refuses. Keys that occur twice are for the caller to find.
///
/// ```
/// use flyto_diagnostics::{Source, json::Scanner};
///
/// let source = Source::new("tool.json", r#"{"name": "list", "args": ["-l", "-a"]}"#);
/// let (mut name, mut args) = (None, Vec::new());
/// let mut scanner = Scanner::new(&source).expect("it is short");
/// let object = scanner.object(|scanner, key| match key {
///     "name" => scanner.string().map(|it| name = Some(it)),
///     "args" => scanner.array(|scanner| scanner.string().map(|it| args.push(it))),
///     _ => None,
/// });
/// assert!(object.is_some() && scanner.end().is_some());
/// assert_eq!((name.as_deref(), args.len()), (Some("list"), 2));
/// ```
pub struct Scanner<'s> {
    /// Has the text and the place in it, and reads what has no parts. Its lists stay empty.
    parser: Parser<'s>,
    /// How many arrays and objects are open.
    depth: usize,
}

impl<'s> Scanner<'s> {
    /// Begins with a text; `None` for one of more bytes than a document may have values
    /// ([`MAX_VALUES`]), so that values need not be counted.
    pub fn new(source: &'s Source) -> Option<Self> {
        if source.text().len() > MAX_VALUES {
            return None;
        }
        let mut res = Self { parser: Parser::new(source), depth: 0 };
        res.skip_space();
        Some(res)
    }

    /// Where the next value begins, or how far the last one went, in bytes from the start of the text.
    pub fn offset(&self) -> usize {
        self.parser.pos
    }

    /// The first byte of the next value, which tells its type.
    #[inline]
    pub fn first_byte(&self) -> Option<u8> {
        self.parser.peek()
    }

    /// Reads an object: `member` is called with each key, and has to read the value.
    ///
    /// `None` also for a key with an escape in it, and for one of more than [`MAX_DEPTH`] levels.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'s str) -> Option<()>,
    ) -> Option<()> {
        if !self.enter(b'{', b'}')? {
            return Some(());
        }
        loop {
            let key = self.plain_string()?;
            self.colon()?;
            member(self, key)?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// Reads an array: `item` is called before each item, and has to read it.
    ///
    /// `None` also for one of more than [`MAX_DEPTH`] levels.
    #[inline]
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.enter(b'[', b']')? {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// Reads a string, and resolves its escapes.
    #[inline]
    pub fn string(&mut self) -> Option<Cow<'s, str>> {
        if let Some(text) = self.plain_string() {
            return Some(Cow::Borrowed(text));
        }
        self.with_escapes()
    }

    #[inline(never)]
    fn with_escapes(&mut self) -> Option<Cow<'s, str>> {
        self.first_byte().filter(|it| *it == b'"')?;
        self.parser.string().ok()
    }

    /// Reads a string; `None` also for one with escapes.
    #[inline]
    pub fn plain_string(&mut self) -> Option<&'s str> {
        let (text, end) = plain_string(self.parser.text, self.parser.pos)?;
        self.parser.pos = end;
        Some(text)
    }

    /// Reads a number, as it is written.
    pub fn number(&mut self) -> Option<&'s str> {
        self.first_byte().filter(|it| matches!(it, b'-' | b'0'..=b'9'))?;
        match self.parser.number().ok()? {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Option<bool> {
        let res = self.parser.word("true");
        (res || self.parser.word("false")).then_some(res)
    }

    /// Reads `null`.
    pub fn null(&mut self) -> Option<()> {
        self.parser.word("null").then_some(())
    }

    /// Passes if nothing follows but white space.
    pub fn end(mut self) -> Option<()> {
        self.skip_space();
        self.first_byte().is_none().then_some(())
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        self.parser.pos = space_end(self.parser.text.as_bytes(), self.parser.pos);
    }

    /// Steps over the bracket `open`, and says whether something stands before `close`.
    #[inline]
    fn enter(&mut self, open: u8, close: u8) -> Option<bool> {
        if self.first_byte() != Some(open) || self.depth == MAX_DEPTH {
            return None;
        }
        self.parser.pos += 1;
        self.skip_space();
        if self.first_byte() == Some(close) {
            self.parser.pos += 1;
            return Some(false);
        }
        self.depth += 1;
        Some(true)
    }

    /// Steps over the colon behind a key, and the space around it.
    #[inline(always)]
    fn colon(&mut self) -> Option<()> {
        // What most people write.
        let behind = self.parser.text.as_bytes().get(self.parser.pos..);
        if let Some([b':', b' ', b'!'..=b'~', ..]) = behind {
            self.parser.pos += 2;
            return Some(());
        }
        self.spaced_colon()
    }

    #[inline(never)]
    fn spaced_colon(&mut self) -> Option<()> {
        self.skip_space();
        self.first_byte().filter(|it| *it == b':')?;
        self.parser.pos += 1;
        self.skip_space();
        Some(())
    }

    /// Steps over a comma, or over the bracket `close`, which is no going on. What may not follow a comma, no
    /// method reads.
    #[inline(always)]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let bytes = self.parser.text.as_bytes();
        let is_comma = bytes.get(self.parser.pos) == Some(&b',');
        if is_comma {
            self.parser.pos = space_end(bytes, self.parser.pos + 1);
            return Some(true);
        }
        self.goes_on_or_ends(close)
    }

    #[inline(never)]
    fn goes_on_or_ends(&mut self, close: u8) -> Option<bool> {
        self.skip_space();
        let goes_on = match self.first_byte()? {
            b',' => true,
            it if it == close => false,
            _ => return None,
        };
        self.parser.pos += 1;
        match goes_on {
            true => self.skip_space(),
            false => self.depth -= 1,
        }
        Some(goes_on)
    }
}

/// Shows the place and not the text.
impl fmt::Debug for Scanner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner").field("offset", &self.offset()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::json::parse;

    /// Reads any value.
    fn value(scanner: &mut Scanner<'_>) -> Option<Value> {
        Some(match scanner.first_byte()? {
            b'{' => {
                let mut members = serde_json::Map::new();
                scanner.object(|scanner, key| {
                    members.insert(key.to_owned(), value(scanner)?);
                    Some(())
                })?;
                members.into()
            }
            b'[' => {
                let mut items = Vec::new();
                scanner.array(|scanner| value(scanner).map(|it| items.push(it)))?;
                items.into()
            }
            b'"' => scanner.string()?.into(),
            b't' | b'f' => scanner.boolean()?.into(),
            b'n' => scanner.null()?.into(),
            _ => Value::Number(scanner.number()?.parse().expect("a number")),
        })
    }

    #[track_caller]
    fn check(text: &str) {
        let source = Source::new("x", text);
        let mut scanner = Scanner::new(&source).expect("it is short");
        let read = value(&mut scanner).filter(|_| scanner.end().is_some());
        let parsed = parse(&source).ok().map(|it| it.to_json());
        // A key may have an escape.
        if read.is_some() || !text.contains('\\') {
            assert_eq!(read, parsed, "{text}");
        }
    }

    #[test]
    fn a_scanner_reads_what_is_parsed() {
        check(
            r#" {"a" : [1, -0.5e3 ,true,false,null , {}, [] ],"b":"\u00e9\n\"" , "c":{"d":"é"}} "#,
        );
        check(r#"{"\u006b": 1}"#);
        for other in
            ["", " ", "{,}", "{\"a\"}", "{\"a\":}", "[1,]", "[1 2]", "{\"a\":1,}", "nul", "truex"]
        {
            check(other);
        }
        for other in
            ["1e999", "01", "+1", "// x\n1", "1 #", "\u{FEFF}1", "[1}", "\"\t\"", "\"\\x\"", "\"a"]
        {
            check(other);
        }
        for depth in [MAX_DEPTH, MAX_DEPTH + 1] {
            check(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        }
    }

    proptest! {
        #[test]
        fn a_scanner_reads_any_text_that_is_parsed(text in r#"[\[\]{}:,"a0-9 .eE\\n/#-]{0,24}"#) {
            check(&text);
        }
    }
}
