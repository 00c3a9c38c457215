//! The backend.
//!
//! [`Linux`] decides which way a program takes: a child of the host ([`direct`]) where a spec asks
//! for a process group at most, else a child of a supervisor ([`supervised`]). A [`Supervision`]
//! holds what those need: the limits that can be enforced, what can confine a program, and one
//! [`Pool`] of supervisors for each kind of isolation.
//!
//! Every mechanism is tried before it is declared, so a spec is refused before anything starts.
//! Nothing here waits for a program.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Capability, ColdStart, ExecError, Executor, Filesystem, InstallPlaces, Installed,
    Isolation, KillScope, Limits, Network, Running, Spec, StartFiles,
    local::{Installations, Local, PinnedPrograms, check_files, resolve_program},
};

use flyto_supervision::{Report, Stage};

use crate::{
    KillMechanism,
    bare::trial::{self, Namespace},
    cgroup::{Cgroups, Use},
    direct,
    enforcement::{DEFAULT_PROCESSES, LimitEnforcement, ProcessEnforcement, sees_trees},
    failure,
    proxy::{EgressPolicy, Outside, System},
    sandbox::{
        self, Confinement, Granted, Support, confine_as_granted, cookie, needs_user_namespace,
    },
    supervised::{self, Kind, Pool},
};

/// Runs programs on this machine.
///
/// A program with [`Network::Hosts`] gets variables that win over those of its spec: `HTTP_PROXY`,
/// `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in both cases, and `NODE_USE_ENV_PROXY`. They lead to a proxy
/// that this process is for as long as the call lasts, on the runtime of the call; nothing else is reached.
///
/// What a process inherits beside its [`Spec`] is that of this process: umask(2), getpriority(2), and limits of
/// getrlimit(2) that the spec does not set. A program with [`KillScope::Group`] has what this process has when
/// it is started; one below a supervisor what this process had when the supervisor was started, which serves
/// many calls. Signals that this process blocks are not blocked; those that it ignores are ignored, except
/// SIGPIPE.
///
/// A fork of this process can use its copy: supervisors of its own are started there, and dropping it leaves those
/// of this process alone.
///
/// ```
/// use flyto_execenv::{ExecEnv, KillScope, Spec};
/// use flyto_execenv_linux::Linux;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Linux::new());
/// let spec = Spec::new("/bin/sh").args(["-c", "setsid sleep 60 & echo hi"]).kill(KillScope::Tree);
/// let outcome = env.run(spec.env_var("PATH", "/usr/bin:/bin")).await?;
/// assert_eq!(&*outcome.stdout.bytes(), b"hi\n");
/// assert_eq!(outcome.leaked, Some(1)); // and ended
/// # Ok(()) }
/// ```
///
/// Cloning is cheap: clones share their supervisors and pinned programs. Idle supervisors are ended
/// with the last clone; programs that run keep theirs.
#[derive(Debug, Clone)]
pub struct Linux {
    capabilities: Capabilities,
    mechanism: KillMechanism,
    /// The portable backend: it finds programs and starts them where neither other way works.
    local: Local,
    /// Images of the programs that specs pin by a digest, and the directories for copies of
    /// scripts.
    pinned: Arc<PinnedPrograms>,
    /// What programs were installed with, remembered from call to call.
    installations: Arc<Installations>,
    /// Nothing where the mechanism is [`KillMechanism::Group`].
    supervision: Option<Arc<Supervision>>,
}

/// Has the kernel make this process the parent of what a killed supervisor leaves, so that it is ended with the
/// call (`PR_SET_CHILD_SUBREAPER`, prctl(2)). Otherwise a program that its supervisor was killed under, as when
/// memory runs out, leaves the processes that it has started, unless a control group or a PID namespace ends
/// them.
///
/// For programs whose only children are those of a [`Linux`] backend, before the first one is made: **any other
/// child counts as such an orphan** and is killed with them. A child of a library that starts programs by itself
/// is one.
///
/// # Errors
///
/// Those of prctl(2): none since Linux 3.4.
pub fn adopt_orphans() -> io::Result<()> {
    supervised::orphans::adopt()
}

/// Pools kept for programs with isolation or a bound on memory: 32. Each kind of isolation is one, with the
/// paths in it, so a host has about as many as it has plugins in use.
///
/// The pool that was used least recently makes room for a new one. A pool holds the descriptors of
/// its Landlock rulesets; its idle supervisors are bounded together with those of all pools.
const MAX_SPECIAL: usize = 32;

