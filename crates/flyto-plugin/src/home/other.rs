//! Systems without a user database.

use std::path::PathBuf;

/// The home directory of a user of this system: nobody knows it here.
#[must_use]
pub fn ambient_home_of(_: &str) -> Option<PathBuf> {
    None
}
