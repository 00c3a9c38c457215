//! Binary plugins: one process for each call, asked and answering in JSON-RPC.
// Processes are counted in /proc.
#![cfg(target_os = "linux")]

mod call;
mod hostile;
mod matrix;

use std::{
    fs::{self, DirEntry},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_plugin::{PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, Input, Tool, ToolError, ToolResult};
use tempfile::TempDir;

/// A plugin's directory with one program, and a session's beside it.
struct Host {
    dir: TempDir,
    session: TempDir,
    ctx: PluginContext,
}

impl Host {
    /// `script` is what `bin/tool` is, a program for `sh`.
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let session = tempfile::tempdir().expect("a directory");
        let env: Environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C")].into_iter().collect();
        let ctx = PluginContext::new(ExecEnv::new(Local::new()), env).session_dir(session.path());
        let host = Self { dir, session, ctx };
        host.write("bin/tool", &format!("#!/bin/sh\n{script}\n"));
        host
    }

    /// A program that reads its request and prints the file `reply`.
    fn answering(reply: impl AsRef<[u8]>) -> Self {
        let host = Self::new("cat >/dev/null; exec cat \"$PLUGIN_ROOT/reply\"");
        fs::write(host.dir.path().join("reply"), reply).expect("written");
        host
    }

    /// Writes an executable file of the plugin.
    fn write(&self, path: &str, content: &str) {
        let file = self.dir.path().join(path);
        fs::create_dir_all(file.parent().expect("in the directory")).expect("created");
        fs::write(&file, content).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("changed");
    }

    fn tool(&self, def: ToolDef) -> PluginTool {
        PluginTool::new(def, self.dir.path(), "p", self.ctx.clone())
    }

    async fn try_call(&self, def: ToolDef, input: &str) -> Result<ToolResult, ToolError> {
        let input =
            if input.is_empty() { Input::empty() } else { Input::parse(input).expect("JSON") };
        self.tool(def).execute(&CallContext::new(), input).await
    }

    async fn call(&self, def: ToolDef, input: &str) -> ToolResult {
        self.try_call(def, input).await.expect("it was tried")
    }

    /// Text without the parts of the paths that are others each time.
    fn redacted(&self, text: &str) -> String {
        let path = |it: &TempDir| fs::canonicalize(it.path()).expect("there").display().to_string();
        text.replace(&path(&self.dir), "DIR").replace(&path(&self.session), "SESSION")
    }
}

fn def() -> ToolDef {
    ToolDef::rpc("t", "bin/tool")
}

/// The result in one line.
fn shown(res: &ToolResult) -> String {
    let failure = res.failure.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
    let data = res.data.as_ref().map_or_else(String::new, |it| format!(" data {it}"));
    format!("{failure}: {:?}{data}\n", res.output)
}

/// Waits until no process has `dir` as its working directory, for a killed one is not gone at once
/// where it was not ours to wait for.
#[track_caller]
fn assert_none_left_in(dir: &Path) {
    let dir = fs::canonicalize(dir).expect("there");
    let give_up = Instant::now() + GUARD;
    let is_one = |it: &DirEntry| fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd == dir);
    while fs::read_dir("/proc").expect("there").filter_map(Result::ok).any(|it| is_one(&it)) {
        assert!(Instant::now() < give_up, "a process is left");
        std::thread::yield_now();
    }
}

/// A deadline that working code never meets.
const GUARD: Duration = Duration::from_secs(60);
