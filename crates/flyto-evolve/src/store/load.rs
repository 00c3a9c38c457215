//! Reading a store, and putting in order what a stopped writer left.

use std::{fmt, io, path::PathBuf};

use serde::Serialize;
use serde_json::json;

use super::{
    EVENTS, MAX_EVENTS_BYTES, PENDING, QUARANTINE, Status, Store, StoreError, TEMP, TOOLS,
    UNUSABLE, Version, files::is_of_process, history_of, record_of, view::View, view_of,
};
use crate::{
    ToolDefinition,
    composite::{Composite, ToolHashes},
};

/// What a store holds at one moment.
///
/// The four lists are apart because a host does something else with each: it registers the first, offers to restore the
/// second, asks a person about the third, and tells of the fourth.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let store = flyto_evolve::Store::new(temp.path().join("evolution"));
/// let loaded = store.load()?;
/// for it in &loaded.damaged {
///     eprintln!("{}: {}", it.path.display(), it.why);
/// }
/// assert!(loaded.active.iter().all(|it| it.is_approved()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// Approved tools that can be called, in the order of their names.
    pub active: Vec<Version>,
    /// Tools that were set aside.
    pub archived: Vec<Version>,
    /// Tools that cannot be called since the newest file of their history cannot be used or is gone, by the version before
    /// it. [`Store::restore`] makes that one the newest, [`Store::archive`] sets the tool aside.
    pub held: Vec<Version>,
    /// What no person approved: files of a folder without a history, files that were edited by hand, and newest versions.
    pub unapproved: Vec<Unapproved>,
    /// Files that cannot be used, also since the system does not give them. The other tools are not concerned. Those of counts
    /// and pins, and proposals, are among them. Of the history, the newest files are: see [`Store::damaged_history`].
    pub damaged: Vec<Damaged>,
    /// Files in `quarantine` that could not be used when they were set aside, in the order of their names, until a person
    /// removes them. At most 100; edits that were denied are not among them.
    pub set_aside: Vec<PathBuf>,
}

/// The most files that were set aside and are told.
const MAX_SET_ASIDE: usize = 100;

/// How a tool stands in the store.
#[derive(Debug)]
pub(super) struct Stand {
    /// The last version that can be used.
    pub(super) last: Option<Version>,
    /// Its file in `tools`.
    pub(super) view: View,
    /// Whether a newer version cannot be used or is gone, so that this one is not in force.
    pub(super) is_held: bool,
}

/// A definition that no person approved: in `tools`, or as the newest version of a history.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unapproved {
    /// What the file says.
    pub definition: ToolDefinition,
    /// The version that it was edited from; `None` where there is no history.
    pub base: Option<u64>,
    /// The newest version of the history, where that is what has no approval: a program saved it, or wrote it there. No answer
    /// adopts it; a rollback to an approved version has that one run again. `None` for a file in `tools`.
    pub version: Option<u64>,
    /// By what an answer names it.
    pub id: String,
}

/// A file of a store that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damaged {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl From<Damaged> for StoreError {
    fn from(it: Damaged) -> Self {
        Self::Damaged { path: it.path, why: it.why }
    }
}

impl StoreError {
    /// What is to be told of the one file or directory that the error is about; another error is given back.
    ///
    /// A file that the system does not give costs no more than a damaged one: its own tool. Where the process has no descriptors left,
    /// nothing is known of the file, so that it is neither passed over for an older one nor set aside.
    pub(super) fn of_one_file(self) -> Result<Damaged, Self> {
        match self {
            Self::Damaged { path, why } => Ok(Damaged { path, why }),
            Self::Io { doing, path, source } if !is_of_process(&source) => {
                let next = match source.kind() {
                    io::ErrorKind::PermissionDenied => "make it readable for this user",
                    _ => "put it back from a copy, or move it away",
                };
                Ok(Damaged { path, why: format!("failed to {doing} it: {source}; {next}") })
            }
            other => Err(other),
        }
    }
}

