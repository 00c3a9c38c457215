//! The user database of Unix.

use std::path::PathBuf;

use nix::unistd::User;

/// The home directory of a user of this system: getpwnam_r(3), which asks every source that the
/// system is set up with. `None` where no source knows the user.
///
/// `None` also where the database cannot be read and where the entry has no directory. The
/// look-up may read files and ask the network, so it blocks.
#[must_use]
pub fn ambient_home_of(user: &str) -> Option<PathBuf> {
    if user.contains('\0') {
        return None;
    }
    let user = User::from_name(user).ok().flatten()?;
    (!user.dir.as_os_str().is_empty()).then_some(user.dir)
}
