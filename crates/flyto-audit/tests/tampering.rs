//! What `verify` says of a log that was changed: which file, which line, and what happened.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::PathBuf};

use expect_test::{Expect, expect};
use flyto_audit::{ChainHash, FindingKind, Head, Log, Options, VerifyOptions, verify, verify_with};
use serde_json::{Value, json};

/// A log of ten records in files of three, to be changed.
struct Case {
    temp: tempfile::TempDir,
}

const CURRENT: &str = "audit.jsonl";
const FIRST: &str = "audit-000000000001.jsonl";
const SECOND: &str = "audit-000000000004.jsonl";

impl Case {
    fn new() -> Self {
        let res = Self { temp: tempfile::tempdir().unwrap() };
        let log = res.open();
        for n in 1..=10 {
            log.event("call", "count", &json!({ "n": n })).unwrap();
        }
        drop(log);
        assert_eq!(res.lines(CURRENT).len(), 1);
        assert!(verify(res.temp.path()).unwrap().is_intact());
        res
    }

    fn open(&self) -> Log {
        Log::open(self.temp.path(), Options::default().with_rotate_bytes(900)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    /// Changes the lines of a file.
    fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<String>)) {
        let mut lines = self.lines(name);
        edit(&mut lines);
        fs::write(self.path(name), lines.concat()).unwrap();
    }

