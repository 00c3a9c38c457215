//! How much of labelled secrets is found, how often is there a false alarm, and how fast is it?
//!
//! `cargo xtask bench secrets [FILE]`, where FILE holds one JSON object a line, compressed by gzip where its name ends in
//! `.gz`: `{"source", "kind", "text", "is_secret"}`. Rows with `"disputed": true` and of kind `identifier` are left
//! out. `--misses` and `--alarms` print the rows that were missed, or flagged without a secret;
//! `--only=TEXT` limits the times to contents with TEXT in their names.
//!
//! On 2026-11-23, 2 virtual CPUs (AMD EPYC), quiet: prose 187 MB/s, a log 160, JSON 166; the source of this crate, in
//! which every other line has a name of a secret, 89; 64 KiB that are built to cost, 8 ms at most. The first scan of a
//! process takes 6 ms more, for reading the rules. Half of the time goes to the two automata, which depend on memory
//! and not on what is found.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a person reads the result")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs::File,
    hint::black_box,
    io::{BufRead, BufReader, Read},
    process::ExitCode,
    time::{Duration, Instant},
};

use flate2::read::MultiGzDecoder;
use flyto_security::{DefaultGuard, SecretGuard, Tier};
use serde_json::Value;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Longer files are no test data.
const MAX_FILE_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    // `cargo bench` says `--bench` to each.
    let args: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("bench: {err}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result {
    let mut files = Vec::new();
    let (mut misses, mut alarms) = (false, false);
    let mut only = "";
    for arg in args {
        match arg.as_str() {
            "--misses" => misses = true,
            "--alarms" => alarms = true,
            it if it.starts_with("--only=") => only = &it["--only=".len()..],
            it if it.starts_with('-') => {
                return Err(
                    format!("unknown option {it}; known: --misses, --alarms, --only=TEXT").into()
                );
            }
            it => files.push(it),
        }
    }
    for file in files {
        labelled(file, misses, alarms)?;
    }
    speed(only)
}

/// Rows of one kind, and how many have a match of each tier or a higher one.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    n: usize,
    block: usize,
    ask: usize,
    note: usize,
}

impl Count {
    fn add(&mut self, best: Option<Tier>) {
        self.n += 1;
        self.block += usize::from(best >= Some(Tier::Block));
        self.ask += usize::from(best >= Some(Tier::Ask));
        self.note += usize::from(best >= Some(Tier::Note));
    }

    fn row(&self, name: &str) -> String {
        let share = |n: usize| 100.0 * n as f64 / self.n.max(1) as f64;
        let Self { n, block, ask, note } = *self;
        format!(
            "| {name:<34} | {n:>5} | {:>6.1} | {:>6.1} | {:>6.1} |",
            share(block),
            share(ask),
            share(note)
        )
    }
}

