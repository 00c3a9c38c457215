//! `call --background`: a job, and the process that keeps it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;

use flyto_execenv::local::{DetachedSpec, start_detached};
use flyto_host::jobs::{JobError, JobId, JobStore, NewJob};
use flyto_host::{Plan, Prepared};
use flyto_tools::{CallContext, Problem};
use serde::Serialize;

use super::signals::{Ignored, fail_large_writes};
use super::{Made, correct, not_tried, report};
use crate::advice;
use crate::args::Call;
use crate::exit::{Ending, Exit, Why};
use crate::session::{Loaded, Session};
use crate::stop::{Stop, chain};
use crate::words::tame;

/// What a worker writes to its standard output, which is ours, once the job is in its hands.
pub(super) const READY: u8 = b'r';

/// Bytes that are shown of what a worker says that does not begin.
const LOG_BYTES: u64 = 4096;

#[derive(Serialize)]
struct Document<'a> {
    id: &'a JobId,
    tool: &'a str,
}

/// Starts the call in the background, and prints the id of the job.
///
/// What keeps the call from starting is told here, with the exit code of the call; then there is no job.
pub(super) fn start(
    args: &Call,
    loaded: &Loaded,
    call: &Prepared,
    session: &Session,
) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let plan = runtime.map_err(not_tried)?.block_on(async {
        fail_large_writes(Ignored::of_this_process()).map_err(not_tried)?;
        let ctx = CallContext::new();
        let ctx = args.timeout.into_iter().fold(ctx, CallContext::with_timeout);
        // No worker makes a call that cannot take place, so it is recorded here.
        let end = async |end| call.clone().end(&CallContext::new(), end).await;
        match call.plan(&ctx).await {
            Ok(plan) => {
                if let Some(early) = plan.early_end() {
                    let _ = end(early).await;
                }
                Ok(plan)
            }
            Err(err) => match end(Err(err)).await {
                Err(err) => Err(advice::not_called(loaded, call, err)),
                Ok(_) => unreachable!("it is the error of this branch"),
            },
        }
    })?;
    if let Some(exit) = told(args, plan, loaded, session)? {
        if exit == Exit::Invalid {
            correct(args, call, session);
        }
        return Ok(exit);
    }
    let surroundings = session.surroundings()?;
    let store = store(session)?;
    let new = store.create(&args.name, call.input()).map_err(not_recorded)?;
    let id = new.id().clone();
    let mut words = session.source_words();
    words.extend(["keep-job".into(), "--dir".into(), surroundings.current_dir.into_os_string()]);
    words.extend(args.sandbox.iter().flat_map(|it| ["--sandbox".into(), it.into()]));
    let timeout = args.timeout.map(|it| it.as_secs_f64().to_string());
    words.extend(timeout.into_iter().flat_map(|it| ["--timeout".into(), it.into()]));
    let limit = args.output_limit.map(|it| it.to_string());
    words.extend(limit.into_iter().flat_map(|it| ["--output-limit".into(), it.into()]));
    words.push(id.as_str().into());

    match worker(&new, words, session) {
        Ok(worker) => await_worker(worker, new, &store)?,
        Err(err) => {
            new.discard();
            return Err(not_tried(err));
        }
    }
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document { id: &id, tool: &args.name })?;
    } else {
        screen.answer(format!("{id}\n"))?;
    }
    Ok(Exit::Ok)
}

/// The user's jobs.
pub(crate) fn store(session: &Session) -> Result<JobStore, Stop> {
    let surroundings = session.surroundings()?;
    JobStore::of(&surroundings.places).ok_or_else(|| {
        Stop::new(Why::Failed, "there is no state directory to keep jobs in")
            .with_help("set HOME or XDG_STATE_HOME")
    })
}

/// Tells what would keep the call from starting, where there is something, and gives the exit code.
fn told(args: &Call, plan: Plan, loaded: &Loaded, session: &Session) -> Result<Option<Exit>, Stop> {
    let Plan { violations, ended, refused, preview, .. } = plan;
    let result = violations.map(|it| it.into_result()).or(ended);
    if let Some(result) = result {
        let exit = Exit::of(&Ending::Called { result: &result, signal: None });
        return report::show(&args.name, Made::new(result, exit), session).map(Some);
    }
    if let Some(reason) = refused {
        return Err(loaded.not_called(reason.into()));
    }
    let Some(Problem { kind, text, .. }) = preview.and_then(|it| it.problems.into_iter().next())
    else {
        return Ok(None);
    };
    let ending = Ending::DryRun { is_refused: false, is_invalid: false, problem: Some(kind) };
    Err(Stop::of(&ending, tame(&text)))
}

fn not_recorded(err: JobError) -> Stop {
    Stop::new(Why::Failed, chain(&err))
}

/// A process that keeps the job, and the reader of its standard output.
struct Starting {
    process: Child,
    stdout: io::PipeReader,
}

/// Starts the worker of a job: this program once more. It holds none of our streams, so that a reader of ours sees
/// their end when we end.
fn worker(new: &NewJob, words: Vec<std::ffi::OsString>, session: &Session) -> io::Result<Starting> {
    let (stdout, writer) = io::pipe()?;
    let streams = [new.lock()?, OwnedFd::from(writer), new.log()?];
    let spec = DetachedSpec::new(own_program()?, streams)
        .name("flyto")
        .args(words)
        .env(session.env().clone());
    Ok(Starting { process: start_detached(spec)?, stdout })
}

/// The file of this program. One that was replaced or removed since is still there under the name of the process's own.
fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let own = PathBuf::from("/proc/self/exe");
    Ok(if path.exists() || !own.exists() { path } else { own })
}

/// Waits until the worker has the job in its hands, and listens.
fn await_worker(worker: Starting, new: NewJob, store: &JobStore) -> Result<(), Stop> {
    let Starting { mut process, mut stdout } = worker;
    let mut said = [0];
    if matches!(stdout.read(&mut said), Ok(1)) && said[0] == READY {
        return Ok(());
    }
    let mut log = String::new();
    let path = store.dir().join(new.id().as_str()).join("log");
    if let Ok(file) = File::open(path) {
        let _ = file.take(LOG_BYTES).read_to_string(&mut log);
    }
    // Its standard output is closed, so it has ended, or is about to.
    let ended = process.wait().map_or_else(|err| err.to_string(), |it| it.to_string());
    new.discard();
    let stop = Stop::new(Why::Failed, format!("the worker of the job ended at once: {ended}"));
    let log = log.trim();
    Err(if log.is_empty() { stop } else { stop.with_help(format!("it said: {}", tame(log))) })
}
