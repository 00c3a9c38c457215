//! What came of a call.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    content::{Block, Content},
    failure::Failure,
    readiness::Readiness,
};

/// What came of a call that took place: a text for the model, and everything that programs need
/// beside it.
///
/// A result is an error exactly when it has a [`failure`](Self::failure). That is for what the
/// model can react to; a tool that could not be tried at all gives a [`ToolError`](crate::ToolError)
/// instead.
///
/// ```
/// use flyto_tools::{Failure, ToolResult, UndoInfo};
///
/// let done = ToolResult::text("wrote notes.txt")
///     .with_undo(UndoInfo::new("remove notes.txt", "delete_file", serde_json::json!({"path": "notes.txt"})));
/// assert!(!done.is_error());
///
/// let missed = ToolResult::failed(Failure::exit_code(2), "exit code 2\nstdout: \nstderr: no such file");
/// assert!(missed.is_error());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "Stored")]
#[non_exhaustive]
pub struct ToolResult {
    /// The text for the model.
    pub output: String,
    /// Why the call failed, if it did.
    pub failure: Option<Failure>,
    /// The structured result, where the tool has one.
    pub data: Option<Value>,
    /// Images and other blocks that are no text, of a tool whose data is something else.
    pub blocks: Vec<Block>,
    /// The call that takes this one back.
    pub undo: Option<UndoInfo>,
    /// How much of the output is not in [`output`](Self::output).
    pub omitted: Option<Omitted>,
    /// The bytes as they came, where they were not UTF-8 and [`output`](Self::output) shows them
    /// with replacement characters.
    pub raw: Option<Vec<u8>>,
    /// How the call was carried out, where a program ran.
    pub execution: Option<Execution>,
}

impl ToolResult {
    /// A call that did what it should. `output` is what the model reads.
    #[must_use]
    pub fn text(output: impl Into<String>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }

    /// A call that failed in a way the model can react to. `output` says how, in words, and what would help: it
    /// is what the model reads.
    #[must_use]
    pub fn failed(failure: Failure, output: impl Into<String>) -> Self {
        Self { output: output.into(), failure: Some(failure), ..Self::default() }
    }

    /// A call that gave a list of blocks: the text, and the list as data where a block of it is no text.
    #[must_use]
    pub fn content(content: Content) -> Self {
        let Content { text, blocks, is_rich } = content;
        let res = Self::text(text);
        if is_rich { res.with_data(json!({ "content": blocks })) } else { res }
    }

    /// A call whose output may be anything. Bytes that are not UTF-8 are kept in
    /// [`raw`](Self::raw), and shown with replacement characters.
    #[must_use]
    pub fn bytes(output: Vec<u8>) -> Self {
        match String::from_utf8(output) {
            Ok(text) => Self::text(text),
            Err(err) => {
                let raw = err.into_bytes();
                let text = String::from_utf8_lossy(&raw).into_owned();
                Self { raw: Some(raw), ..Self::text(text) }
            }
        }
    }

    /// Whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.failure.is_some()
    }

    /// Adds why the call failed, and keeps the output.
    #[must_use]
    pub fn with_failure(mut self, failure: Failure) -> Self {
        self.failure = Some(failure);
        self
    }

    /// Adds the structured result.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Adds blocks beside the text and the structured result.
    #[must_use]
    pub fn with_blocks(mut self, blocks: Vec<Block>) -> Self {
        self.blocks = blocks;
        self
    }

    /// Adds the call that takes this one back.
    #[must_use]
    pub fn with_undo(mut self, undo: UndoInfo) -> Self {
        self.undo = Some(undo);
        self
    }

    /// Adds how much of the output was left out.
    #[must_use]
    pub fn with_omitted(mut self, omitted: Omitted) -> Self {
        self.omitted = Some(omitted);
        self
    }

    /// Adds how the call was carried out.
    #[must_use]
    pub fn with_execution(mut self, execution: Execution) -> Self {
        self.execution = Some(execution);
        self
    }
}

/// How to take a call back: in words, and as a call.
///
/// A tool whose calls can be taken back puts this into the same result that tells of the change.
/// Nothing is undone by itself; the inverse call goes through the same gates as any other.
///
/// ```
/// use flyto_tools::{ToolResult, UndoInfo};
/// use serde_json::json;
///
/// let undo = UndoInfo::new("remove notes.txt", "files:remove", json!({"path": "notes.txt"}));
/// let result = ToolResult::text("wrote notes.txt").with_undo(undo);
/// assert_eq!(result.undo.map(|it| it.tool), Some("files:remove".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UndoInfo {
    /// What the inverse call does, in words: `remove notes.txt`.
    pub what: String,
    /// Name of the tool to call.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

