//! Files on systems that are not Unix.

use std::{
    fs::{self, File, FileType},
    io::{self, Read as _},
    path::Path,
};

/// Opens for reading what is a file, so that nothing else is touched.
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    File::open(path)
}

/// Reads once, as much as there is room for.
pub(super) fn read_some(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(bytes.capacity(), 0);
    loop {
        match file.read(bytes) {
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            res => {
                bytes.truncate(*res.as_ref().unwrap_or(&0));
                return res.map(drop);
            }
        }
    }
}

/// What something is that is no regular file, with its article.
pub(super) fn kind_of_file(kind: FileType) -> &'static str {
    if kind.is_dir() { "a directory" } else { "a device" }
}

/// No system but Linux has a call for it.
pub(super) fn is_link_free(_path: &Path) -> bool {
    false
}
