//! Pinned programs: the bytes that were hashed are the bytes that run.
//!
//! Hashing a file and starting it by its path leaves a window: the file can be replaced, or rewritten
//! in place, between the two. So the file is copied, the copy is made final and hashed, and then the
//! copy is what runs. There are two kinds of copy.
//!
//! - **A sealed memfd** for what the kernel loads by itself: a program of this machine's own kind, on
//!   Linux. No process can change it, not even one of its user (memfd_create(2), `F_SEAL_WRITE`),
//!   and it leaves nothing on any disk. The child's own descriptor is closed when the program is in
//!   place.
//! - **A private file** for what another program reads: a script, which its interpreter opens by its
//!   path, and whatever binfmt_misc(5) hands on. A memfd would do for some interpreters and not for
//!   others: Node resolves links in the path of its script and then looks for a file
//!   `/memfd:tool.js (deleted)`, and the name that an interpreter may judge by is lost. The file keeps
//!   its name, its directory is closed to other users, and a copy that was tampered with is made anew
//!   at the next call. A process of the *same* user that may write there can rewrite the copy in the
//!   instant before the interpreter opens it. So the copy is looked at once more after the program's end, and a
//!   call whose copy was changed fails; where confined programs run, copies belong where none of them may write.
//!
//! A file that did not change since it was hashed is known by its [`Stamp`] and not read again. Time
//! stamps are coarse: a rewrite that follows the hashing within one tick of the file system's clock,
//! a few milliseconds, may leave the stamp as it was. Then the file looks unchanged, and the call gets
//! the copy of the bytes that were hashed, never the new ones. A refusal is remembered only for files
//! that had been at rest, so that a repaired file is not refused for the same reason.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::io::Errno;
use tokio::{sync::OnceCell, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{
    pinned_copy::{self, PinnedImage, Trouble},
    pinned_dir::Places,
    resolve::{explain_start, start_error},
};
use crate::{ExecError, ExecErrorKind, Program, Sha256, Spec};

/// What is kept of files that were hashed.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Copies kept, and with them open descriptors.
    entries: usize,
    /// Their size together. A larger one is kept as long as it is the last that was used.
    bytes: u64,
    /// The largest file that is copied at all.
    file_bytes: u64,
}

/// 64 programs and 256 MiB, of which sealed copies are memory: more than a host's plugins need, little
/// beside what they use when they run. 1 GiB is beyond any program that is one file.
const BOUNDS: Bounds = Bounds { entries: 64, bytes: 256 << 20, file_bytes: 1 << 30 };

/// How long a file must have been at rest before a refusal of it is remembered: 2 s, the coarsest time
/// stamps in use (FAT).
const AT_REST: Duration = Duration::from_secs(2);

/// Looks at a copy that was tampered with before giving up: a process that rewrites it each time does so on
/// purpose.
const ATTEMPTS: usize = 3;

/// What identifies the content of a file without reading it. Any write and any replacement changes one
/// of them, down to the granularity of the file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether a write from now on is sure to show.
    fn is_at_rest(&self) -> bool {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return false };
        let at_rest = |(seconds, _)| {
            u64::try_from(seconds).is_ok_and(|it| now.as_secs() > it + AT_REST.as_secs())
        };
        at_rest(self.modified) && at_rest(self.changed)
    }
}

/// What is known of a file.
#[derive(Debug, Clone)]
enum Checked {
    /// It has the digest, and this copy of it.
    Good(Arc<PinnedImage>),
    /// It has this digest instead.
    Other(Sha256),
}

/// A check whose result holds for the call that made it and for no other.
enum Once {
    Checked(Checked),
    Failed(ExecError),
}

/// A file and the digest that was demanded of it. Calls that come while it is hashed wait for the one
/// that hashes it.
#[derive(Debug)]
struct Entry {
    path: PathBuf,
    wanted: Sha256,
    stamp: Stamp,
    slot: Arc<OnceCell<Checked>>,
}

impl Entry {
    fn is_of(&self, path: &Path, wanted: Sha256) -> bool {
        // Paths compare component by component, which takes long.
        self.wanted == wanted && self.path.as_os_str() == path.as_os_str()
    }

    /// The size of its copy, also of one that is just being made.
    fn bytes(&self) -> u64 {
        match self.slot.get() {
            Some(Checked::Other(_)) => 0,
            _ => self.stamp.size,
        }
    }

