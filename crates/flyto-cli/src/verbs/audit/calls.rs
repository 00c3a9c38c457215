//! Calls from records: a begin and an end of one id become one [`Call`].

use std::collections::HashMap;
use std::time::Duration;

use flyto_audit::{AuditError, Filter, MAX_ID_BYTES, Process, Reader, Record, Records, Timestamp};
use flyto_tools::ToolId;
use serde::Serialize;
use serde_json::Value;

use crate::args::audit::{Outcome, Which};

/// The most ends that are kept until their begin comes: 10,000, as many as `verify` keeps of open calls.
const MAX_ENDS: usize = 10_000;

/// Bytes of a text that are kept of a record in a list: the record may have megabytes.
const MAX_TEXT_BYTES: usize = 256;

/// How much longer back than asked the log is read, for clocks that were set back between a begin and its end: 1 h.
pub(super) const CLOCK_SLACK: Duration = Duration::from_secs(3600);

/// One call, as far as a list tells.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    /// When it began; where the begin was pruned, when it ended.
    pub(super) at: Timestamp,
    pub(super) id: String,
    pub(super) tool: Option<String>,
    pub(super) caller: Option<String>,
    /// What the rules decided; `None` where a stage before them refused the call.
    pub(super) verdict: Option<String>,
    /// An [`Outcome`] by its name, or what else the record says; `unknown` where it does not say.
    pub(super) outcome: String,
    pub(super) seconds: Option<f64>,
    /// The number of the record of its begin; `None` where that was pruned.
    pub(super) begin: Option<u64>,
    /// The number of the record of its end.
    pub(super) end: Option<u64>,
}

/// An end whose begin has not come yet.
#[derive(Debug)]
struct End {
    at: Timestamp,
    seq: u64,
    outcome: String,
    seconds: Option<f64>,
}

/// The calls that fit, the newest first. Memory is bounded by [`MAX_ENDS`] and the longest record.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    records: Records,
    which: &'a Which,
    ends: HashMap<String, Vec<End>>,
    n_ends: usize,
    /// An end was not kept for want of room: a begin without an end may have one.
    has_lost_ends: bool,
    /// Ends without a begin, the newest last, once every record was read.
    left: Option<Vec<(String, End)>>,
    /// Lines that are no records.
    pub(super) n_unreadable: usize,
}

impl<'a> Calls<'a> {
    pub(super) fn new(reader: Reader, which: &'a Which) -> Result<Self, AuditError> {
        let mut filter = Filter::default();
        if let Some(since) = which.since {
            filter = filter.with_since(since.earlier_by(CLOCK_SLACK));
        }
        Ok(Self {
            records: reader.filter(filter).newest_first().records()?,
            which,
            ends: HashMap::new(),
            n_ends: 0,
            has_lost_ends: false,
            left: None,
            n_unreadable: 0,
        })
    }

    /// Takes a record; a begin that fits gives a call.
    fn take(&mut self, record: &Record) -> Option<Call> {
        // No log writes a longer one.
        if record.id.len() > MAX_ID_BYTES {
            self.n_unreadable += 1;
            return None;
        }
        match record.event.as_str() {
            "end" if self.n_ends == MAX_ENDS => self.has_lost_ends = true,
            "end" => {
                self.n_ends += 1;
                self.ends.entry(record.id.clone()).or_default().push(End::new(record));
            }
            "begin" => {
                let end = self.end_of(&record.id);
                return self.begun(record, end).filter(|it| is_outcome(it, self.which));
            }
            _ => {}
        }
        None
    }

    /// An end belongs to the last begin before it.
    fn end_of(&mut self, id: &str) -> Option<End> {
        let ends = self.ends.get_mut(id)?;
        let res = ends.pop();
        self.n_ends -= 1;
        if ends.is_empty() {
            self.ends.remove(id);
        }
        res
    }

