//! `evolve stats`: how the versions were used.

use std::collections::{BTreeMap, BTreeSet};

use flyto_evolve::{ToolUsage, Usage, rollback_advice};
use serde::Serialize;

use crate::commands::by_evolve;
use crate::evolve::failed;
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::words::{one_line, time};

#[derive(Serialize)]
struct Document<'a> {
    tools: BTreeMap<&'a str, Tool<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    versions: &'a ToolUsage,
    /// The version to roll back to, where the last one fails more often.
    #[serde(skip_serializing_if = "Option::is_none")]
    roll_back_to: Option<u64>,
    /// The person that pinned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned_by: Option<&'a str>,
}

pub(super) fn run(name: Option<&str>, session: &Session) -> Result<Exit, Stop> {
    let store = session.evolve_store()?;
    if let Some(name) = name {
        super::version(&store, name, None)?;
    }
    let usage = store.usage().map_err(failed)?;
    let pins = store.pins().map_err(failed)?;
    let is_wanted = |it: &&String| name.is_none_or(|name| name == *it);
    // A tool that is pinned and was never called has no versions here.
    let names: BTreeSet<_> = usage.keys().chain(pins.keys()).filter(is_wanted).collect();
    let uncalled = ToolUsage::new();
    let tools = names.into_iter().map(|it| (it, usage.get(it).unwrap_or(&uncalled)));
    let tools: Vec<(&String, &ToolUsage)> = tools.collect();
    let screen = session.screen;
    if screen.is_json() {
        let tools = tools.into_iter().map(|(name, versions)| {
            let roll_back_to = rollback_advice(versions).map(|it| it.1);
            let pinned_by = pins.get(name).map(String::as_str);
            (name.as_str(), Tool { versions, roll_back_to, pinned_by })
        });
        screen.document(&Document { tools: tools.collect() })?;
        return Ok(Exit::Ok);
    }
    if tools.iter().all(|it| it.1.is_empty()) {
        screen.note("no call was counted");
    } else {
        let mut table = Table::new([
            "NAME",
            "VERSION",
            "CALLS",
            "OK",
            "TIMED OUT",
            "HALF",
            "95 %",
            "LAST USED",
        ]);
        for (name, versions) in &tools {
            for (number, it) in *versions {
                table.row(row(name, *number, it));
            }
        }
        screen.answer(table.draw(screen.stdout))?;
    }
    for (name, _) in &tools {
        if let Some(by) = pins.get(*name) {
            screen.note(format_args!("{} is pinned by {}", one_line(name), one_line(by)));
        }
    }
    for (name, versions) in tools {
        if let Some((from, to)) = rollback_advice(versions) {
            screen.note(format_args!(
                "version {from} of {} fails more often than version {to}: {}",
                one_line(name),
                by_evolve(["rollback", name, &to.to_string()])
            ));
        }
    }
    Ok(Exit::Ok)
}

fn row(name: &str, number: u64, usage: &Usage) -> [String; 8] {
    let within = |percent| usage.percentile(percent).map_or_else(|| "-".to_owned(), time);
    [
        one_line(name),
        number.to_string(),
        usage.n_calls.to_string(),
        usage.n_ok.to_string(),
        usage.n_timed_out.to_string(),
        within(50),
        within(95),
        one_line(&usage.last_used),
    ]
}