impl UndoInfo {
    /// Calling `tool` with `input` takes the call back; `what` says so in words.
    #[must_use]
    pub fn new(what: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        Self { what: what.into(), tool: tool.into(), input }
    }
}

/// Output that was left out of a result.
///
/// ```
/// use flyto_tools::{Omitted, ToolResult};
///
/// let omitted = Omitted::new(1 << 20).with_whole("/tmp/build.log");
/// let result = ToolResult::text("first lines … last lines").with_omitted(omitted);
/// assert_eq!(result.omitted.map(|it| it.bytes), Some(1_048_576));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Omitted {
    /// How many bytes.
    pub bytes: u64,
    /// Where the whole output lies, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// Why the whole output could not be kept, for people; `None` also where it was not to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}

impl Omitted {
    /// `bytes` were left out, and not kept.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { bytes, whole: None, not_kept: None }
    }

    /// Says where the whole output lies.
    #[must_use]
    pub fn with_whole(mut self, place: impl Into<String>) -> Self {
        self.whole = Some(place.into());
        self
    }

    /// Says why the whole output could not be kept.
    #[must_use]
    pub fn with_not_kept(mut self, why: impl Into<String>) -> Self {
        self.not_kept = Some(why.into());
        self
    }
}

/// How a call was carried out: for people that ask, and for the audit log.
///
/// Times are measured by the code that ran the program; a size or time that the backend cannot know is
/// `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Execution {
    /// Name of the backend.
    pub backend: String,
    /// The program and its arguments, as shown to people.
    pub command_line: Vec<String>,
    /// From the start to the last byte of output.
    #[serde(rename = "wall_seconds", with = "crate::seconds")]
    pub wall: Duration,
    /// Processor time of the program and what it started.
    #[serde(
        rename = "cpu_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::seconds::serialize_option",
        deserialize_with = "crate::seconds::deserialize_option"
    )]
    pub cpu: Option<Duration>,
    /// Most memory that was resident at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// How much the program wrote to its standard output, whether kept or not.
    pub stdout_bytes: u64,
    /// How much the program wrote to its standard error, whether kept or not.
    pub stderr_bytes: u64,
    /// What the program had printed as its result when it was ended early, where the text of the
    /// result has no place for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What the program said beside its result, where the result does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Names of the limits and protections that were in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enforced: Vec<String>,
    /// The most processes that the program could have at once, where that was bounded: by its declaration, by the
    /// operator, or by the backend itself. That a program was refused one more is told by
    /// [`Failure::Limit`] where the system counts it; elsewhere only the program knows (`EAGAIN`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    /// Names of the sandbox profiles that held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sandbox: Vec<String>,
    /// How many processes were still there when the program had ended, and were ended. `None` where
    /// they cannot be counted, or where some of them may still be running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaked: Option<u32>,
    /// Whether everything that the backend was to end is known to be gone; `false` means that a
    /// process of the call may still run. `None` where it is not reported: the process of a session
    /// outlives the call, for example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// Hosts that the program was blocked from connecting to, where its network is limited to named hosts:
    /// the first of them, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_hosts: Vec<DeniedHost>,
    /// Whether another process held the output open after the program had ended.
    pub pipe_held: bool,
    /// Whether a process waited for the call; `None` where the tool does not let its program be started before, or the
    /// host keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
}

impl Execution {
    /// Nothing known but the name of the backend.
    #[must_use]
    pub fn new(backend: impl Into<String>) -> Self {
        Self { backend: backend.into(), ..Self::default() }
    }
}

/// A host that a program was blocked from connecting to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DeniedHost {
    /// The host and the port, as in `example.org:443` and `[::1]:80`.
    pub host: String,
    /// Why, in words that follow the host and a colon: `host not allowed`.
    pub why: String,
}

impl DeniedHost {
    /// A host with its port, and why a program was blocked from connecting to it.
    #[must_use]
    pub fn new(host: impl Into<String>, why: impl Into<String>) -> Self {
        Self { host: host.into(), why: why.into() }
    }
}

/// `is_error` stands beside `failure` for readers that only ask for that; bytes are base64.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { output, failure, data, blocks, undo, omitted, raw, execution } = self;
        Shown {
            output,
            is_error: self.is_error(),
            failure: failure.as_ref(),
            data: data.as_ref(),
            blocks,
            undo: undo.as_ref(),
            omitted: omitted.as_ref(),
            raw_base64: raw.as_ref().map(|bytes| base64_text(bytes)),
            execution: execution.as_ref(),
        }
        .serialize(serializer)
    }
}

