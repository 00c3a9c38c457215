//! The chain, line by line.
//!
//! A line that does not fit says little about itself: whether it was changed, inserted or moved shows with the lines
//! behind it. So some findings wait in [`Chain`] for the next line or for the end.

use serde::Deserialize;

use super::{Finding, FindingKind, MAX_FINDINGS, Verification, open_calls::OpenCalls};
use crate::{
    ChainHash, Head,
    files::{CURRENT, FoundHead},
    line::Line,
    lines::RawLine,
    log::events,
};

/// The longest name of a file of a log: `audit-`, a number of 20 digits, `.jsonl`.
const MAX_NAME_BYTES: usize = 32;

/// A line of a file.
#[derive(Debug, Clone, Default)]
struct Place {
    /// Its index among the files.
    file: usize,
    line: u64,
}

/// A line that is no record, until the next line tells what it was.
#[derive(Debug)]
struct Bad {
    place: Place,
    len: u64,
    digest: ChainHash,
    is_ended: bool,
}

/// The record that the chain has come to.
#[derive(Debug)]
struct Last {
    place: Place,
    seq: u64,
    prev: ChainHash,
}

/// A second record in the place of the last one: the next record names the one that was written.
#[derive(Debug)]
struct Rival {
    place: Place,
    seq: u64,
    hash: ChainHash,
}

/// Numbers without a record, as long as none has come.
#[derive(Debug)]
struct Gap {
    first: u64,
    last: u64,
    /// The record behind it.
    place: Place,
    /// The hash that this record names.
    hash: ChainHash,
    /// The file that this record says it comes behind.
    follows: Option<String>,
    /// Whether a writer found the records missing.
    is_cut: bool,
}

/// What a `prune` record says.
#[derive(Debug, Deserialize)]
struct Prune {
    last: u64,
    hash: ChainHash,
}

/// What a `torn` record says.
#[derive(Debug, Deserialize)]
struct Torn {
    bytes: u64,
    sha256: ChainHash,
}

/// What is known between two lines. Its memory is bounded by [`MAX_FINDINGS`] and the bound on open calls.
///
/// A line is judged in this order. No record: it waits for the next line, which has the number behind it (it was a
/// record) or the same (it was inserted) or vouches for it (it is torn). Not fit for its own hash: it is changed, and
/// stands for the record that is expected, so that the next line is not blamed. A number that is ahead: records are
/// missing, until they come later. A number that has been: it fills such a gap (it was moved) or is a second one (it
/// was inserted). Another hash of the record before: that one was replaced.
#[derive(Debug)]
pub(super) struct Chain {
    /// Heads to compare with; each goes once its number has come.
    anchors: Vec<Head>,
    files: Vec<String>,
    at: Place,
    /// The number of the next record.
    next: u64,
    /// The hash that it names; `None` behind a line whose hash is not known.
    prev: Option<ChainHash>,
    last: Option<Last>,
    bad: Option<Bad>,
    rival: Option<Rival>,
    gaps: Vec<Gap>,
    pruned: Option<Prune>,
    open_calls: OpenCalls,
    found: Vec<(Place, Finding)>,
    res: Verification,
}

impl Chain {
    /// Before the first line.
    pub(super) fn new(anchors: Vec<Head>) -> Self {
        Self {
            anchors,
            files: Vec::new(),
            at: Place::default(),
            next: 1,
            prev: Some(ChainHash::ZERO),
            last: None,
            bad: None,
            rival: None,
            gaps: Vec::new(),
            pruned: None,
            open_calls: OpenCalls::default(),
            found: Vec::new(),
            res: Verification {
                files: 0,
                bytes: 0,
                records: 0,
                begins: 0,
                ends: 0,
                pruned_through: None,
                last: Head::EMPTY,
                findings: Vec::new(),
                n_findings: 0,
                n_tampering: 0,
                open_calls: Vec::new(),
                n_open_calls: 0,
                ends_without_begin: 0,
            },
        }
    }

    /// The lines that come now are those of this file.
    pub(super) fn begin_file(&mut self, name: &str) {
        self.at = Place { file: self.files.len(), line: 0 };
        self.files.push(name.to_owned());
    }

    /// The rest of the file is not read.
    pub(super) fn unread(&mut self) {
        let place = Place { line: self.at.line + 1, ..self.at.clone() };
        let detail = "more than 64 MiB are in lines that are no records, so the rest of this file was not read: what it \
                      holds is unknown, and its records count as missing";
        self.add(FindingKind::Unread, place, None, detail.to_owned());
    }

