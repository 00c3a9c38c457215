//! The program as a user meets it: words in, stdout, stderr and an exit code out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod audit; // the log of calls
mod call; //  calls of tools
mod config; // which configuration holds
#[cfg(target_os = "linux")]
mod doctor; // what works on a machine
#[cfg(target_os = "linux")]
mod escapes; // what tools leave running
mod evolve; // tools that agents write
mod evolve_composite; // and compose
mod evolve_decay; // and leave unused
mod evolve_decide; // and that wait for a person
mod evolve_exchange; // and take elsewhere
mod evolve_replay; // and run over recorded calls
mod evolve_terminal; // and a person approves
mod export; // tools as APIs take them
mod follow; // the log of calls while it is written
mod held; //  calls that are refused
mod hostile; // plugins and values that mean harm
mod import; // servers of other clients
#[cfg(target_os = "linux")]
mod install; // files of clients
mod jobs; //  calls in the background
mod live; //  calls while they run
#[cfg(target_os = "linux")]
mod nested; // a configuration that names this program
mod new; //   plugins to start from
mod omitted; // outputs that are not shown whole
#[cfg(feature = "otel")]
mod otel; // spans for a collector
mod place; // where a test lives, and the program in it
mod sandbox; // programs that are cut off
#[cfg(target_os = "linux")]
mod serve; // tools for clients of the Model Context Protocol
#[cfg(target_os = "linux")]
mod servers; // tools of servers of the Model Context Protocol
#[cfg(target_os = "linux")]
mod servers_told; // what the operator is told of them
mod signals; // what the program inherits of them
mod terminal; // what acts on a terminal
mod terms; // what runs, and on which terms
mod tools; // the tools that are there
mod trust; // what a project may do
#[cfg(target_os = "linux")]
mod undo; //  calls that are taken back
mod verbs; // every other verb
mod watch; // tools that come and go
