//! What does a call cost whose program was started before it?
//!
//! Each script reads its input and prints it, as one file of an interpreter that is installed here. Each call, a cold one
//! too, comes twice the time of a cold call after the last one: a ready process has loaded by then. `--calls` is how many of
//! each are made.
//! It fails where the calls of a program leave a file or a process, or make this process grow by more than 8 MiB.
//! The program with as many files as are looked at before each call shows what that costs.

use std::{
    fs,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use flyto_execenv::{
    ExecEnv, ExecReadiness, MAX_START_FILES, Ready, ReadyOptions, Spec, local::resolve_program,
};
use flyto_execenv_linux::Linux;
use tokio::{runtime::Builder, sync::Semaphore};

use crate::{Result, machine, options::Options, programs::Programs, table::Table};

/// Calls at the same time, in the second half of the table.
const IN_FLIGHT: usize = 8;

/// A program, and the reach of the ratio of its ready call to its cold one.
struct Measured {
    name: &'static str,
    spec: Spec,
    reach: Option<f64>,
}

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let dir = tempfile::tempdir()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut table = Table::new([
        "program",
        "cold p50 ms",
        "p99",
        "ready p50 ms",
        "p99",
        "ratio",
        "reach",
        "8 in flight, cold/s",
        "ready/s",
        "idle MiB",
    ]);
    // What stays as long as this process is there before the first count.
    runtime.block_on(call(&ExecEnv::new(Linux::new()), &echo(&programs)))?;
    for it in measured(&programs, dir.path())? {
        let before = Held::now();
        let row = runtime.block_on(row(&it, options.calls))?;
        runtime.block_on(until_let_go(it.name, &before))?;
        table.row(row);
    }
    println!("\n{} calls of each, one at a time and 8 in flight:\n\n{table}", options.calls);
    Ok(())
}

/// The programs that are installed here.
fn measured(programs: &Programs, dir: &Path) -> Result<Vec<Measured>> {
    let python = "import csv, json, re, sys\nsys.stdout.write(sys.stdin.read())\n";
    let node = "process.stdout.write(require('fs').readFileSync(0, 'utf8'));\n";
    let java = "public class Echo { public static void main(String[] args) throws Exception {\n\
                System.out.write(System.in.readAllBytes()); System.out.flush(); } }\n";
    fs::write(dir.join("echo.py"), python)?;
    fs::write(dir.join("echo.js"), node)?;
    fs::write(dir.join("Echo.java"), java)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let spec = |program: &str, args: &[&str]| {
        Spec::new(program).args(args).env_var("PATH", &path).working_dir(dir).ready(Ready::new())
    };
    let big = dir.join("big");
    fs::create_dir(&big)?;
    for n in 0..MAX_START_FILES - 6 {
        fs::write(big.join(n.to_string()), "")?;
    }
    let all = [
        ("static child", spec(&programs.echo.to_string_lossy(), &[]), Some(1.0)),
        ("cat", spec("/bin/cat", &[]), Some(1.0)),
        ("cat, 250 files", spec("/bin/cat", &[]).ready(Ready::new().watch(big)), Some(1.0)),
        ("sh", spec("/bin/sh", &["-c", "input=$(cat); printf %s \"$input\""]), None),
        ("python3", spec("/usr/bin/python3", &["echo.py"]), Some(0.3)),
        ("node", spec("node", &["echo.js"]), Some(0.15)),
        ("java", spec("java", &["Echo.java"]), None),
    ];
    let there = all.into_iter().filter(|it| resolve_program(&it.1).is_ok());
    let res = there.map(|(name, spec, reach)| Measured { name, spec, reach }).collect();
    // A file of a moment ago is not started before a call.
    thread::sleep(Duration::from_millis(200));
    Ok(res)
}

fn echo(programs: &Programs) -> Spec {
    Spec::new(programs.echo.as_os_str()).working_dir("/")
}

/// What calls could leave behind.
#[derive(Debug)]
struct Held {
    files: usize,
    processes: usize,
    resident_bytes: u64,
}

impl Held {
    fn now() -> Self {
        let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let processes = below(std::process::id()).len() - 1;
        Self { files, processes, resident_bytes: resident_bytes(std::process::id()) }
    }
}

