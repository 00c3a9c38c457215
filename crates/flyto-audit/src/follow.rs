//! Waiting for new records.
//!
//! Notices of the system, such as those of inotify(7), differ between systems and tell nothing of
//! what another machine writes; so the file is looked at every [`POLL`]. No lock is held while it
//! waits or reads, so a line may be half there; it is read once its newline is.

use std::{
    fs::File,
    path::Path,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    AuditError, Filter, Record,
    files::{self, CURRENT, FoundHead, Snapshot, rotated_name},
    line::Line,
    lines::Lines,
    sys::{Access, Dir},
};

/// How long it sleeps between looks at the file: 50 ms, which a reader at a terminal takes for at once, and which
/// costs some 40 system calls a second.
const POLL: Duration = Duration::from_millis(50);

/// New records as they come, from every writer and over rotations. [`next`](Iterator::next) waits until there is one;
/// after [`Cancel::cancel`] it returns `None`.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use flyto_audit::{Log, Options, Reader};
///
/// let log = Log::open(dir.path(), Options::default())?;
/// let mut follow = Reader::open(dir.path())?.follow()?;
/// let cancel = follow.cancel_handle();
/// log.event("", "stored", &())?;
///
/// let record = follow.next().expect("a record has come")?;
/// assert_eq!(record.event, "stored");
/// cancel.cancel();
/// assert!(follow.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It holds the directory and one file open, and as much memory as the longest line takes, at most
/// [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES) and a block of 64 KiB. A line that is no record is
/// given as [`AuditError::NoRecord`], and the next call goes on behind it; any other error ends the
/// iteration. Records that are pruned before they were read are left out.
#[derive(Debug)]
pub struct Follow {
    dir: Dir,
    filter: Filter,
    /// How many records may still be given.
    left: usize,
    /// Records up to this number are not given.
    after: u64,
    /// The number of the last record that was looked at.
    last: u64,
    /// The file being read; `None` where the next one has to be found.
    open: Option<OpenFile>,
    cancel: Cancel,
}

/// The file being read. It is told from others by its identity, because a rotation renames it.
#[derive(Debug)]
struct OpenFile {
    name: String,
    /// [`FileId::identity`](crate::sys::FileId::identity) at the time when it was opened.
    identity: (u64, u64),
    lines: Lines<File>,
    /// The file has another name now: nothing more is written to it.
    is_closed: bool,
}

