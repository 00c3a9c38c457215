//! `evolve events`: what happened in the store, as its chained log has it.

use std::path::Path;

use flyto_audit::{AuditError, Record};
use serde::Serialize;

use crate::args::evolve::Events;
use crate::commands::by_evolve;
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::verbs::audit;
use crate::words::{counted, one_line};

#[derive(Serialize)]
struct Document {
    /// The newest last.
    events: Vec<Record>,
    /// Whether there are older ones.
    has_more: bool,
    /// Lines that are no records, of those that were read.
    unreadable_lines: usize,
}

pub(super) fn run(args: &Events, session: &Session) -> Result<Exit, Stop> {
    let dir = session.evolve_store()?.dir().join("events");
    let missing = |dir: &Path| {
        let dir = one_line(&dir.to_string_lossy());
        format!("nothing was recorded yet: there is no log in {dir}")
    };
    if args.verify {
        return audit::verify(&dir, &args.heads, missing, session);
    }
    let screen = session.screen;
    let mut document = Document { events: Vec::new(), has_more: false, unreadable_lines: 0 };
    let Some(reader) = audit::reader(&dir)? else {
        match screen.is_json() {
            true => screen.document(&document)?,
            false => screen.note(missing(&dir)),
        }
        return Ok(Exit::Ok);
    };
    let mut records = reader.newest_first().records().map_err(|err| audit::not_read(&err))?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    for record in records.by_ref() {
        let record = match record {
            Ok(record) => record,
            Err(AuditError::NoRecord { .. }) => {
                document.unreadable_lines += 1;
                continue;
            }
            Err(err) => return Err(audit::not_read(&err)),
        };
        if args.name.as_ref().is_some_and(|name| tool(&record).as_ref() != Some(name)) {
            continue;
        }
        if document.events.len() == limit {
            document.has_more = true;
            break;
        }
        document.events.push(record);
    }
    document.events.reverse();
    if screen.is_json() {
        screen.document(&document)?;
        return Ok(Exit::Ok);
    }
    if document.events.is_empty() {
        screen.note("the log has no such event");
    } else {
        let mut table = Table::new(["TIME", "EVENT", "TOOL", "BY", "WHAT"]);
        document.events.iter().for_each(|it| table.row(row(it)));
        screen.answer(table.draw(screen.stdout))?;
    }
    if document.has_more {
        screen.note("there are older events; --limit N lists more");
    }
    if document.unreadable_lines > 0 {
        let lines = counted(document.unreadable_lines, "line");
        screen.note(format_args!(
            "{lines} cannot be read; {} tells what happened",
            by_evolve(["events", "--verify"])
        ));
    }
    Ok(Exit::Ok)
}

/// The tool of an event: of a save, the id of the record has it too.
fn tool(record: &Record) -> Option<String> {
    let named = record.body["tool"].as_str().map(str::to_owned);
    let of_id = || Some(crate::evolve::name_of(record.body["id"].as_str()?).to_owned());
    let of_save = || record.id.strip_prefix("save ")?.rsplit_once(' ').map(|it| it.0.to_owned());
    named.or_else(of_id).or_else(of_save)
}

fn row(record: &Record) -> [String; 5] {
    let body = &record.body;
    let text = |key: &str| body[key].as_str().map(one_line);
    let by = text("approved_by").or_else(|| text("by")).or_else(|| text("proposed_by"));
    // What the other columns do not have, in the order of the record.
    let rest = body.as_object().into_iter().flatten().filter(|(key, it)| {
        !matches!(&***key, "tool" | "by" | "approved_by")
            && !it.is_null()
            && it.as_str() != Some("")
    });
    let rest = rest.map(|(key, it)| {
        let it = it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let end = it.floor_char_boundary(if key.contains("sha256") { 12 } else { 200 });
        format!("{key} {}", &it[..end])
    });
    let event = match record.id.starts_with("save ") {
        true => format!("save, {}", record.event),
        false => record.event.clone(),
    };
    let dash = || "-".to_owned();
    [
        audit::second(&record.at.to_string()),
        one_line(&event),
        tool(record).map_or_else(dash, |it| one_line(&it)),
        by.unwrap_or_else(dash),
        one_line(&rest.collect::<Vec<_>>().join(", ")),
    ]
}
