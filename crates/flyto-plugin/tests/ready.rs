//! Tools whose programs are started before their calls.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use flyto_execenv::{Environment, ExecEnv, ReadyOptions, local::Local};
use flyto_plugin::{LoadOptions, PluginContext, PluginTool, load};
use flyto_tools::{CallContext, Input, Readiness, Tool as _, ToolResult};
use tempfile::TempDir;
use tokio::task::yield_now;

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// Writes an executable file, and waits until it is old enough to be trusted.
fn write_settled(path: &Path, text: &str) {
    fs::write(path, text).expect("it is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let changed = fs::metadata(path).and_then(|it| it.modified()).expect("it is there");
    while SystemTime::now() < changed + Duration::from_millis(200) {
        std::thread::yield_now();
    }
}

struct Host {
    dir: TempDir,
    env: ExecEnv,
}

impl Host {
    /// A plugin with this manifest, and a script `run.sh`.
    fn new(manifest: &str, script: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("plugin.json"), manifest).expect("it is ours");
        write_settled(&dir.path().join("run.sh"), script);
        let env = ExecEnv::builder(Local::new()).ready(ReadyOptions::new()).build();
        Self { dir, env }
    }

    fn tool(&self, vars: &[(&str, &str)]) -> PluginTool {
        let loaded = load(self.dir.path(), &LoadOptions::new());
        assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
        let vars = [("PATH", "/usr/bin:/bin")].into_iter().chain(vars.iter().copied());
        let vars: Environment = vars.collect();
        let ctx = Arc::new(PluginContext::new(self.env.clone(), vars));
        let mut tools = PluginTool::all(&loaded.plugin.expect("it loads"), &ctx);
        tools.remove(0)
    }

    async fn until_waiting(&self, processes: usize) {
        let waiting = async {
            while self.env.waiting_processes() != processes {
                yield_now().await;
            }
        };
        tokio::time::timeout(GUARD, waiting).await.expect("in time");
    }
}

async fn call(tool: &PluginTool, input: &str) -> ToolResult {
    let input = Input::parse(input).expect("JSON");
    let result = tool.execute(&CallContext::new(), input).await.expect("it was tried");
    assert!(!result.is_error(), "{result:?}");
    result
}

/// The process that says so, and the rest of what it printed.
fn told(result: &ToolResult) -> (String, String) {
    let (pid, rest) = result.output.trim_end().split_once(' ').expect("two words");
    (pid.to_owned(), rest.to_owned())
}

/// A script that tells its process when it has read its input, and before that on stderr.
const SCRIPT: &str = "#!/bin/sh\necho $$ >&2\ninput=$(cat)\necho \"$$ $input $GREETING\"\n";

fn argv(ready: &str) -> String {
    format!(
        r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "./run.sh", "ready": {ready}, "env": {{"GREETING": "${{GREETING:-hello}}"}}}}]}}"#
    )
}

#[tokio::test]
async fn a_process_that_loaded_before_serves_one_call() {
    let host = Host::new(&argv("true"), SCRIPT);
    let tool = host.tool(&[]);
    let mut processes = Vec::new();
    for n in 0..3 {
        let result = call(&tool, &format!("{{\"n\":{n}}}")).await;
        let (process, rest) = told(&result);
        assert_eq!(rest, format!("{{\"n\":{n}}} hello"));
        let execution = result.execution.expect("it ran");
        assert_eq!(execution.stderr.as_deref(), Some(&*format!("{process}\n")));
        assert!(!processes.contains(&process), "a process served two calls");
        processes.push(process);
        host.until_waiting(1).await;
    }
}

#[tokio::test]
async fn without_the_key_no_process_waits() {
    for value in ["false", "null"] {
        let host = Host::new(&argv(value), SCRIPT);
        call(&host.tool(&[]), "{}").await;
        assert_eq!(host.env.waiting_processes(), 0);
    }
}

#[tokio::test]
async fn what_differs_starts_anew() {
    let host = Host::new(&argv("true"), SCRIPT);
    let tool = host.tool(&[]);
    call(&tool, "{}").await;
    host.until_waiting(1).await;
    // Another value of a variable.
    let other = host.tool(&[("GREETING", "hi")]);
    assert_eq!(told(&call(&other, "{}").await).1, "{} hi");
    // The program itself, and a file beside it that was not there.
    let script = SCRIPT.replace("$GREETING", "changed");
    write_settled(&host.dir.path().join("run.sh"), &script);
    assert_eq!(told(&call(&tool, "{}").await).1, "{} changed");
    assert_eq!(told(&call(&tool, "{}").await).1, "{} changed");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_works_for_longer_than_a_call_may_is_ended() {
    let manifest = argv("true").replace(r#""ready""#, r#""timeout_seconds": 1, "ready""#);
    // The calls answer.
    let data = tempfile::tempdir().expect("a directory");
    let called = data.path().join("called");
    let script = format!("#!/bin/sh\n[ -e {called:?} ] && while :; do :; done; : >{called:?}\n");
    let host = Host::new(&manifest, &script);
    let tool = host.tool(&[]);
    call(&tool, "{}").await;
    host.until_waiting(1).await;
    host.until_waiting(0).await;
    fs::remove_file(called).expect("the call made it");
    let execution = call(&tool, "{}").await.execution.expect("it ran");
    let Some(Readiness::Cold { why, help: Some(help) }) = &execution.readiness else {
        panic!("it was kept: {execution:?}")
    };
    assert!(why.contains("of processor time") && help.contains("read its input"), "{why}: {help}");
}

#[tokio::test]
async fn a_binary_plugin_waits_for_its_request() {
    let manifest = r#"{"name": "p", "execution": "binary", "binary": {"path": "run.sh"},
        "tools": [{"name": "t", "description": "d", "ready": true}]}"#;
    let script = "#!/bin/sh\nread -r line\n\
        echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"output\":\"'$$ done'\"}}'\n";
    let host = Host::new(manifest, script);
    let tool = host.tool(&[]);
    let first = told(&call(&tool, "{}").await).0;
    host.until_waiting(1).await;
    let second = told(&call(&tool, "{}").await).0;
    assert_ne!(first, second);
    host.until_waiting(1).await;
}
