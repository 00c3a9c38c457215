//! What can go wrong with a log.
//!
//! One type serves writers, readers and [`verify`](crate::verify()). A variant about a file or
//! directory names it, and the cause is its `source`, so that the text of `Display` does not repeat
//! it.

use std::{io, path::PathBuf, time::Duration};

/// What can go wrong with a log. A failed append leaves the files as they were.
///
/// A caller that has to record before it acts refuses the act for every kind; one that would rather act unrecorded tells
/// [`NoSpace`](Self::NoSpace) and [`Locked`](Self::Locked) from the others, which do not pass by themselves.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use flyto_audit::{AuditError, Log, Options};
///
/// let log = Log::open(dir.path(), Options::default())?;
/// let err = log.event("", "torn", &()).expect_err("the log writes that itself");
/// assert!(matches!(err, AuditError::InvalidName { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The disk is full, or a quota or the limit on a file's size is reached (`ENOSPC`, `EDQUOT`, `EFBIG`).
    #[error("failed to {doing} {}: no space left; free some, or keep records for fewer days", path.display())]
    NoSpace {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another thread or process kept the lock for longer than [`Options::lock_wait`](crate::Options::lock_wait).
    #[error("failed to lock {} within {} ms: another writer holds it", path.display(), waited.as_millis())]
    Locked {
        /// The file that is locked.
        path: PathBuf,
        /// How long the log waited.
        waited: Duration,
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
    /// A file or directory is not what a log may use: a link, a device, or open to other users.
    #[error("refused to use {}: {why}", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The body of a record cannot be written as JSON.
    #[error("failed to write the body of a record as JSON")]
    Body {
        /// What the serializer said.
        source: serde_json::Error,
    },
    /// The body of a record is nested more deeply than [`MAX_BODY_DEPTH`](crate::MAX_BODY_DEPTH).
    #[error("the body of a record is nested more than {limit} deep")]
    TooDeep {
        /// The bound.
        limit: usize,
    },
    /// A record is longer than [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES).
    #[error(
        "a record of {bytes} B is too large, at most {limit} B: record a digest in place of the text"
    )]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The bound.
        limit: u64,
    },
    /// An id or the name of an event cannot be used.
    #[error("{what} cannot be used: {why}")]
    InvalidName {
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The call has its end already.
    #[error("call {id:?} has its end already")]
    Ended {
        /// Its id.
        id: String,
    },
    /// A line is no record: torn, changed, or from another program. [`verify`](crate::verify()) tells.
    #[error("{}: the line at byte {offset} is no record; `verify` tells what happened to it", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Where the line begins, in bytes from the start of the file.
        offset: u64,
    },
    /// The directory holds more rotated files than a log handles: [`MAX_FILES`](crate::MAX_FILES).
    #[error("{} holds more than {limit} rotated files: use a larger `rotate_bytes`, or move old ones away", path.display())]
    TooManyFiles {
        /// The directory.
        path: PathBuf,
        /// The bound.
        limit: usize,
    },
}

impl AuditError {
    /// [`NoSpace`](Self::NoSpace) is told from other causes by the kind of the error alone, on
    /// every system.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoSpace { doing, path, source },
            _ => Self::Io { doing, path, source },
        }
    }
}
