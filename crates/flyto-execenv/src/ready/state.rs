//! What a pool knows of its programs, their processes and their calls.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use tokio::{task::AbortHandle, time::Instant};

use super::{ColdStart, StartFiles, changes::Changes, idle::Idle, useless::Useless};
use crate::{ErrorOutput, Executor, Output, Spec, Stdin};

/// How many programs are remembered: 64 of which nothing else is known, and of all 1,024, so that a program whose processes do not wait
/// is not tried again and again. Of more, those that were called least lately are forgotten.
const PROGRAMS: usize = 64;
const ALL_PROGRAMS: usize = 1024;

/// How long a call keeps a start from its CPU: 1 s. A longer one hardly notices it.
const BUSY_TIME: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct State {
    /// Processes that are being started, of all programs, those that were forgotten meanwhile too.
    pub(super) n_starts: usize,
    /// The one that was called last is the last.
    pub(super) programs: Vec<Program>,
    /// When the calls began that run, by their numbers, which ascend.
    pub(super) calls: BTreeMap<u64, Instant>,
    pub(super) next_id: u64,
    /// How often all were ended. After a call that began before the last time, no process is started, and none waits.
    pub(super) n_ends: u64,
    /// No further process waits.
    pub(super) is_closed: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("processes", &self.n_processes()).finish_non_exhaustive()
    }
}

/// What can be started before a call: an executor and a spec less its input.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) executor: Arc<dyn Executor>,
    pub(super) spec: Arc<Spec>,
}

impl Key {
    pub(super) fn new(executor: &Arc<dyn Executor>, spec: &Spec) -> Self {
        Self { executor: Arc::clone(executor), spec: Arc::new(less_its_input(spec)) }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.executor, &other.executor) && self.spec == other.spec
    }
}

/// One program, its processes, and what is known of them.
pub(super) struct Program {
    pub(super) key: Key,
    pub(super) waiting: Vec<Idle>,
    /// Processes that are started once a CPU is free.
    pub(super) n_pending: usize,
    /// Processes that are being started.
    pub(super) n_starting: usize,
    /// Calls that run, and the most that ran at once since a process last waited in vain.
    pub(super) n_calls: usize,
    pub(super) most_calls: usize,
    /// The number of the call that began last.
    pub(super) last_call: u64,
    /// Processes in a row that could not wait.
    pub(super) useless: Option<Useless>,
    /// Processes in a row that could wait, and were given up.
    pub(super) changes: Changes,
    /// Where no process is started after a call for one of both reasons, the files as they were then.
    pub(super) after_call: Option<StartFiles>,
    /// Why no process waits.
    pub(super) why: ColdStart,
}

impl State {
    pub(super) fn program(&mut self, key: &Key) -> Option<&mut Program> {
        self.programs.iter_mut().rev().find(|it| it.key == *key)
    }

    /// How many wait or are being started.
    pub(super) fn n_processes(&self) -> usize {
        self.programs.iter().map(|it| it.waiting.len() + it.n_starting).sum()
    }

    /// Until when no CPU is free for a start, unless calls end before: as many calls as there are CPUs began within
    /// [`BUSY_TIME`].
    pub(super) fn busy_until(&self, n_cpus: usize, now: Instant) -> Option<Instant> {
        let nth_latest = self.calls.values().rev().nth(n_cpus - 1)?;
        Some(*nth_latest + BUSY_TIME).filter(|end| *end > now)
    }

    /// A call of this program begins; its number.
    pub(super) fn call(&mut self, key: &Key) -> u64 {
        let mut program = match self.programs.iter().rposition(|it| it.key == *key) {
            Some(at) => self.programs.remove(at),
            None => {
                self.makes_place();
                Program::new(key.clone())
            }
        };
        self.next_id += 1;
        program.last_call = self.next_id;
        program.n_calls += 1;
        program.most_calls = program.most_calls.max(program.n_calls);
        self.programs.push(program);
        self.calls.insert(self.next_id, Instant::now());
        self.next_id
    }

    /// Forgets the program that was called least lately, where there is no place for another one.
    fn makes_place(&mut self) {
        let is_plain = |it: &Program| it.useless.is_none() && it.changes.is_none();
        if self.programs.iter().filter(|it| is_plain(it)).count() >= PROGRAMS
            && let Some(at) = self.programs.iter().position(is_plain)
        {
            self.programs.remove(at);
        }
        if self.programs.len() >= ALL_PROGRAMS {
            self.programs.remove(0);
        }
    }

    /// A process of this program could not wait; `is_restless` says that files changed meanwhile.
    pub(super) fn was_useless(
        &mut self,
        key: &Key,
        why: ColdStart,
        files: &Arc<StartFiles>,
        is_restless: bool,
    ) {
        let Some(program) = self.program(key) else { return };
        let before = program.useless.take();
        let useless = Useless {
            n_processes: before.as_ref().map_or(0, |it| it.n_processes) + 1,
            why,
            files: Arc::clone(files),
            is_restless: is_restless || before.is_some_and(|it| it.is_restless),
        };
        program.why = useless.cold_start();
        program.useless = Some(useless);
    }

    /// A process of this program waited, was started at `started`, and was given up: this has changed meanwhile.
    pub(super) fn was_outdated(
        &mut self,
        key: &Key,
        started: Instant,
        by: PathBuf,
        files: &Arc<StartFiles>,
    ) {
        let Some(program) = self.program(key) else { return };
        let why = ColdStart::Changed(by);
        let useless = program.changes.add(started);
        let useless = useless.then(|| Useless::by_itself(why.clone(), Arc::clone(files)));
        program.why = useless.as_ref().map_or(why, Useless::cold_start);
        program.useless = useless;
    }

