//! Proposals of a session that wait for a person, who may answer in another process.
//!
//! A proposal that waits has a place among the tools that the session may make. It keeps the place when a person approves it, and
//! gives it back when a person denies it. The answer is in the log of events, which all processes share:
//!
//! | event | what it says of a proposal that waits |
//! | --- | --- |
//! | `denied` with its id | a person denied it: the place is free, and the agent is told the reason |
//! | `registered` with its hash | a person approved it: it is one of the tools that the session made |
//! | none | it waits, or what a person made of it is not known: it keeps its place |
//!
//! Only events since it began to wait count, since the same text may have been denied before.

use flyto_audit::{AuditError, Filter, Reader, Record, Timestamp};

use super::{
    Proposal, ToolBuilder,
    build::{Denial, Session, Waits},
};
use crate::{DefinitionHash, Store, StoreError, store::MAX_EVENTS_BYTES};

impl Session {
    /// How many of the tools that it may make are taken.
    pub(super) fn n_taken(&self) -> u32 {
        self.n_applied.saturating_add(self.n_waiting())
    }

    /// How many of these wait for a person, in this process or for one that answers in another.
    pub(super) fn n_waiting(&self) -> u32 {
        u32::try_from(self.waits.len()).unwrap_or(u32::MAX).saturating_add(self.n_deciding)
    }

    /// Whether a proposal has a place already, since it waits.
    pub(super) fn has_place(&self, proposal: &Proposal) -> bool {
        proposal.waits_as.as_ref().is_some_and(|id| self.waits.contains_key(id))
    }

    /// Counts a tool that was made, of the proposal with this id where it waited. A text that waits as well has its place.
    pub(super) fn made(&mut self, waited: Option<String>, saved: Option<DefinitionHash>) {
        let of_text = |(_, it): &(&String, &Waits)| Some(it.hash) == saved;
        let id = waited.or_else(|| self.waits.iter().find(of_text).map(|(id, _)| id.clone()));
        if let Some(id) = id {
            // Where it is gone, the log of events told of the approval first.
            if self.waits.remove(&id).is_none() {
                return;
            }
        }
        self.n_applied += 1;
    }

    /// Gives a proposal a place. The same text has one.
    pub(super) fn wait(&mut self, id: &str, hash: DefinitionHash, since: Timestamp) {
        self.waits.entry(id.to_owned()).or_insert(Waits { hash, since });
    }

    /// Takes an event of the log into account.
    fn take(&mut self, record: &Record) {
        let text = |key: &str| record.body[key].as_str();
        match (record.event.as_str(), text("id")) {
            ("denied", Some(id)) => {
                if let Some(waits) = self.waits.get(id).filter(|it| it.since <= record.at) {
                    *self.denied.entry(waits.hash).or_default() += 1;
                    self.waits.remove(id);
                    let reason = text("reason").filter(|it| !it.is_empty()).map(str::to_owned);
                    self.denials.push(Denial { id: id.to_owned(), reason, is_told: false });
                }
            }
            ("registered", _) => {
                let is_it = |it: &Waits| {
                    it.since <= record.at && text("sha256") == Some(&it.hash.to_string())
                };
                let id = self.waits.iter().find(|(_, it)| is_it(it)).map(|(id, _)| id.clone());
                if id.is_some() {
                    self.made(id, None);
                }
            }
            _ => {}
        }
    }
}

/// The place of a proposal among the tools of its session while it is decided, so that proposals that are decided at one time
/// make no more tools than the session may have. One whose future is dropped gives it back.
#[derive(Debug)]
pub(super) struct Place<'a> {
    builder: &'a ToolBuilder,
    /// Whether it is one that the proposal has already, since it waits.
    pub(super) is_of_waiting: bool,
    /// The id of a proposal that waits only while its call asks about it.
    pub(super) kept: Option<String>,
}

impl<'a> Place<'a> {
    pub(super) fn of_waiting(builder: &'a ToolBuilder) -> Self {
        Self { builder, is_of_waiting: true, kept: None }
    }

    pub(super) fn new(builder: &'a ToolBuilder, session: &mut Session) -> Self {
        session.n_deciding += 1;
        Self { builder, is_of_waiting: false, kept: None }
    }

    /// The proposal waits as this one from now on, or waited as it before.
    pub(super) fn keep(&mut self, id: &str, waited: bool) {
        if !self.is_of_waiting {
            self.builder.session().n_deciding -= 1;
        }
        self.is_of_waiting = true;
        self.kept = Some(id.to_owned()).filter(|_| !waited);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_of_waiting {
            self.builder.session().n_deciding -= 1;
        }
    }
}

impl ToolBuilder {
    /// Learns which proposals of the session were answered since they began to wait. Where the log cannot be read, all of
    /// them keep their places.
    pub(crate) async fn learn_answers(&self) {
        let since = self.session().waits.values().map(|it| it.since).min();
        let Some(since) = since else { return };
        let read = self.blocking(move |store| answers(store, since)).await;
        let mut session = self.session();
        read.iter().flatten().for_each(|it| session.take(it));
    }

    /// What was denied after it had waited: all of it, or what the agent was not told yet. It counts as told then.
    pub(crate) fn denials(&self, all: bool) -> Vec<Denial> {
        let mut session = self.session();
        let found = session.denials.iter_mut().filter(|it| all || !it.is_told);
        found
            .map(|it| {
                it.is_told = true;
                it.clone()
            })
            .collect()
    }
}

/// The events since then that may be answers, the oldest first. A line that cannot be read is none.
fn answers(store: &Store, since: Timestamp) -> Result<Vec<Record>, StoreError> {
    let reader = Reader::open(store.events_dir())?.newest_first().look_back(MAX_EVENTS_BYTES);
    let mut res = Vec::new();
    for record in reader.filter(Filter::default().with_since(since)).records()? {
        match record {
            Ok(it) if matches!(it.event.as_str(), "denied" | "registered") => res.push(it),
            Ok(_) | Err(AuditError::NoRecord { .. }) => {}
            Err(err) => return Err(err.into()),
        }
    }
    res.reverse();
    Ok(res)
}
