//! Paths that cannot be changed, attacked by a program that may write all around them.

use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use flyto_execenv::{Isolation, Profile};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, open, renameat_with};

use super::{super::*, errno, inside::Scene, profile};

/// A repository with a hook, a worktree, settings, and one that is a link.
fn project(dir: &Path) -> Isolation {
    let project = dir.join("home/project");
    for sub in [".git/hooks", ".git/objects", ".vscode", "src", "real", "worktree"] {
        fs::create_dir_all(project.join(sub)).expect("it is ours");
    }
    for file in FILES.iter().chain(&["src/file", "real/settings.json", "file"]) {
        fs::write(project.join(file), *file).expect("it is ours");
    }
    symlink("real", project.join(".claude")).expect("it is ours");
    let worktree = project.join("worktree");
    let all = flyto_execenv::project_settings(&worktree);
    all.fold(profile(Profile::Workspace, dir), |it, path| it.read_only(path))
}

/// What must stay, each with its path as its content.
const FILES: &[&str] =
    &[".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json", ".envrc", "worktree/.git"];

/// How the system refuses to change what something is mounted on, is read-only, or was not granted.
#[track_caller]
fn is_refused<T: std::fmt::Debug>(what: &str, attempt: io::Result<T>) {
    let refusals = [libc::EROFS, libc::EBUSY, libc::EXDEV, libc::EACCES, libc::EPERM];
    let errno = errno(attempt);
    assert!(refusals.contains(&errno), "{what}: error {errno}");
}

/// All that must fail whichever way the paths are kept.
fn attack(scene: &Scene) {
    let project = |below: &str| scene.path("home/project").join(below);
    let out = |to: &str| project("src").join(to);
    for file in FILES {
        let path = project(file);
        assert_eq!(fs::read_to_string(&path).expect("it can be read"), *file);
        is_refused(file, fs::write(&path, "text"));
        is_refused(file, File::options().append(true).open(&path));
        is_refused(file, File::options().write(true).truncate(true).open(&path));
        is_refused(file, fs::remove_file(&path));
        is_refused(file, fs::rename(&path, out("moved")));
        is_refused(file, fs::rename(out("file"), &path));
        is_refused(file, fs::hard_link(&path, out("linked")));
        let exchanged = renameat_with(CWD, &path, CWD, out("file"), RenameFlags::EXCHANGE);
        is_refused(file, exchanged.map_err(Into::into));
        // Other names for it.
        symlink(&path, out("link")).expect("a link can be made");
        is_refused(file, fs::write(out("link"), "text"));
        fs::remove_file(out("link")).expect("it is its own");
        let path = path.display();
        for process in ["self".to_owned(), scene.host.to_string()] {
            is_refused(file, fs::write(format!("/proc/{process}/root{path}"), "text"));
        }
    }
    for dir in [".git/hooks", ".vscode"] {
        let path = project(dir);
        assert!(fs::read_dir(&path).expect("it can be read").count() > 0);
        is_refused(dir, fs::write(path.join("new"), "text"));
        is_refused(dir, fs::create_dir(path.join("new")));
        is_refused(dir, symlink("/bin/sh", path.join("new")));
        is_refused(dir, fs::rename(out("file"), path.join("new")));
        let unnamed = open(&path, OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR);
        is_refused(dir, unnamed.map_err(Into::into));
    }
    // Directories on the way.
    for dir in [".git", ".git/hooks", ".vscode"] {
        is_refused(dir, fs::rename(project(dir), out("moved")));
        is_refused(dir, fs::rename(project("src"), project(dir)));
        let exchanged =
            renameat_with(CWD, project(dir), CWD, project("src"), RenameFlags::EXCHANGE);
        is_refused(dir, exchanged.map_err(Into::into));
        assert!(fs::remove_dir_all(project(dir)).is_err(), "{dir}");
    }
    is_refused("project", fs::rename(scene.path("home/project"), scene.path("home/moved")));
    // Where a link leads.
    let settings = "real/settings.json";
    is_refused(settings, fs::write(project(settings), "text"));
    is_refused(settings, fs::write(project(".claude/settings.json"), "text"));
    is_refused(settings, fs::rename(project("real"), out("moved")));
    for file in FILES.iter().chain(&[settings]) {
        assert_eq!(fs::read_to_string(project(file)).expect("it is there"), *file);
    }
    // What lies beside all that can be changed.
    for file in ["file", "src/file"] {
        fs::write(project(file), "text").expect("it is granted");
    }
    fs::write(out("new"), "text").expect("it is granted");
    fs::write(project(".git/objects/new"), "text").expect("it is granted");
    fs::rename(out("new"), out("newer")).expect("it is granted");
}

