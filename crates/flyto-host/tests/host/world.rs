//! A directory of its own for each test, and a host for what is in it.

use std::{fs, path::PathBuf};

use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::permission::Caller;
use flyto_host::{CallError, Config, Host, HostChanges, Surroundings};
use flyto_tools::{CallContext, Changes, Input, ToolResult};
use tempfile::TempDir;

/// A directory with sources, and what the host is told of them.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) config: Config,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut config = Config::default();
        config.plugins.enabled = true;
        config.plugins.plugin_dirs = vec![dir.path().join("plugins")];
        Self { dir, config }
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("created");
        fs::write(&path, text).expect("written");
        path
    }

    /// The same with a plugin.
    pub(crate) fn plugin(self, name: &str, script: &str) -> Self {
        self.add_plugin(name, script);
        self
    }

    /// Writes a plugin whose tool `run` is a line of shell.
    pub(crate) fn add_plugin(&self, name: &str, script: &str) {
        self.write(&format!("plugins/{name}/plugin.json"), &manifest(name, script));
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let env = [("PATH", "/usr/bin:/bin".as_ref()), ("HOME", self.dir.path().as_os_str())];
        Surroundings::new(env.into_iter().collect(), self.dir.path())
    }

    pub(crate) fn host(&self) -> Host {
        Host::builder(ExecEnv::new(Local::new()), self.surroundings(), self.config.clone())
            .caller(Caller::Operator)
            .build()
    }
}

pub(crate) async fn call(host: &Host, name: &str, input: &str) -> Result<ToolResult, CallError> {
    host.call(name, Input::parse(input).expect("JSON"), &CallContext::new()).await
}

/// The manifest of a plugin whose tool `run` is a line of shell.
pub(crate) fn manifest(name: &str, script: &str) -> String {
    serde_json::json!({
        "name": name,
        "tools": [{
            "name": "run",
            "description": "Runs.",
            "input_schema": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "additionalProperties": false,
            },
            "command": "sh",
            "args": ["-c", script],
            "timeout_seconds": 20,
        }],
    })
    .to_string()
}

/// The manifest of a plugin with these tools, which do nothing.
pub(crate) fn manifest_of(name: &str, tools: &[&str]) -> String {
    let tool = |name: &&str| serde_json::json!({"name": name, "description": "Does nothing.", "command": "true"});
    let tools: Vec<_> = tools.iter().map(tool).collect();
    serde_json::json!({"name": name, "tools": tools}).to_string()
}

/// A line for each source: what has happened to it, its tools, the codes of its findings.
pub(crate) fn shown(changes: &HostChanges) -> String {
    let mut res = String::new();
    for source in &changes.sources {
        let name = source.name.rsplit('/').next().unwrap_or_default();
        res += &format!("{} {name}", source.kind);
        let Changes { added, removed, changed, .. } = &source.tools;
        for (sign, ids) in [('+', added), ('-', removed), ('~', changed)] {
            for id in ids {
                res += &format!(" {sign}{id}");
            }
        }
        for finding in &source.findings {
            res += &format!(" {}", finding.code.as_str());
        }
        res.push('\n');
    }
    for finding in &changes.findings {
        res += &format!("finding {}\n", finding.code.as_str());
    }
    res
}
