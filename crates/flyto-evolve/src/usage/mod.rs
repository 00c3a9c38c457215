//! What is known of calls that were made, and what follows from it: quarantine, decay, advice, hints.
//!
//! All of it is rules over numbers; no model decides what is set aside. Nothing is ever removed: a tool that is set aside is
//! an archived version, which one call restores.

mod decay;
mod hint;

use std::{collections::BTreeMap, time::Duration};

use flyto_tools::{Failure, ToolResult};
use serde::{Deserialize, Serialize};

pub use decay::{Decay, DecayPolicy, DecayStep, UsedTool, decay};
pub use hint::{CallHints, Hint};

use crate::{RecordedStep, Replay};

/// After how many failures in a row that no input can have caused a tool is set aside, where the host says nothing else.
pub const DEFAULT_QUARANTINE_AFTER: u32 = 3;

/// The most versions of a tool of which statistics are kept; the oldest go first.
const MAX_VERSIONS: usize = 20;
/// Classes of durations: up to 1 ms, 2 ms, 4 ms, and so on; the last one holds the rest, from 2 hours on.
const N_CLASSES: usize = 24;

/// How a tool was used, by version.
pub type ToolUsage = BTreeMap<u64, Usage>;

/// How a version was used. Times of calls are kept as classes, so percentiles are upper bounds.
///
/// ```
/// use flyto_evolve::Usage;
///
/// assert_eq!(Usage::default().percentile(50), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// How many calls were made.
    pub n_calls: u64,
    /// How many of them succeeded.
    pub n_ok: u64,
    /// How many failed by the tool's own text or by an input that it cannot handle: its exit code, a signal, its time limit, a
    /// limit of size; of a composite, an output that could not be made.
    pub n_own_failures: u64,
    /// How many calls of a composite failed since a tool of its steps did. They accuse that tool, not the composite.
    pub n_step_failures: u64,
    /// How many of its own failures ran out of time.
    pub n_timed_out: u64,
    /// How many of its own failures came one after the other, up to the last call; 0 after a success.
    pub n_failures_in_a_row: u32,
    /// How many of these no input can have caused: the input was that of an approved example that succeeds, or there was
    /// none and the schema names no parameter. They set a tool aside.
    pub n_certain_in_a_row: u32,
    /// When it was called last, in RFC 3339.
    pub last_used: String,
    /// What kind of failure the last one was, such as `exit code 3`. What the tool printed is not kept.
    pub last_failure: Option<String>,
    /// How many calls took up to 1, 2, 4, 8 … milliseconds.
    pub ms: Vec<u64>,
}

impl Usage {
    /// The time below which this share of the calls stayed, in percent, rounded up to the next power of two milliseconds.
    /// `None` without a call.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let n: u64 = self.ms.iter().sum();
        let wanted = (n * percent.min(100)).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.ms.iter().position(|it| {
            seen += it;
            seen >= wanted
        })?;
        Some(Duration::from_millis(1 << at))
    }

    /// Whether so many calls failed in a row that its author should look at it: 3 or more. It can be called all the same, for
    /// the inputs may have been the reason.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.n_failures_in_a_row >= DEFAULT_QUARANTINE_AFTER
    }

    /// How many calls failed by what a version can mend: its own text, or what it has its steps do.
    fn n_failed(&self) -> u64 {
        self.n_own_failures + self.n_step_failures
    }
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) result: ToolResult,
    /// The calls that it made; `None` where they have more bytes than were to be kept.
    pub(crate) steps: Option<Vec<RecordedStep>>,
    pub(crate) fault: Fault,
}

/// One call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallUse {
    pub(crate) tool: String,
    pub(crate) version: u64,
    pub(crate) failure: Option<Failure>,
    pub(crate) fault: Fault,
    /// No input can have been the reason for a failure of its own.
    pub(crate) is_certain: bool,
    pub(crate) wall: Duration,
    pub(crate) at: String,
}

/// What the failure of a call accuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing that a version can mend: the call succeeded, or the input, a rule, the caller or the machine was the reason.
    None,
    /// The text of the tool, or an input that it cannot handle.
    Own,
    /// A tool that a step of the composite called.
    Step,
}

