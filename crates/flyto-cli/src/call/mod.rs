//! `call`: one call of one tool, from the words of the command line to the exit code.

mod background;
mod cancelling;
mod checkpoint;
mod correction; // what to write in place of pairs that break a schema
mod elicitation;
mod form;
pub(crate) mod input;
mod keep;
mod live;
pub(crate) mod report;
pub(crate) mod signals;
mod stages;
mod status;
mod undo;

use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flyto_evolve::Approver;
use flyto_host::permission::{Decision, Verdict};
use flyto_host::stages::{CallReport, Checkpoint, StageTime, names};
use flyto_host::{CallError, Confinement, HostBuilder, MissingGrants, Plan, Prepared, Refusal};
use flyto_tools::{
    CallContext, CancellationToken, Failure, Input, Preview, ProblemKind, Progress, ToolResult,
    Violation,
};
use rustix::io::Errno;
use serde::Serialize;

use self::checkpoint::AtTerminal;
use self::elicitation::AsksAtTerminal;
use self::live::{Live, Shown};
use self::signals::Signals;
use self::status::Status;
pub(crate) use self::{
    background::store as job_store, correction::corrections, keep::keep, undo::undo,
};
use crate::advice;
use crate::args::Call;
use crate::confinement::{self, ConfinementDocument};
use crate::decision;
use crate::evolve;
use crate::exit::{Ending, Exit, Why};
use crate::preview::{self, VariableDocument};
use crate::session::{Answers, Backend, Loaded, Session};
use crate::stop::{Stop, chain};
use crate::table::facts;
use crate::telemetry::Telemetry;
use crate::tool_details;
use crate::words::tame;

pub(crate) fn run(args: &Call, session: &Session) -> Result<Exit, Stop> {
    // A mistake on the command line shows before anything is loaded. stdin is read only for a tool
    // that is there: the words of a person at a terminal are not to be lost.
    let is_from_stdin = args.input.json.as_deref().is_some_and(|it| it == "-");
    let early = if is_from_stdin { None } else { Some(input::input(&args.input, io::empty())?) };
    let status = Arc::new(Status::new(&args.name, &session.screen));
    let approver: Arc<dyn Approver> = match evolve::can_ask(&session.screen) {
        true => Arc::new(evolve::AtTerminal::new(status.clone(), session.env())),
        false => Arc::new(evolve::Later),
    };
    let loaded = load(&status, approver, args.output_limit, args.background, session)?;
    if session.surroundings()?.places.state_dir.is_none() {
        session.screen.note("there is no home directory: no configuration of the user holds, and no call is recorded");
    }
    if let Some(Err(why)) = loaded.evolved.as_ref().map(|it| &it.report) {
        session.screen.note(format_args!("the evolved tools are not there: {}", tame(why)));
    }
    for told in loaded.evolved.iter().flat_map(|it| it.told_by_a_call(&args.name)) {
        session.screen.note(told);
    }
    // It may be why a tool is not there.
    for remark in loaded.config_remarks() {
        session.screen.note(remark);
    }
    loaded.learn(&args.name, &session.screen)?;
    let entry = match args.dry_run {
        true => loaded.find(&args.name)?,
        false => loaded.find_to_call(&args.name, early.as_ref())?,
    };
    let input = match early {
        Some(input) => input,
        None => input::input(&args.input, io::stdin().lock())?,
    };
    let call = loaded.host.prepare_entry(entry, input);
    if args.dry_run {
        return dry_run(args, &loaded, &call, session);
    }
    if args.background {
        return background::start(args, &loaded, &call, session);
    }
    let res = carry_out(&args.name, args.timeout, &loaded, &call, status, session);
    if matches!(res, Ok(Exit::Invalid)) {
        correct(args, &call, session);
    }
    res
}

/// Tells how pairs that break the schema are written otherwise.
fn correct(args: &Call, call: &Prepared, session: &Session) {
    for it in corrections(&args.input.pairs, call.entry().tool().input_schema()) {
        session.screen.note(it);
    }
}

/// `evolve propose --call`: has `apply` make a tool, of which it gives the name, and calls that tool in the same process with this input. At a
/// terminal the person who is asked may let it be called this once.
pub(crate) fn call_proposed(
    json: &OsStr,
    session: &Session,
    apply: impl FnOnce(&Loaded, &Input) -> Result<String, Stop>,
) -> Result<Exit, Stop> {
    // A mistake in it shows before a person is asked.
    let input = input::of_option("--call", json, io::stdin().lock())?;
    let status = Arc::new(Status::new("", &session.screen));
    let approver: Arc<dyn Approver> = match evolve::can_ask(&session.screen) {
        true => Arc::new(evolve::AtTerminal::new(status.clone(), session.env()).before_a_call()),
        false => Arc::new(evolve::Later),
    };
    let session = session.with_evolve_store()?;
    let loaded = load(&status, approver, None, false, &session)?;
    let name = apply(&loaded, &input)?;
    status.begin(&name);
    let entry = loaded.find_to_call(&name, Some(&input))?;
    let call = loaded.host.prepare_entry(entry, input);
    carry_out(&name, None, &loaded, &call, status, &session)
}