    fn begun(&self, record: &Record, end: Option<End>) -> Option<Call> {
        let Which { tool, id, outcome: _, since, until } = self.which;
        let name = record.body["tool"].as_str();
        let fits = since.is_none_or(|it| it <= record.at)
            && until.is_none_or(|it| record.at <= it)
            && id.as_ref().is_none_or(|it| record.id.starts_with(it.as_str()))
            && tool.as_ref().is_none_or(|it| name.is_some_and(|name| is_tool(name, it)));
        fits.then(|| Call {
            at: record.at,
            id: record.id.clone(),
            tool: name.map(cut),
            caller: text(&record.body, "/caller"),
            verdict: text(&record.body, "/decision/verdict"),
            outcome: match &end {
                Some(end) => end.outcome.clone(),
                None if self.has_lost_ends => "unknown".to_owned(),
                None => open_outcome(record.process.as_ref()).as_str().to_owned(),
            },
            seconds: end.as_ref().and_then(|it| it.seconds),
            begin: Some(record.seq),
            end: end.map(|it| it.seq),
        })
    }

    /// The next end whose begin is not in the log any more. Where only a part of the log was read, the begins may
    /// stand before it.
    fn ended(&mut self) -> Option<Call> {
        let Which { tool, id, outcome: _, since, until } = self.which;
        if tool.is_some() || since.is_some() {
            return None;
        }
        let left = self.left.get_or_insert_with(|| {
            let ends = std::mem::take(&mut self.ends).into_iter();
            let mut res: Vec<_> = ends
                .flat_map(|(id, ends)| ends.into_iter().map(move |end| (id.clone(), end)))
                .collect();
            res.sort_by_key(|(_, end)| end.seq);
            res
        });
        while let Some((name, end)) = left.pop() {
            let call = Call {
                at: end.at,
                id: name,
                tool: None,
                caller: None,
                verdict: None,
                outcome: end.outcome,
                seconds: end.seconds,
                begin: None,
                end: Some(end.seq),
            };
            let fits = until.is_none_or(|it| call.at <= it)
                && id.as_ref().is_none_or(|it| call.id.starts_with(it.as_str()))
                && is_outcome(&call, self.which);
            if fits {
                return Some(call);
            }
        }
        None
    }
}

impl Iterator for Calls<'_> {
    type Item = Result<Call, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(record) = self.records.next() {
            match record {
                Ok(record) => {
                    if let Some(call) = self.take(&record) {
                        return Some(Ok(call));
                    }
                }
                Err(AuditError::NoRecord { .. }) => self.n_unreadable += 1,
                Err(err) => return Some(Err(err)),
            }
        }
        self.ended().map(Ok)
    }
}

impl End {
    fn new(record: &Record) -> Self {
        Self {
            at: record.at,
            seq: record.seq,
            outcome: text(&record.body, "/outcome").unwrap_or_else(|| "unknown".to_owned()),
            seconds: record.body["seconds"].as_f64(),
        }
    }
}

/// How it stands about a call without an end.
pub(super) fn open_outcome(process: Option<&Process>) -> Outcome {
    match process.and_then(Process::is_alive) {
        Some(true) => Outcome::Running,
        _ => Outcome::NoEnd,
    }
}

/// Whether a pattern names a tool: its id, or the start of one before `*`, in the form with a colon or in the one
/// that models are given (`plugin__tool`).
pub(super) fn is_tool(name: &str, pattern: &str) -> bool {
    let fits = |name: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    // No name for models has a colon.
    fits(name)
        || (!pattern.contains(':') && ToolId::parse(name).is_ok_and(|it| fits(&it.wire_name())))
}

fn is_outcome(call: &Call, which: &Which) -> bool {
    which.outcome.is_none_or(|it| it.as_str() == call.outcome)
}

/// A text of a record, by its JSON Pointer.
pub(super) fn text(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)?.as_str().map(cut)
}

