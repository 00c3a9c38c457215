//! Backends with one fault each: the local one, and what its author got wrong.

mod bombs_outlive_it;
mod buffers_without_bound;
mod checks_once;
mod checks_then_starts;
mod counts_no_leaked;
mod drops_arguments_of_pinned;
mod drops_empty_arguments;
mod drops_stderr;
mod forgets_calls_that_are_dropped;
mod forgets_orphans;
mod hands_on_a_descriptor;
mod hangs_up_after_asking;
mod hides_mismatches;
mod ignores_digests;
mod ignores_isolation;
mod ignores_limits;
mod keeps_descriptors;
mod keeps_stdin_open;
mod kills_despite_grace;
mod kills_the_group_for_the_tree;
mod kills_the_leader_alone;
mod knows_no_usage;
mod leaks_the_environment;
mod limits_in_silence;
mod litters;
mod merges_out_of_order;
mod mixes_up_calls;
mod never_kills_after_asking;
mod outlived_by_its_programs;
mod says_that_it_started;
mod searches_the_hosts_path;
mod ships_nothing;
mod swallows_signals;
mod trusts_its_watcher;
mod waits_for_pipes;

use std::{any::type_name, collections::BTreeMap, fmt, sync::LazyLock, time::Duration};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Control, Ended, ExecEnv, ExecError, Executor, Exit, Running, Signal, Spec,
    Target,
    conformance::{CASES, Probe, Report, run_some},
    local::Local,
};
use tokio::task::JoinSet;

/// One thing that a backend gets wrong. What is not overridden is right.
trait Fault: fmt::Debug + Send + Sync + 'static {
    /// What it declares, given what the local backend declares.
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right
    }

    /// What it makes of the spec.
    fn spec(&self, right: Spec) -> Spec {
        right
    }

    /// What it makes of an error.
    fn error(&self, right: ExecError) -> ExecError {
        right
    }

    /// What it makes of the program that `spec` started.
    fn running(&self, spec: &Spec, right: Running) -> Running {
        let _ = spec;
        right
    }
}

#[derive(Debug)]
struct Broken<F> {
    local: Local,
    capabilities: Capabilities,
    fault: F,
}

#[async_trait]
impl<F: Fault> Executor for Broken<F> {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let wrong = self.fault.spec(spec.clone());
        match self.local.start(wrong).await {
            Ok(running) => Ok(self.fault.running(&spec, running)),
            Err(err) => Err(self.fault.error(err)),
        }
    }
}

/// What a control gets wrong. What is not overridden is right.
#[async_trait]
trait ControlFault: Send + Sync + 'static {
    fn exit(&self, right: Exit) -> Exit {
        right
    }

    fn ended(&self, right: Ended) -> Ended {
        right
    }

    async fn end(&self, control: &dyn Control, grace: Duration) -> Result<Ended, ExecError> {
        control.end(grace).await
    }
}

struct BrokenControl<F> {
    right: Box<dyn Control>,
    fault: F,
}

impl<F> fmt::Debug for BrokenControl<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.right.fmt(f)
    }
}

#[async_trait]
impl<F: ControlFault> Control for BrokenControl<F> {
    async fn wait(&self) -> Result<Exit, ExecError> {
        self.right.wait().await.map(|it| self.fault.exit(it))
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.right.signal(signal, target)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        let mut ended = self.fault.end(&*self.right, grace).await?;
        ended.exit = ended.exit.map(|it| self.fault.exit(it));
        Ok(self.fault.ended(ended))
    }
}

/// Puts a fault between the handle and the control of a running program.
fn break_control(mut running: Running, fault: impl ControlFault) -> Running {
    running.control = Box::new(BrokenControl { right: running.control, fault });
    running
}