    /// Whether no call looks at it at the moment.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.slot) == 1
    }
}

/// The copies of pinned programs that are kept from call to call.
///
/// Any backend that starts programs on this machine can hold one. Clones of a backend share it.
#[derive(Debug)]
pub struct PinnedPrograms {
    places: Arc<Places>,
    bounds: Bounds,
    /// The one used last at the end.
    entries: Mutex<Vec<Entry>>,
}

/// What every Unix has, and memory for a machine whose temporary directories hold no programs. No
/// variable such as `TMPDIR` is asked: what the host's environment says is the host's to pass on.
const DEFAULT_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

impl Default for PinnedPrograms {
    /// Keeps private files in `/tmp`, `/var/tmp` or `/dev/shm`.
    fn default() -> Self {
        Self::new(DEFAULT_DIRS)
    }
}

impl PinnedPrograms {
    /// Keeps no copy yet. `dirs` are the directories for private files, in order of preference; the
    /// first one counts that is on a file system where programs may be executed and that takes the
    /// copy.
    #[must_use]
    pub fn new(dirs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        Self::with_bounds(dirs.into_iter().map(Into::into).collect(), BOUNDS)
    }

    fn with_bounds(dirs: Vec<PathBuf>, bounds: Bounds) -> Self {
        Self { places: Arc::new(Places::new(dirs)), bounds, entries: Mutex::default() }
    }

    /// A copy of the file at `program`, where `spec` pins it by its digest; `None` where it is not
    /// pinned.
    ///
    /// The backend keeps it until the program is gone: an interpreter opens it late.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::DigestMismatch`], or why the file cannot be read or copied.
    pub async fn image(
        &self,
        spec: &Spec,
        program: &Path,
    ) -> Result<Option<Arc<PinnedImage>>, ExecError> {
        match &spec.program {
            Program::Pinned { sha256, .. } => {
                self.copy_with_digest(spec, program, *sha256).await.map(Some)
            }
            Program::Named(_) => Ok(None),
        }
    }

