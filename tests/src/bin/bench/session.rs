//! What does a call of a plugin cost whose process stays, beside a ping-pong over the same pipes in C?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18, at a load of 5 to 6: 1.71 [1.70, 1.72] times the ping-pong
//! on one thread and 1.77 with two workers, 8.3 and 8.6 µs. With 64 in flight 460,000 calls a second on
//! one thread for 1.3 µs of CPU time each, and 264,000 for 2.1 µs with two workers, which take them from
//! each other.

use crate::{
    Result,
    job::{Job, P50_US, PER_SECOND, SELF_CPU_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least, most},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What a round trip may cost, as a ratio to the ping-pong's.
const ROUND_TRIP: Reach = Reach::AtMost(4.0);

/// Calls per second with 64 in flight.
const PER_SECOND_REACH: f64 = 300_000.0;

const IN_FLIGHT: usize = 64;

/// Calls in a run for each that was asked for: they are short, and a run is to take some tenths of a
/// second.
const CALLS_EACH: [usize; 2] = [25, 500];

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    one_at_a_time(options, &programs, &place)?;
    cpus.unpin()?;
    several(options, &programs)
}

/// The variants, each with a child that answers in its language.
fn entries(
    options: &Options,
    programs: &Programs,
    in_flight: usize,
    calls_each: usize,
) -> [Entry; 3] {
    let job = Job {
        calls: options.calls * calls_each,
        warm_up: options.warm_up * calls_each,
        in_flight,
        stays: 1,
        ..Job::default()
    };
    let talk = |child: &std::path::Path| Job { child: child.to_owned(), ..job.clone() };
    [
        Entry { variant: Variant::Baseline, job: talk(&programs.pong) },
        Entry { variant: Variant::SessionOneThread, job: talk(&programs.answer) },
        Entry { variant: Variant::Session, job: talk(&programs.answer) },
    ]
}

fn name(variant: Variant, programs: &Programs) -> &'static str {
    match (variant, &programs.baseline) {
        (Variant::Baseline, Some(_)) => "C ping-pong",
        (Variant::Baseline, None) => "Rust ping-pong",
        _ => variant.name(),
    }
}

fn one_at_a_time(options: &Options, programs: &Programs, place: &str) -> Result {
    let entries = entries(options, programs, 1, CALLS_EACH[0]);
    let rounds = options.rounds.unwrap_or(25);
    let samples = rounds::run(programs, &entries, rounds)?;

    let mut table =
        Table::new(["variant", "best p50 µs", "p50, ratio", "CPU µs, self", "reach", "met"]);
    let base = samples[0].all(P50_US);
    for (entry, samples) in entries.iter().zip(&samples) {
        let p50 = samples.all(P50_US);
        let figure = Quartiles::of_ratios(&p50, &base);
        let reach = if entry.variant == Variant::Baseline { Reach::None } else { ROUND_TRIP };
        let [reach, met] = reach.cells(figure);
        table.row([
            name(entry.variant, programs).to_owned(),
            format!("{:.1}", least(&p50)),
            ratio(figure),
            format!("{:.1}", Quartiles::of(samples.all(SELF_CPU_US)).median),
            reach,
            met,
        ]);
    }
    println!("\nOne call at a time, {place}; {rounds} rounds of {} calls:", entries[0].job.calls);
    println!("\n{table}");
    Ok(())
}

fn several(options: &Options, programs: &Programs) -> Result {
    let entries = entries(options, programs, IN_FLIGHT, CALLS_EACH[1]);
    let rounds = options.rounds.unwrap_or(15);
    let samples = rounds::run(programs, &entries, rounds)?;

    let mut table = Table::new([
        "variant",
        "best calls/s",
        "calls/s",
        "calls/s, ratio",
        "CPU µs, self",
        "reach",
        "met",
    ]);
    let base = samples[0].all(PER_SECOND);
    for (entry, samples) in entries.iter().zip(&samples) {
        let per_second = samples.all(PER_SECOND);
        let quartiles = Quartiles::of(per_second.iter().copied());
        let [reach, met] = match entry.variant {
            Variant::Baseline => [String::new(), String::new()],
            _ => [
                format!("≥ {PER_SECOND_REACH}"),
                if quartiles.lower >= PER_SECOND_REACH { "yes" } else { "no" }.to_owned(),
            ],
        };
        table.row([
            name(entry.variant, programs).to_owned(),
            format!("{:.0}", most(&per_second)),
            format!("{:.0} [{:.0}, {:.0}]", quartiles.median, quartiles.lower, quartiles.upper),
            ratio(Quartiles::of_ratios(&per_second, &base)),
            format!("{:.2}", Quartiles::of(samples.all(SELF_CPU_US)).median),
            reach,
            met,
        ]);
    }
    println!("\n{IN_FLIGHT} in flight, on all CPUs; {rounds} rounds of {} calls; the ping-pong", {
        entries[0].job.calls
    });
    println!("sends all of them in one write:\n\n{table}");
    Ok(())
}
