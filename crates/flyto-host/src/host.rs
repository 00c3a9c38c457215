//! All sources of tools in one registry, and the path of a call.

use std::{path::PathBuf, sync::Arc};

use flyto_diagnostics::{CodeInfo, Diagnostic, Location, closest};
use flyto_execenv::ExecEnv;
use flyto_exectool::{ExecTool, HostContext};
use flyto_plugin::{
    Catalogue, Found, LoadOptions, PluginContext, PluginState, PluginTool, Variable,
};
use flyto_tools::{
    CallContext, Entry, Input, Preview, Registry, RegistryError, Tool, ToolError, ToolErrorKind,
    ToolId, ToolResult, Validated, Violations, compile,
};

use crate::{
    bound::{bound, remove_old},
    codes,
    config::Config,
    places::Surroundings,
    report::{ExecFile, LoadReport},
};

/// Similar names that an error lists at most.
const MAX_SIMILAR: usize = 3;

/// Tools from all sources, and the one path that a call takes: the name is looked up, the input is
/// checked, the tool runs, its text is bounded.
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_tools::{CallContext, Input};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::default();
/// config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
///
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
/// let input = Input::parse(r#"{"text": "two words"}"#)?;
/// let result = host.call("echo_input", input, &CallContext::new()).await?;
/// assert_eq!(result.output, r#"{"text": "two words"}"#);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Host {
    registry: Registry,
    report: LoadReport,
    output_limit_bytes: u64,
    output_dir: Option<PathBuf>,
    /// What the tools of plugins get; `None` where none were looked for.
    plugin_ctx: Option<Arc<PluginContext>>,
}

/// Why a call gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No tool has this name.
    #[error("there is no tool {name:?}")]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// Names that are near.
        similar: Vec<String>,
        /// What kept a tool of this name, or its plugin, from being loaded.
        findings: Vec<Diagnostic>,
    },
    /// The tool's plugin may not be used.
    #[error("the tool {name:?} cannot be used: plugin {plugin:?} is {state}")]
    PluginHeldBack {
        /// The name that was asked for.
        name: String,
        /// The plugin.
        plugin: String,
        /// What the operator decided: blocked, not allowed, disabled.
        state: PluginState,
    },
    /// The tool could not be tried.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// What a call would do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The tool's id.
    pub tool: String,
    /// What the tool says it would touch; `None` where it cannot say.
    pub preview: Option<Preview>,
    /// Where the input breaks the schema. The call would end there.
    pub violations: Option<Violations>,
}

impl Host {
    /// Loads the tools of all sources that `config` names. What cannot be loaded is in the
    /// [`report`](Self::report).
    ///
    /// Files are read now, and each is small; nothing is started.
    #[must_use]
    pub fn new(env: ExecEnv, surroundings: Surroundings, config: Config) -> Self {
        let output_dir = surroundings.places.state_dir.as_ref().map(|it| it.join("output"));
        let mut host = Self {
            registry: Registry::new(),
            report: LoadReport::default(),
            output_limit_bytes: config.output_limit_bytes,
            output_dir,
            plugin_ctx: None,
        };
        if let Some(dir) = &host.output_dir {
            remove_old(dir);
        }
        host.load_plugins(&env, &surroundings, &config);
        host.load_exec_files(&env, surroundings, &config);
        host
    }

    fn load_plugins(&mut self, env: &ExecEnv, surroundings: &Surroundings, config: &Config) {
        let mut options = LoadOptions::new();
        if let Some(path) = surroundings.env.get("PATH") {
            options = options.path(path);
        }
        let filter = config.plugins.filter();
        let catalogue = Catalogue::discover(&config.plugin_dirs, &filter, &options);
        let mut ctx = PluginContext::new(env.clone(), surroundings.env.clone());
        if let Some(dir) = &surroundings.places.plugin_data_dir {
            ctx = ctx.data_root(dir);
        }
        if let Some(dir) = &self.output_dir {
            ctx = ctx.spill_dir(dir);
        }
        let ctx = Arc::new(ctx.grants(&config.plugins));
        for plugin in catalogue.plugins() {
            let owner = format!("plugin {}", plugin.name());
            let place = plugin.source().name().to_owned();
            for tool in PluginTool::all(plugin, &ctx) {
                self.register(&owner, &place, tool);
            }
        }
        self.report.catalogue = catalogue;
        self.plugin_ctx = Some(ctx);
    }

