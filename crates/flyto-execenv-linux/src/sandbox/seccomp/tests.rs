//! The filter, run by a machine of its own: what the kernel would do with each call.

use expect_test::{Expect, expect};

use super::{super::bpf::machine::Machine, *};

const COOKIE: [u64; 2] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];

const RESTRICTED: Rules = Rules {
    restricted: true,
    network_off: false,
    network_own: false,
    local_sockets_off: false,
    own_processes: false,
};
const NETWORK_OFF: Rules = Rules {
    restricted: false,
    network_off: true,
    network_own: false,
    local_sockets_off: false,
    own_processes: false,
};
const NETWORK_OWN: Rules = Rules { network_own: true, restricted: false, ..RESTRICTED };
const LOCAL_SOCKETS_OFF: Rules = Rules {
    restricted: false,
    network_off: false,
    network_own: false,
    local_sockets_off: true,
    own_processes: false,
};
const OWN_PROCESSES: Rules = Rules {
    restricted: false,
    network_off: false,
    network_own: false,
    local_sockets_off: false,
    own_processes: true,
};
const ALL: Rules = Rules {
    restricted: true,
    network_off: true,
    network_own: false,
    local_sockets_off: true,
    own_processes: true,
};

/// Every combination.
fn every() -> impl Iterator<Item = Rules> {
    (1..32).map(|bits| Rules {
        restricted: bits & 1 != 0,
        network_off: bits & 2 != 0,
        local_sockets_off: bits & 4 != 0,
        own_processes: bits & 8 != 0,
        network_own: bits & 16 != 0,
    })
}

/// What a restricted program may not call, with the numbers of `asm/unistd_64.h`, written down apart from
/// the table that is tested.
pub(in crate::sandbox) const REFUSED_NUMBERS: &[(u32, &str)] = &[
    (101, "ptrace"),
    (103, "syslog"),
    (153, "vhangup"),
    (155, "pivot_root"),
    (159, "adjtimex"),
    (161, "chroot"),
    (163, "acct"),
    (164, "settimeofday"),
    (165, "mount"),
    (166, "umount2"),
    (167, "swapon"),
    (168, "swapoff"),
    (169, "reboot"),
    (170, "sethostname"),
    (171, "setdomainname"),
    (172, "iopl"),
    (173, "ioperm"),
    (175, "init_module"),
    (176, "delete_module"),
    (179, "quotactl"),
    (180, "nfsservctl"),
    (212, "lookup_dcookie"),
    (227, "clock_settime"),
    (246, "kexec_load"),
    (248, "add_key"),
    (249, "request_key"),
    (250, "keyctl"),
    (298, "perf_event_open"),
    (300, "fanotify_init"),
    (301, "fanotify_mark"),
    (303, "name_to_handle_at"),
    (304, "open_by_handle_at"),
    (305, "clock_adjtime"),
    (308, "setns"),
    (310, "process_vm_readv"),
    (311, "process_vm_writev"),
    (313, "finit_module"),
    (320, "kexec_file_load"),
    (321, "bpf"),
    (323, "userfaultfd"),
    (428, "open_tree"),
    (429, "move_mount"),
    (430, "fsopen"),
    (431, "fsconfig"),
    (432, "fsmount"),
    (433, "fspick"),
    (438, "pidfd_getfd"),
    (442, "mount_setattr"),
    (443, "quotactl_fd"),
    (467, "open_tree_attr"),
];

/// What is answered according to arguments: its number, and which rules ask for that.
fn looks_at_arguments(rules: Rules, number: u32) -> bool {
    let sockets = rules.network_off || rules.network_own || rules.local_sockets_off;
    match number {
        // prctl, by which a supervisor asks whether this filter is in force
        157 => true,
        16 | 56 | 72 | 135 | 272 | 435 => rules.restricted,
        // open, mkdir, creat, chmod, fchmod, mknod, openat, mkdirat, mknodat, fchmodat, fchmodat2
        2 | 83 | 85 | 90 | 91 | 133 | 257 | 258 | 259 | 268 | 452 => rules.restricted,
        41 => (rules.restricted || sockets) && !rules.network_off,
        53 => sockets,
        // setpriority, sched_setparam, sched_setscheduler, sched_setaffinity, ioprio_set, prlimit64,
        // sched_setattr
        141 | 142 | 144 | 203 | 251 | 302 | 314 => rules.own_processes,
        _ => false,
    }
}

