//! Supervisors of one kind, used again and again.
//!
//! A [`Kind`] says what supervisors enter before their first program; all supervisors of a [`Pool`]
//! have entered the same, so any of them can serve any call of the pool. A call takes an idle one
//! or starts a new one; those that serve are bounded by the calls that the handle lets start.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use flyto_supervision::{Report, ReportKind, Setup, SetupFlags};

use super::{
    idle::{Idle, PoolId},
    supervisor::Supervisor,
};
use crate::{
    bare::{child::ProcessGroup, clone3},
    cgroup::{Cgroups, Leaf},
    enforcement::{Namespace, Plan},
    proxy::EgressPolicy,
    sandbox::{Closed, Confinement},
};

/// How long a probe waits for a supervisor's answer: 10 s. It answers within a millisecond unless the
/// machine is at its limits.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// Supervisors of one pool that have shared memory of their own: 1000. Each adds a rule to the Landlock ruleset that
/// they have in common, and copies all of its rules when it enters it.
const MAX_MEMORIES: u32 = 1000;

/// What supervisors of one pool do before their first program.
///
/// `Default` is a supervisor without namespaces, control group of its own, or confinement.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    /// Each program runs in a PID namespace of its own.
    pub(crate) pid_namespace: bool,
    /// The supervisor makes a user namespace, in which this user is itself.
    pub(crate) user_namespace: bool,
    /// The programs' cgroup is what kills them, at once (`cgroup.kill`, cgroups(7)).
    pub(crate) kill_by_cgroup: bool,
    /// Programs are in a cgroup without their supervisor, which has a bound on memory.
    pub(crate) own_cgroup: bool,
    /// What they enter.
    pub(crate) confinement: Confinement,
}

impl Kind {
    /// Where supervisors belong. Those of programs with isolation lead a session each, so that no terminal
    /// of the host's is in reach. Others do without: Linux schedules each session by itself
    /// (`sched_autogroup_enabled`, sched(7)), which costs a twentieth of a call.
    fn pgrp(&self) -> ProcessGroup {
        if self.confinement.no_new_privs { ProcessGroup::Session } else { ProcessGroup::Own }
    }

    /// Processes of the supervisor's that are in a cgroup with those of its program.
    ///
    /// 2 where the supervisor makes a PID namespace, whose first process is its own; else 1.
    pub(crate) fn helpers(&self) -> u64 {
        1 + u64::from(self.pid_namespace)
    }

    /// Where its supervisors live.
    pub(crate) fn namespace(&self) -> Namespace {
        match self.user_namespace {
            true => Namespace::Own { helpers: self.helpers() },
            false => Namespace::Hosts,
        }
    }
}

/// Supervisors of one kind. Dropping the pool ends those that are idle.
#[derive(Debug)]
pub(crate) struct Pool {
    kind: Kind,
    /// What programs reach through the listeners of their supervisors, where those have left the network.
    reach: Option<Arc<EgressPolicy>>,
    id: PoolId,
    /// Those that have nothing to do, with those of other pools.
    idle: Arc<Idle>,
    /// How many supervisors it has started.
    ///
    /// Counts up to [`MAX_MEMORIES`], where it matters; it is never reset.
    n_started: AtomicU32,
    /// Where supervisors get cgroups for their programs, where there are some. It is dropped after those
    /// that are idle, and waits for them: a host that ends right after that leaves no cgroup.
    cgroups: Arc<Cgroups>,
}

impl Pool {
    /// Whether what its supervisors entered is what a new one would enter.
    ///
    /// `false` means that [`Linux`](crate::Linux) makes another pool; supervisors of this one go on
    /// with their calls.
    pub(crate) fn is_current(&self) -> bool {
        let is_worn = self.kind.confinement.shared_memory.is_some()
            && self.n_started.load(Ordering::Relaxed) >= MAX_MEMORIES;
        !is_worn && self.kind.confinement.is_current()
    }

    /// A path that is why a new one would enter something else.
    pub(crate) fn outdated_by(&self) -> Option<&Path> {
        self.kind.confinement.outdated_by()
    }

    /// Whether its supervisors make mounts.
    pub(crate) fn makes_mounts(&self) -> bool {
        self.kind.confinement.makes_mounts()
    }

