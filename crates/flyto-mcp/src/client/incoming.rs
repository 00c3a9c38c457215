//! What a server sends: responses, notifications, and in the era of handshakes requests.
//!
//! The members of a message are told apart without reading what is in them; parameters and results stay text. How deep they
//! nest costs nothing here, and what reads them later has its own bound (128 levels).

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

/// Most messages in one array: what the server of this crate takes as well.
const MAX_BATCH: usize = 100;

/// Characters of a message of an error that are kept.
const MAX_ERROR_CHARS: usize = 1024;

/// One message of a server.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// The answer to a request of ours.
    Response { id: u64, outcome: Result<&'a RawValue, RpcError> },
    /// An answer to an id that is not among ours: another type, a fraction, below zero.
    Foreign,
    /// A request to us; the id is sent back as it is.
    Request { id: &'a RawValue, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// No answer is waited for.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default, deserialize_with = "cut")]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// The error of an answer.
    fn read(text: &RawValue) -> Self {
        serde_json::from_str(text.get())
            .unwrap_or_else(|_| Self::odd("the answer has an error that cannot be read"))
    }

    /// What is told of an answer that the protocol does not have.
    fn odd(why: &str) -> Self {
        Self { code: 0, message: why.to_owned(), data: None }
    }
}

/// A text of which at most [`MAX_ERROR_CHARS`] are kept.
fn cut<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    Ok(text.chars().take(MAX_ERROR_CHARS).collect())
}

/// One object, before it is known what it means.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A member that may be `null`, which is another thing than one that is missing.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Hands every message of a line to `take`, in their order; `Err` for each that is none. A line may hold an array of at
/// most [`MAX_BATCH`].
pub(super) fn read<'a>(line: &'a [u8], mut take: impl FnMut(Result<Incoming<'a>, ()>)) {
    if line.iter().find(|it| !it.is_ascii_whitespace()) != Some(&b'[') {
        return take(one(line));
    }
    match serde_json::from_slice::<Vec<&'a RawValue>>(line) {
        Ok(messages) if messages.len() <= MAX_BATCH => {
            messages.into_iter().for_each(|it| take(one(it.get().as_bytes())));
        }
        _ => take(Err(())),
    }
}

fn one(text: &[u8]) -> Result<Incoming<'_>, ()> {
    let Envelope { id, method, params, result, error } =
        serde_json::from_slice(text).map_err(drop)?;
    match (method, id) {
        (Some(Text(method)), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(Text(method)), None) => Ok(Incoming::Notification { method, params }),
        (None, id) => {
            let outcome = match (result, error) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => Err(RpcError::read(error)),
                (Some(_), Some(_)) => Err(RpcError::odd("the answer has a result and an error")),
                (None, None) if id.is_none() => return Err(()),
                (None, None) => Err(RpcError::odd("the answer has neither a result nor an error")),
            };
            // One of ours that it names has its answer, however odd.
            Ok(match id.and_then(|it| it.get().parse().ok()) {
                Some(id) => Incoming::Response { id, outcome },
                None => Incoming::Foreign,
            })
        }
    }
}

/// The id of ours that a line names near its start, of which the rest was not kept.
///
/// For a line that is too long: the request that it answers fails, and the others go on. A text that only looks
/// like an id fails another request of the same server.
pub(super) fn id_in(start: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(start);
    let (_, rest) = text.split_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find(|it: char| !it.is_ascii_digit())?;
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Expect) {
        let mut shown = Vec::new();
        read(line.as_bytes(), |it| shown.push(format!("{it:?}")));
        expect.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn messages_are_told_apart() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            expect!["Ok(Response { id: 1, outcome: Ok(RawValue(null)) })"],
        );
        check(
            r#"{"id":2,"error":{"code":-3,"message":"no"}}"#,
            expect![[
                r#"Ok(Response { id: 2, outcome: Err(RpcError { code: -3, message: "no", data: None }) })"#
            ]],
        );
        check(
            r#"{"id":2,"error":{}}"#,
            expect![[
                r#"Ok(Response { id: 2, outcome: Err(RpcError { code: 0, message: "", data: None }) })"#
            ]],
        );
        check(
            r#"{"id":"x","method":"ping"}"#,
            expect![[r#"Ok(Request { id: RawValue("x"), method: "ping", params: None })"#]],
        );
        check(
            r#" {"method":"n","params":{"a":[1]}}"#,
            expect![[r#"Ok(Notification { method: "n", params: Some(RawValue({"a":[1]})) })"#]],
        );
        check(
            r#"[{"method":"a"}, 5, {"id":1,"result":{}}]"#,
            expect![[r#"
            Ok(Notification { method: "a", params: None })
            Err(())
            Ok(Response { id: 1, outcome: Ok(RawValue({})) })"#]],
        );
    }

    #[test]
    fn ids_of_others_answer_nothing() {
        for id in ["\"1\"", "1.5", "-1", "null", "{}", "18446744073709551616"] {
            check(&format!(r#"{{"id":{id},"result":{{}}}}"#), expect!["Ok(Foreign)"]);
        }
    }

    #[test]
    fn what_is_no_message_is_told() {
        for line in ["", "x", "5", "{}", r#"{"result":"#] {
            check(line, expect!["Err(())"]);
        }
        check(&format!("[{}]", vec!["{}"; MAX_BATCH + 1].join(",")), expect!["Err(())"]);
        let deep = format!(
            "{{\"method\":\"m\",\"params\":{}{}}}",
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        );
        read(deep.as_bytes(), |it| assert!(matches!(it, Ok(Incoming::Notification { .. }))));
    }

    #[test]
    fn an_odd_answer_is_one() {
        check(
            r#"{"id":1}"#,
            expect![[
                r#"Ok(Response { id: 1, outcome: Err(RpcError { code: 0, message: "the answer has neither a result nor an error", data: None }) })"#
            ]],
        );
        check(
            r#"{"id":1,"result":1,"error":{"code":1}}"#,
            expect![[
                r#"Ok(Response { id: 1, outcome: Err(RpcError { code: 0, message: "the answer has a result and an error", data: None }) })"#
            ]],
        );
        check(
            r#"{"id":1,"error":{"code":"x","message":5}}"#,
            expect![[
                r#"Ok(Response { id: 1, outcome: Err(RpcError { code: 0, message: "the answer has an error that cannot be read", data: None }) })"#
            ]],
        );
        check(
            r#"{"id":1,"result":1,"error":null}"#,
            expect!["Ok(Response { id: 1, outcome: Ok(RawValue(1)) })"],
        );
    }

    #[test]
    fn the_id_of_a_line_that_is_too_long() {
        assert_eq!(id_in(br#"{"jsonrpc":"2.0", "id" : 17 ,"result":{"#), Some(17));
        assert_eq!(id_in(br#"{"id":17"#), None);
        assert_eq!(id_in(br#"{"id":"17","result"#), None);
        assert_eq!(id_in(b"\xff\xff"), None);
    }
}
