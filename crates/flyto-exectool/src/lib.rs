#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. What a file says:
mod check; //      what a definition must fulfil, from a file or from code
pub mod codes; //  what can be wrong, explained
mod definition; // what one tool is
mod fields; //     the keys of one definition
mod load; //       from a file to definitions or findings
pub mod schema; // the keys as a JSON Schema, for editors

// and calling it.
mod tool; // a definition as a tool

pub use definition::{DEFAULT_TIMEOUT, DefinitionError, ExecToolDef};
pub use load::{Loaded, load, load_file, load_in_full};
pub use tool::{ExecTool, HostContext};
