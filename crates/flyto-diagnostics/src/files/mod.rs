//! Reading files without trusting what lies under their names.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

use std::{
    fmt,
    io::{self, Read},
    path::Path,
};

use crate::{Diagnostic, Location, Source, codes};

/// The largest file that is read: 16 MiB. What people and generators write stays far below; the
/// limit keeps a wrong path, such as that of a disk image, from filling memory.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Why there are no bytes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such file.
    Missing,
    /// There are more bytes than [`MAX_FILE_BYTES`].
    TooLarge,
    /// It is no regular file but this, with its article: `a directory`.
    NotAFile(&'static str),
    /// The system did not hand them over.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::TooLarge => write!(f, "it is larger than {} MiB", MAX_FILE_BYTES >> 20),
            Self::NotAFile(what) => write!(f, "it is {what}"),
            Self::Io(err) => err.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(err: io::Error) -> Self {
        match err.kind() {
            // The second one: what should be the directory around the file is a file.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(err),
        }
    }
}

/// Whether something is at an absolute path and no part of the path is a link, so that the path leads where its text says.
/// Two system calls, however many parts it has (openat2(2) with `RESOLVE_NO_SYMLINKS`); nothing is read.
///
/// `false` is no answer: there is a link, or nothing, or no right to look, or the system has no such call (before Linux
/// 5.6, and elsewhere). The parts have to be looked at one by one then.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use std::path::Path;
///
/// use flyto_diagnostics::files::is_link_free;
///
/// assert!(is_link_free(Path::new("/proc/sys")));
/// assert!(!is_link_free(Path::new("/proc/self/cmdline")));
/// # }
/// ```
#[must_use]
pub fn is_link_free(path: &Path) -> bool {
    path.is_absolute() && platform::is_link_free(path)
}

/// Reads a regular file, following links. Returns at once from anything else: a FIFO, a device, a
/// directory.
///
/// # Errors
///
/// [`ReadError`] says why there are no bytes.
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    let mut file = platform::open_at_once(path).map_err(|err| match ReadError::from(err) {
        ReadError::Missing => ReadError::Missing,
        // A device without hardware, or a socket, says no more than that it cannot be opened.
        err => match path.metadata() {
            Ok(it) if !it.is_file() => ReadError::NotAFile(platform::kind_of_file(it.file_type())),
            _ => err,
        },
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile(platform::kind_of_file(metadata.file_type())));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge);
    }
    // One more than there is: reading less than there is room for is reading to the end, which
    // saves asking once more (read(2), "if this number is smaller").
    let size = usize::try_from(metadata.len()).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 1);
    platform::read_some(&mut file, &mut bytes)?;
    if bytes.len() != size {
        // It changes meanwhile, or is one of those whose size the system does not tell.
        file.take(MAX_FILE_BYTES + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge);
    }
    Ok(bytes)
}

/// Reads a text file, as [`read`] does.
///
/// ```
/// use std::path::Path;
///
/// let finding = flyto_diagnostics::files::open(Path::new("no/such/file")).expect_err("it is not there");
/// assert_eq!(finding.code.as_str(), "F0001");
/// ```
///
/// # Errors
///
/// A finding with code `F0001` where there are no bytes, or the one of [`Source::from_bytes`].
pub fn open(path: &Path) -> Result<Source, Box<Diagnostic>> {
    let name = path.display().to_string();
    match read(path) {
        Ok(bytes) => Source::from_bytes(name, bytes),
        Err(err) => Err(Box::new(unreadable(path, &err))),
    }
}

/// The finding that a file cannot be read, and why.
#[must_use]
pub fn unreadable(path: &Path, err: &ReadError) -> Diagnostic {
    let message = format!("the file cannot be read: {err}");
    let place = Location::file(path.display().to_string());
    Diagnostic::error(codes::UNREADABLE, place, message)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(path: &Path, expect: Expect) {
        let res = match open(path) {
            Ok(source) => format!("{:?}", source.text()),
            Err(diagnostic) => diagnostic.message,
        };
        expect.assert_eq(&res);
    }

    #[test]
    fn only_regular_files_of_sensible_size_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "{}").expect("written");
        check(&file, expect![[r#""{}""#]]);
        check(&dir.path().join("no"), expect!["the file cannot be read: there is no such file"]);
        check(&file.join("no"), expect!["the file cannot be read: there is no such file"]);
        check(dir.path(), expect!["the file cannot be read: it is a directory"]);
        let huge = dir.path().join("huge");
        let sparse = std::fs::File::create(&huge).expect("created");
        sparse.set_len(MAX_FILE_BYTES + 1).expect("sparse");
        check(&huge, expect!["the file cannot be read: it is larger than 16 MiB"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_through_a_link_is_not_free_of_links() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it is there");
        std::fs::create_dir(root.join("real")).expect("created");
        std::fs::write(root.join("real/file"), "").expect("written");
        std::os::unix::fs::symlink("real", root.join("link")).expect("linked");
        std::os::unix::fs::symlink("real/file", root.join("last")).expect("linked");
        for (path, expected) in [
            ("real", true),
            ("real/file", true),
            ("link", false),
            ("link/file", false),
            ("last", false),
            ("none", false),
            ("real/file/none", false),
        ] {
            assert_eq!(is_link_free(&root.join(path)), expected, "{path}");
        }
        assert!(!is_link_free(Path::new(".")), "it says nothing about a relative path");
    }

    #[cfg(unix)]
    #[test]
    fn neither_a_device_nor_a_socket_is_waited_for() {
        check(Path::new("/dev/zero"), expect!["the file cannot be read: it is a device"]);
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).expect("made");
        check(&fifo, expect!["the file cannot be read: it is a pipe"]);
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        check(&socket, expect!["the file cannot be read: it is a socket"]);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&socket, &link).expect("linked");
        check(&link, expect!["the file cannot be read: it is a socket"]);
    }
}
