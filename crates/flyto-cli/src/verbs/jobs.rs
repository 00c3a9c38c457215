//! `jobs`: calls in the background.

use std::io::Read as _;
use std::time::{Duration, SystemTime};

use flyto_host::jobs::{Job, JobError, JobId, JobState, JobStore, JobStream, UnusableJob};
use flyto_tools::ToolResult;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use self::follow::Follow;
use crate::args::{Jobs, JobsOutput, JobsRemove, JobsResult, JobsWhat};
use crate::call::{job_store, show_recorded};
use crate::exit::{Ending, Exit, Why};
use crate::screen::Screen;
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::table::{Table, facts};
use crate::words::{age, bytes, one_line, tame, time};

mod follow;

/// How long `cancel` waits for the end: the longest grace of a usual tool, several times over.
const CANCEL_WAIT: Duration = Duration::from_secs(60);

/// Bytes of an input that are shown to people, and to programs.
const SHOWN_INPUT_BYTES: usize = 2 * 1024;
const MAX_INPUT_BYTES: u64 = 64 * 1024;

pub(super) fn run(args: &Jobs, session: &Session) -> Result<Exit, Stop> {
    let store = job_store(session)?;
    let find = |id: &str| store.find(id).map_err(|err| failed(err, &store));
    match &args.what {
        JobsWhat::List(_) => list(&store, session),
        JobsWhat::Status(args) => status(&find(&args.id)?, &store, session),
        JobsWhat::Output(args) => output(args, &find(&args.id)?, &store, session),
        JobsWhat::Result(args) => result(args, find(&args.id)?, &store, session),
        JobsWhat::Cancel(args) => cancel(find(&args.id)?, &store, session),
        JobsWhat::Remove(args) => remove(args, &store, session),
    }
}

/// Why nothing can be done with a job.
fn failed(err: JobError, store: &JobStore) -> Stop {
    let stop = Stop::of(&Ending::NoJob(&err), chain(&err));
    match err {
        JobError::NotFound { .. } => stop.with_help("`flyto jobs list` shows the jobs"),
        JobError::Ambiguous { .. } => stop.with_help("write more of the id"),
        JobError::Running { id } => stop.with_help(format!("`flyto jobs cancel {id}` ends it")),
        JobError::Unusable { id, .. } => {
            let dir = store.dir().join(id.as_str()).display().to_string();
            stop.with_help(format!("its files are in {dir}; `flyto jobs remove {id}` removes them"))
        }
        _ => stop,
    }
}

#[derive(Serialize)]
struct List<'a> {
    jobs: &'a [Job],
    /// Entries of the directory that are no jobs.
    unusable: &'a [UnusableJob],
}

fn list(store: &JobStore, session: &Session) -> Result<Exit, Stop> {
    let list = store.list().map_err(|err| failed(err, store))?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&List { jobs: &list.jobs, unusable: &list.unusable })?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(["ID", "TOOL", "STATE", "AGE", "PROGRESS"]);
    for job in &list.jobs {
        let ago = SystemTime::now().duration_since(job.created).unwrap_or_default();
        let progress = Some(job).filter(|it| it.state == JobState::Running).and_then(progress);
        let tool = one_line(&job.tool);
        table.row([job.id.to_string(), tool, state(job), age(ago), progress.unwrap_or_default()]);
    }
    if !list.jobs.is_empty() {
        screen.answer(table.draw(screen.stdout))?;
    } else if list.unusable.is_empty() {
        screen.note("there are no jobs");
    }
    for it in &list.unusable {
        let (name, why) = (one_line(&it.name), one_line(&it.why));
        screen.note(format_args!("no usable job: {name}: {why}"));
    }
    Ok(Exit::Ok)
}

/// `running`, `exit code 3`.
fn state(job: &Job) -> String {
    match (job.state, job.exit_code) {
        (JobState::Running, _) => "running".to_owned(),
        (JobState::Ended, Some(code)) => format!("exit code {code}"),
        (JobState::Ended, None) => "ended".to_owned(),
        _ => "lost".to_owned(),
    }
}

/// `40% reading`.
fn progress(job: &Job) -> Option<String> {
    let it = job.progress.as_ref()?;
    flyto_tools::Progress::new(it.progress, one_line(&it.detail)).map(|it| it.to_string())
}

#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    job: &'a Job,
    /// The input; left out where it is longer than 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    /// The directory with the job's files.
    dir: String,
}

