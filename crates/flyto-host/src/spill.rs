//! The whole of outputs that were truncated: which files are kept, and removing the others.
//!
//! A file is kept for [`KEEP`], and all of them up to [`MAX_BYTES`]; beyond that the oldest goes first. A file that is
//! younger than [`LEAST_AGE`] stays in any case, so that the reader of a result finds it, and so does one that a call still
//! writes: its writer holds the lock on it. A file that is gone is no error for any reader.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// How long a file is kept after the call that wrote it: 7 days.
pub(crate) const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Bytes of all files together: 1 GiB.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// A file is not removed for its size before it is an hour old.
pub(crate) const LEAST_AGE: Duration = Duration::from_secs(60 * 60);

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
            clean(dir, MAX_BYTES);
        }
    }
}

/// Removes what is not kept of the plain files in a directory, whatever their names, so it must hold nothing else.
///
/// A file that cannot be looked at or removed stays for the next time.
fn clean(dir: &Path, max_bytes: u64) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if let (true, Ok(modified)) = (metadata.is_file(), metadata.modified()) {
            files.push((modified, metadata.len(), entry.path()));
        }
    }
    let mut total_bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (modified, bytes, path) in files {
        // A time to come is that of a clock that was set back.
        let age = now.duration_since(modified).unwrap_or_default();
        if age < LEAST_AGE || (age <= KEEP && total_bytes <= max_bytes) {
            // Those that follow are younger.
            return;
        }
        if !is_written(&path) && fs::remove_file(&path).is_ok() {
            total_bytes -= bytes;
        }
    }
}

/// Whether a process writes the file.
fn is_written(path: &Path) -> bool {
    let lock = File::open(path).map(|it| it.try_lock_shared());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    struct World(tempfile::TempDir);

    impl World {
        /// A file of 10 bytes that was written so long ago.
        fn file(&self, name: &str, age: Duration) -> File {
            let path = self.0.path().join(name);
            fs::write(&path, "0123456789").expect("written");
            let file = File::options().write(true).open(&path).expect("there");
            file.set_modified(SystemTime::now() - age).expect("changed");
            file
        }

        fn left(&self) -> Vec<String> {
            let entries = fs::read_dir(self.0.path()).expect("listed");
            let names = entries.map(|it| it.expect("an entry").file_name().into_string());
            let mut res: Vec<_> = names.map(|it| it.expect("UTF-8")).collect();
            res.sort();
            res
        }
    }

    fn world() -> World {
        World(tempfile::tempdir().expect("a directory"))
    }

    #[test]
    fn old_files_are_removed() {
        let world = world();
        world.file("new", Duration::ZERO);
        world.file("six days", 6 * 24 * HOUR);
        world.file("eight days", 8 * 24 * HOUR);
        world.file("nine days", 9 * 24 * HOUR);
        fs::create_dir(world.0.path().join("directory")).expect("made");
        clean(world.0.path(), 1000);
        assert_eq!(world.left(), ["directory", "new", "six days"]);
        // A directory that is not there is no error.
        clean(&world.0.path().join("nothing"), 0);
    }

    #[test]
    fn the_oldest_are_removed_until_the_rest_fits() {
        let world = world();
        for hours in 2..8 {
            world.file(&hours.to_string(), hours * HOUR);
        }
        clean(world.0.path(), 60);
        assert_eq!(world.left().len(), 6);
        clean(world.0.path(), 35);
        assert_eq!(world.left(), ["2", "3", "4"]);
    }

    #[test]
    fn what_is_written_or_was_just_written_stays() {
        let world = world();
        world.file("now", Duration::ZERO);
        world.file("half an hour", HOUR / 2);
        let written = world.file("written", 30 * 24 * HOUR);
        written.try_lock().expect("free");
        world.file("ended", 2 * HOUR);
        clean(world.0.path(), 0);
        assert_eq!(world.left(), ["half an hour", "now", "written"]);
        // The kernel releases the lock with the process that holds it.
        drop(written);
        clean(world.0.path(), 0);
        assert_eq!(world.left(), ["half an hour", "now"]);
    }

    #[test]
    fn a_host_does_not_look_for_each_call() {
        let world = world();
        let cleaning = Cleaning::default();
        world.file("a", 8 * 24 * HOUR);
        cleaning.clean(world.0.path());
        assert!(world.left().is_empty());
        world.file("b", 8 * 24 * HOUR);
        cleaning.clean(world.0.path());
        assert_eq!(world.left(), ["b"]);
    }
}
