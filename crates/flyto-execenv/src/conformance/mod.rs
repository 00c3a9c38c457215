//! The contract of [`Executor`](crate::Executor) and [`Control`](crate::Control), one case per clause.
//!
//! The author of a backend adds two lines to a test file and gets one test per clause, by name:
//!
//! ```toml
//! [dev-dependencies]
//! flyto-execenv = { version = "0.1", features = ["conformance"] }
//! ```
//!
//! ```
//! # use flyto_execenv::{ExecEnv, local::Local};
//! flyto_execenv::executor_conformance!(ExecEnv::new(Local::new()));
//! # fn main() {}
//! ```
//!
//! A case has two sides: what is declared must be honoured, and what is not declared must be refused
//! before anything runs. None is skipped. Cases wait for events and never compare times; a
//! [guard](Probe::guard) stops the ones that a broken backend leaves hanging.
//!
//! Programs under test are a POSIX shell with one script, and `env`; [`Probe`] says where the
//! backend finds them. Whatever else a case needs it writes through the backend, so that the suite
//! also works where the backend's files are not the host's. Calls of one backend must see each
//! other's files in the scratch directory, and at least four calls must fit in flight at once.
//!
//! Harnesses without `#[test]` go through [`CASES`], or call [`run_all`] and print its [`Report`].
//!
//! One clause turns programs against their parents, which a backend may have put there to watch over
//! them. A parent that is the host itself, or none of its descendants, is let alone.

mod cases;
mod ctx;
mod end;
mod escape;
mod failure;
mod host;
#[cfg(feature = "scripted")]
mod in_memory;
mod isolation;
mod left;
mod limit;
mod network;
mod pinned;
mod probe;
mod report;
mod run;
mod start;
mod system;
mod usage;
mod watcher;

use std::{fmt, pin::Pin};

use tokio::{sync::RwLock, time::timeout};

use self::ctx::Ctx;
#[cfg(feature = "scripted")]
pub use self::in_memory::in_memory_probe;
pub use self::{
    cases::CASES,
    failure::Failure,
    host::play_host,
    probe::Probe,
    report::{Report, run_all, run_some},
};
use crate::ExecEnv;

type CaseFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// One clause of the contract, and how it is tested.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// The clause's name, such as `argv-verbatim`.
    pub name: &'static str,
    /// What the clause promises.
    pub about: &'static str,
    test: for<'a> fn(&'a Ctx<'_>) -> CaseFuture<'a>,
    alone: bool,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).field("about", &self.about).finish()
    }
}

/// Cases that count what the process holds run alone, the others beside each other.
static PROCESS: RwLock<()> = RwLock::const_new(());

impl Case {
    /// Runs the case on a Tokio runtime with time enabled.
    ///
    /// # Errors
    ///
    /// The backend breaks the clause.
    pub async fn run(&self, env: &ExecEnv, probe: &Probe) -> Result<(), Failure> {
        let _turn = if self.alone {
            (Some(PROCESS.write().await), None)
        } else {
            (None, Some(PROCESS.read().await))
        };
        let ctx = Ctx::new(env, probe)?;
        let guard = probe.guard_time();
        let res = timeout(guard, (self.test)(&ctx)).await.unwrap_or_else(|_| {
            Err(Failure::new(format!("still waiting after {} s", guard.as_secs_f64())))
        });
        ctx.clean().await;
        res
    }
}

/// Runs the case of this name.
///
/// # Errors
///
/// The backend breaks the clause, or there is no clause of this name.
pub async fn run(name: &str, env: &ExecEnv, probe: &Probe) -> Result<(), Failure> {
    match CASES.iter().find(|it| it.name == name) {
        Some(case) => case.run(env, probe).await,
        None => Err(Failure::new(format!("there is no clause {name}"))),
    }
}

