//! Directories that were granted for writing, as they were when that was first done.
//!
//! A program that may write the parent of a granted directory can put another one in its place, or a link. A
//! link grants nothing, and what lies elsewhere cannot be moved there; but what the operator has granted is not
//! what is there now, and a program that finds its directory closed cannot tell why. So a host remembers which
//! directory it was, and refuses a call that would be granted another one.
//!
//! This is about directories granted for writing. Files are replaced by every editor that saves one, and
//! directories for reading by services that start again and packages that are upgraded: neither gives a
//! program more than it was granted.

use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use flyto_execenv::{ExecError, ExecErrorKind};
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

use super::places::Identity;

/// Paths that are remembered: 1,024, of which the one that was granted least recently is forgotten.
const MAX_PATHS: usize = 1024;

/// The directories of one backend.
///
/// Lives as long as its [`Linux`](crate::Linux): a restart of the host forgets all of it, which is
/// what the message of a refused call suggests.
#[derive(Debug, Default)]
pub(crate) struct Granted(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_path: BTreeMap<PathBuf, Entry>,
    /// Counts grants.
    n_grants: u64,
}

#[derive(Debug)]
struct Entry {
    directory: Identity,
    /// Which grant was the last.
    last: u64,
}

impl Granted {
    /// Compares what was opened for this path without following links, if anything was, with what it was
    /// before.
    ///
    /// # Errors
    ///
    /// It was another directory, or is none any more.
    ///
    /// Called for each path that is granted for writing, whenever a ruleset is made. What is not
    /// there, or is no directory and was none before, is not remembered.
    pub(super) fn check(&self, path: &Path, opened: Option<&OwnedFd>) -> Result<(), ExecError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.n_grants += 1;
        let now = known.n_grants;
        let (is_there, directory) = match opened {
            Some(file) => {
                (true, statx(file, c"", AtFlags::EMPTY_PATH, ASKED).ok().and_then(identity))
            }
            // A link leads nowhere. What is not there grants nothing, and may come back.
            None => (statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, ASKED).is_ok(), None),
        };
        match (known.by_path.get_mut(path), directory) {
            (Some(before), directory) if is_there => {
                if directory != Some(before.directory) {
                    return Err(replaced(path, directory.is_some()));
                }
                before.last = now;
            }
            (None, Some(directory)) => {
                known.make_room();
                known.by_path.insert(path.to_owned(), Entry { directory, last: now });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Known {
    /// Removes one entry where there are [`MAX_PATHS`].
    fn make_room(&mut self) {
        if self.by_path.len() < MAX_PATHS {
            return;
        }
        let oldest = self.by_path.iter().min_by_key(|it| it.1.last).map(|it| it.0.clone());
        if let Some(oldest) = oldest {
            self.by_path.remove(&oldest);
        }
    }
}

/// The type tells a directory (statx(2)).
const ASKED: StatxFlags = StatxFlags::TYPE.union(Identity::ASKED);

/// `None` for what is no directory.
fn identity(stat: Statx) -> Option<Identity> {
    let is_directory = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
    is_directory.then(|| Identity::of(&stat))
}

/// `by_directory` tells what took its place. The cause says what the operator does.
fn replaced(path: &Path, by_directory: bool) -> ExecError {
    let by = if by_directory { "another directory" } else { "a link or a file" };
    let what =
        format!("grant {path:?} for writing: {by} took its place since it was first granted");
    let help = "a program that may write the directory above can do that; look at what is there, then restart \
                this host, or grant another path";
    ExecError::new(ExecErrorKind::Other, what).with_source(help)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_granted_least_recently_is_forgotten() {
        let dir = tempfile::tempdir().expect("there is room");
        let [one, other] = ["one", "other"].map(|it| dir.path().join(it));
        for it in [&one, &other] {
            fs::create_dir(it).expect("it is ours");
        }
        let open = |it: &Path| OwnedFd::from(fs::File::open(it).expect("it is there"));
        let granted = Granted::default();
        let check = |path: &Path, is: &Path| granted.check(path, Some(&open(is))).is_ok();
        assert!(check(&one, &one) && check(&one, &one) && !check(&one, &other));
        for n in 0..MAX_PATHS - 1 {
            assert!(check(&dir.path().join(n.to_string()), &other));
        }
        assert!(!check(&one, &other), "there is room for so many");
        for n in MAX_PATHS..=MAX_PATHS + 1 {
            assert!(check(&dir.path().join(n.to_string()), &other));
        }
        assert!(check(&one, &other));
        let n_paths = granted.0.lock().expect("nothing panicked").by_path.len();
        assert_eq!(n_paths, MAX_PATHS);
    }
}
