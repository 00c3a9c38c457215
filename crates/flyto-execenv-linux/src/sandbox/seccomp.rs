//! The filter of system calls (seccomp(2)), as a tree.
//!
//! A filter is a program that gets the number and the arguments of a call and says what becomes of it.
//! The kernel runs it for every number when it is loaded, to remember which calls are always allowed
//! and need not be asked about again. So what loading costs follows the length of the way to an answer:
//! a list of fifty comparisons took 62 µs on a small virtual machine, the same as a tree half of that.
//! The tree here is split where half of all numbers lie on either side.
//!
//! Read [`filter`] first, then [`by_number`]. A filter sees numbers and not memory, so calls that
//! have their arguments in memory are refused as a whole where an argument matters, mostly with
//! `ENOSYS`: libraries then take an older call. Nothing is killed but programs of another
//! architecture.

use std::collections::BTreeMap;

use flyto_supervision::{FILTER_ERRNO, FILTER_QUESTION};

use super::bpf::{Load, Node, Word};

/// What the filter refuses.
///
/// `Default` refuses nothing, and then there is no filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// What ordinary programs do not need.
    pub(super) restricted: bool,
    /// Sockets of every kind but pairs.
    pub(super) network_off: bool,
    /// Sockets but those of a network namespace, and pairs: Unix sockets with a name and machines below
    /// this one (vsock(7)) are none of a namespace's.
    pub(super) network_own: bool,
    /// Unix sockets but for pairs.
    pub(super) local_sockets_off: bool,
    /// Bounds, priorities and processors of other processes; memory, queues and semaphores that all processes of
    /// the machine share.
    pub(super) own_processes: bool,
}

/// `AUDIT_ARCH_X86_64`.
const ARCHITECTURE: u32 = 0xc000_003e;
/// Where the numbers of the x32 interface begin (`__X32_SYSCALL_BIT`). They lead to the same calls.
const X32: u32 = 0x4000_0000;
/// The first number that Linux 6.18 does not have. What later ones do is unknown: a program is told
/// that the kernel is older, and does without.
const UNKNOWN: u32 = 470;

/// The call fails with `EPERM`.
const PERM: Node = Node::Errno(libc::EPERM as u16);
/// The call fails with `ENOSYS`, as on a kernel without it.
const NOSYS: Node = Node::Errno(libc::ENOSYS as u16);

/// Calls that a restricted program may not make, whatever their arguments, by what they are for.
const REFUSED: &[libc::c_long] = &[
    // The machine: its clock, names, power, modules, swap, quotas, accounting, log.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Mounts, roots and namespaces.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    // Files past their paths.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Watches of files by path or by mount, and with them of what processes open (fanotify(7)).
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Other processes, their memory and their descriptors.
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Code and observation in the kernel, and what exploits of it are built from.
    libc::SYS_bpf,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Keys that all processes of a user share.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
];

/// `open_tree_attr`, of Linux 6.15.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Calls that do any other call later, unseen by a filter. Programs are prepared for kernels without.
const UNSEEN: &[libc::c_long] =
    &[libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_uring_setup];

/// Calls that choose how a thread gets time on which processors (sched(7)). The first argument is its
/// number; 0 is the caller.
const SCHEDULING: &[libc::c_long] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Shared memory, semaphores and message queues that every process of a user finds by a number or by a name
/// (sysvipc(7), mq_overview(7)). Landlock knows no System V IPC; of POSIX queues it refuses mq_open(3) where it
/// bounds files (Linux 6.18), and not mq_unlink(3).
///
/// The answer is `ENOSYS`, that of a kernel which was built without them. `EPERM` would say that the object exists
/// and belongs to another user, `EACCES` lets PostgreSQL try one key after the other without end. PostgreSQL
/// ends at its start with either of `ENOSYS` and `EPERM`; X clients draw without shared memory after any error;
/// Perl gives the error to the script; Python has none of these calls.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// `PRIO_PROCESS` of `linux/resource.h`: one thread, where others are a process group or all of a user.
const PRIO_PROCESS: u32 = 0;

/// `IOPRIO_WHO_PROCESS` of `linux/ioprio.h`: the same of ioprio_set(2).
const IOPRIO_WHO_PROCESS: u32 = 1;

