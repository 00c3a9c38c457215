//! Programs that are started before they are asked for.
//!
//! An interpreter takes longer to start than its script to run. A program whose specs differ in their input alone is
//! started once more after a call, loads, and waits at its first read of stdin; the next call only writes the input.
//! Each process serves one call, so nothing of one call is seen by another.
//!
//! [`Pool`] is asked by [`ExecEnv::run_with`](crate::ExecEnv::run_with) before a start and told when a call is over.
//! What it hands out was started from an equal spec, from files that are what they were ([`StartFiles`]), and has
//! neither ended nor printed more than a pipe holds.

mod changes; // edits, and what a program writes itself
mod env; //   what a handle does with them
mod files; // what a start reads, to compare
mod idle; //  one process that waits
mod looks; // when it is looked at
mod pool; //  all of them, within their bounds
mod state; // what is known of them
mod useless; // when there is none any more
mod watch; // waiting for its end

use std::{error::Error as _, fmt, path::PathBuf, time::Duration};

pub use self::files::StartFiles;
pub(crate) use self::{idle::Held, pool::Pool};
use crate::{ExecError, Exit};

/// How many files are looked at before each call: 256, which takes less than a start of the smallest program.
pub const MAX_START_FILES: usize = 256;

/// How deep directories are looked into for that: 16.
pub const MAX_START_DEPTH: usize = 16;

/// That a program may be started before a call: it does nothing but load before it reads its input.
///
/// ```
/// use flyto_execenv::{Ready, Spec};
///
/// let spec = Spec::new("python3").arg("/opt/tool/run.py").ready(Ready::new().watch("/opt/tool"));
/// assert!(spec.ready.is_some());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ready {
    /// Files and directories, absolute, whose change makes a started process useless; a directory with what is in it.
    /// The program, its interpreter and arguments that name files are watched without being named here.
    pub watched: Vec<PathBuf>,
    /// Whether the directories are watched as well in which arguments lie that name files, and the program where it is a
    /// script that is named by its path: what such a file loads lies beside it. By default they are not.
    pub beside_arguments: bool,
    /// How much processor time a process may use until it is asked, with its descendants: as much as the start of a call could.
    /// One that has used more does not wait for its input, and counts as one that cannot. It holds where
    /// [`Control::usage`](crate::Control::usage) tells that time. By default there is no bound.
    pub cpu_time: Option<Duration>,
}

impl Ready {
    /// Watches no more than the program and its arguments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file or directory to watch.
    #[must_use]
    pub fn watch(mut self, path: impl Into<PathBuf>) -> Self {
        self.watched.push(path.into());
        self
    }

    /// Bounds the processor time that a process may use until it is asked.
    #[must_use]
    pub fn cpu_time(mut self, most: Duration) -> Self {
        self.cpu_time = Some(most);
        self
    }

    /// Watches what lies beside arguments that name files, and beside a script.
    #[must_use]
    pub fn watch_beside_arguments(mut self) -> Self {
        self.beside_arguments = true;
        self
    }
}

/// The bounds on programs that wait ([`ExecEnvBuilder::ready`](crate::ExecEnvBuilder::ready)). 0 of any of them keeps none.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_execenv::{ExecEnv, ReadyOptions, local::Local};
///
/// let options = ReadyOptions::new().processes(2).idle(Duration::from_secs(60));
/// let env = ExecEnv::builder(Local::new()).ready(options).build();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadyOptions {
    /// How many processes may wait; default 8. 0 keeps none.
    pub processes: usize,
    /// How long one may wait until it is ended; default 5 minutes.
    pub idle: Duration,
    /// How many bytes of memory all of them may hold, each with its descendants, as
    /// [`Control::memory_meter`](crate::Control::memory_meter) measures it; default 512 MiB. A process is measured 1 s after its
    /// start and then every 10 s. Above the bound, those of the tools that were called least lately are ended, and one
    /// that is above it alone counts as one that cannot wait. One that cannot be measured counts as nothing.
    pub memory_bytes: u64,
}

impl Default for ReadyOptions {
    fn default() -> Self {
        Self { processes: 8, idle: Duration::from_secs(300), memory_bytes: 512 * 1024 * 1024 }
    }
}

impl ReadyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many processes may wait.
    #[must_use]
    pub fn processes(mut self, processes: usize) -> Self {
        self.processes = processes;
        self
    }

    /// Sets how long a process may wait.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Sets how many bytes of memory all of them may take.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }
}

/// Whether a process waited for the call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecReadiness {
    /// None was asked for: the spec does not say that its program may be started before, or the host keeps none.
    #[default]
    NotAsked,
    /// The call started its process, for this reason.
    Cold(ColdStart),
    /// A process had been started this long before the call.
    Ready {
        /// From the start of the process to the call.
        waited: Duration,
    },
}