fn labelled(path: &str, misses: bool, alarms: bool) -> Result {
    let file = File::open(path).map_err(|err| format!("failed to open {path}: {err}"))?;
    let plain: Box<dyn Read> = match path.ends_with(".gz") {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    let guard = DefaultGuard::default();
    let mut recall: BTreeMap<String, Count> = BTreeMap::new();
    let mut false_alarms: BTreeMap<String, Count> = BTreeMap::new();
    for (i, line) in BufReader::new(plain.take(MAX_FILE_BYTES)).lines().enumerate() {
        let line = line.map_err(|err| format!("failed to read {path}: {err}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let row: Value =
            serde_json::from_str(&line).map_err(|err| format!("{path}:{}: {err}", i + 1))?;
        let text_of = |key: &str| row[key].as_str().unwrap_or_default();
        let (source, kind, text) = (text_of("source"), text_of("kind"), text_of("text"));
        if row["disputed"] == true || kind == "identifier" {
            continue;
        }
        let is_secret = row["is_secret"] == true;
        let found = guard.scan(path, text.as_bytes())?;
        let best = found.iter().map(|it| it.tier).max();
        let group = match kind {
            it if it.starts_with("safe_") => "references in scripts",
            "plain" => "hashes and plain lines",
            it if it.starts_with("ctx_") => "scripts",
            it if it.starts_with("evade_") => "hidden",
            it => it,
        };
        let counts = if is_secret { &mut recall } else { &mut false_alarms };
        counts.entry(format!("{source}: {group}")).or_default().add(best);
        if group == "scripts" || group == "hidden" {
            counts.entry(format!("{source}: {group}: {kind}")).or_default().add(best);
            counts.entry(format!("~ all {group}")).or_default().add(best);
        }
        if group == "references in scripts" || group == "hashes and plain lines" {
            counts.entry("~ references and hashes".to_owned()).or_default().add(best);
        }
        if (misses && is_secret && best.is_none()) || (alarms && !is_secret && best.is_some()) {
            let rules: Vec<String> =
                found.iter().map(|it| format!("{} {}", it.rule, it.sample)).collect();
            println!("{source} {kind} {} {rules:?} {text:?}", text_of("rule"));
        }
    }
    for (title, counts) in [("recall", &recall), ("false alarms", &false_alarms)] {
        println!("\n{title}, in percent of the rows: tier block, block or ask, any tier\n");
        println!(
            "| {:<34} | {:>5} | {:>6} | {:>6} | {:>6} |",
            "source: kind", "rows", "block", "+ ask", "+ note"
        );
        println!("| {:-<34} | {:->5}: | {:->5}: | {:->5}: | {:->5}: |", "", "", "", "", "");
        let mut all = Count::default();
        for (name, count) in counts {
            println!("{}", count.row(name));
            if !name.starts_with('~') && name.matches(": ").count() < 2 {
                all.n += count.n;
                all.block += count.block;
                all.ask += count.ask;
                all.note += count.note;
            }
        }
        println!("{}", all.row("all"));
    }
    Ok(())
}

/// Bytes per second on ordinary text, and the time of 64 KiB that are built to cost.
fn speed(only: &str) -> Result {
    let started = Instant::now();
    let guard = DefaultGuard::default();
    guard.scan("warm", b"password=1")?;
    println!(
        "\nfirst scan of the process, with reading the rules: {:.1} ms",
        ms(started.elapsed())
    );
    println!("\n| content | KiB | ms | MB/s |\n| --- | ---: | ---: | ---: |");
    for (name, text) in ordinary().iter().chain(&hostile()).filter(|it| it.0.contains(only)) {
        guard.scan(name, text)?;
        let best = (0..5)
            .map(|_| {
                let started = Instant::now();
                let found = guard.scan(name, black_box(text));
                black_box(found).map(|_| started.elapsed())
            })
            .collect::<std::result::Result<Vec<_>, _>>()?;
        let best = best.into_iter().min().unwrap_or_default();
        let rate = text.len() as f64 / best.as_secs_f64() / 1e6;
        println!("| {name} | {} | {:.2} | {rate:.0} |", text.len() / 1024, ms(best));
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Prose, source code, a log and JSON, 4 MiB each: what tools print.
fn ordinary() -> Vec<(String, Vec<u8>)> {
    let code = concat!(include_str!("../src/guard.rs"), include_str!("../src/scan/mod.rs"));
    let prose = include_str!("../LICENSE-APACHE");
    let log: String = (0..60_000)
        .map(|i| {
            format!(
                "2026-11-22T10:{:02}:{:02}.{:03}Z INFO  server: request id={i} path=/v1/items/{} status=200 took={}ms\n",
                i / 60 % 60, i % 60, i % 1000, i * 7 % 977, i % 83
            )
        })
        .collect();
    let json: String = (0..30_000)
        .map(|i| format!("{{\"id\": {i}, \"name\": \"item {i}\", \"tags\": [\"red\", \"blue\"], \"price\": {}.50, \"open\": true}},\n", i % 90))
        .collect();
    let grow = |text: &str| text.bytes().cycle().take(4 << 20).collect::<Vec<u8>>();
    vec![
        ("prose".into(), grow(prose)),
        ("source code of a scanner".into(), grow(code)),
        ("log".into(), grow(&log)),
        ("JSON".into(), grow(&json)),
    ]
}

/// 64 KiB of whatever makes a part of the scan work most.
fn hostile() -> Vec<(String, Vec<u8>)> {
    let fill = |unit: &str| unit.bytes().cycle().take(64 << 10).collect::<Vec<u8>>();
    let mut res: Vec<(String, Vec<u8>)> = [
        "a",
        "A1",
        "$",
        "$A$B",
        "A=b;$A$A",
        "'",
        "\"\"",
        "'a'+",
        "%41",
        "\\u0041",
        "eyJ.eyJ",
        "eyJ-",
        " eyJaaaaaaaaaaaa.",
        "sk-",
        "sk-ant-api03-",
        "-----BEGIN PRIVATE KEY",
        "://a:b@",
        "password=",
        "password=x1y2z3 ",
        "key:",
        "token=\"",
        " -u a:b",
        "curl -u ",
        "curl -su a:b1x2y3 ",
        "QUFBQUFBQUFBQUFBQUFB",
        "4141414141414141",
        "rev ghp_0123456789abcdefghij ",
        "x += 'abc'; ",
        "-us1",
        ":A",
        "Q~",
        "bearer ",
        "hooks.slack.com/services/",
        "$LONG",
        "a1B2c3D4e5F6g7H8i9J0 ",
    ]
    .iter()
    .map(|it| (format!("{it:?} again and again"), fill(it)))
    .collect();
    // Every prefix that there is, one after the other.
    let all: String = include_str!("../src/rules.toml")
        .lines()
        .filter_map(|it| it.strip_prefix("prefixes = "))
        .flat_map(|it| it.split('\''))
        .filter(|it| it.len() > 1 && !it.starts_with(", "))
        .fold(String::new(), |sum, it| sum + " " + it);
    res.push(("all prefixes".into(), fill(&all)));
    let long = format!("L={} ", "ab1".repeat(160));
    res.push(("long variable".into(), fill(&(long.clone() + &"$L".repeat(32_500)))));
    res.push(("many joined words".into(), fill(&(long + &"$L$L$L ".repeat(10_000)))));
    let mut nested = b"password=a1b2c3d4e5".repeat(1000);
    for _ in 0..3 {
        nested = base64(&nested).into_bytes();
    }
    nested.truncate(64 << 10);
    res.push(("Base64 in Base64".into(), nested));
    res
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut res = String::new();
    for part in bytes.chunks_exact(3) {
        let bits = u32::from(part[0]) << 16 | u32::from(part[1]) << 8 | u32::from(part[2]);
        for shift in [18, 12, 6, 0] {
            res.push(char::from(DIGITS[(bits >> shift & 63) as usize]));
        }
    }
    res
}
