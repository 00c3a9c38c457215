//! From proposals to tools that can be called.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod answered;
mod approver;
mod changes;
mod examples;
mod recording;
mod refusals;
mod replay;
mod secrets;
mod usage;
mod waiting;

use std::sync::Arc;

use approver::Scripted;
use flyto_evolve::{
    Applied, Builder, CallRecording, HostContext, Proposal, Refusal, Store, ToolBuilder,
    ToolDefinition, Version,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{CallContext, Input, Registry, ToolError, ToolResult};
use serde_json::{Value, json};

/// A store, a registry and a session.
struct Bench {
    _temp: tempfile::TempDir,
    registry: Arc<Registry>,
    approver: Arc<Scripted>,
    builder: ToolBuilder,
}

fn host_env() -> Environment {
    let path = "/usr/local/bin:/usr/bin:/bin";
    [("PATH", path), ("HOME", "/nonexistent"), ("DEPLOY_TOKEN", "correct-horse-7-battery")]
        .into_iter()
        .collect()
}

impl Bench {
    fn new() -> Self {
        Self::with(ExecEnv::new(Local::new()))
    }

    fn with(env: ExecEnv) -> Self {
        Self::made(env, |it| it)
    }

    fn recording(recording: CallRecording) -> Self {
        Self::made(ExecEnv::new(Local::new()), |it| it.record_calls(recording))
    }

    fn made(env: ExecEnv, set: impl FnOnce(Builder) -> Builder) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::new(temp.path().join("evolution"));
        let registry = Arc::new(Registry::new());
        let approver = Arc::new(Scripted::default());
        let builder = ToolBuilder::builder(
            store,
            env,
            HostContext::new(host_env(), "/tmp"),
            Arc::clone(&registry),
        )
        .approver(Arc::clone(&approver) as _);
        let builder = set(builder).build();
        Self { _temp: temp, registry, approver, builder }
    }

    fn store(&self) -> &Store {
        self.builder.store()
    }

    /// A session of another process on the same store.
    fn again(&self) -> (Arc<Registry>, ToolBuilder) {
        let registry = Arc::new(Registry::new());
        let store = Store::new(self.store().dir());
        let host = HostContext::new(host_env(), "/tmp");
        let builder =
            ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
                .approver(Arc::clone(&self.approver) as _)
                .build();
        (registry, builder)
    }

    async fn save(&self, def: &ToolDefinition, base: Option<u64>) -> Version {
        let mut proposal = Proposal::of(def, "session-1");
        proposal.base = base;
        match self.builder.apply(proposal).await {
            Ok(Applied::Saved(version)) => *version,
            other => panic!("it is not saved: {other:?}"),
        }
    }

    async fn refused(&self, text: impl Into<String>) -> Refusal {
        self.builder.apply(Proposal::new(text, "session-1")).await.expect_err("it is refused")
    }

    /// Whether a text is in any file of the store.
    fn holds(&self, text: &str) -> bool {
        fn any(dir: &std::path::Path, text: &str) -> bool {
            std::fs::read_dir(dir).into_iter().flatten().any(|entry| {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => any(&path, text),
                    false => {
                        let bytes = std::fs::read(&path).unwrap();
                        path.to_string_lossy().contains(text)
                            || bytes.windows(text.len()).any(|it| it == text.as_bytes())
                    }
                }
            })
        }
        any(self.store().dir(), text)
    }
}

fn def(name: &str, script: &str) -> ToolDefinition {
    ToolDefinition::script(name, format!("Does what {name} says."), script)
}

async fn call(registry: &Registry, name: &str, input: Value) -> Result<ToolResult, ToolError> {
    let entry = registry.get(name).expect("it is registered");
    entry.tool().execute(&CallContext::new(), Input::from_value(input)).await
}

async fn output(registry: &Registry, name: &str) -> String {
    call(registry, name, json!({})).await.unwrap().output
}