/// How long a backend that is dropped waits for its idle supervisors to end: 100 ms, a thousand times what
/// they take, since a machine can be busy.
///
/// A supervisor that takes longer is waited for by the reaper's thread.
const ATTEND_FOR: Duration = Duration::from_millis(100);

/// What programs run below.
///
/// Shared by all clones of a [`Linux`]. The lock of `special` is held while a pool is looked up or
/// made, never while a program starts.
#[derive(Debug)]
struct Supervision {
    mechanism: KillMechanism,
    enforcement: LimitEnforcement,
    support: Support,
    /// Whether supervisors can make mounts, once one was asked to.
    makes_mounts: OnceLock<bool>,
    /// The directories that programs were granted for writing.
    granted: Granted,
    /// Where hosts are found and reached.
    outside: Arc<dyn Outside>,
    /// Supervisors for programs without isolation.
    plain: Arc<Pool>,
    /// Those for programs with isolation, or in a cgroup by themselves. The one used last is at the end.
    ///
    /// At most [`MAX_SPECIAL`]. A pool is found by its isolation, compared by value, and by whether
    /// its programs have a cgroup of their own.
    special: Mutex<Vec<(Isolation, Arc<Pool>)>>,
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

impl Linux {
    /// A backend that ends trees by the best means that works here, which it finds out by using it.
    ///
    /// A supervisor alone is a means only where the number of processes is bounded: what makes them
    /// faster than they can be ended is ended all the same by a control group or a PID namespace.
    ///
    /// It marks every descriptor from 3 upwards that this process has open as close-on-exec, so that
    /// none reaches a program.
    ///
    /// The order is [`KillMechanism::Cgroup`], [`KillMechanism::Subreaper`],
    /// [`KillMechanism::PidNamespace`], [`KillMechanism::Group`]: the first that works is taken. It
    /// takes some milliseconds, in which one supervisor is started and kept for the first call.
    #[must_use]
    pub fn new() -> Self {
        let cgroups = Arc::new(Cgroups::probe());
        let by = |mechanism| {
            Some(Self::of(mechanism, Some(Supervision::new(mechanism, &cgroups).ok()?)))
        };
        by(KillMechanism::Cgroup)
            .or_else(|| Self::by_supervisor(&cgroups))
            .or_else(|| by(KillMechanism::PidNamespace))
            .unwrap_or_else(|| Self::of(KillMechanism::Group, None))
    }

    /// A backend for a program that makes one call and ends. Where an ordinary user runs it, it leaves
    /// control groups alone, which take longer to be made and removed again than a supervisor takes to
    /// be there (0.5 ms); a supervisor and `RLIMIT_NPROC` (setrlimit(2)) stand in for them. Elsewhere it
    /// is that of [`Linux::new`]: nothing but a cgroup bounds the processes of root.
    ///
    /// ```
    /// use flyto_execenv::{ExecEnv, Spec};
    /// use flyto_execenv_linux::Linux;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), flyto_execenv::ExecError> {
    /// let env = ExecEnv::new(Linux::for_one_call());
    /// let outcome = env.run(Spec::new("/bin/sh").args(["-c", "exit 3"])).await?;
    /// assert_eq!(outcome.exit, Some(flyto_execenv::Exit::Code(3)));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn for_one_call() -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let by_supervisor = (!is_root).then(|| Self::by_supervisor(&Arc::new(Cgroups::none())));
        by_supervisor.flatten().unwrap_or_else(Self::new)
    }

    /// A backend that ends trees by a supervisor alone, where the number of processes is bounded.
    fn by_supervisor(cgroups: &Arc<Cgroups>) -> Option<Self> {
        let supervision = Supervision::new(KillMechanism::Subreaper, cgroups).ok()?;
        Some(Self::of(KillMechanism::Subreaper, Some(supervision)))
    }

