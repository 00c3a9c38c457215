//! Begins without an end.

use std::collections::HashMap;

use serde::Serialize;

use crate::{Process, Timestamp, line::Line};

/// The most calls that are kept at once: 10,000, some 5 MB. Others are counted.
const MAX_OPEN: usize = 10_000;

/// The longest [`Process::boot`] that is kept: a log writes 8 bytes.
const MAX_BOOT_BYTES: usize = 64;

/// A call that has begun and not ended: it runs, or its process was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OpenCall {
    /// The id of the call.
    pub id: String,
    /// The number of the record of its begin.
    pub seq: u64,
    /// When it began.
    pub at: Timestamp,
    /// The process that began it, where that was recorded.
    pub process: Option<Process>,
    /// Whether that process is alive: [`Process::is_alive`].
    pub is_alive: Option<bool>,
}

/// Pairs begins with ends.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    by_id: HashMap<String, Vec<OpenCall>>,
    n_kept: usize,
    /// Those for which there was no room.
    n_others: u64,
    pub(super) n_without_begin: u64,
}

impl OpenCalls {
    pub(super) fn begin(&mut self, line: &Line<'_>) {
        // Texts that no log would write are not kept for their length.
        let boot = line.process.as_ref().and_then(|it| it.boot.as_deref()).unwrap_or("");
        let is_long = line.id.len() > crate::MAX_ID_BYTES || boot.len() > MAX_BOOT_BYTES;
        if self.n_kept == MAX_OPEN || is_long {
            self.n_others += 1;
            return;
        }
        self.n_kept += 1;
        let (id, seq, at) = (line.id.clone().into_owned(), line.seq, line.at);
        let process = line.process.clone();
        let call = OpenCall { id: id.clone(), seq, at, process, is_alive: None };
        self.by_id.entry(id).or_default().push(call);
    }

    /// An end belongs to the last begin of its id.
    pub(super) fn end(&mut self, id: &str) {
        if let Some(calls) = self.by_id.get_mut(id) {
            calls.pop();
            self.n_kept -= 1;
            if calls.is_empty() {
                self.by_id.remove(id);
            }
        } else if self.n_others > 0 {
            self.n_others -= 1;
        } else {
            self.n_without_begin += 1;
        }
    }

    /// What is left, oldest first, and how many there are.
    pub(super) fn finish(self) -> (Vec<OpenCall>, u64) {
        let mut res: Vec<OpenCall> = self.by_id.into_values().flatten().collect();
        res.sort_by_key(|it| it.seq);
        for call in &mut res {
            call.is_alive = call.process.as_ref().and_then(Process::is_alive);
        }
        let n_calls = res.len() as u64 + self.n_others;
        (res, n_calls)
    }
}
