//! How tools were used, and which of them a person pinned: small files that are written anew with the lock held.
//!
//! None that is damaged is taken for an empty one: a tool in use would decay, and one that is pinned too.

use std::collections::BTreeMap;

use flyto_audit::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Damaged, Store, StoreError, UNUSABLE};
use crate::usage::{CallUse, ToolUsage, add};

const USAGE: &str = "usage.json";
const PINS: &str = "pins.json";
/// From when on calls are counted, where counts from before were lost.
const SINCE: &str = "usage.since.json";
/// That counts were lost.
#[derive(Debug, Serialize, Deserialize)]
struct Lost {
    /// When counting began anew, in RFC 3339.
    since: String,
}

/// The largest of these files, in bytes: 1000 tools with 20 versions each at 400 bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

impl Store {
    /// How each tool was used, by its name: what all processes added up.
    ///
    /// ```
    /// use flyto_evolve::Store;
    ///
    /// # let temp = tempfile::tempdir()?;
    /// let store = Store::new(temp.path().join("evolution"));
    /// for (name, versions) in store.usage()? {
    ///     for (number, it) in versions {
    ///         let ms = it.percentile(50).map_or(0, |it| it.as_millis());
    ///         println!("{name} {number}: {} calls, {} ok, {ms} ms", it.n_calls, it.n_ok);
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], and [`StoreError::Damaged`] where the file cannot be read.
    pub fn usage(&self) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        Ok(self.read_json(USAGE)?.unwrap_or_default())
    }

    /// What one of these files says; `None` where it does not exist.
    fn read_json<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Option<T>, StoreError> {
        let damaged = |why: String| StoreError::Damaged { path: self.path(path), why };
        let bytes = match self.files().read(path, MAX_BYTES) {
            // A link, a directory, or too large.
            Err(err) if err.kind() == std::io::ErrorKind::Other => {
                return Err(damaged(err.to_string()));
            }
            other => self.told("read", path, other)?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|err| damaged(err.to_string()))
    }

    /// Since when calls are counted, where what was counted before was lost: of no call before then is it known that it was
    /// not made. `None` where nothing was lost.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let store = flyto_evolve::Store::new(temp.path().join("evolution"));
    /// assert_eq!(store.counted_since()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`usage`](Self::usage).
    pub fn counted_since(&self) -> Result<Option<Timestamp>, StoreError> {
        let Some(lost) = self.read_json::<Lost>(SINCE)? else { return Ok(None) };
        let damaged =
            |_| StoreError::Damaged { path: self.path(SINCE), why: "it has no time".to_owned() };
        lost.since.parse().map(Some).map_err(damaged)
    }

    /// The files of counts and pins that cannot be read.
    pub(super) fn damaged_counts(&self) -> Vec<Damaged> {
        let usage = self.usage().map(drop);
        let found = [usage, self.counted_since().map(drop), self.pins().map(drop)];
        let until = "; no tool decays before it is mended or removed";
        let damaged = found.into_iter().filter_map(|it| it.err()?.of_one_file().ok());
        damaged.map(|it| Damaged { why: it.why + until, ..it }).collect()
    }

    /// Adds calls to the statistics. A file that cannot be read is set aside, and counting begins anew, which is recorded
    /// first: what was not used by the new file may have been by the old one.
    pub(crate) fn add_usage(
        &self,
        calls: &[CallUse],
    ) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        let _lock = self.lock()?;
        let mut all = match self.usage() {
            Err(StoreError::Damaged { .. }) => {
                let lost = Lost { since: Timestamp::now().to_string() };
                let text = serde_json::to_string(&lost).expect("all its keys are texts");
                self.replace(SINCE, text.as_bytes())?;
                self.quarantine(USAGE, UNUSABLE)?;
                BTreeMap::new()
            }
            other => other?,
        };
        calls.iter().for_each(|it| add(&mut all, it));
        let text = serde_json::to_string(&all).expect("all its keys are texts");
        self.replace(USAGE, text.as_bytes())?;
        Ok(all)
    }

    /// The tools that a person pinned, with the person that did: no rule archives or quarantines them.
    ///
    /// # Errors
    ///
    /// As [`usage`](Self::usage).
    pub fn pins(&self) -> Result<BTreeMap<String, String>, StoreError> {
        Ok(self.read_json(PINS)?.unwrap_or_default())
    }

    /// Pins a tool for this person: no rule archives or quarantines it.
    ///
    /// ```
    /// use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition};
    ///
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// let def = ToolDefinition::script("now", "The time.", "date\n");
    /// let approval = Approval::now("ada", def.hash());
    /// store.commit(NewVersion::new(def.clone(), None, Change::Created).approved(approval))?;
    ///
    /// store.pin("now", "ada")?;
    /// assert_eq!(store.pins()?["now"], "ada");
    /// store.unpin("now", "grace")?;
    /// assert!(store.pins()?.is_empty() && store.pin("other", "ada").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no such tool; else as [`stage`](Self::stage).
    pub fn pin(&self, name: &str, by: &str) -> Result<(), StoreError> {
        self.change_pin(name, true, by)
    }

    /// Takes the pin of a tool away, so that rules may archive or quarantine it again. The log of events keeps which person did
    /// it, as `unpinned`; taking away a pin that is not there is recorded as well, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`pin`](Self::pin).
    pub fn unpin(&self, name: &str, by: &str) -> Result<(), StoreError> {
        self.change_pin(name, false, by)
    }

    fn change_pin(&self, name: &str, is_pinned: bool, by: &str) -> Result<(), StoreError> {
        if self.last(name)?.is_none() {
            return Err(StoreError::NotFound { name: name.to_owned(), version: None });
        }
        let _lock = self.lock()?;
        let mut all = self.pins()?;
        let event = match is_pinned {
            true => {
                all.insert(name.to_owned(), by.to_owned());
                "pinned"
            }
            false => {
                all.remove(name);
                "unpinned"
            }
        };
        self.log()?.event("", event, &json!({"tool": name, "by": by}))?;
        let text = serde_json::to_string_pretty(&all).expect("all its keys are texts");
        self.replace(PINS, text.as_bytes())
    }
}