    /// A backend that ends trees by this means and by no other.
    ///
    /// # Errors
    ///
    /// It does not work here: what failed, with the system's error number.
    ///
    /// [`KillMechanism::Group`] always works. For the others the kind is
    /// [`io::ErrorKind::Unsupported`] where the machine answers success without doing what was
    /// asked, or where nothing bounds the number of processes under [`KillMechanism::Subreaper`].
    ///
    /// ```
    /// use flyto_execenv_linux::{KillMechanism, Linux};
    ///
    /// let linux = Linux::with_mechanism(KillMechanism::Group)?;
    /// assert_eq!(linux.mechanism(), KillMechanism::Group);
    /// match Linux::with_mechanism(KillMechanism::Cgroup) {
    ///     Ok(linux) => assert_eq!(linux.mechanism().name(), "cgroup"),
    ///     Err(err) => println!("no control groups here: {err}"),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_mechanism(mechanism: KillMechanism) -> io::Result<Self> {
        if mechanism == KillMechanism::Group {
            return Ok(Self::of(mechanism, None));
        }
        let supervision = Supervision::new(mechanism, &Arc::new(Cgroups::probe()))?;
        Ok(Self::of(mechanism, Some(supervision)))
    }

    /// Sets the directories for private copies of pinned scripts; see
    /// [`Local::pinned_dirs`].
    ///
    /// Binaries that are pinned run from memory and need no directory. A later call replaces the
    /// directories of an earlier one.
    #[must_use]
    pub fn pinned_dirs(mut self, dirs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        let dirs: Vec<PathBuf> = dirs.into_iter().map(Into::into).collect();
        self.local = self.local.pinned_dirs(dirs.clone());
        self.pinned = Arc::new(PinnedPrograms::new(dirs));
        self
    }

    /// Declares what the parts can do: without supervision only the direct way, with it the tree
    /// kill, the limits that `enforcement` can keep and the isolation that `support` can enter.
    fn of(mechanism: KillMechanism, supervision: Option<Supervision>) -> Self {
        let local = Local::new();
        let mut capabilities = local.capabilities().clone();
        "linux".clone_into(&mut capabilities.backend);
        // Supervisors, which declare these bounds themselves, are started in the same way.
        if supervision.is_none() && direct::works() {
            capabilities =
                capabilities.with([Capability::FileSizeLimit, Capability::OpenFilesLimit]);
        }
        if let Some(supervision) = &supervision {
            let bounds = supervision.enforcement.declared().into_iter().map(|(it, _)| it);
            let tree = [Capability::TreeKill, Capability::EndsWithHost];
            let isolation = supervision.support.capabilities();
            capabilities = capabilities
                .with(tree)
                .with(bounds)
                .with(isolation)
                .with_means(Capability::TreeKill, mechanism.name());
            if supervision.enforcement.processes() != ProcessEnforcement::Unavailable {
                capabilities =
                    capabilities.with_tree_limits(Limits::new().processes(DEFAULT_PROCESSES));
            }
            for (capability, name) in supervision.enforcement.names() {
                capabilities = capabilities.with_means(capability, name);
            }
            if let Some(means) = supervision.support.process_isolation() {
                capabilities = capabilities.with_means(Capability::ProcessIsolation, means);
            }
        }
        let pinned = Arc::new(PinnedPrograms::default());
        let installations = Arc::default();
        let supervision = supervision.map(Arc::new);
        Self { capabilities, mechanism, local, pinned, installations, supervision }
    }

    /// The same, with hosts that are found and reached in this way.
    #[cfg(test)]
    pub(crate) fn with_outside(mut self, outside: Arc<dyn Outside>) -> Self {
        let supervision = self.supervision.as_mut().and_then(Arc::get_mut);
        supervision.expect("it was just made").outside = outside;
        self
    }

    /// By which means it ends trees.
    #[must_use]
    pub fn mechanism(&self) -> KillMechanism {
        self.mechanism
    }

    /// Which part of the backend enforces each limit; `None` without supervisors.
    #[cfg(feature = "examine")]
    pub(crate) fn enforcement(&self) -> Option<&LimitEnforcement> {
        self.supervision.as_ref().map(|it| &it.enforcement)
    }

    /// Starts a program as a child of this process. The caller has checked that nothing in the spec
    /// needs a supervisor.
    async fn start_direct(&self, spec: Spec) -> Result<Running, ExecError> {
        check_files(&spec).await?;
        let program = resolve_program(&spec)?;
        let image = self.pinned.image(&spec, &program).await?;
        let bounds = direct::bounds_of(&spec.limits);
        direct::start(&spec, &program, image, &bounds).await
    }
}

impl Drop for Supervision {
    fn drop(&mut self) {
        let special =
            std::mem::take(self.special.get_mut().unwrap_or_else(PoisonError::into_inner));
        supervised::attend(ATTEND_FOR, || {
            self.plain.let_idle_go();
            drop(special);
        });
    }
}

