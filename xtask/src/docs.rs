//! `docs`: rustdoc of every crate with warnings denied. Examples in it run in `test`.

use crate::{
    no_args,
    process::{cargo, run as run_program},
    stop::Stop,
};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    no_args("docs", args)?;
    let mut command = cargo("doc --workspace --no-deps --all-features");
    command.env("RUSTDOCFLAGS", "-D warnings");
    run_program(command)
}
