//! What there is to watch.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use flyto_diagnostics::files::is_link_free;
use flyto_plugin::{
    CLAUDE_MANIFEST_FILE, CLAUDE_MCP_FILE, DirState, Invocation, MANIFEST_FILE, MCP_FILE,
};

use super::interest::Interests;
use crate::{report::LoadReport, tool_source::ToolSource};

/// How many links of a chain are followed, as the system does.
const MAX_LINKS: usize = 40;

/// The directories whose events say that a source has changed, as absolute paths.
///
/// Nothing but directories is watched: a file that is replaced by another of its name takes its own
/// watch along.
pub(super) fn interests(report: &LoadReport, added: &[Arc<dyn ToolSource>]) -> Interests {
    let mut places = Places::default();
    for dir in &report.catalogue.dirs {
        places.plugin_dir(&absolute(&dir.path), dir.state);
    }
    for plugin in report.catalogue.plugins() {
        for tool in plugin.tools() {
            if let Invocation::Rpc { path, .. } = &tool.invocation {
                // One process may go on with a program for long.
                places.entry(&plugin.dir().join(path));
            }
        }
    }
    for file in &report.exec_files {
        places.entry(&absolute(&file.path));
    }
    for source in added {
        places.store(&absolute(&source.watched_dir()));
    }
    places.0
}

#[derive(Default)]
struct Places(Interests);

impl Places {
    fn plugin_dir(&mut self, dir: &Path, state: DirState) {
        self.entry(dir);
        if !dir.is_dir() {
            return;
        }
        self.plugin(dir);
        if state == DirState::Plugin {
            return;
        }
        self.0.add_entries(dir);
        let Ok(entries) = fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            // Also one without a manifest: that may come.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                self.links(entry.path());
            }
            // A look through a link; what is no link has said what it is.
            let path = entry.path();
            if kind.is_dir() || (kind.is_symlink() && path.is_dir()) {
                self.plugin(&path);
            }
        }
    }

    /// A directory in which every entry matters, also one that is written to in place.
    fn store(&mut self, dir: &Path) {
        self.entry(dir);
        if dir.is_dir() {
            self.0.add_contents(dir);
        }
    }

    /// A directory that is a plugin, or may become one.
    fn plugin(&mut self, dir: &Path) {
        self.0.add_manifests(dir);
        let claude = dir.join(CLAUDE_MANIFEST_FILE);
        if let (Some(dir), Some(name)) = (claude.parent(), claude.file_name())
            && dir.is_dir()
        {
            self.0.add_name(dir, name);
        }
        for name in [MANIFEST_FILE, MCP_FILE, CLAUDE_MCP_FILE] {
            let file = dir.join(name);
            if file.is_symlink() {
                self.links(file);
            }
        }
    }

    /// Whatever happens to the entry at `path`, also to one that is not there yet, and to what links
    /// on the way there lead to.
    fn entry(&mut self, path: &Path) {
        self.name(path);
        self.links(path.to_owned());
    }

    /// The entry itself, or where its directory is missing, the next step towards it.
    fn name(&mut self, path: &Path) {
        let mut path = path;
        while let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
            if dir.is_dir() {
                return self.0.add_name(dir, name);
            }
            path = dir;
        }
    }

    /// Every link on the way to `path`, and what it leads to.
    fn links(&mut self, mut path: PathBuf) {
        for _ in 0..MAX_LINKS {
            let Some((link, target)) = first_link(&path) else { return };
            let (Some(dir), Ok(rest)) = (link.parent(), path.strip_prefix(link)) else { return };
            self.0.add_entries(dir);
            let mut next = dir.join(target);
            // An empty rest would add a slash.
            if rest != Path::new("") {
                next.push(rest);
            }
            self.name(&next);
            path = next;
        }
    }
}

/// The link on the way to `path` that is nearest to the root, and what it says.
fn first_link(path: &Path) -> Option<(&Path, PathBuf)> {
    if is_link_free(path) {
        return None;
    }
    let mut parts: Vec<_> = path.ancestors().collect();
    parts.reverse();
    parts.into_iter().find_map(|it| Some((it, fs::read_link(it).ok()?)))
}

/// The path from the root on. Where the current directory is gone, it stays as it is.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::OsString, os::unix::fs::symlink};

    use expect_test::{Expect, expect};

    use super::{super::interest::manifests, *};

    #[track_caller]
    fn check(root: &Path, f: impl FnOnce(&mut Places), expect: Expect) {
        let mut places = Places::default();
        f(&mut places);
        let mut res = String::new();
        let mut dirs: Vec<_> = places.0.0.iter().collect();
        dirs.sort_unstable_by_key(|(dir, _)| *dir);
        for (dir, interest) in dirs {
            let dir = dir.strip_prefix(root).expect("below the root");
            let entries = if interest.entries { " *" } else { "" };
            res += &format!("{}:{entries}", dir.display());
            let manifests = interest.manifests.then(manifests);
            let names = interest.names.iter().map(OsString::as_os_str);
            let names: BTreeSet<_> = names.chain(manifests.into_iter().flatten()).collect();
            for name in names {
                res += &format!(" {}", name.display());
            }
            res.push('\n');
        }
        expect.assert_eq(&res);
    }

    #[test]
    fn what_is_watched_for_a_directory_of_plugins() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it is there");
        for name in ["plugins/p", "plugins/q", "store/v1", "store/v2"] {
            fs::create_dir_all(root.join(name)).expect("created");
        }
        fs::write(root.join("plugins/file"), "").expect("written");
        symlink("v1", root.join("store/now")).expect("linked");
        symlink("../store/now", root.join("plugins/linked")).expect("linked");
        symlink("../../store/now/q.json", root.join("plugins/q/plugin.json")).expect("linked");
        let searched = |places: &mut Places| {
            places.plugin_dir(&root.join("plugins"), DirState::Searched);
        };
        check(
            &root,
            searched,
            expect![[r#"
                : plugins
                plugins: * .claude-plugin .mcp.json mcp.json plugin.json
                plugins/../store: * now v1
                plugins/linked: .claude-plugin .mcp.json mcp.json plugin.json
                plugins/p: .claude-plugin .mcp.json mcp.json plugin.json
                plugins/q: * .claude-plugin .mcp.json mcp.json plugin.json
                plugins/q/../../store: *
                plugins/q/../../store/now: q.json
                plugins/q/../../store/v1: q.json
            "#]],
        );
        check(
            &root,
            |places| places.plugin_dir(&root.join("x/y/plugins"), DirState::Missing),
            expect![[r#"
                : x
            "#]],
        );
    }

    #[test]
    fn links_that_lead_in_a_circle_come_to_an_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it is there");
        symlink("b", root.join("a")).expect("linked");
        symlink("a", root.join("b")).expect("linked");
        check(
            &root,
            |places| places.entry(&root.join("a/tools.json")),
            expect![[r#"
                : * a b
            "#]],
        );
    }
}
