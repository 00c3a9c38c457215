//! The handle that callers hold.
//!
//! [`ExecEnv`] is all that a caller holds. Read [`ExecEnv::run_with`] for the order of one call:
//! the policy narrows the spec, the backend's capabilities are compared with what it demands, a
//! place in flight is taken, the backend starts it, and [`drive`] sees it to its end. Every refusal
//! comes before the start.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    num::NonZeroUsize,
    sync::Arc,
};

use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    Capabilities, Capability, Chunk, Class, Ending, ErrorOutput, ExecError, ExecErrorKind,
    ExecReadiness, Executor, Filesystem, Installed, Outcome, Output, Policies, Policy, Process,
    ReadyOptions, Spec, Stdin,
    begin::{begin, deadline_of, may_begin, want_all},
    drive::{Plan, drive, streams_of},
    ready::{Held, Pool},
    report::Report,
    spare::{Spare, is_short},
};

/// Calls in flight for each CPU, unless the host says otherwise.
///
/// Two CPUs are busy with 8 short calls in flight; more only lengthens the queue inside the system,
/// where every open descriptor makes the next start dearer (`cargo xtask bench call`).
pub const IN_FLIGHT_PER_CPU: usize = 16;

/// Where programs run: one executor or several, and what every call is bounded by.
///
/// The only driver for every backend. It applies the [`Policies`], refuses what the backend does not
/// declare, feeds input while it drains output, keeps deadline, grace and drain time, and ends what
/// is left over. Cheap to clone.
///
/// Calls need a Tokio runtime with time enabled, and with I/O enabled for the local backend.
///
/// ```
/// use flyto_execenv::{Class, ExecEnv, ExecErrorKind, Limits, Policies, Policy, Spec, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::builder(Local::new())
///     .policies(Policies::new().class(Class::EVOLVE, Policy::new().refuse("not on this machine")))
///     .build();
/// let hello = Spec::new("/bin/echo").arg("hello");
/// assert!(env.run(hello.clone().class(Class::USER_HOOK)).await?.success());
///
/// let err = env.run(hello.clone().class(Class::EVOLVE)).await.expect_err("it is refused");
/// assert_eq!(err.kind(), ExecErrorKind::Refused);
///
/// // The local backend keeps no bound on memory, so a spec that asks for one does not run without.
/// let err = env.run(hello.limits(Limits::new().memory_bytes(1 << 20))).await.expect_err("undeclared");
/// assert_eq!(err.kind(), ExecErrorKind::Unsupported);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ExecEnv {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Clone)]
pub(crate) struct Inner {
    default: Arc<dyn Executor>,
    named: Arc<BTreeMap<String, Arc<dyn Executor>>>,
    policies: Policies,
    in_flight: Arc<Semaphore>,
    max_in_flight: usize,
    /// `None` where no process waits for a call.
    pub(crate) ready: Option<Arc<Pool>>,
}

impl fmt::Debug for ExecEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecEnv")
            .field("default", &self.inner.default)
            .field("named", &self.inner.named)
            .field("policies", &self.inner.policies)
            .field("max_in_flight", &self.inner.max_in_flight)
            .finish()
    }
}

/// Puts an [`ExecEnv`] together.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use flyto_execenv::{Class, ExecEnv, Policies, Policy, Spec, scripted::Scripted};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// // Programs of one class run on another backend, which the policy names.
/// let apart = Scripted::new().program("/bin/hi", async |_| flyto_execenv::Exit::Code(7));
/// let policies = Policies::new().class(Class::EVOLVE, Policy::new().executor("apart"));
/// let env = ExecEnv::builder(Scripted::new())
///     .executor("apart", apart)
///     .policies(policies)
///     .max_in_flight(NonZeroUsize::MIN)
///     .build();
/// let outcome = env.run(Spec::new("/bin/hi").class(Class::EVOLVE)).await?;
/// assert_eq!(outcome.exit, Some(flyto_execenv::Exit::Code(7)));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ExecEnvBuilder {
    default: Arc<dyn Executor>,
    named: BTreeMap<String, Arc<dyn Executor>>,
    policies: Policies,
    max_in_flight: Option<NonZeroUsize>,
    ready: Option<ReadyOptions>,
}

impl ExecEnvBuilder {
    /// Adds an executor that a [`Policy`] can name.
    #[must_use]
    pub fn executor(mut self, name: impl Into<String>, executor: impl Executor) -> Self {
        self.named.insert(name.into(), Arc::new(executor));
        self
    }

