//! Paths that are granted are taken as they are written: a link on the way grants nothing.
//!
//! A confined program that may write a directory can replace what lies in it by a link to `/`. If a later call
//! followed the link, the program would have chosen what that call may write.

#[cfg_attr(unix, path = "links/unix.rs")]
#[cfg_attr(not(unix), path = "links/other.rs")]
mod platform;

use std::{
    ffi::OsString,
    fmt,
    path::{Component, Path, PathBuf},
};

use self::platform::is_of_root;
pub(crate) use self::platform::is_own;

/// Links that are followed at most: the kernel's own limit (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The first link on the way to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The link itself.
    pub(crate) at: PathBuf,
    /// What the link says.
    pub(crate) target: PathBuf,
    /// The whole path without links; `None` where it leads nowhere.
    pub(crate) real: Option<PathBuf>,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is a link to {:?}", self.at, self.target)
    }
}

impl Link {
    /// What the operator does about a granted path with this link in it.
    pub(crate) fn help(&self) -> String {
        match &self.real {
            Some(real) => format!("write {real:?}"),
            None => "write a path without links".to_owned(),
        }
    }
}

/// A path that is to be granted, without links.
///
/// A path below the home directory may go through the links that [`home_dir`] follows.
///
/// # Errors
///
/// The first link on the way, whose target must not be granted.
pub(crate) fn granted_path(path: &Path, home: Option<&Path>) -> Result<PathBuf, Link> {
    match home.and_then(|home| Some((home, path.strip_prefix(home).ok()?))) {
        Some((home, rest)) => plain_path(&home_dir(home)?.join(rest)),
        None => plain_path(path),
    }
}

/// The home directory, without links.
///
/// Some systems have a link on the way to it, such as from `/home` to `/var/home`. A link is followed where it
/// belongs to root, lies in directories that only root may write, and the user is not root: then no program of the
/// user can have made it.
///
/// # Errors
///
/// The first link that is not followed.
pub(crate) fn home_dir(home: &Path) -> Result<PathBuf, Link> {
    walk(home, is_of_root)
}

/// The path, where there is no link on the way to it.
///
/// # Errors
///
/// The first link.
pub(crate) fn plain_path(path: &Path) -> Result<PathBuf, Link> {
    walk(path, |_| false)
}

/// Where a path leads, whatever the links on the way; one that is not there stays as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// An absolute path without `..`, as the system goes: where it has one, links before it are followed.
pub(crate) fn without_parents(path: &Path) -> PathBuf {
    match climbs(path) {
        true => walk(path, |_| true).unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    }
}

/// Whether a path has `..` in it: where it leads is known by another one.
pub(crate) fn climbs(path: &Path) -> bool {
    path.components().any(|it| it == Component::ParentDir)
}

/// Follows an absolute path, one component after the other, as long as it may.
fn walk(path: &Path, may_follow: impl Fn(&Path) -> bool) -> Result<PathBuf, Link> {
    let mut here = PathBuf::new();
    let mut rest = Vec::new();
    push(&mut rest, path);
    let mut n_links = 0;
    while let Some(step) = rest.pop() {
        if step == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&step);
        // What cannot be asked is no link that this user can follow. The backend asks again.
        let is_link = next.symlink_metadata().is_ok_and(|it| it.is_symlink());
        if !is_link {
            here = next;
            continue;
        }
        let target = next.read_link().unwrap_or_default();
        n_links += 1;
        if n_links > MAX_LINKS || !may_follow(&next) {
            return Err(Link { at: next, target, real: path.canonicalize().ok() });
        }
        push(&mut rest, &target);
    }
    Ok(here)
}

/// Puts the components of a path onto a stack, the first one on top.
fn push(rest: &mut Vec<OsString>, path: &Path) {
    let steps = path.components().rev().filter(|it| *it != Component::CurDir);
    rest.extend(steps.map(|it| it.as_os_str().to_owned()));
}

/// Which users may change what a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    /// The number of the user that owns it.
    owner: u32,
    /// The permission bits (inode(7)).
    mode: u32,
}

