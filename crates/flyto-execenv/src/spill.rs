//! Bounds for a directory of files with whole streams: how many bytes they have together, and which are removed for others.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A directory for the files of streams that outgrow their capture.
///
/// ```
/// use flyto_execenv::{SpillBounds, SpillDir};
///
/// // Without bounds, files stay until their owner removes them.
/// let dir = SpillDir::from("/var/tmp/outputs");
/// assert!(dir.bounds.is_none());
/// let dir = dir.with_bounds(SpillBounds::new(1 << 30));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillDir {
    /// The directory.
    pub path: PathBuf,
    /// What holds for all files in it.
    pub bounds: Option<SpillBounds>,
}

impl SpillDir {
    /// The same with bounds. The directory must hold nothing but such files, since any plain file in it may be removed.
    #[must_use]
    pub fn with_bounds(self, bounds: SpillBounds) -> Self {
        Self { bounds: Some(bounds), ..self }
    }
}

impl From<PathBuf> for SpillDir {
    fn from(path: PathBuf) -> Self {
        Self { path, bounds: None }
    }
}

impl From<&PathBuf> for SpillDir {
    fn from(path: &PathBuf) -> Self {
        path.clone().into()
    }
}

impl From<&Path> for SpillDir {
    fn from(path: &Path) -> Self {
        path.to_owned().into()
    }
}

impl From<&str> for SpillDir {
    fn from(path: &str) -> Self {
        PathBuf::from(path).into()
    }
}

/// What holds for all plain files of one directory together. Files that are written count, also those of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillBounds {
    /// The most bytes of all of them.
    pub total_bytes: u64,
    /// A younger file is not removed to make room, so that the reader of a result finds it.
    pub least_age: Duration,
    /// An older file is removed, also where there is room.
    pub keep: Duration,
}

impl SpillBounds {
    /// So many bytes. The oldest files make room, whatever their age, and none is removed for its age alone.
    #[must_use]
    pub const fn new(total_bytes: u64) -> Self {
        Self { total_bytes, least_age: Duration::ZERO, keep: Duration::MAX }
    }

    /// The same, with files that stay for so long.
    #[must_use]
    pub const fn least_age(self, least_age: Duration) -> Self {
        Self { least_age, ..self }
    }

    /// The same, with files that are removed after this time.
    #[must_use]
    pub const fn keep(self, keep: Duration) -> Self {
        Self { keep, ..self }
    }

    /// Removes the oldest files of the directory while there are too many bytes, and those that are too old. Gives the bytes
    /// that all files have then: more than [`total_bytes`](Self::total_bytes) where those that are left are written, or too
    /// young.
    ///
    /// A file that cannot be looked at or removed stays.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn clean(&self, dir: &Path) -> io::Result<u64> {
        let now = SystemTime::now();
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)?.flatten() {
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
            if age < self.least_age || (age <= self.keep && total_bytes <= self.total_bytes) {
                // Those that follow are younger.
                break;
            }
            if !is_written(&path) && fs::remove_file(&path).is_ok() {
                total_bytes -= bytes;
            }
        }
        Ok(total_bytes)
    }

    /// Gives the file of a stream, which lies in `dir` and has `has_bytes`, room for `bytes` in all. Its length is the
    /// reservation: it counts for every process from before the look at the others, so all together never write more than the
    /// bound.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::QuotaExceeded`] where there is no room; the length is as it was. Those of the system.
    pub fn reserve(&self, file: &File, dir: &Path, has_bytes: u64, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)?;
        let res = self.clean(dir).and_then(|total_bytes| match total_bytes <= self.total_bytes {
            true => Ok(()),
            false => Err(self.is_full()),
        });
        if res.is_err() {
            file.set_len(has_bytes)?;
        }
        res
    }

    fn is_full(&self) -> io::Error {
        let bound = self.total_bytes;
        let why = format!("the files of its directory have at most {bound} bytes together");
        io::Error::new(io::ErrorKind::QuotaExceeded, why)
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
    const BOUNDS: SpillBounds =
        SpillBounds::new(35).least_age(HOUR).keep(Duration::from_secs(7 * 24 * 60 * 60));

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

        fn clean(&self, bounds: SpillBounds) -> u64 {
            bounds.clean(self.0.path()).expect("there")
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
        assert_eq!(world.clean(SpillBounds { total_bytes: 1000, ..BOUNDS }), 20);
        assert_eq!(world.left(), ["directory", "new", "six days"]);
        assert!(BOUNDS.clean(&world.0.path().join("nothing")).is_err());
    }

    #[test]
    fn the_oldest_are_removed_until_the_rest_fits() {
        let world = world();
        for hours in 2..8 {
            world.file(&hours.to_string(), hours * HOUR);
        }
        world.clean(SpillBounds { total_bytes: 60, ..BOUNDS });
        assert_eq!(world.left().len(), 6);
        assert_eq!(world.clean(BOUNDS), 30);
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
        let none = SpillBounds { total_bytes: 0, ..BOUNDS };
        assert_eq!(world.clean(none), 30);
        assert_eq!(world.left(), ["half an hour", "now", "written"]);
        // The kernel releases the lock with the process that holds it.
        drop(written);
        world.clean(none);
        assert_eq!(world.left(), ["half an hour", "now"]);
    }

    #[test]
    fn a_reservation_counts_before_it_is_written() {
        let world = world();
        let dir = world.0.path();
        let (a, b) = (world.file("a", Duration::ZERO), world.file("b", Duration::ZERO));
        BOUNDS.reserve(&a, dir, 10, 25).expect("there is room");
        let err = BOUNDS.reserve(&b, dir, 10, 11).expect_err("there is none");
        assert_eq!(err.kind(), io::ErrorKind::QuotaExceeded);
        let length = |it: &File| it.metadata().expect("open").len();
        assert_eq!((length(&a), length(&b)), (25, 10));
        // What may be removed makes room.
        world.file("old", 2 * HOUR);
        a.set_len(10).expect("shorter");
        BOUNDS.reserve(&b, dir, 10, 25).expect("there is room");
        assert_eq!(world.left(), ["a", "b"]);
    }
}
