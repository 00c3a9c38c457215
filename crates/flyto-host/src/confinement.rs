//! What holds for a tool's program while it runs.

use std::path::PathBuf;

use flyto_execenv::{
    Class, ExecEnv, Installed, Isolation, KillScope, Limits, Policy, Profile, Spec,
};
use flyto_tools::Origin;

use crate::prepared::{Prepared, Shared};

/// What holds for the program of a tool, by its class, its declaration, and what is granted to it.
///
/// A part of it that the backend does not offer is why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confinement {
    /// On whose behalf the program runs.
    pub class: Class,
    /// The backend on which it runs, by its name.
    pub backend: String,
    /// The names of the profiles that hold for it; `none` where there is none, `unnamed` where the handle of the host has
    /// policies without a name.
    pub sandbox: Vec<String>,
    /// How much is ended with the program.
    pub kill: KillScope,
    /// Upper bounds, with those that the backend keeps by itself.
    pub limits: Limits,
    /// Those of them that nothing but the backend asks for.
    pub default_limits: Limits,
    /// How far it is cut off from the machine, with what is opened of the program's installation.
    pub isolation: Isolation,
    /// What the program and its interpreter were installed with, where no grant covers it: it can be read and executed.
    pub opened: Vec<PathBuf>,
    /// A file without which the program does not start, and which is closed.
    pub closed: Option<PathBuf>,
}

impl Confinement {
    /// What holds for the program of this tool; `None` for one that is no program.
    pub(crate) fn of(call: &Prepared, shared: &Shared) -> Option<Self> {
        let env = &shared.plugin_ctx.exec_env;
        let (spec, profiles, installed) = match call.plugin_tool() {
            Some(tool) => {
                let (kill, limits, isolation) = (tool.kill(), tool.limits(), tool.isolation());
                let spec = Spec::new("").class(Class::PLUGIN_TOOL).kill(kill).limits(limits);
                (spec.isolation(isolation), tool.profiles(), tool.installed())
            }
            None => of_exec_tool(call, shared)?,
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

    /// Adds the bounds that the backend keeps by itself.
    fn add_defaults(&mut self, env: &ExecEnv) {
        let Ok(capabilities) = env.capabilities(&self.class) else { return };
        if self.kill == KillScope::Tree {
            // What is asked for is no default.
            self.default_limits = capabilities.tree_limits.without(&self.limits);
            self.limits = self.limits.or(&self.default_limits);
        }
    }
}

/// The same for a tool of a definition file, which declares neither bounds nor isolation.
fn of_exec_tool(call: &Prepared, shared: &Shared) -> Option<(Spec, Vec<String>, Installed)> {
    let env = &shared.plugin_ctx.exec_env;
    let Origin::ExecFile { .. } = call.entry().tool().metadata().origin else { return None };
    let command = call.preview().and_then(|it| it.command_line.as_ref()?.first());
    let mut spec = Spec::new(command.map_or("", String::as_str)).class(Class::USER_HOOK);
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
fn named(profiles: Vec<String>, policy: &Policy) -> Vec<String> {
    match (profiles.is_empty(), policy.isolation.is_none()) {
        (false, _) => profiles,
        (true, true) => vec![Profile::None.name().to_owned()],
        // The host has confined programs before it read a configuration.
        (true, false) => vec!["unnamed".to_owned()],
    }
}

fn backend(env: &ExecEnv, class: &Class) -> String {
    env.capabilities(class).map(|it| it.backend.clone()).unwrap_or_default()
}
