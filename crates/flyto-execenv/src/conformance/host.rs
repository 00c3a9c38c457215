//! What is left of a call when its host is killed: another process of this very program plays the host.
//!
//! The case starts the test program again ([`Probe::start_again`]) with an environment variable
//! that names a pipe. That process makes one call with the backend under test, says that it is
//! ready, and is killed by SIGKILL; then the pipe must come free.

use std::{
    env,
    ffi::OsString,
    future::pending,
    io::{self, BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use tokio::{
    runtime,
    sync::mpsc,
    task::{JoinError, spawn_blocking},
};

use super::{
    Probe,
    ctx::{Ctx, READY, is_ready},
    failure::{Failure, summary},
};
use crate::{Capability, ExecEnv, KillScope, RunOptions};

/// Tells a process that it is the host, and which named pipe its program is to hold.
const HOST_OF: &str = "FLYTO_CONFORMANCE_HOST_OF";

/// Runs only where [`Capability::EndsWithHost`] is declared.
pub(super) async fn nothing_survives_the_host(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::EndsWithHost) {
        // No spec can demand it, so there is nothing to refuse either.
        return Ok(());
    }
    let Some(args) = ctx.probe.started_again_by() else {
        let what = "`ends-with-host` is declared, and the probe does not say how this program is \
                    started again as a host: `Probe::start_again`";
        return Err(Failure::new(what));
    };
    let watch = ctx.watch().await?;
    match kill_while_it_calls(args, watch.fifo()).await {
        Ok(()) => watch.all_gone(ctx).await,
        Err(failure) => {
            watch.stop().await;
            Err(failure)
        }
    }
}

/// # Errors
///
/// The program cannot be started again, or ended before it was ready.
async fn kill_while_it_calls(args: &[OsString], fifo: &str) -> Result<(), Failure> {
    let broken = |err: io::Error| Failure::new(format!("cannot start this program again: {err}"));
    let mut host = Host(start_again(args, fifo).map_err(broken)?);
    let Some(stdout) = host.0.stdout.take() else {
        return Err(broken(io::ErrorKind::BrokenPipe.into()));
    };
    // The lines end with the host, so that this thread does too.
    let is_ready = spawn_blocking(|| BufReader::new(stdout).lines().any(|it| is_line(it, READY)));
    let panicked = |err: JoinError| Failure::new(format!("reading what the host says: {err}"));
    if !is_ready.await.map_err(panicked)? {
        let what = format!("the host that was to be killed ended by itself, started with {args:?}");
        return Err(Failure::new(what));
    }
    drop(host);
    Ok(())
}

fn is_line(read: io::Result<String>, line: &str) -> bool {
    read.is_ok_and(|it| it == line)
}

/// What it says about a failure goes to where this process says such things.
///
/// The new process has no input, and its stdout is read here.
#[expect(clippy::disallowed_methods, reason = "the host is no program of the backend under test")]
fn start_again(args: &[OsString], fifo: &str) -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args(args)
        .env(HOST_OF, fifo)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
}

/// Is killed when it is dropped, and waited for.
///
/// Dropping it is the kill that the case is about.
struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        // One that is gone needs no more than the second line.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays the host that is killed, and does not return, where a case started this process for that;
/// else does nothing.
///
/// For harnesses without `#[test]`: a program that is started with the arguments of
/// [`Probe::start_again`] calls this with the backend under test before anything else.
/// [`executor_conformance!`](crate::executor_conformance) does both by itself.
///
/// # Panics
///
/// The call could not be made, or this process was not killed in the time of [`Probe::guard`].
pub fn play_host(make: impl FnOnce() -> (ExecEnv, Probe)) {
    let Some(fifo) = env::var_os(HOST_OF) else { return };
    let mut builder = runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("the machine has room for a runtime");
    let res = runtime.block_on(async {
        let (env, probe) = make();
        call_until_killed(&env, &probe, &fifo.to_string_lossy()).await
    });
    match res {
        Ok(end) => panic!("this host was not killed: {end}"),
        Err(failure) => panic!("{failure}"),
    }
}

/// Where the tree is ended, it is a descendant in a session of its own that says when it is in
/// place; else the leader. Only returns where the call ended by itself.
async fn call_until_killed(env: &ExecEnv, probe: &Probe, fifo: &str) -> Result<String, Failure> {
    let ctx = Ctx::new(env, probe)?;
    let mut steps = vec!["hold", fifo];
    if ctx.ends_children() {
        steps.extend(["child", "[", "nap", "]"]);
    }
    if ctx.scope() == KillScope::Tree {
        steps.extend(["escapee", "[", "hold", fifo, "say", READY, "nap", "]"]);
    } else {
        steps.extend(["say", READY]);
    }
    steps.push("nap");
    let (observer, mut chunks) = mpsc::channel(16);
    let spec = ctx.spec(&steps).deadline(probe.guard_time());
    let run = env.run_with(spec, RunOptions::new().observer(observer));
    let tell = async {
        is_ready(&mut chunks).await;
        // A test that runs has a line of its own begun. A test without this line kills us as well.
        let _ = writeln!(io::stdout(), "\n{READY}");
        while chunks.recv().await.is_some() {}
        pending::<()>().await;
    };
    tokio::select! {
        outcome = run => Ok(summary(&outcome?)),
        () = tell => unreachable!("it is pending"),
    }
}
