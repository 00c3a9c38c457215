//! `lint`: formatting, and clippy over the feature sets that people build.

use crate::{
    no_args,
    process::{cargo, run as run_program},
    stop::Stop,
};

/// Crates that others take with few features; each also has to be clean without any.
pub(crate) const WITH_FEATURES: &[&str] = &[
    "flyto-tools",
    "flyto-execenv",
    "flyto-execenv-linux",
    "flyto-permission",
    "flyto-host",
    "flyto-cli",
];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("lint", args)?;
    run_fmt(args)?;
    run_clippy(args)
}

pub(crate) fn run_fmt(args: &[String]) -> Result<(), Stop> {
    no_args("fmt", args)?;
    run_program(cargo("fmt --all --check"))
}

pub(crate) fn run_clippy(args: &[String]) -> Result<(), Stop> {
    no_args("clippy", args)?;
    run_program(cargo("clippy --workspace --all-targets --all-features -- -D warnings"))?;
    for name in WITH_FEATURES {
        run_program(cargo(&format!("clippy -p {name} --no-default-features -- -D warnings")))?;
    }
    Ok(())
}
