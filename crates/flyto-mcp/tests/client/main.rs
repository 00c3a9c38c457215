//! The client with real servers: a little one in Python that has a mode for each way to misbehave.

mod support;
#[cfg(feature = "tls")]
mod tls;

mod calls;
mod eras;
mod hostile;
mod http;
mod pins;
mod plugin_rules;
