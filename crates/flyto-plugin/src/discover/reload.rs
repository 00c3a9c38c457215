//! What has changed since the last look.
//!
//! Changes are told by comparing two catalogues, so any two looks at the same directories can be
//! compared, not only neighbours.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use super::{
    catalogue::{Asked, Catalogue, Found, PluginState},
    last::Last,
    search,
};
use crate::{filter::Filter, load::Plugin};

/// How long a manifest may be gone while it is replaced: 50 ms. An editor that writes in place of
/// renaming needs far less between taking the old file away and having the new one there.
const GONE: Duration = Duration::from_millis(50);

/// What came of looking again.
///
/// ```
/// use flyto_plugin::{Catalogue, Filter, LoadOptions};
///
/// let first = Catalogue::discover(["/no/such/dir"], &Filter::new(), &LoadOptions::new());
/// let next = first.reload();
/// assert!(next.changes.is_empty());
/// assert_eq!(next.catalogue, first);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reload {
    /// The plugins as they are now.
    pub catalogue: Catalogue,
    /// What has changed: plugins that are gone first, then the others in the order of the catalogue.
    pub changes: Vec<Change>,
}

/// What has changed about one plugin.
///
/// A plugin is known by its name: one that moved to another directory has changed, and one that was
/// given another name is another plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The plugin's name; of one that is refused the one that is written, or else the name of its
    /// directory.
    pub plugin: String,
    /// Its directory, as a path from the one that was searched.
    pub dir: PathBuf,
    /// What has changed.
    pub kind: ChangeKind,
}

/// What has changed about a plugin.
///
/// A host adds the tools of a plugin after `Added`, replaces them after `Changed`, and takes
/// them away after `Removed`. After the other two it only tells the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It can be used from now on.
    Added,
    /// There is another version of it, or it lies elsewhere. After [`ChangeKind::Kept`] this also
    /// says that the edit was taken back, and the plugin in the catalogue is the one that was kept.
    Changed,
    /// It cannot be used any more.
    Removed,
    /// An edit cannot be used, and the last good version is still in use. Said once for each edit.
    Kept,
    /// It is new, or was edited, and cannot be used. There is no version that could.
    Refused,
}

impl ChangeKind {
    /// One word for a report: `added`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Kept => "kept",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Catalogue {
    /// Searches the same directories once more, and says what has changed.
    ///
    /// A plugin of which nothing has changed stays the same [`Arc`]. Of one that cannot be used any
    /// more the last good version stays in use, with the state [`PluginState::Kept`], for as long as
    /// its manifest is there: when the head of the manifest is refused, and when an error in the
    /// entry of a tool would take a tool away that could be used. Errors that take nothing away
    /// count as in [`discover`](Self::discover).
    ///
    /// A manifest that is gone is looked for once more after a moment: editors take a file away
    /// before they write the new one.
    ///
    /// The moment is 50 ms, slept on this thread, and is spent only where a manifest that was in
    /// use is gone.
    #[must_use]
    pub fn reload(&self) -> Reload {
        run(self, Arc::clone(&self.asked), &moment)
    }

    /// The same as [`reload`](Self::reload) with another filter, for a host whose configuration
    /// changed.
    ///
    /// A plugin that the new filter holds back is removed at once, also one that was kept.
    #[must_use]
    pub fn reload_with(&self, filter: &Filter) -> Reload {
        let options = self.asked.options.clone();
        let asked = Asked { filter: filter.clone(), options };
        run(self, Arc::new(asked), &moment)
    }

    /// What has changed since an older look at the same directories, by the rules of
    /// [`reload`](Self::reload): for a caller that has missed the looks between.
    #[must_use]
    pub fn changes_since(&self, older: &Self) -> Vec<Change> {
        changes(older, self)
    }
}

/// Lets a moment pass in which an editor may finish.
fn moment() {
    thread::sleep(GONE);
}

/// Looks again. `moment` is what passes before a manifest that is gone is looked for once more.
/// A plugin that was in use counts by its directory here; the changes count by its name.
fn run(before: &Catalogue, asked: Arc<Asked>, moment: &dyn Fn()) -> Reload {
    let dirs: Vec<_> = before.dirs.iter().map(|it| it.path.clone()).collect();
    let found = before.found.iter().map(|it| (it.dir.as_path(), it)).collect();
    let catalogue = search::run(&dirs, asked, Some(&Last { found, moment }));
    let changes = changes(before, &catalogue);
    Reload { catalogue, changes }
}