    /// A private copy of the file whose bytes have the digest; made once for all calls that want the same.
    async fn copy_with_digest(
        &self,
        spec: &Spec,
        program: &Path,
        wanted: Sha256,
    ) -> Result<Arc<PinnedImage>, ExecError> {
        for _ in 0..ATTEMPTS {
            let meta = fs::metadata(program).map_err(|err| explain_start(spec, program, err))?;
            let stamp = Stamp::of(&meta);
            let slot = self.slot(program, wanted, stamp);
            let check = || self.check(spec, program, wanted, stamp);
            let checked = match slot.get_or_try_init(check).await {
                Ok(checked) => checked.clone(),
                Err(Once::Checked(checked)) => checked,
                Err(Once::Failed(err)) => return Err(err),
            };
            match checked {
                Checked::Good(image) if image.is_intact() => return Ok(image),
                Checked::Good(_) => self.forget(&slot),
                Checked::Other(got) => return Err(mismatch(spec, program, wanted, got)),
            }
        }
        let why =
            format!("each private copy of {} was changed by another process", program.display());
        Err(start_error(spec, ExecErrorKind::Other).with_source(why))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place for what is known of the file with this stamp.
    fn slot(&self, path: &Path, wanted: Sha256, stamp: Stamp) -> Arc<OnceCell<Checked>> {
        // What is dropped is dropped after the lock: it may be a large copy.
        let (slot, _dropped) = {
            let mut entries = self.entries();
            let found = entries.iter().position(|it| it.is_of(path, wanted));
            let found = found.map(|at| entries.remove(at));
            let mut dropped = Vec::new();
            let entry = match found {
                Some(entry) if entry.stamp == stamp => entry,
                stale => {
                    dropped.extend(stale);
                    dropped.extend(self.evict(&mut entries, stamp.size));
                    let (path, slot) = (path.to_owned(), Arc::default());
                    Entry { path, wanted, stamp, slot }
                }
            };
            let slot = Arc::clone(&entry.slot);
            entries.push(entry);
            (slot, dropped)
        };
        slot
    }

    /// Makes room for one more of that size, and gives what has to go: first what was used longest
    /// ago. Programs that run keep their copies all the same.
    fn evict(&self, entries: &mut Vec<Entry>, incoming_bytes: u64) -> Vec<Entry> {
        // The call that was to fill it failed or was dropped.
        let never_filled = |it: &mut Entry| it.is_idle() && it.slot.get().is_none();
        let mut res: Vec<Entry> = entries.extract_if(.., never_filled).collect();
        let mut n_entries = entries.len();
        let mut bytes = entries.iter().map(Entry::bytes).sum::<u64>() + incoming_bytes;
        let Bounds { entries: most, bytes: most_bytes, .. } = self.bounds;
        res.extend(entries.extract_if(.., |it| {
            let is_too_much = n_entries >= most || bytes > most_bytes;
            if is_too_much && it.is_idle() {
                n_entries -= 1;
                bytes -= it.bytes();
                return true;
            }
            false
        }));
        res
    }

    /// Takes a copy out of the table, so that the next call makes it anew.
    fn forget(&self, slot: &Arc<OnceCell<Checked>>) {
        self.entries().retain(|it| !Arc::ptr_eq(&it.slot, slot));
    }

    /// Hashes and copies the file on a thread where that may take its time.
    async fn check(
        &self,
        spec: &Spec,
        program: &Path,
        wanted: Sha256,
        stamp: Stamp,
    ) -> Result<Checked, Once> {
        let stop = CancellationToken::new();
        let _stop_when_dropped = stop.clone().drop_guard();
        let (places, path, limit) =
            (Arc::clone(&self.places), program.to_owned(), self.bounds.file_bytes);
        let job = spawn_blocking(move || pinned_copy::copy(&path, &places, limit, &stop));
        let copied = match job.await {
            Ok(Ok(copied)) => copied,
            Ok(Err(trouble)) => return Err(Once::Failed(refusal(spec, program, trouble))),
            Err(err) => {
                let err = start_error(spec, ExecErrorKind::Other).with_source(err);
                return Err(Once::Failed(err));
            }
        };
        let is_this_file = copied.before == stamp && copied.after == stamp;
        let (checked, may_be_kept) = if copied.sha256 == wanted {
            (Checked::Good(Arc::new(copied.image)), is_this_file)
        } else {
            (Checked::Other(copied.sha256), is_this_file && stamp.is_at_rest())
        };
        if may_be_kept { Ok(checked) } else { Err(Once::Checked(checked)) }
    }
}

fn refusal(spec: &Spec, program: &Path, trouble: Trouble) -> ExecError {
    match trouble {
        Trouble::Open(err) => explain_start(spec, program, err),
        Trouble::NotExecutable => explain_start(spec, program, Errno::ACCESS.into()),
        Trouble::Refused(kind, why) => start_error(spec, kind).with_source(why),
    }
}

fn mismatch(spec: &Spec, program: &Path, wanted: Sha256, got: Sha256) -> ExecError {
    // Without the `./` that a relative path may have brought along.
    let program: PathBuf = program.components().collect();
    let why = format!(
        "its SHA-256 is {got} where {wanted} is demanded; `sha256sum {}` prints the one it has",
        shell_word(&program)
    );
    start_error(spec, ExecErrorKind::DigestMismatch).with_source(why)
}

/// The path as a user would type it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+:@%,=".contains(it);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sha2::Digest;
    use tokio::task::JoinSet;

    use super::*;

    fn sha256(content: &str) -> Sha256 {
        Sha256(sha2::Sha256::digest(content).into())
    }

    /// An executable file, which is a script or as good as one.
    fn write(path: &Path, content: &str) {
        fs::write(path, content).expect("ours");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    async fn image_of(pinned: &PinnedPrograms, path: &Path, wanted: Sha256) -> Arc<PinnedImage> {
        pinned.copy_with_digest(&Spec::new(path), path, wanted).await.expect("it has the digest")
    }

    fn read(image: &PinnedImage) -> String {
        fs::read_to_string(image.paths().0).expect("a copy")
    }

    fn pinned(dir: &Path, entries: usize, bytes: u64) -> PinnedPrograms {
        PinnedPrograms::with_bounds(
            vec![dir.to_owned()],
            Bounds { entries, bytes, file_bytes: 1_000 },
        )
    }

    #[tokio::test]
    async fn a_file_that_stays_is_copied_once_and_by_one_of_many_calls() {
        let dir = tempfile::tempdir().expect("a directory");
        let (tool, pinned) = (dir.path().join("tool"), pinned(dir.path(), 9, 900));
        write(&tool, "one");
        let pinned = Arc::new(pinned);
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let (pinned, tool) = (Arc::clone(&pinned), tool.clone());
            calls.spawn(async move { image_of(&pinned, &tool, sha256("one")).await });
        }
        let images = calls.join_all().await;
        let again = image_of(&pinned, &tool, sha256("one")).await;
        assert!(images.iter().all(|it| Arc::ptr_eq(it, &again)));
    }