/// What becomes of a call whose arguments say nothing.
fn expected(rules: Rules, number: u32) -> &'static str {
    let sockets = rules.network_off || rules.network_own || rules.local_sockets_off;
    match number {
        0x4000_0000.. => "ENOSYS",
        470.. if rules.restricted => "ENOSYS",
        // io_uring_setup, io_uring_enter, io_uring_register
        425..=427 if rules.restricted || sockets => "ENOSYS",
        // openat2
        437 if rules.restricted => "ENOSYS",
        // shmget, shmat, shmctl; semget, semop, semctl, shmdt, msgget, msgsnd, msgrcv, msgctl; semtimedop;
        // mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr
        29..=31 | 64..=71 | 220 | 240..=245 if rules.own_processes => "ENOSYS",
        41 if rules.network_off => "EPERM",
        _ if rules.restricted && REFUSED_NUMBERS.iter().any(|(it, _)| *it == number) => "EPERM",
        _ => "allow",
    }
}

#[test]
fn every_number_gets_the_answer_of_the_table() {
    let numbers = (0..600).chain([X32 - 1, X32, X32 + 41, X32 + 512, u32::MAX]);
    for (rules, number) in
        every().flat_map(|rules| numbers.clone().map(move |number| (rules, number)))
    {
        let machine = Machine::new(&filter(rules, COOKIE));
        let ran = machine.run(number, ARCHITECTURE, [0; 6]);
        let looks = looks_at_arguments(rules, number);
        assert_eq!(ran.looked_at_arguments, looks, "{rules:?}, call {number}");
        if !looks {
            assert_eq!(ran.answer, expected(rules, number), "{rules:?}, call {number}");
        }
    }
}

#[test]
fn a_filter_answers_its_own_question_and_no_other_ones() {
    let own = COOKIE[0] ^ COOKIE[1];
    for rules in every() {
        let machine = Machine::new(&filter(rules, COOKIE));
        let ask = |option: u32, argument| {
            machine.run(157, ARCHITECTURE, [option.into(), argument, 0, 0, 0, 0]).answer
        };
        assert_eq!(ask(FILTER_QUESTION, own), "ENOANO");
        // A filter around it has other numbers, and no half of one is told.
        for other in [0, own ^ 1, own ^ (1 << 40), COOKIE[0], COOKIE[1]] {
            assert_eq!(ask(FILTER_QUESTION, other), "EINVAL");
        }
        assert_eq!(ask(FILTER_QUESTION + 1, own), "allow");
    }
}

#[test]
fn other_architectures_are_ended() {
    // i386, ARM, AArch64, RISC-V, and what is none.
    for architecture in [0x4000_0003, 0x4000_0028, 0xc000_00b7, 0xc000_00f3, 0, u32::MAX] {
        for rules in every() {
            let machine = Machine::new(&filter(rules, COOKIE));
            for number in (0..600).chain([X32, u32::MAX]) {
                let ran = machine.run(number, architecture, [0; 6]);
                assert_eq!(ran.answer, "kill", "{rules:?}, {architecture:#x}, call {number}");
            }
        }
    }
}

#[test]
fn nothing_asked_for_is_no_filter() {
    assert_eq!(filter(Rules::default(), COOKIE), Vec::<u8>::new());
}

/// Answers to one call with several arguments.
#[track_caller]
fn check(rules: Rules, number: libc::c_long, calls: &[[u64; 6]], expect: Expect) {
    let machine = Machine::new(&filter(rules, COOKIE));
    let answers: Vec<_> =
        calls.iter().map(|args| machine.run(number as u32, ARCHITECTURE, *args).answer).collect();
    expect.assert_eq(&answers.join(" "));
}

/// Arguments that begin so, with junk after them.
fn args<const N: usize>(first: [u64; N]) -> [u64; 6] {
    let mut res = [0xdead_beef_dead_beef; 6];
    res[..N].copy_from_slice(&first);
    res
}

