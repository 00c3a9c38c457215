//! Building a plugin that is written in Rust.

use std::io;
use std::path::Path;
use std::time::Duration;

use flyto_execenv::local::Local;
use flyto_execenv::{Class, Environment, ExecEnv, ExecErrorKind, Exit as Ended, Outcome, Spec};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Why;
use crate::screen::Screen;
use crate::stop::{Stop, chain};

/// The words behind `cargo`. The plugin's manifest names a file below `target`.
pub(super) const WORDS: [&str; 4] = ["build", "--release", "--target-dir", "target"];

/// Long enough to fetch and build a program with few dependencies on a slow machine.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Whether the program was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Built {
    Yes,
    /// There is no Cargo in `PATH`.
    NoCargo,
}

/// Builds the program of the plugin in `dir` as its README says. Cargo fetches what it lacks, unless
/// its own settings (`CARGO_NET_OFFLINE`) keep it from that.
pub(super) fn build(dir: &Path, mut env: Environment, screen: &Screen) -> Result<Built, Stop> {
    // Another target would put the program elsewhere.
    for name in ["CARGO_BUILD_TARGET", "CARGO_BUILD_TARGET_DIR"] {
        env.remove(name);
    }
    let spec = Spec::new("cargo")
        .class(Class::USER_HOOK)
        .args(WORDS)
        .arg("--quiet")
        .env(env)
        .working_dir(dir)
        .merge_stderr()
        .deadline(LONGEST);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(Stop::internal)?.block_on(run(spec))?;
    let Some(outcome) = outcome else { return Ok(Built::NoCargo) };
    if outcome.exit.is_some_and(Ended::success) {
        return Ok(Built::Yes);
    }
    screen.output_beside(&String::from_utf8_lossy(&outcome.stdout.bytes()));
    let why = match outcome.exit {
        Some(Ended::Code(code)) => format!("cargo ended with exit code {code}"),
        _ => "cargo did not come to its end".to_owned(),
    };
    let message = format!("{} was written, but not built: {why}", dir.display());
    Err(Stop::new(Why::ProgramFailed, message).with_help(format!(
        "run `cargo {}` there when what cargo says is settled",
        WORDS.join(" ")
    )))
}

/// Runs it. A signal that would end this program takes Cargo along.
async fn run(spec: Spec) -> Result<Option<Outcome>, Stop> {
    let env = ExecEnv::new(Local::new());
    let number = tokio::select! {
        outcome = env.run(spec) => return match outcome {
            Ok(outcome) => Ok(Some(outcome)),
            Err(err) if err.kind() == ExecErrorKind::ProgramNotFound => Ok(None),
            Err(err) => Err(Stop::new(Why::Failed, chain(&err))),
        },
        number = ended_by() => number.map_err(Stop::internal)?,
    };
    Err(Stop::Killed(number))
}

/// Completes with the number of a signal.
async fn ended_by() -> io::Result<u8> {
    let (mut interrupt, mut terminate, mut hang_up) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    );
    let kind = tokio::select! {
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
        _ = hang_up.recv() => SignalKind::hangup(),
    };
    Ok(u8::try_from(kind.as_raw_value()).unwrap_or(crate::exit::SIGINT))
}