/// One `#[test]` for each clause of the contract, named as the clause is.
///
/// The first argument gives the [`ExecEnv`](crate::ExecEnv) and is evaluated for each test, inside a
/// Tokio runtime. A second one gives the [`Probe`](crate::conformance::Probe), where the backend does
/// not have a POSIX shell at its usual place.
///
/// ```
/// # use flyto_execenv::{ExecEnv, conformance::Probe, local::Local};
/// flyto_execenv::executor_conformance!(
///     ExecEnv::new(Local::new()),
///     Probe::posix_sh().shell("/bin/bash"),
/// );
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! executor_conformance {
    ($env:expr $(,)?) => {
        $crate::executor_conformance!($env, $crate::conformance::Probe::posix_sh());
    };
    ($env:expr, $probe:expr $(,)?) => {
        $crate::__executor_conformance! { ($env, $probe)
            argv_verbatim
            env_starts_empty
            lookup_is_the_specs
            relative_program_is_in_the_working_dir
            working_dir_is_the_specs
            working_dir_stays_clean
            missing_program
            not_executable
            directory_as_program
            bad_interpreter
            bad_working_dir
            just_written_program_runs
            pinned_bytes_run
            pinned_mismatch_is_refused
            pinned_swap_is_caught
            no_extra_descriptors
            stdin_is_never_the_hosts
            impossible_specs_are_refused
            undeclared_is_refused
            exit_codes_are_exact
            signals_are_exact
            streams_are_bytes
            big_input_does_not_deadlock
            unread_stdin_is_no_error
            output_is_bounded
            output_limit_ends_the_tree
            merged_stderr_keeps_order
            output_arrives_while_it_runs
            slow_observer_slows_the_program
            piped_streams_talk
            calls_do_not_mix
            nothing_is_left_behind
            exited_then_closed
            chatty_leaker_is_cut_off
            leaked_are_ended
            deadline_ends_the_tree
            deadline_covers_stdin
            cancel_ends_the_tree
            grace_asks_first
            grace_is_bounded
            no_grace_kills_at_once
            stopped_is_ended
            escapees_are_ended
            escapees_end_by_the_deadline
            escapees_end_when_cancelled
            escapees_end_when_dropped
            fork_bomb_is_ended
            killed_watchers_are_missed
            stopped_watchers_go_on
            dropped_is_ended
            nothing_survives_the_host
            cpu_time_is_limited
            memory_is_limited
            file_size_is_limited
            open_files_are_limited
            processes_are_limited
            files_stay_in_the_grants
            denied_paths_are_closed
            read_only_paths_stay_as_they_are
            network_off_is_off
            named_hosts_are_all_there_is
            the_machine_around_is_closed
            local_sockets_off_are_off
            restricted_system_calls_fail
            rings_are_closed
            set_id_bits_are_refused
            others_are_out_of_reach
            others_are_not_traced
            shared_objects_of_others_are_closed
            shared_memory_is_ones_own
            signals_reach_the_tree
            usage_is_reported
            usage_covers_the_tree
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __executor_conformance {
    (($env:expr, $probe:expr) $($clause:ident)+) => {$(
        #[test]
        fn $clause() {
            $crate::conformance::__test(module_path!(), stringify!($clause), || ($env, $probe));
        }
    )+};
}

/// Runs the case whose name is `clause` with hyphens for underscores, as a test in `module`.
#[doc(hidden)]
#[track_caller]
pub fn __test(module: &str, clause: &str, make: impl Fn() -> (ExecEnv, Probe)) {
    play_host(&make);
    // The test harness leaves the name of the crate out.
    let test = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{clause}"),
        None => clause.to_owned(),
    };
    let name = clause.replace('_', "-");
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("the machine has room for a runtime");
    let res = runtime.block_on(async {
        let (env, probe) = make();
        let probe = probe.or_start_again(["--exact", &test, "--nocapture", "--test-threads=1"]);
        run(&name, &env, &probe).await
    });
    if let Err(failure) = res {
        panic!("{name}: {failure}");
    }
}

#[cfg(test)]
mod tests {
    use super::CASES;

    /// The clauses in the docs of the two traits.
    fn clauses() -> Vec<(&'static str, &'static str)> {
        let lines = include_str!("../traits.rs").lines();
        lines.filter_map(|it| it.trim().strip_prefix("/// - `")?.split_once("` — ")).collect()
    }

    #[test]
    fn each_clause_has_a_case_of_its_name() {
        let cases: Vec<_> = CASES.iter().map(|it| (it.name, it.about)).collect();
        assert_eq!(cases, clauses());
    }

    #[test]
    fn each_clause_has_a_test_of_its_name() {
        let (_, from) = include_str!("mod.rs").split_once("{ ($env, $probe)\n").expect("the list");
        let (list, _) = from.split_once('}').expect("its end");
        let tests: Vec<_> = list.split_whitespace().map(|it| it.replace('_', "-")).collect();
        let names: Vec<_> = clauses().iter().map(|(name, _)| *name).collect();
        assert_eq!(tests, names);
    }
}
