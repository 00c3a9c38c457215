//! Paths that cannot be changed, from call to call of one host.

#![cfg(supervised)]

#[path = "../src/ordinary.rs"]
mod ordinary;

use std::{
    fs,
    path::{Path, PathBuf},
};

use flyto_execenv::{
    Class, ExecEnv, Filesystem, Isolation, Policies, Policy, Profile, ProfilePlaces, Spec,
};
use flyto_execenv_linux::Linux;

use self::ordinary::{GUARD, is_ordinary};

struct Scene {
    env: ExecEnv,
    project: PathBuf,
    _dir: tempfile::TempDir,
}

impl Scene {
    /// A project whose tools run under `workspace`.
    fn workspace() -> Self {
        Self::new(|project| {
            let places = ProfilePlaces::new(project).temp_dir(project.with_file_name("tmp"));
            Profile::Workspace.isolation(&places)
        })
    }

    fn new(isolation: impl Fn(&Path) -> Isolation) -> Self {
        let dir = tempfile::tempdir().expect("there is room");
        let project = dir.path().canonicalize().expect("it is there").join("project");
        for sub in [&project, &project.with_file_name("tmp")] {
            fs::create_dir(sub).expect("it is ours");
        }
        let policy = Policy::new().isolation(isolation(&project));
        let policies = Policies::new().class(Class::PLUGIN_TOOL, policy);
        let env = ExecEnv::builder(Linux::new()).policies(policies).build();
        Self { env, project, _dir: dir }
    }

    /// What a script prints, and whether it ends well.
    async fn sh(&self, script: &str) -> (String, bool) {
        let spec = Spec::new("/bin/sh")
            .args(["-c", script])
            .env_var("PATH", "/usr/sbin:/usr/bin:/bin")
            .env_var("HOME", self.project.with_file_name("tmp"))
            .env_var("LC_ALL", "C")
            .working_dir(&self.project)
            .merge_stderr()
            .deadline(GUARD);
        let outcome = self.env.run(spec).await.expect("there is a shell");
        (String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned(), outcome.success())
    }

    /// Expects that this script fails and leaves the file as it is.
    #[track_caller]
    fn kept(&self, (text, success): &(String, bool), file: &str, content: &str) {
        assert!(!success, "{text}");
        let found = fs::read_to_string(self.project.join(file)).expect("it is there");
        assert_eq!(found, content, "{text}");
    }
}

#[tokio::test]
async fn what_is_there_at_a_call_is_kept_in_that_call() {
    is_ordinary("what_is_there_at_a_call_is_kept_in_that_call").await;
    let scene = Scene::workspace();
    let file = scene.project.join(".envrc");
    let (text, success) = scene.sh("echo made > .envrc && cat .envrc").await;
    assert!(success && text == "made\n", "{text}");
    // From now on it exists.
    scene.kept(&scene.sh("echo more >> .envrc").await, ".envrc", "made\n");
    scene.kept(&scene.sh("rm .envrc").await, ".envrc", "made\n");
    // Outside, an editor or git(1) replaces it, which takes away what is mounted there.
    for content in ["one", "two", "three"] {
        fs::write(file.with_file_name("new"), content).expect("it is ours");
        fs::rename(file.with_file_name("new"), &file).expect("it is ours");
        let attack = scene.sh("cat .envrc; echo more >> .envrc").await;
        assert!(attack.0.starts_with(content), "{}", attack.0);
        scene.kept(&attack, ".envrc", content);
    }
    fs::remove_file(&file).expect("it is ours");
    let (text, success) = scene.sh("echo again > .envrc").await;
    assert!(success, "{text}");
}

