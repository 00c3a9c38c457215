//! Processes that are futures: a tree of them for each call, groups, sessions and signals.
//!
//! A [`Tree`] is the table of the processes of one call. [`Process`] is the task that runs one of
//! them: before each step it looks whether the process was killed or stopped. So a signal takes
//! effect where the program waits, never in the middle of its own code.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tokio::sync::{mpsc, watch};

use super::{Body, Files, Writer, lock};
use crate::{Environment, Exit, KillScope, Signal, traits::BoxedReader};

/// SIGCONT of signal(7).
const CONT: Signal = Signal(18);
/// SIGSTOP of signal(7).
const STOP: Signal = Signal(19);
/// Signals that a program does not notice unless it asks for them (signal(7)).
const CHLD: Signal = Signal(17);

/// What a process does with a signal. `SIGKILL` and `SIGSTOP` are beyond its say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disposition {
    /// It ends, stops or goes on, as signal(7) says.
    Default,
    /// Nothing.
    Ignore,
    /// [`Call::caught`] gives the signal.
    Catch,
}

/// A running program, seen from the inside: what it was given and what it can do.
///
/// ```
/// use flyto_execenv::{ExecEnv, Exit, Spec, scripted::{Call, Scripted}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let backend = Scripted::new().program("/bin/greet", async |call: Call| {
///     let name = call.env.get("NAME").and_then(|it| it.to_str()).unwrap_or("stranger");
///     call.stdout.line(&format!("hello {name}")).await;
///     // A child that outlives its parent is ended with the call.
///     call.spawn(async |_| std::future::pending::<Exit>().await);
///     Exit::Code(0)
/// });
/// let outcome = ExecEnv::new(backend).run(Spec::new("/bin/greet").env_var("NAME", "Ada")).await?;
/// assert_eq!(&*outcome.stdout.bytes(), b"hello Ada\n");
/// # Ok(()) }
/// ```
#[non_exhaustive]
pub struct Call {
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Environment,
    /// Its working directory.
    pub working_dir: PathBuf,
    /// What it reads.
    pub stdin: BoxedReader,
    /// Where it writes.
    pub stdout: Writer,
    /// Where it writes errors; the same file as stdout where the spec merges them.
    pub stderr: Writer,
    /// The files of the machine.
    pub files: Files,
    pub(super) me: Me,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.me.id).field("args", &self.args).finish()
    }
}

