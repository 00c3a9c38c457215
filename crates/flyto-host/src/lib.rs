#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them.
mod bound; //     keeping a result's text short
mod changes; //   what is different between two looks
pub mod codes; // what can be wrong with a configuration
mod config; //    what the host is told, and by whom
mod confinement; // what holds for a tool's program
mod host; //      all sources in one registry, and the path of a call
mod links; //     what a granted path may not go through
mod places; //    where files lie, and what the host sees of its process
mod report; //    what became of every source
pub mod schema; // JSON Schemas for editors
mod settings; // what is said about plugins that are not there
mod sources; //   the tools of each source
mod trust; //     which content of a project's file the operator trusts
mod validate; //  checking files without using them
#[cfg(feature = "watch")]
mod watch; //     reloading what is edited

pub use bound::DEFAULT_OUTPUT_LIMIT_BYTES;
pub use changes::{HostChanges, SourceChange, SourceKind};
pub use config::{
    Config, Flags, Origin, ProjectReview, ReviewError, Sandbox, SandboxProfile, closed_paths,
    find_project, load_config, review_project,
};
pub use confinement::Confinement;
pub use host::{CallError, Host, Plan, all_codes, explain};
pub use places::{Places, Surroundings};
pub use report::{ExecFile, ExecFileState, LoadReport};
pub use trust::{TrustError, TrustStore, Trusted};
pub use validate::{Validation, validate_path};
#[cfg(feature = "watch")]
pub use watch::{WatchError, WatchOptions, Watching};
