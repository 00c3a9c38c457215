//! Running a definition: what bash gets, and what a result says.
//!
//! A call is `bash -c TEXT NAME`. Values come as variables and on the standard input, and never as a part of the text:
//! [`variables`] names them, [`template`] puts the variable of a value where a command has `{{.name}}`, [`environment`] says
//! which variables of the host are left out, and [`tool`] makes the result.

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