    /// Sets what each class gets.
    #[must_use]
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Sets how many [`run`](ExecEnv::run) calls may be in flight at once; further ones wait for a
    /// place, outside their deadlines. The default is [`IN_FLIGHT_PER_CPU`] times the number of
    /// CPUs.
    #[must_use]
    pub fn max_in_flight(mut self, calls: NonZeroUsize) -> Self {
        self.max_in_flight = Some(calls);
        self
    }

    /// Keeps processes of programs that allow it ([`Spec::ready`]) started before they are called, within these bounds.
    /// Without it, each call starts its own. They end with the last clone of the handle, and where a start finds
    /// too few processes, descriptors or memory: then it is tried again.
    #[must_use]
    pub fn ready(mut self, options: ReadyOptions) -> Self {
        self.ready = Some(options);
        self
    }

    /// The finished handle.
    #[must_use]
    pub fn build(self) -> ExecEnv {
        let max_in_flight = self.max_in_flight.map_or_else(
            || {
                std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
                    * IN_FLIGHT_PER_CPU
            },
            |it| it.get().min(Semaphore::MAX_PERMITS),
        );
        ExecEnv {
            inner: Arc::new(Inner {
                default: self.default,
                named: Arc::new(self.named),
                policies: self.policies,
                in_flight: Arc::new(Semaphore::new(max_in_flight)),
                max_in_flight,
                ready: self.ready.and_then(Pool::new),
            }),
        }
    }
}

/// What one call wants beyond its spec.
///
/// ```
/// use flyto_execenv::{Chunk, ExecEnv, RunOptions, Spec, local::Local};
/// use tokio::sync::mpsc;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let (sender, mut chunks) = mpsc::channel::<Chunk>(4);
/// let spec = Spec::new("/bin/sh").args(["-c", "echo one; echo two"]);
/// // The program waits for an observer that does not take its output.
/// let observe = async {
///     let mut bytes = Vec::new();
///     while let Some(chunk) = chunks.recv().await {
///         bytes.extend_from_slice(&chunk.bytes);
///     }
///     bytes
/// };
/// let (outcome, seen) = tokio::join!(env.run_with(spec, RunOptions::new().observer(sender)), observe);
/// assert_eq!((seen.as_slice(), outcome?.success()), (&b"one\ntwo\n"[..], true));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Ends the call when it is cancelled: with the spec's grace, unlike dropping the future.
    pub cancel: CancellationToken,
    /// Gets every chunk of captured output as it arrives, while capture goes on. The channel is
    /// bounded, and a full one makes the program wait. Chunks that come while the program is being
    /// ended are captured and not sent.
    pub observer: Option<mpsc::Sender<Chunk>>,
}

