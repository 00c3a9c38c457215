//! Writing: rotation, what stays, errors, and what is put in order.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use flyto_audit::{
    AuditError, Filter, Fsync, Keep, Log, MAX_RECORD_BYTES, Options, Reader, Record, verify,
};
use serde_json::{Value, json, value::RawValue};

const SMALL: u64 = 900;

fn small(keep: Keep) -> Options {
    Options::default().with_rotate_bytes(SMALL).with_keep(keep)
}

fn count(log: &Log, n: u64) {
    for n in 1..=n {
        log.event("", "count", &n).unwrap();
    }
}

fn records(dir: &Path) -> Vec<Record> {
    Reader::open(dir).unwrap().records().unwrap().collect::<Result<_, _>>().unwrap()
}

/// The numbers of the first records of the rotated files.
fn rotated(dir: &Path) -> Vec<u64> {
    let mut res: Vec<u64> = fs::read_dir(dir)
        .unwrap()
        .filter_map(|it| {
            let name = it.unwrap().file_name().into_string().unwrap();
            name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse().ok()
        })
        .collect();
    res.sort_unstable();
    res
}

#[test]
fn files_are_rotated_and_the_chain_goes_on() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), small(Keep::All)).unwrap();
    count(&log, 50);
    let found = verify(temp.path()).unwrap();
    assert_eq!((found.n_findings, found.records), (0, 50));
    assert_eq!(log.size().unwrap().files, found.files);
    assert_eq!(log.size().unwrap().bytes, found.bytes);
    assert_eq!(log.head().unwrap(), found.last);
    assert!(rotated(temp.path()).len() > 10);
    for first in rotated(temp.path()) {
        let file = temp.path().join(format!("audit-{first:012}.jsonl"));
        assert!(fs::metadata(&file).unwrap().len() <= SMALL);
    }
    let records = records(temp.path());
    assert!(records.windows(2).all(|it| it[0].hash == it[1].prev && it[0].seq + 1 == it[1].seq));
}

#[test]
fn a_record_that_is_longer_than_a_file_gets_one_of_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), small(Keep::All)).unwrap();
    for _ in 0..3 {
        log.event("", "long", &"x".repeat(5000)).unwrap();
    }
    assert_eq!(rotated(temp.path()), [1, 2]);
    assert!(verify(temp.path()).unwrap().is_intact());
}

#[test]
fn the_newest_files_stay_and_the_chain_says_what_went() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), small(Keep::Files(2))).unwrap();
    count(&log, 50);
    assert_eq!(rotated(temp.path()).len(), 2);
    let found = verify(temp.path()).unwrap();
    assert_eq!(found.n_findings, 0, "{:?}", found.findings);
    let first = records(temp.path())[0].seq;
    assert_eq!(found.pruned_through, Some(first - 1));
    // More than that is a removal.
    let oldest = rotated(temp.path())[0];
    fs::remove_file(temp.path().join(format!("audit-{oldest:012}.jsonl"))).unwrap();
    let found = verify(temp.path()).unwrap();
    let texts: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
    let [next] = rotated(temp.path())[..] else { panic!("{:?}", rotated(temp.path())) };
    let missing = format!("audit-{oldest:012}.jsonl; records {oldest} to {} are missing", next - 1);
    assert_eq!(texts, [format!("audit-{next:012}.jsonl:1: file removed: {missing}")]);
}

#[test]
fn old_files_go_when_a_log_is_opened() {
    let temp = tempfile::tempdir().unwrap();
    count(&Log::open(temp.path(), small(Keep::All)).unwrap(), 20);
    let n_files = rotated(temp.path()).len();
    Log::open(temp.path(), small(Keep::For(Duration::from_secs(3600)))).unwrap();
    assert_eq!(rotated(temp.path()).len(), n_files);
    Log::open(temp.path(), small(Keep::For(Duration::ZERO))).unwrap();
    assert_eq!(rotated(temp.path()), [0; 0]);
    let found = verify(temp.path()).unwrap();
    assert_eq!(found.n_findings, 0, "{:?}", found.findings);
}

