//! Runs programs on Linux, for [`flyto_execenv`].
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod bare;
mod failure;
mod linux;
mod supervised;

pub use linux::{KillRung, Linux};
