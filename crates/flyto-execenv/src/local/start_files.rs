//! The files that the start of a program on this machine reads, and whether they have changed since.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};

use super::{
    argument::{Part, parts},
    resolve::{self, Script, is_binary, is_executable, script},
};
use crate::{ColdStart, MAX_START_DEPTH, MAX_START_FILES, Spec, StartFiles};

/// The files that a start of `spec` on this machine would read, as the system describes them now (stat(2)).
///
/// These are the program, as its `PATH` finds it, and the interpreter of its `#!` line, also one that env(1) finds; each argument
/// that is the path of a file or, with everything in it, of a directory, also behind a `=`, between `:`, behind an option or an `@`, and
/// as the directory of a pattern (`lib/*`); each word of a longer argument that is the path of a file and has a slash or a dot
/// in it; the working directory; and what [`Ready`](crate::Ready) names, with everything in a directory. What lies in `/dev`, `/proc` and
/// `/sys` is no code. Of a directory it counts which one it is and what lies in it, of a file also its size and the times of its
/// last changes. The objects of a Git repository are left out: they have their content for a name. Links are followed, to directories
/// as well; each directory is looked into once. What a program loads from elsewhere, such as libraries of its interpreter, is not
/// looked at.
///
/// # Errors
///
/// [`ColdStart::TooManyFiles`] for more than [`MAX_START_FILES`], or [`MAX_START_DEPTH`] directories within each other, and
/// [`ColdStart::NotStarted`] where there is no such program, or a directory cannot be looked into.
pub fn start_files(spec: &Spec) -> Result<StartFiles, ColdStart> {
    let mut walk = Walk::default();
    let name = spec.program.as_os_str();
    let is_path = name.as_bytes().contains(&b'/');
    if !is_path {
        walk.look_up(spec, name);
    }
    let program = resolve::resolve_program(spec);
    let program = program.map_err(|err| ColdStart::not_started(&err))?;
    let mut beside = Vec::new();
    let is_script = script(&program).is_some();
    if is_path && is_script {
        beside.extend(program.parent().map(Path::to_owned));
    }
    let mut linked = Vec::new();
    if is_script {
        linked.extend(beside_target(&program));
    }
    if program.file_name() == Some(OsStr::new("env")) {
        let mut words = spec.args.iter().map(|it| it.as_bytes());
        let word = words.find(|it| !it.starts_with(b"-") && !it.contains(&b'='));
        if let Some(found) = word.and_then(|it| walk.look_up(spec, OsStr::from_bytes(it))) {
            walk.add_program(spec, found);
        }
    }
    walk.add_program(spec, program);
    let mut directories = Vec::new();
    let parts = spec.args.iter().flat_map(|it| parts(it));
    // A directory is one where an argument names it, whatever words there are.
    let (wholes, words): (Vec<_>, Vec<_>) = parts.partition(|it| matches!(it, Part::Whole(_)));
    for part in wholes.into_iter().chain(words) {
        let Some((path, kind)) = walk.look_at(spec, part)? else { continue };
        match (kind, part) {
            (FileType::RegularFile, _) => {
                // What a binary program loads is not looked for where it lies.
                if spec.ready.is_some() && !is_binary(&path) {
                    beside.extend(path.parent().map(Path::to_owned));
                    linked.extend(beside_target(&path));
                }
                walk.add_file(path);
            }
            (FileType::Directory, Part::Whole(_)) => directories.push(path),
            _ => {}
        }
    }
    walk.add_file(spec.working_dir.clone());
    let Some(ready) = &spec.ready else { return Ok(walk.files) };
    let beside = beside.iter().filter(|_| ready.beside_arguments);
    // Those that are watched for a file are watched where it lies.
    let is_watched = ready.beside_arguments || !ready.watched.is_empty();
    let linked = linked.iter().filter(|_| is_watched);
    for path in ready.watched.iter().chain(&directories).chain(beside).chain(linked) {
        walk.add_all(CWD, path.as_os_str(), path, 0)?;
    }
    Ok(walk.files)
}

