//! `audit list`: the newest calls.

use serde::Serialize;

use super::calls::{Call, Calls};
use super::{log_dir, no_log, not_read, reader, unreadable_remark};
use crate::args::audit::AuditList;
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::Table;
use crate::words::one_line;

#[derive(Serialize)]
struct Document {
    /// The newest last.
    calls: Vec<Call>,
    /// Whether older calls fit as well.
    has_more: bool,
    /// Lines that are no records, of those that were read.
    unreadable_lines: usize,
}

pub(super) fn run(args: &AuditList, session: &Session) -> Result<Exit, Stop> {
    let dir = log_dir(session)?;
    let screen = session.screen;
    let mut document = Document { calls: Vec::new(), has_more: false, unreadable_lines: 0 };
    let reader = reader(&dir)?;
    let has_log = reader.is_some();
    if let Some(reader) = reader {
        let mut calls = Calls::new(reader, &args.which).map_err(|err| not_read(&err))?;
        let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
        for call in calls.by_ref() {
            let call = call.map_err(|err| not_read(&err))?;
            if document.calls.len() == limit {
                document.has_more = true;
                break;
            }
            document.calls.push(call);
        }
        document.calls.reverse();
        document.unreadable_lines = calls.n_unreadable;
    }
    if screen.is_json() {
        screen.document(&document)?;
        return Ok(Exit::Ok);
    }
    if !document.calls.is_empty() {
        screen.answer(table(&document.calls).draw(screen.stdout))?;
    } else if has_log {
        screen.note("the log has no such call");
    } else {
        screen.note(no_log(&dir));
    }
    if document.has_more {
        screen.note("older calls fit as well; --limit N lists more");
    }
    if let Some(remark) = unreadable_remark(document.unreadable_lines) {
        screen.note(remark);
    }
    Ok(Exit::Ok)
}

fn table(calls: &[Call]) -> Table {
    let mut res = Table::new(["TIME", "ID", "TOOL", "CALLER", "VERDICT", "OUTCOME", "SECONDS"]);
    for call in calls {
        let text = |it: &Option<String>| it.as_deref().map_or_else(|| "-".to_owned(), one_line);
        res.row([
            second(&call.at.to_string()),
            one_line(&call.id),
            text(&call.tool),
            text(&call.caller),
            text(&call.verdict),
            one_line(&call.outcome.replace('_', " ")),
            seconds(call.seconds),
        ]);
    }
    res
}

/// A time without its milliseconds.
pub(crate) fn second(at: &str) -> String {
    at.split_once('.').map_or_else(|| at.to_owned(), |(second, _)| format!("{second}Z"))
}

pub(super) fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_whole_seconds() {
        assert_eq!(second("2026-01-31T12:00:00.000Z"), "2026-01-31T12:00:00Z");
        assert_eq!(seconds(Some(0.03456)), "0.035");
        assert_eq!(seconds(None), "-");
    }
}
