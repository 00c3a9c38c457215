//! Copying a program and hashing the copy.
//!
//! [`copy`] reads the file once, from one descriptor, into a copy that only this process can write;
//! [`Draft::finish`] makes the copy final and hashes that, not the file. So the digest is of the
//! bytes that will run. All of it blocks, and runs on a thread where it may; between two pieces it
//! looks whether the call was dropped.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{fs::OFlags, io::Errno};
use sha2::Digest;
use tokio_util::sync::CancellationToken;

use super::{
    pinned::Stamp,
    pinned_dir::{Places, PrivateFile},
    resolve::is_executable,
    sealed::{self, Sealed},
};
use crate::{ExecError, ExecErrorKind, Sha256};

/// Bytes read at a time: as many as stay in a core's second-level cache while they are hashed and
/// written.
///
/// One such buffer is in memory for each file at work.
const PIECE_BYTES: usize = 256 * 1024;

/// Bytes of an ELF header up to and with the machine it is for (elf(5)).
const ELF_KIND_BYTES: usize = 20;

/// A private copy of a pinned program.
///
/// Dropping the last reference removes the copy: memory is freed, a file is deleted.
#[derive(Debug)]
pub struct PinnedImage(Kind);

#[derive(Debug)]
enum Kind {
    /// Bytes that no process can change.
    Sealed(Sealed),
    /// A file of our own.
    File { file: PrivateFile, stamp: Stamp },
}

impl PinnedImage {
    /// Where a child of this process finds it, and where else, should it not be let in there.
    #[must_use]
    pub fn paths(&self) -> (PathBuf, Option<PathBuf>) {
        match &self.0 {
            Kind::Sealed(memory) => memory.paths(),
            Kind::File { file, .. } => (file.path().to_owned(), None),
        }
    }

    /// Sealed memory that holds the program, which can be executed as it is (execveat(2) with
    /// `AT_EMPTY_PATH`); `None` for a file, which an interpreter has to find by its path.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.0 {
            Kind::Sealed(memory) => Some(memory.file().as_fd()),
            Kind::File { .. } => None,
        }
    }

    /// Looks once more at what ran, after its end: an interpreter opens the copy of a script some time after the
    /// start, and another process of this user can write to the copy meanwhile.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::DigestMismatch`] where the copy was changed or replaced. Something ran.
    pub fn verify_ended(&self) -> Result<(), ExecError> {
        if self.is_intact() {
            return Ok(());
        }
        let path = self.paths().0;
        let what = format!("verify the pinned program {}", path.display());
        let why = "its private copy was changed while it ran; the output may be another program's";
        Err(ExecError::new(ExecErrorKind::DigestMismatch, what).with_source(why).started())
    }

    /// Whether it is as it was made.
    pub(super) fn is_intact(&self) -> bool {
        match &self.0 {
            Kind::Sealed(_) => true,
            Kind::File { file, stamp } => {
                fs::symlink_metadata(file.path()).is_ok_and(|it| Stamp::of(&it) == *stamp)
            }
        }
    }
}

/// A file that was read from its start to its end.
pub(super) struct Copied {
    pub(super) image: PinnedImage,
    pub(super) sha256: Sha256,
    /// What identified the file when it was opened, and when all of it was read.
    pub(super) before: Stamp,
    pub(super) after: Stamp,
}

/// Why there is no copy.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file cannot be opened.
    ///
    /// As the system says it; the caller finds the kind.
    Open(io::Error),
    /// The file may not be executed.
    NotExecutable,
    /// Anything else, in words.
    Refused(ExecErrorKind, String),
}

/// Copies the program at `path`, at most `limit_bytes` of it.
///
/// The file is opened once; whatever its path leads to later, these are the bytes that count.
///
/// # Errors
///
/// The file cannot be opened, may not be executed, is larger than the limit, cannot be read, or the
/// copy finds no room. Nothing is left of the copy then.
pub(super) fn copy(
    path: &Path,
    places: &Arc<Places>,
    limit_bytes: u64,
    stop: &CancellationToken,
) -> Result<Copied, Trouble> {
    let file = open(path)?;
    let stamp_of = |file: &File| file.metadata().map(|it| Stamp::of(&it)).map_err(Trouble::Open);
    let before = stamp_of(&file)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let too_large = || {
        let why = format!(
            "{} has more than {limit_bytes} bytes, the most that a pinned program may have",
            path.display()
        );
        // It would fill memory or a disk.
        Trouble::Refused(ExecErrorKind::Unsupported, why)
    };
    if file.metadata().map_err(Trouble::Open)?.len() > limit_bytes {
        return Err(too_large());
    }

    let unreadable = |err: io::Error| {
        Trouble::Refused(kind_of(&err), format!("reading {}: {err}", path.display()))
    };
    let mut source = (&file).take(limit_bytes + 1);
    let mut piece = vec![0; PIECE_BYTES];
    let mut n = fill(&mut source, &mut piece).map_err(unreadable)?;
    let draft = Draft::new(&piece[..n], places, name)?;
    let place = draft.place();
    let failed = |err: io::Error| {
        let why = format!("copying {} to {place}: {err}", path.display());
        Trouble::Refused(kind_of(&err), why)
    };
    let mut size = 0;
    while n > 0 {
        go_on(stop).map_err(failed)?;
        draft.file().write_all(&piece[..n]).map_err(failed)?;
        size += n as u64;
        n = fill(&mut source, &mut piece).map_err(unreadable)?;
    }
    if size > limit_bytes {
        return Err(too_large());
    }
    let after = stamp_of(&file)?;
    let (image, sha256) = draft.finish(&mut piece, stop).map_err(failed)?;
    Ok(Copied { image, sha256, before, after })
}

