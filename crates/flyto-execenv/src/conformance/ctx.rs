//! What cases have in common: running steps, waiting for events, proving that nothing survives.
//!
//! [`Ctx`] is one case at work: the backend under test, what it declares, and a scratch directory
//! on the backend's side that is removed afterwards. Everything goes through the backend, also
//! making directories and named pipes, so a case works where its files are not the host's.

use std::{sync::Mutex, time::Duration};

use tokio::{
    sync::{OnceCell, mpsc},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    Probe,
    failure::{Failure, ensure, summary},
};
use crate::{
    Capabilities, Capability, Chunk, Class, Ending, ExecEnv, ExecError, ExecErrorKind, Exit,
    KillScope, Outcome, RunOptions, Spec,
};

/// What a program prints once it is where the case wants it.
pub(super) const READY: &str = "ready";

/// One case at work.
///
/// Made by [`Case::run`](super::Case::run) for each case anew.
pub(super) struct Ctx<'a> {
    pub(super) env: &'a ExecEnv,
    pub(super) probe: &'a Probe,
    pub(super) capabilities: &'a Capabilities,
    scratch: OnceCell<String>,
    n_names: Mutex<u32>,
}

impl<'a> Ctx<'a> {
    /// # Errors
    ///
    /// The handle names a backend that is not there.
    pub(super) fn new(env: &'a ExecEnv, probe: &'a Probe) -> Result<Self, Failure> {
        let capabilities = env.capabilities(&Class::PLUGIN_TOOL)?;
        let (scratch, n_names) = (OnceCell::new(), Mutex::new(0));
        Ok(Self { env, probe, capabilities, scratch, n_names })
    }