/// What the kernel does not look at when an argument is an `int`.
const HIGH: u64 = 0xffff_ffff_0000_0000;

#[test]
fn only_the_cookie_lets_clone3_through() {
    let [a, b] = COOKIE;
    let with = |a, b| args([0, 88, 0, 0, a, b]);
    let high = 1 << 63;
    check(
        RESTRICTED,
        libc::SYS_clone3,
        &[with(a, b), with(b, a), with(a, 0), with(0, b), with(a ^ high, b), with(a, b ^ 1)],
        expect!["allow ENOSYS ENOSYS ENOSYS ENOSYS ENOSYS"],
    );
    let machine = Machine::new(&filter(RESTRICTED, [0; 2]));
    let ran = machine.run(libc::SYS_clone3 as u32, ARCHITECTURE, [0; 6]);
    assert_eq!(ran.answer, "ENOSYS", "a cookie of nothing is nobody's");
}

#[test]
fn namespaces_are_not_made() {
    let flags = [
        0,
        0x11,
        0x3d_0f00 | 0x11, // what pthread_create(3) and posix_spawn(3) ask for
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
        0x0002_0000,
        0x0200_0000,
        0x0400_0000,
        0x0800_0000 | HIGH,
    ];
    let calls: Vec<_> = flags.into_iter().map(|it| args([it])).collect();
    check(
        RESTRICTED,
        libc::SYS_clone,
        &calls,
        expect!["allow allow allow EPERM EPERM EPERM EPERM EPERM EPERM EPERM"],
    );
    let [a, b] = COOKIE;
    let new_pid = |a, b| args([0x2000_0000 | 17, 0x7fff_0000_1000, 0, 0, a, b]);
    check(
        RESTRICTED,
        libc::SYS_clone,
        &[new_pid(a, b), new_pid(b, a), new_pid(a, 0), new_pid(0, b), new_pid(a ^ 1 << 63, b)],
        expect!["allow EPERM EPERM EPERM EPERM"],
    );
    let machine = Machine::new(&filter(RESTRICTED, [0; 2]));
    let ran = machine.run(libc::SYS_clone as u32, ARCHITECTURE, [0x2000_0000, 0, 0, 0, 0, 0]);
    assert_eq!(ran.answer, "EPERM", "a cookie of nothing is nobody's");
    check(
        RESTRICTED,
        libc::SYS_unshare,
        // CLONE_FILES, CLONE_FS; CLONE_NEWUSER, CLONE_NEWTIME
        &[args([0x400]), args([0x200]), args([0x1000_0000]), args([0x80])],
        expect!["allow allow EPERM EPERM"],
    );
}

#[test]
fn sockets_are_those_that_are_not_closed() {
    const STREAM: u64 = 1 | 0o2_004_000; // with SOCK_CLOEXEC and SOCK_NONBLOCK
    let calls = [
        args([1, STREAM, 0]),       // AF_UNIX
        args([2, STREAM, 0]),       // AF_INET
        args([10, 2, 17]),          // AF_INET6, datagrams
        args([2 | HIGH, 2, 17]),    // the same for the kernel
        args([2, 3, 1]),            // raw
        args([10, 3 | 0o4000, 58]), // raw
        args([2, 10, 0]),           // SOCK_PACKET
        args([16, 3, 0]),           // AF_NETLINK, routes
        args([16, 3, 4]),           // AF_NETLINK, other people's sockets
        args([17, 3, 0]),           // AF_PACKET
        args([38, 5, 0]),           // AF_ALG
        args([40, 1, 0]),           // AF_VSOCK
        args([44, 3, 0]),           // AF_XDP
        args([99, 1, 0]),
    ];
    let number = libc::SYS_socket;
    check(
        RESTRICTED,
        number,
        &calls,
        expect![
            "allow allow allow allow EPERM EPERM EPERM allow EPERM EPERM EPERM EPERM EPERM EPERM"
        ],
    );
    let closed = Rules { local_sockets_off: true, ..RESTRICTED };
    check(
        closed,
        number,
        &calls,
        expect![
            "EPERM allow allow allow EPERM EPERM EPERM allow EPERM EPERM EPERM EPERM EPERM EPERM"
        ],
    );
    check(
        LOCAL_SOCKETS_OFF,
        number,
        &calls,
        expect![
            "EPERM allow allow allow allow allow allow allow allow allow allow allow allow allow"
        ],
    );
    check(
        NETWORK_OWN,
        number,
        &calls,
        expect![
            "EPERM allow allow allow EPERM EPERM EPERM allow EPERM EPERM EPERM EPERM EPERM EPERM"
        ],
    );
    for rules in every().filter(|it| it.network_off) {
        let ran = Machine::new(&filter(rules, COOKIE)).run(41, ARCHITECTURE, [0; 6]);
        assert_eq!((ran.answer, ran.looked_at_arguments), ("EPERM", false));
    }
}

