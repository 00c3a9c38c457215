//! What the host is told: by its program's flags, the environment, the project and the user.
//!
//! A [`Config`] is plain data: what holds after all sources are weighed, with the origin of each
//! value. [`load_config`] makes one from files, variables and flags; a test or an embedding program
//! builds one by hand from [`Config::default`].
//!
//! Read `file.rs` for one file, `layers.rs` for the order of sources, `project.rs` for the files
//! that may come from a stranger, then `sandbox.rs` and `policies.rs` for what programs get by it.
//! A rule that cannot be read is an error and never passed over: a rule that does not hold in
//! silence is worse than a host that does not start.

mod add_rules; // rules written into a file
mod audit; // what is recorded of calls
mod copies; // where copies of pinned scripts lie
mod evolve; // where evolved tools lie
mod file; //   one configuration file
mod layers; // which of them wins
mod permissions; // which calls may run
mod policies; // what programs get by it
mod project; // what a project may do
mod sandbox; // how far programs are cut off
mod secret_rules; // a user's own rules for secrets
mod servers; // servers of the Model Context Protocol
mod values; // which values hold, and what set them

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use flyto_diagnostics::Location;
use flyto_plugin::PluginConfig;
use serde::{Serialize, Serializer};

pub use self::add_rules::{AddRulesError, ConfigLock, add_rules, lock_config_file};
pub use self::audit::{AuditConfig, OnUnrecorded};
pub use self::evolve::EvolveConfig;
pub(crate) use self::file::{is_config, read_config_file};
pub(crate) use self::layers::is_there;
pub use self::layers::{ConfigError, Flags, load_config};
pub use self::permissions::Permissions;
pub use self::policies::closed_paths;
pub use self::project::{ProjectReview, ReviewError, find_project, review_project};
pub use self::sandbox::{Sandbox, SandboxProfile};
pub use self::secret_rules::SecretRules;
pub use self::servers::ConfigServer;
pub use self::values::ConfigValue;
use crate::{bound::DEFAULT_OUTPUT_LIMIT_BYTES, secrets::OutputGuard};

/// What a host does, after all its sources have been weighed.
///
/// ```
/// use flyto_host::{Config, Origin};
///
/// let mut config = Config::default();
/// assert!(!config.plugins.enabled);
/// assert_eq!(config.output_limit_bytes, 65536);
/// // Where values were set by hand, nothing is known of where they come from.
/// config.exec_tools.push("/opt/tools.json".into());
/// assert!(config.origins.is_empty());
/// assert!(config.values().iter().all(|it| it.origin.is_none()));
/// # assert_eq!(Origin::Flag("--plugins").to_string(), "--plugins");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Which plugins may be used, what they get, and where they lie: its `plugin_dirs` are absolute paths.
    pub plugins: PluginConfig,
    /// Files with tool definitions.
    ///
    /// Default: none. Their tools are registered in this order, and a path that stands there twice
    /// counts once.
    pub exec_tools: Vec<PathBuf>,
    /// Servers of the Model Context Protocol, in the order of the files and of their text; no two have one name.
    ///
    /// Default: none. A host starts none of them; see [`Host::servers`](crate::Host::servers).
    pub servers: Vec<ConfigServer>,
    /// Bytes of a result's text; more is cut in the middle.
    ///
    /// Default: [`DEFAULT_OUTPUT_LIMIT_BYTES`]. 0 cuts every text whole.
    pub output_limit_bytes: u64,
    /// Which profiles programs run under, by their class; none by default.
    pub sandbox: Sandbox,
    /// Which calls are allowed, asked first, or denied; no rules by default.
    pub permissions: Permissions,
    /// What is recorded of calls, and how.
    pub audit: AuditConfig,
    /// Where tools lie that agents wrote at run time. See [`evolve_dir`](Self::evolve_dir).
    pub evolve: EvolveConfig,
    /// What becomes of secrets in results.
    ///
    /// Default: `None`, which redacts what an agent called and leaves alone what the operator called.
    pub output_guard: Option<OutputGuard>,
    /// The user's own rules for secrets, beside those of every host; none by default.
    pub secret_rules: Option<SecretRules>,
    /// Where each value comes from, by its key in a configuration file, such as
    /// `plugins.plugin_dirs`. A key without a value is not in it.
    pub origins: BTreeMap<&'static str, Origin>,
    /// The file in which grants take effect, whether it is there or not: the one that has them, else
    /// the one that is named, else the user's. `None` where the user has no home.
    pub grants_file: Option<PathBuf>,
    /// The operator's configuration file, to which rules are added that hold for every later call: the one that is
    /// named, else the user's. `None` where the user has no home.
    pub rules_file: Option<PathBuf>,
    /// The file with the rules for secrets. It is read once all sources are weighed.
    pub(crate) secret_rules_file: Option<PathBuf>,
    /// Plugins on the allow list that only a project which is not trusted has put there: the operator named none of them.
    pub(crate) unnamed_plugins: BTreeSet<String>,
    /// Every file that was read, also where it set nothing: it may decide of the next call.
    pub(crate) files: BTreeSet<PathBuf>,
    /// Where each grant stands that a file has.
    pub(crate) grant_places: BTreeMap<String, Location>,
    /// The names that files block and allow, but for those of a project that is not trusted: they are
    /// for the people that work on it.
    pub(crate) listed: Vec<Listed>,
    /// Every value that something set, with the key of [`origins`](Self::origins).
    pub(crate) values: Vec<(&'static str, ConfigValue)>,
}

/// A name in a list of plugins.
///
/// Kept for findings about names that no plugin has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// `allowed_plugins` or `blocked_plugins`.
    pub(crate) list: &'static str,
    /// Its place in the list.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) place: Location,
}

impl Default for Config {
    /// Plugins are off, and there are no directories and no files.
    fn default() -> Self {
        let mut plugins = PluginConfig::default();
        plugins.plugin_dirs.clear();
        Self {
            plugins,
            exec_tools: Vec::new(),
            servers: Vec::new(),
            output_limit_bytes: DEFAULT_OUTPUT_LIMIT_BYTES,
            sandbox: Sandbox::default(),
            permissions: Permissions::default(),
            audit: AuditConfig::default(),
            evolve: EvolveConfig::default(),
            output_guard: None,
            secret_rules: None,
            secret_rules_file: None,
            origins: BTreeMap::new(),
            grants_file: None,
            rules_file: None,
            unnamed_plugins: BTreeSet::new(),
            files: BTreeSet::new(),
            grant_places: BTreeMap::new(),
            listed: Vec::new(),
            values: Vec::new(),
        }
    }
}

/// The source that set a value.
///
/// Shown, it is the path of the file, the variable with a `$` before it, or the flag as it is
/// typed; serialised, the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The user's configuration file.
    User(PathBuf),
    /// The file in a project's directory.
    Project(PathBuf),
    /// A file that was named on the command line or in `FLYTO_CONFIG`.
    Named(PathBuf),
    /// A variable of the environment.
    Variable(&'static str),
    /// A flag of the program.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(path) | Self::Project(path) | Self::Named(path) => {
                write!(f, "{}", path.display())
            }
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
