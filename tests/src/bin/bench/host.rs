//! What does the path of a host add to its executor: lookup, schema, stages, the result for a model?

use std::{sync::Arc, time::Instant};

use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{Config, Host, Surroundings};
use flyto_tools::{CallContext, Input, NativeTool, NoInput, Registry};

use crate::{
    Result,
    job::{CHILDREN_CPU_US, Job, P50_US, SELF_CPU_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What a call may cost, as a ratio to the same spec run by the executor alone.
const OVER_EXECUTOR: Reach = Reach::AtMost(1.15);

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let job = Job {
        child: programs.echo.clone(),
        calls: options.calls,
        warm_up: options.warm_up,
        in_flight: 1,
        ..Job::default()
    };
    let entries = [Variant::ExecEnvOneThread, Variant::HostOneThread]
        .map(|variant| Entry { variant, job: job.clone() });
    let rounds = options.rounds.unwrap_or(25);
    let samples = rounds::run(&programs, &entries, rounds)?;

    let mut table = Table::new([
        "variant",
        "best p50 µs",
        "p50, ratio",
        "CPU µs, self + child",
        "reach",
        "met",
    ]);
    let base = samples[0].all(P50_US);
    for (entry, samples) in entries.iter().zip(&samples) {
        let p50 = samples.all(P50_US);
        let figure = Quartiles::of_ratios(&p50, &base);
        let is_host = entry.variant == Variant::HostOneThread;
        let [reach, met] = if is_host { OVER_EXECUTOR } else { Reach::None }.cells(figure);
        let own = Quartiles::of(samples.all(SELF_CPU_US)).median;
        let children = Quartiles::of(samples.all(CHILDREN_CPU_US)).median;
        table.row([
            entry.variant.name().to_owned(),
            format!("{:.1}", least(&p50)),
            ratio(figure),
            format!("{own:.1} + {children:.1}"),
            reach,
            met,
        ]);
    }
    println!("\nOne call at a time, {place}; {rounds} rounds of {} calls:", job.calls);
    println!("\n{table}");
    stages(job.calls)?;
    registry(job.calls)
}

/// What each stage takes, with the tool itself left out: one of the host's own that answers at once.
fn stages(calls: usize) -> Result {
    let dir = tempfile::tempdir()?;
    let mut config = Config::default();
    for n in 0..N_RULES {
        config.permissions.allow(&format!("Bash(program-{n}:*)"))?;
        config.permissions.deny(&format!("server-{n}:*"))?;
    }
    config.permissions.allow("t")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let surroundings =
        Surroundings::new([("HOME", dir.path().as_os_str())].into_iter().collect(), dir.path());
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    let tool = NativeTool::builder("t", "Answers.").run(async |_, _: NoInput| "done")?;
    host.add_tool("bench", tool)?;
    let mut times: Vec<(String, Vec<f64>)> = Vec::new();
    for n in 0..2 * calls.max(1) {
        let call = host.prepare("t", Input::empty())?;
        let report = runtime.block_on(call.run_reported(&CallContext::new()));
        report.result?;
        // The first half warms up.
        for it in report.stages.into_iter().filter(|_| n >= calls) {
            let time = it.time.as_secs_f64() * 1e6;
            match times.iter_mut().find(|(name, _)| *name == it.stage) {
                Some((_, times)) => times.push(time),
                None => times.push((it.stage, vec![time])),
            }
        }
    }
    let mut table = Table::new(["stage", "median µs", "quartiles"]);
    for (stage, times) in times {
        let it = Quartiles::of(times);
        table.row([
            stage,
            format!("{:.1}", it.median),
            format!("[{:.1}, {:.1}]", it.lower, it.upper),
        ]);
    }
    println!("Each stage of a call, with {} rules of permission:\n\n{table}", 2 * N_RULES + 1);
    Ok(())
}

/// Rules of each kind.
const N_RULES: usize = 5_000;

/// What is asked of many tools.
fn registry(calls: usize) -> Result {
    let registry = Registry::new();
    for n in 0..N_TOOLS {
        let about = format!("Converts files of the kind {n} into others.");
        let tool = NativeTool::builder(format!("convert_{n}"), about);
        let tool = tool.run(async |_, _: NoInput| "")?;
        registry.register(&*format!("owner-{}", n / 10), Arc::new(tool))?;
    }
    let tools = registry.snapshot();
    let asked: [(&str, &dyn Fn(usize) -> usize); 3] = [
        ("lookup", &|n| usize::from(registry.get(&format!("convert_{}", n % N_TOOLS)).is_some())),
        ("search", &|n| tools.search(&format!("convert kind {}", n % N_TOOLS), 10).len()),
        ("list", &|_| registry.snapshot().iter().map(|it| it.id().as_str().len()).sum()),
    ];
    let mut table = Table::new(["asked", "median µs", "quartiles"]);
    for (name, ask) in asked {
        let mut times = Vec::new();
        for n in 0..calls.max(1) {
            let begun = Instant::now();
            if ask(n) == 0 {
                return Err(format!("{name} found nothing").into());
            }
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        let it = Quartiles::of(times);
        table.row([
            name.to_owned(),
            format!("{:.1}", it.median),
            format!("[{:.1}, {:.1}]", it.lower, it.upper),
        ]);
    }
    println!("Of {N_TOOLS} registered tools:\n\n{table}");
    Ok(())
}

/// Tools in the registry.
const N_TOOLS: usize = 10_000;
