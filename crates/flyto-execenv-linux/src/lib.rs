//! Runs programs on Linux, for [`flyto_execenv`].
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod bare;
mod cgroup; // control groups that can be used here
mod direct; // programs as children of the host
pub mod examine; // what works on this machine, and why something does not
mod failure;
mod limits; // who keeps which bound
mod linux;
#[cfg(test)]
mod ordinary;
mod proxy; // the way out of a network namespace
mod sandbox; // what keeps isolation
mod supervised;

pub use examine::examine;
pub use linux::{KillRung, Linux};
