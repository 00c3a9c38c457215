//! What the numbers of an outcome promise.

use std::time::Duration;

use super::{
    ctx::{Ctx, READY},
    failure::{Failure, ensure, equal, summary},
};
use crate::{Capability, KillScope, Outcome};

/// Rounds of a shell's loop: CPU time far above that of a shell's start, about 50 ms.
const ROUNDS: &str = "50000";

/// A Perl program that ignores SIGCHLD, so that the kernel reaps its children and hands their times
/// to no process.
const UNWAITED: &str = include_str!("unwaited.pl");

/// Declared numbers are above zero, others are `None`.
pub(super) async fn usage_is_reported(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let outcome = ctx.run(ctx.spec(&["burn", "20000"])).await?;
    ensure(outcome.success(), || summary(&outcome))?;
    let (usage, cpu) = (&outcome.usage, outcome.usage.cpu());
    match ctx.has(Capability::CpuUsage) {
        true => ensure(cpu > Some(Duration::ZERO), || format!("CPU time: {cpu:?}"))?,
        false => equal("CPU time", cpu, None)?,
    }
    let peak = usage.peak_memory.bytes();
    match ctx.has(Capability::PeakMemory) {
        true => ensure(peak > Some(0), || format!("peak memory: {peak:?}")),
        false => equal("peak memory", peak, None),
    }
}

/// The same loop in the leader gives the measure: an orphan's time must be at least half of it
/// where the outcome says that the tree is covered.
pub(super) async fn usage_covers_the_tree(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let by_leader = ctx.run(ctx.spec(&["burn", ROUNDS])).await?;
    ensure(by_leader.success(), || summary(&by_leader))?;
    for scope in ctx.scopes() {
        let outcome = burnt_by_an_orphan(ctx, scope).await?;
        let covers_tree = outcome.usage.covers_tree;
        match ctx.has(Capability::TreeCpuUsage) {
            true if scope == KillScope::Tree => ensure(covers_tree, || {
                "CPU time of the tree is declared, and the outcome says that it is not covered"
                    .into()
            })?,
            true => {}
            false => equal("usage covers the tree", covers_tree, false)?,
        }
        if covers_tree {
            // The same loop, whose time differs by more than two on a machine that others use as well; a quarter is far from
            // nothing all the same.
            let (all, least) = (outcome.usage.cpu(), by_leader.usage.cpu().map(|it| it / 4));
            ensure(all.is_some() && all >= least, || {
                format!(
                    "an orphan burnt some four times {least:?}, and the outcome says {all:?} in all"
                )
            })?;
            let (outcome, half) = (burnt_unwaited(ctx, scope).await?, Duration::from_millis(150));
            let all = outcome.usage.cpu();
            ensure(!outcome.usage.covers_tree || all >= Some(half), || {
                format!(
                    "a child that no process waited for burnt twice {half:?}, and the outcome says {all:?}"
                )
            })?;
        }
    }
    Ok(())
}

/// Nearly all of its CPU time, 300 ms, is that of a process that the kernel reaps.
async fn burnt_unwaited(ctx: &Ctx<'_>, scope: KillScope) -> Result<Outcome, Failure> {
    let steps = ["become", ctx.probe.perl_path(), "-e", UNWAITED, "1", READY];
    let outcome = ctx.run(ctx.spec(&steps).kill(scope)).await?;
    ensure(outcome.success(), || summary(&outcome))?;
    Ok(outcome)
}

/// Nearly all of its CPU time is that of a process that lost its parent and left the session.
async fn burnt_by_an_orphan(ctx: &Ctx<'_>, scope: KillScope) -> Result<Outcome, Failure> {
    let gate = ctx.mkfifo().await?;
    let orphan = if scope == KillScope::Tree { "escapee" } else { "orphan" };
    let steps = [orphan, "[", "burn", ROUNDS, "release", &gate, "]", "await", &gate];
    let outcome = ctx.run(ctx.spec(&steps).kill(scope)).await?;
    ensure(outcome.success(), || summary(&outcome))?;
    Ok(outcome)
}
