//! What an end promises.
//!
//! A descendant is seen by a named pipe that it holds open for writing
//! ([`Watch`](super::ctx::Watch)): the call that reads the pipe ends when no process holds it any
//! more. So no case depends on process numbers, which a backend may have of its own.

use std::time::Duration;

use tokio::sync::mpsc;

use super::{
    ctx::{Ctx, READY, has_line},
    failure::{Failure, ensure, equal, summary},
};
use crate::{
    Capability, Chunk, Ending, ExecErrorKind, Exit, KillScope, Outcome, RunOptions, Signal, Spec,
    Target,
};

/// A grace that is never used up: the end comes by an event, and the guard is shorter.
const AMPLE_GRACE: Duration = Duration::from_secs(600);

/// A grace that a program which ignores the request uses up.
const SHORT_GRACE: Duration = Duration::from_millis(200);

/// The leader exits with code 7 and leaves a child that holds its stdout. The code and the output
/// arrive, the outcome says that the pipe was held, and the child is ended where the scope covers
/// it.
pub(super) async fn exited_then_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let watch = ctx.watch().await?;
    let steps =
        ["hold", watch.fifo(), "child", "[", "become-sleep", "]", "say", "kept", "exit", "7"];
    let outcome = ctx.run(ctx.spec(&steps)).await?;
    equal("ending", outcome.ending, Ending::Exited(Exit::Code(7)))?;
    equal("stdout", &*outcome.stdout.bytes(), b"kept\n")?;
    ensure(outcome.pipe_held, || format!("the held pipe is not reported: {}", summary(&outcome)))?;
    if ctx.ends_children() { watch.all_gone(ctx).await } else { watch.tidy(ctx).await }
}

/// As before, with a child that prints a line each second: each new line must not start the drain
/// time again.
pub(super) async fn chatty_leaker_is_cut_off(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let watch = ctx.watch().await?;
    let steps = ["hold", watch.fifo(), "child", "[", "chatter", "]", "say", "kept"];
    let outcome = ctx.run(ctx.spec(&steps)).await?;
    equal("ending", outcome.ending, Ending::Exited(Exit::Code(0)))?;
    ensure(has_line(&outcome.stdout.bytes(), "kept"), || summary(&outcome))?;
    ensure(outcome.pipe_held, || format!("the held pipe is not reported: {}", summary(&outcome)))?;
    if ctx.ends_children() { watch.all_gone(ctx).await } else { watch.tidy(ctx).await }
}