/// Something that was put in order. It is recorded in the log of events too, as `recovered`.
///
/// `Display` is one sentence for an operator; as JSON, it is an object with `name`, `kind` and what the kind has.
///
/// ```
/// use flyto_evolve::LoadReport;
///
/// fn told(report: &LoadReport) {
///     report.recovered.iter().for_each(|it| eprintln!("{it}"));
/// }
/// told(&LoadReport::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Recovered {
    /// The name of the tool.
    pub name: String,
    /// What was done.
    #[serde(flatten)]
    pub kind: RecoveredKind,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.kind {
            RecoveredKind::RolledForward { from: Some(from), to } => {
                write!(
                    f,
                    "the file of the tool {name} said version {from} and says version {to} now; a rollback has version {from} run \
                     again"
                )
            }
            RecoveredKind::RolledForward { from: None, to } => {
                write!(f, "the file of the tool {name} was missing and says version {to} now")
            }
            RecoveredKind::ProposalSetAside { id, path, why } => {
                let path = path.display();
                write!(
                    f,
                    "the proposal {id} was damaged ({why}) and is {path} now: propose it again"
                )
            }
            RecoveredKind::ProposalSaved { id, version } => {
                write!(
                    f,
                    "the proposal {id} was saved as version {version} by a process that was stopped then, and waits no longer"
                )
            }
            RecoveredKind::Removed => {
                write!(f, "the file of the tool {name} was removed: the tool is archived")
            }
            RecoveredKind::SetAside { path, why, to } => {
                write!(
                    f,
                    "the file of the tool {name} was damaged ({why}) and is {} now; ",
                    path.display()
                )?;
                match to {
                    Some(to) => write!(f, "version {to} of the history is in its place"),
                    None => f.write_str("no version is in its place"),
                }
            }
        }
    }
}

/// What was put in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum RecoveredKind {
    /// The file in `tools` said the version before, or was missing, and says the last one now.
    RolledForward {
        /// The version that it said; `None` where it was missing.
        from: Option<u64>,
        /// The version that it says now.
        to: u64,
    },
    /// The file of an archived tool was removed from `tools`.
    Removed,
    /// A proposal that lay among those that wait was saved before, and was taken off the list.
    ProposalSaved {
        /// The id.
        id: String,
        /// The version that decided it.
        version: u64,
    },
    /// A proposal that waited could not be used, and was set aside.
    ProposalSetAside {
        /// The id.
        id: String,
        /// Where it is now.
        path: PathBuf,
        /// What was wrong with it.
        why: String,
    },
    /// The file in `tools` could not be used. It was set aside, and says the last version now, where there is one.
    SetAside {
        /// Where it is now.
        path: PathBuf,
        /// What was wrong with it.
        why: String,
        /// The version that is in its place; `None` where no version can be called.
        to: Option<u64>,
    },
}

impl Store {
    /// Puts in order what a stopped writer left: files in `tools` that are behind their history, and files that were
    /// being written. A file that cannot be used is set aside. What a person edited stays as it is; see
    /// [`load`](Self::load). A directory that does not exist stays away.
    ///
    /// ```
    /// use flyto_evolve::{Approval, Change, NewVersion, RecoveredKind, Store, ToolDefinition};
    ///
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// let def = ToolDefinition::script("now", "The time.", "date\n");
    /// let approval = Approval::now("ada", def.hash());
    /// store.commit(NewVersion::new(def.clone(), None, Change::Created).approved(approval))?;
    ///
    /// // As after the end of a writer between the commit point and the file for people.
    /// std::fs::remove_file(store.view_path("now"))?;
    /// let recovered = store.recover()?;
    /// assert_eq!(recovered[0].kind, RecoveredKind::RolledForward { from: None, to: 1 });
    /// assert!(store.view_path("now").exists() && store.recover()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`], [`StoreError::NoSpace`] and [`StoreError::Io`]; a store that cannot be written to can
    /// be loaded all the same.
    pub fn recover(&self) -> Result<Vec<Recovered>, StoreError> {
        Ok(self.recover_and_load()?.0)
    }

