//! The current view: what `tools/NAME.json` says beside the history.
//!
//! The history decides, and the view follows it. The view is there for people, and for other hosts that read the Go layout.
//! A person may edit it, which makes it the only file of a store from which something is taken that no version says:
//!
//! | the file | the last version | what it means |
//! | --- | --- | --- |
//! | says the same | can be called | current |
//! | is missing, or says the version before it | can be called | behind: a writer was stopped |
//! | says the same, or the version before it | is archived | a writer was stopped before it removed the file |
//! | says a version whose file in the history is damaged | an earlier one | the tool is held; see `load` |
//! | says something else | any, or none | a person edited it, or the folder has no history |
//! | cannot be read | any, or none | torn, a link, too large, without the right to read: it is set aside |
//!
//! A writer brings the file up to date before it saves the next version, so one that is stopped leaves the version before. An
//! older one was put there by a person. A person that puts the version before back by hand looks like a writer that was stopped,
//! and is told so: rolling back is a call of its own.

use flyto_program::chain;

use super::{MAX_VIEW_BYTES, Stand, Status, Store, StoreError, Version, record, view_of};
use crate::{DefinitionHash, ToolDefinition, run::NotCurrent};

/// What the file of a current definition was found to be, compared with the last version.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum View {
    /// It says what the last version says, or both say that there is none.
    Current,
    /// It is missing, or says what the version before says: a writer was stopped, or a person put the old file back.
    Behind {
        /// The version that it says; `None` where it is missing.
        at: Option<u64>,
    },
    /// It is there, and the last version is archived.
    Archived,
    /// It says something that was never approved.
    Edited(Box<ToolDefinition>),
    /// It cannot be read.
    Unusable(String),
}

impl Store {
    /// Compares the view with `last`, the last version that can be used.
    pub(super) fn view(&self, name: &str, last: Option<&Version>) -> Result<View, StoreError> {
        let path = view_of(name);
        match self.files().read(&path, MAX_VIEW_BYTES) {
            Ok(bytes) => Ok(self.compared(name, bytes.as_deref(), last)),
            // A link, a directory, or too large.
            Err(err) if err.kind() == std::io::ErrorKind::Other => {
                Ok(View::Unusable(err.to_string()))
            }
            // What was approved is in the history, so a file that is not given is replaced as well.
            Err(err) => {
                let found = StoreError::io("read", self.path(&path), err).of_one_file()?;
                Ok(View::Unusable(found.why))
            }
        }
    }

    fn compared(&self, name: &str, bytes: Option<&[u8]>, last: Option<&Version>) -> View {
        let active = last.filter(|it| it.status == Status::Active);
        let Some(bytes) = bytes else {
            return if active.is_some() { View::Behind { at: None } } else { View::Current };
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return View::Unusable("it is not UTF-8".to_owned());
        };
        let found = match record::definition_of(name, text) {
            Ok(found) if found.name == name => found,
            Ok(found) => {
                return View::Unusable(format!("its definition has the name {:?}", found.name));
            }
            Err(why) => return View::Unusable(why),
        };
        let Some(last) = last else { return View::Edited(found.into()) };
        // Mostly it is so, and neither needs a hash then.
        if last.status == Status::Active && found == last.definition {
            return View::Current;
        }
        let hash = found.hash();
        if hash == last.hash() {
            return match last.status {
                Status::Archived => View::Archived,
                Status::Active if found.version == last.number => View::Current,
                Status::Active => View::Behind { at: Some(found.version) },
            };
        }
        // What the version before says is an old state of the file, and what a newer one says has lost its version.
        let may_be_state = last.parent == Some(found.version) || found.version > last.number;
        if may_be_state && self.is_of_version(name, found.version, hash) {
            return match last.status {
                Status::Archived => View::Archived,
                Status::Active => View::Behind { at: Some(found.version) },
            };
        }
        View::Edited(found.into())
    }

    /// Whether the text of this hash is that of a version, also of one whose file in the history cannot be used: the log of
    /// events has its hash.
    fn is_of_version(&self, name: &str, number: u64, hash: DefinitionHash) -> bool {
        match self.version(name, number) {
            Ok(version) => version.hash() == hash,
            Err(StoreError::Damaged { .. } | StoreError::Io { .. }) => {
                self.hash_in_log(name, number).is_some_and(|it| it == hash.to_string())
            }
            Err(_) => false,
        }
    }

    /// Brings the view up to what `last` says.
    ///
    /// An archived tool has no file in `tools`. What was there is lost only where the history has
    /// it; see [`View::Edited`].
    pub(super) fn write_view(&self, last: &Version) -> Result<(), StoreError> {
        let path = view_of(&last.definition.name);
        match last.status {
            Status::Active => self.replace(&path, last.definition.file_text().as_bytes()),
            Status::Archived => {
                self.told("remove", &path, self.files().remove(&path))?;
                self.told("write to the disk", super::TOOLS, self.files().sync_dir(super::TOOLS))
            }
        }
    }
}

impl Store {
    /// Whether a registered version is still in force: its text is the one that was approved, its tool is not archived, and
    /// no person edited its file. A later version of another process changes nothing about that.
    pub(crate) fn in_force(
        &self,
        name: &str,
        number: u64,
        approved: DefinitionHash,
    ) -> Result<(), NotCurrent> {
        let changed = |found: String| NotCurrent::Changed { approved: approved.short(), found };
        let unreadable = |err: StoreError| NotCurrent::Unreadable(chain(&err));
        // Mostly it is the last version that is asked for.
        let mut damaged = Vec::new();
        let Stand { last, view, is_held, .. } =
            self.stand(name, &mut damaged).map_err(unreadable)?;
        let version = match last.as_ref().filter(|it| it.number == number) {
            Some(last) => Ok(last.clone()),
            None => self.version(name, number),
        };
        let version = match version {
            Ok(version) => version,
            Err(StoreError::Damaged { why, .. }) => return Err(NotCurrent::Unusable(why)),
            Err(err) => return Err(unreadable(err)),
        };
        if version.hash() != approved {
            return Err(changed(version.hash().short()));
        }
        if let (true, Some(first)) = (is_held, damaged.first()) {
            let why = format!("{}: {}", first.path.display(), first.why);
            return Err(NotCurrent::Held(why));
        }
        let last = last.unwrap_or(version);
        if last.status == Status::Archived {
            return Err(NotCurrent::Archived);
        }
        match view {
            View::Edited(found) => Err(changed(format!(
                "{}, edited by hand: approve the edit or discard it",
                found.hash().short()
            ))),
            View::Unusable(why) => Err(NotCurrent::Unusable(why)),
            View::Current | View::Behind { .. } | View::Archived => Ok(()),
        }
    }
}