impl Supervision {
    /// Tries the mechanism with one supervisor, which is kept for the first call.
    ///
    /// # Errors
    ///
    /// What failed: no control group can kill, `/proc` does not show this process's children,
    /// nothing bounds the number of processes, a supervisor could not enter what it is to enter, or
    /// did so without effect.
    fn new(mechanism: KillMechanism, cgroups: &Arc<Cgroups>) -> io::Result<Self> {
        let kind = kind(mechanism, Confinement::default());
        if kind.kill_by_cgroup && !cgroups.can(Use::Kill) {
            let finding = cgroups.findings().iter().find(|it| it.purpose == Use::Kill);
            let refused = finding.and_then(|it| it.found.as_ref().err());
            let why = refused.map_or("no control groups".to_owned(), ToString::to_string);
            return Err(io::Error::other(why));
        }
        if mechanism == KillMechanism::Subreaper {
            // Where it finds the processes to end. A namespace and a cgroup are ended by the kernel.
            sees_trees()?;
        }
        let enforcement = LimitEnforcement::find(cgroups, kind.namespace());
        let in_user_namespace = kind.user_namespace;
        let plain = Pool::new(kind, Arc::clone(cgroups));
        if mechanism == KillMechanism::Subreaper
            && enforcement.processes() == ProcessEnforcement::Unavailable
        {
            let why = "nothing bounds the number of processes: root needs the controller for them";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        plain.probe()?.map_err(|report| {
            let err = match report.errno {
                0 => io::Error::new(io::ErrorKind::Unsupported, failure::UNTRUE),
                errno => io::Error::from_raw_os_error(errno as i32),
            };
            io::Error::new(err.kind(), format!("could not {}: {err}", report.stage.what()))
        })?;
        if mechanism == KillMechanism::PidNamespace {
            // A supervisor makes one for each program, and none before.
            trial::clone_into_namespace(Namespace::Processes, in_user_namespace)?;
        }
        let mut support = Support::probe();
        support.pid_namespaces = mechanism == KillMechanism::PidNamespace;
        let (outside, special) = (Arc::new(System), Mutex::default());
        let (makes_mounts, granted) = (OnceLock::new(), Granted::default());
        Ok(Self { mechanism, enforcement, support, makes_mounts, granted, outside, plain, special })
    }

    /// Starts a program below a supervisor of the pool that fits its isolation.
    ///
    /// A program with [`Network::Hosts`] gets the proxy's variables here. A private copy of a
    /// pinned script is added to what the program may read, since its interpreter opens it.
    async fn start(&self, pinned: &PinnedPrograms, mut spec: Spec) -> Result<Running, ExecError> {
        check_files(&spec).await?;
        let program = resolve_program(&spec)?;
        let image = pinned.image(&spec, &program).await?;
        if let Some(copy) = image.as_deref().filter(|it| it.fd().is_none()) {
            let_read(&mut spec.isolation, copy.paths().0);
        }
        let own_cgroup =
            self.enforcement.has_memory_in_cgroup() && spec.limits.memory_bytes.is_some();
        let pool = match spec.isolation.is_none() && !own_cgroup {
            true => Arc::clone(&self.plain),
            false => self.special(&spec, own_cgroup)?,
        };
        let mut plan = self.enforcement.plan(pool.namespace(), &spec.limits, KillScope::Tree);
        if supervised::waits_for_its_call(&spec) {
            plan.waits_for_its_call();
        }
        if let Some(reach) = pool.reach() {
            for (name, value) in reach.variables() {
                spec.env.set(name, value);
            }
        }
        let is_more = spec.kill != KillScope::Tree;
        let mut running = supervised::start(&pool, spec, program, image, plan).await?;
        if is_more {
            // A supervisor takes its next program only when nothing is left of this one.
            running.enforced.insert(Capability::TreeKill);
        }
        Ok(running)
    }

    /// Supervisors for programs with the isolation of this spec, in the cgroup of their programs or apart.
    ///
    /// A pool whose confinement is no more current, such as one whose granted files or directories were
    /// replaced, is exchanged for a new one. Its calls under way keep it alive.
    fn special(&self, spec: &Spec, own_cgroup: bool) -> Result<Arc<Pool>, ExecError> {
        let mut pools = self.special.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pools.iter().position(|(isolation, pool)| {
            *isolation == spec.isolation && pool.own_cgroup() == own_cgroup
        });
        if let Some(found) = found {
            let (isolation, pool) = pools.remove(found);
            if pool.is_current() {
                pools.push((isolation, Arc::clone(&pool)));
                return Ok(pool);
            }
        }
        let pool = self.new_pool(spec, own_cgroup)?;
        if pools.len() == MAX_SPECIAL {
            // Calls of it that are under way keep it until they have ended.
            drop(pools.remove(0));
        }
        pools.push((spec.isolation.clone(), Arc::clone(&pool)));
        Ok(pool)
    }

    /// The first pool whose supervisors are to make mounts tells whether they can: one is started, which is
    /// that pool's first. Where they cannot, the paths are kept from being changed without mounts.
    fn new_pool(&self, spec: &Spec, own_cgroup: bool) -> Result<Arc<Pool>, ExecError> {
        let makes_mounts = self.makes_mounts.get().copied();
        let pool = self.pool_for(spec, own_cgroup, makes_mounts.unwrap_or(true))?;
        if !pool.makes_mounts() || makes_mounts.is_some() {
            return Ok(pool);
        }
        match pool.probe().map_err(|err| failure::of_host(spec, err))? {
            Ok(()) => {
                self.makes_mounts.get_or_init(|| true);
                Ok(pool)
            }
            Err(report) if makes_no_mounts(&report) => {
                self.makes_mounts.get_or_init(|| false);
                self.pool_for(spec, own_cgroup, false)
            }
            Err(report) => {
                let program = Path::new(spec.program.as_os_str());
                Err(failure::of_stage(spec, program, report.stage, report.errno))
            }
        }
    }

    /// A pool for this isolation, without supervisors; it shares the bound on idle supervisors with
    /// the plain pool.
    ///
    /// # Errors
    ///
    /// Those of [`confine_as_granted`], and of reading random bytes for the cookie (getrandom(2)).
    fn pool_for(
        &self,
        spec: &Spec,
        own_cgroup: bool,
        mount_namespaces: bool,
    ) -> Result<Arc<Pool>, ExecError> {
        let cookie = cookie().map_err(|err| failure::of_host(spec, err))?;
        let support = Support { mount_namespaces, ..self.support };
        let confinement = confine_as_granted(&spec.isolation, &support, cookie, &self.granted)?;
        let reach = match &spec.isolation.network {
            Network::Hosts(hosts) => {
                Some(Arc::new(EgressPolicy::new(hosts.clone(), Arc::clone(&self.outside))))
            }
            _ => None,
        };
        let kind = Kind { own_cgroup, ..kind(self.mechanism, confinement) };
        Ok(self.plain.beside(kind, reach))
    }
}

/// Whether a supervisor that answered this can make no mounts at all here, rather than not now.
///
/// An error of this list repeats with each supervisor, so the answer is remembered; another one,
/// such as `ENOMEM`, is the error of this call alone.
fn makes_no_mounts(report: &Report) -> bool {
    let errno = i32::try_from(report.errno).unwrap_or(i32::MAX);
    let forbidden = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::ENOSPC];
    matches!(report.stage, Stage::Namespace | Stage::Mounts) && forbidden.contains(&errno)
}

