//! `evolve replay`: another version over recorded calls.

use flyto_evolve::{Replay, ReplayCounts, ToolBuilder};
use serde::Serialize;

use super::decide::working;
use crate::args::evolve::Replay as Args;
use crate::evolve::refused;
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::words::{one_line, tame};

/// How many recorded calls a rollback is compared over.
const ROLLBACK_CALLS: usize = 10;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    replay: &'a Replay,
    counts: ReplayCounts,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    let name = &args.name;
    let version = super::version(&store, name, args.version)?.number;
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let replay = builder.replay(name, version, args.calls.into());
    let replay = working()?.block_on(replay).map_err(refused)?;
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document { counts: replay.counts(), replay: &replay })?;
    } else {
        screen.answer(tame(&replay.to_string()))?;
    }
    if replay.is_empty() {
        screen.note(format_args!(
            "no call of {} is recorded; `\"evolve\": {{\"record_calls\": true}}` in your configuration records calls",
            one_line(name)
        ));
    }
    Ok(Exit::Ok)
}

/// What recorded calls say of a rollback to a version.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) replay: Option<Replay>,
    /// The same for people, with how often both versions failed where that speaks for the rollback.
    pub(super) text: String,
}

impl Compared {
    /// Nothing where no call was recorded, or where the comparison fails: the rollback does not depend on it.
    pub(super) async fn of(builder: &ToolBuilder, name: &str, to: u64) -> Self {
        let (replay, text) = match builder.rollback_advice(name).await {
            Ok(Some(advice)) if advice.to == to => (advice.replay.clone(), advice.to_string()),
            _ => match builder.replay(name, to, ROLLBACK_CALLS).await {
                Ok(replay) => (replay.clone(), replay.to_string()),
                Err(_) => return Self::default(),
            },
        };
        if replay.is_empty() {
            return Self::default();
        }
        Self { replay: Some(replay), text: tame(&text) }
    }
}
