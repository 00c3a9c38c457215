#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod server;

pub use server::{ClientApprovals, ConnectionEnd, Revision, Server, ServerOptions};
