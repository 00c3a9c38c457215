//! Reading records.
//!
//! [`Reader`] says what is wanted, [`Records`] is one pass over a [`Snapshot`]. The files are gone
//! through in order of their numbers; with a span of time, a binary search by the first record of
//! each file finds where to begin.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::{
    AuditError, Filter, Follow, Record,
    files::{Snapshot, rotated_name},
    filter::CLOCK_SLACK,
    line::Line,
    lines::{Lines, LinesBack, none_beyond_bound},
    sys::{Access, Dir},
};

/// Reads the records of a log, while it is written or not. It holds one record at a time, of at most
/// [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES), and looks at no hash: that is the business of
/// [`verify`](crate::verify()).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use flyto_audit::{Filter, Log, Options, Reader};
/// use serde_json::json;
///
/// let log = Log::open(dir.path(), Options::default())?;
/// for size in [1, 2, 3] {
///     log.event("", "stored", &json!({"size": size}))?;
/// }
///
/// let filter = Filter::default().with_field("size", json!(2));
/// let found: Vec<_> = Reader::open(dir.path())?.filter(filter).records()?.collect::<Result<_, _>>()?;
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].seq, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reader {
    dir: PathBuf,
    filter: Filter,
    newest_first: bool,
    limit: usize,
    look_back: u64,
}

impl Reader {
    /// A reader of all records, oldest first.
    ///
    /// # Errors
    ///
    /// [`AuditError::Refused`] where the directory is a link or none, [`AuditError::Io`] where it cannot be opened.
    ///
    /// A directory without a log has no records.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, AuditError> {
        let dir = dir.as_ref().to_owned();
        Dir::open(&dir)?;
        Ok(Self {
            dir,
            filter: Filter::default(),
            newest_first: false,
            limit: usize::MAX,
            look_back: u64::MAX,
        })
    }

    /// Sets which records it gives.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Gives the newest record first.
    ///
    /// It holds for [`records`](Self::records); those that are waited for come as they are written.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// Sets how many records it gives at most.
    ///
    /// Counted are records that match; 0 gives none.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets how many bytes back the [newest record first](Self::newest_first) looks, so that its time has a bound where the log has
    /// none. The line that begins before them is the last one.
    #[must_use]
    pub fn look_back(mut self, bytes: u64) -> Self {
        self.look_back = bytes;
        self
    }

    /// The records that are there now.
    ///
    /// With [`Filter::since`] or [`Filter::until`], reading ends one hour outside of the span of time: records that a
    /// clock has put further away than that may be missing.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`] where a writer does not let go of the log, [`AuditError::Refused`], [`AuditError::Io`].
    pub fn records(&self) -> Result<Records, AuditError> {
        let snapshot = Snapshot::take(Dir::open(&self.dir)?)?;
        let n_files = snapshot.n_files();
        let mut res = Records {
            snapshot,
            filter: self.filter.clone(),
            left: self.limit,
            bytes_left: self.look_back,
            newest_first: self.newest_first,
            files: 0..n_files,
            open: None,
        };
        if !self.newest_first {
            res.files.start = res.first_file()?;
        }
        Ok(res)
    }

    /// Waits for new records, those that come from now on: see [`Follow`].
    ///
    /// # Errors
    ///
    /// See [`records`](Self::records).
    pub fn follow(&self) -> Result<Follow, AuditError> {
        Follow::from_now(&self.dir, self.filter.clone(), self.limit)
    }

    /// Gives the records behind that of this number, and waits for more: 0 is from the beginning. With the number of
    /// the last record of [`records`](Self::records), none is missed between both.
    ///
    /// # Errors
    ///
    /// See [`records`](Self::records).
    pub fn follow_after(&self, seq: u64) -> Result<Follow, AuditError> {
        Follow::after(&self.dir, self.filter.clone(), self.limit, seq)
    }
}

/// The records of a [`Reader`]. A line that is no record is given as [`AuditError::NoRecord`], and the next call goes
/// on behind it; any other error ends the iteration.
#[derive(Debug)]
pub struct Records {
    /// What was there when the pass began: later records are not given.
    snapshot: Snapshot,
    filter: Filter,
    left: usize,
    /// Of those to look back, what the files that were not opened yet may take.
    bytes_left: u64,
    newest_first: bool,
    /// The files that were not opened yet.
    files: std::ops::Range<usize>,
    /// The file being read, by its index.
    open: Option<(usize, Open)>,
}

