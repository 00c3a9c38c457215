//! One message: what a program is told, and what it says.
//!
//! What is written is exact to the byte, as programs in any language match it with whatever they
//! have. What is read may be anything: a line that is no message is a log.
//!
//! Nothing here keeps state, and no input makes it panic or recurse without a bound: parts of a
//! message are passed over as text ([`RawValue`]), and `data` is read by serde_json, which stops
//! at 128 levels.

use std::{borrow::Cow, fmt};

use flyto_tools::json_value;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Which call a message is about. Programs repeat the number they were given, as a number or as a
/// string.
/// Ids of requests count up from 1, so a fraction or a negative number is of no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    /// `7`, `7.0` or `"7"`.
    Number(u64),
    /// No id, or `null`.
    Missing,
    /// Anything else, which no request had.
    Other,
}

/// What a program says.
/// Requests of the program are not messages here: no program may ask the host for anything.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// The answer to a call.
    Response { id: Id, outcome: Result<Output, RpcError> },
    /// An answer that does not say what an answer must; `why` begins with the part that is wrong.
    Malformed { id: Id, why: String },
    /// How far a call has come: a share of the whole, and words that may be empty.
    Progress { id: Id, progress: f64, detail: String },
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    /// The text.
    pub(crate) text: String,
    /// The same for programs.
    pub(crate) data: Option<Value>,
    /// Blocks in the place of a text, which counts as empty then.
    pub(crate) content: Option<Vec<Value>>,
}

/// Why a call failed, in the words of the program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    /// Any whole number that fits; JSON-RPC reserves -32768 to -32000 (section 5.1).
    pub(crate) code: i64,
    /// One text, which the result shows as it is.
    pub(crate) message: String,
    /// Further detail for programs, which the result keeps.
    pub(crate) data: Option<Value>,
}

