//! All cases at once, for harnesses of their own.
//!
//! A harness without `#[test]` calls [`run_all`] and prints the [`Report`].

use std::fmt;

use tokio::task::JoinSet;

use super::{CASES, Failure, Probe};
use crate::{Class, ExecEnv};

/// Cases that run beside each other: enough that the waits of some cover the work of others.
const AT_ONCE: usize = 6;

/// What became of each case.
///
/// ```
/// use flyto_execenv::{
///     ExecEnv,
///     conformance::{Probe, in_memory_probe, run_some},
///     scripted::Scripted,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::conformance::Failure> {
/// let env = ExecEnv::new(in_memory_probe(Scripted::new()));
/// let wanted = |name: &str| name == "argv-verbatim";
/// let report = run_some(&env, &Probe::posix_sh(), wanted).await?;
/// assert_eq!(report.backend, "scripted");
/// assert!(report.failed().is_empty(), "{report}");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The backend's name.
    pub backend: String,
    /// Each clause's name with its result, in the order of [`CASES`].
    pub results: Vec<(&'static str, Result<(), Failure>)>,
}

impl Report {
    /// The names of the clauses that the backend breaks.
    #[must_use]
    pub fn failed(&self) -> Vec<&'static str> {
        self.results.iter().filter(|(_, res)| res.is_err()).map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Report {
    /// A line of counts, then one line for each broken clause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_all, n_failed) = (self.results.len(), self.failed().len());
        let n_passed = n_all - n_failed;
        writeln!(f, "{}: {n_all} clauses, {n_passed} passed, {n_failed} failed", self.backend)?;
        for (name, res) in &self.results {
            if let Err(failure) = res {
                writeln!(f, "  {name}: {failure}")?;
            }
        }
        Ok(())
    }
}

/// Runs every case, some of them beside each other.
///
/// # Errors
///
/// The handle does not know its own backend, so that no case can be run.
pub async fn run_all(env: &ExecEnv, probe: &Probe) -> Result<Report, Failure> {
    run_some(env, probe, |_| true).await
}

/// Runs the cases whose names are wanted, some of them beside each other.
///
/// # Errors
///
/// As [`run_all`].
///
/// A case that panics makes this panic.
pub async fn run_some(
    env: &ExecEnv,
    probe: &Probe,
    wanted: impl Fn(&str) -> bool,
) -> Result<Report, Failure> {
    let backend = env.capabilities(&Class::PLUGIN_TOOL)?.backend.clone();
    let mut cases: Vec<_> = CASES.iter().enumerate().filter(|(_, it)| wanted(it.name)).collect();
    // A case that runs alone would wait for the slowest of the others, and they for it.
    cases.sort_by_key(|(_, it)| !it.alone);
    let mut waiting = cases.into_iter();
    let mut at_work = JoinSet::new();
    let mut results = Vec::new();
    loop {
        while at_work.len() < AT_ONCE
            && let Some((n, case)) = waiting.next()
        {
            let (env, probe) = (env.clone(), probe.clone());
            at_work.spawn(async move { (n, case.name, case.run(&env, &probe).await) });
        }
        match at_work.join_next().await {
            Some(Ok(result)) => results.push(result),
            Some(Err(err)) => std::panic::resume_unwind(err.into_panic()),
            None => break,
        }
    }
    results.sort_by_key(|(n, ..)| *n);
    let results = results.into_iter().map(|(_, name, res)| (name, res)).collect();
    Ok(Report { backend, results })
}
