//! `undo`: calls are taken back, each by one call of its inverse tool.

use std::sync::Arc;
use std::time::SystemTime;

use flyto_host::undo::{UndoError, UndoRecord, UndoState, UndoStore, UnusableRecord};
use flyto_tools::{CallContext, CallId, CancellationToken};
use serde::Serialize;
use serde_json::Value;

use super::cancelling::Cancelling;
use super::checkpoint::AtTerminal;
use super::elicitation::AsksAtTerminal;
use super::status::Status;
use super::{Made, check_descriptors, not_tried, report, settled};
use crate::args::Undo;
use crate::commands::by_flyto;
use crate::exit::{Ending, Exit, Why};
use crate::session::{Answers, Backend, Loaded, Session};
use crate::stop::{Stop, chain};
use crate::table::Table;
use crate::words::{age, one_line};

pub(crate) fn undo(args: &Undo, session: &Session) -> Result<Exit, Stop> {
    let surroundings = session.surroundings()?;
    let store = UndoStore::of(&surroundings.places).ok_or_else(|| {
        Stop::new(Why::Failed, "there is no state directory with calls to undo")
            .with_help("set HOME or XDG_STATE_HOME")
    })?;
    if args.list {
        return list(&store, session);
    }
    let records = named(&args.calls, &store)?;
    let status = Arc::new(Status::new("undo", &session.screen));
    let elicitation = AsksAtTerminal::for_a_person(session.screen, &status);
    let answers = Answers { elicitation, ..Answers::default() };
    let loaded =
        session.load_with(
            None,
            Backend::Used,
            answers,
            |host, rules_file| match AtTerminal::new(session.screen, status, rules_file) {
                Ok(handler) => host.checkpoint_handler(handler),
                Err(why) => host.no_checkpoint_handler(why),
            },
        )?;
    check_descriptors().map_err(not_tried)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(not_tried)?.block_on(undo_all(&records, &store, &loaded, session))
}

/// The records of these calls, the latest first; without names, the latest that can be undone.
fn named(calls: &[String], store: &UndoStore) -> Result<Vec<UndoRecord>, Stop> {
    if calls.is_empty() {
        let latest = store.next().map_err(|err| {
            let is_of_call = matches!(err, UndoError::Unsure { .. } | UndoError::Unusable { .. });
            let older = store.latest().ok().flatten().filter(|_| is_of_call);
            let stop = failed(err);
            match older {
                Some(older) => {
                    let undo = by_flyto(["undo", &older.id]);
                    stop.with_help(format!("{undo} undoes the call before it"))
                }
                None => stop,
            }
        })?;
        return latest.map(|it| vec![it]).ok_or_else(|| {
            Stop::new(Why::Missing, "there is no call that can be undone")
                .with_help("`flyto undo --list` shows those that were")
        });
    }
    let found: Result<Vec<_>, _> = calls.iter().map(|it| store.find(it)).collect();
    let mut res = found.map_err(failed)?;
    // Before any of them is undone.
    res.iter().try_for_each(UndoRecord::check).map_err(failed)?;
    let latest_first = store.list().map_err(failed)?.records;
    let place = |id: &str| latest_first.iter().position(|it| it.id == id);
    res.sort_by_key(|it| place(&it.id));
    res.dedup_by(|a, b| a.id == b.id);
    Ok(res)
}

/// Why nothing was undone.
fn failed(err: UndoError) -> Stop {
    let stop = Stop::of(&Ending::NotUndone(&err), chain(&err));
    match err {
        UndoError::NotFound { .. } => stop.with_help("`flyto undo --list` shows the calls"),
        UndoError::Ambiguous { .. } => stop.with_help("write more of the id"),
        UndoError::Unsure { .. } => stop.with_help(LOOK),
        _ => stop,
    }
}

/// What came of one undoing, for programs.
#[derive(Serialize)]
struct Undone {
    id: String,
    what: String,
    /// The id of the inverse call.
    by: String,
    /// What the record says now: `undone`, `open`, `unsure`.
    #[serde(flatten)]
    state: UndoState,
    /// The inverse call, as `call` shows it.
    call: Value,
}

#[derive(Serialize)]
struct Document {
    undone: Vec<Undone>,
}

