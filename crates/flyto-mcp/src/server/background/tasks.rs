//! The extension [`io.modelcontextprotocol/tasks`](https://github.com/modelcontextprotocol/ext-tasks): a call that takes long is
//! answered with a task, which the client asks for from then on.
//!
//! The server decides which call becomes one: each that has run for [`ServerOptions::task_after`](super::super::ServerOptions), of a
//! client that declares the extension with the request. A tool that fails is a task that is completed; `failed` stands for a call of
//! which nothing is known any more.

use std::{sync::Arc, time::SystemTime};

use flyto_host::jobs::{Job, JobState, KEEP, time_text};
use flyto_tools::Progress;
use serde::Serialize;
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};

use super::{CallOutcome, Jobs, State};
use crate::server::{
    Shared,
    approval::input_request,
    fault::{Fault, INTERNAL_ERROR, MISSING_CAPABILITY},
    params::Negotiated,
    peer::{Outcome, Session},
    result,
};

/// The name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How often a client should ask for a task, in milliseconds: every second.
const POLL_MS: u64 = 1000;

/// What can be done with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMethod {
    /// How it stands, and what came of it.
    Get,
    /// An answer to what it asks.
    Update,
    /// It is taken back. The client need not ask for it again.
    Cancel,
}

impl TaskMethod {
    /// The method of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "tasks/get" => Self::Get,
            "tasks/update" => Self::Update,
            "tasks/cancel" => Self::Cancel,
            _ => return None,
        })
    }
}

impl Negotiated {
    /// Whether a call may be answered with a task.
    pub(crate) fn takes_tasks(&self) -> bool {
        let extensions = self.capabilities.extensions.as_ref();
        self.revision.is_modern() && extensions.is_some_and(|it| it.contains_key(EXTENSION))
    }
}

/// A task with what came of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    /// `task` where it stands for the result of a call, else `complete`.
    result_type: &'static str,
    /// The id of the job.
    task_id: String,
    /// One of five words of the protocol.
    status: &'static str,
    /// How far it is, or what became of it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    /// RFC 3339, to the second.
    created_at: String,
    /// When it ended, else when its tool last said how far it is, or what it asks changed.
    last_updated_at: String,
    /// How long it is kept at least, from its creation.
    ttl_ms: u128,
    poll_interval_ms: u64,
    /// Of one that is completed: what its call would have been answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    /// Of one that asks: the question, by the key of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<Value>,
    /// Of one that failed: nothing came of its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
    #[serde(rename = "_meta")]
    meta: Value,
}

impl Task {
    /// A task as its job stands, without what came of it. `asked` is when its questions last changed.
    fn new(
        server: &Shared,
        job: &Job,
        result_type: &'static str,
        status: &'static str,
        asked: Option<SystemTime>,
    ) -> Self {
        let updates = job.progress.as_ref().map(|it| it.at).into_iter().chain(asked);
        let updated = job.ended.unwrap_or_else(|| updates.fold(job.created, SystemTime::max));
        let progress = job.progress.as_ref().filter(|_| job.state == JobState::Running);
        let status_message = progress
            .and_then(|it| Progress::new(it.progress, &*it.detail))
            .map(|it| it.to_string());
        Self {
            result_type,
            task_id: job.id.to_string(),
            status,
            status_message,
            created_at: time_text(job.created),
            last_updated_at: time_text(updated),
            ttl_ms: KEEP.as_millis(),
            poll_interval_ms: POLL_MS,
            result: None,
            input_requests: None,
            error: None,
            meta: server.result_meta(),
        }
    }

    /// The task as a result.
    fn write(&self) -> Outcome {
        to_raw_value(self).map_err(|err| Fault::unwritable(&err))
    }
}

/// What stands for the result of a call that goes on as this job.
pub(crate) fn created(server: &Shared, job: &Job) -> Outcome {
    Task::new(server, job, "task", "working", None).write()
}

/// Carries out a method for the client's own task of this id.
///
/// # Errors
///
/// The client does not declare the extension, or it has no such task.
pub(crate) async fn method(
    server: Arc<Shared>,
    session: Arc<Session>,
    negotiated: Negotiated,
    method: TaskMethod,
    id: Option<String>,
    answers: Option<Map<String, Value>>,
) -> Outcome {
    if !negotiated.takes_tasks() {
        let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
        let why = format!("the client does not declare the extension {EXTENSION:?}");
        let fault = Fault::new(MISSING_CAPABILITY, why);
        return Err(Fault { data: Some(Box::new(required)), ..fault });
    }
    let id = id.ok_or_else(|| Fault::invalid_params("params lack \"taskId\""))?;
    let unknown = || Fault::invalid_params(format!("there is no task {id:?}"));
    let jobs = server.jobs.as_ref().ok_or_else(unknown)?;
    let job = jobs.find(&session.jobs, &id).await.map_err(Fault::internal)?.ok_or_else(unknown)?;
    match method {
        TaskMethod::Get => get(&server, &negotiated, jobs, &job).await,
        TaskMethod::Cancel => {
            jobs.cancel(&job).await.map_err(Fault::internal)?;
            acknowledged(&server)
        }
        TaskMethod::Update => {
            // An answer to a question that is not asked, or not any more, means nothing.
            if let Some(questions) = jobs.questions(&job.id) {
                answers.into_iter().flatten().for_each(|(key, it)| questions.answer(&key, it));
            }
            acknowledged(&server)
        }
    }
}

/// The task as it stands at this moment.
async fn get(server: &Shared, negotiated: &Negotiated, jobs: &Arc<Jobs>, job: &Job) -> Outcome {
    let questions = jobs.questions(&job.id);
    // The first question that waits is looked up before the time: one that waits no more is left out there.
    let asked = questions.as_ref().and_then(|it| it.first());
    let changed = questions.and_then(|it| it.changed());
    let of = |status: &'static str| Task::new(server, job, "complete", status, changed);
    let task = match jobs.state(job).await.map_err(Fault::internal)? {
        State::Running => match asked {
            Some((key, params)) => {
                let input_requests = Some(json!({key: input_request(&params)}));
                Task { input_requests, ..of("input_required") }
            }
            None => of("working"),
        },
        State::Cancelled => of("cancelled"),
        State::Ended(end) => {
            let result = match end {
                CallOutcome::Result(it) => {
                    let tool = server.host.registry().get(&job.tool);
                    let has_schema = tool.is_some_and(|it| it.tool().output_schema().is_some());
                    result::of(server, negotiated, *it, has_schema)?
                }
                CallOutcome::Error(why) => result::error(server, negotiated, &why)?,
            };
            Task { result: Some(result), ..of("completed") }
        }
        State::Lost => {
            let why = "the server ended before the call did; how far it had come is not known";
            let error = Some(Fault::new(INTERNAL_ERROR, why));
            Task { status_message: Some(why.to_owned()), error, ..of("failed") }
        }
    };
    task.write()
}

/// A result that says nothing.
fn acknowledged(server: &Shared) -> Outcome {
    to_raw_value(&json!({"resultType": "complete", "_meta": server.result_meta()}))
        .map_err(|err| Fault::unwritable(&err))
}