/// Appends the line that calls `tool` with `args`, the text of one JSON value. The text stays as it
/// is but for line breaks between its parts, which become blanks: the request is one line.
pub(crate) fn request(buf: &mut Vec<u8>, id: u64, tool: &str, args: &str) {
    buf.reserve(args.len() + tool.len() + 96);
    buf.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    buf.extend_from_slice(id.to_string().as_bytes());
    buf.extend_from_slice(br#","method":"execute","params":{"tool":"#);
    serde_json::to_writer(&mut *buf, tool).expect("a string becomes JSON, and memory takes it");
    buf.extend_from_slice(br#","args":"#);
    let start = buf.len();
    buf.extend_from_slice(args.as_bytes());
    // Within a string of JSON a line break is an escape, so what is found here is between parts.
    for byte in &mut buf[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    buf.extend_from_slice(b"}}\n");
}

/// Appends the line that calls off the request `id`.
/// A notification: it has no id of its own, and nothing answers it.
pub(crate) fn cancel(buf: &mut Vec<u8>, id: u64) {
    buf.extend_from_slice(br#"{"jsonrpc":"2.0","method":"cancel","params":{"id":"#);
    buf.extend_from_slice(id.to_string().as_bytes());
    buf.extend_from_slice(b"}}\n");
}

/// Appends the line that asks for a sign of life: any answer with this `id`, an error too.
pub(crate) fn ping(buf: &mut Vec<u8>, id: u64) {
    buf.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    buf.extend_from_slice(id.to_string().as_bytes());
    buf.extend_from_slice(b",\"method\":\"ping\",\"params\":{}}\n");
}

/// The shortest answer there is, without white space: `{"result":{"output":""}}`.
const SHORTEST_BYTES: usize = 24;

/// Where the output of the usual answer begins at the latest.
///
/// A longer start costs the general way of reading, and nothing else.
const USUAL_START_BYTES: usize = 80;

/// Reads one message; `None` where the text is something else.
///
/// An answer has a `result` or an `error` that is not `null`; where both are there, `error` counts.
/// A `result` with `content` needs no `output`. One without `jsonrpc` must be in order otherwise, so that a line of a log that is JSON is taken
/// for no answer. Further keys are ignored. Line ends and white space around the message are too.
pub(crate) fn parse(line: &[u8]) -> Option<Message> {
    let line = line.trim_ascii();
    // Most lines that are no messages are told from them by three looks.
    if line.len() < SHORTEST_BYTES || line.first() != Some(&b'{') || line.last() != Some(&b'}') {
        return None;
    }
    let start = &line[..line.len().min(USUAL_START_BYTES)];
    if start.windows(8).any(|it| it == br#""output""#)
        && let Ok(Usual { id, result, .. }) = serde_json::from_slice(line)
    {
        let output = Output { text: result.output, data: None, content: None };
        return Some(Message::Response { id: Id::Number(id), outcome: Ok(output) });
    }
    if let Ok(envelope) = serde_json::from_slice(line) {
        return message(&envelope);
    }
    // Bytes that are no text cost a few characters of it, and not the answer.
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(_) => None,
        Cow::Owned(mended) => message(&serde_json::from_str(&mended).ok()?),
    }
}

/// What nearly every message of a session is. It is read in one go, which takes half the time: 0.2 µs
/// for 100 bytes.
///
/// Any further key, a `data` or an error makes it fail, and the message is read part by part.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Usual {
    #[serde(default, rename = "jsonrpc")]
    _version: IgnoredAny,
    id: u64,
    result: UsualResult,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsualResult {
    output: String,
}

/// The parts of a message as they are written.
/// One of these keys twice is no message; unknown keys are passed over.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Why what a program printed is no answer, where it nearly is one.
/// For the text of a failure. Looks at each line and at the whole: a byte order mark in front of
/// an answer, or an answer in an array.
pub(crate) fn near_miss(stdout: &[u8]) -> Option<&'static str> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let is_answer = |line: &[u8]| matches!(parse(line), Some(Message::Response { .. }));
    let whole = stdout.trim_ascii();
    let mut candidates = whole.split(|it| *it == b'\n').chain([whole]);
    candidates.find_map(|text| {
        let bare = text.trim_ascii();
        let unmarked = bare.strip_prefix(MARK);
        if unmarked.is_some_and(is_answer) {
            return Some(
                "a byte order mark stands in front of the answer, and JSON has none; print UTF-8 without it",
            );
        }
        let first = unmarked.unwrap_or(bare).first();
        if first != Some(&b'[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_slice(unmarked.unwrap_or(bare)).ok()?;
        items.iter().any(|it| is_answer(it.get().as_bytes())).then_some(
            "the answer stands in an array, which is a batch; a call is one request, and its answer is \
             the object itself",
        )
    })
}

/// What a message is, by the keys that it has: `method` first, then `error`, then `result`.
/// `None` where it is none, and where a malformed one has no `jsonrpc`.
fn message(envelope: &Envelope<'_>) -> Option<Message> {
    if let Some(method) = envelope.method {
        return (method.get() == r#""progress""#).then(|| progress(envelope.params?)).flatten();
    }
    let id = id(envelope.id);
    let outcome = match (envelope.error, envelope.result) {
        (Some(error), _) => rpc_error(error).map(Err),
        (None, Some(result)) => output(result).map(Ok),
        (None, None) => return None,
    };
    match outcome {
        // `content` is a word of logs, too.
        Ok(Ok(Output { content: Some(_), .. })) if envelope.jsonrpc.is_none() => None,
        Ok(outcome) => Some(Message::Response { id, outcome }),
        Err(why) => envelope.jsonrpc.map(|_| Message::Malformed { id, why }),
    }
}

/// A report of progress; `None` where `progress` is missing or no number.
fn progress(params: &RawValue) -> Option<Message> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
        progress: f64,
        #[serde(default)]
        detail: Option<String>,
    }

    let Params { id: raw, progress, detail } = serde_json::from_str(params.get()).ok()?;
    Some(Message::Progress { id: id(raw), progress, detail: detail.unwrap_or_default() })
}

/// The text and the data of a result, or what is wrong with it.
fn output(result: &RawValue) -> Result<Output, String> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        output: Option<&'a RawValue>,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
        #[serde(borrow, default)]
        content: Option<&'a RawValue>,
    }

    if !result.get().starts_with('{') {
        let found = kind(result);
        return Err(format!("\"result\" must be an object with \"output\", found {found}"));
    }
    let parts: Parts<'_> =
        serde_json::from_str(result.get()).map_err(|err| format!("\"result\" is wrong: {err}"))?;
    let Some(output) = parts.output else {
        let Some(raw) = parts.content else {
            return Err("\"result\" has no \"output\"".to_owned());
        };
        return match json_value(raw.get()) {
            Ok(Value::Array(list)) => {
                Ok(Output { text: String::new(), data: data(parts.data)?, content: Some(list) })
            }
            Ok(_) => Err(format!("\"content\" must be an array, found {}", kind(raw))),
            Err(err) => Err(format!("\"content\" cannot be read: {err}")),
        };
    };
    let Some(text) = text(output) else {
        return Err(format!("\"output\" must be a string, found {}", kind(output)));
    };
    Ok(Output { text, data: data(parts.data)?, content: None })
}

/// The parts of an error, or what is wrong with it.
fn rpc_error(error: &RawValue) -> Result<RpcError, String> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        code: Option<&'a RawValue>,
        #[serde(borrow, default)]
        message: Option<&'a RawValue>,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }

    if !error.get().starts_with('{') {
        let found = kind(error);
        return Err(format!(
            "\"error\" must be an object with \"code\" and \"message\", found {found}"
        ));
    }
    let parts: Parts<'_> =
        serde_json::from_str(error.get()).map_err(|err| format!("\"error\" is wrong: {err}"))?;
    let Some(code) = parts.code.and_then(|it| integer(it.get())) else {
        let found = parts.code.map_or("none", kind);
        let what = if found == "a number" {
            format!("a whole number from {} to {}, found another number", i64::MIN, i64::MAX)
        } else {
            format!("a whole number, found {found}")
        };
        return Err(format!("\"code\" of the error must be {what}"));
    };
    let Some(message) = parts.message.and_then(text) else {
        let found = parts.message.map_or("none", kind);
        return Err(format!("\"message\" of the error must be a string, found {found}"));
    };
    Ok(RpcError { code, message, data: data(parts.data)? })
}

