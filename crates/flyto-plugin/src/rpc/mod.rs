//! Programs that are asked and answer in JSON-RPC 2.0, one message a line.

pub(crate) mod call; //    one process for one call
pub(crate) mod frame; //   one message
pub(crate) mod program; // the file that runs
pub(crate) mod reply; //   an answer as a result
