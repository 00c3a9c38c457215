//! What was in use before, and what an edit makes of it.
//!
//! An editor saves a file in steps, and a person saves a file that is half done. Both must not
//! take a working plugin away, so each candidate is compared with the version that was in use.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    path::Path,
    sync::Arc,
};

use super::catalogue::Found;
use crate::load::Plugin;

/// What was there the last time.
pub(super) struct Last<'a> {
    /// By the directory as it is shown; those without a plugin are in it as well.
    pub(super) found: HashMap<&'a Path, &'a Found>,
    /// What passes before a second look: 50 ms of sleep, or what a test puts there.
    pub(super) moment: &'a dyn Fn(),
}

impl Last<'_> {
    /// The plugin that was in use from this directory.
    pub(super) fn plugin(&self, dir: &Path) -> Option<&Arc<Plugin>> {
        self.found.get(dir)?.plugin.as_ref()
    }

    /// The names of the directories in `dir` from which plugins were in use.
    pub(super) fn names_in(&self, dir: &Path) -> impl Iterator<Item = &OsStr> {
        let used = self.found.values().filter(|it| it.plugin.is_some());
        used.filter(move |it| it.dir.parent() == Some(dir)).filter_map(|it| it.dir.file_name())
    }

    /// Looks once more at what is gone, after a moment.
    /// Called at most once for each searched directory that was a plugin itself, and once for
    /// all manifests that are gone.
    pub(super) fn after_a_moment<T>(&self, look: impl FnOnce() -> T) -> T {
        (self.moment)();
        look()
    }
}

/// What a look at an edited manifest leads to.
///
/// The version that stays in use after `Unusable` is for the caller to keep.
pub(super) enum Edit {
    /// This is in use from now on: the new version, or the good one if nothing has changed.
    Good(Arc<Plugin>),
    /// The edit cannot be used.
    Unusable,
}

impl Edit {
    /// Compares what was read with the version in use.
    /// `None` for `read` means that the head could not be used.
    pub(super) fn of(good: &Arc<Plugin>, read: Option<Plugin>) -> Self {
        match read {
            None => Self::Unusable,
            Some(read) if read.is_the_same(good) => Self::Good(Arc::clone(good)),
            Some(read) if loses_a_tool(&read, good) => Self::Unusable,
            Some(read) => Self::Good(Arc::new(read)),
        }
    }
}

/// Whether a tool that could be used is missing from the new version while an error is new there: it
/// was hardly meant to go.
/// A tool that is gone without an error went on purpose, and so did one of a plugin with a new
/// name.
fn loses_a_tool(read: &Plugin, good: &Plugin) -> bool {
    let was_refused: HashSet<_> = good.refused().iter().map(|it| it.name.as_deref()).collect();
    let mut refused = read.refused().iter().map(|it| it.name.as_deref());
    if read.name() != good.name() || refused.all(|it| was_refused.contains(&it)) {
        return false;
    }
    let usable: HashSet<_> = read.tools().iter().map(|it| it.name.as_str()).collect();
    good.tools().iter().any(|it| !usable.contains(it.name.as_str()))
}