impl Call {
    /// Its process id, unique among all in-memory processes of this process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.me.id
    }

    /// Sets what it does with a signal. Children inherit what it ignores.
    ///
    /// A signal that was not set does what [`Disposition::Default`] says.
    pub fn on(&self, signal: Signal, disposition: Disposition) {
        lock(&self.me.state).dispositions.insert(signal, disposition);
    }

    /// Waits for the next signal that it catches.
    ///
    /// Signals that come while the program does something else wait in a queue. Never returns where
    /// no signal is caught.
    pub async fn caught(&mut self) -> Signal {
        // The sender is in our own state, so that the channel stays open.
        match self.me.caught.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }

    /// Sends a signal to itself, like raise(3). It takes effect at the next `await`.
    pub fn raise(&self, signal: Signal) {
        deliver(&self.me.state, signal);
    }

    /// Starts a child in its own group, with its streams but no input. Returns the child's id.
    pub fn spawn<R>(&self, body: impl FnOnce(Call) -> R + Send + 'static) -> u32
    where
        R: Future<Output = Exit> + Send + 'static,
    {
        self.spawn_in(self.me.group, body)
    }

    /// Starts a child in a session and a group of its own, out of reach of a signal to the group.
    pub fn spawn_session<R>(&self, body: impl FnOnce(Call) -> R + Send + 'static) -> u32
    where
        R: Future<Output = Exit> + Send + 'static,
    {
        self.spawn_in(None, body)
    }

    /// `None` is a session of its own. The child has its parent's arguments, environment, directory
    /// and outputs, and no input.
    fn spawn_in<R>(&self, group: Option<u32>, body: impl FnOnce(Call) -> R + Send + 'static) -> u32
    where
        R: Future<Output = Exit> + Send + 'static,
    {
        let ignored = lock(&self.me.state)
            .dispositions
            .iter()
            .filter(|(_, it)| **it == Disposition::Ignore)
            .map(|(signal, it)| (*signal, *it))
            .collect();
        let tree = Arc::clone(&self.me.tree);
        let me = tree.register(group, ignored);
        let id = me.id;
        let call = Call {
            args: self.args.clone(),
            env: self.env.clone(),
            working_dir: self.working_dir.clone(),
            stdin: super::streams::nothing(),
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
            files: self.files.clone(),
            me,
        };
        tree.begin(call, body);
        id
    }
}

/// A process's own end of its entry in the table.
///
/// Belongs to the [`Call`] of the process.
pub(super) struct Me {
    id: u32,
    group: Option<u32>,
    tree: Arc<Tree>,
    state: Arc<Mutex<State>>,
    caught: mpsc::UnboundedReceiver<Signal>,
}

/// Shared by the process and by those that signal it.
struct State {
    dispositions: BTreeMap<Signal, Disposition>,
    caught: mpsc::UnboundedSender<Signal>,
    /// The first signal that ends it; later ones change nothing.
    killed_by: Option<Signal>,
    is_stopped: bool,
    /// The task of the process, where it waits.
    waker: Option<Waker>,
}

/// Wakes the process where something has changed for it.
fn deliver(state: &Mutex<State>, signal: Signal) {
    let mut state = lock(state);
    let disposition = match signal {
        Signal::KILL | STOP => Disposition::Default,
        _ => *state.dispositions.get(&signal).unwrap_or(&Disposition::Default),
    };
    // Even an ignored SIGCONT wakes a stopped process.
    if signal == CONT {
        state.is_stopped = false;
    }
    match disposition {
        Disposition::Ignore => {}
        Disposition::Catch => drop(state.caught.send(signal)),
        Disposition::Default => match signal {
            CONT | CHLD => {}
            STOP => state.is_stopped = true,
            signal => state.killed_by = state.killed_by.or(Some(signal)),
        },
    }
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

/// The processes of one call.
pub(super) struct Tree {
    leader: u32,
    /// By process id. An entry goes when the process ends.
    alive: Mutex<BTreeMap<u32, Entry>>,
    /// Told after each end; carries the leader's exit.
    exit: watch::Sender<Option<Exit>>,
}

/// A process without its group's leader keeps its group, as on a real system.
struct Entry {
    group: u32,
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("leader", &self.leader).finish_non_exhaustive()
    }
}

/// The next process id; 1 is not given out.
static NEXT_ID: AtomicU32 = AtomicU32::new(2);

impl Tree {
    /// A tree whose leader has its id and is not running yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            leader: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            alive: Mutex::default(),
            exit: watch::Sender::new(None),
        })
    }

    /// The entry of the leader; asked for once.
    pub(super) fn leader(self: &Arc<Self>) -> Me {
        self.enter(self.leader, Some(self.leader), BTreeMap::new())
    }

    /// An entry with a new id.
    fn register(
        self: &Arc<Self>,
        group: Option<u32>,
        dispositions: BTreeMap<Signal, Disposition>,
    ) -> Me {
        self.enter(NEXT_ID.fetch_add(1, Ordering::Relaxed), group, dispositions)
    }

    /// `None` for the group is a group of the process's own.
    fn enter(
        self: &Arc<Self>,
        id: u32,
        group: Option<u32>,
        dispositions: BTreeMap<Signal, Disposition>,
    ) -> Me {
        let group = group.unwrap_or(id);
        let (sender, caught) = mpsc::unbounded_channel();
        let state = Arc::new(Mutex::new(State {
            dispositions,
            caught: sender,
            killed_by: None,
            is_stopped: false,
            waker: None,
        }));
        lock(&self.alive).insert(id, Entry { group, state: Arc::clone(&state) });
        Me { id, group: Some(group), tree: Arc::clone(self), state, caught }
    }

    /// Lets a process run.
    pub(super) fn begin<R>(self: &Arc<Self>, call: Call, body: impl FnOnce(Call) -> R)
    where
        R: Future<Output = Exit> + Send + 'static,
    {
        let (id, state) = (call.me.id, Arc::clone(&call.me.state));
        let body: Body = Box::pin(body(call));
        tokio::spawn(Process { body: Some(body), id, state, tree: Arc::clone(self) });
    }

    /// The processes that a scope covers at this moment.
    fn in_scope(&self, scope: KillScope) -> Vec<Arc<Mutex<State>>> {
        let alive = lock(&self.alive);
        let in_scope = alive.iter().filter(|(id, it)| match scope {
            KillScope::Leader => **id == self.leader,
            KillScope::Group => it.group == self.leader,
            KillScope::Tree => true,
        });
        in_scope.map(|(_, it)| Arc::clone(&it.state)).collect()
    }

    /// How many processes of the scope are alive.
    pub(super) fn count(&self, scope: KillScope) -> usize {
        self.in_scope(scope).len()
    }

    /// Processes that start afterwards do not get it.
    pub(super) fn signal(&self, signal: Signal, scope: KillScope) {
        for state in self.in_scope(scope) {
            deliver(&state, signal);
        }
    }

    /// The leader's exit, once it has ended.
    pub(super) fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Waits for the leader's end.
    pub(super) async fn leader_exit(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        match exit.wait_for(Option::is_some).await.map(|it| *it) {
            Ok(Some(exit)) => exit,
            _ => unreachable!("the sender is in `self`, and the value was waited for"),
        }
    }

    /// Waits until nothing of the scope is alive.
    pub(super) async fn gone(&self, scope: KillScope) {
        let mut changes = self.exit.subscribe();
        while self.count(scope) > 0 {
            // The sender is in `self`.
            let _ = changes.changed().await;
        }
    }

    /// Takes the process out of the table and tells those that wait for it.
    fn ended(&self, id: u32, exit: Exit) {
        lock(&self.alive).remove(&id);
        self.exit.send_modify(|it| {
            if id == self.leader {
                *it = Some(exit);
            }
        });
    }
}