    /// [`recover`](Self::recover), then [`load`](Self::load): both look at the same files, and each version is read once.
    pub(crate) fn recover_and_load(&self) -> Result<(Vec<Recovered>, Loaded), StoreError> {
        let (mut recovered, mut loaded) = (Vec::new(), Loaded::default());
        // A directory that cannot be reached may hold tools, and so may one behind a link that leads nowhere now.
        match self.shared.dir.symlink_metadata() {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok((recovered, loaded)),
            found => {
                self.told("look at", "", found)?;
            }
        }
        let _lock = self.lock()?;
        for dir in ["", TOOLS] {
            self.remove_temps(dir)?;
        }
        match self.waiting_names() {
            Ok(_) => {
                self.remove_temps(PENDING)?;
                recovered.extend(self.set_damaged_pending_aside(&mut loaded.damaged)?);
                recovered.extend(self.take_decided_off()?);
            }
            Err(err) => loaded.damaged.push(err.of_one_file()?),
        }
        for name in self.names()? {
            // A directory that cannot be listed is told by `stand`.
            if self.numbers(&name).is_ok() {
                self.remove_temps(&history_of(&name))?;
            }
            let mut stand = self.stand(&name, &mut loaded.damaged)?;
            if !stand.is_held
                && let Some(it) = self.put_in_order(&name, stand.last.as_ref(), &stand.view)?
            {
                recovered.push(it);
                stand.view = self.view(&name, stand.last.as_ref())?;
            }
            self.add_loaded(&name, stand, &mut loaded);
        }
        self.add_others(&mut loaded)?;
        Ok((recovered, loaded))
    }

    /// Removes files that were being written when their writer was stopped. The lock is held, so no writer is at it.
    fn remove_temps(&self, dir: &str) -> Result<(), StoreError> {
        for name in self.told("list", dir, self.files().names(dir))? {
            if name.starts_with(TEMP) {
                let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
                self.told("remove", &path, self.files().remove(&path))?;
            }
        }
        Ok(())
    }

    /// Puts the file of one tool in order. The lock is held.
    pub(super) fn recover_one(&self, name: &str) -> Result<Option<Recovered>, StoreError> {
        let last = self.last(name)?;
        let view = self.view(name, last.as_ref())?;
        self.put_in_order(name, last.as_ref(), &view)
    }

    /// Has the file of a tool say what its last version says, where a writer was stopped. The lock is held.
    pub(super) fn put_in_order(
        &self,
        name: &str,
        last: Option<&Version>,
        view: &View,
    ) -> Result<Option<Recovered>, StoreError> {
        let kind = match (view, last) {
            (View::Behind { at }, Some(last)) => {
                self.write_view(last)?;
                RecoveredKind::RolledForward { from: *at, to: last.number }
            }
            (View::Archived, Some(last)) => {
                self.write_view(last)?;
                RecoveredKind::Removed
            }
            (View::Unusable(why), _) => {
                let aside = self.quarantine(&view_of(name), UNUSABLE)?;
                let active = last.filter(|it| it.status == Status::Active);
                if let Some(last) = active {
                    self.write_view(last)?;
                }
                let (path, to) = (self.path(&aside), active.map(|it| it.number));
                RecoveredKind::SetAside { path, why: why.clone(), to }
            }
            _ => return Ok(None),
        };
        self.log()?.event("", "recovered", &json!({"tool": name, "what": kind}))?;
        Ok(Some(Recovered { name: name.to_owned(), kind }))
    }