#[test]
fn pairs_stay_connected() {
    let calls = [
        args([1, 1, 0]),
        args([1, 5 | 0o2_000_000, 0]),
        args([1 | HIGH, 1 | HIGH, 0]),
        args([1, 2, 0]),  // datagrams
        args([1, 3, 0]),  // raw, which becomes datagrams
        args([30, 1, 0]), // AF_TIPC
    ];
    for rules in [NETWORK_OFF, NETWORK_OWN, LOCAL_SOCKETS_OFF, ALL] {
        check(rules, libc::SYS_socketpair, &calls, expect!["allow allow allow EPERM EPERM EPERM"]);
    }
    check(RESTRICTED, libc::SYS_socketpair, &calls, expect!["allow allow allow allow allow allow"]);
}

#[test]
fn bounds_are_ones_own() {
    check(
        OWN_PROCESSES,
        libc::SYS_prlimit64,
        &[
            args([0, 7, 0x7fff_0000_1000, 0]),
            args([HIGH, 7, 0x7fff_0000_1000, 0]),
            args([1234, 7, 0, 0x7fff_0000_1000]),
            args([1234, 0, 0x7fff_0000_1000, 0]),
            args([1234, 0, 0x7fff_0000_0000, 0]),
            args([1234, 0, 0x1000, 0]),
        ],
        expect!["allow allow allow EPERM EPERM EPERM"],
    );
}

#[test]
fn scheduling_and_priorities_are_ones_own() {
    // sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
    for number in [142, 144, 203, 314] {
        check(
            OWN_PROCESSES,
            number,
            &[args([0]), args([HIGH]), args([1234]), args([1]), args([0xffff_ffff])],
            expect!["allow allow EPERM EPERM EPERM"],
        );
    }
    check(
        OWN_PROCESSES,
        libc::SYS_setpriority,
        // PRIO_PROCESS, PRIO_PGRP, PRIO_USER
        &[[0, 0], [HIGH, HIGH], [0, 1234], [1, 0], [1, 1234], [2, 0], [2, 1234]].map(args),
        expect!["allow allow EPERM EPERM EPERM EPERM EPERM"],
    );
    check(
        OWN_PROCESSES,
        libc::SYS_ioprio_set,
        // IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP, IOPRIO_WHO_USER
        &[[1, 0], [1 | HIGH, HIGH], [1, 1234], [2, 0], [2, 1234], [3, 0], [3, 1234], [0, 0]]
            .map(args),
        expect!["allow allow EPERM EPERM EPERM EPERM EPERM EPERM"],
    );
}

#[test]
fn requests_options_and_personalities() {
    check(
        RESTRICTED,
        libc::SYS_ioctl,
        // TCGETS, FIONREAD; TIOCSTI, TIOCLINUX, TIOCSETD
        &[[0, 0x5401], [0, 0x541b], [0, 0x5412], [0, 0x541c | HIGH], [0, 0x5423]].map(args),
        expect!["allow allow EPERM EPERM EPERM"],
    );
    check(
        RESTRICTED,
        libc::SYS_prctl,
        // PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP; PR_SET_MM
        &[[15], [38], [22], [35]].map(args),
        expect!["allow allow allow EPERM"],
    );
    check(
        RESTRICTED,
        libc::SYS_personality,
        // the question, PER_LINUX, PER_LINUX32, ADDR_NO_RANDOMIZE; READ_IMPLIES_EXEC, MMAP_PAGE_ZERO
        &[[0xffff_ffff], [0], [8], [0x4_0000], [0x40_0000], [0x10_0000]].map(args),
        expect!["allow allow allow allow EPERM EPERM"],
    );
}

