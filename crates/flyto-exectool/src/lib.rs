#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them.
mod check; //      what a definition must fulfil, whoever made it
pub mod codes; //  what can be wrong, explained
mod definition; // what one tool is
mod fields; //     the keys of one definition
mod load; //       a file to definitions or findings
pub mod schema;
mod tool; //       a definition as a tool // the same for editors

pub use definition::{DEFAULT_TIMEOUT, DefinitionError, ExecToolDef};
pub use load::{Loaded, load, load_file};
pub use tool::{ExecTool, HostContext};
