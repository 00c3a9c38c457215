//! The stage that truncates the text of a result.

use std::path::PathBuf;

use async_trait::async_trait;

use super::{Call, Next, Stage, StageResult, names};
use crate::bound::bound;

/// Truncates the text of a result to a number of bytes: its head and its tail stay, a line between them says
/// how much was left out, and the whole is kept in a file where there is a directory for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Bound {
    /// The bytes of text that are kept.
    pub limit_bytes: u64,
    /// Where whole outputs are kept, 7 days long.
    pub dir: Option<PathBuf>,
}

impl Bound {
    /// A bound of so many bytes. Whole outputs are kept in `dir`.
    #[must_use]
    pub fn new(limit_bytes: u64, dir: Option<PathBuf>) -> Self {
        Self { limit_bytes, dir }
    }
}

#[async_trait]
impl Stage for Bound {
    fn name(&self) -> &str {
        names::BOUND
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if let Some(result) = call.result.take() {
            let id = call.ctx.id();
            call.result = Some(bound(result, self.limit_bytes, self.dir.as_deref(), id));
        }
        next.run(call).await
    }
}
