//! What bounds promise.
//!
//! Where a bound ends the program, the outcome names it. A program that is refused something can also
//! notice and give up by itself; then it fails, and the outcome is its own.

use std::time::Duration;

use super::{
    ctx::{Ctx, READY, has_line},
    failure::{Failure, ensure, equal, summary},
};
use crate::{
    Capability, Ending, ExecErrorKind, Exit, KillScope, LimitKind, Limits, Outcome, Signal, Spec,
};

/// What a program prints that got more than its limit.
const GOT_IT: &str = "got it";

/// Children that use CPU time and are reaped by the kernel.
const UNWAITED: &str = include_str!("unwaited.pl");

const MIB: u64 = 1024 * 1024;

/// The bound is the backend's to keep; the deadline stands behind it, so that a program without its
/// bound does not run on.
fn bounded(ctx: &Ctx<'_>, steps: &[&str], limits: Limits) -> Spec {
    ctx.spec(steps).limits(limits).deadline(ctx.patience())
}

/// Expects that the limit ended the program, or that the program failed for want of more.
fn limited(outcome: &Outcome, kind: LimitKind) -> Result<(), Failure> {
    let is_by_limit = match outcome.ending {
        Ending::LimitReached(reached) => reached == kind,
        Ending::Exited(Exit::Code(code)) => code != 0,
        // A shell that has no room for a text may crash.
        Ending::Exited(Exit::Signal(signal)) => kind == LimitKind::Memory && signal != Signal::KILL,
        _ => false,
    };
    ensure(is_by_limit, || {
        format!("expected LimitReached({kind:?}) or a failure, got {}", summary(outcome))
    })
}