/// Runs one process until it ends, is killed, or its runtime goes.
///
/// Dropping it, as a runtime does that shuts down, ends the process.
struct Process {
    body: Option<Body>,
    id: u32,
    state: Arc<Mutex<State>>,
    tree: Arc<Tree>,
}

impl Process {
    fn end(&mut self, exit: Exit) {
        // Its streams close before its end is reported.
        self.body = None;
        self.tree.ended(self.id, exit);
    }
}

impl Future for Process {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        {
            let mut state = lock(&self.state);
            state.waker = Some(cx.waker().clone());
            match (state.killed_by, state.is_stopped) {
                // A stopped process hears nothing but SIGKILL.
                (Some(signal), stopped) if !stopped || signal == Signal::KILL => {
                    drop(state);
                    self.end(Exit::Signal(signal));
                    return Poll::Ready(());
                }
                (_, true) => return Poll::Pending,
                _ => {}
            }
        }
        let Some(body) = &mut self.body else { return Poll::Ready(()) };
        match body.as_mut().poll(cx) {
            Poll::Ready(exit) => {
                self.end(exit);
                Poll::Ready(())
            }
            Poll::Pending => {
                // It may have raised a signal itself.
                let state = lock(&self.state);
                if state.killed_by.is_some() && !state.is_stopped {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.body.is_some() {
            // The runtime is gone, or the program panicked.
            self.end(Exit::Signal(Signal::KILL));
        }
    }
}
