//! The grammar of RFC 8259.

use std::borrow::Cow;

use crate::diagnostic::Diagnostic;
use crate::json::strings::plain_string;
use crate::json::{Member, Node, Spanned, Value};
use crate::source::{Source, Span};

/// How deep arrays and objects may be nested. People write a handful of levels; the parser, and
/// everything that walks its values, recurses once per level.
pub const MAX_DEPTH: usize = 128;

/// How many values a document may hold, which bounds the memory taken beside the strings: about
/// 200 bytes a value in the worst case, an object of many short members.
pub const MAX_VALUES: usize = 1_000_000;

/// A syntax error. In a box because findings are large and most texts have none.
pub(super) type Error = Box<Diagnostic>;

/// Reads a text as one JSON document.
///
/// The grammar is RFC 8259 without extensions. Time is linear in the length of the text, whatever
/// it holds. Keys that occur twice are accepted here: which objects may have them is for the reader
/// of the values to say ([`ObjectReader`](crate::ObjectReader) refuses them).
///
/// # Errors
///
/// A finding about the first place that is not JSON, with one of the codes `F0003` to `F0014`. Two
/// limits go beyond the grammar: [`MAX_DEPTH`] and [`MAX_VALUES`], both `F0014`. Numbers that do not
/// fit into a 64-bit floating point number, such as `1e999`, are refused with `F0010`.
pub fn parse(source: &Source) -> Result<Value<'_>, Box<Diagnostic>> {
    let mut parser = Parser::new(source);
    // Room for what is open at one time in a document that people write.
    parser.members.reserve(64);
    parser.document()
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s Source,
    pub(super) text: &'s str,
    /// Offset of the next byte; always on a character boundary.
    pub(super) pos: usize,
    /// The arrays and objects around `pos`, innermost last.
    pub(super) open: Vec<Open>,
    /// The items so far of all arrays that are open, innermost last: an array is allocated when its
    /// length is known, once.
    items: Vec<Value<'s>>,
    /// The same for objects.
    members: Vec<Member<'s>>,
    n_values: usize,
}

/// An array or object whose end has not been read.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) kind: Container,
    pub(super) start: usize,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Container {
    Array,
    Object,
}

impl Container {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) const fn close(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
        }
    }
}

/// What stands before a place where a value belongs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Before {
    Nothing,
    Bracket,
    Comma,
    Colon,
}

impl<'s> Parser<'s> {
    /// Before the first byte.
    pub(super) fn new(source: &'s Source) -> Self {
        Self {
            source,
            text: source.text(),
            pos: 0,
            open: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
            n_values: 0,
        }
    }

