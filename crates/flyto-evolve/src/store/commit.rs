//! Saving a version.
//!
//! In this order, with the lock held:
//!
//! 1. The last version is compared with the base; another one is a conflict, and nothing is written.
//! 2. The file in `tools` is compared with the last version; an edit by hand that was not decided on stops the change, and a file
//!    that a stopped writer left behind is brought up to date.
//! 3. A composite is compared with the others: where they would call each other, nothing is written. What another process saved
//!    after the checks of a proposal is found here.
//! 4. The log gets the begin of the save, so that no version is ever there without a record.
//! 5. The version and the new file for `tools` are written under temporary names and forced onto the disk. What takes room
//!    is done then, so a full disk is found before anything counts.
//! 6. **The commit point**: link(2) gives the version its number. It fails where the number is taken, also where locks do
//!    not hold.
//! 7. The directory is forced onto the disk; the file for `tools` is renamed into its place; the log gets the end.
//!
//! A writer that stops before 6 leaves temporary files, which the next one removes; a writer that stops behind it leaves a
//! version that is ahead of `tools`, which the next one brings up to date. The version names the proposal that it decides, which
//! the next one takes off the list.

use std::fs::File;

use serde_json::{Value, json};

use super::{
    Approval, Change, HISTORY, MAX_NUMBER, Settled, Stand, Status, Store, StoreError, UNUSABLE,
    Version, history_of,
    record::{self},
    record_of,
    view::View,
    view_of,
};
use crate::{
    DefinitionHash, ToolDefinition,
    composite::{Calls, Composite, cycle},
    definition::tool_name_fault,
};

/// A version that is to be saved.
///
/// ```
/// use flyto_evolve::{Approval, Change, NewVersion, Status, Store, ToolDefinition};
///
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let approval = Approval::now("ada", def.hash());
/// store.commit(NewVersion::new(def.clone(), None, Change::Created).approved(approval))?;
///
/// // Without approval, it is kept and never called.
/// let next = ToolDefinition::script("now", "The time.", "date -u\n");
/// let saved = store.commit(NewVersion::new(next, Some(1), Change::Updated))?;
/// assert!(saved.status == Status::Active && !saved.is_approved());
/// assert!(!store.is_active("now")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewVersion {
    /// The definition. Its `version` is set by the store; `created_at` is set where it is empty.
    pub definition: ToolDefinition,
    /// The version on which it is based: the last one that the author saw. `None` where the tool is new.
    pub base: Option<u64>,
    /// Whether the tool can be called afterwards.
    pub status: Status,
    /// What makes the version.
    pub change: Change,
    /// By which session, agent or person it was proposed.
    pub proposed_by: String,
    /// By which person it was approved.
    pub approval: Option<Approval>,
    /// What the person was shown beside the text.
    pub evidence: Value,
    /// Whether a person proposed it.
    pub is_of_person: bool,
    /// The hash of an edit by hand that it takes the place of. Any other edit is [`StoreError::EditedByHand`], and none is
    /// [`StoreError::Decided`].
    pub replaces_edit: Option<DefinitionHash>,
    /// The id of the proposal that it decides, which waits no longer then. Where none waits, the save is
    /// [`StoreError::Decided`].
    pub decides: Option<String>,
}

impl NewVersion {
    /// A version that can be called. Without an [approval](Self::approved), it is kept and never called.
    #[must_use]
    pub fn new(definition: ToolDefinition, base: Option<u64>, change: Change) -> Self {
        Self {
            proposed_by: definition.created_by.clone(),
            definition,
            base,
            status: Status::Active,
            change,
            approval: None,
            evidence: Value::Null,
            is_of_person: false,
            replaces_edit: None,
            decides: None,
        }
    }

    /// Sets by which person it was approved.
    #[must_use]
    pub fn approved(mut self, approval: Approval) -> Self {
        self.approval = Some(approval);
        self
    }

    /// Sets what the person was shown beside the text.
    #[must_use]
    pub fn evidence(mut self, evidence: Value) -> Self {
        self.evidence = evidence;
        self
    }

    fn status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }
}

