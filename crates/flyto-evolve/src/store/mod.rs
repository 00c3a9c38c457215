//! The tools on the disk: every version that ever was, and the current ones in the layout of the reference.
//!
//! ```text
//! DIR/tools/NAME.json             the current definition, in the Go layout
//! DIR/history/NAME/000007.json    every version, immutable
//! DIR/pending/ID.json             proposals that wait for a person
//! DIR/events/                     a log that shows tampering (`flyto-audit`)
//! DIR/acks.json                   findings that a person acknowledged
//! DIR/usage.json                  how tools were used
//! DIR/usage.since.json            from when on, where counts were lost
//! DIR/pins.json                   tools that no rule sets aside
//! DIR/calls/NAME/TIME-RANDOM.json calls that the host had recorded
//! DIR/fingerprint.key             the key of the fingerprints in it
//! DIR/quarantine/                 files that could not be used
//! DIR/.lock                       held by the process that writes
//! ```
//!
//! A version is there once its file has its name in `history`: that link(2) is the commit point, and it fails where
//! the number is taken, also without the lock. `tools` follows; where a crash came between, the next process that opens the
//! store, or writes the tool, brings it up to date.
//!
//! Three things that one could expect are not there, on purpose:
//!
//! - No `tools/NAME.sh` beside the definition. A second text of a tool would be edited or read in place of the one that
//!   runs; [`diff`](crate::diff) and a [`Review`](crate::Review) show scripts as lines.
//! - No file of counts for each process. Counts are added up under the lock, every 2 seconds and at each failure, so that
//!   every process sees the failures in a row of all; the end of a process loses successes of 2 seconds at most.
//! - A file of the history that was changed stays in `history`, and is told at each start. Its name keeps its number from
//!   being given to another text.

mod calls;
mod commit;
mod error;
mod files;
mod forgotten;
mod kept;
mod load;
mod record;
#[cfg(test)]
mod tests;
mod usage;
mod versions;
mod view;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flyto_audit::{Fsync, Log, Options};
use serde_json::json;

pub use calls::{
    CallRecording, Delivered, MAX_RECORDED_BYTES, MAX_RECORDED_CALLS, RecordedCall, RecordedStep,
};
pub use commit::NewVersion;
pub use error::StoreError;
pub(crate) use files::{Disk, Files};
pub use kept::{Acknowledgement, MAX_PENDING, MAX_PENDING_OF_TOOL, Pending};
use load::Stand;
pub use load::{Damaged, Loaded, Recovered, RecoveredKind, Unapproved};
pub use record::{Approval, Change, Settled, Status, Version};

/// How long an operation waits for other processes: 5 s, a hundred times what a save takes.
pub const DEFAULT_LOCK_WAIT: Duration = Duration::from_secs(5);

/// The most tools of a store, archived ones included.
pub const MAX_TOOLS: usize = 1000;

/// The largest file in `tools`, in bytes.
const MAX_VIEW_BYTES: u64 = crate::MAX_DEFINITION_BYTES as u64;

const TOOLS: &str = "tools";
const HISTORY: &str = "history";
const PENDING: &str = "pending";
const QUARANTINE: &str = "quarantine";
/// Why a file is in it that cannot be used, in the name of the file.
const UNUSABLE: &str = "unusable";
const EVENTS: &str = "events";
/// How far back the log of events is looked through for what files do not tell: 64 MiB, more than a hundred thousand events.
pub(crate) const MAX_EVENTS_BYTES: u64 = 64 * 1024 * 1024;
/// In front of the names of files that are being written.
const TEMP: &str = ".tmp.";

/// The tools in a directory, shared by threads and processes.
///
/// A value of this type holds no tools: each operation looks at the disk. Reading needs no lock and no right to write.
/// All operations wait for the disk, so a task of an async host calls them where it may block.
///
/// ```
/// use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition};
///
/// # let temp = tempfile::tempdir()?;
/// let store = Store::new(temp.path().join("evolution"));
/// assert!(store.load()?.active.is_empty());
///
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let approval = Approval::now("ada", def.hash());
/// let saved = store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
/// assert_eq!(saved.number, 1);
/// assert_eq!(store.load()?.active[0].definition.name, "now");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    files: Arc<dyn Files>,
    lock_wait: Duration,
    log: Mutex<Option<Log>>,
}