    /// Whether its programs are in a cgroup without their supervisor.
    pub(crate) fn own_cgroup(&self) -> bool {
        self.kind.own_cgroup
    }

    /// A pool without supervisors.
    ///
    /// It gets an id of its own, under which its idle supervisors are kept.
    pub(crate) fn new(kind: Kind, cgroups: Arc<Cgroups>) -> Arc<Self> {
        let (id, idle, n_started) = (PoolId::new(), Arc::default(), AtomicU32::default());
        Arc::new(Self { kind, reach: None, cgroups, id, idle, n_started })
    }

    /// A pool beside this one, for programs of another kind; with `reach`, they reach that and nothing else.
    /// One bound holds for the supervisors of both that have nothing to do.
    pub(crate) fn beside(&self, kind: Kind, reach: Option<Arc<EgressPolicy>>) -> Arc<Self> {
        let (cgroups, idle) = (Arc::clone(&self.cgroups), Arc::clone(&self.idle));
        Arc::new(Self {
            kind,
            reach,
            cgroups,
            id: PoolId::new(),
            idle,
            n_started: AtomicU32::default(),
        })
    }

    /// What its programs reach through the listeners of their supervisors.
    pub(crate) fn reach(&self) -> Option<&Arc<EgressPolicy>> {
        self.reach.as_ref()
    }

    /// Where its supervisors live.
    pub(crate) fn namespace(&self) -> Namespace {
        self.kind.namespace()
    }

    /// Starts a supervisor and waits for its setup; it is the first of the pool.
    ///
    /// The supervisor is kept for the pool's first call. The thread is blocked for [`PROBE_TIME`]
    /// at most.
    ///
    /// # Errors
    ///
    /// The outer error is the host's: no supervisor could be started, or it did not answer in time.
    /// The inner [`Report`] says what a supervisor could not enter.
    pub(crate) fn probe(&self) -> io::Result<Result<(), Report>> {
        let supervisor = self.start()?;
        let report = supervisor.report_blocking(PROBE_TIME)?;
        if report.kind != ReportKind::Ready {
            return Ok(Err(report));
        }
        self.give_back(supervisor);
        Ok(Ok(()))
    }

    /// A supervisor that has been given its setup. Its first report may still be the answer to that.
    ///
    /// The descriptors of the setup go with it in the order that the flags announce: ruleset, inner
    /// ruleset, cgroup, kill file, CPU time.
    ///
    /// # Errors
    ///
    /// Those of making a control group, of starting a process, and of sending to it.
    fn start(&self) -> io::Result<Supervisor> {
        self.n_started.fetch_add(1, Ordering::Relaxed);
        let leaf = self.cgroups.leaf(self.kind.helpers(), self.kind.own_cgroup)?;
        let supervisor = Supervisor::start(leaf, self.kind.pgrp())?;
        let same = |id: u32| format!("{id} {id} 1");
        let uid_map = same(rustix::process::geteuid().as_raw());
        let gid_map = same(rustix::process::getegid().as_raw());
        let (cgroup, kill) = match supervisor.leaf() {
            Some(leaf) if self.kind.kill_by_cgroup || !self.kind.own_cgroup => {
                (leaf.dir_of_programs(), leaf.kill_file())
            }
            Some(leaf) => (leaf.dir_of_programs(), None),
            None => (None, None),
        };
        let cpu_stat = supervisor.leaf().and_then(Leaf::cpu_stat);
        let Confinement { ruleset, inner_ruleset, .. } = &self.kind.confinement;
        let [ruleset, inner] = [ruleset, inner_ruleset].map(|it| it.as_ref().map(AsFd::as_fd));
        let setup = Setup {
            flags: SetupFlags::NONE
                .with_if(self.kind.confinement.no_new_privs, SetupFlags::NO_NEW_PRIVS)
                .with_if(self.kind.confinement.no_capabilities, SetupFlags::NO_CAPABILITIES)
                .with_if(ruleset.is_some(), SetupFlags::RULESET)
                .with_if(inner.is_some(), SetupFlags::INNER_RULESET)
                .with_if(self.kind.user_namespace, SetupFlags::USER_NAMESPACE)
                .with_if(self.kind.pid_namespace, SetupFlags::PID_NAMESPACE)
                .with_if(cgroup.is_some(), SetupFlags::CGROUP)
                .with_if(kill.is_some(), SetupFlags::CGROUP_KILL)
                // The start has found it out.
                .with_if(clone3::refusal().is_some(), SetupFlags::CLONE3_REFUSED)
                .with_if(self.kind.confinement.network_namespace, SetupFlags::NETWORK_NAMESPACE)
                .with_if(self.kind.confinement.makes_mounts(), SetupFlags::MOUNT_NAMESPACE)
                .with_if(
                    self.kind.confinement.closes == Some(Closed::Root),
                    SetupFlags::ROOT_IS_CLOSED,
                )
                .with_if(
                    self.kind.confinement.closes == Some(Closed::ProcWrites),
                    SetupFlags::PROC_IS_READ_ONLY,
                )
                .with_if(cpu_stat.is_some(), SetupFlags::CPU_STAT),
            uid_map: uid_map.as_bytes(),
            gid_map: gid_map.as_bytes(),
            filter: &self.kind.confinement.filter,
            cookie: self.kind.confinement.cookie,
            mounts: &self.kind.confinement.mounts,
            shared_memory: self.kind.confinement.shared_memory.unwrap_or_default(),
        };
        let mut record = Vec::with_capacity(64);
        setup.write(&mut record);
        let descriptors: Vec<_> =
            [ruleset, inner, cgroup, kill, cpu_stat].into_iter().flatten().collect();
        supervisor.send(&record, &descriptors)?;
        Ok(supervisor)
    }