impl Store {
    /// Saves a version. It is acknowledged, which is to say that this returns `Ok`, once it is on the disk under its
    /// number; the end of this process at any later moment does not lose it.
    ///
    /// The file in `tools` follows. Where that fails, the version is saved all the same, and the next process that opens
    /// the store brings the file up to date.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where the tool is not at `base` any more, with the version that it has;
    /// [`StoreError::Cycle`]; [`StoreError::Decided`] where what it decides waits no longer; [`StoreError::EditedByHand`] where a person changed its file meanwhile; [`StoreError::InvalidName`];
    /// [`StoreError::Full`] where it is a new tool beside [`MAX_TOOLS`](crate::MAX_TOOLS) others;
    /// [`StoreError::NoSpace`], [`StoreError::Locked`], [`StoreError::Events`] and [`StoreError::Io`]. Nothing is
    /// saved then.
    pub fn commit(&self, new: NewVersion) -> Result<Version, StoreError> {
        let name = &new.definition.name;
        if let Some(why) = tool_name_fault(name) {
            return Err(StoreError::InvalidName { name: name.clone(), why });
        }
        let _lock = self.lock()?;
        self.commit_locked(new)
    }

    /// As [`commit`](Self::commit), by the caller that has the lock.
    fn commit_locked(&self, new: NewVersion) -> Result<Version, StoreError> {
        let name = new.definition.name.clone();
        // The number is settled before the base is compared: a writer that holds no lock and comes between is found by the
        // comparison, and one that comes later by the link.
        let numbers = self.numbers(&name)?;
        // The log has the number of the last version also where its file was removed.
        let highest = numbers.last().copied().max(self.newest_in_log(&name));
        let Stand { last, view, .. } = self.stand(&name, &mut Vec::new())?;
        if let Some(id) = &new.decides {
            self.check_waits(id)?;
        }
        if let Some(edit) = new.replaces_edit
            && !matches!(&view, View::Edited(_))
        {
            let version = last.filter(|it| it.hash() == edit).map(|it| it.number);
            let what = format!("the edit of {}", self.view_path(&name).display());
            return Err(StoreError::Decided { what, name, version });
        }
        if last.as_ref().map(|it| it.number) != new.base {
            return Err(StoreError::Conflict { name, base: new.base, current: last.map(Box::new) });
        }
        match view {
            // What is saved is the very edit.
            View::Edited(found) if found.hash() == new.definition.hash() => {}
            // Or the edit was seen, and another text was decided on.
            View::Edited(found) if Some(found.hash()) == new.replaces_edit => {}
            View::Edited(_) => {
                let path = self.view_path(&name);
                return Err(StoreError::EditedByHand { name, path });
            }
            View::Unusable(_) => drop(self.recover_one(&name)?),
            // The version that it says is damaged in the history, so this is the last file with its text.
            View::Behind { at: Some(at) } if last.as_ref().is_some_and(|it| it.number < at) => {
                self.quarantine(&view_of(&name), UNUSABLE)?;
            }
            // The file is never more than one version behind, so an older text in it is an edit.
            View::Behind { at: Some(_) } | View::Archived => {
                drop(self.put_in_order(&name, last.as_ref(), &view)?);
            }
            View::Current | View::Behind { at: None } => {}
        }
        if new.status == Status::Active {
            self.check_cycle(&new.definition)?;
        }
        if numbers.is_empty() {
            self.check_place(&name)?;
        }
        let decides = new.decides.clone();
        if let Some(number) = highest.filter(|it| *it >= MAX_NUMBER) {
            let path = self.path(&record_of(&name, number));
            let why = "its number is the highest that a version may have; move the file away";
            return Err(StoreError::Damaged { path, why: why.to_owned() });
        }
        let version = Self::numbered(new, highest);
        let body = json!({
            "tool": name,
            "version": version.number,
            "base": version.parent,
            "sha256": version.hash(),
            "change": version.change,
            "status": version.status,
            "proposed_by": version.proposed_by,
            "approved_by": version.approval.as_ref().map(|it| &it.by),
        });
        // What begins is recorded before it is done, so that no version is there without a record.
        let begun = self.log()?.begin(&format!("save {name} {}", version.number), &body)?;
        let res = self.link_in(&version);
        let outcome = match &res {
            Ok(()) => json!({"outcome": "saved"}),
            Err(err) => json!({"outcome": "failed", "why": err.to_string()}),
        };
        // The version is there or it is not; a record that cannot be written changes nothing about that.
        drop(begun.end(&outcome));
        res?;
        if let Some(id) = decides {
            // One that stays is found out by what the version says of it.
            drop(self.remove_pending(&id));
        }
        Ok(version)
    }

