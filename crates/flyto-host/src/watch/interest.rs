//! Which events of a directory matter.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use flyto_plugin::{CLAUDE_MANIFEST_FILE, CLAUDE_MCP_FILE, MANIFEST_FILE, MCP_FILE};
use notify::{
    Event, EventKind,
    event::{AccessKind, AccessMode, ModifyKind},
};

/// The watched directories, and what matters in each.
///
/// Paths are absolute, as the watcher names them in its events. They are hashed: a map in their order compares each path with ten
/// others, part by part, where there are a thousand of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Interests(pub(super) HashMap<PathBuf, Interest>);

/// What matters in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Interest {
    /// That entries come, go and are renamed, whatever their names.
    pub(super) entries: bool,
    /// Everything that happens to any entry.
    pub(super) contents: bool,
    /// Everything that happens to the entries that make a directory a plugin. In a thousand plugins they have the same names.
    pub(super) manifests: bool,
    /// Everything that happens to the entries of these names.
    pub(super) names: BTreeSet<OsString>,
}

/// What an event means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) is_of_interest: bool,
    /// Watched directories that were moved or removed: their watch may have gone with them.
    pub(super) doubtful: Vec<PathBuf>,
}

impl Interest {
    pub(super) fn add(&mut self, other: Self) {
        self.entries |= other.entries;
        self.contents |= other.contents;
        self.manifests |= other.manifests;
        self.names.extend(other.names);
    }
}

impl Interests {
    pub(super) fn add_name(&mut self, dir: &Path, name: &OsStr) {
        self.of(dir).names.insert(name.to_owned());
    }

    pub(super) fn add_entries(&mut self, dir: &Path) {
        self.of(dir).entries = true;
    }

    pub(super) fn add_manifests(&mut self, dir: &Path) {
        self.of(dir).manifests = true;
    }

    pub(super) fn add_contents(&mut self, dir: &Path) {
        self.of(dir).contents = true;
    }

    fn of(&mut self, dir: &Path) -> &mut Interest {
        self.0.entry(dir.to_owned()).or_default()
    }

    /// Judges an event. A plugin that writes a log into its own directory, and this host as it reads
    /// manifests, are no reason to look again.
    pub(super) fn see(&self, event: &Event) -> Seen {
        if event.need_rescan() {
            return Seen { is_of_interest: true, doubtful: Vec::new() };
        }
        let mut res = Seen::default();
        if !changes_something(event.kind) {
            return res;
        }
        let moves = moves_entries(event.kind);
        for path in &event.paths {
            if moves && self.0.contains_key(path) {
                res.is_of_interest = true;
                res.doubtful.push(path.clone());
            } else if self.matters(path, moves) {
                res.is_of_interest = true;
            }
        }
        // An event about no path says nothing but that there was one.
        res.is_of_interest |= event.paths.is_empty();
        res
    }

    /// An event at the root directory matters only where entries move.
    fn matters(&self, path: &Path, moves: bool) -> bool {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return moves };
        let Some(interest) = self.0.get(dir) else { return false };
        (moves && interest.entries)
            || interest.contents
            || interest.names.contains(name)
            || (interest.manifests && manifests().contains(&name))
    }
}

/// The entries that make a directory a plugin: manifests, and the directory of one.
pub(super) fn manifests() -> [&'static OsStr; 4] {
    let claude = Path::new(CLAUDE_MANIFEST_FILE);
    let claude_dir = claude.parent().unwrap_or(claude).as_os_str();
    [MANIFEST_FILE.as_ref(), MCP_FILE.as_ref(), CLAUDE_MCP_FILE.as_ref(), claude_dir]
}

/// Whether more than reading has happened.
fn changes_something(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Whether an entry came, went or was renamed, or may be entered from now on.
fn moves_entries(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Data(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode};

    use super::*;

    const OPEN: EventKind = EventKind::Access(AccessKind::Open(AccessMode::Any));
    const WRITTEN: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const DATA: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const RENAMED: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    const MODE: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    const CREATED: EventKind = EventKind::Create(CreateKind::File);
    const REMOVED: EventKind = EventKind::Remove(RemoveKind::Folder);

    fn interests() -> Interests {
        let mut res = Interests::default();
        res.add_entries(Path::new("/plugins"));
        res.add_name(Path::new("/plugins/p"), OsStr::new("plugin.json"));
        res.add_manifests(Path::new("/plugins/q"));
        res.add_contents(Path::new("/store"));
        res
    }

    #[track_caller]
    fn check(kind: EventKind, path: &str, is_of_interest: bool, doubtful: &[&str]) {
        let seen = interests().see(&Event::new(kind).add_path(path.into()));
        let doubtful = doubtful.iter().map(Into::into).collect();
        assert_eq!(seen, Seen { is_of_interest, doubtful }, "{kind:?} {path}");
    }

    #[test]
    fn a_manifest_matters_and_what_lies_beside_it_does_not() {
        for kind in [WRITTEN, DATA, RENAMED, CREATED, MODE, REMOVED] {
            check(kind, "/plugins/p/plugin.json", true, &[]);
            check(kind, "/plugins/p/run.log", false, &[]);
            for name in ["plugin.json", "mcp.json", ".mcp.json", ".claude-plugin"] {
                check(kind, &format!("/plugins/q/{name}"), true, &[]);
            }
            check(kind, "/plugins/q/run.log", false, &[]);
        }
    }

    #[test]
    fn everything_matters_that_changes_a_store() {
        for kind in [WRITTEN, DATA, RENAMED, CREATED, MODE, REMOVED] {
            check(kind, "/store/first.json", true, &[]);
        }
        check(DATA, "/store/deeper/first.json", false, &[]);
    }

    #[test]
    fn reading_does_not_matter() {
        check(OPEN, "/store/first.json", false, &[]);
        check(OPEN, "/plugins/p/plugin.json", false, &[]);
        check(OPEN, "/plugins", false, &[]);
    }

    #[test]
    fn plugins_come_and_go() {
        for kind in [RENAMED, CREATED, MODE, REMOVED] {
            check(kind, "/plugins/new", true, &[]);
            check(kind, "/plugins/p", true, &["/plugins/p"]);
            check(kind, "/plugins", true, &["/plugins"]);
        }
        check(DATA, "/plugins/notes.txt", false, &[]);
    }

    #[test]
    fn lost_events_are_a_reason_to_look() {
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(interests().see(&lost).is_of_interest);
    }
}
