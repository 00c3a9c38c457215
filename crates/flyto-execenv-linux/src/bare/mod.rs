//! What no library may be asked for: the way from a new process to its program.
//!
//! A child that shares the memory of its parent (vfork(2)) may call nothing that allocates, locks,
//! touches thread-local state or unwinds. So this module calls no library at all: it is compiled into
//! this crate, where the parent is a host with many threads, and into the supervisor, which is linked
//! with nothing. Both run the same [`child`].
//!
//! Everything here that is `unsafe` is so for one of two reasons: a system call gets a pointer, or a
//! child runs on memory that its parent lent it. What it lent stays where it is until the child's
//! program is in place: a host sleeps until then (`CLONE_VFORK`), a supervisor does not leave the function
//! that lent it before no child is left.
//!
//! Read `sys.rs` for single system calls, `clone3.rs` for how a process is made, `child.rs` for
//! what it does before its program; `program.rs`, `host.rs` and `trial.rs` are what the rest of the
//! crate calls. The supervisor is compiled from the same text of the first three.

#![allow(unsafe_code, reason = "the one place for it: see the module's comment")]

#[cfg(test)]
pub(crate) mod attempt;
pub(crate) mod child;
pub(crate) mod clone3;
// The supervisor has no standard library.
#[cfg(not(supervisor))]
pub(crate) mod host;
#[cfg(not(supervisor))]
pub(crate) mod landlock;
#[cfg(not(supervisor))]
pub(crate) mod lock;
#[cfg(not(supervisor))]
pub(crate) mod program;
pub(crate) mod sys;
#[cfg(test)]
mod tests;
#[cfg(not(supervisor))]
#[cfg_attr(
    not(any(test, feature = "examine")),
    expect(dead_code, reason = "`examine` alone tries what a confined process may do")
)]
pub(crate) mod trial;