/// The directory that an interpreter takes for that of a script: of a link, the one of the file that it leads to. `None` where the
/// path holds no link behind its directory.
fn beside_target(script: &Path) -> Option<PathBuf> {
    let is_link = script.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let target = is_link.then(|| script.canonicalize().ok()).flatten()?;
    target.parent().map(Path::to_owned)
}

/// How many interpreters of interpreters the kernel follows (execve(2)).
const MAX_INTERPRETERS: usize = 5;

/// Where the kernel shows devices and what it knows.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

#[derive(Default)]
struct Walk {
    files: StartFiles,
    seen: HashSet<PathBuf>,
    /// What parts of arguments may name.
    named: HashSet<PathBuf>,
    /// The directories that were looked into, by device and inode: links can lead to one again.
    directories: HashSet<(u64, u64)>,
}

impl Walk {
    /// What a part of an argument names, where that is there and was not named before.
    ///
    /// # Errors
    ///
    /// There are too many parts to look at.
    fn look_at(
        &mut self,
        spec: &Spec,
        part: Part<'_>,
    ) -> Result<Option<(PathBuf, FileType)>, ColdStart> {
        let (Part::Whole(name) | Part::Word(name)) = part;
        let path = spec.working_dir.join(name);
        if KERNEL.iter().any(|it| path.starts_with(it)) || self.named.contains(&path) {
            return Ok(None);
        }
        if self.named.len() == MAX_START_FILES {
            return Err(ColdStart::TooManyFiles);
        }
        self.named.insert(path.clone());
        let found = statat(CWD, &path, AtFlags::empty()).ok();
        Ok(found.map(|it| (path, kind(&it))))
    }

    fn add_file(&mut self, path: PathBuf) {
        if self.seen.insert(path.clone()) {
            let stat = statat(CWD, &path, AtFlags::empty()).ok();
            let state = stat.map(|it| self.state(&[it]));
            self.files.add(path, state);
        }
    }

    /// Adds a program and the interpreters of its `#!` line.
    fn add_program(&mut self, spec: &Spec, program: PathBuf) {
        let mut next = Some(program);
        for _ in 0..=MAX_INTERPRETERS {
            let Some(program) = next.take() else { return };
            next = match script(&program) {
                Some(Script::Interpreter(it)) => Some(spec.working_dir.join(it)),
                Some(Script::LookedUp(env, name)) => {
                    self.add_file(env);
                    self.look_up(spec, &name)
                }
                None => None,
            };
            self.add_file(program);
        }
    }

    /// Adds the files that would be found in place of the program of this name if they were there, and gives that.
    fn look_up(&mut self, spec: &Spec, name: &OsStr) -> Option<PathBuf> {
        for candidate in resolve::candidates(spec, spec.env.get("PATH")?, name) {
            if is_executable(&candidate) {
                return Some(candidate);
            }
            self.add_file(candidate);
        }
        None
    }

