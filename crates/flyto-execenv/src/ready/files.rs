//! The files that a start reads, as they were at one moment.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How old the last change of each file has to be: 100 ms. The clock of a file system goes in steps of some
/// milliseconds (time(7)), so two changes within one step look like one.
const SETTLED_AFTER: Duration = Duration::from_millis(100);

/// The files that the start of a program reads, with what the system says of each.
///
/// A program that was started before a call serves it only where these are what they were. A backend makes them in
/// [`Executor::start_files`](crate::Executor::start_files); one for this machine by
/// [`local::start_files`](crate::local::start_files).
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::StartFiles;
///
/// let mut before = StartFiles::new();
/// before.add("/opt/tool/run.py", Some(b"first".to_vec()));
/// let mut after = StartFiles::new();
/// after.add("/opt/tool/run.py", Some(b"second".to_vec()));
/// assert_eq!(before.difference(&after), Some(Path::new("/opt/tool/run.py")));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartFiles {
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    watched: Vec<(PathBuf, Option<Vec<u8>>)>,
    changed: Option<SystemTime>,
}

impl StartFiles {
    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file that is named by what is started (the program, its interpreter, an argument), and its state: bytes that
    /// differ once its content may differ, such as its inode, size and times. `None` is a file that is not there.
    pub fn add(&mut self, path: impl Into<PathBuf>, state: Option<Vec<u8>>) {
        self.files.push((path.into(), state));
    }

    /// The same for a file that lies where a program may load from, and may write to.
    pub fn add_watched(&mut self, path: impl Into<PathBuf>, state: Option<Vec<u8>>) {
        self.watched.push((path.into(), state));
    }

    /// Says when one of the files changed last, so that states that are too young to be told apart are not trusted.
    pub fn changed_at(&mut self, at: SystemTime) {
        self.changed = self.changed.max(Some(at));
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len() + self.watched.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first file that differs, is new or is gone, where what lies in a directory was added in the order of its names.
    #[must_use]
    pub fn difference<'a>(&'a self, other: &'a Self) -> Option<&'a Path> {
        first_difference(&self.files, &other.files)
            .or_else(|| first_difference(&self.watched, &other.watched))
    }

    /// Whether the files are equal that what is started names.
    pub(super) fn names_the_same(&self, other: &Self) -> bool {
        self.files == other.files
    }

    /// Whether every file has been as it is for 100 ms at `now`. Else a further change may have left no trace.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        self.changed.is_none_or(|it| now.duration_since(it).is_ok_and(|age| age > SETTLED_AFTER))
    }

    /// How long it takes until they are settled, if they stay as they are.
    pub(super) const SETTLING: Duration = SETTLED_AFTER.saturating_add(Duration::from_millis(1));
}

type Files = [(PathBuf, Option<Vec<u8>>)];

fn first_difference<'a>(ours: &'a Files, theirs: &'a Files) -> Option<&'a Path> {
    let n_equal = ours.iter().zip(theirs).take_while(|(own, other)| own == other).count();
    let path = |it: &'a Files| it.get(n_equal).map(|it| it.0.as_path());
    match (path(ours), path(theirs)) {
        // The smaller one is missing on the other side.
        (Some(own), Some(other)) => Some(own.min(other)),
        (own, other) => own.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, Option<&str>)]) -> StartFiles {
        let mut res = StartFiles::new();
        for (path, state) in list {
            res.add(path, state.map(|it| it.as_bytes().to_vec()));
        }
        res
    }

    #[track_caller]
    fn check(
        before: &[(&str, Option<&str>)],
        after: &[(&str, Option<&str>)],
        expect: Option<&str>,
    ) {
        assert_eq!(files(before).difference(&files(after)), expect.map(Path::new));
    }

    #[test]
    fn a_file_that_differs_is_named() {
        check(&[], &[], None);
        check(&[("/a", Some("1"))], &[("/a", Some("1"))], None);
        check(&[("/a", Some("1"))], &[("/a", Some("2"))], Some("/a"));
        check(&[("/a", None)], &[("/a", Some("2"))], Some("/a"));
        check(&[("/a", Some("1"))], &[("/a", Some("1")), ("/b", None)], Some("/b"));
        check(&[("/a", Some("1")), ("/b", Some("1"))], &[("/b", Some("1"))], Some("/a"));
        check(&[("/b", Some("1"))], &[("/a", Some("1")), ("/b", Some("1"))], Some("/a"));
    }

    #[test]
    fn a_change_of_a_moment_ago_is_not_settled() {
        let now = SystemTime::now();
        let mut files = files(&[("/a", Some("1"))]);
        assert!(files.is_settled(now));
        files.changed_at(now - Duration::from_secs(1));
        assert!(files.is_settled(now));
        files.changed_at(now - Duration::from_millis(1));
        assert!(!files.is_settled(now));
        // A clock that was turned back proves nothing.
        files.changed_at(now + Duration::from_secs(1));
        assert!(!files.is_settled(now));
    }
}