    fn load_exec_files(&mut self, env: &ExecEnv, surroundings: Surroundings, config: &Config) {
        let Surroundings { env: variables, current_dir, .. } = surroundings;
        let mut ctx = HostContext::new(variables, current_dir);
        ctx.spill_dir.clone_from(&self.output_dir);
        let ctx = Arc::new(ctx);
        for path in &config.exec_tools {
            let loaded = flyto_exectool::load_file(path);
            let tools = loaded.tools.map(|definitions| {
                let place = path.display().to_string();
                let owner = format!("file {place}");
                let mut names = Vec::with_capacity(definitions.len());
                for definition in definitions {
                    names.push(definition.name().to_owned());
                    let tool = ExecTool::new(definition, env.clone(), Arc::clone(&ctx));
                    self.register(&owner, &place, tool);
                }
                names
            });
            let findings = loaded.findings;
            self.report.exec_files.push(ExecFile { path: path.clone(), tools, findings });
        }
    }

    fn register(&mut self, owner: &str, place: &str, tool: impl Tool) {
        if let Err(err) = self.add_tool(owner, tool) {
            let diagnostic =
                Diagnostic::error(codes::NAME_TAKEN, Location::file(place), err.to_string())
                    .with_help("rename one of the two, or leave out the source that is not wanted");
            self.report.names.push(diagnostic);
        }
    }

    /// Adds a tool of the host's own. Its input is checked like that of any other.
    ///
    /// # Errors
    ///
    /// Another tool has its name or one of its aliases.
    pub fn add_tool(&self, owner: &str, tool: impl Tool) -> Result<(), RegistryError> {
        // Compiled at the first call: of many tools, few are called.
        self.registry.register(owner, Arc::new(Validated::lazy(tool))).map(|_| ())
    }

    /// The tools.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What became of every source.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// The tool with this id, alias or wire name.
    ///
    /// # Errors
    ///
    /// [`CallError::NotFound`] or [`CallError::PluginHeldBack`].
    pub fn find(&self, name: &str) -> Result<Entry, CallError> {
        self.registry.get(name).ok_or_else(|| self.explain_missing(name))
    }

    /// The variables that the program of a plugin's tool would see, and why each is there, in order
    /// of their names. `None` for a tool that is no plugin's; an exec tool sees all of the host's.
    #[must_use]
    pub fn variables(&self, tool: &ToolId) -> Option<Vec<Variable>> {
        let plugin = self.report.plugin(tool.owner()?)?.plugin.as_ref()?;
        let def = plugin.tools().iter().find(|it| it.name == tool.tool())?;
        let ctx = Arc::clone(self.plugin_ctx.as_ref()?);
        Some(PluginTool::new(def.clone(), plugin.dir(), plugin.name(), ctx).variables())
    }

    /// What a call would do. Nothing is started.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), and a schema that cannot be used.
    pub fn plan(&self, name: &str, input: &Input) -> Result<Plan, CallError> {
        let entry = self.find(name)?;
        let validator = compile(entry.tool().input_schema()).map_err(|err| {
            let message = format!("failed to check the input of {}", entry.id());
            ToolError::new(ToolErrorKind::Internal, message).with_source(err)
        })?;
        Ok(Plan {
            tool: entry.id().to_string(),
            preview: entry.tool().preview(input),
            violations: validator.check(input.value()).err(),
        })
    }

