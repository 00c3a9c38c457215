//! Keeping the watched directories those that matter.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
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
        let mut path_of: BTreeMap<Identity, PathBuf> = BTreeMap::new();
        for (path, interest) in wanted.0 {
            // A directory that has just gone has its parent watched, which tells.
            let Some(id) = identity(&path) else { continue };
            let path = path_of.entry(id).or_insert(path);
            res.interests.0.entry(path.clone()).or_default().add(interest);
        }
        let identities: HashMap<PathBuf, Identity> =
            path_of.into_iter().map(|(id, path)| (path, id)).collect();

        let is_doubtful = |path: &Path| path.ancestors().any(|it| doubtful.contains(it));
        self.watched.retain(|path, id| {
            let stays = identities.get(path) == Some(id) && !is_doubtful(path);
            if !stays {
                self.watcher.unwatch(path);
            }
            stays
        });
        // In order of paths: where there are too few watches, parents come before children.
        for path in res.interests.0.keys() {
            if self.watched.contains_key(path) {
                continue;
            }
            match self.watcher.watch(path) {
                Ok(()) => {
                    self.watched.insert(path.clone(), identities[path].clone());
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
