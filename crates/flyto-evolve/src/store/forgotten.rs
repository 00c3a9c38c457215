//! Versions that are gone from the history for good, as a person says.
//!
//! A file that was lost and one that a person removed leave the same gap. Until a person says which it is, each list tells of the
//! gap, since the file may be put back from a copy.
//!
//! | the file of a version | told |
//! | --- | --- |
//! | is gone, and no person said why | as gone, by each list |
//! | is gone, and a person said that it was removed | not at all; the log of events has it |
//! | is back | as a version |
//! | was the newest one | by its tool, which is [held](crate::Loaded::held) until it is restored or archived |

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde_json::json;

use super::{Damaged, Store, StoreError, record_of};

const FORGOTTEN: &str = "forgotten.json";
/// The largest file of this kind, in bytes.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// The numbers of versions by tools, in order.
type Forgotten = BTreeMap<String, Vec<RangeInclusive<u64>>>;

impl Store {
    /// Has the versions of a tool that are gone told no more, since a person removed their files. The log of events keeps their
    /// numbers, as an event `forgotten`. Gives the numbers of those that were told until now.
    ///
    /// Nothing is removed. A file that is put back is a version again. The newest version decides whether the tool is in use, so
    /// where that is the one that is gone, the tool is [restored](Self::restore) or [archived](Self::archive) first.
    ///
    /// ```
    /// use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition};
    ///
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// let mut base = None;
    /// for text in ["date\n", "date -u\n", "date -uR\n"] {
    ///     let def = ToolDefinition::script("now", "The time.", text);
    ///     let approval = Approval::now("ada", def.hash());
    ///     base = Some(store.commit(NewVersion::new(def, base, Change::Updated).approved(approval))?.number);
    /// }
    /// std::fs::remove_file(store.dir().join("history/now/000002.json"))?;
    /// assert_eq!(store.damaged_versions("now")?.len(), 1);
    ///
    /// assert_eq!(store.forget_gone("now", "ada")?, [2..=2]);
    /// assert_eq!(store.damaged_versions("now")?, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no such tool, [`StoreError::Damaged`] where the file of what was said before cannot be
    /// read, [`StoreError::NoSpace`], [`StoreError::Locked`], [`StoreError::Io`] and [`StoreError::InvalidName`].
    pub fn forget_gone(
        &self,
        name: &str,
        by: &str,
    ) -> Result<Vec<RangeInclusive<u64>>, StoreError> {
        if self.numbers(name)?.is_empty() {
            return Err(StoreError::NotFound { name: name.to_owned(), version: None });
        }
        let _lock = self.lock()?;
        let mut all = self.forgotten()?;
        let of_tool = all.entry(name.to_owned()).or_default();
        let gone = without(self.gone(name)?, of_tool);
        if gone.is_empty() {
            return Ok(gone);
        }
        self.log()?.event("", "forgotten", &json!({"tool": name, "versions": gone, "by": by}))?;
        of_tool.extend(gone.iter().cloned());
        of_tool.sort_by_key(|it| *it.start());
        let text = serde_json::to_string_pretty(&all).expect("all its keys are texts");
        self.replace(FORGOTTEN, text.as_bytes())?;
        Ok(gone)
    }

    /// What is told of versions that are gone, several in a row with the first one.
    pub(super) fn told_gone(
        &self,
        name: &str,
        gone: Vec<RangeInclusive<u64>>,
    ) -> Result<Vec<(RangeInclusive<u64>, Damaged)>, StoreError> {
        const ADVICE: &str = "put it back from a copy, or forget it where it was removed on purpose; no rollback leads to it";
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let forgotten = self.forgotten()?.remove(name).unwrap_or_default();
        let told = |gap: RangeInclusive<u64>| {
            let why = match gap.start() == gap.end() {
                true => format!("it is gone; {ADVICE}"),
                false => format!("it is gone, as are those up to version {}; {ADVICE}", gap.end()),
            };
            let path = self.path(&record_of(name, *gap.start()));
            (gap, Damaged { path, why })
        };
        Ok(without(gone, &forgotten).into_iter().map(told).collect())
    }

    fn forgotten(&self) -> Result<Forgotten, StoreError> {
        let bytes = self.told("read", FORGOTTEN, self.files().read(FORGOTTEN, MAX_BYTES))?;
        let Some(bytes) = bytes else { return Ok(Forgotten::new()) };
        serde_json::from_slice(&bytes)
            .map_err(|err| StoreError::Damaged { path: self.path(FORGOTTEN), why: err.to_string() })
    }
}

/// What is left of rows of numbers without others, which are in order.
fn without(
    rows: Vec<RangeInclusive<u64>>,
    others: &[RangeInclusive<u64>],
) -> Vec<RangeInclusive<u64>> {
    let mut res = Vec::new();
    for row in rows {
        let (mut first, last) = row.into_inner();
        for other in others.iter().filter(|it| !it.is_empty()) {
            if (first..=last).contains(other.start()) && first < *other.start() {
                res.push(first..=other.start() - 1);
            }
            if *other.start() <= last {
                first = first.max(other.end().saturating_add(1));
            }
        }
        if first <= last {
            res.push(first..=last);
        }
    }
    res
}
