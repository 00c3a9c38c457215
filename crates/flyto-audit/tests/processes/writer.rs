//! What a child does.

use std::{
    fs,
    io::{self, Write as _},
    process::ExitCode,
    thread,
};

use flyto_audit::{AuditError, Log, Options, verify};
use serde_json::json;

/// The first argument of a child.
pub(crate) const FLAG: &str = "--writer";

/// Records that each thread of `share` writes.
pub(crate) const SHARE: usize = 125;

pub(crate) fn run(mut args: impl Iterator<Item = String>) -> ExitCode {
    let (Some(task), Some(dir)) = (args.next(), args.next()) else { return ExitCode::from(2) };
    match task.as_str() {
        "endless" => endless(&dir),
        "begin" => begin(&dir),
        "share" => share(&dir),
        "fill" => fill(&dir),
        "verify" => verify_small(&dir),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// Appends until it is killed, and prints the number of each record that is acknowledged. Some are large, and
/// files are rotated every few records.
fn endless(dir: &str) {
    let log = Log::open(dir, Options::default().with_rotate_bytes(200_000)).unwrap();
    let large = "x".repeat(60_000);
    let mut out = io::stdout();
    for n in 0_u64.. {
        let body = match n % 4 {
            3 => json!({ "n": n, "text": large }),
            _ => json!({ "n": n }),
        };
        let seq = log.event(&std::process::id().to_string(), "count", &body).unwrap();
        // Standard output passes whole lines on at once.
        writeln!(out, "{seq} {n}").unwrap();
    }
}

/// Begins a call, and waits to be killed.
fn begin(dir: &str) {
    let log = Log::open(dir, Options::default()).unwrap();
    let begun = log.begin("killed", &()).unwrap();
    println!("{}", begun.seq());
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
    drop(begun);
}

/// Eight threads append some records each.
fn share(dir: &str) {
    let log = Log::open(dir, Options::default().with_rotate_bytes(100_000)).unwrap();
    thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..SHARE {
                    let id = format!("{}-{thread}", std::process::id());
                    log.event(&id, "count", &n).unwrap();
                }
            });
        }
    });
}

/// Appends until there is no space, then frees some and goes on.
fn fill(dir: &str) {
    let log = Log::open(dir, Options::default()).unwrap();
    let ballast = format!("{dir}/ballast");
    fs::write(&ballast, [0; 8192]).unwrap();
    let text = "x".repeat(3000);
    let mut n_written = 0;
    let err = loop {
        match log.event("", "fill", &text) {
            Ok(_) => n_written += 1,
            Err(err) => break err,
        }
    };
    assert!(matches!(err, AuditError::NoSpace { .. }), "{err:?}");
    let path = format!("{dir}/audit.jsonl");
    let content = fs::read(&path).unwrap();
    assert_eq!(content.last(), Some(&b'\n'));
    assert_eq!(content.iter().filter(|it| **it == b'\n').count(), n_written);
    let found = verify(dir).unwrap();
    assert_eq!((found.n_findings, found.records), (0, n_written as u64), "{:?}", found.findings);
    // With room again the chain goes on. (Under a limit on the length of files a short record has room anyway.)
    fs::remove_file(&ballast).unwrap();
    log.event("", "short", &()).unwrap();
    let found = verify(dir).unwrap();
    assert_eq!((found.n_findings, found.records), (0, n_written as u64 + 1));
    println!("{n_written}");
}

/// Prints how much the memory of this process grew with a verification, in KiB, and what was found.
fn verify_small(dir: &str) {
    let field = |name: &str| -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix(name)).unwrap();
        line.trim_end_matches("kB").trim().parse().unwrap()
    };
    let before = field("VmRSS:");
    let found = verify(dir).unwrap();
    let grown = field("VmHWM:") - before;
    println!("{grown} {} {} {}", found.records, found.n_open_calls, found.n_findings);
}
