//! The stage that truncates the text of a result.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;

use super::{Call, Next, Stage, StageResult, names};
use crate::{bound::bound, spill::Cleaning};

/// Truncates the text of a result to a number of bytes: its head and its tail stay, a line between them says
/// how much was left out, and the whole is kept in a file where there is a directory for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Bound {
    /// The bytes of text that are kept.
    pub limit_bytes: u64,
    /// Where whole outputs are kept: for 7 days, and 1 GiB of them at most, for which the oldest make room. One that a call
    /// still writes, or that is younger than an hour, stays; where these leave no room, an output is not kept whole. The
    /// directory must hold nothing else.
    pub dir: Option<PathBuf>,
    cleaning: Arc<Cleaning>,
}

impl Bound {
    /// A bound of so many bytes. Whole outputs are kept in `dir`.
    #[must_use]
    pub fn new(limit_bytes: u64, dir: Option<PathBuf>) -> Self {
        Self { limit_bytes, dir, cleaning: Arc::default() }
    }
}

#[async_trait]
impl Stage for Bound {
    fn name(&self) -> &str {
        names::BOUND
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if let Some(result) = call.take_result() {
            let id = call.ctx.id();
            let result = bound(result, self.limit_bytes, self.dir.as_deref(), id);
            let is_kept = result.omitted.as_ref().is_some_and(|it| it.whole.is_some());
            if let Some(dir) = self.dir.as_ref().filter(|_| is_kept) {
                // A host that lives long makes room when it takes some, once a minute at most.
                self.cleaning.clean(dir);
            }
            call.set_result(result);
        }
        next.run(call).await
    }
}
