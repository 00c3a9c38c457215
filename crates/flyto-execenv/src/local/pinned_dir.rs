//! Private files for the copies of scripts.
//!
//! They lie in a directory that only the user may enter, made when the first one is needed and removed
//! with the backend and the last program that it started. A lock on it (flock(2)) says that its owner
//! is alive; also a service that cleans up temporary directories honours that
//! (systemd-tmpfiles(8)). What a killed process left behind is removed by the next one that makes such
//! a directory.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    hash::{BuildHasher, RandomState},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    process::geteuid,
};

use super::{
    pinned_copy::{Trouble, kind_of},
    resolve::is_executable,
};
use crate::ExecErrorKind;

/// How the names of our directories begin.
const PREFIX: &str = "flyto-pinned-";

/// Names tried: another process may be removing what it takes for a leftover.
const ATTEMPTS: usize = 8;

/// Where private files may lie.
///
/// The directory is made at the first copy and used for all later ones.
#[derive(Debug)]
pub(super) struct Places {
    /// In order of preference.
    dirs: Vec<PathBuf>,
    home: Mutex<Option<Arc<Home>>>,
}

impl Places {
    pub(super) fn new(dirs: Vec<PathBuf>) -> Self {
        Self { dirs, home: Mutex::default() }
    }

    /// An empty file called `name` that its owner may execute, open for reading and writing.
    ///
    /// A directory that does not take it, or in which nothing may be executed, is passed over for the
    /// next one.
    ///
    /// # Errors
    ///
    /// Why each of the directories does not take it, in words.
    pub(super) fn create(&self, name: &OsStr) -> Result<(PrivateFile, File), Trouble> {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        // A program that tidies up may have removed it, whatever the lock says.
        if let Some(home) = &*home
            && let Ok(Some(res)) = home.create(name)
        {
            return Ok(res);
        }
        let mut reasons = Vec::new();
        let mut kind = ExecErrorKind::Other;
        for dir in &self.dirs {
            let made = Home::make_in(dir).map(Arc::new);
            let why = match made.and_then(|it| Ok((it.create(name)?, it))) {
                Ok((Some(res), made)) => {
                    *home = Some(made);
                    return Ok(res);
                }
                Ok((None, _)) => "is on a file system where nothing may be executed".to_owned(),
                Err(err) => {
                    kind = kind_of(&err);
                    err.to_string()
                }
            };
            reasons.push(format!("{}: {why}", dir.display()));
        }
        if reasons.is_empty() {
            reasons.push(
                "no directory is named for it; set HOME, or XDG_CACHE_HOME without a link"
                    .to_owned(),
            );
        }
        let why = format!("there is no place for a private copy of it ({})", reasons.join("; "));
        Err(Trouble::Refused(kind, why))
    }
}

/// A directory of our own.
///
/// Named `flyto-pinned-` and 16 hexadecimal digits; mode 0700.
#[derive(Debug)]
struct Home {
    path: PathBuf,
    /// Locked as long as this process lives.
    _lock: File,
    n_files: AtomicU64,
}

impl Home {
    /// # Errors
    ///
    /// Those of the system, and [`io::ErrorKind::AlreadyExists`] after [`ATTEMPTS`] names.
    fn make_in(dir: &Path) -> io::Result<Self> {
        if !dir.try_exists()? {
            // As the XDG Base Directory Specification has it for directories of a user.
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        // A path with a link in it grants nothing where programs may read only what was granted.
        let dir = &dir.canonicalize()?;
        sweep(dir);
        for _ in 0..ATTEMPTS {
            // The standard library seeds each state at random.
            let path = dir.join(format!("{PREFIX}{:016x}", RandomState::new().hash_one(())));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => continue,
                res => res?,
            }
            if let Some(lock) = lock(&path)? {
                return Ok(Self { path, _lock: lock, n_files: AtomicU64::new(0) });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// `None` where nothing may be executed.
    ///
    /// A file in a directory of its own, so that it keeps its name whatever other copies are
    /// called.
    fn create(self: &Arc<Self>, name: &OsStr) -> io::Result<Option<(PrivateFile, File)>> {
        let n = self.n_files.fetch_add(1, Ordering::Relaxed);
        let dir = self.path.join(n.to_string());
        DirBuilder::new().mode(0o700).create(&dir)?;
        // From here on what was made is removed again.
        let private = PrivateFile { path: dir.join(name), _home: Arc::clone(self) };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(&private.path)?;
        // Whatever the process's mask took away.
        file.set_permissions(Permissions::from_mode(0o500))?;
        Ok(is_executable(&private.path).then_some((private, file)))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Takes the lock of a directory of ours; `None` where another process has it, or it is gone.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let dir = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let dir = match dir {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        dir => dir?,
    };
    match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
        Err(err) if err == rustix::io::Errno::WOULDBLOCK => return Ok(None),
        res => res?,
    }
    // The owner before may have removed the directory.
    let (ours, there) = (dir.metadata()?, fs::symlink_metadata(path));
    let is_there = there.is_ok_and(|it| (it.dev(), it.ino()) == (ours.dev(), ours.ino()));
    Ok((is_there && ours.uid() == geteuid().as_raw()).then_some(dir))
}

/// Removes what processes left in `dir` that were killed.
fn sweep(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
    for entry in entries.flatten().filter(|it| is_ours(&it.file_name())) {
        // Others may be at the same thing; the one that has the lock removes it.
        if let Ok(Some(_lock)) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A file in a directory of its own, removed with this.
#[derive(Debug)]
pub(super) struct PrivateFile {
    path: PathBuf,
    _home: Arc<Home>,
}

impl PrivateFile {
    /// Absolute, and without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // Whatever else is in its directory was put there by others. What stays goes with the home.
        if let Some(dir) = self.path.parent() {
            let _ = fs::remove_dir_all(dir);
        }
    }
}
