#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them: the contract,
mod tool;

// what a call gets, and what comes of it,
mod asked;
mod call;
mod content;
mod error;
mod failure;
mod input;
mod progress;
mod result;
mod seconds;
mod undoing;

// what a tool says about itself and about a call,
mod metadata;
mod preview;

// what it is called, and where it is kept,
mod hidden;
mod name;
mod readiness;
mod registry;

// tools that are functions, and what is made of tools.
pub mod export;
mod native;
#[cfg(feature = "validate")]
mod validate;

pub use asked::Asking;
pub use call::{
    CallContext, CallId, CancellationToken, InvalidCallId, OutputChannel, OutputChunk, OutputSink,
};
pub use content::{Blob, Block, Content};
pub use error::{ToolError, ToolErrorKind};
pub use failure::Failure;
pub use hidden::is_hidden;
pub use input::{Input, InputError, json_value};
pub use metadata::{AuditOperation, Metadata, Origin, PermissionClass};
pub use name::{InvalidName, InvalidNameKind, ToolId};
pub use native::{Builder, IntoToolResult, Json, NativeTool, NativeToolError, NoInput, OnCancel};
pub use preview::{Access, PathUse, Preview, Problem, ProblemKind};
pub use progress::{Progress, ProgressSink};
pub use readiness::Readiness;
pub use registry::{
    Changes, Entry, Hit, LeftOut, NameRole, Owner, Registry, RegistryError, Replaced, Snapshot,
    Watch,
};
pub use result::{DeniedHost, Execution, Omitted, ToolResult, UndoInfo};
pub use tool::{DescribeContext, Tool, ToolCaller};
pub use undoing::Undoing;
#[cfg(feature = "validate")]
pub use validate::{
    Checked, InvalidSchema, SchemaChecker, SchemaError, SchemaErrorKind, SchemaRole, Validated,
    Validator, Violation, Violations, compile, validated,
};
