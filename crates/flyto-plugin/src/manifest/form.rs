//! Which form a tool has.

use flyto_diagnostics::At;

use super::{binary::BinaryDef, def::ToolForm};

impl ToolForm {
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
