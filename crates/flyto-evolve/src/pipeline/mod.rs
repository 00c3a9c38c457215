//! From a proposal to a tool that can be called.

mod apply;
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
