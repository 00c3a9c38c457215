//! The calls that a composite made, as a record keeps them.

use super::value::n_bytes;
use crate::RecordedStep;

/// Calls that are kept for a record, within a bound on their bytes.
#[derive(Debug)]
pub(super) struct Kept {
    calls: Vec<RecordedStep>,
    left: usize,
    /// Whether the bound was reached: what is kept is not all then.
    is_over: bool,
}

impl Kept {
    /// Nothing yet, and room for so many bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { calls: Vec::new(), left: max_bytes, is_over: false }
    }

    /// Keeps one more call. Beyond the bound all are let go, since half of a call cannot be run
    /// again.
    pub(super) fn push(&mut self, call: RecordedStep) {
        let n = call.text.len() + n_bytes(&call.input) + call.output.as_ref().map_or(0, n_bytes);
        match self.left.checked_sub(n).filter(|_| !self.is_over) {
            Some(left) => {
                self.left = left;
                self.calls.push(call);
            }
            None => {
                self.is_over = true;
                self.calls.clear();
            }
        }
    }

    /// All calls, or `None` where the bound was reached.
    pub(super) fn into_calls(self) -> Option<Vec<RecordedStep>> {
        (!self.is_over).then_some(self.calls)
    }
}