#[test]
fn a_begin_without_an_end_is_listed_and_a_dropped_one_has_ended() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let begun = log.begin("a", &json!({ "tool": "sort" })).unwrap();
    let other = log.clone().begin("b", &()).unwrap();
    assert_eq!((begun.id(), begun.seq(), other.seq()), ("a", 1, 2));
    let found = verify(temp.path()).unwrap();
    let open: Vec<_> = found.open_calls.iter().map(|it| (it.id.as_str(), it.seq)).collect();
    assert_eq!(open, [("a", 1), ("b", 2)]);
    assert_ne!(found.open_calls[0].is_alive, Some(false));
    begun.end(&json!({ "outcome": "ok" })).unwrap();
    assert!(matches!(begun.end(&()), Err(AuditError::Ended { id }) if id == "a"));
    drop(begun);
    drop(other);
    let found = verify(temp.path()).unwrap();
    assert_eq!((found.begins, found.ends, found.n_open_calls), (2, 2, 0));
    let last = records(temp.path()).pop().unwrap();
    assert_eq!((last.id.as_str(), last.event.as_str()), ("b", "end"));
    assert_eq!(last.body, json!({ "outcome": "dropped" }));
}

#[test]
fn an_end_that_could_not_be_recorded_can_be_tried_again() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let begun = log.begin("a", &()).unwrap();
    let too_large = "x".repeat(MAX_RECORD_BYTES as usize);
    assert!(matches!(begun.end(&too_large), Err(AuditError::TooLarge { .. })));
    drop(begun);
    let last = records(temp.path()).pop().unwrap();
    assert_eq!(last.body["outcome"], json!("dropped"));
    assert!(last.body["unrecorded"].as_str().unwrap().contains("too large"), "{}", last.body);

    let begun = log.begin("b", &()).unwrap();
    assert!(begun.end(&too_large).is_err());
    begun.end(&json!({ "outcome": "ok" })).unwrap();
    drop(begun);
    assert_eq!(records(temp.path()).pop().unwrap().body, json!({ "outcome": "ok" }));
}

#[test]
fn what_cannot_be_recorded_is_refused_and_leaves_the_log_alone() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let deep: Value = (0..101).fold(Value::Null, |inner, _| json!([inner]));
    let fails = std::collections::BTreeMap::from([(vec![1], 1)]);
    let refused = [
        log.event("", "", &()),
        log.event("", "prune", &()),
        log.event("", &"x".repeat(65), &()),
        log.event("", "a\nb", &()),
        log.event(&"x".repeat(257), "a", &()),
        log.event("", "a", &deep),
        log.event("", "a", &fails),
        log.event("", "a", &"x".repeat(MAX_RECORD_BYTES as usize - 100)),
    ];
    let kinds: Vec<String> = refused
        .into_iter()
        .map(|it| format!("{:?}", it.unwrap_err()).split(' ').next().unwrap().to_owned())
        .collect();
    let name = "InvalidName";
    assert_eq!(kinds, [name, name, name, name, name, "TooDeep", "Body", "TooLarge"]);
    assert_eq!(fs::metadata(temp.path().join("audit.jsonl")).unwrap().len(), 0);
}

#[test]
fn any_json_stays_on_one_line() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let raw: Box<RawValue> = serde_json::from_str("{\"a\":\r\n [1,\n\"\\n\"]}").unwrap();
    log.event("id \"\\ \u{e9}", "raw", &raw).unwrap();
    let [record] = &records(temp.path())[..] else { panic!("one record") };
    assert_eq!(record.id, "id \"\\ \u{e9}");
    assert_eq!(record.body, json!({ "a": [1, "\n"] }));
    assert!(verify(temp.path()).unwrap().is_intact());
    let text = fs::read_to_string(temp.path().join("audit.jsonl")).unwrap();
    assert_eq!(text, format!("{}\n", record.line()));
    assert_eq!(
        serde_json::to_value(record).unwrap(),
        serde_json::from_str::<Value>(&text).unwrap()
    );
}

#[test]
fn a_lock_is_waited_for_up_to_a_bound() {
    let temp = tempfile::tempdir().unwrap();
    let wait = Duration::from_millis(20);
    let log = Log::open(temp.path(), Options::default().with_lock_wait(wait)).unwrap();
    let other = fs::File::open(temp.path().join("head.json")).unwrap();
    other.lock().unwrap();
    let start = Instant::now();
    let err = log.event("", "count", &1).unwrap_err();
    assert!(matches!(err, AuditError::Locked { waited, .. } if waited == wait), "{err:?}");
    assert!(start.elapsed() >= wait);
    let opened = Log::open(temp.path(), Options::default().with_lock_wait(wait));
    assert!(matches!(opened, Err(AuditError::Locked { .. })));
    other.unlock().unwrap();
    count(&log, 1);
}

