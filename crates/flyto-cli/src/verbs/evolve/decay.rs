//! `evolve decay`: tools that are not used any more.

use std::time::Duration;

use flyto_evolve::{Decay, DecayPolicy, DecayStep};
use serde::Serialize;

use super::decide::working;
use crate::args::evolve::Decay as Args;
use crate::commands::by_evolve;
use crate::evolve::{failed, person, refused};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::words::one_line;

#[derive(Serialize)]
struct Document<'a> {
    dry_run: bool,
    tools: &'a [DecayStep],
}

pub(super) fn run(args: &Args, session: &Session) -> Result<Exit, Stop> {
    let days = |n: u32| Duration::from_secs(u64::from(n) * 24 * 60 * 60);
    let policy = DecayPolicy::new(days(args.stale_after), days(args.archive_after));
    let loaded = super::load(session)?;
    let builder = &super::joined(&loaded, session)?.builder;
    let by = person(session.env());
    let archive_by = (!args.dry_run).then_some(&*by);
    let steps = working()?.block_on(builder.decay(&policy, archive_by)).map_err(refused)?;
    let screen = session.screen;
    if let Some(since) = builder.store().counted_since().map_err(failed)? {
        screen.note(format_args!(
            "calls before {since} are not known: no tool counts as unused from before then"
        ));
    }
    if screen.is_json() {
        screen.document(&Document { dry_run: args.dry_run, tools: &steps })?;
        return Ok(Exit::Ok);
    }
    if steps.is_empty() {
        screen.note("every tool of an agent is in use, pinned or needed by another tool");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(["NAME", "UNUSED DAYS", "STATE"]);
    for it in &steps {
        let state = match (it.decay, args.dry_run) {
            (Decay::Archive, true) => "would be archived",
            (Decay::Archive, false) => "archived",
            _ => "stale",
        };
        table.row([one_line(&it.name), it.unused_days.to_string(), state.to_owned()]);
    }
    screen.answer(table.draw(screen.stdout))?;
    if !args.dry_run && steps.iter().any(|it| it.decay == Decay::Archive) {
        let [restore, pin] = ["restore", "pin"].map(|it| by_evolve([it, "NAME"]));
        screen.note(format_args!("{restore} brings one back, and {pin} keeps it"));
    }
    Ok(Exit::Ok)
}
