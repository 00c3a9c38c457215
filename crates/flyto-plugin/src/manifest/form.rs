//! Which form a tool has.

use std::fmt;

use flyto_diagnostics::At;

use super::binary::BinaryDef;

/// The three ways to declare a tool. Which one it is, is decided for each tool, first fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolForm {
    /// The plugin says `"execution": "binary"`: its one program answers JSON-RPC for all its tools.
    Binary,
    /// The tool has `parameters`: its `command` is a line with `{{name}}` in it.
    Template,
    /// Else: `command` is a program and `args` are its arguments.
    Argv,
}

impl ToolForm {
    /// The name in messages and reports: `argv`, `template`, `binary`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Template => "template",
            Self::Argv => "argv",
        }
    }

    pub(super) fn of(tool: At<'_>, execution: &Execution) -> Self {
        match execution {
            Execution::Binary(_) => Self::Binary,
            Execution::Command if tool.member("parameters").is_some() => Self::Template,
            Execution::Command => Self::Argv,
        }
    }
}

impl fmt::Display for ToolForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
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
