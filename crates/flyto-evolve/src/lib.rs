#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. What a tool is:
pub mod codes; //  what can be wrong with a definition, explained
mod definition; // the definition, its reader and its hash

// running it,
mod composite;
mod run; //       what bash gets, and what a result says // steps that call other tools

// keeping it,
mod store; // every version, and the current ones

// deciding about it,
mod review; // what a person is shown, and may answer

// and the way from a proposal to a tool.
mod pipeline;

mod replay; // what another version would have delivered
mod usage; // what follows from calls: quarantine, decay, advice, hints

// What is made of it: tools for the agent, and a way to another store.
mod agent;
mod exchange;

pub use agent::agent_tools;
pub use composite::{
    CompositeTool, MAX_CALLS, MAX_COMPOSITE_BYTES, MAX_COMPOSITE_DEPTH, MAX_ITEMS, MAX_STEP_BYTES,
    MAX_STEPS, MAX_VALUE_BYTES, StepFault, StepReport, StepStatus, UndoReport,
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
    Answer, Approver, ApproverError, Decision, ExampleOutcome, ExampleReport, Facts, FieldDiff,
    HiddenCharacter, Review, SecretFinding, diff, hidden_characters, visible,
};
pub use run::{EvolvedTool, HostContext, inherited};
pub use store::{
    Acknowledgement, Approval, CallRecording, Change, DEFAULT_LOCK_WAIT, Damaged, Delivered,
    Loaded, MAX_RECORDED_BYTES, MAX_RECORDED_CALLS, MAX_TOOLS, NewVersion, Pending, RecordedCall,
    RecordedStep, Recovered, RecoveredKind, Status, Store, StoreError, Unapproved, Version,
};
pub use usage::{
    CallHints, DEFAULT_QUARANTINE_AFTER, Decay, DecayPolicy, DecayStep, Hint, RollbackAdvice,
    ToolUsage, Usage, UsedTool, decay, rollback_advice,
};
