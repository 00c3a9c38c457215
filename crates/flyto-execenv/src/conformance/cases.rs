//! The list of clauses, each with its case.

use super::{
    Case, end, escape, host, isolation, left, limit, network, pinned, run, start, system, usage,
    watcher,
};

macro_rules! case {
    ($name:literal, $about:literal, $test:path) => {
        Case { name: $name, about: $about, test: |ctx| Box::pin($test(ctx)), alone: false }
    };
}

/// Every clause, in the order of the contract.
pub const CASES: &[Case] = &[
    case!(
        "argv-verbatim",
        "arguments arrive byte for byte; no shell is involved unless the program is one.",
        start::argv_verbatim
    ),
    case!(
        "env-starts-empty",
        "the program sees the variables of the spec and no others.",
        start::env_starts_empty
    ),
    case!(
        "lookup-is-the-specs",
        "a name without a slash is looked up in the spec's `PATH`, not in the host's, and the first executable hit runs.",
        start::lookup_is_the_specs
    ),
    case!(
        "relative-program-is-in-the-working-dir",
        "a relative program path is taken from the spec's working directory.",
        start::relative_program_is_in_the_working_dir
    ),
    case!(
        "working-dir-is-the-specs",
        "the program starts in the spec's working directory.",
        start::working_dir_is_the_specs
    ),
    case!(
        "working-dir-stays-clean",
        "the backend leaves no file of its own in the working directory.",
        start::working_dir_stays_clean
    ),
    case!(
        "missing-program",
        "a program that is nowhere is `ProgramNotFound`, and nothing ran.",
        start::missing_program
    ),
    case!(
        "not-executable",
        "a file without the right to execute is `NotExecutable`, and nothing ran.",
        start::not_executable
    ),
    case!(
        "directory-as-program",
        "a directory is `IsDirectory`, and nothing ran.",
        start::directory_as_program
    ),
    case!(
        "bad-interpreter",
        "a script whose interpreter is missing is `BadInterpreter`, and nothing ran.",
        start::bad_interpreter
    ),
    case!(
        "bad-working-dir",
        "a working directory that is missing is `BadWorkingDir`, and nothing ran.",
        start::bad_working_dir
    ),
    case!(
        "just-written-program-runs",
        "a program that was written a moment ago runs, also when others start at the same time.",
        start::just_written_program_runs
    ),
    case!(
        "pinned-bytes-run",
        "a pinned program whose file has the digest runs, found as any other, as often as it is called.",
        pinned::pinned_bytes_run
    ),
    case!(
        "pinned-mismatch-is-refused",
        "a pinned program whose file has another digest is `DigestMismatch`, and nothing ran.",
        pinned::pinned_mismatch_is_refused
    ),
    case!(
        "pinned-swap-is-caught",
        "when the file of a pinned program is replaced or rewritten, also between check and start, the pinned bytes run or nothing does.",
        pinned::pinned_swap_is_caught
    ),
    case!(
        "no-extra-descriptors",
        "the program has descriptors 0, 1 and 2 and no others.",
        start::no_extra_descriptors
    ),
    case!(
        "stdin-is-never-the-hosts",
        "without input the program reads the end of input at once.",
        start::stdin_is_never_the_hosts
    ),
    case!(
        "impossible-specs-are-refused",
        "a NUL byte, a nameless variable, a relative working directory are `InvalidSpec`, and nothing ran.",
        start::impossible_specs_are_refused
    ),
    case!(
        "undeclared-is-refused",
        "a spec that demands an undeclared capability is `Unsupported`, and nothing ran.",
        start::undeclared_is_refused
    ),
    case!(
        "exit-codes-are-exact",
        "codes 0, 1, 42 and 255 arrive as they are.",
        run::exit_codes_are_exact
    ),
    case!(
        "signals-are-exact",
        "death by a signal is that signal, not a code.",
        run::signals_are_exact
    ),
    case!(
        "streams-are-bytes",
        "any bytes on stdin, stdout and stderr arrive unchanged.",
        run::streams_are_bytes
    ),
    case!(
        "big-input-does-not-deadlock",
        "input and output larger than any pipe pass through at once.",
        run::big_input_does_not_deadlock
    ),
    case!(
        "unread-stdin-is-no-error",
        "a program that never reads, or closes stdin early, succeeds.",
        run::unread_stdin_is_no_error
    ),
    case!(
        "output-is-bounded",
        "memory stays under the limit however much is printed; the true count is kept.",
        run::output_is_bounded
    ),
    case!(
        "output-limit-ends-the-tree",
        "more output than the limit ends the program, and the outcome names the limit.",
        run::output_limit_ends_the_tree
    ),
    case!(
        "merged-stderr-keeps-order",
        "with a merged stderr, writes to both streams arrive in the order of the writes.",
        run::merged_stderr_keeps_order
    ),
    case!(
        "output-arrives-while-it-runs",
        "a program's first line can be observed before it ends.",
        run::output_arrives_while_it_runs
    ),
    case!(
        "slow-observer-slows-the-program",
        "a program waits for an observer that does not take its output.",
        run::slow_observer_slows_the_program
    ),
    case!(
        "piped-streams-talk",
        "a program with piped streams answers each request while it runs.",
        run::piped_streams_talk
    ),
    case!(
        "calls-do-not-mix",
        "many calls at once each get their own output and their own end.",
        run::calls_do_not_mix
    ),
    Case {
        alone: true,
        ..case!(
            "nothing-is-left-behind",
            "after many calls the host has as many processes, descriptors and threads as before.",
            left::nothing_is_left_behind
        )
    },
    case!(
        "exited-then-closed",
        "exit and end of output are two events; a descendant that holds the pipe is reported, not waited for.",
        end::exited_then_closed
    ),
    case!(
        "chatty-leaker-is-cut-off",
        "a descendant that goes on writing after the leader's exit does not delay the result beyond the drain time.",
        end::chatty_leaker_is_cut_off
    ),
    case!(
        "leaked-are-ended",
        "what outlives the leader is ended and, where declared, counted; else the count is `None`.",
        end::leaked_are_ended
    ),
    case!(
        "deadline-ends-the-tree",
        "after a deadline nothing of the kill scope is alive, and the outcome is `TimedOut` with the output so far.",
        end::deadline_ends_the_tree
    ),
    case!(
        "deadline-covers-stdin",
        "the deadline holds for a program that never reads its input.",
        end::deadline_covers_stdin
    ),
    case!(
        "cancel-ends-the-tree",
        "after a cancellation nothing of the kill scope is alive, and the outcome is `Cancelled`.",
        end::cancel_ends_the_tree
    ),
    case!(
        "grace-asks-first",
        "with a grace, the program is asked to end, also a stopped one, and what it prints then is kept.",
        end::grace_asks_first
    ),
    case!(
        "grace-is-bounded",
        "a program that ignores the request is killed after the grace.",
        end::grace_is_bounded
    ),
    case!(
        "no-grace-kills-at-once",
        "without a grace, a program that would end cleanly when asked is not asked.",
        end::no_grace_kills_at_once
    ),
    case!(
        "stopped-is-ended",
        "a stopped program ends by its deadline as well.",
        end::stopped_is_ended
    ),
    case!(
        "escapees-are-ended",
        "where the kill scope is the tree, what left the leader's group, session or family ends with the leader, also a daemon, a stopped one and a whole tree.",
        escape::escapees_are_ended
    ),
    case!(
        "escapees-end-by-the-deadline",
        "the same holds for a call that its deadline ends.",
        escape::escapees_end_by_the_deadline
    ),
    case!(
        "escapees-end-when-cancelled",
        "the same holds for a call that is cancelled.",
        escape::escapees_end_when_cancelled
    ),
    case!(
        "escapees-end-when-dropped",
        "the same holds for a call that is dropped.",
        escape::escapees_end_when_dropped
    ),
    case!(
        "fork-bomb-is-ended",
        "where processes are limited and the kill scope is the tree, a program that makes processes without end ends as any other.",
        limit::fork_bomb_is_ended
    ),
    case!(
        "killed-watchers-are-missed",
        "where the kill scope is the tree, a program that kills its parent fails to, or the call is `Lost`, never a result of the parent's; one that can reach its own processes only fails to.",
        watcher::killed_watchers_are_missed
    ),
    case!(
        "stopped-watchers-go-on",
        "where the kill scope is the tree, a program that stops its parent ends as any other, with all that it started.",
        watcher::stopped_watchers_go_on
    ),
    case!(
        "dropped-is-ended",
        "dropping a call ends it; cancelling a future is a normal way to stop.",
        end::dropped_is_ended
    ),
    case!(
        "nothing-survives-the-host",
        "where that is declared, nothing of a call survives its host, also when that is killed.",
        host::nothing_survives_the_host
    ),
    case!(
        "cpu-time-is-limited",
        "CPU time beyond the limit ends the program and its children, also those that no process waits for, and the outcome names the limit.",
        limit::cpu_time_is_limited
    ),
    case!(
        "memory-is-limited",
        "more memory than the limit ends the program, or is refused to it.",
        limit::memory_is_limited
    ),
    case!(
        "file-size-is-limited",
        "no file grows beyond the limit; a program that this ends is `LimitReached`.",
        limit::file_size_is_limited
    ),
    case!(
        "open-files-are-limited",
        "no process has more files open than the limit.",
        limit::open_files_are_limited
    ),
    case!(
        "processes-are-limited",
        "a program cannot have more processes than the limit.",
        limit::processes_are_limited
    ),
    case!(
        "files-stay-in-the-grants",
        "where paths are granted, nothing else can be read or changed, by whatever name, and what may be read stays as it is.",
        isolation::files_stay_in_the_grants
    ),
    case!(
        "denied-paths-are-closed",
        "a denied path can be neither read nor changed, whatever is granted and wherever it is moved.",
        isolation::denied_paths_are_closed
    ),
    case!(
        "read-only-paths-stay-as-they-are",
        "a path that is read-only can be read, and neither changed, removed, replaced nor moved, whatever is granted.",
        isolation::read_only_paths_stay_as_they_are
    ),
    case!(
        "network-off-is-off",
        "a program without network is heard by nobody, on this machine either.",
        network::network_off_is_off
    ),
    case!(
        "named-hosts-are-all-there-is",
        "a program whose network is limited to named hosts is heard by those, and by nobody else: not under another name, nor by a name that leads inside of a network.",
        network::named_hosts_are_all_there_is
    ),
    case!(
        "the-machine-around-is-closed",
        "a program whose network is off or limited gets no socket to the machine that this one runs on (vsock(7)).",
        system::the_machine_around_is_closed
    ),
    case!(
        "local-sockets-off-are-off",
        "a program without local sockets is heard by none of them.",
        network::local_sockets_off_are_off
    ),
    case!(
        "restricted-system-calls-fail",
        "with restricted system calls ordinary work goes on, and namespaces cannot be made.",
        isolation::restricted_system_calls_fail
    ),
    case!(
        "rings-are-closed",
        "with restricted system calls no ring for others can be made (io_uring(7)).",
        system::rings_are_closed
    ),
    case!(
        "set-id-bits-are-refused",
        "with restricted system calls no file gets a set-user-ID or set-group-ID bit (inode(7)), and other modes are set as ever.",
        system::set_id_bits_are_refused
    ),
    case!(
        "others-are-out-of-reach",
        "an isolated program can neither signal the program of another call nor read its environment.",
        isolation::others_are_out_of_reach
    ),
    case!(
        "others-are-not-traced",
        "an isolated program cannot trace the program of another call.",
        system::others_are_not_traced
    ),
    case!(
        "shared-objects-of-others-are-closed",
        "an isolated program can reach no shared memory, semaphore or message queue that the program of another call has made (sysvipc(7), mq_overview(7)).",
        system::shared_objects_of_others_are_closed
    ),
    case!(
        "shared-memory-is-ones-own",
        "a program with shared memory of its own finds none that the program of another call has made by name (shm_overview(7)), also not an earlier one with the same isolation.",
        system::shared_memory_is_ones_own
    ),
    case!(
        "signals-reach-the-tree",
        "a signal to the tree reaches the leader and its children, one to the leader reaches it alone; undeclared, they are `Unsupported`.",
        end::signals_reach_the_tree
    ),
    case!(
        "usage-is-reported",
        "CPU time and peak memory are there where they are declared, and absent elsewhere.",
        usage::usage_is_reported
    ),
    case!(
        "usage-covers-the-tree",
        "CPU time of descendants that lost their parents, or that no process waits for, counts where that is declared; elsewhere the outcome does not say so.",
        usage::usage_covers_the_tree
    ),
];
