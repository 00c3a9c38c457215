//! `bench`: one benchmark of the `flyto-tests` package, in release mode. People read the result.

use crate::{
    process::{cargo, run as run_program},
    stop::Stop,
};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if args.is_empty() {
        return Err(Stop::usage("`bench` needs the name of a benchmark"));
    }
    if args.first().is_some_and(|it| it == "program") {
        // It measures the program that lies beside it.
        run_program(cargo("build --release --quiet -p flyto-cli"))?;
    }
    let mut command = cargo("run --release --quiet -p flyto-tests --bin bench --");
    command.args(args);
    run_program(command)
}