    /// Compares a composite with the others of the store, by their names. An alias of a tool, and a composite that is not of the
    /// store, is known to a registry only.
    fn check_cycle(&self, definition: &ToolDefinition) -> Result<(), StoreError> {
        let called = |it: &ToolDefinition| -> Option<(String, Vec<String>)> {
            let tools = Composite::of(it)?.tools().map(str::to_owned).collect();
            Some((it.name.clone(), tools))
        };
        let Some(own) = called(definition) else { return Ok(()) };
        let others = self.load()?.active;
        let mut calls: Calls = others.iter().filter_map(|it| called(&it.definition)).collect();
        calls.extend([own]);
        cycle(&calls, &definition.name).map_or(Ok(()), |names| Err(StoreError::Cycle { names }))
    }

    /// The version with its number and its time.
    fn numbered(new: NewVersion, last: Option<u64>) -> Version {
        let mut definition = new.definition;
        let now = flyto_audit::Timestamp::now().to_string();
        // A number is never given twice, also where its file cannot be used.
        let number = match last {
            Some(last) => last + 1,
            // A folder without a history counted by itself.
            None => definition.version.max(1),
        };
        definition.version = number;
        if definition.created_at.is_empty() {
            definition.created_at.clone_from(&now);
        }
        Version {
            number,
            parent: new.base,
            status: new.status,
            change: new.change,
            saved_at: now,
            proposed_by: new.proposed_by,
            is_of_person: new.is_of_person,
            approval: new.approval,
            decides: new.decides,
            evidence: new.evidence,
            definition,
        }
    }

    /// Writes the files of a version. All that takes room comes before the link that makes it count.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where the number was taken meanwhile; else what the system said.
    /// The files that were written are removed then, as far as that can be done.
    fn link_in(&self, version: &Version) -> Result<(), StoreError> {
        let name = &version.definition.name;
        let (dir, path) = (history_of(name), record_of(name, version.number));
        let files = self.files();
        self.told("make the directory", &dir, files.make_dir(&dir))?;
        self.told("write to the disk", HISTORY, files.sync_dir(HISTORY))?;
        let temp = self.write_temp(&path, record::to_text(version).as_bytes())?;
        let view = match version.status {
            Status::Active => {
                let text = version.definition.file_text();
                let written = self.write_temp(&view_of(name), text.as_bytes());
                if written.is_err() {
                    drop(files.remove(&temp));
                }
                Some(written?)
            }
            Status::Archived => None,
        };
        let linked = match files.link(&temp, &path) {
            // A writer that holds no lock, as on some network file systems, was faster.
            Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {
                let (name, base) = (name.clone(), version.parent);
                let current = self.last(&name).ok().flatten().map(Box::new);
                Err(StoreError::Conflict { name, base, current })
            }
            other => self.told("write", &path, other),
        };
        let linked = linked.and_then(|()| {
            self.told("write to the disk", &dir, files.sync_dir(&dir)).inspect_err(|_| {
                // Not acknowledged, so it is taken back.
                drop(files.remove(&path));
            })
        });
        drop(files.remove(&temp));
        if let Err(err) = linked {
            drop(view.map(|it| files.remove(&it)));
            return Err(err);
        }
        // From here on the version is there, whatever becomes of the view.
        drop(match view {
            Some(view) => self.move_in(&view, &view_of(name)),
            None => self.write_view(version),
        });
        Ok(())
    }

    /// Makes a version with the text of an earlier one. The versions between stay. Where the last version can be called and
    /// has that very text, approved with the same tools, it is given and nothing is saved.
    ///
    /// ```
    /// # use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition};
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// for (base, script) in [(None, "date\n"), (Some(1), "date -u\n")] {
    ///     let def = ToolDefinition::script("now", "The time.", script);
    ///     let approval = Approval::now("ada", def.hash());
    ///     store.commit(NewVersion::new(def, base, Change::Updated).approved(approval))?;
    /// }
    /// let back = store.roll_back("now", 1, "ada")?;
    /// assert_eq!((back.version.number, back.is_new), (3, true));
    /// assert_eq!(back.version.hash(), store.version("now", 1)?.hash());
    /// let again = store.roll_back("now", 1, "ada")?;
    /// assert_eq!((again.version.number, again.is_new), (3, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] for a version that is not there; else as [`commit`](Self::commit).
    pub fn roll_back(&self, name: &str, to: u64, by: &str) -> Result<Settled, StoreError> {
        let old = self.version(name, to)?;
        let (_lock, last, is_held) = self.lock_tool(name)?;
        let tools = |it: &Version| it.approval.as_ref().map(|it| it.tools.clone());
        let is_so = last.hash() == old.hash() && tools(&last) == tools(&old);
        if last.status == Status::Active && is_so && !is_held {
            return Ok(Settled::already(last));
        }
        self.again(name, old, Change::RolledBack { to }, Status::Active, by)
    }

