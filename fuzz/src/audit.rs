//! The audit log: lines of a stranger, as they are and with hashes that fit.

use std::{fs, path::Path};

use flyto_audit::{AuditError, Fsync, Log, Options, Reader, verify};
use sha2::{Digest as _, Sha256};

const CURRENT: &str = "audit.jsonl";

/// The files of an audit log: what stands before the first NUL byte is `head.json`, where there is
/// one, and the rest `audit.jsonl`.
///
/// # Panics
///
/// A reader finds other lines backwards than forwards or loses one, or a writer changes what was
/// there.
pub fn audit(bytes: &[u8]) {
    let (head, lines) = match bytes.iter().position(|it| *it == 0) {
        Some(at) => (Some(&bytes[..at]), &bytes[at + 1..]),
        None => (None, bytes),
    };
    check(head, lines);
    check(head, &sealed(lines));
}

fn check(head: Option<&[u8]>, lines: &[u8]) {
    let temp = tempfile::tempdir().expect("a directory for the files");
    let dir = temp.path();
    fs::write(dir.join(CURRENT), lines).expect("the file is ours");
    if let Some(head) = head {
        fs::write(dir.join("head.json"), head).expect("the file is ours");
    }
    let n_lines = lines.split_inclusive(|it| *it == b'\n').count();
    let found = verify(dir).expect("what is wrong with a log is no error");
    assert!(found.records <= n_lines as u64, "each record takes a line");
    let forwards = count(&Reader::open(dir).expect("the directory is there"));
    let backwards = count(&Reader::open(dir).expect("the directory is there").newest_first());
    assert_eq!(forwards, backwards);
    assert_eq!(forwards.0 + forwards.1, n_lines);
    let is_log = append(dir);
    let after = fs::read(dir.join(CURRENT)).expect("a writer leaves the file");
    assert!(after.starts_with(lines), "a writer takes nothing away");
    let found = verify(dir).expect("what is wrong with a log is no error");
    assert_eq!(found.records > 0, is_log, "the writer has appended one");
}

/// How many records a reader gives, and how many lines that are none.
fn count(reader: &Reader) -> (usize, usize) {
    let mut res = (0, 0);
    for record in reader.records().expect("the files can be read") {
        match record {
            Ok(_) => res.0 += 1,
            Err(AuditError::NoRecord { .. }) => res.1 += 1,
            Err(err) => panic!("{err}"),
        }
    }
    res
}

/// Goes on behind what is there, where any of it is a log.
fn append(dir: &Path) -> bool {
    let log = match Log::open(dir, Options::default().with_fsync(Fsync::Never)) {
        Err(AuditError::Refused { .. }) => return false,
        opened => opened.expect("it goes on"),
    };
    let number = log.event("", "stored", &1).expect("the body is short");
    assert_eq!(log.head().expect("it was written").seq, number);
    true
}

/// The lines with `prev` and `hash` behind their members, where they end in a brace.
fn sealed(lines: &[u8]) -> Vec<u8> {
    let mut res = Vec::new();
    let mut prev = "0".repeat(64);
    for line in lines.split_inclusive(|it| *it == b'\n') {
        let Some(members) = line.trim_ascii_end().strip_suffix(b"}") else {
            res.extend_from_slice(line);
            continue;
        };
        let hashed = [members, b",\"prev\":\"", prev.as_bytes(), b"\""].concat();
        let mut state = Sha256::new();
        state.update(&prev);
        state.update(&hashed);
        prev = state.finalize().iter().map(|it| format!("{it:02x}")).collect();
        res.extend_from_slice(&hashed);
        res.extend_from_slice(format!(",\"hash\":\"{prev}\"}}\n").as_bytes());
    }
    res
}