    /// Whether the backend declares this.
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.capabilities.has(capability)
    }

    /// The kill scopes that the backend declares, the narrowest first.
    pub(super) fn scopes(&self) -> Vec<KillScope> {
        let group = self.has(Capability::GroupKill).then_some(KillScope::Group);
        let tree = self.has(Capability::TreeKill).then_some(KillScope::Tree);
        [KillScope::Leader].into_iter().chain(group).chain(tree).collect()
    }

    /// The widest of them.
    pub(super) fn scope(&self) -> KillScope {
        self.scopes().pop().unwrap_or(KillScope::Leader)
    }

    /// Whether children are ended with their leader.
    pub(super) fn ends_children(&self) -> bool {
        self.scope() != KillScope::Leader
    }

    /// A program that carries out `steps`, ended as widely as the backend can.
    pub(super) fn spec(&self, steps: &[&str]) -> Spec {
        self.probe.spec(steps).kill(self.scope())
    }

    /// As [`Ctx::spec`], with `program`, a file of [`Probe::executable`], in the place of the shell.
    pub(super) fn tool(&self, program: &str, steps: &[&str]) -> Spec {
        self.probe.environment(Spec::new(program).args(steps).kill(self.scope()))
    }

    /// # Errors
    ///
    /// The program could not be run, which no case expects of this call.
    pub(super) async fn run(&self, spec: Spec) -> Result<Outcome, Failure> {
        Ok(self.env.run(spec).await?)
    }

    /// Runs a spec that must exit with code 0, and gives its output.
    pub(super) async fn output_of(&self, spec: Spec) -> Result<Vec<u8>, Failure> {
        let outcome = self.run(spec).await?;
        ensure(outcome.success(), || format!("expected exit code 0, got {}", summary(&outcome)))?;
        Ok(outcome.stdout.into_bytes())
    }

    /// Runs steps that must exit with code 0, and gives their output as text.
    pub(super) async fn text(&self, steps: &[&str]) -> Result<String, Failure> {
        let output = self.output_of(self.spec(steps)).await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Expects that `spec` does not start, for the reason `kind`.
    pub(super) async fn refused(&self, spec: Spec, kind: ExecErrorKind) -> Result<(), Failure> {
        let shown = format!("{:?} in {:?}", spec.program.as_os_str(), spec.working_dir);
        match self.env.run(spec).await {
            Ok(outcome) => Err(Failure::new(format!(
                "{shown}: expected {kind:?}, but it ran: {}",
                summary(&outcome)
            ))),
            Err(err) => Self::is_refusal(&shown, &err, kind),
        }
    }

    /// `shown` says what was asked for, in a failure.
    pub(super) fn is_refusal(
        shown: &str,
        err: &ExecError,
        kind: ExecErrorKind,
    ) -> Result<(), Failure> {
        ensure(err.kind() == kind && !err.did_start(), || {
            let (got, did_start) = (err.kind(), err.did_start());
            format!(
                "{shown}: expected {kind:?} and did_start false, got {got:?} and did_start \
                 {did_start} ({err})"
            )
        })
    }

    /// The case's own directory on the backend's side.
    ///
    /// Made at the first call of this.
    pub(super) async fn scratch(&self) -> Result<&str, Failure> {
        let make = async || {
            let text = self.text(&["scratch", self.probe.scratch_dir()]).await?;
            Ok(text.trim_end().to_owned())
        };
        self.scratch.get_or_try_init(make).await.map(String::as_str)
    }

    /// A path in the scratch directory that no one else uses.
    pub(super) async fn path(&self, name: &str) -> Result<String, Failure> {
        let scratch = self.scratch().await?;
        let mut n = self.n_names.lock().expect("nothing panics while it holds the lock");
        *n += 1;
        Ok(format!("{scratch}/{name}{n}"))
    }

    /// Gives the path of a new directory with this name and a number.
    pub(super) async fn mkdir(&self, name: &str) -> Result<String, Failure> {
        let path = self.path(name).await?;
        self.text(&["mkdir", &path]).await?;
        Ok(path)
    }

    /// Gives the path of a new named pipe (fifo(7)).
    pub(super) async fn mkfifo(&self) -> Result<String, Failure> {
        let path = self.path("fifo").await?;
        self.text(&["mkfifo", &path]).await?;
        Ok(path)
    }

    /// Writes a file through the backend; `mode` is octal, as for chmod(1).
    pub(super) async fn install(
        &self,
        path: &str,
        mode: &str,
        content: impl Into<bytes::Bytes>,
    ) -> Result<(), Failure> {
        self.output_of(self.spec(&["install", mode, path]).stdin_bytes(content)).await?;
        Ok(())
    }

    /// Removes what the case made.
    pub(super) async fn clean(&self) {
        if let Some(scratch) = self.scratch.get() {
            // A backend that cannot even do this has failed elsewhere.
            let _ = timeout(self.probe.guard_time(), self.text(&["remove", scratch])).await;
        }
    }

    /// How long something that ought to happen at once is waited for.
    ///
    /// A quarter of the guard, so that a case can wait several times.
    pub(super) fn patience(&self) -> Duration {
        self.probe.guard_time() / 4
    }

    /// Runs `spec` until it has printed [`READY`], then cancels it.
    pub(super) async fn cancelled(&self, spec: Spec) -> Result<Outcome, Failure> {
        let cancel = CancellationToken::new();
        let (observer, mut chunks) = mpsc::channel(16);
        let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
        let run = self.env.run_with(spec, options);
        let watch = async {
            is_ready(&mut chunks).await;
            cancel.cancel();
            // Taking the rest keeps the program from waiting for us.
            while chunks.recv().await.is_some() {}
            std::future::pending::<()>().await;
        };
        tokio::select! {
            outcome = run => Ok(outcome?),
            () = watch => unreachable!("it is pending"),
        }
    }

    /// Runs `spec` until it has printed [`READY`], then drops the call.
    pub(super) async fn dropped(&self, spec: Spec) -> Result<(), Failure> {
        let (observer, mut chunks) = mpsc::channel(16);
        let run = self.env.run_with(spec, RunOptions::new().observer(observer));
        tokio::select! {
            outcome = run => Err(Failure::new(format!("ended by itself: {}", summary(&outcome?)))),
            () = is_ready(&mut chunks) => Ok(()),
        }
    }

    /// Runs what `make` makes of a named pipe to its deadline, in which it must have printed
    /// [`READY`]; on a busy machine that takes a longer deadline.
    ///
    /// The deadline is doubled until the program was ready within it, up to
    /// [`patience`](Self::patience).
    pub(super) async fn timed_out(
        &self,
        make: impl Fn(&str) -> Spec,
    ) -> Result<(Outcome, Watch), Failure> {
        let mut deadline = Duration::from_millis(250);
        loop {
            let watch = self.watch().await?;
            let outcome = self.run(make(watch.fifo()).deadline(deadline)).await?;
            if has_line(&outcome.stdout.bytes(), READY) {
                return Ok((outcome, watch));
            }
            ensure(outcome.ending == Ending::TimedOut, || {
                format!("expected a deadline, got {}", summary(&outcome))
            })?;
            ensure(deadline < self.patience(), || {
                format!("the program was not ready within {deadline:?}: {}", summary(&outcome))
            })?;
            watch.stop().await;
            deadline *= 2;
        }
    }

    /// A named pipe, and a call that reads it to its end.
    pub(super) async fn watch(&self) -> Result<Watch, Failure> {
        let fifo = self.mkfifo().await?;
        let stop = CancellationToken::new();
        let spec = self.spec(&["await", &fifo]).deadline(self.probe.guard_time());
        let options = RunOptions::new().cancel(stop.clone());
        let env = self.env.clone();
        let task = tokio::spawn(async move { env.run_with(spec, options).await });
        Ok(Watch { fifo, task, stop })
    }
}

