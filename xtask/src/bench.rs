//! `bench`: one benchmark of the `flyto-tests` package, in release mode. People read the result.

use crate::{
    process::{cargo, run as run_program},
    stop::Stop,
};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if args.is_empty() {
        return Err(Stop::usage("`bench` needs the name of a benchmark"));
    }
    let mut command = cargo("run --release --quiet -p flyto-tests --bin bench --");
    command.args(args);
    run_program(command)
}
