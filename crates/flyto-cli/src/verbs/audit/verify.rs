//! `audit verify`: whether the log is as it was written.

use std::path::Path;

use flyto_audit::{Head, Verification, VerifyOptions, verify_with};
use serde::Serialize;

use super::{is_missing, log_dir, no_log, not_read};
use crate::args::audit::AuditVerify;
use crate::exit::{Ending, Exit, Why};
use crate::screen::look;
use crate::session::Session;
use crate::stop::Stop;
use crate::table::facts;
use crate::words::{bytes, counted, one_line};

/// What a check of a log cannot find, also where it finds it intact.
const NOT_FOUND: [&str; 3] = [
    "a program that can write to the directory can write the whole log anew, or put an older copy in its place; a \
     head that was noted elsewhere shows it: --head SEQ:HASH",
    "it can also append records of calls that never happened",
    "the newest record, where its writer was killed before it had acknowledged it, can be removed until the next \
     call",
];

/// The most calls without an end that are named.
const MAX_OPEN: usize = 10;

#[derive(Serialize)]
struct Document<'a> {
    intact: bool,
    /// `SEQ:HASH` of the last record, to note elsewhere.
    head: String,
    #[serde(flatten)]
    found: &'a Verification,
    /// The heads that were given and whose records are there no more because old files were pruned: they show nothing.
    pruned_heads: Vec<String>,
    not_found: [&'static str; 3],
}

pub(super) fn run(args: &AuditVerify, session: &Session) -> Result<Exit, Stop> {
    let dir = log_dir(session)?;
    verify(&dir, &args.heads, no_log, session)
}

/// Checks the log in a directory; `no_log` is the sentence for one that does not exist.
pub(crate) fn verify(
    dir: &Path,
    heads: &[Head],
    no_log: impl FnOnce(&Path) -> String,
    session: &Session,
) -> Result<Exit, Stop> {
    let mut options = VerifyOptions::default();
    options.anchors = heads.to_vec();
    let found = match verify_with(dir, &options) {
        // All of its files may have been removed, so nothing is said to be intact.
        Ok(found) if found.files == 0 && found.n_findings == 0 => {
            return Err(missing(dir, heads, no_log));
        }
        Ok(found) => found,
        Err(err) if is_missing(&err) => return Err(missing(dir, heads, no_log)),
        Err(err) => return Err(not_read(&err)),
    };
    let is_pruned = |it: &&Head| found.pruned_through.is_some_and(|last| it.seq <= last);
    let pruned: Vec<Head> = heads.iter().filter(is_pruned).copied().collect();
    let screen = session.screen;
    if screen.is_json() {
        screen.document(&Document {
            intact: found.is_intact(),
            head: found.last.to_string(),
            found: &found,
            pruned_heads: pruned.iter().map(ToString::to_string).collect(),
            not_found: NOT_FOUND,
        })?;
    } else {
        show(&found, dir, heads, &pruned, session)?;
    }
    Ok(Exit::of(&Ending::Verified { is_intact: found.is_intact() }))
}

/// Without a log there is nothing to check, unless a head says that there was one.
fn missing(dir: &Path, heads: &[Head], no_log: impl FnOnce(&Path) -> String) -> Stop {
    match heads.iter().map(|it| it.seq).max() {
        Some(seq @ 1..) => {
            let dir = one_line(&dir.to_string_lossy());
            let what =
                format!("there is no log in {dir}, and the head that was noted is record {seq}");
            Stop::of(&Ending::Verified { is_intact: false }, what)
        }
        _ => Stop::new(Why::Missing, no_log(dir)),
    }
}

fn show(
    found: &Verification,
    dir: &Path,
    heads: &[Head],
    pruned: &[Head],
    session: &Session,
) -> Result<(), Stop> {
    let screen = session.screen;
    for finding in &found.findings {
        let style = if finding.kind.is_tampering() { look::ERROR } else { look::HELP };
        let place =
            screen.stdout.styled(style, one_line(&format!("{}:{}", finding.file, finding.line)));
        let word = serde_json::to_value(finding.kind).map_err(Stop::internal)?;
        let word = word.as_str().unwrap_or_default().replace('_', " ");
        screen.answer(format!("{place}: {word}: {}\n", one_line(&finding.detail)))?;
    }
    let n_listed = u64::try_from(found.findings.len()).unwrap_or(u64::MAX);
    if let n_more @ 1.. = found.n_findings.saturating_sub(n_listed) {
        screen.answer(format!("… and {n_more} more\n"))?;
    }
    if !found.findings.is_empty() {
        screen.answer("\n")?;
    }
    screen.answer(facts(screen.stdout, &rows(found, dir, heads, pruned)))?;
    for it in NOT_FOUND {
        screen.note(format_args!("not found by this: {it}"));
    }
    Ok(())
}

fn rows(
    found: &Verification,
    dir: &Path,
    heads: &[Head],
    pruned: &[Head],
) -> Vec<(&'static str, String)> {
    let verdict = match found.is_intact() {
        true => "intact".to_owned(),
        false => format!("not as it was written: {}", n(found.n_tampering, "finding")),
    };
    let size = format!(
        "{} in {}, {}",
        n(found.records, "record"),
        n(found.files, "file"),
        bytes(found.bytes)
    );
    let mut res =
        vec![("log", one_line(&dir.to_string_lossy())), ("verdict", verdict), ("size", size)];
    if let Some(last) = found.pruned_through {
        res.push(("pruned", format!("records up to {last}, by the log itself")));
    }
    for head in heads {
        let is_there = if pruned.contains(head) {
            "is pruned, so it shows nothing"
        } else if found.is_intact() {
            "is the one that was noted"
        } else {
            continue;
        };
        res.push(("noted", format!("record {} {is_there}", head.seq)));
    }
    for call in found.open_calls.iter().take(MAX_OPEN) {
        let state = if call.is_alive == Some(true) { "running" } else { "no end" };
        res.push(("open", format!("{} ({state})", one_line(&call.id))));
    }
    let n_named = u64::try_from(found.open_calls.len().min(MAX_OPEN)).unwrap_or(u64::MAX);
    if let n_more @ 1.. = found.n_open_calls.saturating_sub(n_named) {
        res.push(("open", format!("and {n_more} more")));
    }
    res.push(("head", found.last.to_string()));
    res
}

/// `1 record`, `2 records`.
fn n(n: u64, what: &str) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), what)
}
