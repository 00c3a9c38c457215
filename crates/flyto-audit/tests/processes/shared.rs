//! Several writers, and readers beside them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    path::Path,
    process::Stdio,
};

use flyto_audit::{Fsync, Log, Options, Reader, verify};
use serde_json::json;

use crate::{child, program, writer::SHARE};

/// 2,000 records from two processes with eight threads each; a third process verifies all the while.
pub(crate) fn two_processes(dir: &Path) {
    // So that there is something to verify from the start.
    Log::open(dir, Options::default()).unwrap();
    let mut writers: Vec<_> = (0..2).map(|_| child("share", dir).spawn().unwrap()).collect();
    while writers.iter_mut().any(|it| it.try_wait().unwrap().is_none()) {
        let found = verify(dir).unwrap();
        assert_eq!(found.n_findings, 0, "{:?}", found.findings);
    }
    assert!(writers.iter_mut().all(|it| it.wait().unwrap().success()));
    let found = verify(dir).unwrap();
    assert_eq!((found.n_findings, found.records), (0, 2000), "{:?}", found.findings);
    assert!(found.files > 4, "{} files", found.files);
    // Each thread's records are all there, in its order.
    let mut by_id: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (i, record) in Reader::open(dir).unwrap().records().unwrap().enumerate() {
        let record = record.unwrap();
        assert_eq!(record.seq, i as u64 + 1);
        by_id.entry(record.id).or_default().push(record.body.as_u64().unwrap());
    }
    assert_eq!(by_id.len(), 16);
    let expected: Vec<u64> = (0..SHARE as u64).collect();
    assert!(by_id.values().all(|it| *it == expected));
}

pub(crate) fn memory(dir: &Path) {
    if !Path::new("/proc/self/status").exists() {
        println!("skipped: this system does not tell how much memory a process has (/proc)");
        return;
    }
    let options = Options::default().with_fsync(Fsync::Never).with_rotate_bytes(30 << 20);
    let log = Log::open(dir, options).unwrap();
    let text = "lorem ipsum ".repeat(333);
    for n in 0..25_000 {
        let id = format!("call-{n}");
        let begun = log.begin(&id, &json!({ "text": text })).unwrap();
        // The calls of a process that is killed stay open; so many as these are not kept in memory.
        if n % 2 == 0 { begun.end(&()).unwrap() } else { std::mem::forget(begun) }
    }
    assert!(log.size().unwrap().bytes > 100_000_000);
    let output = child("verify", dir).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<u64> = output.split_whitespace().map(|it| it.parse().unwrap()).collect();
    let [grown_kib, records, open_calls, findings] = numbers[..] else { panic!("{output}") };
    assert_eq!((records, open_calls, findings), (37_500, 12_500, 0));
    assert!(grown_kib < 16 * 1024, "{grown_kib} KiB");
    println!("100 MB verified in {grown_kib} KiB");
}

/// The text of the README is the program.
pub(crate) fn readme(dir: &Path) {
    let (_, text) = include_str!("../../README.md").split_once("```python\n").unwrap();
    let script = dir.join("check.py");
    std::fs::write(&script, text.split_once("```").unwrap().0).unwrap();
    let is_sound = |log: &mut File| {
        log.rewind().unwrap();
        let mut python = program("python3");
        let python = python.arg(&script).stdin(log.try_clone().unwrap()).stderr(Stdio::null());
        python.status().map(|it| it.success())
    };
    let log_dir = dir.join("log");
    let log = Log::open(&log_dir, Options::default().with_rotate_bytes(1000)).unwrap();
    for n in 0..10 {
        log.event("a \"b\"", "count", &json!({ "n": n, "hash": "\u{e9}" })).unwrap();
    }
    let mut names: Vec<_> =
        std::fs::read_dir(&log_dir).unwrap().map(|it| it.unwrap().path()).collect();
    names.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    // `audit-…` sorts before `audit.jsonl`.
    names.sort();
    assert!(names.len() > 1);
    let mut all = tempfile::tempfile().unwrap();
    for name in names {
        let mut content = Vec::new();
        File::open(name).unwrap().read_to_end(&mut content).unwrap();
        all.write_all(&content).unwrap();
    }
    match is_sound(&mut all) {
        Err(err) => println!("skipped: no python3 ({err})"),
        Ok(is_sound_at_first) => {
            assert!(is_sound_at_first);
            all.seek(std::io::SeekFrom::Start(40)).unwrap();
            all.write_all(b"X").unwrap();
            assert!(!is_sound(&mut all).unwrap());
        }
    }
}
