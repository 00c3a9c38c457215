//! Supervisors that wait for their next program.

use std::{
    io,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use flyto_supervision::{Report, ReportKind, Setup, SetupFlags};

use super::supervisor::Supervisor;

/// Supervisors kept for later calls: 64, more than are in flight on machines of up to four CPUs by
/// default. One has some 100 KiB of memory.
const MAX_IDLE: usize = 64;

/// How long a probe waits for a supervisor's answer: 10 s. It answers within a millisecond unless the
/// machine is at its limits.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// What supervisors of one pool do before their first program.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    /// Each program runs in a PID namespace of its own.
    pub(crate) pid_namespace: bool,
    /// The supervisor makes a user namespace, in which this user is itself.
    pub(crate) user_namespace: bool,
}

/// Supervisors of one kind. Dropping the pool ends those that are idle.
#[derive(Debug)]
pub(crate) struct Pool {
    kind: Kind,
    /// The one used last at the end: what it needs is still in the caches.
    idle: Mutex<Vec<Supervisor>>,
}

impl Pool {
    /// A pool without supervisors.
    pub(crate) fn new(kind: Kind) -> Arc<Self> {
        Arc::new(Self { kind, idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Supervisor>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a supervisor and waits for its setup; it is the first of the pool.
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
    fn start(&self) -> io::Result<Supervisor> {
        let supervisor = Supervisor::start()?;
        let same = |id: u32| format!("{id} {id} 1");
        let uid_map = same(rustix::process::geteuid().as_raw());
        let gid_map = same(rustix::process::getegid().as_raw());
        let setup = Setup {
            flags: SetupFlags::NONE
                .with_if(self.kind.user_namespace, SetupFlags::USER_NAMESPACE)
                .with_if(self.kind.pid_namespace, SetupFlags::PID_NAMESPACE),
            uid_map: uid_map.as_bytes(),
            gid_map: gid_map.as_bytes(),
            filter: &[],
            cookie: [0; 2],
        };
        let mut record = Vec::with_capacity(64);
        setup.write(&mut record);
        supervisor.send(&record, &[])?;
        Ok(supervisor)
    }

    /// Sends a start to a supervisor that is free, or to a new one.
    pub(super) fn begin(
        &self,
        record: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<Supervisor> {
        loop {
            let idle = self.idle().pop();
            let (mut supervisor, is_new) = match idle {
                Some(supervisor) => (supervisor, false),
                None => (self.start()?, true),
            };
            supervisor.watch()?;
            match supervisor.send(record, descriptors) {
                Ok(()) => return Ok(supervisor),
                Err(err) if is_new => return Err(err),
                // Somebody has killed it; it got nothing of this call.
                Err(_) => {}
            }
        }
    }

    /// Takes back a supervisor that has nothing to do.
    pub(super) fn give_back(&self, supervisor: Supervisor) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(supervisor);
        }
    }
}