/// The host with all sources, for a call that is made at a terminal: a person there is asked what the call asks about.
fn load(
    status: &Arc<Status>,
    approver: Arc<dyn Approver>,
    output_limit: Option<u64>,
    is_in_background: bool,
    session: &Session,
) -> Result<Loaded, Stop> {
    let with = |host: HostBuilder, rules_file| {
        if is_in_background {
            return host.no_checkpoint_handler("a call in the background asks no question");
        }
        match AtTerminal::new(session.screen, Arc::clone(status), rules_file) {
            Ok(handler) => host.checkpoint_handler(handler),
            Err(why) => host.no_checkpoint_handler(why),
        }
    };
    let elicitation =
        AsksAtTerminal::for_a_person(session.screen, status).filter(|_| !is_in_background);
    session.load_with(output_limit, Backend::Used, Answers { approver, elicitation }, with)
}

/// Makes a call, and shows what came of it.
fn carry_out(
    name: &str,
    timeout: Option<Duration>,
    loaded: &Loaded,
    call: &Prepared,
    status: Arc<Status>,
    session: &Session,
) -> Result<Exit, Stop> {
    let telemetry = Telemetry::start(session)?;
    let made = make(timeout, loaded, call, status, session);
    let res = made.and_then(|made| report::show(name, made, session));
    match res {
        // The user does not wait for anything.
        Err(Stop::Killed(_)) => telemetry.abandon(),
        _ => telemetry.finish(&session.screen),
    }
    res
}

/// Shows a result that the worker of a job has recorded, as the call would have shown it.
pub(crate) fn show_recorded(
    name: &str,
    result: ToolResult,
    undo_id: Option<&str>,
    exit: Exit,
    session: &Session,
) -> Result<Exit, Stop> {
    let undo = undo_id.map(|it| Ok(it.to_owned()));
    report::show(name, Made { undo, is_recorded: true, ..Made::new(result, exit) }, session)
}

/// A call that was made.
#[derive(Debug)]
struct Made {
    result: ToolResult,
    exit: Exit,
    /// What was shown while it ran.
    shown: Shown,
    working_dir: Option<String>,
    /// Of a program: what held for it.
    confinement: Option<Confinement>,
    /// Whether the user limited the text.
    is_limited: bool,
    /// How a plugin gets the variables that it lacked.
    lacks: Option<MissingGrants>,
    /// Variables that are set and not granted, in whose place a default stood.
    defaulted: Vec<String>,
    /// The id by which the call can be undone, or why it cannot although there is an inverse call.
    undo: Option<Result<String, String>>,
    /// Whether the result may be shown once more.
    is_recorded: bool,
    /// The time that each stage took, where the document is to have it.
    stages: Vec<StageTime>,
}

impl Made {
    /// A result of which nothing was shown yet.
    fn new(result: ToolResult, exit: Exit) -> Self {
        Self {
            result,
            exit,
            shown: Shown::default(),
            working_dir: None,
            confinement: None,
            is_limited: false,
            lacks: None,
            defaulted: Vec::new(),
            undo: None,
            is_recorded: false,
            stages: Vec::new(),
        }
    }
}

