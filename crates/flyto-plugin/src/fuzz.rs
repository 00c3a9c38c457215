//! Decoders that are not public, for `cargo xtask fuzz`.

use std::path::Path;

use flyto_diagnostics::Source;
use flyto_tools::Content;

use crate::{
    manifest::{Place, Seen, sound},
    options::LoadOptions,
    rpc::frame,
};

/// A manifest that a search finds: its two readings agree.
pub fn found_manifest(source: &Source) {
    let (options, seen) = (LoadOptions::new(), Seen::default());
    sound::agrees(source, Place::new(Path::new("/nonexistent/plugin"), &options, &seen));
}

/// What a program prints on stdout: lines, of which some are messages, or a list of blocks.
///
/// The target passes as long as this returns: any bytes are a message or none, and never a
/// panic.
pub fn message(bytes: &[u8]) {
    for line in bytes.split(|it| *it == b'\n') {
        drop(frame::parse(line));
    }
    let _ = frame::near_miss(bytes);
    let _ = Content::parse(&String::from_utf8_lossy(bytes));
}