fn cut(text: &str) -> String {
    match text.floor_char_boundary(MAX_TEXT_BYTES) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use flyto_audit::{Log, Options};
    use serde_json::json;

    use super::*;

    /// Records in order: an id that begins, or one that ends so.
    fn log(dir: &Path, records: &[(&str, Option<&str>)]) -> Reader {
        let log = Log::open(dir, Options::default()).unwrap();
        let mut open = Vec::new();
        for (id, outcome) in records {
            match outcome {
                None => open.push(log.begin(id, &json!({"tool": "p:t"})).unwrap()),
                Some(outcome) => {
                    let at = open.iter().rposition(|it| it.id() == *id).unwrap();
                    open.remove(at).end(&json!({"outcome": outcome, "seconds": 0.5})).unwrap();
                }
            }
        }
        // They stay without an end, as those of a process that was killed.
        open.into_iter().for_each(std::mem::forget);
        Reader::open(dir).unwrap()
    }

    fn calls(reader: Reader, which: &Which) -> Vec<String> {
        let calls = Calls::new(reader, which).unwrap();
        calls.map(|it| it.map(|it| format!("{} {}", it.id, it.outcome)).unwrap()).collect()
    }

    const RECORDS: &[(&str, Option<&str>)] = &[
        ("a", None),
        ("b", None),
        ("same", None),
        ("a", Some("ok")),
        ("same", None),
        ("b", Some("failed")),
        ("same", Some("dropped")),
        ("c", None),
    ];

    #[test]
    fn begins_and_ends_are_joined() {
        let dir = tempfile::tempdir().unwrap();
        let reader = log(dir.path(), RECORDS);
        let all = calls(reader.clone(), &Which::default());
        // The process that wrote them is this one; not every system tells whether it is alive.
        let open = open_outcome(Some(&Process::current())).as_str();
        let (c, same) = (format!("c {open}"), format!("same {open}"));
        assert_eq!(all, [&*c, "same dropped", &same, "b failed", "a ok"]);
        let which = |outcome| Which { outcome: Some(outcome), ..Which::default() };
        assert_eq!(calls(reader.clone(), &which(Outcome::Failed)), ["b failed"]);
        let by_id = Which { id: Some("sa".into()), ..Which::default() };
        assert_eq!(calls(reader.clone(), &by_id), ["same dropped", &same]);
        let later = Which { since: Some(Timestamp::now().later_by(CLOCK_SLACK)), ..by_id };
        assert_eq!(calls(reader, &later), [""; 0]);
    }

    #[test]
    fn an_end_without_a_begin_is_a_call() {
        let dir = tempfile::tempdir().unwrap();
        let reader = log(dir.path(), RECORDS);
        let file = dir.path().join("audit.jsonl");
        let text = std::fs::read_to_string(&file).unwrap();
        let kept: Vec<_> = text.lines().skip(1).collect();
        std::fs::write(&file, kept.join("\n") + "\nno record\n").unwrap();
        let which = Which::default();
        let mut all = Calls::new(reader.clone(), &which).unwrap();
        let last = all.by_ref().last().unwrap().unwrap();
        assert_eq!((last.id.as_str(), last.begin, last.end), ("a", None, Some(4)));
        assert_eq!(all.n_unreadable, 1);
        let of_tool = Which { tool: Some("p:*".into()), ..Which::default() };
        assert_eq!(calls(reader, &of_tool).len(), 4);
    }

    #[test]
    fn a_star_stands_for_what_follows() {
        assert!(is_tool("p:t", "p:t") && is_tool("p:t", "p:*") && is_tool("p:t", "*"));
        assert!(!is_tool("p:t", "p:") && !is_tool("p:t", "q:*"));
    }

    #[test]
    fn a_tool_has_two_names() {
        assert!(is_tool("p:t", "p__t") && is_tool("p:t", "p__*") && is_tool("t", "t"));
        let marked = ToolId::parse("7zip:list").unwrap().wire_name();
        assert!(is_tool("7zip:list", &marked), "{marked}");
        assert!(!is_tool("p:t", "q__*") && !is_tool("p:t", "p__") && !is_tool("no name", "p__t"));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(cut("a"), "a");
        let long = cut(&"\u{e9}".repeat(1000));
        assert_eq!(long.len(), MAX_TEXT_BYTES + "…".len());
    }
}
