//! Calls that can be taken back, kept until they are.
//!
//! A tool whose calls can be taken back gives the inverse call with its result
//! ([`ToolResult::undo`](flyto_tools::ToolResult::undo)). A host with an [`UndoStore`]
//! ([`HostBuilder::undo_store`](crate::HostBuilder::undo_store)) has the stage
//! [`undo`](crate::stages::names::UNDO), which records it under the id of the call.
//!
//! Undoing a call is one call of the inverse tool, through all stages of the host:
//!
//! 1. the record is marked: the undoing has begun;
//! 2. the inverse call is made;
//! 3. the record is marked: undone, or back to what it was, or unsure.
//!
//! **A process that dies between 1 and 3 leaves a record that has begun.** It may have been undone, and no process
//! undoes it again: a second deletion, or a second transfer, can do more harm than one that is missing. A person looks, and
//! calls the inverse tool by name where it is needed.
//!
//! | the inverse call | the record |
//! | --- | --- |
//! | succeeded, also where a stage withheld its result | [undone](UndoState::Undone), by which call and when |
//! | was refused before its tool, ended before it came to its tool, could not be tried, or its input did not fit | as it was |
//! | ended with an exit code or an error of the tool's own | as it was |
//! | timed out, was cancelled, was killed, left a result that breaks its schema | [unsure](UndoState::Unsure) |
//!
//! A record that a host made knows its inverse tool ([`InverseTool`]): another one of that name, as of a plugin that was
//! replaced, is not called.
//!
//! The inverse call can have an inverse itself, which is recorded as well. It is undone by its own id only:
//! [`UndoStore::latest`] passes it over, so that undoing twice takes two calls back, and does not redo the first.
//!
//! Records are files with mode 0600 below `undo` in the user's state directory, replaced in one step. They
//! hold the input of the inverse call. 1,000 are kept, for 30 days.

mod inverse; // which tool takes a call back
mod record; // what is known of a call that can be taken back
mod run; //    undoing

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use flyto_tools::{CallId, UndoInfo};

use self::record::RecordFile;
pub use self::{
    inverse::InverseTool,
    record::{UndoList, UndoRecord, UndoState, UnusableRecord},
    run::Undoing,
};
use crate::{
    clock, disk,
    error::CallError,
    ids,
    places::Places,
    replace::{Flush, replace},
};

/// Records are kept for 30 days.
pub const KEEP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Most records that are kept; of more, the oldest are removed.
pub const MAX_RECORDS: usize = 1000;

/// The largest record: 1 MiB. A call whose inverse has a longer input is not recorded.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// Digits of the SHA-256 of an id in the name of its file.
const HASH_DIGITS: usize = 16;

/// Ids that are tried for a call whose own is taken.
const MAX_ATTEMPTS: u32 = 1000;

/// How long a process waits for another one that writes a record: 2 s. A record takes milliseconds; a process that was
/// stopped meanwhile must not keep calls from ending.
const LOCK_TIME: Duration = Duration::from_secs(2);

/// The file whose lock a writer holds.
const LOCK: &str = "lock";

/// The calls of one user that can be taken back: a directory with one file for each.
///
/// Any number of processes use it at the same time; a lock orders those that write.
///
/// ```
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings, permission::Caller, undo::UndoStore};
/// use flyto_tools::{CallContext, Input, NativeTool, NoInput, ToolResult, UndoInfo};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = UndoStore::new(dir.path());
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::builder(ExecEnv::new(Local::new()), surroundings, Config::default())
///     .caller(Caller::Operator)
///     .undo_store(store.clone())
///     .build();
/// let made = async |_, _: NoInput| {
///     let undo = UndoInfo::new("remove the note", "remove", serde_json::json!({}));
///     ToolResult::text("made").with_undo(undo)
/// };
/// host.add_tool("me", NativeTool::builder("make", "Makes a note.").run(made)?)?;
/// let remove = async |_, _: NoInput| "removed";
/// host.add_tool("me", NativeTool::builder("remove", "Removes it.").run(remove)?)?;
///
/// let ctx = CallContext::new;
/// host.call("make", Input::empty(), &ctx()).await?;
/// let latest = store.latest()?.expect("one call can be taken back");
/// assert_eq!(store.undo(&host, &latest.id, &ctx()).await?.output, "removed");
/// assert!(store.latest()?.is_none());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoStore {
    dir: PathBuf,
}

