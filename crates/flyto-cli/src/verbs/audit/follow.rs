//! `audit follow`: new records as they come.
//!
//! Nothing has to be cleaned up: a signal ends the program as it ends any other.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use std::{process, thread};

use flyto_audit::{AuditError, MAX_ID_BYTES, Reader, Record};

use super::calls::{is_tool, text};
use super::list::{second, seconds};
use super::{log_dir, no_log, not_read, reader};
use crate::args::audit::AuditFollow;
use crate::exit::Exit;
use crate::screen::when_reader_has_gone;
use crate::session::Session;
use crate::stop::Stop;
use crate::words::one_line;

/// How long it sleeps between looks for a log that no process has made yet: 200 ms, a system call each.
const POLL: Duration = Duration::from_millis(200);

/// The most calls whose tool is kept until their end comes: 10,000, as many as `verify` keeps of open calls.
const MAX_OPEN: usize = 10_000;

pub(super) fn run(args: &AuditFollow, session: &Session) -> Result<Exit, Stop> {
    let (dir, screen) = (log_dir(session)?, session.screen);
    when_reader_has_gone(|| process::exit(Exit::Ok.code().into())).map_err(Stop::internal)?;
    let follow = match reader(&dir)? {
        Some(reader) => reader.follow(),
        None => {
            screen.note(no_log(&dir));
            // Its first record was written after the start of this program.
            first_log(&dir)?.follow_after(0)
        }
    };
    let follow = follow.map_err(|err| not_read(&err))?;
    screen.note("waiting for new records; Ctrl-C ends it");
    let mut open = OpenCalls { args, tools: HashMap::new() };
    for record in follow {
        match record {
            Ok(record) => {
                let Some(tool) = open.take(&record) else { continue };
                match screen.is_json() {
                    true => screen.lines_of_json(&format!("{}\n", record.line()))?,
                    false => screen.answer(line(&record, &tool))?,
                }
            }
            Err(AuditError::NoRecord { .. }) => {
                screen.note("a line cannot be read; `flyto audit verify` tells what happened");
            }
            Err(err) => return Err(not_read(&err)),
        }
    }
    Ok(Exit::Ok)
}

/// Waits until a process makes the log.
fn first_log(dir: &Path) -> Result<Reader, Stop> {
    loop {
        if let Some(reader) = reader(dir)? {
            return Ok(reader);
        }
        thread::sleep(POLL);
    }
}

/// Which tool a call is of, until its end comes: an end does not name it.
#[derive(Debug)]
struct OpenCalls<'a> {
    args: &'a AuditFollow,
    tools: HashMap<String, String>,
}

impl OpenCalls<'_> {
    /// The tool that a record is about, `-` where that is not known; `None` for a record that is not to be printed.
    fn take(&mut self, record: &Record) -> Option<String> {
        let AuditFollow { tool, id, .. } = self.args;
        if id.as_ref().is_some_and(|it| !record.id.starts_with(it.as_str())) {
            return None;
        }
        let known = match record.event.as_str() {
            "begin" => {
                let name = record.body["tool"].as_str()?;
                if tool.as_ref().is_some_and(|it| !is_tool(name, it)) {
                    return None;
                }
                let name = text(&record.body, "/tool");
                if self.tools.len() < MAX_OPEN && record.id.len() <= MAX_ID_BYTES {
                    self.tools.insert(record.id.clone(), name.clone().unwrap_or_default());
                }
                name
            }
            "end" => self.tools.remove(&record.id),
            _ => None,
        };
        match known {
            None if tool.is_some() => None,
            known => Some(known.unwrap_or_else(|| "-".to_owned())),
        }
    }
}

/// A record on one line.
fn line(record: &Record, tool: &str) -> String {
    let of = |pointer| text(&record.body, pointer).unwrap_or_else(|| "-".to_owned());
    let time = second(&record.at.to_string());
    let words = match record.event.as_str() {
        "begin" => vec![tool.to_owned(), of("/caller"), of("/decision/verdict")],
        "end" => {
            let seconds = seconds(record.body["seconds"].as_f64());
            vec![tool.to_owned(), of("/outcome").replace('_', " "), seconds]
        }
        // The log writes it of itself: about the record before, mostly.
        _ => vec![format!("record {}", record.seq)],
    };
    let id = if record.id.is_empty() { "-" } else { &record.id };
    let mut res = format!("{time}  {:<5}  {}", one_line(&record.event), one_line(id));
    for word in words {
        res.push_str("  ");
        res.push_str(&one_line(&word));
    }
    res.push('\n');
    res
}
