//! Which files a log consists of.
//!
//! The number in a file's name is that of its first record, so that the names in order are the
//! chain in order and a missing file shows by the numbers. A [`Snapshot`] is what readers work on:
//! they hold the lock while they take it and at no other time, and a writer may rotate and prune
//! behind it.

use std::{fs::File, time::Instant};

use crate::{
    AuditError, Options,
    head::{BLOCK_BYTES, HeadFile},
    sys::{self, Access, Dir},
};

/// The file that is written to.
pub(crate) const CURRENT: &str = "audit.jsonl";

/// The end of the chain, and the lock of all writers.
///
/// It is written in place and never renamed, since a lock belongs to the open file and not to the
/// name.
pub(crate) const HEAD: &str = "head.json";

/// The most rotated files that a directory may hold: 100,000. At 64 MiB each they are 6 TiB.
pub const MAX_FILES: usize = 100_000;

/// The name of a rotated file whose first record has this number.
///
/// Twelve digits, filled up with zeros, so that a listing of the directory is in order; a longer
/// number has as many as it needs.
pub(crate) fn rotated_name(first: u64) -> String {
    format!("audit-{first:012}.jsonl")
}

/// The number in the name of a rotated file.
///
/// `None` for every name that [`rotated_name`] does not make, so that no two names stand for one
/// number.
fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
    let first = digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse().ok())??;
    (rotated_name(first) == name).then_some(first)
}

/// The first record's number of each rotated file, oldest first.
///
/// # Errors
///
/// [`AuditError::TooManyFiles`] behind [`MAX_FILES`], counted while the directory is listed.
pub(crate) fn rotated(dir: &Dir) -> Result<Vec<u64>, AuditError> {
    let mut res = Vec::new();
    dir.for_each_name(|name| {
        res.extend(first_of(name));
        match res.len() > MAX_FILES {
            true => Err(AuditError::TooManyFiles { path: dir.path_of(""), limit: MAX_FILES }),
            false => Ok(()),
        }
    })?;
    res.sort_unstable();
    Ok(res)
}

/// What `head.json` was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundHead {
    /// It does not exist, or is empty.
    Missing,
    /// It says something else.
    Unreadable,
    /// It was read; whether the files agree with it is not known yet.
    Known(HeadFile),
}

impl FoundHead {
    /// Reads the bytes of `head.json`. An empty file counts as a missing one: a writer that was
    /// killed between making and writing it leaves that.
    pub(crate) fn of_block(block: &[u8]) -> Self {
        if block.is_empty() {
            return Self::Missing;
        }
        HeadFile::from_block(block).map_or(Self::Unreadable, Self::Known)
    }
}

/// All files of a log at one moment, between two appends.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) dir: Dir,
    /// What `head.json` said under the lock.
    pub(crate) head: FoundHead,
    /// [`rotated`].
    pub(crate) rotated: Vec<u64>,
    /// The file that is written to, with its length at that moment.
    pub(crate) current: Option<(File, u64)>,
}

impl Snapshot {
    /// Takes one under a shared lock, so that no append is half done.
    ///
    /// A directory without `head.json` has no lock, and is read as it is.
    ///
    /// # Errors
    ///
    /// [`AuditError::Locked`] after [`Options::DEFAULT_LOCK_WAIT`]; [`AuditError::TooManyFiles`],
    /// [`AuditError::Refused`] and [`AuditError::Io`] of the files.
    pub(crate) fn take(dir: Dir) -> Result<Self, AuditError> {
        let head_file = dir.open_file(HEAD, Access::Read)?;
        let mut head = FoundHead::Missing;
        if let Some(file) = &head_file {
            let waited = Options::DEFAULT_LOCK_WAIT;
            let failed = |doing, err| AuditError::io(doing, dir.path_of(HEAD), err);
            let locked = sys::lock(file, true, Instant::now() + waited);
            if !locked.map_err(|err| failed("lock", err))? {
                return Err(AuditError::Locked { path: dir.path_of(HEAD), waited });
            }
            let mut block = [0; BLOCK_BYTES];
            let block = HeadFile::read_block(file, &mut block);
            head = FoundHead::of_block(block.map_err(|err| failed("read", err))?);
        }
        let rotated = rotated(&dir)?;
        let current = match dir.open_file(CURRENT, Access::Read)? {
            Some(file) => {
                let bytes = dir.id_of(CURRENT, &file)?.bytes;
                Some((file, bytes))
            }
            None => None,
        };
        // Closing the file opens the lock.
        drop(head_file);
        Ok(Self { dir, head, rotated, current })
    }

    /// How many files hold records.
    pub(crate) fn n_files(&self) -> usize {
        self.rotated.len() + usize::from(self.current.is_some())
    }

    /// Opens one of them, oldest first, with its length. `None` where a writer has removed it since.
    pub(crate) fn open(&self, index: usize) -> Result<Option<(File, u64)>, AuditError> {
        let Some(first) = self.rotated.get(index) else {
            let Some((file, bytes)) = &self.current else { return Ok(None) };
            let file = file.try_clone();
            let file =
                file.map_err(|err| AuditError::io("open", self.dir.path_of(CURRENT), err))?;
            return Ok(Some((file, *bytes)));
        };
        let name = rotated_name(*first);
        let Some(file) = self.dir.open_file(&name, Access::Read)? else { return Ok(None) };
        let bytes = self.dir.id_of(&name, &file)?.bytes;
        Ok(Some((file, bytes)))
    }

    /// The name of one of them.
    pub(crate) fn name(&self, index: usize) -> String {
        self.rotated.get(index).map_or_else(|| CURRENT.to_owned(), |first| rotated_name(*first))
    }
}

#[cfg(test)]
mod tests {
    use super::{first_of, rotated_name};

    #[test]
    fn names_and_numbers() {
        for first in [0, 1, 999_999_999_999, 1_000_000_000_000, u64::MAX] {
            assert_eq!(first_of(&rotated_name(first)), Some(first));
        }
        for name in ["audit.jsonl", "audit-1.jsonl", "audit-+00000000001.jsonl", "audit-.jsonl"] {
            assert_eq!(first_of(name), None, "{name}");
        }
    }
}
