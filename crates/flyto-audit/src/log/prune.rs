//! Removing old files, with a record that says which.
//!
//! It runs under the lock, after a rotation and when a log is opened. Of the files only the first
//! line is read.

use serde_json::json;

use super::{Keep, events, recover::First, state::Locked};
use crate::{
    AuditError, Timestamp,
    files::{self, CURRENT, rotated_name},
    line::Content,
};

impl Locked<'_> {
    /// Removes rotated files as [`Keep`] says. The record comes first: it names the last record that is removed, so
    /// that `verify` tells this from a removal by another program.
    pub(super) fn prune(&mut self) -> Result<(), AuditError> {
        if self.options.keep == Keep::All {
            return Ok(());
        }
        let rotated = files::rotated(&self.dir)?;
        let most = match self.options.keep {
            Keep::All => 0,
            Keep::Files(n) => rotated.len().saturating_sub(n),
            Keep::For(_) => rotated.len(),
        };
        let mut n_removed = 0;
        let mut last = None;
        while n_removed < most {
            let Some(next) = self.record_behind(&rotated, n_removed)? else { break };
            // The record behind a file is as old as its last one, or younger.
            if let Keep::For(age) = self.options.keep
                && next.at > Timestamp::now().earlier_by(age)
            {
                break;
            }
            n_removed += 1;
            last = Some(next);
        }
        let Some(First { seq, prev, .. }) = last else { return Ok(()) };
        let body = json!({ "files": n_removed, "last": seq - 1, "hash": prev }).to_string();
        let event = events::PRUNE;
        self.append_here(Content { id: "", event, process: None, body: body.as_bytes() })?;
        for first in &rotated[..n_removed] {
            // What cannot be removed now is removed after the next rotation; the record that is to be appended
            // does not depend on it.
            drop(self.dir.remove(&rotated_name(*first)));
        }
        Ok(())
    }

    /// The first record behind a rotated file. `None` where that file was changed or files are missing: then it stays,
    /// for `verify` to see.
    ///
    /// `index` is that of the file in `rotated`. Behind the last of them comes `audit.jsonl`, or,
    /// where that is empty, the record that is yet to be written.
    fn record_behind(&self, rotated: &[u64], index: usize) -> Result<Option<First>, AuditError> {
        if let Some(first) = rotated.get(index + 1) {
            let record = self.first_record(&rotated_name(*first))?;
            return Ok(record.filter(|it| it.seq == *first && it.seq > 0));
        }
        let head = self.head_file_content();
        if head.file_bytes == 0 {
            let (seq, prev) = (head.head().seq + 1, head.head().hash);
            return Ok(Some(First { seq, prev, at: Timestamp::now() }));
        }
        let first = head.file_first;
        Ok(self.first_record(CURRENT)?.filter(|it| it.seq == first && it.seq > 0))
    }
}
