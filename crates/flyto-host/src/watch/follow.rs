//! Keeping the watched directories those that matter.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::{Path, PathBuf},
};

use super::{
    identity::{Identity, identity},
    interest::Interests,
};

/// Whatever watches directories: the system, or a test.
pub(super) trait DirWatcher: fmt::Debug + Send {
    /// Watches the entries of a directory, not those of directories in it.
    fn watch(&mut self, dir: &Path) -> Result<(), notify::Error>;
    /// Ends that. A directory that is gone is no error.
    fn unwatch(&mut self, dir: &Path);
}

impl<T: notify::Watcher + fmt::Debug + Send> DirWatcher for T {
    fn watch(&mut self, dir: &Path) -> Result<(), notify::Error> {
        notify::Watcher::watch(self, dir, notify::RecursiveMode::NonRecursive)
    }

    fn unwatch(&mut self, dir: &Path) {
        let _ = notify::Watcher::unwatch(self, dir);
    }
}

/// The watched directories. Each is watched once, however many paths lead to it.
#[derive(Debug)]
pub(super) struct Followed {
    watcher: Box<dyn DirWatcher>,
    watched: HashMap<PathBuf, Identity>,
}

/// What came of following the sources.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// What matters from now on, by the paths that are watched.
    pub(super) interests: Interests,
    /// Whether directories are watched that were not before. What happened in them until then was
    /// not seen.
    pub(super) has_new: bool,
    /// Why some are not watched.
    pub(super) watch_error: Option<notify::Error>,
}

impl Followed {
    /// Watches nothing yet.
    pub(super) fn new(watcher: Box<dyn DirWatcher>) -> Self {
        Self { watcher, watched: HashMap::new() }
    }

    /// Watches what is of interest, and nothing else. `doubtful` are directories that were moved or
    /// removed; the watch of whatever has that path now is made anew.
    pub(super) fn step(&mut self, wanted: Interests, doubtful: &HashSet<PathBuf>) -> Step {
        let mut res = Step::default();
        // In order of paths, byte by byte: of several that lead to a directory the first is watched, and where there are too few
        // watches, parents come before children.
        let mut wanted: Vec<_> = wanted.0.into_iter().collect();
        wanted.sort_unstable_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
        let mut dirs: Vec<(PathBuf, Identity)> = Vec::with_capacity(wanted.len());
        let mut place_of: HashMap<Identity, usize> = HashMap::with_capacity(wanted.len());
        res.interests.0.reserve(wanted.len());
        for (path, interest) in wanted {
            // A directory that has just gone has its parent watched, which tells.
            let Some(id) = identity(&path) else { continue };
            let place = *place_of.entry(id.clone()).or_insert_with(|| {
                dirs.push((path, id));
                dirs.len() - 1
            });
            res.interests.0.entry(dirs[place].0.clone()).or_default().add(interest);
        }

        let is_doubtful = |path: &Path| path.ancestors().any(|it| doubtful.contains(it));
        self.watched.retain(|path, id| {
            let is_wanted = place_of.get(id).is_some_and(|it| dirs[*it].0 == *path);
            let stays = is_wanted && !is_doubtful(path);
            if !stays {
                self.watcher.unwatch(path);
            }
            stays
        });
        for (path, id) in dirs {
            if self.watched.contains_key(&path) {
                continue;
            }
            match self.watcher.watch(&path) {
                Ok(()) => {
                    self.watched.insert(path, id);
                    res.has_new = true;
                }
                Err(err) if is_its_own_fault(&err) => {}
                Err(err) => {
                    res.watch_error = Some(err);
                    break;
                }
            }
        }
        res
    }
}

/// Whether the directory is gone or cannot be read, which says nothing about others.
fn is_its_own_fault(err: &notify::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match &err.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(err) => {
            matches!(err.kind(), NotFound | NotADirectory | PermissionDenied)
        }
        _ => false,
    }
}