/// Flags of clone(2) and unshare(2) that make namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS) as u32;
/// `CLONE_NEWTIME`. To clone(2) the same bit is a part of a signal's number.
const TIME_NAMESPACE: u32 = 0x80;

/// Requests that put input into a terminal, or change what reads it (ioctl_tty(2), ioctl_console(2)).
const TERMINAL_REQUESTS: &[u32] =
    &[libc::TIOCSTI as u32, libc::TIOCLINUX as u32, libc::TIOCSETD as u32];

/// Commands of fcntl(2) that let the owner of a file keep other programs waiting that open or change it, for
/// `lease-break-time` of proc_sys_fs(5), 45 s by default: leases, and the delegations of Linux 6.19.
const LEASES: &[u32] = &[libc::F_SETLEASE as u32, F_SETDELEG];

/// `F_SETDELEG` of `linux/fcntl.h`.
const F_SETDELEG: u32 = 1040;

/// Execution domains that change nothing about safety: the default, 32-bit, an old release number, both,
/// a layout of memory that debuggers and Lisps ask for; and the question which it is (personality(2)).
const PERSONALITIES: &[u32] = &[
    0,
    PER_LINUX32,
    libc::UNAME26 as u32,
    PER_LINUX32 | libc::UNAME26 as u32,
    libc::ADDR_NO_RANDOMIZE as u32,
    u32::MAX,
];

/// `PER_LINUX32`.
const PER_LINUX32: u32 = 8;

/// `SOCK_PACKET`: packets as they are on the wire, in an old way.
const SOCK_PACKET: u32 = 10;

/// The bits of a mode that let a file run as its owner or as its group (inode(7)): `S_ISUID` and `S_ISGID`.
const SET_ID: u32 = 0o6000;

/// Calls that give a file a mode, each with the argument that the mode is in.
const MODES: &[(libc::c_long, u8)] = &[
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mkdir, 1),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// `fchmodat2`, of Linux 6.6.
const FCHMODAT2: libc::c_long = 452;

/// Flags of open(2) with which the kernel looks at the mode: `O_CREAT`, and `O_TMPFILE` without the
/// `O_DIRECTORY` that is a part of it (`__O_TMPFILE`).
const CREATES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// What of a socket's type is not a flag (`SOCK_TYPE_MASK`).
const TYPE_MASK: u32 = 0xf;

/// The instructions of the filter, for the kernel. `cookie` lets clone3(2), and clone(2) with any flags,
/// through where it is in the last two arguments.
///
/// Empty where `rules` refuse nothing. The architecture is looked at before the number, since a
/// number means another call on each.
pub(super) fn filter(rules: Rules, cookie: [u64; 2]) -> Vec<u8> {
    if rules == Rules::default() {
        return Vec::new();
    }
    let numbers = by_number(rules, cookie);
    // A program of another architecture has other numbers; it is ended with SIGSYS.
    let here = Node::load(Load::Number, numbers);
    Node::load(Load::Architecture, Node::equal(ARCHITECTURE, here, Node::Kill)).assemble()
}

