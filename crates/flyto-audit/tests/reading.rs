//! Reading and following.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path, thread, time::Duration};

use flyto_audit::{AuditError, Filter, Keep, Log, Options, Reader, Timestamp};
use serde_json::json;

/// Twenty records in several files.
fn log(dir: &Path) -> Log {
    let options = Options::default().with_rotate_bytes(900).with_keep(Keep::All);
    let log = Log::open(dir, options).unwrap();
    for n in 1..=20 {
        let event = if n % 2 == 0 { "even" } else { "odd" };
        log.event(&format!("id-{}", n % 3), event, &json!({ "n": n, "in": { "n": n % 5 } }))
            .unwrap();
    }
    log
}

fn seqs(reader: &Reader) -> Vec<u64> {
    reader.records().unwrap().map(|it| it.unwrap().seq).collect()
}

#[test]
fn both_directions_give_the_same_records() {
    let temp = tempfile::tempdir().unwrap();
    log(temp.path());
    let reader = Reader::open(temp.path()).unwrap();
    let mut all: Vec<u64> = (1..=20).collect();
    assert_eq!(seqs(&reader), all);
    assert_eq!(seqs(&reader.clone().limit(3)), [1, 2, 3]);
    all.reverse();
    assert_eq!(seqs(&reader.clone().newest_first()), all);
    assert_eq!(seqs(&reader.newest_first().limit(3)), [20, 19, 18]);
}

#[test]
fn filters() {
    let temp = tempfile::tempdir().unwrap();
    log(temp.path());
    let check = |filter: Filter, expected: &[u64]| {
        let reader = Reader::open(temp.path()).unwrap().filter(filter);
        assert_eq!(seqs(&reader), expected);
        let mut backwards = seqs(&reader.newest_first());
        backwards.reverse();
        assert_eq!(backwards, expected);
    };
    check(Filter::default().with_id("id-1").with_event("odd"), &[1, 7, 13, 19]);
    check(Filter::default().with_field("n", json!(7)), &[7]);
    check(Filter::default().with_field("/in/n", json!(4)), &[4, 9, 14, 19]);
    check(Filter::default().with_field("/in/n", json!("4")), &[]);
    check(Filter::default().with_field("none", json!(null)), &[]);
    let now = Timestamp::now();
    let hour = Duration::from_secs(3600);
    let all: Vec<u64> = (1..=20).collect();
    check(Filter::default().with_since(now.earlier_by(hour)).with_until(now.later_by(hour)), &all);
    check(Filter::default().with_since(now.later_by(hour)), &[]);
    check(Filter::default().with_until(now.earlier_by(hour)), &[]);
    check(Filter::default().with_since(now.later_by(3 * hour)), &[]);
    check(Filter::default().with_until(now.earlier_by(3 * hour)), &[]);
}

#[test]
fn a_span_of_time_is_found_in_its_files() {
    let temp = tempfile::tempdir().unwrap();
    log(temp.path());
    // Files a day apart. Readers do not look at hashes.
    let mut names: Vec<_> =
        fs::read_dir(temp.path()).unwrap().map(|it| it.unwrap().path()).collect();
    names.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    names.sort();
    let mut of_days = Vec::new();
    for (day, name) in names.iter().enumerate() {
        let text = fs::read_to_string(name).unwrap();
        let mut changed = String::new();
        for line in text.lines() {
            let (before, rest) = line.split_once(r#""at":""#).unwrap();
            let (_, after) = rest.split_once('T').unwrap();
            changed.push_str(&format!("{before}\"at\":\"2026-01-{:02}T{after}\n", day + 1));
        }
        of_days.push(text.lines().count());
        fs::write(name, changed).unwrap();
    }
    let start = of_days[..2].iter().sum::<usize>() as u64;
    let day: Vec<u64> = (start + 1..=start + of_days[2] as u64).collect();
    let filter = Filter::default()
        .with_since("2026-01-03T00:00:00Z".parse().unwrap())
        .with_until("2026-01-03T23:59:59.999Z".parse().unwrap());
    let reader = Reader::open(temp.path()).unwrap().filter(filter);
    assert_eq!(seqs(&reader), day);
    assert_eq!(seqs(&reader.newest_first()), day.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn a_line_that_is_no_record_is_told_and_passed() {
    let temp = tempfile::tempdir().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    log.event("", "a", &()).unwrap();
    let file = temp.path().join("audit.jsonl");
    let mut text = fs::read_to_string(&file).unwrap();
    let offset_of_junk = text.len() as u64;
    text.push_str("junk\n");
    fs::write(&file, text).unwrap();
    log.event("", "b", &()).unwrap();
    let reader = Reader::open(temp.path()).unwrap();
    for reader in [reader.clone(), reader.newest_first()] {
        let found: Vec<_> = reader.records().unwrap().collect();
        assert_eq!(found.len(), 3);
        let err = found[1].as_ref().unwrap_err();
        assert!(matches!(err, AuditError::NoRecord { offset, .. } if *offset == offset_of_junk));
        assert!(found[0].is_ok() && found[2].is_ok());
    }
}

#[test]
fn a_missing_directory_is_an_error_and_an_empty_one_is_not() {
    let temp = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(temp.path().join("none")), Err(AuditError::Io { .. })));
    assert_eq!(seqs(&Reader::open(temp.path()).unwrap()), [0; 0]);
}

#[test]
fn new_records_are_followed_over_rotations_until_cancelled() {
    let temp = tempfile::tempdir().unwrap();
    let log = log(temp.path());
    let reader = Reader::open(temp.path()).unwrap();
    let filter = Filter::default().with_event("new");
    let mut follow = reader.clone().filter(filter).follow().unwrap();
    let cancel = follow.cancel_handle();
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..200 {
                log.event("", if n % 2 == 0 { "new" } else { "other" }, &n).unwrap();
            }
        });
        let found: Vec<u64> = follow.by_ref().take(100).map(|it| it.unwrap().seq).collect();
        assert_eq!(found, (0..100).map(|it| 21 + 2 * it).collect::<Vec<u64>>());
        // Waiting without a record ends by the cancellation alone.
        let waiting = scope.spawn(move || follow.next().is_none());
        cancel.cancel();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn following_begins_behind_any_record() {
    let temp = tempfile::tempdir().unwrap();
    let log = log(temp.path());
    let reader = Reader::open(temp.path()).unwrap().limit(3);
    for after in [0, 1, 2, 3, 4, 7, 12, 18] {
        let follow = reader.follow_after(after).unwrap();
        let found: Vec<u64> = follow.map(|it| it.unwrap().seq).collect();
        assert_eq!(found, (after + 1..=after + 3).collect::<Vec<_>>());
        if after == 12 {
            log.event("", "more", &()).unwrap();
        }
    }
}

#[test]
fn a_log_that_does_not_exist_yet_is_followed() {
    let temp = tempfile::tempdir().unwrap();
    let mut follow = Reader::open(temp.path()).unwrap().follow().unwrap();
    let log = Log::open(temp.path(), Options::default()).unwrap();
    log.event("", "first", &()).unwrap();
    assert_eq!(follow.next().unwrap().unwrap().event, "first");
}
