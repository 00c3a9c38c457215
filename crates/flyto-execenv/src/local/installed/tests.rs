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

    /// This is opened, whatever stays closed.
    #[track_caller]
    fn is_open_as(&self, path: &str, program: &str, opened: &[&str]) {
        let expect: Vec<_> = opened.iter().map(|it| self.root.join(it)).collect();
        assert_eq!(self.find(path, program).opened, expect, "{program} in {path}");
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
    scene.check("ROOT/home/.asdf/shims:/usr/bin", "node", &["home/.asdf", "home/.tool-versions"]);
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
    scene.check("/bin", "ROOT/home/.rustup/toolchains/x/bin/rustc", &["home/.rustup/toolchains/x"]);
}

#[test]
fn an_installation_is_opened_as_a_whole() {
    let node = "home/.nvm/versions/node/v22";
    let scene = Scene::new(&[
        (&format!("{node}/bin/node"), SHELL),
        (&format!("{node}/lib/node_modules/npm/bin/npm-cli.js"), "#!/usr/bin/env node\n"),
        (&format!("{node}/bin/npm"), "-> ../lib/node_modules/npm/bin/npm-cli.js"),
        ("home/.nvm/current", "-> versions/node/v22"),
        ("home/miniconda3/conda-meta/history", ""),
        ("home/miniconda3/bin/python", SHELL),
    ]);
    scene.check(&format!("ROOT/{node}/bin:/bin"), "node", &[node]);
    scene.check(&format!("ROOT/{node}/bin:/usr/bin"), "npm", &[node]);
    scene.check("ROOT/home/.nvm/current/bin:/usr/bin", "npm", &[node]);
    scene.check("ROOT/home/miniconda3/bin:/bin", "python", &["home/miniconda3"]);
    scene.check("/bin", "ROOT/home/miniconda3/bin/python", &["home/miniconda3"]);
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
        ("home/.local/bin/tool", "-> ../../bin/tool"),
        ("data/bin/tool", SHELL),
        ("data/lib/x", ""),
    ]);
    // The home directory, one above it, and one with a secret.
    scene.check("ROOT/home/bin", "tool", &["home/bin/tool"]);
    scene.check("ROOT/home/.local/bin", "tool", &["home/bin/tool"]);
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
    // Also where nothing may be written now: another call may have had that directory.
    let before = Scene::new(files);
    for (program, closed) in [("tool", Some(private)), ("script", Some(private)), ("python", None)]
    {
        let found = before.find("ROOT/shared/bin", program);
        let closed = closed.map(|it| before.root.join(it));
        assert_eq!(
            (found.opened, found.closed),
            (vec![before.root.join("shared")], closed),
            "{program}"
        );
    }
    before.is_closed("ROOT/shared/dir", "tool", private);
    // In the operator's own directory of programs, which is never one to work in, it is the operator's choice.
    before.put("home/bin/tool", "-> ROOT/home/private/bin/tool");
    before.check("ROOT/home/bin", "tool", &["home/private"]);

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

/// What a confined program that had the directory `shared` can have made there leads nowhere, however it is spelt.
#[test]
fn what_a_project_leads_to_is_judged_by_where_the_system_goes() {
    for target in [
        "/usr/..ROOT/home/private/bin/tool",
        "ROOT/home/.pyenv/../private/bin/tool",
        "ROOT/plugin/../home/private/bin/tool",
        "/proc/self/cwd/../home/private/bin/tool",
        "/proc/self/rootROOT/home/private/bin/tool",
        "ROOT/shared/../home/private/bin/tool",
        "../../home/private/bin/tool",
    ] {
        let scene = Scene::new(&[
            ("home/private/bin/tool", SHELL),
            ("home/private/lib/x", ""),
            ("home/.pyenv/x", ""),
            ("plugin/x", ""),
            ("shared/conda-meta/x", ""),
            ("shared/bin/link", &format!("-> {target}")),
            ("shared/bin/script", &format!("#!{target}\n")),
            ("shared/bin/python", SHELL),
            ("shared/pyvenv.cfg", &format!("home = {}\n", target.trim_end_matches("/tool"))),
            (
                "shared/dir",
                &format!("-> {}", target.trim_end_matches("/tool").replace("../../", "../")),
            ),
        ]);
        let private = scene.root.join("home/private");
        for (path, program) in
            [("bin", "link"), ("bin", "script"), ("bin", "python"), ("dir", "tool")]
        {
            let found = scene.find(&format!("ROOT/shared/{path}"), program);
            let leads = found.opened.iter().any(|it| it.starts_with(&private));
            assert!(!leads, "{program} by {target}: {found:?}");
        }
    }
    // A directory is no interpreter.
    let scene = Scene::new(&[("home/x", ""), ("home/bin/tool", "#!ROOT/home\n")]);
    scene.is_open_as("ROOT/home/bin", "tool", &["home/bin/tool"]);
    // Signs of conda that a confined program can have made.
    let scene = Scene::new(&[
        ("home/job/conda-meta/history", ""),
        ("home/job/bin/tool", SHELL),
        ("shared/bin/tool", "-> ROOT/home/job/bin/tool"),
    ]);
    assert!(!scene.find("ROOT/shared/bin", "tool").opened.contains(&scene.root.join("home/job")));
    assert!(scene.find("/bin", "ROOT/home/job/bin/tool").opened.is_empty());
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
    scene.put("home/.local/bin/tool", "-> ROOT/home/a/bin/tool");
    for _ in 0..2 {
        scene.check("ROOT/home/.local/bin", "tool", &["home/a"]);
    }
    assert_eq!(scene.known.0.lock().expect("nothing panicked").len(), 1);
    scene.put("home/.local/bin/tool", "-> ROOT/home/b/bin/other");
    scene.check("ROOT/home/.local/bin", "tool", &["home/b"]);
    for n in 0..MAX_ENTRIES + 3 {
        scene.find(&format!("ROOT/home/.local/bin:/{n}"), "tool");
    }
    assert_eq!(scene.known.0.lock().expect("nothing panicked").len(), MAX_ENTRIES);
}
