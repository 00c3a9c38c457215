//! The contract of [`Executor`](crate::Executor) and [`Control`](crate::Control), clause by clause.
//!
//! This list is the only one. The docs of the two traits show it, the conformance suite has a case for
//! each row, and [`executor_conformance!`](crate::executor_conformance) makes a test of each. A row is
//! the name of the clause, the function of the suite that tests it, and the promise. `alone` marks a
//! case that counts what the process holds, and runs while no other case does.

/// Hands the list to another macro of this crate, with arguments in front of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __clauses {
    ($then:ident $($arguments:tt)*) => { $crate::$then! { {$($arguments)*}
        start {
            "argv-verbatim" = start::argv_verbatim,
                "arguments arrive byte for byte; no shell is involved unless the program is one.";
            "env-starts-empty" = start::env_starts_empty,
                "the program sees the variables of the spec and no others.";
            "lookup-is-the-specs" = start::lookup_is_the_specs,
                "a name without a slash is looked up in the spec's `PATH`, not in the host's, and the first executable hit runs.";
            "relative-program-is-in-the-working-dir" = start::relative_program_is_in_the_working_dir,
                "a relative program path is taken from the spec's working directory.";
            "working-dir-is-the-specs" = start::working_dir_is_the_specs,
                "the program starts in the spec's working directory.";
            "working-dir-stays-clean" = start::working_dir_stays_clean,
                "the backend leaves no file of its own in the working directory.";
            "missing-program" = start::missing_program,
                "a program that is nowhere is `ProgramNotFound`, and nothing ran.";
            "not-executable" = start::not_executable,
                "a file without the right to execute is `NotExecutable`, and nothing ran.";
            "directory-as-program" = start::directory_as_program,
                "a directory is `IsDirectory`, and nothing ran.";
            "bad-interpreter" = start::bad_interpreter,
                "a script whose interpreter is missing is `BadInterpreter`, and nothing ran.";
            "bad-working-dir" = start::bad_working_dir,
                "a working directory that is missing is `BadWorkingDir`, and nothing ran.";
            "just-written-program-runs" = start::just_written_program_runs,
                "a program that was written a moment ago runs, also when others start at the same time.";
            "pinned-bytes-run" = pinned::pinned_bytes_run,
                "a pinned program whose file has the digest runs, found as any other, as often as it is called.";
            "pinned-mismatch-is-refused" = pinned::pinned_mismatch_is_refused,
                "a pinned program whose file has another digest is `DigestMismatch`, and nothing ran.";
            "pinned-swap-is-caught" = pinned::pinned_swap_is_caught,
                "when the file of a pinned program is replaced or rewritten, also between check and start, the pinned bytes run or nothing does.";
            "shipped-files-are-there" = pinned::shipped_files_are_there,
                "a file that the spec names by digest is there when the program starts; one with another digest, or none, is `DigestMismatch`, and nothing ran.";
            "no-extra-descriptors" = start::no_extra_descriptors,
                "the program has descriptors 0, 1 and 2 and no others.";
            "stdin-is-never-the-hosts" = start::stdin_is_never_the_hosts,
                "without input the program reads the end of input at once.";
            "impossible-specs-are-refused" = start::impossible_specs_are_refused,
                "a NUL byte, a nameless variable, a relative working directory are `InvalidSpec`, and nothing ran.";
            "undeclared-is-refused" = start::undeclared_is_refused,
                "a spec that demands an undeclared capability is `Unsupported`, and nothing ran.";
        }
        run {
            "exit-codes-are-exact" = run::exit_codes_are_exact,
                "codes 0, 1, 42 and 255 arrive as they are.";
            "signals-are-exact" = run::signals_are_exact,
                "death by a signal is that signal, not a code.";
            "streams-are-bytes" = run::streams_are_bytes,
                "any bytes on stdin, stdout and stderr arrive unchanged.";
            "big-input-does-not-deadlock" = run::big_input_does_not_deadlock,
                "input and output larger than any pipe pass through at once.";
            "unread-stdin-is-no-error" = run::unread_stdin_is_no_error,
                "a program that never reads, or closes stdin early, succeeds.";
            "output-is-bounded" = run::output_is_bounded,
                "memory stays under the limit however much is printed; the true count is kept.";
            "output-limit-ends-the-tree" = run::output_limit_ends_the_tree,
                "more output than the limit ends the program, and the outcome names the limit.";
            "merged-stderr-keeps-order" = run::merged_stderr_keeps_order,
                "with a merged stderr, writes to both streams arrive in the order of the writes.";
            "output-arrives-while-it-runs" = run::output_arrives_while_it_runs,
                "a program's first line can be observed before it ends.";
            "slow-observer-slows-the-program" = run::slow_observer_slows_the_program,
                "a program waits for an observer that does not take its output.";
            "piped-streams-talk" = run::piped_streams_talk,
                "a program with piped streams answers each request while it runs.";
            "calls-do-not-mix" = run::calls_do_not_mix,
                "many calls at once each get their own output and their own end.";
            "nothing-is-left-behind" = left::nothing_is_left_behind (alone),
                "after many calls the host has as many processes, descriptors and threads as before.";
        }
        end {
            "exited-then-closed" = end::exited_then_closed,
                "exit and end of output are two events; a descendant that holds the pipe is reported, not waited for.";
            "chatty-leaker-is-cut-off" = end::chatty_leaker_is_cut_off,
                "a descendant that goes on writing after the leader's exit does not delay the result beyond the drain time.";
            "leaked-are-ended" = end::leaked_are_ended,
                "what outlives the leader is ended and, where declared, counted; else the count is `None`.";
            "deadline-ends-the-tree" = end::deadline_ends_the_tree,
                "after a deadline nothing of the kill scope is alive, and the outcome is `TimedOut` with the output so far.";
            "deadline-covers-stdin" = end::deadline_covers_stdin,
                "the deadline holds for a program that never reads its input.";
            "cancel-ends-the-tree" = end::cancel_ends_the_tree,
                "after a cancellation nothing of the kill scope is alive, and the outcome is `Cancelled`.";
            "grace-asks-first" = end::grace_asks_first,
                "with a grace, the program is asked to end, also a stopped one, and what it prints then is kept.";
            "grace-is-bounded" = end::grace_is_bounded,
                "a program that ignores the request is killed after the grace.";
            "no-grace-kills-at-once" = end::no_grace_kills_at_once,
                "without a grace, a program that would end cleanly when asked is not asked.";
            "stopped-is-ended" = end::stopped_is_ended,
                "a stopped program ends by its deadline as well.";
            "escapees-are-ended" = escape::escapees_are_ended,
                "where the kill scope is the tree, what left the leader's group, session or family ends with the leader, also a daemon, a stopped one and a whole tree.";
            "escapees-end-by-the-deadline" = escape::escapees_end_by_the_deadline,
                "the same holds for a call that its deadline ends.";
            "escapees-end-when-cancelled" = escape::escapees_end_when_cancelled,
                "the same holds for a call that is cancelled.";
            "escapees-end-when-dropped" = escape::escapees_end_when_dropped,
                "the same holds for a call that is dropped.";
            "fork-bomb-is-ended" = limit::fork_bomb_is_ended,
                "where processes are limited and the kill scope is the tree, a program that makes processes without end ends as any other.";
            "killed-watchers-are-missed" = watcher::killed_watchers_are_missed,
                "where the kill scope is the tree, a program that kills its parent fails to, or the call is `Lost`, never a result of the parent's; one that can reach its own processes only fails to.";
            "stopped-watchers-go-on" = watcher::stopped_watchers_go_on,
                "where the kill scope is the tree, a program that stops its parent ends as any other, with all that it started.";
            "dropped-is-ended" = end::dropped_is_ended,
                "dropping a call ends it; cancelling a future is a normal way to stop.";
            "nothing-survives-the-host" = host::nothing_survives_the_host,
                "where that is declared, nothing of a call survives its host, also when that is killed.";
            "cpu-time-is-limited" = limit::cpu_time_is_limited,
                "CPU time beyond the limit ends the program and its children, also those that no process waits for, and the outcome names the limit.";
            "memory-is-limited" = limit::memory_is_limited,
                "more memory than the limit ends the program, or is refused to it.";
            "file-size-is-limited" = limit::file_size_is_limited,
                "no file grows beyond the limit; a program that this ends is `LimitReached`.";
            "open-files-are-limited" = limit::open_files_are_limited,
                "no process has more files open than the limit.";
            "processes-are-limited" = limit::processes_are_limited,
                "a program cannot have more processes than the limit.";
            "files-stay-in-the-grants" = isolation::files_stay_in_the_grants,
                "where paths are granted, nothing else can be read or changed, by whatever name, and what may be read stays as it is.";
            "denied-paths-are-closed" = isolation::denied_paths_are_closed,
                "a denied path can be neither read nor changed, whatever is granted and wherever it is moved.";
            "read-only-paths-stay-as-they-are" = isolation::read_only_paths_stay_as_they_are,
                "a path that is read-only can be read, and neither changed, removed, replaced nor moved, whatever is granted.";
            "network-off-is-off" = network::network_off_is_off,
                "a program without network reaches no listener, on this machine either.";
            "named-hosts-are-all-there-is" = network::named_hosts_are_all_there_is,
                "a program whose network is limited to named hosts reaches those and no other listener: not under another name, nor by a name that leads inside of a network.";
            "the-machine-around-is-closed" = system::the_machine_around_is_closed,
                "a program whose network is off or limited gets no socket to the machine that this one runs on (vsock(7)).";
            "local-sockets-off-are-off" = network::local_sockets_off_are_off,
                "a program without local sockets is heard by none of them.";
            "restricted-system-calls-fail" = isolation::restricted_system_calls_fail,
                "with restricted system calls ordinary work goes on, and namespaces cannot be made.";
            "rings-are-closed" = system::rings_are_closed,
                "with restricted system calls no ring for others can be made (io_uring(7)).";
            "set-id-bits-are-refused" = system::set_id_bits_are_refused,
                "with restricted system calls no file gets a set-user-ID or set-group-ID bit (inode(7)), and other modes are set as ever.";
            "others-are-out-of-reach" = isolation::others_are_out_of_reach,
                "an isolated program can neither signal the program of another call nor read its environment.";
            "others-are-not-traced" = system::others_are_not_traced,
                "an isolated program cannot trace the program of another call.";
            "shared-objects-of-others-are-closed" = system::shared_objects_of_others_are_closed,
                "an isolated program can reach no shared memory, semaphore or message queue that the program of another call has made (sysvipc(7), mq_overview(7)).";
            "shared-memory-is-ones-own" = system::shared_memory_is_ones_own,
                "a program with shared memory of its own finds none that the program of another call has made by name (shm_overview(7)), also not an earlier one with the same isolation.";
            "signals-reach-the-tree" = end::signals_reach_the_tree,
                "a signal to the tree reaches the leader and its children, one to the leader reaches it alone; undeclared, they are `Unsupported`.";
            "usage-is-reported" = usage::usage_is_reported,
                "CPU time and peak memory are there where they are declared, and absent elsewhere.";
            "usage-covers-the-tree" = usage::usage_covers_the_tree,
                "CPU time of descendants that lost their parents, or that no process waits for, counts where that is declared; elsewhere the outcome does not say so.";
        }
    } };
}

/// The clauses of one section as a list in Markdown, for the docs of a trait.
#[doc(hidden)]
#[macro_export]
macro_rules! __clause_docs {
    ({start} start { $($rows:tt)* } run $run:tt end $end:tt) => { $crate::__clause_list! { $($rows)* } };
    ({run} start $start:tt run { $($rows:tt)* } end $end:tt) => { $crate::__clause_list! { $($rows)* } };
    ({end} start $start:tt run $run:tt end { $($rows:tt)* }) => { $crate::__clause_list! { $($rows)* } };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __clause_list {
    ($($name:literal = $module:ident::$test:ident $(($mark:ident))?, $about:literal;)+) => {
        concat!($("- `", $name, "` — ", $about, "\n"),+)
    };
}