#[tokio::test]
async fn the_machines_mounts_are_as_before() {
    is_ordinary("the_machines_mounts_are_as_before").await;
    let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("it can be read");
    let before = mounts();
    let scene = Scene::workspace();
    fs::create_dir_all(scene.project.join(".git/hooks")).expect("it is ours");
    let (text, success) = scene.sh("cat /proc/self/mountinfo").await;
    assert!(success && text.contains("/project/.git/hooks"), "{text}");
    assert_eq!(mounts(), before);
    // What the host does is not bound to them.
    let hook = scene.project.join(".git/hooks/pre-commit");
    fs::write(&hook, "").expect("it is ours");
    let git = scene.project.join(".git");
    fs::rename(&git, git.with_file_name("git")).expect("it is ours");
    fs::remove_dir_all(git.with_file_name("git")).expect("it is ours");
    let (text, success) = scene.sh("mkdir -p .git/hooks").await;
    assert!(success, "{text}");
    drop(scene);
    assert_eq!(mounts(), before);
}

/// Without a filter of system calls, a program can make namespaces of its own.
#[tokio::test]
async fn a_namespace_inside_takes_no_mount_away() {
    is_ordinary("a_namespace_inside_takes_no_mount_away").await;
    let scene = Scene::new(|project| Isolation::new().read_only(project.join("kept")));
    fs::create_dir(scene.project.join("kept")).expect("it is ours");
    fs::write(scene.project.join("kept/file"), "kept").expect("it is ours");
    for attack in [
        "echo x > kept/file",
        "mv kept moved && echo x > moved/file",
        "umount -l kept; echo x > kept/file",
        "mount -o remount,rw,bind kept; echo x > kept/file",
        "unshare --mount sh -c 'umount -l kept; echo x > kept/file'",
        "unshare --user --map-root-user --mount sh -c 'umount -l kept; echo x > kept/file'",
        "unshare --user --map-root-user --mount \
            sh -c 'mount -o remount,rw,bind kept; echo x > kept/file'",
        "unshare --user --map-root-user --mount \
            sh -c 'mkdir -p to; mount --bind . to; echo x > to/kept/file'",
        "unshare --user --map-root-user --mount sh -c 'mv kept moved; echo x > moved/file'",
        "echo x > /proc/1/root$PWD/kept/file",
        "for it in /proc/[0-9]*; do echo x > $it/root$PWD/kept/file && exit; done; false",
        "for it in /proc/[0-9]*; do echo x > $it/cwd/kept/file && exit; done; false",
    ] {
        let attack = format!("({attack}) 2>&1");
        scene.kept(&scene.sh(&attack).await, "kept/file", "kept");
    }
}

#[tokio::test]
async fn git_works_where_its_hooks_and_settings_are_kept() {
    is_ordinary("git_works_where_its_hooks_and_settings_are_kept").await;
    let scene = Scene::workspace();
    let (text, success) = scene.sh("command -v git").await;
    if !success {
        println!("skipped: there is no git: {text}");
        return;
    }
    let (text, success) = scene
        .sh("git init -q -b main . && git config user.name a && git config user.email a@b")
        .await;
    assert!(success, "{text}");
    let config = fs::read_to_string(scene.project.join(".git/config")).expect("git made it");
    let work = "echo 1 > file && git add . && git commit -qm one && git status --porcelain &&
        git checkout -qb other && git mv file moved && git commit -qm two && git checkout -q main &&
        git merge -q other && git stash list && git gc -q && git log --format=%s";
    let (text, success) = scene.sh(work).await;
    assert!(success && text == "two\none\n", "{text}");
    let set = scene.sh("git config core.fsmonitor 'sh -c id' 2>&1").await;
    scene.kept(&set, ".git/config", &config);
    let hook = "echo id > .git/hooks/pre-commit";
    assert!(!scene.sh(hook).await.1);
    // A worktree's `.git` is a file.
    let (text, success) = scene.sh("git worktree add -q ../tmp/tree").await;
    assert!(success, "{text}");
}