impl RunOptions {
    /// Neither cancellation nor observer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the token that ends the call.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Sets the observer, which gets output as it arrives.
    #[must_use]
    pub fn observer(mut self, observer: mpsc::Sender<Chunk>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl ExecEnv {
    /// A handle with one executor and no policies.
    #[must_use]
    pub fn new(executor: impl Executor) -> Self {
        Self::builder(executor).build()
    }

    /// Starts to put a handle together around its default executor.
    #[must_use]
    pub fn builder(executor: impl Executor) -> ExecEnvBuilder {
        ExecEnvBuilder {
            default: Arc::new(executor),
            named: BTreeMap::new(),
            policies: Policies::default(),
            max_in_flight: None,
            ready: None,
        }
    }

    /// The same executors under further policies: of both, the stricter holds. Calls of the two handles share the
    /// places in flight, and the processes that wait.
    #[must_use]
    pub fn narrowed_by(&self, policies: &Policies) -> Self {
        let mut inner = (*self.inner).clone();
        inner.policies = inner.policies.narrowed_by(policies);
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn with_pool(&self, ready: Option<Arc<Pool>>) -> Self {
        Self { inner: Arc::new(Inner { ready, ..(*self.inner).clone() }) }
    }

    /// What the backend for `class` declares.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::Unsupported`] when the class's policy names an executor that is not there.
    pub fn capabilities(&self, class: &Class) -> Result<&Capabilities, ExecError> {
        self.executor_for(class).map(|it| it.capabilities())
    }

    /// What programs of `class` get.
    #[must_use]
    pub fn policy(&self, class: &Class) -> &Policy {
        self.inner.policies.get(class)
    }

    /// The spec as it would be run: narrowed by the policy of its class, and found acceptable.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::InvalidSpec`], [`ExecErrorKind::Refused`] or [`ExecErrorKind::Unsupported`], as
    /// [`run`](Self::run) would answer before anything starts.
    pub fn check(&self, mut spec: Spec) -> Result<Spec, ExecError> {
        self.admit(&mut spec)?;
        Ok(spec)
    }

    /// What is opened beyond the grants so that the program of this spec can start, and what stays closed of it. Nothing
    /// where its class opens no installations or grants no paths.
    #[must_use]
    pub fn installed(&self, mut spec: Spec) -> Installed {
        self.policy(&spec.class).apply(&mut spec);
        let executor = self.executor_for(&spec.class);
        executor.map(|it| self.installed_by(&**it, &spec)).unwrap_or_default()
    }

    fn installed_by(&self, executor: &dyn Executor, spec: &Spec) -> Installed {
        match (&self.policy(&spec.class).installs, &spec.isolation.filesystem) {
            (Some(places), Filesystem::Grants { .. }) => executor.installed(spec, places),
            _ => Installed::default(),
        }
    }

    /// What is known to keep a program from starting, without starting it: what [`check`](Self::check)
    /// finds, and what the backend can tell of the place where it runs, such as a program or a working
    /// directory that is not there. `Ok` promises nothing.
    ///
    /// # Errors
    ///
    /// What [`run`](Self::run) would most likely answer.
    pub async fn preflight(&self, mut spec: Spec) -> Result<(), ExecError> {
        let (executor, _) = self.admit(&mut spec)?;
        executor.preflight(&spec).await
    }

    /// Runs a program to its end.
    ///
    /// Dropping the future kills the program at once.
    ///
    /// # Errors
    ///
    /// The program could not be run or was lost sight of. What it did is in the [`Outcome`].
    pub async fn run(&self, spec: Spec) -> Result<Outcome, ExecError> {
        self.run_with(spec, RunOptions::default()).await
    }

    /// Runs a program to its end, with a way to cancel it and to watch its output.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); also [`ExecErrorKind::InvalidSpec`] for a spec with piped streams,
    /// which need [`start`](Self::start).
    pub async fn run_with(
        &self,
        mut spec: Spec,
        options: RunOptions,
    ) -> Result<Outcome, ExecError> {
        if spec.stdin == Stdin::Piped
            || spec.stdout == Output::Piped
            || spec.stderr == ErrorOutput::Separate(Output::Piped)
        {
            let what = format!("run {:?}: piped streams need `start`", spec.program.as_os_str());
            return Err(ExecError::new(ExecErrorKind::InvalidSpec, what));
        }
        let (executor, enforced) = self.admit(&mut spec)?;
        let mut report = Report::new(&**executor, enforced, &spec);
        let RunOptions { cancel, observer } = options;

        let Some((_place, waited)) = self.place(&cancel).await else {
            report.queued = report.started.elapsed();
            return Ok(report.never_ran(Ending::Cancelled));
        };
        // A free place is taken in no time, and the clock is not looked at for it.
        if waited {
            report.queued = report.started.elapsed();
            report.started += report.queued;
        }

        want_all(&mut spec, observer.is_some());
        let mut plan = Plan::new(&spec, deadline_of(&spec, report.started));
        plan.observer = observer;
        if let Err(ending) = may_begin(report.started, plan.deadline, &cancel) {
            return Ok(report.never_ran(ending));
        }
        // Dropped when the call is over, which starts the process for the next one.
        let (_lease, waiting) = match (&self.inner.ready, &spec) {
            (Some(pool), Spec { ready: Some(_), stdin: Stdin::Bytes(_), .. }) => {
                let (lease, waiting) = pool.take(executor, &spec).await;
                (Some(lease), Some(waiting))
            }
            _ => (None, None),
        };
        let mut spare = None;
        let begun = match waiting {
            Some(Ok(held)) => {
                let Held { running, waited, used } = held;
                report.readiness = ExecReadiness::Ready { waited };
                report.startup = used;
                Ok(Ok(running))
            }
            waiting => {
                if let Some(Err(why)) = waiting {
                    report.readiness = ExecReadiness::Cold(why);
                }
                spare = Spare::new(self.inner.ready.as_ref(), &spec, &plan);
                begin(executor.start(spec), report.started, plan.deadline, &cancel).await
            }
        };
        let driven = match begun {
            Ok(Ok(running)) => {
                let (streams, control) = streams_of(running, &mut report.enforced);
                drive(&*control, streams, plan, &cancel).await
            }
            Ok(Err(ending)) => return Ok(report.never_ran(ending)),
            Err(err) => Err(err),
        };
        match (driven, spare) {
            (Err(err), Some(spare)) if is_short(&err) => {
                Box::pin(spare.run(&**executor, report, &cancel, err)).await
            }
            (driven, _) => Ok(report.finished(driven?)),
        }
    }

    /// Starts a program and hands out its piped streams: for a program that is talked to.
    ///
    /// A task on the current runtime keeps its deadline and drains what is captured. It takes no
    /// place among the calls in flight, since such programs stay.
    ///
    /// # Errors
    ///
    /// The program could not be started.
    pub async fn start(&self, mut spec: Spec, options: RunOptions) -> Result<Process, ExecError> {
        let (executor, enforced) = self.admit(&mut spec)?;
        // It is started by its caller, and does not wait for a call.
        spec.ready = None;
        let report = Report::new(&**executor, enforced, &spec);
        let RunOptions { cancel, observer } = options;
        want_all(&mut spec, observer.is_some());
        let mut plan = Plan::new(&spec, deadline_of(&spec, report.started));
        plan.observer = observer;
        let cancel = cancel.child_token();
        let (stdin, stdout, stderr) = (
            spec.stdin == Stdin::Piped,
            spec.stdout == Output::Piped,
            spec.stderr == ErrorOutput::Separate(Output::Piped),
        );
        let what = format!("start {:?}", spec.program.as_os_str());
        let (pool, deadline) = (self.inner.ready.as_ref(), plan.deadline);
        let spare = Spare::new(pool, &spec, &plan);
        let begun = begin(executor.start(spec), report.started, deadline, &cancel).await;
        let begun = match (begun, spare) {
            (Err(err), Some(spare)) if is_short(&err) => {
                Box::pin(spare.begin(&**executor, deadline, &cancel, err)).await?
            }
            (begun, _) => begun?,
        };
        match begun {
            Ok(running) => Ok(Process::new(running, [stdin, stdout, stderr], plan, report, cancel)),
            Err(ending) => {
                let why = if ending == Ending::Cancelled { "cancelled" } else { "deadline passed" };
                Err(ExecError::new(ExecErrorKind::Unreachable, what).with_source(why))
            }
        }
    }

    /// The executor that the policy of a class names, or the default one.
    fn executor_for(&self, class: &Class) -> Result<&Arc<dyn Executor>, ExecError> {
        match &self.inner.policies.get(class).executor {
            None => Ok(&self.inner.default),
            Some(name) => self.inner.named.get(name).ok_or_else(|| {
                let what = format!("find executor {name:?}, which the policy of {class} names");
                ExecError::new(ExecErrorKind::Unsupported, what)
            }),
        }
    }

    /// Narrows the spec and refuses it where it is invalid, its class is refused, or it demands what is not declared.
    fn admit(
        &self,
        spec: &mut Spec,
    ) -> Result<(&Arc<dyn Executor>, BTreeSet<Capability>), ExecError> {
        spec.check()?;
        let policy = self.inner.policies.get(&spec.class);
        if let Some(reason) = &policy.refused {
            let what = format!("start {:?}", spec.program.as_os_str());
            return Err(ExecError::new(ExecErrorKind::Refused, what).with_source(reason.as_str()));
        }
        policy.apply(spec);
        let executor = self.executor_for(&spec.class)?;
        let capabilities = executor.capabilities();
        let required = spec.requirements();
        let missing = capabilities.missing(&required);
        if missing.is_empty() {
            self.installed_by(&**executor, spec).open(&mut spec.isolation);
            return Ok((executor, required));
        }
        let missing: Vec<_> = missing.iter().map(|it| it.name()).collect();
        let what = format!(
            "start {:?}: the {} backend does not offer {}",
            spec.program.as_os_str(),
            capabilities.backend,
            missing.join(", "),
        );
        Err(ExecError::new(ExecErrorKind::Unsupported, what))
    }

    /// Waits for a place among the calls in flight, and says whether there was none at first; `None`
    /// when cancelled meanwhile.
    async fn place(&self, cancel: &CancellationToken) -> Option<(SemaphorePermit<'_>, bool)> {
        if let Ok(place) = self.inner.in_flight.try_acquire() {
            return (!cancel.is_cancelled()).then_some((place, false));
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            place = self.inner.in_flight.acquire() => {
                Some((place.expect("the semaphore is never closed"), true))
            }
        }
    }
}
