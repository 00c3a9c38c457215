//! What can go wrong with a store.

use std::{io, path::PathBuf, time::Duration};

use flyto_audit::AuditError;

use super::Version;

/// What can go wrong with a store. A change that failed has left the tools as they were.
///
/// ```
/// use flyto_evolve::{Approval, Change, NewVersion, Store, StoreError, ToolDefinition};
///
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let approval = Approval::now("ada", def.hash());
/// store.commit(NewVersion::new(def.clone(), None, Change::Created).approved(approval))?;
///
/// // Another writer saw no version, and is told which one is there.
/// let approval = Approval::now("bob", def.hash());
/// let res = store.commit(NewVersion::new(def, None, Change::Created).approved(approval));
/// let Err(StoreError::Conflict { base, current: Some(current), .. }) = res else { panic!("{res:?}") };
/// assert_eq!((base, current.number), (None, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk is full, or a quota or the limit on a file's size is reached.
    #[error("failed to {doing} {}: no space left", path.display())]
    NoSpace {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused something else.
    #[error("failed to {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process kept the lock for too long.
    #[error("failed to lock {} within {} ms: another process writes to the store", path.display(), waited.as_millis())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long the store waited.
        waited: Duration,
    },
    /// The tool is at another version than the change is based on: another process changed it.
    #[error("the tool {:?} is at {}, and the change is based on {}", name, version_text(current.as_deref()), number_text(*base))]
    Conflict {
        /// The name.
        name: String,
        /// The version on which the change is based; `None` where the tool was to be new.
        base: Option<u64>,
        /// The version that the tool has; `None` where there is no such tool.
        current: Option<Box<Version>>,
    },
    /// With the change, composites of the store would call each other.
    #[error("the tools call each other: {}; change or archive one of the others first", names.join(" -> "))]
    Cycle {
        /// The names on the way, the first one also at the end.
        names: Vec<String>,
    },
    /// A person changed the file of the tool, and no decision about that was made yet.
    #[error("{} was edited by hand: approve the edit or discard it first", path.display())]
    EditedByHand {
        /// The name of the tool.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// What waited for a decision waits no longer: another person decided meanwhile.
    #[error("{what} waits no longer: {}", decided_text(*version))]
    Decided {
        /// The proposal or the edited file.
        what: String,
        /// The tool.
        name: String,
        /// The version that has its text, where it was saved.
        version: Option<u64>,
    },
    /// As many proposals wait for a person as may.
    #[error("{limit} proposals{} wait for a person, and that is the most: one has to be approved or denied first", name.as_ref().map(|it| format!(" of {it:?}")).unwrap_or_default())]
    Waiting {
        /// The tool; `None` for all tools together.
        name: Option<String>,
        /// How many wait.
        limit: usize,
    },
    /// There are as many tools as the store may hold, archived ones among them: [`MAX_TOOLS`](crate::MAX_TOOLS). Each keeps its
    /// directory in `history` for as long as the store is there; one that is moved elsewhere is no tool of the store any more, and
    /// can be [exported](crate::export_skill) first.
    #[error("{} holds {limit} tools, archived ones among them, and that is the most: move directories of archived ones away", path.display())]
    Full {
        /// The directory with a directory for each tool.
        path: PathBuf,
        /// How many there may be.
        limit: usize,
    },
    /// There is no such tool, or no such version of it.
    #[error("there is no {}", missing_text(name, *version))]
    NotFound {
        /// The name.
        name: String,
        /// The version that was asked for.
        version: Option<u64>,
    },
    /// A file of the store cannot be used.
    #[error("{} cannot be used: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The log of events cannot be written.
    #[error("failed to record the change in the log of events")]
    Events(#[from] AuditError),
    /// The name cannot be that of a file.
    #[error("the name {name:?} {why}")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it, in words that follow "the name".
        why: &'static str,
    },
}

fn version_text(version: Option<&Version>) -> String {
    version.map_or_else(|| "no version".to_owned(), |it| format!("version {}", it.number))
}

fn number_text(number: Option<u64>) -> String {
    number.map_or_else(|| "no version".to_owned(), |it| format!("version {it}"))
}

fn decided_text(version: Option<u64>) -> String {
    match version {
        Some(version) => format!("its text was saved as version {version}"),
        None => "it was denied or changed meanwhile".to_owned(),
    }
}

fn missing_text(name: &str, version: Option<u64>) -> String {
    match version {
        Some(version) => format!("version {version} of {name:?}"),
        None => format!("tool {name:?}"),
    }
}

impl StoreError {
    pub(super) fn io(doing: &'static str, path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace { doing, path, source },
            _ => Self::Io { doing, path, source },
        }
    }
}
