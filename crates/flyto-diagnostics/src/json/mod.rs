//! JSON whose values know where they stand.
//!
//! [`parse`] is a strict reader of RFC 8259 that keeps what a reader for data throws away: the span
//! of every value and key, the order of members, keys that occur twice, and numbers as they were
//! written. What it refuses, it explains. [`Scanner`] goes over a text without a tree and explains nothing.

mod mistakes;
mod numbers;
mod parse;
mod scan;
mod strings;
mod words;

pub(crate) use numbers::is_number;
pub use parse::{MAX_DEPTH, MAX_VALUES, parse};
pub use scan::Scanner;
pub(crate) use words::string_literal;

use std::borrow::Cow;

use serde_json::Map;

use crate::pointer::{Pointer, array_index, raw_tokens, unescape};
use crate::quote::quoted;
use crate::source::Span;

/// A JSON value and the part of the text it was read from.
///
/// It borrows from the text what stands there as it is; [`into_owned`](Self::into_owned) makes it
/// independent.
///
/// ```
/// use flyto_diagnostics::{Source, json};
///
/// let source = Source::new("tool.json", r#"{"args": ["-l", 1.50]}"#);
/// let value = json::parse(&source)?;
/// let number = value.get_pointer("/args/1").expect("it is there");
/// assert_eq!(source.slice(number.span), Some("1.50"));
/// assert_eq!(number.describe(), "the number 1.50");
/// assert_eq!(value.pointer_to(number.span).as_str(), "/args/1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'s> {
    /// From the first character of the value to the one behind its last.
    pub span: Span,
    /// The value itself.
    pub node: Node<'s>,
}

/// What a [`Value`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'s> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written: `1.50` stays `1.50`, and no digit of a long one is lost.
    Number(Cow<'s, str>),
    /// A string with its escapes resolved.
    String(Cow<'s, str>),
    /// An array.
    Array(Vec<Value<'s>>),
    /// The members of an object in the order of the text; a key may occur more than once.
    Object(Vec<Member<'s>>),
}

/// One member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<'s> {
    /// The key with its escapes resolved; the span includes the quotes.
    pub key: Spanned<Cow<'s, str>>,
    /// The value.
    pub value: Value<'s>,
}

/// Something and the part of the text it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The part of the text.
    pub span: Span,
    /// What was read.
    pub value: T,
}

impl<'s> Value<'s> {
    /// The same value, without the text that it was read from.
    pub fn into_owned(self) -> Value<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let node = match self.node {
            Node::Null => Node::Null,
            Node::Bool(value) => Node::Bool(value),
            Node::Number(text) => Node::Number(owned(text)),
            Node::String(text) => Node::String(owned(text)),
            Node::Array(items) => Node::Array(items.into_iter().map(Value::into_owned).collect()),
            Node::Object(members) => {
                let members = members.into_iter().map(|Member { key, value }| Member {
                    key: Spanned { span: key.span, value: owned(key.value) },
                    value: value.into_owned(),
                });
                Node::Object(members.collect())
            }
        };
        Value { span: self.span, node }
    }

    /// The value of a member, if this is an object that has it. Of a key that occurs twice it is
    /// the last one, as in [`Value::to_json`].
    pub fn get(&self, key: &str) -> Option<&Value<'s>> {
        self.member(key).map(|member| &member.value)
    }

    /// The same as [`Value::get`], with the key.
    pub fn member(&self, key: &str) -> Option<&Member<'s>> {
        self.as_object()?.iter().rev().find(|member| member.key.value == key)
    }

    /// The value that a JSON Pointer (RFC 6901) leads to, such as `/tools/0/name`; the empty pointer
    /// leads to this value. Other code, such as a validator of schemas, can so point into the text.
    pub fn get_pointer(&self, pointer: &str) -> Option<&Value<'s>> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return None;
        }
        raw_tokens(pointer).try_fold(self, |value, token| value.step(&unescape(token)?))
    }

    /// The value that one unescaped token of a pointer leads to.
    pub(crate) fn step(&self, token: &str) -> Option<&Value<'s>> {
        match &self.node {
            Node::Object(_) => self.get(token),
            Node::Array(items) => items.get(array_index(token)?),
            _ => None,
        }
    }

    /// The pointer from this value to the one within it that has exactly this span, or to the
    /// innermost one around it.
    pub fn pointer_to(&self, span: Span) -> Pointer {
        let mut res = Pointer::root();
        let mut value = self;
        while value.span != span {
            // Values within another one stand in the order of the text and do not overlap.
            match &value.node {
                Node::Array(items) => {
                    let index = items.partition_point(|item| item.span.end <= span.start);
                    let Some(item) = items.get(index).filter(|it| it.holds(span)) else { break };
                    res.push_index(index);
                    value = item;
                }
                Node::Object(members) => {
                    let index = members.partition_point(|it| it.value.span.end <= span.start);
                    let Some(member) = members.get(index).filter(|it| it.value.holds(span)) else {
                        break;
                    };
                    res.push(&member.key.value);
                    value = &member.value;
                }
                _ => break,
            }
        }
        res
    }

    /// Whether it is of a kind that has values in it.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self.node, Node::Array(_) | Node::Object(_))
    }

    fn holds(&self, span: Span) -> bool {
        self.span.start <= span.start && span.end <= self.span.end
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.node, Node::Null)
    }

    /// The string with its escapes resolved, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Node::String(text) = &self.node { Some(text) } else { None }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Node::Bool(value) = self.node { Some(value) } else { None }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Value<'s>]> {
        if let Node::Array(items) = &self.node { Some(items) } else { None }
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&[Member<'s>]> {
        if let Node::Object(members) = &self.node { Some(members) } else { None }
    }

    /// The type for a message, with its article: `a string`, `an object`, `null`.
    pub fn kind_name(&self) -> &'static str {
        match self.node {
            Node::Null => "null",
            Node::Bool(_) => "a boolean",
            Node::Number(_) => "a number",
            Node::String(_) => "a string",
            Node::Array(_) => "an array",
            Node::Object(_) => "an object",
        }
    }

    /// The value for a message: what [`Value::kind_name`] says, and the value itself where it is
    /// short, as in `the number 5`.
    pub fn describe(&self) -> String {
        match &self.node {
            Node::Bool(value) => value.to_string(),
            Node::Number(text) if text.len() <= 24 => format!("the number {text}"),
            Node::String(text) => format!("the string {}", quoted(text)),
            _ => self.kind_name().to_owned(),
        }
    }

    /// The same value without spans.
    ///
    /// Members keep their order; of a key that occurs twice the last value stays. Integers from
    /// -2^63 to 2^64-1 are exact; every other number becomes a 64-bit floating point number and so
    /// keeps 15 to 17 digits, as when `serde_json` reads the text. For all digits, take the text in
    /// [`Node::Number`].
    pub fn to_json(&self) -> serde_json::Value {
        match &self.node {
            Node::Null => serde_json::Value::Null,
            Node::Bool(value) => (*value).into(),
            // A number made by hand may hold any text; the parser lets through what converts.
            Node::Number(text) => {
                text.parse().map_or(serde_json::Value::Null, serde_json::Value::Number)
            }
            Node::String(text) => text.as_ref().into(),
            Node::Array(items) => items.iter().map(Self::to_json).collect(),
            Node::Object(members) => {
                let mut map = Map::with_capacity(members.len());
                for Member { key, value } in members {
                    map.insert(key.value.clone().into_owned(), value.to_json());
                }
                map.into()
            }
        }
    }
}
