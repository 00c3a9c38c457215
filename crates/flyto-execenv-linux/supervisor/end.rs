//! Terminating the whole tree of a program, and knowing that it is gone.
//!
//! A process that loses its parent becomes a child of the supervisor, so the end is reached when there is no child
//! left. Children are killed first and waited for only when all of them are dead: a process that has
//! ended and was not waited for still counts against the limit of processes, so that a program that
//! makes new ones as fast as they are killed runs into its limit and stops. Every tree has such a limit.

use core::mem::ManuallyDrop;

use crate::{
    bare::sys::{Errno, errno},
    exit,
    process::{
        Descriptor, O_RDONLY, Polled, SIGKILL, Used, Wait, has_ended, now_ns, poll, reap, signal,
        signal_pgrp, sleep_ns, watch,
    },
    setup::SupervisorContext,
    tree::signal_descendants,
};

/// How long the end is waited for before it is reported as not confirmed: 5 s. `SIGKILL` ends a process
/// in microseconds unless it sleeps uninterruptibly in the kernel.
const CONFIRM_NS: u64 = 5_000_000_000;

/// How long a supervisor without a host ends what it can find, before it has its cgroup killed and itself in
/// it: 500 ms.
const LAST_SWEEP_NS: u64 = 500_000_000;

/// How a tree ended.
pub(crate) struct Swept {
    /// How the program itself ended, if it was waited for here.
    pub(crate) leader: Option<u32>,
    /// Processes that were killed, without the program itself.
    pub(crate) killed: u32,
    /// Whether no child is left.
    pub(crate) confirmed: bool,
    /// Whether the programs' cgroup was killed: what is started in it later would be killed as well.
    pub(crate) cgroup_is_spent: bool,
}

/// Kills all children and their descendants, and waits for them.
pub(crate) fn sweep(context: &SupervisorContext, leader: i32, used: &mut Used) -> Swept {
    sweep_for(CONFIRM_NS, context, leader, used)
}

fn sweep_for(at_most_ns: u64, context: &SupervisorContext, leader: i32, used: &mut Used) -> Swept {
    let give_up = now_ns() + at_most_ns;
    let mut res = Swept { leader: None, killed: 0, confirmed: false, cgroup_is_spent: false };
    if context.is_namespace() {
        // To the first process of a namespace, -1 is everything else in it; no fork gets by.
        signal(-1, SIGKILL);
    } else {
        res.cgroup_is_spent = kill_cgroup(context);
        kill_children(context, give_up);
    }
    let mut pause_ns = 20_000;
    loop {
        match reap(-1, used) {
            Wait::None => {
                res.confirmed = true;
                return res;
            }
            Wait::Reaped(reaped) if reaped.pid == leader => res.leader = Some(reaped.status),
            Wait::Reaped(reaped) => res.killed += u32::from(reaped.was_killed()),
            Wait::Alive if now_ns() > give_up => return res,
            Wait::Alive => {
                sleep_ns(pause_ns);
                pause_ns = (pause_ns * 2).min(10_000_000);
                if !context.is_namespace() {
                    kill_children(context, give_up);
                }
            }
        }
    }
}

/// Kills and waits until nothing is left, however long that takes.
pub(crate) fn sweep_for_good(context: &SupervisorContext) {
    while !sweep(context, 0, &mut Used::default()).confirmed {}
}

/// Ends everything, and then this process.
pub(crate) fn end_all(context: &SupervisorContext) -> ! {
    if context.is_in_cgroup() && !sweep_for(LAST_SWEEP_NS, context, 0, &mut Used::default()).confirmed {
        // Those are gone that had left the cgroup. What is left is not ours to signal, or comes too fast.
        write_kill(context);
    }
    sweep_for_good(context);
    exit(0)
}

/// Kills the programs' cgroup, where that is how programs are killed and we are not in it.
fn kill_cgroup(context: &SupervisorContext) -> bool {
    !context.is_in_cgroup() && write_kill(context)
}

fn write_kill(context: &SupervisorContext) -> bool {
    let Some(fd) = context.cgroup_kill else { return false };
    // SAFETY: the context keeps the descriptor open, and the copy is not dropped.
    let file = ManuallyDrop::new(unsafe { Descriptor::new(fd) });
    file.write(b"1").is_ok()
}

