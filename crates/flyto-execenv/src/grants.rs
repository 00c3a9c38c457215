//! What the operator grants to one program beyond its class.

use std::{path::PathBuf, sync::Arc};

use crate::{
    Filesystem, Isolation, Limits, LocalSockets, Network, Processes, SystemCalls, project_settings,
};

/// What the operator decided for one program in place of what its class gets.
///
/// The [policy](crate::Policy) of a class narrows every spec of that class; a grant says how far it
/// does so for this one. What the spec itself asks for is narrowed as before: a program that limits
/// itself to less keeps its own bound. Nothing here comes from the author of the program.
///
/// | field | effect on the policy |
/// | --- | --- |
/// | limits | each bound that is set takes the place of the class's |
/// | network, local sockets, system calls, processes | each takes the place of the class's |
/// | read, write | are added where the class grants paths; where it leaves the file system alone, they say nothing. A path that the class denies under the same name is not denied any more; one that it keeps read-only is not any more where writing it is granted. Where the class keeps paths read-only, so are the [`PROJECT_SETTINGS`](crate::PROJECT_SETTINGS) below further directories for writing |
///
/// ```
/// use flyto_execenv::{Grants, Limits, Network};
///
/// let grants = Grants::new()
///     .limits(Limits::new().memory_bytes(2 << 30))
///     .network(Network::Hosts(vec!["example.org:443".parse()?]))
///     .write("/var/lib/notes");
/// assert!(!grants.is_empty());
/// # Ok::<(), flyto_execenv::HostPatternError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grants {
    /// Bounds, which may be wider or tighter than the class's.
    pub limits: Limits,
    /// The network; `None` is the class's.
    pub network: Option<Network>,
    /// Named sockets of the machine; `None` is the class's.
    pub local_sockets: Option<LocalSockets>,
    /// System calls; `None` is the class's.
    pub system_calls: Option<SystemCalls>,
    /// Other processes; `None` is the class's.
    pub processes: Option<Processes>,
    /// Paths that may be read and executed, with what lies below them.
    ///
    /// Absolute paths without `..`; others are refused by the backend that enters them.
    pub read: Vec<PathBuf>,
    /// Paths that may be read and written, with what lies below them.
    pub write: Vec<PathBuf>,
}

impl Grants {
    /// Grants nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets bounds that take the place of the class's.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what the program may reach on the network, whatever its class may.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(network);
        self
    }

    /// Sets what the program may reach through named sockets, whatever its class may.
    #[must_use]
    pub fn local_sockets(mut self, local_sockets: LocalSockets) -> Self {
        self.local_sockets = Some(local_sockets);
        self
    }

    /// Sets which system calls the program may make, whatever its class may.
    #[must_use]
    pub fn system_calls(mut self, system_calls: SystemCalls) -> Self {
        self.system_calls = Some(system_calls);
        self
    }

    /// Sets what the program may do to other processes, whatever its class may.
    #[must_use]
    pub fn processes(mut self, processes: Processes) -> Self {
        self.processes = Some(processes);
        self
    }

    /// Adds a path that may be read and executed.
    #[must_use]
    pub fn read(mut self, path: impl Into<PathBuf>) -> Self {
        self.read.push(path.into());
        self
    }

    /// Adds a path that may be read and written.
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(path.into());
        self
    }

    /// Whether nothing is granted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The bounds of a class, with these in their place.
    ///
    /// Bound by bound.
    pub(crate) fn over_limits(&self, class: &Limits) -> Limits {
        let Limits { cpu_time, memory_bytes, processes, file_size_bytes, open_files, output_bytes } =
            &self.limits;
        Limits {
            cpu_time: cpu_time.or(class.cpu_time),
            memory_bytes: memory_bytes.or(class.memory_bytes),
            processes: processes.or(class.processes),
            file_size_bytes: file_size_bytes.or(class.file_size_bytes),
            open_files: open_files.or(class.open_files),
            output_bytes: output_bytes.or(class.output_bytes),
        }
    }

    /// The isolation of a class, opened as far as these say.
    pub(crate) fn over_isolation(&self, class: &Isolation) -> Isolation {
        let Isolation {
            network,
            local_sockets,
            filesystem,
            denied,
            read_only,
            system_calls,
            processes,
            shared_memory,
        } = class;
        let filesystem = match filesystem {
            Filesystem::Host => Filesystem::Host,
            Filesystem::Grants { read, write } => {
                Filesystem::Grants { read: with(read, &self.read), write: with(write, &self.write) }
            }
        };
        let is_granted = |path| self.read.contains(path) || self.write.contains(path);
        let denied = match denied.iter().any(is_granted) {
            true => denied.iter().filter(|it| !is_granted(it)).cloned().collect(),
            false => Arc::clone(denied),
        };
        let read_only = match read_only.is_empty() || self.write.is_empty() {
            true => Arc::clone(read_only),
            false => {
                let more = self.write.iter().flat_map(|it| project_settings(it));
                let all = read_only.iter().cloned().chain(more);
                all.filter(|it| !self.write.contains(it)).collect()
            }
        };
        Isolation {
            network: self.network.clone().unwrap_or_else(|| network.clone()),
            local_sockets: self.local_sockets.unwrap_or(*local_sockets),
            filesystem,
            denied,
            read_only,
            system_calls: self.system_calls.unwrap_or(*system_calls),
            processes: self.processes.unwrap_or(*processes),
            shared_memory: *shared_memory,
        }
    }
}

/// The paths of a class, and these.
fn with(class: &Arc<[PathBuf]>, more: &[PathBuf]) -> Arc<[PathBuf]> {
    match more.is_empty() {
        true => Arc::clone(class),
        false => class.iter().chain(more).cloned().collect(),
    }
}
