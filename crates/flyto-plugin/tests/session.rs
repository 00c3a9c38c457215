//! Session plugins: what a manifest declares, and the tools that share its process.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use expect_test::expect;
use flyto_execenv::{Environment, ExecEnv, Spec, local::Local};
use flyto_plugin::{LoadOptions, PluginContext, PluginTool, load};
use flyto_tools::{CallContext, Failure, Input, Tool, ToolErrorKind, ToolResult};
use tempfile::TempDir;

/// Answers with its process id, directory, a variable, the tool and the arguments as they came.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import json, os, sys

for line in sys.stdin:
    request = json.loads(line)
    if request["method"] != "execute":
        continue
    args = line.partition('"args":')[2].rstrip("\n").removesuffix("}}")
    tool = request["params"]["tool"]
    words = [str(os.getpid()), os.getcwd(), os.environ.get("COLOUR", "-"), tool, args]
    if tool == "die":
        sys.exit("no more")
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"output": "\n".join(words)}}), flush=True)
"#;

struct Host {
    dir: TempDir,
    ctx: Arc<PluginContext>,
}

impl Host {
    /// A plugin whose tools and further members of `binary` are these texts.
    fn new(binary: &str, tools: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let manifest = format!(
            r#"{{"name": "p", "execution": "binary", "binary": {{"path": "tool.py",
                "lifetime": "session"{binary}}}, "tools": [{tools}]}}"#
        );
        fs::create_dir(dir.path().join("p")).expect("created");
        fs::write(dir.path().join("p/plugin.json"), manifest).expect("written");
        write_program(&dir.path().join("p/tool.py"));
        let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
        let host_env = Environment::from_iter([path, ("COLOUR_OF_HOST", "blue")]);
        let ctx = PluginContext::new(ExecEnv::new(Local::new()), host_env);
        Self { ctx: Arc::new(ctx.session_dir(dir.path())), dir }
    }

    fn tools(&self) -> Vec<PluginTool> {
        let loaded = load(self.dir.path().join("p"), &LoadOptions::new());
        let plugin = loaded.plugin.expect("it can be used");
        PluginTool::all(&plugin, &self.ctx)
    }
}

