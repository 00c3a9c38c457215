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
//! Limits other than the one on output, and isolation, have no clause yet beyond their refusal: a backend that declares one of them proves it by tests of its own.

mod ctx;
mod end;
mod failure;
#[cfg(feature = "scripted")]
mod in_memory;
mod left;
mod pinned;
mod probe;
mod report;
mod run;
mod start;

use std::{fmt, pin::Pin};

use tokio::{sync::RwLock, time::timeout};

use self::ctx::Ctx;
#[cfg(feature = "scripted")]
pub use self::in_memory::in_memory_probe;
pub use self::{
    failure::Failure,
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

macro_rules! case {
    ($name:literal, $about:literal, $test:path) => {
        Case { name: $name, about: $about, test: |ctx| Box::pin($test(ctx)), alone: false }
    };
}

/// Every clause, in the order of the contract.
pub const CASES: &[Case] = &[
    case!(
        "argv-verbatim",
        "arguments arrive byte for byte; no shell is involved unless the program is one.",
        start::argv_verbatim
    ),
    case!(
        "env-starts-empty",
        "the program sees the variables of the spec and no others.",
        start::env_starts_empty
    ),
    case!(
        "lookup-is-the-specs",
        "a name without a slash is looked up in the spec's `PATH`, not in the host's, and the first executable hit runs.",
        start::lookup_is_the_specs
    ),
    case!(
        "relative-program-is-in-the-working-dir",
        "a relative program path is taken from the spec's working directory.",
        start::relative_program_is_in_the_working_dir
    ),
    case!(
        "working-dir-is-the-specs",
        "the program starts in the spec's working directory.",
        start::working_dir_is_the_specs
    ),
    case!(
        "working-dir-stays-clean",
        "the backend leaves no file of its own in the working directory.",
        start::working_dir_stays_clean
    ),
    case!(
        "missing-program",
        "a program that is nowhere is `ProgramNotFound`, and nothing ran.",
        start::missing_program
    ),
    case!(
        "not-executable",
        "a file without the right to execute is `NotExecutable`, and nothing ran.",
        start::not_executable
    ),
    case!(
        "directory-as-program",
        "a directory is `IsDirectory`, and nothing ran.",
        start::directory_as_program
    ),
    case!(
        "bad-interpreter",
        "a script whose interpreter is missing is `BadInterpreter`, and nothing ran.",
        start::bad_interpreter
    ),
    case!(
        "bad-working-dir",
        "a working directory that is missing is `BadWorkingDir`, and nothing ran.",
        start::bad_working_dir
    ),
    case!(
        "just-written-program-runs",
        "a program that was written a moment ago runs, also when others start at the same time.",
        start::just_written_program_runs
    ),
    case!(
        "pinned-bytes-run",
        "a pinned program whose file has the digest runs, found as any other, as often as it is called.",
        pinned::pinned_bytes_run
    ),
    case!(
        "pinned-mismatch-is-refused",
        "a pinned program whose file has another digest is `DigestMismatch`, and nothing ran.",
        pinned::pinned_mismatch_is_refused
    ),
    case!(
        "pinned-swap-is-caught",
        "when the file of a pinned program is replaced or rewritten, also between check and start, the pinned bytes run or nothing does.",
        pinned::pinned_swap_is_caught
    ),
    case!(
        "no-extra-descriptors",
        "the program has descriptors 0, 1 and 2 and no others.",
        start::no_extra_descriptors
    ),
    case!(
        "stdin-is-never-the-hosts",
        "without input the program reads the end of input at once.",
        start::stdin_is_never_the_hosts
    ),
    case!(
        "impossible-specs-are-refused",
        "a NUL byte, a nameless variable, a relative working directory are `InvalidSpec`, and nothing ran.",
        start::impossible_specs_are_refused
    ),
    case!(
        "undeclared-is-refused",
        "a spec that demands an undeclared capability is `Unsupported`, and nothing ran.",
        start::undeclared_is_refused
    ),
    case!(
        "exit-codes-are-exact",
        "codes 0, 1, 42 and 255 arrive as they are.",
        run::exit_codes_are_exact
    ),
    case!(
        "signals-are-exact",
        "death by a signal is that signal, not a code.",
        run::signals_are_exact
    ),
    case!(
        "streams-are-bytes",
        "any bytes on stdin, stdout and stderr arrive unchanged.",
        run::streams_are_bytes
    ),
    case!(
        "big-input-does-not-deadlock",
        "input and output larger than any pipe pass through at once.",
        run::big_input_does_not_deadlock
    ),
    case!(
        "unread-stdin-is-no-error",
        "a program that never reads, or closes stdin early, succeeds.",
        run::unread_stdin_is_no_error
    ),
    case!(
        "output-is-bounded",
        "memory stays under the limit however much is printed; the true count is kept.",
        run::output_is_bounded
    ),
    case!(
        "output-limit-ends-the-tree",
        "more output than the limit ends the program, and the outcome names the limit.",
        run::output_limit_ends_the_tree
    ),
    case!(
        "merged-stderr-keeps-order",
        "with a merged stderr, writes to both streams arrive in the order of the writes.",
        run::merged_stderr_keeps_order
    ),
    case!(
        "output-arrives-while-it-runs",
        "a program's first line can be observed before it ends.",
        run::output_arrives_while_it_runs
    ),
    case!(
        "slow-observer-slows-the-program",
        "a program waits for an observer that does not take its output.",
        run::slow_observer_slows_the_program
    ),
    case!(
        "piped-streams-talk",
        "a program with piped streams answers each request while it runs.",
        run::piped_streams_talk
    ),
    case!(
        "calls-do-not-mix",
        "many calls at once each get their own output and their own end.",
        run::calls_do_not_mix
    ),
    Case {
        alone: true,
        ..case!(
            "nothing-is-left-behind",
            "after many calls the host has as many processes, descriptors and threads as before.",
            left::nothing_is_left_behind
        )
    },
    case!(
        "exited-then-closed",
        "exit and end of output are two events; a descendant that holds the pipe is reported, not waited for.",
        end::exited_then_closed
    ),
    case!(
        "chatty-leaker-is-cut-off",
        "a descendant that goes on writing after the leader's exit does not delay the result beyond the drain time.",
        end::chatty_leaker_is_cut_off
    ),
    case!(
        "leaked-are-ended",
        "what outlives the leader is ended and, where declared, counted; else the count is `None`.",
        end::leaked_are_ended
    ),
    case!(
        "deadline-ends-the-tree",
        "after a deadline nothing of the kill scope is alive, and the outcome is `TimedOut` with the output so far.",
        end::deadline_ends_the_tree
    ),
    case!(
        "deadline-covers-stdin",
        "the deadline holds for a program that never reads its input.",
        end::deadline_covers_stdin
    ),
    case!(
        "cancel-ends-the-tree",
        "after a cancellation nothing of the kill scope is alive, and the outcome is `Cancelled`.",
        end::cancel_ends_the_tree
    ),
    case!(
        "grace-asks-first",
        "with a grace, the program is asked to end, also a stopped one, and what it prints then is kept.",
        end::grace_asks_first
    ),
    case!(
        "grace-is-bounded",
        "a program that ignores the request is killed after the grace.",
        end::grace_is_bounded
    ),
    case!(
        "no-grace-kills-at-once",
        "without a grace, a program that would end cleanly when asked is not asked.",
        end::no_grace_kills_at_once
    ),
    case!(
        "stopped-is-ended",
        "a stopped program ends by its deadline as well.",
        end::stopped_is_ended
    ),
    case!(
        "escapees-are-ended",
        "where the kill scope is the tree, a descendant in a session of its own is ended too.",
        end::escapees_are_ended
    ),
    case!(
        "dropped-is-ended",
        "dropping a call ends it; cancelling a future is a normal way to stop.",
        end::dropped_is_ended
    ),
    case!(
        "signals-reach-the-tree",
        "a signal to the tree reaches the leader and its children, one to the leader reaches it alone; undeclared, they are `Unsupported`.",
        end::signals_reach_the_tree
    ),
    case!(
        "usage-is-reported",
        "CPU time and peak memory are there where they are declared, and absent elsewhere.",
        end::usage_is_reported
    ),
];

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
            dropped_is_ended
            signals_reach_the_tree
            usage_is_reported
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __executor_conformance {
    (($env:expr, $probe:expr) $($clause:ident)+) => {$(
        #[test]
        fn $clause() {
            $crate::conformance::__test(stringify!($clause), || ($env, $probe));
        }
    )+};
}

/// Runs the case whose name is `clause` with hyphens for underscores.
#[doc(hidden)]
#[track_caller]
pub fn __test(clause: &str, make: impl FnOnce() -> (ExecEnv, Probe)) {
    let name = clause.replace('_', "-");
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("the machine has room for a runtime");
    let res = runtime.block_on(async {
        let (env, probe) = make();
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
