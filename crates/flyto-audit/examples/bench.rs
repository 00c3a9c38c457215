//! How long does a record take? `cargo run --release -p flyto-audit --example bench [DIR]`
//!
//! The directory should be on the disk that is meant: the cost of `Each` is that of the disk.

use std::{
    io,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use flyto_audit::{Fsync, Log, Options, verify};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = dir.join(format!("flyto-audit-bench-{}", std::process::id()));
    let res = bench(&dir, &mut io::stdout());
    std::fs::remove_dir_all(&dir)?;
    res
}

fn bench(
    dir: &std::path::Path,
    out: &mut impl io::Write,
) -> Result<(), Box<dyn std::error::Error>> {
    writeln!(out, "| fsync | threads | µs per record, median | 99 % | records per second |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for (fsync, n_records) in [(Fsync::Never, 50_000), (Fsync::Batch, 50_000), (Fsync::Each, 500)] {
        for n_threads in [1, 4] {
            let log_dir = dir.join(format!("{fsync:?}-{n_threads}"));
            let log = Log::open(log_dir, Options::default().with_fsync(fsync))?;
            let start = Instant::now();
            let mut times: Vec<Duration> = thread::scope(|scope| {
                let run = || append(&log, n_records / n_threads);
                let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(run)).collect();
                let times = threads.into_iter().map(|it| it.join().unwrap_or_default());
                times.flatten().collect()
            });
            let whole = start.elapsed();
            times.sort_unstable();
            let at = |part: f64| {
                let i = (times.len() as f64 * part) as usize;
                times.get(i).map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
            };
            let (median, slow) = (at(0.5), at(0.99));
            let rate = times.len() as f64 / whole.as_secs_f64();
            writeln!(out, "| {fsync:?} | {n_threads} | {median:.1} | {slow:.1} | {rate:.0} |")?;
        }
    }
    let start = Instant::now();
    let found = verify(dir.join("Never-1"))?;
    let rate = found.bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
    writeln!(out, "\nverify: {} records, {rate:.0} MB/s", found.records)?;
    Ok(())
}

/// Records with what a host records of a call, about 400 bytes a line.
fn append(log: &Log, n: usize) -> Vec<Duration> {
    let body = json!({
        "tool": "text-stats:count",
        "version": "1.2.0",
        "input_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "decision": "allow",
    });
    let mut res = Vec::with_capacity(n);
    for _ in 0..n {
        let start = Instant::now();
        if log.event("01HZY3Q8J4K6", "bench", &body).is_err() {
            break;
        }
        res.push(start.elapsed());
    }
    res
}