    /// What the store holds. A directory that does not exist holds nothing. Nothing is written.
    ///
    /// Of each history, the newest version is read; [`damaged_history`](Self::damaged_history) reads the others too.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] where a directory of all tools cannot be read, and [`StoreError::Damaged`] where more than
    /// [`MAX_TOOLS`](crate::MAX_TOOLS) tools have a history. A file that cannot be used costs its own tool only, and is told in [`Loaded::damaged`].
    pub fn load(&self) -> Result<Loaded, StoreError> {
        let mut res = Loaded::default();
        for name in self.names()? {
            self.load_one(&name, &mut res)?;
        }
        match self.damaged_pending() {
            Ok(found) => {
                for (_, err) in found {
                    res.damaged.push(err.of_one_file()?);
                }
            }
            Err(err) => res.damaged.push(err.of_one_file()?),
        }
        self.add_others(&mut res)?;
        Ok(res)
    }

    /// Adds what belongs to no tool.
    fn add_others(&self, res: &mut Loaded) -> Result<(), StoreError> {
        res.damaged.extend(self.misnamed()?);
        res.damaged.extend(self.further()?);
        res.damaged.extend(self.damaged_counts());
        match self.set_aside_files() {
            Ok(files) => res.set_aside = files,
            Err(err) => res.damaged.push(err.of_one_file()?),
        }
        Ok(())
    }