/// One second, used up by the leader, by a child, and by children that no process waits for
/// (SIGCHLD ignored, wait(2)). The last two only where children are ended with the leader.
pub(super) async fn cpu_time_is_limited(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let limits = || Limits::new().cpu_time(Duration::from_secs(1));
    if !ctx.has(Capability::CpuLimit) {
        let spec = ctx.spec(&["exit", "0"]).limits(limits());
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    // Time that a child uses counts as well.
    let by_leader = &["say", READY, "burn", "1000000000"][..];
    let by_child = &["say", READY, "child", "[", "burn", "1000000000", "]", "nap"];
    // So does the time of children that no process waits for.
    let by_unwaited = &["become", ctx.probe.perl_path(), "-e", UNWAITED, "20", READY];
    let all = [by_leader, by_child, by_unwaited];
    let n_cases = if ctx.ends_children() { all.len() } else { 1 };
    for steps in &all[..n_cases] {
        let watch = ctx.watch().await?;
        let steps = [&["hold", watch.fifo()], *steps].concat();
        let outcome = ctx.run(bounded(ctx, &steps, limits())).await?;
        equal("ending", outcome.ending, Ending::LimitReached(LimitKind::CpuTime))?;
        ensure(has_line(&outcome.stdout.bytes(), READY), || "the output is lost".to_owned())?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

/// A bound of 32 MiB for a shell that asks for 64 MiB and keeps what it gets.
pub(super) async fn memory_is_limited(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // Room for a shell, and far less than it asks for.
    let limits = Limits::new().memory_bytes(32 * MIB);
    if !ctx.has(Capability::MemoryLimit) {
        let spec = ctx.spec(&["exit", "0"]).limits(limits);
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let watch = ctx.watch().await?;
    // What it got it keeps, so that a bound that is looked at from time to time is seen to be passed.
    let steps = ["hold", watch.fifo(), "say", READY, "grow", "64", "say", GOT_IT, "nap"];
    let outcome = ctx.run(bounded(ctx, &steps, limits)).await?;
    limited(&outcome, LimitKind::Memory)?;
    let stdout = outcome.stdout.bytes();
    ensure(has_line(&stdout, READY), || format!("it did not get to work: {}", summary(&outcome)))?;
    watch.all_gone(ctx).await
}

/// A file of just the limit is written, and no file is larger afterwards.
pub(super) async fn file_size_is_limited(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (limit, n_blocks) = (MIB / 2, 16);
    let limits = || Limits::new().file_size_bytes(limit);
    if !ctx.has(Capability::FileSizeLimit) {
        let spec = ctx.spec(&["exit", "0"]).limits(limits());
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let (small, big) = (ctx.path("file").await?, ctx.path("file").await?);
    // As much as the limit allows is written; a pipe is no file.
    let steps = ["fill", "16", "write-file", &small, "8"];
    let outcome = ctx.run(bounded(ctx, &steps, limits())).await?;
    ensure(outcome.success(), || summary(&outcome))?;

    let outcome =
        ctx.run(bounded(ctx, &["write-file", &big, &n_blocks.to_string()], limits())).await?;
    limited(&outcome, LimitKind::FileSize)?;
    for (file, at_most) in [(small, limit), (big, limit)] {
        let written = ctx.output_of(ctx.spec(&["show", &file])).await?.len() as u64;
        ensure(written <= at_most, || format!("a file has {written} bytes, at most {at_most}"))?;
    }
    Ok(())
}

/// 40 files with room for all, then with a limit of 24: some are opened, and fewer than 24.
pub(super) async fn open_files_are_limited(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let (limit, tried) = (24, 40);
    let limits = |n| Limits::new().open_files(n);
    if !ctx.has(Capability::OpenFilesLimit) {
        let spec = ctx.spec(&["exit", "0"]).limits(limits(limit));
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    // It prints a line for each file that it opens beyond its streams.
    let tried_text = tried.to_string();
    let steps = ["open-files", &tried_text, "say", GOT_IT];
    let n_opened = |outcome: &Outcome| {
        String::from_utf8_lossy(&outcome.stdout.bytes())
            .lines()
            .filter(|it| *it == "opened")
            .count()
    };
    let outcome = ctx.run(bounded(ctx, &steps, limits(tried * 4))).await?;
    ensure(outcome.success(), || format!("with room for all: {}", summary(&outcome)))?;
    equal("files opened with room for all", n_opened(&outcome) as u64, tried)?;

    let outcome = ctx.run(bounded(ctx, &steps, limits(limit))).await?;
    limited(&outcome, LimitKind::OpenFiles)?;
    let n_opened = n_opened(&outcome) as u64;
    ensure(0 < n_opened && n_opened < limit, || {
        format!("{n_opened} files were opened with a limit of {limit}: {}", summary(&outcome))
    })
}

/// 128 processes with a limit of 16 must not all be there.
pub(super) async fn processes_are_limited(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // A bound that counts all processes of the user is wider for a moment when others of them end;
    // the distance is for that.
    let (limit, tried) = (16, 128);
    let limits = Limits::new().processes(limit);
    if !ctx.has(Capability::ProcessLimit) {
        let spec = ctx.spec(&["exit", "0"]).limits(limits);
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let watch = ctx.watch().await?;
    let tried_text = tried.to_string();
    let steps = ["hold", watch.fifo(), "say", READY, "crowd", &tried_text, "say", GOT_IT];
    // A shell may try a start again for some time before it gives up.
    let spec = ctx.spec(&steps).limits(limits).deadline(ctx.probe.guard_time() / 4 * 3);
    let outcome = ctx.run(spec).await?;
    limited(&outcome, LimitKind::Processes)?;
    let stdout = outcome.stdout.bytes();
    let (was_ready, got_it) = (has_line(&stdout, READY), has_line(&stdout, GOT_IT));
    ensure(was_ready && !got_it, || {
        format!("{tried} processes with a limit of {limit}: {}", summary(&outcome))
    })?;
    if ctx.ends_children() { watch.all_gone(ctx).await } else { watch.tidy(ctx).await }
}

/// Never more than 32 processes, and 128 if a backend that declares a limit keeps none: the bomb doubles
/// six times, and then each of its ends has one child at a time, for a number of generations.
///
/// Once the call is dropped, once it runs to its deadline or its limit. The bomb leaves the session
/// first.
pub(super) async fn fork_bomb_is_ended(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let bomb = |fifo: &str| {
        let steps = ["hold", fifo, "escapee", "[", "hold", fifo, "bomb", "6", "200", "]"];
        let last = ["say", READY, "become-sleep"];
        let limits = Limits::new().processes(32);
        ctx.spec(&[&steps[..], &last].concat()).limits(limits).kill(KillScope::Tree)
    };
    if !(ctx.has(Capability::ProcessLimit) && ctx.has(Capability::TreeKill)) {
        return ctx.refused(bomb("/dev/null"), ExecErrorKind::Unsupported).await;
    }
    let watch = ctx.watch().await?;
    ctx.dropped(bomb(watch.fifo())).await?;
    watch.all_gone(ctx).await?;

    let watch = ctx.watch().await?;
    let outcome = ctx.run(bomb(watch.fifo()).deadline(Duration::from_millis(500))).await?;
    ensure(
        matches!(outcome.ending, Ending::TimedOut | Ending::LimitReached(LimitKind::Processes)),
        || format!("expected the limit or the deadline, got {}", summary(&outcome)),
    )?;
    ensure(outcome.confirmed, || format!("unconfirmed: {}", summary(&outcome)))?;
    watch.all_gone(ctx).await
}
