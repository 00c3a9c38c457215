//! Finding what a program was installed with.
//!
//! A program that may read only what was granted needs its interpreter, and the libraries beside
//! it. This module finds them from the file of the program: links are followed, a `#!` line leads
//! to an interpreter, a `pyvenv.cfg` to the interpreter's own installation. What lies in the
//! operator's `PATH` or in a known installer's directory is trusted; what a confined program may
//! have written leads nowhere. Nothing is started.
//!
//! The work of one look is bounded: [`MAX_PROGRAMS`], [`MAX_LINKS`], and the first bytes of each
//! file.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::resolve::{Script, closed, look_up, resolve_program, script};
use crate::{Filesystem, INSTALLERS, InstallPlaces, Installed, Spec};

/// Programs that are remembered: 64, about as many as a host has tools in use.
const MAX_ENTRIES: usize = 64;

/// Links that are followed at most: the kernel's own limit (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// Programs that are looked at: a script, its interpreter, which may be a version manager's script, and the
/// interpreter of that.
const MAX_PROGRAMS: usize = 4;

/// Bytes of a `pyvenv.cfg` that are read: 4 KiB, ten times what is usual.
const MAX_SETTINGS_BYTES: u64 = 4096;

/// What programs were installed with, as of the last look at their files.
///
/// A call of a known program costs its look-up in `PATH` and one stat(2) for it and for its interpreter. A program
/// whose file is another one is looked at again; what is added beside a known one is not noticed.
///
/// The lock is held during a look, so that calls at the same time look once.
#[derive(Debug, Default)]
pub struct Installations(Mutex<Vec<Entry>>);

/// Valid for the same program, `PATH`, directory, grants, denied paths and places; the stamps tell
/// whether the files are the same.
#[derive(Debug)]
struct Entry {
    program: PathBuf,
    path: Option<OsString>,
    working_dir: PathBuf,
    filesystem: Filesystem,
    denied: Arc<[PathBuf]>,
    places: Arc<InstallPlaces>,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
    found: Installed,
}

/// A file: its device, its inode, the time of its last change of content and of its attributes.
///
/// Seconds and nanoseconds each.
type Stamp = (u64, u64, [(i64, i64); 2]);

/// Follows links. `None` where there is no file.
fn stamp(file: &Path) -> Option<Stamp> {
    let it = fs::metadata(file).ok()?;
    Some((it.dev(), it.ino(), [(it.mtime(), it.mtime_nsec()), (it.ctime(), it.ctime_nsec())]))
}

impl Installations {
    /// What the program of this spec was installed with; see
    /// [`Executor::installed`](crate::Executor::installed). Nothing where it is not found, or where the spec's
    /// isolation does not grant paths.
    pub fn find(&self, spec: &Spec, places: &Arc<InstallPlaces>) -> Installed {
        let Filesystem::Grants { .. } = spec.isolation.filesystem else {
            return Installed::default();
        };
        let Ok(program) = resolve_program(spec) else { return Installed::default() };
        let path = spec.env.get("PATH");
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().position(|it| {
            it.program == program
                && it.path.as_deref() == path
                && it.working_dir == spec.working_dir
                && it.filesystem == spec.isolation.filesystem
                && it.denied == spec.isolation.denied
                && it.places == *places
        });
        if let Some(known) = known {
            let entry = entries.remove(known);
            if entry.looked_at.iter().all(|(file, before)| stamp(file) == *before) {
                let found = entry.found.clone();
                entries.push(entry);
                return found;
            }
        }
        let mut look = Look { spec, places, res: Installed::default(), looked_at: Vec::new() };
        look.program(&program, Origin::Other, MAX_PROGRAMS);
        let Look { mut res, looked_at, .. } = look;
        let mut isolation = spec.isolation.clone();
        res.open(&mut isolation);
        res.closed = closed(&isolation, &program);
        if entries.len() == MAX_ENTRIES {
            entries.remove(0);
        }
        entries.push(Entry {
            program,
            path: path.map(OsStr::to_owned),
            working_dir: spec.working_dir.clone(),
            filesystem: spec.isolation.filesystem.clone(),
            denied: Arc::clone(&spec.isolation.denied),
            places: Arc::clone(places),
            looked_at,
            found: res.clone(),
        });
        res
    }
}