/// Every broken backend. The ones that keep the suite waiting come first, so that the others run
/// meanwhile.
fn backends() -> Vec<(&'static str, ExecEnv)> {
    vec![
        broken(waits_for_pipes::WaitsForPipes),
        broken(never_kills_after_asking::NeverKills),
        broken(kills_the_leader_alone::KillsTheLeaderAlone),
        broken(trusts_its_watcher::TrustsItsWatcher),
        broken(drops_stderr::DropsStderr),
        broken(keeps_stdin_open::KeepsStdinOpen),
        broken(forgets_calls_that_are_dropped::Forgets::default()),
        broken(kills_the_group_for_the_tree::KillsTheGroupForTheTree),
        broken(bombs_outlive_it::BombsOutliveIt),
        broken(ignores_isolation::IgnoresIsolation),
        broken(ignores_limits::IgnoresLimits),
        broken(limits_in_silence::LimitsInSilence),
        broken(checks_then_starts::ChecksThenStarts),
        broken(buffers_without_bound::BuffersWithoutBound),
        broken(checks_once::ChecksOnce::default()),
        broken(counts_no_leaked::CountsNoLeaked),
        broken(drops_arguments_of_pinned::DropsArgumentsOfPinned),
        broken(drops_empty_arguments::DropsEmptyArguments),
        broken(forgets_orphans::ForgetsOrphans),
        broken(hands_on_a_descriptor::HandsOnADescriptor),
        broken(hangs_up_after_asking::HangsUp),
        broken(keeps_descriptors::KeepsDescriptors),
        broken(hides_mismatches::HidesMismatches),
        broken(ignores_digests::IgnoresDigests),
        broken(kills_despite_grace::KillsDespiteGrace),
        broken(knows_no_usage::KnowsNoUsage),
        broken(leaks_the_environment::LeaksTheEnvironment),
        broken(litters::Litters),
        broken(merges_out_of_order::MergesOutOfOrder),
        broken(mixes_up_calls::MixesUpCalls::default()),
        broken(outlived_by_its_programs::OutlivedByItsPrograms),
        broken(says_that_it_started::SaysThatItStarted),
        broken(searches_the_hosts_path::SearchesTheHostsPath),
        broken(ships_nothing::ShipsNothing),
        broken(swallows_signals::SwallowsSignals),
    ]
}

fn broken<F: Fault>(fault: F) -> (&'static str, ExecEnv) {
    let local = Local::new();
    let capabilities = fault.capabilities(local.capabilities().clone());
    (type_name::<F>(), ExecEnv::new(Broken { local, capabilities, fault }))
}

fn probe() -> Probe {
    let probe = Probe::posix_sh().start_again(outlived_by_its_programs::AS_A_HOST);
    // Short, since a broken backend uses it up; long enough for a busy machine.
    probe.guard(Duration::from_secs(25))
}

/// Suites at work at once. Each waits most of the time, and 1,024 descriptors must do for all.
const SUITES_AT_ONCE: usize = 8;

/// What became of a backend: of the cases that run while no other does, and of the rest.
type Reports = [Report; 2];

/// What became of each backend, by the name of its fault.
///
/// All are run by the first test that asks: a case that a broken backend leaves hanging costs time
/// that the others can use, which the few threads of a test run do not.
static REPORTS: LazyLock<BTreeMap<&'static str, Reports>> = LazyLock::new(|| run(backends()));

/// Whether this process was started for tests that were named, as nextest starts one for each. Then it runs their
/// backends alone: with all of them, one test would take as long as every test does.
fn is_for_named_tests() -> bool {
    let is_name = |it: &String| !it.starts_with('-') && it.parse::<usize>().is_err();
    std::env::var_os("NEXTEST").is_some() || std::env::args().skip(1).any(|it| is_name(&it))
}

fn run(backends: Vec<(&'static str, ExecEnv)>) -> BTreeMap<&'static str, Reports> {
    let probe = probe();
    // Starting a program holds up the thread that starts it, and here many start at once.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(8).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut suites = Vec::new();
        // The first would wait for what hangs elsewhere. The bomb of the second keeps the machine so
        // busy that killed processes of others take seconds to end.
        let alone = |name: &str| matches!(name, "nothing-is-left-behind" | "fork-bomb-is-ended");
        for (fault, env) in backends {
            let report = run_some(&env, &probe, alone).await.expect("the backend is there");
            suites.push((fault, env, report));
        }
        let (mut suites, mut at_work) = (suites.into_iter(), JoinSet::new());
        let mut res = BTreeMap::new();
        loop {
            while at_work.len() < SUITES_AT_ONCE
                && let Some((fault, env, first)) = suites.next()
            {
                let probe = probe.clone();
                at_work.spawn(async move {
                    let rest = run_some(&env, &probe, |it| !alone(it)).await;
                    (fault, [first, rest.expect("the backend is there")])
                });
            }
            match at_work.join_next().await {
                Some(joined) => res.extend([joined.expect("no case panics")]),
                None => break res,
            }
        }
    })
}

/// Expects that a backend with the fault `F` breaks these clauses and no others.
#[track_caller]
fn check<F: Fault>(clauses: &[&str]) {
    let fault = type_name::<F>();
    let reports = if is_for_named_tests() {
        run(backends().into_iter().filter(|it| it.0 == fault).collect()).remove(fault)
    } else {
        REPORTS.get(fault).cloned()
    };
    let reports = reports.expect("the fault is in the list of backends");
    let mut failed: Vec<_> = reports.iter().flat_map(Report::failed).collect();
    failed.sort_by_key(|failed| CASES.iter().position(|it| it.name == *failed));
    let shown = reports.each_ref().map(ToString::to_string).concat();
    assert_eq!(failed, clauses, "{shown}");
    let n_all: usize = reports.iter().map(|it| it.results.len()).sum();
    assert_eq!(n_all, CASES.len());
}
