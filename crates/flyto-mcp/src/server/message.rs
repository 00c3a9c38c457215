//! Messages of [JSON-RPC 2.0](https://www.jsonrpc.org/specification) as the protocol uses them.
//!
//! A line is read without copying what is in it: parameters and results stay the text that they were, so that a program gets the very
//! bytes of its arguments. How deep they nest costs nothing here; what reads them later has its own bound (128 levels).
//!
//! An id is a string or a number, and not `null` ("MCP 2025-11-25, Basic, Overview, Requests"). The revision
//! 2025-03-26 has batches, and 2025-06-18 took them back; they are read here in any revision, so that a client that
//! sends one is told so, and is not told that it sent no message. Members that no revision knows are ignored.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};
use serde_json::{Number, Value, error::Category, value::RawValue};

use super::fault::{Fault, INVALID_REQUEST, PARSE_ERROR};

/// Most messages in one batch.
pub(crate) const MAX_BATCH: usize = 100;
/// Longest id of a request in bytes: longer ones cost memory for as long as the request runs.
const MAX_ID_BYTES: usize = 512;

/// The id of a request: a string or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(Number),
    Text(String),
}

impl Id {
    /// The id that a JSON value is; `None` for a value that is no id, a long one, or a number that an answer may give as another
    /// one.
    pub(crate) fn from_value(value: Value) -> Option<Self> {
        /// Beyond 2⁵³ a double stands for several integers (RFC 8259, section 6).
        const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
        match value {
            Value::Number(number)
                if !number.is_f64() || number.as_f64().is_some_and(|it| it.abs() <= MAX_EXACT) =>
            {
                Some(Self::Number(number))
            }
            Value::String(text) if text.len() <= MAX_ID_BYTES => Some(Self::Text(text)),
            _ => None,
        }
    }
}

/// A message of the peer.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// It waits for a response.
    Request { id: Id, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// It does not.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// The answer to a request of ours: the result, or `None` for an error.
    /// What the error says is dropped: whatever it is, the question has no answer.
    Response { id: Id, result: Option<&'a RawValue> },
}

/// A text that is no message, with the id of the request where it has one.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// `None` where the text has none, or none that can be read.
    pub(crate) id: Option<Id>,
    /// What is wrong with it.
    pub(crate) fault: Fault,
}

/// What one line holds.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// A single message, or a line that is none.
    One(Result<Message<'a>, Unreadable>),
    /// An array: each element by itself, at most [`MAX_BATCH`].
    Batch(Vec<Result<Message<'a>, Unreadable>>),
}

impl<'a> Frame<'a> {
    /// Reads a line. Nothing is copied but ids; what is in `params` is not read yet.
    pub(crate) fn parse(text: &'a [u8]) -> Self {
        let is_array = text.iter().find(|it| !it.is_ascii_whitespace()) == Some(&b'[');
        if !is_array {
            return Self::One(Message::parse(text));
        }
        match serde_json::from_slice::<Elements<'a>>(text) {
            Ok(Elements(elements)) => {
                let parse = |it: &&'a RawValue| Message::parse(it.get().as_bytes());
                Self::Batch(elements.iter().map(parse).collect())
            }
            Err(err) => Self::One(Err(Unreadable::of(&err))),
        }
    }
}

/// One object, before it is known what it means.
#[derive(Deserialize)]
#[serde(expecting = "a message, which is an object")]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that may be `null`, which is another thing than one that is missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    /// Reads one object. The members are told apart by JSON-RPC's rules: a request has a method and an id, a notification no id,
    /// a response no method.
    fn parse(text: &'a [u8]) -> Result<Self, Unreadable> {
        let Envelope { jsonrpc, id, method, params, result, error } =
            serde_json::from_slice(text).map_err(|err| Unreadable::of(&err))?;
        let has_id = id.is_some();
        let id = id.and_then(|it| {
            // A longer text is no id, and is not copied.
            let fits = it.get().len() <= 6 * MAX_ID_BYTES;
            fits.then(|| serde_json::from_str(it.get()).ok().and_then(Id::from_value)).flatten()
        });
        let refuse =
            |id: Option<Id>, why: &str| Err(Unreadable { id, fault: Fault::invalid_request(why) });
        if jsonrpc.is_none_or(|it| it.get() != "\"2.0\"") {
            return refuse(id, "the member \"jsonrpc\" must be \"2.0\"");
        }
        if has_id && id.is_none() {
            return refuse(
                None,
                "an id is a number that 64 bits hold, or a string of at most 512 bytes",
            );
        }
        match (method, id) {
            (Some(method), id) => {
                // Without an escape nothing is copied.
                match (serde_json::from_str::<Borrowed<'a>>(method.get()), id) {
                    (Err(_), id) => refuse(id, "the member \"method\" must be a string"),
                    (Ok(Borrowed(method)), Some(id)) => Ok(Self::Request { id, method, params }),
                    (Ok(Borrowed(method)), None) => Ok(Self::Notification { method, params }),
                }
            }
            (None, Some(id)) if result.is_some() != error.is_some() => {
                Ok(Self::Response { id, result })
            }
            (None, id) => refuse(id, "a message has a method, or a result, or an error"),
        }
    }
}

