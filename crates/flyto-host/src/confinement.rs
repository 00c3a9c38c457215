//! What holds for a tool's program while it runs.

use flyto_execenv::{Class, ExecEnv, Isolation, KillScope, Limits, Spec};
use flyto_tools::{Origin, ToolId};

use crate::host::Host;

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
    /// The names of the profiles that it runs under; `none` where there is none.
    pub sandbox: Vec<String>,
    /// How much is ended with the program.
    pub kill: KillScope,
    /// Upper bounds.
    pub limits: Limits,
    /// How far it is cut off from the machine.
    pub isolation: Isolation,
}

impl Host {
    /// What holds for the program of this tool; `None` for one that is no program.
    #[must_use]
    pub fn confinement(&self, tool: &ToolId) -> Option<Confinement> {
        if let Some(tool) = self.plugin_tool(tool) {
            let class = Class::PLUGIN_TOOL;
            let backend = backend(self.exec_env(), &class);
            let (kill, limits, isolation) = (tool.kill(), tool.limits(), tool.isolation());
            let sandbox = self.sandbox_of(&class);
            return Some(Confinement { class, backend, sandbox, kill, limits, isolation });
        }
        let entry = self.registry().get(tool.as_str())?;
        let Origin::ExecFile { .. } = entry.tool().metadata().origin else { return None };
        // A definition file declares neither bounds nor isolation.
        let mut spec = Spec::new("").class(Class::USER_HOOK);
        let backend = backend(self.exec_env(), &spec.class);
        self.exec_env().policy(&spec.class).apply(&mut spec);
        let Spec { class, kill, limits, isolation, .. } = spec;
        let sandbox = self.sandbox_of(&class);
        Some(Confinement { class, backend, sandbox, kill, limits, isolation })
    }

    fn sandbox_of(&self, class: &Class) -> Vec<String> {
        self.sandbox.names_for(class).into_iter().map(ToOwned::to_owned).collect()
    }
}

fn backend(env: &ExecEnv, class: &Class) -> String {
    env.capabilities(class).map(|it| it.backend.clone()).unwrap_or_default()
}
