//! Decoders that are not public, for `cargo xtask fuzz`.

use crate::server;

/// What a client writes: lines, of which some are messages.
///
/// The target passes as long as this returns: any bytes are messages or none, and never a panic.
pub fn client_message(bytes: &[u8]) {
    server::fuzz::lines(bytes);
}