/// What bash says of a command that cannot be run, and of one that is not there (bash(1), "Exit Status").
const NOT_ON_THIS_MACHINE: [i32; 2] = [126, 127];

/// What the failure of a script or a command accuses. A time limit that its caller set says nothing about the text, and
/// neither does a program that the machine lacks.
pub(crate) fn fault_of(failure: Option<&Failure>, is_callers_deadline: bool) -> Fault {
    match failure {
        Some(Failure::TimedOut { .. }) if is_callers_deadline => Fault::None,
        Some(Failure::ExitCode { code }) if NOT_ON_THIS_MACHINE.contains(code) => Fault::None,
        Some(failure) if is_of_tool(failure) => Fault::Own,
        _ => Fault::None,
    }
}

/// Whether a failure is a fault of the tool that was called, and not of its caller or the machine.
pub(crate) fn is_of_tool(failure: &Failure) -> bool {
    match failure {
        Failure::ExitCode { .. }
        | Failure::Signal { .. }
        | Failure::TimedOut { .. }
        | Failure::Limit { .. }
        | Failure::BadOutput
        | Failure::Panicked
        | Failure::Reported { .. } => true,
        Failure::BadInput
        | Failure::Cancelled
        | Failure::Denied
        | Failure::Environment { .. }
        | Failure::NotStarted
        | Failure::Lost => false,
        // A kind that is not known accuses no tool.
        _ => false,
    }
}

/// Adds a call to the statistics.
pub(crate) fn add(all: &mut BTreeMap<String, ToolUsage>, call: &CallUse) {
    let versions = all.entry(call.tool.clone()).or_default();
    let it = versions.entry(call.version).or_default();
    it.n_calls += 1;
    it.last_used.clone_from(&call.at);
    it.ms.resize(N_CLASSES, 0);
    let ms = u64::try_from(call.wall.as_millis()).unwrap_or(u64::MAX);
    // The first class has everything up to 1 ms.
    let class = (u64::BITS - ms.saturating_sub(1).leading_zeros()) as usize;
    it.ms[class.min(N_CLASSES - 1)] += 1;
    match &call.failure {
        None => {
            it.n_ok += 1;
            it.n_failures_in_a_row = 0;
            it.n_certain_in_a_row = 0;
        }
        Some(failure) => {
            it.last_failure = Some(failure.to_string());
            match call.fault {
                Fault::Own => {
                    it.n_own_failures += 1;
                    it.n_failures_in_a_row += 1;
                    it.n_certain_in_a_row += u32::from(call.is_certain);
                    it.n_timed_out += u64::from(matches!(failure, Failure::TimedOut { .. }));
                }
                Fault::Step => it.n_step_failures += 1,
                Fault::None => {}
            }
        }
    }
    while versions.len() > MAX_VERSIONS {
        versions.pop_first();
    }
}

/// Whether a rollback should be looked at: the last version fails more than twice as often as the one before, over at
/// least 5 calls of each. Failures of step tools count: both versions called them. Gives both numbers of the versions, the last one first.
///
/// ```
/// use flyto_evolve::{ToolUsage, Usage, rollback_advice};
///
/// let used = |n_calls, n_own_failures| {
///     let mut res = Usage::default();
///     (res.n_calls, res.n_own_failures) = (n_calls, n_own_failures);
///     res
/// };
/// let usage: ToolUsage = [(6, used(10, 0)), (7, used(10, 4))].into_iter().collect();
/// assert_eq!(rollback_advice(&usage), Some((7, 6)));
/// ```
#[must_use]
pub fn rollback_advice(usage: &ToolUsage) -> Option<(u64, u64)> {
    let mut last = usage.iter().rev().filter(|it| it.1.n_calls >= 5);
    let ((new, now), (old, before)) = (last.next()?, last.next()?);
    let (now_failed, before_failed) = (now.n_failed(), before.n_failed());
    // a / b > 2 c / d, without a division.
    let is_worse = now_failed * before.n_calls > 2 * before_failed * now.n_calls;
    (is_worse && now_failed >= 2).then_some((*new, *old))
}

