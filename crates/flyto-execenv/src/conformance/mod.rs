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
/// The first argument gives the [`ExecEnv`] and is evaluated for each test, inside a
/// Tokio runtime. A second one gives the [`Probe`], where the backend does
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
        $crate::__clauses!(__executor_conformance $env, $probe);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __executor_conformance {
    ($with:tt start { $($start:tt)* } run { $($run:tt)* } end { $($end:tt)* }) => {
        $crate::__executor_conformance! { $with $($start)* $($run)* $($end)* }
    };
    ({$env:expr, $probe:expr}
        $($name:literal = $module:ident::$test:ident $(($mark:ident))?, $about:literal;)+
    ) => {$(
        #[test]
        fn $test() {
            $crate::conformance::__test(module_path!(), $name, || ($env, $probe));
        }
    )+};
}

/// Runs the case of this name, as a test in `module` whose name has underscores for hyphens.
///
/// `make` is no type parameter: with one, each of the tests of a backend would compile a runtime of its own.
#[doc(hidden)]
#[track_caller]
pub fn __test(module: &str, name: &str, make: fn() -> (ExecEnv, Probe)) {
    play_host(make);
    // The test harness leaves the name of the crate out.
    let test = name.replace('-', "_");
    let test = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test,
    };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("the machine has room for a runtime");
    let res = runtime.block_on(async {
        let (env, probe) = make();
        let probe = probe.or_start_again(["--exact", &test, "--nocapture", "--test-threads=1"]);
        run(name, &env, &probe).await
    });
    if let Err(failure) = res {
        panic!("{name}: {failure}");
    }
}
