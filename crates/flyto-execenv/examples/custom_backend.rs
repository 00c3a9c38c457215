//! A complete backend from outside this crate: the standard library and one thread for each program.
//!
//! It does little and says so: it ends the program itself and none of its children, so it declares no
//! `GroupKill`, and a spec that demands it (as `Spec::new` does) is refused. Deadline, cancellation,
//! bounded output and feeding stdin come from the handle.
//!
//! `cargo test -p flyto-execenv --features conformance --example custom_backend` runs the contract on
//! it; the last lines are all that this takes.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    BoxedReader, Capabilities, Capability, Control, Ended, ErrorOutput, ExecEnv, ExecError,
    ExecErrorKind, Executor, Exit, KillScope, Output, Running, Signal, Spec, Stdin, Target,
    local::{explain_start, resolve_program},
};
use rustix::process::{Pid, Signal as Sig, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::{net::unix::pipe, sync::watch};

/// Runs programs on this machine, each watched by a thread.
#[derive(Debug)]
pub struct Threads {
    capabilities: Capabilities,
}

impl Default for Threads {
    fn default() -> Self {
        use Capability as C;
        // What the standard library opens is closed when a program starts; what this process was
        // started with is not.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let capabilities = Capabilities::new("threads");
        Self {
            capabilities: capabilities.with([
                C::Signals,
                C::PipedStreams,
                C::MergedStderr,
                C::NonUtf8,
            ]),
        }
    }
}

#[async_trait]
impl Executor for Threads {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let program = resolve_program(&spec)?;
        let (child, merged) =
            spawn(&spec, &program).map_err(|err| explain_start(&spec, &program, err))?;
        watch_over(child, merged).map_err(|err| {
            let what = format!("watch {:?}", spec.program.as_os_str());
            ExecError::new(ExecErrorKind::Lost, what).with_source(err)
        })
    }
}

/// Starts the program; with a merged stderr, the stream that both go to comes along.
#[expect(clippy::disallowed_methods, reason = "a backend starts programs for all other code")]
fn spawn(spec: &Spec, program: &Path) -> io::Result<(Child, Option<OwnedFd>)> {
    let mut command = Command::new(program);
    command.arg0(spec.program.as_os_str()).args(&spec.args);
    command.env_clear().envs(spec.env.iter()).current_dir(&spec.working_dir);
    command.stdin(if spec.stdin == Stdin::Null { Stdio::null() } else { Stdio::piped() });
    let kept = |wanted: &Output| match wanted {
        Output::Null => Stdio::null(),
        _ => Stdio::piped(),
    };
    let mut merged = None;
    match &spec.stderr {
        ErrorOutput::Separate(err) => {
            command.stdout(kept(&spec.stdout)).stderr(kept(err));
        }
        // One pipe, and the same open file twice.
        _ => {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            merged = Some(reader.into());
        }
    }
    Ok((command.spawn()?, merged))
}

/// Hands the pipes to the runtime and the program to a thread.
fn watch_over(mut child: Child, merged: Option<OwnedFd>) -> io::Result<Running> {
    let stdin = child.stdin.take().map(OwnedFd::from);
    let stdout = merged.or(child.stdout.take().map(OwnedFd::from));
    let stderr = child.stderr.take().map(OwnedFd::from);

    let pid = Pid::from_child(&child);
    let alive = Arc::new(Mutex::new(Some(pid)));
    let (sender, exit) = watch::channel(None);
    // From here on dropping the control ends the program.
    let control = Thread { alive: Arc::clone(&alive), exit };
    thread::Builder::new().name("program".to_owned()).spawn(move || {
        // The child is left unreaped until no call can send it a signal any more: then its id is free.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        *alive.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let status = child.wait();
        let exit = status.map(|it| match (it.code(), it.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(Signal(signal.unwrap_or_default())),
        });
        // A call that was dropped does not wait.
        let _ = sender.send(exit.ok());
    })?;

    let reader = |fd: OwnedFd| -> io::Result<BoxedReader> {
        Ok(Box::new(pipe::Receiver::from_owned_fd(fd)?))
    };
    let mut running = Running::new(control);
    if let Some(fd) = stdin {
        running.stdin = Some(Box::new(pipe::Sender::from_owned_fd(fd)?));
    }
    running.stdout = stdout.map(reader).transpose()?;
    running.stderr = stderr.map(reader).transpose()?;
    Ok(running)
}

/// What the handle holds of a program.
#[derive(Debug)]
struct Thread {
    /// The program's id until it is reaped.
    alive: Arc<Mutex<Option<Pid>>>,
    exit: watch::Receiver<Option<Exit>>,
}

#[async_trait]
impl Control for Thread {
    async fn wait(&self) -> Result<Exit, ExecError> {
        let mut exit = self.exit.clone();
        let exit = exit.wait_for(Option::is_some).await.ok().and_then(|it| *it);
        exit.ok_or_else(|| ExecError::new(ExecErrorKind::Lost, "wait for the program"))
    }

    fn signal(&self, signal: Signal, _: Target) -> Result<(), ExecError> {
        let what = || format!("send {signal}");
        let sig = Sig::from_named_raw(signal.0)
            .ok_or_else(|| ExecError::new(ExecErrorKind::InvalidSpec, what()).started())?;
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        match *alive {
            Some(pid) => kill_process(pid, sig).map_err(|err| {
                ExecError::new(ExecErrorKind::Other, what()).started().with_source(err)
            }),
            None => Ok(()),
        }
    }

    async fn end(&self, _: Duration) -> Result<Ended, ExecError> {
        // A grace would have been refused: it is not declared.
        self.signal(Signal::KILL, Target::Leader)?;
        let exit = self.wait().await?;
        Ok(Ended::clean(exit).leaked(None))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // It fails only for a program that is not ours to kill, and a destructor cannot say so.
        let _ = self.signal(Signal::KILL, Target::Leader);
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), ExecError> {
    let env = ExecEnv::new(Threads::default());
    let spec = Spec::new("/bin/echo").arg("hello").kill(KillScope::Leader);
    let outcome = env.run(spec).await?;
    println!("{} said {:?}", outcome.backend, String::from_utf8_lossy(&outcome.stdout.bytes()));
    Ok(())
}

#[cfg(test)]
flyto_execenv::executor_conformance!(ExecEnv::new(Threads::default()));