fn status(job: &Job, store: &JobStore, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    let input = store.input(&job.id, MAX_INPUT_BYTES).ok();
    let dir = store.dir().join(job.id.as_str()).display().to_string();
    if screen.is_json() {
        let input = input.and_then(|it| RawValue::from_string(it).ok());
        screen.document(&Status { job, input: input.as_deref(), dir })?;
        return Ok(Exit::Ok);
    }
    let mut rows = vec![("job", job.id.to_string()), ("tool", one_line(&job.tool))];
    let input = input.filter(|it| !it.is_empty());
    rows.extend(input.map(|it| {
        let cut = it.floor_char_boundary(SHOWN_INPUT_BYTES);
        let more = if cut < it.len() { " …" } else { "" };
        ("input", format!("{}{more}", tame(&it[..cut])))
    }));
    let ran = job.duration().map(time);
    rows.push((
        "state",
        match (job.state, ran) {
            (JobState::Running, Some(ran)) => format!("running for {ran}"),
            (JobState::Ended, Some(ran)) => format!("ended after {ran}: {}", state(job)),
            (JobState::Lost, _) => LOST.to_owned(),
            _ => state(job),
        },
    ));
    rows.extend(progress(job).map(|it| {
        let ago = job.progress.as_ref().and_then(|it| it.at.elapsed().ok());
        let ago = ago.map(|it| format!(", {} ago", age(it))).unwrap_or_default();
        ("progress", format!("{it}{ago}"))
    }));
    if job.state == JobState::Running {
        rows.extend(job.worker_pid.map(|it| ("worker", format!("process {it}"))));
    }
    if job.dropped_bytes > 0 {
        rows.push(("not kept", format!("{} of its output", bytes(job.dropped_bytes))));
    }
    rows.extend(job.problem.as_deref().map(|it| ("problem", tame(it))));
    rows.push(("files", one_line(&dir)));
    screen.answer(facts(screen.stdout, &rows))?;
    Ok(Exit::Ok)
}

const LOST: &str = "lost: the worker ended without a result";

#[derive(Serialize)]
struct Output<'a> {
    id: &'a JobId,
    state: JobState,
    stdout: String,
    stderr: String,
    dropped_bytes: u64,
}

