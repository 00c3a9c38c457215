//! Memory that holds a program and that no process can change: a sealed memfd (memfd_create(2)).
//!
//! The seals forbid writing, growing, shrinking and further seals (`F_ADD_SEALS`, fcntl(2)); a
//! process that has a descriptor can read and execute, and no more. A memfd lives as long as its
//! descriptors and mappings.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, PermissionsExt},
    },
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
    // The name is for people that look at the process, and may have 249 bytes.
    let name = if name.len() > 200 { OsStr::new("pinned") } else { name };
    let memory = match memfd_create(name, flags | MemfdFlags::EXEC) {
        // Linux before 6.3 does not know that flag, and all memory can be executed.
        Err(Errno::INVAL) => memfd_create(name, flags),
        res => res,
    };
    // A child gets its streams in the places of 0, 1 and 2.
    let memory = File::from(fcntl_dupfd_cloexec(memory.ok()?, 3).ok()?);
    fs::exists(path_of(&memory, "self")).is_ok_and(|it| it).then_some(memory)
}

/// Memory that no process can change any more.
///
/// The descriptor is closed on execution; a program that runs keeps its own mapping.
#[derive(Debug)]
pub(super) struct Sealed {
    memory: File,
    /// The process in whose directory in `/proc` it was seen.
    seen_by: Option<u32>,
}

/// Makes what was written final.
///
/// # Errors
///
/// Those of fchmod(2) and of fcntl(2): `EBUSY` where a mapping can still write.
pub(super) fn seal(memory: File) -> io::Result<Sealed> {
    memory.set_permissions(Permissions::from_mode(0o500))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals)?;
    // Where `/proc` shows the processes of another namespace, our number is another process's.
    let id = |meta: Metadata| (meta.dev(), meta.ino());
    let pid = std::process::id();
    let there = fs::metadata(path_of(&memory, &pid.to_string())).map(id).ok();
    let seen_by = (there == Some(memory.metadata().map(id)?)).then_some(pid);
    Ok(Sealed { memory, seen_by })
}

/// Where the memory is found in `/proc` of a process, `self` or a number.
fn path_of(memory: &File, process: &str) -> PathBuf {
    format!("/proc/{process}/fd/{}", memory.as_raw_fd()).into()
}

impl Sealed {
    /// Readable; writing fails with `EPERM`.
    pub(super) fn file(&self) -> &File {
        &self.memory
    }

    /// The paths under which a child starts it, the better one first.
    ///
    /// A child has a copy of the descriptor until the program is in place, and can start it under
    /// `/proc/self`. That always works, and costs a tenth of a call: the kernel sets up the child's
    /// own directory in `/proc` for it. The descriptor of this process does without, but a child may
    /// be kept from looking into this process.
    pub(super) fn paths(&self) -> (PathBuf, Option<PathBuf>) {
        let own = path_of(&self.memory, "self");
        // A forked host is another process.
        match self.seen_by.filter(|it| *it == std::process::id()) {
            Some(pid) => (path_of(&self.memory, &pid.to_string()), Some(own)),
            None => (own, None),
        }
    }
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
            let forbidden = fs::read_to_string("/proc/sys/vm/memfd_noexec");
            assert_eq!(forbidden.expect("only this setting forbids it").trim(), "2");
            return;
        };
        memory.write_all(b"one").expect("it is open");
        // A process that has it open already …
        let mut early = memory.try_clone().expect("a descriptor");
        let sealed = seal(memory).expect("it takes seals");
        let (path, other) = sealed.paths();
        assert!(other.is_some(), "{path:?} is not this process");
        // … or opens it now, which the owner may do after a chmod(2), …
        sealed.file().set_permissions(Permissions::from_mode(0o700)).expect("ours");
        let late = OpenOptions::new().write(true).open(path);
        for writer in [&mut early, &mut late.expect("ours")] {
            // … cannot write, cut it or make it longer.
            writer.rewind().expect("a file");
            let err = writer.write(b"two").expect_err("it is sealed");
            assert_eq!(err.raw_os_error(), Some(Errno::PERM.raw_os_error()));
            assert!(writer.set_len(0).is_err() && writer.set_len(9).is_err());
        }
        let mut text = String::new();
        early.rewind().expect("a file");
        early.read_to_string(&mut text).expect("it can be read");
        assert_eq!(text, "one");
    }
}