/// Why a call was not undone, or not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// There is no record of a call with this id.
    #[error("there is no call {id:?} that can be undone")]
    NotFound {
        /// What was asked for.
        id: String,
    },
    /// The ids of several recorded calls begin like this.
    #[error("the ids of {n} calls begin with {id:?}")]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// How many calls it may mean.
        n: usize,
    },
    /// It was undone before.
    #[error("the call {id:?} was undone already, at {at} by the call {by:?}", at = clock::text(*at))]
    AlreadyUndone {
        /// The call.
        id: String,
        /// When.
        at: SystemTime,
        /// The id of the inverse call.
        by: String,
    },
    /// It may have been undone: the inverse call runs, or its end is not known.
    #[error("the call {id:?} may have been undone: {why}, at {at} by the call {by:?}", at = clock::text(*at))]
    Unsure {
        /// The call.
        id: String,
        /// When the undoing began, or ended without success.
        at: SystemTime,
        /// The id of the inverse call.
        by: String,
        /// What is known.
        why: String,
    },
    /// The inverse call gave no result. Its tool may have run all the same, as where a stage withheld the result.
    #[error("{}", no_result(id, state))]
    Call {
        /// The call.
        id: String,
        /// What the record says since.
        state: UndoState,
        /// Why there is no result.
        source: Box<CallError>,
    },
    /// The record cannot be used: it is torn, or was changed by hand.
    #[error("failed to read the record of a call {path:?}: {why}")]
    Unusable {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The record would be longer than [`MAX_RECORD_BYTES`].
    #[error(
        "the inverse call has an input of {bytes} bytes, and at most {MAX_RECORD_BYTES} are recorded"
    )]
    TooLarge {
        /// How long the record would be.
        bytes: u64,
    },
    /// The file system refused.
    #[error("failed to {what}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it cannot be done.
        source: io::Error,
    },
}

fn no_result(id: &str, state: &UndoState) -> String {
    match state {
        UndoState::Open => format!("the call {id:?} was not undone"),
        UndoState::Undone { .. } => {
            format!("the call {id:?} was undone, by a call without a result")
        }
        _ => format!("the call {id:?} may have been undone, by a call without a result"),
    }
}

impl UndoError {
    fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

impl UndoStore {
    /// The store of one user: `undo` below the state directory. `None` where the user has none.
    #[must_use]
    pub fn of(places: &Places) -> Option<Self> {
        Some(Self::new(places.state_dir.as_ref()?.join("undo")))
    }

    /// A store in this directory, which need not be there.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Records how the call `call` of `tool` is taken back, and gives the id of the record: that of the call, or, where
    /// it is taken, with a number behind it.
    ///
    /// `undoes` is the record that the call itself took back, `inverse` identifies the inverse tool. Records beyond the
    /// bounds are removed.
    ///
    /// # Errors
    ///
    /// [`UndoError::TooLarge`], [`UndoError::Io`]. Then nothing is recorded.
    pub(crate) fn record(
        &self,
        call: &CallId,
        tool: &str,
        undo: &UndoInfo,
        undoes: Option<&str>,
        inverse: Option<InverseTool>,
    ) -> Result<String, UndoError> {
        let _lock = self.lock()?;
        let names = self.names()?;
        let id = free_id(call, &names);
        let now = SystemTime::now();
        let record = RecordFile::new(&id, tool, undo, undoes, now).with_inverse(inverse);
        let path = self.dir.join(file_name(&id, now));
        self.write(&path, &record)?;
        self.clean(names);
        Ok(id)
    }

    /// All records, the latest call first, and the files that are none.
    ///
    /// # Errors
    ///
    /// [`UndoError::Io`] where the directory cannot be read. One that is not there has no records.
    pub fn list(&self) -> Result<UndoList, UndoError> {
        let mut res = UndoList::default();
        let mut names = self.names()?;
        names.sort_by(|a, b| b.cmp(a));
        for name in names {
            match self.read(&name) {
                Ok(Some(record)) => res.records.push(record),
                Ok(None) => {}
                Err(UndoError::Unusable { path, why }) => {
                    res.unusable.push(UnusableRecord { path, why });
                }
                Err(err) => return Err(err),
            }
        }
        Ok(res)
    }

    /// The record of this id, or the only one whose id begins like this.
    ///
    /// # Errors
    ///
    /// [`UndoError::NotFound`], [`UndoError::Ambiguous`], [`UndoError::Unusable`].
    pub fn find(&self, id: &str) -> Result<UndoRecord, UndoError> {
        let not_found = || UndoError::NotFound { id: id.to_owned() };
        let hash = hash(id);
        if let Some(name) = self.names()?.into_iter().find(|it| hash_of(it) == Some(&*hash)) {
            return self.read(&name)?.ok_or_else(not_found);
        }
        if id.is_empty() {
            return Err(not_found());
        }
        let mut records = self.list()?.records;
        records.retain(|it| it.id.starts_with(id));
        match records.len() {
            0 => Err(not_found()),
            1 => Ok(records.remove(0)),
            n => Err(UndoError::Ambiguous { id: id.to_owned(), n }),
        }
    }

    /// The latest call that can be undone and did not undo another one itself.
    ///
    /// # Errors
    ///
    /// Those of [`list`](Self::list).
    pub fn latest(&self) -> Result<Option<UndoRecord>, UndoError> {
        let records = self.list()?.records;
        Ok(records.into_iter().find(|it| it.state == UndoState::Open && it.undoes.is_none()))
    }

