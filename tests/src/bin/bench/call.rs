//! What does one captured call cost beside the same work in C, and how many fit into a second?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18: 1.32 [1.32, 1.33] times C with two workers and 1.30
//! on one thread, 189 and 188 µs, where `tokio::process` without deadline and bounds takes 1.23. With
//! 8, 64 and 512 in flight two workers start 0.80, 0.90 and 1.05 times as many calls a second as C, six
//! workers 0.81, 0.92 and 1.07: starting blocks a worker.

use crate::{
    Result,
    job::{CHILDREN_CPU_US, Job, P50_US, PER_SECOND, SELF_CPU_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least, most},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What the portable backend may cost, as a ratio to C.
const ONE_CALL: Reach = Reach::AtMost(1.35);

/// What the Linux backend may cost: where it ends a process group; where it ends every descendant; and
/// where no program can break that, confined, by a Landlock domain or by a PID namespace.
const GROUP: Reach = Reach::AtMost(0.9);
const TREE: Reach = Reach::AtMost(1.0);
const CONFINED: Reach = Reach::AtMost(1.15);
const NAMESPACE: Reach = Reach::AtMost(1.35);

/// Calls per second with so many in flight on two CPUs, as a ratio to C.
fn several_reach(in_flight: usize) -> Reach {
    match in_flight {
        8 | 512 => Reach::AtLeast(1.2),
        64 => Reach::AtLeast(1.5),
        _ => Reach::None,
    }
}

/// The same where every descendant is ended.
fn tree_reach(in_flight: usize) -> Reach {
    match in_flight {
        8 => Reach::AtLeast(1.0),
        64 => Reach::AtLeast(1.3),
        _ => Reach::None,
    }
}

/// Calls in each run with several in flight: enough that starting and ending the run is lost in it.
fn n_calls(in_flight: usize, options: &Options) -> usize {
    (4 * options.calls).max(4 * in_flight)
}

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    one_at_a_time(options, &programs, &cpus)
}

/// How many calls fit into a second, with several in flight.
pub(crate) fn flight(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    for in_flight in &options.in_flight {
        several(options, &programs, &cpus, *in_flight)?;
    }
    Ok(())
}

/// The variants that this machine has.
fn here<const N: usize>(variants: [(Variant, Reach); N]) -> Vec<(Variant, Reach)> {
    variants.into_iter().filter(|(variant, _)| variant.is_here()).collect()
}

fn one_at_a_time(options: &Options, programs: &Programs, cpus: &Cpus) -> Result {
    let variants = here([
        (Variant::Baseline, Reach::None),
        (Variant::Std, Reach::None),
        (Variant::Tokio, Reach::None),
        (Variant::Bubblewrap, Reach::None),
        (Variant::ExecEnv, ONE_CALL),
        (Variant::ExecEnvOneThread, ONE_CALL),
        (Variant::Group, GROUP),
        (Variant::GroupOneThread, GROUP),
        (Variant::Tree, TREE),
        (Variant::TreeOneThread, TREE),
        (Variant::Cgroup, TREE),
        (Variant::Confined, CONFINED),
        (Variant::Namespace, NAMESPACE),
    ]);
    let job = Job {
        child: programs.echo.clone(),
        calls: options.calls,
        warm_up: options.warm_up,
        in_flight: 1,
        ..Job::default()
    };
    let entries: Vec<_> =
        variants.iter().map(|(variant, _)| Entry { variant: *variant, job: job.clone() }).collect();
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let rounds = options.rounds.unwrap_or(25);
    let samples = rounds::run(programs, &entries, rounds)?;

    let baseline = machine::shown(Variant::Baseline, programs);
    let mut table = Table::new([
        "variant",
        "best p50 µs",
        "p50, ratio",
        "CPU µs, self + child",
        "reach",
        "met",
    ]);
    let base = samples[0].all(P50_US);
    for ((variant, reach), samples) in variants.into_iter().zip(&samples) {
        let p50 = samples.all(P50_US);
        let figure = Quartiles::of_ratios(&p50, &base);
        let [own, children] =
            [SELF_CPU_US, CHILDREN_CPU_US].map(|it| Quartiles::of(samples.all(it)).median);
        let [reach, met] = reach.cells(figure);
        table.row([
            machine::shown(variant, programs).to_owned(),
            format!("{:.1}", least(&p50)),
            ratio(figure),
            format!("{own:.0} + {children:.0}"),
            reach,
            met,
        ]);
    }
    println!("\nOne call at a time, {place}; {rounds} rounds of {} calls;", options.calls);
    println!("ratios to {baseline} in the same round, median [quartiles]:\n\n{table}");
    Ok(())
}

fn several(options: &Options, programs: &Programs, cpus: &Cpus, in_flight: usize) -> Result {
    let reach = several_reach(in_flight);
    let variants = here([
        (Variant::Baseline, Reach::None),
        (Variant::Std, Reach::None),
        (Variant::Tokio, Reach::None),
        (Variant::ExecEnv, Reach::None),
        (Variant::Group, reach),
        // Starting a program blocks a worker until the program's image is in place.
        (Variant::GroupSixWorkers, reach),
        (Variant::Tree, tree_reach(in_flight)),
        (Variant::TreeSixWorkers, tree_reach(in_flight)),
    ]);
    let calls = n_calls(in_flight, options);
    let job = Job {
        child: programs.echo.clone(),
        calls,
        warm_up: options.warm_up,
        in_flight,
        ..Job::default()
    };
    let entries: Vec<_> =
        variants.iter().map(|(variant, _)| Entry { variant: *variant, job: job.clone() }).collect();
    let place = cpus.unpin()?;
    let rounds = options.rounds.unwrap_or(25);
    let samples = rounds::run(programs, &entries, rounds)?;

    let baseline = machine::shown(Variant::Baseline, programs);
    let mut table =
        Table::new(["variant", "best calls/s", "calls/s, ratio", "CPU µs a call", "reach", "met"]);
    let base = samples[0].all(PER_SECOND);
    for ((variant, reach), samples) in variants.into_iter().zip(&samples) {
        let per_second = samples.all(PER_SECOND);
        let [own, children] =
            [SELF_CPU_US, CHILDREN_CPU_US].map(|it| Quartiles::of(samples.all(it)).median);
        let figure = Quartiles::of_ratios(&per_second, &base);
        let [reach, met] = reach.cells(figure);
        table.row([
            machine::shown(variant, programs).to_owned(),
            format!("{:.0}", most(&per_second)),
            ratio(figure),
            format!("{:.0}", own + children),
            reach,
            met,
        ]);
    }
    println!("{in_flight} in flight, {place}; {rounds} rounds of {calls} calls; ratios to");
    println!("{baseline} with a thread for each in flight (more is better):\n\n{table}");
    Ok(())
}