fn output(args: &JobsOutput, job: &Job, store: &JobStore, session: &Session) -> Result<Exit, Stop> {
    let screen = session.screen;
    if args.follow {
        Follow::new(job, store, &screen)?.run()?;
        note_lost(&store.find(job.id.as_str()).map_err(|err| failed(err, store))?, &screen);
        return Ok(Exit::Ok);
    }
    let open = |stream| store.output(&job.id, stream).map_err(|err| failed(err, store));
    let (mut stdout, mut stderr) = (open(JobStream::Stdout)?, open(JobStream::Stderr)?);
    let read = |from: &mut std::fs::File| {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(|err| failed(unreadable(&err), store))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    if screen.is_json() {
        let (stdout, stderr) = (read(&mut stdout)?, read(&mut stderr)?);
        let Job { id, state, dropped_bytes, .. } = job;
        let (state, dropped_bytes) = (*state, *dropped_bytes);
        screen.document(&Output { id, state, stdout, stderr, dropped_bytes })?;
        return Ok(Exit::Ok);
    }
    screen.output(stdout)?;
    if !screen.quiet {
        screen.output_beside(&read(&mut stderr)?);
    }
    note_dropped(job, &screen);
    note_lost(job, &screen);
    Ok(Exit::Ok)
}

fn unreadable(err: &std::io::Error) -> JobError {
    JobError::Io { what: "read the output of a job".to_owned(), source: err.kind().into() }
}

/// Says that the output ends where the worker did.
fn note_lost(job: &Job, screen: &Screen) {
    if job.state == JobState::Lost {
        screen.note(format_args!("the job {} was {LOST}", job.id));
    }
}

/// Says what is missing from the output.
fn note_dropped(job: &Job, screen: &Screen) {
    if job.dropped_bytes > 0 {
        let n = bytes(job.dropped_bytes);
        screen.note(format_args!("{n} of the output were not kept; the result may have them"));
    }
}

/// The document of an error, as [`Stop`] writes it.
#[derive(Deserialize)]
struct Failed {
    error: FailedPart,
}

#[derive(Deserialize)]
struct FailedPart {
    message: String,
    exit_code: u8,
    #[serde(default)]
    help: Vec<String>,
}

fn result(
    args: &JobsResult,
    mut job: Job,
    store: &JobStore,
    session: &Session,
) -> Result<Exit, Stop> {
    if args.wait && job.state == JobState::Running {
        store.wait(&job.id, None).map_err(|err| failed(err, store))?;
        job = store.find(job.id.as_str()).map_err(|err| failed(err, store))?;
    }
    let id = &job.id;
    let ending = |recorded| Ending::Job { state: job.state, recorded };
    match job.state {
        JobState::Ended => {}
        JobState::Running => {
            return Err(Stop::of(&ending(None), format!("the job {id} still runs"))
                .with_help("`--wait` waits for its end"));
        }
        _ => {
            let what = format!("the job {id} was {LOST}");
            return Err(Stop::of(&ending(None), what).with_help(
                "how far its call had come is not known; its tool ended with the worker",
            ));
        }
    }
    let text = store.result(id).map_err(|err| failed(err, store))?;
    let document: Value = serde_json::from_str(&text).map_err(|err| torn(id, &err, store))?;
    if let Ok(Failed { error }) = Failed::deserialize(&document) {
        let screen = session.screen;
        let ending = ending(Some(error.exit_code));
        if screen.is_json() {
            screen.complain_json(&text);
            return Ok(Exit::of(&ending));
        }
        let stop = Stop::of(&ending, error.message);
        return Err(error.help.into_iter().fold(stop, Stop::with_help));
    }
    let code = document.get("exit_code").and_then(Value::as_u64);
    let code = code.and_then(|it| u8::try_from(it).ok());
    let exit = Exit::of(&ending(code.or(job.exit_code)));
    if session.screen.is_json() {
        session.screen.document(&document)?;
        return Ok(exit);
    }
    let result = ToolResult::deserialize(&document).map_err(|err| torn(id, &err, store))?;
    let undo_id = document.get("undo_id").and_then(Value::as_str);
    show_recorded(&job.tool, result, undo_id, exit, session)
}

fn torn(id: &JobId, err: &serde_json::Error, store: &JobStore) -> Stop {
    let why = format!("result.json: {err}");
    failed(JobError::Unusable { id: id.clone(), why }, store)
}

#[derive(Serialize)]
struct Cancelled<'a> {
    #[serde(flatten)]
    job: &'a Job,
    /// Whether there was a worker to ask.
    was_running: bool,
}

fn cancel(job: Job, store: &JobStore, session: &Session) -> Result<Exit, Stop> {
    let was_running = store.cancel(&job.id).map_err(|err| failed(err, store))?;
    let has_ended = store.wait(&job.id, Some(CANCEL_WAIT)).map_err(|err| failed(err, store))?;
    if !has_ended {
        let what = format!(
            "the job {} was cancelled, and has not ended within {}",
            job.id,
            time(CANCEL_WAIT)
        );
        return Err(Stop::new(Why::Running, what)
            .with_help("its tool has its grace; `flyto jobs status` tells when it has ended"));
    }
    let job = store.find(job.id.as_str()).map_err(|err| failed(err, store))?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Cancelled { job: &job, was_running })?;
        return Ok(Exit::Ok);
    }
    let (id, state) = (&job.id, state(&job));
    match was_running {
        true => screen.answer(format!("{id} has ended: {state}\n"))?,
        false => screen.note(format_args!("the job {id} had ended before: {state}")),
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Removed<'a> {
    removed: &'a [JobId],
}

fn remove(args: &JobsRemove, store: &JobStore, session: &Session) -> Result<Exit, Stop> {
    let failed = |err| failed(err, store);
    let ids: Vec<JobId> = if args.ended {
        let list = store.list().map_err(failed)?;
        let ended = list.jobs.into_iter().filter(|it| it.state != JobState::Running);
        ended.map(|it| it.id).collect()
    } else {
        let ids: Result<_, _> = args.ids.iter().map(|it| store.resolve(it)).collect();
        ids.map_err(failed)?
    };
    for id in &ids {
        store.remove(id).map_err(failed)?;
    }
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Removed { removed: &ids })?;
    } else {
        let jobs = if ids.len() == 1 { "job" } else { "jobs" };
        screen.note(format_args!("removed {} {jobs}", ids.len()));
    }
    Ok(Exit::Ok)
}
