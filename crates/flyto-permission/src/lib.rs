#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "bash"),
    allow(
        dead_code,
        reason = "rules for commands are kept, so that they are read the same in each build"
    )
)]

// In the order to read them. What is asked and answered:
mod decision; // a verdict with its reasons
mod request; //  a call that wants to run
mod verdict; //  allow, ask, deny; who wrote a rule, and where

// what rules say:
mod glob; //  patterns of paths
mod host; //  addresses, and patterns of hosts
mod index; // all rules, found by what they name
mod own; //   rules that a plugin brings
mod rule; //  from a text to a rule
mod rules; // rules as a host holds them

// and how they are applied.
#[cfg(feature = "bash")]
mod bash; //   command lines taken apart
mod decide; // the parts of a call, judged
mod links; //  the names that links give to a place
mod location; // where a path leads
mod lookup; // the rules that one decision looks at
mod steps; //  how much it works

pub use decision::{Cause, Danger, DangerKind, Decision, Reason, Standing, Subject};
pub use own::OwnTools;
pub use request::{ClassTrust, Request};
pub use rule::{Rule, RuleError};
pub use rules::{Rules, RulesBuilder};
pub use verdict::{Layer, Place, Verdict};
