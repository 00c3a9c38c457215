//! What a `plugin.json` says, and reading it.
//!
//! The way of a manifest: [`read`] looks which of four formats it has (`format`). `flat` is one
//! tool, and `claude` has servers alone; `head` and `conformant` read the entries of `tools`
//! (`entries`). Each tool is read by `tool`, in the form that it has: `argv`, `template` or
//! `binary`. Servers are read beside the tools (`servers`). A search tries a shorter way first, for manifests without a
//! finding (`sound`).
//!
//! What holds throughout:
//!
//! - Every mistake is a finding at its place in the text, and each finding that fails something
//!   is pushed before the failure returns: a [`Reported`](flyto_diagnostics::Reported) has
//!   nothing more to say.
//! - Reading goes on after a mistake where the rest still has a meaning, so that one run shows
//!   as many findings as it can.
//! - No program is started and no schema is fetched. Of a program only the metadata is read; its
//!   content is read to compare a digest, and only at [`Depth::Full`](crate::Depth::Full).
//! - The text was parsed before: it is at most 16 MiB and 128 levels deep, so recursion over it
//!   ends.

mod argv; //     the form that has a command and its arguments
mod binary; //   the section about a plugin's one program
mod category; // what ZeptoClaw's `category` says
mod claude; //   manifests of plugins of Claude Code
mod command; //  command lines where a program belongs
mod conformant; // manifests of the format Agent Plugins
mod def; //      what is declared
mod dialect; //  how values refer to variables
mod entries; //  the entries of `tools`
mod env; //      declared variables
mod field; //    values of several sections
mod flat; //     a tool where the plugin belongs
mod foreign; //  files of other kinds
mod form; //     which form a tool has
mod format; //   which format a manifest has
mod head; //     what is said about the plugin as a whole
mod lazy; //     schemas that become values when they are first used
mod length; //   what is too long for any start
mod literal; //  places inside a JSON string
mod meant; //    values of a wrong type, and what they mean
mod metadata; // what a tool says about itself
mod narrowing; // the network that a tool asks for
mod pattern; //  patterns that are known to compile
mod permissions; // the rules that a plugin has for its tools
mod place; //    where a manifest lies, and what was seen there
mod program; //  the file that a tool runs
mod ready; //    whether a program may be started before its call
mod rule_keys; // keys of such rules where none is read
mod rule_names; // tools that they name
mod schema; //   schemas of input and output
mod servers; //  servers of the Model Context Protocol
pub(crate) mod sound; // the short reading, for manifests that are in order
mod template; // the form that has a command line with placeholders
mod tool; //     one entry of `tools`
mod undo; //     how a call is taken back
mod within; //   paths that have to stay in the plugin's directory

pub use self::{
    claude::CLAUDE_MANIFEST_FILE,
    def::{
        DEFAULT_IDLE, DEFAULT_TIMEOUT, Invocation, Lifetime, MAX_GRACE, MAX_TIMEOUT, Manifest,
        RefusedTool, ToolDef, ToolForm, UndoDef,
    },
    field::{LIMIT_KEYS, read_limits},
    lazy::Schema,
    narrowing::read_network,
    servers::{
        claude::CLAUDE_MCP_FILE,
        conformant::MCP_FILE,
        def::{HttpKind, ServerDef, Transport},
        native::read_servers,
    },
};
pub(crate) use self::{
    def::Read,
    env::{is_reserved, name_fault},
    field::{check_system_text, start_dir},
    format::{declared_name, read},
    meant::flag,
    metadata::MAX_ALIASES,
    permissions::{MAX_RULE_BYTES, MAX_RULES},
    place::{Place, Seen},
};