    /// What lies in `quarantine` since it could not be used.
    fn set_aside_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut names = self.told("list", QUARANTINE, self.files().names(QUARANTINE))?;
        names.retain(|it| it.contains(&format!(".{UNUSABLE}.")));
        names.sort_unstable();
        names.truncate(MAX_SET_ASIDE);
        Ok(names.iter().map(|it| self.path(&format!("{QUARANTINE}/{it}"))).collect())
    }

    fn load_one(&self, name: &str, res: &mut Loaded) -> Result<(), StoreError> {
        let stand = self.stand(name, &mut res.damaged)?;
        self.add_loaded(name, stand, res);
        Ok(())
    }

    /// Adds a tool by its last version and its file.
    fn add_loaded(&self, name: &str, stand: Stand, res: &mut Loaded) {
        let Stand { last, view, is_held, .. } = stand;
        match view {
            View::Edited(definition) => {
                let base = last.as_ref().map(|it| it.number);
                res.unapproved.push(self.unapproved_of(*definition, base));
            }
            View::Unusable(why) => {
                res.damaged.push(Damaged { path: self.path(&view_of(name)), why });
            }
            View::Current | View::Behind { .. } | View::Archived => {}
        }
        let Some(last) = last else { return };
        match last.status {
            Status::Archived => res.archived.push(last),
            Status::Active if is_held => res.held.push(last),
            Status::Active if last.is_approved() => res.active.push(last),
            // A history that was written by hand.
            Status::Active => {
                let (base, version) = (last.parent, Some(last.number));
                let found = self.unapproved_of(last.definition, base);
                res.unapproved.push(Unapproved { version, ..found });
            }
        }
    }

    /// A definition without approval, with its id: its text, and the tools that it calls now.
    fn unapproved_of(&self, definition: ToolDefinition, base: Option<u64>) -> Unapproved {
        let called = Composite::of(&definition);
        let called = called.iter().flat_map(Composite::tools);
        let in_force = |name: &str| {
            let stand = self.stand(name, &mut Vec::new()).ok().filter(|it| !it.is_held)?;
            let last = stand.last.filter(|it| it.status == Status::Active && it.is_approved())?;
            Some((name.to_owned(), last.hash()))
        };
        let tools: ToolHashes = called.filter_map(in_force).collect();
        let id = definition.hash().with_tools(&tools).proposal_id(&definition.name);
        Unapproved { definition, base, version: None, id }
    }

    /// How a tool stands. What cannot be used is added to `damaged`.
    ///
    /// The newest file of a history decides, since it may say that the tool was set aside. Where it cannot be used, the
    /// version before it is not in force. Where it is gone, the log of events has its number; that is asked where the file
    /// in `tools` is missing too, as with a tool that was archived.
    pub(super) fn stand(
        &self,
        name: &str,
        damaged: &mut Vec<Damaged>,
    ) -> Result<Stand, StoreError> {
        let mut found = Vec::new();
        let last = match self.last_with(name, &mut found) {
            Ok(last) => last,
            // Its directory cannot be listed: it may have been archived, and what its file says is not known to be approved.
            Err(err) => {
                damaged.push(err.of_one_file()?);
                return Ok(Stand { last: None, view: View::Current, is_held: true });
            }
        };
        let view = self.view(name, last.as_ref())?;
        if found.is_empty()
            && let (View::Behind { at: None }, Some(last)) = (&view, &last)
        {
            let newest = self.newest_in_log(name).filter(|it| *it > last.number);
            found.extend(newest.map(|it| Damaged {
                path: self.path(&record_of(name, it)),
                why: "it is gone, and the log of events has it".to_owned(),
            }));
        }
        let is_held = last.is_some() && !found.is_empty();
        if let (true, Some(first)) = (is_held, found.first_mut()) {
            first.why.push_str("; the tool is not called before it is restored or archived");
        }
        damaged.append(&mut found);
        Ok(Stand { last, view, is_held })
    }

    /// The number of the version of a tool that was saved last, by the end of the log of events; `None` where that does not tell.
    pub(super) fn newest_in_log(&self, name: &str) -> Option<u64> {
        let reader = flyto_audit::Reader::open(self.path(EVENTS)).ok()?;
        let filter = flyto_audit::Filter::default().with_event("end");
        let records =
            reader.filter(filter).newest_first().look_back(MAX_EVENTS_BYTES).records().ok()?;
        let prefix = format!("save {name} ");
        records
            .filter_map(Result::ok)
            .filter(|it| it.body["outcome"] == "saved")
            .find_map(|it| it.id.strip_prefix(&prefix)?.parse().ok())
    }

    /// The hash of a version, by the end of the log of events; `None` where that does not tell.
    pub(super) fn hash_in_log(&self, name: &str, number: u64) -> Option<String> {
        let reader = flyto_audit::Reader::open(self.path(EVENTS)).ok()?;
        let id = format!("save {name} {number}");
        let filter = flyto_audit::Filter::default().with_event("begin").with_id(id);
        let mut records =
            reader.filter(filter).newest_first().look_back(MAX_EVENTS_BYTES).records().ok()?;
        let hash = |it: flyto_audit::Record| it.body["sha256"].as_str().map(str::to_owned);
        records.find_map(|it| hash(it.ok()?))
    }

    /// What a person wrote into the file of a tool without approval.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where the file says what was approved, or does not exist.
    pub fn unapproved(&self, name: &str) -> Result<Unapproved, StoreError> {
        let last = self.last(name)?;
        match self.view(name, last.as_ref())? {
            View::Edited(definition) => {
                Ok(self.unapproved_of(*definition, last.map(|it| it.number)))
            }
            _ => Err(StoreError::NotFound { name: name.to_owned(), version: None }),
        }
    }

    /// Sets aside what a person wrote into the file of a tool, and has it say the last version again. Gives the place of
    /// what was set aside.
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
    /// let path = store.view_path("now");
    /// let text = std::fs::read_to_string(&path)?;
    /// std::fs::write(&path, text.replace("date", "date -u"))?;
    /// assert_eq!(store.load()?.unapproved[0].base, Some(1));
    ///
    /// let aside = store.discard_edit("now")?;
    /// assert_eq!(std::fs::read_to_string(&path)?, text);
    /// assert!(std::fs::read_to_string(aside)?.contains("date -u"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where there is nothing to discard; else as [`recover`](Self::recover).
    pub fn discard_edit(&self, name: &str) -> Result<PathBuf, StoreError> {
        let _lock = self.lock()?;
        self.unapproved(name)?;
        let aside = self.quarantine(&view_of(name), "discarded")?;
        let stand = self.stand(name, &mut Vec::new())?;
        if let Some(last) = stand.last.filter(|it| it.status == Status::Active && !stand.is_held) {
            self.write_view(&last)?;
        }
        Ok(self.path(&aside))
    }
}
