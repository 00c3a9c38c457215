//! Why a call gave no result.

use std::{error::Error as _, fmt};

use flyto_diagnostics::Diagnostic;
use flyto_plugin::PluginState;
use flyto_tools::ToolError;
use serde::Serialize;

use crate::{
    permission::{Decision, Rule},
    stages::Call,
};

/// Why a call gave no result.
///
/// What a program did, a failure included, is a result: [`ToolResult::failure`](flyto_tools::ToolResult) says
/// how it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No tool has this name.
    #[error("there is no tool {name:?}{}", held_back.iter().fold(String::new(), |_, it| format!("; {it}")))]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// Names that are near: of tools, or of plugins where `missing_plugin` is there.
        similar: Vec<String>,
        /// The plugin in the name, where there is none of its name.
        missing_plugin: Option<String>,
        /// What kept a tool of this name, or its plugin, from being loaded.
        findings: Vec<Diagnostic>,
        /// Why a store that the program joined holds back a tool of this name, and what to do.
        held_back: Option<String>,
    },
    /// The tool's plugin may not be used.
    #[error("the tool {name:?} cannot be used: plugin {plugin:?} is {state}")]
    PluginHeldBack {
        /// The name that was asked for.
        name: String,
        /// The plugin.
        plugin: String,
        /// What the operator decided: blocked, not allowed, disabled.
        state: PluginState,
    },
    /// A stage refused the call.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// The tool could not be tried.
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// Which stage refused a call, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The tool's id.
    pub tool: String,
    /// The name of the stage.
    pub stage: String,
    /// Why, as the words that follow "was refused: ".
    pub why: String,
    /// The rule that decided, with its place; `None` where the stage has no rules, or a default or the answer to a question
    /// decided.
    pub rule: Option<Rule>,
    /// Rules that would allow the call, and nothing wider; empty where there are none, and after an answer that was no.
    pub allowed_by: Vec<String>,
}

impl Refusal {
    /// A refusal of this call by a stage.
    #[must_use]
    pub fn new(call: &Call, stage: &str, why: impl Into<String>) -> Self {
        Self::of_tool(call.entry().id().to_string(), stage, why.into())
    }

    /// The refusal for which a call within another one gave no result
    /// ([`ToolCaller`](flyto_tools::ToolCaller)); `None` for any other reason.
    #[must_use]
    pub fn of(err: &ToolError) -> Option<&Self> {
        match err.source()?.downcast_ref::<CallError>()? {
            CallError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// A refusal of each call of this tool.
    pub(crate) fn of_tool(tool: String, stage: &str, why: String) -> Self {
        Self { tool, stage: stage.to_owned(), why, rule: None, allowed_by: Vec::new() }
    }

    /// The same with what the rules decided.
    pub(crate) fn decided(mut self, decision: &Decision) -> Self {
        self.rule = decision.rule().cloned();
        self.allowed_by = decision.suggested_rules().into_iter().map(str::to_owned).collect();
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, stage, why, .. } = self;
        write!(f, "the call of {tool:?} was refused by the stage {stage:?}: {why}")
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
