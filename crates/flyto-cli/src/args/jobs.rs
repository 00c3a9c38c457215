//! The options of `jobs`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args as Group, Subcommand};

use super::{Common, seconds};

const JOBS_HELP: &str = "\
ID is the id of a job, or the beginning of one if no other job's begins like that.

Jobs are kept for 7 days after their end, and 1,000 of them at most; those that run are never removed.";

#[derive(Debug, Group)]
#[command(after_help = JOBS_HELP)]
pub(crate) struct Jobs {
    #[command(subcommand)]
    pub(crate) what: JobsWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsWhat {
    /// Lists the jobs, the newest first
    List(JobsList),
    /// Shows a job: its tool, its state, its progress
    Status(OneJob),
    /// Prints the output of a job so far
    Output(JobsOutput),
    /// Prints the result of a job, as `call` does, and ends with the exit code of the call
    Result(JobsResult),
    /// Cancels a job, and waits until it has ended
    Cancel(OneJob),
    /// Removes jobs that have ended
    Remove(JobsRemove),
}

impl Jobs {
    pub(super) fn common(&mut self) -> &mut Common {
        match &mut self.what {
            JobsWhat::List(it) => &mut it.common,
            JobsWhat::Status(it) | JobsWhat::Cancel(it) => &mut it.common,
            JobsWhat::Output(it) => &mut it.common,
            JobsWhat::Result(it) => &mut it.common,
            JobsWhat::Remove(it) => &mut it.common,
        }
    }
}

#[derive(Debug, Group)]
pub(crate) struct JobsList {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct OneJob {
    /// The job's id
    pub(crate) id: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
What the tool prints goes to stdout, and what it says beside that to stderr, byte for byte. The first 8 MiB of each are
kept while it runs. Tools that answer in one piece print nothing here; `jobs result` has their answer.")]
pub(crate) struct JobsOutput {
    /// The job's id
    pub(crate) id: String,
    /// Goes on until the job ends
    ///
    /// With --format json, each piece is one document on a line.
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
#[command(after_help = "\
The exit code is that of the call. It is 75 where the job still runs, and 1 where it was lost: its worker was killed, or the
machine was restarted.")]
pub(crate) struct JobsResult {
    /// The job's id
    pub(crate) id: String,
    /// Waits until the job has ended
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Group)]
pub(crate) struct JobsRemove {
    /// The ids of jobs
    #[arg(value_name = "ID", required_unless_present = "ended")]
    pub(crate) ids: Vec<String>,
    /// Removes all jobs that have ended or were lost
    #[arg(long, conflicts_with = "ids")]
    pub(crate) ended: bool,
    #[command(flatten)]
    common: Common,
}

// What `call --background` starts: the process that owns the call. No doc comment, as for `Common`.
#[derive(Debug, Group)]
pub(crate) struct KeepJob {
    /// The job's id
    pub(crate) id: String,
    /// The current directory of the caller
    #[arg(long)]
    pub(crate) dir: OsString,
    #[arg(long)]
    pub(crate) sandbox: Option<String>,
    #[arg(long, value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[arg(long)]
    pub(crate) output_limit: Option<u64>,
    #[command(flatten)]
    pub(super) common: Common,
}