    /// What `verify` finds, a line each.
    fn found(&self) -> String {
        let found = verify(self.temp.path()).unwrap();
        assert_eq!(found.is_intact(), found.n_tampering == 0);
        let lines: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    #[track_caller]
    fn check(&self, expect: Expect) {
        expect.assert_eq(&self.found());
    }
}

#[track_caller]
fn check_edit(name: &str, edit: impl FnOnce(&mut Vec<String>), expect: Expect) {
    let case = Case::new();
    case.edit(name, edit);
    case.check(expect);
}

/// The line with another body or number, and a hash that fits it.
fn forged(line: &str, seq: u64, body: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| record[key].as_str().unwrap().to_owned();
    let hashed = format!(
        r#"{{"seq":{seq},"at":"{}","id":"call","event":"count","body":{body},"prev":"{}""#,
        text("at"),
        text("prev")
    );
    let hash = sha256(&format!("{}{hashed}", text("prev")));
    format!("{hashed},\"hash\":\"{hash}\"}}\n")
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(text).iter().map(|it| format!("{it:02x}")).collect()
}

#[test]
fn a_changed_byte() {
    let change = |lines: &mut Vec<String>| lines[1] = lines[1].replace(r#""n":5"#, r#""n":6"#);
    check_edit(
        SECOND,
        change,
        expect!["audit-000000000004.jsonl:2: changed: record 5 does not fit its hash"],
    );
}

#[test]
fn a_changed_byte_in_each_place_is_named_with_its_line() {
    let case = Case::new();
    let clean = fs::read(case.path(SECOND)).unwrap();
    for i in 0..clean.len() {
        let mut changed = clean.clone();
        changed[i] ^= 1;
        fs::write(case.path(SECOND), &changed).unwrap();
        let found = verify(case.temp.path()).unwrap();
        let line = clean[..i].iter().filter(|it| **it == b'\n').count() as u64 + 1;
        let first = &found.findings[0];
        assert!(!found.is_intact(), "byte {i}");
        assert_eq!(first.file, SECOND, "byte {i}: {first}");
        // A changed newline joins two lines; the first of them tells.
        assert_eq!(first.line, line, "byte {i}: {first}");
        assert_eq!(first.kind, FindingKind::Changed, "byte {i}: {first}");
    }
}

#[test]
fn a_record_that_got_a_hash_of_its_own() {
    let forge = |lines: &mut Vec<String>| lines[1] = forged(&lines[1], 5, r#"{"n":6}"#);
    check_edit(
        SECOND,
        forge,
        expect![
            "audit-000000000004.jsonl:2: changed: record 5 was replaced, with a hash of its own: record 6 names another one"
        ],
    );
}

#[test]
fn the_last_record_with_a_hash_of_its_own() {
    let forge = |lines: &mut Vec<String>| lines[0] = forged(&lines[0], 10, r#"{"n":6}"#);
    check_edit(
        CURRENT,
        forge,
        expect!["audit.jsonl:1: changed: record 10 has another hash than the head that was noted"],
    );
}

#[test]
fn a_removed_line() {
    check_edit(
        SECOND,
        |lines| _ = lines.remove(1),
        expect!["audit-000000000004.jsonl:2: removed: record 5 is missing"],
    );
}

#[test]
fn removed_lines_at_the_start_and_the_end_of_files() {
    check_edit(
        FIRST,
        |lines| _ = lines.remove(0),
        expect!["audit-000000000001.jsonl:1: removed: record 1 is missing"],
    );
    check_edit(
        FIRST,
        |lines| _ = lines.pop(),
        expect!["audit-000000000004.jsonl:1: removed: record 3 is missing"],
    );
    check_edit(
        SECOND,
        |lines| _ = lines.remove(0),
        expect!["audit-000000000004.jsonl:1: removed: record 4 is missing"],
    );
}

#[test]
fn an_inserted_line() {
    let copy = |lines: &mut Vec<String>| lines.insert(2, lines[0].clone());
    check_edit(SECOND, copy, expect!["audit-000000000004.jsonl:3: inserted: a second record 4"]);
    let doubled = |lines: &mut Vec<String>| lines.insert(1, lines[0].clone());
    check_edit(SECOND, doubled, expect!["audit-000000000004.jsonl:2: inserted: a second record 4"]);
    check_edit(
        SECOND,
        |lines| lines.insert(1, "junk\n".into()),
        expect!["audit-000000000004.jsonl:2: inserted: 4 B that are no record"],
    );
    check_edit(
        CURRENT,
        |lines| lines.push("junk\n".into()),
        expect!["audit.jsonl:2: inserted: 4 B that are no record"],
    );
}

#[test]
fn an_inserted_record_with_a_hash_of_its_own() {
    // Before and behind the record that was written.
    let before = |lines: &mut Vec<String>| lines.insert(1, forged(&lines[1], 5, "{}"));
    check_edit(SECOND, before, expect!["audit-000000000004.jsonl:2: inserted: a second record 5"]);
    let behind = |lines: &mut Vec<String>| lines.insert(2, forged(&lines[1], 5, "{}"));
    check_edit(SECOND, behind, expect!["audit-000000000004.jsonl:3: inserted: a second record 5"]);
}

#[test]
fn swapped_lines() {
    check_edit(
        SECOND,
        |lines| lines.swap(0, 1),
        expect!["audit-000000000004.jsonl:2: reordered: record 4 stands behind record 5"],
    );
    check_edit(
        SECOND,
        |lines| lines.swap(0, 2),
        expect![[r#"
        audit-000000000004.jsonl:2: reordered: record 5 stands behind record 6
        audit-000000000004.jsonl:3: reordered: record 4 stands behind record 6"#]],
    );
    check_edit(
        SECOND,
        |lines| lines.rotate_left(1),
        expect!["audit-000000000004.jsonl:3: reordered: record 4 stands behind record 6"],
    );
}

#[test]
fn a_removed_file() {
    let case = Case::new();
    fs::remove_file(case.path(SECOND)).unwrap();
    case.check(expect![
        "audit-000000000007.jsonl:1: file removed: audit-000000000004.jsonl; records 4 to 6 are missing"
    ]);
    let case = Case::new();
    fs::remove_file(case.path(FIRST)).unwrap();
    case.check(expect![
        "audit-000000000004.jsonl:1: file removed: audit-000000000001.jsonl; records 1 to 3 are missing"
    ]);
    let case = Case::new();
    fs::remove_file(case.path(CURRENT)).unwrap();
    case.check(expect!["audit.jsonl:1: cut: record 10 is missing, with the file"]);
}

#[test]
fn files_with_changed_names() {
    let case = Case::new();
    fs::rename(case.path(FIRST), case.path("swap")).unwrap();
    fs::rename(case.path(SECOND), case.path(FIRST)).unwrap();
    fs::rename(case.path("swap"), case.path(SECOND)).unwrap();
    case.check(expect![[r#"
        audit-000000000004.jsonl:1: reordered: record 1 stands behind record 6
        audit-000000000004.jsonl:2: reordered: record 2 stands behind record 6
        audit-000000000004.jsonl:3: reordered: record 3 stands behind record 6"#]]);
}

#[test]
fn a_cut_tail() {
    // The whole last record, and a part of it.
    check_edit(CURRENT, Vec::clear, expect!["audit.jsonl:1: cut: record 10 is missing"]);
    check_edit(
        CURRENT,
        |lines| lines[0].truncate(50),
        expect!["audit.jsonl:1: cut: record 10 is missing"],
    );
}

#[test]
fn a_cut_tail_stays_in_the_log_when_a_writer_comes_back() {
    for keep in [0, 50] {
        let case = Case::new();
        case.edit(CURRENT, |lines| lines[0].truncate(keep));
        let log = case.open();
        log.event("", "next", &()).unwrap();
        let expected = match keep {
            0 => expect!["audit.jsonl:1: cut: record 10 is missing"],
            _ => expect!["audit.jsonl:2: cut: record 10 is missing"],
        };
        case.check(expected);
        assert_eq!(log.head().unwrap().seq, 12);
    }
}

#[test]
fn a_tail_that_is_cut_under_a_writer() {
    let case = Case::new();
    let log = case.open();
    log.event("", "next", &()).unwrap();
    case.edit(CURRENT, |lines| _ = lines.pop());
    log.event("", "next", &()).unwrap();
    case.check(expect!["audit.jsonl:2: cut: record 11 is missing"]);
    // Without the file altogether, writers go on in a new one.
    fs::remove_file(case.path(CURRENT)).unwrap();
    log.event("", "next", &()).unwrap();
    case.check(expect!["audit.jsonl:1: cut: records 10 to 13 are missing"]);
}

#[test]
fn a_lost_head() {
    let case = Case::new();
    fs::remove_file(case.path("head.json")).unwrap();
    case.check(expect!["head.json:1: head lost: head.json is missing: whether records are missing at the end cannot be told"]);
    case.open().event("", "next", &()).unwrap();
    case.check(expect!["audit.jsonl:2: head lost: a writer found no head.json that it could read: records before this one may be missing"]);
    fs::write(case.path("head.json"), "{}").unwrap();
    case.check(expect![[r#"
        audit.jsonl:2: head lost: a writer found no head.json that it could read: records before this one may be missing
        head.json:1: head lost: head.json is unreadable: whether records are missing at the end cannot be told"#]]);
    case.open().event("", "next", &()).unwrap();
    case.check(expect![[r#"
        audit-000000000010.jsonl:2: head lost: a writer found no head.json that it could read: records before this one may be missing
        audit-000000000010.jsonl:4: head lost: a writer found no head.json that it could read: records before this one may be missing"#]]);
}

#[test]
fn a_head_that_is_lost_under_a_writer() {
    let case = Case::new();
    let log = case.open();
    fs::remove_file(case.path("head.json")).unwrap();
    log.event("", "next", &()).unwrap();
    case.check(expect!["audit.jsonl:2: head lost: a writer found no head.json that it could read: records before this one may be missing"]);
    // All records are there, and the chain goes on.
    let found = verify(case.temp.path()).unwrap();
    assert_eq!((found.records, found.n_findings), (12, 1));
}

#[test]
fn a_head_from_elsewhere_convicts_a_chain_that_was_written_anew() {
    let case = Case::new();
    let noted = case.open().head().unwrap();
    assert_eq!(noted.seq, 10);
    let options = VerifyOptions::default().with_anchor(noted);
    assert!(verify_with(case.temp.path(), &options).unwrap().is_intact());
    for n_records in [9, 10, 11] {
        let anew = tempfile::tempdir().unwrap();
        let log = Log::open(anew.path(), Options::default()).unwrap();
        for n in 0..n_records {
            log.event("call", "count", &json!({ "n": n })).unwrap();
        }
        assert!(verify(anew.path()).unwrap().is_intact());
        let found = verify_with(anew.path(), &options).unwrap();
        let (kind, line) = match n_records {
            9 => (FindingKind::Cut, 10),
            _ => (FindingKind::Changed, 10),
        };
        assert_eq!((found.findings[0].kind, found.findings[0].line), (kind, line));
        assert_eq!(found.n_tampering, 1);
    }
}

#[test]
fn numbers_that_no_log_reaches_are_no_records() {
    for seq in [u64::MAX - 1, u64::MAX] {
        let temp = tempfile::tempdir().unwrap();
        let log = Log::open(temp.path(), Options::default()).unwrap();
        log.event("call", "count", &1).unwrap();
        let file = temp.path().join(CURRENT);
        let first = fs::read_to_string(&file).unwrap();
        // Its hash fits, and so does the head.
        let made_up = forged(&first, seq, "2");
        let hash = serde_json::from_str::<Value>(&made_up).unwrap()["hash"].clone();
        fs::write(&file, made_up.repeat(2) + &first + "junk\njunk\n").unwrap();
        let head = temp.path().join("head.json");
        let mut content: Value = serde_json::from_slice(&fs::read(&head).unwrap()).unwrap();
        (content["seq"], content["hash"]) = (json!(seq), hash);
        fs::write(&head, content.to_string()).unwrap();

        assert!(!verify(temp.path()).unwrap().is_intact());
        // A writer goes on behind the last record that is one.
        let log = Log::open(temp.path(), Options::default()).unwrap();
        assert!(log.event("call", "count", &3).unwrap() < 10);
        assert!(!verify(temp.path()).unwrap().is_intact());
    }
}

/// Many of them would take more memory than `verify` says that it needs.
#[test]
fn long_texts_of_a_record_are_not_kept() {
    let temp = tempfile::tempdir().unwrap();
    let long = "x".repeat(100_000);
    let prev = "0".repeat(64);
    let process = format!(r#"{{"pid":1,"boot":"{long}"}}"#);
    let members = format!(
        r#"{{"seq":7,"at":"2026-01-31T12:00:00.000Z","id":"a","event":"begin","process":{process},"#
    );
    let members = format!(r#"{members}"follows":"{long}","body":1,"prev":"{prev}""#);
    let hash = sha256(&format!("{prev}{members}"));
    fs::write(temp.path().join(CURRENT), format!("{members},\"hash\":\"{hash}\"}}\n")).unwrap();
    let found = verify(temp.path()).unwrap();
    assert_eq!((found.records, found.begins, found.n_open_calls), (1, 1, 1));
    assert!(found.open_calls.is_empty());
    assert_eq!(found.findings[0].to_string(), "audit.jsonl:1: removed: records 1 to 6 are missing");
    assert!(serde_json::to_string(&found).unwrap().len() < 2000);
}

#[test]
fn findings_without_end_are_counted() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join(CURRENT), "junk\n".repeat(5000)).unwrap();
    let found = verify(temp.path()).unwrap();
    assert_eq!(found.findings.len(), 1000);
    // One for each line, and the head is missing.
    assert_eq!((found.n_findings, found.n_tampering), (5001, 5001));
}

/// A sparse file costs its writer nothing, and would cost a reader of all of it hours.
#[cfg(unix)]
#[test]
fn a_terabyte_that_is_no_record_is_not_read() {
    use std::os::unix::fs::FileExt as _;
    const TERABYTE: u64 = 1 << 40;
    let case = Case::new();
    let grow = |name: &str, len: u64| {
        let file = fs::OpenOptions::new().append(true).open(case.path(name)).unwrap();
        file.set_len(len).unwrap();
    };
    // Lines of 1 MB, each of them short enough for a record, but none.
    let file = fs::OpenOptions::new().write(true).open(case.path(SECOND)).unwrap();
    for n in 1..100 {
        file.write_all_at(b"\n", n * 1_000_000).unwrap();
    }
    grow(CURRENT, TERABYTE);
    let expected = "unread: more than 64 MiB are in lines that are no records, so the rest of this file was not \
                    read: what it holds is unknown, and its records count as missing";
    let found = verify(case.temp.path()).unwrap();
    let unread: Vec<_> =
        found.findings.iter().filter(|it| it.kind == FindingKind::Unread).collect();
    let expected = [format!("{SECOND}:72: {expected}"), format!("{CURRENT}:2: {expected}")];
    assert_eq!(unread.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    assert!(!found.is_intact());
    // All records are there.
    assert_eq!(found.records, 10);

    for name in [FIRST, CURRENT] {
        grow(name, TERABYTE);
    }
    let all = flyto_audit::Reader::open(case.temp.path()).unwrap();
    for reader in [all.clone(), all.newest_first()] {
        let last = reader.records().unwrap().last().unwrap().unwrap_err();
        let cause = std::error::Error::source(&last).unwrap().to_string();
        assert_eq!(cause, "more than 64 MiB of it are in lines that are no records");
    }
}

#[test]
fn a_directory_without_a_log_is_intact() {
    let temp = tempfile::tempdir().unwrap();
    let found = verify(temp.path()).unwrap();
    assert_eq!((found.records, found.n_findings), (0, 0));
    assert_eq!(found.last, Head::new(0, ChainHash::ZERO));
}
