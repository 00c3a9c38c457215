//! Writing: [`Log`] and [`Begun`].
//!
//! An append goes through three hands. [`Gate`] lets one thread of this process at a time have the [`State`], which
//! holds the descriptors. [`State::lock`] keeps other processes out, by a lock on `head.json`. Then `catch_up` compares
//! `head.json` and the length of `audit.jsonl` with what this process wrote last: where both are the same, which costs
//! two system calls, the next line follows at once; else [`recover`] looks at the files.
//!
//! The order of the writes is the line, then `head.json`. So a writer that is killed leaves a head that is behind by one
//! append, never one that is ahead: a head that is ahead means that the file lost something.

mod gate;
mod prune;
mod recover;
mod state;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;

use self::{gate::Gate, state::State};
use crate::{
    AuditError, Head, MAX_BODY_DEPTH, MAX_RECORD_BYTES, Process,
    line::{self, Content},
};

/// The longest id of a call, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// The longest name of an event, in bytes.
pub const MAX_EVENT_BYTES: usize = 64;

/// Events that the log writes itself.
pub(crate) mod events {
    /// A call begins.
    pub(crate) const BEGIN: &str = "begin";
    /// A call has ended.
    pub(crate) const END: &str = "end";
    /// The line before it was cut short by the end of its writer.
    pub(crate) const TORN: &str = "torn";
    /// A writer found the file shorter than `head.json` says.
    pub(crate) const CUT: &str = "cut";
    /// A writer found `head.json` missing or unreadable.
    pub(crate) const HEAD_LOST: &str = "head_lost";
    /// Old files are removed, as [`Keep`](super::Keep) says.
    pub(crate) const PRUNE: &str = "prune";

    pub(crate) const ALL: [&str; 6] = [BEGIN, END, TORN, CUT, HEAD_LOST, PRUNE];
}

/// When records are forced onto the disk. The end of the writing process loses no acknowledged record in any mode;
/// this is about the end of power or of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fsync {
    /// Never: the system writes them within half a minute or so (Linux: `vm.dirty_expire_centisecs`).
    Never,
    /// After 128 records, or with the first record that comes 100 ms after the last time, and when the log is dropped
    /// or [`Log::sync`] is called.
    #[default]
    Batch,
    /// Each before it is acknowledged (fdatasync(2)).
    Each,
}

/// Which rotated files stay.
///
/// Files are removed by writers, after a record `prune` that names the last record in them; so [`verify`](crate::verify())
/// tells them from files that another program removed. A file that was changed stays, as do those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Keep {
    /// All of them. [`Log::size`] tells what they take.
    #[default]
    All,
    /// So many, the newest.
    Files(usize),
    /// Those with a record that is no older.
    For(Duration),
}

/// How a log is written.
///
/// ```
/// use flyto_audit::{Fsync, Options};
///
/// let options = Options::default().with_fsync(Fsync::Each).with_rotate_bytes(8 << 20);
/// assert_eq!(options.fsync, Fsync::Each);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// When records are forced onto the disk.
    pub fsync: Fsync,
    /// A file that a further record would make longer is rotated; 64 MiB unless set. A single record may be longer.
    pub rotate_bytes: u64,
    /// Which rotated files stay. Files are removed after a rotation and at [`Log::open`], and a record says so.
    pub keep: Keep,
    /// How long an operation waits for other threads and processes; [`Options::DEFAULT_LOCK_WAIT`] unless set.
    pub lock_wait: Duration,
}

impl Options {
    /// 10 s: a thousand times what the slowest disks need for a forced write.
    pub const DEFAULT_LOCK_WAIT: Duration = Duration::from_secs(10);

    /// Sets when records are forced onto the disk.
    #[must_use]
    pub fn with_fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// Sets the length at which files are rotated.
    #[must_use]
    pub fn with_rotate_bytes(mut self, rotate_bytes: u64) -> Self {
        self.rotate_bytes = rotate_bytes;
        self
    }

    /// Sets which rotated files stay.
    #[must_use]
    pub fn with_keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Sets how long an operation waits for other writers.
    #[must_use]
    pub fn with_lock_wait(mut self, lock_wait: Duration) -> Self {
        self.lock_wait = lock_wait;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fsync: Fsync::default(),
            rotate_bytes: 64 * 1024 * 1024,
            keep: Keep::default(),
            lock_wait: Self::DEFAULT_LOCK_WAIT,
        }
    }
}

/// What a log takes on the disk.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let log = flyto_audit::Log::open(dir.path(), flyto_audit::Options::default())?;
/// log.event("", "stored", &1)?;
/// assert_eq!(log.size()?.files, 1);
/// assert!(log.size()?.bytes > 200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Size {
    /// Files with records.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A log that is written to. Clones share it, also between threads; other processes may write to the same directory