/// With no child, one, and three, all with their output closed: the count is exact where it is
/// declared, and `None` elsewhere.
pub(super) async fn leaked_are_ended(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for n_leaked in [0, 1, 3] {
        let watch = ctx.watch().await?;
        let mut steps = vec!["hold", watch.fifo()];
        for _ in 0..n_leaked {
            steps.extend(["child", "[", "close-output", "become-sleep", "]"]);
        }
        steps.extend(["close-output", "exit", "0"]);
        let outcome = ctx.run(ctx.spec(&steps)).await?;
        equal("ending", outcome.ending, Ending::Exited(Exit::Code(0)))?;
        ensure(!outcome.pipe_held, || format!("no pipe is held: {}", summary(&outcome)))?;
        let counted = ctx.has(Capability::LeakCount).then_some(n_leaked);
        equal("descendants that outlived the leader", outcome.leaked, counted)?;
        if !ctx.ends_children() {
            watch.tidy(ctx).await?;
            continue;
        }
        ensure(outcome.confirmed, || format!("unconfirmed: {}", summary(&outcome)))?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

/// A program that is `ready` with children that would rather stay, as far as they are in the scope.
///
/// With one child that ignores SIGTERM, and one with a child of its own.
fn family(ctx: &Ctx<'_>, fifo: &str, scope: KillScope) -> Spec {
    let mut steps = vec!["hold", fifo];
    if scope != KillScope::Leader {
        let child = ["child", "[", "ignore", "TERM", "nap", "]"];
        let with_a_grandchild =
            ["child", "[", "child", "[", "become-sleep", "]", "close-output", "nap", "]"];
        steps.extend(child);
        steps.extend(with_a_grandchild);
    }
    steps.extend(["say", "so far", "say", READY, "nap"]);
    ctx.spec(&steps).kill(scope)
}

/// What was printed until the end is kept, and the end is confirmed.
fn ended_with_output(outcome: &Outcome, ending: Ending) -> Result<(), Failure> {
    equal("ending", outcome.ending, ending)?;
    equal("stdout", &*outcome.stdout.bytes(), b"so far\nready\n")?;
    ensure(outcome.confirmed, || format!("unconfirmed: {}", summary(outcome)))
}

/// For each kill scope that is declared.
pub(super) async fn deadline_ends_the_tree(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for scope in ctx.scopes() {
        let (outcome, watch) = ctx.timed_out(|fifo| family(ctx, fifo, scope)).await?;
        ended_with_output(&outcome, Ending::TimedOut)?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

/// A driver that first writes all of the input would never look at its clock.
pub(super) async fn deadline_covers_stdin(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // More than any pipe holds, for a program that reads none of it.
    let input = bytes::Bytes::from(vec![b'x'; 4 * 1024 * 1024]);
    let (outcome, watch) = ctx
        .timed_out(|fifo| {
            let steps = ["hold", fifo, "say", READY, "nap"];
            ctx.spec(&steps).stdin_bytes(input.clone())
        })
        .await?;
    equal("ending", outcome.ending, Ending::TimedOut)?;
    watch.all_gone(ctx).await
}

/// For each kill scope that is declared.
pub(super) async fn cancel_ends_the_tree(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for scope in ctx.scopes() {
        let watch = ctx.watch().await?;
        let outcome = ctx.cancelled(family(ctx, watch.fifo(), scope)).await?;
        ended_with_output(&outcome, Ending::Cancelled)?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

/// The program exits with code 3 on SIGTERM and says `bye` before; the second time it is stopped
/// when it is asked. The grace is longer than the guard, so a backend that waits for all of it
/// fails.
pub(super) async fn grace_asks_first(ctx: &Ctx<'_>) -> Result<(), Failure> {
    // A stopped program hears the request as well.
    for last in [&["nap"][..], &["stop", "nap"]] {
        let watch = ctx.watch().await?;
        let mut steps = vec!["hold", watch.fifo(), "on", "TERM", "bye", "3", "say", READY];
        steps.extend(last);
        let spec = ctx.spec(&steps).grace(AMPLE_GRACE);
        if !ctx.has(Capability::Grace) {
            watch.stop().await;
            return ctx.refused(spec, ExecErrorKind::Unsupported).await;
        }
        let outcome = ctx.cancelled(spec).await?;
        equal("ending", outcome.ending, Ending::Cancelled)?;
        equal("exit", outcome.exit, Some(Exit::Code(3)))?;
        equal("stdout", &*outcome.stdout.bytes(), b"ready\nbye\n")?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

/// Leader and child ignore SIGTERM, and the grace is [`SHORT_GRACE`].
pub(super) async fn grace_is_bounded(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let watch = ctx.watch().await?;
    let mut steps = vec!["hold", watch.fifo(), "ignore", "TERM"];
    if ctx.ends_children() {
        steps.extend(["child", "[", "nap", "]"]);
    }
    steps.extend(["say", READY, "nap"]);
    let spec = ctx.spec(&steps).grace(SHORT_GRACE);
    if !ctx.has(Capability::Grace) {
        watch.stop().await;
        return ctx.refused(spec, ExecErrorKind::Unsupported).await;
    }
    let outcome = ctx.cancelled(spec).await?;
    equal("ending", outcome.ending, Ending::Cancelled)?;
    watch.all_gone(ctx).await
}

/// A program that would print on SIGTERM and exit with code 3 must not get to it.
pub(super) async fn no_grace_kills_at_once(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let steps = ["on", "TERM", "asked", "3", "say", READY, "nap"];
    let outcome = ctx.cancelled(ctx.spec(&steps)).await?;
    equal("ending", outcome.ending, Ending::Cancelled)?;
    equal("stdout", &*outcome.stdout.bytes(), b"ready\n")
}

/// The program stops itself, and only SIGKILL ends it then.
pub(super) async fn stopped_is_ended(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let stopped = |fifo: &str| ctx.spec(&["hold", fifo, "say", READY, "stop", "nap"]);
    let (outcome, watch) = ctx.timed_out(stopped).await?;
    equal("ending", outcome.ending, Ending::TimedOut)?;
    watch.all_gone(ctx).await
}

/// For each kill scope that is declared, the future of a call; then the handle of a started
/// program.
pub(super) async fn dropped_is_ended(ctx: &Ctx<'_>) -> Result<(), Failure> {
    for scope in ctx.scopes() {
        let watch = ctx.watch().await?;
        ctx.dropped(family(ctx, watch.fifo(), scope)).await?;
        watch.all_gone(ctx).await?;
    }
    // The handle of a started program, too.
    let watch = ctx.watch().await?;
    let (observer, mut chunks) = mpsc::channel(16);
    let options = RunOptions::new().observer(observer);
    let process = ctx.env.start(family(ctx, watch.fifo(), ctx.scope()), options).await?;
    lines_until(&mut chunks, &[READY]).await?;
    drop(process);
    watch.all_gone(ctx).await
}

/// Waits until each of `lines` has been printed, and gives what was printed until then.
///
/// # Errors
///
/// The output ended before.
pub(super) async fn lines_until(
    chunks: &mut mpsc::Receiver<Chunk>,
    lines: &[&str],
) -> Result<Vec<u8>, Failure> {
    let mut seen = Vec::new();
    while !lines.iter().all(|it| has_line(&seen, it)) {
        let Some(chunk) = chunks.recv().await else {
            let seen = String::from_utf8_lossy(&seen).into_owned();
            return Err(Failure::new(format!("waited for {lines:?}, and it printed {seen:?}")));
        };
        seen.extend_from_slice(&chunk.bytes);
    }
    Ok(seen)
}

/// A signal whose number is the same on all systems (POSIX, kill(1)), and that no program is started to ignore: `nohup` has
/// SIGHUP ignored, a shell SIGINT and SIGQUIT in what it starts in the background, and what is ignored is inherited.
const ALRM: Signal = Signal(14);

/// Leader and child print a line for each SIGALRM. One that is sent to the tree reaches both, one to
/// the leader that alone. Where signals are not declared, the handle refuses to send one.
pub(super) async fn signals_reach_the_tree(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let mut steps = vec!["on", "ALRM", "leader heard", "-"];
    if ctx.ends_children() {
        steps.extend(["child", "[", "on", "ALRM", "child heard", "-", "say", "child", "nap", "]"]);
    }
    steps.extend(["say", "leader", "nap"]);
    let (observer, mut chunks) = mpsc::channel(16);
    let options = RunOptions::new().observer(observer);
    let process = ctx.env.start(ctx.spec(&steps), options).await?;
    if !ctx.has(Capability::Signals) {
        return match process.signal(ALRM, Target::Tree) {
            Ok(()) => Err(Failure::new("signals are not declared, and one was sent")),
            Err(err) => equal("the refusal", err.kind(), ExecErrorKind::Unsupported),
        };
    }
    let both: &[&str] = if ctx.ends_children() { &["leader", "child"] } else { &["leader"] };
    lines_until(&mut chunks, both).await?;
    process.signal(ALRM, Target::Tree)?;
    let heard: &[&str] =
        if ctx.ends_children() { &["leader heard", "child heard"] } else { &["leader heard"] };
    lines_until(&mut chunks, heard).await?;

    process.signal(ALRM, Target::Leader)?;
    lines_until(&mut chunks, &["leader heard"]).await?;
    process.signal(Signal::KILL, Target::Tree)?;
    let outcome = process.wait().await?;
    ensure(matches!(outcome.ending, Ending::Exited(_)), || summary(&outcome))?;
    let n_heard = |line: &str| {
        let output = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
        output.lines().filter(|it| *it == line).count()
    };
    equal("signals that the leader heard", n_heard("leader heard"), 2)?;
    equal("signals that the child heard", n_heard("child heard"), usize::from(ctx.ends_children()))
}
