//! Rules of a plugin for the tools of its servers.
//!
//! Such a tool is made by the program that speaks the protocol, which is above this crate. It is wrapped here, so that a
//! call is decided by the rules of the very tool that it runs, as one of the plugin's own programs is.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use flyto_plugin::{Plugin, PluginRule};
use flyto_tools::{
    CallContext, DescribeContext, Input, Metadata, Preview, Problem, Tool, ToolError, ToolResult,
};
use serde_json::Value;

/// The rules of permission of a plugin, for the tools of a server that it declares: they ask or deny, and hold beside those of
/// the operator. The default has none.
///
/// A server is known by its connection and its tools come and go, so the program that speaks the protocol binds them:
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{CallError, Config, Host, Surroundings};
/// use flyto_tools::{CallContext, Input, NativeTool, NoInput};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let plugin = dir.path().join("wiki");
/// std::fs::create_dir(&plugin)?;
/// let manifest = r#"{"name": "wiki", "mcpServers": {"pages": {"command": "wiki-mcp"}},
///     "permissions": {"deny": ["mcp__wiki.pages__delete"]}}"#;
/// std::fs::write(plugin.join("plugin.json"), manifest)?;
/// let mut config = Config::default();
/// config.plugins.enabled = true;
/// config.plugins.plugin_dirs = vec![dir.path().to_owned()];
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
///
/// let delete = NativeTool::builder("wiki.pages:delete", "Deletes a page.");
/// let delete = delete.run(async |_, _: NoInput| "gone")?;
/// let delete = host.servers()[0].rules().bind(Arc::new(delete));
/// host.add_tool("MCP server wiki.pages", delete)?;
/// let call = host.prepare("wiki.pages:delete", Input::empty())?;
/// assert!(matches!(call.run(&CallContext::new()).await, Err(CallError::Refused(_))));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerRules {
    plugin: String,
    rules: Arc<[PluginRule]>,
}

impl ServerRules {
    pub(crate) fn of(plugin: &Plugin) -> Self {
        Self { plugin: plugin.name().to_owned(), rules: Arc::clone(&plugin.manifest().rules) }
    }

    /// A tool of the server, whose calls are decided by these rules too, for the registry of the host. Everything else about
    /// it stays.
    ///
    /// The rules are those of this moment: where those of the server are others by now, the tool is to be bound anew.
    #[must_use]
    pub fn bind(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        match self.rules.is_empty() {
            true => tool,
            false => Arc::new(RuledTool { tool, of: self.clone() }),
        }
    }
}

/// A tool of a server of a plugin that has rules.
#[derive(Debug)]
pub(crate) struct RuledTool {
    tool: Arc<dyn Tool>,
    of: ServerRules,
}

impl RuledTool {
    /// The plugin, and its rules.
    pub(crate) fn rules(&self) -> (&str, &Arc<[PluginRule]>) {
        (&self.of.plugin, &self.of.rules)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Tool for RuledTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str> {
        self.tool.description(ctx)
    }

    fn input_schema(&self) -> &Value {
        self.tool.input_schema()
    }

    fn output_schema(&self) -> Option<&Value> {
        self.tool.output_schema()
    }

    fn metadata(&self) -> &Metadata {
        self.tool.metadata()
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        self.tool.preview(input)
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        self.tool.preflight(input).await
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        self.tool.execute(ctx, input).await
    }
}
