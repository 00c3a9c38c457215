//! `test`: everything that has a test harness, and a last line that counts.
//!
//! Fixtures and conformance suites are test targets of their packages, so they run and count here.

use std::{
    fmt,
    io::{self, Write},
};

use crate::{
    process::{self, cargo},
    stop::Stop,
};

pub(crate) fn run(args: &[String]) -> Result<(), Stop> {
    if let Some(arg) = args.iter().find(|arg| arg.starts_with('-')) {
        return Err(Stop::usage(format!("`test` takes filters only, got `{arg}`")));
    }
    let counts = run_all(args)?;
    // Somebody who closed our stdout still gets the right exit code.
    let _ = writeln!(io::stdout(), "{counts}");
    if counts.failed == 0 { Ok(()) } else { Err(Stop::Reported) }
}

/// Runs the tests whose names contain one of `filters` (all without any) and counts them.
pub(crate) fn run_all(filters: &[String]) -> Result<Counts, Stop> {
    // Tests start these programs by path. The same package set as below means the same features, so
    // that nothing is compiled twice; xtask is running and stays as it is.
    process::run(cargo("build --workspace --exclude xtask --all-features --bins"))?;
    let mut command = cargo("test --workspace --all-features --no-fail-fast --");
    command.args(filters);
    count(command)
}

/// Runs one `cargo test` and adds up the summaries it prints.
pub(crate) fn count(command: std::process::Command) -> Result<Counts, Stop> {
    let mut res = Counts::default();
    let succeeded = process::watch(command, &mut |line| {
        if let Some(counts) = Counts::parse(line) {
            res.add(counts);
        }
    })?;
    if !succeeded && res.failed == 0 {
        // A build error or a test binary that died leaves no summary, and is no success.
        res.failed = 1;
    }
    Ok(res)
}

/// How many tests had which end. `Display` is the line that CI reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Reads the summary line of one test binary; any other line is none.
    fn parse(line: &str) -> Option<Self> {
        let summary = line.trim().strip_prefix("test result: ")?;
        let number = |label: &str| {
            summary.split(['.', ';']).find_map(|part| part.trim().strip_suffix(label)?.parse().ok())
        };
        Some(Self {
            passed: number(" passed")?,
            failed: number(" failed")?,
            skipped: number(" ignored")?,
        })
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::Counts;

    #[track_caller]
    fn check(output: &str, expect: Expect) {
        let mut res = Counts::default();
        output.lines().filter_map(Counts::parse).for_each(|counts| res.add(counts));
        expect.assert_eq(&res.to_string());
    }

    #[test]
    fn summaries_are_added_up() {
        check(
            "running 3 tests\n\
             test a ... ok\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n\
             test result: FAILED. 10 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n",
            expect!["12 passed, 3 failed, 1 skipped"],
        );
    }

    #[test]
    fn a_coloured_verdict_counts() {
        check(
            "test result: \u{1b}[32mok\u{1b}[0m. 7 passed; 0 failed; 0 ignored; 0 measured",
            expect!["7 passed, 0 failed, 0 skipped"],
        );
    }

    #[test]
    fn other_lines_do_not_count() {
        check(
            "test result\nthe test result: ok. 1 passed; 1 failed; 1 ignored\n",
            expect!["0 passed, 0 failed, 0 skipped"],
        );
        check(
            "test result: ok. many passed; 0 failed; 0 ignored",
            expect!["0 passed, 0 failed, 0 skipped"],
        );
    }
}
