//! `audit export`: records as they stand in the log.

use flyto_audit::{AuditError, Filter, Reader};

use super::calls::{CLOCK_SLACK, Calls};
use super::{log_dir, no_log, not_read, reader, unreadable_remark};
use crate::args::audit::{AuditExport, Which};
use crate::exit::Exit;
use crate::session::Session;
use crate::stop::Stop;

/// The most calls that a filter may choose: their records are known by number before the first is printed, which
/// takes 16 MB for so many.
const MAX_CALLS: usize = 1_000_000;

/// Bytes that are written at a time: 64 KiB, what a pipe holds by default (pipe(7)).
const PIECE_BYTES: usize = 64 * 1024;

pub(super) fn run(args: &AuditExport, session: &Session) -> Result<Exit, Stop> {
    let (dir, screen) = (log_dir(session)?, session.screen);
    let Some(reader) = reader(&dir)? else {
        screen.note(no_log(&dir));
        return Ok(Exit::Ok);
    };
    let Which { since, until, .. } = args.which;
    let mut filter = Filter::default();
    let chosen = match args.which.chooses_calls() {
        true => Some(records_of_calls(reader.clone(), &args.which)?),
        false => None,
    };
    // An end of a call that is chosen may have a later time than `until`.
    filter.since = since.map(|it| if chosen.is_some() { it.earlier_by(CLOCK_SLACK) } else { it });
    filter.until = until.filter(|_| chosen.is_none());
    let (mut piece, mut n_unreadable) = (String::new(), 0);
    for record in reader.filter(filter).records().map_err(|err| not_read(&err))? {
        let record = match record {
            Ok(record) => record,
            Err(AuditError::NoRecord { .. }) => {
                n_unreadable += 1;
                continue;
            }
            Err(err) => return Err(not_read(&err)),
        };
        if chosen.as_ref().is_none_or(|it| it.binary_search(&record.seq).is_ok()) {
            piece.push_str(record.line());
            piece.push('\n');
        }
        if piece.len() >= PIECE_BYTES {
            screen.lines_of_json(&piece)?;
            piece.clear();
        }
    }
    screen.lines_of_json(&piece)?;
    if let Some(remark) = unreadable_remark(n_unreadable) {
        screen.note(remark);
    }
    Ok(Exit::Ok)
}

/// The numbers of the records of the calls that fit, in order.
fn records_of_calls(reader: Reader, which: &Which) -> Result<Vec<u64>, Stop> {
    let mut res = Vec::new();
    for (i, call) in Calls::new(reader, which).map_err(|err| not_read(&err))?.enumerate() {
        let call = call.map_err(|err| not_read(&err))?;
        if i == MAX_CALLS {
            return Err(Stop::usage(format!("more than {MAX_CALLS} calls fit"))
                .with_help("choose a time with --since and --until"));
        }
        res.extend(call.begin.into_iter().chain(call.end));
    }
    res.sort_unstable();
    Ok(res)
}
