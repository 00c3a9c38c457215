//! Programs that are asked and answer in JSON-RPC 2.0, one message a line.

pub(crate) mod frame; // one message
