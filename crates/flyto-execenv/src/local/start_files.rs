//! The files that the start of a program on this machine reads, and whether they have changed since.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use super::resolve::{self, interpreter, is_executable};
use crate::{ColdStart, Spec, StartFiles};

/// How many files are looked at: 1,024, which takes about a millisecond before each call.
const MAX_FILES: usize = 1024;

/// How deep directories are looked into.
const MAX_DEPTH: usize = 16;

/// The files that a start of `spec` on this machine would read, as the system describes them now (stat(2)).
///
/// These are the program, as its `PATH` finds it, and the interpreter of its `#!` line; each argument that is the path of
/// a file; the working directory; and what [`Ready::watched`](crate::Ready::watched) names, with everything in a
/// directory. Of a directory it counts which one it is and what lies in it, of a file also its size and the times of its
/// last changes. Links are followed to files and not into directories. What a program loads from elsewhere, such as
/// libraries of its interpreter, is not looked at.
///
/// # Errors
///
/// [`ColdStart::TooManyFiles`] for more than 1,024 of them, or 16 directories within each other, and
/// [`ColdStart::NotStarted`] where there is no such program.
pub fn start_files(spec: &Spec) -> Result<StartFiles, ColdStart> {
    let mut walk = Walk { files: StartFiles::new(), seen: HashSet::new() };
    let program = spec.program.as_os_str();
    if !program.as_bytes().contains(&b'/') {
        // A file that appears before the one that is found now would be found instead.
        let path = spec.env.get("PATH").unwrap_or_default();
        let before = resolve::candidates(spec, path, program).take_while(|it| !is_executable(it));
        before.for_each(|it| walk.add_file(it));
    }
    let program = resolve::resolve_program(spec);
    let program = program.map_err(|err| ColdStart::NotStarted(err.to_string()))?;
    let interpreter = interpreter(&program);
    walk.add_file(program);
    interpreter.into_iter().for_each(|it| walk.add_file(it));
    for arg in &spec.args {
        let path = spec.working_dir.join(arg);
        if !arg.is_empty() && fs::metadata(&path).is_ok_and(|it| it.is_file()) {
            walk.add_file(path);
        }
    }
    walk.add_file(spec.working_dir.clone());
    for path in spec.ready.iter().flat_map(|it| &it.watched) {
        walk.add_all(path.clone(), 0)?;
    }
    Ok(walk.files)
}

struct Walk {
    files: StartFiles,
    seen: HashSet<PathBuf>,
}

impl Walk {
    fn add_file(&mut self, path: PathBuf) {
        if !self.seen.insert(path.clone()) {
            return;
        }
        let meta = fs::metadata(&path).ok();
        if let Some(meta) = meta.as_ref().filter(|it| !it.is_dir()) {
            // The later of the two: the time of the content can be set, that of the inode cannot.
            let (seconds, nanoseconds) = (meta.mtime(), meta.mtime_nsec());
            let (seconds, nanoseconds) =
                (seconds, nanoseconds).max((meta.ctime(), meta.ctime_nsec()));
            let seconds = u64::try_from(seconds).unwrap_or(0);
            let changed = Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0));
            self.files.changed_at(UNIX_EPOCH + changed);
        }
        self.files.add(path, meta.as_ref().map(state));
    }

    /// Adds a file, or a directory with what is in it, in the order of their names.
    fn add_all(&mut self, path: PathBuf, depth: usize) -> Result<(), ColdStart> {
        self.add_file(path.clone());
        if self.files.len() > MAX_FILES || depth > MAX_DEPTH {
            return Err(ColdStart::TooManyFiles);
        }
        if !fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            return Ok(());
        }
        let room = MAX_FILES - self.files.len();
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|it| it.path()).take(room + 1).collect();
        entries.sort_unstable();
        entries.into_iter().try_for_each(|it| self.add_all(it, depth + 1))
    }
}

