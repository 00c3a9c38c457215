//! Writers that are killed.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::Stdio,
};

use flyto_audit::{Filter, FindingKind, Log, Options, Reader, verify};

use crate::{child, program};

const KILLS: u64 = 200;

/// A number that looks random and is the same in each run.
fn scattered(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// Each writer is killed with SIGKILL after another number of records; what it printed is in the log.
pub(crate) fn kills(dir: &Path) {
    let dir = dir.join("log");
    let mut acknowledged: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    for kill in 0..KILLS {
        let mut child = child("endless", &dir).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let id = child.id().to_string();
        let mut line = String::new();
        for _ in 0..=scattered(kill) % 9 {
            out.read_line(&mut line).unwrap();
        }
        // Some are killed in the middle of what comes next.
        std::hint::black_box((0..scattered(kill) % 20_000).sum::<u64>());
        child.kill().unwrap();
        child.wait().unwrap();
        out.read_to_string(&mut line).unwrap();
        // The last line may itself be torn.
        for line in line.split_inclusive('\n').filter_map(|it| it.strip_suffix('\n')) {
            let (seq, n) = line.split_once(' ').unwrap();
            let before =
                acknowledged.insert(seq.parse().unwrap(), (id.clone(), n.parse().unwrap()));
            assert_eq!(before, None, "record {seq} was acknowledged twice");
        }
    }
    assert!(acknowledged.len() as u64 >= KILLS);
    // The last torn line is ended by the next writer.
    Log::open(&dir, Options::default()).unwrap();
    let found = verify(&dir).unwrap();
    assert!(found.is_intact(), "{:?}", found.findings);
    let mut torn = 0;
    for record in Reader::open(&dir).unwrap().records().unwrap() {
        let Ok(record) = record else {
            torn += 1;
            continue;
        };
        if let Some((id, n)) = acknowledged.remove(&record.seq) {
            assert_eq!((&record.id, record.body["n"].as_u64()), (&id, Some(n)));
        }
    }
    assert_eq!(acknowledged, BTreeMap::new(), "these records were lost");
    let n_torn = found.findings.iter().filter(|it| it.kind == FindingKind::Torn).count();
    assert_eq!(n_torn, torn);
    println!(
        "{KILLS} kills, {} records in {} files, {n_torn} torn lines",
        found.records, found.files
    );
}

/// The signal of RLIMIT_FSIZE (setrlimit(2)) ends a writer between two parts of a line, in each run at the same
/// byte.
pub(crate) fn torn(dir: &Path) {
    let script = r#"ulimit -f 64; exec "$@""#;
    let task = child("endless", dir);
    let mut shell = program("sh");
    shell.args(["-c", script, "sh"]).arg(task.get_program()).args(task.get_args());
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), None, "no signal ended it");
    let out = String::from_utf8(output.stdout).unwrap();
    // The third record is the last that has room.
    let last: u64 = out.lines().last().unwrap().split_once(' ').unwrap().0.parse().unwrap();
    let file = dir.join("audit.jsonl");
    let left = fs::read(&file).unwrap();
    assert_ne!(left.last(), Some(&b'\n'));
    let before = verify(dir).unwrap();
    let kinds: Vec<_> = before.findings.iter().map(|it| (it.kind, it.line)).collect();
    assert_eq!((kinds, before.records), (vec![(FindingKind::Torn, last + 1)], last));

    let log = Log::open(dir, Options::default()).unwrap();
    assert_eq!(log.event("", "next", &()).unwrap(), last + 2);
    let after = verify(dir).unwrap();
    assert_eq!(after.findings.len(), 1);
    assert_eq!((after.findings[0].kind, after.findings[0].line), (FindingKind::Torn, last + 1));
    assert!(after.is_intact());
    // Its bytes are all there.
    assert!(fs::read(&file).unwrap().starts_with(&left));
    let record = Reader::open(dir).unwrap().filter(Filter::default().with_event("torn"));
    let record = record.records().unwrap().find_map(Result::ok).unwrap();
    let torn_bytes = left.rsplit(|it| *it == b'\n').next().unwrap().len() as u64;
    assert_eq!(record.body["bytes"].as_u64(), Some(torn_bytes));
}

/// A begin tells of its process.
pub(crate) fn open_call(dir: &Path) {
    let mut child = child("begin", dir).stdin(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let running = verify(dir).unwrap();
    let call = &running.open_calls[0];
    assert_eq!((call.id.as_str(), call.seq), ("killed", 1));
    assert_eq!(call.process.as_ref().unwrap().pid, child.id());
    assert_ne!(call.is_alive, Some(false));
    child.kill().unwrap();
    child.wait().unwrap();
    let found = verify(dir).unwrap();
    assert!(found.is_intact());
    assert_eq!(found.n_open_calls, 1);
    let expected = if cfg!(target_os = "linux") { Some(false) } else { None };
    assert_eq!(found.open_calls[0].is_alive, expected);
}
