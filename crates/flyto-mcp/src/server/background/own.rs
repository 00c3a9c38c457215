//! Whose job is whose.
//!
//! A client follows the jobs that it started, and no others: over a pair of streams those of the connection, over HTTP those of the
//! session. The requests of the new era over HTTP belong to no session. They share one value of this, and what they start is not
//! listed: a client follows such a job by its id, which no other request is told.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use flyto_host::jobs::{JobId, JobStore, MAX_JOBS};
use flyto_tools::CancellationToken;

/// The jobs of one client, by their ids.
#[derive(Debug, Default)]
pub(crate) struct OwnJobs {
    ids: Mutex<HashSet<JobId>>,
    /// Whether other clients start jobs in the same process.
    has_others_beside: bool,
    /// Cancelled when the client ends its session. A job that begins later is cancelled as well.
    ended: CancellationToken,
}

impl OwnJobs {
    /// Those of a client beside others, which has half of the places at most.
    pub(crate) fn beside_others() -> Self {
        Self { has_others_beside: true, ..Self::default() }
    }

    /// How many of `max` jobs the client may have at once.
    pub(super) fn share(&self, max: usize) -> usize {
        if self.has_others_beside { max.div_ceil(2) } else { max }
    }

    /// Cancels the jobs that run: no client can follow them any more.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Waits for [`end`](Self::end).
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Whether the client started this job.
    pub(crate) fn has(&self, id: &JobId) -> bool {
        self.ids().contains(id)
    }

    /// Makes a job one of the client's. Those that the store keeps no more are forgotten now and then.
    pub(super) fn add(&self, id: &JobId, store: &JobStore) {
        let mut ids = self.ids();
        if ids.len() >= 2 * MAX_JOBS {
            ids.retain(|it| store.find(it.as_str()).is_ok());
        }
        ids.insert(id.clone());
    }

    /// Takes a job out that is not to be.
    pub(super) fn forget(&self, id: &JobId) {
        self.ids().remove(id);
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<JobId>> {
        // The set is whole between any two statements that change it.
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
