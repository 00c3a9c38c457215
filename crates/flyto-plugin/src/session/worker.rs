//! The task that looks after a session: it starts and restarts the process when a caller waits
//! for one, and ends with it.
//!
//! There is at most one such task for each session, and it has at most one process. It is
//! spawned by the call that finds no task, and lives on the runtime of that call.

use std::sync::Arc;

use flyto_execenv::{Capability, ExecEnv, Output, RunOptions, Spec, Stdin};
use flyto_tools::{CancellationToken, Execution};
use tokio::time::sleep_until;

use super::{answer::NoProcess, link::Link, sessions::Entered, state::SessionState};

/// Starts the task of a session that has none, on the runtime of the caller.
pub(super) fn start(shared: &Arc<SessionState>) {
    let entered = shared.sessions.enter();
    let worker = SessionWorker { shared: Arc::clone(shared), is_over: false, _entered: entered };
    tokio::spawn(run(worker));
}

/// Keeps the session until no caller waits for a process.
/// [`SessionState::retire`] decides under the lock: a call that comes as a process ends either
/// finds this task, or starts the next one.
async fn run(mut worker: SessionWorker) {
    loop {
        one_process(&worker.shared).await;
        if worker.shared.retire() {
            worker.is_over = true;
            return;
        }
    }
}

/// Notices when the task is dropped together with its runtime, which may be before it first ran.
struct SessionWorker {
    /// What the callers hold as well.
    shared: Arc<SessionState>,
    /// The task ended by itself, so nothing is to be cleaned up.
    is_over: bool,
    /// Counts the task until it is dropped, so that a host that closes waits for it.
    _entered: Entered,
}

impl Drop for SessionWorker {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.abandon();
        }
    }
}

/// One process from its start to its end, or why there is none.
/// Waits for the pause after a crash, asks what to start, starts it, talks, and ends it. A
/// failure before the start answers every waiting call.
async fn one_process(shared: &SessionState) {
    let stop = shared.stop.cancelled();
    let started = async {
        if let Some(at) = shared.pause_until() {
            sleep_until(at).await;
        }
        let kill = CancellationToken::new();
        let spec = (shared.launch)()?;
        let mut spec = spec.stdin(Stdin::Piped).stdout(Output::Piped).stderr(Output::Piped);
        // Each call has a deadline of its own, and a plugin is asked to stop in its own language.
        spec.deadline = None;
        spec.grace = None;
        let mut execution = execution(&shared.env, &spec);
        let program = spec.program.as_os_str().to_string_lossy().into_owned();
        let options = RunOptions::new().cancel(kill.clone());
        let process = shared.env.start(spec, options).await;
        let process = process.map_err(|err| NoProcess::Failed(Arc::new(err)))?;
        execution.enforced = process.enforced().iter().map(Capability::to_string).collect();
        shared.set_up(execution);
        Ok((program, process, kill))
    };
    let started = tokio::select! {
        biased;
        () = stop => Err(NoProcess::Closed),
        started = started => started,
    };
    let (program, mut process, kill) = match started {
        Ok(started) => started,
        Err(why) => return shared.refuse(&why),
    };
    let mut link = Link::new(shared, &mut process);
    let stop = link.talk().await;
    let (mut process_exit, unseen) = link.finish(process, &kill, stop).await;
    if !process_exit.is_confirmed {
        shared.sessions.add_unended(&program);
    }
    process_exit.execution = shared.execution().map(|it| {
        let mut res = Execution::clone(&it);
        res.confirmed = Some(process_exit.is_confirmed);
        Arc::new(res)
    });
    shared.fail_in_flight(&Arc::new(process_exit), unseen);
}

/// What results say about the process.
/// What is enforced is known once the process has started, and is added then.
fn execution(env: &ExecEnv, spec: &Spec) -> Execution {
    let backend = env.capabilities(&spec.class).map_or("", |it| &*it.backend);
    let mut res = Execution::new(backend);
    let words = std::iter::once(spec.program.as_os_str()).chain(spec.args.iter().map(|it| &**it));
    res.command_line = words.map(|it| it.to_string_lossy().into_owned()).collect();
    res
}