    /// Sends a start to a supervisor that is free, or to a new one, with these bounds for its cgroup.
    ///
    /// Must run in a Tokio runtime with I/O enabled: the socket is registered with it. A supervisor
    /// that turns out to be gone or unfit is dropped, and the next one is asked.
    ///
    /// # Errors
    ///
    /// This host is short of something. Nothing was sent then.
    pub(super) fn begin(
        &self,
        record: &[u8],
        descriptors: &[BorrowedFd<'_>],
        plan: &Plan,
    ) -> io::Result<Supervisor> {
        loop {
            let (mut supervisor, is_new) = match self.idle.take(self.id) {
                // In a fork of the host, the host goes on using it.
                Some(supervisor) if !supervisor.is_ours() => continue,
                Some(supervisor) => (supervisor, false),
                None => (self.start()?, true),
            };
            supervisor.watch()?;
            if let Some(listener) = supervisor.listener() {
                listener.next_call()?;
            }
            if let Some(leaf) = supervisor.leaf_mut() {
                match plan.set_in(leaf) {
                    Ok(()) => {}
                    Err(err) if is_new => return Err(err),
                    // More memory is held by what earlier programs left than this one may have.
                    Err(_) => continue,
                }
                if plan.is_counted {
                    // What an earlier program came up against is not this one's.
                    let _ = leaf.events();
                }
            }
            match supervisor.send(record, descriptors) {
                Ok(()) => {
                    supervisor.set_serves(true);
                    return Ok(supervisor);
                }
                // It was killed, and got nothing of this call.
                Err(err) if !is_new && is_hung_up(&err) => {}
                // It has ended at its setup, and has said why; or it was killed.
                Err(err) if is_hung_up(&err) => return Ok(supervisor),
                Err(err) => {
                    // This host is short of something, and the supervisor is as good as before.
                    self.give_back(supervisor);
                    return Err(err);
                }
            }
        }
    }

    /// Lets those go that have nothing to do.
    ///
    /// They end after this returns; [`attend`](super::attend) waits for that.
    pub(crate) fn let_idle_go(&self) {
        drop(self.idle.take_all(self.id));
    }

    /// Takes back a supervisor that has nothing to do.
    ///
    /// One whose control group is worn is dropped instead, as the next program would have less
    /// memory than it was promised.
    pub(super) fn give_back(&self, mut supervisor: Supervisor) {
        if supervisor.leaf().is_some_and(Leaf::is_worn) {
            return;
        }
        supervisor.set_serves(false);
        // The lock is free while they are ended.
        drop(self.idle.put(self.id, supervisor, Instant::now()));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.let_idle_go();
    }
}

/// Whether the other end of a socket is gone.
fn is_hung_up(err: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(err.kind(), K::BrokenPipe | K::ConnectionReset | K::NotConnected)
}
