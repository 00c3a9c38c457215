//! Where the files of one user lie, and what the host sees of its surroundings.

use std::path::{Path, PathBuf};

use flyto_execenv::Environment;

use crate::links;

/// What a host sees of the process it runs in: passed in once, never read behind the back.
///
/// A test passes in an environment and directories of its own:
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::Environment;
/// use flyto_host::Surroundings;
///
/// let env: Environment = [("HOME", "/home/ada"), ("XDG_STATE_HOME", "/var/state")].into_iter().collect();
/// let surroundings = Surroundings::new(env, "/home/ada/project");
/// let places = &surroundings.places;
/// assert_eq!(places.state_dir.as_deref(), Some(Path::new("/var/state/flyto")));
/// assert_eq!(places.config_file.as_deref(), Some(Path::new("/home/ada/.config/flyto/config.json")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Surroundings {
    /// The environment of the process.
    ///
    /// Programs of exec tools see all of it; plugins see what is granted to them.
    pub env: Environment,
    /// The directory it was started in; absolute.
    ///
    /// Relative paths of flags and variables start here, and projects are searched from here
    /// upwards.
    pub current_dir: PathBuf,
    /// Where the user's files lie.
    pub places: Places,
    /// The most bytes that the system takes of arguments and variables together, as
    /// `flyto_execenv::local::max_words_bytes` tells; `None`, as at first, where that is not known. Only
    /// [`validate_path`](crate::validate_path) reads it.
    pub max_words_bytes: Option<u64>,
}

impl Surroundings {
    /// Surroundings with the places that `env` names.
    #[must_use]
    pub fn new(env: Environment, current_dir: impl Into<PathBuf>) -> Self {
        let places = Places::from_env(&env);
        Self { env, current_dir: current_dir.into(), places, max_words_bytes: None }
    }

    /// The same process with other places for the user's files: in a test, or in a program that keeps its files apart
    /// from those of `flyto`.
    ///
    /// ```
    /// use flyto_host::{Places, Surroundings};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let surroundings = Surroundings::ambient()?.with_places(Places::below(dir.path()));
    /// let state_dir = surroundings.places.state_dir.expect("below the directory");
    /// assert_eq!(state_dir, dir.path().join(".local/state/flyto"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_places(mut self, places: Places) -> Self {
        self.places = places;
        self
    }

    /// The home directory.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.places.home.as_deref()
    }

    /// The surroundings of this process, read now.
    ///
    /// # Errors
    ///
    /// The current directory cannot be told: it was removed, or may not be read.
    pub fn ambient() -> std::io::Result<Self> {
        Ok(Self::new(Environment::ambient(), std::env::current_dir()?))
    }
}

/// Where the files of one user lie: the XDG Base Directory Specification, with its defaults below
/// `$HOME`. A place is `None` where neither its own variable nor `HOME` says anything; relative
/// values are ignored, as the specification demands.
///
/// The default has none: no file of the user is read, no record of trust, and no output is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The home directory: `$HOME`.
    pub home: Option<PathBuf>,
    /// The user's configuration file: `$XDG_CONFIG_HOME/flyto/config.json`.
    pub config_file: Option<PathBuf>,
    /// What may be lost with some regret: `$XDG_STATE_HOME/flyto`. Output that was too long for a
    /// result lies below.
    pub state_dir: Option<PathBuf>,
    /// What can be made again: `$XDG_CACHE_HOME/flyto`. Private copies of pinned scripts lie below.
    pub cache_dir: Option<PathBuf>,
    /// Tools that agents wrote at run time: `$HOME/.flyto/evolution`, which all programs of this layout share.
    pub evolve_dir: Option<PathBuf>,
    /// What plugins keep: `$XDG_DATA_HOME/flyto/plugins`, one directory for each.
    pub plugin_data_dir: Option<PathBuf>,
}

impl Places {
    /// The places of a user whose home is this directory, with no variable that says otherwise. Nothing is made before
    /// something is kept there. A relative path gives no place at all.
    #[must_use]
    pub fn below(home: impl AsRef<Path>) -> Self {
        Self::from_env(&[("HOME", home.as_ref().as_os_str())].into_iter().collect())
    }

    /// The places that an environment names.
    #[must_use]
    pub fn from_env(env: &Environment) -> Self {
        let dir = |name| {
            let path = Path::new(env.get(name)?);
            path.is_absolute().then(|| links::without_parents(path))
        };
        let home = dir("HOME");
        let base = |name, below_home| {
            dir(name).or_else(|| Some(home.as_ref()?.join(below_home))).map(|it| it.join("flyto"))
        };
        Self {
            config_file: base("XDG_CONFIG_HOME", ".config").map(|it| it.join("config.json")),
            state_dir: base("XDG_STATE_HOME", ".local/state"),
            cache_dir: base("XDG_CACHE_HOME", ".cache"),
            plugin_data_dir: base("XDG_DATA_HOME", ".local/share").map(|it| it.join("plugins")),
            evolve_dir: home.as_ref().map(|it| it.join(".flyto/evolution")),
            home,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], expect: Expect) {
        let Places { home, config_file, state_dir, cache_dir, plugin_data_dir, evolve_dir } =
            Places::from_env(&env.iter().copied().collect());
        let shown = [home, config_file, state_dir, cache_dir, plugin_data_dir, evolve_dir]
            .map(|it| it.map_or("-".to_owned(), |it| it.display().to_string()));
        expect.assert_eq(&shown.join(" "));
    }

    #[test]
    fn places_follow_the_xdg_variables() {
        check(&[], expect!["- - - - - -"]);
        check(
            &[("HOME", "/h")],
            expect![
                "/h /h/.config/flyto/config.json /h/.local/state/flyto /h/.cache/flyto /h/.local/share/flyto/plugins /h/.flyto/evolution"
            ],
        );
        check(
            &[
                ("HOME", "/h"),
                ("XDG_CONFIG_HOME", "/c"),
                ("XDG_STATE_HOME", "rel"),
                ("XDG_DATA_HOME", ""),
            ],
            expect![
                "/h /c/flyto/config.json /h/.local/state/flyto /h/.cache/flyto /h/.local/share/flyto/plugins /h/.flyto/evolution"
            ],
        );
        check(&[("XDG_STATE_HOME", "/s")], expect!["- - /s/flyto - - -"]);
        check(&[("XDG_STATE_HOME", "/not/there/../s/.")], expect!["- - /not/s/flyto - - -"]);
    }

    #[test]
    fn places_below_a_directory_ask_no_variable() {
        let of_home = Places::from_env(&[("HOME", "/h")].into_iter().collect());
        assert_eq!(Places::below("/h"), of_home);
        assert_eq!(Places::below("h"), Places::default());
    }
}