    /// Takes the next line; false where it is no record.
    pub(super) fn line(&mut self, raw: &RawLine<'_>) -> bool {
        self.at.line += 1;
        let Some(line) = raw.bytes.and_then(Line::parse) else {
            // Two of them in a row: the first one stands for a record, as far as can be told.
            if let Some(bad) = self.bad.take() {
                self.changed_record(bad);
            }
            let (len, digest, is_ended) = (raw.len, raw.digest(), raw.is_ended);
            self.bad = Some(Bad { place: self.at.clone(), len, digest, is_ended });
            return false;
        };
        self.res.records += 1;
        let is_sound = line.is_sound();
        if let Some(bad) = self.bad.take() {
            self.judge_bad(bad, &line, is_sound);
        } else if is_sound && line.event == events::TORN {
            let detail = "the torn line that stood before this record".to_owned();
            self.add(FindingKind::Removed, self.at.clone(), None, detail);
        }
        if is_sound {
            self.sound(&line);
        } else {
            self.unsound(&line);
        }
        true
    }

    /// The record behind a line that is none tells what that was.
    fn judge_bad(&mut self, bad: Bad, line: &Line<'_>, is_sound: bool) {
        if is_sound && line.event == events::TORN {
            let torn = serde_json::from_str::<Torn>(line.body.get());
            if torn.is_ok_and(|it| it.bytes == bad.len && it.sha256 == bad.digest) {
                let detail = format!("{} B of a record that was never acknowledged", bad.len);
                self.add(FindingKind::Torn, bad.place, None, detail);
                return;
            }
        }
        if is_sound && line.event == events::CUT && line.seq > self.next {
            // It is a part of what is missing before that record.
        } else if is_sound && line.event == events::CUT {
            let detail = format!("{} B are left of a record", bad.len);
            self.add(FindingKind::Cut, bad.place, None, detail);
        } else if line.seq == self.next && self.prev.is_none_or(|it| it == line.prev) {
            self.inserted_bad(bad);
        } else {
            self.changed_record(bad);
        }
    }

    /// A line that is no record stands between two that follow each other.
    fn inserted_bad(&mut self, bad: Bad) {
        let detail = format!("{} B that are no record", bad.len);
        self.add(FindingKind::Inserted, bad.place, None, detail);
    }

    /// A line that is no record stands where the next one should.
    fn changed_record(&mut self, bad: Bad) {
        let seq = self.next;
        let detail = format!("record {seq} is unreadable");
        self.add(FindingKind::Changed, bad.place, Some((seq, seq)), detail);
        self.next += 1;
        self.prev = None;
        self.last = None;
    }

    /// A record that does not fit its own hash stands, as far as can be told, for the one that is expected.
    fn unsound(&mut self, line: &Line<'_>) {
        let seq = self.next;
        self.settle_rival(None);
        let detail = match line.seq == seq {
            true => format!("record {seq} does not fit its hash"),
            false => {
                format!("record {seq}, which says that it is {}, does not fit its hash", line.seq)
            }
        };
        self.add(FindingKind::Changed, self.at.clone(), Some((seq, seq)), detail);
        self.next += 1;
        self.prev = None;
        self.last = None;
    }

    /// A record that fits its own hash.
    fn sound(&mut self, line: &Line<'_>) {
        if line.seq < self.next {
            self.earlier(line);
            return;
        }
        self.settle_rival(Some(line.prev));
        if line.seq > self.next {
            let (first, last) = (self.next, line.seq - 1);
            // No log writes a longer name, and a gap may be one of many.
            let follows = line.follows.as_deref().filter(|it| it.len() <= MAX_NAME_BYTES);
            let follows = follows.map(str::to_owned);
            let (place, hash) = (self.at.clone(), line.prev);
            let is_cut = line.event == events::CUT;
            let gap = Gap { first, last, place, hash, follows, is_cut };
            if self.gaps.len() < MAX_FINDINGS { self.gaps.push(gap) } else { self.missing(gap) }
        } else if self.prev.is_some_and(|it| it != line.prev) {
            self.broken_link(line);
        }
        self.check_anchors(line);
        self.count(line);
        self.next = line.seq.saturating_add(1);
        self.prev = Some(line.hash);
        self.last = Some(Last { place: self.at.clone(), seq: line.seq, prev: line.prev });
    }