fn make(
    timeout: Option<Duration>,
    loaded: &Loaded,
    call: &Prepared,
    status: Arc<Status>,
    session: &Session,
) -> Result<Made, Stop> {
    let screen = session.screen;
    let plan = call.outline();
    check_descriptors().map_err(not_tried)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(not_tried)?;
    let now = Instant::now();
    let deadline = timeout.map(|it| now + it);
    // A tool whose limit ends later than clocks can tell has none that matters here.
    let own = plan.preview.as_ref().and_then(|it| now.checked_add(it.deadline?));
    let ends = deadline.into_iter().chain(own).min();

    let cancellation = CancellationToken::new();
    let live = Live::new(Arc::clone(&status), ends, cancellation.clone(), !screen.quiet);
    // Its record is told from those of other processes by this.
    let mut ctx = CallContext::new().with_cancellation(cancellation.clone());
    if let Some(timeout) = timeout {
        ctx = ctx.with_timeout(timeout);
    }
    if !screen.is_json() {
        ctx = ctx.with_output(live.clone());
    }
    if status.is_active() {
        let status = Arc::clone(&status);
        ctx = ctx.with_progress(move |progress: Progress| status.progress(&progress));
    }
    let signals = Signals::listen(cancellation.clone(), live.clone()).map_err(not_tried)?;
    let res = runtime.block_on(async {
        let res = drive(call.clone().run_reported(&ctx), &signals, &status).await?;
        if is_in_a_hurry(&res.result) || signals.first().is_some() {
            drive(loaded.abort(), &signals, &status).await?;
        } else {
            // The process of a session has its time to end as well, unless the user cannot wait.
            let close = async {
                tokio::select! {
                    () = loaded.close() => {}
                    () = cancellation.cancelled() => loaded.abort().await,
                }
            };
            drive(close, &signals, &status).await?;
        }
        let uncounted = match &loaded.evolved {
            Some(evolved) => drive(evolved.flush(), &signals, &status).await?,
            None => None,
        };
        Some((res, uncounted))
    });
    let killed = signals.call_ended();
    status.erase();
    let (report, uncounted) = match (res, killed) {
        (Some(it), None) => it,
        // The second signal: neither a result nor a reader of it is waited for.
        (_, Some(number)) => return Err(Stop::Killed(number)),
        (None, None) => return Err(Stop::new(Why::Internal, "the call ended without a report")),
    };
    let shown = live.finish().map_err(Stop::output)?;
    if screen.timed && !screen.is_json() {
        stages::show(&report.stages, &screen);
    }
    if let Some(why) = &uncounted {
        screen.note(tame(why));
    }
    if let Some(why) = &report.unrecorded {
        screen.note(format_args!("the log does not have this call whole: {}", tame(why)));
    }
    for it in &report.secrets {
        screen.note(format_args!(
            "{} holds what looks like a secret, {}",
            it.part,
            tame(&it.found.to_string())
        ));
    }
    // In a document they are a member of it.
    let stages = if screen.timed && screen.is_json() { report.stages.clone() } else { Vec::new() };
    match settled(report, loaded, call, plan, signals.first()) {
        Ok(made) => Ok(Made { shown, stages, ..made }),
        Err(stop) => Err(stop.with_stages(stages)),
    }
}

/// What came of a call, once the processes of sessions have ended as well.
fn settled(
    report: CallReport,
    loaded: &Loaded,
    call: &Prepared,
    plan: Plan,
    signal: Option<u8>,
) -> Result<Made, Stop> {
    let CallReport { result, undo, .. } = report;
    let mut result = result.map_err(|err| advice::not_called(loaded, call, err))?;
    if let Some(execution) = result.execution.as_mut().filter(|_| !loaded.host.unended().is_empty())
    {
        // The process of a session has ended since, with this program's only call.
        execution.confirmed = Some(false);
    }
    // Without an execution no program has seen a default.
    let Plan { preview, confinement, missing, .. } = plan;
    let defaulted = result.execution.as_ref().and(missing.as_ref());
    let defaulted = defaulted.map(|it| it.defaulted.clone()).unwrap_or_default();
    // How the plugin gets the variables for want of which the call failed.
    let lacks_variables = matches!(result.failure, Some(Failure::Environment { .. }));
    let lacks =
        missing.filter(|it| lacks_variables && (it.has_ungranted() || !it.to_set.is_empty()));
    let exit = Exit::of(&Ending::Called { result: &result, signal });
    let working_dir = preview.and_then(|it| it.working_dir);
    let is_limited = loaded.is_limited;
    let undo = undo.map(|it| it.map_err(|err| chain(&err)));
    let made = Made::new(result, exit);
    Ok(Made { working_dir, confinement, is_limited, lacks, defaulted, undo, ..made })
}

/// Whether the call has had all the time that there was. The process of its session gets no more.
fn is_in_a_hurry(res: &Result<ToolResult, CallError>) -> bool {
    let failure = res.as_ref().ok().and_then(|it| it.failure.as_ref());
    matches!(failure, Some(Failure::TimedOut { .. } | Failure::Cancelled))
}

/// Whether there are the descriptors that the runtime takes for itself. It panics where a part of
/// them is missing.
fn check_descriptors() -> io::Result<()> {
    /// Two pollers with their wakers, and the pipe by which signals arrive, make eleven.
    const N_PAIRS: usize = 6;
    let pairs: io::Result<Vec<_>> = (0..N_PAIRS).map(|_| UnixStream::pair()).collect();
    pairs.map(drop)
}

