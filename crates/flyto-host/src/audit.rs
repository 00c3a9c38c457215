//! The record of each call: who called what, what was decided, and what came of it.
//!
//! A record is written by [`flyto_audit`], as two lines of one id. This module says what is in them.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use flyto_audit::{AuditError, Begun, Log, Options};
use flyto_tools::{Metadata, ToolResult};
use serde_json::{Map, Value, json};

use crate::{
    config::AuditConfig,
    error::CallError,
    ids::hash,
    permission::Caller,
    secrets::Secrets,
    stages::{Call, StageResult},
};

/// The log of a host, opened when the first call is recorded.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    dir: PathBuf,
    options: Options,
    /// Whether records have inputs.
    has_inputs: bool,
    secrets: Secrets,
    log: Arc<OnceLock<Log>>,
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
            log: Arc::default(),
        }
    }

    /// Records that a call begins.
    ///
    /// Where the future is dropped while another writer has the log, the begin is recorded afterwards, with an end of
    /// a call that was dropped.
    pub(crate) async fn begin(&self, call: &Call) -> Result<Recording, AuditError> {
        let id = call.ctx().id().as_str().to_owned();
        let body = self.begin_body(call);
        let begun = self.write(move |log| log.begin(&id, &body)).await?;
        Ok(Recording { begun: Some(begun), recorder: self.clone() })
    }

    /// Records the begin and the end of a call that was not made. Where the future is dropped while another writer has
    /// the log, both are recorded afterwards.
    pub(crate) async fn both(&self, call: &Call, end: Value) -> Result<(), AuditError> {
        let id = call.ctx().id().as_str().to_owned();
        let body = self.begin_body(call);
        let mut begun = None;
        self.write(move |log| {
            let it = begun.take().map_or_else(|| log.begin(&id, &body), Ok)?;
            end_in(log, it, &end, &mut begun)
        })
        .await
    }

    /// Does something with the log: at once where no other writer has it, else on a thread that may wait.
    async fn write<T: Send + 'static>(
        &self,
        mut write: impl FnMut(&Log) -> Result<T, AuditError> + Send + 'static,
    ) -> Result<T, AuditError> {
        let is_slow = self.options.fsync == flyto_audit::Fsync::Each;
        if !is_slow {
            match self.log(SHORT_WAIT).and_then(|log| write(&log)) {
                Err(AuditError::Locked { .. }) => {}
                res => return res,
            }
        }
        let this = self.clone();
        let waiting = tokio::task::spawn_blocking(move || {
            this.log(this.options.lock_wait).and_then(|it| write(&it))
        });
        waiting.await.unwrap_or_else(|err| {
            let source = std::io::Error::other(err);
            Err(AuditError::Io { doing: "write to", path: self.dir.clone(), source })
        })
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

    fn begin_body(&self, call: &Call) -> Value {
        let prepared = call.prepared();
        let metadata = prepared.entry().tool().metadata();
        let input = prepared.input().text();
        let mut res = Map::new();
        let mut put = |key: &str, value: Value| drop(res.insert(key.to_owned(), value));
        let caller = match prepared.caller() {
            Caller::Operator => "operator",
            Caller::Agent => "agent",
        };
        put("caller", caller.into());
        #[cfg(unix)]
        put("uid", rustix::process::geteuid().as_raw().into());
        if let Some(parent) = prepared.parent() {
            put("parent", parent.as_str().into());
        }
        if let Some(record) = prepared.undoes() {
            put("undoes", record.into());
        }
        put("tool", prepared.id().as_str().into());
        put("origin", metadata.origin.to_string().into());
        if let Some(version) = &metadata.version {
            put("version", version.as_str().into());
        }
        put("operation", operation(prepared.id().tool(), metadata).into());
        put("input_sha256", hash(input.as_bytes()).into());
        put("input_bytes", input.len().into());
        if self.has_inputs {
            put("input", self.secrets.redacted(&input).into());
        }
        if let Some(decision) = call.decision() {
            put("decision", decided(&decision));
        }
        if let Some(confinement) = prepared.confinement() {
            put("sandbox", json!(confinement.sandbox));
        }
        Value::Object(res)
    }
}

/// Records the end of a call by a log that may wait differently. Where it cannot be recorded, the call goes back into
/// `begun`, for another attempt.
fn end_in(log: &Log, it: Begun, end: &Value, begun: &mut Option<Begun>) -> Result<(), AuditError> {
    let it = it.with_lock_wait(log.lock_wait());
    let res = it.end(end);
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
    recorder: Recorder,
}

impl Recording {
    /// Records that the call has ended. Where the future is dropped while another writer has the log, the end is
    /// recorded afterwards.
    pub(crate) async fn end(mut self, end: Value) -> Result<(), AuditError> {
        let mut begun = self.begun.take();
        self.recorder
            .write(move |log| match begun.take() {
                Some(it) => end_in(log, it, &end, &mut begun),
                None => Ok(()),
            })
            .await
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

/// What the rules decided. Its reasons quote commands and paths, which may hold secrets, so only the rule is here.
fn decided(decision: &crate::permission::Decision) -> Value {
    match decision.rule() {
        Some(rule) => json!({"verdict": decision.verdict, "rule": rule}),
        None => json!({"verdict": decision.verdict}),
    }
}

/// What came of a call, for the record of its end.
pub(crate) fn end_body(call: &Call, end: &StageResult, time: Duration) -> Value {
    let mut res = match end {
        Ok(result) => ended(call, result),
        Err(CallError::Refused(refusal)) => {
            let mut res = json!({"outcome": "refused", "stage": refusal.stage});
            if let Some(rule) = &refusal.rule {
                res["rule"] = json!(rule);
            }
            res
        }
        Err(CallError::Tool(err)) => json!({"outcome": "not_tried", "error": err.kind().name()}),
        Err(CallError::NotFound { .. }) => json!({"outcome": "not_tried", "error": "not_found"}),
        Err(CallError::PluginHeldBack { .. }) => json!({"outcome": "refused"}),
    };
    res["seconds"] = time.as_secs_f64().into();
    if !call.secrets().is_empty() {
        let rules = call.secrets().iter().map(|it| it.found.rule.as_str());
        res["secrets"] = rules.collect::<Vec<_>>().into();
    }
    res
}

fn ended(call: &Call, result: &ToolResult) -> Value {
    let outcome = if result.is_error() { "failed" } else { "ok" };
    let mut res = json!({"outcome": outcome, "output_bytes": result.output.len()});
    if let Some(failure) = &result.failure {
        res["failure"] = json!(failure);
    }
    if let Some(it) = &result.execution {
        res["backend"] = it.backend.as_str().into();
        res["enforced"] = json!(it.enforced);
        let sandbox = call.prepared().held(&it.sandbox);
        if !sandbox.is_empty() {
            res["sandbox"] = json!(sandbox);
        }
        res["confirmed"] = json!(it.confirmed);
        res["leaked"] = json!(it.leaked);
        res["usage"] = json!({
            "wall_seconds": it.wall.as_secs_f64(),
            "cpu_seconds": it.cpu.map(|it| it.as_secs_f64()),
            "peak_memory_bytes": it.peak_memory_bytes,
        });
    }
    res
}

/// What a call does, as the tool declares it, else by the first word of its name.
fn operation(name: &str, metadata: &Metadata) -> String {
    if let Some(declared) = &metadata.audit_operation {
        return declared.as_str().to_owned();
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
    operation.to_owned()
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
