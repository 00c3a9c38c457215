//! From a proposal to a tool that can be called.
//!
//! The steps in their order, the cheap ones first; each refuses with what to write instead:
//!
//! | step | what is looked at |
//! | --- | --- |
//! | place | how many proposals the session made, and how many wait |
//! | definition | JSON, keys, schema, sizes, placeholders, a text that bash would take for options |
//! | name | other tools and what looks like them ([`names`]) |
//! | base | the version that the proposal changes is the last one |
//! | text | `bash -n`, or the steps of a composite ([`syntax`], [`graph`]) |
//! | duplicates | tools with the same text, or much the same ([`duplicate`]) |
//! | secrets | every text, alone and with its neighbours ([`guard`], [`neighbours`]) |
//! | examples | run where something confines them ([`example`], [`confined`]) |
//! | replay | what the text delivers for recorded calls ([`replay`]) |
//! | approval | the approver's answer; without an approver it is refused ([`apply`]) |
//! | save, register | one version in the store, one tool in the registry ([`registered`]) |
//!
//! The log of events has what was proposed, shown, decided and saved.

mod apply;
mod below;
mod build;
mod check;
mod closed;
mod comparable;
mod confined;
mod duplicate;
mod example;
mod graph;
mod guard;
mod names;
mod neighbours;
mod proposal;
mod recorded;
mod refusal;
mod registered;
mod replay;
mod syntax;
mod tracked;
mod waits;

pub use build::{Builder, DEFAULT_MAX_PER_SESSION, ToolBuilder};
pub use check::MAX_ACTIVE_TOOLS;
pub use proposal::{Applied, Proposal, ProposalSource};
pub use refusal::{Refusal, Stage};
pub use registered::{Found, LoadReport};

pub(crate) use build::Denial;
pub(crate) use tracked::Tracked;