/// Ends the wait of a [`Follow`], from any thread. Clones end the same one.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let mut follow = flyto_audit::Reader::open(dir.path())?.follow()?;
/// let cancel = follow.cancel_handle();
/// let waiting = std::thread::spawn(move || follow.next().is_none());
/// cancel.cancel();
/// assert!(waiting.join().expect("it does not panic"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Cancel {
    /// Ends the wait, now and for ever.
    ///
    /// Records that are in the file already are not given any more. It may be called before the
    /// wait begins, and again.
    pub fn cancel(&self) {
        let (is_cancelled, changed) = &*self.shared;
        *is_cancelled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Waits; true once it is cancelled.
    fn wait(&self, duration: Duration) -> bool {
        let (is_cancelled, changed) = &*self.shared;
        let guard = is_cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, duration, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Follow {
    /// Behind the last record that is there, by `head.json`.
    ///
    /// What another writer appends behind the head before this returns is given.
    pub(crate) fn from_now(dir: &Path, filter: Filter, left: usize) -> Result<Self, AuditError> {
        let Snapshot { dir, head, current, .. } = Snapshot::take(Dir::open(dir)?)?;
        let (mut last, mut offset) = (0, None);
        if let FoundHead::Known(head) = head {
            last = head.head().seq;
            offset = Some(head.file_bytes);
        }
        let cancel = Cancel::default();
        let mut res = Self { dir, filter, left, after: 0, last, open: None, cancel };
        if let Some((file, bytes)) = current {
            let offset = offset.filter(|it| *it <= bytes).unwrap_or(bytes);
            res.open = Some(res.open_at(CURRENT, file, offset)?);
        }
        Ok(res)
    }

    /// Behind the record of a number.
    ///
    /// Begins with the file that may hold that record, and passes over what stands before.
    pub(crate) fn after(
        dir: &Path,
        filter: Filter,
        left: usize,
        last: u64,
    ) -> Result<Self, AuditError> {
        let snapshot = Snapshot::take(Dir::open(dir)?)?;
        // The last file that begins at or before the next record.
        let n_before = snapshot.rotated.partition_point(|first| *first <= last.saturating_add(1));
        let index = n_before.saturating_sub(1);
        let (name, opened) = (snapshot.name(index), snapshot.open(index)?);
        let dir = snapshot.dir;
        let cancel = Cancel::default();
        let mut res = Self { dir, filter, left, after: last, last, open: None, cancel };
        if let Some((file, _)) = opened {
            res.open = Some(res.open_at(&name, file, 0)?);
        }
        Ok(res)
    }

    /// What ends the wait of this one.
    #[must_use]
    pub fn cancel_handle(&self) -> Cancel {
        self.cancel.clone()
    }

    /// `offset` is the start of a line.
    fn open_at(&self, name: &str, file: File, offset: u64) -> Result<OpenFile, AuditError> {
        let identity = self.dir.id_of(name, &file)?.identity;
        let lines = Lines::new(file, offset, u64::MAX);
        Ok(OpenFile { name: name.to_owned(), identity, lines, is_closed: name != CURRENT })
    }

    /// The next record that matches, of those that are there.
    ///
    /// `None` where all that is there was looked at. Once `audit.jsonl` leads to another file, what
    /// is left of the one that was read is read first, and then the next one is opened.
    fn advance(&mut self) -> Result<Option<Record>, AuditError> {
        loop {
            let Some(open) = &mut self.open else {
                if !self.open_next(None)? {
                    return Ok(None);
                }
                continue;
            };
            let path = || self.dir.path_of(&open.name);
            let found = open.lines.next_ended();
            let Some(raw) = found.map_err(|err| AuditError::io("read", path(), err))? else {
                if open.is_closed {
                    let identity = open.identity;
                    if !self.open_next(Some(identity))? {
                        return Ok(None);
                    }
                } else if self.dir.find(CURRENT)?.is_some_and(|it| it.identity == open.identity) {
                    return Ok(None);
                } else {
                    // What was written before the rotation has to be read first.
                    open.is_closed = true;
                }
                continue;
            };
            let offset = raw.offset;
            let no_record = || AuditError::NoRecord { path: path(), offset };
            let n_bytes = raw.bytes.map(|it| it.len() as u64);
            let Some((bytes, line)) = raw.bytes.and_then(|it| Some((it, Line::parse(it)?))) else {
                let counted = open.lines.count_foreign(n_bytes);
                counted.map_err(|err| AuditError::io("read", path(), err))?;
                return Err(no_record());
            };
            self.last = line.seq;
            if line.seq <= self.after {
                continue;
            }
            if self.filter.may_match(&line) {
                let record = Record::new(&line, bytes).ok_or_else(no_record)?;
                if self.filter.matches(&record) {
                    return Ok(Some(record));
                }
            }
        }
    }

    /// Opens the file that comes behind the one that was read; false where there is none yet.
    ///
    /// `done` is the identity of the file that was read to its end, which may be found under its
    /// new name.
    fn open_next(&mut self, done: Option<(u64, u64)>) -> Result<bool, AuditError> {
        // First the file that is written to, so that one which is rotated meanwhile is in the list.
        let current = self.dir.open_file(CURRENT, Access::Read)?;
        let mut rotated = files::rotated(&self.dir)?;
        let next = rotated.iter().find(|it| **it > self.last);
        // A file that is renamed while the directory is listed may be left out (readdir(3)), also
        // where a later one is there. Behind that one, a second list leaves none out.
        if next.is_some_and(|it| *it - self.last > 1) {
            rotated = files::rotated(&self.dir)?;
        }
        for first in rotated.into_iter().filter(|it| *it > self.last) {
            let name = rotated_name(first);
            let Some(file) = self.dir.open_file(&name, Access::Read)? else { continue };
            let opened = self.open_at(&name, file, 0)?;
            if done != Some(opened.identity) {
                self.open = Some(opened);
                return Ok(true);
            }
        }
        let Some(file) = current else { return Ok(false) };
        let opened = self.open_at(CURRENT, file, 0)?;
        if done == Some(opened.identity) {
            return Ok(false);
        }
        self.open = Some(opened);
        Ok(true)
    }
}

impl Iterator for Follow {
    type Item = Result<Record, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut pause = Duration::ZERO;
        while self.left > 0 && !self.cancel.wait(pause) {
            match self.advance() {
                Ok(None) => pause = POLL,
                Ok(Some(record)) => {
                    self.left -= 1;
                    return Some(Ok(record));
                }
                Err(err) => {
                    if !matches!(err, AuditError::NoRecord { .. }) {
                        self.left = 0;
                    }
                    return Some(Err(err));
                }
            }
        }
        None
    }
}