    /// The record names another hash than the one before it has.
    fn broken_link(&mut self, line: &Line<'_>) {
        let (place, seq, detail) = match &self.last {
            Some(Last { place, seq, .. }) => {
                let detail = format!(
                    "record {seq} was replaced, with a hash of its own: record {} names another one",
                    line.seq
                );
                (place.clone(), *seq, detail)
            }
            None => {
                let detail = format!("record {} names a record before it that is none", line.seq);
                (self.at.clone(), line.seq, detail)
            }
        };
        self.add(FindingKind::Changed, place, Some((seq, seq)), detail);
    }

    /// A sound record whose number has been.
    fn earlier(&mut self, line: &Line<'_>) {
        let seq = line.seq;
        if let Some(i) = self.gaps.iter().position(|it| it.first <= seq && seq <= it.last) {
            let gap = self.gaps.swap_remove(i);
            let detail = format!("record {seq} stands behind record {}", self.next - 1);
            self.add(FindingKind::Reordered, self.at.clone(), Some((seq, seq)), detail);
            self.count(line);
            if gap.first < seq {
                // What is missing before it stood before it.
                let (first, last, is_cut) = (gap.first, seq - 1, gap.is_cut);
                let (place, hash, follows) = (gap.place.clone(), line.prev, gap.follows.clone());
                self.gaps.push(Gap { first, last, place, hash, follows, is_cut });
            }
            if seq < gap.last {
                self.gaps.push(Gap { first: seq + 1, ..gap });
            }
            return;
        }
        let replaces_last = |it: &Last| it.seq == seq && it.prev == line.prev;
        let is_copy = self.prev == Some(line.hash);
        if self.rival.is_none() && !is_copy && self.last.as_ref().is_some_and(replaces_last) {
            self.rival = Some(Rival { place: self.at.clone(), seq, hash: line.hash });
            return;
        }
        let detail = format!("a second record {seq}");
        self.add(FindingKind::Inserted, self.at.clone(), Some((seq, seq)), detail);
    }

    /// Tells which of two records was inserted, by the hash that the next one names.
    fn settle_rival(&mut self, named: Option<ChainHash>) {
        let Some(Rival { place, seq, hash }) = self.rival.take() else { return };
        let detail = format!("a second record {seq}");
        let is_genuine = named == Some(hash);
        let place = match &mut self.last {
            Some(last) if is_genuine => {
                self.prev = Some(hash);
                std::mem::replace(&mut last.place, place)
            }
            _ => place,
        };
        self.add(FindingKind::Inserted, place, Some((seq, seq)), detail);
    }

    /// Compares a record with the heads that name its number.
    fn check_anchors(&mut self, line: &Line<'_>) {
        let n_anchors = self.anchors.len();
        let mut is_same = true;
        self.anchors.retain(|it| {
            is_same &= it.seq != line.seq || it.hash == line.hash;
            it.seq != line.seq
        });
        if self.anchors.len() < n_anchors && !is_same {
            let seq = line.seq;
            let detail = format!("record {seq} has another hash than the head that was noted");
            self.add(FindingKind::Changed, self.at.clone(), Some((seq, seq)), detail);
        }
    }

    /// Counts a record, and reads those that the log wrote itself.
    fn count(&mut self, line: &Line<'_>) {
        match &*line.event {
            events::BEGIN => {
                self.res.begins += 1;
                self.open_calls.begin(line);
            }
            events::END => {
                self.res.ends += 1;
                self.open_calls.end(&line.id);
            }
            events::PRUNE => {
                let prune = serde_json::from_str::<Prune>(line.body.get()).ok();
                let furthest = self.pruned.as_ref().map_or(0, |it| it.last);
                if let Some(prune) = prune.filter(|it| it.last > furthest && it.last < line.seq) {
                    self.pruned = Some(prune);
                }
            }
            // Else the gap before it tells.
            events::CUT if line.seq == self.next => {
                let detail = "a writer found the file shorter than it had been".to_owned();
                let seqs = Some((line.seq, line.seq));
                self.add(FindingKind::Cut, self.at.clone(), seqs, detail);
            }
            events::HEAD_LOST => {
                let detail = "a writer found no head.json that it could read: records before this one may be missing";
                let seqs = Some((line.seq, line.seq));
                self.add(FindingKind::HeadLost, self.at.clone(), seqs, detail.to_owned());
            }
            _ => {}
        }
    }