    /// The call that is undone where none is named: the [latest](Self::latest), unless a later one may have been undone, or
    /// has a record that cannot be read. An older call in its place would be a surprise.
    ///
    /// # Errors
    ///
    /// [`UndoError::Unsure`] or [`UndoError::Unusable`] of that later call, and those of [`list`](Self::list).
    pub fn next(&self) -> Result<Option<UndoRecord>, UndoError> {
        let is_passed_over =
            |it: &UndoRecord| it.undoes.is_some() || matches!(it.state, UndoState::Undone { .. });
        let mut names = self.names()?;
        names.sort_by(|a, b| b.cmp(a));
        for name in names {
            if let Some(record) = self.read(&name)?.filter(|it| !is_passed_over(it)) {
                return record.check().map(|()| Some(record));
            }
        }
        Ok(None)
    }

    /// Reads a record by the name of its file; `None` where it was removed meanwhile.
    fn read(&self, name: &str) -> Result<Option<UndoRecord>, UndoError> {
        let path = self.dir.join(name);
        let unusable = |why: &dyn std::fmt::Display| UndoError::Unusable {
            path: path.clone(),
            why: why.to_string(),
        };
        let bytes = match disk::read(&path, MAX_RECORD_BYTES) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|err| unusable(&err))?,
        };
        let file: RecordFile = serde_json::from_slice(&bytes).map_err(|err| unusable(&err))?;
        if hash_of(name) != Some(&*hash(&file.call)) {
            return Err(unusable(&"it is the record of another call"));
        }
        Ok(Some(file.into_record(name)))
    }

    /// Writes a record; the lock is held.
    fn write(&self, path: &Path, record: &RecordFile) -> Result<(), UndoError> {
        let failed = |err| UndoError::io(format!("record a call in {path:?}"), err);
        let bytes = serde_json::to_vec_pretty(record).map_err(|err| failed(err.into()))?;
        if bytes.len() as u64 > MAX_RECORD_BYTES {
            return Err(UndoError::TooLarge { bytes: bytes.len() as u64 });
        }
        replace(path, &bytes, Flush::Now).map_err(failed)
    }

    /// Waits for the lock of those that write, for [`LOCK_TIME`] at most, and makes the directory where it is missing.
    fn lock(&self) -> Result<File, UndoError> {
        let made = disk::private_dir(&self.dir);
        made.map_err(|err| UndoError::io(format!("make the directory {:?}", self.dir), err))?;
        let path = self.dir.join(LOCK);
        let failed = |err| UndoError::io(format!("lock the records by {path:?}"), err);
        let lock = match disk::new_file(&path) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => disk::open(&path),
            new => new,
        };
        let lock = lock.map_err(failed)?;
        disk::lock_within(&lock, LOCK_TIME).map_err(failed)?;
        Ok(lock)
    }

    /// The names of the records' files.
    fn names(&self) -> Result<Vec<String>, UndoError> {
        let failed = |err| UndoError::io(format!("list the records in {:?}", self.dir), err);
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(failed(err)),
        };
        let mut res = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if hash_of(&name).is_some() {
                res.push(name);
            }
        }
        Ok(res)
    }

    /// Removes the oldest of these records, beyond the bounds. What cannot be removed stays.
    fn clean(&self, mut names: Vec<String>) {
        names.sort();
        // One was added to them.
        let n_more = (names.len() + 1).saturating_sub(MAX_RECORDS);
        let oldest = SystemTime::now().checked_sub(KEEP).map(time_part).unwrap_or_default();
        for (i, name) in names.iter().enumerate() {
            if i >= n_more && *name >= oldest {
                break;
            }
            let _ = fs::remove_file(self.dir.join(name));
        }
    }
}

/// The call's own id, or the first free one with a number behind it.
fn free_id(call: &CallId, names: &[String]) -> String {
    let is_taken = |id: &str| {
        let hash = hash(id);
        names.iter().any(|it| hash_of(it) == Some(&*hash))
    };
    let numbered = (2..MAX_ATTEMPTS).map(|n| format!("{call}-{n}"));
    let mut ids = std::iter::once(call.to_string()).chain(numbered);
    ids.find(|it| !is_taken(it)).unwrap_or_else(|| format!("{call}-{}", ids::digits()))
}

/// The name of a record's file: the time of the call, so that names are in the order of the calls, and the beginning of
/// the SHA-256 of the id, which may hold what no name of a file can.
fn file_name(id: &str, at: SystemTime) -> String {
    format!("{}-{}.json", time_part(at), hash(id))
}

/// Nanoseconds since 1970, with as many digits until the year 2286.
fn time_part(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:019}", since.as_nanos())
}

fn hash(id: &str) -> String {
    ids::hash(id.as_bytes())[..HASH_DIGITS].to_owned()
}

/// The part of a file's name that is the hash of the id; `None` for the name of no record.
fn hash_of(name: &str) -> Option<&str> {
    let (time, rest) = name.split_once('-')?;
    let hash = rest.strip_suffix(".json")?;
    let is_number = !time.is_empty() && time.bytes().all(|it| it.is_ascii_digit());
    let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|it| it.is_ascii_hexdigit());
    (is_number && is_hash).then_some(hash)
}

#[cfg(test)]
mod tests;
