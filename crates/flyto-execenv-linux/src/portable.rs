//! The backend on an architecture without a supervisor.

use std::{env::consts::ARCH, io, path::PathBuf};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, ColdStart, ExecError, Executor, Running, Spec, StartFiles, local::Local,
};

use crate::KillMechanism;

/// Runs programs on this machine.
///
/// There is no supervisor for this architecture: programs start by posix_spawn(3), and their process
/// groups are ended, as with [`Local`]. A spec that asks for a tree kill, bounds or isolation is refused.
///
/// ```
/// use flyto_execenv::{ExecEnv, Spec};
/// use flyto_execenv_linux::Linux;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let outcome = ExecEnv::new(Linux::new()).run(Spec::new("/bin/echo").arg("hi")).await?;
/// assert_eq!(&*outcome.stdout.bytes(), b"hi\n");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Linux {
    capabilities: Capabilities,
    local: Local,
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

impl Linux {
    /// A backend that ends process groups.
    ///
    /// It marks every descriptor from 3 upwards that this process has open as close-on-exec, so that
    /// none reaches a program.
    #[must_use]
    pub fn new() -> Self {
        let local = Local::new();
        let mut capabilities = local.capabilities().clone();
        "linux".clone_into(&mut capabilities.backend);
        Self { capabilities, local }
    }

    /// A backend for a program that makes one call and ends: that of [`Linux::new`], which has nothing to
    /// set up.
    #[must_use]
    pub fn for_one_call() -> Self {
        Self::new()
    }

    /// A backend that ends trees by this means and by no other.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] for every means but [`KillMechanism::Group`].
    pub fn with_mechanism(mechanism: KillMechanism) -> io::Result<Self> {
        match mechanism {
            KillMechanism::Group => Ok(Self::new()),
            KillMechanism::Subreaper | KillMechanism::PidNamespace | KillMechanism::Cgroup => {
                let why =
                    format!("there is no supervisor for {ARCH}, so only process groups are ended");
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
        }
    }

    /// Sets the directories for private copies of pinned scripts; see
    /// [`Local::pinned_dirs`].
    #[must_use]
    pub fn pinned_dirs(mut self, dirs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        self.local = self.local.pinned_dirs(dirs);
        self
    }

    /// By which means it ends trees: [`KillMechanism::Group`].
    #[must_use]
    pub fn mechanism(&self) -> KillMechanism {
        KillMechanism::Group
    }
}

#[async_trait]
impl Executor for Linux {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
        self.local.preflight(spec).await
    }

    fn start_files(&self, spec: &Spec) -> Result<StartFiles, ColdStart> {
        self.local.start_files(spec)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        self.local.start(spec).await
    }
}

/// Does nothing: there are no supervisors here that could leave something.
///
/// # Errors
///
/// None.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}
