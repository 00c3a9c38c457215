//! The supervisor's program, in memory that no process can change.

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

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));

/// The program, ready to be executed.
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
