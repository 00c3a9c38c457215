#![doc = include_str!("../README.md")]
//!
//! # Bounds
//!
//! What a plugin can make a host spend is bounded, whatever its files and its programs say:
//!
//! | what | bound |
//! | --- | --- |
//! | a manifest | 16 MiB of text, 128 levels ([`flyto_diagnostics`]) |
//! | findings about one manifest | 1000, the rest is counted |
//! | compiling schemas while plugins are searched | about 1 s for each manifest |
//! | the time that a manifest can ask for | [`MAX_TIMEOUT`], one week; [`MAX_GRACE`], 10 minutes |
//! | a command with placeholders | 1024 names, `$(` 32 deep |
//! | output kept of a call | [`PluginContext::capture_bytes`], 4 MiB of each stream |
//! | an answer in JSON-RPC | 16 MiB |
//! | requests that wait for one session | 1 MiB; further calls wait outside |
//! | the pause before a crashed session is started again | 100 ms, doubled up to 30 s |
//!
//! # Features
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `fuzz` | decoders for `cargo xtask fuzz`; no part of the public API |
#![forbid(unsafe_code)]

// In the order to read them. What a plugin says, and reading it:
pub mod codes; // the names of findings
mod load; //      one plugin
mod manifest; //  what a `plugin.json` says
mod names; //     names of plugins and tools
mod options; //   how closely it is looked at
mod place; //     findings about parts of a value
mod rules; //     what a plugin has asked or denied of its own tools
pub mod schema; // JSON Schemas for editors
mod template; //  commands with placeholders

// finding plugins, and what the operator decides about them,
mod config; //   the section `plugins` of a configuration
mod discover; // all plugins of some directories, and reloading them
mod files; //    reading files, and what differs between systems
mod filter; //   which plugins may be used
mod grant; //    what one of them gets
mod home; //     `~` in configured paths

// and calls: one process for each, or a session that is restarted with backoff.
mod context; //     what tools get of the host
mod endpoint; //    a declared server, ready to be started or reached
mod environment; // the variables that programs see
mod result; //      what came of a program, in words
mod rpc; //         programs that answer in JSON-RPC
mod session; //     plugins whose process stays: calls in flight, restart, idle time
mod start; //       what every process is started with
mod tool; //        a declaration as a tool

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;

pub use crate::{
    config::{DEFAULT_PLUGIN_DIRS, PluginConfig},
    context::{PluginContext, Profiles},
    discover::{Catalogue, Change, ChangeKind, DirState, Found, PluginState, Reload, SearchedDir},
    endpoint::{Endpoint, EndpointError, ServerPlace},
    environment::{PLUGIN_DATA, PLUGIN_ROOT, StrictEnv, Variable, VariableOrigin},
    filter::{Filter, Verdict},
    grant::Grant,
    home::{HomeError, ambient_home_of, expand_home},
    load::{Loaded, MANIFEST_FILE, Plugin, load, load_source},
    manifest::{
        CLAUDE_MANIFEST_FILE, CLAUDE_MCP_FILE, DEFAULT_IDLE, DEFAULT_TIMEOUT, HttpKind, Invocation,
        LIMIT_KEYS, Lifetime, MAX_GRACE, MAX_TIMEOUT, MCP_FILE, Manifest, RefusedTool, Schema,
        ServerDef, ToolDef, ToolForm, Transport, UndoDef, read_limits, read_network, read_servers,
    },
    names::{MAX_NAME_CHARS, NameFault, check_plugin_name, check_tool_name, nearest_plugin_name},
    options::{Depth, LoadOptions},
    rules::{NamedTools, PluginRule, RuleCheck, RuleEffect, RuleFault},
    session::Sessions,
    template::{Template, TemplateError},
    tool::PluginTool,
};
