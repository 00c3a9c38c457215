#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them.
mod capability; // what a backend can honour
mod capture;
mod class; // on whose behalf a program runs
mod clauses; // the contract, clause by clause
mod drive; // the loop behind both
mod environment; // the variables that a program sees
mod error; // why a program could not be run
mod expand; // `${NAME}` in declared values
mod grants; // what the operator opens for one program
mod handle; // what callers hold
mod host_pattern; // which hosts, by name
mod installed; // what a program was installed with
mod isolation; // what a program is cut off from
mod kill_scope; // what is ended with a program
mod limits; // bounds
mod outcome; // what came of it
mod policy; // what each class gets
mod process; // programs that stay
mod profile; // isolation under a name
mod secrets; // where programs keep secrets
mod spec; // what to run
mod traits; // the contract with backends // keeping output in bounded memory

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(all(feature = "local", unix))]
pub mod local;
#[cfg(feature = "scripted")]
pub mod scripted;

pub use crate::{
    capability::{Capabilities, Capability},
    class::Class,
    drive::DRAIN_TIME,
    environment::{EnvPolicy, Environment},
    error::{ExecError, ExecErrorKind},
    expand::{Declared, MissingVariables, Template, TemplateError},
    grants::Grants,
    handle::{Chunk, ExecEnv, ExecEnvBuilder, IN_FLIGHT_PER_CPU, RunOptions, Stream},
    host_pattern::{HostPattern, HostPatternError},
    installed::{INSTALLERS, InstallPlaces, Installed, Installer, InstallerPlace},
    isolation::{
        Filesystem, Isolation, LocalSockets, Network, Processes, SharedMemory, SystemCalls,
    },
    kill_scope::KillScope,
    limits::{LimitKind, Limits},
    outcome::{
        Captured, DeniedHost, Ended, Ending, Exit, HostDenial, Outcome, PeakMemory, Signal, Spill,
        Usage,
    },
    policy::{Policies, Policy},
    process::Process,
    profile::{Exposed, PROJECT_SETTINGS, Profile, ProfilePlaces, project_settings},
    secrets::{Moved, SECRETS, Secret, SecretBase},
    spec::{
        Capture, DEFAULT_CAPTURE_BYTES, DEFAULT_GRACE, DEFAULT_SPILL_BYTES, ErrorOutput, Output,
        Program, Sha256, Spec, Stdin,
    },
    traits::{BoxedReader, BoxedWriter, Control, Executor, Running, Target},
};
