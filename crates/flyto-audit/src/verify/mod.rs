//! Telling whether a log is as it was written.

mod chain;
mod finding;
mod open_calls;

use std::{fs::File, io, path::Path};

use serde::Serialize;

use self::chain::Chain;
pub use self::{
    finding::{Finding, FindingKind},
    open_calls::OpenCall,
};
use crate::{
    AuditError, Head,
    files::{FoundHead, HEAD, Snapshot},
    lines::{ForeignLeft, Lines},
    sys::Dir,
};

/// The most findings that are listed: 1,000. Others are counted.
pub(crate) const MAX_FINDINGS: usize = 1000;

/// How often a log is looked at again because a writer removed old files meanwhile, as [`Keep`](crate::Keep) says.
const MAX_ATTEMPTS: u32 = 3;

/// What [`verify_with`] compares a log with.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let log = flyto_audit::Log::open(dir.path(), flyto_audit::Options::default())?;
/// # log.event("", "stored", &1)?;
/// use flyto_audit::{VerifyOptions, verify_with};
///
/// // Noted elsewhere, every day for example.
/// let noted = log.head()?.to_string();
///
/// let options = VerifyOptions::default().with_anchor(noted.parse()?);
/// assert!(verify_with(dir.path(), &options)?.is_intact());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Heads that were noted elsewhere: each names a record that the log must have.
    pub anchors: Vec<Head>,
}

impl VerifyOptions {
    /// Adds a head that was noted elsewhere.
    #[must_use]
    pub fn with_anchor(mut self, head: Head) -> Self {
        self.anchors.push(head);
        self
    }
}

/// What [`verify`](crate::verify()) found.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let log = flyto_audit::Log::open(dir.path(), flyto_audit::Options::default())?;
/// let running = log.begin("call-1", &())?;
/// let found = flyto_audit::verify(dir.path())?;
/// assert!(found.is_intact());
/// for call in &found.open_calls {
///     println!("{} has not ended; its process is alive: {:?}", call.id, call.is_alive);
/// }
/// assert_eq!((found.begins, found.ends, found.n_open_calls), (1, 0, 1));
/// # running.end(&())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Files with records.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines that are records.
    pub records: u64,
    /// Records of begins.
    pub begins: u64,
    /// Records of ends.
    pub ends: u64,
    /// Records up to this number were removed by a writer, as [`Keep`](crate::Keep) says.
    pub pruned_through: Option<u64>,
    /// The last record; [`Head::EMPTY`] without one. The hash is [`ChainHash::ZERO`](crate::ChainHash::ZERO) where the last
    /// record does not fit its own.
    pub last: Head,
    /// What was found, in the order of the files; at most 1,000.
    pub findings: Vec<Finding>,
    /// How many there are, with those that are not listed.
    pub n_findings: u64,
    /// How many of them are tampering: [`FindingKind::is_tampering`].
    pub n_tampering: u64,
    /// Begins without an end, oldest first; at most 10,000. Such a call runs, or its process was killed.
    pub open_calls: Vec<OpenCall>,
    /// How many there are, with those that are not listed.
    pub n_open_calls: u64,
    /// Ends without a begin: of calls whose begin was pruned.
    pub ends_without_begin: u64,
}

impl Verification {
    /// Whether the log is as it was written. A torn line does not count against it.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.n_tampering == 0
    }
}