    fn document(mut self) -> Result<Value<'s>, Error> {
        if self.text.starts_with('\u{FEFF}') {
            return Err(self.byte_order_mark());
        }
        self.skip_space()?;
        if self.peek().is_none() {
            return Err(self.empty_file());
        }
        let value = self.value(Before::Nothing)?;
        self.skip_space()?;
        if self.peek().is_some() {
            return Err(self.second_document(&value));
        }
        Ok(value)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub(super) fn rest(&self) -> &'s str {
        &self.text[self.pos..]
    }

    #[inline(always)]
    fn skip_space(&mut self) -> Result<(), Error> {
        self.pos = space_end(self.text.as_bytes(), self.pos);
        // Comments are looked for wherever white space may stand, so that they are always called
        // by their name.
        match self.peek() {
            Some(b'/' | b'#') => self.comment().map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    fn value(&mut self, before: Before) -> Result<Value<'s>, Error> {
        let start = self.pos;
        self.n_values += 1;
        if self.n_values > MAX_VALUES {
            return Err(self.too_many_values());
        }
        let node = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Node::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Node::Number(self.number()?),
            Some(b't') if self.word("true") => Node::Bool(true),
            Some(b'f') if self.word("false") => Node::Bool(false),
            Some(b'n') if self.word("null") => Node::Null,
            _ => return Err(self.no_value(before)),
        };
        Ok(Value { span: Span::new(start, self.pos), node })
    }

    /// Steps over `word` if it stands here as a whole word.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let Some(behind) = self.text.as_bytes()[self.pos..].strip_prefix(word.as_bytes()) else {
            return false;
        };
        let is_whole = matches!(behind, [b',' | b' ' | b'\n' | b'\r' | b'}' | b']', ..]);
        let found = is_whole || self.word_here() == word;
        if found {
            self.pos += word.len();
        }
        found
    }

    fn array(&mut self) -> Result<Node<'s>, Error> {
        let open = self.enter(Container::Array)?;
        let first = self.items.len();
        if self.peek() != Some(b']') {
            let mut before = Before::Bracket;
            loop {
                let item = self.value(before)?;
                self.items.push(item);
                if !self.goes_on(open)? {
                    break;
                }
                before = Before::Comma;
            }
        }
        self.leave();
        Ok(Node::Array(self.items.split_off(first)))
    }

    fn object(&mut self) -> Result<Node<'s>, Error> {
        let open = self.enter(Container::Object)?;
        let first = self.members.len();
        if self.peek() != Some(b'}') {
            loop {
                self.object_member()?;
                if !self.goes_on(open)? {
                    break;
                }
            }
        }
        self.leave();
        Ok(Node::Object(self.members.split_off(first)))
    }

    fn object_member(&mut self) -> Result<(), Error> {
        let start = self.pos;
        let key = match plain_string(self.text, start) {
            Some((key, end)) => {
                self.pos = end;
                Cow::Borrowed(key)
            }
            None if self.peek() != Some(b'"') => return Err(self.no_key()),
            None => self.string()?,
        };
        let key = Spanned { value: key, span: Span::new(start, self.pos) };
        // What most people write.
        if self.text.as_bytes()[self.pos..].starts_with(b": ") {
            self.pos += 2;
        } else {
            self.skip_space()?;
            if self.peek() != Some(b':') {
                return Err(self.no_colon(&key));
            }
            self.pos += 1;
        }
        let value = match plain_string(self.text, self.pos) {
            // The most of all values, and counted all the same.
            Some((text, end)) if self.n_values < MAX_VALUES => {
                let span = Span::new(self.pos, end);
                (self.pos, self.n_values) = (end, self.n_values + 1);
                Value { span, node: Node::String(Cow::Borrowed(text)) }
            }
            _ => {
                self.skip_space()?;
                self.value(Before::Colon)?
            }
        };
        self.members.push(Member { key, value });
        Ok(())
    }

    /// Steps over the opening bracket and the space behind it.
    fn enter(&mut self, kind: Container) -> Result<Open, Error> {
        let start = self.pos;
        if self.open.len() == MAX_DEPTH {
            return Err(self.too_deep());
        }
        let open = Open { kind, start };
        self.open.push(open);
        self.pos += 1;
        self.skip_space()?;
        Ok(open)
    }

    /// Steps over the closing bracket, which is the next byte.
    fn leave(&mut self) {
        self.open.pop();
        self.pos += 1;
    }

    /// Steps over a comma and the space around it, or stops before the bracket that closes `open`.
    #[inline(always)]
    fn goes_on(&mut self, open: Open) -> Result<bool, Error> {
        let bytes = self.text.as_bytes();
        if self.peek() == Some(b',') {
            let next = space_end(bytes, self.pos + 1);
            if let Some(b'"' | b'{') = bytes.get(next) {
                self.pos = next;
                return Ok(true);
            }
        }
        self.goes_on_or_ends(open)
    }

    #[inline(never)]
    fn goes_on_or_ends(&mut self, open: Open) -> Result<bool, Error> {
        let value_end = self.pos;
        self.skip_space()?;
        match self.peek() {
            Some(byte) if byte == open.kind.close() => Ok(false),
            Some(b',') => {
                let comma = self.pos;
                self.pos += 1;
                self.skip_space()?;
                if self.peek() == Some(open.kind.close()) {
                    return Err(self.trailing_comma(open, comma));
                }
                Ok(true)
            }
            _ => Err(self.no_separator(open, value_end)),
        }
    }
}

/// Where the white space ends that begins at `pos`, if any does.
#[inline(always)]
pub(super) fn space_end(bytes: &[u8], pos: usize) -> usize {
    match bytes.get(pos) {
        // One blank between two values is the most of it, but for indentation.
        Some(b' ') if bytes.get(pos + 1).is_some_and(|it| *it > b' ') => pos + 1,
        Some(b' ' | b'\n' | b'\t' | b'\r') => spaces_end(bytes, pos + 1),
        _ => pos,
    }
}

/// The same behind a first one.
#[inline(never)]
fn spaces_end(bytes: &[u8], mut pos: usize) -> usize {
    loop {
        // Indentation is the most of it.
        while let Some(word) = bytes[pos..].first_chunk() {
            let others = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*b"        ");
            pos += others.trailing_zeros() as usize / 8;
            if others != 0 {
                break;
            }
        }
        match bytes.get(pos) {
            Some(b' ' | b'\n' | b'\t' | b'\r') => pos += 1,
            _ => return pos,
        }
    }
}
