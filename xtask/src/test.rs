//! `test`: everything that has a test harness, and a last line that counts.
//!
//! Fixtures and conformance suites are test targets of their packages, so they run and count here.

mod binaries; // several at once

use std::{
    fmt,
    io::{self, Write},
    thread::available_parallelism,
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
    // A caller that closed our stdout still gets the right exit code.
    let _ = writeln!(io::stdout(), "{counts}");
    if counts.failed == 0 { Ok(()) } else { Err(Stop::Reported) }
}

/// Runs the tests whose names contain one of `filters` (all without any) and counts them.
pub(crate) fn run_all(filters: &[String]) -> Result<Counts, Stop> {
    // Tests start these programs by path. The same package set as below means the same features, so
    // that nothing is compiled twice; xtask is running and stays as it is.
    process::run(cargo("build --workspace --exclude xtask --all-features --bins"))?;
    let binaries = binaries::compile("test --workspace --all-features --no-run")?;
    let n_cpus = available_parallelism().map_or(1, usize::from);
    // Most tests start processes and wait for them.
    let mut words = vec![format!("--test-threads={}", 2 * n_cpus)];
    words.extend_from_slice(filters);
    let mut reader = Reader::default();
    // Two of three threads wait, on average, so that one more keeps the machine busy.
    let n_at_once = n_cpus + n_cpus.div_ceil(2);
    let succeeded = binaries::run(binaries, n_at_once, &words, &mut |line| reader.read(line))?;
    let mut counts = reader.finish(succeeded);
    let mut docs = cargo("test --workspace --all-features --no-fail-fast --doc --");
    docs.args(words);
    counts.add(count(docs)?);
    Ok(counts)
}

/// Runs one `cargo test` and adds up the summaries it prints.
pub(crate) fn count(command: std::process::Command) -> Result<Counts, Stop> {
    let mut reader = Reader::default();
    let succeeded = process::watch(command, &mut |line| reader.read(line))?;
    Ok(reader.finish(succeeded))
}

/// Reads what the test binaries of one `cargo test` print.
#[derive(Debug, Default)]
struct Reader {
    counts: Counts,
    /// How many tests the binary said it would run, until its summary comes.
    announced: Option<u64>,
    /// Binaries that announced tests and never summed them up.
    n_died: u64,
}

impl Reader {
    fn read(&mut self, line: &str) {
        if let Some(n_tests) = announcement(line) {
            self.n_died += u64::from(self.announced.is_some());
            self.announced = Some(n_tests);
        } else if let Some(counts) = Counts::parse(line)
            // A failed test's own output may look like a summary, but hardly with the right sum.
            && self.announced == Some(counts.sum())
        {
            self.counts.add(counts);
            self.announced = None;
        }
    }

    fn finish(self, succeeded: bool) -> Counts {
        let Self { mut counts, announced, n_died } = self;
        if !succeeded {
            counts.failed += n_died + u64::from(announced.is_some());
            // A build error leaves no trace here, and is no success.
            counts.failed = counts.failed.max(1);
        }
        counts
    }
}

/// The number in `running 3 tests`.
fn announcement(line: &str) -> Option<u64> {
    let (number, word) = line.trim().strip_prefix("running ")?.split_once(' ')?;
    if ["test", "tests"].contains(&word) { number.parse().ok() } else { None }
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

    fn sum(self) -> u64 {
        self.passed + self.failed + self.skipped
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

    use super::Reader;

    #[track_caller]
    fn check(output: &str, succeeded: bool, expect: Expect) {
        let mut reader = Reader::default();
        output.lines().for_each(|line| reader.read(line));
        expect.assert_eq(&reader.finish(succeeded).to_string());
    }

    #[test]
    fn summaries_are_added_up() {
        check(
            "running 3 tests\n\
             test a ... ok\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n\
             \n\
             running 1 test\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
             running 0 tests\n\
             test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
            true,
            expect!["3 passed, 0 failed, 1 skipped"],
        );
    }

    #[test]
    fn a_coloured_verdict_counts() {
        check(
            "running 7 tests\n\
             test result: \u{1b}[31mFAILED\u{1b}[0m. 5 passed; 2 failed; 0 ignored; 0 measured",
            false,
            expect!["5 passed, 2 failed, 0 skipped"],
        );
    }

    #[test]
    fn what_tests_print_does_not_count() {
        check(
            "running 2 tests\n\
             running away\n\
             test result\n\
             test result: ok. many passed; 0 failed; 0 ignored\n\
             test result: ok. 100 passed; 0 failed; 0 ignored\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored\n\
             test result: ok. 2 passed; 0 failed; 0 ignored\n",
            false,
            expect!["1 passed, 1 failed, 0 skipped"],
        );
    }

    #[test]
    fn a_binary_that_dies_is_a_failure() {
        check(
            "running 2 tests\n\
             test a ... ok\n\
             running 1 test\n\
             test result: ok. 1 passed; 0 failed; 0 ignored\n\
             running 4 tests\n",
            false,
            expect!["1 passed, 2 failed, 0 skipped"],
        );
    }

    #[test]
    fn a_build_error_is_a_failure() {
        check("", false, expect!["0 passed, 1 failed, 0 skipped"]);
        check("", true, expect!["0 passed, 0 failed, 0 skipped"]);
    }
}
