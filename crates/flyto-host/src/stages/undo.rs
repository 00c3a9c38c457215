//! The stage that records how a call is taken back.

use async_trait::async_trait;
use flyto_tools::Input;

use super::{Call, Next, Stage, StageResult, names};
use crate::undo::{InverseTool, UndoStore};

/// Keeps the [`UndoInfo`](flyto_tools::UndoInfo) of results in an [`UndoStore`], under the id of the call.
///
/// What it records is in the report of the call ([`CallReport::undo`](super::CallReport::undo)), also that it could not
/// be recorded: the call took place all the same, and its result has the inverse call in any case.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordUndo {
    store: UndoStore,
}

impl RecordUndo {
    /// A stage that keeps them in this store.
    #[must_use]
    pub fn new(store: UndoStore) -> Self {
        Self { store }
    }
}

#[async_trait]
impl Stage for RecordUndo {
    fn name(&self) -> &str {
        names::UNDO
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if let Some(undo) = call.result().and_then(|it| it.undo.as_ref()) {
            let (tool, undoes) = (call.prepared.id().as_str(), call.prepared.undoes());
            let inverse = call.prepared.another(&undo.tool, Input::from_value(undo.input.clone()));
            let inverse = inverse.as_ref().map(InverseTool::of);
            let id = call.ctx.id();
            let recorded = self.store.record(id, tool, undo, undoes, inverse);
            call.undo = Some(recorded);
        }
        next.run(call).await
    }
}