/// Whether a link belongs to root, and all directories above it are root's and closed to all others, for a user that
/// is not root.
fn only_root_made(user: u32, link: Access, above: &[Access]) -> bool {
    /// The permission of a group, and of all others, to write.
    const OTHERS_WRITE: u32 = 0o022;
    let is_closed = |it: &Access| it.owner == 0 && it.mode & OTHERS_WRITE == 0;
    user != 0 && link.owner == 0 && above.iter().all(is_closed)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A directory without links above it, with what `make` puts there.
    fn scene(make: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("there is room");
        let path = dir.path().canonicalize().expect("it is there");
        fs::create_dir_all(path.join("real/in")).expect("it is ours");
        make(&path);
        (dir, path)
    }

    /// `path` below a directory with a link `link` to `target`: the path that is granted, or the link and where it
    /// leads.
    #[track_caller]
    fn check(target: &str, link: &str, path: &str, expect: Result<&str, (&str, Option<&str>)>) {
        let (_dir, root) = scene(|root| {
            let target = target.replace("ROOT", &root.display().to_string());
            symlink(target, root.join(link)).expect("it is ours");
        });
        let found = granted_path(&root.join(path), None);
        let expect = expect.map(|it| root.join(it));
        let expect = expect.map_err(|(at, real)| (root.join(at), real.map(|it| root.join(it))));
        assert_eq!(found.map_err(|it| (it.at, it.real)), expect);
    }

    #[test]
    fn a_path_without_links_is_granted_as_it_is_written() {
        check("real", "link", "real/in", Ok("real/in"));
        check("real", "link", "real//in/./", Ok("real/in"));
        check("real", "link", "not/there", Ok("not/there"));
        check("real", "link", "real/link", Ok("real/link"));
    }

    #[test]
    fn a_link_grants_nothing_wherever_it_stands() {
        check("real", "link", "link", Err(("link", Some("real"))));
        check("real", "link", "link/in", Err(("link", Some("real/in"))));
        check("in", "real/link", "real/link", Err(("real/link", Some("real/in"))));
        check("../real/in", "real/link", "real/link", Err(("real/link", Some("real/in"))));
        check("ROOT/real", "link", "link/in", Err(("link", Some("real/in"))));
        check("/", "link", "link", Err(("link", Some("/"))));
    }

    #[test]
    fn a_link_that_leads_nowhere_grants_nothing() {
        check("nowhere", "link", "link", Err(("link", None)));
        check("link", "link", "link/in", Err(("link", None)));
    }

    #[test]
    fn a_home_directory_behind_a_users_link_is_none() {
        let (_dir, root) = scene(|root| symlink("real", root.join("home")).expect("it is ours"));
        let home = root.join("home");
        let link = home_dir(&home).expect_err("the link is not followed");
        assert_eq!((&link.at, &link.real), (&home, &Some(root.join("real"))));
        assert_eq!(granted_path(&home.join("in"), Some(&home)), Err(link));
        let inside = root.join("real/in");
        assert_eq!(granted_path(&inside, Some(&home)), Ok(inside));
    }

    #[test]
    fn links_that_may_be_followed_are_followed_to_their_end() {
        let (_dir, root) = scene(|root| {
            symlink("two", root.join("one")).expect("it is ours");
            symlink("real/../real/./in", root.join("two")).expect("it is ours");
            symlink("loop", root.join("loop")).expect("it is ours");
        });
        assert_eq!(walk(&root.join("one/x"), |_| true), Ok(root.join("real/in/x")));
        let first = |it: &Path| it.ends_with("one");
        let link = walk(&root.join("one/x"), first).expect_err("the second is not followed");
        assert_eq!((link.at, link.target), (root.join("two"), "real/../real/./in".into()));
        assert!(walk(&root.join("loop"), |_| true).is_err());
    }

    #[test]
    fn only_what_root_alone_could_make_is_roots() {
        let access = |owner, mode| Access { owner, mode };
        let (root, dir) = (access(0, 0o777), access(0, 0o755));
        assert!(only_root_made(1000, root, &[dir, dir]));
        assert!(!only_root_made(0, root, &[dir]), "root's own programs can make such links");
        assert!(!only_root_made(1000, access(1000, 0o777), &[dir]));
        assert!(!only_root_made(1000, root, &[dir, access(1000, 0o755)]));
        assert!(!only_root_made(1000, root, &[access(0, 0o775)]));
        assert!(!only_root_made(1000, root, &[access(0, 0o757)]));
        assert!(!only_root_made(1000, root, &[access(0, 0o1777), dir]));
    }
}
