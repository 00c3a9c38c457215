//! What the figures were measured on.

use std::{fs, thread};

use crate::{
    Result,
    programs::{Programs, identity},
    worker::Variant,
};

/// Says what the figures below were measured on.
pub(crate) fn print(programs: &Programs) -> Result {
    let system = nix::sys::utsname::uname()?;
    let n_cpus = thread::available_parallelism()?;
    println!("- machine: {}, {n_cpus} CPUs, governor {}", cpu_model(), governor());
    println!(
        "- kernel: {} {} {}",
        system.sysname().display(),
        system.release().display(),
        system.machine().display(),
    );
    println!("- load when it began: {}", load());
    println!("- child `echo`: {}", identity(&programs.echo)?);
    println!("- child `spew`: {}", identity(&programs.spew)?);
    match &programs.baseline {
        Some((_, version)) => println!("- baseline: C, {version}, -O2"),
        None => println!("- baseline: its Rust twin"),
    }
    Ok(())
}

/// What a variant is called in tables.
pub(crate) fn shown(variant: Variant, programs: &Programs) -> &'static str {
    match (variant, &programs.baseline) {
        (Variant::Baseline, Some(_)) => "C posix_spawn",
        (Variant::Baseline, None) => "Rust posix_spawn",
        _ => variant.name(),
    }
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|it| it.starts_with("model name"));
    let name = model.and_then(|it| it.split_once(':')).map(|it| it.1.trim());
    name.unwrap_or("CPU of unknown model").to_owned()
}

fn governor() -> String {
    let file = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    fs::read_to_string(file).map_or_else(|_| "unknown".to_owned(), |it| it.trim().to_owned())
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|it| !it.is_empty()).unwrap_or("unknown").to_owned()
}
