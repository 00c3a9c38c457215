//! What isolation promises that takes a system call to see. A shell makes none by itself, so perl does.
//!
//! Each attempt is one run of a Perl script that prints `done` or `failed`.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::mpsc;

use super::{
    ctx::{Ctx, READY},
    end::lines_until,
    failure::{Failure, ensure, summary},
    isolation::refused,
};
use crate::{
    Capability, Isolation, Network, Processes, RunOptions, SharedMemory, Spec, SystemCalls,
};

const SCRIPT: &str = include_str!("system.pl");

/// The script with these arguments.
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

/// A program in a virtual machine must not reach the machine around it by vsock(7), with no network
/// and with named hosts.
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

/// io_uring(7) makes calls that no filter sees.
pub(super) async fn rings_are_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().system_calls(SystemCalls::Restricted);
    if !ctx.has(Capability::SystemCallFilter) {
        return refused(ctx, isolation).await;
    }
    let is_made = comes_off(ctx, &["ring"], isolation).await?;
    ensure(!is_made, || "a ring for system calls was made".to_owned())
}

/// A file that others can run as this user would outlive the isolation. An ordinary mode must still
/// be given.
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

/// ptrace(2) of a program of another call.
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
    // Where each call has ids of its own, this one is not in use here.
    let is_traced = comes_off(ctx, &["trace", &id], isolation).await?;
    ensure(!is_traced, || "the program of another call was traced".to_owned())
}

/// A key for objects that all processes share. It has the number of this process and of the case, so that suites which
/// run beside this one take others.
fn key() -> String {
    static N_KEYS: AtomicU32 = AtomicU32::new(0);
    let n = N_KEYS.fetch_add(1, Ordering::Relaxed);
    (0x6600_0000 | (std::process::id() & 0xffff) << 8 | n & 0xff).to_string()
}

/// System V memory, semaphores and queues, and a POSIX queue, made by a call without isolation.
/// They are removed afterwards, which also shows that they were not changed.
pub(super) async fn shared_objects_of_others_are_closed(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = || Isolation::new().processes(Processes::Own);
    if !ctx.has(Capability::ProcessIsolation) {
        return refused(ctx, isolation()).await;
    }
    let key = &key();
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

/// A name below `/dev/shm` that another call made is not found, and one that an isolated call made
/// is not found by the next.
pub(super) async fn shared_memory_is_ones_own(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = || Isolation::new().shared_memory(SharedMemory::Own);
    if !ctx.has(Capability::OwnSharedMemory) {
        return refused(ctx, isolation()).await;
    }
    let key = &key();
    // Where the system has none, there is none to be found.
    let is_there = comes_off(ctx, &["share-file", key], Isolation::new()).await?;
    let inside = async {
        let is_found = comes_off(ctx, &["find-file", key], isolation()).await?;
        ensure(!is_found, || "shared memory of another call was found".to_owned())?;
        // A backend may have none.
        comes_off(ctx, &["share-file", key], isolation()).await?;
        let is_left = comes_off(ctx, &["find-file", key], isolation()).await?;
        ensure(!is_left, || "shared memory of an earlier call was found".to_owned())
    };
    let inside = inside.await;
    let is_removed = comes_off(ctx, &["unshare-file", key], Isolation::new()).await?;
    inside?;
    ensure(is_removed == is_there, || "shared memory of another call was changed".to_owned())
}
