//! Runs programs on Linux, for [`flyto_execenv`].
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

#[allow(dead_code, reason = "the supervisor's copy uses it")]
mod bare;
