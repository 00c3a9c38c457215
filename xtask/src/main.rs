//! The chores of this repository, as `cargo xtask COMMAND`.
//!
//! CI calls these commands and holds almost no logic of its own, so what is red there is red here.
//! [`COMMANDS`] lists them; each lives in a file of its name.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it"
)]

use std::{env, process::ExitCode};

// What the chores share: cargo's knowledge of the workspace, the one place that starts programs, Rust text
// without comments and strings, and how a chore ends early.
mod metadata;
mod process;
mod rust_source;
mod stop;

// Rules of this repository, by text and by manifest.
mod layers;
mod tidy;

// What compiles, and what is published.
mod docs;
mod features;
mod lint;
mod package;
mod targets;

// What runs.
mod bench;
mod conformance;
mod fixtures;
mod fuzz;
mod interop;
mod test;

// All of it in order.
mod ci;

use stop::Stop;

/// One chore: its name, its arguments as shown to people, what it does, and the function.
type Command = (&'static str, &'static str, &'static str, fn(&[String]) -> Result<(), Stop>);

/// Every command, in the order of the usage text.
const COMMANDS: &[Command] = &[
    ("ci", "[--except STEP]…", "all that gates a merge, cheapest first", ci::run),
    ("layers", "", "compares the arrows between crates with the allowed ones", layers::run),
    ("tidy", "", "manifests, prose, codes of findings, source rules, stray files", tidy::run),
    ("lint", "", "`fmt` and `clippy`", lint::run),
    ("fmt", "", "formatting, by stable rustfmt", lint::run_fmt),
    ("clippy", "", "clippy with all features, warnings denied", lint::run_clippy),
    (
        "features",
        "",
        "each feature alone, and none; lean builds; other architectures",
        features::run,
    ),
    (
        "targets",
        "[--missing]",
        "crates compile for the systems that they are meant for",
        targets::run,
    ),
    ("docs", "", "rustdoc with warnings denied", docs::run),
    ("package", "", "every publishable crate makes a complete package", package::run),
    ("test", "[FILTER]…", "all tests; the last line counts them", test::run),
    ("fixtures", "[NAME]… [--bless]", "the cases under fixtures/", fixtures::run),
    ("conformance", "[BACKEND]…", "the executor contract, per backend", conformance::run),
    ("interop", "[PART]…", "the program against the clients and servers of others", interop::run),
    ("fuzz", "NAME [--seconds N]", "libFuzzer on one decoder, for a minute", fuzz::run),
    ("bench", "NAME [ARG]…", "one benchmark, in release mode", bench::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Usage(why)) => {
            eprintln!("xtask: {why}\n\n{}", usage());
            ExitCode::from(2)
        }
        Err(Stop::Failed(why)) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
        // The chore has said all there is to say, and its last line is meant to be the last one.
        Err(Stop::Reported) => ExitCode::FAILURE,
    }
}

fn dispatch(args: &[String]) -> Result<(), Stop> {
    let Some((name, rest)) = args.split_first() else {
        return Err(Stop::usage("which command?"));
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        println!("{}", usage());
        return Ok(());
    }
    match COMMANDS.iter().find(|(known, ..)| known == name) {
        Some((.., chore)) => chore(rest),
        None => Err(Stop::usage(format!("there is no command `{name}`"))),
    }
}

fn usage() -> String {
    let mut res = String::from("usage: cargo xtask COMMAND\n");
    for (name, args, about, _) in COMMANDS {
        res.push_str(&format!("\n  {:<30}{about}", format!("{name} {args}")));
    }
    res
}

/// For chores that take no argument.
fn no_args(command: &str, args: &[String]) -> Result<(), Stop> {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(Stop::usage(format!("`{command}` takes no argument, got `{arg}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Stop, dispatch, usage};

    #[test]
    fn unknown_command_is_a_usage_error() {
        for args in [vec![], vec!["nonsense".to_owned()], vec!["layers".into(), "extra".into()]] {
            assert!(matches!(dispatch(&args), Err(Stop::Usage(_))), "{args:?}");
        }
    }

    #[test]
    fn usage_fits_a_terminal() {
        for line in usage().lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