#[test]
fn leases_are_not_taken() {
    check(
        RESTRICTED,
        libc::SYS_fcntl,
        // F_SETLEASE for each kind of lease and to give one up, F_SETDELEG
        &[[7, 1024, 0], [7, 1024, 1], [7, 1024, 2], [7, 1024 | HIGH, 1], [7, 1040, 0]].map(args),
        expect!["EPERM EPERM EPERM EPERM EPERM"],
    );
    // F_DUPFD, F_SETFD, F_GETFL, F_SETLK, F_OFD_SETLK, F_GETLEASE, F_NOTIFY, F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
    // F_ADD_SEALS, F_SET_RW_HINT, F_GETDELEG
    let others = [0, 2, 3, 6, 37, 1025, 1026, 1030, 1031, 1033, 1036, 1039];
    let machine = Machine::new(&filter(RESTRICTED, COOKIE));
    for command in others {
        let ran = machine.run(libc::SYS_fcntl as u32, ARCHITECTURE, args([7, command, 1]));
        assert_eq!(ran.answer, "allow", "{command}");
    }
}

/// Modes without set-user-ID and set-group-ID bits, and with: alone, together, for the kernel's 16 bits.
const MODES_TO_TRY: [u64; 7] =
    [0o755, 0o1777, HIGH | 0o600, 0o4755, 0o2755, 0o6000, HIGH | 0o10_4700];

#[test]
fn no_call_that_sets_a_mode_sets_the_bits_of_set_user_id() {
    let expect = || expect!["allow allow allow EPERM EPERM EPERM EPERM"];
    // mkdir, creat, chmod, fchmod, mknod; mkdirat, mknodat, fchmodat, fchmodat2
    for number in [83, 85, 90, 91, 133] {
        check(RESTRICTED, number, &MODES_TO_TRY.map(|it| args([7, it])), expect());
    }
    for number in [258, 259, 268, 452] {
        check(RESTRICTED, number, &MODES_TO_TRY.map(|it| args([7, 7, it])), expect());
    }
    // O_CREAT|O_WRONLY|O_TRUNC; O_TMPFILE|O_RDWR
    for flags in [0o1101, 0o20_200_002, HIGH | 0o100] {
        let calls = MODES_TO_TRY.map(|it| args([7, flags, it]));
        check(RESTRICTED, libc::SYS_open, &calls, expect());
        let calls = MODES_TO_TRY.map(|it| args([7, 7, flags, it]));
        check(RESTRICTED, libc::SYS_openat, &calls, expect());
    }
}

/// Where no file is made, the register of the mode holds whatever an earlier call left in it.
#[test]
fn a_mode_that_the_kernel_does_not_look_at_is_not_looked_at() {
    // O_RDONLY; O_WRONLY|O_TRUNC; O_DIRECTORY|O_CLOEXEC; O_PATH
    for flags in [0, 0o1001, 0o2_200_000, 0o10_000_000] {
        let expect = || expect!["allow"];
        check(RESTRICTED, libc::SYS_open, &[args([7, flags, u64::MAX])], expect());
        check(RESTRICTED, libc::SYS_openat, &[args([7, 7, flags, u64::MAX])], expect());
    }
}

#[test]
fn the_way_to_an_answer_is_short() {
    let machine = Machine::new(&filter(ALL, COOKIE));
    // What the kernel does when it loads the filter.
    let steps: Vec<_> =
        (0..UNKNOWN).map(|it| machine.run(it, ARCHITECTURE, [0; 6]).steps_to_arguments).collect();
    let longest = steps.iter().max().copied().unwrap_or(0);
    let all: usize = steps.iter().sum();
    expect!["353 instructions; at most 13 of them, 9 on average"].assert_eq(&format!(
        "{} instructions; at most {longest} of them, {} on average",
        machine.n_instructions(),
        all / steps.len()
    ));
}