fn write_program(file: &Path) {
    fs::write(file, PROGRAM).expect("written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("changed");
}

fn tool(name: &str, more: &str) -> String {
    format!(r#"{{"name": "{name}", "description": "Answers.", "parameters": {{}}{more}}}"#)
}

async fn call(tool: &PluginTool, input: &str) -> ToolResult {
    let input = if input.is_empty() { Input::empty() } else { Input::parse(input).expect("JSON") };
    tool.execute(&CallContext::new(), input).await.expect("it was tried")
}

/// The words of an answer.
async fn words(tool: &PluginTool, input: &str) -> [String; 5] {
    let res = call(tool, input).await;
    assert_eq!(res.failure, None, "{}", res.output);
    let words: Vec<_> = res.output.split('\n').map(str::to_owned).collect();
    words.try_into().expect("five words")
}

#[tokio::test]
async fn tools_of_a_plugin_share_a_process() {
    let host = Host::new(
        "",
        &[
            tool("plain", ""),
            tool("coloured", r#", "env": {"COLOUR": "${COLOUR_OF_HOST}"}"#),
            tool("other", r#", "env": {"COLOUR": "red"}"#),
        ]
        .join(","),
    );
    let tools = host.tools();
    let [pid, dir, colour, name, args] = words(
        &tools[0],
        r#"{ "n": 1.0,
        "big": 123456789012345678901234567890 }"#,
    )
    .await;
    let session_dir = fs::canonicalize(host.dir.path()).expect("there");
    assert_eq!((dir, &*colour, &*name), (session_dir.display().to_string(), "blue", "plain"));
    // As it came, but for the line break.
    expect![[r#"{ "n": 1.0,         "big": 123456789012345678901234567890 }"#]].assert_eq(&args);
    let coloured = words(&tools[1], "").await;
    assert_eq!((&coloured[0], &*coloured[2], &*coloured[4]), (&pid, "blue", "{}"));
    // Another value of a variable needs another process.
    let other = words(&tools[2], "[]").await;
    assert_eq!((other[0] == pid, &*other[2], &*other[4]), (false, "red", "[]"));
    let names: Vec<_> = tools[0].variables().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["COLOUR", "PATH", "PLUGIN_ROOT"]);

    // A new version of the tools is a new process, and the former ends with its tools.
    let again = host.tools();
    assert_ne!(words(&again[0], "").await[0], pid);
    assert_eq!(words(&tools[1], "").await[0], pid);
    host.ctx.sessions.close().await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    let late = again[0].execute(&CallContext::new(), Input::empty()).await;
    assert_eq!(late.expect_err("closed").kind(), ToolErrorKind::Cancelled);
}

#[tokio::test]
async fn a_death_in_words() {
    let host = Host::new("", &[tool("t", ""), tool("die", "")].join(","));
    let tools = host.tools();
    let res = call(&tools[1], "").await;
    assert_eq!(res.failure, Some(Failure::exit_code(1)));
    expect![[r#"
        plugin tool "p:die": the session ended: exit code 1
        stderr: no more
    "#]]
    .assert_eq(&res.output);
    words(&tools[0], "").await;
}

#[tokio::test]
async fn what_cannot_be_started_is_told_by_each_call() {
    let host = Host::new("", &tool("t", r#", "env": {"KEY": "${NO_SUCH_KEY}"}"#));
    let res = call(&host.tools()[0], "").await;
    assert_eq!(res.failure, Some(Failure::Environment { missing: vec!["NO_SUCH_KEY".into()] }));
    assert!(res.output.starts_with(r#"plugin tool "p:t": resolve env failed: "#), "{}", res.output);

    // Longer than any variable, with the host's own `PATH` in it.
    let long = format!(r#", "env": {{"KEY": "{}$PATH"}}"#, "x".repeat(131_067));
    let host = Host::new("", &tool("t", &long));
    let err =
        host.tools()[0].execute(&CallContext::new(), Input::empty()).await.expect_err("it is");
    assert_eq!(err.kind(), ToolErrorKind::NotStartable);
    assert!(err.chain().contains("KEY would have more than 131071 bytes"), "{}", err.chain());

    // The link is new since the manifest was read.
    let host = Host::new("", &tool("t", ""));
    let tools = host.tools();
    let outside = host.dir.path().join("outside.py");
    write_program(&outside);
    let program = host.dir.path().join("p/tool.py");
    fs::remove_file(&program).expect("removed");
    std::os::unix::fs::symlink(&outside, &program).expect("linked");
    let err = tools[0].execute(&CallContext::new(), Input::empty()).await.expect_err("refused");
    assert_eq!(err.kind(), ToolErrorKind::NotStartable);
    assert!(err.chain().contains("out of the plugin's directory"), "{}", err.chain());
    fs::remove_file(&program).expect("removed");
    let err = tools[0].execute(&CallContext::new(), Input::empty()).await.expect_err("none");
    assert_eq!(err.kind(), ToolErrorKind::ProgramMissing);
    write_program(&program);
    words(&tools[0], "").await;
}

#[tokio::test]
async fn the_bytes_that_were_pinned_run_and_no_others() {
    let host = Host::new("", &tool("t", ""));
    let program = host.dir.path().join("p/tool.py");
    let printed = host
        .ctx
        .exec_env
        .run(Spec::new("sha256sum").arg(&program).env_var("PATH", "/usr/bin:/bin"));
    let printed = String::from_utf8(printed.await.expect("it runs").stdout.into_bytes());
    let digest = printed.expect("text").split_whitespace().next().expect("a digest").to_owned();
    let host = Host::new(&format!(r#", "sha256": "{digest}""#), &tool("t", ""));
    let tools = host.tools();
    let [pid, ..] = words(&tools[0], "").await;
    let program = host.dir.path().join("p/tool.py");
    fs::write(&program, format!("{PROGRAM}# More.\n")).expect("rewritten");
    // What runs is what was hashed; what would be started is not.
    assert_eq!(words(&tools[0], "").await[0], pid);
    let err = host.tools()[0].execute(&CallContext::new(), Input::empty()).await;
    let err = err.expect_err("refused");
    assert_eq!(err.kind(), ToolErrorKind::DigestMismatch, "{}", err.chain());
}
