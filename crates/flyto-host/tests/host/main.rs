//! All sources in one registry: calls, and what is edited meanwhile.

mod agent_loop; // the example
mod audit; // what is recorded, and what becomes of secrets
mod batches; // several calls of one turn
mod calls; //  the path of a call
mod guard; // secrets in results and errors
mod native; // tools that are no programs
#[cfg(feature = "otel")]
mod otel; //   what a collector receives
mod permission; // which calls may run
mod plugin_rules;
#[cfg(unix)]
mod ready; //  tools whose programs are started before their calls
mod reload; // looking at the sources again
mod sandbox; // how far programs are cut off
mod session; // processes that stay
mod settings; // what is said about plugins that are not there
mod spans; //  what a subscriber sees of a call
mod stages; // the path of a call, step by step
#[cfg(unix)]
mod undo; //   calls that are taken back
#[cfg(feature = "watch")]
mod watch; //  the same, as it happens
mod world; //  where a test lives
