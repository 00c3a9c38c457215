//! Memory that holds a program and that nobody can change: a sealed memfd (memfd_create(2)).

use std::{
    ffi::OsStr,
    fs::{self, File, Permissions},
    io,
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::PathBuf,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::{Errno, fcntl_dupfd_cloexec},
};

/// Empty memory for a program; `None` where the system has none that may be executed
/// (`vm.memfd_noexec`), or no way to start it.
pub(super) fn create(name: &OsStr) -> Option<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // The name is for those who look at the process, and may have 249 bytes.
    let name = if name.len() > 200 { OsStr::new("pinned") } else { name };
    let memory = match memfd_create(name, flags | MemfdFlags::EXEC) {
        // Linux before 6.3 does not know that flag, and all memory can be executed.
        Err(Errno::INVAL) => memfd_create(name, flags),
        res => res,
    };
    // A child gets its streams in the places of 0, 1 and 2.
    let memory = File::from(fcntl_dupfd_cloexec(memory.ok()?, 3).ok()?);
    fs::metadata(path_of(&memory)).ok()?;
    Some(memory)
}

/// Makes what was written final.
pub(super) fn seal(memory: &File) -> io::Result<()> {
    memory.set_permissions(Permissions::from_mode(0o500))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    Ok(fcntl_add_seals(memory, seals)?)
}

/// The path under which a child starts it: a child has the descriptor until the program is in place.
pub(super) fn path_of(memory: &File) -> PathBuf {
    format!("/proc/self/fd/{}", memory.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::OpenOptions,
        io::{Read, Seek, Write},
    };

    use super::*;

    #[test]
    fn what_is_sealed_can_be_read_and_not_be_changed_by_its_owner() {
        let Some(mut memory) = create(OsStr::new("tool")) else {
            println!("skipped: this system has no memory that may be executed");
            return;
        };
        memory.write_all(b"one").expect("it is open");
        // Whoever has it open already …
        let mut early = memory.try_clone().expect("a descriptor");
        seal(&memory).expect("it takes seals");
        // … or opens it now, which the owner may do after a chmod(2), …
        memory.set_permissions(Permissions::from_mode(0o700)).expect("ours");
        let late = OpenOptions::new().write(true).open(path_of(&memory));
        for writer in [&mut early, &mut late.expect("ours")] {
            // … cannot write, cut it or make it longer.
            writer.rewind().expect("a file");
            let err = writer.write(b"two").expect_err("it is sealed");
            assert_eq!(err.raw_os_error(), Some(Errno::PERM.raw_os_error()));
            assert!(writer.set_len(0).is_err() && writer.set_len(9).is_err());
        }
        let mut text = String::new();
        memory.rewind().expect("a file");
        memory.read_to_string(&mut text).expect("it can be read");
        assert_eq!(text, "one");
    }
}
