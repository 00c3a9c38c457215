//! What does a program cost whose bytes are pinned, beside the same program by its path?
//!
//! 2026-11-21, AMD EPYC, 2 CPUs, Linux 6.18, beside compilers at work: 1.04 [1.03, 1.05] times as
//! much for a binary that was hashed before, 1.03 [1.02, 1.04] for a script. The first call costs 0.3 ms
//! more for 64 KiB, 1.3 ms for 1 MiB and 0.14 s for 100 MiB.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    job::{Job, P50_US},
    machine,
    options::Options,
    programs::Programs,
    rounds::{self, Entry, Samples},
    statistics::{Quartiles, least},
    system::Cpus,
    table::{Reach, Table, ratio},
    worker::Variant,
};

/// What a digest may add to the calls of a program that was hashed before.
const LATER: Reach = Reach::AtMost(1.05);

/// Calls in a run of first calls; each copies and hashes the program.
const FIRST_CALLS: usize = 5;

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options)?;
    machine::print(&programs)?;
    let cpus = Cpus::current()?;
    let place = if options.unpinned { cpus.unpin()? } else { cpus.pin()? };
    let children = children(&programs.echo, &options.kib)?;
    let rounds = options.rounds.unwrap_or(15);
    let variants = [Variant::ExecEnv, Variant::ExecEnvPinned, Variant::ExecEnvPinnedFirst];
    let entries: Vec<Entry> = children
        .iter()
        .flat_map(|child| variants.map(|variant| entry(variant, child, options)))
        .collect();
    let samples = rounds::run(&programs, &entries, rounds)?;

    let mut table = Table::new([
        "program",
        "by its path, best p50 µs",
        "pinned, best p50 µs",
        "ratio",
        "reach",
        "met",
        "first call, best p50 µs",
        "added µs",
        "GB/s",
    ]);
    for (child, of) in children.iter().zip(samples.chunks(variants.len())) {
        let [plain, later, first] = [0, 1, 2].map(|it: usize| Samples::all(&of[it], P50_US));
        let figure = Quartiles::of_ratios(&later, &plain);
        let [reach, met] = LATER.cells(figure);
        let added_us = least(&first) - least(&plain);
        table.row([
            child.about.clone(),
            format!("{:.1}", least(&plain)),
            format!("{:.1}", least(&later)),
            ratio(figure),
            reach,
            met,
            format!("{:.0}", least(&first)),
            format!("{added_us:.0}"),
            format!("{:.2}", child.bytes as f64 / added_us / 1e3),
        ]);
    }
    println!("\nOne call at a time, {place}; {rounds} rounds of {} calls,", options.calls);
    println!("{FIRST_CALLS} where each is the first of its backend; ratios in the same round:\n");
    println!("{table}");
    Ok(())
}

fn entry(variant: Variant, child: &Child, options: &Options) -> Entry {
    let is_first = variant == Variant::ExecEnvPinnedFirst;
    let job = Job {
        child: child.path.clone(),
        calls: if is_first { FIRST_CALLS.min(options.calls) } else { options.calls },
        warm_up: if is_first { 1 } else { options.warm_up },
        in_flight: 1,
        ..Job::default()
    };
    Entry { variant, job }
}

/// A program of a certain size.
#[derive(Debug)]
struct Child {
    about: String,
    path: PathBuf,
    bytes: usize,
}

/// `echo` as a binary and as the interpreter of a script, each filled up to the sizes.
fn children(echo: &Path, kib: &[usize]) -> Result<Vec<Child>> {
    let binary = fs::read(echo)?;
    let script = format!("#!{}\n", echo.display()).into_bytes();
    let mut res = Vec::new();
    for (kind, begin) in [("binary", binary), ("script", script)] {
        for kib in kib {
            let bytes = kib * 1024;
            let path = echo.with_file_name(format!("{kind}-{kib}"));
            let mut content = begin.clone();
            content.resize(bytes.max(begin.len()), 0);
            fs::write(&path, content)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            res.push(Child { about: format!("{kind} of {kib} KiB"), path, bytes });
        }
    }
    Ok(res)
}
