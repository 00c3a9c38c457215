//! The versions of a tool, one by one. A file that cannot be used is left out, and told apart.

use std::ops::RangeInclusive;

use super::{
    Damaged, HISTORY, MAX_TOOLS, Store, StoreError, TOOLS, Version, history_of, number_in, record,
    record::MAX_RECORD_BYTES, record_of,
};
use crate::definition::file_name_fault;

impl Store {
    /// The names of all tools, in order. A file that a person put beside more tools than are read is left out, and told by
    /// [`further`](Self::further).
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let (mut res, further) = self.own_and_further_names()?;
        let n_more = MAX_TOOLS - res.len();
        res.extend(further.into_iter().take(n_more));
        res.sort_unstable();
        Ok(res)
    }

    /// What is told of files that are left out since there are too many.
    pub(super) fn further(&self) -> Result<Option<Damaged>, StoreError> {
        let (own, further) = self.own_and_further_names()?;
        let n_out = (own.len() + further.len()).saturating_sub(MAX_TOOLS);
        let why = || {
            format!(
                "at most {MAX_TOOLS} tools are read, archived ones among them, so {n_out} files of tools without a history are \
                 left out; move away those that are none"
            )
        };
        Ok((n_out > 0).then(|| Damaged { path: self.path(TOOLS), why: why() }))
    }

    /// The names of the tools that have a history, and of those that have a file only, each in order.
    fn own_and_further_names(&self) -> Result<(Vec<String>, Vec<String>), StoreError> {
        let of_files = |names: Vec<String>| {
            let mut res: Vec<String> =
                names.into_iter().filter(|it| file_name_fault(it).is_none()).collect();
            res.sort_unstable();
            res
        };
        let own = of_files(self.told("list", HISTORY, self.files().names(HISTORY))?);
        if own.len() > MAX_TOOLS {
            let why = format!("it holds {} tools, and at most {MAX_TOOLS} are read", own.len());
            return Err(StoreError::Damaged { path: self.path(HISTORY), why });
        }
        let views = self.told("list", TOOLS, self.files().names(TOOLS))?;
        let views = views.iter().filter_map(|it| it.strip_suffix(".json")).map(str::to_owned);
        let mut further = of_files(views.collect());
        further.retain(|it| own.binary_search(it).is_err());
        Ok((own, further))
    }

    /// Whether a tool of this name has a place in the store, or gets one.
    pub(super) fn check_place(&self, name: &str) -> Result<(), StoreError> {
        let names = self.names()?;
        let has_place = names.len() < MAX_TOOLS || names.iter().any(|it| it == name);
        has_place
            .then_some(())
            .ok_or_else(|| StoreError::Full { path: self.path(HISTORY), limit: MAX_TOOLS })
    }

    /// The files and directories whose names no tool can have. A name that begins with a dot is none that a person gave.
    pub(super) fn misnamed(&self) -> Result<Vec<Damaged>, StoreError> {
        let mut res = Vec::new();
        for (dir, end) in [(TOOLS, ".json"), (HISTORY, "")] {
            let names = self.told("list", dir, self.files().names(dir))?;
            let names = names.iter().filter(|it| !it.starts_with('.'));
            res.extend(names.filter_map(|it| {
                let why = file_name_fault(it.strip_suffix(end)?)?;
                let why =
                    format!("its name {why}, so it is no tool; rename it, with the \"name\" in it");
                Some(Damaged { path: self.path(&format!("{dir}/{it}")), why })
            }));
        }
        res.truncate(MAX_TOOLS);
        Ok(res)
    }

    /// The numbers of all versions of a tool, in order.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<u64>, StoreError> {
        if let Some(why) = file_name_fault(name) {
            return Err(StoreError::InvalidName { name: name.to_owned(), why });
        }
        let dir = history_of(name);
        let mut res: Vec<u64> = self
            .told("list", &dir, self.files().names(&dir))?
            .iter()
            .filter_map(|it| number_in(it))
            .collect();
        res.sort_unstable();
        Ok(res)
    }

    /// One version of a tool, also of an archived one.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Damaged`] where the file is not what was saved, [`StoreError::Io`] and
    /// [`StoreError::InvalidName`].
    pub fn version(&self, name: &str, number: u64) -> Result<Version, StoreError> {
        if let Some(why) = file_name_fault(name) {
            return Err(StoreError::InvalidName { name: name.to_owned(), why });
        }
        let path = record_of(name, number);
        let damaged = |why: String| StoreError::Damaged { path: self.path(&path), why };
        let bytes = match self.files().read(&path, MAX_RECORD_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return Err(StoreError::NotFound { name: name.to_owned(), version: Some(number) });
            }
            Err(err) if err.kind() == std::io::ErrorKind::Other => {
                return Err(damaged(err.to_string()));
            }
            Err(err) => return Err(StoreError::io("read", self.path(&path), err)),
        };
        record::from_bytes(name, number, &bytes).map_err(damaged)
    }

    /// All versions of a tool, the first one first. Files that cannot be used are left out;
    /// [`damaged_versions`](Self::damaged_versions) tells of them.
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
    /// store.archive("now", "ada")?;
    /// let history = store.history("now")?;
    /// let changes: Vec<_> = history.iter().map(|it| (it.number, &it.change)).collect();
    /// assert_eq!(changes, [(1, &Change::Created), (2, &Change::Archived)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no version, [`StoreError::Io`] and [`StoreError::InvalidName`].
    pub fn history(&self, name: &str) -> Result<Vec<Version>, StoreError> {
        let mut res = Vec::new();
        for number in self.numbers(name)? {
            match self.version(name, number) {
                Ok(version) => res.push(version),
                Err(err) => drop(err.of_one_file()?),
            }
        }
        if res.is_empty() {
            return Err(StoreError::NotFound { name: name.to_owned(), version: None });
        }
        Ok(res)
    }

    /// The versions of a tool whose files cannot be used, the first one first, with what is wrong with each. The other
    /// versions can be called, shown and rolled back to.
    ///
    /// Files that are gone are among them: numbers are given one after the other, and the first version that is there says on
    /// which one it is based. Several in a row are told with the first one. Those that a person [forgot](Self::forget_gone) are
    /// not.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] where the directory cannot be read, and [`StoreError::InvalidName`].
    pub fn damaged_versions(&self, name: &str) -> Result<Vec<Damaged>, StoreError> {
        let mut res: Vec<(u64, Damaged)> = Vec::new();
        let versions = self.looked_up(name)?;
        let gaps = self.told_gone(name, gaps(&versions))?;
        res.extend(gaps.into_iter().map(|(gap, it)| (*gap.start(), it)));
        for (number, version) in versions {
            match version {
                // It went between the two looks, and is told the next time.
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(err) => res.push((number, err.of_one_file()?)),
            }
        }
        res.sort_by_key(|it| it.0);
        Ok(res.into_iter().map(|it| it.1).collect())
    }

    /// The numbers of the versions of a tool that are gone, row by row.
    pub(super) fn gone(&self, name: &str) -> Result<Vec<RangeInclusive<u64>>, StoreError> {
        Ok(gaps(&self.looked_up(name)?))
    }

    fn looked_up(&self, name: &str) -> Result<Vec<LookedUp>, StoreError> {
        let numbers = self.numbers(name)?.into_iter();
        Ok(numbers.map(|it| (it, self.version(name, it).map(|it| it.parent))).collect())
    }

    /// [`damaged_versions`](Self::damaged_versions) of all tools. It reads every version of the store, which takes longer
    /// than [`load`](Self::load).
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let store = flyto_evolve::Store::new(temp.path().join("evolution"));
    /// for it in store.damaged_history()? {
    ///     eprintln!("{}: {}", it.path.display(), it.why);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn damaged_history(&self) -> Result<Vec<Damaged>, StoreError> {
        let mut res = Vec::new();
        for name in self.names()? {
            match self.damaged_versions(&name) {
                Ok(found) => res.extend(found),
                Err(err) => res.push(err.of_one_file()?),
            }
        }
        Ok(res)
    }

    /// The last version of a tool that can be used; `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] and [`StoreError::InvalidName`].
    pub fn last(&self, name: &str) -> Result<Option<Version>, StoreError> {
        self.last_with(name, &mut Vec::new())
    }

    pub(super) fn last_with(
        &self,
        name: &str,
        damaged: &mut Vec<Damaged>,
    ) -> Result<Option<Version>, StoreError> {
        for number in self.numbers(name)?.into_iter().rev() {
            match self.version(name, number) {
                Ok(version) => return Ok(Some(version)),
                // A directory that was removed meanwhile.
                Err(StoreError::NotFound { .. }) => {}
                Err(err) => damaged.push(err.of_one_file()?),
            }
        }
        Ok(None)
    }
}

/// The number of a version with that of the one that it is based on, or with why it cannot be used.
type LookedUp = (u64, Result<Option<u64>, StoreError>);

/// The numbers that are missing between versions, and before the first one where it says on which one it is based.
fn gaps(versions: &[LookedUp]) -> Vec<RangeInclusive<u64>> {
    let mut res = Vec::new();
    let mut next = None;
    for (number, version) in versions {
        let expected = next.or_else(|| *version.as_ref().ok()?).unwrap_or(*number);
        if expected < *number {
            res.push(expected..=number - 1);
        }
        next = Some(number + 1);
    }
    res
}
