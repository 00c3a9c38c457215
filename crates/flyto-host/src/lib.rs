#![doc = include_str!("../README.md")]
//!
//! ## A call from end to end
//!
//! `examples/embed.rs` is a whole program; `examples/agent_loop.rs` shows one call in each stage, and denied by each. A call
//! that a host makes:
//!
//! ```
//! use std::path::Path;
//!
//! use flyto_execenv::{ExecEnv, local::Local};
//! use flyto_host::{CallError, Config, Host, Surroundings};
//! use flyto_tools::{CallContext, Input};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = Config::default();
//! config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
//! // What a model calls is asked first, unless a rule allows it.
//! config.permissions.allow("echo_input")?;
//! # let dir = tempfile::tempdir()?;
//! let surroundings = Surroundings::ambient()?;
//! # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
//! let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
//!
//! // What a program did is a result, also when it failed.
//! let input = Input::parse(r#"{"text": "two words"}"#)?;
//! let result = host.call("echo_input", input, &CallContext::new()).await?;
//! assert_eq!((result.failure, &*result.output), (None, r#"{"text": "two words"}"#));
//!
//! // An error says that there was no call, and why.
//! let err = host.call("echo_inptu", Input::parse("{}")?, &CallContext::new()).await;
//! assert!(matches!(err, Err(CallError::NotFound { .. })));
//! # Ok(()) }
//! ```
//!
//! ## What it leaves to others
//!
//! - Where programs run, and what confines them: a backend of [`flyto_execenv`], which the program that
//!   embeds the host chooses. The host states which profile a program needs; the backend enforces it or
//!   refuses the call.
//! - What a tool is (`flyto-tools`), and how tools are declared (`flyto-plugin`, `flyto-exectool`).
//! - Talking: no model, no protocol, no terminal. [`flyto_tools::export`] writes tools for a model's
//!   service.
#![forbid(unsafe_code)]

// In the order to read them. What a host is told:
pub mod codes; //  what can be wrong with a configuration
mod config; //     files, variables and flags as one configuration; the sandbox profiles
mod explain; //    what each code of a finding means
mod links; //      what a granted path may not go through
mod places; //     where files lie, and what the host sees of its process
mod replace; //    a file is replaced in one step
pub mod schema; // JSON Schemas for editors
mod trust; //      which content of a project's file the operator trusts

// what it does,
mod audit; //       what is recorded of a call
mod batch; //       several calls of one turn, and calls on behalf of a tool
mod bound; //       the text of a result is truncated to a limit
mod builder; //     a host before its sources are loaded
mod changes; //     what is different between two looks
mod confinement; // what holds for a tool's program
mod grants; //      what a tool's program lacks, and how it is granted
mod host; //        all sources in one registry
#[cfg(unix)]
pub mod jobs; //    calls in the background, each in a process of its own
mod native; //      calls of tools that are no programs
#[cfg(feature = "otel")]
pub mod otel; //    spans for a collector
pub mod permission; // which calls may run
mod plugin_rules; // what plugins have asked or denied of their own tools
mod prepared; //    a call that was looked up and not made yet: its plan, and the way to run it
mod readiness; //   tools whose programs may be started before a call
mod secrets; //     what looks like a secret in a result
mod server_rules; // what plugins have asked or denied of the tools of their servers
mod servers; //     servers that are declared, for the program that starts them
mod sources; //     the tools of each source, and reloading them
mod spill; //       which whole outputs are kept
pub mod stages; //  the path of a call, step by step
mod tool_source; // sources that the embedding program adds
mod trace; //       spans of calls
#[cfg(unix)]
pub mod undo; //    calls that can be taken back
mod unmatched; //   rules of permission that name no tool
mod unreadable; //  a call whose input could not be read
#[cfg(feature = "watch")]
mod watch; // reloading what is edited

// what these keep on the disk,
mod clock; // times as they are kept and shown
#[cfg(unix)]
mod disk; // files that are private
mod ids; // ids that differ among all processes of a user

// and what it reports.
mod end; //      how a call ended, with its exit code
mod error; //    why a call gave no result
mod report; //   what became of every source
mod settings; // what is said about plugins that are not there
mod validate; // checking files without using them

pub use bound::DEFAULT_OUTPUT_LIMIT_BYTES;
pub use builder::HostBuilder;
pub use changes::{HostChanges, Reloads, SourceChange, SourceKind};
pub use config::{
    AddRulesError, AuditConfig, Config, ConfigError, ConfigLock, ConfigServer, ConfigValue,
    EvolveConfig, Flags, OnUnrecorded, Origin, ProjectReview, ReviewError, Sandbox, SandboxProfile,
    SecretRules, add_rules, closed_paths, find_project, load_config, lock_config_file,
    review_project,
};
pub use confinement::Confinement;
pub use end::CallEnd;
pub use error::{CallError, Refusal};
pub use explain::{all_codes, explain};
pub use grants::{MissingGrants, ToGrant};
pub use host::Host;
pub use places::{Places, Surroundings};
pub use prepared::{Plan, Prepared};
pub use readiness::{gives_blocks, may_wait, not_ready};
pub use replace::{file_behind_links, replace_file};
pub use report::{ExecFile, ExecFileState, LoadReport};
pub use secrets::{FoundSecret, HostGuard, OutputGuard, SecretMatch};
pub use server_rules::ServerRules;
pub use servers::DeclaredServer;
pub use tool_source::ToolSource;
pub use trust::{TrustError, TrustStore, Trusted};
pub use validate::{Validation, validate_path, validate_path_under};
#[cfg(feature = "watch")]
pub use watch::{WatchError, WatchOptions, Watching};
