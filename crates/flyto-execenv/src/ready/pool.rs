//! All processes that wait, within their bounds.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread::available_parallelism,
    time::{Duration, SystemTime},
};

use tokio::{
    runtime::Handle,
    sync::Notify,
    task::spawn_blocking,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

use super::{
    ColdStart, ReadyOptions, StartFiles,
    idle::{Held, Idle},
    looks::{FIRST_LOOK, above_bound, measure, until_next_look},
    state::{Key, State},
    useless::Useless,
    watch::Watch,
};
use crate::{Capability, ExecError, Executor, Exit, MemoryMeter, Spec};

/// How long a start that is under way is waited for at the end: 5 s.
const START_TIME: Duration = Duration::from_secs(5);

/// How often files that have just changed, as by the call that is over, are looked at again before a start: 10 times.
const SETTLING_LOOKS: u32 = 10;

/// The processes of one [`ExecEnv`](crate::ExecEnv) that wait for calls. They end with it.
#[derive(Debug)]
pub(crate) struct Pool {
    options: ReadyOptions,
    /// How many threads can run at once.
    n_cpus: usize,
    state: Mutex<State>,
    /// Told when a start may find a free CPU.
    free: Arc<Notify>,
    /// Told when no process is being started any more.
    quiet: Notify,
}

/// A call of a program that may be started before. When it is dropped, the call is over, and the next process starts once no
/// other call needs the CPU.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    next: Next,
    call: u64,
}

/// The process that is to be started after a call.
#[derive(Clone)]
struct Next {
    key: Key,
    /// How often all were ended before the call. After a further time the program may be one that is gone.
    n_ends: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (pool, next) = (Arc::clone(&self.pool), self.next.clone());
        {
            let mut state = pool.state();
            state.calls.remove(&self.call);
            if let Some(program) = state.program(&next.key) {
                program.n_calls = program.n_calls.saturating_sub(1);
            }
            pool.tell_free(&state);
        }
        // A host that ends needs no further process.
        if let Ok(runtime) = Handle::try_current() {
            let pool = Arc::downgrade(&pool);
            runtime.spawn(async move { start_next(pool, next).await });
        }
    }
}

impl Pool {
    pub(crate) fn new(options: ReadyOptions) -> Option<Arc<Self>> {
        let keeps_some =
            options.processes > 0 && !options.idle.is_zero() && options.memory_bytes > 0;
        keeps_some.then(|| {
            let n_cpus = available_parallelism().map_or(1, usize::from);
            let (state, free, quiet) = Default::default();
            Arc::new(Self { options, n_cpus, state, free, quiet })
        })
    }

    /// How many wait.
    pub(crate) fn n_waiting(&self) -> usize {
        self.state().programs.iter().map(|it| it.waiting.len()).sum()
    }

    /// Ends all that wait, and those that are being started.
    pub(crate) fn end_all(&self) {
        let mut state = self.state();
        state.n_ends += 1;
        for program in &mut state.programs {
            program.waiting.clear();
            program.is_fit();
        }
    }

    /// Ends all that wait, and those that are being started, and returns when they are gone; no other one will wait.
    pub(crate) async fn close(&self) {
        self.state().is_closed = true;
        self.make_way().await;
    }

    /// Whether a process waits or is being started to wait.
    pub(crate) fn holds_any(&self) -> bool {
        let state = self.state();
        state.n_starts > 0 || state.programs.iter().any(|it| !it.waiting.is_empty())
    }

    /// Ends all that wait, and those that are being started, and returns when they are gone. None is started after a call that runs.
    pub(crate) async fn make_way(&self) {
        let waiting = {
            let mut state = self.state();
            state.n_ends += 1;
            let waiting = state.programs.iter_mut().flat_map(|it| std::mem::take(&mut it.waiting));
            waiting.collect()
        };
        Idle::end(waiting).await;
        let quiet = async {
            loop {
                let quiet = self.quiet.notified();
                if self.state().n_starts == 0 {
                    return;
                }
                quiet.await;
            }
        };
        // A backend that does not come to an end of a start does not keep the host.
        let _ = timeout(START_TIME, quiet).await;
    }

