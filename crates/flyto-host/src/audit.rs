//! The record of each call: who called what, what was decided, and what came of it.
//!
//! A record is written by [`flyto_audit`], as two lines of one id. This module says what is in them.

use std::{
    borrow::Cow,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use flyto_audit::{AuditError, Begun, Log, Options};
use flyto_execenv::Class;
use flyto_program::chain;
use flyto_tools::{CallId, Execution, Failure, Input, Metadata, Origin, Readiness};
use serde::{Serialize, Serializer};
use serde_json::{json, value::RawValue};

use crate::{
    config::AuditConfig,
    error::CallError,
    ids::hash,
    permission::{Caller, Decision, Rule, Verdict},
    secrets::Secrets,
    stages::{Call, Challenged, MissingCall, Release, StageResult},
};

/// The log of a host, opened when the first call is recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    dir: PathBuf,
    options: Options,
    /// Whether records have inputs.
    has_inputs: bool,
    secrets: Secrets,
    log: OnceLock<Log>,
}

/// Something that was to be done with the log.
pub(crate) enum Writing<T> {
    /// It was tried.
    Done(Result<T, AuditError>),
    /// Another writer has the log, and a thread waits for it.
    Waits(Pin<Box<dyn Future<Output = Result<T, AuditError>> + Send>>),
}

/// How long a thread of the runtime may wait for another writer.
const SHORT_WAIT: Duration = Duration::from_millis(2);

impl Recorder {
    pub(crate) fn new(dir: PathBuf, config: &AuditConfig, secrets: Secrets) -> Self {
        Self {
            dir,
            options: config.options(),
            has_inputs: config.has_inputs,
            secrets,
            log: OnceLock::new(),
        }
    }

    /// Records that a call begins.
    ///
    /// Where the future is dropped while another writer has the log, the begin is recorded afterwards, with an end of
    /// a call that was dropped.
    pub(crate) fn begin(self: &Arc<Self>, call: &Call) -> Result<Writing<Recording>, AuditError> {
        let id = call.ctx().id().as_str().to_owned();
        let body = self.begin_body(call)?;
        let this = Arc::clone(self);
        Ok(self.write(move |log| {
            let begun = log.begin(&id, &body)?;
            Ok(Recording { begun: Some(begun), recorder: Arc::clone(&this) })
        }))
    }

    /// Records the begin and the end of a call that was not made. Where the future is dropped while another writer has
    /// the log, both are recorded afterwards.
    pub(crate) fn both(
        self: &Arc<Self>,
        call: &Call,
        end: Box<RawValue>,
    ) -> Result<Writing<()>, AuditError> {
        Ok(self.write_both(call.ctx().id(), self.begin_body(call)?, end))
    }

