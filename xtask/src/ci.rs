//! `ci`: everything that gates a merge, cheapest first.

use std::time::{Duration, Instant};

use crate::{
    docs, features, layers, lint, package,
    stop::Stop,
    targets,
    test::{self, Counts},
    tidy,
};

type Chore = fn(&[String]) -> Result<(), Stop>;

/// The steps before the tests, each also a command of its own.
const STEPS: &[(&str, Chore)] = &[
    ("fmt", lint::run_fmt),
    ("layers", layers::run),
    ("tidy", tidy::run),
    ("clippy", lint::run_clippy),
    ("features", features::run),
    ("targets", targets::run),
    ("docs", docs::run),
    ("package", package::run),
];

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    let except = parse(args)?;
    let start = Instant::now();
    let mut done = Vec::new();
    for (name, chore) in STEPS.iter().filter(|(name, _)| !except.contains(name)) {
        done.push((*name, step(name, || chore(&[]))?.1));
    }
    let mut counts: Option<Counts> = None;
    if !except.contains(&"test") {
        let (it, time) = step("test", || {
            let it = test::run_all(&[])?;
            if it.failed == 0 { Ok(it) } else { Err(Stop::failed(it.to_string())) }
        })?;
        counts = Some(it);
        done.push(("test", time));
    }
    println!();
    for (name, time) in &done {
        println!("ci: {name:<10}{:>10}", seconds(*time));
    }
    println!("ci: {} steps passed in {}", done.len(), seconds(start.elapsed()));
    for skipped in except {
        println!("ci: left out {skipped}");
    }
    if let Some(counts) = counts {
        println!("{counts}");
    }
    Ok(())
}

/// Reads `--except STEP` as often as it comes.
fn parse(args: &[String]) -> Result<Vec<&'static str>, Stop> {
    let mut res = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg != "--except" {
            return Err(Stop::usage(format!("`ci` has no option `{arg}`")));
        }
        let name = args.next().ok_or_else(|| Stop::usage("`--except` needs a step"))?;
        let known = || STEPS.iter().map(|(name, _)| *name).chain(["test"]);
        let Some(step) = known().find(|it| it == name) else {
            let known = known().collect::<Vec<_>>().join(", ");
            return Err(Stop::usage(format!("there is no step `{name}`; there are {known}")));
        };
        res.push(step);
    }
    Ok(res)
}

/// Runs one step between two lines that name it; the second says how long it took.
fn step<T>(name: &str, chore: impl FnOnce() -> Result<T, Stop>) -> Result<(T, Duration), Stop> {
    println!("\n== {name}");
    let start = Instant::now();
    let res = chore();
    let time = start.elapsed();
    match res {
        Ok(res) => {
            println!("== {name} passed in {}", seconds(time));
            Ok((res, time))
        }
        Err(err) => {
            match err {
                Stop::Usage(why) | Stop::Failed(why) => eprintln!("{why}"),
                Stop::Reported => {}
            }
            Err(Stop::failed(format!(
                "ci stopped: `{name}` failed after {}; `cargo xtask {name}` runs it alone",
                seconds(time)
            )))
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Stop, parse, step};

    #[track_caller]
    fn check(args: &str, expect: Expect) {
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        expect.assert_eq(&format!("{:?}", parse(&args)));
    }

    #[test]
    fn steps_can_be_left_out() {
        check("", expect!["Ok([])"]);
        check("--except test --except package", expect![[r#"Ok(["test", "package"])"#]]);
    }

    #[test]
    fn unknown_steps_are_refused() {
        check("--except", expect![[r#"Err(Usage("`--except` needs a step"))"#]]);
        check("test", expect![[r#"Err(Usage("`ci` has no option `test`"))"#]]);
        check(
            "--except tests",
            expect![[
                r#"Err(Usage("there is no step `tests`; there are fmt, layers, tidy, clippy, features, targets, docs, package, test"))"#
            ]],
        );
    }

    #[test]
    fn a_failed_step_is_named_in_the_last_line() {
        let Err(Stop::Failed(why)) = step::<()>("tidy", || Err(Stop::Reported)) else {
            panic!("a failed step ends the run");
        };
        assert!(why.starts_with("ci stopped: `tidy` failed after "), "{why}");
    }
}
