//! What is measured, on Linux only: `ExecEnv` with the backend for it.

use flyto_execenv::{
    ExecEnv, Filesystem, Isolation, KillScope, LocalSockets, Network, Policies, Policy, Processes,
    Program, SystemCalls,
};
use flyto_execenv_linux::{KillMechanism, Linux};
use tokio::runtime::Runtime;

use super::{Variant, calls, exec_env};
use crate::{
    Result,
    job::{Job, Sample},
};

pub(super) fn call(variant: Variant, job: &Job, runtime: &Runtime) -> Result<Sample> {
    let env = match variant {
        Variant::Group | Variant::GroupSixWorkers | Variant::GroupOneThread => group(),
        Variant::Tree | Variant::TreeSixWorkers | Variant::TreeOneThread => {
            with(KillMechanism::Subreaper, tree())?
        }
        Variant::Cgroup => with(KillMechanism::Cgroup, tree())?,
        Variant::Namespace => with(KillMechanism::PidNamespace, tree())?,
        Variant::Confined => with(KillMechanism::Subreaper, confined(job)?)?,
        other => return Err(format!("{} is no variant of this backend", other.name()).into()),
    };
    let program = Program::from(job.child.as_os_str());
    calls::concurrent(job, runtime, move |_| exec_env::call(env.clone(), program.clone()))
}

/// Whether this machine has what a variant needs.
pub(super) fn works(variant: Variant) -> bool {
    let mechanism = match variant {
        Variant::Cgroup => KillMechanism::Cgroup,
        Variant::Namespace => KillMechanism::PidNamespace,
        _ => KillMechanism::Group,
    };
    Linux::with_mechanism(mechanism).is_ok()
}

/// Ends process groups, and starts them faster than `posix_spawn`.
fn group() -> ExecEnv {
    ExecEnv::new(Linux::new())
}

/// Every program gets this.
fn with(mechanism: KillMechanism, policy: Policy) -> Result<ExecEnv> {
    let linux = Linux::with_mechanism(mechanism)?;
    Ok(ExecEnv::builder(linux).policies(Policies::new().other(policy)).build())
}

/// Ends every descendant.
fn tree() -> Policy {
    Policy::new().kill(KillScope::Tree)
}

/// … and keeps programs to a few directories, off the network and away from other processes and from
/// what administers the machine.
fn confined(job: &Job) -> Result<Policy> {
    let dir = job.child.parent().ok_or("the child lies in a directory")?.to_owned();
    let filesystem = Filesystem::Grants {
        read: [dir, "/usr".into()].into(),
        write: ["/dev/null".into()].into(),
    };
    let isolation = Isolation::new()
        .filesystem(filesystem)
        .network(Network::Off)
        .local_sockets(LocalSockets::Off)
        .system_calls(SystemCalls::Restricted)
        .processes(Processes::Own);
    Ok(tree().isolation(isolation))
}
