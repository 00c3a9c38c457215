//! A record as readers get it.

use serde::Serialize;
use serde_json::Value;

use crate::{ChainHash, Process, Timestamp, line::Line};

/// A record. It serializes as its line reads.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let log = flyto_audit::Log::open(dir.path(), flyto_audit::Options::default())?;
/// use flyto_audit::Reader;
///
/// # let begun = log.begin("call-1", &serde_json::json!({"tool": "sort"}))?;
/// # begun.end(&())?;
/// let record = Reader::open(dir.path())?.records()?.next().expect("a call has begun")?;
/// assert_eq!((record.seq, record.id.as_str(), record.event.as_str()), (1, "call-1", "begin"));
/// assert_eq!(record.body["tool"], "sort");
/// assert_eq!(record.process.expect("it is a begin").pid, std::process::id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// Its number: 1 for the first record of a log, one more for each.
    pub seq: u64,
    /// When it was written, by the clock of the writing machine, which may go backwards.
    pub at: Timestamp,
    /// The id of the call, or empty.
    pub id: String,
    /// `begin`, `end` or another name.
    pub event: String,
    /// With `begin`: the process that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// In the first record of a file: the name of the file before, so that a removed file shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// What the caller recorded. A number of more digits than a `u64` or an `f64` holds is exact in
    /// [`line`](Self::line) only.
    pub body: Value,
    /// The hash of the record before it.
    pub prev: ChainHash,
    /// Its own hash.
    pub hash: ChainHash,
    #[serde(skip)]
    line: String,
}

impl Record {
    /// The line of the record, byte for byte, without its newline: what the hash is over, and what an export has to
    /// keep.
    #[must_use]
    pub fn line(&self) -> &str {
        &self.line
    }

    /// `None` where the body is nested too deeply for serde_json, which no log has written.
    ///
    /// `text` are the bytes that `line` was read from. Whether the hash fits is not asked.
    pub(crate) fn new(line: &Line<'_>, text: &[u8]) -> Option<Self> {
        Some(Self {
            seq: line.seq,
            at: line.at,
            id: line.id.clone().into_owned(),
            event: line.event.clone().into_owned(),
            process: line.process.clone(),
            follows: line.follows.as_deref().map(str::to_owned),
            body: serde_json::from_str(line.body.get()).ok()?,
            prev: line.prev,
            hash: line.hash,
            line: str::from_utf8(text).ok()?.to_owned(),
        })
    }
}
