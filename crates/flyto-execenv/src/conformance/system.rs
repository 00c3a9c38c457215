//! What isolation promises that takes a system call to see. A shell makes none by itself, so perl does.

use tokio::sync::mpsc;

use super::{
    ctx::{Ctx, READY},
    end::lines_until,
    failure::{Failure, ensure, summary},
    isolation::refused,
};
use crate::{Capability, Isolation, Network, Processes, RunOptions, Spec, SystemCalls};

const SCRIPT: &str = include_str!("system.pl");

fn perl(ctx: &Ctx<'_>, args: &[&str]) -> Spec {
    let spec = Spec::new(ctx.probe.perl_path()).args(["-e", SCRIPT]).args(args);
    spec.kill(ctx.scope()).deadline(ctx.probe.guard_time())
}

/// Whether this comes off in isolation.
async fn comes_off(ctx: &Ctx<'_>, args: &[&str], isolation: Isolation) -> Result<bool, Failure> {
    let outcome = ctx.run(perl(ctx, args).isolation(isolation)).await?;
    match &*outcome.stdout.bytes() {
        b"done\n" => Ok(true),
        b"failed\n" => Ok(false),
        _ => Err(Failure::new(format!("expected a word, got {}", summary(&outcome)))),
    }
}

pub(super) async fn the_machine_around_is_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolations = [
        (Capability::NetworkOff, Network::Off),
        (Capability::NetworkHosts, Network::Hosts(Vec::new())),
    ];
    for (capability, network) in isolations {
        let isolation = Isolation::new().network(network);
        if !ctx.has(capability) {
            refused(ctx, isolation).await?;
            continue;
        }
        let is_made = comes_off(ctx, &["vsock"], isolation).await?;
        ensure(!is_made, || {
            format!("{}: a socket to the machine around was made", capability.name())
        })?;
    }
    Ok(())
}

pub(super) async fn rings_are_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().system_calls(SystemCalls::Restricted);
    if !ctx.has(Capability::SystemCallFilter) {
        return refused(ctx, isolation).await;
    }
    let is_made = comes_off(ctx, &["ring"], isolation).await?;
    ensure(!is_made, || "a ring for system calls was made".to_owned())
}

pub(super) async fn set_id_bits_are_refused(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = || Isolation::new().system_calls(SystemCalls::Restricted);
    if !ctx.has(Capability::SystemCallFilter) {
        return refused(ctx, isolation()).await;
    }
    let dir = ctx.mkdir("dir").await?;
    let is_set = comes_off(ctx, &["set-id", &dir], isolation()).await?;
    ensure(!is_set, || "a file got a set-user-ID or a set-group-ID bit".to_owned())?;
    let is_set = comes_off(ctx, &["mode", &dir], isolation()).await?;
    ensure(is_set, || "a file did not get an ordinary mode".to_owned())
}

pub(super) async fn others_are_not_traced(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().processes(Processes::Own);
    if !ctx.has(Capability::ProcessIsolation) {
        return refused(ctx, isolation).await;
    }
    let (observer, mut chunks) = mpsc::channel(16);
    let options = RunOptions::new().observer(observer);
    // It ends with this function.
    let _process = ctx.env.start(perl(ctx, &["stay"]), options).await?;
    let printed = lines_until(&mut chunks, &[READY]).await?;
    let id = String::from_utf8_lossy(&printed).lines().next().unwrap_or_default().to_owned();
    // Where each call has ids of its own, this one is nobody's here.
    let is_traced = comes_off(ctx, &["trace", &id], isolation).await?;
    ensure(!is_traced, || "the program of another call was traced".to_owned())
}

pub(super) async fn shared_objects_of_others_are_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = || Isolation::new().processes(Processes::Own);
    if !ctx.has(Capability::ProcessIsolation) {
        return refused(ctx, isolation()).await;
    }
    // The number of a process of this machine, so that suites which run beside this one take other keys.
    let key = &(0x666c_0000 | std::process::id() & 0xffff).to_string();
    let outcome = ctx.run(perl(ctx, &["share", key])).await?;
    let made = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
    let [memory, semaphore, queue] = made.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
        return Err(Failure::new(format!("expected three numbers, got {}", summary(&outcome))));
    };
    let attempts: [(&str, &[&str]); 4] = [
        ("shared memory", &["reach-memory", key, memory]),
        ("a semaphore", &["reach-semaphore", key, semaphore]),
        ("a message queue", &["reach-queue", key, queue]),
        ("a message queue with a name", &["reach-named-queue", key]),
    ];
    let mut reached = Vec::new();
    for (what, args) in attempts {
        match comes_off(ctx, args, isolation()).await {
            Ok(false) => {}
            Ok(true) => reached.push(Failure::new(format!("{what} of another call was reached"))),
            Err(failure) => reached.push(failure),
        }
    }
    // They outlive the calls and this case otherwise.
    let is_removed =
        comes_off(ctx, &["unshare", key, memory, semaphore, queue], Isolation::new()).await?;
    if let Some(failure) = reached.into_iter().next() {
        return Err(failure);
    }
    ensure(is_removed, || "shared objects of another call were changed".to_owned())
}
