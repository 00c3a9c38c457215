//! Sessions with real programs.

mod end; //  how a process ends, and the next one starts
mod over; //  calls that are not waited for any longer
mod talk; //  requests and answers

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use flyto_execenv::{ExecEnv, Spec, local::Local};
use flyto_tools::{CallContext, CancellationToken, Progress, ToolResult};
use tempfile::TempDir;

use super::{
    Request, Session, Sessions,
    answer::{Called, NoProcess},
};
use crate::result::Declares;

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// What every plugin here begins with.
const PRELUDE: &str = r#"
import json, os, sys, threading

def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()

def reply(id, text):
    say({"jsonrpc": "2.0", "id": id, "result": {"output": text}})

def progress(id, share, detail=""):
    say({"jsonrpc": "2.0", "method": "progress", "params": {"id": id, "progress": share, "detail": detail}})

def requests():
    for line in sys.stdin:
        message = json.loads(line)
        params = message["params"]
        yield message["method"], message.get("id", params.get("id")), params.get("tool"), params.get("args")
"#;

/// A plugin whose answer to `pid` is its process id, and to `which` the ids of the calls that were
/// cancelled. Any other tool hangs after a word of progress.
const HANGING: &str = r#"
cancelled = []
for method, id, tool, args in requests():
    if method == "cancel":
        cancelled.append(id)
        if len(sys.argv) > 1:
            reply(id, "stopped")
    elif tool == "pid":
        reply(id, str(os.getpid()))
    elif tool == "which":
        reply(id, json.dumps(cancelled))
    else:
        progress(id, 0.5, "at it")
"#;

struct Host {
    session: Session,
    sessions: Sessions,
    starts: Arc<AtomicUsize>,
    dir: TempDir,
}

impl Host {
    /// A session whose program is Python with [`PRELUDE`] and `script`.
    fn python(script: &str, args: &[&str], idle: Duration) -> Self {
        let words = ["-c".to_owned(), format!("{PRELUDE}{script}")];
        let args = words.into_iter().chain(args.iter().map(|it| (*it).to_owned()));
        Self::of(Spec::new("/usr/bin/env").arg("python3").args(args), idle)
    }

    fn new(script: &str) -> Self {
        Self::python(script, &[], GUARD)
    }

    fn of(spec: Spec, idle: Duration) -> Self {
        Self::on(ExecEnv::new(Local::new()), spec, idle)
    }

    fn on(env: ExecEnv, spec: Spec, idle: Duration) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let spec = spec.env_var("PATH", "/usr/local/bin:/usr/bin:/bin").working_dir(dir.path());
        let (sessions, starts) = (Sessions::new(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&starts);
        let launch = move || -> Result<Spec, NoProcess> {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(spec.clone())
        };
        let session = Session::new(env, sessions.clone(), idle, Box::new(launch));
        Self { session, sessions, starts, dir }
    }

    async fn call(&self, ctx: &CallContext, tool: &str, args: &str) -> Called {
        self.session.call(ctx, request(tool, args)).await
    }

    /// The text of a call that succeeds.
    async fn text(&self, tool: &str, args: &str) -> String {
        let res = in_words(self.call(&CallContext::new(), tool, args).await);
        assert_eq!(res.failure, None, "{}", res.output);
        res.output
    }

    fn starts(&self) -> usize {
        self.starts.load(Ordering::Relaxed)
    }

    /// Waits until there is no process.
    async fn gone(&self) {
        gone(&self.sessions).await;
    }
}

async fn gone(sessions: &Sessions) {
    let mut running = sessions.running.subscribe();
    let none = running.wait_for(|it| *it == 0);
    tokio::time::timeout(GUARD, none).await.expect("it ends").expect("it can be watched");
}

fn request(tool: &str, args: &str) -> Request {
    Request { tool: tool.into(), args: args.into(), timeout: GUARD, grace: Duration::ZERO }
}

fn in_words(called: Called) -> ToolResult {
    called.into_result("p:t", Declares::Text).expect("it was tried")
}

/// A context whose token is cancelled by the first word of progress.
fn cancelled_by_progress() -> CallContext {
    let token = CancellationToken::new();
    let seen = token.clone();
    CallContext::new().with_cancellation(token).with_progress(move |_: Progress| seen.cancel())
}

/// A context that keeps what it is told.
fn listening() -> (CallContext, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&told);
    let ctx = CallContext::new().with_progress(move |it: Progress| {
        keep.lock().expect("nobody panics").push(it.to_string());
    });
    (ctx, told)
}

/// Whether a process is there and no zombie.
fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
    state == Some(false)
}