    /// Lets one of the starts that wait look for a free CPU.
    fn tell_free(&self, state: &State) {
        if state.busy_until(self.n_cpus, Instant::now()).is_none() {
            self.free.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process that waits for a call of this spec, or why there is none.
    ///
    /// The spec has passed the policy of its class, and reads bytes.
    pub(crate) async fn take(
        self: &Arc<Self>,
        executor: &Arc<dyn Executor>,
        spec: &Spec,
    ) -> (Lease, Result<Held, ColdStart>) {
        let key = Key::new(executor, spec);
        let (call, n_ends) = {
            let mut state = self.state();
            (state.call(&key), state.n_ends)
        };
        let next = Next { key: key.clone(), n_ends };
        let lease = Lease { pool: Arc::clone(self), next, call };
        let held = self.take_waiting(&key).await;
        (lease, held)
    }

    async fn take_waiting(&self, key: &Key) -> Result<Held, ColdStart> {
        let mut files = None;
        let why = loop {
            let (mut idle, why) = {
                let mut state = self.state();
                let Some(program) = state.program(key) else { return Err(ColdStart::NoneWaiting) };
                let why = program.why.clone();
                match program.waiting.is_empty() {
                    true => break why,
                    // The one that has waited longest has loaded.
                    false => (program.waiting.remove(0), why),
                }
            };
            let look = idle.look().await;
            // Another runtime's may be lost to this one, which tells nothing about the program.
            if let Err(ColdStart::NotStarted(_)) = look {
                continue;
            }
            // As late as can be.
            if let (Ok(()), Some(path)) = (&look, idle.outdated_by()) {
                self.state().was_outdated(key, idle.started, path, &idle.files);
                continue;
            }
            let now = match &files {
                Some(files) => files,
                None => files.insert(Arc::new(key.executor.start_files(&key.spec)?)),
            };
            match (look, idle.files.difference(now)) {
                (Ok(()), None) => {
                    let used = idle.usage();
                    if let Some(cpu) = above_bound(key, used.cpu()) {
                        self.state().was_useless(key, ColdStart::Busy { cpu }, now, false);
                        continue;
                    }
                    if let Some(program) = self.state().program(key) {
                        program.is_fit();
                    }
                    let takes_signals = key.executor.capabilities().has(Capability::Signals);
                    return idle.take(used, takes_signals).ok_or(why);
                }
                (look, Some(path)) => {
                    return Err(self.has_changed(key, idle.started, now, path, look.err()));
                }
                (Err(why), None) => self.state().was_useless(key, why, now, false),
            }
        };
        self.look_whether_edited(key);
        Err(why)
    }

    /// Has a program started before its calls again that is not since files changed while its processes waited, once they
    /// are others than after its last call: no process of it has written them.
    fn look_whether_edited(&self, key: &Key) {
        let before = {
            let mut state = self.state();
            let alone = state.program(key).filter(|it| it.n_calls == 1);
            alone.and_then(|it| it.after_call.take())
        };
        let Some(before) = before else { return };
        let Ok(now) = key.executor.start_files(&key.spec) else { return };
        if let Some(program) = self.state().program(key) {
            match now == before {
                true => program.changes.is_quiet(),
                false => program.is_fit(),
            }
        }
    }

    /// Ends a process of a program that would be started in another way now. One that was started since may wait.
    fn is_outdated(&self, key: &Key, id: u64, by: PathBuf) {
        let mut state = self.state();
        let Some(program) = state.program(key) else { return };
        let Some(at) = program.waiting.iter().position(|it| it.id == id) else { return };
        // Dropped when the lock is free again.
        let idle = program.waiting.remove(at);
        state.was_outdated(key, idle.started, by, &idle.files);
        drop(state);
    }

    /// Takes that a process has ended while it waited, with the files as they are now: it did not wait. What it left is ended.
    fn has_ended(
        &self,
        key: &Key,
        id: u64,
        ended: Result<Exit, ExecError>,
        files: Result<StartFiles, ColdStart>,
    ) {
        let mut state = self.state();
        let Some(program) = state.program(key) else { return };
        let Some(at) = program.waiting.iter().position(|it| it.id == id) else { return };
        // Dropped when the lock is free again.
        let idle = program.waiting.remove(at);
        match (ended, files) {
            (Ok(exit), Ok(now)) => {
                let is_restless = idle.files.difference(&now).is_some();
                state.was_useless(key, ColdStart::Ended(exit), &Arc::new(now), is_restless);
            }
            (Ok(_), Err(why)) => program.why = why,
            // It was lost, which tells nothing about the program.
            (Err(_), _) => {}
        }
        drop(state);
    }

    /// Ends what waits of a program: since the start of one, this file has changed. A process that also did not wait counts by that
    /// reason.
    fn has_changed(
        &self,
        key: &Key,
        started: Instant,
        now: &Arc<StartFiles>,
        path: &Path,
        why: Option<ColdStart>,
    ) -> ColdStart {
        let changed = ColdStart::Changed(path.to_owned());
        let mut state = self.state();
        let Some(program) = state.program(key) else { return changed };
        let waiting = std::mem::take(&mut program.waiting);
        match why {
            Some(why) => state.was_useless(key, why, now, true),
            None => state.was_outdated(key, started, path.to_owned(), now),
        }
        let why = state.program(key).map_or(changed, |it| it.why.clone());
        drop(state);
        drop(waiting);
        why
    }

    /// What was found when a process that waits was looked at: its files as they are now, and what it holds, so many bytes of
    /// memory.
    fn looked_at(&self, key: &Key, id: u64, files: Result<StartFiles, ColdStart>, bytes: u64) {
        let (started, before) = {
            let mut state = self.state();
            let Some(program) = state.program(key) else { return };
            let Some(idle) = program.waiting.iter().find(|it| it.id == id) else { return };
            (idle.started, Arc::clone(&idle.files))
        };
        match files {
            Ok(now) => match before.difference(&now) {
                Some(path) => {
                    self.has_changed(key, started, &Arc::new(now.clone()), path, None);
                }
                None => self.measured(key, id, bytes),
            },
            Err(why) => {
                if let Some(program) = self.state().program(key) {
                    program.waiting.clear();
                    program.why = why;
                }
            }
        }
    }

    /// Ends a process of a program that has used this much processor time, more than it may: it does not wait.
    fn has_worked(&self, key: &Key, id: u64, cpu: Duration) {
        let mut state = self.state();
        let Some(program) = state.program(key) else { return };
        let Some(idle) = program.waiting.iter().find(|it| it.id == id) else { return };
        let files = Arc::clone(&idle.files);
        program.waiting.retain(|it| it.id != id);
        state.was_useless(key, ColdStart::Busy { cpu }, &files, false);
    }

    /// Takes what a process of a program holds, so many bytes of memory, and ends processes until all that wait hold no more than
    /// they may; those of the program that was called least lately go first.
    fn measured(&self, key: &Key, id: u64, bytes: u64) {
        let most = self.options.memory_bytes;
        let mut state = self.state();
        let Some(program) = state.program(key) else { return };
        let Some(idle) = program.waiting.iter_mut().find(|it| it.id == id) else { return };
        idle.memory_bytes = bytes;
        if bytes > most {
            let files = Arc::clone(&idle.files);
            program.waiting.retain(|it| it.id != id);
            return state.was_useless(key, ColdStart::TooLarge { bytes }, &files, false);
        }
        let mut left = most;
        for program in state.programs.iter_mut().rev() {
            program.waiting.retain(|idle| match left.checked_sub(idle.memory_bytes) {
                Some(rest) => {
                    left = rest;
                    true
                }
                None => {
                    program.why = ColdStart::Memory;
                    false
                }
            });
        }
    }

    /// Ends a process that has waited as long as it may.
    fn end_waiting(&self, key: &Key, id: u64) {
        let mut state = self.state();
        let Some(program) = state.program(key) else { return };
        program.waiting.retain(|it| it.id != id);
        program.most_calls = program.n_calls;
    }
}

/// A process that is being started. When it is dropped, the start is over.
struct Start(Weak<Pool>);

impl Drop for Start {
    fn drop(&mut self) {
        let Some(pool) = self.0.upgrade() else { return };
        let mut state = pool.state();
        state.n_starts = state.n_starts.saturating_sub(1);
        pool.tell_free(&state);
        if state.n_starts == 0 {
            pool.quiet.notify_waiters();
        }
    }
}

/// Waits until a CPU is free for a process of a program: a start is in no call's way. `false` where enough of its processes
/// wait, or are waited for here, and where all were ended since its call began.
async fn until_free(weak: &Weak<Pool>, next: &Next) -> bool {
    let mut is_pending = false;
    loop {
        let (free, end) = {
            let Some(pool) = weak.upgrade() else { return false };
            let free = Arc::clone(&pool.free);
            let mut state = pool.state();
            let end = state.busy_until(pool.n_cpus, Instant::now()).filter(|_| !state.is_closed);
            let is_void = state.n_ends != next.n_ends;
            let Some(program) = state.program(&next.key) else { return false };
            if is_pending {
                program.n_pending = program.n_pending.saturating_sub(1);
            }
            if is_void || !program.wants_more(pool.options.processes) {
                // It has no use for what it was told.
                pool.tell_free(&state);
                return false;
            }
            let Some(end) = end else { return true };
            program.n_pending += 1;
            (free, end)
        };
        is_pending = true;
        let _ = timeout_at(end, free.notified()).await;
    }
}

/// Starts the process for the next call of a program, unless enough of them wait, or all were ended since its call began.
async fn start_next(weak: Weak<Pool>, next: Next) {
    if !until_free(&weak, &next).await {
        return;
    }
    let Next { key, n_ends } = next;
    let (id, _start) = {
        let Some(pool) = weak.upgrade() else { return };
        let mut state = pool.state();
        if state.n_ends != n_ends || !state.makes_room(&key, pool.options.processes) {
            return;
        }
        state.next_id += 1;
        state.n_starts += 1;
        (state.next_id, Start(Weak::clone(&weak)))
    };
    let res = start(&weak, &key).await;
    // From here on, dropping it ends it before its input.
    let res = res.map(|(running, started, files)| Idle::new(id, running, started, files));
    let Some(pool) = weak.upgrade() else { return };
    let unwanted = pool.state().started(&key, res, n_ends, |idle| {
        let watcher = IdleWatcher::new(Weak::clone(&weak), key.clone(), idle);
        tokio::spawn(watcher.keep(pool.options.idle)).abort_handle()
    });
    Idle::end(unwanted.into_iter().collect()).await;
}

/// Starts a process of the program.
///
/// # Errors
///
/// Why it is better not started, or could not be.
async fn start(
    pool: &Weak<Pool>,
    key: &Key,
) -> Result<(crate::Running, Instant, StartFiles), ColdStart> {
    if !key.executor.capabilities().has(Capability::PipedStreams) {
        return Err(ColdStart::Unsupported);
    }
    let last_call = pool.upgrade().and_then(|it| it.state().program(key).map(|it| it.last_call));
    let mut files = start_files(key).await?;
    if let Some(pool) = pool.upgrade()
        && let Some(program) = pool.state().program(key)
    {
        let turned_off = program.useless.as_ref().filter(|it| it.turns_off(&files));
        let why = turned_off.map(Useless::cold_start);
        if let Some(why) = why.or_else(|| program.changes.hold_back(&program.why)) {
            // What another call may have written since says nothing of an edit.
            let is_after = program.n_calls == 0 && Some(program.last_call) == last_call;
            program.after_call = is_after.then_some(files);
            return Err(why);
        }
        if program.useless.as_ref().is_some_and(Useless::is_off) {
            program.is_fit();
        }
    }
    // Many programs write something within a call.
    for _ in 0..SETTLING_LOOKS {
        if files.is_settled(SystemTime::now()) {
            break;
        }
        sleep(StartFiles::SETTLING).await;
        files = start_files(key).await?;
    }
    if !files.is_settled(SystemTime::now()) {
        return Err(ColdStart::Unsettled);
    }
    let started = Instant::now();
    let running = key.executor.start((*key.spec).clone()).await;
    let running = running.map_err(|err| ColdStart::not_started(&err))?;
    Ok((running, started, files))
}

/// The files of a program, looked at on a thread that this may block: no call waits for it.
async fn start_files(key: &Key) -> Result<StartFiles, ColdStart> {
    let Key { executor, spec } = key.clone();
    let files = spawn_blocking(move || executor.start_files(&spec)).await;
    files.unwrap_or(Err(ColdStart::NoneWaiting))
}

/// Looks after one process of a program that waits, until a call takes it or its time is over.
struct IdleWatcher {
    pool: Weak<Pool>,
    key: Key,
    id: u64,
    watch: Arc<Watch>,
    meter: Option<MemoryMeter>,
}

impl IdleWatcher {
    fn new(pool: Weak<Pool>, key: Key, idle: &Idle) -> Self {
        let (watch, meter) = (Arc::clone(&idle.watch), idle.meter());
        Self { pool, key, id: idle.id, watch, meter }
    }

    /// Sees its end at once, so that nothing that it left goes on without a call.
    async fn keep(self, idle_time: Duration) {
        tokio::select! {
            ended = self.watch.ended() => self.take_end(ended).await,
            () = self.look(idle_time) => {}
        }
    }

    async fn take_end(&self, ended: Result<Exit, ExecError>) {
        let files = start_files(&self.key).await;
        if let Some(pool) = self.pool.upgrade() {
            pool.has_ended(&self.key, self.id, ended, files);
        }
    }

    /// Looks at it from time to time, and ends it when its time is over.
    async fn look(&self, idle_time: Duration) {
        // A time beyond the clock's range has no end.
        let end = Instant::now().checked_add(idle_time);
        let mut next = Instant::now() + FIRST_LOOK;
        let most = self.key.spec.ready.as_ref().and_then(|it| it.cpu_time);
        let mut before = Duration::ZERO;
        while end.is_none_or(|end| next < end) {
            sleep_until(next).await;
            let (outdated_by, cpu) = self.watch.look().await;
            let files = start_files(&self.key).await;
            let bytes = measure(self.meter.as_ref()).await.unwrap_or(0);
            let Some(pool) = self.pool.upgrade() else { return };
            match outdated_by {
                Some(path) => pool.is_outdated(&self.key, self.id, path),
                None => match above_bound(&self.key, Some(cpu)) {
                    Some(cpu) => pool.has_worked(&self.key, self.id, cpu),
                    None => pool.looked_at(&self.key, self.id, files, bytes),
                },
            }
            next = Instant::now() + until_next_look(most, before, cpu);
            before = cpu;
        }
        if let Some(end) = end {
            sleep_until(end).await;
        }
        if let Some(pool) = self.pool.upgrade() {
            pool.end_waiting(&self.key, self.id);
        }
    }
}