#[test]
fn clones_may_wait_differently_for_one_log() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let wait = Duration::from_millis(1);
    let at_once = log.clone().with_lock_wait(wait);
    let begun = log.begin("a", &()).unwrap().with_lock_wait(wait);
    let other = fs::File::open(temp.path().join("head.json")).unwrap();
    other.lock().unwrap();
    let is_locked =
        |it: AuditError| matches!(it, AuditError::Locked { waited, .. } if waited == wait);
    assert!(is_locked(at_once.event("", "count", &1).unwrap_err()));
    assert!(is_locked(begun.end(&()).unwrap_err()));
    other.unlock().unwrap();
    begun.with_lock_wait(Options::DEFAULT_LOCK_WAIT).end(&()).unwrap();
    assert_eq!(at_once.event("", "count", &1).unwrap(), 3);
    assert_eq!(log.head().unwrap().seq, 3);
}

#[test]
fn a_file_without_a_record_is_not_appended_to() {
    let names = ["audit.jsonl", "audit-000000000001.jsonl"];
    for (name, head) in names.into_iter().flat_map(|name| [(name, None), (name, Some("{}"))]) {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join(name);
        let text = "notes of another program\n{\"seq\": 1}\nwithout an end";
        fs::write(&file, text).unwrap();
        if let Some(head) = head {
            fs::write(temp.path().join("head.json"), head).unwrap();
        }
        let opened = Log::open(temp.path(), Options::default()).map(drop);
        let err = opened.unwrap_err();
        assert!(matches!(&err, AuditError::Refused { path, .. } if *path == file), "{err:?}");
        let expected = "not one line of its end is a record of a log: move it away";
        assert_eq!(err.to_string(), format!("refused to use {}: {expected}", file.display()));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        fs::rename(&file, temp.path().join("notes")).unwrap();
        Log::open(temp.path(), Options::default()).unwrap().event("", "count", &1).unwrap();
    }
}

#[test]
fn what_no_log_would_write_is_not_read_through() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("audit.jsonl");
    count(&Log::open(temp.path(), Options::default()).unwrap(), 2);
    let log = fs::read(&file).unwrap();
    // A hole of the file system, without a newline.
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(1 << 40).unwrap();
    let refused = |expected: &str| {
        let opened = Log::open(temp.path(), Options::default());
        let err = opened.and_then(|it| it.event("", "count", &3)).unwrap_err();
        assert_eq!(err.to_string(), format!("refused to use {}: {expected}", file.display()));
    };
    refused(
        "more than 64 MiB lie behind the record that head.json names: cut off what is no part of the log, or move \
         head.json away to go on behind the last record",
    );
    // Nor backwards.
    fs::remove_file(temp.path().join("head.json")).unwrap();
    refused("not one line of its end is a record of a log: move it away");
    let read = || Reader::open(temp.path()).unwrap().newest_first();
    assert!(read().look_back(1 << 20).records().unwrap().all(|it| it.is_err()));
    fs::write(&file, log).unwrap();
    count(&Log::open(temp.path(), Options::default()).unwrap(), 1);
    let numbers = |bytes: u64| -> Vec<u64> {
        read().look_back(bytes).records().unwrap().map(|it| it.unwrap().seq).collect()
    };
    assert_eq!(numbers(u64::MAX), [4, 3, 2, 1]);
    assert!(numbers(0).is_empty());
    // The record that begins before the bytes is the last one.
    assert_eq!(numbers(1), [4]);
}

