//! What does the path of a host add to its executor: lookup, schema, stages, the result for a model?

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
    Ok(())
}
