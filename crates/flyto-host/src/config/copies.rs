//! Where private copies of pinned scripts lie.

use std::path::{Path, PathBuf};

use super::{Config, policies::temp_dir};
use crate::places::Surroundings;

/// A directory of the system that no profile grants.
const UNGRANTED: &str = "/var/tmp";

/// What every Unix program may take for a place for temporary files, and what `workspace` grants of memory.
const SHARED: [&str; 2] = ["/tmp", "/dev/shm"];

impl Config {
    /// Directories for private copies of pinned scripts, in order of preference: below the user's directory for
    /// what can be made again, else in `/var/tmp`.
    ///
    /// An interpreter opens the copy some time after the check. A confined program of the same user that may write
    /// there can exchange the copy in between. So no directory is named that some program may be granted: that of
    /// the call, those for temporary files, and every `write` of the configuration, with what lies below.
    #[must_use]
    pub fn pinned_dirs(&self, surroundings: &Surroundings) -> Vec<PathBuf> {
        let is_written = |dir: &Path| self.is_written(dir, surroundings);
        own(surroundings)
            .into_iter()
            .chain([UNGRANTED.into()])
            .filter(|it| !is_written(it))
            .collect()
    }

    /// Where other calls of this user keep copies, if programs of this configuration may write there. It is kept from
    /// being changed then.
    pub(super) fn endangered_copies(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        own(surroundings).filter(|it| self.is_written(it, surroundings))
    }

    /// Whether some program may be granted a directory for writing, or one above it.
    fn is_written(&self, dir: &Path, surroundings: &Surroundings) -> bool {
        let mut written: Vec<PathBuf> = SHARED.map(PathBuf::from).into();
        written.push(surroundings.current_dir.clone());
        written.push(temp_dir(surroundings).1);
        let profiles =
            self.sandbox.classes.values().flatten().chain(self.sandbox.profiles.values());
        written.extend(profiles.flat_map(|it| it.write.iter().cloned()));
        written.extend(self.plugins.grants.values().flat_map(|it| it.write.iter().cloned()));
        written.iter().any(|it| dir.starts_with(it))
    }
}

/// The user's own directory for copies.
fn own(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.places.cache_dir.as_ref().map(|it| it.join("pinned"))
}

#[cfg(test)]
mod tests {
    use flyto_execenv::Environment;

    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], current_dir: &str, expect: &str) {
        let env: Environment = env.iter().copied().collect();
        let dirs = Config::default().pinned_dirs(&Surroundings::new(env, current_dir));
        let shown: Vec<_> = dirs.iter().map(|it| it.to_string_lossy()).collect();
        assert_eq!(shown.join(" "), expect);
    }

    #[test]
    fn copies_lie_where_no_program_may_write() {
        let home = ("HOME", "/h");
        check(&[home], "/w", "/h/.cache/flyto/pinned /var/tmp");
        check(&[home, ("XDG_CACHE_HOME", "/c")], "/w", "/c/flyto/pinned /var/tmp");
        check(&[], "/w", "/var/tmp");
        // Directories for temporary files, whatever they are.
        check(&[home, ("TMPDIR", "/var/tmp")], "/w", "/h/.cache/flyto/pinned");
        check(&[home, ("TMPDIR", "/h")], "/w", "/var/tmp");
        check(&[("HOME", "/tmp/h")], "/w", "/var/tmp");
        // The directory of the call.
        check(&[home], "/h/.cache", "/var/tmp");
        check(&[home], "/", "");
    }

    #[test]
    fn copies_lie_outside_of_what_the_configuration_grants() {
        let mut config = Config::default();
        let mut grant = flyto_plugin::Grant::new();
        grant.write.push("/h/.cache".into());
        config.plugins.grants.insert("p".to_owned(), grant);
        let env: Environment = [("HOME", "/h")].into_iter().collect();
        let surroundings = Surroundings::new(env, "/w");
        assert_eq!(config.pinned_dirs(&surroundings), [PathBuf::from("/var/tmp")]);
        let mut profile = config.sandbox.profile("strict").expect("it is there");
        profile.write.push("/var".into());
        config.sandbox.profiles.insert("own".to_owned(), profile);
        assert_eq!(config.pinned_dirs(&surroundings), Vec::<PathBuf>::new());
    }
}
