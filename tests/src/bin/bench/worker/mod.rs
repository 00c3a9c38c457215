//! One run of one variant, in a process of its own.

use std::{path::Path, str::FromStr};

use flyto_execenv::Program;
use tokio::runtime::{Builder, Runtime};

use crate::{
    Result,
    job::{Job, Sample},
};

mod calls; //        the clock around the calls
pub(crate) mod discovery; //    plugins, and the same files without a look at what they say
mod exec_env; //     what is measured …
mod host; //         … through a host …
mod posix_spawn; //  … and what it is compared with
mod session; //      … where a process stays
mod std_process;
mod tokio_process;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
use elsewhere as linux;

/// The argument that makes this program a worker.
pub(crate) const SUBCOMMAND: &str = "worker";

/// The only variable in the environment of every child.
pub(crate) const CHILD_PATH: &str = "/usr/bin:/bin";

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The C program, or its Rust twin.
    Baseline,
    /// The standard library, blocking.
    Std,
    /// The standard library where it has to fork.
    StdForking,
    /// Tokio's processes, two worker threads.
    Tokio,
    /// `ExecEnv` with `Local`, two worker threads.
    ExecEnv,
    /// `ExecEnv` with `Local`, three worker threads for each of two CPUs.
    ExecEnvSixWorkers,
    /// `ExecEnv` with `Local`, all on one thread.
    ExecEnvOneThread,
    /// `ExecEnv` with `Linux`: the process group is ended, as with `Local`.
    Group,
    /// … with more worker threads than CPUs.
    GroupSixWorkers,
    /// … all on one thread.
    GroupOneThread,
    /// `ExecEnv` with `Linux`: every descendant is ended, below a supervisor.
    Tree,
    /// … and several of them at once have more worker threads than CPUs.
    TreeSixWorkers,
    /// … all on one thread.
    TreeOneThread,
    /// … and confined, with a domain of its own that no program can break.
    Confined,
    /// … by a control group.
    Cgroup,
    /// … by a PID namespace, which no program can break.
    Namespace,
    /// As `ExecEnv`, keeping 64 KiB of each stream.
    ExecEnvSmall,
    /// As `ExecEnv`, with a pinned program that was hashed before.
    ExecEnvPinned,
    /// As `ExecEnv`, with a pinned program and a new backend for each call, which hashes it.
    ExecEnvPinnedFirst,
    /// A plugin whose process stays, two worker threads.
    Session,
    /// The same, all on one thread.
    SessionOneThread,
    /// A tool of a definition file, through all stages of a host, on one thread.
    HostOneThread,
    /// The standard library, and bubblewrap in front of the child.
    Bubblewrap,
    /// Finding plugins.
    Discovery,
    /// Looking again at plugins of which nothing has changed.
    Reload,
}

impl Variant {
    const ALL: [Self; 25] = [
        Self::Baseline,
        Self::Std,
        Self::StdForking,
        Self::Tokio,
        Self::ExecEnv,
        Self::ExecEnvSixWorkers,
        Self::ExecEnvOneThread,
        Self::Group,
        Self::GroupSixWorkers,
        Self::GroupOneThread,
        Self::Confined,
        Self::Tree,
        Self::TreeSixWorkers,
        Self::TreeOneThread,
        Self::Cgroup,
        Self::Namespace,
        Self::ExecEnvSmall,
        Self::ExecEnvPinned,
        Self::ExecEnvPinnedFirst,
        Self::Session,
        Self::SessionOneThread,
        Self::HostOneThread,
        Self::Bubblewrap,
        Self::Discovery,
        Self::Reload,
    ];

    /// The name in tables and arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "posix_spawn",
            Self::Std => "std::process",
            Self::StdForking => "std::process, forking",
            Self::Tokio => "tokio::process, 2 workers",
            Self::ExecEnv => "ExecEnv + Local, 2 workers",
            Self::ExecEnvSixWorkers => "ExecEnv + Local, 6 workers",
            Self::ExecEnvOneThread => "ExecEnv + Local, current_thread",
            Self::Group => "ExecEnv + Linux, group kill, 2 workers",
            Self::GroupSixWorkers => "ExecEnv + Linux, group kill, 6 workers",
            Self::GroupOneThread => "ExecEnv + Linux, group kill, current_thread",
            Self::Confined => "ExecEnv + Linux, confined, 2 workers",
            Self::Tree => "ExecEnv + Linux, tree kill, 2 workers",
            Self::TreeSixWorkers => "ExecEnv + Linux, tree kill, 6 workers",
            Self::TreeOneThread => "ExecEnv + Linux, tree kill, current_thread",
            Self::Cgroup => "ExecEnv + Linux, control group, 2 workers",
            Self::Namespace => "ExecEnv + Linux, PID namespace, 2 workers",
            Self::ExecEnvSmall => "ExecEnv + Local, 64 KiB kept",
            Self::ExecEnvPinned => "ExecEnv + Local, pinned",
            Self::ExecEnvPinnedFirst => "ExecEnv + Local, pinned, first call",
            Self::Session => "PluginTool, 2 workers",
            Self::SessionOneThread => "PluginTool, current_thread",
            Self::HostOneThread => "Host + Local, current_thread",
            Self::Bubblewrap => "std::process + bubblewrap",
            Self::Discovery => "Catalogue::discover",
            Self::Reload => "Catalogue::reload",
        }
    }
}

