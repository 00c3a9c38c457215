//! Files on Unix.

use std::{
    fs::{File, FileType, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    buffer::spare_capacity,
    fs::OFlags,
    io::{Errno, read},
};

/// Opens for reading. Neither a FIFO without a writer nor a terminal makes it wait or takes hold of
/// the process: open(2), `O_NONBLOCK` and `O_NOCTTY`.
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Reads once, as much as there is room for. The room is not filled with zeros before.
pub(super) fn read_some(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<()> {
    loop {
        match read(&*file, spare_capacity(bytes)) {
            Err(Errno::INTR) => {}
            res => return Ok(res.map(drop)?),
        }
    }
}

/// What something is that is no regular file, with its article.
pub(super) fn kind_of_file(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// By openat2(2), which gives a descriptor that neither reads nor writes (`O_PATH`).
#[cfg(target_os = "linux")]
pub(super) fn is_link_free(path: &Path) -> bool {
    use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok()
}

/// No other system has such a call.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_link_free(_path: &Path) -> bool {
    false
}