#[derive(Debug)]
enum Open {
    Forwards(Lines<File>),
    Backwards(LinesBack),
}

impl Records {
    /// The last file that may hold the first record of the time span.
    ///
    /// A file whose first line cannot be read counts as one inside of the span, and so does one
    /// that was removed.
    fn first_file(&self) -> Result<usize, AuditError> {
        let Some(since) = self.filter.since else { return Ok(0) };
        let since = since.earlier_by(CLOCK_SLACK);
        let rotated = &self.snapshot.rotated;
        let (mut low, mut high) = (0, rotated.len());
        while low < high {
            let middle = low.midpoint(high);
            let name = rotated_name(rotated[middle]);
            let file = self.snapshot.dir.open_file(&name, Access::Read)?;
            let mut is_before = false;
            if let Some(file) = file {
                let mut lines = Lines::new(&file, 0, u64::MAX);
                let failed = |err| AuditError::io("read", self.snapshot.dir.path_of(&name), err);
                let first = none_beyond_bound(lines.next()).map_err(failed)?;
                let first = first.and_then(|it| it.bytes).and_then(Line::parse);
                is_before = first.is_some_and(|it| it.at < since);
            }
            if is_before { low = middle + 1 } else { high = middle }
        }
        Ok(low.saturating_sub(1))
    }

    /// Opens the next file; `None` behind the last.
    ///
    /// A file that a writer removed since is passed over.
    fn open_next(&mut self) -> Result<Option<()>, AuditError> {
        let index = match self.newest_first {
            true => self.files.next_back(),
            false => self.files.next(),
        };
        let Some(index) = index.filter(|_| self.bytes_left > 0) else { return Ok(None) };
        if let Some((file, bytes)) = self.snapshot.open(index)? {
            let open = match self.newest_first {
                true => {
                    let lines = LinesBack::new(file, bytes).within(self.bytes_left);
                    self.bytes_left = self.bytes_left.saturating_sub(bytes);
                    Open::Backwards(lines)
                }
                false => Open::Forwards(Lines::new(file, 0, bytes)),
            };
            self.open = Some((index, open));
        }
        Ok(Some(()))
    }

    /// The next record that matches.
    fn advance(&mut self) -> Result<Option<Record>, AuditError> {
        loop {
            let Some((index, open)) = &mut self.open else {
                if self.open_next()?.is_none() {
                    return Ok(None);
                }
                continue;
            };
            let path = || self.snapshot.dir.path_of(&self.snapshot.name(*index));
            let mut owned = None;
            let found = match open {
                Open::Forwards(lines) => lines.next().map(|it| it.map(|it| (it.offset, it.bytes))),
                Open::Backwards(lines) => lines.next().map(|it| {
                    owned = it;
                    owned.as_ref().map(|it| (it.offset, it.bytes.as_deref()))
                }),
            };
            let Some((offset, bytes)) = found.map_err(|err| AuditError::io("read", path(), err))?
            else {
                self.open = None;
                continue;
            };
            let no_record = || AuditError::NoRecord { path: path(), offset };
            let n_bytes = bytes.map(|it| it.len() as u64);
            let Some((bytes, line)) = bytes.and_then(|it| Some((it, Line::parse(it)?))) else {
                let counted = match open {
                    Open::Forwards(lines) => lines.count_foreign(n_bytes),
                    Open::Backwards(lines) => lines.count_foreign(n_bytes),
                };
                counted.map_err(|err| AuditError::io("read", path(), err))?;
                return Err(no_record());
            };
            let is_past = match self.newest_first {
                true => self.filter.since.is_some_and(|it| line.at < it.earlier_by(CLOCK_SLACK)),
                false => self.filter.until.is_some_and(|it| line.at > it.later_by(CLOCK_SLACK)),
            };
            if is_past {
                return Ok(None);
            }
            if self.filter.may_match(&line) {
                let record = Record::new(&line, bytes).ok_or_else(no_record)?;
                if self.filter.matches(&record) {
                    return Ok(Some(record));
                }
            }
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let res = self.advance();
        match &res {
            Ok(Some(_)) => self.left -= 1,
            Ok(None) | Err(AuditError::NoRecord { .. }) => {}
            Err(_) => self.left = 0,
        }
        if matches!(res, Ok(None)) {
            self.left = 0;
        }
        res.transpose()
    }
}
