//! What becomes of a call whose program turns against what watches over it.
//!
//! What that is only a backend knows; as often as not it is the program's parent.

use super::{
    ctx::{Ctx, READY},
    failure::{Failure, ensure, equal, summary},
};
use crate::{Capability, Ending, ExecErrorKind, Exit, Isolation, KillScope, Outcome, Processes};

/// The code with which a program ends by itself.
const OWN_CODE: i32 = 7;

/// The isolation that a program of this kind may have: none, and where declared, that it can reach its
/// own processes only.
///
/// Both are tried, since only the second promises that the parent is out of reach.
fn isolations(ctx: &Ctx<'_>) -> impl Iterator<Item = Isolation> + use<> {
    let own = Isolation::new().processes(Processes::Own);
    let own = ctx.has(Capability::ProcessIsolation).then_some(own);
    [Isolation::new()].into_iter().chain(own)
}

async fn refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let spec = ctx.spec(&["exit", "0"]).kill(KillScope::Tree);
    ctx.refused(spec, ExecErrorKind::Unsupported).await
}

pub(super) async fn killed_watchers_are_missed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    for isolation in isolations(ctx) {
        let (watch, gate) = (ctx.watch().await?, ctx.mkfifo().await?);
        let is_isolated = !isolation.is_none();
        let host = std::process::id().to_string();
        let code = OWN_CODE.to_string();
        let steps = ["hold", watch.fifo(), "child", "[", "hold", watch.fifo(), "close-output"];
        let then = ["release", &gate, "nap", "]", "await", &gate, "strike", "KILL", &host];
        let spec = ctx.spec(&[&steps[..], &then, &["exit", &code]].concat());
        let spec = spec.kill(KillScope::Tree).isolation(isolation);
        match ctx.env.run(spec.deadline(ctx.probe.guard_time())).await {
            // What there is to end is not known any more.
            Err(err) if err.kind() == ExecErrorKind::Lost && !is_isolated => {
                watch.tidy(ctx).await?;
            }
            Err(err) => return Err(err.into()),
            // The parent stands it, or is no process that can be struck.
            Ok(outcome) => {
                ended(&outcome, Ending::Exited(Exit::Code(OWN_CODE)))?;
                watch.all_gone(ctx).await?;
            }
        }
    }
    Ok(())
}

pub(super) async fn stopped_watchers_go_on(ctx: &Ctx<'_>) -> Result<(), Failure> {
    if !ctx.has(Capability::TreeKill) {
        return refused(ctx).await;
    }
    let host = std::process::id().to_string();
    for isolation in isolations(ctx) {
        let spec = |fifo: &str, last: &[&str]| {
            let steps = ["hold", fifo, "child", "[", "close-output", "nap", "]", "strike", "STOP"];
            let steps = [&steps[..], &[&host], last].concat();
            ctx.spec(&steps).kill(KillScope::Tree).isolation(isolation.clone())
        };
        let (outcome, watch) = ctx.timed_out(|fifo| spec(fifo, &["say", READY, "nap"])).await?;
        ended(&outcome, Ending::TimedOut)?;
        watch.all_gone(ctx).await?;

        let watch = ctx.watch().await?;
        let outcome = ctx.run(spec(watch.fifo(), &["exit", &OWN_CODE.to_string()])).await?;
        ended(&outcome, Ending::Exited(Exit::Code(OWN_CODE)))?;
        watch.all_gone(ctx).await?;
    }
    Ok(())
}

fn ended(outcome: &Outcome, ending: Ending) -> Result<(), Failure> {
    equal("ending", outcome.ending, ending)?;
    ensure(outcome.confirmed, || format!("unconfirmed: {}", summary(outcome)))
}