    /// Adds a file, or a directory with what is in it, in the order of their names. `name` leads to it from `at`.
    fn add_all(
        &mut self,
        at: impl AsFd,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> Result<(), ColdStart> {
        let found = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let is_link = found.as_ref().is_some_and(|it| kind(it) == FileType::Symlink);
        let target = if is_link { statat(&at, name, AtFlags::empty()).ok() } else { found };
        let states: Vec<_> = found.filter(|_| is_link).into_iter().chain(target).collect();
        let state = found.map(|_| self.state(&states));
        self.files.add_watched(path, state);
        if self.files.len() > MAX_START_FILES || depth > MAX_START_DEPTH {
            return Err(ColdStart::TooManyFiles);
        }
        if target.is_none_or(|it| kind(&it) != FileType::Directory) {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat(at, name, flags, Mode::empty());
        let holds_objects = path.file_name() == Some(OsStr::new(".git"));
        match opened.and_then(|it| self.names_in(it)) {
            Ok(Some((dir, names))) => names.into_iter().try_for_each(|name| {
                // Git names an object by its content: another one shows in what refers to it (gitrepository-layout(5)).
                if holds_objects && name == "objects" {
                    return Ok(());
                }
                let path = path.join(&name);
                self.add_all(&dir, &name, &path, depth + 1)
            }),
            // It has gone meanwhile.
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(err) => Err(ColdStart::NotStarted(format!("{path:?} cannot be read: {err}"))),
        }
    }

    /// The names in a directory; `None` where it was looked into before.
    fn names_in(&mut self, dir: OwnedFd) -> Result<Option<(OwnedFd, Vec<OsString>)>, Errno> {
        if !self.directories.insert(identity(&fstat(&dir)?)) {
            return Ok(None);
        }
        let is_entry = |it: &[u8]| it != b"." && it != b"..";
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if is_entry(name) {
                names.push(OsString::from_vec(name.to_owned()));
            }
            if self.files.len() + names.len() > MAX_START_FILES {
                break;
            }
        }
        names.sort_unstable();
        Ok(Some((dir, names)))
    }

    /// What differs once a file may be another one; of a link, of it and of where it leads.
    fn state(&mut self, stats: &[Stat]) -> Vec<u8> {
        let mut res = Vec::with_capacity(stats.len() * 64);
        for stat in stats {
            let mut add = |it: u64| res.extend_from_slice(&it.to_le_bytes());
            let (device, inode) = identity(stat);
            [device, inode, stat.st_mode.into()].into_iter().for_each(&mut add);
            if kind(stat) == FileType::Directory {
                continue;
            }
            let [modified, changed] = times(stat);
            add(stat.st_size.cast_unsigned());
            [modified.0, modified.1, changed.0, changed.1].into_iter().for_each(add);
            // That of the inode moves with each change; the time of the content can be set, also to a time to come.
            let (seconds, nanoseconds) = changed;
            let age = Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0));
            self.files.changed_at(UNIX_EPOCH + age);
        }
        res
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[allow(clippy::unnecessary_cast, reason = "`st_dev` is an `i32` on macOS")]
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// When the content and when the inode changed last: seconds, none before 1970, and nanoseconds.
#[allow(clippy::unnecessary_cast, reason = "they have a sign or none, as the system has it")]
fn times(stat: &Stat) -> [(u64, u64); 2] {
    let time = |seconds: i64, nanoseconds: u64| (u64::try_from(seconds).unwrap_or(0), nanoseconds);
    [
        time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    ]
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
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
    fn an_interpreter_that_env_finds_is_seen() {
        let make = |path: &Path, text: &str| {
            fs::write(path, text).expect("ours");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
        };
        let (dir, spec) = place();
        let root = dir.path();
        fs::create_dir(root.join("bin")).expect("ours");
        make(&root.join("bin/inner"), "#!/bin/sh\n");
        make(&root.join("bin/outer"), &format!("#!{}\n", root.join("bin/inner").display()));
        make(&root.join("plugin/run"), "#!/usr/bin/env -S X=1 outer -u\n");
        let path = format!("{0}/first:{0}/plugin:{0}/bin", root.display());
        let spec = spec.env_var("PATH", path).ready(Ready::new());
        let by_env = Spec { args: vec!["outer".into()], ..spec.clone() };
        let by_env = Spec { program: "/usr/bin/env".into(), ..by_env };
        let before = [&spec, &by_env].map(|it| start_files(it).expect("it is there"));
        let named = |expect: &str| {
            let after = [&spec, &by_env].map(|it| start_files(it).expect("it is there"));
            for (before, after) in before.iter().zip(&after) {
                assert_eq!(before.difference(after), Some(&*root.join(expect)));
            }
        };
        make(&root.join("bin/inner"), "#!/bin/sh -e\n");
        named("bin/inner");
        make(&root.join("bin/outer"), "#!/bin/sh -e\n");
        named("bin/outer");
        fs::create_dir(root.join("first")).expect("ours");
        make(&root.join("first/outer"), "#!/bin/sh\n");
        named("first/outer");
    }

    #[test]
    fn what_lies_beside_arguments_is_seen_on_demand() {
        for (program, args, is_asked) in
            [("/bin/sh", &["run"][..], true), ("./run", &[], true), ("/bin/sh", &["run"], false)]
        {
            let (dir, spec) = place();
            let ready = Ready::new();
            let ready = if is_asked { ready.watch_beside_arguments() } else { ready };
            let spec = Spec { program: program.into(), ..spec.ready(ready) };
            let spec = Spec { args: args.iter().map(Into::into).collect(), ..spec };
            let before = start_files(&spec).expect("it is there");
            fs::write(dir.path().join("plugin/lib/a"), "22").expect("ours");
            let after = start_files(&spec).expect("it is there");
            assert_eq!(before.difference(&after).is_some(), is_asked, "{spec:?}");
        }
    }

    /// Checks that code is seen that arguments name, which stand before and behind the path of this file or directory of the plugin.
    #[track_caller]
    fn check_named(before: &str, name: &str, behind: &str, change: &str) {
        let (dir, spec) = place();
        let root = dir.path();
        fs::write(root.join("plugin/code.txt"), "1").expect("ours");
        let arg = format!("{before}{}{behind}", root.join("plugin").join(name).display());
        let spec = Spec { args: vec!["-x".into(), arg.into()], ..spec.ready(Ready::new()) };
        let before = start_files(&spec).expect("it is there");
        fs::write(root.join("plugin").join(change), "22").expect("ours");
        let after = start_files(&spec).expect("it is there");
        let found = before.difference(&after);
        assert_eq!(found, Some(&*root.join("plugin").join(change)), "{spec:?}");
    }

    #[test]
    fn code_that_an_argument_names_is_seen() {
        check_named("", "lib", "", "lib/a");
        check_named("", "lib", "", "lib/b");
        check_named("--file=", "code.txt", "", "code.txt");
        check_named("--path=/nowhere:", "lib", ":/nothing", "lib/a");
        check_named("", "lib", "/*:/nowhere", "lib/a");
        check_named("-I", "lib", "", "lib/a");
        check_named("@", "code.txt", "", "code.txt");
        check_named("exec sh '", "code.txt", "' </dev/null", "code.txt");
    }

    #[test]
    fn too_many_names_are_refused() {
        let (_dir, spec) = place();
        let names = |n: usize| (0..n).map(|it| format!("./{it} ")).collect::<String>();
        let spec = |n: usize| Spec { args: vec![names(n).into()], ..spec.clone() };
        assert!(start_files(&spec(MAX_START_FILES - 1)).is_ok());
        assert_eq!(start_files(&spec(MAX_START_FILES)), Err(ColdStart::TooManyFiles));
    }

    #[test]
    fn what_lies_beside_a_binary_program_is_not_looked_at() {
        let (dir, spec) = place();
        let shell = fs::canonicalize("/bin/sh").expect("there is one");
        fs::copy(shell, dir.path().join("plugin/shell")).expect("ours");
        let ready = Ready::new().watch_beside_arguments();
        let spec = Spec { args: vec!["shell".into()], ..spec.ready(ready) };
        let before = start_files(&spec).expect("it is there");
        fs::write(dir.path().join("plugin/lib/a"), "22").expect("ours");
        assert_eq!(before, start_files(&spec).expect("it is there"));
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
    fn the_objects_of_a_repository_are_left_out() {
        let (dir, spec) = place();
        let git = dir.path().join("plugin/.git");
        fs::create_dir_all(git.join("objects")).expect("ours");
        fs::create_dir_all(git.join("refs/objects")).expect("ours");
        let before = start_files(&spec).expect("it is there");
        for n in 0..MAX_START_FILES {
            fs::write(git.join("objects").join(n.to_string()), "").expect("ours");
        }
        assert_eq!(before, start_files(&spec).expect("it is there"));
        fs::write(git.join("refs/objects/branch"), "").expect("ours");
        let after = start_files(&spec).expect("it is there");
        assert_eq!(before.difference(&after), Some(&*git.join("refs/objects/branch")));
    }

    #[test]
    fn too_many_files_are_refused() {
        let (dir, spec) = place();
        for n in 0..MAX_START_FILES {
            fs::write(dir.path().join(format!("plugin/{n}")), "").expect("ours");
        }
        assert_eq!(start_files(&spec), Err(ColdStart::TooManyFiles));
    }

    /// Like [`check`] with links: the watched directory is one, and one in it leads to a directory beside it.
    #[track_caller]
    fn check_linked(change: impl FnOnce(&Path), expect: Option<&str>) {
        let (dir, spec) = place();
        let root = dir.path();
        fs::create_dir_all(root.join("shared/deep")).expect("ours");
        fs::write(root.join("shared/deep/b"), "1").expect("ours");
        symlink("../shared", root.join("plugin/more")).expect("ours");
        symlink("plugin", root.join("link")).expect("ours");
        let spec = spec.ready(Ready::new().watch(root.join("link")));
        let before = start_files(&spec).expect("it is there");
        assert_eq!(before, start_files(&spec).expect("it is there"), "nothing has changed");
        change(root);
        let after = start_files(&spec).expect("it is there");
        assert_eq!(before.difference(&after), expect.map(|it| root.join(it)).as_deref());
    }

    #[test]
    fn what_links_lead_to_is_looked_into() {
        let write =
            |path: &'static str| move |it: &Path| fs::write(it.join(path), "22").expect("ours");
        check_linked(|_| {}, None);
        check_linked(write("plugin/lib/a"), Some("link/lib/a"));
        check_linked(write("shared/deep/b"), Some("link/more/deep/b"));
        check_linked(write("shared/deep/c"), Some("link/more/deep/c"));
        check_linked(write("elsewhere"), None);
        check_linked(
            |it| {
                fs::remove_file(it.join("link")).expect("ours");
                symlink("./plugin", it.join("link")).expect("ours");
            },
            Some("link"),
        );
    }

    #[test]
    fn what_lies_beside_the_target_of_a_script_is_seen() {
        let (dir, spec) = place();
        let root = dir.path();
        fs::create_dir(root.join("real")).expect("ours");
        fs::write(root.join("real/tool"), "#!/bin/sh\n").expect("ours");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(root.join("real/tool"), mode).expect("ours");
        symlink("../real/tool", root.join("plugin/linked")).expect("ours");
        let (program, argument) = (spec.clone(), spec);
        let mut program = program.ready(Ready::new().watch(root.join("plugin")));
        program.program = crate::Program::from(root.join("plugin/linked"));
        let mut argument = argument.ready(Ready::new().watch_beside_arguments());
        argument.args = vec!["linked".into()];
        for spec in [program, argument] {
            let before = start_files(&spec).expect("it is there");
            fs::write(root.join("real/module"), "1").expect("ours");
            let after = start_files(&spec).expect("it is there");
            assert_eq!(before.difference(&after), Some(&*root.join("real/module")));
            fs::remove_file(root.join("real/module")).expect("ours");
        }
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        check(|it| symlink(it, it.join("plugin/lib/loop")).expect("ours"), Some("plugin/lib/loop"));
        check(
            |it| symlink("itself", it.join("plugin/itself")).expect("ours"),
            Some("plugin/itself"),
        );
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_told() {
        let (dir, spec) = place();
        let lib = dir.path().join("plugin/lib");
        fs::set_permissions(&lib, fs::Permissions::from_mode(0o000)).expect("ours");
        // Root reads it all the same.
        if fs::read_dir(&lib).is_err() {
            assert!(matches!(start_files(&spec), Err(ColdStart::NotStarted(_))));
        }
        fs::set_permissions(&lib, fs::Permissions::from_mode(0o700)).expect("ours");
    }

    #[test]
    fn directories_have_a_bound_on_depth() {
        let (dir, spec) = place();
        let mut deep = dir.path().join("plugin");
        (0..=MAX_START_DEPTH).for_each(|_| deep.push("d"));
        fs::create_dir_all(deep).expect("ours");
        assert_eq!(start_files(&spec), Err(ColdStart::TooManyFiles));
    }
}