    /// Records a call that was dropped before it came to the log: at once where no other writer has it, else on a thread
    /// that may wait.
    pub(crate) fn dropped(self: &Arc<Self>, call: &Call) {
        let id = call.ctx().id().as_str().to_owned();
        let Ok(body) = self.begin_body(call) else { return };
        let this = Arc::clone(self);
        let record = move |wait| {
            let begun = this.log(wait)?.begin(&id, &body)?;
            drop(Recording { begun: Some(begun), recorder: Arc::clone(&this) });
            Ok(())
        };
        match record(SHORT_WAIT) {
            Ok(()) => {}
            Err(AuditError::Locked { .. }) => {
                let wait = self.options.lock_wait;
                // Without a runtime no thread is there that may wait.
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn_blocking(move || record(wait));
                }
            }
            Err(err) => {
                tracing::warn!(
                    error = chain(&err),
                    "a call that was dropped could not be recorded"
                );
            }
        }
    }

    /// Records a call whose name leads to no tool that may be used.
    pub(crate) fn missing(
        self: &Arc<Self>,
        call: &MissingCall<'_>,
    ) -> Result<Writing<()>, AuditError> {
        // It may be any text that a model wrote. What is cut off may be the rest of a secret.
        let name = &call.name[..call.name.floor_char_boundary(MAX_SCANNED_NAME_BYTES)];
        let mut name = self.secrets.redacted(name);
        name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
        let metadata = Metadata::default();
        let tool = name.split_once(':').map_or(&*name, |(_, tool)| tool);
        let body = MissingBody {
            by: By::new(call.caller, call.parent, call.undoes),
            tool: &name,
            operation: operation(tool, &metadata),
            input: call.input.map(|it| self.input_body(it)),
        };
        let mut end = EndBody::default();
        end.not_called(call.error);
        Ok(self.write_both(call.ctx.id(), to_raw(&body)?, to_raw(&end)?))
    }

    fn write_both(
        self: &Arc<Self>,
        id: &CallId,
        body: Box<RawValue>,
        end: Box<RawValue>,
    ) -> Writing<()> {
        let id = id.as_str().to_owned();
        let mut begun = None;
        self.write(move |log| {
            let it = begun.take().map_or_else(|| log.begin(&id, &body), Ok)?;
            end_in(log, it, &end, &mut begun)
        })
    }

    /// Does something with the log: at once where no other writer has it, else on a thread that may wait.
    fn write<T: Send + 'static>(
        self: &Arc<Self>,
        mut write: impl FnMut(&Log) -> Result<T, AuditError> + Send + 'static,
    ) -> Writing<T> {
        let is_slow = self.options.fsync == flyto_audit::Fsync::Each;
        if !is_slow {
            match self.log(SHORT_WAIT).and_then(|log| write(&log)) {
                Err(AuditError::Locked { .. }) => {}
                res => return Writing::Done(res),
            }
        }
        let this = Arc::clone(self);
        Writing::Waits(Box::pin(async move {
            let that = Arc::clone(&this);
            let waiting = tokio::task::spawn_blocking(move || {
                that.log(that.options.lock_wait).and_then(|it| write(&it))
            });
            waiting.await.unwrap_or_else(|err| {
                let source = std::io::Error::other(err);
                Err(AuditError::Io { doing: "write to", path: this.dir.clone(), source })
            })
        }))
    }

    /// The log, for a writer that waits so long for others.
    fn log(&self, wait: Duration) -> Result<Log, AuditError> {
        let log = match self.log.get() {
            Some(log) => log.clone(),
            None => {
                // No other call waits for this one: of two that open it at the same time, the first log stays.
                let log = Log::open(&self.dir, self.options.clone().with_lock_wait(wait))?;
                self.log.get_or_init(|| log).clone()
            }
        };
        Ok(log.with_lock_wait(wait))
    }

    fn begin_body(&self, call: &Call) -> Result<Box<RawValue>, AuditError> {
        let prepared = call.prepared();
        let metadata = prepared.entry().tool().metadata();
        let decision = call.decision();
        let (class, sandbox) = prepared.class_and_sandbox().unzip();
        to_raw(&BeginBody {
            by: By::new(prepared.caller(), prepared.parent(), prepared.undoes()),
            tool: prepared.id().as_str(),
            origin: Shown(&metadata.origin),
            version: metadata.version.as_deref(),
            operation: operation(prepared.id().tool(), metadata),
            input: self.input_body(prepared.input()),
            decision: decision.as_deref().map(Decided::of),
            class: class.as_ref().map(Class::as_str),
            sandbox,
            challenge: self.challenge(call.challenged()),
            checkpoint: Some(call.release()).filter(Release::is_required),
        })
    }

    fn input_body(&self, input: &Input) -> InputBody {
        let text = input.text();
        InputBody {
            input_sha256: hash(text.as_bytes()),
            input_bytes: text.len(),
            input: self.has_inputs.then(|| self.secrets.redacted(&text)),
        }
    }

    /// What a challenger said, without secrets.
    fn challenge(&self, challenged: &Challenged) -> Option<Box<RawValue>> {
        if *challenged == Challenged::NotRequired {
            return None;
        }
        let text = serde_json::to_string(challenged).ok()?;
        let text = self.secrets.redacted(&text);
        let is_short = text.len() <= MAX_CHALLENGE_BYTES;
        let raw = is_short.then(|| RawValue::from_string(text).ok()).flatten();
        raw.or_else(|| to_raw(&json!({"left_out": "it is too long to be recorded"})).ok())
    }
}

/// The bytes that are recorded of a name that leads to no tool: more than the longest name of a tool.
const MAX_NAME_BYTES: usize = 256;

/// The bytes of such a name that are searched for secrets: 64 KiB, more than the longest token of a provider.
const MAX_SCANNED_NAME_BYTES: usize = 64 * 1024;

/// The longest words of a challenger that are recorded: 64 KiB. A record has a bound too.
const MAX_CHALLENGE_BYTES: usize = 64 * 1024;