/// Stops where no call waits for the answer.
///
/// # Errors
///
/// [`io::ErrorKind::Interrupted`] once the call was dropped.
fn go_on(stop: &CancellationToken) -> io::Result<()> {
    if stop.is_cancelled() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

/// The digest of a file from its start to its end.
fn digest_of(mut copy: &File, piece: &mut [u8], stop: &CancellationToken) -> io::Result<Sha256> {
    copy.rewind()?;
    let mut digest = sha2::Sha256::new();
    loop {
        let n = fill(&mut copy, piece)?;
        if n == 0 {
            return Ok(Sha256(digest.finalize().into()));
        }
        go_on(stop)?;
        digest.update(&piece[..n]);
    }
}

/// Opens a regular file that may be executed.
///
/// Follows links, as the start itself would.
fn open(path: &Path) -> Result<File, Trouble> {
    // Opening a device can do something to it, and a socket cannot be opened.
    if !fs::metadata(path).map_err(Trouble::Open)?.is_file() {
        return Err(Trouble::NotExecutable);
    }
    // Something else may be there by now. Opening a named pipe must not wait for its writer.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let is_allowed = is_executable(path);
    let file = file.map_err(|err| match err.kind() {
        io::ErrorKind::PermissionDenied if is_allowed => {
            let why = format!(
                "{} may be executed and not be read, so nothing can tell its digest; make it readable",
                path.display()
            );
            Trouble::Refused(ExecErrorKind::NotExecutable, why)
        }
        _ => Trouble::Open(err),
    })?;
    let kind = file.metadata().map_err(Trouble::Open)?.file_type();
    if !kind.is_file() || !is_allowed {
        return Err(Trouble::NotExecutable);
    }
    Ok(file)
}

/// Reads until the buffer is full or the file ends.
///
/// Gives how many bytes were read; less than the buffer only at the end.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(filled)
}

/// What a caller can do about it: wait, where something ran out.
pub(super) fn kind_of(err: &io::Error) -> ExecErrorKind {
    match err.raw_os_error().map(Errno::from_raw_os_error) {
        Some(
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::NOMEM | Errno::MFILE | Errno::NFILE,
        ) => ExecErrorKind::Exhausted,
        _ => ExecErrorKind::Other,
    }
}

/// A copy at work.
///
/// Dropping it before [`finish`](Self::finish) removes what was copied.
enum Draft {
    Memory(File),
    File(PrivateFile, File),
}

impl Draft {
    /// Chooses by how the program begins: what the kernel loads by itself needs no path.
    ///
    /// # Errors
    ///
    /// No directory takes a private file.
    fn new(first: &[u8], places: &Arc<Places>, name: &OsStr) -> Result<Self, Trouble> {
        if is_native(first)
            && let Some(memory) = sealed::create(name)
        {
            return Ok(Self::Memory(memory));
        }
        let (private, file) = places.create(name)?;
        Ok(Self::File(private, file))
    }

    fn file(&self) -> &File {
        match self {
            Self::Memory(file) | Self::File(_, file) => file,
        }
    }

    /// Where it is, for people.
    fn place(&self) -> String {
        match self {
            Self::Memory(_) => "memory".to_owned(),
            Self::File(private, _) => private.path().display().to_string(),
        }
    }

    /// Makes what was written final, and hashes it then: a change to the copy while it was
    /// made is found out.
    fn finish(
        self,
        piece: &mut [u8],
        stop: &CancellationToken,
    ) -> io::Result<(PinnedImage, Sha256)> {
        match self {
            Self::Memory(memory) => {
                let sealed = sealed::seal(memory)?;
                let sha256 = digest_of(sealed.file(), piece, stop)?;
                Ok((PinnedImage(Kind::Sealed(sealed)), sha256))
            }
            Self::File(private, file) => {
                // From here on each change shows in the stamp.
                let stamp = Stamp::of(&file.metadata()?);
                let sha256 = digest_of(&file, piece, stop)?;
                // A program that is open for writing cannot be started.
                drop(file);
                Ok((PinnedImage(Kind::File { file: private, stamp }), sha256))
            }
        }
    }
}

/// Whether a program that begins like this is of the same kind as the one that runs here: then no
/// other program has to open it.
///
/// Where `/proc` is missing this says no, and a private file is used.
fn is_native(first: &[u8]) -> bool {
    let Some(first) = first.get(..ELF_KIND_BYTES) else { return false };
    let mut own = [0; ELF_KIND_BYTES];
    let read = File::open("/proc/self/exe").and_then(|mut it| it.read_exact(&mut own));
    // Class, byte order and version; then, after the type of the file, the machine.
    read.is_ok()
        && own.starts_with(b"\x7fELF")
        && first[..7] == own[..7]
        && first[18..] == own[18..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_out_may_be_there_later() {
        for (errno, kind) in [
            (Errno::NOSPC, ExecErrorKind::Exhausted),
            (Errno::MFILE, ExecErrorKind::Exhausted),
            (Errno::IO, ExecErrorKind::Other),
            (Errno::ROFS, ExecErrorKind::Other),
        ] {
            assert_eq!(kind_of(&errno.into()), kind);
        }
    }

    #[test]
    fn only_programs_of_this_machine_are_native() {
        let own = fs::read(std::env::current_exe().expect("a path")).expect("this program");
        assert_eq!(is_native(&own), cfg!(target_os = "linux"));
        let mut foreign = own.clone();
        foreign[18] ^= 0xff;
        for other in [&foreign[..], b"#!/bin/sh\necho this is long enough\n", &own[..19], b""] {
            assert!(!is_native(other));
        }
    }
}