/// The serialised form of a result.
#[derive(Serialize)]
struct Shown<'a> {
    output: &'a str,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: &'a [Block],
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a UndoInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<&'a Omitted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<&'a Execution>,
}

/// The same as it is read: a failure that an older writer did not name is [`Failure::Reported`].
#[derive(Deserialize)]
struct Stored {
    output: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    failure: Option<Failure>,
    /// `null` is a structured result as well, so presence is what counts.
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    #[serde(default)]
    blocks: Vec<Block>,
    #[serde(default)]
    undo: Option<UndoInfo>,
    #[serde(default)]
    omitted: Option<Omitted>,
    #[serde(default, deserialize_with = "base64_bytes")]
    raw_base64: Option<Vec<u8>>,
    #[serde(default)]
    execution: Option<Execution>,
}

impl From<Stored> for ToolResult {
    fn from(it: Stored) -> Self {
        let unnamed = it.is_error.then_some(Failure::Reported { code: None });
        Self {
            output: it.output,
            failure: it.failure.or(unnamed),
            data: it.data,
            blocks: it.blocks,
            undo: it.undo,
            omitted: it.omitted,
            raw: it.raw_base64,
            execution: it.execution,
        }
    }
}

/// A value that is there, also where it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(reader).map(Some)
}

fn base64_text(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn base64_bytes<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Vec<u8>>, D::Error> {
    use base64::Engine as _;
    use serde::de::Error as _;
    Option::<String>::deserialize(reader)?
        .map(|text| base64::engine::general_purpose::STANDARD.decode(text))
        .transpose()
        .map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(result: &ToolResult, expect: Expect) {
        let json = serde_json::to_string(result).unwrap();
        expect.assert_eq(&json);
        assert_eq!(serde_json::from_str::<ToolResult>(&json).unwrap(), *result);
    }

    #[test]
    fn results_survive_being_stored() {
        check(&ToolResult::text("ok"), expect![[r#"{"output":"ok","is_error":false}"#]]);
        check(
            &ToolResult::text("null").with_data(json!(null)),
            expect![[r#"{"output":"null","is_error":false,"data":null}"#]],
        );
        check(
            &ToolResult::text("").with_blocks(vec![Block::Image {
                data: "AAAA".to_owned(),
                mime_type: "image/png".to_owned(),
            }]),
            expect![[
                r#"{"output":"","is_error":false,"blocks":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#
            ]],
        );
        check(
            &ToolResult::failed(Failure::exit_code(3), "exit code 3"),
            expect![[
                r#"{"output":"exit code 3","is_error":true,"failure":{"kind":"exit_code","code":3}}"#
            ]],
        );
        check(
            &ToolResult::bytes(b"\xff\x00".to_vec())
                .with_undo(UndoInfo::new("undo", "t", json!({"a": 1})))
                .with_omitted(Omitted::new(7).with_whole("/tmp/whole")),
            expect![[
                r#"{"output":"�\u0000","is_error":false,"undo":{"what":"undo","tool":"t","input":{"a":1}},"omitted":{"bytes":7,"whole":"/tmp/whole"},"raw_base64":"/wA="}"#
            ]],
        );
        let mut execution = Execution::new("local");
        execution.wall = Duration::from_millis(12);
        execution.cpu = Some(Duration::from_micros(900));
        execution.enforced = vec!["deadline".into()];
        execution.confirmed = Some(false);
        execution.denied_hosts = vec![DeniedHost::new("a.org:443", "is not named")];
        check(
            &ToolResult::text("").with_execution(execution),
            expect![[
                r#"{"output":"","is_error":false,"execution":{"backend":"local","command_line":[],"wall_seconds":0.012,"cpu_seconds":0.0009,"stdout_bytes":0,"stderr_bytes":0,"enforced":["deadline"],"confirmed":false,"denied_hosts":[{"host":"a.org:443","why":"is not named"}],"pipe_held":false}}"#
            ]],
        );
    }

    #[test]
    fn an_error_of_unknown_kind_stays_an_error() {
        let read: ToolResult =
            serde_json::from_str(r#"{"output": "no", "is_error": true}"#).unwrap();
        assert_eq!(read.failure, Some(Failure::Reported { code: None }));
    }

    #[test]
    fn utf8_needs_no_second_copy() {
        assert_eq!(ToolResult::bytes("é".into()), ToolResult::text("é"));
        let lossy = ToolResult::bytes(b"a\xffb".to_vec());
        assert_eq!(
            (lossy.output.as_str(), lossy.raw.as_deref()),
            ("a\u{fffd}b", Some(&b"a\xffb"[..]))
        );
    }
}
