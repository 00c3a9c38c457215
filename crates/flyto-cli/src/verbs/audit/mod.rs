//! `audit`: the log of calls. No host is loaded: also a broken configuration leaves the log readable.

mod calls; // two records become one call
mod export;
mod follow;
mod list;
mod show;
mod verify;

pub(super) use self::list::second;
pub(super) use self::verify::verify;

use std::io;
use std::path::{Path, PathBuf};

use flyto_audit::{AuditError, Reader};

use crate::args::audit::{Audit, AuditWhat};
use crate::exit::{Exit, Why};
use crate::session::Session;
use crate::stop::{Stop, chain};
use crate::words::{counted, one_line};

pub(super) fn run(args: &Audit, session: &Session) -> Result<Exit, Stop> {
    match &args.what {
        AuditWhat::List(args) => list::run(args, session),
        AuditWhat::Show(args) => show::run(args, session),
        AuditWhat::Verify(args) => verify::run(args, session),
        AuditWhat::Export(args) => export::run(args, session),
        AuditWhat::Follow(args) => follow::run(args, session),
    }
}

/// The directory where the host of this user writes the log.
fn log_dir(session: &Session) -> Result<PathBuf, Stop> {
    let state_dir = session.surroundings()?.places.state_dir.ok_or_else(|| {
        Stop::new(Why::Failed, "there is no state directory, so no call is recorded")
            .with_help("set HOME or XDG_STATE_HOME")
    })?;
    Ok(state_dir.join("audit"))
}

/// A reader of the log; `None` where no call was recorded yet.
pub(super) fn reader(dir: &Path) -> Result<Option<Reader>, Stop> {
    match Reader::open(dir) {
        Ok(reader) => Ok(Some(reader)),
        Err(err) if is_missing(&err) => Ok(None),
        Err(err) => Err(not_read(&err)),
    }
}

fn is_missing(err: &AuditError) -> bool {
    matches!(err, AuditError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Why a log cannot be read.
pub(super) fn not_read(err: &AuditError) -> Stop {
    Stop::new(Why::Failed, format!("the log cannot be read: {}", chain(err)))
}

/// The sentence for a log that does not exist.
fn no_log(dir: &Path) -> String {
    format!("no call was recorded yet: there is no log in {}", one_line(&dir.to_string_lossy()))
}

/// What is to be said about lines that were passed over; `None` where there are none.
fn unreadable_remark(n_lines: usize) -> Option<String> {
    let help = "`flyto audit verify` tells what happened";
    (n_lines > 0).then(|| format!("{} cannot be read; {help}", counted(n_lines, "line")))
}