/// Lets a program read its own file, where it reads what it was granted: the private copy of a pinned script, which
/// its interpreter opens.
fn let_read(isolation: &mut Isolation, file: PathBuf) {
    if let Filesystem::Grants { read, .. } = &mut isolation.filesystem
        && !read.contains(&file)
    {
        *read = read.iter().cloned().chain([file]).collect();
    }
}

/// What a supervisor does before its first program. A user namespace is made only where a namespace
/// of another kind needs it and this process is not root's.
fn kind(mechanism: KillMechanism, confinement: Confinement) -> Kind {
    let pid_namespace = mechanism == KillMechanism::PidNamespace || confinement.pid_namespace;
    let needs_namespaces =
        pid_namespace || confinement.network_namespace || confinement.makes_mounts();
    Kind {
        pid_namespace,
        user_namespace: needs_namespaces && needs_user_namespace(),
        kill_by_cgroup: mechanism == KillMechanism::Cgroup,
        own_cgroup: false,
        confinement,
    }
}

/// Whether a program needs a supervisor that watches it. Bounds on files are kept by the kernel.
fn needs_supervisor(spec: &Spec) -> bool {
    let Limits { cpu_time, memory_bytes, processes, .. } = &spec.limits;
    let is_watched = cpu_time.is_some() || memory_bytes.is_some() || processes.is_some();
    spec.kill == KillScope::Tree || is_watched || !spec.isolation.is_none()
}

#[async_trait]
impl Executor for Linux {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn installed(&self, spec: &Spec, places: &Arc<InstallPlaces>) -> Installed {
        self.installations.find(spec, places)
    }

    async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
        self.local.preflight(spec).await
    }

    fn start_files(&self, spec: &Spec) -> Result<StartFiles, ColdStart> {
        let mut files = self.local.start_files(spec)?;
        sandbox::add_granted(&mut files, &spec.isolation);
        Ok(files)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        match &self.supervision {
            Some(supervision) if needs_supervisor(&spec) => {
                supervision.start(&self.pinned, spec).await
            }
            _ if direct::works() => self.start_direct(spec).await,
            _ => self.local.start(spec).await,
        }
    }
}
