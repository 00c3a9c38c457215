//! Four tools for calls in the background, for any client: one that starts a call, and three that follow it.
//!
//! A tool of the host with one of these names keeps it, and the four are not offered: a model that started a call by one of them would
//! follow it by a tool that knows nothing of it. The call that is started goes through all gates, and is asked about before it
//! is answered with its job; the others reach the jobs that their client started, and no others.

use std::{sync::Arc, time::Duration};

use flyto_host::jobs::{Job, JobState};
use flyto_tools::Snapshot;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{CallOutcome, Jobs, State};
use crate::{
    Servers,
    server::{
        Shared,
        own_arguments::refusal,
        params::Negotiated,
        peer::{Outcome, Session},
        result,
    },
};

/// Starts a call.
pub(crate) const START: &str = "jobs__start";
/// Tells how a job stands.
pub(crate) const STATUS: &str = "jobs__status";
/// Gives what came of one.
pub(crate) const RESULT: &str = "jobs__result";
/// Ends one.
pub(crate) const CANCEL: &str = "jobs__cancel";
/// Longest wait for the end of a job, in seconds: less than the minute after which clients give a call up.
/// A longer wait counts as this one, and a model asks again.
const MAX_WAIT_SECONDS: f64 = 50.0;

impl Shared {
    /// Whether clients have these tools beside those of the host: calls may go on by themselves, and no name is taken.
    pub(crate) fn has_job_tools(&self, tools: &Snapshot) -> bool {
        let names = [START, STATUS, RESULT, CANCEL];
        self.jobs.is_some() && names.into_iter().all(|it| tools.get(it).is_none())
    }

    /// Whether clients will have these tools as far as is known before all servers are connected to: the tools of none that is
    /// still unknown can take a name.
    pub(crate) fn will_have_job_tools(&self, tools: &Snapshot) -> bool {
        let may_take = |server: &String| {
            let rest = START.strip_prefix(server.as_str());
            rest.is_some_and(|it| it.starts_with("__"))
        };
        let unknown = self.servers.as_ref().map(Servers::unknown).unwrap_or_default();
        self.has_job_tools(tools) && !unknown.iter().any(may_take)
    }
}

/// The arguments of [`START`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(crate) struct Start<'a> {
    /// The name of the tool.
    pub(crate) tool: String,
    /// What it is called with.
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

/// A call of one of the three others.
#[derive(Debug)]
pub(crate) enum JobCall {
    /// Of the jobs that run, where no job is named.
    Status { job: Option<String> },
    /// What came of a job, after a wait for its end.
    Result { job: String, wait: Duration },
    /// The end of a job's call.
    Cancel { job: String },
}

/// The arguments of [`STATUS`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct MaybeJob {
    #[serde(default)]
    job: Option<String>,
}

/// The arguments of [`CANCEL`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct OneJob {
    job: String,
}

/// The arguments of [`RESULT`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct JobAndWait {
    job: String,
    #[serde(default)]
    wait_seconds: f64,
}

impl JobCall {
    /// Reads the arguments of the tool of this name; `None` for another tool.
    pub(crate) fn read(name: &str, arguments: &str) -> Option<Result<Self, String>> {
        let read = match name {
            STATUS => serde_json::from_str(arguments).map(|MaybeJob { job }| Self::Status { job }),
            RESULT => serde_json::from_str(arguments).map(|JobAndWait { job, wait_seconds }| {
                // A number that is none waits for nothing.
                let wait = wait_seconds.clamp(0.0, MAX_WAIT_SECONDS);
                Self::Result { job, wait: Duration::try_from_secs_f64(wait).unwrap_or_default() }
            }),
            CANCEL => serde_json::from_str(arguments).map(|OneJob { job }| Self::Cancel { job }),
            _ => return None,
        };
        Some(read.map_err(|err| refusal(tools(), name, arguments, &err)))
    }

    /// Carries it out. What a model can react to is a result.
    pub(crate) async fn run(
        self,
        server: &Arc<Shared>,
        session: &Session,
        negotiated: &Negotiated,
    ) -> Outcome {
        let Some(jobs) = &server.jobs else {
            return result::error(server, negotiated, "there are no jobs");
        };
        match self.outcome(server, session, negotiated, jobs).await {
            Ok(outcome) => outcome,
            Err(why) => result::error(server, negotiated, &why),
        }
    }

