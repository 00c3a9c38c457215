#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod call; //     one call of a program
mod duration; // how result texts write durations
mod error; //    a program that did not start, as a tool's error
mod lines; //    output as lines while it comes, and progress among them
mod spill; //    the whole of an output that is too long
mod text; //     output as text

pub use call::{Ran, Streaming, run};
pub use duration::duration_text;
pub use error::{chain, tool_error, tool_error_kind};
pub use lines::{parse_progress, without_progress};
pub use spill::spill_path;
pub use text::{Text, omission_notice};