/// What the record of a begin says, in the order in which it stands there.
#[derive(Serialize)]
struct BeginBody<'a> {
    #[serde(flatten)]
    by: By<'a>,
    tool: &'a str,
    origin: Shown<'a, Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    operation: Cow<'a, str>,
    #[serde(flatten)]
    input: InputBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decided<'a>>,
    /// On whose behalf a program runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<Vec<String>>,
    /// What a challenger said, or that there is none, where the tool asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge: Option<Box<RawValue>>,
    /// What became of the checkpoint, where the tool asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Release>,
}

/// The same of a call whose name leads to no tool.
#[derive(Serialize)]
struct MissingBody<'a> {
    #[serde(flatten)]
    by: By<'a>,
    tool: &'a str,
    operation: Cow<'a, str>,
    /// `None` where it was not read.
    #[serde(flatten)]
    input: Option<InputBody>,
}

/// On whose behalf a call is made, and for which other call.
#[derive(Serialize)]
struct By<'a> {
    caller: &'static str,
    #[cfg(unix)]
    uid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<&'a str>,
}

impl<'a> By<'a> {
    fn new(caller: Caller, parent: Option<&'a CallId>, undoes: Option<&'a str>) -> Self {
        Self {
            caller: match caller {
                Caller::Operator => "operator",
                Caller::Agent => "agent",
            },
            #[cfg(unix)]
            uid: rustix::process::geteuid().as_raw(),
            parent: parent.map(CallId::as_str),
            undoes,
        }
    }
}

#[derive(Serialize)]
struct InputBody {
    input_sha256: String,
    input_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
}

/// What the rules decided. Its reasons quote commands and paths, which may hold secrets, so only the rule is here.
#[derive(Serialize)]
struct Decided<'a> {
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a Rule>,
}

impl<'a> Decided<'a> {
    fn of(decision: &'a Decision) -> Self {
        Self { verdict: decision.verdict, rule: decision.rule() }
    }
}

/// A value as its text.
struct Shown<'a, T>(&'a T);

impl<T: std::fmt::Display> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// A body as JSON, which is written once, however often the log is asked to take it.
fn to_raw(body: &impl Serialize) -> Result<Box<RawValue>, AuditError> {
    serde_json::value::to_raw_value(body).map_err(|source| AuditError::Body { source })
}

/// Records the end of a call by a log that may wait differently. Where it cannot be recorded, the call goes back into
/// `begun`, for another attempt.
fn end_in(
    log: &Log,
    it: Begun,
    end: &RawValue,
    begun: &mut Option<Begun>,
) -> Result<(), AuditError> {
    let it = it.with_lock_wait(log.lock_wait());
    let res = it.end(&end);
    if res.is_err() {
        *begun = Some(it);
    }
    res
}

/// A call whose begin is recorded. Dropping it records that the call was dropped.
#[derive(Debug)]
pub(crate) struct Recording {
    /// `None` once the end is recorded, or another thread records it.
    begun: Option<Begun>,
    recorder: Arc<Recorder>,
}

impl Recording {
    /// Records that the call has ended. Where the future is dropped while another writer has the log, the end is
    /// recorded afterwards.
    pub(crate) fn end(mut self, end: Box<RawValue>) -> Writing<()> {
        let mut begun = self.begun.take();
        self.recorder.write(move |log| match begun.take() {
            Some(it) => end_in(log, it, &end, &mut begun),
            None => Ok(()),
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(begun) = self.begun.take() else { return };
        let begun = begun.with_lock_wait(SHORT_WAIT);
        if !matches!(begun.end(&json!({"outcome": "dropped"})), Err(AuditError::Locked { .. })) {
            return;
        }
        // The thread that drops a call may be one of the runtime. Without a runtime, `begun` does what it can.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let begun = begun.with_lock_wait(self.recorder.options.lock_wait);
            runtime.spawn_blocking(move || drop(begun));
        }
    }
}

/// What came of a call, for the record of its end.
pub(crate) fn end_body(
    call: &Call,
    end: &StageResult,
    time: Duration,
) -> Result<Box<RawValue>, AuditError> {
    let mut res = EndBody { seconds: time.as_secs_f64(), ..EndBody::default() };
    match end {
        Ok(result) => {
            res.outcome = match result.is_error() {
                // Cancelled, or out of time, in a stage.
                true if call.ended_in().is_some() => "not_tried",
                true => "failed",
                false => "ok",
            };
            res.output_bytes = Some(result.output.len());
            res.failure = result.failure.as_ref();
            res.stage = call.ended_in();
            res.execution = result.execution.as_ref().map(|it| Executed::of(call, it));
        }
        Err(err) => {
            res.not_called(err);
            res.execution = call.withheld().map(|it| Executed::of(call, it));
        }
    }
    res.secrets = call.secrets().iter().map(|it| it.found.rule.as_str()).collect();
    to_raw(&res)
}

/// What the record of an end says, in the order in which it stands there.
#[derive(Default, Serialize)]
struct EndBody<'a> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// The plugin that may not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    /// Why not: `blocked`, `not_allowed`, `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a Failure>,
    #[serde(flatten)]
    execution: Option<Executed<'a>>,
    seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<&'a str>,
}