/// Waits for the line [`READY`]; for ever, where it does not come.
pub(super) async fn is_ready(chunks: &mut mpsc::Receiver<Chunk>) {
    let mut seen = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        seen.extend_from_slice(&chunk.bytes);
        if has_line(&seen, READY) {
            return;
        }
    }
    std::future::pending().await
}

/// Whether a whole line of the output is this text.
pub(super) fn has_line(output: &[u8], line: &str) -> bool {
    output.split(|it| *it == b'\n').any(|it| it == line.as_bytes())
}

/// Sees whether anything still holds a named pipe: the proof that a program and its descendants are
/// gone. It needs no process ids, so it also works where each call has ids of its own.
pub(super) struct Watch {
    fifo: String,
    task: JoinHandle<Result<Outcome, ExecError>>,
    stop: CancellationToken,
}

impl Watch {
    /// The pipe that the program is to `hold`.
    pub(super) fn fifo(&self) -> &str {
        &self.fifo
    }

    /// Expects that nothing holds the pipe any more. What does is killed, so that a broken backend
    /// leaves little behind.
    pub(super) async fn all_gone(self, ctx: &Ctx<'_>) -> Result<(), Failure> {
        let (gone, holders) = self.end(ctx, ctx.patience()).await?;
        ensure(gone, || format!("something of the program is still alive, one of {holders}"))
    }

    /// Kills what holds the pipe: for children that are beyond the backend's declared scope.
    pub(super) async fn tidy(self, ctx: &Ctx<'_>) -> Result<(), Failure> {
        self.end(ctx, Duration::ZERO).await?;
        Ok(())
    }

    /// Waits for the end of the pipe for `wait`. Gives whether it came, and what the holders wrote
    /// into the pipe: their process numbers.
    async fn end(mut self, ctx: &Ctx<'_>, wait: Duration) -> Result<(bool, String), Failure> {
        let outcome = match timeout(wait, &mut self.task).await {
            Ok(joined) => joined,
            Err(_) => {
                self.stop.cancel();
                self.task.await
            }
        };
        let outcome =
            outcome.map_err(|err| Failure::new(format!("the watching call panicked: {err}")))??;
        let printed = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
        if outcome.ending == Ending::Exited(Exit::Code(0)) {
            return Ok((true, printed));
        }
        let holders: Vec<&str> = printed.split_whitespace().collect();
        let steps: Vec<&str> = ["kill"].into_iter().chain(holders.iter().copied()).collect();
        // This is only tidying up; it says nothing about the backend.
        let _ = ctx.env.run(ctx.spec(&steps)).await;
        Ok((false, holders.join(", ")))
    }

    /// Gives up watching.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}
