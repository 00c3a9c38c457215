//! Bounds that a spec asks for. Each is required once it is asked for.

use std::time::Duration;

/// Upper bounds for one program and everything it starts. `None` asks for no bound.
///
/// The output bound is kept by the handle for every backend; the others are the backend's.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_execenv::Limits;
///
/// let of_tool = Limits::new().memory_bytes(2 << 30).cpu_time(Duration::from_secs(60));
/// let of_operator = Limits::new().memory_bytes(1 << 30).processes(64);
/// let both = of_tool.narrowed_by(&of_operator);
/// assert_eq!((both.memory_bytes, both.processes), (Some(1 << 30), Some(64)));
/// assert_eq!(both.cpu_time, Some(Duration::from_secs(60)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// CPU time of the program and everything it starts, user and system together.
    pub cpu_time: Option<Duration>,
    /// Memory in bytes, of the whole tree. [`Capabilities::means`](crate::Capabilities::means) says what counts.
    pub memory_bytes: Option<u64>,
    /// Processes and threads alive at once. Where a backend can count only all of a user's, the program gets so
    /// many on top of those that there are when it starts: what others start and end later moves its bound.
    pub processes: Option<u64>,
    /// Size in bytes of any one file that the program writes.
    pub file_size_bytes: Option<u64>,
    /// Open files of one process, the three streams included.
    pub open_files: Option<u64>,
    /// Bytes of stdout and stderr together. More ends the program; capture limits only cut.
    pub output_bytes: Option<u64>,
}

impl Limits {
    /// No bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the bound on CPU time.
    #[must_use]
    pub fn cpu_time(mut self, limit: Duration) -> Self {
        self.cpu_time = Some(limit);
        self
    }

    /// Sets the bound on memory, in bytes.
    #[must_use]
    pub fn memory_bytes(mut self, limit: u64) -> Self {
        self.memory_bytes = Some(limit);
        self
    }

    /// Sets the bound on processes.
    #[must_use]
    pub fn processes(mut self, limit: u64) -> Self {
        self.processes = Some(limit);
        self
    }

    /// Sets the bound on the size of a written file, in bytes.
    #[must_use]
    pub fn file_size_bytes(mut self, limit: u64) -> Self {
        self.file_size_bytes = Some(limit);
        self
    }

    /// Sets the bound on open files.
    #[must_use]
    pub fn open_files(mut self, limit: u64) -> Self {
        self.open_files = Some(limit);
        self
    }

    /// Sets the bound on output, in bytes of both streams together.
    #[must_use]
    pub fn output_bytes(mut self, limit: u64) -> Self {
        self.output_bytes = Some(limit);
        self
    }

    /// These bounds, with those of `other` where they name none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let Self { cpu_time, memory_bytes, processes, file_size_bytes, open_files, output_bytes } =
            other;
        Self {
            cpu_time: self.cpu_time.or(*cpu_time),
            memory_bytes: self.memory_bytes.or(*memory_bytes),
            processes: self.processes.or(*processes),
            file_size_bytes: self.file_size_bytes.or(*file_size_bytes),
            open_files: self.open_files.or(*open_files),
            output_bytes: self.output_bytes.or(*output_bytes),
        }
    }

    /// Those of these bounds that `other` does not name.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        fn unless<T: Copy, U>(own: Option<T>, other: Option<U>) -> Option<T> {
            own.filter(|_| other.is_none())
        }
        let Self { cpu_time, memory_bytes, processes, file_size_bytes, open_files, output_bytes } =
            other;
        Self {
            cpu_time: unless(self.cpu_time, *cpu_time),
            memory_bytes: unless(self.memory_bytes, *memory_bytes),
            processes: unless(self.processes, *processes),
            file_size_bytes: unless(self.file_size_bytes, *file_size_bytes),
            open_files: unless(self.open_files, *open_files),
            output_bytes: unless(self.output_bytes, *output_bytes),
        }
    }

    /// The tighter of two sets of bounds, field by field.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        fn min<T: Ord + Copy>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        Self {
            cpu_time: min(self.cpu_time, other.cpu_time),
            memory_bytes: min(self.memory_bytes, other.memory_bytes),
            processes: min(self.processes, other.processes),
            file_size_bytes: min(self.file_size_bytes, other.file_size_bytes),
            open_files: min(self.open_files, other.open_files),
            output_bytes: min(self.output_bytes, other.output_bytes),
        }
    }
}

/// Which bound ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// [`Limits::cpu_time`].
    CpuTime,
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::processes`]. Told only where the system counts the processes that it refused, as a control group of
    /// Linux does; elsewhere the program alone knows.
    Processes,
    /// [`Limits::file_size_bytes`].
    FileSize,
    /// [`Limits::open_files`].
    OpenFiles,
    /// [`Limits::output_bytes`].
    Output,
}

impl LimitKind {
    /// What was limited, in words for a message: `output`, `CPU time`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuTime => "CPU time",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::FileSize => "file size",
            Self::OpenFiles => "open files",
            Self::Output => "output",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_narrow_field_by_field() {
        let a = Limits::new().processes(10).open_files(5);
        let b = Limits::new().processes(3).output_bytes(7);
        assert_eq!(a.narrowed_by(&b), Limits::new().processes(3).open_files(5).output_bytes(7));
        assert_eq!(a.narrowed_by(&b), b.narrowed_by(&a));
        assert_eq!(a.without(&b), Limits::new().open_files(5));
        assert_eq!(a.or(&b), Limits::new().processes(10).open_files(5).output_bytes(7));
    }
}
