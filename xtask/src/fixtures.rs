//! `fixtures`: the data-driven cases under `fixtures/`. `--bless` rewrites what they expect, for
//! review as a diff.

use crate::{process::cargo, stop::Stop, test};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    let (flags, names): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| arg.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| **flag != "--bless") {
        return Err(Stop::usage(format!("`fixtures` has no option `{flag}`")));
    }
    // The same package set as in `test`, so that nothing is compiled twice.
    let mut command = cargo("test --workspace --all-features --test fixtures --");
    command.args(names);
    if !flags.is_empty() {
        command.env("FLYTO_BLESS", "1");
    }
    let counts = test::count(command)?;
    println!("{counts}");
    if counts.failed == 0 { Ok(()) } else { Err(Stop::Reported) }
}