    /// Sets a tool aside: it cannot be called, and nothing of it is removed but its file in `tools`. Where it is set aside
    /// already, its last version is given and nothing is saved.
    ///
    /// ```
    /// use flyto_evolve::{Approval, Change, NewVersion, Status, Store, ToolDefinition};
    ///
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// let def = ToolDefinition::script("now", "The time.", "date\n");
    /// let approval = Approval::now("ada", def.hash());
    /// store.commit(NewVersion::new(def.clone(), None, Change::Created).approved(approval))?;
    ///
    /// assert_eq!(store.archive("now", "ada")?.version.status, Status::Archived);
    /// assert!(store.load()?.active.is_empty() && !store.view_path("now").exists());
    /// assert!(!store.archive("now", "bob")?.is_new);
    /// let back = store.restore("now", "ada")?.version;
    /// assert_eq!((back.number, back.hash(), back.is_approved()), (3, def.hash(), true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no such tool; else as [`commit`](Self::commit).
    pub fn archive(&self, name: &str, by: &str) -> Result<Settled, StoreError> {
        let (_lock, last, _) = self.lock_tool(name)?;
        match last.status {
            Status::Archived => Ok(Settled::already(last)),
            Status::Active => self.again(name, last, Change::Archived, Status::Archived, by),
        }
    }

    /// Archives a tool for its failures, unless it is pinned, archived, or has another version by now.
    pub(crate) fn archive_failing(
        &self,
        name: &str,
        version: u64,
        why: String,
    ) -> Result<Option<Version>, StoreError> {
        let (_lock, last, _) = self.lock_tool(name)?;
        let is_it = last.number == version && last.status == Status::Active;
        if !is_it || self.pins()?.contains_key(name) {
            return Ok(None);
        }
        let change = Change::Quarantined { why };
        let settled = self.again(name, last, change, Status::Archived, "flyto")?;
        Ok(Some(settled.version))
    }

    /// Brings an archived tool back, with the text that it had, or one that is [held](crate::Loaded::held). Where it can be
    /// called already, its last version is given and nothing is saved.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is no such tool; else as [`commit`](Self::commit).
    pub fn restore(&self, name: &str, by: &str) -> Result<Settled, StoreError> {
        let (_lock, last, is_held) = self.lock_tool(name)?;
        match last.status {
            Status::Active if !is_held => Ok(Settled::already(last)),
            _ => self.again(name, last, Change::Restored, Status::Active, by),
        }
    }

    /// Locks out other writers, with what [`last_or_missing`](Self::last_or_missing) says then. A store is not made for a tool that
    /// is not there.
    fn lock_tool(&self, name: &str) -> Result<(File, Version, bool), StoreError> {
        self.last_or_missing(name)?;
        let lock = self.lock()?;
        let (last, is_held) = self.last_or_missing(name)?;
        Ok((lock, last, is_held))
    }

    /// The last version that can be used, and whether it is held.
    ///
    /// # Errors
    ///
    /// Where there is none, what is wrong with the files of the tool, or that there is no such tool.
    fn last_or_missing(&self, name: &str) -> Result<(Version, bool), StoreError> {
        let mut damaged = Vec::new();
        let Stand { last, is_held, .. } = self.stand(name, &mut damaged)?;
        match (last, damaged.into_iter().next()) {
            (Some(last), _) => Ok((last, is_held)),
            (None, Some(damaged)) => Err(damaged.into()),
            (None, None) => Err(StoreError::NotFound { name: name.to_owned(), version: None }),
        }
    }

    /// The text of a version as the next one, by the caller that has the lock. Its approval goes with it: it is of that very text.
    fn again(
        &self,
        name: &str,
        old: Version,
        change: Change,
        status: Status,
        by: &str,
    ) -> Result<Settled, StoreError> {
        let base = self.last(name)?.map(|it| it.number);
        let mut new =
            NewVersion::new(old.definition, base, change).status(status).evidence(old.evidence);
        by.clone_into(&mut new.proposed_by);
        new.approval = old.approval;
        self.commit_locked(new).map(Settled::made)
    }
}
