//! What becomes of a call, and its words.
//!
//! [`Answer`] is what happened, as the task and the caller tell it. [`Called`] adds the measures
//! of the call, and is the one place that turns it into a result and its text.

use std::{sync::Arc, time::Duration};

use flyto_execenv::ExecError;
use flyto_program::{time_text, tool_error_kind};
use flyto_tools::{Execution, Failure, ToolError, ToolErrorKind, ToolResult};

use super::{lines::LONGEST_LINE_BYTES, tail::Tail};
use crate::{
    environment::Unresolved,
    result::{self, Declares},
    rpc::{
        frame::{self, Output, RpcError},
        reply,
    },
};

/// Where the streams of the process were when a call reached it.
/// Bytes since the session began, over all its processes; of stdout only lines that are no
/// messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Since {
    pub(super) stdout: u64,
    pub(super) stderr: u64,
}

/// Why there is no process.
///
/// Cloned for each caller that waits for the process.
#[derive(Clone, Debug)]
pub(crate) enum NoProcess {
    /// A declared variable has no value.
    Unresolved(Arc<Unresolved>),
    /// It could not be started, or may not be.
    Failed(Arc<ExecError>),
    /// The host is being closed.
    Closed,
}

/// What a caller is told.
/// The first three are from the plugin; any of them shows that it is at work.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The plugin's.
    Reply(Result<Output, RpcError>),
    /// The plugin's, which is none; why.
    Malformed(String),
    /// The plugin's, which is too long to be read.
    TooLong { bytes: u64 },
    /// The process ended first.
    Died(Arc<ProcessExit>),
    /// Nothing was started.
    NotStarted(NoProcess),
    /// The runtime on which the session lived is gone.
    Lost,
    /// The caller's time was over.
    TimedOut(GivenUp),
    /// The caller took it back.
    Cancelled(GivenUp),
}

/// A call that was not waited for any longer.
///
/// The texts are of the time from when the process got the call.
#[derive(Debug)]
pub(crate) struct GivenUp {
    /// For a timeout the time that was given, for a cancellation the time that went by.
    pub(super) after: Duration,
    /// What it waited for, where that was not the plugin's work on it.
    pub(super) held_up_by: Option<String>,
    /// What stdout had beside messages.
    pub(super) stdout: String,
    /// What stderr had.
    pub(super) stderr: String,
}

/// How a process ended.
///
/// Shared by all calls that it failed; each shows its own part of the streams.
#[derive(Debug)]
pub(crate) struct ProcessExit {
    /// In words, such as `the session ended: exit code 3`.
    pub(super) why: String,
    /// The failure of each call that was in flight.
    pub(super) failure: Failure,
    /// What stdout had beside messages.
    pub(super) stdout: Tail,
    pub(super) stderr: Tail,
    /// Whether we ended it for reasons of our own.
    /// Then it is no crash, and the next start does not wait.
    pub(super) was_asked_for: bool,
    /// Whether it ended otherwise than with code 0.
    pub(super) is_failure: bool,
    /// Whether everything that it started is known to be gone.
    pub(super) is_confirmed: bool,
    /// How it was run.
    pub(super) execution: Option<Arc<Execution>>,
}

impl Answer {
    /// Whether the plugin gave it, in whatever shape.
    pub(super) fn is_the_plugins(&self) -> bool {
        matches!(self, Self::Reply(_) | Self::Malformed(_) | Self::TooLong { .. })
    }

    /// Whether it is the plugin's output.
    pub(super) fn is_output(&self) -> bool {
        matches!(self, Self::Reply(Ok(_)))
    }
}

/// A call of a session, and what came of it.
///
/// Made by [`Session::call`](super::Session::call).
#[derive(Debug)]
pub(crate) struct Called {
    pub(super) answer: Answer,
    /// How the process was run; `None` where there was none.
    pub(super) execution: Option<Arc<Execution>>,
    /// From the call to its answer.
    pub(super) wall: Duration,
    /// What the process printed before is not of this call.
    pub(super) since: Since,
}

