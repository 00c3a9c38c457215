//! What became of the steps of one call.

use serde::Serialize;
use serde_json::Value;

use super::{
    MAX_VALUE_BYTES,
    run::{Run, StepEnd},
};

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepStatus {
    /// It ran to its end, and every item of it.
    Done,
    /// It failed.
    Failed,
    /// Its condition did not hold.
    Skipped,
    /// It was not started, since another step failed or the call was over.
    NotRun,
    /// It was running when the call was over, and did not end within the 2 seconds that it was given.
    Abandoned,
}

/// One step of a call: part of the data of a result that is an error.
///
/// As JSON, `status` is `done`, `failed`, `skipped`, `not_run` or `abandoned`, and what is not
/// there is left out:
///
/// ```
/// use flyto_evolve::{StepReport, StepStatus};
///
/// fn slowest(steps: &[StepReport]) -> Option<&StepReport> {
///     steps.iter().filter(|it| it.status == StepStatus::Done).max_by_key(|it| it.duration_ms)
/// }
/// assert!(slowest(&[]).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepReport {
    /// The id of the step.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What became of it.
    pub status: StepStatus,
    /// How long it took, retries and waiting between them included.
    pub duration_ms: u64,
    /// How many calls were made for it, retries included.
    pub n_calls: usize,
    /// What it gave; the results of the items in their order where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What was taken back, in the order in which that was tried: the last call that was completed comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UndoReport {
    /// Steps whose undo ran to its end; `each[2]` is the third item of the step `each`.
    pub undone: Vec<String>,
    /// Steps whose undo failed, each with the reason. The others were tried all the same.
    pub failed: Vec<(String, String)>,
    /// Completed steps that declare no undo.
    pub not_undoable: Vec<String>,
}

impl Run<'_> {
    /// One report for each step, in the written order. A step that was started and has no end was
    /// dropped: it is abandoned. Outputs have 1 MiB together, and what comes beyond is left out and
    /// says so.
    pub(super) fn reports(&self, started: &[bool], ends: Vec<Option<StepEnd>>) -> Vec<StepReport> {
        let mut left = MAX_VALUE_BYTES;
        let steps = self.composite.steps.iter().zip(ends).zip(started);
        steps
            .map(|((step, end), was_started)| {
                let mut report = StepReport {
                    id: step.id.clone(),
                    tool: step.tool.clone(),
                    status: if *was_started { StepStatus::Abandoned } else { StepStatus::NotRun },
                    duration_ms: 0,
                    n_calls: 0,
                    output: None,
                    why: None,
                };
                if let Some(end) = end {
                    report.status = end.status;
                    report.duration_ms = u64::try_from(end.wall.as_millis()).unwrap_or(u64::MAX);
                    report.n_calls = end.n_calls;
                    report.why = end.why;
                    let shown = end.value.as_ref().and_then(|it| it.shown(left));
                    report.output = shown.map(|it| match it {
                        Ok((output, n_bytes)) => {
                            left -= n_bytes;
                            output
                        }
                        Err(()) => "[left out: the results are too long together]".into(),
                    });
                }
                report
            })
            .collect()
    }
}
