//! What the operator grants to one program beyond its class.

use std::path::PathBuf;

use crate::{Filesystem, Isolation, Limits, Network};

/// What the operator decided for one program in place of what its class gets.
///
/// The [policy](crate::Policy) of a class narrows every spec of that class; a grant says how far it
/// does so for this one. What the spec itself asks for is narrowed as before: a program that limits
/// itself to less keeps its own bound. Nothing here comes from whoever declares the program.
///
/// | field | effect on the policy |
/// | --- | --- |
/// | limits | each bound that is set takes the place of the class's |
/// | network | takes the place of the class's |
/// | read, write | are added where the class grants paths; where it leaves the file system alone, they say nothing |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grants {
    /// Bounds, which may be wider or tighter than the class's.
    pub limits: Limits,
    /// The network; `None` is the class's.
    pub network: Option<Network>,
    /// Paths that may be read and executed, with what lies below them.
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
        let network = self.network.unwrap_or(class.network);
        let filesystem = match &class.filesystem {
            Filesystem::Host => Filesystem::Host,
            Filesystem::Grants { read, write } => Filesystem::Grants {
                read: [&**read, &*self.read].concat(),
                write: [&**write, &*self.write].concat(),
            },
        };
        Isolation { network, filesystem }
    }
}
