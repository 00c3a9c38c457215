//! What can be found.

use std::fmt;

use serde::Serialize;

/// What happened to a part of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A record is not what was written.
    Changed,
    /// Records are missing between others.
    Removed,
    /// Records are missing, and with them the file that held them.
    FileRemoved,
    /// A line stands here that the chain does not know.
    Inserted,
    /// A record stands behind a later one.
    Reordered,
    /// Records are missing at the end, or were when a writer came back.
    Cut,
    /// A line was cut short by the end of its writer before it was acknowledged. This is no tampering.
    Torn,
    /// `head.json` is missing or unreadable, or was when a writer came back: a missing end would not show.
    HeadLost,
    /// So much of the log is in lines that are no records that the rest of this file was not read.
    Unread,
}

impl FindingKind {
    /// Whether only a change from outside, or a disk that lost what was on it, explains it. All but
    /// [`Torn`](Self::Torn).
    #[must_use]
    pub fn is_tampering(self) -> bool {
        self != Self::Torn
    }

    fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::FileRemoved => "file removed",
            Self::Inserted => "inserted",
            Self::Reordered => "reordered",
            Self::Cut => "cut",
            Self::Torn => "torn",
            Self::HeadLost => "head lost",
            Self::Unread => "unread",
        }
    }
}

/// One thing that was found, and where.
///
/// A program reads `kind`, `file`, `line` and `seqs`; `detail` is for people. As text: `audit.jsonl:17: changed: record 17 does not fit its hash`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What happened.
    pub kind: FindingKind,
    /// The file, by its name in the directory.
    pub file: String,
    /// The line, from 1 on. Where records are missing, the line behind them, or one more than the file has.
    pub line: u64,
    /// The numbers of the first and the last record that it is about, where they are known.
    pub seqs: Option<(u64, u64)>,
    /// The rest in words.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, file, line, seqs: _, detail } = self;
        write!(f, "{file}:{line}: {}: {detail}", kind.word())
    }
}