#[tokio::test]
async fn by_mounts_settings_stay_and_all_else_can_be_changed() {
    let test = "sandbox::tests::read_only::by_mounts_settings_stay_and_all_else_can_be_changed";
    let Some(scene) = Scene::enter(test, project).await else { return };
    attack(&scene);
    let project = |below: &str| scene.path("home/project").join(below);
    // As git(1) does.
    fs::write(project(".git/index.lock"), "new").expect("it is granted");
    fs::rename(project(".git/index.lock"), project(".git/index")).expect("it is granted");
    fs::write(project("new"), "").expect("it is granted");
    fs::rename(project("new"), project("src/new")).expect("it is granted");
    // As git-config(1) does.
    fs::write(project(".git/config.lock"), "text").expect("it is granted");
    let replaced = fs::rename(project(".git/config.lock"), project(".git/config"));
    assert_eq!(errno(replaced), libc::EBUSY);
    // A mode is part of what stays.
    let executable = fs::Permissions::from_mode(0o777);
    let changed = fs::set_permissions(project(".git/hooks/pre-commit"), executable);
    assert_eq!(errno(changed), libc::EROFS);
    // What did not exist can be made: that is documented.
    fs::write(project(".mcp.json"), "{}").expect("it is granted");
    // So can a link be replaced.
    fs::remove_file(project(".claude")).expect("it is granted");
}

#[tokio::test]
async fn by_landlock_settings_stay_and_nothing_new_is_made_beside_them() {
    let test =
        "sandbox::tests::read_only::by_landlock_settings_stay_and_nothing_new_is_made_beside_them";
    let support = Support { mount_namespaces: false, ..Support::probe() };
    let Some(scene) = Scene::enter_as(test, support, project).await else { return };
    attack(&scene);
    let project = |below: &str| scene.path("home/project").join(below);
    // The directories on the way can be read.
    for dir in ["", ".git"] {
        fs::read_dir(project(dir)).expect("it can be read");
        assert_eq!(errno(fs::write(project(dir).join("new"), "")), libc::EACCES, "{dir}");
    }
    assert_eq!(errno(fs::remove_file(project(".claude"))), libc::EACCES);
}

#[test]
fn a_supervisor_makes_mounts_only_where_something_is_to_be_kept() {
    let dir = tempfile::tempdir().expect("there is room");
    let dir = dir.path().canonicalize().expect("it is there");
    let project = dir.join("project");
    fs::create_dir_all(project.join("src")).expect("it is ours");
    let made = || {
        let places = flyto_execenv::ProfilePlaces::new(&project);
        let isolation = Profile::Workspace.isolation(&places);
        confine(&isolation, &Support::probe(), [1, 2]).expect("this machine confines programs")
    };
    let nothing = made();
    assert!(nothing.mounts.is_empty() && nothing.is_current());
    // What comes and goes elsewhere is none of it.
    fs::write(project.join("src/file"), "").expect("it is ours");
    fs::write(project.join("file"), "").expect("it is ours");
    assert!(nothing.is_current());

    fs::write(project.join(".envrc"), "").expect("it is ours");
    assert!(!nothing.is_current());
    let one = made();
    assert!(!one.mounts.is_empty() && one.is_current());
    fs::write(project.join(".envrc"), "more").expect("it is ours");
    // Until the directory is looked at once in place of its entries, and then.
    for _ in 0..4 {
        assert!(one.is_current());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Each file in its place is another one, also where the system gives a number again.
    for _ in 0..10 {
        fs::write(project.join("new"), "").expect("it is ours");
        fs::rename(project.join("new"), project.join(".envrc")).expect("it is ours");
        assert!(!one.is_current());
    }
    let one = made();
    fs::remove_file(project.join(".envrc")).expect("it is ours");
    assert!(!one.is_current());
}
