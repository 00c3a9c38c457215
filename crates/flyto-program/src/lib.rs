#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. A call and its outcome:
mod argument; // how long an argument may be
mod call; //     one call of a program: deadline, cancellation, what comes while it runs
mod duration; // how result texts write durations
mod error; //    a program that did not start, as a tool's error
mod touched; //  paths and addresses that an input names

// and its output.
mod content; // a list of blocks
mod lines; // output as lines while it comes, and progress among them
mod spill; // the file with the whole of an output that was truncated
mod text; //  output as text, truncated in the middle

pub use argument::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS_BYTES};
pub use call::{Ran, Streaming, deadline_reached, grace_over, run};
pub use content::MAX_CONTENT_BYTES;
pub use duration::{duration_text, time_text};
pub use error::{chain, tool_error, tool_error_kind};
pub use lines::{parse_progress, without_progress};
pub use spill::spilled;
pub use text::{Text, omission_notice};
pub use touched::with_named;
