//! A host with one little server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_host::{CallError, Flags, Host, Surroundings, load_config};
use flyto_mcp::{ClientOptions, ElicitationHandler, ServerReport, Servers};
use flyto_tools::{CallContext, DescribeContext, Input, ToolResult};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The script of the little server.
pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/server.py")
}

/// A host whose configuration has the servers of a test.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) host: Arc<Host>,
    pub(crate) servers: Servers,
    surroundings: Surroundings,
}

fn loaded(
    dir: &Path,
    surroundings: &Surroundings,
    options: ClientOptions,
    handler: Option<Arc<dyn ElicitationHandler>>,
) -> (Arc<Host>, Servers) {
    let mut flags = Flags::default();
    flags.config = Some(dir.join("flyto.json"));
    let (config, findings) = load_config(surroundings, &flags).expect("it is in order");
    assert!(findings.is_empty(), "{findings:?}");
    let host = Arc::new(Host::new(ExecEnv::new(Local::new()), surroundings.clone(), config));
    let servers = Servers::with_handler(&host, Some(dir.join("pins")), options, handler);
    (host, servers)
}

/// The declaration of a little server with these modes.
pub(crate) fn little(modes: &[&str]) -> Value {
    let mut args = vec![script().display().to_string()];
    args.extend(modes.iter().map(|it| (*it).to_owned()));
    json!({"command": "python3", "args": args})
}

pub(crate) fn options() -> ClientOptions {
    let mut res = ClientOptions::default();
    // The machine may be busy; no test waits for these to pass.
    res.connect_timeout = Duration::from_secs(120);
    res.max_message_bytes = 256 * 1024;
    res
}

impl World {
    /// A server `s` of the configuration with these modes, not connected to yet.
    pub(crate) fn new(modes: &[&str]) -> Self {
        Self::with(json!({"s": little(modes)}), options(), None)
    }

    pub(crate) fn with(
        servers: Value,
        options: ClientOptions,
        handler: Option<Arc<dyn ElicitationHandler>>,
    ) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self::in_dir(dir, servers, options, handler)
    }

    pub(crate) fn in_dir(
        dir: TempDir,
        servers: Value,
        options: ClientOptions,
        handler: Option<Arc<dyn ElicitationHandler>>,
    ) -> Self {
        let config = dir.path().join("flyto.json");
        let text = json!({
            "mcpServers": servers,
            "permissions": {"allow": ["mcp__s__*", "mcp__p.one__*"]},
            "plugins": {"enabled": true, "plugin_dirs": [dir.path().join("plugins")]},
        });
        std::fs::write(&config, text.to_string()).expect("written");
        let path = std::env::var_os("PATH").expect("there is one");
        let mut env: Environment = [("PATH", path)].into_iter().collect();
        env.set("HOME", dir.path());
        env.set("SECRET", "s3cret");
        env.set("DEFINITIONS", dir.path().join("definitions.json"));
        let surroundings = Surroundings::new(env, dir.path());
        let (host, servers) = loaded(dir.path(), &surroundings, options, handler);
        Self { dir, host, servers, surroundings }
    }

    /// What another process has of the same files at the same time.
    pub(crate) fn beside(&self) -> (Arc<Host>, Servers) {
        loaded(self.dir.path(), &self.surroundings, options(), None)
    }

    /// The same directory once more, as by a later process.
    pub(crate) fn again(self, servers: Value) -> Self {
        let Self { dir, host, servers: former, .. } = self;
        drop((host, former));
        Self::in_dir(dir, servers, options(), None)
    }

    pub(crate) async fn connected(self) -> Self {
        self.servers.connect(|_| true).await;
        self
    }

    pub(crate) fn report(&self) -> ServerReport {
        self.servers.reports().remove(0)
    }

    /// The description of the tool with this id, while it is offered.
    pub(crate) fn text_of(&self, id: &str) -> Option<String> {
        let entry = self.host.find(id).ok()?;
        Some(entry.tool().description(&DescribeContext::new()).into_owned())
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Result<ToolResult, CallError> {
        self.call_with(tool, input, &CallContext::new()).await
    }

    pub(crate) async fn call_with(
        &self,
        tool: &str,
        input: Value,
        ctx: &CallContext,
    ) -> Result<ToolResult, CallError> {
        self.host.call(&format!("s:{tool}"), Input::from_value(input), ctx).await
    }

    /// The text of a call that has to work.
    pub(crate) async fn text(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input).await.expect("it was called");
        assert_eq!(result.failure, None, "{}", result.output);
        result.output
    }
}