    /// What it comes to.
    ///
    /// # Errors
    ///
    /// In words: there is no such job, or it cannot be read.
    async fn outcome(
        self,
        server: &Shared,
        session: &Session,
        negotiated: &Negotiated,
        jobs: &Arc<Jobs>,
    ) -> Result<Outcome, String> {
        let own = &session.jobs;
        Ok(match self {
            Self::Status { job: None } if !session.is_lasting() => {
                return Err(
                    "name the job: this request belongs to no session whose jobs could be listed"
                        .to_owned(),
                );
            }
            Self::Status { job: None } => {
                let running = jobs.running_here(own).await;
                let running: Vec<Value> = running.iter().map(shown).collect();
                result::value(server, negotiated, &json!({"running": running}))
            }
            Self::Status { job: Some(id) } => {
                result::value(server, negotiated, &shown(&find(jobs, session, &id).await?))
            }
            Self::Result { job: id, wait } => {
                let job = find(jobs, session, &id).await?;
                jobs.wait(&job.id, wait).await;
                let job = find(jobs, session, &id).await?;
                match jobs.state(&job).await? {
                    State::Running => result::value(server, negotiated, &shown(&job)),
                    State::Cancelled => result::error(server, negotiated, "the call was cancelled"),
                    State::Ended(end) => match end {
                        // This tool declares no structured result of its own.
                        CallOutcome::Result(it) => result::of(server, negotiated, *it, false),
                        CallOutcome::Error(why) => result::error(server, negotiated, &why),
                    },
                    State::Lost => {
                        let why = "the server ended before the call did; how far it had come is not known";
                        result::error(server, negotiated, why)
                    }
                }
            }
            Self::Cancel { job: id } => {
                let job = find(jobs, session, &id).await?;
                let was_running = job.state == JobState::Running;
                jobs.cancel(&job).await?;
                let shown = json!({"job": job.id.as_str(), "was_running": was_running});
                result::value(server, negotiated, &shown)
            }
        })
    }
}

/// The client's own job of this id.
///
/// # Errors
///
/// In words: there is none.
async fn find(jobs: &Arc<Jobs>, session: &Session, id: &str) -> Result<Job, String> {
    jobs.find(&session.jobs, id).await?.ok_or_else(|| match session.is_lasting() {
        true => format!("there is no job {id:?}; {STATUS} without arguments lists those that run"),
        false => format!("there is no job {id:?}"),
    })
}

/// The result of [`START`]: the job that goes on.
pub(crate) fn started(server: &Shared, negotiated: &Negotiated, job: &Job) -> Outcome {
    result::value(server, negotiated, &shown(job))
}

/// What a model is told of a job.
fn shown(job: &Job) -> Value {
    let mut res = json!({"job": job.id.as_str(), "tool": job.tool, "state": job.state});
    if let Some(time) = job.duration() {
        res["seconds"] = time.as_secs().into();
    }
    if let Some(progress) = &job.progress {
        res["progress"] = json!(progress.progress);
        res["detail"] = json!(progress.detail);
    }
    res
}

/// The tools as elements of a list, in the order of their names.
pub(crate) fn tools() -> Vec<Value> {
    let job =
        json!({"type": "string", "description": "The id of the job, as jobs__start gives it"});
    let tool = |name: &str, title: &str, text: &str, properties: Value, required: Value| {
        let reads = matches!(name, STATUS | RESULT);
        json!({
            "name": name,
            "title": title,
            "description": text,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {
                "title": title, "readOnlyHint": reads, "destructiveHint": !reads,
                // What a started call does is what its tool does, of which nothing is known here.
                "idempotentHint": name != START, "openWorldHint": name == START,
            },
        })
    };
    vec![
        tool(
            CANCEL,
            "Cancel a job",
            "Ends a call that runs in the background, with everything that it started.",
            json!({"job": job}),
            json!(["job"]),
        ),
        tool(
            RESULT,
            "Result of a job",
            "Gives the result of a call in the background, as the tool itself would; while it runs, how it stands.",
            json!({
                "job": job,
                "wait_seconds": {
                    "type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": 0,
                    "description": "How long to wait for the end",
                },
            }),
            json!(["job"]),
        ),
        tool(
            START,
            "Start a call in the background",
            "Calls a tool that takes minutes, and gives the id of a job at once; of a call that has ended by then, the result.",
            json!({
                "tool": {"type": "string", "description": "The name of the tool"},
                "arguments": {"type": "object", "description": "The arguments of the tool"},
            }),
            json!(["tool"]),
        ),
        tool(
            STATUS,
            "Status of jobs",
            "Tells how a call in the background stands; without arguments, lists those of this session that run.",
            json!({"job": job}),
            json!([]),
        ),
    ]
}