    #[tokio::test]
    async fn what_happens_to_the_file_after_the_check_does_not_reach_the_copy() {
        let dir = tempfile::tempdir().expect("a directory");
        let (tool, pinned) = (dir.path().join("tool"), pinned(dir.path(), 9, 900));
        write(&tool, "one");
        let image = image_of(&pinned, &tool, sha256("one")).await;
        fs::write(&tool, "two").expect("ours");
        assert_eq!(read(&image), "one");
        write(&dir.path().join("next"), "3");
        fs::rename(dir.path().join("next"), &tool).expect("ours");
        assert_eq!(read(&image), "one");
        // The file is another one now, and its former copy is not kept for it.
        let other = image_of(&pinned, &tool, sha256("3")).await;
        assert_eq!(read(&other), "3");
        let spec = Spec::new(&tool);
        let err =
            pinned.copy_with_digest(&spec, &tool, sha256("one")).await.expect_err("it has changed");
        assert_eq!(err.kind(), ExecErrorKind::DigestMismatch);
    }

    #[tokio::test]
    async fn the_oldest_copies_go_first_and_none_that_is_in_use() {
        let dir = tempfile::tempdir().expect("a directory");
        let pinned = pinned(dir.path(), 3, 10);
        let tools = ["a", "bb", "ccc", "dddd"].map(|it| {
            let path = dir.path().join(it);
            write(&path, it);
            (path, it)
        });
        let image = async |n: usize| image_of(&pinned, &tools[n].0, sha256(tools[n].1)).await;
        let kept = || {
            let entries = pinned.entries();
            let names = entries.iter().map(|it| it.path.file_name().expect("a name").to_owned());
            names.map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let in_use = image(0).await;
        image(1).await;
        image(0).await;
        image(2).await;
        assert_eq!(kept(), "bb a ccc");
        // Three entries are the most, …
        image(3).await;
        assert_eq!(kept(), "a ccc dddd");
        // … and ten bytes.
        let long = dir.path().join("long");
        write(&long, "long text");
        image_of(&pinned, &long, sha256("long text")).await;
        assert_eq!(kept(), "long");
        // A program that runs has its copy all the same.
        assert_eq!(read(&in_use), "a");
        let path = in_use.paths().0;
        drop(in_use);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_repaired_file_is_not_refused_for_what_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let (tool, pinned) = (dir.path().join("tool"), pinned(dir.path(), 9, 900));
        // A file that was just written may change without a trace; one at rest is hashed once.
        for age in [Duration::ZERO, Duration::from_secs(3600)] {
            write(&tool, "bad");
            let file = fs::File::options().write(true).open(&tool).expect("ours");
            file.set_modified(SystemTime::now() - age).expect("ours");
            let spec = Spec::new(&tool);
            let err =
                pinned.copy_with_digest(&spec, &tool, sha256("one")).await.expect_err("it is bad");
            assert_eq!(err.kind(), ExecErrorKind::DigestMismatch);
            // The time of the last change of its attributes is now, whatever else was set.
            assert!(pinned.entries().iter().all(|it| it.slot.get().is_none()));
        }
        let stamp = |seconds| Stamp {
            dev: 1,
            ino: 1,
            size: 1,
            modified: (seconds, 0),
            changed: (seconds, 0),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let now = i64::try_from(now).expect("before the end of time");
        let at_rest = [0, now - 10, now, now + 1_000].map(|it| stamp(it).is_at_rest());
        assert_eq!(at_rest, [true, true, false, false]);
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_not_copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let (tool, pinned) = (dir.path().join("tool"), pinned(dir.path(), 9, 900));
        for (n, is_refused) in [(1_000, false), (1_001, true)] {
            let content = "x".repeat(n);
            write(&tool, &content);
            let res = pinned.copy_with_digest(&Spec::new(&tool), &tool, sha256(&content)).await;
            assert_eq!(res.is_err_and(|it| it.kind() == ExecErrorKind::Unsupported), is_refused);
        }
    }
}
