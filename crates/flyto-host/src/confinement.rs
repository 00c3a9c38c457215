//! What holds for a tool's program while it runs.
//!
//! [`Plan::confinement`](crate::Plan::confinement) repeats, without starting anything, the steps that a call goes through:
//! the class of the tool, the policy of the [`ExecEnv`] for this class, what the tool declares and
//! is granted, what the backend keeps by itself. A program that embeds the host shows it to its
//! user before a call.

use std::path::PathBuf;

use flyto_execenv::{
    Class, ExecEnv, Installed, Isolation, KillScope, Limits, Policy, Profile, Spec,
};
use flyto_tools::Origin;

use crate::prepared::{HostState, Prepared};

/// What holds for the program of a tool, by its class, its declaration, and what is granted to it.
///
/// A part of it that the backend does not offer is why a call is refused.
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::{Class, ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_tools::Input;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::default();
/// config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
///
/// let call = host.prepare("echo_input", Input::empty())?;
/// let confinement = call.outline().confinement.expect("it is a program");
/// assert_eq!(confinement.class, Class::USER_HOOK);
/// // Without a section `sandbox`, programs run as the user does.
/// assert_eq!(confinement.sandbox, ["none"]);
/// assert!(confinement.isolation.is_none());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confinement {
    /// On whose behalf the program runs.
    ///
    /// [`Class::PLUGIN_TOOL`] for a tool of a plugin, [`Class::USER_HOOK`] for one of a definition
    /// file, [`Class::EVOLVE`] for one that was written at run time.
    pub class: Class,
    /// The backend on which it runs, by its name. Empty where the policy of the class names a
    /// backend that is not there.
    pub backend: String,
    /// The names of the profiles that hold for it; `none` where there is none, `unnamed` where the handle of the host has
    /// policies without a name.
    ///
    /// All of them hold together: of each bound and each grant the stricter one counts.
    pub sandbox: Vec<String>,
    /// How much is ended with the program.
    ///
    /// By default the widest scope that the backend of this class offers: the tree, else the
    /// process group, else the process itself.
    pub kill: KillScope,
    /// Upper bounds, with those that the backend keeps by itself.
    ///
    /// The backend's own bounds are added only where [`kill`](Self::kill) is the tree, for which
    /// they hold.
    pub limits: Limits,
    /// Those of them that nothing but the backend asks for.
    pub default_limits: Limits,
    /// How far it is cut off from the machine, with what is opened of the program's installation.
    ///
    /// [`Isolation::is_none`] where nothing is cut off.
    pub isolation: Isolation,
    /// What the program and its interpreter were installed with, where no grant covers it: it can be read and executed.
    ///
    /// They are in the grants of [`isolation`](Self::isolation) already.
    pub opened: Vec<PathBuf>,
    /// A file without which the program does not start, and which is closed.
    ///
    /// A call is bound to fail then. `None` where no such file is known.
    pub closed: Option<PathBuf>,
}

impl Confinement {
    /// What holds for the program of this tool; `None` for one that is no program.
    pub(crate) fn of(call: &Prepared, shared: &HostState) -> Option<Self> {
        let env = &shared.plugin_ctx.exec_env;
        let (spec, profiles, installed) = match call.plugin_tool() {
            Some(tool) => {
                let (kill, limits, isolation) = (tool.kill(), tool.limits(), tool.isolation());
                let spec = Spec::new("").class(Class::PLUGIN_TOOL).kill(kill).limits(limits);
                (spec.isolation(isolation), tool.profiles(), tool.installed())
            }
            None => of_other_program(call, shared)?,
        };
        let Spec { class, kill, limits, mut isolation, .. } = spec;
        installed.open(&mut isolation);
        let Installed { opened, closed, .. } = installed;
        let mut res = Self {
            backend: backend(env, &class),
            sandbox: named(profiles, env.policy(&class)),
            class,
            kill,
            limits,
            default_limits: Limits::new(),
            isolation,
            opened,
            closed,
        };
        res.add_defaults(env);
        Some(res)
    }

    /// What holds for a program of a class that declares neither bounds nor isolation.
    pub(crate) fn of_class(env: &ExecEnv, class: Class) -> Self {
        let mut spec = Spec::new("").class(class);
        let policy = env.policy(&spec.class);
        policy.apply(&mut spec);
        let Spec { class, kill, limits, isolation, .. } = spec;
        let mut res = Self {
            backend: backend(env, &class),
            sandbox: named(policy.profiles.clone(), policy),
            class,
            kill,
            limits,
            default_limits: Limits::new(),
            isolation,
            opened: Vec::new(),
            closed: None,
        };
        res.add_defaults(env);
        res
    }

    /// Adds the bounds that the backend keeps by itself.
    ///
    /// Bounds that the program's declaration or a policy sets already are kept and are not repeated
    /// in `default_limits`.
    fn add_defaults(&mut self, env: &ExecEnv) {
        let Ok(capabilities) = env.capabilities(&self.class) else { return };
        if self.kill == KillScope::Tree {
            // What is asked for is no default.
            self.default_limits = capabilities.tree_limits.without(&self.limits);
            self.limits = self.limits.or(&self.default_limits);
        }
    }
}

/// On whose behalf the program of a tool runs; `None` for a tool that is no program.
pub(crate) fn class_of(call: &Prepared) -> Option<Class> {
    match call.entry().tool().metadata().origin {
        Origin::Plugin { .. } => Some(Class::PLUGIN_TOOL),
        Origin::ExecFile { .. } => Some(Class::USER_HOOK),
        // A composite runs none itself.
        Origin::Evolved { .. } => {
            call.preview()?.command_line.as_ref()?;
            Some(Class::EVOLVE)
        }
        _ => None,
    }
}

/// The same for a tool of a definition file, and one that was written at run time, which declare neither bounds nor
/// isolation.
fn of_other_program(call: &Prepared, shared: &HostState) -> Option<(Spec, Vec<String>, Installed)> {
    let env = &shared.plugin_ctx.exec_env;
    let class = class_of(call).filter(|it| *it != Class::PLUGIN_TOOL)?;
    let command = call.preview().and_then(|it| it.command_line.as_ref()?.first());
    let mut spec = Spec::new(command.map_or("", String::as_str)).class(class);
    spec = spec.env(shared.exec_vars.clone());
    if let Some(dir) = call.preview().and_then(|it| it.working_dir.as_ref()) {
        spec = spec.working_dir(dir);
    }
    let installed = match command {
        Some(_) => env.installed(spec.clone()),
        None => Installed::default(),
    };
    let policy = env.policy(&spec.class);
    policy.apply(&mut spec);
    Some((spec, policy.profiles.clone(), installed))
}

/// The names of the profiles that hold for a program, and what stands for none.
pub(crate) fn named(profiles: Vec<String>, policy: &Policy) -> Vec<String> {
    match (profiles.is_empty(), policy.isolation.is_none()) {
        (false, _) => profiles,
        (true, true) => vec![Profile::None.name().to_owned()],
        // The host has confined programs before it read a configuration.
        (true, false) => vec!["unnamed".to_owned()],
    }
}

/// The name of the backend that takes programs of this class; empty where the policy of the class
/// names one that is not there.
fn backend(env: &ExecEnv, class: &Class) -> String {
    env.capabilities(class).map(|it| it.backend.clone()).unwrap_or_default()
}
