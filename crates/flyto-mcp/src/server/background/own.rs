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

/// The jobs of one client, by their ids.
#[derive(Debug, Default)]
pub(crate) struct OwnJobs(Mutex<HashSet<JobId>>);

impl OwnJobs {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
