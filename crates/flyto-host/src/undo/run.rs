//! Undoing: the inverse call, between two marks of the record.

use std::time::SystemTime;

use flyto_tools::{CallContext, CallId, Failure, Input, ToolErrorKind, ToolResult};

use super::{RecordFile, UndoError, UndoRecord, UndoState, UndoStore};
use crate::{
    error::CallError,
    host::Host,
    prepared::Prepared,
    stages::{CallReport, MissingCall, ToolRun},
};

/// An undoing that has begun: its record says so.
///
/// [`prepare`](Self::prepare) gives the inverse call, and [`finish`](Self::finish) takes what came of it. Where this
/// value is dropped before, as by a process that dies, the record goes on to say that the call may have been undone.
#[derive(Debug)]
#[must_use = "the record says that an inverse call runs"]
pub struct Undoing {
    store: UndoStore,
    record: UndoRecord,
    by: CallId,
}

impl UndoStore {
    /// Undoes a call: begins, calls the inverse tool through all stages of the host, and records what came of it.
    ///
    /// The id of `ctx` is that of the inverse call. A result with a failure is given as such; what the record says then
    /// is in the table of the [module](super). Several calls are undone in the reverse of their order by undoing
    /// one after the other.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find); [`UndoError::AlreadyUndone`] and [`UndoError::Unsure`], where nothing is called;
    /// [`UndoError::Call`] where the inverse call gave no result, with what the record says then; [`UndoError::Io`] where a mark cannot be written. Where
    /// that is the second one, the inverse call was made, and the record says that it has begun.
    pub async fn undo(
        &self,
        host: &Host,
        id: &str,
        ctx: &CallContext,
    ) -> Result<ToolResult, UndoError> {
        let undoing = self.begin(id, ctx.id())?;
        let id = undoing.record.id.clone();
        let (result, state) = match undoing.prepare(host) {
            Ok(call) => {
                let report = call.run_reported(ctx).await;
                let state = undoing.finish(&report)?;
                (report.result, state)
            }
            Err(err) => {
                let state = undoing.missing(host, ctx, &err).await?;
                (Err(err), state)
            }
        };
        result.map_err(|err| UndoError::Call { id, state, source: Box::new(err) })
    }

    /// Marks a call: from now on it may have been undone, by the call `by`. Of several processes that begin at the same
    /// time, one does.
    ///
    /// # Errors
    ///
    /// Those of [`undo`](Self::undo) before the inverse call.
    pub fn begin(&self, id: &str, by: &CallId) -> Result<Undoing, UndoError> {
        let id = self.find(id)?.id;
        let _lock = self.lock()?;
        let mut record = self.find(&id)?;
        record.check()?;
        record.state = UndoState::Begun { at: SystemTime::now(), by: by.to_string() };
        self.write(&self.dir.join(&record.name), &RecordFile::of(&record))?;
        Ok(Undoing { store: self.clone(), record, by: by.clone() })
    }
}

impl UndoRecord {
    /// Whether it can be undone.
    ///
    /// # Errors
    ///
    /// [`UndoError::AlreadyUndone`], [`UndoError::Unsure`].
    pub fn check(&self) -> Result<(), UndoError> {
        let id = self.id.clone();
        match self.state.clone() {
            UndoState::Open => Ok(()),
            UndoState::Undone { at, by } => Err(UndoError::AlreadyUndone { id, at, by }),
            UndoState::Begun { at, by } => {
                let why = "an undoing of it began, and runs or was interrupted".to_owned();
                Err(UndoError::Unsure { id, at, by, why })
            }
            UndoState::Unsure { at, by, why } => {
                let why = format!("an undoing of it ended early ({why})");
                Err(UndoError::Unsure { id, at, by, why })
            }
        }
    }
}

impl Undoing {
    /// The record, as it was when the undoing began.
    #[must_use]
    pub fn record(&self) -> &UndoRecord {
        &self.record
    }

    /// The id under which the inverse call is to be made.
    #[must_use]
    pub fn by(&self) -> &CallId {
        &self.by
    }

    /// The inverse call. Its [`undoes`](Prepared::undoes) names the record.
    ///
    /// # Errors
    ///
    /// The inverse tool is not there any more, may not be used, or is [another one](super::InverseTool) than the record
    /// names. [`missing`](Self::missing) takes the error.
    pub fn prepare(&self, host: &Host) -> Result<Prepared, CallError> {
        let undo = &self.record.undo;
        let call = host.prepare(&undo.tool, Input::from_value(undo.input.clone()))?;
        if let Some(inverse) = &self.record.inverse {
            inverse.check(&call)?;
        }
        Ok(call.undoing(&self.record.id))
    }

    /// Ends an undoing of which [`prepare`](Self::prepare) found no inverse tool: the record is as it was, and the stages of
    /// the host are told, so that the log has the call.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish).
    pub async fn missing(
        self,
        host: &Host,
        ctx: &CallContext,
        err: &CallError,
    ) -> Result<UndoState, UndoError> {
        let undo = &self.record.undo;
        let input = Input::from_value(undo.input.clone());
        let call = MissingCall::new(&undo.tool, ctx, err).input(&input).undoing(&self.record.id);
        host.missing(call).await;
        self.finish_with(Effect::None)
    }

    /// Records what came of the inverse call, and gives what the record says now. What counts is what the tool did, also
    /// where a later stage withheld its result.
    ///
    /// # Errors
    ///
    /// [`UndoError::Io`] where it cannot be written. Then the record goes on to say that the undoing has begun.
    pub fn finish(self, report: &CallReport) -> Result<UndoState, UndoError> {
        self.finish_with(effect(report))
    }

    fn finish_with(self, effect: Effect) -> Result<UndoState, UndoError> {
        let Self { store, mut record, by } = self;
        let (at, by) = (SystemTime::now(), by.to_string());
        record.state = match effect {
            Effect::Done => UndoState::Undone { at, by },
            Effect::None => UndoState::Open,
            Effect::Unknown(why) => UndoState::Unsure { at, by, why },
        };
        let _lock = store.lock()?;
        store.write(&store.dir.join(&record.name), &RecordFile::of(&record))?;
        Ok(record.state)
    }
}

/// What the inverse call has done.
enum Effect {
    Done,
    None,
    /// It was ended early: how.
    Unknown(String),
}

fn effect(report: &CallReport) -> Effect {
    match (&report.tool_run, &report.result) {
        (ToolRun::Ended { failure }, _) => of_failure(failure.as_ref()),
        (ToolRun::NotTried { kind: ToolErrorKind::Internal, why }, _) => {
            Effect::Unknown(why.clone())
        }
        (ToolRun::NotTried { .. }, _) => Effect::None,
        (ToolRun::Begun, _) => Effect::Unknown("how its tool ended is not known".to_owned()),
        // A stage of the host's own answered in place of the tool.
        (ToolRun::NotReached, Ok(result)) if report.ended_in.is_none() => {
            of_failure(result.failure.as_ref())
        }
        (ToolRun::NotReached, _) => Effect::None,
    }
}

fn of_failure(failure: Option<&Failure>) -> Effect {
    match failure {
        None => Effect::Done,
        Some(
            Failure::BadInput
            | Failure::Denied
            | Failure::Environment { .. }
            | Failure::NotStarted
            | Failure::ExitCode { .. }
            | Failure::Reported { .. },
        ) => Effect::None,
        Some(failure) => Effect::Unknown(failure.to_string()),
    }
}