impl<'a> EndBody<'a> {
    /// Why a call gave no result.
    fn not_called(&mut self, err: &'a CallError) {
        match err {
            CallError::Refused(refusal) => {
                self.outcome = "refused";
                self.stage = Some(&refusal.stage);
                self.rule = refusal.rule.as_ref();
            }
            CallError::Tool(err) => {
                (self.outcome, self.error) = ("not_tried", Some(err.kind().name()));
            }
            CallError::NotFound { .. } => {
                (self.outcome, self.error) = ("not_tried", Some("not_found"));
            }
            CallError::PluginHeldBack { plugin, state, .. } => {
                self.outcome = "refused";
                (self.plugin, self.state) = (Some(plugin.as_str()), Some(state.name()));
            }
        }
    }
}

/// The same of a program.
#[derive(Serialize)]
struct Executed<'a> {
    backend: &'a str,
    enforced: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sandbox: Vec<String>,
    confirmed: Option<bool>,
    leaked: Option<u32>,
    /// `ready` or `cold`, where the program may be started before a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<&'static str>,
    usage: Usage,
}

#[derive(Serialize)]
struct Usage {
    wall_seconds: f64,
    cpu_seconds: Option<f64>,
    peak_memory_bytes: Option<u64>,
}

impl<'a> Executed<'a> {
    fn of(call: &Call, it: &'a Execution) -> Self {
        Self {
            backend: &it.backend,
            enforced: &it.enforced,
            sandbox: call.prepared().held(&it.sandbox),
            confirmed: it.confirmed,
            leaked: it.leaked,
            started: it.readiness.as_ref().map(Readiness::name),
            usage: Usage {
                wall_seconds: it.wall.as_secs_f64(),
                cpu_seconds: it.cpu.map(|it| it.as_secs_f64()),
                peak_memory_bytes: it.peak_memory_bytes,
            },
        }
    }
}

/// What a call does, as the tool declares it, else by the first word of its name.
fn operation<'a>(name: &str, metadata: &'a Metadata) -> Cow<'a, str> {
    if let Some(declared) = &metadata.audit_operation {
        return declared.as_str().into();
    }
    let word = name.split(['_', '-', '.']).next().unwrap_or(name).to_ascii_lowercase();
    let operation = match &*word {
        "read" | "get" | "list" | "show" | "find" | "search" | "query" | "fetch" | "view" => "read",
        "write" | "create" | "add" | "new" | "put" | "save" | "send" => "write",
        "edit" | "update" | "set" | "change" | "rename" | "move" => "edit",
        "delete" | "remove" | "rm" | "erase" | "clear" | "drop" => "delete",
        "run" | "exec" | "execute" | "start" | "bash" | "sh" | "shell" => "execute",
        _ => "invoke",
    };
    operation.into()
}

#[cfg(test)]
mod tests {
    use flyto_tools::AuditOperation;

    use super::*;

    #[test]
    fn an_operation_is_the_declared_one_or_told_by_the_name() {
        let mut metadata = Metadata::default();
        for (name, expected) in [
            ("read_file", "read"),
            ("Delete-all", "delete"),
            ("deploy", "invoke"),
            ("sh", "execute"),
        ] {
            assert_eq!(operation(name, &metadata), expected, "{name}");
        }
        metadata.audit_operation = Some(AuditOperation::EDIT);
        assert_eq!(operation("read_file", &metadata), "edit");
    }
}