    /// Takes what came of a start after a call that began when there were `n_ends` ends; gives back a process that is not to
    /// wait.
    pub(super) fn started(
        &mut self,
        key: &Key,
        res: Result<Idle, ColdStart>,
        n_ends: u64,
        keep: impl FnOnce(&Idle) -> AbortHandle,
    ) -> Option<Idle> {
        let is_current = self.n_ends == n_ends && !self.is_closed;
        let Some(program) = self.program(key) else { return res.ok() };
        program.n_starting = program.n_starting.saturating_sub(1);
        match res {
            Err(why) => {
                program.why = why;
                None
            }
            Ok(idle) if !is_current => Some(idle),
            Ok(mut idle) => {
                idle.task = Some(keep(&idle));
                program.why = ColdStart::NoneWaiting;
                program.waiting.push(idle);
                None
            }
        }
    }

    /// Whether a process may be started; makes room for it, at the cost of programs that were called less lately.
    pub(super) fn makes_room(&mut self, key: &Key, most: usize) -> bool {
        if self.is_closed {
            return false;
        }
        if !self.program(key).is_some_and(|it| it.wants_more(most)) {
            return false;
        }
        if self.n_processes() >= most {
            let other =
                self.programs.iter_mut().find(|it| it.key != *key && !it.waiting.is_empty());
            let Some(other) = other else { return false };
            other.waiting.remove(0);
            other.most_calls = other.n_calls;
        }
        if let Some(program) = self.program(key) {
            program.n_starting += 1;
        }
        true
    }
}

impl Program {
    /// One of its processes is fit to wait, or it is another program now.
    pub(super) fn is_fit(&mut self) {
        (self.useless, self.changes, self.after_call) = (None, Changes::default(), None);
    }

    fn new(key: Key) -> Self {
        Self {
            key,
            waiting: Vec::new(),
            n_pending: 0,
            n_starting: 0,
            n_calls: 0,
            most_calls: 0,
            last_call: 0,
            useless: None,
            changes: Changes::default(),
            after_call: None,
            why: ColdStart::NoneWaiting,
        }
    }

    /// Whether as many processes as calls ran at once do not wait yet, of at most so many.
    pub(super) fn wants_more(&self, most: usize) -> bool {
        self.waiting.len() + self.n_pending + self.n_starting < self.most_calls.min(most)
    }
}

/// The spec that all calls of one program share. Its output is read from the start, to see whether it waits; what is kept
/// of it is the call's own. Of a deadline only the call knows.
fn less_its_input(spec: &Spec) -> Spec {
    let mut res = spec.clone();
    res.stdin = Stdin::Piped;
    res.deadline = None;
    let shared = |it: &mut Output| {
        if let Output::Captured(_) = it {
            *it = Output::Piped;
        }
    };
    shared(&mut res.stdout);
    if let ErrorOutput::Separate(output) = &mut res.stderr {
        shared(output);
    }
    res
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::{Capabilities, ExecError, Running};

    /// `begun_ms` are the times of the calls that run, from the oldest on.
    #[track_caller]
    fn check(n_cpus: usize, begun_ms: &[u64], now_ms: u64, expect_ms: Option<u64>) {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let calls = (0..).zip(begun_ms).map(|(n, ms)| (n, at(*ms))).collect();
        let state = State { calls, ..State::default() };
        assert_eq!(state.busy_until(n_cpus, at(now_ms)), expect_ms.map(at));
    }

    #[test]
    fn a_start_waits_for_a_cpu_that_no_young_call_needs() {
        check(1, &[], 0, None);
        check(2, &[0], 10, None);
        // The older one of two leaves first.
        check(2, &[0, 400], 500, Some(1000));
        check(2, &[0, 400, 500], 500, Some(1400));
        check(1, &[0, 400], 500, Some(1400));
    }

    #[test]
    fn a_long_call_keeps_no_cpu() {
        check(1, &[0], 999, Some(1000));
        check(1, &[0], 1000, None);
        check(2, &[0, 10, 20], 1010, None);
        check(2, &[0, 10, 20], 1000, Some(1010));
    }

    #[derive(Debug)]
    struct NoExecutor(Capabilities);

    #[async_trait]
    impl Executor for NoExecutor {
        fn capabilities(&self) -> &Capabilities {
            &self.0
        }

        async fn preflight(&self, _spec: &Spec) -> Result<(), ExecError> {
            unreachable!("it is not asked")
        }

        async fn start(&self, _spec: Spec) -> Result<Running, ExecError> {
            unreachable!("nothing is started")
        }
    }

    #[test]
    fn a_program_that_does_not_wait_is_remembered_longer_than_others() {
        let executor: Arc<dyn Executor> = Arc::new(NoExecutor(Capabilities::new("none")));
        let key = |n: usize| Key::new(&executor, &Spec::new(format!("/{n}")));
        let mut state = State::default();
        let mut called = |n: usize, is_useless: bool| {
            state.call(&key(n));
            if is_useless {
                state.was_useless(&key(n), ColdStart::Printed, &Arc::default(), false);
            }
            let is_known =
                |n: usize| state.programs.iter().any(|it| it.key == key(n) && it.useless.is_some());
            (state.programs.len(), is_known(0))
        };
        assert_eq!(called(0, true), (1, true));
        for n in 1..=2 * PROGRAMS {
            assert_eq!(called(n, false), (1 + n.min(PROGRAMS), true));
        }
        let first = 2 * PROGRAMS + 1;
        for n in first..first + ALL_PROGRAMS - PROGRAMS - 1 {
            assert!(called(n, true).1, "{n}");
        }
        for n in first + ALL_PROGRAMS..first + ALL_PROGRAMS + PROGRAMS {
            assert!(called(n, true).0 <= ALL_PROGRAMS, "{n}");
        }
        assert!(!called(1, false).1, "it was called least lately");
    }
}