/// The end of a call for which the system has no means, or that failed before it began.
pub(crate) fn not_tried(err: io::Error) -> Stop {
    let help = match Errno::from_io_error(&err) {
        Some(Errno::MFILE) => "raise the limit of open files, as with `ulimit -n 256`",
        Some(Errno::NFILE) => "the whole system has too many files open; end other programs",
        Some(Errno::AGAIN) => "there are too many threads or processes; see `ulimit -u`",
        Some(Errno::PERM) => {
            "no thread can be made: a filter of system calls refuses clone3(2) with EPERM, as that of Docker \
             before 20.10.10 does; run with a newer container engine, or with `--security-opt seccomp=unconfined`"
        }
        _ => return Stop::internal(err),
    };
    Stop::new(Why::Failed, format!("the call cannot be prepared: {err}")).with_help(help)
}

/// Carries the call through. `None`: it was dropped half way.
async fn drive<T>(call: impl Future<Output = T>, signals: &Signals, status: &Status) -> Option<T> {
    let mut ticks = tokio::time::interval(status::PERIOD);
    tokio::pin!(call);
    loop {
        tokio::select! {
            biased;
            res = &mut call => return Some(res),
            () = signals.kill() => return None,
            _ = ticks.tick(), if status.is_active() => status.tick(),
        }
    }
}

#[derive(Serialize)]
struct DryRun<'a> {
    tool: &'a str,
    preview: Option<&'a Preview>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<Vec<VariableDocument>>,
    /// Of a program: what holds for it.
    #[serde(flatten)]
    confinement: Option<ConfinementDocument<'a>>,
    /// How the program of a plugin gets the variables that it lacks.
    #[serde(flatten)]
    lacks: Option<MissingGrants>,
    /// Why the call would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a Refusal>,
    /// A result with which the call would end: its time was over while its input was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a ToolResult>,
    /// What the rules say of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'a Decision>,
    /// The stage that would ask a question before the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<&'static str>,
    /// Where the input breaks the schema; the first of such places.
    violations: &'a [Violation],
}

fn dry_run(args: &Call, loaded: &Loaded, call: &Prepared, session: &Session) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ctx = CallContext::new();
    let ctx = args.timeout.into_iter().fold(ctx, CallContext::with_timeout);
    let plan = runtime
        .map_err(not_tried)?
        .block_on(call.plan(&ctx))
        .map_err(|err| advice::not_called(loaded, call, err))?;
    let Plan {
        tool,
        mut preview,
        refused,
        ended,
        decision,
        violations,
        variables,
        confinement,
        missing,
        ..
    } = plan;
    if let (Some(preview), Some(timeout)) = (&mut preview, args.timeout) {
        preview.deadline = Some(preview.deadline.map_or(timeout, |it| it.min(timeout)));
    }
    if let (Some(preview), Some(_)) = (&mut preview, &violations) {
        // The schema ends the call before a template is filled with such values.
        preview.problems.retain(|it| it.kind != ProblemKind::BadInput);
    }
    let asks = refused.is_none()
        && violations.is_none()
        && ended.is_none()
        && Checkpoint::needs_release(call);
    let screen = session.screen;
    if screen.is_json() {
        let violations = violations.as_ref().map_or(&[][..], |it| &it.shown);
        let variables = variables.map(preview::variable_documents);
        let preview = preview.as_ref();
        let confinement = confinement.as_ref().map(ConfinementDocument::of);
        screen.document(&DryRun {
            tool: &tool,
            preview,
            variables,
            confinement,
            lacks: missing,
            refused: refused.as_ref(),
            ended: ended.as_ref(),
            permission: decision.as_deref(),
            asks: asks.then_some(names::CHECKPOINT),
            violations,
        })?;
    } else {
        let mut rows =
            preview.as_ref().map(|it| preview::facts(it, variables.as_deref())).unwrap_or_default();
        rows.extend(decision.iter().flat_map(|it| decision::facts(it, call.caller())));
        let is_told = decision.is_some_and(|it| it.verdict == Verdict::Deny);
        rows.extend(asks.then(|| ("checkpoint", "the call asks at the terminal first".to_owned())));
        rows.extend(refused.iter().filter(|_| !is_told).map(|it| ("problem", tame(&it.why))));
        rows.extend(confinement.iter().flat_map(confinement::facts));
        rows.extend(missing.iter().flat_map(tool_details::missing_facts));
        rows.extend(violations.as_ref().map(|it| ("input", tame(&it.to_string()))));
        rows.extend(ended.as_ref().map(|it| ("problem", tame(&it.output))));
        screen.answer(facts(screen.stdout, &rows))?;
    }
    if violations.is_some() {
        correct(args, call, session);
    }
    if let Some(ended) = &ended {
        return Ok(Exit::of(&Ending::Called { result: ended, signal: None }));
    }
    let problem = preview.and_then(|it| it.problems.first().map(|it| it.kind));
    Ok(Exit::of(&Ending::DryRun {
        is_refused: refused.is_some(),
        is_invalid: violations.is_some(),
        problem,
    }))
}