#[cfg(unix)]
#[test]
fn a_file_that_other_users_can_write_is_not_written_to() {
    use std::os::unix::fs::PermissionsExt as _;
    for name in ["audit.jsonl", "head.json"] {
        let temp = tempfile::tempdir().unwrap();
        count(&Log::open(temp.path(), Options::default()).unwrap(), 1);
        let file = temp.path().join(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let err = Log::open(temp.path(), Options::default())
            .and_then(|log| log.event("", "count", &2))
            .unwrap_err();
        assert!(matches!(&err, AuditError::Refused { path, .. } if *path == file), "{err:?}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        count(&Log::open(temp.path(), Options::default()).unwrap(), 1);
        assert_eq!(records(temp.path()).len(), 2);
    }
}

#[test]
fn each_mode_of_fsync_writes_the_same() {
    for fsync in [Fsync::Never, Fsync::Batch, Fsync::Each] {
        let temp = tempfile::tempdir().unwrap();
        let log = Log::open(temp.path(), small(Keep::All).with_fsync(fsync)).unwrap();
        count(&log, 10);
        log.sync().unwrap();
        drop(log);
        let found = verify(temp.path()).unwrap();
        assert_eq!((found.records, found.n_findings), (10, 0), "{fsync:?}");
    }
}

/// Whatever moment a writer is killed at: each state of the files in a rotation.
#[test]
fn a_rotation_that_was_not_finished_is_completed() {
    for has_new_file in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        count(&Log::open(temp.path(), small(Keep::All)).unwrap(), 3);
        assert_eq!(rotated(temp.path()), [0; 0]);
        let current = temp.path().join("audit.jsonl");
        fs::rename(&current, temp.path().join("audit-000000000001.jsonl")).unwrap();
        if has_new_file {
            fs::write(&current, "").unwrap();
        }
        assert_eq!(verify(temp.path()).unwrap().n_findings, 0);
        count(&Log::open(temp.path(), small(Keep::All)).unwrap(), 3);
        let found = verify(temp.path()).unwrap();
        assert_eq!((found.records, found.n_findings), (6, 0), "{:?}", found.findings);
        assert_eq!(records(temp.path())[3].follows.as_deref(), Some("audit-000000000001.jsonl"));
    }
}

/// A writer that is killed before it has written `head.json`, at each byte of its line.
#[test]
fn a_line_without_its_head_counts_when_it_is_whole() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    count(&log, 2);
    let (file, head) = (temp.path().join("audit.jsonl"), temp.path().join("head.json"));
    let (text, old_head) = (fs::read(&file).unwrap(), fs::read(&head).unwrap());
    log.event("", "last", &()).unwrap();
    let whole = fs::read(&file).unwrap();
    for len in text.len()..=whole.len() {
        fs::write(&file, &whole[..len]).unwrap();
        fs::write(&head, &old_head).unwrap();
        let is_torn = len > text.len() && len < whole.len() - 1;
        // Without its newline a whole line is one for readers as well.
        let found = verify(temp.path()).unwrap();
        assert_eq!((found.n_findings, found.n_tampering), (u64::from(is_torn), 0), "{len}");
        let reopened = Log::open(temp.path(), Options::default()).unwrap();
        reopened.event("", "next", &()).unwrap();
        let found = verify(temp.path()).unwrap();
        assert_eq!((found.n_findings, found.n_tampering), (u64::from(is_torn), 0), "{len}");
        let names: Vec<String> = Reader::open(temp.path())
            .unwrap()
            .records()
            .unwrap()
            .filter_map(|it| it.ok().map(|it| it.event))
            .collect();
        let expected: &[&str] = match () {
            () if len == text.len() => &["count", "count", "next"],
            () if is_torn => &["count", "count", "torn", "next"],
            () => &["count", "count", "last", "next"],
        };
        assert_eq!(names, expected, "{len}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_private() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("a/b");
        let log = Log::open(&dir, small(Keep::All)).unwrap();
        count(&log, 5);
        assert_eq!(mode(&dir), 0o700);
        for name in ["audit.jsonl", "audit-000000000001.jsonl", "head.json"] {
            assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn links_and_open_directories_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let target = temp.path().join("target");
        Log::open(&target, Options::default()).unwrap();
        let refused = |path: &Path| {
            let res = Log::open(path, Options::default());
            assert!(matches!(res, Err(AuditError::Refused { .. })), "{res:?}");
        };
        let link = temp.path().join("link");
        symlink(&target, &link).unwrap();
        refused(&link);
        refused(&temp.path().join("link/"));
        assert!(matches!(verify(&link), Err(AuditError::Refused { .. })));
        for name in ["audit.jsonl", "head.json"] {
            let dir = temp.path().join(format!("with-{name}"));
            fs::DirBuilder::new().mode(0o700).create(&dir).unwrap();
            symlink(target.join(name), dir.join(name)).unwrap();
            refused(&dir);
            fs::remove_file(dir.join(name)).unwrap();
            fs::create_dir(dir.join(name)).unwrap();
            refused(&dir);
        }
        let open = temp.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        refused(&open);
    }
}

#[test]
fn events_are_for_other_users_too() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    let seq = log.event("tool-1", "approved", &json!({ "by": "ada" })).unwrap();
    let filter = Filter::default().with_event("approved").with_field("/by", json!("ada"));
    let found = Reader::open(temp.path()).unwrap().filter(filter).records().unwrap();
    assert_eq!(found.map(|it| it.unwrap().seq).collect::<Vec<_>>(), [seq]);
}
