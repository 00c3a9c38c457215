//! Does a call cost more in a host with many open descriptors, and more than C pays for them?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18: about 79 µs for each 1,000, the same as C pays; beside
//! 1,000 a call costs 1.22 [1.20, 1.23] times C with as many, beside 10,000 1.08.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::{
    Result,
    job::{Job, P50_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What the portable backend may cost, whatever is open: "no worse than C" means that its ratio
/// does not grow with the number.
const ONE_CALL: Reach = Reach::AtMost(1.35);

/// … and the Linux backend.
const NO_WORSE: Reach = Reach::AtMost(1.0);

/// Descriptors that a worker needs beside those it is told to open.
const SPARE: usize = 64;

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let numbers = allowed(&options.descriptors)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let rounds = options.rounds.unwrap_or(15);

    let mut variants = vec![
        (Variant::Baseline, Reach::None),
        (Variant::Std, Reach::None),
        (Variant::Tokio, Reach::None),
        (Variant::ExecEnv, ONE_CALL),
        (Variant::Group, NO_WORSE),
        (Variant::Tree, NO_WORSE),
    ];
    variants.retain(|(variant, _)| variant.is_here());
    let mut table =
        Table::new(["variant", "open", "best p50 µs", "p50, ratio", "added µs", "reach", "met"]);
    let mut without: Vec<Vec<f64>> = Vec::new();
    for n_open in numbers {
        let entries: Vec<_> = variants
            .iter()
            .map(|(variant, _)| {
                let job = Job {
                    child: programs.echo.clone(),
                    calls: options.calls,
                    warm_up: options.warm_up,
                    in_flight: 1,
                    descriptors: n_open,
                    ..Job::default()
                };
                Entry { variant: *variant, job }
            })
            .collect();
        let samples = rounds::run(&programs, &entries, rounds)?;
        let p50s: Vec<Vec<f64>> = samples.iter().map(|it| it.all(P50_US)).collect();
        if without.is_empty() {
            without.clone_from(&p50s);
        }
        for (i, (variant, reach)) in variants.iter().copied().enumerate() {
            let figure = Quartiles::of_ratios(&p50s[i], &p50s[0]);
            let [reach, met] = reach.cells(figure);
            table.row([
                machine::shown(variant, &programs).to_owned(),
                n_open.to_string(),
                format!("{:.1}", least(&p50s[i])),
                ratio(figure),
                format!("{:.0}", least(&p50s[i]) - least(&without[i])),
                reach,
                met,
            ]);
        }
    }
    let baseline = machine::shown(Variant::Baseline, &programs);
    println!(
        "\nOne call at a time, {place}; {rounds} rounds of {} calls; ratios to",
        options.calls
    );
    println!(
        "{baseline} with as many open, added: to the best p50 with the first number:\n\n{table}"
    );
    Ok(())
}

/// The numbers that this user may have open; raises the limit for the workers, says which exceed it.
fn allowed(numbers: &[usize]) -> Result<Vec<usize>> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let (res, skipped): (Vec<_>, Vec<_>) =
        numbers.iter().partition(|it| (**it + SPARE) as u64 <= hard);
    for n_open in skipped {
        println!("- skipped {n_open} descriptors: {hard} are allowed");
    }
    Ok(res)
}