impl Store {
    /// The store in a directory, which need not exist: it is made by the first change. Nothing is read yet.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        let files = Arc::new(Disk::new(&dir));
        Self::with_files(dir, files, DEFAULT_LOCK_WAIT)
    }

    fn with_files(dir: PathBuf, files: Arc<dyn Files>, lock_wait: Duration) -> Self {
        Self { shared: Arc::new(Shared { dir, files, lock_wait, log: Mutex::new(None) }) }
    }

    /// Sets how long an operation waits for other processes. Clones made before keep theirs. Reading waits for none.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use flyto_evolve::{Approval, Change, NewVersion, Store, StoreError, ToolDefinition};
    ///
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// # let def = ToolDefinition::script("now", "The time.", "date\n");
    /// # let approval = Approval::now("ada", def.hash());
    /// # store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
    /// let other = std::fs::File::open(store.dir().join(".lock"))?;
    /// other.lock()?;
    /// let store = store.lock_wait(Duration::from_millis(5));
    /// assert_eq!(store.load()?.active.len(), 1);
    /// assert!(matches!(store.archive("now", "ada"), Err(StoreError::Locked { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lock_wait(self, lock_wait: Duration) -> Self {
        Self::with_files(self.shared.dir.clone(), Arc::clone(&self.shared.files), lock_wait)
    }

    /// The same store for what can be done later or left out: it waits no longer than this.
    pub(crate) fn waiting_at_most(&self, most: Duration) -> Self {
        let store = self.clone();
        if self.shared.lock_wait > most { store.lock_wait(most) } else { store }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// The file of a tool's current definition.
    #[must_use]
    pub fn view_path(&self, name: &str) -> PathBuf {
        self.path(&view_of(name))
    }

    fn files(&self) -> &dyn Files {
        &*self.shared.files
    }

    fn path(&self, path: &str) -> PathBuf {
        self.shared.dir.join(path)
    }

    /// Attaches what was being done, and with which file.
    fn told<T>(
        &self,
        doing: &'static str,
        path: &str,
        res: std::io::Result<T>,
    ) -> Result<T, StoreError> {
        res.map_err(|err| StoreError::io(doing, self.path(path), err))
    }

    /// Makes the directories, with their names on the disk, and locks out other writers.
    fn lock(&self) -> Result<File, StoreError> {
        let files = self.files();
        self.told("make the directory", "", files.make_dir(""))?;
        let locked = self.told("lock", ".lock", files.lock(self.shared.lock_wait))?;
        let Some(lock) = locked else {
            return Err(StoreError::Locked {
                path: self.path(".lock"),
                waited: self.shared.lock_wait,
            });
        };
        let mut is_new = false;
        let there = self.told("list", "", files.names(""))?;
        for dir in [TOOLS, HISTORY, PENDING, QUARANTINE] {
            if !there.iter().any(|it| it == dir) {
                self.told("make the directory", dir, files.make_dir(dir))?;
                is_new = true;
            }
        }
        if is_new {
            self.told("write to the disk", "", files.sync_dir(""))?;
        }
        Ok(lock)
    }

    /// The log of events. A host records its own there too: what was proposed, shown and denied.
    ///
    /// Each record has the hash of the one before, so a change of any of them shows:
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
    /// let report = flyto_audit::verify(store.dir().join("events"))?;
    /// assert!(report.is_intact());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::Events`], and [`StoreError::Io`] where the directory cannot be made.
    pub fn log(&self) -> Result<Log, StoreError> {
        let mut log = self.shared.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = &*log {
            return Ok(log.clone());
        }
        self.told("make the directory", "", self.files().make_dir(""))?;
        let options =
            Options::default().with_fsync(Fsync::Each).with_lock_wait(self.shared.lock_wait);
        let opened = Log::open(self.path(EVENTS), options)?;
        *log = Some(opened.clone());
        Ok(opened)
    }

    /// Where the log of events is.
    pub(crate) fn events_dir(&self) -> PathBuf {
        self.path(EVENTS)
    }

    /// Writes a file under another name, then gives it its own, in place of a file that had it.
    fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let temp = self.write_temp(path, bytes)?;
        self.move_in(&temp, path)
    }

    /// Writes a file that is to become `path`, and gives its name.
    fn write_temp(&self, path: &str, bytes: &[u8]) -> Result<String, StoreError> {
        let temp = temp_of(path.rsplit_once('/').map_or("", |(dir, _)| dir));
        let written = self.files().write_new(&temp, bytes);
        if written.is_err() {
            // What is left of it is removed by the next process that opens the store.
            drop(self.files().remove(&temp));
        }
        self.told("write", path, written)?;
        Ok(temp)
    }

    fn move_in(&self, temp: &str, path: &str) -> Result<(), StoreError> {
        let moved = self.files().rename(temp, path);
        if moved.is_err() {
            drop(self.files().remove(temp));
        }
        self.told("write", path, moved)?;
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        self.told("write to the disk", dir, self.files().sync_dir(dir))
    }

    /// Sets a file aside, under a name that says why.
    fn quarantine(&self, path: &str, why: &'static str) -> Result<String, StoreError> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let aside = format!("{QUARANTINE}/{name}.{why}.{}", random_name());
        self.told("set aside", path, self.files().rename(path, &aside))?;
        self.told("write to the disk", QUARANTINE, self.files().sync_dir(QUARANTINE))?;
        self.log()?.event("", "quarantined", &json!({"file": path, "as": aside, "why": why}))?;
        Ok(aside)
    }
}

fn view_of(name: &str) -> String {
    format!("{TOOLS}/{name}.json")
}

fn history_of(name: &str) -> String {
    format!("{HISTORY}/{name}")
}

fn record_of(name: &str, number: u64) -> String {
    format!("{HISTORY}/{name}/{number:06}.json")
}

/// A name in a directory for a file that is being written.
fn temp_of(dir: &str) -> String {
    let slash = if dir.is_empty() { "" } else { "/" };
    format!("{dir}{slash}{TEMP}{}.{}", std::process::id(), random_name())
}

/// The highest number of a version. A file with a higher one in its name is none of the store's.
const MAX_NUMBER: u64 = 999_999_999_999;

/// The number in the name of a version's file.
fn number_in(file: &str) -> Option<u64> {
    let digits = file.strip_suffix(".json")?;
    let is_number = digits.len() >= 6 && digits.bytes().all(|it| it.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok())?.filter(|it| *it <= MAX_NUMBER)?;
    (format!("{number:06}") == digits).then_some(number)
}

/// Twelve digits that no other file has.
fn random_name() -> String {
    let mut bytes = [0; 6];
    // Without random numbers, the clock keeps names apart; making a file with a taken name fails.
    if getrandom::fill(&mut bytes).is_err() {
        let now = flyto_audit::Timestamp::now().unix_ms().to_be_bytes();
        bytes.copy_from_slice(&now[2..]);
    }
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
