//! The whole of outputs that were truncated: which files are kept, and removing the others.
//!
//! [`BOUNDS`] hold for all of them together, those that calls still write included. To make room, the oldest goes first. A file
//! that is younger than an hour stays, so that the reader of a result finds it, and so does one that a call still writes: its
//! writer holds the lock on it. Where these leave no room, an output is not kept whole, and the result says so. A file that is
//! gone is no error for any reader.

#[cfg(not(unix))]
use std::fs;
use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use flyto_execenv::{SpillBounds, SpillDir};

/// What holds for all files together: 1 GiB, 7 days after the call that wrote them, and none is removed to make room for
/// others before it is an hour old.
pub(crate) const BOUNDS: SpillBounds = SpillBounds::new(1 << 30)
    .least_age(Duration::from_secs(60 * 60))
    .keep(Duration::from_secs(7 * 24 * 60 * 60));

/// The directory with its bounds.
pub(crate) fn dir(path: &Path) -> SpillDir {
    SpillDir::from(path).with_bounds(BOUNDS)
}

/// Between two looks of one host at the directory: a minute. A host that keeps many files does not look at all of them
/// for each.
const PERIOD: Duration = Duration::from_secs(60);

/// Why no output may be kept in a directory: it is a link, or open to other users. `None` for one that is not there.
#[cfg(unix)]
pub(crate) fn refused(dir: &Path) -> Option<io::Error> {
    crate::disk::check_private(dir).err()
}

/// Why no output may be kept in a directory: it is a link. `None` for one that is not there.
#[cfg(not(unix))]
pub(crate) fn refused(dir: &Path) -> Option<io::Error> {
    let is_other = fs::symlink_metadata(dir).is_ok_and(|it| !it.is_dir());
    is_other.then(|| io::Error::other("it is a link or no directory"))
}

/// When a host looked at its directory.
#[derive(Debug, Default)]
pub(crate) struct Cleaning(Mutex<Option<Instant>>);

impl Cleaning {
    /// Removes what is not kept in a directory, unless that was done within [`PERIOD`].
    pub(crate) fn clean(&self, dir: &Path) {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|it| it.elapsed() >= PERIOD) {
            *looked = Some(Instant::now());
            drop(looked);
            // One that is not there has nothing to remove.
            let _ = BOUNDS.clean(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::SystemTime};

    use super::*;

    #[test]
    fn a_host_does_not_look_for_each_call() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str| {
            let path = dir.path().join(name);
            fs::write(&path, "0123456789").expect("written");
            let file = fs::File::options().write(true).open(&path).expect("there");
            file.set_modified(SystemTime::now() - 2 * BOUNDS.keep).expect("changed");
            path
        };
        let cleaning = Cleaning::default();
        let a = file("a");
        cleaning.clean(dir.path());
        assert!(!a.exists());
        let b = file("b");
        cleaning.clean(dir.path());
        assert!(b.exists());
    }
}
