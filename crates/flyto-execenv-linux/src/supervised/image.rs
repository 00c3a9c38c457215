//! The supervisor's program, in memory that no process can change.
//!
//! A file could be exchanged between the build and the start. The program is compiled by the build
//! script, is part of this library, and is copied once for each host into a memfd that is sealed
//! against every change (memfd_create(2), fcntl(2) `F_ADD_SEALS`).

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::OnceLock,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::{Errno, fcntl_dupfd_cloexec},
};

/// A static executable for x86-64, some tens of kilobytes.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));

/// The program, ready to be executed.
///
/// The same descriptor for each call; it is closed on execution.
///
/// # Errors
///
/// Those of memfd_create(2) and of writing: `EACCES` where `vm.memfd_noexec` is 2, `EMFILE`,
/// `ENOMEM`.
pub(crate) fn image() -> io::Result<BorrowedFd<'static>> {
    static IMAGE: OnceLock<OwnedFd> = OnceLock::new();
    // A system that is short of something now may have it later, so only success is kept.
    let image = match IMAGE.get() {
        Some(image) => image,
        None => {
            let image = seal()?;
            IMAGE.get_or_init(|| image)
        }
    };
    Ok(image.as_fd())
}

/// A sealed copy of [`PROGRAM`] at a descriptor above 3.
fn seal() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = match memfd_create("flyto-supervisor", flags | MemfdFlags::EXEC) {
        // Linux before 6.3 does not know that flag, and all memory can be executed.
        Err(Errno::INVAL) => memfd_create("flyto-supervisor", flags),
        res => res,
    }?;
    // The places up to 3 are taken in a child.
    let mut memory = File::from(fcntl_dupfd_cloexec(memory, 4)?);
    memory.write_all(PROGRAM)?;
    let all = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, all)?;
    Ok(memory.into())
}
