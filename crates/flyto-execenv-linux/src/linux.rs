//! The backend.

use std::{io, sync::Arc};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Capability, ExecError, Executor, KillScope, Running, Spec,
    local::{Local, PinnedPrograms, resolve_program},
};

use crate::{
    direct,
    supervised::{self, Kind, Pool},
};

/// By which means a tree is ended: the rungs of a ladder, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KillRung {
    /// A process group: who leaves it is not ended. No tree kill.
    Group,
    /// A supervisor that is the parent of whoever loses its own (`PR_SET_CHILD_SUBREAPER`, prctl(2)).
    Subreaper,
    /// A supervisor, and a PID namespace for each program, which the kernel ends as a whole
    /// (pid_namespaces(7)).
    PidNamespace,
}

/// Runs programs on this machine.
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
#[derive(Debug, Clone)]
pub struct Linux {
    capabilities: Capabilities,
    local: Local,
    pinned: Arc<PinnedPrograms>,
    /// Supervisors for programs without isolation; none where the rung is [`KillRung::Group`].
    plain: Option<Arc<Pool>>,
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

impl Linux {
    /// A backend that ends trees by the cheapest means that works here, which it finds out by using it.
    ///
    /// It marks every descriptor from 3 upwards that this process has open as close-on-exec, so that
    /// none reaches a program.
    #[must_use]
    pub fn new() -> Self {
        Self::with_rung(KillRung::Subreaper).unwrap_or_else(|_| Self::of(None))
    }

    /// A backend that ends trees by this means and by no other.
    ///
    /// # Errors
    ///
    /// It does not work here: what failed, with the system's error number.
    pub fn with_rung(rung: KillRung) -> io::Result<Self> {
        let kind = match rung {
            KillRung::Group => return Ok(Self::of(None)),
            KillRung::Subreaper => Kind::default(),
            KillRung::PidNamespace => Kind {
                pid_namespace: true,
                // Root can make namespaces in the one it has.
                user_namespace: !rustix::process::geteuid().is_root(),
            },
        };
        let pool = Pool::new(kind);
        pool.probe()?.map_err(|report| {
            let err = io::Error::from_raw_os_error(report.errno as i32);
            io::Error::new(err.kind(), format!("could not {}: {err}", report.stage.what()))
        })?;
        Ok(Self::of(Some(pool)))
    }

    fn of(plain: Option<Arc<Pool>>) -> Self {
        let local = Local::new();
        let supervised = [Capability::TreeKill, Capability::TreeCpuUsage];
        let more = plain.iter().flat_map(|_| supervised);
        let mut capabilities = local.capabilities().clone().with(more);
        "linux".clone_into(&mut capabilities.backend);
        let pinned = Arc::new(PinnedPrograms::default());
        Self { capabilities, local, pinned, plain }
    }

    async fn start_supervised(&self, pool: &Arc<Pool>, spec: Spec) -> Result<Running, ExecError> {
        let program = resolve_program(&spec)?;
        let image = self.pinned.image(&spec, &program).await?;
        supervised::start(pool, spec, program, image).await
    }

    async fn start_direct(&self, spec: Spec) -> Result<Running, ExecError> {
        let program = resolve_program(&spec)?;
        let image = self.pinned.image(&spec, &program).await?;
        let bounds = direct::bounds_of(&spec.limits);
        direct::start(&spec, &program, image, &bounds).await
    }
}

#[async_trait]
impl Executor for Linux {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn foresee(&self, spec: &Spec) -> Result<(), ExecError> {
        self.local.foresee(spec)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        match &self.plain {
            Some(pool) if spec.kill == KillScope::Tree => self.start_supervised(pool, spec).await,
            _ if direct::works() => self.start_direct(spec).await,
            _ => self.local.start(spec).await,
        }
    }
}
