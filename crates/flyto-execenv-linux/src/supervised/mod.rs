//! Programs below a supervisor: every descendant ends with its call.
//!
//! A supervisor is a small process of ours that runs one program at a time. It is the subreaper: orphans
//! are re-parented to it, so an empty child list proves that the tree is gone;
//! and the end of file on its socket, however the host came to its end, makes it end everything. It is
//! used again for the next call, so a call costs one message instead of one more process.
//!
//! The program's descriptors go to it over the socket (`SCM_RIGHTS`, unix(7)), so it starts the program
//! with a table of a few descriptors, however many the host has.
//!
//! Read `pool.rs` for what supervisors have in common, `supervisor.rs` for one of them,
//! `control.rs` for one call, and `reaper.rs` for how they end. Records travel as messages of a
//! `SOCK_SEQPACKET` socket, so each arrives whole or not at all; their formats are those of
//! `flyto-supervision`.
//!
//! A supervisor can be killed or stopped by a program of the same user. Then `rescue.rs` and
//! `orphans.rs` end what can still be found, and the call says that its end is not confirmed.

mod control;
mod idle;
mod image;
pub(crate) mod orphans;
mod pool;
mod reaper;
mod record;
mod rescue;
mod supervisor;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "examine"))]
pub(crate) use self::image::image;
pub(crate) use self::{
    control::{start, waits_for_its_call},
    pool::{Kind, Pool},
    reaper::attend,
};
