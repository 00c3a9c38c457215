//! What is known of a job, read from its files.

use std::{
    fs, io,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize, Serializer};

use super::{JobError, JobId, JobStore, names, unusable};
use crate::{clock, disk, permission::Caller};

/// The largest JSON file that is read of a job but for its result: 1 MiB. What a worker writes is far
/// shorter.
const MAX_STATE_BYTES: u64 = 1 << 20;

/// A job, as it is at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The name of the tool, as the caller wrote it.
    pub tool: String,
    /// On whose behalf it was made: the operator's, where its record does not say.
    #[serde(skip_serializing_if = "is_operator", serialize_with = "caller")]
    pub caller: Caller,
    /// What has become of it.
    pub state: JobState,
    /// When it was asked for.
    #[serde(rename = "created_at", serialize_with = "clock::serialize")]
    pub created: SystemTime,
    /// The process id of its worker, to inform people: the system gives it to another process later. `None` until
    /// the worker has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_pid: Option<u32>,
    /// How far the call has come, where the tool has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<JobProgress>,
    /// When it ended; of a lost job `None`, since no process saw it.
    #[serde(
        rename = "ended_at",
        skip_serializing_if = "Option::is_none",
        serialize_with = "clock::serialize_option"
    )]
    pub ended: Option<SystemTime>,
    /// The exit code that the worker recorded with the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Bytes of output that were not kept: beyond what is kept of one stream, or refused by the disk.
    pub dropped_bytes: u64,
    /// What is odd about its files, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What has become of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobState {
    /// Its worker lives, and there is no result.
    Running,
    /// There is a result: the call took place, or the result says why it did not.
    Ended,
    /// Its worker has ended without a result: it was killed, or the machine was restarted. How far the
    /// call had come is not known.
    Lost,
}

/// How far a job has come, by the words of its tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobProgress {
    /// The share that is done, within `0.0..=1.0`.
    pub progress: f64,
    /// What is being done; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// When the tool said so.
    #[serde(serialize_with = "clock::serialize")]
    pub at: SystemTime,
}

/// All jobs of a store.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct JobList {
    /// The jobs, the newest first.
    pub jobs: Vec<Job>,
    /// Entries of the directory that are no jobs, by name.
    pub unusable: Vec<UnusableJob>,
}

/// An entry of the directory that is no job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnusableJob {
    /// Its name in the directory; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Which file, and what is wrong with it.
    pub why: String,
}

impl Job {
    /// How long it has been running, or ran. `None` where that is not known: of a lost job, and where a clock was
    /// set back.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        let end = match self.state {
            JobState::Running => SystemTime::now(),
            _ => self.ended?,
        };
        end.duration_since(self.created).ok()
    }
}

/// `request.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestFile {
    pub(super) tool: String,
    pub(super) created_ms: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_of_agent: bool,
}

fn is_operator(caller: &Caller) -> bool {
    *caller == Caller::Operator
}

/// Writes the caller of a job, which is an agent where it is written at all.
fn caller<S: Serializer>(_: &Caller, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str("agent")
}

/// `status.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StatusFile {
    pub(super) worker_pid: Option<u32>,
    pub(super) progress: Option<ProgressPart>,
    pub(super) dropped_bytes: u64,
    pub(super) ended_ms: Option<u64>,
    pub(super) exit_code: Option<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProgressPart {
    pub(super) progress: f64,
    pub(super) detail: String,
    pub(super) at_ms: u64,
}

impl JobStore {
    /// Reads a job from its files.
    pub(super) fn read(&self, id: &JobId) -> Result<Job, JobError> {
        if !self.has(id) {
            return Err(JobError::NotFound { id: id.to_string() });
        }
        // First: a worker writes the result before it releases the lock, so a lock that is free here means that
        // the result is there below, or that none will come.
        let lock = self.lock_file(id)?;
        let is_kept = disk::is_locked(&lock).map_err(|err| unusable(id, names::LOCK, &err))?;
        let request: RequestFile = self.state_file(id, names::REQUEST)?;
        let result = self.path(id, names::RESULT);
        let state = match fs::symlink_metadata(&result) {
            Ok(it) if it.is_file() => JobState::Ended,
            _ if is_kept => JobState::Running,
            _ => JobState::Lost,
        };
        let (status, problem) = match self.state_file::<StatusFile>(id, names::STATUS) {
            Ok(status) => (status, None),
            // It was removed since, or no worker has written one yet.
            Err(JobError::NotFound { .. }) => (StatusFile::default(), None),
            Err(JobError::Unusable { why, .. }) => (StatusFile::default(), Some(why)),
            Err(err) => return Err(err),
        };
        let is_ended = state == JobState::Ended;
        let ended = status.ended_ms.map(clock::from_millis).or_else(|| disk::modified(&result));
        Ok(Job {
            id: id.clone(),
            tool: request.tool,
            caller: if request.is_of_agent { Caller::Agent } else { Caller::Operator },
            state,
            created: clock::from_millis(request.created_ms),
            worker_pid: status.worker_pid,
            progress: status.progress.map(|it| JobProgress {
                progress: it.progress.clamp(0.0, 1.0),
                detail: it.detail,
                at: clock::from_millis(it.at_ms),
            }),
            ended: ended.filter(|_| is_ended),
            exit_code: status.exit_code.filter(|_| is_ended),
            dropped_bytes: status.dropped_bytes,
            problem,
        })
    }

    /// Reads one of a job's JSON files. One that is not there is [`JobError::NotFound`] for the status, which may
    /// come later, and unusable for the others.
    fn state_file<T: for<'de> Deserialize<'de>>(
        &self,
        id: &JobId,
        name: &str,
    ) -> Result<T, JobError> {
        let bytes = match disk::read(&self.path(id, name), MAX_STATE_BYTES) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                let is_later = name == names::STATUS || !self.has(id);
                return Err(match is_later {
                    true => JobError::NotFound { id: id.to_string() },
                    false => unusable(id, name, &"it is missing"),
                });
            }
            read => read.map_err(|err| unusable(id, name, &err))?,
        };
        serde_json::from_slice(&bytes).map_err(|err| unusable(id, name, &err))
    }
}
