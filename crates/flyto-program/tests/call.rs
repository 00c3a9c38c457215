//! A spec under the context of a tool call.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Control, Ended, ExecEnv, ExecError, Executor, Exit, KillScope, Running, Signal,
    Spec, Target, local::Local,
};
use flyto_program::{Ran, Streaming, run};
use flyto_tools::{CallContext, Failure, OutputChannel, OutputChunk, Progress, ToolErrorKind};

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin")
}

async fn ran(spec: Spec, ctx: &CallContext, streaming: Streaming) -> Ran {
    run(&ExecEnv::new(Local::new()), spec, ctx, streaming).await.expect("sh starts")
}

#[tokio::test]
async fn the_callers_deadline_tightens_the_tools() {
    let passed = CallContext::new().with_deadline(Instant::now());
    let res =
        ran(sh("sleep 60").deadline(Duration::from_secs(30)), &passed, Streaming::Quiet).await;
    assert_eq!(res.failure(), Some(Failure::TimedOut { after: Some(Duration::ZERO) }));

    let far = CallContext::new().with_deadline(Instant::now() + Duration::from_secs(3600));
    let res = ran(sh("exit 4").deadline(Duration::from_secs(30)), &far, Streaming::Quiet).await;
    assert_eq!(res.deadline, Some(Duration::from_secs(30)));
    assert_eq!(res.exit_text(), "exit code 4");
}

#[tokio::test]
async fn the_callers_cancellation_reaches_the_program() {
    let ctx = CallContext::new();
    let cancel = ctx.cancellation().clone();
    // The program's first line is the event that cancels it.
    let ctx = ctx.with_output(move |_: OutputChunk<'_>| cancel.cancel());
    let res = ran(sh("echo started; sleep 60"), &ctx, Streaming::Lines).await;
    assert_eq!(res.failure(), Some(Failure::Cancelled));
    assert_eq!(res.stdout().text, "started\n");
}

/// As within a call that has the same deadline, and sees first that it has passed.
#[tokio::test]
async fn a_cancellation_after_the_deadline_is_told_as_the_deadlines() {
    let ctx = CallContext::new().with_deadline(Instant::now());
    ctx.cancellation().cancel();
    let never_started = ran(sh("echo started"), &ctx, Streaming::Lines).await;
    assert_eq!(never_started.failure(), Some(Failure::TimedOut { after: Some(Duration::ZERO) }));

    let passed = Instant::now() + Duration::from_secs(1);
    let ctx = CallContext::new().with_deadline(passed);
    let cancel = ctx.cancellation().clone();
    // The clock of the program, which runs in this thread, is behind that of the caller.
    let ctx = ctx.with_output(move |_: OutputChunk<'_>| {
        std::thread::sleep(passed.saturating_duration_since(Instant::now()));
        cancel.cancel();
    });
    let res = ran(sh("echo started; sleep 60"), &ctx, Streaming::Lines).await;
    assert!(matches!(res.failure(), Some(Failure::TimedOut { .. })), "{res:?}");
}

#[tokio::test]
async fn a_caller_that_asks_for_all_output_gets_it_as_it_comes() {
    for (streaming, stdout) in [
        (Streaming::Quiet, "half a"),
        (Streaming::Messages { progress: |_| None, shows_stderr: false }, ""),
    ] {
        let ctx = CallContext::new();
        let cancel = ctx.cancellation().clone();
        let seen = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
        let sink = Arc::clone(&seen);
        // The last piece is the event that ends the program, which waits.
        let ctx = ctx.with_all_output(move |it: OutputChunk<'_>| {
            let mut seen = sink.lock().unwrap();
            let i = usize::from(it.channel == OutputChannel::Error);
            seen[i].extend_from_slice(it.bytes);
            if seen[1].ends_with(b"warning") && (stdout.is_empty() || seen[0] == stdout.as_bytes())
            {
                cancel.cancel();
            }
        });
        let script = "printf 'half a'; printf '::progress 0.5 x\\nwarning' >&2; sleep 60";
        let res = ran(sh(script), &ctx, streaming).await;
        assert_eq!(res.failure(), Some(Failure::Cancelled));
        let seen = seen.lock().unwrap().clone().map(|it| String::from_utf8(it).unwrap());
        // A program that answers by messages has no output for people on stdout.
        assert_eq!(seen, [stdout, "::progress 0.5 x\nwarning"]);
        assert_eq!((&*res.stdout().text, &*res.stderr().text), ("half a", &*seen[1]));
    }
}

#[tokio::test]
async fn lines_are_shown_and_progress_leaves_stderr() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (lines, reports) = (Arc::clone(&seen), Arc::clone(&seen));
    let ctx = CallContext::new()
        .with_output(move |it: OutputChunk<'_>| {
            let channel = if it.channel == OutputChannel::Output { "out" } else { "err" };
            let text = String::from_utf8_lossy(it.bytes).into_owned();
            lines.lock().unwrap().push(format!("{channel} {text:?}"));
        })
        .with_progress(move |it: Progress| reports.lock().unwrap().push(it.to_string()));
    let script = "printf 'half a'; printf ' line\\n'; printf 'no newline'; \
                  echo '::progress 0.5 reading' >&2; echo warning >&2";
    let res = ran(sh(script), &ctx, Streaming::Lines).await;

    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(
        seen,
        ["50% reading", r#"err "warning\n""#, r#"out "half a line\n""#, r#"out "no newline""#]
    );
    assert_eq!(res.stdout().text, "half a line\nno newline");
    assert_eq!(res.stderr().text, "warning\n");
}