/// Waits until no more is held than before: what ends with the handles takes a moment.
async fn until_let_go(name: &str, before: &Held) -> Result {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let now = Held::now();
        let is_larger = now.resident_bytes > before.resident_bytes + (8 << 20);
        if now.files <= before.files && now.processes <= before.processes && !is_larger {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("calls of {name} left something: {before:?}, then {now:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn row(it: &Measured, calls: usize) -> Result<[String; 10]> {
    let cold_env = ExecEnv::new(Linux::new());
    // A slow program would take minutes to tell no more.
    let (first, _) = call(&cold_env, &it.spec).await?;
    let calls = calls.min((60.0 / first.as_secs_f64().max(0.001)) as usize).max(20);
    let mut cold = Vec::with_capacity(calls);
    for _ in 0..20 {
        cold.push(call(&cold_env, &it.spec).await?.0);
    }
    let pause = quantile(&mut cold, 0.5) * 2;
    cold.clear();
    for _ in 0..calls {
        tokio::time::sleep(pause).await;
        cold.push(call(&cold_env, &it.spec).await?.0);
    }
    let ready_env = ExecEnv::builder(Linux::new()).ready(ReadyOptions::new()).build();
    call(&ready_env, &it.spec).await?;
    let (mut ready, mut n_cold) = (Vec::with_capacity(calls), 0);
    for _ in 0..calls {
        tokio::time::sleep(pause).await;
        match call(&ready_env, &it.spec).await? {
            (time, true) => ready.push(time),
            (_, false) => n_cold += 1,
        }
    }
    if ready.is_empty() {
        return Err(format!("no call of {} was served ready", it.name).into());
    }
    let per_second = [at_once(&cold_env, it, calls).await?, at_once(&ready_env, it, calls).await?];
    tokio::time::sleep(pause * 4).await;
    let idle = idle_bytes();
    let ratio = quantile(&mut ready, 0.5).as_secs_f64() / quantile(&mut cold, 0.5).as_secs_f64();
    let ms = |it: Duration| format!("{:.2}", it.as_secs_f64() * 1e3);
    if n_cold > 0 {
        println!("{}: {n_cold} calls were not served ready", it.name);
    }
    Ok([
        it.name.to_owned(),
        ms(quantile(&mut cold, 0.5)),
        ms(quantile(&mut cold, 0.99)),
        ms(quantile(&mut ready, 0.5)),
        ms(quantile(&mut ready, 0.99)),
        format!("{ratio:.2}"),
        it.reach.map_or(String::new(), |reach| {
            format!("≤ {reach}: {}", if ratio <= reach { "met" } else { "not met" })
        }),
        format!("{:.0}", per_second[0]),
        format!("{:.0}", per_second[1]),
        format!("{:.1}", idle as f64 / f64::from(1 << 20)),
    ])
}

/// One call: its time, and whether a process had waited for it.
async fn call(env: &ExecEnv, spec: &Spec) -> Result<(Duration, bool)> {
    const INPUT: &[u8] = &[b'x'; 200];
    let begin = Instant::now();
    let outcome = env.run(spec.clone().stdin_bytes(INPUT)).await?;
    let time = begin.elapsed();
    if !outcome.success() || outcome.stdout.bytes() != INPUT {
        return Err(format!("a call failed: {outcome:?}").into());
    }
    Ok((time, matches!(outcome.readiness, ExecReadiness::Ready { .. })))
}

/// Calls for each second with [`IN_FLIGHT`] of them at a time.
async fn at_once(env: &ExecEnv, it: &Measured, calls: usize) -> Result<f64> {
    let places = Arc::new(Semaphore::new(IN_FLIGHT));
    let begin = Instant::now();
    let mut tasks = Vec::with_capacity(calls);
    for _ in 0..calls {
        let place = Arc::clone(&places).acquire_owned().await?;
        let (env, spec) = (env.clone(), it.spec.clone());
        tasks.push(tokio::spawn(async move {
            let _place = place;
            call(&env, &spec).await
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}

/// The number below which this part of them lies.
fn quantile(numbers: &mut [Duration], part: f64) -> Duration {
    numbers.sort_unstable();
    let at = (numbers.len() - 1) as f64 * part;
    numbers[at.round() as usize]
}

/// Resident memory of all processes below this one, supervisors included.
fn idle_bytes() -> u64 {
    below(std::process::id()).into_iter().skip(1).map(resident_bytes).sum()
}

/// A process and its descendants.
fn below(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().filter_map(|it| it.parse::<u32>().ok()));
        }
    }
    found
}

fn resident_bytes(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0) * 4096
}
