//! Programs that are installed below a closed home directory.

#![cfg(supervised)]

#[path = "../src/ordinary.rs"]
mod ordinary;

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use flyto_execenv::{
    Class, Environment, ExecEnv, ExecErrorKind, Filesystem, InstallPlaces, Policies, Policy,
    Profile, ProfilePlaces, Spec,
};
use flyto_execenv_linux::Linux;

use self::ordinary::{GUARD, is_ordinary};

/// A home directory that `strict` closes, and a project that the program works on.
struct Scene {
    root: PathBuf,
    path: String,
    env: ExecEnv,
    _dir: tempfile::TempDir,
}

impl Scene {
    /// A scene with these directories of the home directory in `PATH`, where these can be written.
    fn new(path: &[&str], write: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("there is room");
        let root = dir.path().canonicalize().expect("it is there");
        for sub in ["project", "home/.ssh"] {
            fs::create_dir_all(root.join(sub)).expect("it is ours");
        }
        let home = root.join("home");
        let mut path: Vec<_> =
            path.iter().map(|it| home.join(it).to_str().expect("it is text").to_owned()).collect();
        path.push("/usr/bin:/bin".to_owned());
        let path = path.join(":");
        let write: Vec<_> = write.iter().map(|it| root.join(it)).collect();

        let places = ProfilePlaces::new(root.join("project")).home(&home);
        let mut isolation = Profile::Strict.isolation(&places);
        if let Filesystem::Grants { write: all, .. } = &mut isolation.filesystem {
            *all = all.iter().chain(&write).cloned().collect();
        }
        let variables: Environment = [("PATH", path.as_str())].into_iter().collect();
        let installs = InstallPlaces::new(&variables).home(&home);
        let policy = Policy::new().isolation(isolation).open_installations(installs);
        let policies = Policies::new().class(Class::PLUGIN_TOOL, policy);
        let env = ExecEnv::builder(Linux::new()).policies(policies).build();
        let res = Self { root, path, env, _dir: dir };
        res.put("home/notes", "notes");
        res.put("home/.ssh/id", "secret");
        res
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it is below")).expect("it is ours");
        fs::write(&path, text.replace("ROOT", &self.root.display().to_string()))
            .expect("it is ours");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it is below")).expect("it is ours");
        let _ = fs::remove_file(&path);
        symlink(target, path).expect("it is ours");
    }

    fn spec(&self, program: &str) -> Spec {
        Spec::new(program)
            .env_var("PATH", &self.path)
            .env_var("LC_ALL", "C")
            .working_dir(self.root.join("project"))
            .merge_stderr()
            .deadline(GUARD)
    }

    /// What the program prints; the preflight finds nothing against it.
    async fn prints(&self, spec: Spec) -> String {
        self.env.preflight(spec.clone()).await.expect("it can start");
        let outcome = self.env.run(spec).await.expect("it starts");
        String::from_utf8_lossy(&outcome.stdout.bytes()).trim_end().to_owned()
    }

    /// Why the program does not start, found by the preflight and told by the start.
    async fn refuses(&self, program: &str, kind: ExecErrorKind) -> String {
        let found = self.env.preflight(self.spec(program)).await.expect_err("it is closed");
        let err = self.env.run(self.spec(program)).await.expect_err("it is closed");
        let why = |it: &dyn std::error::Error| it.source().expect("there is one").to_string();
        assert_eq!((err.kind(), why(&err)), (kind, why(&found)));
        why(&err).replace(&*self.root.to_string_lossy(), "ROOT")
    }
}

/// Prints what a program of an installation could read.
const TRIES: &str = r#"#!/bin/sh
for it in ROOT/home/tool/lib/data ROOT/home/notes ROOT/home/.ssh/id; do
    cat $it 2>/dev/null || echo closed
done
"#;

#[tokio::test]
async fn a_program_reads_its_installation_and_no_more_of_the_home_directory() {
    let scene = Scene::new(&[".local/bin"], &[]);
    scene.put("home/tool/bin/tool", TRIES);
    scene.put("home/tool/lib/data", "data\n");
    scene.link("home/.local/bin/tool", "../../tool/bin/tool");
    assert_eq!(scene.prints(scene.spec("tool")).await, "data\nclosed\nclosed");
    is_ordinary("a_program_reads_its_installation_and_no_more_of_the_home_directory").await;
}

