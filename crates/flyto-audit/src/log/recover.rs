//! Going on after a writer that was killed, and after a change from outside.
//!
//! Nothing is taken away: each case leaves the files as they are and, where something was lost, a record that says so.
//! The bytes of a torn line stay where they are, behind them a newline and a record `torn` with their length and their
//! SHA-256, all in one write. To move them elsewhere would take three steps, between which a writer can be killed.
//!
//! After a cut the chain goes on from `head.json`, not from the last record that is there: so the next record's number
//! and hash show for ever that something is missing.

use serde_json::json;

use super::{events, state::Locked};
use crate::{
    AuditError, ChainHash, Head,
    files::{self, CURRENT, FoundHead, rotated_name},
    head::HeadFile,
    line::{self, Content, Line, Place},
    lines::{Lines, LinesBack, MAX_FOREIGN_BYTES, none_beyond_bound},
    process,
    sys::{Access, FileId, read_full_at},
};

/// Why a file without a sound record, and without a head that names it, is not appended to.
const NO_LOG: &str = "not one line of its end is a record of a log: move it away";

/// How far behind the record that `head.json` names is looked for others, and how far back for the last record where
/// there is no head. A writer that is killed leaves one record there.
const MAX_LOOK_BYTES: u64 = MAX_FOREIGN_BYTES;

/// Why a file with more than that behind the last known record is not appended to.
const TOO_FAR: &str = "more than 64 MiB lie behind the record that head.json names: cut off what is no part of the log, or \
                       move head.json away to go on behind the last record";

/// A record about what was found.
struct Note {
    event: &'static str,
    body: serde_json::Value,
}

