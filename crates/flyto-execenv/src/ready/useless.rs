//! When a program is no longer started before its calls.

use std::sync::Arc;

use super::{ColdStart, StartFiles};

/// After how many processes in a row that did not wait a program is no longer started before its calls: 3.
const USELESS_STARTS: u32 = 3;

/// What is known of processes in a row that could not wait.
pub(super) struct Useless {
    pub(super) n_processes: u32,
    /// Why the last one could not, and the files as they were then.
    pub(super) why: ColdStart,
    pub(super) files: Arc<StartFiles>,
    /// Whether files changed while one of them waited. It may have written them itself, as the next one will.
    pub(super) is_restless: bool,
}

impl Useless {
    /// Of a program whose processes change this themselves, while the files are these.
    pub(super) fn by_itself(why: ColdStart, files: Arc<StartFiles>) -> Self {
        Self { n_processes: USELESS_STARTS, why, files, is_restless: true }
    }

    /// Whether no further process is started for a program whose files are these.
    pub(super) fn turns_off(&self, now: &StartFiles) -> bool {
        let is_same = match self.is_restless {
            true => self.files.names_the_same(now),
            false => *self.files == *now,
        };
        self.is_off() && is_same
    }

    pub(super) fn is_off(&self) -> bool {
        self.n_processes >= USELESS_STARTS
    }

    pub(super) fn cold_start(&self) -> ColdStart {
        match self.is_off() {
            true => ColdStart::TurnedOff(Box::new(self.why.clone())),
            false => self.why.clone(),
        }
    }
}