    /// Settles what waits for the end.
    pub(super) fn finish(mut self, head: &FoundHead) -> Verification {
        let head = match head {
            FoundHead::Known(head) => Some((head.head(), head.boot.clone())),
            _ => None,
        };
        let expected = head.as_ref().map_or(0, |(head, _)| head.seq);
        if let Some(bad) = self.bad.take() {
            match (bad.is_ended, self.next <= expected) {
                (true, true) => self.changed_record(bad),
                (true, false) => self.inserted_bad(bad),
                // A part of what is missing at the end.
                (false, true) => self.at = Place { line: bad.place.line - 1, ..bad.place },
                (false, false) => {
                    let detail = format!("{} B of a record that was never acknowledged", bad.len);
                    self.add(FindingKind::Torn, bad.place, None, detail);
                }
            }
        }
        self.settle_rival(head.as_ref().map(|(head, _)| head.hash));
        for mut gap in std::mem::take(&mut self.gaps) {
            if gap.first == 1 && !self.pruned_from(&mut gap) {
                continue;
            }
            self.missing_file(gap);
        }
        let restarted = head
            .is_some_and(|(_, boot)| boot.is_some() && boot.as_deref() != crate::process::boot());
        self.missing_end(restarted);
        self.res.last = Head { seq: self.next - 1, hash: self.prev.unwrap_or(ChainHash::ZERO) };
        self.res.ends_without_begin = self.open_calls.n_without_begin;
        (self.res.open_calls, self.res.n_open_calls) = self.open_calls.finish();
        self.found.sort_by_key(|(place, _)| (place.file, place.line));
        self.res.findings = self.found.into_iter().map(|(_, finding)| finding).collect();
        self.res
    }

    /// Takes what a `prune` record covers off a gap at the start; false where nothing is left of it.
    fn pruned_from(&mut self, gap: &mut Gap) -> bool {
        let Some(Prune { last, hash }) = self.pruned else { return true };
        if last < gap.last {
            self.res.pruned_through = Some(last);
            gap.first = last + 1;
            return true;
        }
        self.res.pruned_through = Some(gap.last);
        // A writer that was killed has removed less than it had recorded.
        if last == gap.last && hash != gap.hash {
            let detail = format!("record {last}, the last that was pruned, had another hash");
            self.add(FindingKind::Changed, gap.place.clone(), Some((last, last)), detail);
        }
        false
    }

    /// Records are missing before a record, maybe with their file.
    fn missing_file(&mut self, gap: Gap) {
        let is_gone = |name: &String| !self.files.contains(name);
        match gap.follows.as_ref().filter(|it| is_gone(it)) {
            Some(name) if !gap.is_cut => {
                let Gap { first, last, ref place, .. } = gap;
                let detail = format!("{name}; {}", records(first, last));
                self.add(FindingKind::FileRemoved, place.clone(), Some((first, last)), detail);
            }
            _ => self.missing(gap),
        }
    }

    /// Records are missing before a record.
    fn missing(&mut self, gap: Gap) {
        let Gap { first, last, place, is_cut, .. } = gap;
        let kind = if is_cut { FindingKind::Cut } else { FindingKind::Removed };
        self.add(kind, place, Some((first, last)), records(first, last));
    }

    /// Heads that name a record behind the last one.
    fn missing_end(&mut self, restarted: bool) {
        let last = self.anchors.iter().map(|it| it.seq).max().unwrap_or(0);
        if last < self.next {
            return;
        }
        let first = self.next;
        let mut detail = records(first, last);
        // One line behind the last one.
        if self.files.last().is_none_or(|it| it != CURRENT) {
            self.begin_file(CURRENT);
            detail.push_str(", with the file");
        }
        if restarted {
            detail.push_str(
                "; the machine was restarted since, so a loss of power explains it, unless fsync was `Each`",
            );
        }
        let place = Place { line: self.at.line + 1, ..self.at };
        self.add(FindingKind::Cut, place, Some((first, last)), detail);
    }

    fn add(&mut self, kind: FindingKind, place: Place, seqs: Option<(u64, u64)>, detail: String) {
        self.res.n_findings += 1;
        self.res.n_tampering += u64::from(kind.is_tampering());
        if self.found.len() < MAX_FINDINGS {
            let file = self.files.get(place.file).cloned().unwrap_or_default();
            let line = place.line;
            self.found.push((place, Finding { kind, file, line, seqs, detail }));
        }
    }
}

/// `record 7 is missing`, or several.
fn records(first: u64, last: u64) -> String {
    match first == last {
        true => format!("record {first} is missing"),
        false => format!("records {first} to {last} are missing"),
    }
}