/// at the same time.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use flyto_audit::{Fsync, Keep, Log, Options};
/// use serde_json::json;
///
/// let options = Options::default().with_fsync(Fsync::Each).with_keep(Keep::Files(50));
/// let log = Log::open(dir.path(), options)?;
/// std::thread::scope(|scope| {
///     for n in 0..4 {
///         let log = &log;
///         scope.spawn(move || log.event("", "stored", &json!({"n": n})));
///     }
/// });
/// assert_eq!(log.head()?.seq, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A record is acknowledged, which is to say that a function here returns `Ok`, once its line is whole in the file and
/// `head.json` names it. A function that returns an error has left the files as they were.
#[derive(Debug, Clone)]
pub struct Log {
    gate: Arc<Gate<State>>,
    lock_wait: Duration,
}

impl Log {
    /// Opens the log in a directory, which is made (mode 0700) where it does not exist. What a killed writer left
    /// behind is put in order: see [`verify`](crate::verify()).
    ///
    /// # Errors
    ///
    /// [`AuditError::Refused`] where the directory or a file in it is a link, belongs to another user or can be
    /// written to by others; [`AuditError::Locked`], [`AuditError::NoSpace`], [`AuditError::Io`].
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self, AuditError> {
        let lock_wait = options.lock_wait;
        let mut state = State::open(dir.as_ref(), options)?;
        let mut locked = state.lock(Wait::new(lock_wait))?;
        locked.catch_up()?;
        locked.prune()?;
        drop(locked);
        Ok(Self { gate: Arc::new(Gate::new(state)), lock_wait })
    }

    /// The same log, with another bound on the wait for other threads and processes in place of
    /// [`Options::lock_wait`]. It shares all else with its clones, the open files too.
    ///
    /// An asynchronous program tries a record with a short wait first, and goes to a thread that may wait where that
    /// gives [`AuditError::Locked`]:
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use std::time::Duration;
    ///
    /// use flyto_audit::{AuditError, Log, Options};
    ///
    /// let log = Log::open(dir.path(), Options::default())?;
    /// let at_once = log.clone().with_lock_wait(Duration::from_millis(2));
    /// let seq = match at_once.event("", "stored", &1) {
    ///     Err(AuditError::Locked { .. }) => log.event("", "stored", &1)?,
    ///     res => res?,
    /// };
    /// assert_eq!(seq, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// How long an operation waits for other threads and processes.
    #[must_use]
    pub fn lock_wait(&self) -> Duration {
        self.lock_wait
    }

    /// Records that a call begins, with the calling process. The id is what the end carries as well; it should occur
    /// once.
    ///
    /// # Errors
    ///
    /// See [`event`](Self::event).
    pub fn begin(&self, id: &str, body: &impl Serialize) -> Result<Begun, AuditError> {
        let process = Process::known();
        let seq = self.append(id, events::BEGIN, Some(&process), body)?;
        let failure = Mutex::new(None);
        Ok(Begun {
            log: self.clone(),
            id: id.to_owned(),
            seq,
            is_ended: AtomicBool::new(false),
            failure,
        })
    }

    /// Records something else, and returns the number of the record. `id` may be empty; `name` is none of the names
    /// that the log gives itself: `begin`, `end`, `torn`, `cut`, `head_lost`, `prune`.
    ///
    /// # Errors
    ///
    /// [`AuditError::InvalidName`], [`AuditError::Body`], [`AuditError::TooDeep`] and [`AuditError::TooLarge`] for what
    /// cannot be recorded; [`AuditError::NoSpace`] where the disk is full, [`AuditError::Locked`] where other writers
    /// hold the lock for too long, [`AuditError::Io`] and [`AuditError::Refused`] for the rest.
    pub fn event(&self, id: &str, name: &str, body: &impl Serialize) -> Result<u64, AuditError> {
        if events::ALL.contains(&name) {
            let why = "the log itself writes events of this name";
            return Err(AuditError::InvalidName { what: "the name of an event", why });
        }
        self.append(id, name, None, body)
    }

    /// The last record, also of other processes. Note it elsewhere: [`Head`] says what for.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`], [`AuditError::Io`] and, where another writer was killed, what an append can fail with.
    pub fn head(&self) -> Result<Head, AuditError> {
        self.with_state(|state, wait| {
            let mut locked = state.lock(wait)?;
            locked.catch_up()?;
            Ok(locked.head())
        })
    }

    /// Forces all that was recorded onto the disk.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`], [`AuditError::NoSpace`] and [`AuditError::Io`].
    pub fn sync(&self) -> Result<(), AuditError> {
        self.with_state(|state, _| state.sync())
    }

    /// What the log takes on the disk.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`] and [`AuditError::Io`].
    pub fn size(&self) -> Result<Size, AuditError> {
        self.with_state(|state, _| state.size())
    }

