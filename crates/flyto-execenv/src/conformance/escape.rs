//! What becomes of descendants that want to stay, where the kill scope is the tree.
//!
//! Every case goes through all of [`STRAYS`], which between them leave the process group, the
//! session and the parent. A backend that ends groups only declares no tree kill, and is refused
//! here. Without a real process tree, as in memory, the ways differ in nothing but the group.

use super::{
    ctx::{Ctx, READY},
    failure::{Failure, ensure, equal, summary},
};
use crate::{Capability, Ending, ExecErrorKind, Exit, KillScope, Outcome, Spec};

/// The ways in which a descendant gets out of reach of a signal to the leader's group, or of one that
/// can be ignored. Each has two parts of its steps: what starts it, with the bracket that the case
/// closes, and what it does once the case knows of it.
const STRAYS: &[Stray] = &[
    Stray { about: "in a session of its own", start: &["session", "["], then: &["nap"] },
    Stray { about: "whose parent is gone", start: &["orphan", "["], then: &["nap"] },
    Stray {
        about: "in a session of its own whose parent is gone",
        start: &["escapee", "["],
        then: &["nap"],
    },
    Stray {
        about: "that is a daemon without streams",
        start: &["escapee", "[", "close-stdin"],
        then: &["close-output", "become-sleep"],
    },
    Stray {
        about: "that ignores signals",
        start: &["escapee", "[", "ignore", "TERM", "ignore", "HUP", "ignore", "INT"],
        then: &["become-sleep"],
    },
    Stray { about: "that is stopped", start: &["escapee", "["], then: &["stop", "nap"] },
    Stray { about: "with a tree of thirty", start: &["escapee", "["], then: THIRTY },
];

/// `about` follows "a descendant" in a failure.
struct Stray {
    about: &'static str,
    start: &'static [&'static str],
    then: &'static [&'static str],
}

/// Ten children, each with a child in a session of its own that has an orphan.
const THIRTY: &[&str] = &{
    const ONE: [&str; 12] =
        ["child", "[", "session", "[", "orphan", "[", "become-sleep", "]", "nap", "]", "nap", "]"];
    let mut res = ["nap"; ONE.len() * 10 + 1];
    let mut n = 0;
    while n < ONE.len() * 10 {
        res[n] = ONE[n % ONE.len()];
        n += 1;
    }
    res
};

impl Stray {
    /// A program with this descendant, which does `tell` once it is in place; then the leader does `last`.
    ///
    /// The leader and the descendant both hold the pipe `fifo`.
    fn spec(&self, ctx: &Ctx<'_>, fifo: &str, tell: &[&str], last: &[&str]) -> Spec {
        let mut steps = vec!["hold", fifo];
        steps.extend(self.start);
        steps.extend(["hold", fifo]);
        steps.extend(tell);
        steps.extend(self.then);
        steps.push("]");
        steps.extend(last);
        ctx.spec(&steps).kill(KillScope::Tree)
    }

    /// The ending is the expected one, and the backend says that nothing is left.
    fn ended(&self, outcome: &Outcome, ending: Ending) -> Result<(), Failure> {
        let about = self.about;
        equal("ending", outcome.ending, ending)?;
        ensure(outcome.confirmed, || {
            format!("the end of a descendant {about} is unconfirmed: {}", summary(outcome))
        })
    }

    /// Adds which descendant it was.
    fn explain(&self, failure: Failure) -> Failure {
        Failure::new(format!("a descendant {}: {failure}", self.about))
    }
}

/// Where no tree can be ended, a program that asks for it is refused.
async fn refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let spec = ctx.spec(&["exit", "0"]).kill(KillScope::Tree);
    ctx.refused(spec, ExecErrorKind::Unsupported).await
}

/// The leader exits by itself, once the descendant is in place and has let go of the output.
pub(super) async fn escapees_are_ended(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    for stray in STRAYS {
        let (watch, gate) = (ctx.watch().await?, ctx.mkfifo().await?);
        // No process holds the output, so that nothing but the end of the leader ends the descendant.
        let spec = stray.spec(
            ctx,
            watch.fifo(),
            &["close-output", "release", &gate],
            &["await", &gate, "exit", "0"],
        );
        let outcome = ctx.run(spec).await?;
        stray.ended(&outcome, Ending::Exited(Exit::Code(0)))?;
        watch.all_gone(ctx).await.map_err(|err| stray.explain(err))?;
        if ctx.has(Capability::LeakCount) {
            let leaked = outcome.leaked;
            ensure(leaked >= Some(1), || format!("the outcome says that {leaked:?} were left"))
                .map_err(|err| stray.explain(err))?;
        }
    }
    // One that holds the output and comes into place while it is being waited for.
    let watch = ctx.watch().await?;
    let spec = STRAYS[2].spec(ctx, watch.fifo(), &[], &["exit", "0"]);
    let outcome = ctx.run(spec).await?;
    equal("ending", outcome.ending, Ending::Exited(Exit::Code(0)))?;
    ensure(outcome.pipe_held, || format!("the held pipe is not reported: {}", summary(&outcome)))?;
    watch.all_gone(ctx).await
}

/// The leader stays, and the deadline of the call ends both.
pub(super) async fn escapees_end_by_the_deadline(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    for stray in STRAYS {
        let make = |fifo: &str| stray.spec(ctx, fifo, &["say", READY], &["nap"]);
        let (outcome, watch) = ctx.timed_out(make).await.map_err(|err| stray.explain(err))?;
        stray.ended(&outcome, Ending::TimedOut)?;
        watch.all_gone(ctx).await.map_err(|err| stray.explain(err))?;
    }
    Ok(())
}

/// The leader stays, and the call is cancelled once the descendant is in place.
pub(super) async fn escapees_end_when_cancelled(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    for stray in STRAYS {
        let watch = ctx.watch().await?;
        let spec = stray.spec(ctx, watch.fifo(), &["say", READY], &["nap"]);
        stray.ended(&ctx.cancelled(spec).await?, Ending::Cancelled)?;
        watch.all_gone(ctx).await.map_err(|err| stray.explain(err))?;
    }
    Ok(())
}

/// The leader stays, and the future of the call is dropped. There is no outcome, so the pipe alone
/// tells.
pub(super) async fn escapees_end_when_dropped(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    for stray in STRAYS {
        let watch = ctx.watch().await?;
        ctx.dropped(stray.spec(ctx, watch.fifo(), &["say", READY], &["nap"])).await?;
        watch.all_gone(ctx).await.map_err(|err| stray.explain(err))?;
    }
    Ok(())
}
