//! Which form a tool has.
//!
//! Decided by two things only: `execution` of the plugin, and whether the tool has `parameters`.
//! No other key, and no value, changes the form.

use flyto_diagnostics::At;

use super::{binary::BinaryDef, def::ToolForm};

impl ToolForm {
    /// The form of one entry. `parameters` counts even where its value is `null`.
    pub(super) fn of(tool: At<'_>, execution: &Execution) -> Self {
        match execution {
            Execution::Binary(_) => Self::Binary,
            Execution::Command if tool.member("parameters").is_some() => Self::Template,
            Execution::Command => Self::Argv,
        }
    }
}

/// What `execution` says about the plugin as a whole.
#[derive(Debug)]
pub(super) enum Execution {
    /// Each tool has a command.
    Command,
    /// The plugin has a program.
    Binary(BinaryDef),
}

impl Execution {
    /// The program of the plugin, where it has one.
    pub(super) const fn binary(&self) -> Option<&BinaryDef> {
        match self {
            Self::Command => None,
            Self::Binary(binary) => Some(binary),
        }
    }
}