/// What led to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The operator's `PATH`, or a program that was found there.
    Operator,
    /// A manifest, or the program that it names.
    Other,
}

/// One look at what a program was installed with: what it may read so far, and how much work is left for it.
struct Look<'a> {
    spec: &'a Spec,
    places: &'a InstallPlaces,
    res: Installed,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

impl Look<'_> {
    /// Opens what this program and its interpreter were installed with; looks at `n_more` programs at most.
    fn program(&mut self, file: &Path, origin: Origin, n_more: usize) {
        let Some(n_more) = n_more.checked_sub(1) else { return };
        self.looked_at.push((file.to_owned(), stamp(file)));
        let in_path = file.parent().is_some_and(|it| self.places.is_in_path(it));
        let origin = if in_path { Origin::Operator } else { origin };
        let Some(real) = self.follow(file, origin) else { return };
        if !real.metadata().is_ok_and(|it| it.is_file()) {
            return;
        }
        if origin == Origin::Operator {
            self.open(&real);
        }
        if self.is_writable(&real) || !self.may_read(&real) {
            return;
        }
        match script(&real) {
            Some(Script::Interpreter(interpreter)) => {
                let interpreter = self.spec.working_dir.join(interpreter);
                if self.may_lead(&real, &interpreter) {
                    self.program(&interpreter, origin, n_more);
                }
            }
            Some(Script::LookedUp(env, name)) => {
                self.program(&env, origin, n_more);
                if let Some(found) = look_up(self.spec, &name) {
                    // Where it is found tells which side chose it.
                    self.program(&found, Origin::Other, n_more);
                }
            }
            None => {}
        }
    }

    /// The file without links. Opens the installation of each step; `None` where a link is not followed.
    fn follow(&mut self, file: &Path, origin: Origin) -> Option<PathBuf> {
        let mut next = file.to_owned();
        for _ in 0..MAX_LINKS {
            let dir = self.plain_dir(next.parent()?)?;
            let here = dir.join(next.file_name()?);
            self.installation(&dir, origin, MAX_PROGRAMS);
            if !here.symlink_metadata().ok()?.is_symlink() {
                return Some(here);
            }
            next = dir.join(here.read_link().ok()?);
            if !self.may_lead(&here, &next) {
                return None;
            }
        }
        None
    }

    /// The directory without links; `None` where a confined program can have made one, or it is not there.
    fn plain_dir(&self, dir: &Path) -> Option<PathBuf> {
        let mut here = PathBuf::new();
        let mut rest: Vec<OsString> = Vec::new();
        let push = |rest: &mut Vec<OsString>, path: &Path| {
            let steps = path.components().rev().filter(|it| *it != Component::CurDir);
            rest.extend(steps.map(|it| it.as_os_str().to_owned()));
        };
        push(&mut rest, dir);
        let mut n_links = 0;
        while let Some(step) = rest.pop() {
            if step == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&step);
            if !next.symlink_metadata().ok()?.is_symlink() {
                here = next;
                continue;
            }
            n_links += 1;
            let target = here.join(next.read_link().ok()?);
            let whole = rest.iter().rev().fold(target.clone(), |res, it| res.join(it));
            if n_links > MAX_LINKS || !self.may_lead(&next, &whole) {
                return None;
            }
            here = PathBuf::new();
            push(&mut rest, &target);
        }
        Some(here)
    }

    /// Opens the installation whose programs lie in this directory, which has no links in it.
    fn installation(&mut self, dir: &Path, origin: Origin, n_more: usize) {
        let Some(n_more) = n_more.checked_sub(1) else { return };
        if self.installer(dir) {
            return;
        }
        let (Some(name), Some(prefix)) = (dir.file_name(), dir.parent()) else { return };
        let is_shims = name == "shims";
        if !is_shims && !["bin", "sbin", "libexec"].iter().any(|it| name == *it) {
            return;
        }
        let has = |names: &[&str]| names.iter().any(|it| prefix.join(it).exists());
        let is_known =
            origin == Origin::Operator || self.installer_roots().any(|it| prefix.starts_with(it));
        let is_installation = has(SIGNS) || is_shims && has(&["versions", "installs"]);
        let has_denied = self.spec.isolation.denied.iter().any(|it| it.starts_with(prefix));
        if is_known && is_installation && !has_denied && !self.places.is_wide(prefix) {
            self.open(prefix);
        }
        let settings = prefix.join("pyvenv.cfg");
        if self.may_read(&settings) {
            let base = home_of(&settings).filter(|it| self.may_lead(&settings, it));
            if let Some(base) = base.and_then(|it| self.plain_dir(&it)) {
                self.installation(&base, origin, n_more);
            }
        }
    }

    /// Opens all of an installer in whose directory of shims the program lies.
    ///
    /// `false` where the directory is none of an installer's shims.
    fn installer(&mut self, dir: &Path) -> bool {
        for it in INSTALLERS {
            let Some(shims) = it.shims.filter(|it| dir.ends_with(it)) else { continue };
            let roots = self.places.places(it.root);
            let root = roots.filter_map(|it| self.plain_dir(&it)).find(|it| it.join(shims) == dir);
            let Some(root) = root.filter(|it| !self.places.is_wide(it)) else { continue };
            self.open(&root);
            let places = self.places;
            for more in it.needs.iter().flat_map(|it| places.places(*it)) {
                if let Some(more) = self.plain_dir(&more).filter(|it| !self.places.is_wide(it)) {
                    self.open(&more);
                }
            }
            return true;
        }
        false
    }

    /// The directories of installers without links, where they are there.
    fn installer_roots(&self) -> impl Iterator<Item = PathBuf> {
        let all = INSTALLERS.iter().flat_map(|it| self.places.places(it.root));
        all.filter_map(|it| self.plain_dir(&it)).filter(|it| !self.places.is_wide(it))
    }

    /// A path that is opened covers those below it, which are taken off the list.
    fn open(&mut self, path: &Path) {
        if !self.may_read(path) && !self.spec.isolation.is_denied(path) {
            self.res.opened.retain(|it| !it.starts_with(path));
            self.res.opened.push(path.to_owned());
        }
    }

    /// Whether the program may read a path already, by its spec or by what this look has opened.
    fn may_read(&self, path: &Path) -> bool {
        self.spec.isolation.may_read(path)
            || self.res.opened.iter().any(|it| path.starts_with(it))
                && !self.spec.isolation.is_denied(path)
    }

    /// Whether a link, a `#!` line or a `pyvenv.cfg` at a path may lead to another one. A confined program can have made
    /// any that lies in a project, in this call or before: that may lead to what can be read anyway, and to known
    /// installations.
    fn may_lead(&self, from: &Path, to: &Path) -> bool {
        if self.is_writable(from) {
            return false;
        }
        if self.places.is_vouched_for(from) {
            return true;
        }
        let Some(to) = without_parents(to) else { return false };
        let mut roots = INSTALLERS.iter().flat_map(|it| self.places.places(it.root));
        self.may_read(&to) || roots.any(|it| to.starts_with(&it) && !self.is_writable(&it))
    }

    /// Whether a confined program may change what is at this path: that of this call, or of another one.
    fn is_writable(&self, path: &Path) -> bool {
        let write: &[PathBuf] = match &self.spec.isolation.filesystem {
            Filesystem::Grants { write, .. } => write,
            Filesystem::Host => &[],
        };
        write.iter().any(|it| path.starts_with(it)) || self.places.is_writable(path)
    }
}

/// An absolute path without `..`; `None` where that is not where the system goes, as behind a link.
fn without_parents(path: &Path) -> Option<PathBuf> {
    let mut res = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if res.symlink_metadata().is_ok_and(|it| it.is_symlink()) => {
                return None;
            }
            Component::ParentDir => drop(res.pop()),
            part => res.push(part),
        }
    }
    Some(res)
}

/// What an installation has beside the directory of its programs.
const SIGNS: &[&str] = &["lib", "lib64", "libexec", "share", "include", "pyvenv.cfg", "conda-meta"];

/// The directory with the interpreter that a virtual environment was made from
/// (<https://docs.python.org/3/library/venv.html>).
fn home_of(settings: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    File::open(settings).ok()?.take(MAX_SETTINGS_BYTES).read_to_string(&mut text).ok()?;
    let home = text.lines().filter_map(|it| it.split_once('=')).find(|it| it.0.trim() == "home");
    home.map(|it| PathBuf::from(it.1.trim())).filter(|it| it.is_absolute())
}

#[cfg(test)]
mod tests;
