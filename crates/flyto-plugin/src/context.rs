//! What the tools of plugins get of the host.
//!
//! The context is where a host decides: the backend, the directories, the grants. A manifest
//! never changes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use flyto_execenv::{DEFAULT_CAPTURE_BYTES, Environment, ExecEnv, Grants, Policy, SpillDir};

use crate::{config::PluginConfig, environment::StrictEnv, grant::Grant, session::Sessions};

/// What a host gives to [`PluginContext::profiles`]: from a name to a policy.
type FindProfile = dyn Fn(&str) -> Option<Policy> + Send + Sync;

/// The sandbox profiles of a host by name; there are none by default. Clones share what was found.
///
/// An answer is kept for good, also the answer that there is no such profile; a host whose
/// profiles changed makes another context.
#[derive(Clone, Default)]
pub struct Profiles {
    find: Option<Arc<FindProfile>>,
    found: Arc<Mutex<BTreeMap<String, Option<Arc<Policy>>>>>,
}

impl Profiles {
    /// The profile of this name: what it asks for, as a policy. `None` where there is none.
    ///
    /// Calls of one context wait for each other here while the host looks up a new name. The
    /// host's function must not call `get` of the same profiles: it would wait for itself.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Policy>> {
        let find = self.find.as_ref()?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || find(name).map(Arc::new);
        found.entry(name.to_owned()).or_insert_with(made).clone()
    }
}

impl fmt::Debug for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(found.keys()).finish()
    }
}

/// What the tools of plugins get of the host: where programs run, and what they may see.
///
/// One context serves all plugins; wrapped in an `Arc` it is shared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginContext {
    /// Where programs run.
    ///
    /// Programs have the class [`Class::PLUGIN_TOOL`](flyto_execenv::Class::PLUGIN_TOOL), whose
    /// policy it applies.
    pub exec_env: ExecEnv,
    /// The host's environment, from which programs get what the policy passes on, what is granted,
    /// and what declared values read.
    pub host_env: Arc<Environment>,
    /// The session's working directory, where a tool starts that is no argv tool and names no other
    /// directory. A relative one is taken from the current directory, which the empty one is.
    pub session_dir: PathBuf,
    /// The directory in which every plugin has one of its own, by its name, as `PLUGIN_DATA`.
    /// Without one there is no such variable.
    ///
    /// The directory of a plugin is created on the way to its first call, with mode 0700 on
    /// Unix.
    pub data_root: Option<PathBuf>,
    /// The directory for output that outgrows [`capture_bytes`](Self::capture_bytes). Without one,
    /// the middle of such output is lost.
    /// It holds stdout and stderr of a call, each in a file of its own.
    pub spill_dir: Option<SpillDir>,
    /// How much of stdout, and of stderr, is kept in memory; of the stdout of a binary plugin 16 MiB at
    /// least, because half an answer is none.
    /// Default: [`DEFAULT_CAPTURE_BYTES`], 4 MiB.
    pub capture_bytes: u64,
    /// What the operator granted, by the name of the plugin.
    pub grants: BTreeMap<String, Grant>,
    /// Whether a variable that a manifest reads must be granted.
    pub strict_env: StrictEnv,
    /// The sandbox profiles that tools can ask for.
    ///
    /// A call of a tool that names a profile which is not there is refused before anything
    /// starts.
    pub profiles: Profiles,
    /// The processes of session plugins. Contexts that were cloned from each other share them.
    pub sessions: Sessions,
}

impl PluginContext {
    /// Programs run in `exec_env` and see what is right of `host_env`. The session's directory is the
    /// current one, nothing is granted, and there is no place for data or for large output.
    #[must_use]
    pub fn new(exec_env: ExecEnv, host_env: impl Into<Arc<Environment>>) -> Self {
        Self {
            exec_env,
            host_env: host_env.into(),
            session_dir: PathBuf::new(),
            data_root: None,
            spill_dir: None,
            capture_bytes: DEFAULT_CAPTURE_BYTES,
            grants: BTreeMap::new(),
            strict_env: StrictEnv::Off,
            profiles: Profiles::default(),
            sessions: Sessions::new(),
        }
    }

    /// Sets the session's working directory.
    #[must_use]
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = dir.into();
        self
    }

    /// Sets the directory for what plugins keep. It is created when a tool first runs.
    #[must_use]
    pub fn data_root(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data_root = Some(dir.into());
        self
    }

    /// Sets the directory for large output. It is created when it is needed; the host removes
    /// the files.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<SpillDir>) -> Self {
        self.spill_dir = Some(dir.into());
        self
    }

    /// Sets how much of stdout, and of stderr, is kept in memory.
    #[must_use]
    pub fn capture_bytes(mut self, bytes: u64) -> Self {
        self.capture_bytes = bytes;
        self
    }

    /// Takes over the grants of a configuration.
    ///
    /// Takes both `grants` and `strict_env`, in place of those that were set before. Lists of
    /// allowed and blocked plugins are a [`Filter`](crate::Filter)'s.
    #[must_use]
    pub fn grants(mut self, config: &PluginConfig) -> Self {
        self.grants.clone_from(&config.grants);
        self.strict_env = if config.strict_env { StrictEnv::On } else { StrictEnv::Off };
        self
    }

    /// Sets what says which sandbox profile has a name. It is asked when a tool first asks for the profile.
    ///
    /// ```
    /// use flyto_execenv::{Environment, ExecEnv, Policy, local::Local};
    /// use flyto_plugin::PluginContext;
    ///
    /// let ctx = PluginContext::new(ExecEnv::new(Local::new()), Environment::new())
    ///     .profiles(|name| (name == "strict").then(Policy::new));
    /// assert!(ctx.profiles.get("strict").is_some());
    /// assert!(ctx.profiles.get("none").is_none());
    /// ```
    #[must_use]
    pub fn profiles(
        mut self,
        find: impl Fn(&str) -> Option<Policy> + Send + Sync + 'static,
    ) -> Self {
        self.profiles = Profiles { find: Some(Arc::new(find)), found: Arc::default() };
        self
    }

    /// The variables that are granted to a plugin.
    pub(crate) fn granted(&self, plugin: &str) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.grants.get(plugin).map_or(&NONE, |it| &it.env)
    }

    /// What is granted to the programs of a plugin beside variables.
    pub(crate) fn grants_for(&self, plugin: &str) -> Grants {
        self.grants.get(plugin).map_or_else(Grants::new, Grant::for_backend)
    }

    /// The directory that a plugin keeps its data in; a tool without a plugin has none.
    pub(crate) fn data_dir(&self, plugin: &str) -> Option<PathBuf> {
        let root = self.data_root.as_deref().filter(|_| !plugin.is_empty())?;
        Some(crate::files::absolute(&root.join(Path::new(plugin))))
    }
}
