//! `audit show`: the records of one call.

use std::collections::BTreeSet;

use flyto_audit::{AuditError, Filter, MAX_ID_BYTES, Reader, Record};
use serde::Serialize;
use serde_json::Value;

use super::calls::{open_outcome, text};
use super::{log_dir, no_log, not_read, reader, unreadable_remark};
use crate::args::audit::AuditShow;
use crate::exit::{Exit, Why};
use crate::screen::look;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::{cut, facts};
use crate::words::{counted, one_line, tame};

/// The most records of one id that are shown. A call has two; a record has up to 4 MiB.
const MAX_RECORDS: usize = 16;

/// The most ids that are named where several begin with what was asked.
const MAX_IDS: usize = 5;

/// The most members of a record that are drawn for people.
const MAX_ROWS: usize = 1000;

/// The longest name of a member that is drawn, in columns.
const MAX_NAME: usize = 60;

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    outcome: &'a str,
    /// As they stand in the log, in its order.
    records: &'a [Record],
}

pub(super) fn run(args: &AuditShow, session: &Session) -> Result<Exit, Stop> {
    let dir = log_dir(session)?;
    let reader = reader(&dir)?.ok_or_else(|| Stop::new(Why::Missing, no_log(&dir)))?;
    let id = find(&reader, &args.id)?;
    let filter = Filter::default().with_id(id.as_str());
    let records = reader.filter(filter).limit(MAX_RECORDS + 1).records();
    // What is no record is no record of this call.
    let records = records.map_err(|err| not_read(&err))?.filter(|it| !is_no_record(it));
    let mut records: Vec<Record> =
        records.collect::<Result<_, _>>().map_err(|err| not_read(&err))?;
    let has_more = records.len() > MAX_RECORDS;
    records.truncate(MAX_RECORDS);
    let outcome = outcome(&records);
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document { id: &id, outcome: &outcome, records: &records })?;
        return Ok(Exit::Ok);
    }
    let rows = [("call", one_line(&id)), ("outcome", one_line(&outcome.replace('_', " ")))];
    screen.answer(facts(screen.stdout, &rows))?;
    for record in &records {
        let head = screen.stdout.styled(look::HEAD, one_line(&record.event));
        let rows = rows_of(record).map_err(Stop::internal)?;
        let rows: Vec<_> = rows.iter().map(|(name, value)| (&**name, value.clone())).collect();
        screen.answer(format!("\n{head}\n{}", facts(screen.stdout, &rows)))?;
    }
    if has_more {
        screen.note(format_args!(
            "the first {} of this id; `flyto audit export --id` gives all",
            counted(MAX_RECORDS, "record")
        ));
    }
    Ok(Exit::Ok)
}

fn is_no_record(record: &Result<Record, AuditError>) -> bool {
    matches!(record, Err(AuditError::NoRecord { .. }))
}

/// The one id that begins as it was asked; an id that is exactly so comes before longer ones.
fn find(reader: &Reader, start: &str) -> Result<String, Stop> {
    let (mut ids, mut n_unreadable) = (BTreeSet::new(), 0);
    let records = reader.clone().newest_first().records().map_err(|err| not_read(&err))?;
    for record in records {
        let id = match record {
            Ok(record) => record.id,
            Err(AuditError::NoRecord { .. }) => {
                n_unreadable += 1;
                continue;
            }
            Err(err) => return Err(not_read(&err)),
        };
        if id == start && !id.is_empty() {
            return Ok(id);
        }
        let fits = !id.is_empty() && id.len() <= MAX_ID_BYTES && id.starts_with(start);
        if fits && ids.len() <= MAX_IDS {
            ids.insert(id);
        }
    }
    if ids.len() > 1 {
        let mut named: Vec<_> = ids.iter().take(MAX_IDS).map(|it| one_line(it)).collect();
        if ids.len() > MAX_IDS {
            named.push("others".to_owned());
        }
        let what = format!("several calls have an id that begins with {start:?}");
        return Err(Stop::usage(what).with_help(format!("there are {}", named.join(", "))));
    }
    ids.pop_first().ok_or_else(|| {
        let what = format!("the log has no call with the id {start:?}");
        let stop = Stop::new(Why::Missing, what).with_help("`flyto audit list` shows the ids");
        match unreadable_remark(n_unreadable) {
            Some(remark) => stop.with_help(remark),
            None => stop,
        }
    })
}

/// How the call ended, or how it stands about one that has not.
fn outcome(records: &[Record]) -> String {
    let of = |event| records.iter().rfind(|it| it.event == event);
    match (of("end"), of("begin")) {
        (Some(end), _) => text(&end.body, "/outcome").unwrap_or_else(|| "unknown".to_owned()),
        (None, begin) => open_outcome(begin.and_then(|it| it.process.as_ref())).as_str().to_owned(),
    }
}

/// Every member of a record with its value, by the path to it: `body.usage.wall_seconds`.
fn rows_of(record: &Record) -> serde_json::Result<Vec<(String, String)>> {
    let mut res = Vec::new();
    push("", &serde_json::to_value(record)?, &mut res);
    Ok(res)
}

/// A record is nested no more than 100 deep.
fn push(path: &str, value: &Value, res: &mut Vec<(String, String)>) {
    let mut member = |name: &str, value: &Value| {
        let name = one_line(name);
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        push(&cut(&path, MAX_NAME), value, res);
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| member(name, value));
        }
        Value::Array(items) if items.iter().any(|it| it.is_object() || it.is_array()) => {
            items.iter().enumerate().for_each(|(i, value)| member(&i.to_string(), value));
        }
        _ if res.len() == MAX_ROWS => {
            res.push(("…".to_owned(), "--format json shows the rest".to_owned()));
        }
        _ if res.len() > MAX_ROWS => {}
        Value::String(text) => res.push((path.to_owned(), tame(text))),
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<_> = items.iter().map(plain).collect();
            res.push((path.to_owned(), tame(&items.join(", "))));
        }
        value => res.push((path.to_owned(), tame(&value.to_string()))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_member_has_its_path() {
        let mut rows = Vec::new();
        let value = json!({"a": {"b": 1, "c": []}, "d": ["x", 2], "e": [{"f": null}], "g": {}});
        push("", &value, &mut rows);
        let rows: Vec<_> = rows.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        assert_eq!(rows, ["a.b = 1", "a.c = []", "d = x, 2", "e.0.f = null", "g = {}"]);
    }

    #[test]
    fn names_and_rows_are_bounded() {
        let mut rows = Vec::new();
        let members = (0..2000).map(|i| (format!("{}{i}", "x".repeat(100)), json!(i)));
        push("", &Value::Object(members.collect()), &mut rows);
        assert_eq!(rows.len(), MAX_ROWS + 1);
        assert!(rows.iter().all(|(name, _)| name.chars().count() <= MAX_NAME));
    }
}
