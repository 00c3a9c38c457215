//! Running a definition: what bash gets, and what a result says.

mod environment;
mod template;
mod text;
mod tool;
mod variables;

pub use environment::inherited;
pub(crate) use template::{TemplateFault, render};
pub(crate) use text::{length_fault, option_fault};
pub use tool::{EvolvedTool, HostContext};
pub(crate) use tool::{Gate, NotCurrent, check_current, metadata_of, refused};
pub(crate) use variables::{VariableFault, variable_name, variable_names};
