//! A file is replaced in one step: a reader sees the former or the new content, whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes `bytes` into a new file beside `path`, waits until they are on the disk, and gives it the name `path`.
///
/// Directories that are missing are made, for the user alone. A new file is the user's alone as well; the rights of one
/// that was there are kept. On an error `path` is as it was.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static N_FILES: AtomicU64 = AtomicU64::new(0);
    let dir = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(dir)?;
    let n = N_FILES.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{n}.new", std::process::id()));
    let written = options.open(&new).and_then(|mut file| {
        if let Ok(former) = fs::metadata(path) {
            file.set_permissions(former.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(err) = written.and_then(|()| fs::rename(&new, path)) {
        let _ = fs::remove_file(&new);
        return Err(err);
    }
    sync_dir(dir)
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