/// Reads every line of a log and compares it with its hash, with the line before it and with `head.json`. Writers
/// may go on: what they append after the start is left out.
///
/// Memory stays under 16 MiB, however long the log is. Where more than 64 MiB of its files are in lines that are no records,
/// the rest of such a file is [unread](FindingKind::Unread). What is not found: see the start of this page.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use flyto_audit::{FindingKind, Log, Options, verify};
///
/// let log = Log::open(dir.path(), Options::default())?;
/// for n in 1..=3 {
///     log.event("", "stored", &n)?;
/// }
/// assert!(verify(dir.path())?.is_intact());
///
/// let file = dir.path().join("audit.jsonl");
/// let text = std::fs::read_to_string(&file)?.replace(r#""body":2"#, r#""body":7"#);
/// std::fs::write(&file, text)?;
/// let found = verify(dir.path())?;
/// assert_eq!(found.findings[0].kind, FindingKind::Changed);
/// assert_eq!(found.findings[0].line, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`AuditError::Locked`] where a writer does not let go of the log, [`AuditError::TooManyFiles`],
/// [`AuditError::Refused`], and [`AuditError::Io`] where a file cannot be read. What is wrong with the log is no error.
pub fn verify(dir: impl AsRef<Path>) -> Result<Verification, AuditError> {
    verify_with(dir, &VerifyOptions::default())
}

/// As [`verify`](crate::verify()), and compares with heads that were noted elsewhere.
///
/// # Errors
///
/// See [`verify`](crate::verify()).
pub fn verify_with(
    dir: impl AsRef<Path>,
    options: &VerifyOptions,
) -> Result<Verification, AuditError> {
    let mut n_attempts = 1;
    loop {
        let snapshot = Snapshot::take(Dir::open(dir.as_ref())?)?;
        let (res, has_gone) = verify_snapshot(&snapshot, options)?;
        if !has_gone || n_attempts == MAX_ATTEMPTS {
            return Ok(res);
        }
        n_attempts += 1;
    }
}

/// The second value tells whether a file went away after the snapshot.
fn verify_snapshot(
    snapshot: &Snapshot,
    options: &VerifyOptions,
) -> Result<(Verification, bool), AuditError> {
    let mut anchors = options.anchors.clone();
    if let FoundHead::Known(head) = &snapshot.head {
        anchors.push(head.head());
    }
    let mut chain = Chain::new(anchors);
    let (mut n_files, mut n_bytes, mut has_gone) = (0, 0, false);
    let mut foreign = ForeignLeft::default();
    for index in 0..snapshot.n_files() {
        let name = snapshot.name(index);
        let Some((file, bytes)) = snapshot.open(index)? else {
            has_gone = true;
            continue;
        };
        n_files += 1;
        n_bytes += bytes;
        chain.begin_file(&name);
        let mut lines = Lines::new(&file, 0, bytes).with_foreign(foreign);
        if let Err(err) = read_file(&mut lines, &mut chain) {
            if err.kind() != io::ErrorKind::InvalidData {
                return Err(AuditError::io("read", snapshot.dir.path_of(&name), err));
            }
            chain.unread();
        }
        foreign = lines.foreign();
    }
    let mut res = chain.finish(&snapshot.head);
    res.files = n_files;
    res.bytes = n_bytes;
    if snapshot.head == FoundHead::Missing && res.records == 0 && res.n_findings == 0 {
        // A directory without a log.
        return Ok((res, has_gone));
    }
    let lost = match &snapshot.head {
        FoundHead::Known(_) => return Ok((res, has_gone)),
        FoundHead::Missing => {
            "head.json is missing: whether records are missing at the end cannot be told"
        }
        FoundHead::Unreadable => {
            "head.json is unreadable: whether records are missing at the end cannot be told"
        }
    };
    let kind = FindingKind::HeadLost;
    let (file, detail) = (HEAD.to_owned(), lost.to_owned());
    res.add(Finding { kind, file, line: 1, seqs: None, detail });
    Ok((res, has_gone))
}

/// Takes the lines of one file.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidData`] where too much of it is no record.
fn read_file(lines: &mut Lines<&File>, chain: &mut Chain) -> io::Result<()> {
    while let Some(line) = lines.next()? {
        let n_bytes = line.bytes.map(|it| it.len() as u64);
        if !chain.line(&line) {
            lines.count_foreign(n_bytes)?;
        }
    }
    Ok(())
}

impl Verification {
    fn add(&mut self, finding: Finding) {
        self.n_findings += 1;
        self.n_tampering += u64::from(finding.kind.is_tampering());
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
    }
}