/// The tree of all numbers.
///
/// x32 calls and, for restricted programs, numbers that this version does not know are answered
/// with `ENOSYS`.
fn by_number(rules: Rules, cookie: [u64; 2]) -> Node {
    let mut special: BTreeMap<u32, Node> = BTreeMap::new();
    let mut rule = |number: libc::c_long, node: Node| {
        special.insert(u32::try_from(number).expect("a small number"), node);
    };
    if rules.restricted {
        for number in REFUSED {
            rule(*number, PERM);
        }
        rule(libc::SYS_clone, flags_without(NAMESPACES, with_cookie(cookie, PERM)));
        rule(libc::SYS_clone3, with_cookie(cookie, NOSYS));
        rule(libc::SYS_fcntl, second_not_in(LEASES));
        rule(libc::SYS_ioctl, second_not_in(TERMINAL_REQUESTS));
        rule(libc::SYS_personality, first_in(PERSONALITIES));
        rule(libc::SYS_unshare, flags_without(NAMESPACES | TIME_NAMESPACE, PERM));
        for (number, argument) in MODES {
            rule(*number, mode_in(*argument));
        }
        rule(libc::SYS_open, open_mode_in(1, 2));
        rule(libc::SYS_openat, open_mode_in(2, 3));
        // It has flags and mode in memory, where a filter cannot look. Libraries fall back to openat(2).
        rule(libc::SYS_openat2, NOSYS);
    }
    let memory_map = if rules.restricted { PERM } else { Node::Allow };
    let others = first_is(libc::PR_SET_MM as u32, memory_map, Node::Allow);
    rule(libc::SYS_prctl, own_question(cookie, others));
    if rules.own_processes {
        rule(libc::SYS_prlimit64, own_bounds());
        for number in SCHEDULING {
            rule(*number, first_is(0, Node::Allow, PERM));
        }
        rule(libc::SYS_setpriority, own_priority(PRIO_PROCESS));
        rule(libc::SYS_ioprio_set, own_priority(IOPRIO_WHO_PROCESS));
        for number in SHARED {
            rule(*number, NOSYS);
        }
    }
    let sockets = rules.network_off || rules.network_own || rules.local_sockets_off;
    if rules.restricted || sockets {
        for number in UNSEEN {
            rule(*number, NOSYS);
        }
        rule(libc::SYS_socket, socket(rules));
    }
    if sockets {
        rule(libc::SYS_socketpair, pair());
    }
    rule(if rules.restricted { UNKNOWN } else { X32 }.into(), NOSYS);

    let mut ranges = vec![(0, Node::Allow)];
    for (number, node) in special {
        // What lies before a rule is allowed.
        match ranges.last_mut() {
            Some(last) if last.0 == number => last.1 = node,
            _ => ranges.push((number, node)),
        }
        if number < UNKNOWN {
            ranges.push((number + 1, Node::Allow));
        }
    }
    ranges.dedup_by(|next, last| next.1 == last.1);
    // The kernel asks about no further number when it loads the filter.
    tree(&ranges, UNKNOWN)
}

/// A tree over ranges of numbers, each from its first number to the next range and the last to `end`.
///
/// Split at the range whose beginning lies nearest to the middle of the numbers, then each half in
/// the same way.
fn tree(ranges: &[(u32, Node)], end: u32) -> Node {
    let Some((first, node)) = ranges.first() else { return Node::Allow };
    let middle = first.midpoint(end);
    let split = (1..ranges.len()).min_by_key(|at| ranges[*at].0.abs_diff(middle));
    match split.and_then(|at| ranges.split_at_checked(at)) {
        Some((below, above @ [(start, _), ..])) => {
            Node::at_least(*start, tree(above, end), tree(below, *start))
        }
        _ => node.clone(),
    }
}

/// The filter answers its own question, by which a supervisor tries whether it is in force.
pub(super) fn own_question(cookie: [u64; 2], others: Node) -> Node {
    let own = cookie[0] ^ cookie[1];
    let answer = Node::Errno(FILTER_ERRNO as u16);
    let words = [(Word::Low, own as u32), (Word::High, (own >> 32) as u32)];
    let is_own = words.into_iter().fold(answer, |yes, (word, value)| {
        Node::load(
            Load::Argument(1, word),
            Node::equal(value, yes, Node::Errno(libc::EINVAL as u16)),
        )
    });
    first_is(FILTER_QUESTION, is_own, others)
}

/// Looks at the lower half of the first argument: the argument is an `int` in the calls that this
/// is for.
fn first_is(value: u32, yes: Node, no: Node) -> Node {
    Node::load(Load::Argument(0, Word::Low), Node::equal(value, yes, no))
}

/// Allows these values of the first argument, and refuses others.
fn first_in(values: &[u32]) -> Node {
    let any = values.iter().fold(PERM, |rest, it| Node::equal(*it, Node::Allow, rest));
    Node::load(Load::Argument(0, Word::Low), any)
}

/// Refuses these values of the second argument, and allows others.
fn second_not_in(values: &[u32]) -> Node {
    let none = values.iter().fold(Node::Allow, |rest, it| Node::equal(*it, PERM, rest));
    Node::load(Load::Argument(1, Word::Low), none)
}

/// Allows what has none of these flags.
fn flags_without(flags: u32, others: Node) -> Node {
    Node::load(Load::Argument(0, Word::Low), Node::any_of(flags, others, Node::Allow))
}