impl Called {
    /// The result of the tool `name`.
    /// `declares` is what the tool says of its results.
    ///
    /// # Errors
    ///
    /// [`ToolError`] when no process could be started, or the sessions are closed. Everything
    /// else is a result, also a variable that is not set.
    pub(crate) fn into_result(
        self,
        name: &str,
        declares: Declares,
    ) -> Result<ToolResult, ToolError> {
        let Self { answer, execution, wall, since } = self;
        let mut res = match answer {
            Answer::Reply(outcome) => reply::result(name, outcome, declares),
            Answer::Malformed(why) => reply::bad(name, &why),
            Answer::TooLong { bytes } => reply::bad(
                name,
                &format!(
                    "the answer has {bytes} bytes, more than the {LONGEST_LINE_BYTES} of the longest \
                     line that is read"
                ),
            ),
            Answer::Died(process_exit) => died(name, &process_exit, since),
            Answer::NotStarted(NoProcess::Unresolved(err)) => result::unresolved(name, &err)?,
            Answer::NotStarted(NoProcess::Failed(err)) => {
                let what = format!("plugin tool {name:?} exec failed");
                return Err(ToolError::new(tool_error_kind(err.kind()), what).with_source(err));
            }
            Answer::NotStarted(NoProcess::Closed) => {
                let what = format!("plugin tool {name:?}: the sessions of plugins are closed");
                return Err(ToolError::new(ToolErrorKind::Cancelled, what));
            }
            Answer::Lost => {
                let text = format!("plugin tool {name:?}: the session went with its runtime");
                ToolResult::failed(Failure::Lost, text)
            }
            Answer::TimedOut(it) => {
                let first = format!("plugin tool {name:?} timed out after {}", time_text(it.after));
                let failure = Failure::TimedOut { after: Some(it.after) };
                it.in_words(failure, first)
            }
            Answer::Cancelled(it) => {
                let first = format!("plugin tool {name:?} cancelled after {}", time_text(it.after));
                it.in_words(Failure::Cancelled, first)
            }
        };
        if let Some(execution) = execution {
            let mut execution = Execution::clone(&execution);
            execution.wall = wall;
            execution.stdout_bytes = res.output.len() as u64;
            res.execution = Some(execution);
        }
        Ok(res)
    }
}

/// The result of a call whose process ended.
fn died(name: &str, process_exit: &ProcessExit, since: Since) -> ToolResult {
    let mut text = format!("plugin tool {name:?}: {}", process_exit.why);
    beside_messages(&mut text, &process_exit.stdout.text_since(since.stdout));
    text.push_str("\nstderr: ");
    text.push_str(&process_exit.stderr.text_since(since.stderr));
    ToolResult::failed(process_exit.failure.clone(), text)
}

/// Appends what stdout had that was no message, and what it may have been meant as.
/// Nothing where stdout had nothing else.
fn beside_messages(text: &mut String, stdout: &str) {
    if stdout.is_empty() {
        return;
    }
    if let Some(near) = frame::near_miss(stdout.as_bytes()) {
        text.push_str("\nno answer: ");
        text.push_str(near);
    }
    text.push_str("\nstdout: ");
    text.push_str(stdout);
}

impl GivenUp {
    /// The text: one line, then what held the call up, stdout beside messages, and stderr.
    fn in_words(&self, failure: Failure, mut text: String) -> ToolResult {
        if let Some(why) = &self.held_up_by {
            text.push_str("\nsession: ");
            text.push_str(why);
        }
        beside_messages(&mut text, &self.stdout);
        text.push_str("\nstderr: ");
        text.push_str(&self.stderr);
        ToolResult::failed(failure, text)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(stdout: &str, expect: Expect) {
        let mut text = "why".to_owned();
        beside_messages(&mut text, stdout);
        expect.assert_eq(&text.replace('\u{feff}', "MARK"));
    }

    #[test]
    fn what_is_nearly_an_answer_is_explained() {
        check("", expect!["why"]);
        check(
            "log\n",
            expect![[r#"
            why
            stdout: log
        "#]],
        );
        let answer = r#"{"jsonrpc":"2.0","id":3,"result":{"output":"x"}}"#;
        check(
            &format!("log\n[{answer}]\n"),
            expect![[r#"
            why
            no answer: the answer stands in an array, which is a batch; a call is one request, and its answer is the object itself
            stdout: log
            [{"jsonrpc":"2.0","id":3,"result":{"output":"x"}}]
        "#]],
        );
        check(
            &format!("\u{feff}{answer}\n"),
            expect![[r#"
            why
            no answer: a byte order mark stands in front of the answer, and JSON has none; print UTF-8 without it
            stdout: MARK{"jsonrpc":"2.0","id":3,"result":{"output":"x"}}
        "#]],
        );
    }
}
