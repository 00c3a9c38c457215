//! What another version of a tool would have delivered: recorded calls, run again.
//!
//! A script or a command runs without network and with a file system of its own; a composite gets the recorded results of
//! its steps, and calls no tool. Both the version that was recorded and the other one run that way. Where the recorded
//! version does not give what was recorded, the call depends on something that cannot be had again, and nothing is said about
//! the other version. Equal means: without network, variables and files of the host, and [`Replay::beyond`] says whether the
//! text may use such. Nor is anything said where the other version delivers
//! something else and that may be the confinement's doing: it meets a bound of the replay, gives something else each time, or
//! its text has more than builtins and filters of its input, which may use the network, variables or files.

mod difference;
mod render;

use serde::Serialize;
use serde_json::Value;

pub use difference::{Difference, DifferenceKind, differences};

use crate::{DefinitionHash, Delivered};

/// The most differences that are told of one call.
pub const MAX_DIFFERENCES: usize = 50;

/// How another version of a tool compares with what was recorded, call by call.
///
/// It serialises, and `Display` shows it as text for a terminal, with hidden characters made visible.
/// [`ToolBuilder::replay`](crate::ToolBuilder::replay) makes one. What is in it of inputs and outputs went through the secret
/// guard.
///
/// ```
/// use flyto_evolve::{CallRecording, HostContext, Store, ToolBuilder, ToolDefinition};
/// # use flyto_evolve::{Approval, Change, NewVersion};
/// use flyto_execenv::{Environment, ExecEnv, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// # let def = ToolDefinition::script("now", "The time.", "date\n");
/// # let approval = Approval::now("ada", def.hash());
/// # store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
/// let host = HostContext::new(Environment::ambient(), "/tmp");
/// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default())
///     .record_calls(CallRecording::default())
///     .build();
/// let replay = builder.replay("now", 1, 20).await?;
/// assert_eq!(replay.to_string(), "version 1 over 0 recorded calls: 0 equal, 0 different, 0 not reproduced\n");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// The name of the tool.
    pub tool: String,
    /// The version that was run; `None` for a proposal, which has no number yet.
    pub version: Option<u64>,
    /// The hash of the definition that was run.
    pub sha256: DefinitionHash,
    /// What the text may use that a replay does not have, for people: with it, calls that are equal here may differ. `None` for a
    /// composite, and for a text of builtins and filters of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
    /// How many recorded calls were left out, since their files cannot be read: they are torn, say. Newer ones only, where more
    /// were recorded than were asked for.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_unreadable: usize,
    /// One entry for each recorded call, the oldest first; at most [`MAX_RECORDED_CALLS`](crate::MAX_RECORDED_CALLS).
    pub calls: Vec<ReplayedCall>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// One recorded call, and what the other version made of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReplayedCall {
    /// The name of the record in the store.
    pub id: String,
    /// When the recorded call ended, in RFC 3339.
    pub at: String,
    /// The version that was recorded.
    pub version: u64,
    /// The input of the call.
    pub input: Value,
    /// What came of running it again.
    pub outcome: ReplayOutcome,
}

/// What came of running a recorded call again.
///
/// ```
/// use flyto_evolve::{Replay, ReplayOutcome};
///
/// /// Whether a person should look at the calls before the version is approved.
/// fn wants_a_look(replay: &Replay) -> bool {
///     replay.calls.iter().any(|it| !matches!(it.outcome, ReplayOutcome::Equal))
/// }
/// # let _ = wants_a_look;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
#[non_exhaustive]
pub enum ReplayOutcome {
    /// Both versions deliver the same, as a replay runs them: see [`Replay::beyond`].
    Equal,
    /// They deliver something else.
    Different {
        /// Where, at most [`MAX_DIFFERENCES`] places.
        differences: Vec<Difference>,
    },
    /// Nothing can be said about the other version:
    ///
    /// - the record is not whole, or the recorded call did not run to its end;
    /// - both deliver the same but for a secret, which was taken out before it was compared;
    /// - the recorded version gives something else when it runs again;
    /// - the other version differs, and met a bound of the replay: 10 s, 1 MiB of output, 512 MiB of memory;
    /// - it differs, and gives something else each time that it runs;
    /// - it differs, and its text has more than builtins and filters of its input: it may use the network, variables of the
    ///   host or files that a confined run does not have;
    /// - nothing confines a program on this machine.
    NotReproduced {
        /// What could not be had again, in one sentence.
        why: String,
    },
}

/// How many calls came out which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplayCounts {
    /// Calls for which both versions deliver the same.
    pub n_equal: usize,
    /// Calls for which they differ.
    pub n_different: usize,
    /// Calls that could not be reproduced.
    pub n_not_reproduced: usize,
}

impl Replay {
    /// Whether it says nothing, since no call was recorded. A record that cannot be read is one all the same.
    ///
    /// ```
    /// use flyto_evolve::Replay;
    ///
    /// /// What a program says beside the replay.
    /// fn remark(replay: &Replay) -> Option<&'static str> {
    ///     replay.is_empty().then_some("no call of this tool was recorded")
    /// }
    /// # let _ = remark;
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.n_unreadable == 0
    }

    /// How many calls came out which way.
    ///
    /// ```
    /// use flyto_evolve::Replay;
    ///
    /// /// Whether each call that can be run again delivers the same, and there is one.
    /// fn speaks_for_it(replay: &Replay) -> bool {
    ///     let counts = replay.counts();
    ///     counts.n_equal > 0 && counts.n_different == 0
    /// }
    /// # let _ = speaks_for_it;
    /// ```
    #[must_use]
    pub fn counts(&self) -> ReplayCounts {
        let mut res = ReplayCounts::default();
        for it in &self.calls {
            match it.outcome {
                ReplayOutcome::Equal => res.n_equal += 1,
                ReplayOutcome::Different { .. } => res.n_different += 1,
                ReplayOutcome::NotReproduced { .. } => res.n_not_reproduced += 1,
            }
        }
        res
    }
}

impl Delivered {
    /// What is compared: `/output` is the data, the JSON that the text is, or the text; `/failure` is why the call failed. How
    /// long steps took and how often they were tried is no part of it.
    ///
    /// ```
    /// use flyto_evolve::Delivered;
    /// use serde_json::json;
    ///
    /// let mut delivered = Delivered::default();
    /// delivered.text = r#"{"n": 1}"#.into();
    /// assert_eq!(delivered.to_value(), json!({"output": {"n": 1}}));
    /// ```
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut output = match &self.data {
            Some(data) => data.clone(),
            None => {
                let looks_so = self.text.trim_start().starts_with(['{', '[']);
                let parsed = looks_so.then(|| serde_json::from_str(&self.text).ok()).flatten();
                parsed.unwrap_or_else(|| self.text.as_str().into())
            }
        };
        let steps = self.failure.as_ref().and_then(|_| output.get_mut("steps")?.as_array_mut());
        for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
            step.remove("duration_ms");
            step.remove("n_calls");
        }
        let mut res = serde_json::json!({ "output": output });
        if let Some(failure) = &self.failure {
            res["failure"] = failure.to_string().into();
        }
        res
    }
}
