//! `evolve`: the tools that agents write, for the person that answers for them.

mod change; // versions that are made of earlier ones, pins
mod decay; // tools that are not used
mod decide; // proposals and their answers
mod events; // what happened in the store
mod exchange; // tools from and to other stores
mod list;
mod replay; // versions over recorded calls
mod show; // versions and what differs between them
mod stats;

use flyto_evolve::{Store, StoreError, Version};

use crate::args::evolve::{Evolve, EvolveWhat};
use crate::commands::by_evolve;
use crate::evolve::{Evolved, failed};
use crate::exit::{Exit, Why};
use crate::session::{Backend, Loaded, Session};
use crate::stop::Stop;

pub(super) fn run(args: &Evolve, session: &Session) -> Result<Exit, Stop> {
    match &args.what {
        EvolveWhat::Propose(args) => decide::propose(args, session),
        EvolveWhat::List(_) => list::run(session),
        EvolveWhat::Show(args) => show::show(args, session),
        EvolveWhat::Diff(args) => show::diff(args, session),
        EvolveWhat::History(args) => show::history(&args.name, session),
        EvolveWhat::Approve(args) => decide::approve(args, session),
        EvolveWhat::Deny(args) => decide::deny(args, session),
        EvolveWhat::Acknowledge(args) => change::acknowledge(args, session),
        EvolveWhat::Replay(args) => replay::run(args, session),
        EvolveWhat::Forget(args) => change::forget(args, session),
        EvolveWhat::Rollback(args) => change::roll_back(args, session),
        EvolveWhat::Archive(args) => change::archive(&args.name, session),
        EvolveWhat::Restore(args) => change::restore(&args.name, session),
        EvolveWhat::Pin(args) => change::pin(&args.name, true, session),
        EvolveWhat::Unpin(args) => change::pin(&args.name, false, session),
        EvolveWhat::Decay(args) => decay::run(args, session),
        EvolveWhat::Export(args) => exchange::export(args, session),
        EvolveWhat::Import(args) => exchange::import(args, session),
        EvolveWhat::Events(args) => events::run(args, session),
        EvolveWhat::Stats(args) => stats::run(args.name.as_deref(), session),
    }
}

/// The host, and the store in it. A store that cannot be read is an error here: each verb is about it. What was put in order is
/// told.
fn joined<'a>(loaded: &'a Loaded, session: &Session) -> Result<&'a Evolved, Stop> {
    let evolved = loaded.evolved.as_ref();
    let evolved = evolved.ok_or_else(|| Stop::new(Why::Internal, "the store is not there"))?;
    evolved.recovered_now().into_iter().for_each(|it| session.screen.note(it));
    match &evolved.report {
        Ok(_) => Ok(evolved),
        Err(why) => Err(Stop::new(Why::Failed, why.clone())),
    }
}

/// The host with the tools of the store, where no person is asked.
fn load(session: &Session) -> Result<Loaded, Stop> {
    session.with_evolve_store()?.load(None, Backend::Used)
}

/// A version of a tool, the last one by default.
fn version(store: &Store, name: &str, number: Option<u64>) -> Result<Version, Stop> {
    let found = match number {
        Some(number) => store.version(name, number).map(Some),
        None => store.last(name),
    };
    let missing = || StoreError::NotFound { name: name.to_owned(), version: None };
    let list = |stop: Stop| stop.with_help(format!("{} shows what is there", by_evolve(["list"])));
    found.and_then(|it| it.ok_or_else(missing)).map_err(|err| match &err {
        StoreError::NotFound { version: Some(_), .. } => {
            let history = match store.last(name) {
                Ok(Some(_)) => by_evolve(["history", name]),
                _ => by_evolve(["list"]),
            };
            failed(err).with_help(format!("{history} shows what is there"))
        }
        StoreError::NotFound { .. } => list(failed(err)),
        _ => failed(err),
    })
}
