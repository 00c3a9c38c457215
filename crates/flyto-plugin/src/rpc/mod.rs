//! Programs that are asked and answer in JSON-RPC 2.0, one message a line.

#[cfg_attr(not(test), expect(dead_code, reason = "what starts programs comes next"))]
pub(crate) mod frame; // one message
