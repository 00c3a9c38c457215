#![doc = include_str!("../README.md")]
//!
//! # What to read first
//!
//! The types in the order in which a host meets them:
//!
//! | group | types | what they are for |
//! | --- | --- | --- |
//! | a tool | [`ToolDefinition`], [`Body`], [`Example`], [`parse`], [`parse_proposal`], [`codes`] | what a tool is, and what can be wrong with one |
//! | running it | [`EvolvedTool`], [`CompositeTool`], [`HostContext`] | a definition as a tool of a registry |
//! | keeping it | [`Store`], [`Version`], [`NewVersion`], [`Approval`], [`StoreError`] | every version, and the current ones |
//! | deciding | [`Approver`], [`Review`], [`Decision`], [`Answer`] | what a person is shown, and may answer |
//! | the way | [`ToolBuilder`], [`Proposal`], [`Applied`], [`Refusal`], [`LoadReport`] | from a proposal to a tool that can be called |
//! | what calls show | [`Usage`], [`RollbackAdvice`], [`DecayPolicy`], [`CallHints`] | quarantine, advice and hints |
//! | another version | [`CallRecording`], [`RecordedCall`], [`Replay`], [`differences`] | what it would have delivered |
//! | the agent | [`agent_tools`] | the tools by which an agent makes tools |
//! | sharing | [`export`], [`import`], [`export_skill`], [`import_skill`] | to another store, and to other programs |
//!
//! # Bounds
//!
//! | what | bound |
//! | --- | --- |
//! | a definition | [`MAX_DEFINITION_BYTES`], a script [`MAX_SCRIPT_BYTES`], a call [`MAX_TIMEOUT`] |
//! | a composite | [`MAX_STEPS`], [`MAX_CALLS`], [`MAX_COMPOSITE_DEPTH`], [`MAX_ITEMS`], [`MAX_VALUE_BYTES`] |
//! | a store | [`MAX_TOOLS`], of which [`MAX_ACTIVE_TOOLS`] can be called |
//! | a session | [`DEFAULT_MAX_PER_SESSION`] tools, and three times as many proposals |
//! | recorded calls of a tool | [`MAX_RECORDED_CALLS`], each [`MAX_RECORDED_BYTES`] |
#![forbid(unsafe_code)]

// A tool: the definition, its reader, its hash, and what can be wrong with it.
pub mod codes;
mod definition;

// Running it: what bash gets, and steps that call other tools.
mod composite;
mod run;

// Keeping it: every version, and the current ones.
mod store;

// Deciding about it: what a person is shown, and may answer.
mod review;

// The way from a proposal to a tool.
mod pipeline;

// What calls show: statistics and what follows from them, and what another version would have delivered.
mod replay;
mod usage;

// What is made of it: tools for the agent, and a way to another store.
mod agent;
mod exchange;

pub use agent::{AGENT_TOOLS, agent_tools};
pub use composite::{
    CompositeTool, MAX_CALLS, MAX_COMPOSITE_BYTES, MAX_COMPOSITE_DEPTH, MAX_ITEMS, MAX_STEP_BYTES,
    MAX_STEPS, MAX_VALUE_BYTES, NeedsReview, StepFault, StepReport, StepStatus, UndoReport,
};
pub use definition::{
    Body, DEFAULT_TIMEOUT, DefinitionHash, Example, InvalidDefinitionHash, LookAlike,
    MAX_DEFINITION_BYTES, MAX_DESCRIPTION_BYTES, MAX_EXAMPLES, MAX_PARAMETERS, MAX_RATIONALE_BYTES,
    MAX_SCRIPT_BYTES, MAX_TAGS, MAX_TIMEOUT, PROTECTED_NAMES, Parsed, ToolDefinition, look_alike,
    parse, parse_proposal,
};
pub use exchange::{ImportError, SkillError, export, export_skill, import, import_skill};
pub use pipeline::{
    Applied, Builder, DEFAULT_MAX_PER_SESSION, Found, LoadReport, MAX_ACTIVE_TOOLS, Proposal,
    ProposalSource, Refusal, Stage, ToolBuilder,
};
pub use replay::{
    Difference, DifferenceKind, MAX_DIFFERENCES, Replay, ReplayCounts, ReplayOutcome, ReplayedCall,
    differences,
};
pub use review::{
    Answer, Approver, ApproverError, CalledTool, Decision, ExampleOutcome, ExampleReport, Facts,
    FieldDiff, HiddenCharacter, Review, SecretFinding, ToolChange, diff, hidden_characters,
    visible,
};
pub use run::{EvolvedTool, HostContext, inherited};
pub use store::{
    Acknowledgement, Approval, CallRecording, Change, DEFAULT_LOCK_WAIT, Damaged, Delivered,
    Loaded, MAX_PENDING, MAX_PENDING_OF_TOOL, MAX_RECORDED_BYTES, MAX_RECORDED_CALLS, MAX_TOOLS,
    NewVersion, Pending, RecordedCall, RecordedStep, Recovered, RecoveredKind, Settled, Status,
    Store, StoreError, Unapproved, Version,
};
pub use usage::{
    CallHints, DEFAULT_QUARANTINE_AFTER, Decay, DecayPolicy, DecayStep, Hint, RollbackAdvice,
    ToolUsage, Usage, UsedTool, decay, rollback_advice,
};