/// What differs once a file may be another one.
fn state(meta: &Metadata) -> Vec<u8> {
    let mut res = Vec::with_capacity(64);
    let mut add = |it: u64| res.extend_from_slice(&it.to_le_bytes());
    [meta.dev(), meta.ino(), meta.mode().into()].into_iter().for_each(&mut add);
    if !meta.is_dir() {
        add(meta.size());
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        times.into_iter().for_each(|it| add(it.cast_unsigned()));
    }
    res
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt as _, symlink},
        path::Path,
    };

    use super::*;
    use crate::Ready;

    /// A plugin of a script with a file beside it, and a spec that runs the script.
    fn place() -> (tempfile::TempDir, Spec) {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        for (path, text) in [("plugin/run", "#!/bin/sh\n"), ("plugin/lib/a", "1"), ("arg", "1")] {
            fs::create_dir_all(root.join(path).parent().expect("it has one")).expect("it is ours");
            fs::write(root.join(path), text).expect("it is ours");
        }
        let run = root.join("plugin/run");
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let spec = Spec::new("run")
            .args(["../arg", "no file"])
            .env_var("PATH", format!("{0}/first:{0}/plugin", root.display()))
            .working_dir(root.join("plugin"))
            .ready(Ready::new().watch(root.join("plugin")));
        (dir, spec)
    }

    /// Checks that a change of this kind shows in this file, or not at all.
    #[track_caller]
    fn check(change: impl FnOnce(&Path), expect: Option<&str>) {
        let (dir, spec) = place();
        let before = start_files(&spec).expect("it is there");
        assert_eq!(before, start_files(&spec).expect("it is there"), "nothing has changed");
        change(dir.path());
        let after = start_files(&spec).expect("it is there");
        let expect = expect.map(|it| dir.path().join(it));
        assert_eq!(before.difference(&after), expect.as_deref());
    }

    #[test]
    fn a_change_of_what_a_start_reads_is_seen() {
        let write =
            |path: &'static str| move |it: &Path| fs::write(it.join(path), "22").expect("ours");
        check(|_| {}, None);
        check(write("plugin/run"), Some("plugin/run"));
        check(write("plugin/lib/a"), Some("plugin/lib/a"));
        check(write("plugin/lib/b"), Some("plugin/lib/b"));
        check(write("arg"), Some("plugin/../arg"));
        check(write("elsewhere"), None);
        check(|it| fs::remove_file(it.join("plugin/lib/a")).expect("ours"), Some("plugin/lib/a"));
        check(
            |it| {
                fs::rename(it.join("plugin"), it.join("old")).expect("ours");
                fs::create_dir(it.join("plugin")).expect("ours");
                fs::rename(it.join("old/run"), it.join("plugin/run")).expect("ours");
                fs::rename(it.join("old/lib"), it.join("plugin/lib")).expect("ours");
            },
            Some("plugin/run"),
        );
    }

    #[test]
    fn a_program_that_the_path_finds_first_is_seen() {
        check(
            |it| {
                fs::create_dir(it.join("first")).expect("ours");
                fs::copy(it.join("plugin/run"), it.join("first/run")).expect("ours");
            },
            Some("first/run"),
        );
    }

    #[test]
    fn what_comes_and_goes_is_no_change() {
        check(
            |it| {
                fs::write(it.join("plugin/temporary"), "1").expect("ours");
                fs::remove_file(it.join("plugin/temporary")).expect("ours");
            },
            None,
        );
    }

    #[test]
    fn too_many_files_are_refused() {
        let (dir, spec) = place();
        for n in 0..MAX_FILES {
            fs::write(dir.path().join(format!("plugin/{n}")), "").expect("ours");
        }
        assert_eq!(start_files(&spec), Err(ColdStart::TooManyFiles));
    }

    #[test]
    fn a_link_to_a_directory_above_is_not_followed() {
        check(|it| symlink(it, it.join("plugin/lib/loop")).expect("ours"), Some("plugin/lib/loop"));
    }

    #[test]
    fn directories_have_a_bound_on_depth() {
        let (dir, spec) = place();
        let mut deep = dir.path().join("plugin");
        (0..=MAX_DEPTH).for_each(|_| deep.push("d"));
        fs::create_dir_all(deep).expect("ours");
        assert_eq!(start_files(&spec), Err(ColdStart::TooManyFiles));
    }
}
