//! Taking back what a call completed.
//!
//! An undo is a call of a tool like any other: it goes through the rules, is recorded with the id of the composite as its parent, and
//! may be asked about. It has a time of its own, and no cancellation, since what began it may be the end of both.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use flyto_tools::{CancellationToken, Failure, Input};

use super::{
    UndoReport,
    outcome::{abandoned, why_failed},
    run::{Completed, Run, in_time},
};
use crate::RecordedStep;

/// How long all undo steps of a call may take together.
const UNDO_TIME: Duration = Duration::from_secs(60);

/// What an undo leaves to each one behind it, so that one that hangs does not cost the others.
const KEPT_TIME: Duration = Duration::from_secs(5);

impl Run<'_> {
    /// What ran to its end and declares an undo, the last first, under the names of [`UndoReport::undone`]. After
    /// [`undo`](Self::undo), nothing is left.
    pub(super) fn left_done(&self) -> Vec<String> {
        let completed = self.completed.lock().unwrap_or_else(PoisonError::into_inner);
        let undoable =
            completed.iter().rev().filter(|it| self.composite.steps[it.step].undo.is_some());
        undoable.map(|it| self.name_of(it)).collect()
    }

    /// The id of a step, and which item of it was called: `each[2]`.
    fn name_of(&self, completed: &Completed) -> String {
        let id = &self.composite.steps[completed.step].id;
        match completed.item {
            Some(index) => format!("{id}[{index}]"),
            None => id.clone(),
        }
    }

    /// Takes back what was completed, the last first. One that fails keeps no other from being tried.
    ///
    /// One undo runs after the other, in the reverse order of completion, each with the values that
    /// its step saw and its own output. They have [`UNDO_TIME`] together, which neither the
    /// cancellation nor the deadline of the call shortens. A step without `undo`, and one whose
    /// undo fails, is told; the others are tried all the same.
    pub(super) async fn undo(&self) -> UndoReport {
        let completed =
            std::mem::take(&mut *self.completed.lock().unwrap_or_else(PoisonError::into_inner));
        let mut res = UndoReport::default();
        // A call around this one whose time is over as well waits for it.
        let _undoing = self.ctx.undoing();
        // The call may be cancelled, and its time over; what is taken back has its own.
        let ctx = self.inner.clone().with_cancellation(CancellationToken::new()).without_deadline();
        let ctx = ctx.with_time_limit(UNDO_TIME);
        let mut has_hung = false;
        let mut n_left = completed.iter().filter(|it| it.undo.is_some()).count();
        for it in completed.into_iter().rev() {
            let (name, step) = (self.name_of(&it), &self.composite.steps[it.step]);
            let (Some(undo), Some(input)) = (&step.undo, it.undo) else {
                res.not_undoable.push(name);
                continue;
            };
            n_left -= 1;
            let input = input.and_then(|it| Input::parse(it).map_err(|err| err.to_string()));
            let input = match input {
                Ok(input) => input,
                Err(why) => {
                    res.failed.push((name, why));
                    continue;
                }
            };
            let rest =
                ctx.deadline().map_or(UNDO_TIME, |it| it.saturating_duration_since(Instant::now()));
            let ctx = ctx.clone().with_time_limit(time_of_next(rest, n_left, has_hung));
            let called = self.called(&ctx, &undo.tool, None, input.clone());
            let called = match in_time(&ctx, called).await {
                Some(called) => called,
                None => Ok(abandoned(None)),
            };
            let failure = called.as_ref().ok().and_then(|it| it.failure.as_ref());
            has_hung |= matches!(failure, Some(Failure::TimedOut { .. }));
            self.keep(|| {
                let (text, failure) = match &called {
                    Ok(result) => (result.output.clone(), result.failure.clone()),
                    Err(err) => (err.chain(), Some(Failure::reported())),
                };
                RecordedStep {
                    step: step.id.clone(),
                    item: it.item,
                    is_undo: true,
                    tool: undo.tool.clone(),
                    input: input.value().clone(),
                    text,
                    output: None,
                    failure,
                    is_refused: called.is_err(),
                    is_truncated: false,
                }
            });
            match called.map(|it| why_failed(&it)) {
                Ok(None) => res.undone.push(name),
                Ok(Some(why)) => res.failed.push((name, why)),
                Err(err) => res.failed.push((name, err.chain())),
            }
        }
        res
    }
}

/// How long the next undo may take, of the time that is left for it and for those behind it.
///
/// It leaves [`KEPT_TIME`] to each one behind it. Where there is not enough for all, it has a quarter of what is left, and once
/// one has hung, [`KEPT_TIME`] or half of what is left: most undo steps take less, so an equal share would end steps that need
/// not end.
fn time_of_next(rest: Duration, n_behind: usize, has_hung: bool) -> Duration {
    let kept = KEPT_TIME.saturating_mul(u32::try_from(n_behind).unwrap_or(u32::MAX));
    let least = match (n_behind, has_hung) {
        (0, _) => rest,
        (_, true) => KEPT_TIME.min(rest / 2),
        (_, false) => KEPT_TIME.min(rest / 2).max(rest / 4),
    };
    rest.saturating_sub(kept).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of undo steps that all hang, each until the end of its limit, after which a process takes a moment to end.
    fn limits(n_steps: usize, moment: Duration) -> Vec<Duration> {
        let mut rest = UNDO_TIME;
        let behind = (0..n_steps).rev();
        behind
            .map(|n_behind| {
                let limit = time_of_next(rest, n_behind, n_behind + 1 < n_steps);
                rest = rest.saturating_sub(limit + moment);
                limit
            })
            .collect()
    }

    #[test]
    fn each_undo_behind_one_that_hangs_keeps_its_time() {
        for n_steps in 1..=10 {
            let limits = limits(n_steps, Duration::ZERO);
            assert!(limits.iter().all(|it| *it >= KEPT_TIME), "{limits:?}");
            assert_eq!(limits.iter().sum::<Duration>(), UNDO_TIME, "{limits:?}");
        }
        // What processes take to end is lost for the last ones alone.
        let limits = limits(6, Duration::from_millis(100));
        let limits: Vec<u128> = limits.iter().map(Duration::as_millis).collect();
        assert_eq!(limits, [35_000, 5_000, 5_000, 5_000, 4_800, 4_700]);
    }

    #[test]
    fn an_undo_before_many_has_its_time_as_well() {
        // All of them but one take no time.
        assert_eq!(time_of_next(UNDO_TIME, 999, false), UNDO_TIME / 4);
        let limits = limits(1000, Duration::ZERO);
        assert!(limits[1..9].iter().all(|it| *it == KEPT_TIME), "{limits:?}");
        assert!(limits.iter().sum::<Duration>() <= UNDO_TIME);
    }
}