/// Why an earlier version of a tool should be looked at, and what it would have delivered.
///
/// It is advice for a person: nothing is rolled back by it. `Display` shows it as text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RollbackAdvice {
    /// The name of the tool.
    pub tool: String,
    /// The version that fails more often.
    pub from: u64,
    /// The version before it.
    pub to: u64,
    /// How the one was used.
    pub usage_from: Usage,
    /// How the other was used.
    pub usage_to: Usage,
    /// What the earlier version delivers for recorded calls; no calls where none were recorded.
    pub replay: Replay,
}

impl std::fmt::Display for RollbackAdvice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tool, from, to, usage_from, usage_to, replay } = self;
        let share = |it: &Usage| format!("{} of {} calls failed", it.n_failed(), it.n_calls);
        writeln!(f, "{tool} version {from}: {}", share(usage_from))?;
        writeln!(f, "{tool} version {to}: {}", share(usage_to))?;
        write!(f, "{replay}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(failure: Option<Failure>, ms: u64) -> CallUse {
        CallUse {
            tool: "t".into(),
            version: 1,
            fault: fault_of(failure.as_ref(), false),
            failure,
            is_certain: false,
            wall: Duration::from_millis(ms),
            at: "2026-01-01T00:00:00Z".into(),
        }
    }

    #[test]
    fn failures_of_the_caller_accuse_no_tool() {
        let mut all = BTreeMap::new();
        let missing_program = Failure::exit_code(127);
        for failure in [
            Failure::exit_code(1),
            Failure::BadInput,
            Failure::Cancelled,
            Failure::Denied,
            missing_program,
        ] {
            add(&mut all, &call(Some(failure), 3));
        }
        let it = &all["t"][&1];
        assert_eq!((it.n_calls, it.n_own_failures, it.n_failures_in_a_row), (5, 1, 1));
        let timed_out = Failure::TimedOut { after: None };
        assert_eq!(fault_of(Some(&timed_out), true), Fault::None);
        assert_eq!(fault_of(Some(&timed_out), false), Fault::Own);
        add(&mut all, &call(None, 3));
        assert_eq!((all["t"][&1].n_ok, all["t"][&1].n_failures_in_a_row), (1, 0));
    }

    #[test]
    fn a_failure_that_an_input_may_have_caused_is_not_certain() {
        let mut all = BTreeMap::new();
        let failed = |is_certain| CallUse { is_certain, ..call(Some(Failure::exit_code(1)), 3) };
        let rows = [(true, 1, 1), (false, 2, 1), (true, 3, 2)];
        for (is_certain, in_a_row, certain) in rows {
            add(&mut all, &failed(is_certain));
            let it = &all["t"][&1];
            assert_eq!((it.n_failures_in_a_row, it.n_certain_in_a_row), (in_a_row, certain));
        }
        assert!(all["t"][&1].is_failing());
        add(&mut all, &call(None, 3));
        let it = &all["t"][&1];
        assert_eq!((it.n_failures_in_a_row, it.n_certain_in_a_row, it.is_failing()), (0, 0, false));
    }

    #[test]
    fn percentiles_are_upper_bounds() {
        let mut all = BTreeMap::new();
        for ms in [0, 1, 3, 100, u64::MAX / 1_000_000] {
            add(&mut all, &call(None, ms));
        }
        let it = &all["t"][&1];
        let of = |percent| it.percentile(percent).unwrap().as_millis();
        assert_eq!((of(0), of(40), of(60), of(80)), (1, 1, 4, 128));
        assert_eq!(of(100), 1 << (N_CLASSES - 1));
    }

    #[test]
    fn a_version_that_fails_more_often_is_told() {
        let with = |n_calls, n_own_failures| Usage { n_calls, n_own_failures, ..Usage::default() };
        let of = |a, b| rollback_advice(&[(6, a), (7, b)].into_iter().collect());
        assert_eq!(of(with(10, 0), with(10, 2)), Some((7, 6)));
        assert_eq!(of(with(10, 1), with(10, 2)), None);
        assert_eq!(of(with(10, 0), with(4, 4)), None);
        assert_eq!(of(with(10, 0), with(10, 1)), None);
    }
}
