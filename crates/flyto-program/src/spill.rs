//! Where the whole of an output lies that is too long to be kept in memory.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use flyto_execenv::{Capture, SpillDir};

/// The same capture with a file in `dir` for the whole of an output of the tool `name`, at a path that no other call has, and
/// within the bounds of the directory.
#[must_use]
pub fn spilled(capture: Capture, dir: &SpillDir, name: &str) -> Capture {
    capture.spill_to(spill_path(&dir.path, name)).spill_within(dir.bounds)
}

/// A path in `dir` for an output of the tool `name`, which no other call of this or another process
/// has.
///
/// Nothing is created. The name of the file is the time in milliseconds since 1970, the number of this
/// process, a number that counts up, and what of the tool's name a file name can hold, 64 characters at
/// most; so a listing shows the files in their order.
fn spill_path(dir: &Path, name: &str) -> PathBuf {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    // A process number comes round again, the time does not.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // A `u64`, which is written with less work than the `u128` of a duration, reaches for 500 million years.
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    // Three numbers of 20 digits at most, 64 characters of the name, and what stands between them.
    let mut file = String::with_capacity(128);
    let _ = write!(file, "{millis}-{}-{number}-", std::process::id());
    // A name may hold what cannot stand in the name of a file; what can be told from it is enough.
    let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '-' };
    file.extend(name.chars().map(plain).take(64));
    file.push_str(".txt");
    dir.join(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_directory_and_are_never_given_twice() {
        let dir = Path::new("/spill");
        let paths =
            ["p:t", "../../etc/passwd", "\0", &"x".repeat(1000)].map(|it| spill_path(dir, it));
        for path in &paths {
            assert_eq!(path.parent(), Some(dir));
            assert!(path.file_name().is_some_and(|it| it.len() < 128), "{path:?}");
        }
        assert_ne!(spill_path(dir, "t"), spill_path(dir, "t"));
    }
}
