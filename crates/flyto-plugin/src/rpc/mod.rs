//! Programs that are asked and answer in JSON-RPC 2.0, one message a line.
//!
//! The words are the same for a process that makes one call ([`call`]) and for one that stays
//! (the module `session`): [`frame`] writes and reads them for both. A line that is no message
//! is a log of the program.

pub(crate) mod call; //    one process for one call
pub(crate) mod frame; //   one message
pub(crate) mod program; // the file that runs
pub(crate) mod reply; //   an answer as a result