    fn append(
        &self,
        id: &str,
        event: &str,
        process: Option<&Process>,
        body: &impl Serialize,
    ) -> Result<u64, AuditError> {
        check_name("the id of a call", id, MAX_ID_BYTES)?;
        check_name("the name of an event", event, MAX_EVENT_BYTES)?;
        if event.is_empty() {
            let why = "it is empty";
            return Err(AuditError::InvalidName { what: "the name of an event", why });
        }
        let body = encode(body)?;
        let content = Content { id, event, process, body: &body };
        self.with_state(|state, wait| {
            let mut locked = state.lock(wait)?;
            locked.catch_up()?;
            locked.append(content)
        })
    }

    fn with_state<T>(
        &self,
        run: impl FnOnce(&mut State, Wait) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        let wait = Wait::new(self.lock_wait);
        let Some(mut state) = self.gate.enter(wait.until) else {
            let waited = wait.bound;
            return Err(AuditError::Locked { path: "the log in this process".into(), waited });
        };
        run(&mut state, wait)
    }
}

/// A wait for other threads and processes that has begun.
#[derive(Debug, Clone, Copy)]
struct Wait {
    bound: Duration,
    until: Instant,
}

impl Wait {
    fn new(bound: Duration) -> Self {
        Self { bound, until: Instant::now() + bound }
    }
}

/// Control characters would need escapes in every message that names the call.
fn check_name(what: &'static str, name: &str, limit: usize) -> Result<(), AuditError> {
    let why = match name {
        _ if name.len() > limit => "it is too long (ids: 256 bytes, events: 64)",
        _ if name.contains(char::is_control) => "it holds a control character",
        _ => return Ok(()),
    };
    Err(AuditError::InvalidName { what, why })
}

/// The body as JSON on one line.
fn encode(body: &impl Serialize) -> Result<Vec<u8>, AuditError> {
    let mut res = serde_json::to_vec(body).map_err(|source| AuditError::Body { source })?;
    let bytes = res.len() as u64;
    // The exact length, with the rest of the line, is checked again when that is known.
    if bytes > MAX_RECORD_BYTES {
        return Err(AuditError::TooLarge { bytes, limit: MAX_RECORD_BYTES });
    }
    if line::is_deeper_than(&res, MAX_BODY_DEPTH) {
        return Err(AuditError::TooDeep { limit: MAX_BODY_DEPTH });
    }
    line::flatten(&mut res);
    Ok(res)
}

/// A call that has begun. Without [`end`](Self::end), dropping it records an end with `"outcome":"dropped"`, as well as
/// that can be done; where the process is killed, [`verify`](crate::verify()) lists the call as open.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # use flyto_audit::{Log, Options, Reader};
/// use serde_json::json;
///
/// let log = Log::open(dir.path(), Options::default())?;
/// let begun = log.begin("call-1", &json!({"tool": "sort"}))?;
/// begun.end(&json!({"outcome": "ok"}))?;
/// drop(log.begin("call-2", &json!({"tool": "sort"}))?);
///
/// let last = Reader::open(dir.path())?.newest_first().records()?.next().expect("four records")?;
/// assert_eq!((last.id.as_str(), &last.body["outcome"]), ("call-2", &json!("dropped")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it records that the call was dropped"]
pub struct Begun {
    log: Log,
    id: String,
    seq: u64,
    is_ended: AtomicBool,
    /// Why the end could not be recorded, the last time.
    failure: Mutex<Option<String>>,
}

impl Begun {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The number of the record of its begin.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The same call, with another bound on the wait for other threads and processes when its end is recorded: see
    /// [`Log::with_lock_wait`].
    #[must_use = "dropping it records that the call was dropped"]
    pub fn with_lock_wait(mut self, wait: Duration) -> Self {
        self.log.lock_wait = wait;
        self
    }

    /// Records that the call has ended. After an error it can be tried again.
    ///
    /// # Errors
    ///
    /// [`AuditError::Ended`] the second time; else see [`Log::event`].
    pub fn end(&self, body: &impl Serialize) -> Result<(), AuditError> {
        if self.is_ended.swap(true, Ordering::AcqRel) {
            return Err(AuditError::Ended { id: self.id.clone() });
        }
        let res = self.log.append(&self.id, events::END, None, body);
        if let Err(err) = &res {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            *failure = Some(err.to_string());
            self.is_ended.store(false, Ordering::Release);
        }
        res.map(|_| ())
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.is_ended.load(Ordering::Acquire) {
            return;
        }
        #[derive(Serialize)]
        struct Dropped {
            outcome: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            unrecorded: Option<String>,
        }
        let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner);
        let body = Dropped { outcome: "dropped", unrecorded: failure.take() };
        // There is no caller left to tell: `verify` lists the call as open.
        drop(self.log.append(&self.id, events::END, None, &body));
    }
}
