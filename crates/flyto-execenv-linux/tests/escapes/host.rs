//! A host: it runs the tool in every way, and may come to its end meanwhile.
//!
//! `host MECHANISM WAY MARKER KIND…`. It prints its process number and waits for a byte on stdin. Then it
//! prints a line for each call, or, where it comes to its end, one that says that all of its calls are
//! in flight.

use std::{
    env::current_exe,
    io::{Read, Write, stdin, stdout},
    num::NonZeroUsize,
    process::exit,
    sync::Arc,
    time::Duration,
};

use flyto_execenv::{
    Capture, Chunk, Ending, ExecEnv, ExecError, KillScope, Outcome, Output, RunOptions, Spec,
};
use flyto_execenv_linux::{KillMechanism, Linux, adopt_orphans};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    processes::{Awaited, wait_for_end},
    table::{ATTACKS, Cell, MEANS, Means, User, Way, is_promised, looks},
};

/// A backstop for broken code.
pub(crate) const GUARD: Duration = Duration::from_secs(20);

/// How long something is waited for that is not promised to go.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// The first deadline that is tried; one that passes before the tool is ready is doubled.
const DEADLINE: Duration = Duration::from_millis(200);

/// The deadline of calls whose host is stopped before it passes: 4 s, in which all of them begin.
const BEFORE_STOP: Duration = Duration::from_secs(4);

/// All calls of a host that is going to its end have begun.
pub(crate) const IN_FLIGHT: &str = "in flight";

/// What it says instead where the mechanism does not work.
pub(crate) const NOT_HERE: &str = "not here: ";

/// Calls at once, where the host lives on.
const AT_ONCE: usize = 8;

pub(crate) fn run(args: &[String]) -> ! {
    let [mechanism, way, marker, kinds @ ..] = args else { panic!("{args:?}") };
    writeln!(stdout(), "{}", std::process::id()).expect("somebody listens");
    let mut go = [0];
    stdin().read_exact(&mut go).expect("a byte");
    let means = MEANS.into_iter().find(|(_, name)| name == mechanism).expect("some means").0;
    if means.adopts {
        adopt_orphans().expect("Linux 3.4");
    }
    let linux = match Linux::with_mechanism(means.mechanism) {
        Ok(linux) => linux,
        Err(err) => {
            writeln!(stdout(), "{NOT_HERE}{err}").expect("somebody listens");
            exit(0)
        }
    };
    let user = if rustix::process::geteuid().is_root() { User::Root } else { User::Ordinary };
    // All of them may be in flight at once.
    let places = NonZeroUsize::new(kinds.len()).expect("some kinds");
    let env = ExecEnv::builder(linux).max_in_flight(places).build();
    let way = Way::parse(way);
    let host = Host { env, user, means, way, marker: marker.clone() };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Each call may block one.
    let runtime = runtime.worker_threads(AT_ONCE + 1).enable_all().build().expect("threads");
    runtime.block_on(Arc::new(host).run_all(kinds));
    exit(0)
}

struct Host {
    env: ExecEnv,
    user: User,
    means: Means,
    way: Way,
    marker: String,
}

impl Host {
    async fn run_all(self: Arc<Self>, kinds: &[String]) {
        let mut calls = JoinSet::new();
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let (ready, mut are_ready) = mpsc::channel(kinds.len());
        for kind in kinds {
            let kind = kind.clone();
            let (host, places, ready) = (Arc::clone(&self), Arc::clone(&places), ready.clone());
            calls.spawn(async move {
                if !host.way.leaves_the_host() {
                    return host.stay_in_flight(&kind, ready).await;
                }
                let _place = places.acquire_owned().await;
                let cell = host.end(&kind).await;
                let line = cell.to_line(&kind);
                writeln!(stdout(), "{line}").expect("somebody listens");
            });
        }
        if !self.way.leaves_the_host() {
            for _ in kinds {
                are_ready.recv().await.expect("every call becomes ready");
            }
            writeln!(stdout(), "{IN_FLIGHT}").expect("somebody listens");
            if self.way == Way::HostExits {
                exit(0);
            }
        }
        while let Some(joined) = calls.join_next().await {
            joined.expect("no call panics");
        }
    }

    fn spec(&self, kind: &str, marker: &str) -> Spec {
        let ends = if self.way == Way::Exit { "exit" } else { "stay" };
        let program = current_exe().expect("proc(5)");
        let host = std::process::id().to_string();
        let scope = match self.means.mechanism {
            KillMechanism::Group => KillScope::Group,
            _ => KillScope::Tree,
        };
        Spec::new(program.as_os_str())
            .args(["tool", marker, kind, ends, &host])
            .stdout(Output::Captured(Capture::limit(4096)))
            .kill(scope)
            // A program that keeps its supervisor stopped looks as if it hung.
            .deadline(match self.way {
                Way::HostStopped => BEFORE_STOP,
                _ if ATTACKS.contains(&kind) => 10 * DEADLINE,
                _ => GUARD,
            })
    }

    fn tool_marker(&self, kind: &str, attempt: u32) -> String {
        format!("{}{attempt}", tool_marker(&self.marker, kind))
    }

