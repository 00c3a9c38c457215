//! `lint`: formatting, and clippy over the workspace with all features. [`features`](crate::features) looks at the other sets.

use crate::{
    no_args,
    process::{cargo, run as run_program},
    stop::Stop,
};

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
    run_program(cargo("clippy --workspace --all-targets --all-features -- -D warnings"))
}
