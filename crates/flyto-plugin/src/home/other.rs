//! Systems without a user database.

use std::path::PathBuf;

/// The home directory of a user of this system: it is not known here.
///
/// Always `None`, so that `~user` is an error instead of a wrong directory.
#[must_use]
pub fn ambient_home_of(_: &str) -> Option<PathBuf> {
    None
}
