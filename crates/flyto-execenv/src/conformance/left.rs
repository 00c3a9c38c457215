//! Counting what many calls leave behind.
//!
//! A leak is something that grows with the number of calls: descriptors, threads and children of
//! this process, as `/proc/self` counts them. Where there is no proc(5), all counts are 0 and the
//! case passes.

use std::{fmt, fs, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    ctx::Ctx,
    failure::{Failure, ensure},
};

/// Calls of each kind in one round.
const CALLS: usize = 12;

/// What calls are counted in is the whole process, in which other threads work as well. A leak shows
/// in every round; what others do does not.
const ROUNDS: usize = 3;

/// The case runs alone among the cases of this process.
///
/// One round out of [`ROUNDS`] that ends with the counts it began with is enough. Counts may go
/// down with a delay, so they are looked at for some time.
pub(super) async fn nothing_is_left_behind(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // The first round fills pools and caches.
    round(ctx).await?;
    let mut grown = Vec::new();
    for _ in 0..ROUNDS {
        let before = Counts::now();
        round(ctx).await?;
        let give_up = Instant::now() + ctx.patience() / 4;
        loop {
            let after = Counts::now();
            if after.is_within(&before) {
                return Ok(());
            }
            if Instant::now() >= give_up {
                grown.push(format!("{before} before, {after} after"));
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
    let (n, rounds) = (CALLS * 3, grown.join("; "));
    ensure(grown.is_empty(), || format!("each {n} calls leave something behind: {rounds}"))
}

/// Calls that end by themselves, that are ended, and that are dropped.
///
/// [`CALLS`] calls at once that exit with code 3, then as many that are cancelled, each with one
/// that is dropped.
async fn round(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let mut calls = JoinSet::new();
    for n in 0..CALLS {
        let env = ctx.env.clone();
        let spec = ctx.spec(&["cat", "exit", "3"]).stdin_bytes(format!("{n}"));
        calls.spawn(async move { env.run(spec).await });
    }
    while let Some(joined) = calls.join_next().await {
        joined.map_err(|err| Failure::new(err.to_string()))??;
    }
    for _ in 0..CALLS {
        ctx.cancelled(ctx.spec(&["say", "ready", "nap"])).await?;
        ctx.dropped(ctx.spec(&["say", "ready", "nap"])).await?;
    }
    Ok(())
}

/// What this process holds, as far as the system tells: nothing where there is no proc(5).
#[derive(Debug, Clone, Copy)]
struct Counts {
    descriptors: usize,
    threads: usize,
    children: usize,
}

impl Counts {
    fn now() -> Self {
        let entries = |dir| fs::read_dir(dir).map_or(0, Iterator::count);
        Self {
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            children: children(),
        }
    }

    /// Fewer is no leak.
    fn is_within(&self, before: &Self) -> bool {
        self.descriptors <= before.descriptors
            && self.threads <= before.threads
            && self.children <= before.children
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { descriptors, threads, children } = self;
        write!(f, "{descriptors} descriptors, {threads} threads and {children} children")
    }
}

/// Processes whose parent is this one, zombies included.
fn children() -> usize {
    let own = std::process::id().to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let is_child = |stat: &str| {
        // `pid (name) state ppid …`; the name may hold anything.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
        fields.and_then(|mut it| it.nth(1)) == Some(&own)
    };
    processes
        .flatten()
        .filter_map(|it| fs::read_to_string(it.path().join("stat")).ok())
        .filter(|stat| is_child(stat))
        .count()
}
