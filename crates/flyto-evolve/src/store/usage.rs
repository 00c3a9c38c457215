//! How tools were used, and which of them a person pinned: two small files that are written anew with the lock held.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Store, StoreError};
use crate::usage::{CallUse, ToolUsage, add};

const USAGE: &str = "usage.json";
const PINS: &str = "pins.json";
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
        let bytes = self.told("read", USAGE, self.files().read(USAGE, MAX_BYTES))?;
        let Some(bytes) = bytes else { return Ok(BTreeMap::new()) };
        serde_json::from_slice(&bytes)
            .map_err(|err| StoreError::Damaged { path: self.path(USAGE), why: err.to_string() })
    }

    /// Adds calls to the statistics. A file that cannot be read is set aside, and counting begins anew.
    pub(crate) fn add_usage(
        &self,
        calls: &[CallUse],
    ) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        let _lock = self.lock()?;
        let mut all = match self.usage() {
            Err(StoreError::Damaged { .. }) => {
                self.quarantine(USAGE, "unreadable")?;
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
        let bytes = self.told("read", PINS, self.files().read(PINS, MAX_BYTES))?;
        let Some(bytes) = bytes else { return Ok(BTreeMap::new()) };
        serde_json::from_slice(&bytes)
            .map_err(|err| StoreError::Damaged { path: self.path(PINS), why: err.to_string() })
    }

    /// Pins a tool, or with `None` takes its pin away.
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
    /// store.pin("now", Some("ada"))?;
    /// assert_eq!(store.pins()?["now"], "ada");
    /// store.pin("now", None)?;
    /// assert!(store.pins()?.is_empty() && store.pin("other", None).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no such tool; else as [`stage`](Self::stage).
    pub fn pin(&self, name: &str, by: Option<&str>) -> Result<(), StoreError> {
        if self.last(name)?.is_none() {
            return Err(StoreError::NotFound { name: name.to_owned(), version: None });
        }
        let _lock = self.lock()?;
        let mut all = self.pins()?;
        match by {
            Some(by) => drop(all.insert(name.to_owned(), by.to_owned())),
            None => drop(all.remove(name)),
        }
        self.log()?.event("", "pinned", &json!({"tool": name, "by": by}))?;
        let text = serde_json::to_string_pretty(&all).expect("all its keys are texts");
        self.replace(PINS, text.as_bytes())
    }
}