impl Variant {
    /// Whether this machine has what it needs.
    pub(crate) fn is_here(self) -> bool {
        match self {
            Self::Bubblewrap => Path::new(std_process::BUBBLEWRAP).exists(),
            other => linux::works(other),
        }
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| format!("no variant is called `{name}`"))
    }
}

/// Does what the arguments say and prints the sample.
pub(crate) fn run(args: &[String]) -> Result {
    let [variant, work, job @ ..] = args else {
        return Err("a worker needs a variant and a kind of work".into());
    };
    let variant: Variant = variant.parse()?;
    let job = Job::parse(job)?;
    let sample = match work.as_str() {
        "call" => call(variant, &job)?,
        "stream" => stream(variant, &job)?,
        "ping" => ping(variant, &job)?,
        "discover" => discover(variant, &job)?,
        _ => return Err(format!("there is no work `{work}`").into()),
    };
    print!("{}", sample.to_text());
    Ok(())
}

fn call(variant: Variant, job: &Job) -> Result<Sample> {
    match variant {
        Variant::Baseline => calls::blocking(job, posix_spawn::call),
        Variant::Std => calls::blocking(job, std_process::call),
        Variant::StdForking => calls::blocking(job, std_process::forking_call),
        Variant::Tokio => calls::concurrent(job, &workers(2)?, tokio_process::call),
        Variant::ExecEnv => exec_env_call(job, &workers(2)?),
        Variant::ExecEnvSixWorkers => exec_env_call(job, &workers(6)?),
        Variant::ExecEnvOneThread => exec_env_call(job, &one_thread()?),
        Variant::GroupSixWorkers | Variant::TreeSixWorkers => {
            linux::call(variant, job, &workers(6)?)
        }
        Variant::GroupOneThread | Variant::TreeOneThread => {
            linux::call(variant, job, &one_thread()?)
        }
        Variant::Group
        | Variant::Tree
        | Variant::Cgroup
        | Variant::Confined
        | Variant::Namespace => linux::call(variant, job, &workers(2)?),
        Variant::HostOneThread => host::calls(job, &one_thread()?),
        Variant::Bubblewrap => calls::blocking(job, std_process::bubblewrap_call),
        Variant::ExecEnvPinned => {
            let (env, program) = (exec_env::env(), exec_env::pinned(job)?);
            let call = move |_| exec_env::call(env.clone(), program.clone());
            calls::concurrent(job, &workers(2)?, call)
        }
        Variant::ExecEnvPinnedFirst => {
            let program = exec_env::pinned(job)?;
            let call = move |_| exec_env::call(exec_env::env(), program.clone());
            calls::concurrent(job, &workers(2)?, call)
        }
        other => Err(format!("{} is not measured with calls", other.name()).into()),
    }
}

fn exec_env_call(job: &Job, runtime: &Runtime) -> Result<Sample> {
    let (env, program) = (exec_env::env(), Program::from(job.child.as_os_str()));
    calls::concurrent(job, runtime, move |_| exec_env::call(env.clone(), program.clone()))
}

fn stream(variant: Variant, job: &Job) -> Result<Sample> {
    match variant {
        Variant::Baseline => posix_spawn::stream(job),
        Variant::ExecEnv => exec_env::stream(job, &workers(2)?, None),
        Variant::ExecEnvSmall => exec_env::stream(job, &workers(2)?, Some(64 * 1024)),
        other => Err(format!("{} is measured with calls only", other.name()).into()),
    }
}

fn ping(variant: Variant, job: &Job) -> Result<Sample> {
    match variant {
        Variant::Baseline => posix_spawn::pings(job),
        Variant::Session => session::calls(job, &workers(2)?),
        Variant::SessionOneThread => session::calls(job, &one_thread()?),
        other => Err(format!("{} has no process that stays", other.name()).into()),
    }
}

fn discover(variant: Variant, job: &Job) -> Result<Sample> {
    match variant {
        Variant::Baseline => discovery::measure(job, || discovery::read_all(&job.child)),
        Variant::Discovery => discovery::measure(job, || discovery::discover(&job.child)),
        Variant::Reload => {
            let catalogue = discovery::discover(&job.child)?;
            discovery::measure(job, || discovery::reload(&catalogue))
        }
        other => Err(format!("{} finds no plugins", other.name()).into()),
    }
}

fn workers(n: usize) -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(n).enable_all().build()?)
}

fn one_thread() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use super::Variant;

    #[test]
    fn every_variant_is_found_by_its_name() {
        for variant in Variant::ALL {
            assert_eq!(variant.name().parse(), Ok(variant));
        }
        assert!("fork".parse::<Variant>().is_err());
    }
}