/// What a program that may write the parent puts in the place of a granted directory.
#[tokio::test]
async fn another_directory_in_the_place_of_a_granted_one_is_refused() {
    is_ordinary("another_directory_in_the_place_of_a_granted_one_is_refused").await;
    let again = "rmdir \"$1\" 2>/dev/null || mv \"$1\" \"$1\".before; mkdir \"$1\"";
    let other = "mkdir -p elsewhere; mv \"$1\" \"$1\".before; mv elsewhere \"$1\"";
    let link = "mv \"$1\" \"$1\".before; ln -s / \"$1\"";
    let moved = "mv \"$1\" \"$1\".before; ln -s \"$1\".before \"$1\"";
    let file = "mv \"$1\" \"$1\".before; echo >\"$1\"";
    for (attack, refusal) in [
        (again, Some("another directory")),
        (other, Some("another directory")),
        (link, Some("a link or a file")),
        (file, Some("a link or a file")),
        // It is the same directory, under two names.
        (moved, None),
    ] {
        let scene = Scene::new(|project| {
            fs::create_dir(project.join("granted")).expect("it is ours");
            let write = [project.to_owned(), project.join("granted"), "/dev/null".into()];
            let read = ["/usr", "/bin", "/lib", "/lib64"].map(PathBuf::from);
            Isolation::new()
                .filesystem(Filesystem::Grants { read: read.into(), write: write.into() })
        });
        let granted = scene.project.join("granted");
        let script = format!("set -- {granted:?}; {attack}");
        assert!(scene.sh(&script).await.1, "{script}");
        let spec = Spec::new("/bin/sh")
            .args(["-c", "echo ran > ran"])
            .working_dir(&scene.project)
            .env_var("PATH", "/usr/bin:/bin");
        let run = scene.env.run(spec.deadline(GUARD)).await;
        let Some(refusal) = refusal else {
            assert!(run.expect("it is the same").success());
            continue;
        };
        let err = run.expect_err(attack);
        let text = err.to_string();
        assert!(text.contains(&format!("{granted:?}")) && text.contains(refusal), "{text}");
        assert!(!err.did_start() && !scene.project.join("ran").exists(), "{attack}");
        // As it was, it is granted again.
        let _ = fs::remove_dir(&granted).or_else(|_| fs::remove_file(&granted));
        let before = granted.with_file_name("granted.before");
        if before.exists() {
            fs::rename(before, &granted).expect("it is ours");
            assert!(scene.sh("echo ran > granted/ran").await.1, "{attack}");
        }
    }
}

/// A user namespace in which no mount namespace can be made (`user.max_mnt_namespaces`, namespaces(7)).
#[tokio::test]
async fn without_mount_namespaces_landlock_keeps_the_same() {
    const INSIDE: &str = "FLYTO_TEST_WITHOUT_MOUNTS";
    if std::env::var_os(INSIDE).is_none() {
        let close = "echo 0 >/proc/sys/user/max_mnt_namespaces || exit 77; exec \"$@\"";
        let test = "without_mount_namespaces_landlock_keeps_the_same";
        let spec = Spec::new("unshare")
            .args(["--user", "--map-root-user", "sh", "-c", close, "sh"])
            .arg(std::env::current_exe().expect("it runs").into_os_string())
            .args(["--exact", test, "--nocapture"])
            .env_var("PATH", "/usr/bin:/bin")
            .env_var(INSIDE, "1");
        let outcome = ordinary::run(spec).await;
        let text = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
        if !outcome.success() && !text.contains("running 1 test") {
            println!("skipped: no user namespace can be made and bounded here");
            return;
        }
        assert!(outcome.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let scene = Scene::workspace();
    fs::create_dir_all(scene.project.join(".git/hooks")).expect("it is ours");
    fs::write(scene.project.join("file"), "").expect("it is ours");
    for attack in ["echo x > .git/hooks/x", "mv .git moved", "rm -r .git"] {
        let (text, success) = scene.sh(attack).await;
        assert!(!success && scene.project.join(".git/hooks").exists(), "{text}");
    }
    // The price of it.
    assert!(!scene.sh("echo x > new").await.1);
    let (text, success) = scene.sh("echo x > file && cat file && cat /proc/self/mountinfo").await;
    assert!(success && text.starts_with("x\n") && !text.contains(".git"), "{text}");
}
