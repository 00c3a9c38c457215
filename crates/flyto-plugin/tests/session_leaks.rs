//! Sessions that end in every way leave nothing behind: no process, zombie, descriptor or file.
//!
//! The one test of its binary, so that everything it counts is its own.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_plugin::{Invocation, Lifetime, PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, CancellationToken, Failure, Input, Tool};

/// Answers `echo`, dies of `die`, closes its output at `mute`, and never answers `hang`. It leaves a
/// child to its group each time it starts.
const PROGRAM: &str = r#"#!/bin/sh
sleep 1000 </dev/null >/dev/null 2>&1 &
while IFS= read -r line; do
    id=${line#*'"id":'}; id=${id%%[,\}]*}
    case $line in
    *'"method":"cancel"'*) ;;
    *'"tool":"echo"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"output":"echo"}}' ;;
    *'"tool":"die"'*) exit 3 ;;
    *'"tool":"mute"'*) exec >&- ;;
    esac
done
"#;

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    children: usize,
    descriptors: usize,
    files: usize,
}

impl Counts {
    fn now(dir: &Path) -> Self {
        let entries = |dir: &Path| fs::read_dir(dir).expect("a directory").count();
        // Zombies are children as well; what a session left behind belongs to another parent.
        let own = format!(" {} ", std::process::id());
        let is_ours = |process: &Path| {
            let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let cwd = fs::read_link(process.join("cwd")).unwrap_or_default();
            // ` S ppid …`
            rest.get(2..).is_some_and(|it| it.starts_with(&own)) || cwd == dir
        };
        let processes = fs::read_dir("/proc").expect("proc(5)").flatten();
        Self {
            children: processes.filter(|it| is_ours(&it.path())).count(),
            descriptors: entries(Path::new("/proc/self/fd")),
            files: entries(dir),
        }
    }
}

fn tool(name: &str, dir: &Path, ctx: &Arc<PluginContext>, idle: Duration) -> PluginTool {
    let mut def = ToolDef::rpc(name, "tool");
    def.invocation = Invocation::Rpc { path: "tool".into(), lifetime: Lifetime::Session { idle } };
    PluginTool::new(def, dir, "p", Arc::clone(ctx))
}

/// One session that ends in one of the ways there are.
async fn session(n: usize, dir: &Path, ctx: &Arc<PluginContext>) {
    let call = async |name: &str, ctx_of_call: &CallContext, idle: Duration| {
        let tool = tool(name, dir, ctx, idle);
        tool.execute(ctx_of_call, Input::empty()).await.expect("it was tried")
    };
    match n % 5 {
        0 => assert_eq!(call("echo", &CallContext::new(), GUARD).await.output, "echo"),
        1 => {
            let res = call("die", &CallContext::new(), GUARD).await;
            assert_eq!(res.failure, Some(Failure::exit_code(3)));
        }
        2 => {
            let token = CancellationToken::new();
            let ctx_of_call = CallContext::new().with_cancellation(token.clone());
            let cancel = async {
                tokio::task::yield_now().await;
                token.cancel();
            };
            let (res, ()) = tokio::join!(call("hang", &ctx_of_call, GUARD), cancel);
            assert_eq!(res.failure, Some(Failure::Cancelled));
        }
        3 => {
            let tool = tool("echo", dir, ctx, Duration::from_millis(1));
            for _ in 0..3 {
                let res = tool.execute(&CallContext::new(), Input::empty()).await;
                assert_eq!(res.expect("it was tried").output, "echo");
            }
        }
        _ => {
            let tool = tool("hang", dir, ctx, GUARD);
            let ctx_of_call = CallContext::new();
            let hanging = tool.execute(&ctx_of_call, Input::empty());
            // Dropped while it starts, or soon after.
            tokio::select! {
                _ = hanging => panic!("it does not answer"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
}

async fn sessions(n: usize, dir: &Path) {
    let host_env = Environment::from_iter([("PATH", "/usr/bin:/bin")]);
    let ctx = PluginContext::new(ExecEnv::new(Local::new()), host_env).session_dir(dir);
    let ctx = Arc::new(ctx);
    for at in 0..n {
        session(at, dir, &ctx).await;
    }
    ctx.sessions.close().await;
}

#[test]
fn sessions_leave_nothing_behind() {
    let temporary = tempfile::tempdir().expect("a directory");
    let dir = fs::canonicalize(temporary.path()).expect("it is there");
    let program = dir.join("tool");
    fs::write(&program, PROGRAM).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("changed");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    // What is there once and for all is there after a few sessions.
    runtime.block_on(sessions(10, &dir));
    let before = Counts::now(&dir);
    assert_eq!((before.children, before.files), (0, 1));
    runtime.block_on(sessions(100, &dir));
    // A killed child of a child is reaped by the system's first process, in its own time.
    let give_up = Instant::now() + GUARD;
    while Counts::now(&dir) != before && Instant::now() < give_up {
        std::thread::yield_now();
    }
    assert_eq!(Counts::now(&dir), before);
}
