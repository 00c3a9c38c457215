//! `bench`: one benchmark of the `flyto-tests` package, or that of a crate, in release mode. People read the result.

use crate::{
    process::{cargo, run as run_program},
    stop::Stop,
};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if args.is_empty() {
        return Err(Stop::usage("`bench` needs the name of a benchmark"));
    }
    // These need one crate each: `secrets` is run after each change of a rule.
    let of_crates = [("secrets", "flyto-security"), ("store", "flyto-evolve")];
    if let Some((name, args)) = args.split_first()
        && let Some((_, package)) = of_crates.iter().find(|it| it.0 == name)
    {
        let mut command = cargo(&format!("bench --quiet -p {package} --bench {name} --"));
        // Cargo starts a bench in its crate's directory.
        let here = std::env::current_dir().unwrap_or_default();
        command.args(args.iter().map(|it| match it.starts_with('-') {
            true => it.into(),
            false => here.join(it).into_os_string(),
        }));
        return run_program(command);
    }
    if args.first().is_some_and(|it| it == "program" || it == "mcp") {
        // It measures the program that lies beside it.
        run_program(cargo("build --release --quiet -p flyto-cli"))?;
    }
    let mut command = cargo("run --release --quiet -p flyto-tests --bin bench --");
    command.args(args);
    run_program(command)
}
