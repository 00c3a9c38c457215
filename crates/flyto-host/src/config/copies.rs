//! Where private copies of pinned scripts lie.
//!
//! A pinned script runs as a copy, which its interpreter opens late. So the directory of copies
//! must be out of reach for every program that this configuration confines.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Config, policies::temp_dir};
use crate::{links, places::Surroundings};

/// What every Unix program may take for a place for temporary files, and what `workspace` grants of memory.
const SHARED: [&str; 2] = ["/tmp", "/dev/shm"];

impl Config {
    /// The directory for private copies of pinned scripts: below the user's directory for what can be made again.
    /// None where a link leads it to where programs may write: to the directory of the call, those for temporary
    /// files, or a `write` of the configuration.
    ///
    /// An interpreter opens the copy some time after the check. A confined program of the same user that may write
    /// there can exchange the copy in between. So every profile that could grant that keeps the directory from
    /// being changed, and no other directory is taken in its place.
    #[must_use]
    pub fn pinned_dirs(&self, surroundings: &Surroundings) -> Vec<PathBuf> {
        let Some(own) = own(surroundings) else { return Vec::new() };
        let real = real_of_missing(&own);
        match real == own || !self.is_written(&real, surroundings) {
            true => vec![real],
            false => Vec::new(),
        }
    }

    /// Where other calls of this user keep copies, if programs of this configuration may write there. It is kept from
    /// being changed then, for which it has to be there.
    pub(super) fn endangered_copies(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        let own = real_of_missing(&own(surroundings)?);
        if !self.is_written(&own, surroundings) {
            return None;
        }
        // One that cannot be made now cannot be made by a later call of this user either, as a rule.
        let _ = fs::create_dir_all(&own);
        Some(own)
    }

    /// Whether some program may be granted a directory for writing, or one above it.
    fn is_written(&self, dir: &Path, surroundings: &Surroundings) -> bool {
        let mut written: Vec<PathBuf> = SHARED.map(PathBuf::from).into();
        written.push(surroundings.current_dir.clone());
        written.push(temp_dir(surroundings).1);
        let profiles = self.sandbox.in_use().chain(self.sandbox.profiles.values());
        written.extend(profiles.flat_map(|it| it.write.iter().cloned()));
        written.extend(self.plugins.grants.values().flat_map(|it| it.write.iter().cloned()));
        written.iter().any(|it| dir.starts_with(it))
    }
}

/// Where a path leads, whatever the links on the way, and whether all of it is there or not.
fn real_of_missing(path: &Path) -> PathBuf {
    let (mut there, mut missing) = (path, Vec::new());
    while there.symlink_metadata().is_err() {
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else { break };
        missing.push(name);
        there = parent;
    }
    missing.iter().rev().fold(links::real(there), |res, it| res.join(it))
}

/// The user's own directory for copies.
fn own(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.places.cache_dir.as_ref().map(|it| it.join("pinned"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{ffi::OsStr, os::unix::fs::symlink};

    use flyto_execenv::Environment;

    use super::*;

    fn surroundings(env: &[(&str, &Path)], current_dir: &Path) -> Surroundings {
        let env = env.iter().map(|(name, value)| (OsStr::new(name), value.as_os_str()));
        Surroundings::new(env.collect::<Environment>(), current_dir)
    }

    #[test]
    fn copies_lie_in_the_users_own_directory() {
        let check = |env: &[(&str, &Path)], expect: &[&str]| {
            let dirs = Config::default().pinned_dirs(&surroundings(env, Path::new("/w")));
            assert_eq!(dirs, expect.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        let home = ("HOME", Path::new("/h"));
        check(&[home], &["/h/.cache/flyto/pinned"]);
        check(&[home, ("XDG_CACHE_HOME", Path::new("/c"))], &["/c/flyto/pinned"]);
        check(&[home, ("TMPDIR", Path::new("/h"))], &["/h/.cache/flyto/pinned"]);
        check(&[], &[]);
    }

    #[test]
    fn a_link_leads_no_copies_to_where_programs_may_write() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("there is room");
        let dir = dir.path().canonicalize().expect("it is there");
        for sub in ["project", "other"] {
            fs::create_dir(dir.join(sub)).expect("it is ours");
        }
        let dirs = |target: &str| {
            let link = dir.join(format!("to-{target}"));
            symlink(dir.join(target), &link).expect("it is ours");
            let env = [("XDG_CACHE_HOME", &*link)];
            Config::default().pinned_dirs(&surroundings(&env, &dir.join("project")))
        };
        assert_eq!(dirs("project"), Vec::<PathBuf>::new());
        assert_eq!(dirs("other"), [dir.join("other/flyto/pinned")]);
    }

    #[test]
    fn what_programs_may_write_is_kept_from_them() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("there is room");
        let home = dir.path().canonicalize().expect("it is there");
        let pinned = home.join(".cache/flyto/pinned");
        let env = [("HOME", &*home)];
        let endangered = |config: &Config, dir: &str| {
            config.endangered_copies(&surroundings(&env, &home.join(dir)))
        };
        let mut config = Config::default();
        assert_eq!(endangered(&config, "project"), None);
        assert!(!pinned.exists());
        assert_eq!(endangered(&config, ".cache"), Some(pinned.clone()));
        assert!(pinned.exists());
        let mut grant = flyto_plugin::Grant::new();
        grant.write.push(home.join(".cache"));
        config.plugins.grants.insert("p".to_owned(), grant);
        assert_eq!(endangered(&config, "project"), Some(pinned));
    }
}
