//! What differs between systems about files.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

pub(crate) use self::platform::{Identity, create_private_dir, is_executable};
