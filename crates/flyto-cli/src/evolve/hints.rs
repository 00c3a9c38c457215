//! The stage that tells a model where a tool would help.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use flyto_evolve::{CallHints, Hint};
use flyto_host::stages::{Call, Next, Stage, StageResult};
use flyto_tools::{Origin, Owner};

use super::OWNER;

/// The longest input that is compared with others, in bytes: a longer one is no repetition that a model would miss.
const MAX_INPUT_BYTES: usize = 4096;

/// The longest shape that is told, in bytes. A longer one is cut: a model has its own calls before it.
const MAX_SHAPE_BYTES: usize = 400;

/// Adds a hint to the result of a call that was made in one shape again and again.
///
/// It stands behind the stage that truncates results, so that a hint is neither cut nor counted.
#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<CallHints>);

impl Hints {
    /// What is to be told; `None` for a call that no tool would replace: one that failed, that a tool made, or of a tool
    /// that is there for the making of tools or was made so.
    fn hint(&self, call: &Call) -> Option<Hint> {
        let (entry, result) = (call.entry(), call.result()?);
        let is_evolved = matches!(entry.tool().metadata().origin, Origin::Evolved { .. });
        let is_of_evolve = is_evolved || *entry.owner() == Owner::new(OWNER);
        let is_long = call.input().as_str().len() > MAX_INPUT_BYTES;
        if is_of_evolve || is_long || call.prepared().parent().is_some() || result.is_error() {
            return None;
        }
        let mut hints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hint = hints.observe(entry.id().as_str(), call.input().value())?;
        if hint.shape.len() > MAX_SHAPE_BYTES {
            hint.shape.truncate(hint.shape.floor_char_boundary(MAX_SHAPE_BYTES));
            hint.shape.push('…');
        }
        Some(hint)
    }
}

#[async_trait]
impl Stage for Hints {
    fn name(&self) -> &str {
        "hints"
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if let Some(hint) = self.hint(call)
            && let Some(mut result) = call.take_result()
        {
            let break_before = if result.output.ends_with('\n') { "" } else { "\n" };
            result.output.push_str(&format!("{break_before}[hint: {hint}]\n"));
            call.set_result(result);
        }
        next.run(call).await
    }
}
