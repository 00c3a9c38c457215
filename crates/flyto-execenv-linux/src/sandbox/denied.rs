//! What denied paths mean on this machine, and which paths they close.
//!
//! An isolation denies hundreds of paths, most of which are not there. So each directory on the way is looked at once,
//! and a path is looked up among the denied ones instead of being compared with all of them.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

/// Denied paths without links.
///
/// Equal where the same paths are meant: a ruleset is made again when this changed meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denied {
    /// Each path itself, with the links on the way to it followed, and where it leads if it is a link itself. What is
    /// not there yet is meant where it would be.
    meant: HashSet<PathBuf>,
    /// The directories above them.
    above: HashSet<PathBuf>,
}

impl Denied {
    /// Looks at the links that lead to these paths now.
    ///
    /// Reads each link once, however many paths lead through it. `paths` are absolute and without
    /// `..`.
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        let mut known = HashMap::new();
        let mut meant = HashSet::with_capacity(paths.len());
        for path in paths {
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
                meant.insert(resolved(parent, &mut known).join(name));
            }
            meant.insert(resolved(path, &mut known));
        }
        let above = meant.iter().flat_map(|it| it.ancestors().skip(1));
        let above = above.map(Path::to_owned).collect();
        Self { meant, above }
    }

    /// The paths, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PathBuf> {
        self.meant.iter()
    }

    /// Whether this path, or a directory above it, is denied.
    ///
    /// As many look-ups as the path has components.
    pub(super) fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|it| self.meant.contains(it))
    }

    /// Whether a denied path lies below this one.
    pub(super) fn is_way(&self, path: &Path) -> bool {
        self.above.contains(path)
    }
}

/// The path without links, as far as it is there.
///
/// A link that leads nowhere stays as it is, and so do the names behind what is not there. `known`
/// remembers each directory on the way.
fn resolved<'a>(path: &'a Path, known: &mut HashMap<&'a Path, PathBuf>) -> PathBuf {
    if let Some(found) = known.get(path) {
        return found.clone();
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    let here = resolved(parent, known).join(name);
    let is_link = here.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let found = match is_link {
        true => here.canonicalize().unwrap_or(here),
        false => here,
    };
    known.insert(path, found.clone());
    found
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_denied_path_is_meant_without_links_and_where_it_leads() {
        let dir = tempfile::tempdir().expect("there is room");
        let path = dir.path().canonicalize().expect("it is there");
        for sub in ["home/project", "real"] {
            fs::create_dir_all(path.join(sub)).expect("it is ours");
        }
        symlink(path.join("home"), path.join("link")).expect("it is ours");
        symlink(path.join("real"), path.join("home/.ssh")).expect("it is ours");
        symlink("nowhere", path.join("home/.aws")).expect("it is ours");
        let check = |denied: &[&str], expect: &[&str]| {
            let all: Vec<_> = denied.iter().map(|it| path.join(it)).collect();
            let expect: HashSet<_> = expect.iter().map(|it| path.join(it)).collect();
            assert_eq!(Denied::new(&all).meant, expect, "{denied:?}");
        };
        check(&["home/project"], &["home/project"]);
        check(&["link/project"], &["home/project"]);
        check(&["link/.ssh"], &["home/.ssh", "real"]);
        check(&["link/.ssh/key"], &["real/key"]);
        check(&["link/not/there"], &["home/not/there"]);
        check(&["link/.aws"], &["home/.aws"]);
        check(&["link/.aws/key"], &["home/.aws/key"]);
        check(
            &["link/.ssh/one", "home/.ssh/two", "link"],
            &["real/one", "real/two", "link", "home"],
        );
    }

    #[test]
    fn what_lies_below_is_covered_and_what_lies_above_is_a_way() {
        let denied = Denied::new(&["/not/there/a".into(), "/not/there/b/c".into()]);
        for path in ["/not/there/a", "/not/there/a/x/y", "/not/there/b/c"] {
            assert!(denied.covers(Path::new(path)) && !denied.is_way(Path::new(path)), "{path}");
        }
        for path in ["/", "/not", "/not/there", "/not/there/b"] {
            assert!(!denied.covers(Path::new(path)) && denied.is_way(Path::new(path)), "{path}");
        }
        for path in ["/not/there/ab", "/elsewhere"] {
            assert!(!denied.covers(Path::new(path)) && !denied.is_way(Path::new(path)), "{path}");
        }
    }
}