/// How many rounds in a row may find the same children alive: 3, each after a wait of up to 10 ms.
const MAX_SAME_ROUNDS: u32 = 3;

/// Kills children until all of them are dead, and reaps none. Dead children keep their numbers, so that no
/// process outside the tree is hit.
///
/// When every child of one list is dead, its orphans have become children of the supervisor. So a second list
/// that is no longer than the first shows that no descendant is alive.
///
/// It returns early where killing changes nothing: the first process of a nested PID namespace ends only after
/// every process of that namespace was reaped, and some of those may be dead children of the supervisor
/// (pid_namespaces(7)). The caller reaps, and comes back.
fn kill_children(context: &SupervisorContext, give_up: u64) {
    if !for_each_child(context, kill) {
        return;
    }
    let mut round = 0;
    let (mut before, mut n_same) = (Alive::default(), 0);
    while now_ns() < give_up {
        let (mut n_before, mut n_after, mut alive) = (0, 0, Alive::default());
        for_each_child(context, |pid| {
            n_before += 1;
            if !has_ended(pid) {
                kill(pid);
                alive.add(pid);
            }
        });
        match alive.last {
            0 => {
                for_each_child(context, |_| n_after += 1);
                if n_after == n_before {
                    return;
                }
            }
            pid => {
                n_same = if alive == before { n_same + 1 } else { 0 };
                if n_same == MAX_SAME_ROUNDS {
                    return;
                }
                // A tree of busy processes would take as many rounds as it is deep, each of them as long
                // as its slowest process needs to get a CPU to die on.
                if round > 0 {
                    signal_descendants(context, SIGKILL);
                }
                wait_a_moment(pid);
            }
        }
        before = alive;
        round += 1;
    }
}

/// The children that one round found alive: enough of them to tell whether the next round finds others.
#[derive(Default, PartialEq, Eq)]
struct Alive {
    n: u32,
    sum: u64,
    /// The one that was found last; 0 where there is none.
    last: i32,
}

impl Alive {
    fn add(&mut self, pid: i32) {
        self.n += 1;
        self.sum += u64::from(pid.unsigned_abs());
        self.last = pid;
    }
}

/// Kills a child, and its process group.
fn kill(pid: i32) {
    signal_pgrp(pid, SIGKILL);
    signal(pid, SIGKILL);
}

/// Gives a child that was just killed 10 ms to end: one that has not ended by then is waited for no
/// more than others are.
fn wait_a_moment(pid: i32) {
    if let Ok(end) = watch(pid) {
        poll(&mut [Polled::readable(end.fd())], Some(10_000_000));
    }
}

/// Calls `each` with the number of every child, dead ones included; says whether they could be listed.
///
/// The list of the kernel (`children`, proc_pid_task(5)) can miss entries while others leave it. Here
/// none leave: no child is waited for meanwhile.
pub(crate) fn for_each_child(context: &SupervisorContext, mut each: impl FnMut(i32)) -> bool {
    if let Some(file) = &context.children {
        return numbers(file, &mut each);
    }
    match children() {
        Ok(file) => numbers(&file, &mut each),
        Err(_) => false,
    }
}

/// The list of the calling process's children. It can be read again without another descriptor.
pub(crate) fn children() -> Result<Descriptor, Errno> {
    Descriptor::open(c"/proc/thread-self/children", O_RDONLY)
}

/// Reads decimal numbers with blanks after them, from the beginning of the file.
pub(crate) fn numbers(file: &Descriptor, mut each: impl FnMut(i32)) -> bool {
    let mut piece = [0_u8; 2048];
    let mut number = None;
    let mut at = 0;
    loop {
        let n = match file.read_at(&mut piece, at) {
            Ok(0) => return true,
            Ok(n) => n,
            Err(errno::INTR) => continue,
            Err(_) => return false,
        };
        at += n;
        for byte in piece.get(..n).unwrap_or_default() {
            match byte {
                b'0'..=b'9' => {
                    number = Some(number.unwrap_or(0) * 10 + i32::from(byte - b'0'));
                }
                _ => number.take().into_iter().for_each(&mut each),
            }
        }
    }
}
