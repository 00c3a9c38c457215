//! Files that a spec names, compared with their digests.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;
use sha2::Digest;
use tokio::task::spawn_blocking;

use super::resolve::start_error;
use crate::{ExecError, ExecErrorKind, Sha256, Spec};

/// Bytes read at a time, as for a pinned program.
const PIECE_BYTES: usize = 256 * 1024;

/// Compares the files of a spec ([`Spec::files`]) with their digests, for a backend on whose machine they lie anyhow.
///
/// A process that writes them between this and the start of the program is not noticed; a program that must be certain is
/// [pinned](crate::Program::Pinned).
///
/// # Errors
///
/// [`ExecErrorKind::DigestMismatch`] for a file that has another digest, is none, or cannot be read.
///
/// Files are hashed one after the other, each on a thread where that may take its time.
pub async fn check_files(spec: &Spec) -> Result<(), ExecError> {
    for file in &spec.files {
        let path = file.path.clone();
        let why = match spawn_blocking(move || digest(&path)).await {
            Ok(Ok(got)) if got == file.sha256 => continue,
            Ok(Ok(got)) => format!("its SHA-256 is {got} where {} is demanded", file.sha256),
            Ok(Err(err)) => err.to_string(),
            Err(_) => "the runtime was shut down".to_owned(),
        };
        let why = format!("{:?}: {why}", file.path);
        return Err(start_error(spec, ExecErrorKind::DigestMismatch).with_source(why));
    }
    Ok(())
}

/// # Errors
///
/// It is no regular file, or cannot be read.
fn digest(path: &Path) -> io::Result<Sha256> {
    // A named pipe would be waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut hash = sha2::Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Sha256(hash.finalize().into())),
            n => hash.update(&piece[..n]),
        }
    }
}
