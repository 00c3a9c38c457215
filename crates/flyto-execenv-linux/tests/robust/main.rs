//! Hosts with much to do, hosts in an unusual state, hosts that run out of something: each in a process
//! of its own, which has as many children, descriptors and threads at the end as it had at the start.
//!
//! `FLYTO_ROBUST=all cargo test -p flyto-execenv-linux --test robust` makes ten thousand calls where there
//! are otherwise a thousand.

#![cfg(supervised)]

#[path = "../escapes/fork.rs"]
#[allow(dead_code, reason = "hostile programs fork in more ways")]
mod fork;
mod many;
#[path = "../../src/ordinary.rs"]
#[allow(dead_code, reason = "each test binary uses a part")]
mod ordinary;
mod scarce;
mod state;
mod support;
