//! Shared memory that programs find by name (shm_overview(7)), of their own.
//!
//! The supervisor mounts a file system in memory on `/dev/shm`, in a mount namespace. Where mount namespaces cannot
//! be made, the directory is not granted, and names cannot be made: Python's `multiprocessing` says
//! `PermissionError`.

use std::{fs, path::Path};

use flyto_execenv::{Filesystem, Isolation, SharedMemory};

use super::{Support, landlock};

/// Where libraries make names (shm_overview(7)).
const PLACE: &str = "/dev/shm";

/// The most that the files in it can hold: 64 MiB, as containers have (`--shm-size` of docker-run(1)).
pub(crate) const SIZE_BYTES: u64 = 64 << 20;

/// What a supervisor mounts, and the isolation that goes with that: the directory of the machine is not granted in it.
///
/// Nothing is mounted where the program may not write there anyway, where something below it is
/// granted by its own name, where it is denied, or where it is a link. Then it is closed instead.
pub(super) fn plan(
    isolation: &Isolation,
    support: &Support,
) -> (Option<flyto_supervision::SharedMemory>, Isolation) {
    let mut closed = isolation.clone();
    if isolation.shared_memory == SharedMemory::Host {
        return (None, closed);
    }
    let place = Path::new(PLACE);
    let (mut is_writable, mut is_above, mut is_below) = (true, true, false);
    if let Filesystem::Grants { read, write } = &mut closed.filesystem {
        let all = || read.iter().chain(write.iter());
        is_writable = write.iter().any(|it| place.starts_with(it));
        is_above = all().any(|it| it != place && place.starts_with(it));
        // What is granted there by its own name would be hidden.
        is_below = all().any(|it| it != place && it.starts_with(place));
        for paths in [read, write] {
            *paths = paths.iter().filter(|it| *it != place).cloned().collect();
        }
    }
    let is_denied = isolation.denied.iter().any(|it| place.starts_with(it));
    // On some systems it is a link.
    let is_directory = fs::symlink_metadata(place).is_ok_and(|it| it.is_dir());
    if support.mount_namespaces && is_writable && !is_below && !is_denied && is_directory {
        let rights = landlock::rights_to_write(support.landlock);
        return (Some(flyto_supervision::SharedMemory { size_bytes: SIZE_BYTES, rights }), closed);
    }
    let closed = if is_above && !is_denied { closed.deny(PLACE) } else { closed };
    (None, closed)
}
