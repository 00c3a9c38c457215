//! How fast is much output captured beside a C loop that throws it away, and in how much memory?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18: 5.0 GB/s, pinned in 0.92 [0.91, 0.96] times the loop's
//! time with the default limit and 0.92 with 64 KiB, in 4.00 and 0.28 MiB. The pipe of a long stream
//! holds 256 KiB; with the usual 64 KiB it took 1.15 and 1.19 times the loop's time.

use crate::{
    Result,
    job::{BYTES_PER_SECOND, GROWTH_BYTES, Job},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, most},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// The time of a captured stream, as a ratio to the C loop's: "within 15 %".
const TIME: Reach = Reach::AtMost(1.15);

/// Resident memory that a captured stream may add, in MiB.
const GROWTH_MIB: f64 = 4.0;

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let pinned = cpus.pin()?;
    measure(options, &programs, &pinned)?;
    let unpinned = cpus.unpin()?;
    measure(options, &programs, &unpinned)
}

fn measure(options: &Options, programs: &Programs, place: &str) -> Result {
    let variants = [
        (Variant::Baseline, "read loop", Reach::None),
        (Variant::ExecEnv, "4 MiB kept (default)", TIME),
        (Variant::ExecEnvSmall, "64 KiB kept", TIME),
    ];
    let job =
        Job { child: programs.spew.clone(), bytes: (options.mib as u64) << 20, ..Job::default() };
    let entries = variants.map(|(variant, ..)| Entry { variant, job: job.clone() });
    let rounds = options.rounds.unwrap_or(9);
    let samples = rounds::run(programs, &entries, rounds)?;

    let mut table = Table::new([
        "variant",
        "best GB/s",
        "time, ratio",
        "reach",
        "met",
        "growth MiB",
        "≤ 4 MiB",
    ]);
    let base = samples[0].all(BYTES_PER_SECOND);
    for ((variant, about, reach), samples) in variants.into_iter().zip(&samples) {
        let speed = samples.all(BYTES_PER_SECOND);
        // Twice the speed is half the time.
        let figure = Quartiles::of_ratios(&base, &speed);
        let growth = Quartiles::of(samples.all(GROWTH_BYTES)).upper / f64::from(1 << 20);
        let [reach, met] = reach.cells(figure);
        let name = machine::shown(variant, programs);
        let name = name.split(',').next().unwrap_or(name);
        table.row([
            format!("{name}: {about}"),
            format!("{:.2}", most(&speed) / 1e9),
            ratio(figure),
            reach,
            met,
            format!("{growth:.2}"),
            if growth <= GROWTH_MIB { "yes" } else { "no" }.to_owned(),
        ]);
    }
    println!("\n{} MiB of output, {place}; {rounds} rounds; time as a ratio to the", options.mib);
    println!("first row's in the same round:\n\n{table}");
    Ok(())
}