impl Unreadable {
    /// A text that is no JSON, or nests deeper than the reader goes.
    fn of(err: &serde_json::Error) -> Self {
        let (code, what) = match err.classify() {
            Category::Data => (INVALID_REQUEST, "failed to read the message"),
            _ => (PARSE_ERROR, "failed to read the message as JSON"),
        };
        Self { id: None, fault: Fault::new(code, format!("{what}: {err}")) }
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

/// The elements of an array, of which there are at most [`MAX_BATCH`].
struct Elements<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;

        impl<'de> Visitor<'de> for Bounded {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a batch of at most {MAX_BATCH} messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut res = Vec::new();
                while let Some(element) = seq.next_element()? {
                    if res.len() == MAX_BATCH {
                        return Err(serde::de::Error::invalid_length(MAX_BATCH + 1, &self));
                    }
                    res.push(element);
                }
                Ok(res)
            }
        }

        deserializer.deserialize_seq(Bounded).map(Self)
    }
}

/// A response, ready to be written.
#[derive(Debug, Serialize)]
pub(crate) struct Response<'a> {
    jsonrpc: &'static str,
    /// Missing where the request had none that could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Fault>,
}

impl<'a> Response<'a> {
    /// The response to the request of this id.
    pub(crate) fn new(id: Option<&'a Id>, outcome: &'a Result<Box<RawValue>, Fault>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(&**result), None),
            Err(fault) => (None, Some(fault)),
        };
        Self { jsonrpc: "2.0", id, result, error }
    }
}

/// A notification, ready to be written.
#[derive(Debug, Serialize)]
pub(crate) struct Notification<'a, T> {
    jsonrpc: &'static str,
    method: &'a str,
    params: T,
}

impl<'a, T: Serialize> Notification<'a, T> {
    /// A notification of this method. The parameters are an object.
    pub(crate) fn new(method: &'a str, params: T) -> Self {
        Self { jsonrpc: "2.0", method, params }
    }
}

/// A request of the server, ready to be written.
#[derive(Debug, Serialize)]
pub(crate) struct Request<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    method: &'a str,
    params: &'a Value,
}

impl<'a> Request<'a> {
    pub(crate) fn new(id: &'a Id, method: &'a str, params: &'a Value) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let show = |it: &Result<Message<'_>, Unreadable>| match it {
            Ok(message) => format!("{message:?}"),
            Err(Unreadable { id, fault }) => {
                format!("{} {} (id {id:?})", fault.code, fault.message)
            }
        };
        let shown = match Frame::parse(text.as_bytes()) {
            Frame::One(message) => show(&message),
            Frame::Batch(messages) => {
                format!("batch: {}", messages.iter().map(show).collect::<Vec<_>>().join("; "))
            }
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn messages_are_told_apart() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            expect![[r#"Request { id: Number(Number(1)), method: "ping", params: None }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"a\u0062","params":{"x":[1]}}"#,
            expect![[r#"Notification { method: "ab", params: Some(RawValue({"x":[1]})) }"#]],
        );
        check(
            r#" {"jsonrpc":"2.0","id":"q","result":null}"#,
            expect![[r#"Response { id: Text("q"), result: Some(RawValue(null)) }"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":"q","error":{"code":1,"message":"no"}}"#,
            expect![[r#"Response { id: Text("q"), result: None }"#]],
        );
    }

    #[test]
    fn what_is_no_message_is_told_with_its_id() {
        check(
            "{\"jsonrpc\":\"2.0\",",
            expect![
                "-32700 failed to read the message as JSON: EOF while parsing a value at line 1 column 17 (id None)"
            ],
        );
        check(
            "\"x\"",
            expect![[
                r#"-32600 failed to read the message: invalid type: string "x", expected a message, which is an object at line 1 column 3 (id None)"#
            ]],
        );
        check(
            r#"{"id":1,"method":"ping"}"#,
            expect![[r#"-32600 the member "jsonrpc" must be "2.0" (id Some(Number(Number(1))))"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            expect![
                "-32600 an id is a number that 64 bits hold, or a string of at most 512 bytes (id None)"
            ],
        );
        check(
            r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}"#,
            expect![
                "-32600 an id is a number that 64 bits hold, or a string of at most 512 bytes (id None)"
            ],
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":7}"#,
            expect![[
                r#"-32600 the member "method" must be a string (id Some(Number(Number(7))))"#
            ]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":7}"#,
            expect![
                "-32600 a message has a method, or a result, or an error (id Some(Number(Number(7))))"
            ],
        );
    }

    #[test]
    fn a_batch_is_bounded_and_each_message_stands_for_itself() {
        check(
            r#"[{"jsonrpc":"2.0","method":"a"}, 5]"#,
            expect![[
                r#"batch: Notification { method: "a", params: None }; -32600 failed to read the message: invalid type: integer `5`, expected a message, which is an object at line 1 column 1 (id None)"#
            ]],
        );
        let many = format!("[{}]", vec!["0"; MAX_BATCH + 1].join(","));
        check(
            &many,
            expect![
                "-32600 failed to read the message: invalid length 101, expected a batch of at most 100 messages at line 1 column 203 (id None)"
            ],
        );
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        );
        let Frame::One(Ok(Message::Request { params, .. })) = Frame::parse(deep.as_bytes()) else {
            panic!("it is a request")
        };
        assert_eq!(params.map(|it| it.get().len()), Some(2 << 20));
    }
}