#[tokio::test]
async fn of_messages_only_progress_is_shown() {
    /// A line `half`, and one that is as long as a line can be without being passed over.
    fn progress(line: &[u8]) -> Option<Progress> {
        match line {
            b"half\n" => Progress::new(0.5, "half"),
            line => {
                Progress::new(0.75, line.len().to_string()).filter(|_| line.starts_with(b"long"))
            }
        }
    }
    let script =
        "echo '{}'; printf 'ha'; printf 'lf\\n'; echo shown >&2; echo '::progress 0.9 x' >&2
        printf 'long%65531s\\nhalf\\nlong%65532s\\nhalf' '' ''";
    let shown = async |shows_stderr: bool| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (lines, reports) = (Arc::clone(&seen), Arc::clone(&seen));
        let ctx = CallContext::new()
            .with_output(move |it: OutputChunk<'_>| {
                lines.lock().unwrap().push(String::from_utf8_lossy(it.bytes).into_owned());
            })
            .with_progress(move |it: Progress| reports.lock().unwrap().push(it.to_string()));
        let res = ran(sh(script), &ctx, Streaming::Messages { progress, shows_stderr }).await;
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        (seen, res.stderr().text)
    };
    let (seen, stderr) = shown(false).await;
    assert_eq!(seen, ["50% half", "50% half", "75% 65536"]);
    assert_eq!(stderr, "shown\n::progress 0.9 x\n");
    let (seen, stderr) = shown(true).await;
    assert_eq!(seen, ["50% half", "50% half", "75% 65536", "90% x", "shown\n"]);
    assert_eq!(stderr, "shown\n");
}

#[tokio::test]
async fn what_came_of_it_is_told_in_the_words_of_tools() {
    let ctx = CallContext::new();
    let res = ran(sh("kill -KILL $$"), &ctx, Streaming::Quiet).await;
    let killed = Failure::Signal { number: 9, name: Some("SIGKILL".to_owned()) };
    assert_eq!(res.failure(), Some(killed));
    assert_eq!(res.exit_text(), "exit code -1 (killed by signal 9, SIGKILL)");

    let execution = ran(sh("echo hi; echo no >&2"), &ctx, Streaming::Quiet).await.execution();
    assert_eq!(execution.backend, "local");
    assert_eq!(execution.command_line, ["/bin/sh", "-c", "echo hi; echo no >&2"]);
    assert_eq!((execution.stdout_bytes, execution.stderr_bytes), (3, 3));
    assert_eq!(execution.stderr.as_deref(), Some("no\n"));
    assert_eq!(execution.enforced, ["group-kill"]);
}

#[tokio::test]
async fn a_program_that_did_not_start_is_a_typed_error() {
    let env = ExecEnv::new(Local::new());
    let check = async |spec: Spec, expect: ToolErrorKind| {
        let err = run(&env, spec, &CallContext::new(), Streaming::Quiet).await.unwrap_err();
        let err = flyto_program::tool_error("tool x exec failed", err);
        assert_eq!(err.kind(), expect, "{}", err.chain());
        assert!(err.chain().starts_with("tool x exec failed: failed to start "));
    };
    check(Spec::new("/no/such"), ToolErrorKind::ProgramMissing).await;
    check(Spec::new("/"), ToolErrorKind::NotStartable).await;
    check(sh("").kill(KillScope::Tree), ToolErrorKind::Unsupported).await;
}

/// The local backend, which reports that it ended two processes and saw or did not see the last of
/// them go.
#[derive(Debug)]
struct Reports {
    local: Local,
    confirmed: bool,
}

#[async_trait]
impl Executor for Reports {
    fn capabilities(&self) -> &Capabilities {
        self.local.capabilities()
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let mut running = self.local.start(spec).await?;
        running.control =
            Box::new(ReportsEnd { local: running.control, confirmed: self.confirmed });
        Ok(running)
    }
}

#[derive(Debug)]
struct ReportsEnd {
    local: Box<dyn Control>,
    confirmed: bool,
}

#[async_trait]
impl Control for ReportsEnd {
    async fn wait(&self) -> Result<Exit, ExecError> {
        self.local.wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.local.signal(signal, target)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        let ended = self.local.end(grace).await?;
        Ok(ended.leaked(Some(2)).confirmed(self.confirmed))
    }
}

#[tokio::test]
async fn an_unconfirmed_end_is_told_and_counts_nothing() {
    let check = async |confirmed: bool, leaked: Option<u32>| {
        let env = ExecEnv::new(Reports { local: Local::new(), confirmed });
        let ran = run(&env, sh(""), &CallContext::new(), Streaming::Quiet).await;
        let ran = ran.expect("sh starts");
        let execution = ran.execution();
        assert_eq!((execution.confirmed, execution.leaked), (Some(confirmed), leaked));
        assert_eq!(ran.failure(), None);
    };
    check(true, Some(2)).await;
    check(false, None).await;
}