/// Undoes one call after the other, until one is not undone.
async fn undo_all(
    records: &[UndoRecord],
    store: &UndoStore,
    loaded: &Loaded,
    session: &Session,
) -> Result<Exit, Stop> {
    let cancellation = CancellationToken::new();
    let mut signals = Cancelling::listen(cancellation.clone())?;
    let mut document = Document { undone: Vec::new() };
    let mut res = Ok(Exit::Ok);
    for record in records {
        let one = undo_one(record, store, loaded, &mut signals, &cancellation);
        let (made, state, by) = match one.await {
            Ok(undone) => undone,
            Err(stop) => {
                res = Err(stop);
                break;
            }
        };
        let exit = made.exit;
        let is_undone = matches!(state, UndoState::Undone { .. });
        let (tool, what) = (&record.undo.tool, record.undo.what.clone());
        if session.screen.is_json() {
            let call = serde_json::to_value(report::document(tool, &made));
            let call = call.map_err(Stop::internal)?;
            document.undone.push(Undone { id: record.id.clone(), what, by, state, call });
        } else {
            report::show(tool, made, session)?;
            let (id, what) = (one_line(&record.id), one_line(&what));
            session.screen.note(match state {
                UndoState::Undone { .. } => format!("undone: {id}: {what}"),
                UndoState::Unsure { .. } => format!("may have been undone: {id}: {what}"),
                _ => format!("not undone: {id}: {what}"),
            });
        }
        if !is_undone {
            res = Ok(exit);
            break;
        }
    }
    match cancellation.is_cancelled() {
        true => signals.drive(loaded.abort()).await?,
        false => signals.drive(loaded.close()).await?,
    }
    if session.screen.is_json() && (res.is_ok() || !document.undone.is_empty()) {
        session.screen.document(&document)?;
    }
    res
}

/// Undoes one call. The record is marked before its inverse call and after it; where this is dropped between the two, it
/// says that the call may have been undone.
async fn undo_one(
    record: &UndoRecord,
    store: &UndoStore,
    loaded: &Loaded,
    signals: &mut Cancelling,
    cancellation: &CancellationToken,
) -> Result<(Made, UndoState, String), Stop> {
    let by = CallId::next();
    let undoing = store.begin(&record.id, &by).map_err(failed)?;
    let call = match undoing.prepare(&loaded.host) {
        Ok(call) => call,
        Err(err) => {
            let ctx = CallContext::new().with_id(by);
            let state = undoing.missing(&loaded.host, &ctx, &err).await.map_err(failed)?;
            return Err(with_state(loaded.not_called(err), &state, record));
        }
    };
    let ctx = CallContext::new().with_id(by.clone()).with_cancellation(cancellation.clone());
    let report = signals.drive(call.clone().run_reported(&ctx)).await?;
    let state = undoing.finish(&report).map_err(|err| {
        let what = "the inverse call was made, and that could not be recorded";
        Stop::new(Why::Failed, format!("{what}: {}", chain(&err)))
    })?;
    let made = settled(report, loaded, &call, call.outline(), signals.first);
    let made = made.map_err(|stop| with_state(stop, &state, record))?;
    Ok((made, state, by.to_string()))
}

/// Says what the record says after an inverse call without a result.
fn with_state(stop: Stop, state: &UndoState, record: &UndoRecord) -> Stop {
    let id = &record.id;
    match state {
        UndoState::Open => {
            let undo = by_flyto(["undo", id]);
            stop.with_help(format!("the call was not undone; {undo} tries it again"))
        }
        UndoState::Undone { .. } => {
            let what = one_line(&record.undo.what);
            stop.with_help(format!(
                "the call was undone ({what}); only the result of its inverse is withheld"
            ))
        }
        _ => stop.with_help(format!("the call may have been undone; {LOOK}")),
    }
}

/// What to do about a call that may have been undone.
const LOOK: &str = "look whether it was; `flyto undo --list --format json` shows the inverse call, which `flyto call` makes";

#[derive(Serialize)]
struct List {
    calls: Vec<UndoRecord>,
    /// Files that have the name of a record and are none.
    unusable: Vec<UnusableRecord>,
}

fn list(store: &UndoStore, session: &Session) -> Result<Exit, Stop> {
    let list = store.list().map_err(failed)?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&List { calls: list.records, unusable: list.unusable })?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(["CALL", "TOOL", "AGE", "STATE", "UNDO"]);
    for it in &list.records {
        let ago = SystemTime::now().duration_since(it.at).unwrap_or_default();
        let state = match &it.state {
            UndoState::Open => "can be undone".to_owned(),
            UndoState::Undone { by, .. } => format!("undone by {}", one_line(by)),
            _ => "may have been undone".to_owned(),
        };
        let what = match &it.undoes {
            Some(id) => format!("{} (undid {})", it.undo.what, id),
            None => it.undo.what.clone(),
        };
        table.row([one_line(&it.id), one_line(&it.tool), age(ago), state, one_line(&what)]);
    }
    if !list.records.is_empty() {
        screen.answer(table.draw(screen.stdout))?;
    } else if list.unusable.is_empty() {
        screen.note("there are no calls that can be undone");
    }
    for it in &list.unusable {
        let path = one_line(&it.path.to_string_lossy());
        screen.note(format_args!("no usable record: {path}: {}", one_line(&it.why)));
    }
    Ok(Exit::Ok)
}