/// Refuses a mode with a set-user-ID or set-group-ID bit.
fn mode_in(argument: u8) -> Node {
    Node::load(Load::Argument(argument, Word::Low), Node::any_of(SET_ID, PERM, Node::Allow))
}

/// The same for open(2): the mode counts only where the flags can make a file.
fn open_mode_in(flags: u8, mode: u8) -> Node {
    let creates = Node::any_of(CREATES, mode_in(mode), Node::Allow);
    Node::load(Load::Argument(flags, Word::Low), creates)
}

/// The supervisor's own calls are known by their cookie, others get this answer.
///
/// clone3(2) has its flags in memory, where a filter cannot look. Libraries that are told that there
/// is no such call take clone(2). So does the supervisor where an outer filter tells it the same,
/// also for a PID namespace.
///
/// All 128 bits have to match.
fn with_cookie(cookie: [u64; 2], others: Node) -> Node {
    let words = [(4, cookie[0]), (5, cookie[1])].into_iter().flat_map(|(argument, half)| {
        [(argument, Word::Low, half as u32), (argument, Word::High, (half >> 32) as u32)]
    });
    // A cookie of nothing would be that of every process.
    if cookie == [0; 2] {
        return others;
    }
    words.fold(Node::Allow, |rest, (argument, word, value)| {
        Node::load(Load::Argument(argument, word), Node::equal(value, rest, others.clone()))
    })
}

/// prlimit(2) for the caller itself, or only to look.
fn own_bounds() -> Node {
    let is_null = Node::load(
        Load::Argument(2, Word::Low),
        Node::equal(
            0,
            Node::load(Load::Argument(2, Word::High), Node::equal(0, Node::Allow, PERM)),
            PERM,
        ),
    );
    first_is(0, Node::Allow, is_null)
}

/// setpriority(2) and ioprio_set(2) for the caller itself: the first argument says what the second one is
/// the number of. Which numbers are the caller's own a filter cannot know, so it is 0 only; a thread that
/// names another of its process is refused with the rest.
fn own_priority(which: u32) -> Node {
    let caller = Node::load(Load::Argument(1, Word::Low), Node::equal(0, Node::Allow, PERM));
    first_is(which, caller, PERM)
}

/// The answer to socket(2), by the first rule that says something: no network at all, then Unix
/// sockets, then what a restricted program may have.
fn socket(rules: Rules) -> Node {
    if rules.network_off {
        return PERM;
    }
    let unix = libc::AF_UNIX as u32;
    let local = if rules.local_sockets_off || rules.network_own { PERM } else { Node::Allow };
    if !rules.restricted && !rules.network_own {
        return first_is(unix, local, Node::Allow);
    }
    // Every packet of the machine is closed to programs; ordinary sockets send and receive their own.
    let internet = Node::load(
        Load::Argument(1, Word::Low),
        Node::masked(
            TYPE_MASK,
            Node::equal(libc::SOCK_RAW as u32, PERM, {
                Node::equal(SOCK_PACKET, PERM, Node::Allow)
            }),
        ),
    );
    // Which addresses and routes there are; libraries ask when they resolve a name.
    let netlink = Node::load(
        Load::Argument(2, Word::Low),
        Node::equal(libc::NETLINK_ROUTE as u32, Node::Allow, PERM),
    );
    let families = [
        (unix, local),
        (libc::AF_NETLINK as u32, netlink),
        (libc::AF_INET6 as u32, internet.clone()),
        (libc::AF_INET as u32, internet),
    ];
    let any = families.into_iter().fold(PERM, |rest, (it, node)| Node::equal(it, node, rest));
    Node::load(Load::Argument(0, Word::Low), any)
}

/// Pairs of Unix sockets that stay connected to each other. One for datagrams could send to any name
/// (unix(7)), and what is raw becomes one for datagrams.
fn pair() -> Node {
    let kinds = Node::equal(
        libc::SOCK_STREAM as u32,
        Node::Allow,
        Node::equal(libc::SOCK_SEQPACKET as u32, Node::Allow, PERM),
    );
    let kinds = Node::load(Load::Argument(1, Word::Low), Node::masked(TYPE_MASK, kinds));
    first_is(libc::AF_UNIX as u32, kinds, PERM)
}

#[cfg(test)]
pub(super) mod tests;