/// Why a call had to start its process, although its program may be started before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColdStart {
    /// No process of it waited: it is the first call, the last one was long ago, or others took them all.
    NoneWaiting,
    /// This file has changed since the process was started.
    Changed(PathBuf),
    /// The process ended before it was asked: it does not wait for input.
    Ended(Exit),
    /// The process printed 64 KiB or more before it was asked.
    Printed,
    /// The process closed its output before it was asked.
    Closed,
    /// Something changed while each of the last processes waited, this path last: 8 of them or more. Some calls are made without one,
    /// to see whether something changes then too.
    HeldBack(PathBuf),
    /// Three processes in a row could not wait, the last one for this reason. None is started until a file changes that the
    /// spec reads; where files changed while such a process waited, which it may have written itself, until one changes between
    /// two calls; or until [`ExecEnv::end_waiting`](crate::ExecEnv::end_waiting). A change alone ([`Changed`](Self::Changed)) is a
    /// reason only where nothing changed between calls without a process, and something while each of 11 waited.
    TurnedOff(Box<Self>),
    /// Its files went on changing for a second after the last call, so no process was started.
    Unsettled,
    /// More files than [`MAX_START_FILES`], or directories nested deeper than [`MAX_START_DEPTH`], would have to be looked at before
    /// each call.
    TooManyFiles,
    /// The backend cannot tell whether the files of a program have changed, or hands out no pipe for its input.
    Unsupported,
    /// All processes that wait would hold more memory than they may, and others were called later.
    Memory,
    /// The process alone held so many bytes of memory while it waited, more than all that wait may.
    TooLarge {
        /// What it held.
        bytes: u64,
    },
    /// The process used so much processor time before it was asked, more than it may ([`Ready::cpu_time`]).
    Busy {
        /// What it used.
        cpu: Duration,
    },
    /// A process could not be started, for this reason.
    NotStarted(String),
}

impl ColdStart {
    /// No process could be started, for this reason and its causes.
    pub(crate) fn not_started(err: &ExecError) -> Self {
        let (mut all, mut cause) = (err.to_string(), err.source());
        while let Some(it) = cause {
            (all, cause) = (format!("{all}: {it}"), it.source());
        }
        Self::NotStarted(all)
    }

    /// Whether the program is to blame: it does not wait for its input, takes too much memory or processor time, or has too many
    /// files. A host tells its author.
    #[must_use]
    pub const fn is_unfit(&self) -> bool {
        use ColdStart::{Busy, Closed, Ended, Printed, TooLarge, TooManyFiles, TurnedOff};
        matches!(
            self,
            Ended(_)
                | Printed
                | Closed
                | TooLarge { .. }
                | Busy { .. }
                | TurnedOff(_)
                | TooManyFiles
        )
    }
}

impl fmt::Display for ColdStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneWaiting => f.write_str("no process of it waited"),
            Self::Changed(path) => write!(f, "{path:?} has changed since its process was started"),
            Self::HeldBack(path) => {
                write!(
                    f,
                    "{path:?} or another file has changed while each of its last processes "
                )?;
                f.write_str("waited, and none is started for a few calls")
            }
            Self::TurnedOff(why) if matches!(**why, Self::Changed(_)) => {
                write!(
                    f,
                    "files change whenever a process of it waits, and at no other time: {why}; "
                )?;
                f.write_str("it is not kept ready until it changes")
            }
            Self::Ended(Exit::Code(code)) => {
                write!(f, "its process exited with code {code} before it was asked")
            }
            Self::Ended(Exit::Signal(signal)) => {
                write!(f, "its process was ended by {signal} before it was asked")
            }
            Self::Printed => f.write_str("its process printed 64 KiB or more before it was asked"),
            Self::Closed => f.write_str("its process closed its output before it was asked"),
            Self::TurnedOff(why) => {
                write!(
                    f,
                    "three of its processes in a row could not wait, the last one as {why}; "
                )?;
                f.write_str("it is not kept ready until it changes")
            }
            Self::TooManyFiles => write!(
                f,
                "more than {MAX_START_FILES} files, or {MAX_START_DEPTH} directories within each \
                 other, would have to be looked at before each call"
            ),
            Self::Unsettled => f.write_str("its files went on changing after the last call"),
            Self::Unsupported => f.write_str("the backend cannot keep a process ready"),
            Self::Memory => {
                f.write_str("the processes that wait have all the memory they may take")
            }
            Self::TooLarge { bytes } => {
                let mib = bytes.div_ceil(1 << 20);
                write!(f, "its process held {mib} MiB of memory, more than all that wait may")
            }
            Self::Busy { cpu } => {
                let seconds = cpu.as_secs_f64();
                write!(f, "its process used {seconds:.1} s of processor time before it was asked")
            }
            Self::NotStarted(why) => write!(f, "its process could not be started before: {why}"),
        }
    }
}
