//! The tools that agents write at run time: the section `evolve` of a configuration.

use std::path::{Path, PathBuf};

use flyto_diagnostics::{At, Findings, ObjectReader, Reported};

use super::file::{WRITE_OUT, expand_path};
use super::layers::is_there;
use crate::{codes, places::Places};

/// Where the store of tools lies that agents wrote at run time, whether it is used, and whether calls are recorded.
///
/// The host itself reads nothing of it: the program that embeds the host loads the store into the host's
/// [registry](crate::Host::registry).
///
/// ```
/// use flyto_execenv::Environment;
/// use flyto_host::{Config, Flags, Surroundings, load_config};
///
/// assert_eq!(Config::default().evolve.dir, None);
/// # let dir = tempfile::tempdir()?;
/// let home = dir.path().to_str().ok_or("a path as text")?;
/// let surroundings = Surroundings::new(Environment::from_iter([("HOME", home)]), dir.path());
/// let (config, _) = load_config(&surroundings, &Flags::default())?;
/// assert_eq!(config.evolve.dir, Some(dir.path().join(".flyto/evolution")));
/// // Nothing is there yet, and nothing names it.
/// assert_eq!(config.evolve_dir(), None);
///
/// let mut flags = Flags::default();
/// flags.evolve = Some("tools".into());
/// let (config, _) = load_config(&surroundings, &flags)?;
/// assert_eq!(config.evolve_dir(), Some(&*dir.path().join("tools")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EvolveConfig {
    /// Whether the store is used at all.
    ///
    /// Default: `true`.
    pub is_enabled: bool,
    /// The directory of the store.
    ///
    /// Default: [`Places::evolve_dir`], which is used once it is there. `None` where the user has no home.
    pub dir: Option<PathBuf>,
    /// Whether calls of these tools are kept in the store with their inputs and outputs, so that another version can be run
    /// over them. What looks like a secret is taken out first; the program that loads the store bounds how much is kept.
    ///
    /// Default: `false`.
    pub record_calls: bool,
    /// Whether a model is told in a result that it makes calls of one shape again and again, so that a tool for them
    /// would help. The program that loads the store tells it; `flyto serve` does.
    ///
    /// Default: `false`.
    pub hints: bool,
    /// Whether the user of a client is asked about a tool that is proposed in a call of that client; otherwise each proposal
    /// waits for a terminal. The program that serves clients asks; `flyto serve` does.
    ///
    /// Default: `true`.
    pub ask_client: bool,
}

impl Default for EvolveConfig {
    fn default() -> Self {
        Self { is_enabled: true, dir: None, record_calls: false, hints: false, ask_client: true }
    }
}

impl super::Config {
    /// The directory of the store of evolved tools where it is used: one that a source names, or the default one that is
    /// there. One that cannot be reached may be there; loading it tells why.
    #[must_use]
    pub fn evolve_dir(&self) -> Option<&Path> {
        let is_named = self.origins.contains_key(DIR);
        let dir = self.evolve.dir.as_deref().filter(|_| self.evolve.is_enabled)?;
        (is_named || is_there(dir)).then_some(dir)
    }
}

impl EvolveConfig {
    /// Takes the values of those keys that are in `set`.
    pub(super) fn take(&mut self, other: Self, set: impl Fn(&'static str) -> bool) {
        if set(ENABLED) {
            self.is_enabled = other.is_enabled;
        }
        if set(DIR) {
            self.dir = other.dir;
        }
        if set(RECORD_CALLS) {
            self.record_calls = other.record_calls;
        }
        if set(HINTS) {
            self.hints = other.hints;
        }
        if set(ASK_CLIENT) {
            self.ask_client = other.ask_client;
        }
    }

    /// Reads the value of `evolve`; a relative path starts from `dir`.
    pub(super) fn read(
        at: At<'_>,
        dir: &Path,
        places: &Places,
        findings: &mut Findings,
    ) -> Result<Self, Reported> {
        let mut res = Self::default();
        let mut reader = ObjectReader::new(at, findings)?;
        let enabled = reader.optional_bool("enabled");
        let record_calls = reader.optional_bool("record_calls");
        let hints = reader.optional_bool("hints");
        let ask_client = reader.optional_bool("ask_client");
        let path = reader.optional_string("dir");
        let path = match path {
            Ok(Some(text)) => match expand_path(text, dir, places) {
                Ok(path) => Ok(Some(path)),
                Err(why) => {
                    let error = reader.at("dir").error(codes::NO_HOME, why).with_help(WRITE_OUT);
                    Err(reader.push(error))
                }
            },
            other => other.map(|_| None),
        };
        reader.refuse_unknown("a setting of the store that is not read would not hold")?;
        res.is_enabled = enabled?.unwrap_or(res.is_enabled);
        res.dir = path?;
        res.record_calls = record_calls?.unwrap_or(res.record_calls);
        res.hints = hints?.unwrap_or(res.hints);
        res.ask_client = ask_client?.unwrap_or(res.ask_client);
        Ok(res)
    }
}

pub(super) const ENABLED: &str = "evolve.enabled";
pub(super) const DIR: &str = "evolve.dir";
const RECORD_CALLS: &str = "evolve.record_calls";
const HINTS: &str = "evolve.hints";
const ASK_CLIENT: &str = "evolve.ask_client";

/// The keys of the section, each with its name in [`FileConfig::set`](super::file::FileConfig::set).
pub(super) const KEYS: [(&str, &str); 5] = [
    ("enabled", ENABLED),
    ("dir", DIR),
    ("record_calls", RECORD_CALLS),
    ("hints", HINTS),
    ("ask_client", ASK_CLIENT),
];

#[cfg(test)]
mod tests {
    use std::fs;