    /// Runs the tool until the host comes to its end.
    async fn stay_in_flight(&self, kind: &str, ready: mpsc::Sender<()>) {
        let marker = self.tool_marker(kind, 0);
        let (observer, mut chunks) = mpsc::channel(16);
        let options = RunOptions::new().observer(observer);
        let watch = async {
            is_ready(&mut chunks).await;
            ready.send(()).await.expect("they are counted");
        };
        let spec = self.spec(kind, &marker);
        let (_, ()) = tokio::join!(self.env.run_with(spec, options), watch);
        // A call whose supervisor is gone is over before its host.
        std::future::pending().await
    }

    /// Runs the tool to its end, and counts what is left at that moment.
    async fn end(&self, kind: &str) -> Cell {
        let mut attempt = 0;
        loop {
            let marker = self.tool_marker(kind, attempt);
            if let Some(cell) = self.try_to_end(kind, &marker, attempt).await {
                return cell;
            }
            attempt += 1;
        }
    }

    /// `None` where the deadline passed before the tool was ready.
    async fn try_to_end(&self, kind: &str, marker: &str, attempt: u32) -> Option<Cell> {
        let spec = self.spec(kind, marker);
        let (observer, mut chunks) = mpsc::channel(16);
        let options = RunOptions::new().observer(observer);
        let res = match self.way {
            Way::Exit => self.env.run_with(spec, options).await,
            Way::Deadline => {
                let spec = spec.deadline(DEADLINE.saturating_mul(2_u32.saturating_pow(attempt)));
                let (res, was_ready) =
                    tokio::join!(self.env.run_with(spec, options), is_ready(&mut chunks));
                // A tool that ended before it was ready has no need of more time.
                let is_late = |it: &Outcome| it.ending == Ending::TimedOut;
                if !was_ready && res.as_ref().is_ok_and(is_late) {
                    return None;
                }
                res
            }
            Way::Cancel => {
                let cancel = CancellationToken::new();
                let watch = async {
                    is_ready(&mut chunks).await;
                    cancel.cancel();
                };
                let options = options.cancel(cancel.clone());
                tokio::join!(self.env.run_with(spec, options), watch).0
            }
            Way::Drop => {
                let said = tokio::select! {
                    _ = self.env.run_with(spec, options) => String::new(),
                    said = said(&mut chunks) => said,
                };
                // The end follows.
                let survivors = self.wait_for_end(kind, marker, self.patience(kind));
                return Some(Cell { survivors, outcome: "dropped".into(), said });
            }
            Way::HostKilled | Way::HostExits | Way::HostStopped => {
                unreachable!("the host does not come to its end")
            }
        };
        let is_known = res.as_ref().is_ok_and(|it| it.confirmed);
        let survivors = match is_known || self.means.mechanism == KillMechanism::Group {
            true => self.wait_for_end(kind, marker, Duration::ZERO),
            // Others may have killed them a moment ago: a control group does not say when all are gone.
            false => self.wait_for_end(kind, marker, self.patience(kind)),
        };
        let said = match &res {
            Ok(outcome) => {
                let text = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
                text.lines().find_map(|it| it.strip_prefix("ready ")).unwrap_or("").to_owned()
            }
            Err(_) => said(&mut chunks).await,
        };
        Some(Cell { survivors, outcome: outcome(&res), said })
    }

    fn patience(&self, kind: &str) -> Duration {
        let promised = is_promised(self.user, self.means, self.way, kind);
        if promised { GUARD } else { PATIENCE }
    }

    /// On this thread: a bomb leaves no place for another one.
    fn wait_for_end(&self, kind: &str, marker: &str, patience: Duration) -> usize {
        wait_for_end(&[Awaited { marker: marker.to_owned(), looks: looks(kind), patience }])[0]
    }
}

/// What is in the arguments of every process of this kind below the host with this marker.
pub(crate) fn tool_marker(host: &str, kind: &str) -> String {
    format!("tool:{host}:{kind}:")
}

/// Waits for the line that says so; `false` where the output ends before.
async fn is_ready(chunks: &mut mpsc::Receiver<Chunk>) -> bool {
    let mut seen = Vec::new();
    let res = loop {
        let Some(chunk) = chunks.recv().await else { break false };
        seen.extend_from_slice(&chunk.bytes);
        if seen.starts_with(b"ready") && seen.ends_with(b"\n") {
            break true;
        }
    };
    chunks.close();
    res
}

async fn said(chunks: &mut mpsc::Receiver<Chunk>) -> String {
    let mut seen = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        seen.extend_from_slice(&chunk.bytes);
        if seen.ends_with(b"\n") {
            break;
        }
    }
    let text = String::from_utf8_lossy(&seen).into_owned();
    text.strip_prefix("ready ").unwrap_or(&text).trim_end().to_owned()
}

fn outcome(of: &Result<Outcome, ExecError>) -> String {
    match of {
        Ok(outcome) => {
            let ending = match &outcome.ending {
                Ending::Exited(exit) => format!("{exit:?}"),
                other => format!("{other:?}"),
            };
            let confirmed = if outcome.confirmed { "" } else { ", unconfirmed" };
            let leaked = outcome.leaked.map_or("?".into(), |it| it.to_string());
            format!("{ending}{confirmed}, {leaked} leaked")
        }
        Err(err) => format!("{:?}", err.kind()),
    }
}
