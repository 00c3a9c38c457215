//! Finding what a program was installed with.

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
#[derive(Debug, Default)]
pub struct Installations(Mutex<Vec<Entry>>);

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
type Stamp = (u64, u64, [(i64, i64); 2]);

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
        if origin == Origin::Operator {
            self.open(&real);
        }
        if self.is_writable(&real) || !self.may_read(&real) {
            return;
        }
        match script(&real) {
            Some(Script::Interpreter(interpreter)) => {
                self.program(&self.spec.working_dir.join(interpreter), origin, n_more);
            }
            Some(Script::LookedUp(env, name)) => {
                self.program(&env, origin, n_more);
                if let Some(found) = look_up(self.spec, &name) {
                    // Where it is found tells who chose it.
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
            if self.is_writable(&here) {
                return None;
            }
            next = dir.join(here.read_link().ok()?);
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
            if n_links > MAX_LINKS || self.is_writable(&next) {
                return None;
            }
            push(&mut rest, &next.read_link().ok()?);
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
        let is_known = origin == Origin::Operator
            || has(&["conda-meta"])
            || self.installer_roots().any(|it| prefix.starts_with(it));
        let is_installation = has(SIGNS) || is_shims && has(&["versions", "installs"]);
        let has_denied = self.spec.isolation.denied.iter().any(|it| it.starts_with(prefix));
        if is_known && is_installation && !has_denied && !self.places.is_wide(prefix) {
            self.open(prefix);
        }
        let settings = prefix.join("pyvenv.cfg");
        if self.may_read(&settings) && !self.is_writable(&settings) {
            let base = home_of(&settings).and_then(|it| self.plain_dir(&it));
            if let Some(base) = base {
                self.installation(&base, origin, n_more);
            }
        }
    }

    /// Opens all of an installer in whose directory of shims the program lies.
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

    fn open(&mut self, path: &Path) {
        if !self.may_read(path) && !self.spec.isolation.is_denied(path) {
            self.res.opened.retain(|it| !it.starts_with(path));
            self.res.opened.push(path.to_owned());
        }
    }

    fn may_read(&self, path: &Path) -> bool {
        self.spec.isolation.may_read(path)
            || self.res.opened.iter().any(|it| path.starts_with(it))
                && !self.spec.isolation.is_denied(path)
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
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::Environment;

    /// A directory without links above it, with a home directory and programs.
    struct Scene {
        _dir: tempfile::TempDir,
        root: PathBuf,
        /// What this call may write.
        write: Vec<PathBuf>,
        /// What another call may write.
        written: Vec<PathBuf>,
        has_home: bool,
        env: Environment,
        known: Installations,
    }

    impl Scene {
        /// Files with this text, which can be executed, and links to targets; `ROOT` is the directory of all.
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().expect("there is room");
            let root = dir.path().canonicalize().expect("it is there");
            let (known, env) = Default::default();
            let (write, written) = (Vec::new(), Vec::new());
            let res = Self { _dir: dir, root, write, written, has_home: true, env, known };
            files.iter().for_each(|(path, text)| res.put(path, text));
            res
        }

        fn put(&self, path: &str, text: &str) {
            let (path, text) = (self.root.join(path), self.filled(text));
            fs::create_dir_all(path.parent().expect("it is below")).expect("it is ours");
            let _ = fs::remove_file(&path);
            if let Some(target) = text.strip_prefix("-> ") {
                return symlink(target, path).expect("it is ours");
            }
            fs::write(&path, text).expect("it is ours");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }

        fn filled(&self, text: &str) -> String {
            text.replace("ROOT", &self.root.display().to_string())
        }

        fn write(mut self, path: &str) -> Self {
            self.write.push(self.root.join(path));
            self
        }

        /// What is opened for a program where `PATH` is this, as paths below the root.
        fn find(&self, path: &str, program: &str) -> Installed {
            let mut env = self.env.clone();
            env.set("PATH", self.filled(path));
            let home = self.root.join("home");
            let mut places = InstallPlaces::new(&env);
            if self.has_home {
                places = places.home(&home);
            }
            let places = self.written.iter().fold(places, |res, it| res.writable(it));
            let read = ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from);
            let read = read.into_iter().chain([self.root.join("plugin")]).collect();
            let isolation = crate::Isolation::new()
                .filesystem(Filesystem::Grants { read, write: self.write.clone().into() })
                .deny(home.join(".ssh"))
                .deny(home.join(".cargo/credentials.toml"))
                .deny(home.join(".local/share/keyrings"))
                .deny(home.join("tools/secret"));
            let spec = Spec::new(self.filled(program)).env(env).isolation(isolation);
            self.known.find(&spec.working_dir(self.root.join("plugin")), &Arc::new(places))
        }

        #[track_caller]
        fn check(&self, path: &str, program: &str, opened: &[&str]) {
            let found = self.find(path, program);
            let expect: Vec<_> = opened.iter().map(|it| self.root.join(it)).collect();
            assert_eq!((found.opened, found.closed), (expect, None), "{program} in {path}");
        }

        /// The program stays closed, and this is why.
        #[track_caller]
        fn is_closed(&self, path: &str, program: &str, closed: &str) {
            let found = self.find(path, program);
            assert_eq!((found.opened, found.closed), (Vec::new(), Some(self.root.join(closed))));
        }
    }

    const SHELL: &str = "#!/bin/sh\n";

    #[test]
    fn a_program_of_the_system_opens_nothing() {
        let scene = Scene::new(&[("plugin/run", SHELL), ("plugin/env", "#!/usr/bin/env sh\n")]);
        scene.check("/usr/bin:/bin", "sh", &[]);
        scene.check("/usr/bin:/bin", "./run", &[]);
        scene.check("/usr/bin:/bin", "./env", &[]);
    }

    #[test]
    fn shims_open_what_they_look_into() {
        let scene = Scene::new(&[
            ("home/.pyenv/shims/python3", "#!/usr/bin/env sh\n"),
            ("home/.pyenv/versions/3.12/bin/python3", SHELL),
            ("home/.asdf/shims/node", SHELL),
            ("home/.tool-versions", ""),
            ("plugin/run", "#!/usr/bin/env python3\n"),
        ]);
        scene.check("ROOT/home/.pyenv/shims:/usr/bin", "python3", &["home/.pyenv"]);
        // Also for the script of a plugin, which says nothing of where the interpreter lies.
        scene.check("ROOT/home/.pyenv/shims:/usr/bin", "./run", &["home/.pyenv"]);
        scene.check(
            "ROOT/home/.asdf/shims:/usr/bin",
            "node",
            &["home/.asdf", "home/.tool-versions"],
        );
    }

    #[test]
    fn an_installer_is_found_where_its_variable_moves_it() {
        let mut scene = Scene::new(&[
            ("data/cargo/bin/rustup", SHELL),
            ("data/cargo/bin/cargo", "-> rustup"),
            ("data/rustup/settings.toml", ""),
        ]);
        scene.is_closed("/bin", "ROOT/data/cargo/bin/cargo", "data/cargo/bin/rustup");
        scene.env.set("CARGO_HOME", scene.filled("ROOT/data/cargo"));
        scene.env.set("RUSTUP_HOME", scene.filled("ROOT/data/rustup"));
        scene.check("/bin", "ROOT/data/cargo/bin/cargo", &["data/cargo", "data/rustup"]);
    }

    #[test]
    fn a_proxy_of_rustup_opens_its_toolchains() {
        let scene = Scene::new(&[
            ("home/.cargo/bin/rustup", SHELL),
            ("home/.cargo/bin/cargo", "-> rustup"),
            ("home/.cargo/credentials.toml", "secret"),
            ("home/.rustup/toolchains/x/lib/std", ""),
            ("home/.rustup/toolchains/x/bin/rustc", SHELL),
        ]);
        scene.check("ROOT/home/.cargo/bin", "cargo", &["home/.cargo", "home/.rustup"]);
        scene.check(
            "/bin",
            "ROOT/home/.rustup/toolchains/x/bin/rustc",
            &["home/.rustup/toolchains/x"],
        );
    }

    #[test]
    fn an_installation_is_opened_as_a_whole() {
        let node = "home/.nvm/versions/node/v22";
        let scene = Scene::new(&[
            (&format!("{node}/bin/node"), SHELL),
            (&format!("{node}/lib/node_modules/npm/bin/npm-cli.js"), "#!/usr/bin/env node\n"),
            (&format!("{node}/bin/npm"), "-> ../lib/node_modules/npm/bin/npm-cli.js"),
            ("home/.nvm/current", "-> versions/node/v22"),
            ("home/conda/conda-meta/history", ""),
            ("home/conda/bin/python", SHELL),
        ]);
        scene.check(&format!("ROOT/{node}/bin:/bin"), "node", &[node]);
        scene.check(&format!("ROOT/{node}/bin:/usr/bin"), "npm", &[node]);
        scene.check("ROOT/home/.nvm/current/bin:/usr/bin", "npm", &[node]);
        scene.check("ROOT/home/conda/bin:/bin", "python", &["home/conda"]);
        scene.check("/bin", "ROOT/home/conda/bin/python", &["home/conda"]);
    }

    #[test]
    fn a_virtual_environment_opens_what_it_was_made_from() {
        let uv = "home/.local/share/uv/python/cpython-3.12.4";
        let scene = Scene::new(&[
            (&format!("{uv}/bin/python3.12"), SHELL),
            (&format!("{uv}/lib/os.py"), ""),
            ("home/.local/lib/x", ""),
            ("home/.local/bin/python3.12", &format!("-> ROOT/{uv}/bin/python3.12")),
            ("home/env/pyvenv.cfg", &format!("version = 3.12\nhome = ROOT/{uv}/bin\n")),
            // As `python3 -m venv --copies` has it.
            ("home/env/bin/python", SHELL),
            ("plugin/.venv/pyvenv.cfg", &format!("home=ROOT/{uv}/bin\n")),
            ("plugin/.venv/bin/python", &format!("-> ROOT/{uv}/bin/python3.12")),
        ]);
        scene.check("ROOT/home/env/bin:/bin", "python", &["home/env", uv]);
        // One of the plugin's own, which lies where the plugin can be read.
        scene.check("/bin", ".venv/bin/python", &[uv]);
        // `~/.local` has secrets in it.
        scene.check("ROOT/home/.local/bin", "python3.12", &[uv]);
    }

    #[test]
    fn directories_with_more_in_them_are_not_opened() {
        let mut scene = Scene::new(&[
            ("home/bin/tool", SHELL),
            ("home/lib/x", ""),
            ("bin/tool", SHELL),
            ("lib/x", ""),
            ("home/tools/bin/tool", SHELL),
            ("home/tools/lib/x", ""),
            ("home/other/bin/tool", SHELL),
            ("home/link/tool", "-> ../bin/tool"),
            ("data/bin/tool", SHELL),
            ("data/lib/x", ""),
        ]);
        // The home directory, one above it, and one with a secret.
        scene.check("ROOT/home/bin", "tool", &["home/bin/tool"]);
        scene.check("ROOT/home/link", "tool", &["home/bin/tool"]);
        scene.check("ROOT/bin", "tool", &["bin/tool"]);
        scene.check("ROOT/home/tools/bin", "tool", &["home/tools/bin/tool"]);
        // One that is no installation.
        scene.check("ROOT/home/other/bin", "tool", &["home/other/bin/tool"]);
        scene.check("ROOT/data/bin", "tool", &["data"]);
        scene.has_home = false;
        scene.check("ROOT/data/bin", "tool", &["data/bin/tool"]);
    }

    #[test]
    fn a_denied_program_stays_closed() {
        let scene = Scene::new(&[("home/.ssh/bin/tool", SHELL), ("home/.ssh/lib/x", "")]);
        scene.is_closed("ROOT/home/.ssh/bin", "tool", "home/.ssh/bin/tool");
    }

    #[test]
    fn a_path_of_a_plugins_choice_opens_no_directory_of_the_user() {
        let scene = Scene::new(&[
            ("home/private/bin/tool", SHELL),
            ("home/private/lib/x", ""),
            ("plugin/bin/tool", "-> ROOT/home/private/bin/tool"),
            ("plugin/run", "#!ROOT/home/private/bin/tool\n"),
            ("plugin/sub/pyvenv.cfg", "home = ROOT/home/private/bin\n"),
            ("plugin/sub/bin/python", SHELL),
        ]);
        let private = "home/private/bin/tool";
        scene.is_closed("/bin", "ROOT/home/private/bin/tool", private);
        scene.is_closed("/bin", "bin/tool", private);
        scene.is_closed("/bin", "./run", private);
        scene.check("/bin", "sub/bin/python", &[]);
        // The operator's choice does.
        scene.check("ROOT/home/private/bin", "tool", &["home/private"]);
    }

    #[test]
    fn what_a_confined_program_may_write_opens_nothing() {
        let files: &[(&str, &str)] = &[
            ("home/private/bin/tool", SHELL),
            ("home/private/lib/x", ""),
            ("shared/bin/tool", "-> ROOT/home/private/bin/tool"),
            ("shared/bin/script", "#!ROOT/home/private/bin/tool\n"),
            ("shared/bin/python", SHELL),
            ("shared/pyvenv.cfg", "home = ROOT/home/private/bin\n"),
            ("shared/dir", "-> ROOT/home/private/bin"),
        ];
        let private = "home/private/bin/tool";
        // Where nothing may be written, all of them are the operator's choice.
        let open = Scene::new(files);
        open.check("ROOT/shared/bin", "tool", &["shared", "home/private"]);
        open.check("ROOT/shared/bin", "script", &["shared", "home/private"]);
        open.check("ROOT/shared/bin", "python", &["shared", "home/private"]);
        open.check("ROOT/shared/dir", "tool", &["home/private"]);

        let scene = Scene::new(files).write("shared");
        scene.is_closed("ROOT/shared/bin", "tool", private);
        scene.is_closed("ROOT/shared/bin", "script", private);
        scene.check("ROOT/shared/bin", "python", &[]);
        // The name as it is found in `PATH` is the operator's, and leads through a link of the confined program.
        scene.is_closed("ROOT/shared/dir", "tool", private);

        let mut scene = Scene::new(files);
        scene.written = vec![scene.root.join("shared")];
        let found = scene.find("ROOT/shared/bin", "tool");
        assert_eq!(found.opened, [scene.root.join("shared")], "another call may write the link");
    }

    #[test]
    fn a_program_that_becomes_a_link_to_the_root_opens_nothing() {
        let scene = Scene::new(&[("shared/bin/tool", SHELL), ("shared/lib/x", "")]);
        scene.check("ROOT/shared/bin", "tool", &["shared"]);
        fs::remove_dir_all(scene.root.join("shared")).expect("it is ours");
        symlink("/", scene.root.join("shared")).expect("it is ours");
        for program in ["sh", "tool"] {
            assert_eq!(scene.find("ROOT/shared/bin", program).opened, Vec::<PathBuf>::new());
        }
    }

    #[test]
    fn a_known_program_is_looked_at_again_where_its_file_is_another_one() {
        let scene = Scene::new(&[("home/a/bin/tool", SHELL), ("home/a/lib/x", "")]);
        scene.put("home/b/bin/other", SHELL);
        scene.put("home/b/lib/x", "");
        scene.put("home/link/tool", "-> ROOT/home/a/bin/tool");
        for _ in 0..2 {
            scene.check("ROOT/home/link", "tool", &["home/a"]);
        }
        assert_eq!(scene.known.0.lock().expect("nothing panicked").len(), 1);
        scene.put("home/link/tool", "-> ROOT/home/b/bin/other");
        scene.check("ROOT/home/link", "tool", &["home/b"]);
        for n in 0..MAX_ENTRIES + 3 {
            scene.find(&format!("ROOT/home/link:/{n}"), "tool");
        }
        assert_eq!(scene.known.0.lock().expect("nothing panicked").len(), MAX_ENTRIES);
    }
}