    use flyto_execenv::Environment;
    use tempfile::TempDir;

    use crate::{Config, Flags, Surroundings, load_config};

    /// What holds in a project below a home, by the texts of the two files, and what is said about them.
    fn load(dir: &TempDir, user: &str, project: &str, flags: &Flags) -> (Config, String) {
        let home = dir.path().join("home");
        for (path, text) in [(".config/flyto", user), ("p/.flyto", project)] {
            fs::create_dir_all(home.join(path)).expect("there is room");
            fs::write(home.join(path).join("config.json"), text).expect("there is room");
        }
        let mut env = Environment::from_iter([("HOME", &home)]);
        if user.contains("off") {
            env.set("FLYTO_EVOLVE", dir.path().join("theirs/"));
        }
        let res = load_config(&Surroundings::new(env, home.join("p")), flags);
        let (config, found) = res.unwrap_or_else(|err| (Config::default(), err.findings));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        (config, found.join("\n"))
    }

    #[track_caller]
    fn check(dir: &TempDir, user: &str, flag: Option<&str>, expected: Option<&str>) {
        let flags = Flags { evolve: flag.map(Into::into), ..Flags::default() };
        let (config, found) = load(dir, user, "{}", &flags);
        let expected = expected.map(|it| dir.path().join(it));
        assert_eq!(config.evolve_dir(), expected.as_deref(), "{user}: {found}");
    }

    #[test]
    fn a_store_is_used_where_it_is_named_or_there() {
        let dir = tempfile::tempdir().expect("there is room");
        check(&dir, "{}", None, None);
        check(&dir, r#"{"evolve": {"dir": "~/own"}}"#, None, Some("home/own"));
        check(&dir, r#"{"evolve": {"dir": "own"}}"#, None, Some("home/.config/flyto/own"));
        check(&dir, r#"{"evolve": {"dir": "own", "enabled": false}}"#, None, None);
        check(&dir, r#"{"evolve": {"dir": "~/off"}}"#, None, Some("theirs"));
        check(&dir, r#"{"evolve": {"enabled": false}}"#, Some("mine"), Some("home/p/mine"));
        check(&dir, r#"{"evolve": {"dir": "~/off"}}"#, Some("mine"), Some("home/p/mine"));

        // A link that leads nowhere is no missing store, and loading it tells so.
        fs::create_dir_all(dir.path().join("home/.flyto")).expect("there is room");
        let place = dir.path().join("home/.flyto/evolution");
        std::os::unix::fs::symlink("nowhere", &place).expect("there is room");
        check(&dir, "{}", None, Some("home/.flyto/evolution"));
        fs::remove_file(&place).expect("it is there");

        fs::create_dir_all(dir.path().join("home/.flyto/evolution")).expect("there is room");
        check(&dir, "{}", None, Some("home/.flyto/evolution"));
        check(&dir, r#"{"evolve": {"enabled": false}}"#, None, None);
    }

    #[test]
    fn an_untrusted_project_neither_moves_a_store_nor_switches_it() {
        let dir = tempfile::tempdir().expect("there is room");
        let user = r#"{"evolve": {"dir": "~/own"}}"#;
        let project = r#"{"evolve": {"dir": "/evil", "enabled": false, "record_calls": true,
            "hints": true, "ask_client": false}}"#;
        let (config, found) = load(&dir, user, project, &Flags::default());
        assert_eq!(config.evolve_dir(), Some(&*dir.path().join("home/own")));
        assert!(config.evolve.is_enabled && !config.evolve.record_calls && !config.evolve.hints);
        assert!(config.evolve.ask_client);
        for key in ["dir", "enabled", "record_calls", "hints", "ask_client"] {
            let key = format!("evolve.{key}");
            assert!(
                found.contains(&format!("{key:?} of an untrusted project is left out")),
                "{found}"
            );
        }
    }

    #[test]
    fn calls_are_recorded_and_hints_given_where_the_user_says_so() {
        let dir = tempfile::tempdir().expect("there is room");
        for (user, expected) in [
            ("{}", false),
            (r#"{"evolve": {"dir": "~/own"}}"#, false),
            (r#"{"evolve": {"record_calls": true}}"#, true),
            (r#"{"evolve": {"record_calls": false}}"#, false),
        ] {
            let (config, found) = load(&dir, user, "{}", &Flags::default());
            assert_eq!(config.evolve.record_calls, expected, "{user}: {found}");
            let user = user.replace("record_calls", "hints");
            let (config, found) = load(&dir, &user, "{}", &Flags::default());
            assert_eq!(config.evolve.hints, expected, "{user}: {found}");
        }
    }

    #[test]
    fn a_client_is_asked_unless_the_user_says_otherwise() {
        let dir = tempfile::tempdir().expect("there is room");
        for (user, expected) in [("{}", true), (r#"{"evolve": {"ask_client": false}}"#, false)] {
            let (config, found) = load(&dir, user, "{}", &Flags::default());
            assert_eq!(config.evolve.ask_client, expected, "{user}: {found}");
        }
    }

    #[test]
    fn a_setting_that_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().expect("there is room");
        for text in [
            r#"{"evolve": {"dirs": "/x"}}"#,
            r#"{"evolve": {"dir": 3}}"#,
            r#"{"evolve": {"record_calls": "on"}}"#,
            r#"{"evolve": "/x"}"#,
            r#"{"evlove": {"dir": "/x"}}"#,
            r#"{"evolve": {"dir": "~no-such-user/x"}}"#,
        ] {
            let (_, found) = load(&dir, text, "{}", &Flags::default());
            assert!(found.contains("error["), "{text}: {found}");
        }
    }
}
