#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. What to run, and what came of it:
mod class; // on whose behalf a program runs
mod digest; // the digest of a pinned program
mod environment; // the variables that a program sees
mod error; // why a program could not be run
mod outcome; // what came of it
mod output; // what becomes of its streams
mod shipped; // files that have to be where a program runs
mod signal; // signals by number and by name
mod skipped; // bytes that a backend left out
mod spec; // what to run

// what callers hold: refusal, deadline, output limit and drain are here, once for all backends,
mod begin; // the start of a call, unless the call is over before it
mod capture; // output is truncated to a limit in memory
mod chunk; // pieces of output as they arrive
mod drive; // the loop around a running program: deadline, cancellation, drain time
mod handle; // `ExecEnv`
mod process; // programs that stay, with piped streams
mod ready; // programs that are started before they are asked for
mod report; // the outcome of a call
mod spare; // further tries of a start that lacks something
mod spill; // bounds for the files with whole streams
mod spill_file; // the file with one of them

// the contract with backends,
mod capability; // what a backend can honour
mod clauses; // the contract, clause by clause
mod traits; // `Executor` and `Control`

// what a spec can demand,
mod host_pattern; // which hosts, by name
mod isolation; // what a program is cut off from
mod kill_scope; // which processes are terminated with a program
mod limits; // upper bounds

// what an operator decides for many specs,
mod grants; // what is opened for one program
mod installed; // what a program was installed with
mod policy; // the bounds of each class
mod profile; // isolation by name: the sandbox profiles `none`, `workspace` and `strict`
mod secrets; // where programs keep secrets
mod system_secrets; // what a system keeps from all users but root

// and values that are filled in.
mod declared; // variables with such values
mod expand; //   `${NAME}` in declared values
mod words; //    arguments and variables that are too long

// Backends, and the test of the contract.
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(all(feature = "local", unix))]
pub mod local;
#[cfg(feature = "scripted")]
pub mod scripted;

pub use crate::{
    capability::{Capabilities, Capability},
    chunk::{Chunk, Stream},
    class::Class,
    declared::{Declared, ExpandError, MAX_VALUES_BYTES, MissingVariables},
    digest::Sha256,
    drive::DRAIN_TIME,
    environment::{EnvPolicy, Environment},
    error::{ExecError, ExecErrorKind},
    expand::{MAX_VALUE_BYTES, Template, TemplateError, ValueError},
    grants::Grants,
    handle::{ExecEnv, ExecEnvBuilder, IN_FLIGHT_PER_CPU, RunOptions},
    host_pattern::{HostPattern, HostPatternError},
    installed::{INSTALLERS, InstallPlaces, Installed, Installer, InstallerPlace},
    isolation::{
        Filesystem, Isolation, LocalSockets, Network, Processes, SharedMemory, SystemCalls,
    },
    kill_scope::KillScope,
    limits::{LimitKind, Limits},
    outcome::{
        Captured, DeniedHost, Ended, Ending, Exit, HostDenial, Outcome, PeakMemory, Spill, Usage,
    },
    output::{Capture, DEFAULT_CAPTURE_BYTES, DEFAULT_SPILL_BYTES, ErrorOutput, Output},
    policy::{Policies, Policy},
    process::Process,
    profile::{Exposed, PROJECT_SETTINGS, Profile, ProfilePlaces, project_settings},
    ready::{
        ColdStart, ExecReadiness, MAX_START_DEPTH, MAX_START_FILES, Ready, ReadyOptions, StartFiles,
    },
    secrets::{Moved, SECRETS, Secret, SecretBase},
    shipped::ShippedFile,
    signal::Signal,
    skipped::SkippedBytes,
    spec::{DEFAULT_GRACE, Program, Spec, Stdin},
    spill::{SpillBounds, SpillDir},
    system_secrets::SYSTEM_SECRETS,
    traits::{BoxedReader, BoxedWriter, Control, Executor, MemoryMeter, Running, Target},
    words::{WordsTooLong, argument_bytes, variable_bytes},
};
