use std::{error::Error, time::Duration};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_execenv::{
    Capabilities, Capability, Control, Ended, Ending, ExecEnv, Executor, Exit, KillScope,
    LimitKind, Limits, Outcome, Signal, local::resolve_program,
};

use super::*;
use crate::bare::program::close_own_streams;

/// A backend that knows no other way.
#[derive(Debug)]
struct Direct(Capabilities);

impl Direct {
    fn env() -> ExecEnv {
        let capabilities = [
            Capability::GroupKill,
            Capability::CpuLimit,
            Capability::MemoryLimit,
            Capability::FileSizeLimit,
            Capability::OpenFilesLimit,
        ];
        ExecEnv::new(Self(Capabilities::new("direct").with(capabilities)))
    }
}

#[async_trait]
impl Executor for Direct {
    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        start(&spec, &resolve_program(&spec)?, None, &bounds_of(&spec.limits)).await
    }
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin")
}

async fn run(spec: Spec) -> Outcome {
    Direct::env().run(spec.deadline(Duration::from_secs(60))).await.expect("it starts")
}

#[track_caller]
fn check(err: &ExecError, expect: Expect) {
    assert!(!err.did_start());
    let mut line = format!("{:?}: {err}", err.kind());
    let mut cause = err.source();
    while let Some(err) = cause {
        line.push_str(&format!(": {err}"));
        cause = err.source();
    }
    expect.assert_eq(&line);
}

#[tokio::test]
async fn the_stage_that_failed_tells_the_kind() {
    assert!(works(), "these tests need it");
    let refusal = async |spec: Spec| Direct::env().run(spec).await.expect_err("it cannot start");
    check(
        &refusal(sh("").working_dir("/no/such/dir")).await,
        expect![[
            r#"BadWorkingDir: failed to start "/bin/sh": its working directory is /no/such/dir: No such file or directory (os error 2)"#
        ]],
    );
    check(
        &refusal(Spec::new("/no/such/program")).await,
        expect![[
            r#"ProgramNotFound: failed to start "/no/such/program": looked for /no/such/program: No such file or directory (os error 2)"#
        ]],
    );
    check(
        &refusal(Spec::new("/etc/passwd")).await,
        expect![[
            r#"NotExecutable: failed to start "/etc/passwd": /etc/passwd lacks the right to execute: Permission denied (os error 13)"#
        ]],
    );
    check(
        &refusal(Spec::new("/usr")).await,
        expect![[r#"IsDirectory: failed to start "/usr": /usr is a directory"#]],
    );
    check(
        &refusal(sh("").arg("x".repeat(200_000))).await,
        expect![[
            r#"TooLong: failed to start "/bin/sh": argument 3 has 200000 bytes, and 131071 are the most; hand it over in a file"#
        ]],
    );
}

#[tokio::test]
async fn a_bound_that_is_reached_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let second = Limits::new().cpu_time(Duration::from_secs(1));
    let outcome = run(sh("while :; do :; done").limits(second.clone())).await;
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::CpuTime));
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal(24))));
    let outcome = run(sh("trap '' XCPU; while :; do :; done").limits(second)).await;
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::CpuTime));
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));

    let large = Spec::new("/usr/bin/head").args(["-c", "99", "/dev/zero"]);
    let spec = sh(r#"exec head -c 99 /dev/zero > file"#).working_dir(dir.path());
    let outcome = run(spec.limits(Limits::new().file_size_bytes(10))).await;
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::FileSize));
    // A pipe is no file.
    let outcome = run(large.limits(Limits::new().file_size_bytes(10))).await;
    assert_eq!((outcome.success(), outcome.stdout.total_bytes), (true, 99));

    let limits = Limits::new().open_files(23).memory_bytes(64 << 20);
    let outcome = run(sh("ulimit -n; ulimit -d").limits(limits)).await;
    assert_eq!(&*outcome.stdout.bytes(), b"23\n65536\n");
}

#[tokio::test]
async fn a_program_has_its_process_group_or_stays_in_ours() {
    for (kill, own) in [(KillScope::Group, true), (KillScope::Leader, false)] {
        // The fifth field of proc(5) is the process group.
        let outcome = run(sh("read line < /proc/self/stat; echo $line").kill(kill)).await;
        let text = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
        let fields: Vec<&str> = text.split(' ').collect();
        assert_eq!(fields.first() == fields.get(4), own, "{text}");
    }
}

#[tokio::test]
async fn what_was_started_can_be_reaped_once_and_its_usage_is_known() {
    let spec = sh("exit 3");
    let running = start(&spec, Path::new("/bin/sh"), None, &[]).await.expect("it starts");
    let control: &dyn Control = &*running.control;
    assert_eq!(control.wait().await.expect("ours"), Exit::Code(3));
    let Ended { exit, leaked, confirmed, limit, usage, .. } =
        control.end(Duration::ZERO).await.expect("ours");
    assert_eq!((exit, leaked, confirmed, limit), (Some(Exit::Code(3)), Some(0), true, None));
    assert!(usage.cpu().is_some() && usage.peak_memory.bytes() > Some(0));
    let again = control.end(Duration::ZERO).await.expect("remembered");
    assert_eq!(again.exit, exit);
}

/// The variable that makes the test below the host without streams that it needs.
const CLOSED: &str = "FLYTO_TEST_CLOSES_ITS_STREAMS";

/// No exit code of a test's own.
const PASSED: i32 = 42;

#[test]
fn a_host_without_streams_gives_its_programs_all_three() {
    if std::env::var_os(CLOSED).is_some() {
        close_own_streams();
        let outcome = echo();
        // Whatever has these numbers now is none of the program's.
        assert_eq!(&*outcome.stdout.bytes(), b"input\n");
        assert_eq!(&*outcome.stderr.bytes(), b"warning\n");
        std::process::exit(PASSED);
    }
    let outcome = closed_host();
    assert_eq!(outcome.exit, Some(Exit::Code(PASSED)), "{outcome:?}");
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime").block_on(future)
}

fn echo() -> Outcome {
    block_on(run(sh("cat; echo warning >&2").stdin_bytes("input\n")))
}

/// This very test, in a process of its own.
fn closed_host() -> Outcome {
    let name = "direct::tests::a_host_without_streams_gives_its_programs_all_three";
    let spec = Spec::new(std::env::current_exe().expect("a path"))
        .args(["--exact", name, "--test-threads=1"])
        .env_var(CLOSED, "1");
    block_on(run(spec))
}