/// Plugins that are gone first, in the old order; then those that are new or different, in the
/// new one. A plugin that the filter holds back is gone, and never refused.
fn changes(before: &Catalogue, now: &Catalogue) -> Vec<Change> {
    let was_there: HashMap<_, _> = before.found.iter().map(|it| (&it.dir, it)).collect();
    let was_used: HashMap<_, _> =
        before.found.iter().filter_map(|it| Some((it.plugin.as_ref()?.name(), it))).collect();
    let is_used: HashSet<_> = now.plugins().map(|it| it.name()).collect();

    let gone = before.found.iter().filter_map(|it| {
        let name = it.plugin.as_ref()?.name();
        (!is_used.contains(name)).then(|| change(it, name, ChangeKind::Removed))
    });
    let rest = now.found.iter().filter_map(|it| match &it.plugin {
        Some(plugin) => {
            let kind = kind_of_use(it, plugin, was_used.get(plugin.name()).copied())?;
            Some(change(it, plugin.name(), kind))
        }
        None if it.state == PluginState::Refused => {
            let was = was_there.get(&it.dir);
            let is_known =
                was.is_some_and(|was| was.state == it.state && was.findings == it.findings);
            let dir = it.dir.file_name().unwrap_or(it.dir.as_os_str()).to_string_lossy();
            let name = it.name.as_deref().unwrap_or(&dir);
            (!is_known).then(|| change(it, name, ChangeKind::Refused))
        }
        None => None,
    });
    gone.chain(rest).collect()
}

/// What has changed about a plugin in use, if anything has. `was` is what had its name.
/// Two kept states with the same findings are one edit, which was told before.
fn kind_of_use(now: &Found, plugin: &Arc<Plugin>, was: Option<&Found>) -> Option<ChangeKind> {
    let Some(was) = was else { return Some(ChangeKind::Added) };
    let is_same = was.plugin.as_ref().is_some_and(|it| Arc::ptr_eq(it, plugin));
    match (was.state, now.state) {
        (PluginState::Kept, PluginState::Kept) if was.findings == now.findings => None,
        (_, PluginState::Kept) => Some(ChangeKind::Kept),
        (PluginState::Kept, _) => Some(ChangeKind::Changed),
        _ => (!is_same).then_some(ChangeKind::Changed),
    }
}

/// The change under this name, with the directory of what was found.
fn change(found: &Found, name: &str, kind: ChangeKind) -> Change {
    Change { plugin: name.to_owned(), dir: found.dir.clone(), kind }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::{LoadOptions, MANIFEST_FILE};

    const MANIFEST: &str = r#"{"name": "p", "tools": [{"name": "t", "command": "ls"}]}"#;

    /// Looks at what `away` leaves, and once more after `back`; what has changed then?
    #[track_caller]
    fn check(dirs: &[&str], away: fn(&Path), back: fn(&Path), expect: &[ChangeKind]) {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path();
        fs::create_dir_all(root.join("d/p")).expect("created");
        fs::write(root.join("d/p").join(MANIFEST_FILE), MANIFEST).expect("written");
        let dirs = dirs.iter().map(|it| root.join(it));
        let before = Catalogue::discover(dirs, &Filter::new(), &LoadOptions::new());
        away(root);
        let reload = run(&before, Arc::clone(&before.asked), &|| back(root));
        let kinds: Vec<_> = reload.changes.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, expect);
    }

    fn rename(root: &Path, from: &str, to: &str) {
        fs::rename(root.join(from), root.join(to)).expect("renamed");
    }

    #[test]
    fn what_is_gone_for_a_moment_stays() {
        let away = |root: &Path| rename(root, "d/p/plugin.json", "d/p/plugin.json~");
        let back = |root: &Path| {
            fs::write(root.join("d/p/plugin.json"), MANIFEST).expect("written");
        };
        check(&["d"], away, back, &[]);
        // The directory that is a plugin itself.
        check(&["d/p"], away, back, &[]);
        check(&["d"], away, |_| (), &[ChangeKind::Removed]);
        check(&["d/p"], away, |_| (), &[ChangeKind::Removed]);
    }

    #[test]
    fn a_directory_that_is_replaced_stays() {
        let away = |root: &Path| rename(root, "d/p", "old");
        check(&["d"], away, |root| rename(root, "old", "d/p"), &[]);
        check(&["d"], away, |_| (), &[ChangeKind::Removed]);
        // Under another name it was there all the time.
        let moved = |root: &Path| rename(root, "d/p", "d/q");
        check(&["d"], moved, |_| (), &[ChangeKind::Changed]);
    }

    #[test]
    fn no_search_waits_while_everything_is_there() {
        check(&["d"], |_| (), |_| panic!("there is nothing to wait for"), &[]);
    }
}