#[tokio::test]
async fn a_shim_runs_the_version_that_it_chooses() {
    let scene = Scene::new(&[".pyenv/shims"], &[]);
    let shim = "#!/usr/bin/env sh\nexec ROOT/home/.pyenv/libexec/pyenv exec \"${0##*/}\" \"$@\"\n";
    scene.put("home/.pyenv/shims/python3", shim);
    let pyenv = "#!/bin/sh\nread version <ROOT/home/.pyenv/version\nname=$2; shift 2\n\
                 exec ROOT/home/.pyenv/versions/$version/bin/$name \"$@\"\n";
    scene.put("home/.pyenv/libexec/pyenv", pyenv);
    scene.put("home/.pyenv/version", "3.12.4\n");
    scene.put("home/.pyenv/versions/3.12.4/bin/python3", "#!/bin/sh\necho python \"$@\"\n");
    scene.put("project/run", "#!/usr/bin/env python3\n");
    assert_eq!(scene.prints(scene.spec("python3").arg("x")).await, "python x");
    let run = scene.root.join("project/./run");
    assert_eq!(scene.prints(scene.spec("./run")).await, format!("python {}", run.display()));
    is_ordinary("a_shim_runs_the_version_that_it_chooses").await;
}

#[tokio::test]
async fn a_virtual_environment_of_this_machine_runs() {
    const PYTHON: &str = "/usr/bin/python3";
    let scene = Scene::new(&["env/bin"], &[]);
    let dir = scene.root.join("home/env");
    let spec = Spec::new(PYTHON).args(["-m", "venv", "--without-pip"]).arg(&dir).deadline(GUARD);
    let made = ExecEnv::new(Linux::new()).run(spec).await;
    if !made.is_ok_and(|it| it.success()) {
        eprintln!("skipped: {PYTHON} makes no virtual environment here");
        return;
    }
    scene.put("home/env/lib/here.txt", "here");
    let script = "import sys; print(sys.prefix); print(open(sys.prefix + '/lib/here.txt').read())";
    let printed = scene.prints(scene.spec("python3").args(["-c", script])).await;
    assert_eq!(printed, format!("{}\nhere", dir.display()));
    is_ordinary("a_virtual_environment_of_this_machine_runs").await;
}

#[tokio::test]
async fn a_closed_program_is_named_and_not_said_to_be_for_another_machine() {
    let scene = Scene::new(&[], &[]);
    fs::create_dir_all(scene.root.join("home/bin")).expect("it is ours");
    fs::copy("/bin/cat", scene.root.join("home/bin/cat")).expect("it can be read");
    scene.put("project/run", "#!ROOT/home/bin/cat\n");
    scene.link("project/linked", "../home/bin/cat");
    for (program, kind) in [
        ("../home/bin/cat", ExecErrorKind::NotExecutable),
        ("./linked", ExecErrorKind::NotExecutable),
        ("./run", ExecErrorKind::BadInterpreter),
    ] {
        let why = scene.refuses(program, kind).await;
        assert_eq!(why, r#"the isolation closes "ROOT/home/bin/cat""#, "{program}");
    }
    is_ordinary("a_closed_program_is_named_and_not_said_to_be_for_another_machine").await;
}

#[tokio::test]
async fn a_confined_program_opens_nothing_by_what_it_puts_in_its_place() {
    let scene = Scene::new(&["shared/bin"], &["home/shared"]);
    scene.put("home/private/bin/tool", "#!/bin/sh\ncat ROOT/home/private/lib/data\n");
    scene.put("home/private/lib/data", "private");
    let first = "#!/bin/sh\nrm $0; ln -s \"$1\" $0 && echo replaced\n";
    for target in ["../../private/bin/tool", "/", "../..", "../../.ssh/id"] {
        // A link would be written through.
        let _ = fs::remove_file(scene.root.join("home/shared/bin/tool"));
        scene.put("home/shared/bin/tool", first);
        assert_eq!(scene.prints(scene.spec("tool").arg(target)).await, "replaced");
        assert_eq!(scene.env.installed(scene.spec("tool")).opened, Vec::<PathBuf>::new());
        scene.env.run(scene.spec("tool")).await.expect_err("it is closed, or no program");
    }
    is_ordinary("a_confined_program_opens_nothing_by_what_it_puts_in_its_place").await;
}