/// The value under `data`; `null` is none.
fn data(raw: Option<&RawValue>) -> Result<Option<Value>, String> {
    let Some(raw) = raw.filter(|it| it.get() != "null") else { return Ok(None) };
    json_value(raw.get()).map(Some).map_err(|err| format!("\"data\" cannot be read: {err}"))
}

/// The id as a number, however it is written.
fn id(raw: Option<&RawValue>) -> Id {
    let Some(raw) = raw else { return Id::Missing };
    let written = raw.get();
    let number = written.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(written);
    // The usual case first, for it is on the way of every message of a session.
    let number =
        number.parse().ok().or_else(|| integer(number).and_then(|it| u64::try_from(it).ok()));
    number.map_or(Id::Other, Id::Number)
}

/// A whole number, also one that is written as `7.0` by a language that has no others.
/// Up to 2^53 a float holds each whole number exactly.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        // Up to here every whole number is one of its own.
        let exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
        exact.then_some(number as i64)
    })
}

/// The text of a string. Half a surrogate pair, which some languages write for bytes that are no
/// text, is shown as U+FFFD.
fn text(raw: &RawValue) -> Option<String> {
    if !raw.get().starts_with('"') {
        return None;
    }
    serde_json::from_str(raw.get())
        .or_else(|_| serde_json::from_str(raw.get()).map(|Lossy(text)| text))
        .ok()
}

/// A string that need not be Unicode.
/// serde_json gives a lone surrogate as bytes, and only to a visitor that asks for bytes.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

/// The type of a value, for people.
fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a truth value",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests;