    /// Calls a tool.
    ///
    /// Dropping the future ends the call at once; cancelling `ctx` gives the tool its grace.
    ///
    /// # Errors
    ///
    /// The tool is not there, may not be used, or could not be tried. What it did, a failure
    /// included, is the result.
    pub async fn call(
        &self,
        name: &str,
        input: Input,
        ctx: &CallContext,
    ) -> Result<ToolResult, CallError> {
        let entry = self.find(name)?;
        let result = entry.tool().execute(ctx, input).await?;
        Ok(bound(result, self.output_limit_bytes, self.output_dir.as_deref(), ctx.id()))
    }

    fn explain_missing(&self, name: &str) -> CallError {
        let (plugin, tool) = name.split_once(':').or_else(|| name.split_once("__")).unzip();
        let found = plugin.and_then(|it| self.report.plugin(it));
        match (found, plugin) {
            (Some(Found { state, .. }), Some(plugin))
                if matches!(
                    state,
                    PluginState::Blocked | PluginState::NotAllowed | PluginState::Disabled
                ) =>
            {
                CallError::PluginHeldBack {
                    name: name.to_owned(),
                    plugin: plugin.to_owned(),
                    state: *state,
                }
            }
            (found, _) => CallError::NotFound {
                name: name.to_owned(),
                // Of a plugin that is there, what it lacks says more than what others have.
                similar: self.similar(name, found.is_none()),
                findings: match found {
                    Some(found) => why_not(found, tool.unwrap_or(name)),
                    None => self.refused_files_with(name),
                },
            },
        }
    }

    /// What is wrong with the files of tool definitions that were refused and hold this name.
    fn refused_files_with(&self, name: &str) -> Vec<Diagnostic> {
        let quoted = format!("\"{name}\"");
        let refused = self.report.exec_files.iter().filter(|it| it.tools.is_none());
        let findings = refused.flat_map(|it| it.findings.iter());
        let holds = |it: &&Diagnostic| {
            it.location.source().is_some_and(|source| source.text().contains(&quoted))
        };
        findings.filter(holds).cloned().collect()
    }

    /// Names near to one that is not there: those that differ by a slip, then those of which it is
    /// a part, then, if nothing is near, what a search finds.
    fn similar(&self, name: &str, search: bool) -> Vec<String> {
        let tools = self.registry.snapshot();
        let names = || {
            tools.iter().flat_map(|it| {
                std::iter::once(it.id().as_str()).chain(it.aliases().iter().map(|it| it.as_str()))
            })
        };
        let mut res: Vec<String> =
            closest(name, names()).map(ToOwned::to_owned).into_iter().collect();
        // Who leaves out the plugin means the tool.
        let tool = |it: &str| it.split_once(':').is_some_and(|(_, tool)| tool == name);
        res.extend(names().filter(|it| tool(it)).map(ToOwned::to_owned));
        if res.is_empty() && search {
            res.extend(
                tools.search(name, MAX_SIMILAR).into_iter().map(|it| it.entry.id().to_string()),
            );
        }
        res.dedup();
        res.truncate(MAX_SIMILAR);
        res
    }
}

/// What kept a tool of a plugin that was found from being loaded.
fn why_not(found: &Found, tool: &str) -> Vec<Diagnostic> {
    if found.plugin.is_some() {
        found.findings_about(tool).cloned().collect()
    } else {
        found.findings.iter().cloned().collect()
    }
}

/// Every code that a finding of these crates can have, in order.
pub fn all_codes() -> impl Iterator<Item = &'static CodeInfo> {
    [
        flyto_diagnostics::codes::CODES,
        flyto_plugin::codes::CODES,
        flyto_exectool::codes::CODES,
        codes::CODES,
    ]
    .into_iter()
    .flatten()
}

/// The explanation of a code, such as `F0101`.
#[must_use]
pub fn explain(code: &str) -> Option<&'static CodeInfo> {
    all_codes().find(|it| it.code.as_str().eq_ignore_ascii_case(code))
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Host>();
};