impl Locked<'_> {
    /// Finds the end of the chain, in three cases beside the usual one, in which another writer appended:
    ///
    /// - a writer was killed between the line and `head.json`: the line counts; without its newline it gets one, and
    ///   where it is not whole, a record `torn` behind it;
    /// - a writer was killed during a rotation: the rotation is completed;
    /// - the file is shorter than it was, or `head.json` is lost: a record `cut` or `head_lost`.
    pub(super) fn recover(
        &mut self,
        found_head: FoundHead,
        block: &[u8],
        found: Option<FileId>,
    ) -> Result<(), AuditError> {
        let mut notes = Vec::new();
        let mut head = match found_head {
            FoundHead::Known(head) => head,
            lost => self.rebuild_head(&lost, found, &mut notes)?,
        };
        let found_bytes = found.map_or(0, |it| it.bytes);
        if found_bytes < head.file_bytes {
            let rotated = self.dir.find(&rotated_name(head.file_first))?;
            if rotated.is_some_and(|it| it.bytes >= head.file_bytes) {
                head = head.rotated();
            } else {
                notes.push(cut_note(&head, found_bytes));
                head.file_bytes = found_bytes;
                if found_bytes == 0 {
                    head = head.rotated();
                }
            }
        }
        self.open_current(found.map(|it| it.identity))?;
        let after = self.scan(head, found_bytes, &mut notes)?;
        let mut bytes = self.missing_newline(found_bytes)?;
        let mut last = after.head();
        for Note { event, body } in notes {
            let body = body.to_string();
            let content = Content { id: "", event, process: None, body: body.as_bytes() };
            let previous = after.previous_first.filter(|_| found_bytes == 0 && bytes.is_empty());
            let follows = previous.map(rotated_name);
            let place = Place { seq: last.seq + 1, prev: &last.hash, follows: follows.as_deref() };
            let hash = line::write(&mut bytes, place, content);
            last = Head { seq: last.seq + 1, hash };
        }
        let written = after.to_block();
        let block = if written[..] == *block { written } else { self.write_head(&after)? };
        self.set_known(after, block);
        if bytes.is_empty() { Ok(()) } else { self.write(&bytes, last) }
    }

    /// The head before the last sound record that is there.
    ///
    /// It looks through the files from the newest on until one has a sound record. In `audit.jsonl`
    /// that record is then read again by [`scan`](Self::scan), as one that was written behind the
    /// head. Where no file has a byte the log begins anew: record 1 is the note `head_lost`.
    ///
    /// # Errors
    ///
    /// [`AuditError::Refused`] where files have bytes and none has a sound record at its end: nothing shows that they are a
    /// log, and what is appended would be part of another program's file.
    fn rebuild_head(
        &self,
        lost: &FoundHead,
        found: Option<FileId>,
        notes: &mut Vec<Note>,
    ) -> Result<HeadFile, AuditError> {
        let rotated = files::rotated(&self.dir)?;
        let is_new = rotated.is_empty() && found.is_none_or(|it| it.bytes == 0);
        if is_new && *lost == FoundHead::Missing {
            return Ok(HeadFile::empty());
        }
        let unreadable = *lost == FoundHead::Unreadable;
        notes.push(Note { event: events::HEAD_LOST, body: json!({ "unreadable": unreadable }) });
        let names = rotated.iter().map(|it| rotated_name(*it)).chain([CURRENT.to_owned()]);
        let mut foreign = None;
        for name in names.collect::<Vec<_>>().into_iter().rev() {
            let Some((head, offset)) = self.before_last_record(&name)? else {
                if self.dir.find(&name)?.is_some_and(|it| it.bytes > 0) {
                    foreign.get_or_insert(name);
                }
                continue;
            };
            if name == CURRENT {
                // The number is needed for the name at the next rotation; lost lines before may make it a wrong one.
                let first = self.first_record(&name)?.map_or(head.seq + 1, |it| it.seq);
                let previous_first = rotated.last().copied();
                let mut res = HeadFile::empty().with_last(head, offset);
                (res.file_first, res.previous_first) = (first, previous_first);
                return Ok(res);
            }
            // All of the last rotated file counts: its last record is behind that head.
            let last = self.last_of(&name)?.unwrap_or(head);
            let file_first = rotated.last().copied().unwrap_or(1);
            let mut res = HeadFile::empty().with_last(last, 0);
            res.file_first = file_first;
            return Ok(res.rotated());
        }
        match foreign {
            Some(name) => Err(AuditError::Refused { path: self.dir.path_of(&name), why: NO_LOG }),
            None => Ok(HeadFile::empty()),
        }
    }

    /// Takes what was written behind the head.
    ///
    /// From `head.file_bytes` to `found_bytes`. A line counts where it has the next number, names
    /// the last hash and fits its own.
    ///
    /// # Errors
    ///
    /// [`AuditError::Refused`] where more was written than a log would have.
    fn scan(
        &self,
        head: HeadFile,
        found_bytes: u64,
        notes: &mut Vec<Note>,
    ) -> Result<HeadFile, AuditError> {
        let mut last = head.head();
        if found_bytes.saturating_sub(head.file_bytes) > MAX_LOOK_BYTES {
            return Err(AuditError::Refused { path: self.dir.path_of(CURRENT), why: TOO_FAR });
        }
        let failed = |err| AuditError::io("read", self.dir.path_of(CURRENT), err);
        let mut lines = Lines::new(self.current(), head.file_bytes, found_bytes);
        while let Some(raw) = lines.next().map_err(failed)? {
            let follows = |it: &Line<'_>| {
                Some(it.seq) == last.seq.checked_add(1) && it.prev == last.hash && it.is_sound()
            };
            if let Some(line) = raw.bytes.and_then(Line::parse).filter(follows) {
                last = Head { seq: line.seq, hash: line.hash };
            } else if !raw.is_ended {
                let body = json!({ "bytes": raw.len, "sha256": raw.digest() });
                notes.push(Note { event: events::TORN, body });
            }
            // Another line is from another program: it stays, and `verify` names it.
        }
        Ok(head.with_last(last, found_bytes))
    }

    /// A newline where the file ends without one.
    fn missing_newline(&self, found_bytes: u64) -> Result<Vec<u8>, AuditError> {
        let Some(offset) = found_bytes.checked_sub(1) else { return Ok(Vec::new()) };
        let mut last = [0];
        let read = read_full_at(self.current(), &mut last, offset);
        read.map_err(|err| AuditError::io("read", self.dir.path_of(CURRENT), err))?;
        Ok(if last == *b"\n" { Vec::new() } else { b"\n".to_vec() })
    }

    /// The head before the last sound record of a file, and where that record begins.
    fn before_last_record(&self, name: &str) -> Result<Option<(Head, u64)>, AuditError> {
        self.last_sound(name, |line, offset| (Head { seq: line.seq - 1, hash: line.prev }, offset))
    }

    /// The last sound record of a file.
    fn last_of(&self, name: &str) -> Result<Option<Head>, AuditError> {
        self.last_sound(name, |line, _| Head { seq: line.seq, hash: line.hash })
    }

    /// What `read` makes of the last sound record of a file and of the place where it begins. Lines behind it, of which
    /// none is a record, are passed over; each is looked at once.
    fn last_sound<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Line<'_>, u64) -> T,
    ) -> Result<Option<T>, AuditError> {
        let Some(file) = self.dir.open_file(name, Access::Read)? else { return Ok(None) };
        let bytes = self.dir.id_of(name, &file)?.bytes;
        let mut lines = LinesBack::new(file, bytes).within(MAX_LOOK_BYTES);
        let failed = |err| AuditError::io("read", self.dir.path_of(name), err);
        while let Some(raw) = none_beyond_bound(lines.next()).map_err(failed)? {
            let line = raw.bytes.as_deref().and_then(Line::parse);
            if let Some(line) = line.filter(|it| it.seq > 0 && it.is_sound()) {
                return Ok(Some(read(&line, raw.offset)));
            }
        }
        Ok(None)
    }

    /// The first record of a file: its number, and what it says of the one before. `None` where its first line is
    /// no sound record.
    pub(super) fn first_record(&self, name: &str) -> Result<Option<First>, AuditError> {
        let Some(file) = self.dir.open_file(name, Access::Read)? else { return Ok(None) };
        let bytes = self.dir.id_of(name, &file)?.bytes;
        let mut lines = Lines::new(&file, 0, bytes);
        let failed = |err| AuditError::io("read", self.dir.path_of(name), err);
        let raw = none_beyond_bound(lines.next()).map_err(failed)?;
        let line = raw.and_then(|it| it.bytes).and_then(Line::parse).filter(Line::is_sound);
        Ok(line.map(|it| First { seq: it.seq, prev: it.prev, at: it.at }))
    }
}

/// The first record of a file.
pub(super) struct First {
    pub(super) seq: u64,
    pub(super) prev: ChainHash,
    pub(super) at: crate::Timestamp,
}

/// The file is shorter than it was. After a restart of the machine that may be for want of power.
///
/// `expected_bytes` and `found_bytes` are lengths of `audit.jsonl`; number and hash are those of
/// the last record that `head.json` names.
fn cut_note(head: &HeadFile, found_bytes: u64) -> Note {
    let restarted = head.boot.is_some() && head.boot.as_deref() != process::boot();
    let body = json!({
        "seq": head.head().seq,
        "hash": head.head().hash,
        "expected_bytes": head.file_bytes,
        "found_bytes": found_bytes,
        "restarted": restarted,
    });
    Note { event: events::CUT, body }
}
