//! Does a call cost more in a host that uses much memory?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18: no, 0.99 [0.97, 1.08] beside 8 GiB. A fork would take
//! 0.45 s there instead of 0.24 ms.

use crate::{
    Result,
    job::{Job, P50_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry},
    statistics::{Quartiles, least},
    system::{self, Cpus},
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What any amount of host memory may add to a call: "within 10 %".
const FLAT: Reach = Reach::AtMost(1.1);

/// Forked calls in a run; each takes a good part of a second in a host with 8 GiB.
const FORKED_CALLS: usize = 10;

/// What is left to the machine beside the host's memory, in MiB.
const SPARE_MIB: usize = 1024;

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    system::disable_huge_pages()?;
    let rounds = options.rounds.unwrap_or(7);

    let sizes = affordable(&options.gib);
    let mut variants = vec![
        (Variant::Baseline, FLAT),
        (Variant::Std, FLAT),
        (Variant::Tokio, FLAT),
        (Variant::ExecEnv, FLAT),
        (Variant::Group, FLAT),
        (Variant::Tree, FLAT),
        (Variant::StdForking, Reach::None),
    ];
    variants.retain(|(variant, _)| variant.is_here());
    let mut table =
        Table::new(["variant", "GiB", "best p50 µs", "to its first row", "reach", "met"]);
    // One variant after the other: a row is compared with the same variant's first.
    for (variant, reach) in variants {
        let is_forking = variant == Variant::StdForking;
        let entries: Vec<Entry> = sizes
            .iter()
            .map(|gib| {
                let job = Job {
                    child: programs.echo.clone(),
                    calls: if is_forking { FORKED_CALLS } else { options.calls },
                    warm_up: if is_forking { 1 } else { options.warm_up },
                    in_flight: 1,
                    memory_mib: gib * 1024,
                    ..Job::default()
                };
                Entry { variant, job }
            })
            .collect();
        let samples = rounds::run(&programs, &entries, rounds)?;
        for (i, (gib, row)) in sizes.iter().zip(&samples).enumerate() {
            let p50 = row.all(P50_US);
            let figure = Quartiles::of_ratios(&p50, &samples[0].all(P50_US));
            let [reach, met] = if i == 0 { Reach::None } else { reach }.cells(figure);
            table.row([
                machine::shown(variant, &programs).to_owned(),
                gib.to_string(),
                format!("{:.1}", least(&p50)),
                if i == 0 { String::new() } else { ratio(figure) },
                reach,
                met,
            ]);
        }
    }
    println!("\nOne call at a time, {place}, beside private memory in ordinary pages;");
    println!(
        "{rounds} rounds of {} calls ({FORKED_CALLS} where forking):\n\n{table}",
        options.calls
    );
    Ok(())
}

/// The sizes that this machine has memory for; says which it has not.
fn affordable(gib: &[usize]) -> Vec<usize> {
    let available = system::available_mib().unwrap_or(usize::MAX);
    let (res, skipped): (Vec<_>, Vec<_>) =
        gib.iter().partition(|gib| **gib == 0 || *gib * 1024 + SPARE_MIB <= available);
    for gib in skipped {
        println!("- skipped {gib} GiB: {available} MiB are available");
    }
    res
}
