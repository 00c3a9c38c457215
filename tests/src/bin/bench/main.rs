//! Benchmarks that are read by people: `cargo xtask bench NAME`, or `cargo run --release -p
//! flyto-tests --bin bench -- NAME [OPTION]…`.
//!
//! Each answers a question, which its file opens with. `tests/bench/README.md` tells how a figure
//! comes about and what was measured last.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark talks to the person who runs it"
)]

use std::{env, error::Error, process::ExitCode};

mod call; //       what does one call cost, and how many fit into a second?
mod discover; //   what does finding plugins cost?
mod fds; //        … with many open descriptors?
mod host; //       … through all stages of a host?
mod mcp; //        what does a call cost over the Model Context Protocol?
mod program; //    what does `flyto call` add to its tool?
#[cfg(target_os = "linux")]
mod ready; //      what does a call cost whose program was started before it?
mod rss; //        … in a host with much memory?
mod session; //    what does a call cost whose program stays?
mod stream; //     how fast is output captured, and in how much memory?
mod verify; //     what does a pinned program cost?

mod job; //        what one run does
mod options; //    the arguments
mod programs; //   building the child and the baseline
mod rounds; //     running variants in turn
mod worker; //     the variants: each run is a process of its own

mod machine; //    what the figures were measured on
mod statistics; // medians and ratios
mod table; //      showing them

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unix;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use unix as system;

use options::Options;

/// Whatever went wrong ends the benchmark and is shown to a person; no code tells cases apart.
type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// One benchmark: its name, its question, the options it has beside those of all, the function.
type Bench = (&'static str, &'static str, &'static [&'static str], fn(&Options) -> Result);

const BENCHES: &[Bench] = &[
    ("call", "what one captured call costs", &[], call::run),
    ("flight", "how many fit into a second", &["--in-flight"], call::flight),
    ("rss", "… beside host memory", &["--gib"], rss::run),
    ("fds", "… beside open descriptors", &["--descriptors"], fds::run),
    ("host", "what a host adds to its executor", &[], host::run),
    ("session", "what a call costs whose program stays", &[], session::run),
    #[cfg(target_os = "linux")]
    ("ready", "what a call costs whose program waits", &[], ready::run),
    ("stream", "how fast much output is captured", &["--mib"], stream::run),
    ("verify", "what a pinned program costs", &["--kib"], verify::run),
    ("discover", "what finding plugins costs", &["--plugins", "--tools"], discover::run),
    ("mcp", "what a call costs through `flyto serve`", &["--plugins"], mcp::run),
    ("program", "what `flyto call` adds to its tool", &[], program::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let (name, rest) = args.split_first().map_or(("", &[][..]), |it| (it.0.as_str(), it.1));
    if name == worker::SUBCOMMAND {
        return done(worker::run(rest));
    }
    let Some((.., own, bench)) = BENCHES.iter().find(|it| it.0 == name) else {
        eprintln!("{}", usage());
        return ExitCode::from(2);
    };
    match Options::parse(rest, own) {
        Ok(options) => done(bench(&options)),
        Err(why) => {
            eprintln!("bench: {why}\n\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn done(res: Result) -> ExitCode {
    match res {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("bench: {err}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut res = String::from("usage: bench NAME [OPTION]…\n");
    for (name, about, own, _) in BENCHES {
        let line = format!("  {name:<10}{about:<42}{}", own.join(" "));
        res.push_str(&format!("\n{}", line.trim_end()));
    }
    res.push_str("\n\noptions:\n");
    for (name, value, about) in options::ALL {
        res.push_str(&format!("\n  {:<24}{about}", format!("{name} {value}")));
    }
    res
}
